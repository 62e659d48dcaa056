// A table of the marks in the selected time. Choosing a row selects its time, and leaves the table as it is.

import { el } from "./dom.js";
import { marksIn, marksOf } from "./marks.js";
import { formatCount, formatPlural, formatTime } from "./numbers.js";
import { VirtualTable } from "./virtual_table.js";

/** @typedef {import("./app.js").App} App */
/** @typedef {import("./marks.js").Mark} Mark */

/** @param {App} app @param {{ onOpen: () => void }} options `onOpen`: shows the selected time @returns {import("./flame_view.js").View | null} null without marks */
export function marksView(app, { onOpen }) {
	const { capture } = app, hidden = (capture.header.execsLeftOut ?? 0) + (capture.header.livesLeftOut ?? 0) + (capture.header.recorderMarksLeftOut ?? 0);
	if (!capture.marks.length && !capture.recorderMarks.length && !capture.execs.size && !capture.lives.length)
		return null;
	/** Made when they are needed. @type {Mark[]} */
	let all = [];
	const threadOf = (/** @type {Mark} */ { thread }) => thread < 0 ? "" : `${capture.threads[thread].name} (${capture.threads[thread].id})`;
	/** @type {import("./virtual_table.js").Column<Mark>[]} */
	const columns = [
		{ name: "Time", width: "6.5em", number: true, text: (mark) => formatTime(mark.time), sort: (mark) => mark.time },
		{ name: "Duration", width: "6.5em", number: true, text: (mark) => formatTime(mark.end - mark.time), sort: (mark) => mark.end - mark.time },
		{ name: "Kind", width: "10.5em", text: (mark) => mark.kind, sort: (mark) => mark.kind },
		{ name: "Thread", width: "minmax(12em, 0.6fr)", text: threadOf, title_of: threadOf, sort: threadOf },
		{ name: "What", text: (mark) => mark.what, title_of: (mark) => mark.what, sort: (mark) => mark.what },
	];
	const empty = el("p", { class: "empty", hidden: true }, "No mark of the selected time matches.");
	const note = el("span", { class: "note" }, `Select a row to select its time; Enter or a double click also selects its thread and zooms in.${hidden ? ` ${formatPlural(hidden, "more mark")} left out.` : ""}`);
	let sorted = columns[0], descending = false, search = "", isShown = false;
	/** The time whose marks are listed, and the time that a row selected. */
	let time = /** @type {[number | null, number | null]} */ ([app.state.from, app.state.to]), chosen = "";

	/** @type {VirtualTable<Mark>} */
	const table = new VirtualTable({
		label: "Marks", columns, rowAttributes: (mark) => ({ "data-kind": mark.kind }),
		onSelect: ({ time, end }) => {
			const from = Math.floor(time), to = Math.ceil(Math.max(end, time + capture.step));
			chosen = `${from}..${to}`;
			app.update({ from, to });
		},
		onOpen: ({ thread }) => {
			app.update({ who: thread < 0 ? [] : [`t${thread}`] });
			onOpen();
		},
		sort: (column) => {
			descending = column === sorted ? !descending : false;
			sorted = column;
			list();
		},
	});

	/** The search finds marks here, not functions. */
	function list() {
		if (!isShown)
			all = marksOf(capture);
		const value = /** @type {(mark: Mark) => number | string} */ (sorted.sort), sign = descending ? -1 : 1, wanted = app.state.search.trim().toLowerCase(), before = table.rows[table.selected];
		const rows = marksIn(all, ...time).filter((mark) => `${mark.kind} ${threadOf(mark)} ${mark.what}`.toLowerCase().includes(wanted));
		rows.sort((a, b) => {
			const x = value(a), y = value(b);
			return x < y ? -sign : x > y ? sign : 0;
		});
		search = app.state.search;
		isShown = true;
		empty.hidden = rows.length > 0;
		table.markSorted(sorted, descending);
		table.show(rows, rows.indexOf(before));
	}

	return {
		element: el("div", { class: "view" }, el("div", { class: "view-bar" }, note), table.element, empty), focus: () => table.element.focus(), selected: () => null,
		matched: () => `${formatCount(table.rows.length)} of ${formatCount(all.length)}`,
		show: () => {
			const { from, to } = app.state, isKept = `${from}..${to}` === chosen || from === time[0] && to === time[1];
			if (!isKept)
				time = [from, to];
			if (isShown && isKept && search === app.state.search)
				table.draw();
			else
				list();
		},
	};
}
