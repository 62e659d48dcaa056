// A function's source code with the amounts of its lines, or its instructions with theirs.

import { Kind } from "./capture.js";
import { codeRows, functionsWithCode, listingKey } from "./code.js";
import { functionChoice } from "./columns.js";
import { el } from "./dom.js";
import { linesOf } from "./lines.js";
import { baseName } from "./names.js";
import { formatPlural, formatShare } from "./numbers.js";
import { VirtualTable } from "./virtual_table.js";

/** @typedef {import("./app.js").App} App */
/** @typedef {import("./code.js").CodeRow} CodeRow */
/** @typedef {import("./code.js").Instruction} Instruction */

/** @param {App} app @returns {import("./flame_view.js").View} */
export function sourceView(app) {
	const code = /** @type {import("./code.js").Code} */ (app.capture.code), instructions = /** @type {import("./code.js").Instructions} */ (app.capture.instructions);
	const share = (/** @type {number | undefined} */ weight, whole = app.profile.weight) => weight ? formatShare(weight, whole) : "";
	const part = (/** @type {number | undefined} */ weight, whole = app.profile.weight) => (weight ?? 0) / (whole || 1);
	/** @type {VirtualTable<CodeRow>} */
	const lines = new VirtualTable({
		label: "Source code", rowAttributes: (row) => ({ "data-kind": row.line === 0 ? "file" : row.own ? "hot" : "code" }),
		columns: [
			{ name: "Total", title: "Including callees, as a share of the selection", width: "6.5em", number: true, text: (row) => share(row.own?.total), share: (row) => part(row.own?.total) },
			{ name: "Self", title: "Excluding callees, as a share of the selection", width: "6.5em", number: true, text: (row) => share(row.own?.self), share: (row) => part(row.own?.self) },
			{ name: "Line", width: "5em", number: true, text: (row) => row.line > 0 ? String(row.line) : row.line < 0 ? "…" : "" },
			{ name: "Source", text: (row) => row.text, title_of: (row) => row.text },
		],
	});
	/** @type {VirtualTable<Instruction>} */
	const listing = new VirtualTable({
		label: "Instructions", rowAttributes: (row) => ({ "data-kind": row.weight ? "hot" : "code" }),
		columns: [
			{ name: "Self", title: "As a share of the whole capture", width: "6.5em", number: true, text: (row) => share(row.weight, instructions.whole), share: (row) => part(row.weight, instructions.whole) },
			{ name: "Line", width: "12em", text: (row) => row.line ? `${baseName(row.file)}:${row.line}` : "", title_of: (row) => row.line ? `${row.file}:${row.line}` : "" },
			{ name: "Address", width: "9em", number: true, text: (row) => row.address },
			{ name: "Instruction", text: (row) => row.text, title_of: (row) => row.text },
		],
	});
	const choice = functionChoice(app), name = el("strong", { class: "sandwich-name" }), note = el("span", { class: "note" }), empty = el("p", { class: "empty", hidden: true });
	const toggle = el("button", { type: "button", onclick: () => app.update({ instructions: !app.state.instructions }) }, "Instructions");
	const element = el("div", { class: "view source" }, el("div", { class: "view-bar" }, el("label", {}, "Function ", choice.select), name, note, el("span", { class: "room" }), toggle), lines.element, listing.element, empty);
	let shown = /** @type {object | null} */ (null), shownKey = "";

	/** Shows rows, and the one with the most of its own in the middle. @template R @param {VirtualTable<R>} table @param {R[]} rows @param {(row: R) => number} self */
	function fill(table, rows, self) {
		const hottest = rows.reduce((best, row, i) => self(row) > self(rows[best]) ? i : best, 0);
		empty.hidden = rows.length > 0;
		table.show(rows, rows.length ? hottest : -1);
		table.reveal(hottest);
	}

	function show() {
		const { profile, capture, state } = app, { functions } = capture, key = `${state.of} ${state.instructions}`, table = state.instructions ? listing : lines;
		toggle.setAttribute("aria-pressed", String(state.instructions));
		lines.element.hidden = state.instructions;
		listing.element.hidden = !state.instructions;
		if (shown === profile && shownKey === key) {
			table.draw();
			return;
		}
		const sums = profile.functions(), allLines = linesOf(profile), of = choice.list(sums.self, functionsWithCode(code, allLines)), notes = [];
		shown = profile;
		shownKey = key;
		name.textContent = of < 0 ? "" : app.name(of);
		name.title = of < 0 ? "" : functions.name[of];
		if (of >= 0)
			notes.push(`total ${formatShare(sums.total[of], profile.weight)} · self ${formatShare(sums.self[of], profile.weight)}`);
		if (state.instructions) {
			empty.textContent = of >= 0 && functions.kind[of] === Kind.inlined ? "This function is inlined: its instructions are among those of its caller."
				: "This page has no instructions of this function: it has no samples of its own, or its code was not found.";
			notes.push(`instructions count the whole capture${capture.events.length > 1 ? `, ${capture.events[0].name}` : ""}`);
			if (instructions.omitted)
				notes.push(`instructions of ${formatPlural(instructions.omitted, "function")} with fewer samples are left out`);
			fill(listing, of < 0 ? [] : instructions.listings.get(listingKey(functions.name[of], functions.modules[functions.module[of]])) ?? [], (row) => row.weight);
		} else {
			empty.textContent = "No line of this function is known.";
			if (code.omitted)
				notes.push(`the code of ${formatPlural(code.omitted, "rare line")} is left out: a page has at most 1 MB of it`);
			fill(lines, codeRows(code, allLines.filter((line) => line.function === of)), (row) => row.own ? row.own.self + row.own.total * 1e-9 : -1);
		}
		note.textContent = notes.join(" · ");
	}

	return { element, show, focus: () => (app.state.instructions ? listing : lines).element.focus(), selected: () => null };
}
