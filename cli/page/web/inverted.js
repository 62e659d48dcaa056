// Trees from callees to callers.

import { Tree, totalsOf } from "./tree.js";

/** @typedef {import("./profile.js").SummedTree} SummedTree */

// Rarer callers are marked and not followed, since a complete tree would be as large as all stacks together.
const LEAST = 1 / 5000;

/**
 * @param {SummedTree} from @param {number[] | Int32Array} starts nodes @param {Float64Array} weights of the starts, by node
 * @param {Float64Array} samples the same @param {number} whole what shares are of
 * @returns {SummedTree} whose totals are sums of the starts' weights; self is the weight without further callers
 */
function invert(from, starts, weights, samples, whole) {
	const tree = new Tree(1024);
	/** @type {{ node: number, starts: number[], at: number[] }[]} */
	let level = [{ node: 0, starts: Array.from(starts), at: Array.from(starts) }];
	const self = [0], selfSamples = [0], cut = [0];
	while (level.length) {
		const deeper = [];
		for (const group of level) {
			/** @type {Map<number, { node: number, starts: number[], at: number[], weight: number }>} */
			const callers = new Map();
			for (let i = 0; i < group.at.length; i++) {
				const at = group.at[i], start = group.starts[i];
				if (at === 0) {
					self[group.node] += weights[start];
					selfSamples[group.node] += samples[start];
					continue;
				}
				const of = from.tree.function[at];
				let caller = callers.get(of);
				if (!caller) {
					callers.set(of, caller = { node: tree.add(group.node, of), starts: [], at: [], weight: 0 });
					self.push(0);
					selfSamples.push(0);
					cut.push(0);
				}
				caller.starts.push(start);
				caller.at.push(from.tree.parent[at]);
				caller.weight += weights[start];
			}
			for (const caller of callers.values()) {
				if (caller.weight >= whole * LEAST || group.node === 0) {
					deeper.push(caller);
					continue;
				}
				for (const start of caller.starts) {
					self[caller.node] += weights[start];
					selfSamples[caller.node] += samples[start];
				}
				cut[caller.node] = caller.at.some((at) => at > 0) ? 1 : 0;
			}
		}
		level = deeper;
	}
	tree.finish();
	const weight = Float64Array.from(self), count = Float64Array.from(selfSamples);
	return { tree, self: weight, selfSamples: count, total: totalsOf(tree, weight), totalSamples: totalsOf(tree, count), cut: Uint8Array.from(cut) };
}

/** All stacks, leaf first. Of the functions that ran, self is their own; callers have none. @param {SummedTree} from @returns {SummedTree} */
export function invertAll(from) {
	const starts = [];
	for (let i = 1; i < from.tree.count; i++) {
		if (from.self[i] > 0 || from.selfSamples[i] > 0)
			starts.push(i);
	}
	const inverted = invert(from, starts, from.self, from.selfSamples, from.total[0]);
	// In this tree, a function's own time is that of the first level.
	inverted.self = inverted.total.map((total, node) => node > 0 && inverted.tree.parent[node] === 0 ? total : 0);
	inverted.selfSamples = inverted.totalSamples.map((total, node) => node > 0 && inverted.tree.parent[node] === 0 ? total : 0);
	return inverted;
}

/** The callers of a function, which is the only child of the root. @param {SummedTree} from @param {number} of @param {Uint8Array} recursive */
export function callersOf(from, of, recursive) {
	const starts = [];
	for (let i = 1; i < from.tree.count; i++) {
		if (from.tree.function[i] === of && !recursive[i] && from.total[i] > 0)
			starts.push(i);
	}
	return invert(from, starts, from.total, from.totalSamples, from.total[0]);
}

/** What a function called, below it as the only child of the root. @param {SummedTree} from @param {number} of @returns {SummedTree} */
export function calleesOf(from, of) {
	const tree = new Tree(1024), map = new Int32Array(from.tree.count).fill(-1), inside = from.tree;
	for (let i = 1; i < inside.count; i++) {
		const parent = map[inside.parent[i]];
		if (parent > 0)
			map[i] = tree.child(parent, inside.function[i]);
		else if (inside.function[i] === of)
			map[i] = tree.child(0, of);
	}
	tree.finish();
	const self = new Float64Array(tree.count), selfSamples = new Float64Array(tree.count);
	for (let i = 1; i < inside.count; i++) {
		if (map[i] > 0) {
			self[map[i]] += from.self[i];
			selfSamples[map[i]] += from.selfSamples[i];
		}
	}
	return { tree, self, selfSamples, total: totalsOf(tree, self), totalSamples: totalsOf(tree, selfSamples) };
}
