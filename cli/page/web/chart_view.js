// The flame chart: a thread's stacks in order of time.

import { piecesOfThread, timeOfJoined, withoutGaps } from "./chart.js";
import { el } from "./dom.js";
import { makeFlame } from "./flame_view.js";
import { labelsAt, withoutRepeated } from "./labels.js";
import { formatPlural, formatTime } from "./numbers.js";
import { rowsOfTime } from "./rows.js";
import { sumThreads } from "./selection.js";

/** @typedef {import("./app.js").App} App */

const CHOICES = 50; // threads in the list

/** @param {App} app @param {() => void} onSelect @returns {import("./flame_view.js").View} */
export function chartView(app, onSelect) {
	/** @typedef {import("./chart.js").Piece} Piece */
	let pieces = /** @type {Piece[]} */ ([]), joined = /** @type {Piece[] | null} */ (null);
	/** The labels of the thread's sample at that place. @param {number} at @returns {[string, string][]} */
	const linesAt = (at) => {
		const time = joined ? timeOfJoined(pieces, joined, at) : at, { capture, state } = app, { runs } = capture.spans, thread = Number(choice.value || -1);
		const run = runs.thread.findIndex((of, i) => of === thread && runs.event[i] === state.event);
		return run < 0 ? [] : withoutRepeated(labelsAt(capture, run, time, Math.max(2 * capture.step, 2 * app.event.period), app.sets)).map(({ key, text }) => [key, text]);
	};
	const canvas = makeFlame(app, { label: "Flame chart, in order of time", isOwnTree: () => true, skipRoot: true, axis: "time", hasOverview: true, onSelect, linesAt });
	const choice = el("select", { "aria-label": "Thread", onchange: () => show() }), note = el("span", { class: "note" });
	const gapless = el("button", { type: "button", title: "Join the samples: show only the time when the thread has some (g)", onclick: () => app.update({ gapless: !app.state.gapless }) }, "Without gaps");
	const bar = el("div", { class: "view-bar" }, el("label", {}, "Thread ", choice), gapless, note);
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
		const found = piecesOfThread(profile, Number(choice.value || -1)), { tree } = profile.summed;
		pieces = found.pieces;
		joined = state.gapless ? withoutGaps(pieces) : null;
		gapless.setAttribute("aria-pressed", String(state.gapless));
		const first = pieces[0]?.from ?? 0, last = pieces[pieces.length - 1]?.to ?? capture.duration;
		const from = state.from ?? Math.max(state.viewFrom ?? 0, first), to = state.to ?? Math.min(state.viewTo ?? Infinity, last);
		canvas.selected = -1;
		if (joined)
			canvas.show(rowsOfTime(tree, joined, 0), profile.summed, 0, joined[joined.length - 1]?.to ?? 1);
		else
			canvas.show(rowsOfTime(tree, pieces, found.gap), profile.summed, from, to);
	}

	return {
		element: el("div", { class: "view" }, bar, canvas.box), canvas, show,
		focus: () => canvas.canvas.focus(),
		selected: () => canvas.summed && canvas.selected >= 0 ? { summed: canvas.summed, node: canvas.selected } : null,
	};
}
