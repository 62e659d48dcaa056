// Pages of captures, against what `stackreel folded` and `report` print of the same samples. PAGES: the folder where test-page-modules.sh put them.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { breakdownOf, callsOf, kindWord } from "../../../cli/page/web/breakdown.js";
import { Kind } from "../../../cli/page/web/capture.js";
import { piecesOfThread, WaitTree } from "../../../cli/page/web/chart.js";
import { Grouper } from "../../../cli/page/web/groups.js";
import { codeRows, functionsWithCode, listingKey } from "../../../cli/page/web/code.js";
import { changeAt, formatInterval, formatRelative, matchedTotal, medianOf, valuesOf, verdict, widthsOf } from "../../../cli/page/web/diff.js";
import { foldedOf } from "../../../cli/page/web/export.js";
import { labelsAt, parseLabel, passingSets, sumLabels, withoutRepeated } from "../../../cli/page/web/labels.js";
import { linesOf } from "../../../cli/page/web/lines.js";
import { marksIn, marksOf } from "../../../cli/page/web/marks.js";
import { ProfileMaker } from "../../../cli/page/web/profile.js";
import { sumThreads } from "../../../cli/page/web/selection.js";
import { TrackSummer } from "../../../cli/page/web/track_sums.js";
import { groupsOfProcesses, listTracks, rankTracks } from "../../../cli/page/web/tracks.js";
import { Wakes } from "../../../cli/page/web/wakes.js";
import { captureOf } from "./page_of.mjs";

const folder = process.env.PAGES;
const read = (name) => readFileSync(`${folder}/${name}`, "utf8");
const all = { event: 0, from: 0, to: Infinity, threads: null };
const profileOf = (capture, selection = {}, transforms = []) => new ProfileMaker(capture).make({ ...all, ...selection }, transforms);
const sorted = (text) => text.trim().split("\n").sort().join("\n");
const near = (a, b) => Math.abs(a - b) <= 1e-6 * Math.max(1, Math.abs(b));
const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);

test("stacks are folded's", { skip: !folder }, async () => {
	for (const name of ["orders", "threads", "waits", "groups"])
		assert.equal(sorted(foldedOf(profileOf(await captureOf(`${folder}/${name}.html`)))), sorted(read(`${name}.folded`)), name);
});

test("short names are folded's, also of a comparison", { skip: !folder }, async () => {
	const capture = await captureOf(`${folder}/orders.html`), { functions } = await captureOf(`${folder}/diff-names.html`);
	const shorts = new Map(capture.functions.name.map((name, i) => [name, capture.functions.short[i]])), compared = functions.name.filter((name) => shorts.has(name) && shorts.get(name) !== name);
	capture.functions.name = capture.functions.short;
	assert.equal(sorted(foldedOf(profileOf(capture))), sorted(read("orders-short.folded")));
	assert.ok(compared.length > 10);
	functions.name.forEach((name, i) => assert.equal(functions.short[i], shorts.get(name) ?? functions.short[i]));
});

test("a first level of programs is folded's", { skip: !folder }, async () => {
	const capture = await captureOf(`${folder}/waits.html`), grouper = new Grouper(capture);
	assert.deepEqual([grouper.choices, grouper.start], [["none", "program", "process", "container", "thread"], "program"]);
	grouper.use("program");
	assert.equal(sorted(foldedOf(profileOf(capture))), sorted(read("waits-comm.folded")));
	for (const by of ["process", "container", "thread"]) {
		grouper.use(by);
		const { summed } = profileOf(capture), { tree, total } = summed;
		assert.equal(tree.children(0).length, 2, by);
		assert.equal(sum(tree.children(0).map((node) => total[node])), total[0], by);
	}
	grouper.use("none");
	assert.equal(sorted(foldedOf(profileOf(capture))), sorted(read("waits.folded")));
	const one = new Grouper(await captureOf(`${folder}/orders.html`)), grouped = new Grouper(await captureOf(`${folder}/groups.html`));
	assert.deepEqual([one.choices, one.start, grouped.choices], [["none"], "none", ["none"]]);
});

test("source code: the lines around samples, and no others", { skip: !folder }, async () => {
	const capture = await captureOf(`${folder}/code.html`), profile = profileOf(capture), lines = linesOf(profile).filter(({ file }) => file.endsWith("orders.cc"));
	const source = readFileSync("testdata/programs/orders.cc", "utf8").split("\n").map((line) => line.replace(/\t/g, " ".repeat(8)).trimEnd());
	const [[path, texts]] = capture.code.files;
	assert.equal(capture.code.files.size, 1);
	assert.deepEqual([...texts.values()], [...texts.keys()].map((line) => source[line - 1]));
	assert.ok(lines.length > 10 && lines.every(({ file, line }) => file === path && texts.has(line)));
	assert.ok([...texts.keys()].every((line) => lines.some((hot) => Math.abs(hot.line - line) <= 8)));
	assert.equal(capture.code.omitted, 0);
	// Checking a file out makes it new.
	assert.deepEqual([...capture.code.remarks].filter(([, remark]) => remark !== "newer than the recording"), []);
	const tax = lines.find(({ line }) => line === 58), rows = codeRows(capture.code, lines.filter((line) => line.function === tax.function)), hot = rows.find(({ line }) => line === 58);
	assert.deepEqual([rows[0].line, rows.length, hot.own.self, hot.text.trim()], [0, 18, tax.self, "owed = owed * rate_ + amount / (owed + 1);"]);
	const gaps = codeRows(capture.code, [lines.find(({ line }) => line === 48), lines.find(({ line }) => line === 154)]);
	assert.equal(gaps.filter(({ line }) => line < 0).length, 1);
	const withCode = functionsWithCode(capture.code, linesOf(profile));
	assert.deepEqual(withCode, new Set(lines.toSorted((a, b) => b.total - a.total).map((line) => line.function)));
	assert.ok(withCode.size < new Set(linesOf(profile).map((line) => line.function)).size || linesOf(profile).length === lines.length);
	assert.equal(functionsWithCode({ ...capture.code, files: new Map() }, lines).size, 0);
});

test("instructions are annotate's", { skip: !folder }, async () => {
	const { instructions, functions } = await captureOf(`${folder}/code.html`), expected = JSON.parse(read("annotate.json"));
	const of = functions.name.findIndex((name) => name.startsWith("shop::by_value")), listing = instructions.listings.get(listingKey(functions.name[of], functions.modules[functions.module[of]]));
	assert.equal(instructions.whole, expected.whole.weight);
	assert.deepEqual(listing.map(({ address, weight, file, line }) => [parseInt(address, 16), weight, file, line]),
		expected.instructions.map(({ address, self, places }) => [address, self.weight, places[0].file, places[0].line]));
	expected.instructions.forEach(({ text }, i) => assert.ok(listing[i].text.startsWith(text), text));
	assert.ok(listing.length > 10 && listing.some(({ text }) => /<\+0x[\da-f]+>$/.test(text)));
	assert.equal(instructions.omitted, 0);
	assert.ok([...instructions.listings.values()].every((rows) => rows.some(({ weight }) => weight > 0)));
	assert.equal((await captureOf(`${folder}/orders.html`)).instructions, null);
});

test("source code that is missing, too long, or hostile", { skip: !folder }, async () => {
	assert.equal((await captureOf(`${folder}/orders.html`)).code, null);
	const { code: none } = await captureOf(`${folder}/no-code.html`);
	assert.deepEqual([none.files.size, new Set(none.remarks.values())], [0, new Set(["not found"])]);
	const { code: long } = await captureOf(`${folder}/long-code.html`);
	assert.ok(long.omitted > 0 && long.files.size === 1);
	const { code: hostile } = await captureOf(`${folder}/hostile-code.html`);
	for (const [, texts] of hostile.files)
		assert.ok([...texts.values()].every((text) => text === '</script><img src=x onerror="document.title=1">\\xe2\\x80\\xae\\x1b[31m \\'));
});

test("changes are diff's", { skip: !folder }, async () => {
	for (const name of ["diff", "diff-groups"]) {
		const { diff, functions } = await captureOf(`${folder}/${name}.html`), expected = JSON.parse(read(`${name}.json`));
		assert.equal(expected.functions.length, diff.remarks.filter((_, i) => diff.total.old[i] || diff.total.new[i]).length);
		for (const { name: wanted, module, ...parts } of expected.functions) {
			const i = diff.remarks.findIndex((_, at) => functions.name[diff.first + at] === wanted && functions.modules[functions.module[diff.first + at]] === module);
			for (const part of ["self", "total"]) {
				const change = changeAt(diff[part], i), { old: before, new: after, change: by, low, high, sure, tested } = parts[part];
				[[change.before, before], [change.after, after], [change.by, by], [change.low, low], [change.high, high]].forEach(([a, b]) => assert.ok(near(a, b), `${wanted} ${part}: ${a} is not ${b}`));
				assert.deepEqual([change.isSure, change.isTested], [sure, tested]);
			}
		}
		assert.ok(expected.functions.some(({ total }) => total.sure) && expected.functions.some(({ total }) => !total.sure));
	}
});

test("the values of significant changes", { skip: !folder }, async () => {
	const { diff, functions } = await captureOf(`${folder}/diff.html`), at = (/** @type {string} */ wanted) => functions.name.indexOf(wanted, diff.first) - diff.first;
	assert.equal(diff.remarks[at("parse")], "(total follows from scan)");
	const scan = valuesOf(diff, at("scan"), "self");
	assert.deepEqual([scan.old.length, scan.new.length, medianOf(scan.old).toFixed(2), medianOf(scan.new).toFixed(2)], [27, 27, "19.33", "38.61"]);
	assert.equal(valuesOf(diff, at("check"), "self").old.length, 0);
	assert.equal(diff.values.length, 4 * diff.remarks.length);
});

test("a comparison's tree has the stacks of diff --folded", { skip: !folder }, async () => {
	const { diff, functions } = await captureOf(`${folder}/diff.html`), { tree } = diff, sides = { old: {}, new: {} };
	for (const side of ["old", "new"]) {
		const { total } = widthsOf(diff, side);
		assert.equal(total[0], diff.sides[side].all);
		for (let i = 1; i < tree.count; i++) {
			const self = total[i] - sum(tree.children(i).map((child) => total[child]));
			if (self > 1e-3)
				sides[side][tree.path(i).map((of) => functions.name[of]).join(";")] = self;
		}
	}
	const lines = read("diff.folded").trim().split("\n").map((line) => /^(.*) (\d+) (\d+)$/.exec(line).slice(1));
	for (const [at, side] of [[1, "old"], [2, "new"]]) {
		const whole = sum(lines.map((line) => Number(line[at])));
		assert.deepEqual(Object.keys(sides[side]).sort(), lines.filter((line) => line[at] > 0).map(([stack]) => stack).sort());
		lines.forEach((line) => assert.ok(Math.abs((sides[side][line[0]] ?? 0) - 100 * line[at] / whole) < 1e-4, line[0]));
	}
	const both = widthsOf(diff, "both"), matches = Uint8Array.from(functions.name, (name) => name === "parse" || name === "scan" ? 1 : 0);
	assert.ok(near(both.total[0], 100));
	assert.ok(near(matchedTotal(both, matches), both.total[tree.find(["serve", "parse"].map((name) => functions.name.indexOf(name, diff.first)))]));
});

test("a change in words", () => {
	const words = (before, after, flags) => {
		const change = changeAt({ old: [before], new: [after], half: [2], flags: [flags] }, 0);
		return [formatRelative(change), formatInterval(change, "%"), verdict(change)];
	};
	assert.deepEqual(words(10, 15, 3), ["+50.0 %", "+3.00 … +7.00 %", "significant"]);
	assert.deepEqual(words(10, 9, 2), ["−10.0 %", "−3.00 … +1.00 %", "not significant"]);
	assert.deepEqual([words(0, 9, 0), words(9, 0, 3)].map(([relative, , word]) => [relative, word]), [["new", "too few samples"], ["gone", "significant"]]);
});

test("groups are no incomplete stacks", { skip: !folder }, async () => {
	const { functions } = await captureOf(`${folder}/groups.html`);
	for (const name of ["blocked", "worker-1"])
		assert.equal(functions.kind[functions.name.indexOf(name)], Kind.group, name);
});

test("a range has folded's stacks of that time", { skip: !folder }, async () => {
	const profile = profileOf(await captureOf(`${folder}/orders.html`), { from: 200e6, to: 400e6 });
	assert.equal(sorted(foldedOf(profile)), sorted(read("orders-range.folded")));
});

test("a thread has folded's stacks of it; threads sum up to all", { skip: !folder }, async () => {
	const capture = await captureOf(`${folder}/threads.html`), tid = Number(read("threads.tid"));
	const thread = capture.threads.findIndex(({ id }) => id === tid);
	assert.equal(sorted(foldedOf(profileOf(capture, { threads: new Set([thread]) }))), sorted(read("threads-one.folded")));
	assert.ok(near(sum(sumThreads(capture, all)), capture.events[0].weight));
});

test("functions and lines have report's amounts", { skip: !folder }, async () => {
	const profile = profileOf(await captureOf(`${folder}/orders.html`)), sums = profile.functions(), { functions } = profile.capture;
	const expected = JSON.parse(read("orders.report.json"));
	for (const { name, self, total, samples } of expected.functions) {
		const numbers = [...sums.self.keys()].filter((of) => functions.name[of] === name);
		assert.deepEqual([sum(numbers.map((of) => sums.self[of])), sum(numbers.map((of) => sums.total[of])), sum(numbers.map((of) => sums.totalSamples[of]))], [self, total, samples], name);
	}
	assert.ok(expected.functions.length > 5);
	const lines = linesOf(profile);
	for (const { file, line, self } of expected.lines) {
		const found = lines.filter((other) => other.file.endsWith(file) && other.line === line);
		assert.equal(sum(found.map((other) => other.self)), self, `${file}:${line}`);
	}
	assert.ok(expected.lines.length > 3);
});

test("what a function's weight consists of is all of it", { skip: !folder }, async () => {
	const capture = await captureOf(`${folder}/orders.html`), profile = profileOf(capture), { functions } = capture, sums = profile.functions();
	const isWhole = (parts, weight) => assert.ok(near(sum(parts.map((part) => part.weight ?? part.total)), weight));
	for (let of = 0; of < functions.count; of++) {
		const calls = callsOf(profile, of), { weight, kinds, modules, threads, lines } = breakdownOf(profile, calls);
		assert.ok(near(weight, sums.total[of]));
		for (const parts of [kinds, modules, threads])
			isWhole(parts, weight);
		assert.ok(lines.every(({ total }, i) => i === 0 || total <= lines[i - 1].total) && sum(lines.map(({ total }) => total)) <= weight * 1.000001);
	}
	const run = functions.name.findIndex((name) => name.startsWith("shop::run")), { kinds, modules, lines } = breakdownOf(profile, callsOf(profile, run)), whole = breakdownOf(profile, [0]);
	assert.deepEqual(kinds.map(({ number }) => kindWord(number)), ["inlined", "user"]);
	assert.deepEqual(modules.map(({ number }) => functions.modules[number].replace(/.*\//, "")), ["orders", "[vdso]"]);
	assert.ok(lines[0].file.endsWith("orders.cc") && lines[0].line === 140);
	isWhole(lines, sums.total[run]);
	isWhole(whole.kinds, profile.weight);
	assert.deepEqual(whole.lines, []);
});

test("a merged callee's lines are not its caller's", { skip: !folder }, async () => {
	const capture = await captureOf(`${folder}/orders.html`), of = capture.functions.name.findIndex((name) => name.startsWith("shop::Checkout::tax"));
	const price = capture.functions.name.findIndex((name) => name.startsWith("shop::Checkout::price")), linesOfPrice = (transforms) => {
		const profile = profileOf(capture, {}, transforms);
		return breakdownOf(profile, callsOf(profile, price)).lines.map(({ file, line, total }) => `${file}:${line} ${total}`);
	};
	assert.deepEqual(linesOfPrice([{ kind: "merge", of }]), linesOfPrice([]));
	assert.equal(linesOfPrice([{ kind: "drop", of: price }]).length, 0);
});

test("tracks: nothing is missing without being counted", { skip: !folder }, async () => {
	const capture = await captureOf(`${folder}/many.html`), ranked = rankTracks(capture, 0), view = { open: new Set(), limits: new Map(), search: "" };
	const tracks = listTracks(capture, ranked, view), more = tracks.find((track) => track.key === "processes");
	assert.equal(tracks.filter((track) => track.kind === "process").length + more.hidden, capture.processes.length);
	assert.equal(more.name, `${more.hidden.toLocaleString("en")} more processes`);
	assert.equal(tracks[0].threads.length, capture.threads.length);
	for (let i = 2; i < tracks.length - 1; i++)
		assert.ok(tracks[i].weight <= tracks[i - 1].weight);
	const { id, name } = capture.processes[capture.processes.length - 1];
	assert.ok(listTracks(capture, ranked, { ...view, search: String(id) }).some((track) => track.number === id));
	assert.ok(listTracks(capture, ranked, { ...view, search: name.slice(1).toUpperCase() }).length > 1);
	assert.deepEqual(listTracks(capture, ranked, { ...view, search: "no such thread" }).map(({ kind }) => kind), ["all", "note"]);
});

test("tracks: the active first, and idle threads together", { skip: !folder }, async () => {
	const capture = await captureOf(`${folder}/waits.html`), [first] = capture.processes, view = { open: new Set([0]), limits: new Map(), search: "" }, { spans } = capture;
	// Two threads of one process that run, and four that only wait, or run for 0.1 ms in a second.
	Object.assign(capture, { processes: [{ ...first, threads: [0, 1, 2, 3, 4, 5] }], threads: Array.from({ length: 6 }, (_, i) => ({ id: 10 + i, name: `t${i}`, process: 0, count: 1 })), duration: 1e9 });
	spans.runs = { event: [0, 0, 0, 1, 1, 1, 1], thread: [0, 1, 2, 0, 3, 4, 5], length: [1, 1, 1, 1, 1, 1, 1], first: Int32Array.from({ length: 7 }, (_, i) => i) };
	spans.weight = Float64Array.of(2e6, 3e6, 1e5, 1e6, 9e8, 9e8, 9e8);
	const names = (event, more = {}) => listTracks(capture, rankTracks(capture, event), { ...view, ...more }).filter(({ kind }) => kind === "thread" || kind === "more").map(({ name }) => name);
	assert.deepEqual(names(0), ["t1", "t0", "1 idle thread"]);
	assert.deepEqual(names(1), ["t0", "3 idle threads"]);
	assert.deepEqual(names(1, { limits: new Map([["p0", 120]]) }), ["t0", "t3", "t4", "t5"]);
	assert.deepEqual(names(1, { search: "t" }).length, 4);
	capture.events[0].isTime = false;
	assert.deepEqual(names(0), ["t1", "t0", "t2"]);
});

test("marks: losses, triggers, and when sampled threads started, ended, and became other programs", { skip: !folder }, async () => {
	const capture = await captureOf(`${folder}/waits.html`), { marks, recorderMarks, execs, lives, threads } = capture;
	// From the first sample on, in tenths of a second.
	assert.deepEqual(marks, [[200e6, "ring buffer full", 7, 1], [500e6, "stack bytes not readable", 2, 0], [600e6, "stack cut", 1, 0]]);
	assert.deepEqual(recorderMarks, [{ time: 399e6, kind: "trigger", text: "SIGUSR2 from process 12" }]);
	assert.deepEqual([...execs].map(([thread, all]) => [threads[thread].id, all]), [[1002, [{ time: 199e6, name: "worker-2" }]]]);
	assert.deepEqual(lives.map(({ thread, start, end }) => [threads[thread].id, start, end]), [[1001, 0.5e6, null], [1002, null, 598.5e6]]);
	const all = marksOf(capture), { duration } = capture;
	assert.deepEqual(marksIn(all, null, null), all);
	assert.deepEqual(marksIn(all, 0, duration), all);
	assert.ok(marksIn(all, 599e6, 601e6).length < all.length && marksIn(all, 599e6, 601e6).length > 0);
	assert.deepEqual(all.map(({ time, end, kind, what, thread }) => [time, end, kind, what, threads[thread]?.id]), [
		[0, 598.5e6, "process", "ended; started before the recording", 1002], [0.5e6, 600e6, "process", "started; running at the end", 1001], [199e6, 598.5e6, "exec", "worker-2", 1002],
		[200e6, 300e6, "lost samples", "ring buffer full (7 times)", undefined], [399e6, 399e6, "trigger", "SIGUSR2 from process 12", undefined], [500e6, 600e6, "incomplete data", "stack bytes not readable (2 times)", undefined],
		[600e6, 600e6, "incomplete data", "stack cut (1 time)", undefined],
	]);
});

test("labels select folded's stacks; values of a key are alternatives", { skip: !folder }, async () => {
	const capture = await captureOf(`${folder}/waits.html`), { labels } = capture, container = (i) => ({ key: "container", text: `${(0xabc0 + i).toString(16).padStart(64, "0")}` });
	const folded = (event, filters) => sorted(foldedOf(profileOf(capture, { event, sets: passingSets(labels, filters) })));
	assert.deepEqual(labels.keys.toSorted(), ["cgroup", "container", "container-name", "lock", "waker", "waker-tid"]);
	assert.equal(folded(1, [{ key: "lock", text: "0x7001" }]), sorted(read("waits-lock.folded")));
	assert.equal(folded(1, [{ key: "lock", text: "" }]), sorted(read("waits-no-lock.folded")));
	assert.equal(folded(0, [container(1)]), sorted(read("waits-container.folded")));
	assert.equal(folded(0, [container(1), container(2)]), sorted(read("waits.folded")));
	assert.equal(folded(1, [container(1), { key: "lock", text: "0x7002" }]), "");
	assert.deepEqual(parseLabel(" lock=0x7001 ", labels.keys), { key: "lock", text: "0x7001" });
	assert.equal(parseLabel("operator==(int)", labels.keys), null);
});

test("an id that is part of another label is not repeated", () => {
	const id = "0123456789abcdef", labels = [{ key: "cgroup", text: `/docker/${id}` }, { key: "container", text: id }, { key: "container-name", text: id }, { key: "lock", text: "0x7001" }, { key: "owner", text: "0x7001" }];
	assert.deepEqual(withoutRepeated(labels).map(({ key }) => key), ["cgroup", "lock", "owner"]);
	assert.deepEqual(withoutRepeated(labels.slice(1)).map(({ key }) => key), ["container", "lock", "owner"]);
});

test("labels' sums: those of a filter's own key do not change", { skip: !folder }, async () => {
	const capture = await captureOf(`${folder}/waits.html`), { values } = capture.labels, selection = { ...all, event: 1 };
	const samples = (filters) => {
		const sums = sumLabels(capture, { ...selection, sets: passingSets(capture.labels, filters) }, filters);
		return Object.fromEntries(values.map(({ key, text }, i) => [`${key}=${text}`, sums.samples[i]]).filter(([name]) => /^(lock|waker-tid)=/.test(name)));
	};
	assert.deepEqual(samples([]), { "lock=0x7001": 10, "lock=0x7002": 10, "waker-tid=1001": 10, "waker-tid=1002": 10 });
	assert.deepEqual(samples([{ key: "lock", text: "0x7001" }]), { "lock=0x7001": 10, "lock=0x7002": 10, "waker-tid=1001": 0, "waker-tid=1002": 10 });
	const run = new TrackSummer(capture).runs[1].get(0);
	const at = (time, sets = null) => labelsAt(capture, run, time, 1e6, sets).map(({ key }) => key).join(), [first] = new Wakes(capture, 1).ofThread(0).times;
	assert.equal(at(first - 5e6), "lock,waker,waker-tid,cgroup,container,container-name");
	assert.equal(at(first - 5e6, passingSets(capture.labels, [{ key: "lock", text: "" }])), "");
	assert.equal(at(1e15), "");
});

test("wakers, and how long the threads had waited", { skip: !folder }, async () => {
	const capture = await captureOf(`${folder}/waits.html`), wakes = new Wakes(capture, 1), other = (thread) => 1 - thread;
	for (const thread of [0, 1]) {
		const found = wakes.between(thread, 0, Infinity);
		assert.equal(found.length, 10);
		for (const { waker, tid, name, waited } of found)
			assert.deepEqual([waker, tid, name, waited], [other(thread), capture.threads[other(thread)].id, capture.threads[other(thread)].name, 10e6]);
		assert.equal(wakes.between(thread, found[3].time, found[5].time).length, 2);
	}
	assert.equal(new Wakes(await captureOf(`${folder}/orders.html`), -1).exist, false);
});

test("tracks by container", { skip: !folder }, async () => {
	const capture = await captureOf(`${folder}/waits.html`), view = { open: new Set(), limits: new Map(), search: "", groups: groupsOfProcesses(capture) };
	const tracks = listTracks(capture, rankTracks(capture, 0), view).map(({ kind, name, level }) => [kind, name, level]);
	assert.deepEqual(tracks, [["all", "All", 0], ["group", "000000000000", 0], ["process", "worker-2", 1], ["group", "000000000000", 0], ["process", "worker-1", 1]]);
	const { values } = capture.labels, named = values.findIndex(({ key }) => key === "container-name");
	values[named] = { ...values[named], text: "my-nginx" };
	assert.equal(listTracks(capture, rankTracks(capture, 0), view).filter(({ kind, name }) => kind === "group" && name === "my-nginx").length, 1);
	assert.equal(groupsOfProcesses(await captureOf(`${folder}/orders.html`)), null);
});

test("columns of tracks sum up to the weight, at every zoom", { skip: !folder }, async () => {
	const capture = await captureOf(`${folder}/orders.html`), summer = new TrackSummer(capture), threads = capture.threads.map((_, i) => i);
	const weight = (from, to) => sum(summer.columns("all", threads, 0, false, from, to, 700).areas.map((area) => sum(area)));
	assert.ok(Math.abs(weight(0, capture.duration) / capture.events[0].weight - 1) < 0.01);
	assert.ok(Math.abs((weight(0, capture.duration / 2) + weight(capture.duration / 2, capture.duration)) / capture.events[0].weight - 1) < 0.01);
});

test("a chart's pieces are in order and do not overlap", { skip: !folder }, async () => {
	for (const name of ["orders", "waits", "threads"]) {
		const capture = await captureOf(`${folder}/${name}.html`);
		for (let event = 0; event < capture.events.length; event++) {
			for (let thread = 0; thread < capture.threads.length; thread++) {
				const { pieces } = piecesOfThread(profileOf(capture, { event }), thread);
				pieces.forEach((piece, i) => assert.ok(piece.to >= piece.from && (i === 0 || piece.from >= pieces[i - 1].to - 1), `${name} ${event} ${thread} ${i}: ${JSON.stringify(pieces.slice(i - 1, i + 1))}`));
			}
		}
	}
});

test("a chart's waits have their own stacks", { skip: !folder }, async () => {
	const capture = await captureOf(`${folder}/waits.html`), runs = profileOf(capture), waits = profileOf(capture, { event: 1 }), tree = new WaitTree(runs.transformed, waits.transformed);
	for (let thread = 0; thread < capture.threads.length; thread++) {
		const pieces = tree.waitsOf(runs, thread, 1), { pieces: expected } = piecesOfThread(waits, thread);
		assert.deepEqual(pieces.map(({ from, to, state, node }) => [from, to, state, tree.states.get(node), tree.tree.path(node)]), expected.map(({ from, to, state, node }) => [from, to, state, state, waits.summed.tree.path(node)]));
		assert.ok(thread > 1 || pieces.length > 10);
	}
});

test("a million samples: all of them, in a file below 3 MB", { skip: !folder }, async () => {
	const capture = await captureOf(`${folder}/long.html`);
	assert.equal(capture.events[0].samples, capture.header.samples);
	assert.ok(capture.header.samples > 1e6);
	assert.ok(read("long.html").length < 3e6);
});
