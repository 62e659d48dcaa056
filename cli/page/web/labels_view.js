// The labels of the selection's samples, as a table; its rows are filters.

import { el } from "./dom.js";
import { sumLabels } from "./labels.js";
import { formatCount, formatShare } from "./numbers.js";
import { VirtualTable } from "./virtual_table.js";

/** @typedef {import("./app.js").App} App */
/** @typedef {{ key: string, text: string, weight: number, samples: number }} Row */

/** @param {App} app @param {() => void} onSelect @returns {import("./flame_view.js").View} */
export function labelsView(app, onSelect) {
	const empty = el("p", { class: "empty", hidden: true }, "No label of the selection matches.");
	const note = el("div", { class: "view-bar" }, el("span", { class: "note" }, "A double click or Enter selects the samples with a label; several values of one key are alternatives."));
	const isChosen = (/** @type {Row} */ row) => app.state.labels.some(({ key, text }) => key === row.key && text === row.text);
	const share = (/** @type {Row} */ row) => app.event.weight ? row.weight / app.event.weight : 0;
	/** @type {import("./virtual_table.js").Column<Row>[]} */
	const columns = [
		{ name: "Total", title: "As a share of the event", width: "6.5em", number: true, text: (row) => formatShare(row.weight, app.event.weight), share, sort: (row) => row.weight },
		{ name: "", width: "5.5em", number: true, text: (row) => app.weightText(row.weight) },
		{ name: "Samples", width: "5.5em", number: true, text: (row) => formatCount(row.samples), sort: (row) => row.samples },
		{ name: "", title: "Filters", width: "2.5em", text: (row) => isChosen(row) ? "✓" : "" },
		{ name: "Label", width: "9em", text: (row) => row.key, sort: (row) => row.key },
		{ name: "Value", text: (row) => row.text, title_of: (row) => row.text, sort: (row) => row.text },
	];
	let sorted = columns[0], descending = true, search = "";
	let shown = /** @type {object | null} */ (null);

	/** @type {VirtualTable<Row>} */
	const table = new VirtualTable({
		label: "Labels", columns, onSelect, onOpen: (row) => app.toggleLabel(row),
		sort: (column) => {
			descending = column === sorted ? !descending : Boolean(column.number);
			sorted = column;
			shown = null;
			show();
		},
	});

	/** The search finds labels here, not functions. */
	function rows() {
		const { values } = app.capture.labels, sums = sumLabels(app.capture, app.selection(), app.state.labels), wanted = app.state.search.trim().toLowerCase();
		const all = values.map((value, i) => ({ ...value, weight: sums.weight[i], samples: sums.samples[i] }));
		return all.filter((row) => row.samples > 0 && `${row.key}=${row.text}`.toLowerCase().includes(wanted));
	}

	function show() {
		if (shown === app.profile && search === app.state.search) {
			table.draw();
			return;
		}
		const value = /** @type {(row: Row) => number | string} */ (sorted.sort), sign = descending ? -1 : 1, all = rows(), before = table.rows[table.selected];
		all.sort((a, b) => {
			const x = value(a), y = value(b);
			return x < y ? -sign : x > y ? sign : b.weight - a.weight || (a.text < b.text ? -1 : 1);
		});
		shown = app.profile;
		search = app.state.search;
		empty.hidden = all.length > 0;
		table.markSorted(sorted, descending);
		table.show(all, before ? all.findIndex((row) => row.key === before.key && row.text === before.text) : all.length ? 0 : -1);
	}

	return { element: el("div", { class: "view" }, note, table.element, empty), focus: () => table.element.focus(), selected: () => null, show };
}
