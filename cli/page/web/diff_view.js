// Changes between captures: a flame graph of both, coloured by change, and a table of functions.

import { nameCell, pathOf, picture } from "./columns.js";
import { changeAt, changeOfNode, formatInterval, formatRelative, formatValue, matchedTotal, medianOf, valuesOf, verdict, widthsOf } from "./diff.js";
import { el } from "./dom.js";
import { makeFlame } from "./flame_view.js";
import { baseName } from "./names.js";
import { formatCount, formatShare } from "./numbers.js";
import { rowsOfTree } from "./rows.js";
import { VirtualTable } from "./virtual_table.js";

/** @typedef {import("./app.js").App} App */
/** @typedef {import("./diff.js").Change} Change */
/** @typedef {import("./diff.js").Diff} Diff */
/** @typedef {{ of: number, change: Change, remark: string }} Row */

/** @param {Change} change @param {string} unit @returns {[string, string][]} */
function changeLines(change, unit) {
	return [
		["Before", formatValue(change.before, unit)], ["After", formatValue(change.after, unit)],
		["Change", `${formatValue(change.by, unit, true)} (${formatRelative(change)}), ${verdict(change)}`], ["Interval", `${formatInterval(change, unit)} (95 %)`],
	];
}

/** @param {Change | null} change */
function arrow(change) {
	return !change?.isSure ? "" : change.by > 0 ? "▲ " : "▼ ";
}

/** @param {App} app @param {Diff} diff @returns {import("./virtual_table.js").Column<Row>[]} */
function columnsOf(app, diff) {
	const { functions } = app.capture, { unit } = diff, moduleOf = (/** @type {number} */ of) => functions.modules[functions.module[of]];
	const changed = (/** @type {Row} */ row, /** @type {string} */ text) => el("span", { class: !row.change.isSure ? "unsure" : row.change.by > 0 ? "more" : "less" }, text);
	return [
		{ name: "Significance", title: "Significant: unlikely to be chance; most significant changes first", width: "8.5em", text: (row) => verdict(row.change),
			sort: (row) => (row.change.isSure ? 1e12 : row.change.isTested ? 0 : -1e12) + Math.abs(row.change.by) },
		{ name: "Change", width: "8.5em", number: true, text: () => "", cell: (row) => changed(row, arrow(row.change) + formatValue(row.change.by, unit, true)), sort: (row) => row.change.by },
		{ name: "Relative", title: "Relative to the value before", width: "7.5em", number: true, text: () => "", cell: (row) => changed(row, formatRelative(row.change)),
			sort: (row) => row.change.before > 0 ? row.change.by / row.change.before : Infinity },
		{ name: "Before", width: "6.5em", number: true, text: (row) => formatValue(row.change.before, unit), sort: (row) => row.change.before },
		{ name: "After", width: "6.5em", number: true, text: (row) => formatValue(row.change.after, unit), sort: (row) => row.change.after },
		{ name: "Interval", title: "95 % confidence interval of the change", width: "13em", number: true, text: (row) => formatInterval(row.change, unit) },
		{ name: "Function", text: () => "", sort: (row) => app.name(row.of), cell: (row) => {
			const cell = nameCell(app, row.of, app.colors.ofChange(row.change));
			cell.append(el("span", { class: "module", title: row.remark }, row.remark));
			return cell;
		} },
		{ name: "Module", width: "minmax(8em, 0.4fr)", text: (row) => baseName(moduleOf(row.of)), title_of: (row) => moduleOf(row.of), sort: (row) => baseName(moduleOf(row.of)) },
	];
}

const BINS = 60;

/** How many values are in each part of a range, as an area. @param {Float64Array} values @param {number} low @param {number} high */
function histogram(values, low, high) {
	const bins = new Float32Array(BINS);
	for (const value of values)
		bins[Math.min(BINS - 1, Math.floor(BINS * (value - low) / (high - low || 1)))]++;
	const most = Math.max(...bins);
	return picture(pathOf(bins.map((count) => count / most)), BINS);
}

/** @param {App} app @param {() => void} onSelect @returns {import("./flame_view.js").View} */
export function diffView(app, onSelect) {
	const diff = /** @type {Diff} */ (app.capture.diff), { functions } = app.capture, { unit } = diff;
	const changeOf = (/** @type {number} */ node) => changeOfNode(diff, node);
	const canvas = makeFlame(app, {
		label: "Flame graph of both captures, coloured by change", isOwnTree: () => false, hasOverview: true, onSelect, hasMenu: false,
		color: (node) => app.colors.ofChange(changeOf(node)),
		mark: (node) => arrow(changeOf(node)),
		details: (node) => {
			const change = changeOf(node), of = diff.tree.function[node];
			return change ? { title: functions.name[of], lines: [...changeLines(change, unit), ["Module", functions.modules[functions.module[of]]]] }
				: { title: "All", lines: [["Before", formatValue(diff.sides.old.all, unit)], ["After", formatValue(diff.sides.new.all, unit)]] };
		},
	});

	const columns = columnsOf(app, diff);
	let sorted = columns[0], descending = true, shown = "", shownWidth = "";
	/** @type {VirtualTable<Row>} */
	const table = new VirtualTable({
		label: "Changes of functions", columns,
		sort: (column) => {
			descending = column === sorted ? !descending : Boolean(column.number);
			sorted = column;
			shown = "";
			show();
		},
		onOpen: (row) => app.update({ search: functions.name[row.of] }),
		onSelect: (row) => {
			showValues(row);
			showBox(row);
		},
	});

	/** Selects the function's box that changed most. @param {Row} row */
	function showBox(row) {
		let best = 0;
		for (let node = 1; node < diff.tree.count; node++) {
			if (diff.tree.function[node] === row.of && (!best || Math.abs(changeAt(diff.paths, node - 1).by) > Math.abs(changeAt(diff.paths, best - 1).by)))
				best = node;
		}
		const place = best ? canvas.find(best) : null;
		if (!place)
			return;
		canvas.scrollToRow(place.row);
		canvas.select(best);
	}

	const choice = (/** @type {string} */ label, /** @type {[string, string][]} */ values, /** @type {(value: string) => void} */ choose) => {
		const select = el("select", { onchange: () => choose(select.value) }, ...values.map(([value, text]) => el("option", { value }, text)));
		return { select, label: el("label", {}, `${label} `, select) };
	};
	const width = choice("Width", [["new", "after"], ["old", "before"], ["both", "average of both"]], (value) => app.update({ width: value === "old" || value === "both" ? value : "new" }));
	const part = choice("Table", [["total", "with callees"], ["self", "functions alone"]], (value) => app.update({ part: value === "self" ? "self" : "total" }));
	const spread = el("div", { class: "spread" }), legend = el("span", { class: "note" }), count = el("span", { class: "note" }), empty = el("p", { class: "note", hidden: true }, "No function matches.");
	const method = el("details", { class: "method" }, el("summary", {}, diff.method[diff.method.length - 1]), ...[...diff.method, `Branches below ${diff.limit} % of both captures together are hidden in the graph.`].map((line) => el("div", {}, line)));
	const element = el("div", { class: "view" }, el("div", { class: "view-bar" }, width.label, legend, el("span", { class: "room" }), count, part.label), canvas.box, method, spread, el("div", { class: "sandwich-half" }, table.element), empty);

	function showLegend() {
		const entry = (/** @type {string} */ color, /** @type {string} */ text) => {
			const swatch = el("i", { class: "swatch" });
			swatch.style.background = color;
			return el("span", { class: "legend" }, swatch, text);
		};
		const { less, same, more } = app.colors.changes;
		legend.replaceChildren(entry(more, "▲ more"), entry(less, "▼ less"), entry(same, "not significant"));
	}

	/** Both sides' values as histograms on one scale. @param {Row | undefined} row */
	function showValues(row) {
		const values = row && valuesOf(diff, row.of - diff.first, app.state.part), all = values ? [...values.old, ...values.new] : [];
		spread.hidden = !all.length;
		if (!row || !values || !all.length)
			return;
		const low = Math.min(...all), high = Math.max(...all), line = (/** @type {"old" | "new"} */ side, /** @type {string} */ word) => {
			const of = diff.sides[side].captures > 1 ? "captures" : "blocks of time";
			return [el("span", { class: "note" }, word), histogram(values[side], low, high), el("span", {}, `median ${formatValue(medianOf(values[side]), unit)} of ${values[side].length} ${of}`)];
		};
		spread.replaceChildren(el("strong", {}, app.name(row.of)), ...line("old", "before"), ...line("new", "after"),
			el("div", { class: "note spread-scale" }, el("span", {}, formatValue(low, unit)), el("span", {}, formatValue(high, unit))));
	}

	/** @returns {Row[]} */
	function rows() {
		const changes = diff[app.state.part];
		return diff.remarks.map((remark, i) => ({ of: diff.first + i, change: changeAt(changes, i), remark }))
			.filter(({ of, change }) => (change.before > 0 || change.after > 0) && (!app.matches || app.matches[of]));
	}

	function show() {
		const { state } = app, key = JSON.stringify([state.part, state.search, state.theme, state.full, document.documentElement.dataset.theme]);
		width.select.value = state.width;
		part.select.value = state.part;
		canvas.options.below = state.below;
		showLegend();
		if (shownWidth === state.width) {
			canvas.layout();
		} else {
			const summed = widthsOf(diff, state.width);
			canvas.show(rowsOfTree(summed), summed, 0, summed.total[0]);
			shownWidth = state.width;
		}
		if (shown === key) {
			table.draw();
			return;
		}
		const value = /** @type {(row: Row) => number | string} */ (sorted.sort), sign = descending ? -1 : 1, list = rows();
		list.sort((a, b) => {
			const x = value(a), y = value(b);
			return x < y ? -sign : x > y ? sign : a.of - b.of;
		});
		const isFirst = !shown && canvas.selected < 0;
		shown = key;
		count.textContent = `${formatCount(list.filter((row) => row.change.isSure).length)} of ${formatCount(list.length)} functions changed significantly`;
		empty.hidden = list.length > 0;
		table.markSorted(sorted, descending);
		table.show(list, list.length ? 0 : -1);
		showValues(list[0]);
		if (isFirst && list[0]?.change.isSure)
			showBox(list[0]);
	}

	return {
		element, canvas, show,
		focus: () => canvas.canvas.focus(),
		selected: () => canvas.summed && canvas.selected >= 0 ? { summed: canvas.summed, node: canvas.selected } : null,
		summary: () => {
			const change = canvas.selected > 0 ? changeOf(canvas.selected) : null;
			return change ? `${functions.name[diff.tree.function[canvas.selected]]} — ${changeLines(change, unit).map(([name, text]) => `${name.toLowerCase()} ${text}`).join(", ")}` : "";
		},
		matched: (matches) => canvas.summed ? formatShare(matchedTotal(canvas.summed, matches), canvas.summed.total[0]) : "",
	};
}
