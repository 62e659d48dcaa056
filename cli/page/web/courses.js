// The weight of functions and calls over the selection's time, in few steps. Spans are sorted by their node's place in the tree, so that a call's are
// neighbours: a row costs what its own spans do.

import { visitRuns } from "./selection.js";

/** @typedef {import("./profile.js").Profile} Profile */
/** @typedef {import("./tree.js").Tree} Tree */

export const COURSE_STEPS = 48;

/** The place of each node from the root down, children after their parent; and where its subtree ends. @param {Tree} tree */
function placesOf(tree) {
	const first = /** @type {Int32Array} */ (tree.first), next = /** @type {Int32Array} */ (tree.next), place = new Int32Array(tree.count), end = new Int32Array(tree.count);
	let at = 0;
	for (let node = 0; node >= 0;) {
		place[node] = at++;
		if (first[node] >= 0) {
			node = first[node];
			continue;
		}
		for (end[node] = at; node > 0 && next[node] < 0;)
			end[node = tree.parent[node]] = at;
		node = node > 0 ? next[node] : -1;
	}
	return { place, end };
}

export class Courses {
	/** @param {Profile} profile */
	constructor(profile) {
		const { capture, selection, map, summed } = profile, { time, weight, samples, state, node } = capture.spans, { tree } = summed, event = capture.events[selection.event];
		const from = Math.max(selection.from, 0), to = Math.min(selection.to, capture.duration), scale = COURSE_STEPS / Math.max(to - from, 1);
		const { place, end: ends } = placesOf(tree);
		this.place = place;
		this.end = ends;
		this.tree = tree;
		this.profile = profile;
		/** By place. */
		this.first = new Int32Array(tree.count + 1);
		const { first } = this;
		const visit = (/** @type {(at: number, step: number, weight: number) => void} */ use) => visitRuns(capture, selection, (begin, end) => {
			for (let i = begin; i < end; i++) {
				const of = map[node[i] - event.firstNode];
				if (of < 0)
					continue;
				const last = Math.min(Math.max(Math.floor((time[i] - from) * scale), 0), COURSE_STEPS - 1);
				// A wait's sample is at its end.
				const steps = state[i] > 0 && event.isTime ? Math.min(last + 1, Math.max(1, Math.ceil(weight[i] / samples[i] * scale))) : 1;
				for (let step = last - steps + 1; step <= last; step++)
					use(place[of], step, weight[i] / steps);
			}
		});
		visit((at) => first[at + 1]++);
		for (let i = 1; i < first.length; i++)
			first[i] += first[i - 1];
		const used = first.slice(), all = first[tree.count];
		this.steps = new Uint8Array(all);
		this.weights = new Float32Array(all);
		visit((at, step, amount) => {
			const i = used[at]++;
			this.steps[i] = step;
			this.weights[i] = amount;
		});
		/** @type {Map<number, number[]> | null} */
		this.byFunction = null;
	}

	/** Adds up, relative to the largest step; none of the nodes is below another one. @param {number[]} nodes @returns {Float32Array} */
	of(nodes) {
		return this.sum(nodes, (node) => this.end[node]);
	}

	/** Of the stacks that end in these functions, leaf first. @param {number[]} functions */
	ofEnd(functions) {
		const nodes = [], { tree } = this;
		for (let leaf = 1; leaf < tree.count; leaf++) {
			let node = leaf, depth = 0;
			for (; depth < functions.length && node > 0 && tree.function[node] === functions[depth]; depth++)
				node = tree.parent[node];
			if (depth === functions.length)
				nodes.push(leaf);
		}
		return this.sum(nodes, (node) => this.place[node] + 1);
	}

	/** @param {number[]} nodes @param {(node: number) => number} endOf the place after the node's last one @returns {Float32Array} */
	sum(nodes, endOf) {
		const course = new Float32Array(COURSE_STEPS), { steps, weights, first, place } = this;
		for (const node of nodes) {
			for (let i = first[place[node]]; i < first[endOf(node)]; i++)
				course[steps[i]] += weights[i];
		}
		const most = course.reduce((a, b) => Math.max(a, b), 0);
		return most ? course.map((value) => value / most) : course;
	}

	/** A function's nodes that have none of the same function above them. @param {number} of @returns {number[]} */
	nodesOf(of) {
		if (!this.byFunction) {
			const { recursive } = this.profile;
			this.byFunction = new Map();
			for (let i = 1; i < this.tree.count; i++) {
				const nodes = this.byFunction.get(this.tree.function[i]);
				if (recursive[i])
					continue;
				if (nodes)
					nodes.push(i);
				else
					this.byFunction.set(this.tree.function[i], [i]);
			}
		}
		return this.byFunction.get(of) ?? [];
	}
}
