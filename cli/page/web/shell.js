// The page around timeline and views: title, tabs, search, selection, footer, and keys.

import { Kind } from "./capture.js";
import { chartView } from "./chart_view.js";
import { nodeSummary } from "./details.js";
import { diffView } from "./diff_view.js";
import { byId, el } from "./dom.js";
import { download, foldedOf, speedscopeOf, svgOf } from "./export.js";
import { boxesOf, flameView } from "./flame_view.js";
import { tabs } from "./fragment.js";
import { legendEntries, showHelp } from "./help.js";
import { functionsView, linesView } from "./list_view.js";
import { parseLabel } from "./labels.js";
import { labelsView } from "./labels_view.js";
import { marksView } from "./marks_view.js";
import { hideMenu } from "./menu.js";
import { formatCount, formatPlural, formatShare, formatTime } from "./numbers.js";
import { sandwichView } from "./sandwich_view.js";
import { Sidebar } from "./sidebar.js";
import { sourceView } from "./source_view.js";
import { Timeline } from "./timeline.js";
import { hideTooltip } from "./tooltip.js";
import { transformWords } from "./transforms.js";
import { treeView } from "./tree_view.js";

/** @typedef {import("./app.js").App} App */
/** @typedef {import("./fragment.js").Tab} Tab */

/** @type {Record<Tab, string>} */
const tabNames = { flame: "Flame graph", chart: "Flame chart", tree: "Call tree", functions: "Functions", sandwich: "Callers & callees", lines: "Lines", labels: "Labels", marks: "Marks", source: "Source", diff: "Diff" };

/** A name of which a narrow window has the first word. @param {string} name */
function brief(name) {
	const [first, ...more] = name.split(" & ");
	return more.length ? [first, el("span", { class: "wide" }, ` & ${more}`)] : [first];
}

/** Whether a tab has details beside it at first; other tabs never have. @type {Partial<Record<Tab, boolean>>} */
const detailTabs = { flame: false, chart: false, tree: true, functions: true, lines: false };

export class Shell {
	/** @param {App} app */
	constructor(app) {
		this.app = app;
		const onSelect = () => this.showFooter(), marks = marksView(app, { onOpen: () => this.timeline?.zoomToSelection() });
		/** @type {Partial<Record<Tab, import("./flame_view.js").View>>} */
		this.views = {
			flame: flameView(app, onSelect), chart: chartView(app, onSelect), tree: treeView(app, onSelect), functions: functionsView(app, onSelect),
			sandwich: sandwichView(app, onSelect), lines: linesView(app, onSelect),
			...app.capture.labels.keys.length ? { labels: labelsView(app, onSelect) } : {},
			...marks ? { marks } : {},
			...app.capture.code ? { source: sourceView(app) } : {},
			...app.capture.diff ? { diff: diffView(app, onSelect) } : {},
		};
		this.empty = el("p", { class: "empty" }, "No samples in this selection. ", el("kbd", {}, "Esc"), " undoes its last step.");
		this.hasTimes = app.capture.threads.length > 0;
		this.tabs = tabs.filter((tab) => this.views[tab] && (this.hasTimes || tab !== "chart" && (tab !== "lines" || app.capture.header.lines)));
		this.timeline = this.hasTimes ? new Timeline(app) : null;
		this.sidebar = new Sidebar(app, byId("sidebar"));
		this.makeHeader();
		this.makeToolbar();
		if (this.timeline)
			byId("timeline").append(this.timeline.element);
		this.makeSplitter();
		this.showLegend();
		app.listen((changed) => {
			if (changed.has("theme"))
				this.showLegend();
			// Only the timeline and charts have a view of time.
			const isMove = [...changed].every((key) => key === "viewFrom" || key === "viewTo");
			if (!isMove || app.state.tab === "chart")
				this.show();
		});
		addEventListener("keydown", (event) => this.key(event));
		this.show();
	}

	get view() {
		const { tab } = this.app.state;
		return /** @type {import("./flame_view.js").View} */ (this.views[this.tabs.includes(tab) ? tab : "flame"]);
	}

	makeHeader() {
		const { app } = this, { header, events, duration } = app.capture;
		const title = header.diff ? `${header.diff.old.file} → ${header.file}` : header.file;
		document.title = `${title} – stackreel`;
		byId("title").textContent = title;
		const facts = [header.host === "(none)" ? "" : header.host, header.arch, header.time, this.hasTimes ? formatTime(duration) : "", header.captures ? formatPlural(header.captures, "capture") : ""];
		byId("facts").textContent = facts.filter(Boolean).join(" · ");
		const event = /** @type {HTMLSelectElement} */ (byId("event"));
		event.append(...events.map((of, i) => el("option", { value: String(i) }, of.frequency ? `${of.name} (${formatCount(of.frequency)} Hz)` : of.name)));
		event.addEventListener("change", () => app.update({ event: Number(event.value), transforms: [] }));
		const by = /** @type {HTMLSelectElement} */ (byId("by"));
		by.append(...app.grouper.choices.map((choice) => el("option", { value: choice }, choice)));
		by.addEventListener("change", () => app.update({ by: app.grouper.choices.find((choice) => choice === by.value) ?? null, transforms: [] }));
		byId("theme").addEventListener("click", () => app.update({ theme: document.documentElement.dataset.theme === "dark" ? "light" : "dark" }));
		byId("help").addEventListener("click", () => showHelp(app));
		byId("save").addEventListener("click", () => this.saveSvg());
	}

	makeToolbar() {
		const { app } = this, search = /** @type {HTMLInputElement} */ (byId("search"));
		byId("tabs").append(...this.tabs.map((tab, i) => el("button", {
			type: "button", role: "tab", id: `tab-${tab}`, "aria-controls": "view", title: `Key ${i + 1}`, onclick: () => app.update({ tab }),
		}, ...brief(tabNames[tab]))));
		byId("tabs").addEventListener("keydown", (event) => {
			const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0, at = this.tabs.indexOf(app.state.tab);
			if (!by)
				return;
			app.update({ tab: this.tabs[(at + by + this.tabs.length) % this.tabs.length] });
			byId(`tab-${app.state.tab}`).focus();
		});
		search.addEventListener("input", () => app.update({ search: search.value }));
		search.addEventListener("keydown", (event) => {
			const label = event.key === "Enter" ? parseLabel(search.value, app.capture.labels.keys) : null;
			if (label) {
				search.value = "";
				app.update({ search: "", labels: [...app.state.labels, label] });
			}
		});
		if (app.capture.labels.keys.length)
			search.title = `Key /; type KEY=VALUE and Enter to select samples by a label: ${app.capture.labels.keys.join(", ")}`;
		byId("invert").addEventListener("click", () => app.update({ invert: !app.state.invert }));
		byId("below").addEventListener("click", () => app.update({ below: !app.state.below }));
		byId("native").addEventListener("click", () => app.update({ transforms: this.isNative ? [...app.state.transforms, { kind: "native" }] : app.state.transforms.filter(({ kind }) => kind !== "native") }));
		byId("full").addEventListener("click", () => app.update({ full: !app.state.full }));
		byId("details").addEventListener("click", () => this.toggleDetails());
	}

	/** Dragging changes the timeline's height. */
	makeSplitter() {
		const splitter = byId("splitter"), timeline = byId("timeline");
		const setHeight = (/** @type {number} */ height) => {
			timeline.style.height = `${Math.max(54, Math.min(height, innerHeight - 240))}px`;
		};
		if (this.timeline)
			setHeight(Math.min(24 + 30 * this.timeline.tracks.length + 1, 24 + 30 * 7, innerHeight * 0.36));
		splitter.addEventListener("pointerdown", (event) => splitter.setPointerCapture(event.pointerId));
		splitter.addEventListener("pointermove", (event) => {
			if (splitter.hasPointerCapture(event.pointerId))
				setHeight(event.clientY - timeline.getBoundingClientRect().top);
		});
		splitter.addEventListener("keydown", (event) => {
			const by = event.key === "ArrowDown" ? 30 : event.key === "ArrowUp" ? -30 : 0;
			if (by)
				setHeight(timeline.clientHeight + by);
		});
	}

	/** Changes and marks are not of the selection. */
	get isEmpty() {
		const { profile, state } = this.app;
		return profile.samples === 0 && state.tab !== "diff" && state.tab !== "marks";
	}

	/** Whether native frames below Python are shown. */
	get isNative() {
		return this.app.state.transforms.every(({ kind }) => kind !== "native");
	}

	get hasDetails() {
		const { tab, details } = this.app.state, usual = detailTabs[tab];
		return usual !== undefined && (details ?? usual);
	}

	toggleDetails() {
		if (this.app.state.tab in detailTabs)
			this.app.update({ details: !this.hasDetails });
	}

	// ---- showing --------------------------------------------------------------------------------

	show() {
		const { app } = this, { state } = app, view = this.view;
		hideMenu();
		hideTooltip();
		for (const tab of this.tabs)
			byId(`tab-${tab}`).setAttribute("aria-selected", String(this.views[tab] === view));
		for (const [id, flag] of /** @type {[string, boolean][]} */ ([["invert", state.invert], ["below", state.below], ["full", state.full], ["native", this.isNative], ["details", this.hasDetails]]))
			byId(id).setAttribute("aria-pressed", String(flag));
		byId("invert").hidden = state.tab !== "flame" && state.tab !== "tree";
		byId("below").hidden = state.tab !== "flame" && state.tab !== "diff";
		// Changes are of whole captures.
		byId("timeline").hidden = byId("splitter").hidden = !this.hasTimes || state.tab === "diff";
		byId("selection").hidden = byId("legend").hidden = state.tab === "diff";
		byId("event-label").hidden = app.capture.events.length < 2 || state.tab === "diff";
		byId("native").hidden = !app.capture.functions.kind.includes(Kind.python) || state.tab === "diff";
		byId("by-label").hidden = app.grouper.choices.length < 2 || state.tab === "diff";
		byId("save").hidden = !view.canvas;
		byId("details").hidden = !(state.tab in detailTabs);
		byId("sidebar").hidden = !this.hasDetails;
		/** @type {HTMLSelectElement} */ (byId("by")).value = app.by;
		/** @type {HTMLSelectElement} */ (byId("event")).value = String(state.event);
		const search = /** @type {HTMLInputElement} */ (byId("search"));
		if (search.value !== state.search && document.activeElement !== search)
			search.value = state.search;
		const shown = this.isEmpty ? this.empty : view.element;
		if (byId("view").firstElementChild !== shown)
			byId("view").replaceChildren(shown);
		byId("view").setAttribute("aria-labelledby", `tab-${state.tab}`);
		this.showCrumbs();
		if (!this.isEmpty)
			view.show();
		this.showMatched();
		this.showFooter();
	}

	showMatched() {
		const { app, view } = this, share = app.matches && (view.matched?.(app.matches) ?? formatShare(app.profile.matchedWeight(app.matches), app.profile.weight));
		const matched = byId("matched"), isNone = app.matches && !view.matched && !app.matches.includes(1);
		const text = app.searchProblem || (isNone ? "nothing matches" : share ? `${share} matched` : "");
		if (matched.textContent === text)
			return;
		matched.textContent = text;
		byId("search").style.paddingRight = text ? `${matched.offsetWidth + 12}px` : "";
	}

	/** The parts of the selection, each a button that removes it. */
	showCrumbs() {
		const { app } = this, { state, capture } = app, crumbs = /** @type {HTMLElement[]} */ ([]);
		const crumb = (/** @type {string} */ text, /** @type {() => void} */ remove, /** @type {string} */ full = text) => crumbs.push(el("button", { type: "button", class: "crumb", title: full, "aria-label": `Remove: ${full}`, onclick: remove }, el("span", {}, text), el("span", { class: "cross" }, "×")));
		for (const who of state.who) {
			const of = who[0] === "p" ? capture.processes[Number(who.slice(1))] : capture.threads[Number(who.slice(1))];
			crumb(`${who[0] === "p" ? "Process" : "Thread"}: ${of.name} (${of.id})`, () => app.update({ who: state.who.filter((other) => other !== who) }));
		}
		for (const label of state.labels)
			crumb(`${label.key}: ${label.text || "none"}`, () => app.toggleLabel(label));
		if (state.from !== null || state.to !== null) {
			const from = state.from ?? 0, to = Math.min(state.to ?? Infinity, capture.duration);
			crumb(`Time: ${formatTime(from)} – ${formatTime(to)} (${formatTime(to - from)})`, () => app.update({ from: null, to: null }));
		}
		state.transforms.forEach((transform, i) => {
			const of = transform.kind === "subtree" ? transform.path[transform.path.length - 1] : transform.kind === "native" ? -1 : transform.of;
			crumb(transformWords(transform, capture.functions), () => app.update({ transforms: state.transforms.filter((_, other) => other !== i) }),
				transform.kind === "library" || transform.kind === "native" ? transformWords(transform, capture.functions) : `${transformWords(transform, capture.functions).split(":")[0]}: ${capture.functions.name[of]}`);
		});
		byId("crumbs").replaceChildren(...crumbs.length ? crumbs : [this.hint()]);
		const { profile } = app, whole = app.event;
		const samples = `${formatPlural(profile.samples, "sample")}`, share = profile.weight < whole.weight ? ` · ${formatShare(profile.weight, whole.weight)} of all` : "";
		byId("amount").textContent = `${profile.isTime ? `${formatTime(profile.weight)} · ` : ""}${samples}${share}`;
	}

	/** How to select; the selection is in its place afterwards. */
	hint() {
		const time = this.hasTimes ? "Drag over the timeline to select a time range, click a thread to select it; " : "";
		return el("span", { class: "hint" }, `${time}${time ? "right" : "Right"}-click a function for more.`);
	}

	showLegend() {
		const { kinds, states } = legendEntries(this.app);
		byId("legend").replaceChildren(...kinds, ...states);
	}

	showFooter() {
		const { app } = this, selected = this.isEmpty ? null : this.view.selected(), { header } = app.capture;
		const text = this.view.summary ? this.view.summary() : selected ? nodeSummary(app, selected.summed, selected.node) : "";
		byId("selected").textContent = text;
		if (this.hasDetails)
			this.sidebar.show(this.isEmpty ? null : this.view.subject?.() ?? (selected && { of: selected.summed.tree.function[selected.node], ...selected }), Boolean(this.view.canvas));
		const complete = header.unwound ? `${formatShare(header.complete, header.unwound)} of stacks complete` : "";
		const lost = app.capture.marks.some(([, , , isMissing]) => isMissing) ? "samples were lost" : "";
		byId("quality").textContent = [complete, lost].filter((part) => part).join(" · ");
	}

	// ---- keys and files -------------------------------------------------------------------------

	/** @param {KeyboardEvent} event */
	key(event) {
		const target = /** @type {HTMLElement} */ (event.target), { app } = this, { state } = app;
		if (document.querySelector("dialog[open]"))
			return;
		if (event.key === "Escape" && target instanceof HTMLInputElement) {
			target.value = "";
			target.dispatchEvent(new Event("input"));
			this.view.focus();
			return;
		}
		if (target instanceof HTMLInputElement || target instanceof HTMLSelectElement || event.ctrlKey || event.metaKey || event.altKey)
			return;
		const tab = this.tabs[Number(event.key) - 1];
		const actions = /** @type {Record<string, () => void>} */ ({
			"/": () => byId("search").focus(), "?": () => showHelp(app), "i": () => app.update({ invert: !state.invert }), "b": () => app.update({ below: !state.below }),
			"h": () => app.update({ full: !state.full }), "p": () => this.toggleDetails(), "g": () => state.tab === "chart" && app.update({ gapless: !state.gapless }), "t": () => this.timeline?.canvas.focus(), "v": () => this.view.focus(), "e": () => this.saveSvg(), "E": () => this.saveFolded(), "S": () => this.saveSpeedscope(),
			"Escape": () => this.undo(),
		});
		if (tab)
			app.update({ tab });
		else if (actions[event.key])
			actions[event.key]();
		else
			return;
		event.preventDefault();
	}

	/** Removes one of these, in this order: zoom, search, last transform, range, last label, threads. */
	undo() {
		const { app } = this, { state } = app, { canvas } = this.view;
		if (canvas && (canvas.from > canvas.start || canvas.to < canvas.end))
			canvas.reset();
		else if (state.search)
			app.update({ search: "" });
		else if (state.transforms.length)
			app.update({ transforms: state.transforms.slice(0, -1) });
		else if (state.from !== null || state.to !== null)
			app.update({ from: null, to: null });
		else if (state.labels.length)
			app.update({ labels: state.labels.slice(0, -1) });
		else if (state.who.length)
			app.update({ who: [] });
	}

	/** @param {string} end */
	fileName(end) {
		return `${this.app.capture.header.file.replace(/\.reel$/, "")}.${end}`;
	}

	saveSvg() {
		const { canvas } = this.view;
		if (!canvas?.summed)
			return;
		const { boxes, width, height } = boxesOf(canvas), { paper, ink } = this.app.colors.theme;
		download(this.fileName("svg"), svgOf(boxes, width, height, { paper, ink }), "image/svg+xml");
	}

	saveSpeedscope() {
		download(this.fileName("speedscope.json"), speedscopeOf(this.app.profile), "application/json");
	}

	saveFolded() {
		download(this.fileName("folded"), foldedOf(this.app.profile), "text/plain");
	}
}
