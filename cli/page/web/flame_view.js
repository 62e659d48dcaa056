// The flame graph: all stacks of the selection, equal ones together, the widest first.

import { el } from "./dom.js";
import { FlameCanvas, ROW, TINY } from "./flame_canvas.js";
import { invertAll } from "./inverted.js";
import { actByKey, showMenu } from "./menu.js";
import { nodeDetails } from "./details.js";
import { rowsOfTree } from "./rows.js";
import { hideTooltip, showTooltip } from "./tooltip.js";

/** @typedef {import("./app.js").App} App */
/** @typedef {import("./profile.js").SummedTree} SummedTree */
/**
 * @typedef {{
 *   element: HTMLElement, focus: () => void, show: () => void, selected: () => { summed: SummedTree, node: number } | null, canvas?: FlameCanvas,
 *   subject?: () => import("./sidebar.js").Subject | null, summary?: () => string, matched?: (matches: Uint8Array) => string,
 * }} View `subject`: what details are about, if not `selected`; `summary` and `matched`: of numbers that are not the profile's
 */

/** A canvas with tooltips, a menu and keys. @param {App} app @param {{ label: string, below?: boolean, skipRoot?: boolean, axis?: "amount" | import("./axis.js").Labels, hasOverview?: boolean, isOwnTree: () => boolean, onSelect: () => void, onOpen?: (node: number) => void, linesAt?: (x: number) => [string, string][],
 * hasMenu?: boolean, color?: (node: number) => string | undefined, mark?: (node: number) => string, details?: (node: number) => ReturnType<typeof nodeDetails> }} options `linesAt`: more lines of tooltips */
export function makeFlame(app, options) {
	/** @type {FlameCanvas} */
	const canvas = new FlameCanvas(app, {
		label: options.label, below: options.below, skipRoot: options.skipRoot, axis: options.axis, hasOverview: options.hasOverview, color: options.color, mark: options.mark, details: options.details,
		onSelect: options.onSelect,
		onOpen: options.onOpen ?? ((node) => node >= 0 && canvas.zoomTo(node)),
		onHover: (node, x, y) => {
			if (node < 0 || !canvas.summed) {
				hideTooltip();
				return;
			}
			const details = canvas.details(node);
			showTooltip(x, y, { ...details, lines: [...details.lines, ...options.linesAt?.(canvas.placeAt(x)) ?? []] });
		},
		onMenu: (node, x, y) => options.hasMenu !== false && showMenu(app, subject(node), x, y),
	});
	const subject = (/** @type {number} */ node) => {
		const summed = /** @type {SummedTree} */ (canvas.summed);
		return { of: summed.tree.function[node], summed, node, path: options.isOwnTree() ? summed.tree.path(node) : null };
	};
	canvas.canvas.addEventListener("keydown", (event) => {
		if (canvas.selected <= 0 || options.hasMenu === false)
			return;
		if (event.key === "ContextMenu" || event.key === " ") {
			const place = canvas.canvas.getBoundingClientRect();
			showMenu(app, subject(canvas.selected), place.left + 40, place.top + 40);
		} else if (!actByKey(app, subject(canvas.selected), event)) {
			return;
		}
		event.preventDefault();
		event.stopPropagation();
	});
	return canvas;
}

/** @param {App} app @param {() => void} onSelect @returns {View} */
export function flameView(app, onSelect) {
	const canvas = makeFlame(app, { label: "Flame graph", axis: "amount", hasOverview: true, isOwnTree: () => !app.state.invert, onSelect, onOpen: (node) => node >= 0 && canvas.zoomTo(node) });
	/** @type {object | null} */
	let shownProfile = null;
	let shownInvert = false;
	return {
		element: el("div", { class: "view" }, canvas.box),
		canvas,
		focus: () => canvas.canvas.focus(),
		selected: () => canvas.summed && canvas.selected >= 0 ? { summed: canvas.summed, node: canvas.selected } : null,
		show: () => {
			const { profile, state } = app;
			canvas.options.below = state.below;
			if (shownProfile === profile && shownInvert === state.invert) {
				canvas.layout();
				return;
			}
			const summed = state.invert ? invertAll(profile.summed) : profile.summed;
			shownProfile = profile;
			shownInvert = state.invert;
			canvas.selected = -1;
			canvas.show(rowsOfTree(summed), summed, 0, summed.total[0]);
		},
	};
}

/** The boxes that a canvas shows, of all rows, for a picture. @param {FlameCanvas} canvas */
export function boxesOf(canvas) {
	const width = Math.max(canvas.element.clientWidth, 300), height = Math.max(canvas.rows.length * ROW, ROW), summed = /** @type {SummedTree} */ (canvas.summed);
	const context = /** @type {CanvasRenderingContext2D} */ (canvas.canvas.getContext("2d"));
	/** @type {Parameters<typeof import("./export.js").svgOf>[0]} */
	const boxes = [];
	canvas.visit(width, canvas.options.below ? canvas.height - height : canvas.top, height, (node, x, y, w) => {
		if (w <= TINY)
			return;
		const of = summed.tree.function[node], left = Math.max(x, 0), shown = Math.min(x + w, width) - left;
		const details = canvas.details(node);
		boxes.push({
			x: left, y, width: Math.max(shown - 0.75, 0.3), height: ROW - 1, fill: canvas.fillOf(node),
			foot: canvas.footOf(node),
			label: shown < 24 ? "" : canvas.fit(context, canvas.labelOf(node, of), shown - 9), title: `${details.title}\n${details.lines.map(([name, text]) => `${name}: ${text}`).join("\n")}`,
		});
	});
	return { boxes, width, height };
}
