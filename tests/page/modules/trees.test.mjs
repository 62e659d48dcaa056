// Transforms, inverted trees, and rows of boxes.
import assert from "node:assert/strict";
import test from "node:test";
import { lengthOfWait, merged, scaleOfWaits, timeOfJoined, WaitTree, withoutGaps } from "../../../cli/page/web/chart.js";
import { Functions, Kind } from "../../../cli/page/web/capture.js";
import { Grouper } from "../../../cli/page/web/groups.js";
import { calleesOf, callersOf, invertAll } from "../../../cli/page/web/inverted.js";
import { boxAt, firstBox, rowsOfTime, rowsOfTree } from "../../../cli/page/web/rows.js";
import { applyTransform, applyTransforms } from "../../../cli/page/web/transforms.js";
import { recursiveNodes, treeOfEvent } from "../../../cli/page/web/tree.js";
import { stacksOf, treeOf } from "./page_of.mjs";

const stacks = { "main;a;b": 5, "main;a;c;b": 3, "main;d;a;b": 2, "main;d": 1, "main;L1;L2;x": 4, "main;L1;L3": 2, "main;r;r;r": 6, "main;r;s;r;t": 1 };

/** @param {object} transform with a name as `of`, or names as `path` @param {object} [from] */
function transformed(transform, from = stacks) {
	const { functions, numbers, summed } = treeOf(from);
	const { tree, map } = applyTransform(summed.tree, {
		...transform, of: transform.kind === "library" ? transform.of : numbers.get(transform.of), path: transform.path?.map((name) => numbers.get(name)),
	}, functions);
	const self = new Float64Array(tree.count);
	map.forEach((to, node) => to >= 0 && (self[to] += summed.self[node]));
	return stacksOf(tree, functions, self);
}

test("focus", () => {
	assert.deepEqual(transformed({ kind: "focus", of: "a" }), { "a;b": 7, "a;c;b": 3 });
	assert.deepEqual(transformed({ kind: "focus", of: "r" }), { "r;r;r": 6, "r;s;r;t": 1 });
});

test("subtree", () => {
	assert.deepEqual(transformed({ kind: "subtree", path: ["main", "d"] }), { "d;a;b": 2, "d": 1 });
	assert.deepEqual(transformed({ kind: "subtree", path: ["main", "b"] }), {});
});

test("merge", () => assert.deepEqual(transformed({ kind: "merge", of: "b" }), { "main;a": 5, "main;a;c": 3, "main;d;a": 2, "main;d": 1, "main;L1;L2;x": 4, "main;L1;L3": 2, "main;r;r;r": 6, "main;r;s;r;t": 1 }));

test("drop", () => assert.deepEqual(transformed({ kind: "drop", of: "main" }), {}));

test("drop keeps other stacks", () => {
	const left = transformed({ kind: "drop", of: "a" });
	assert.deepEqual(left, { "main;d": 1, "main;L1;L2;x": 4, "main;L1;L3": 2, "main;r;r;r": 6, "main;r;s;r;t": 1 });
});

test("recursion", () => assert.deepEqual(transformed({ kind: "recursion", of: "r" }, { "main;r;r;r": 6, "main;r;s;r;t": 1, "main;r;s": 2 }), { "main;r": 6, "main;r;t": 1, "main;r;s": 2 }));

test("library", () => assert.deepEqual(transformed({ kind: "library", of: 1 }, { "main;L1;L2;x": 4, "main;L1;L3": 2, "main;L2": 1, "main;L1;y;L1": 8 }),
	{ "main;[lib.so];x": 4, "main;[lib.so]": 3, "main;[lib.so];y;[lib.so]": 8 }));

test("native frames below Python", () => {
	const { functions, numbers, summed } = treeOf({ "main;eval;P1;sort;P2;memcpy": 4, "main;eval;P1;sort": 2, "main;eval;P1": 1, "main;eval": 8, "main;gc": 16 });
	for (const name of ["P1", "P2"])
		functions.kind[numbers.get(name)] = Kind.python;
	const { tree, map } = applyTransform(summed.tree, { kind: "native" }, functions), self = new Float64Array(tree.count);
	map.forEach((to, node) => self[to] += summed.self[node]);
	assert.deepEqual(stacksOf(tree, functions, self), { "main;eval;P1;P2": 4, "main;eval;P1": 3, "main;eval": 8, "main;gc": 16 });
});

test("several, in order", () => {
	const { functions, numbers, summed } = treeOf(stacks), of = (name) => numbers.get(name);
	const { tree, map } = applyTransforms({ tree: summed.tree, map: Int32Array.from(summed.self, (_, i) => i) }, [{ kind: "focus", of: of("a") }, { kind: "merge", of: of("c") }], functions);
	const self = new Float64Array(tree.count);
	map.forEach((to, node) => to >= 0 && (self[to] += summed.self[node]));
	assert.deepEqual(stacksOf(tree, functions, self), { "a;b": 10 });
});

test("inverted: self of the first level adds up, callers have none", () => {
	const { functions, summed } = treeOf(stacks), inverted = invertAll(summed);
	assert.equal(inverted.total[0], summed.total[0]);
	const b = inverted.tree.children(0).find((node) => functions.name[inverted.tree.function[node]] === "b");
	assert.equal(inverted.total[b], 10);
	assert.equal(inverted.self[b], 10);
	const callers = inverted.tree.children(b).map((node) => [functions.name[inverted.tree.function[node]], inverted.total[node], inverted.self[node]]);
	assert.deepEqual(callers.sort(), [["a", 7, 0], ["c", 3, 0]]);
});

test("callers and callees count recursion once", () => {
	const { functions, numbers, summed } = treeOf(stacks), of = numbers.get("r");
	const up = callersOf(summed, of, recursiveNodes(summed.tree, functions.count)), down = calleesOf(summed, of);
	assert.equal(up.total[0], 7);
	assert.equal(down.total[0], 7);
	assert.deepEqual(stacksOf(down.tree, functions, down.self), { "r;r;r": 6, "r;s;r;t": 1 });
	assert.deepEqual(stacksOf(up.tree, functions, up.self), { "r;main": 7 });
});

test("rare callers are cut, and marked", () => {
	const many = Object.fromEntries([["main;x", 100000], ...Array.from({ length: 10 }, (_, i) => [`main;f${i};g;b`, 1])]);
	const { functions, summed } = treeOf(many), inverted = invertAll(summed);
	const b = inverted.tree.children(0).find((node) => functions.name[inverted.tree.function[node]] === "b");
	const [g] = inverted.tree.children(b);
	assert.equal(inverted.total[g], 10);
	assert.equal(inverted.cut[g], 1);
	assert.equal(inverted.total[0], 100010);
});

test("recursive nodes", () => {
	const { functions, summed } = treeOf({ "a;b;a": 1, "a;c": 1, "b;a": 1 }), recursive = recursiveNodes(summed.tree, functions.count);
	const marked = [...recursive.keys()].filter((node) => recursive[node]).map((node) => summed.tree.path(node).map((of) => functions.name[of]).join(";"));
	assert.deepEqual(marked, ["a;b;a"]);
});

test("rows: widest first, in order, within their callers", () => {
	const { functions, summed } = treeOf(stacks), rows = rowsOfTree(summed);
	assert.equal(rows[0].end[0], summed.total[0]);
	assert.deepEqual(Array.from(rows[2].node, (node) => functions.name[summed.tree.function[node]]), ["a", "r", "L1", "d"]);
	for (const row of rows) {
		for (let i = 1; i < row.count; i++)
			assert.ok(row.x[i] >= row.end[i - 1]);
	}
	rows.flatMap((row, depth) => Array.from(row.node, (node, i) => ({ depth, node, x: row.x[i], end: row.end[i] }))).forEach(({ depth, node, x, end }) => {
		if (depth > 0) {
			const up = rows[depth - 1], at = up.node.indexOf(summed.tree.parent[node]);
			assert.ok(up.x[at] <= x && up.end[at] >= end);
		}
	});
});

test("finding boxes", () => {
	const row = { x: Float64Array.of(0, 10, 30), end: Float64Array.of(10, 20, 40), node: Int32Array.of(1, 2, 3), count: 3 };
	assert.deepEqual([-1, 0, 9.9, 10, 25, 39, 40].map((x) => boxAt(row, x)), [-1, 0, 0, 1, -1, 2, -1]);
	assert.equal(firstBox(row, 20), 2);
	assert.equal(boxAt(undefined, 1), -1);
});

test("rows in order of time: neighbours with the same callers are one box", () => {
	const { summed, numbers } = treeOf({ "main;a;b": 1, "main;a;c": 1, "main;d": 1 }), { tree } = summed, of = (...names) => tree.find(names.map((name) => numbers.get(name)));
	const rows = rowsOfTime(tree, [
		{ from: 0, to: 10, node: of("main", "a", "b") }, { from: 10, to: 20, node: of("main", "a", "c") }, { from: 22, to: 30, node: of("main", "a", "c") }, { from: 30, to: 40, node: of("main", "d") },
		{ from: 90, to: 100, node: of("main", "d") },
	].map((piece) => ({ ...piece, state: 0 })), 5, (node) => node);
	assert.deepEqual(rows.map((row) => Array.from(row.x, (x, i) => [x, row.end[i]])), [[], [[0, 40], [90, 100]], [[0, 30], [30, 40], [90, 100]], [[0, 10], [10, 30]]]);
});

test("pieces of time are joined, and places among them have a time", () => {
	const pieces = [{ from: 10, to: 12, node: 1 }, { from: 20, to: 25, node: 2 }, { from: 25, to: 26, node: 1 }].map((piece) => ({ ...piece, state: 0 })), joined = withoutGaps(pieces, 1);
	assert.deepEqual(joined, [{ from: 0, to: 2, node: 1 }, { from: 2, to: 7, node: 2 }, { from: 7, to: 8, node: 1 }].map((piece) => ({ ...piece, state: 0 })));
	assert.deepEqual([0, 1.5, 2, 6, 7.5, 9].map((at) => timeOfJoined(pieces, joined, at)), [10, 11.5, 20, 24, 25.5, 26]);
	assert.equal(timeOfJoined([], [], 3), 3);
});

test("waits are between runs, and take half of the width at most", () => {
	const run = (from, to) => ({ from, to, node: 1, state: 0 }), wait = (from, to) => ({ from, to, node: 2, state: 1 });
	const pieces = merged([run(0, 3), run(10, 13), run(20, 23)], [wait(1, 9), wait(11, 30)]), scale = scaleOfWaits(pieces), joined = withoutGaps(pieces, scale);
	assert.deepEqual(pieces, [run(0, 1), wait(1, 9), run(10, 11), wait(11, 20), run(20, 23), wait(23, 30)]);
	assert.equal(scale, 5 / 24);
	assert.deepEqual([1, 3].map((i) => lengthOfWait([...pieces.slice(0, 4), wait(21, 25), wait(27, 29)], i, 1)), [8, 14]);
	assert.ok(Math.abs(joined[5].to - 10) < 1e-9);
	assert.ok(Math.abs(timeOfJoined(pieces, joined, 1 + 4 * scale) - 5) < 1e-9);
	assert.deepEqual([scaleOfWaits([run(0, 10), wait(10, 11)]), scaleOfWaits([wait(0, 5)])], [1, 1]);
});

test("a wait's box differs from a run's, and their callers' is one", () => {
	const { tree } = treeOf({ "main;a": 1, "main;b": 1 }).summed, whole = { tree, map: Int32Array.from({ length: tree.count }, (_, i) => i) }, waits = new WaitTree(whole, whole);
	const [main] = tree.children(0), [a, b] = tree.children(main), of = (state) => waits.endOf({ node: a, state });
	const pieces = [{ from: 0, to: 2, node: a, state: 0 }, { from: 2, to: 5, node: of(1), state: 1 }, { from: 5, to: 6, node: of(2), state: 2 }, { from: 6, to: 9, node: b, state: 1 }];
	const rows = rowsOfTime(waits.tree, pieces, 0, (node) => waits.inWait(node)), boxes = rows.map((row) => Array.from(row.node, (node, i) => [row.x[i], row.end[i], waits.states.get(node) ?? "runs", waits.tree.function[node]]));
	const { function: functions } = tree;
	assert.deepEqual(boxes, [[], [[0, 9, "runs", functions[main]]], [[0, 2, "runs", functions[a]], [2, 5, 1, functions[a]], [5, 6, 2, functions[a]], [6, 9, 0, functions[b]]]]);
});

test("a first level of programs, without main's callers", () => {
	const functions = new Functions(), names = ["_start", "__libc_start_main@@GLIBC_2.34", "main", "work", "_start"];
	functions.modules.push("program");
	for (const name of names)
		functions.add(name, 0, 0);
	// Both programs: _start;__libc_start_main;main;work and _start;main; the first: main;_start, which is another function of this name.
	const parent = Int32Array.of(-1, 0, 1, 2, 3, 1, 0, 6), frame = Int32Array.of(-1, 0, 1, 2, 3, 2, 2, 4), node = Int32Array.of(4, 5, 7, 0, 4, 1);
	const spans = { runs: { event: [0, 0], thread: [0, 1], length: [4, 2], first: [0, 4] }, node, labels: new Int32Array(6), count: 6 };
	const capture = /** @type {any} */ ({
		functions, frames: { function: Int32Array.of(0, 1, 2, 3, 4), file: new Int32Array(5), line: new Int32Array(5) }, nodes: { parent, frame }, kinds: new Uint8Array(8), spans, header: { lines: 0 },
		events: [{ firstNode: 0, nodes: 8 }], processes: [{ name: "a", id: 1 }, { name: "b", id: 2 }], threads: [{ name: "a", id: 1, process: 0 }, { name: "b", id: 2, process: 1 }], labels: { sets: [[]], values: [] },
	});
	new Grouper(capture).use("program");
	const { tree, map } = treeOfEvent(capture, 0), self = new Float64Array(tree.count);
	capture.spans.node.forEach((of) => self[map[of - capture.events[0].firstNode]]++);
	assert.deepEqual(stacksOf(tree, functions, self), { "a;main;work": 1, "a;main": 1, "a;main;_start": 1, "a": 1, "b;main;work": 1, "b": 1 });
	assert.equal(new Set(Array.from(tree.function.subarray(1, tree.count), (of, i) => `${tree.parent[i + 1]} ${of}`)).size, tree.count - 1);
});
