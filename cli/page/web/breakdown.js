// What a call's or a function's weight consists of: kinds, modules, threads and lines.

import { Kind, kindWords } from "./capture.js";
import { visitRuns } from "./selection.js";

/** @typedef {import("./profile.js").Profile} Profile */
/** @typedef {{ number: number, weight: number }} Part `number` of a kind, module or thread */
/** @typedef {{ file: string, line: number, self: number, total: number }} LinePart */

/** The function's calls that are not within another one. @param {Profile} profile @param {number} of @returns {number[]} */
export function callsOf(profile, of) {
	const { tree, total } = profile.summed, { recursive } = profile, calls = [];
	for (let node = 1; node < tree.count; node++) {
		if (tree.function[node] === of && !recursive[node] && total[node] > 0)
			calls.push(node);
	}
	return calls;
}

/** The largest first. @param {Map<number, number>} sums @returns {Part[]} */
function partsOf(sums) {
	return Array.from(sums, ([number, weight]) => ({ number, weight })).sort((a, b) => b.weight - a.weight || a.number - b.number);
}

/** @param {Map<number, number>} sums @param {number} number @param {number} weight */
function add(sums, number, weight) {
	sums.set(number, (sums.get(number) ?? 0) + weight);
}

/**
 * @param {Profile} profile @param {number[]} calls nodes of the profile's tree, none below another one; 0: the whole selection
 */
export function breakdownOf(profile, calls) {
	const { capture, summed } = profile, { tree, self, total } = summed, { functions } = capture, inside = new Uint8Array(tree.count);
	/** @type {Map<number, number>} */
	const kinds = new Map();
	/** @type {Map<number, number>} */
	const modules = new Map();
	let weight = 0, own = 0;
	for (const call of calls) {
		inside[call] = 1;
		weight += total[call];
		own += self[call];
	}
	for (let node = 1; node < tree.count; node++) {
		inside[node] |= inside[tree.parent[node]];
		if (inside[node] && self[node] > 0) {
			add(kinds, functions.kind[tree.function[node]], self[node]);
			add(modules, functions.module[tree.function[node]], self[node]);
		}
	}
	return { weight, self: own, kinds: partsOf(kinds), modules: partsOf(modules), threads: threadsOf(profile, inside), lines: linesOfCalls(profile, calls) };
}

/** @param {Profile} profile @param {Uint8Array} inside by node of the tree */
function threadsOf(profile, inside) {
	const { capture, selection, map } = profile, { node, weight } = capture.spans, { firstNode } = capture.events[selection.event];
	/** @type {Map<number, number>} */
	const sums = new Map();
	visitRuns(capture, selection, (first, end, thread) => {
		let sum = 0;
		for (let i = first; i < end; i++) {
			const at = map[node[i] - firstNode];
			if (at >= 0 && inside[at])
				sum += weight[i];
		}
		if (sum > 0)
			add(sums, thread, sum);
	});
	return partsOf(sums);
}

/** The lines of these calls' own function. @param {Profile} profile @param {number[]} calls @returns {LinePart[]} */
function linesOfCalls(profile, calls) {
	const { capture, map, sums, summed, selection } = profile, { frames, nodes, strings } = capture, { nodes: count, firstNode } = capture.events[selection.event];
	if (!capture.header.lines || calls[0] === 0)
		return [];
	const isCall = new Uint8Array(summed.tree.count), total = totalsOfNodes(profile);
	for (const call of calls)
		isCall[call] = 1;
	/** @type {Map<string, LinePart>} */
	const lines = new Map();
	for (let i = 1; i < count; i++) {
		const frame = nodes.frame[firstNode + i], at = map[i], up = map[nodes.parent[firstNode + i] - firstNode];
		// Merged callees have their caller's node.
		if (at < 0 || !isCall[at] || !frames.line[frame] || frames.function[frame] !== summed.tree.function[at] || total[i] <= 0)
			continue;
		const key = `${frames.file[frame]}:${frames.line[frame]}`, line = lines.get(key) ?? { file: strings[frames.file[frame]], line: frames.line[frame], self: 0, total: 0 };
		lines.set(key, line);
		line.self += sums.weight[i];
		line.total += at === up ? 0 : total[i];
	}
	return [...lines.values()].sort((a, b) => b.total - a.total || b.self - a.self || a.line - b.line);
}

/** By the capture's nodes, without stacks that transforms leave out. @param {Profile} profile */
function totalsOfNodes({ capture, map, sums, selection }) {
	const { nodes: count, firstNode } = capture.events[selection.event], { parent } = capture.nodes, total = new Float64Array(count);
	for (let i = count - 1; i > 0; i--) {
		total[i] += map[i] >= 0 ? sums.weight[i] : 0;
		total[parent[firstNode + i] - firstNode] += total[i];
	}
	return total;
}

/** @param {number} kind */
export function kindWord(kind) {
	return kind === Kind.plain ? "user" : kindWords[kind];
}
