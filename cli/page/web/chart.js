// A thread's stacks in order of time.

/** @typedef {{ from: number, to: number, node: number }} Piece */

import { visitRuns } from "./selection.js";

/** @typedef {import("./profile.js").Profile} Profile */

/**
 * The thread's pieces of time, each with its node in the profile's tree. Spans of one step share it; a sample of a clock lasts for its weight.
 * @param {Profile} profile @param {number} thread @returns {{ pieces: Piece[], gap: number }}
 */
export function piecesOfThread(profile, thread) {
	const { capture, map, isTime } = profile, { time, node, weight, samples, state } = capture.spans, step = capture.step;
	const event = capture.events[profile.selection.event], pieces = /** @type {Piece[]} */ ([]);
	let longest = step;
	visitRuns(capture, { ...profile.selection, threads: new Set([thread]) }, (first, end) => {
		for (let i = first; i < end;) {
			let next = i + 1, whole = weight[i];
			for (; next < end && time[next] === time[i]; next++)
				whole += weight[next];
			const room = (next < end ? time[next] : capture.duration) - time[i];
			// Of waits, the sample is at the end; those of a CPU begin with it.
			const waits = isTime && state[i] > 0, length = isTime ? (waits ? whole : Math.min(whole, room)) : Math.min(step, room);
			let at = waits ? Math.max(time[i] + step - length, pieces.length ? pieces[pieces.length - 1].to : 0) : time[i];
			const scale = whole > 0 ? (waits ? Math.max(time[i] + step - at, 0) : length) / whole : 0;
			for (; i < next; i++) {
				const to = at + weight[i] * scale, of = map[node[i] - event.firstNode];
				if (of >= 0)
					pieces.push({ from: at, to, node: of });
				longest = Math.max(longest, weight[i] / samples[i]);
				at = to;
			}
		}
	});
	return { pieces, gap: isTime ? 1.5 * Math.min(longest, event.period || longest) + step : step };
}

/** The same pieces, each where the previous one ends. @param {Piece[]} pieces @returns {Piece[]} */
export function withoutGaps(pieces) {
	let end = 0;
	return pieces.map(({ from, to, node }) => ({ from: end, to: end += to - from, node }));
}

/** The time of a place among `joined`, which are `pieces` without gaps. @param {Piece[]} pieces @param {Piece[]} joined @param {number} at */
export function timeOfJoined(pieces, joined, at) {
	let first = 0, end = joined.length;
	while (first < end) {
		const middle = first + end >> 1;
		if (joined[middle].to <= at)
			first = middle + 1;
		else
			end = middle;
	}
	return first < pieces.length ? pieces[first].from + at - joined[first].from : at;
}
