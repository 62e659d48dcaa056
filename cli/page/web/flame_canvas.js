// Draws rows of boxes, of which a part is shown; moves, zooms, and finds boxes under the pointer.

import { amountLabels, AXIS, drawAxis } from "./axis.js";
import { BoxPixels } from "./box_pixels.js";
import { Kind } from "./capture.js";
import { FONT } from "./colors.js";
import { nodeDetails } from "./details.js";
import { el, oncePerFrame, sizeCanvas } from "./dom.js";
import { innerName } from "./names.js";
import { Overview } from "./overview.js";
import { boxAt, firstBox } from "./rows.js";

/** @typedef {import("./app.js").App} App */
/** @typedef {import("./axis.js").Labels} Labels */
/** @typedef {import("./rows.js").Row} Row */
/** @typedef {import("./profile.js").SummedTree} SummedTree */
/**
 * @typedef {{
 *   label: string, below?: boolean, skipRoot?: boolean, axis?: "amount" | Labels, hasOverview?: boolean,
 *   color?: (node: number) => string | undefined, mark?: (node: number) => string, details?: (node: number) => ReturnType<typeof nodeDetails>,
 *   onSelect?: (node: number) => void, onOpen?: (node: number) => void, onHover?: (node: number, x: number, y: number) => void, onMenu?: (node: number, x: number, y: number) => void,
 * }} Options `below`: row 0 is at the bottom; `axis`: of x; `hasOverview`: a strip shows all while it is zoomed; `mark`: what precedes a name; `color`, `details`: not the function's
 */

export const ROW = 20;
const CALLERS = 2; // in view, of a box that was zoomed to and has many callees
const TEXT_LEAST = 24; // px: narrower boxes have no text
export const TINY = 0.6; // px: neighbours of that width are drawn as one

export class FlameCanvas {
	/** @param {App} app @param {Options} options */
	constructor(app, options) {
		this.app = app;
		this.options = options;
		/** @type {Row[]} */
		this.rows = [];
		/** @type {SummedTree | null} */
		this.summed = null;
		this.from = this.start = 0;
		this.to = this.end = 1;
		this.selected = this.hovered = -1;
		this.fromBottom = 0;
		this.wasBelow = false;
		/** @type {Map<string, number>} */
		this.widths = new Map();
		this.pixels = new BoxPixels();
		this.canvas = el("canvas", { tabindex: "0", role: "img", "aria-label": options.label });
		this.spacer = el("div", { class: "flame-spacer" });
		this.element = el("div", { class: "flame" }, this.canvas, this.spacer);
		this.overview = options.hasOverview ? new Overview(this) : null;
		this.box = el("div", { class: "flame-box" }, this.element, ...this.overview ? [this.overview.element] : []);
		this.draw = oncePerFrame(() => this.drawNow());
		this.listen();
		new ResizeObserver(() => this.layout()).observe(this.element);
	}

	/** @param {Row[]} rows @param {SummedTree} summed @param {number} start @param {number} end of all that can be shown */
	show(rows, summed, start, end) {
		this.rows = this.options.skipRoot ? rows.slice(1) : rows;
		this.summed = summed;
		const isSame = this.start === start && this.end === end;
		this.start = start;
		this.end = Math.max(end, start + 1e-9);
		if (!isSame || this.from < start || this.to > this.end)
			this.setRange(this.start, this.end);
		this.layout();
	}

	layout() {
		const height = this.top + this.rows.length * ROW, room = this.element.clientHeight;
		this.spacer.style.height = `${Math.max(0, height - room)}px`;
		// With the root at the bottom, what stays is the distance to the bottom.
		this.box.classList.toggle("below", Boolean(this.options.below));
		const below = Boolean(this.options.below), top = height - this.fromBottom - room;
		if (below !== this.wasBelow)
			this.element.scrollTop = below ? Math.max(0, height - room) : 0;
		else if (below)
			this.element.scrollTop = Math.max(0, top);
		this.wasBelow = below;
		this.draw();
	}

	/** @param {number} from @param {number} to */
	setRange(from, to) {
		const least = (this.end - this.start) * 1e-9, width = Math.max(least, Math.min(to - from, this.end - this.start));
		this.from = Math.max(this.start, Math.min(from, this.end - width));
		this.to = this.from + width;
		this.draw();
	}

	/** @param {number} factor below 1 is nearer @param {number} at a place that stays */
	zoom(factor, at = (this.from + this.to) / 2) {
		this.setRange(at - (at - this.from) * factor, at + (this.to - at) * factor);
	}

	/** @param {number} part of what is shown */
	pan(part) {
		const by = (this.to - this.from) * part;
		this.setRange(this.from + by, this.to + by);
	}

	reset() {
		this.setRange(this.start, this.end);
	}

	/** The place of a node: row and box; null if it has none. @param {number} node */
	find(node) {
		for (let row = 0; row < this.rows.length; row++) {
			const box = this.rows[row].node.indexOf(node);
			if (box >= 0)
				return { row, box };
		}
		return null;
	}

	/** @param {number} node */
	zoomTo(node) {
		const place = this.find(node);
		if (!place)
			return;
		const row = this.rows[place.row], from = row.x[place.box], to = row.end[place.box];
		let last = place.row;
		for (let next = this.rows[last + 1]; next && next.x[firstBox(next, from)] < to; next = this.rows[last + 1])
			last++;
		this.setRange(from, to);
		this.revealCallees(place.row, last);
	}

	/** Unless all of these rows are in view, makes room for them: only a few callers stay in view. @param {number} first @param {number} last */
	revealCallees(first, last) {
		const { element, top } = this, start = this.rowTop(first), high = Math.min(start, this.rowTop(last)), low = Math.max(start, this.rowTop(last)) + ROW;
		if (high < element.scrollTop + top || low > element.scrollTop + element.clientHeight)
			element.scrollTop = this.options.below ? start + (CALLERS + 1) * ROW - element.clientHeight : start - CALLERS * ROW - top;
	}

	/** @param {number} row */
	scrollToRow(row) {
		const top = this.rowTop(row), room = this.element.clientHeight;
		if (top < this.element.scrollTop + this.top || top + ROW > this.element.scrollTop + room)
			this.element.scrollTop = top - room / 2;
	}

	/** @param {number} node */
	select(node) {
		this.selected = node;
		this.options.onSelect?.(node);
		this.draw();
	}

	get height() {
		return Math.max(this.top + this.rows.length * ROW, this.element.clientHeight);
	}

	/** Of the first row. */
	get top() {
		return this.options.axis ? AXIS : 0;
	}

	/** From the top of all rows. @param {number} row */
	rowTop(row) {
		return this.options.below ? this.height - (row + 1) * ROW : this.top + row * ROW;
	}

	get rowSize() {
		return ROW;
	}

	/** Of rows that are in view, also in part. */
	visibleRows() {
		const { rows, element } = this, top = element.scrollTop, room = element.clientHeight - this.top;
		const first = this.options.below ? (this.height - top - element.clientHeight) / ROW : top / ROW;
		return { first, end: Math.min(first + room / ROW, rows.length) };
	}

	/** Where between `start` and `end` that is. @param {number} x of the window */
	placeAt(x) {
		const place = this.canvas.getBoundingClientRect();
		return this.from + (x - place.left) / place.width * (this.to - this.from);
	}

	/** @param {number} x @param {number} y of the window @returns {number} a node; -1: none */
	nodeAt(x, y) {
		const place = this.canvas.getBoundingClientRect(), inside = y - place.top + this.element.scrollTop;
		if (y - place.top < this.top)
			return -1;
		const row = this.rows[Math.floor((this.options.below ? this.height - inside : inside - this.top) / ROW)];
		const box = boxAt(row, this.placeAt(x));
		return row && box >= 0 ? row.node[box] : -1;
	}

	listen() {
		const canvas = this.canvas;
		let dragged = /** @type {{ x: number, y: number, from: number, to: number, top: number, moved: boolean } | null} */ (null);
		canvas.addEventListener("pointerdown", (event) => {
			if (event.button === 0) {
				dragged = { x: event.clientX, y: event.clientY, from: this.from, to: this.to, top: this.element.scrollTop, moved: false };
				canvas.setPointerCapture(event.pointerId);
			}
		});
		canvas.addEventListener("pointermove", (event) => {
			if (dragged && (dragged.moved || Math.hypot(event.clientX - dragged.x, event.clientY - dragged.y) > 4)) {
				dragged.moved = true;
				const by = (dragged.x - event.clientX) / canvas.clientWidth * (dragged.to - dragged.from);
				this.setRange(dragged.from + by, dragged.to + by);
				this.element.scrollTop = dragged.top + dragged.y - event.clientY;
				return;
			}
			this.hover(this.nodeAt(event.clientX, event.clientY), event.clientX, event.clientY);
		});
		canvas.addEventListener("pointerup", (event) => {
			if (dragged && !dragged.moved)
				this.select(this.nodeAt(event.clientX, event.clientY));
			dragged = null;
		});
		canvas.addEventListener("pointerleave", () => this.hover(-1, 0, 0));
		canvas.addEventListener("dblclick", (event) => this.options.onOpen?.(this.nodeAt(event.clientX, event.clientY)));
		canvas.addEventListener("contextmenu", (event) => {
			const node = this.nodeAt(event.clientX, event.clientY);
			event.preventDefault();
			if (node > 0) {
				this.select(node);
				this.options.onMenu?.(node, event.clientX, event.clientY);
			}
		});
		canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
		canvas.addEventListener("keydown", (event) => this.key(event));
		this.element.addEventListener("scroll", () => {
			this.fromBottom = this.element.scrollHeight - this.element.scrollTop - this.element.clientHeight;
			this.draw();
		});
	}

	/** @param {number} node @param {number} x @param {number} y */
	hover(node, x, y) {
		if (node !== this.hovered)
			this.draw();
		this.hovered = node;
		this.options.onHover?.(node, x, y);
	}

	/** Scrolls if there is more to see; zooms with Ctrl, or if not. @param {WheelEvent} event */
	wheel(event) {
		const scrolls = this.spacer.offsetHeight > 0 && !event.ctrlKey && !event.metaKey && !event.altKey;
		if (scrolls && Math.abs(event.deltaY) >= Math.abs(event.deltaX))
			return;
		event.preventDefault();
		const place = this.canvas.getBoundingClientRect();
		if (Math.abs(event.deltaX) > Math.abs(event.deltaY))
			this.pan(event.deltaX / place.width);
		else
			this.zoom(Math.exp(event.deltaY * (event.deltaMode ? 0.05 : 0.002)), this.from + (event.clientX - place.left) / place.width * (this.to - this.from));
	}

	/** @param {KeyboardEvent} event */
	key(event) {
		if (event.ctrlKey || event.metaKey || event.altKey)
			return;
		const actions = /** @type {Record<string, () => void>} */ ({
			"+": () => this.zoom(0.6), "=": () => this.zoom(0.6), "-": () => this.zoom(1 / 0.6), "0": () => this.reset(), "w": () => this.zoom(0.6), "s": () => this.zoom(1 / 0.6),
			"a": () => this.pan(-0.25), "d": () => this.pan(0.25), "Enter": () => this.selected >= 0 && this.zoomTo(this.selected),
			"ArrowUp": () => this.step(this.options.below ? 1 : -1, 0), "ArrowDown": () => this.step(this.options.below ? -1 : 1, 0),
			"ArrowLeft": () => this.step(0, -1), "ArrowRight": () => this.step(0, 1),
		});
		const act = actions[event.key];
		if (!act)
			return;
		event.preventDefault();
		event.stopPropagation();
		act();
	}

	/** Selects a box beside the selected one. @param {number} deeper @param {number} right */
	step(deeper, right) {
		const place = this.selected >= 0 ? this.find(this.selected) : null;
		if (!place) {
			if (this.rows.length && this.rows[0].count)
				this.select(this.rows[0].node[0]);
			return;
		}
		const row = this.rows[place.row + deeper];
		if (!row)
			return;
		let box = place.box + right;
		if (deeper) {
			const from = this.rows[place.row].x[place.box], to = this.rows[place.row].end[place.box];
			box = deeper < 0 ? boxAt(row, (from + to) / 2) : firstBox(row, from);
			if (deeper > 0 && (box >= row.count || row.x[box] >= to))
				return;
		}
		if (box < 0 || box >= row.count)
			return;
		this.select(row.node[box]);
		this.scrollToRow(place.row + deeper);
		if (row.end[box] <= this.from || row.x[box] >= this.to)
			this.setRange((row.x[box] + row.end[box] - this.to + this.from) / 2, (row.x[box] + row.end[box] + this.to - this.from) / 2);
	}

	/**
	 * Calls `draw` for each box that is shown, in pixels of the canvas; of boxes that share a pixel, for the first.
	 * @param {number} width @param {number} top @param {number} height @param {(node: number, x: number, y: number, width: number, row: number) => void} draw
	 */
	visit(width, top, height, draw) {
		const scale = width / (this.to - this.from);
		for (let number = 0; number < this.rows.length; number++) {
			const row = this.rows[number], y = this.rowTop(number) - top;
			if (y + ROW <= 0 || y >= height)
				continue;
			for (let i = firstBox(row, this.from); i < row.count && row.x[i] < this.to;) {
				const x = (row.x[i] - this.from) * scale, end = (row.end[i] - this.from) * scale;
				if (end - x >= TINY) {
					draw(row.node[i], x, y, end - x, number);
					i++;
				} else {
					draw(row.node[i], x, y, TINY, number);
					i = Math.max(i + 1, firstBox(row, this.from + (x + TINY) / scale));
				}
			}
		}
	}

	/** @param {number} node @param {number} of its function */
	colorOf(node, of) {
		return this.options.color?.(node) ?? this.app.colors.of(of);
	}

	/** @param {number} node */
	isMatch(node) {
		const { matches } = this.app;
		return node > 0 && matches !== null && matches[/** @type {SummedTree} */ (this.summed).tree.function[node]] === 1;
	}

	/** With the search's colour. @param {number} node */
	fillOf(node) {
		const { theme } = this.app.colors;
		return node === 0 ? theme.whole : this.isMatch(node) ? theme.match : this.colorOf(node, /** @type {SummedTree} */ (this.summed).tree.function[node]);
	}

	/** The colour of the line below a box; "": it has none. @param {number} node */
	footOf(node) {
		const { functions } = this.app.capture, of = /** @type {SummedTree} */ (this.summed).tree.function[node];
		return functions.kind[of] === Kind.inlined && !this.options.color?.(node) ? this.app.colors.theme.inlined : "";
	}

	/** @param {number} node @param {number} of its function */
	labelOf(node, of) {
		return node === 0 ? "all" : (this.options.mark?.(node) ?? "") + this.app.name(of);
	}

	/** @param {number} node */
	details(node) {
		return this.options.details?.(node) ?? nodeDetails(this.app, /** @type {SummedTree} */ (this.summed), node);
	}

	drawNow() {
		const width = this.element.clientWidth, height = this.element.clientHeight;
		if (!width || !height || !this.summed)
			return;
		const context = sizeCanvas(this.canvas, width, height), { app, summed, pixels } = this, theme = app.colors.theme;
		const functions = summed.tree.function;
		/** @type {{ node: number, left: number, y: number, shown: number }[]} */
		const named = [];
		pixels.begin(context, theme.paper);
		this.visit(width, this.element.scrollTop, height, (node, x, y, boxWidth) => {
			const left = Math.max(x, 0), shown = Math.min(x + boxWidth, width) - left;
			const color = this.fillOf(node);
			pixels.box(left, left + shown, y, ROW - 1, color, this.footOf(node) || color);
			if (shown >= TEXT_LEAST || node >= 0 && (node === this.selected || node === this.hovered))
				named.push({ node, left, y, shown });
		});
		pixels.finish(context);
		context.font = FONT;
		context.textBaseline = "middle";
		for (const { node, left, y, shown } of named) {
			context.fillStyle = this.isMatch(node) ? theme.matchInk : theme.ink;
			if (shown >= TEXT_LEAST)
				this.text(context, this.labelOf(node, node > 0 ? functions[node] : -1), left + 5, y + ROW / 2, shown - 9);
			if (node === this.selected || node === this.hovered)
				this.outline(context, node === this.selected ? theme.accent : theme.muted, left, y, shown);
		}
		if (this.options.axis)
			drawAxis(context, this.from, this.to, width, theme, this.options.axis === "amount" ? amountLabels(app.profile.weight, app.profile.isTime) : this.options.axis);
		this.overview?.draw();
	}

	/** @param {CanvasRenderingContext2D} context @param {string} color @param {number} x @param {number} y @param {number} width */
	outline(context, color, x, y, width) {
		context.strokeStyle = color;
		context.lineWidth = 2;
		context.strokeRect(x + 1, y + 1, Math.max(width - 2.75, 1), ROW - 3);
	}

	/** @param {CanvasRenderingContext2D} context @param {string} text @param {number} x @param {number} y @param {number} room */
	text(context, text, x, y, room) {
		const short = this.fit(context, text, room);
		if (short)
			context.fillText(short, x, y);
	}

	/** As much of a name as there is room for: without what encloses it if need be. @param {CanvasRenderingContext2D} context @param {string} text @param {number} room @returns {string} */
	fit(context, text, room) {
		if (this.widthOf(context, text) <= room)
			return text;
		const name = innerName(text);
		if (this.widthOf(context, name) <= room)
			return name;
		// Of an address, the first digits say less than the module.
		const cut = name[0] === "+" ? text : name;
		let letters = 0, left = room - this.widthOf(context, "…");
		for (const letter of cut) {
			left -= this.widthOf(context, letter);
			if (left < 0)
				break;
			letters += letter.length;
		}
		return letters < 2 ? "" : `${cut.slice(0, letters)}…`;
	}

	/** @param {CanvasRenderingContext2D} context @param {string} text @returns {number} */
	widthOf(context, text) {
		let width = this.widths.get(text);
		if (width === undefined)
			this.widths.set(text, width = context.measureText(text.slice(0, 400)).width);
		return width;
	}
}
