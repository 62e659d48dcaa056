// Details of the selected call or function, or of the whole selection, beside the view.

import { breakdownOf, callsOf, kindWord } from "./breakdown.js";
import { el } from "./dom.js";
import { baseName } from "./names.js";
import { formatCount, formatPlural, formatShare } from "./numbers.js";

/** @typedef {import("./app.js").App} App */
/** @typedef {import("./profile.js").SummedTree} SummedTree */
/** @typedef {{ of: number, summed?: SummedTree, node?: number }} Subject a function; `summed`, `node`: one of its calls */

/** @typedef {[name: string, weight: number, samples: number]} Amount */

const PARTS = 6, STACK = 30; // rows; more are counted
const DELAY = 50; // ms

export class Sidebar {
	/** @param {App} app @param {HTMLElement} element */
	constructor(app, element) {
		this.app = app;
		this.element = element;
		/** What the content depends on. @type {unknown[]} */
		this.shown = [];
		this.waiting = 0;
	}

	/** Dragging over the timeline changes the selection in each frame, which would be too much for this. @param {Subject | null} subject null: the whole selection @param {boolean} hasStack whether the view does not show the callers itself */
	show(subject, hasStack) {
		clearTimeout(this.waiting);
		this.waiting = window.setTimeout(() => this.showNow(subject, hasStack), DELAY);
	}

	/** @param {Subject | null} subject @param {boolean} hasStack */
	showNow(subject, hasStack) {
		const { app } = this, content = [app.profile, app.colors.theme, app.state.full, hasStack, subject?.of, subject?.summed, subject?.node];
		if (content.length === this.shown.length && content.every((value, i) => value === this.shown[i]))
			return;
		this.shown = content;
		this.element.replaceChildren(...subject && subject.node !== 0 ? this.ofFunction(subject, hasStack) : this.ofSelection());
		this.element.scrollTop = 0;
	}

	ofSelection() {
		const { profile } = this.app;
		return [el("h2", {}, "Whole selection"), this.amounts([["Total", profile.weight, profile.samples]]), ...this.sections(breakdownOf(profile, [0]), -1)];
	}

	/** @param {Subject} subject @param {boolean} hasStack */
	ofFunction({ of, summed, node = -1 }, hasStack) {
		const { app } = this, { profile } = app, { functions } = app.capture, sums = profile.functions(), isOwn = summed === profile.summed;
		const module = functions.modules[functions.module[of]], place = profile.placeOf(of), swatch = el("i", { class: "swatch" });
		swatch.style.background = app.colors.of(of);
		/** @type {HTMLElement[]} */
		const elements = [el("h2", { class: "named" }, swatch, el("span", {}, functions.name[of])), el("p", { class: "note", title: module }, [kindWord(functions.kind[of]), baseName(module)].filter(Boolean).join(" · "))];
		if (place)
			elements.push(el("p", { class: "note", title: place }, baseName(place)));
		/** @type {Amount[]} */
		const own = summed ? [["Total", summed.total[node], summed.totalSamples[node]]] : [], all = /** @type {Amount[]} */ ([["Total", sums.total[of], sums.totalSamples[of]], ["Self", sums.self[of], sums.selfSamples[of]]]);
		if (summed && isOwn)
			own.push(["Self", summed.self[node], summed.selfSamples[node]]);
		if (own.some(([, weight], i) => weight !== all[i][1]))
			elements.push(el("h3", {}, isOwn ? "With these callers" : "In these stacks"), this.amounts(own), el("h3", {}, "With any callers"));
		elements.push(this.amounts(all), ...this.sections(breakdownOf(profile, isOwn ? [node] : callsOf(profile, of)), of));
		if (hasStack && summed)
			elements.push(...this.stack(summed.tree.path(node).reverse().slice(1), isOwn ? "Called by" : "Leads to"));
		return elements;
	}

	/** @param {Amount[]} rows */
	amounts(rows) {
		const { app } = this, { profile } = app;
		return el("dl", { class: "amounts" }, ...rows.flatMap(([name, weight, samples]) => [
			el("dt", {}, name), el("dd", {}, formatShare(weight, profile.weight)), el("dd", {}, profile.isTime ? app.weightText(weight) : ""), el("dd", {}, formatPlural(samples, "sample")),
		]));
	}

	/** @param {ReturnType<typeof breakdownOf>} parts @param {number} of the lines' function */
	sections({ weight: whole, kinds, modules, threads, lines }, of) {
		const { app } = this, { capture, colors } = app, { functions } = capture;
		return [
			...this.section("Kinds", whole, kinds.map(({ number, weight }) => ({ text: kindWord(number), weight, color: colors.ofKind(number) }))),
			...this.section("Modules", whole, modules.map(({ number, weight }) => ({ text: baseName(functions.modules[number]) || "none", title: functions.modules[number], weight }))),
			...threads.length > 1 ? this.section("Threads", whole, threads.map(({ number, weight }) => ({ text: this.threadName(number), title: "Select this thread", weight, act: () => app.update({ who: [`t${number}`] }) }))) : [],
			...this.section("Lines", whole, lines.map(({ file, line, total }) => ({
				text: `${baseName(file)}:${line}`, title: `${file}:${line}`, weight: total, ...capture.code ? { act: () => app.update({ of, tab: "source", instructions: false }) } : {},
			}))),
		];
	}

	/** @param {number} number */
	threadName(number) {
		const { threads, processes } = this.app.capture, { name, id, process, count } = threads[number], { name: program } = processes[process];
		return `${name} ${count > 1 ? `(${formatPlural(count, "thread")})` : `(${id})`}${program === name ? "" : ` of ${program}`}`;
	}

	/** @param {string} name @param {number} whole @param {{ text: string, weight: number, color?: string, title?: string, act?: () => void }[]} rows */
	section(name, whole, rows) {
		if (!rows.length)
			return [];
		const shown = rows.slice(0, PARTS), rest = rows.slice(PARTS), shareOf = (/** @type {number} */ weight) => formatShare(weight, whole);
		return [el("h3", {}, name, el("span", { class: "note" }, "of its total")), el("ul", { class: "parts" }, ...shown.map(({ text, weight, color, title, act }) => {
			const bar = el("span", { class: "part-bar" }), label = act ? el("button", { type: "button", class: "part-name", title: title ?? text, onclick: act }, text) : el("span", { class: "part-name", title: title ?? text }, text);
			bar.style.width = shareOf(weight).replace(" ", "");
			bar.style.background = color ?? "";
			return el("li", {}, label, el("span", {}, shareOf(weight)), el("span", { class: "part-weight" }, this.app.weightText(weight)), bar);
		})), ...rest.length ? [el("p", { class: "note" }, `${formatCount(rest.length)} more: ${shareOf(rest.reduce((sum, { weight }) => sum + weight, 0))}`)] : []];
	}

	/** @param {number[]} functions @param {string} name */
	stack(functions, name) {
		const { app } = this, rest = functions.length - STACK;
		return functions.length ? [el("h3", {}, name), el("ol", { class: "stack" }, ...functions.slice(0, STACK).map((of) => el("li", { title: app.capture.functions.name[of] }, app.name(of)))), ...rest > 0 ? [el("p", { class: "note" }, `${formatCount(rest)} more`)] : []] : [];
	}
}
