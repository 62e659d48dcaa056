// A page's capture, and one that is made up.
import { readFileSync } from "node:fs";
import { unpack } from "../../../cli/page/web/bytes.js";
import { Functions, readCapture } from "../../../cli/page/web/capture.js";
import { Tree, totalsOf } from "../../../cli/page/web/tree.js";

/** @param {string} path of a page */
export async function captureOf(path) {
	const [, content] = /<script type="text\/plain" id="content">([^<]*)</.exec(readFileSync(path, "utf8"));
	return readCapture(await unpack(content));
}

/** A tree of stacks, root first: { "a;b": 3 }; functions of module "lib" begin with L. */
export function treeOf(stacks) {
	const functions = new Functions(), numbers = new Map(), tree = new Tree(8), self = [0];
	functions.modules.push("program", "/usr/lib/lib.so");
	for (const [stack, weight] of Object.entries(stacks)) {
		let node = 0;
		for (const name of stack.split(";")) {
			if (!numbers.has(name))
				numbers.set(name, functions.add(name, name.startsWith("L") ? 1 : 0, 0));
			node = tree.child(node, numbers.get(name));
		}
		self[node] = (self[node] ?? 0) + weight;
	}
	tree.finish();
	const weights = Float64Array.from({ length: tree.count }, (_, i) => self[i] ?? 0), total = totalsOf(tree, weights);
	return { functions, numbers, summed: { tree, self: weights, selfSamples: weights, total, totalSamples: total } };
}

/** The same way back; `map` and `self` of the tree that a transform made it from. */
export function stacksOf(tree, functions, self) {
	const stacks = {};
	for (let i = 1; i < tree.count; i++) {
		if (self[i])
			stacks[tree.path(i).map((of) => functions.name[of]).join(";")] = self[i];
	}
	return stacks;
}
