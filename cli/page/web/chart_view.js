// The flame chart: a thread's stacks in order of time.

import { timeLabels } from "./axis.js";
import { stateWords } from "./capture.js";
import { lengthOfWait, merged, pieceAt, piecesOfThread, scaleOfWaits, timeOfJoined, WaitTree, withoutGaps } from "./chart.js";
import { functionDetails, nodeDetails, nodeSummary } from "./details.js";
import { el } from "./dom.js";
import { makeFlame } from "./flame_view.js";
import { labelsAt, withoutRepeated } from "./labels.js";
import { formatMoment, formatPlural, formatTime } from "./numbers.js";
import { rowsOfTime } from "./rows.js";
import { sumThreads } from "./selection.js";
import { applyTransforms } from "./transforms.js";

/** @typedef {import("./app.js").App} App */
/** @typedef {import("./profile.js").SummedTree} SummedTree */

const CHOICES = 50; // threads in the list

/** @param {App} app @param {() => void} onSelect @returns {import("./flame_view.js").View} */
export function chartView(app, onSelect) {
	/** @typedef {import("./chart.js").Piece} Piece */
	let pieces = /** @type {Piece[]} */ ([]), joined = /** @type {Piece[] | null} */ (null);
	/** With waits between the runs; null: there are none. @type {WaitTree | null} */
	let waits = null;
	const timeAt = (/** @type {number} */ at) => joined ? timeOfJoined(pieces, joined, at) : at;
	/** The wait and the labels of the thread at that place. @param {number} at @returns {[string, string][]} */
	const linesAt = (at) => {
		const { capture, state } = app, { runs } = capture.spans, thread = Number(choice.value || -1), i = pieceAt(joined ?? pieces, at), waiting = waits && pieces[i]?.state ? stateWords[pieces[i].state] : "";
		const event = waiting ? app.waits : state.event, run = runs.thread.findIndex((of, i) => of === thread && runs.event[i] === event);
		const lines = /** @type {[string, string][]} */ (waiting ? [["Waits", `${waiting} for ${formatTime(lengthOfWait(pieces, i, capture.step))}`]] : []);
		const labels = run < 0 ? [] : labelsAt(capture, run, timeAt(at), Math.max(2 * capture.step, 2 * app.event.period), app.sets);
		return lines.concat(withoutRepeated(labels).map(({ key, text }) => [key, text]));
	};
	/** Whether only waits have this call. @param {number} node */
	const isOfWait = (node) => waits !== null && node >= waits.runs.tree.count;
	const functionOf = (/** @type {number} */ node) => /** @type {SummedTree} */ (canvas.summed).tree.function[node];
	const canvas = makeFlame(app, {
		label: "Flame chart, in order of time", isOwnTree: () => true, skipRoot: true, axis: { ...timeLabels, text: (at, step) => formatMoment(timeAt(at), step) }, hasOverview: true, onSelect, linesAt,
		color: (node) => {
			const { colors } = app, state = waits?.states.get(node) ?? 0;
			return isOfWait(node) ? colors.pale(state ? colors.theme.states[state] : colors.of(functionOf(node))) : undefined;
		},
		details: (node) => isOfWait(node) ? functionDetails(app, functionOf(node)) : nodeDetails(app, app.profile.summed, node),
	});
	const choice = el("select", { "aria-label": "Thread", onchange: () => show() }), note = el("span", { class: "note" }), scaleNote = el("span", { class: "note" });
	const gapless = el("button", { type: "button", title: "Join the samples: show only the time when the thread has some (g)", onclick: () => app.update({ gapless: !app.state.gapless }) }, "Without gaps");
	const bar = el("div", { class: "view-bar" }, el("label", {}, "Thread ", choice), gapless, note, scaleNote);
	/** @type {object | null} */
	let listed = null;

	function list() {
		const { capture, profile } = app, weights = sumThreads(capture, profile.selection), chosen = choice.value;
		const all = [...weights.keys()].filter((thread) => weights[thread] > 0 && (!profile.selection.threads || profile.selection.threads.has(thread)));
		all.sort((a, b) => weights[b] - weights[a] || a - b);
		choice.replaceChildren(...all.slice(0, CHOICES).map((thread) => el("option", { value: String(thread) },
			`${capture.threads[thread]?.name ?? "all"} (${capture.threads[thread]?.id ?? ""}) · ${app.weightText(weights[thread])}`)));
		if (all.slice(0, CHOICES).some((thread) => String(thread) === chosen))
			choice.value = chosen;
		const hidden = all.length - CHOICES;
		note.textContent = `${hidden > 0 ? `${formatPlural(hidden, "more thread")}: select them in the timeline · ` : ""}resolution ${formatTime(capture.step)}`;
		listed = profile;
	}

	function show() {
		const { profile, capture, state } = app;
		if (listed !== profile)
			list();
		if (app.waits < 0 || app.waits === state.event)
			waits = null;
		else if (waits?.runs !== profile.transformed)
			waits = new WaitTree(profile.transformed, applyTransforms(app.maker.treeOf(app.waits), state.transforms, capture.functions));
		const thread = Number(choice.value || -1), found = piecesOfThread(profile, thread), tree = waits?.tree ?? profile.summed.tree, summed = { ...profile.summed, tree };
		pieces = waits ? merged(found.pieces, waits.waitsOf(profile, thread, app.waits)) : found.pieces;
		const inWait = (/** @type {number} */ node) => waits?.inWait(node) ?? node;
		const scale = waits ? scaleOfWaits(pieces) : 1;
		joined = state.gapless ? withoutGaps(pieces, scale) : null;
		scaleNote.textContent = joined && scale < 1 ? `· waits are drawn at ${(100 * scale).toPrecision(2)} % of their length` : "";
		gapless.setAttribute("aria-pressed", String(state.gapless));
		const first = pieces[0]?.from ?? 0, last = pieces[pieces.length - 1]?.to ?? capture.duration;
		const from = state.from ?? Math.max(state.viewFrom ?? 0, first), to = state.to ?? Math.min(state.viewTo ?? Infinity, last);
		canvas.selected = -1;
		if (joined)
			canvas.show(rowsOfTime(tree, joined, 0, inWait), summed, 0, joined[joined.length - 1]?.to ?? 1);
		else
			canvas.show(rowsOfTime(tree, pieces, found.gap, inWait), summed, from, to);
	}

	return {
		element: el("div", { class: "view" }, bar, canvas.box), canvas, show,
		focus: () => canvas.canvas.focus(),
		selected: () => canvas.selected >= 0 && !isOfWait(canvas.selected) ? { summed: app.profile.summed, node: canvas.selected } : null,
		subject: () => isOfWait(canvas.selected) ? { of: functionOf(canvas.selected) } : null,
		summary: () => isOfWait(canvas.selected) ? `${app.capture.functions.name[functionOf(canvas.selected)]} — waits` : nodeSummary(app, app.profile.summed, canvas.selected),
	};
}
