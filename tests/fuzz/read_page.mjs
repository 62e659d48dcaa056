// read_page.mjs PAGE: reads the page's content as a browser does, and sums up each event's samples.
import assert from "node:assert/strict";
import { foldedOf } from "../../cli/page/web/export.js";
import { linesOf } from "../../cli/page/web/lines.js";
import { ProfileMaker } from "../../cli/page/web/profile.js";
import { captureOf } from "../page/modules/page_of.mjs";

const capture = await captureOf(process.argv[2]);
for (let event = 0; event < capture.events.length; event++) {
	const profile = new ProfileMaker(capture).make({ event, from: 0, to: Infinity, threads: null }, []), { tree, total } = profile.summed;
	for (const line of foldedOf(profile).split("\n").slice(0, -1))
		assert.match(line, / \d+$/);
	for (let node = 1; node < tree.count; node++)
		assert.ok(total[node] <= total[tree.parent[node]] * (1 + 1e-9), "a part of its caller's time");
	assert.ok(linesOf(profile).every(({ self }) => self >= 0), "times of lines");
}
