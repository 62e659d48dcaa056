// Functions by weight; the chosen one's callers above, its callees below.

import { nameCell } from "./columns.js";
import { el } from "./dom.js";
import { makeFlame } from "./flame_view.js";
import { calleesOf, callersOf } from "./inverted.js";
import { formatShare } from "./numbers.js";
import { actByKey, showMenu } from "./menu.js";
import { rowsOfTree } from "./rows.js";
import { VirtualTable } from "./virtual_table.js";

/** @typedef {import("./app.js").App} App */

/** @param {App} app @param {() => void} onSelect @returns {import("./flame_view.js").View} */
export function sandwichView(app, onSelect) {
	const choose = (/** @type {import("./flame_canvas.js").FlameCanvas} */ canvas) => (/** @type {number} */ node) => {
		if (node > 0 && canvas.summed)
			app.update({ of: canvas.summed.tree.function[node] });
	};
	const callers = makeFlame(app, { label: "Callers", below: true, skipRoot: true, axis: "amount", isOwnTree: () => false, onSelect, onOpen: (node) => choose(callers)(node) });
	const callees = makeFlame(app, { label: "Callees", skipRoot: true, axis: "amount", isOwnTree: () => false, onSelect, onOpen: (node) => choose(callees)(node) });
	const name = el("strong", { class: "sandwich-name" }), share = el("span", { class: "note" });
	/** @typedef {{ of: number, self: number, total: number }} Row */
	const shareOf = (/** @type {number} */ weight) => app.profile.weight ? weight / app.profile.weight : 0;
	const columns = /** @type {const} */ (["self", "total"]).map((part) => /** @type {import("./virtual_table.js").Column<Row>} */ ({
		name: part === "self" ? "Self" : "Total", title: `${part === "self" ? "Excluding" : "Including"} callees, as a share of the selection`, width: "6.2em", number: true,
		text: (row) => row[part] ? formatShare(row[part], app.profile.weight) : "", share: (row) => shareOf(row[part]), sort: (row) => row[part],
	}));
	let sorted = columns[0];
	const table = new VirtualTable({
		label: "Functions", columns: [...columns, { name: "Function", text: () => "", cell: (/** @type {Row} */ row) => nameCell(app, row.of) }],
		sort: (column) => {
			sorted = column;
			list();
		},
		onSelect: (row) => row.of !== app.state.of && app.update({ of: row.of }), onMenu: (row, x, y) => showMenu(app, { of: row.of }, x, y),
		onKey: (event, row) => event.key !== "Enter" && actByKey(app, { of: row.of }, event),
	});
	const element = el("div", { class: "view sandwich" }, table.element, el("div", { class: "sandwich-sides" }, el("div", { class: "view-bar" }, name, share),
		el("div", { class: "sandwich-half" }, el("div", { class: "sandwich-label" }, "Callers"), callers.box), el("div", { class: "sandwich-half" }, el("div", { class: "sandwich-label" }, "Callees"), callees.box)));
	let shown = /** @type {object | null} */ (null), shownOf = -1, last = callers;
	for (const canvas of [callers, callees])
		canvas.canvas.addEventListener("focus", () => last = canvas);

	function list() {
		const { self, total } = app.profile.functions(), by = sorted.sort, rows = [...total.keys()].filter((of) => total[of] > 0).map((of) => ({ of, self: self[of], total: total[of] }));
		rows.sort((a, b) => Number(by?.(b)) - Number(by?.(a)) || a.of - b.of);
		table.markSorted(sorted, true);
		table.show(rows);
		chooseRow(app.state.of ?? rows[0]?.of ?? -1);
	}

	/** Scrolls to it if it was not chosen in the table. @param {number} of */
	function chooseRow(of) {
		if (table.rows[table.selected]?.of !== of) {
			table.selected = table.rows.findIndex((row) => row.of === of);
			table.reveal(table.selected);
		}
		table.draw();
		return of;
	}

	return {
		element,
		focus: () => table.element.focus(),
		selected: () => last.summed && last.selected > 0 ? { summed: last.summed, node: last.selected } : null,
		show: () => {
			const { profile } = app;
			if (shown === profile && shownOf === app.state.of) {
				table.draw();
				callers.draw();
				callees.draw();
				return;
			}
			if (shown !== profile)
				list();
			const sums = profile.functions(), of = chooseRow(app.state.of ?? table.rows[0]?.of ?? -1);
			shown = profile;
			shownOf = app.state.of ?? -1;
			if (of < 0)
				return;
			name.textContent = app.name(of);
			name.title = app.capture.functions.name[of];
			share.textContent = `total ${formatShare(sums.total[of], profile.weight)} (${app.weightText(sums.total[of])}) · self ${formatShare(sums.self[of], profile.weight)}`;
			const up = callersOf(profile.summed, of, profile.recursive), down = calleesOf(profile.summed, of);
			callers.selected = callees.selected = -1;
			callers.show(rowsOfTree(up), up, 0, up.total[0]);
			callees.show(rowsOfTree(down), down, 0, down.total[0]);
		},
	};
}
