// Weight over time, of calls and functions.
import assert from "node:assert/strict";
import test from "node:test";
import { COURSE_STEPS } from "../../../cli/page/web/courses.js";
import { invertAll } from "../../../cli/page/web/inverted.js";
import { ProfileMaker } from "../../../cli/page/web/profile.js";
import { captureOf } from "./page_of.mjs";

const folder = process.env.PAGES;

/** The same, from the spans of the event one by one. */
function slowly(profile, isBelow, isOwn = false) {
	const { capture, map, selection } = profile, { spans } = capture, { runs } = spans, sums = new Float64Array(COURSE_STEPS), { tree } = profile.summed;
	const to = Math.min(selection.to, capture.duration), length = to - selection.from;
	for (let run = 0; run < runs.first.length; run++) {
		for (let i = runs.first[run]; i < runs.first[run] + runs.length[run]; i++) {
			let node = map[spans.node[i] - capture.events[selection.event].firstNode] ?? -1;
			const isSelected = runs.event[run] === selection.event && spans.time[i] >= selection.from && spans.time[i] < to;
			while (isSelected && node > 0 && !isBelow(node))
				node = isOwn ? 0 : tree.parent[node];
			if (isSelected && node > 0)
				sums[Math.floor((spans.time[i] - selection.from) * (COURSE_STEPS / length))] += spans.weight[i];
		}
	}
	const most = Math.max(...sums);
	return Array.from(sums, (sum) => most ? sum / most : 0);
}

const near = (a, b, what) => a.forEach((value, i) => assert.ok(Math.abs(value - b[i]) < 1e-5, `${what}, step ${i}: ${value}, ${b[i]}`));

test("courses of calls and functions are their spans'", { skip: !folder }, async () => {
	const capture = await captureOf(`${folder}/orders.html`), maker = new ProfileMaker(capture);
	for (const transforms of [[], [{ kind: "merge", of: 3 }]]) {
		for (const [from, to] of [[0, Infinity], [200e6, 400e6]]) {
			const profile = maker.make({ event: 0, from, to, threads: null }, transforms), { courses } = profile, { tree } = profile.summed;
			for (let node = 1; node < tree.count; node++)
				near(courses.of([node]), slowly(profile, (other) => other === node), `node ${node}`);
			for (let of = 0; of < capture.functions.count; of++)
				near(courses.of(courses.nodesOf(of)), slowly(profile, (node) => tree.function[node] === of), capture.functions.name[of]);
		}
	}
});

test("the courses of an inverted tree are those of the stacks that end there", { skip: !folder }, async () => {
	const profile = new ProfileMaker(await captureOf(`${folder}/orders.html`)).make({ event: 0, from: 0, to: Infinity, threads: null }, []), { courses } = profile, { tree } = profile.summed;
	const { tree: inverted } = invertAll(profile.summed);
	for (let row = 1; row < inverted.count; row++) {
		const path = inverted.path(row), isEnd = (leaf) => path.every((of, i) => leaf > 0 && tree.function[leaf] === of && (i === path.length - 1 || (leaf = tree.parent[leaf]) > 0));
		near(courses.ofEnd(path), slowly(profile, isEnd, true), `row ${row}`);
		assert.ok(courses.ofEnd(path).some((value) => value === 1), `row ${row} has samples`);
	}
});

test("a wait lasts from its begin to its end", { skip: !folder }, async () => {
	const capture = await captureOf(`${folder}/waits.html`), { weight } = capture.spans, first = capture.spans.runs.first[capture.spans.runs.event.indexOf(1)];
	const { courses } = new ProfileMaker(capture).make({ event: 1, from: 0, to: Infinity, threads: null }, []), step = capture.duration / COURSE_STEPS;
	const last = Math.floor(capture.spans.time[first] / step);
	weight[first] = 4 * step;
	const longer = new ProfileMaker(capture).make({ event: 1, from: 0, to: Infinity, threads: null }, []).courses;
	assert.ok(courses.of([0])[last - 3] === 0 && longer.of([0])[last - 3] > 0 && longer.of([0])[last - 4] === 0);
});
