// A function's source code, with the amounts of its lines.

import { codeRows } from "./code.js";
import { functionChoice } from "./columns.js";
import { el } from "./dom.js";
import { linesOf } from "./lines.js";
import { formatPlural, formatShare } from "./numbers.js";
import { VirtualTable } from "./virtual_table.js";

/** @typedef {import("./app.js").App} App */
/** @typedef {import("./code.js").CodeRow} CodeRow */

/** @param {App} app @returns {import("./flame_view.js").View} */
export function sourceView(app) {
	const code = /** @type {import("./code.js").Code} */ (app.capture.code);
	const share = (/** @type {number | undefined} */ weight) => weight ? formatShare(weight, app.profile.weight) : "";
	const part = (/** @type {number | undefined} */ weight) => (weight ?? 0) / (app.profile.weight || 1);
	/** @type {VirtualTable<CodeRow>} */
	const table = new VirtualTable({
		label: "Source code", rowAttributes: (row) => ({ "data-kind": row.line === 0 ? "file" : row.own ? "hot" : "code" }),
		columns: [
			{ name: "Total", title: "With callees, as a share of the selection", width: "6.5em", number: true, text: (row) => share(row.own?.total), share: (row) => part(row.own?.total) },
			{ name: "Self", title: "Without callees, as a share of the selection", width: "6.5em", number: true, text: (row) => share(row.own?.self), share: (row) => part(row.own?.self) },
			{ name: "Line", width: "5em", number: true, text: (row) => row.line > 0 ? String(row.line) : row.line < 0 ? "…" : "" },
			{ name: "Source", text: (row) => row.text, title_of: (row) => row.text },
		],
	});
	const choice = functionChoice(app), name = el("strong", { class: "sandwich-name" }), note = el("span", { class: "note" }), empty = el("p", { class: "empty", hidden: true });
	const element = el("div", { class: "view source" }, el("div", { class: "view-bar" }, el("label", {}, "Function ", choice.select), name, note), table.element, empty);
	let shown = /** @type {object | null} */ (null), shownOf = -2;

	function show() {
		const { profile, capture } = app;
		if (shown === profile && shownOf === app.state.of) {
			table.draw();
			return;
		}
		const sums = profile.functions(), of = choice.list(sums.self), rows = codeRows(code, linesOf(profile).filter((line) => line.function === of));
		shown = profile;
		shownOf = app.state.of ?? -2;
		name.textContent = of < 0 ? "" : app.name(of);
		name.title = of < 0 ? "" : capture.functions.name[of];
		note.textContent = [of < 0 ? "" : `total ${formatShare(sums.total[of], profile.weight)} · self ${formatShare(sums.self[of], profile.weight)}`,
			code.omitted ? `${formatPlural(code.omitted, "rare line")} of this page without code: its limit of 1 MB is used up` : ""].filter(Boolean).join(" · ");
		empty.textContent = "No line of this function is known.";
		empty.hidden = rows.length > 0;
		table.show(rows, rows.findIndex((row) => row.own !== null));
		table.reveal(rows.reduce((best, row, i) => (row.own?.self ?? -1) > (rows[best]?.own?.self ?? -1) ? i : best, 0));
	}

	return { element, show, focus: () => table.element.focus(), selected: () => null };
}
