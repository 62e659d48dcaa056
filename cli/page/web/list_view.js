// Tables of functions and of lines, in an order that the user chooses.

import { el } from "./dom.js";
import { amountColumns, courseColumns, nameCell } from "./columns.js";
import { linesOf } from "./lines.js";
import { actByKey, showMenu } from "./menu.js";
import { baseName } from "./names.js";
import { VirtualTable } from "./virtual_table.js";

/** @typedef {import("./app.js").App} App */
/** @typedef {{ of: number, self: number, total: number, samples: number, file: string, line: number }} Row */

/** @param {App} app @param {{ label: string, rows: () => Row[], columns: import("./virtual_table.js").Column<Row>[], onSelect: () => void, empty: string, note?: string, open?: import("./fragment.js").Tab }} options @returns {import("./flame_view.js").View} */
function listView(app, options) {
	const columns = [...amountColumns(app, (/** @type {Row} */ row) => row), ...options.columns];
	let sorted = columns[2], descending = true;
	let shown = /** @type {object | null} */ (null), shownSearch = "";
	const empty = el("p", { class: "empty", hidden: true }, options.empty);

	/** @type {VirtualTable<Row>} */
	const table = new VirtualTable({
		label: options.label, columns,
		sort: (column) => {
			descending = column === sorted ? !descending : Boolean(column.number);
			sorted = column;
			show(true);
		},
		onSelect: options.onSelect,
		onOpen: (row) => app.update({ of: row.of, tab: options.open ?? "sandwich" }),
		onMenu: (row, x, y) => showMenu(app, { of: row.of }, x, y),
		onKey: (event, row) => actByKey(app, { of: row.of }, event),
	});

	function show(isForced = false) {
		if (!isForced && shown === app.profile && shownSearch === app.state.search) {
			table.draw();
			return;
		}
		const value = /** @type {(row: Row) => number | string} */ (sorted.sort), sign = descending ? -1 : 1;
		const rows = options.rows().filter((row) => !app.matches || app.matches[row.of]);
		rows.sort((a, b) => {
			const x = value(a), y = value(b);
			return x < y ? -sign : x > y ? sign : b.total - a.total || a.of - b.of;
		});
		shown = app.profile;
		shownSearch = app.state.search;
		empty.hidden = rows.length > 0;
		table.markSorted(sorted, descending);
		table.show(rows, rows.length ? 0 : -1);
	}

	return { element: el("div", { class: "view" }, ...options.note ? [el("div", { class: "view-bar" }, el("span", { class: "note" }, options.note))] : [], table.element, empty), focus: () => table.element.focus(), selected: () => null, subject: () => table.rows[table.selected] ?? null, show: () => show() };
}

/** @param {App} app @param {number} of */
function moduleOf(app, of) {
	return app.capture.functions.modules[app.capture.functions.module[of]];
}

/** @param {App} app @param {() => void} onSelect */
export function functionsView(app, onSelect) {
	return listView(app, {
		label: "Functions", onSelect, empty: "No function in the selection matches.",
		rows: () => {
			const sums = app.profile.functions(), rows = [];
			for (let of = 0; of < sums.total.length; of++) {
				if (sums.total[of] > 0)
					rows.push({ of, self: sums.self[of], total: sums.total[of], samples: sums.totalSamples[of], file: "", line: 0 });
			}
			return rows;
		},
		columns: [
			...courseColumns(app, (/** @type {Row} */ row) => row.of, (row) => app.profile.courses.of(app.profile.courses.nodesOf(row.of))),
			{ name: "Function", text: () => "", cell: (row) => nameCell(app, row.of), sort: (row) => app.name(row.of) },
			{ name: "Kind", width: "7.5em", text: (row) => app.capture.functions.kindWord(row.of), sort: (row) => app.capture.functions.kind[row.of] },
			{ name: "Module", width: "minmax(8em, 0.4fr)", text: (row) => baseName(moduleOf(app, row.of)), title_of: (row) => moduleOf(app, row.of), sort: (row) => baseName(moduleOf(app, row.of)) },
		],
	});
}

/** @param {App} app @param {() => void} onSelect */
export function linesView(app, onSelect) {
	return listView(app, {
		label: "Source lines", onSelect, open: app.capture.code ? "source" : "sandwich",
		note: app.capture.code ? "" : "This page has no source code; 'stackreel view --source' adds the code around these lines.",
		empty: app.capture.header.lines ? "No line in the selection is known or matches. Run 'stackreel pack' on a host with the debug information to add lines to the capture."
			: "This capture has too many stacks for a page with lines; select a part of it with 'stackreel view --pid PID' or --time.",
		rows: () => linesOf(app.profile).map((line) => ({ of: line.function, self: line.self, total: line.total, samples: line.totalSamples, file: line.file, line: line.line })),
		columns: [
			{ name: "Line", width: "minmax(12em, 0.7fr)", text: (row) => `${baseName(row.file)}:${row.line}`, title_of: (row) => `${row.file}:${row.line}`, sort: (row) => `${row.file}:${String(row.line).padStart(9)}` },
			{ name: "Function", text: () => "", cell: (row) => nameCell(app, row.of), sort: (row) => app.name(row.of) },
		],
	});
}
