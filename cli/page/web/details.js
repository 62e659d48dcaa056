// A node or function in words.

import { kindWords, Kind } from "./capture.js";
import { formatCount, formatShare } from "./numbers.js";

/** @typedef {import("./app.js").App} App */
/** @typedef {import("./profile.js").SummedTree} SummedTree */

/** @param {number} kind */
function certainty(kind) {
	if (kind === Kind.guessed)
		return "guessed: not confirmed by unwind information";
	if (kind === Kind.incomplete)
		return "the stack could not be unwound to its root";
	return "";
}

/** @param {App} app @param {SummedTree} summed @param {number} node */
export function nodeDetails(app, summed, node) {
	const { profile } = app, of = summed.tree.function[node], whole = profile.weight;
	const amount = (/** @type {number} */ weight, /** @type {number} */ samples) => profile.isTime
		? `${formatShare(weight, whole)} · ${app.weightText(weight)} · ${formatCount(samples)} samples` : `${formatShare(weight, whole)} · ${formatCount(weight)} · ${formatCount(samples)} samples`;
	if (node === 0)
		return { title: "Whole selection", lines: /** @type {[string, string][]} */ ([["Total", amount(summed.total[0], summed.totalSamples[0])]]) };
	const { title, lines } = functionDetails(app, of);
	lines.unshift(["Total", amount(summed.total[node], summed.totalSamples[node])], ["Self", amount(summed.self[node], summed.selfSamples[node])]);
	return { title, lines, note: summed.cut?.[node] ? "its rare callers are left out" : undefined };
}

/** @param {App} app @param {number} of a function */
export function functionDetails({ capture: { functions }, profile }, of) {
	const kind = functions.kind[of], module = functions.modules[functions.module[of]], place = profile.placeOf(of), lines = /** @type {[string, string][]} */ ([]);
	if (module)
		lines.push(["Module", module]);
	if (place)
		lines.push(["Line", place]);
	if (kindWords[kind])
		lines.push(["Kind", certainty(kind) || functions.kindWord(of)]);
	return { title: functions.name[of], lines };
}

/** One line for the footer. @param {App} app @param {SummedTree} summed @param {number} node */
export function nodeSummary(app, summed, node) {
	if (node <= 0)
		return "";
	const of = summed.tree.function[node], whole = app.profile.weight;
	return `${app.capture.functions.name[of]} — total ${formatShare(summed.total[node], whole)} (${app.weightText(summed.total[node])}), self ${formatShare(summed.self[node], whole)}`;
}

/** Full names, leaf first, as text. @param {App} app @param {SummedTree} summed @param {number} node */
export function stackText(app, summed, node) {
	return summed.tree.path(node).reverse().map((of) => {
		const module = app.capture.functions.modules[app.capture.functions.module[of]];
		return app.capture.functions.name[of] + (module ? ` (${module})` : "");
	}).join("\n");
}
