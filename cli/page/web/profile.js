// The selection's call tree with its numbers, after transforms.

import { Courses } from "./courses.js";
import { applyTransforms } from "./transforms.js";
import { recursiveNodes, totalsOf, treeOfEvent } from "./tree.js";
import { sumSelection } from "./selection.js";

/** @typedef {import("./capture.js").Capture} Capture */
/** @typedef {import("./selection.js").Selection} Selection */
/** @typedef {import("./transforms.js").Transform} Transform */
/** @typedef {import("./tree.js").Tree} Tree */
/**
 * @typedef {{ tree: Tree, self: Float64Array, selfSamples: Float64Array, total: Float64Array, totalSamples: Float64Array, cut?: Uint8Array }} SummedTree
 * `cut`: rare callers of these nodes are left out
 * @typedef {{ tree: Tree, map: Int32Array, recursive: Uint8Array | null }} Transformed
 */

/** Makes profiles, and remembers trees: a new range only needs new sums. */
export class ProfileMaker {
	/** @param {Capture} capture */
	constructor(capture) {
		this.capture = capture;
		/** @type {Map<number, ReturnType<typeof treeOfEvent>>} */
		this.trees = new Map();
		this.key = "";
		/** @type {Transformed | null} */
		this.transformed = null;
	}

	/** @param {number} event */
	treeOf(event) {
		let tree = this.trees.get(event);
		if (!tree)
			this.trees.set(event, tree = treeOfEvent(this.capture, event));
		return tree;
	}

	/** @param {number} event @param {Transform[]} transforms */
	transform(event, transforms) {
		const key = JSON.stringify([event, transforms]);
		if (!this.transformed || this.key !== key) {
			const { tree, map } = applyTransforms(this.treeOf(event), transforms, this.capture.functions);
			this.transformed = { tree, map, recursive: null };
			this.key = key;
		}
		return this.transformed;
	}

	/** @param {Selection} selection @param {Transform[]} transforms */
	make(selection, transforms) {
		return new Profile(this.capture, selection, this.transform(selection.event, transforms));
	}
}

export class Profile {
	/** @param {Capture} capture @param {Selection} selection @param {Transformed} transformed */
	constructor(capture, selection, transformed) {
		const sums = sumSelection(capture, selection), { tree, map } = transformed;
		this.transformed = transformed;
		this.capture = capture;
		this.selection = selection;
		this.map = map;
		this.isTime = capture.events[selection.event].isTime;
		/** By the capture's nodes. */
		this.sums = sums;
		/** @type {SummedTree} */
		this.summed = { tree, ...moved(tree, map, sums) };
		this.weight = this.summed.total[0];
		this.samples = this.summed.totalSamples[0];
		/** @type {Int32Array | null} */
		this.lines = null;
		/** @type {Courses | null} */
		this.known = null;
	}

	/** Nodes whose function is nearer to the root, too. */
	get recursive() {
		return this.transformed.recursive ??= recursiveNodes(this.summed.tree, this.capture.functions.count);
	}

	/** Made when it is needed. */
	get courses() {
		return this.known ??= new Courses(this);
	}

	/** Where a function's code is: the line that most of its weight has; "" if unknown. @param {number} of */
	placeOf(of) {
		this.lines ??= commonLines(this);
		const frame = this.lines[of], { frames, strings } = this.capture;
		return frame < 0 ? "" : `${strings[frames.file[frame]]}:${frames.line[frame]}`;
	}

	/** Self and total of each function. */
	functions() {
		const { tree, self, selfSamples, total, totalSamples } = this.summed, { recursive } = this, count = this.capture.functions.count;
		const sums = { self: new Float64Array(count), selfSamples: new Float64Array(count), total: new Float64Array(count), totalSamples: new Float64Array(count) };
		for (let i = 1; i < tree.count; i++) {
			const of = tree.function[i];
			sums.self[of] += self[i];
			sums.selfSamples[of] += selfSamples[i];
			if (!recursive[i]) {
				sums.total[of] += total[i];
				sums.totalSamples[of] += totalSamples[i];
			}
		}
		return sums;
	}

	/** The weight of stacks with a function that matches. @param {Uint8Array} matches by function */
	matchedWeight(matches) {
		const { tree, self } = this.summed, on = new Uint8Array(tree.count);
		let weight = 0;
		for (let i = 1; i < tree.count; i++) {
			on[i] = on[tree.parent[i]] | matches[tree.function[i]];
			if (on[i])
				weight += self[i];
		}
		return weight;
	}
}

/** Each function's frame with the most weight. @param {Profile} profile */
function commonLines(profile) {
	const { capture, sums } = profile, { nodes, frames, functions } = capture, event = capture.events[profile.selection.event], first = event.firstNode;
	const total = Float64Array.from(sums.weight), byFrame = new Float64Array(frames.line.length).fill(-1);
	for (let i = event.nodes - 1; i > 0; i--) {
		const frame = nodes.frame[first + i];
		total[nodes.parent[first + i] - first] += total[i];
		byFrame[frame] = Math.max(byFrame[frame], 0) + total[i];
	}
	const best = new Int32Array(functions.count).fill(-1);
	for (let frame = 0; frame < byFrame.length; frame++) {
		const of = frames.function[frame];
		if (frames.line[frame] && byFrame[frame] >= 0 && (best[of] < 0 || byFrame[frame] > byFrame[best[of]]))
			best[of] = frame;
	}
	return best;
}

/** @param {Tree} tree @param {Int32Array} map @param {{ weight: Float64Array, samples: Float64Array }} sums */
function moved(tree, map, sums) {
	const self = new Float64Array(tree.count), selfSamples = new Float64Array(tree.count);
	for (let i = 0; i < map.length; i++) {
		if (map[i] >= 0) {
			self[map[i]] += sums.weight[i];
			selfSamples[map[i]] += sums.samples[i];
		}
	}
	return { self, selfSamples, total: totalsOf(tree, self), totalSamples: totalsOf(tree, selfSamples) };
}
