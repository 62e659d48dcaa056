// Numbers, searches, links, and files.
import assert from "node:assert/strict";
import test from "node:test";
import { Kind } from "../../../cli/page/web/capture.js";
import { BoxColors } from "../../../cli/page/web/colors.js";
import { svgOf, xmlText } from "../../../cli/page/web/export.js";
import { readFragment, startState, writeFragment } from "../../../cli/page/web/fragment.js";
import { formatAmount, formatMoment, formatShare, formatTick, formatTime, tickStep } from "../../../cli/page/web/numbers.js";
import { matchFunctions, parseSearch } from "../../../cli/page/web/search.js";
import { unzigzag } from "../../../cli/page/web/bytes.js";
import { treeOf } from "./page_of.mjs";

/** As WCAG defines it. @param {string} color @param {string} other */
function contrastOf(color, other) {
	const light = (/** @type {string} */ of) => [1, 3, 5].map((at) => parseInt(of.slice(at, at + 2), 16) / 255).map((c) => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
		.reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
	const [a, b] = [light(color), light(other)].sort((x, y) => y - x);
	return (a + 0.05) / (b + 0.05);
}

const limits = { events: 2, functions: 100, modules: 10, threads: 50, processes: 5 };

test("times", () => assert.deepEqual([0, 5, 1500, 12345678, 999.6e6, 1.5e9, 123456e9].map(formatTime), ["0 s", "5 ns", "1.50 µs", "12.3 ms", "1.00 s", "1.50 s", "123,456 s"]));
test("shares", () => assert.deepEqual([formatShare(1, 3), formatShare(1, 0)], ["33.33 %", "0.00 %"]));
test("ticks are 1, 2 or 5 times a power of ten, then minutes", () => assert.deepEqual([1, 3e3, 0.9e9, 6e9, 40e9, 100e9, 90000e9].map(tickStep), [1, 5e3, 1e9, 10e9, 60e9, 120e9, 172800e9]));
test("moments", () => assert.deepEqual([[1.5e9, 0.5e9], [65e9, 30e9], [3725e9, 60e9], [200e6, 50e6], [1.25e6, 1e4]].map(([time, apart]) => formatMoment(time, apart)), ["1.5 s", "65 s", "1:02:05", "200 ms", "1.25 ms"]));
test("ticks of counts have no minutes", () => assert.deepEqual([40e9, 0.3].map((least) => tickStep(least, false)), [50e9, 0.5]));
test("numbers of ticks", () => assert.deepEqual([[12.345, 0.5], [50, 10], [0.30000000000000004, 0.1], [1e-12, 1e-12]].map(([value, apart]) => formatTick(value, apart)), ["12.3", "50", "0.3", "0.000000000"]));
test("amounts on an axis", () => assert.deepEqual([[0, 1e8, 1], [1.5e9, 0.5e9, 1], [0, 5, 0], [1500, 500, 0], [15000, 500, 0], [2.5e9, 5e8, 0], [3e12, 1e12, 0]].map(([value, apart, isTime]) => formatAmount(value, apart, isTime === 1)),
	["0 s", "1.5 s", "0", "1500", "15.0 k", "2.5 G", "3 T"]));
test("zigzag", () => assert.deepEqual([0, 1, 2, 3, 2 ** 41 + 1].map(unzigzag), [0, -1, 1, -2, -(2 ** 40) - 1]));

test("a link has all of the state", () => {
	const state = {
		...startState(), event: 1, from: 1000, to: 2000, viewFrom: 500, viewTo: null, who: ["p1", "t42"], tab: "tree", search: "a&b=#?/x/ é", invert: true, below: true, full: true, gapless: false, of: 7, theme: "dark", width: "both", part: "self", instructions: true, details: false, by: "container",
		labels: [{ key: "lock", text: "0x1" }, { key: "lock", text: "" }, { key: "arg1", text: "a=b&c\n" }, { key: "ns::f:request->items[2].size", text: "7" }], transforms: [{ kind: "focus", of: 3 }, { kind: "subtree", path: [1, 2, 3] }, { kind: "library", of: 2 }, { kind: "native" }],
	};
	assert.deepEqual(readFragment(writeFragment(state), limits), state);
	assert.equal(writeFragment(startState()), "");
	assert.deepEqual(readFragment("", limits), startState());
	const start = /** @type {const} */ ({ tab: "diff", event: 1 });
	assert.deepEqual(readFragment("", limits, start), { ...startState(), ...start });
	assert.deepEqual(readFragment(writeFragment(startState(), start), limits, start), startState());
});

test("numbers that the page does not have are ignored", () => {
	const state = readFragment("tab=evil&label=x&label==y&label=a%3Db%3Dc&event=9&time=x..y&who=p5.t50.q1.t1&do=focus-100~evil-1~subtree-1.200~merge-1~library-10&of=-1&theme=pink", limits);
	assert.deepEqual(state, { ...startState(), who: ["t1"], labels: [{ key: "a", text: "b=c" }], transforms: [{ kind: "merge", of: 1 }] });
});

test("searches", () => {
	const { functions } = treeOf({ "main;Foo::bar;L1": 1 }), found = (text) => Array.from(matchFunctions(functions, parseSearch(text))).join("");
	assert.equal(parseSearch("  "), null);
	assert.equal(found("foo::"), "010");
	assert.equal(found("/^main$/"), "100");
	assert.equal(found("/FOO/"), "000");
	assert.equal(found("/FOO/i"), "010");
	assert.equal(found("lib.so"), "001");
	assert.equal(parseSearch("/(/").problem, "invalid expression");
	assert.equal(found("("), "000");
});

test("text on boxes has a contrast of 4.5", () => {
	const { functions } = treeOf(Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`f${i}`, 1]))), colors = new BoxColors(functions);
	for (const kind of Object.values(Kind)) {
		functions.kind.fill(kind);
		for (const isDark of [false, true]) {
			colors.known = [];
			colors.setDark(isDark);
			for (let of = 0; of < functions.count; of++)
				assert.ok(contrastOf(colors.of(of), colors.theme.ink) >= 4.5, `${kind} ${isDark}`);
		}
	}
});

test("text on the colours of changes has a contrast of 4.5", () => {
	const { functions } = treeOf({ main: 1 }), colors = new BoxColors(functions);
	for (const isDark of [false, true]) {
		colors.setDark(isDark);
		for (let part = -1; part <= 1; part += 0.05) {
			assert.ok(contrastOf(colors.ofChange({ isSure: true, by: part, part }), colors.theme.ink) >= 4.5, `${part} ${isDark}`);
		}
		assert.equal(colors.ofChange({ isSure: false, by: 1, part: 1 }), colors.theme.same);
		assert.notEqual(colors.ofChange({ isSure: true, by: 1, part: 0.01 }), colors.theme.same);
	}
});

test("hostile texts in a picture", () => {
	assert.equal(xmlText("<a href='x'>&\"\u0001\u202e😀\ufffe"), "&lt;a href='x'&gt;&amp;&quot;\ufffd&#8238;&#128512;\ufffd");
	const svg = svgOf([{ x: 0, y: 0, width: 9, height: 9, fill: "red", label: "</text><script>", title: "&" }], 10, 10, { paper: "#fff", ink: "#000" });
	assert.ok(!svg.includes("<script"));
});
