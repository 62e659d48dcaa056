// Transforms of a tree: each makes a new tree, and tells where nodes went; -1 if their samples are left out.

import { Kind } from "./capture.js";
import { Tree } from "./tree.js";

/** @typedef {import("./capture.js").Functions} Functions */
/**
 * focus: only what a function and its callees did, from there on; subtree: the same for one path; merge: its callers did it; drop: without stacks
 * that have it; recursion: one box for all its calls within itself; library: one box for calls within a module;
 * native: Python and Ruby functions did what their native callees did.
 * @typedef {{ kind: "focus" | "merge" | "drop" | "recursion" | "library", of: number } | { kind: "subtree", path: number[] } | { kind: "native" }} Transform
 */

/** @param {Transform} transform @param {Functions} functions */
export function transformWords(transform, functions) {
	switch (transform.kind) {
	case "focus":
		return `Focus: ${functions.short[transform.of]}`;
	case "subtree":
		return `Subtree: ${functions.short[transform.path[transform.path.length - 1]]}`;
	case "merge":
		return `Merged: ${functions.short[transform.of]}`;
	case "drop":
		return `Without: ${functions.short[transform.of]}`;
	case "recursion":
		return `Recursion collapsed: ${functions.short[transform.of]}`;
	case "native":
		return "Without native frames below Python";
	case "library":
		return `Library collapsed: ${functions.name[functions.library(transform.of)]}`;
	}
}

/**
 * @param {Tree} from @param {(node: number, parent: number, to: Tree, map: Int32Array) => number} place gives a node's new one, by its parent's
 */
function rebuild(from, place) {
	const to = new Tree(from.count), map = new Int32Array(from.count);
	for (let i = 1; i < from.count; i++)
		map[i] = place(i, map[from.parent[i]], to, map);
	return { tree: to.finish(), map };
}

/** @param {Tree} tree @param {(node: number) => boolean} isStart */
function focus(tree, isStart) {
	// Nodes above the focus are left out themselves, but lead to it.
	const inside = new Uint8Array(tree.count), to = new Tree(tree.count), map = new Int32Array(tree.count).fill(-1);
	for (let i = 1; i < tree.count; i++) {
		const parent = tree.parent[i];
		if (inside[parent]) {
			inside[i] = 1;
			map[i] = to.child(map[parent], tree.function[i]);
		} else if (isStart(i)) {
			inside[i] = 1;
			map[i] = to.child(0, tree.function[i]);
		}
	}
	return { tree: to.finish(), map };
}

/** @param {Tree} tree @param {number} of */
function collapseRecursion(tree, of) {
	// Of each node, the new node of the function's outermost call.
	const outer = new Int32Array(tree.count).fill(-1);
	return rebuild(tree, (node, parent, to) => {
		const known = outer[tree.parent[node]];
		outer[node] = known;
		if (tree.function[node] !== of)
			return to.child(parent, tree.function[node]);
		if (known < 0)
			outer[node] = to.child(parent, of);
		return outer[node];
	});
}

/** @param {Tree} tree @param {Functions} functions @param {number} module */
function collapseLibrary(tree, functions, module) {
	const library = functions.library(module);
	const isOf = (/** @type {number} */ node) => node > 0 && functions.module[tree.function[node]] === module;
	return rebuild(tree, (node, parent, to) => {
		if (!isOf(node))
			return to.child(parent, tree.function[node]);
		return isOf(tree.parent[node]) ? parent : to.child(parent, library);
	});
}

/** @param {Tree} tree @param {Functions} functions */
function mergeNative(tree, functions) {
	// Python functions, and all that is below them.
	const inside = new Uint8Array(tree.count), isPython = (/** @type {number} */ node) => functions.kind[tree.function[node]] === Kind.python;
	return rebuild(tree, (node, parent, to) => {
		const wasInside = inside[tree.parent[node]];
		inside[node] = wasInside || isPython(node) ? 1 : 0;
		return wasInside && !isPython(node) ? parent : to.child(parent, tree.function[node]);
	});
}

/** @param {Tree} tree @param {Transform} transform @param {Functions} functions @returns {{ tree: Tree, map: Int32Array }} */
export function applyTransform(tree, transform, functions) {
	switch (transform.kind) {
	case "focus":
		return focus(tree, (node) => tree.function[node] === transform.of);
	case "subtree": {
		const start = tree.find(transform.path);
		return focus(tree, (node) => node === start);
	}
	case "merge":
		return rebuild(tree, (node, parent, to) => tree.function[node] === transform.of ? parent : to.child(parent, tree.function[node]));
	case "drop":
		return rebuild(tree, (node, parent, to) => parent < 0 || tree.function[node] === transform.of ? -1 : to.child(parent, tree.function[node]));
	case "recursion":
		return collapseRecursion(tree, transform.of);
	case "native":
		return mergeNative(tree, functions);
	case "library":
		return collapseLibrary(tree, functions, transform.of);
	}
}

/** Several, in their order. @param {{ tree: Tree, map: Int32Array }} start @param {Transform[]} transforms @param {Functions} functions */
export function applyTransforms(start, transforms, functions) {
	let { tree, map } = start;
	for (const transform of transforms) {
		const next = applyTransform(tree, transform, functions);
		map = map.map((node) => node < 0 ? -1 : next.map[node]);
		tree = next.tree;
	}
	return { tree, map };
}
