// A thread's stacks in order of time.

/** @typedef {{ from: number, to: number, node: number, state: number }} Piece `state`: 0 if the thread runs (stateWords) */

import { visitRuns } from "./selection.js";
import { Tree } from "./tree.js";

/** @typedef {import("./profile.js").Profile} Profile */

/**
 * The thread's pieces of time, each with its node in the profile's tree. Spans of one step share it; a sample of a clock lasts for its weight.
 * @param {Pick<Profile, "capture" | "map" | "isTime" | "selection">} profile @param {number} thread @returns {{ pieces: Piece[], gap: number }}
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
					pieces.push({ from: at, to, node: of, state: state[i] });
				longest = Math.max(longest, weight[i] / samples[i]);
				at = to;
			}
		}
	});
	return { pieces, gap: isTime ? 1.5 * Math.min(longest, event.period || longest) + step : step };
}

/** A profile's tree with the calls in which threads wait. A wait's last call has a node of its own, so that it differs from a run of the same function. */
export class WaitTree {
	/** @param {Profile["transformed"]} runs @param {{ tree: Tree, map: Int32Array }} waits the tree of an event of waits, and the capture's nodes in it */
	constructor(runs, waits) {
		const { tree: own } = runs, tree = new Tree(own.count + waits.tree.count), map = new Int32Array(waits.tree.count);
		for (let i = 1; i < own.count; i++)
			tree.child(own.parent[i], own.function[i]);
		for (let i = 1; i < map.length; i++)
			map[i] = tree.child(map[waits.tree.parent[i]], waits.tree.function[i]);
		this.runs = runs;
		this.tree = tree;
		this.map = waits.map.map((node) => node < 0 ? -1 : map[node]);
		/** Nodes of waits that are calls of runs, too, and last calls of waits, by these calls and states. @type {Map<number, number>} */
		this.ends = new Map();
		/** Of last calls. @type {Map<number, number>} */
		this.states = new Map();
	}

	/** @param {{ node: number, state: number }} wait */
	endOf({ node, state }) {
		let end = this.ends.get(4 * node + state);
		if (end === undefined) {
			end = node && this.tree.add(this.tree.parent[node], this.tree.function[node]);
			this.ends.set(4 * node + state, end);
			this.states.set(end, state);
		}
		return end;
	}

	/** @param {Profile} profile @param {number} thread @param {number} event of waits @returns {Piece[]} */
	waitsOf({ capture, selection }, thread, event) {
		return piecesOfThread({ capture, map: this.map, isTime: true, selection: { ...selection, event } }, thread).pieces.map((wait) => ({ ...wait, node: this.endOf(wait) }));
	}

	/** A call that runs have as well, as one that a wait is in. @param {number} node */
	inWait(node) {
		return node < this.runs.tree.count ? this.endOf({ node, state: 0 }) : node;
	}
}

/** Runs and waits in order of time. A sample shows that its thread ran then, but not how long: it ends where a wait begins, and a wait goes on after it. @param {Piece[]} runs @param {Piece[]} waits @returns {Piece[]} */
export function merged(runs, waits) {
	const all = [...runs, ...waits].sort((a, b) => a.from - b.from), pieces = /** @type {Piece[]} */ ([]);
	let wait = /** @type {Piece | null} */ (null);
	const add = (/** @type {Piece} */ piece, /** @type {number} */ from, /** @type {number} */ to) => from < to && pieces.push({ ...piece, from, to });
	all.forEach((piece, i) => {
		const next = all[i + 1]?.from ?? Infinity;
		add(piece, piece.from, Math.min(piece.to, next));
		if (piece.state)
			wait = piece;
		else if (wait)
			add(wait, piece.to, Math.min(wait.to, next));
	});
	return pieces;
}

/** Of a wait, of which a long one has several pieces. @param {Piece[]} pieces @param {number} i one of them @param {number} gap at most between them */
export function lengthOfWait(pieces, i, gap) {
	const isOne = (/** @type {number} */ left) => pieces[left]?.node === pieces[left + 1]?.node && pieces[left + 1].from - pieces[left].to <= gap;
	let first = i, last = i;
	while (isOne(first - 1))
		first--;
	while (isOne(last))
		last++;
	return pieces[last].to - pieces[first].from;
}

/** How much shorter waits are drawn, so that they take half of the width at most. @param {Piece[]} pieces */
export function scaleOfWaits(pieces) {
	const sums = { runs: 0, waits: 0 };
	for (const { from, to, state } of pieces)
		sums[state ? "waits" : "runs"] += to - from;
	return sums.runs ? Math.min(1, sums.runs / sums.waits) : 1;
}

/** The same pieces, each where the previous one ends. @param {Piece[]} pieces @param {number} scale of waits @returns {Piece[]} */
export function withoutGaps(pieces, scale) {
	let end = 0;
	return pieces.map((piece) => ({ ...piece, from: end, to: end += (piece.to - piece.from) * (piece.state ? scale : 1) }));
}

/** The first piece that ends after a place. @param {Piece[]} pieces @param {number} at */
export function pieceAt(pieces, at) {
	let first = 0, end = pieces.length;
	while (first < end) {
		const middle = first + end >> 1;
		if (pieces[middle].to <= at)
			first = middle + 1;
		else
			end = middle;
	}
	return first;
}

/** The time of a place among `joined`, which are `pieces` without gaps. @param {Piece[]} pieces @param {Piece[]} joined @param {number} at */
export function timeOfJoined(pieces, joined, at) {
	const i = pieceAt(joined, at);
	if (i === pieces.length)
		return pieces[i - 1]?.to ?? at;
	const { from, to } = pieces[i], drawn = joined[i];
	return from + (at - drawn.from) * (to - from) / (drawn.to - drawn.from);
}
