// A table of any number of rows, of which only those in view are elements.

import { el, oncePerFrame } from "./dom.js";

const ROW = 24, BEYOND = 6;

/**
 * @template R
 * @typedef {{ name: string, title?: string, width?: string, number?: boolean, text: (row: R) => string, title_of?: (row: R) => string, share?: (row: R) => number,
 *   sort?: (row: R) => number | string, cell?: (row: R) => Node }} Column `share` of all draws a bar; `cell` replaces the text
 */

/** @template R */
export class VirtualTable {
	/**
	 * @param {{ label: string, columns: Column<R>[], onSelect?: (row: R) => void, onOpen?: (row: R) => void, onMenu?: (row: R, x: number, y: number) => void,
	 *   onKey?: (event: KeyboardEvent, row: R) => boolean, sort?: (column: Column<R>) => void, rowAttributes?: (row: R) => Record<string, string>, tree?: boolean }} options
	 */
	constructor(options) {
		this.options = options;
		/** @type {R[]} */
		this.rows = [];
		this.selected = -1;
		this.head = el("div", { class: "table-head", role: "row" }, ...options.columns.map((column) => this.headCell(column)));
		this.body = el("div", { class: "table-body", role: "rowgroup" });
		this.element = el("div", { class: "table", role: options.tree ? "treegrid" : "grid", "aria-label": options.label, tabindex: "0" }, this.head, this.body);
		this.element.style.setProperty("--columns", options.columns.map((column) => column.width ?? "minmax(16em, 1fr)").join(" "));
		this.draw = oncePerFrame(() => this.drawNow());
		this.element.addEventListener("scroll", () => this.draw());
		this.element.addEventListener("keydown", (event) => this.key(event));
		new ResizeObserver(() => this.draw()).observe(this.element);
	}

	/** @param {Column<R>} column */
	headCell(column) {
		const name = column.sort && this.options.sort ? el("button", { type: "button", onclick: () => this.options.sort?.(column) }, column.name) : column.name;
		return el("div", { class: column.number ? "number" : "", role: "columnheader", title: column.title ?? "" }, name);
	}

	/** Marks the column that rows are sorted by. @param {Column<R>} column @param {boolean} descending */
	markSorted(column, descending) {
		this.options.columns.forEach((other, i) => this.head.children[i].setAttribute("aria-sort", other !== column ? "none" : descending ? "descending" : "ascending"));
	}

	/** @param {R[]} rows @param {number} [selected] */
	show(rows, selected = -1) {
		this.rows = rows;
		this.selected = selected;
		this.element.setAttribute("aria-rowcount", String(rows.length + 1));
		this.body.style.height = `${rows.length * ROW}px`;
		this.draw();
	}

	drawNow() {
		const first = Math.max(0, Math.floor(this.element.scrollTop / ROW) - BEYOND);
		const end = Math.min(this.rows.length, first + Math.ceil(this.element.clientHeight / ROW) + 2 * BEYOND);
		const shown = [];
		for (let i = first; i < end; i++)
			shown.push(this.row(i));
		this.body.replaceChildren(...shown);
	}

	/** @param {number} number */
	row(number) {
		const row = this.rows[number], { options } = this, isSelected = number === this.selected;
		const cells = options.columns.map((column) => {
			const cell = el("div", { class: column.number ? "number" : "name", role: "gridcell", title: column.title_of?.(row) ?? "" }, column.cell ? column.cell(row) : column.text(row));
			if (column.share)
				cell.style.setProperty("--share", column.share(row).toFixed(4));
			return cell;
		});
		const element = el("div", {
			class: "table-row", role: "row", "aria-selected": isSelected, "aria-rowindex": number + 2, ...options.rowAttributes?.(row),
			onclick: () => this.select(number), ondblclick: () => options.onOpen?.(row),
			oncontextmenu: (/** @type {MouseEvent} */ event) => {
				event.preventDefault();
				this.select(number);
				options.onMenu?.(row, event.clientX, event.clientY);
			},
		}, ...cells);
		element.style.top = `${number * ROW}px`;
		return element;
	}

	/** @param {number} number */
	select(number) {
		if (!this.rows.length)
			return;
		this.selected = Math.max(0, Math.min(number, this.rows.length - 1));
		const top = this.selected * ROW, room = this.element.clientHeight - this.head.offsetHeight;
		if (top < this.element.scrollTop)
			this.element.scrollTop = top;
		else if (top + ROW > this.element.scrollTop + room)
			this.element.scrollTop = top + ROW - room;
		// The rows stay: a double click would miss one that is made anew after the first click.
		for (const row of this.body.children)
			row.setAttribute("aria-selected", String(Number(row.getAttribute("aria-rowindex")) === this.selected + 2));
		this.options.onSelect?.(this.rows[this.selected]);
	}

	/** Scrolls a row to the middle. @param {number} number */
	reveal(number) {
		this.element.scrollTop = number * ROW - this.element.clientHeight / 2;
	}

	/** Scrolls the selected row to the middle if few rows below it are in view. */
	revealBelow() {
		if ((this.selected + 4) * ROW > this.element.scrollTop + this.element.clientHeight)
			this.reveal(this.selected);
	}

	/** @param {KeyboardEvent} event */
	key(event) {
		if (event.ctrlKey || event.metaKey || event.altKey || event.target !== this.element)
			return;
		const row = this.rows[this.selected], page = Math.max(1, Math.floor(this.element.clientHeight / ROW) - 2);
		const moves = /** @type {Record<string, number>} */ ({
			ArrowDown: this.selected + 1, ArrowUp: this.selected - 1, PageDown: this.selected + page, PageUp: this.selected - page, Home: 0, End: this.rows.length - 1,
		});
		if (row && this.options.onKey?.(event, row))
			event.preventDefault();
		else if (event.key in moves) {
			event.preventDefault();
			this.select(moves[event.key]);
		} else if (row && this.options.onMenu && (event.key === " " || event.key === "ContextMenu")) {
			const place = this.body.getBoundingClientRect();
			event.preventDefault();
			this.options.onMenu(row, place.left + 40, place.top + (this.selected + 1) * ROW);
		} else if (event.key === "Enter" && row)
			this.options.onOpen?.(row);
	}
}
