// A strip with all boxes of a zoomed flame graph or chart, and a frame around the visible part, which moves it.

import { BoxPixels } from "./box_pixels.js";
import { el, sizeCanvas } from "./dom.js";
import { formatShare } from "./numbers.js";
import { firstBox } from "./rows.js";

/** @typedef {import("./flame_canvas.js").FlameCanvas} FlameCanvas */

const HEIGHT = 48, ROW_MOST = 4; // px
const FRAME_LEAST = 8; // px
const BOX_LEAST = 0.6; // px: narrower neighbours are drawn as one

export class Overview {
	/** @param {FlameCanvas} flame */
	constructor(flame) {
		this.flame = flame;
		this.canvas = el("canvas", {
			tabindex: "0", role: "slider", title: "The whole graph; drag to move the visible part", "aria-label": "Visible part", "aria-valuemin": "0", "aria-valuemax": "100",
		});
		this.element = el("div", { class: "overview", hidden: true }, this.canvas);
		this.whole = document.createElement("canvas");
		this.pixels = new BoxPixels();
		/** Everything that the picture of all boxes depends on. @type {unknown[]} */
		this.drawn = [];
		this.listen();
	}

	get rowHeight() {
		return Math.min(ROW_MOST, HEIGHT / Math.max(this.flame.rows.length, 1));
	}

	/** The visible part, in pixels of the strip. */
	frame() {
		const { flame, rowHeight } = this, { start, end } = flame, scale = this.element.clientWidth / (end - start), most = this.element.clientWidth;
		const rows = flame.visibleRows(), high = Math.max((rows.end - rows.first) * rowHeight, FRAME_LEAST), width = Math.min(Math.max((flame.to - flame.from) * scale, FRAME_LEAST), most);
		const top = flame.options.below ? HEIGHT - rows.end * rowHeight : rows.first * rowHeight;
		return { x: Math.min((flame.from - start) * scale, most - width), y: Math.max(0, Math.min(top, HEIGHT - high)), width, height: Math.min(high, HEIGHT) };
	}

	listen() {
		const { canvas, flame } = this;
		/** @type {{ x: number, y: number, from: number, top: number } | null} */
		let grabbed = null;
		canvas.addEventListener("pointerdown", (event) => {
			if (event.button !== 0)
				return;
			const frame = this.frame(), x = event.offsetX;
			// A press beside the frame brings it there.
			if (x < frame.x || x > frame.x + frame.width)
				flame.pan((x - frame.x - frame.width / 2) / this.element.clientWidth * (flame.end - flame.start) / (flame.to - flame.from));
			grabbed = { x: event.clientX, y: event.clientY, from: flame.from, top: flame.element.scrollTop };
			canvas.setPointerCapture(event.pointerId);
		});
		canvas.addEventListener("pointermove", (event) => {
			if (!grabbed)
				return;
			const from = grabbed.from + (event.clientX - grabbed.x) / canvas.clientWidth * (flame.end - flame.start);
			flame.setRange(from, from + flame.to - flame.from);
			flame.element.scrollTop = grabbed.top + (event.clientY - grabbed.y) / this.rowHeight * flame.rowSize;
		});
		for (const end of ["pointerup", "pointercancel"])
			canvas.addEventListener(end, () => grabbed = null);
		canvas.addEventListener("wheel", (event) => {
			event.preventDefault();
			flame.zoom(Math.exp(event.deltaY * (event.deltaMode ? 0.05 : 0.002)));
		}, { passive: false });
		canvas.addEventListener("keydown", (event) => this.key(event));
	}

	/** @param {KeyboardEvent} event */
	key(event) {
		if (event.ctrlKey || event.metaKey || event.altKey)
			return;
		const { flame } = this, scroll = (/** @type {number} */ rows) => flame.element.scrollTop += rows * flame.rowSize;
		const actions = /** @type {Record<string, () => void>} */ ({
			"ArrowLeft": () => flame.pan(-0.1), "ArrowRight": () => flame.pan(0.1), "ArrowUp": () => scroll(-1), "ArrowDown": () => scroll(1), "PageUp": () => flame.pan(-1), "PageDown": () => flame.pan(1),
			"Home": () => flame.setRange(flame.start, flame.start + flame.to - flame.from), "End": () => flame.setRange(flame.end - flame.to + flame.from, flame.end),
			"+": () => flame.zoom(0.6), "=": () => flame.zoom(0.6), "-": () => flame.zoom(1 / 0.6), "0": () => flame.reset(),
		});
		const act = actions[event.key];
		if (!act)
			return;
		event.preventDefault();
		event.stopPropagation();
		act();
	}

	/** Draws the strip while the graph is zoomed, and hides it otherwise. */
	draw() {
		const { flame, element, canvas } = this, shown = flame.to - flame.from, all = flame.end - flame.start, isZoomed = shown < all * (1 - 1e-9);
		if (element.hidden !== !isZoomed) {
			if (!isZoomed && document.activeElement === canvas)
				flame.canvas.focus();
			element.hidden = !isZoomed;
		}
		if (!isZoomed || !element.clientWidth)
			return;
		const context = sizeCanvas(canvas, element.clientWidth, HEIGHT), { theme } = flame.app.colors, { x, y, width, height } = this.frame();
		this.drawWhole(element.clientWidth);
		context.drawImage(this.whole, 0, 0, element.clientWidth, HEIGHT);
		context.fillStyle = theme.outside;
		context.globalAlpha = 0.7;
		context.fillRect(0, 0, x, HEIGHT);
		context.fillRect(x + width, 0, element.clientWidth, HEIGHT);
		context.fillRect(x, 0, width, y);
		context.fillRect(x, y + height, width, HEIGHT);
		context.globalAlpha = 1;
		context.strokeStyle = theme.accent;
		context.lineWidth = 2;
		context.strokeRect(x + 1, y + 1, Math.max(width - 2, 1), height - 2);
		const left = (flame.from - flame.start) / all, text = `${formatShare(shown, all)} of the width, from ${formatShare(left, 1)}`;
		canvas.setAttribute("aria-valuenow", (100 * left).toFixed(2));
		canvas.setAttribute("aria-valuetext", text);
	}

	/** @param {number} width */
	drawWhole(width) {
		const { flame, pixels, rowHeight } = this, { app, rows, summed, options } = flame, { theme } = app.colors;
		const key = [rows, summed, theme, app.matches, width, window.devicePixelRatio, options.below];
		if (!summed || key.every((part, i) => part === this.drawn[i]))
			return;
		this.drawn = key;
		const context = sizeCanvas(this.whole, width, HEIGHT), scale = width / (flame.end - flame.start);
		pixels.begin(context, theme.paper);
		for (let number = 0, last = NaN; number < rows.length; number++) {
			const row = rows[number], y = options.below ? HEIGHT - (number + 1) * rowHeight : number * rowHeight, line = Math.floor(y);
			// Rows of a deep graph share lines.
			if (rowHeight < 1 && line === last)
				continue;
			last = line;
			for (let i = firstBox(row, flame.start); i < row.count && row.x[i] < flame.end;) {
				const left = Math.max((row.x[i] - flame.start) * scale, 0), right = Math.min((row.end[i] - flame.start) * scale, width), isWide = right - left >= BOX_LEAST;
				pixels.box(left, isWide ? right : left + BOX_LEAST, rowHeight < 1 ? line : y, Math.max(rowHeight, 1), flame.fillOf(row.node[i]));
				i = isWide ? i + 1 : Math.max(i + 1, firstBox(row, flame.start + (left + BOX_LEAST) / scale));
			}
		}
		pixels.finish(context);
	}
}
