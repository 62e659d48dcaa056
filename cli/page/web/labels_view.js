// The labels of the selection's samples, as a table; its rows are filters.

import { el } from "./dom.js";
import { histogramOf } from "./histogram.js";
import { sumLabels } from "./labels.js";
import { formatCount, formatShare } from "./numbers.js";
import { VirtualTable } from "./virtual_table.js";

/** @typedef {import("./app.js").App} App */
/** @typedef {{ key: string, text: string, weight: number, samples: number }} Row */

/** @param {App} app @param {() => void} onSelect @returns {import("./flame_view.js").View} */
export function labelsView(app, onSelect) {
	const empty = el("p", { class: "empty", hidden: true }, "No label in the selection matches.");
	const note = el("div", { class: "view-bar" }, el("span", { class: "note" }, "Double-click a row or press Enter to select the samples with this label; of several values with the same key, any may match."));
	const isChosen = (/** @type {Row} */ row) => app.state.labels.some(({ key, text }) => key === row.key && text === row.text);
	const share = (/** @type {Row} */ row) => app.event.weight ? row.weight / app.event.weight : 0;
	const longest = app.capture.labels.keys.reduce((most, key) => Math.max(most, key.length), 0);
	/** @type {import("./virtual_table.js").Column<Row>[]} */
	const columns = [
		{ name: "Total", title: "As a share of the whole event", width: "6.5em", number: true, text: (row) => formatShare(row.weight, app.event.weight), share, sort: (row) => row.weight },
		{ name: "", width: "5.5em", number: true, text: (row) => app.weightText(row.weight) },
		{ name: "Samples", width: "5.5em", number: true, text: (row) => formatCount(row.samples), sort: (row) => row.samples },
		{ name: "", title: "Filters", width: "2.5em", text: (row) => isChosen(row) ? "✓" : "" },
		{ name: "Label", width: `${Math.min(Math.max(9, 0.6 * longest + 1), 24)}em`, text: (row) => row.key, title_of: (row) => row.key, sort: (row) => row.key },
		{ name: "Value", text: (row) => row.text, title_of: (row) => row.text, sort: (row) => row.text },
	];
	const histogram = el("div", { class: "histogram", role: "img", hidden: true });
	let sorted = columns[0], descending = true, search = "";
	/** Of the selection. @type {ReturnType<typeof sumLabels> | null} */
	let sums = null;
	let shown = /** @type {object | null} */ (null);

	/** @type {VirtualTable<Row>} */
	const table = new VirtualTable({
		label: "Labels", columns, onOpen: (row) => app.toggleLabel(row),
		onSelect: () => {
			showHistogram();
			onSelect();
		},
		sort: (column) => {
			descending = column === sorted ? !descending : Boolean(column.number);
			sorted = column;
			shown = null;
			show();
		},
	});

	/** The search finds labels here, not functions. */
	function rows() {
		const { values } = app.capture.labels, found = sumLabels(app.capture, app.selection(), app.state.labels), wanted = app.state.search.trim().toLowerCase();
		const all = values.map((value, i) => ({ ...value, weight: found.weight[i], samples: found.samples[i] }));
		sums = found;
		return all.filter((row) => row.samples > 0 && `${row.key}=${row.text}`.toLowerCase().includes(wanted));
	}

	/** The chosen row's key, or else the first one whose values are numbers. */
	function showHistogram() {
		const { values, keys } = app.capture.labels, chosen = table.rows[table.selected]?.key;
		for (const key of sums ? [...chosen === undefined ? [] : [chosen], ...keys] : []) {
			const bars = histogramOf(values, /** @type {NonNullable<typeof sums>} */ (sums), key);
			if (!bars)
				continue;
			const most = bars.reduce((largest, { weight }) => Math.max(largest, weight), 0);
			histogram.setAttribute("aria-label", `Histogram of ${key}`);
			histogram.replaceChildren(el("strong", {}, key), ...bars.flatMap(({ text, weight, samples }) => {
				const bar = el("span", { class: "bar" });
				bar.style.width = `${most ? weight / most * 100 : 0}%`;
				return [el("span", {}, text), el("span", {}, formatShare(weight, app.event.weight)), el("span", {}, formatCount(samples)), el("span", {}, bar)];
			}));
			histogram.hidden = false;
			return;
		}
		histogram.hidden = true;
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
		showHistogram();
	}

	return { element: el("div", { class: "view" }, note, table.element, histogram, empty), focus: () => table.element.focus(), selected: () => null, show, matched: () => `${formatCount(table.rows.length)} of ${formatCount(app.capture.labels.values.length)}` };
}
