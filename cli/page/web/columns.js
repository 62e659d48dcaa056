// Columns that several tables have.

import { Kind } from "./capture.js";
import { el } from "./dom.js";
import { formatCount, formatShare } from "./numbers.js";

/** @typedef {import("./app.js").App} App */
/** @typedef {{ self: number, total: number, samples: number }} Amounts */

/**
 * @template R @param {App} app @param {(row: R) => Amounts} of
 * @returns {import("./virtual_table.js").Column<R>[]}
 */
export function amountColumns(app, of) {
	const share = (/** @type {number} */ weight) => app.profile.weight ? weight / app.profile.weight : 0;
	return [
		{ name: "Total", title: "Including callees, as a share of the selection", width: "6.5em", number: true, text: (row) => formatShare(of(row).total, app.profile.weight), share: (row) => share(of(row).total), sort: (row) => of(row).total },
		{ name: "", title: "Including callees", width: "5.5em", number: true, text: (row) => app.weightText(of(row).total) },
		{ name: "Self", title: "Excluding callees, as a share of the selection", width: "6.5em", number: true, text: (row) => of(row).self ? formatShare(of(row).self, app.profile.weight) : "", share: (row) => share(of(row).self), sort: (row) => of(row).self },
		{ name: "", title: "Excluding callees", width: "5.5em", number: true, text: (row) => of(row).self ? app.weightText(of(row).self) : "" },
		{ name: "Samples", title: "Including callees", width: "5.5em", number: true, text: (row) => formatCount(of(row).samples), sort: (row) => of(row).samples },
	];
}

/** Weight over the selection's time, as a small picture. @template R @param {App} app @param {(row: R) => number} keyOf unique @param {(row: R) => Float32Array} courseOf
 * @returns {import("./virtual_table.js").Column<R>[]} none without times */
export function courseColumns(app, keyOf, courseOf) {
	/** @type {WeakMap<import("./profile.js").Profile, Map<number, string>>} */
	const known = new WeakMap();
	const cell = (/** @type {R} */ row) => {
		const cells = known.get(app.profile) ?? new Map(), key = keyOf(row);
		known.set(app.profile, cells);
		let path = cells.get(key);
		if (path === undefined)
			cells.set(key, path = pathOf(courseOf(row)));
		return picture(path);
	};
	return app.capture.threads.length ? [{ name: "Time", title: "When it ran in the selected time, relative to the maximum of the row", width: "104px", text: () => "", cell }] : [];
}

/** Steps as an area, each 1 wide, and 18 high. @param {Float32Array} course */
export function pathOf(course) {
	return `M0 18${Array.from(course, (value) => `V${(18 - 16 * value).toFixed(1)}h1`).join("")}V18Z`;
}

/** @param {string} path @param {number} [width] */
export function picture(path, width = 48) {
	const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg"), shape = document.createElementNS("http://www.w3.org/2000/svg", "path");
	svg.setAttribute("class", "course");
	svg.setAttribute("viewBox", `0 0 ${width} 18`);
	svg.setAttribute("preserveAspectRatio", "none");
	svg.setAttribute("aria-hidden", "true");
	shape.setAttribute("d", path);
	svg.append(shape);
	return svg;
}

/**
 * A function's name with its colour and its marks. @param {App} app @param {number} of @param {string} [color]
 */
export function nameCell(app, of, color = app.colors.of(of)) {
	const { functions } = app.capture, cell = document.createElement("span"), swatch = document.createElement("i"), text = document.createElement("span");
	cell.className = "function";
	swatch.className = "swatch";
	swatch.style.background = color;
	if (functions.kind[of] === Kind.inlined)
		swatch.style.borderBottom = `3px solid ${app.colors.theme.inlined}`;
	text.textContent = app.name(of);
	if (app.matches?.[of])
		text.className = "match";
	text.title = functions.name[of];
	cell.append(swatch, text);
	return cell;
}

const CHOICES = 12;

/** A list of the functions with the most of their own, and the chosen one. @param {App} app */
export function functionChoice(app) {
	const select = el("select", { "aria-label": "Function", onchange: () => app.update({ of: Number(select.value) }) });
	return {
		select,
		/** Returns the chosen function, at first the hottest that is preferred; -1: none. @param {Float64Array} self by function @param {Set<number>} preferred */
		list: (self, preferred) => {
			const sorted = [...self.keys()].filter((of) => self[of] > 0).sort((a, b) => self[b] - self[a]), top = sorted.slice(0, CHOICES);
			const chosen = app.state.of ?? sorted.find((of) => preferred.has(of)) ?? [...preferred][0] ?? top[0] ?? -1;
			if (chosen >= 0 && !top.includes(chosen))
				top.unshift(chosen);
			select.replaceChildren(...top.map((of) => el("option", { value: String(of), selected: of === chosen }, app.capture.functions.short[of].slice(0, 80))));
			return chosen;
		},
	};
}
