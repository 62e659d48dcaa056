// Stacks as a tree of functions, and transforms of it. Node 0 is the root; parents come before their children.

/** @typedef {import("./capture.js").Capture} Capture */

const SPREAD = 2 ** 26; // above any number of functions

export class Tree {
	/** @param {number} size expected number of nodes */
	constructor(size) {
		/** @type {Int32Array} */
		this.parent = new Int32Array(Math.max(size, 16));
		/** @type {Int32Array} */
		this.function = new Int32Array(Math.max(size, 16));
		this.count = 1;
		this.parent[0] = this.function[0] = -1;
		/** @type {Map<number, number> | null} */
		this.known = new Map();
		/** @type {Int32Array | null} */
		this.first = null;
		/** @type {Int32Array | null} */
		this.next = null;
	}

	/** The child for a function, which is made if it is missing. @param {number} parent @param {number} of @returns {number} */
	child(parent, of) {
		const known = /** @type {Map<number, number>} */ (this.known), key = parent * SPREAD + of, found = known.get(key);
		if (found !== undefined)
			return found;
		return this.add(parent, of, key);
	}

	/** @param {number} parent @param {number} of @param {number} [key] */
	add(parent, of, key) {
		if (this.count === this.parent.length) {
			this.parent = grown(this.parent);
			this.function = grown(this.function);
		}
		this.parent[this.count] = parent;
		this.function[this.count] = of;
		if (key !== undefined)
			this.known?.set(key, this.count);
		return this.count++;
	}

	/** No more nodes are added: links children. */
	finish() {
		this.known = null;
		this.first = new Int32Array(this.count).fill(-1);
		this.next = new Int32Array(this.count).fill(-1);
		for (let i = this.count - 1; i > 0; i--) {
			const parent = this.parent[i];
			this.next[i] = this.first[parent];
			this.first[parent] = i;
		}
		return this;
	}

	/** @param {number} node @returns {number[]} */
	children(node) {
		const all = [];
		for (let i = /** @type {Int32Array} */ (this.first)[node]; i >= 0; i = /** @type {Int32Array} */ (this.next)[i])
			all.push(i);
		return all;
	}

	/** Functions from the root down to a node. @param {number} node @returns {number[]} */
	path(node) {
		const functions = [];
		for (let i = node; i > 0; i = this.parent[i])
			functions.push(this.function[i]);
		return functions.reverse();
	}

	/** The node at the end of a path; -1 if there is none. @param {number[]} functions */
	find(functions) {
		let node = 0;
		for (const of of functions) {
			node = this.children(node).find((child) => this.function[child] === of) ?? -1;
			if (node < 0)
				return -1;
		}
		return node;
	}
}

/** @param {Int32Array} array @returns {Int32Array} */
function grown(array) {
	const larger = new Int32Array(array.length * 2);
	larger.set(array);
	return larger;
}

/** The tree of an event's functions, and each capture node's node in it. @param {Capture} capture @param {number} number */
export function treeOfEvent(capture, number) {
	const event = capture.events[number], { parent, frame } = capture.nodes, first = event.firstNode;
	const tree = new Tree(event.nodes), map = new Int32Array(event.nodes);
	for (let i = 1; i < event.nodes; i++) {
		const of = capture.frames.function[frame[first + i]], up = map[parent[first + i] - first];
		// Without lines, no two children of a node are the same function, except below groups, where main's callers are left out.
		map[i] = capture.header.lines || capture.isGrouped ? tree.child(up, of) : tree.add(up, of);
	}
	return { tree: tree.finish(), map };
}

/** Which nodes have their function nearer to the root, too. @param {Tree} tree @param {number} functions */
export function recursiveNodes(tree, functions) {
	const onPath = new Int32Array(functions), recursive = new Uint8Array(tree.count);
	const first = /** @type {Int32Array} */ (tree.first), next = /** @type {Int32Array} */ (tree.next);
	for (let node = first[0]; node > 0;) {
		recursive[node] = onPath[tree.function[node]]++ > 0 ? 1 : 0;
		if (first[node] >= 0) {
			node = first[node];
			continue;
		}
		while (node > 0) {
			onPath[tree.function[node]]--;
			if (next[node] >= 0) {
				node = next[node];
				break;
			}
			node = tree.parent[node];
		}
	}
	return recursive;
}

/** Adds up from the leaves. @template {Float64Array} T @param {Tree} tree @param {T} self @returns {Float64Array} */
export function totalsOf(tree, self) {
	const total = Float64Array.from(self);
	for (let i = tree.count - 1; i > 0; i--)
		total[tree.parent[i]] += total[i];
	return total;
}
