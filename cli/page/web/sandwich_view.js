// Callers of a function above, its callees below.

import { functionChoice } from "./columns.js";
import { el } from "./dom.js";
import { makeFlame } from "./flame_view.js";
import { calleesOf, callersOf } from "./inverted.js";
import { formatShare } from "./numbers.js";
import { rowsOfTree } from "./rows.js";

/** @typedef {import("./app.js").App} App */

/** @param {App} app @param {() => void} onSelect @returns {import("./flame_view.js").View} */
export function sandwichView(app, onSelect) {
	const choose = (/** @type {import("./flame_canvas.js").FlameCanvas} */ canvas) => (/** @type {number} */ node) => {
		if (node > 0 && canvas.summed)
			app.update({ of: canvas.summed.tree.function[node] });
	};
	const callers = makeFlame(app, { label: "Callers", below: true, skipRoot: true, isOwnTree: () => false, onSelect, onOpen: (node) => choose(callers)(node) });
	const callees = makeFlame(app, { label: "Callees", skipRoot: true, isOwnTree: () => false, onSelect, onOpen: (node) => choose(callees)(node) });
	const name = el("strong", { class: "sandwich-name" }), share = el("span", { class: "note" }), choice = functionChoice(app);
	const bar = el("div", { class: "view-bar" }, el("label", {}, "Function ", choice.select), name, share);
	const element = el("div", { class: "view sandwich" }, bar,
		el("div", { class: "sandwich-half" }, el("div", { class: "sandwich-label" }, "Callers"), callers.element), el("div", { class: "sandwich-half" }, el("div", { class: "sandwich-label" }, "Callees"), callees.element));
	let shown = /** @type {object | null} */ (null), shownOf = -1, last = callers;
	for (const canvas of [callers, callees])
		canvas.canvas.addEventListener("focus", () => last = canvas);

	return {
		element,
		focus: () => callers.canvas.focus(),
		selected: () => last.summed && last.selected > 0 ? { summed: last.summed, node: last.selected } : null,
		show: () => {
			const { profile } = app;
			if (shown === profile && shownOf === app.state.of) {
				callers.draw();
				callees.draw();
				return;
			}
			const sums = profile.functions(), of = choice.list(sums.self);
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
