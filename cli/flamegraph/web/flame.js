@include capture.js
@include chart.js

// With more frames than this in all its stacks, a view is too slow in speedscope and gets wider steps of time.
const FRAMES_MAX = 500000;

let capture, spans, chosen, viewer;
// A profile from `stackreel aggregate`: without times, threads, lines and guesses.
const isProfile = () => "captures" in capture;

// ---- the capture ---------------------------------------------------------------------------

// For each event: parent and depth by node. For spans: numbers instead of differences.
function prepare() {
	for (const event of capture.events)
		event.parent = parentsOf(event.depth);
	spans = capture.spans;
	for (const column of [spans.bin, spans.thread, spans.node]) {
		for (let i = 1; i < column.length; i++)
			column[i] += column[i - 1];
	}
	spans.weight = spans.extra.map((extra, i) => extra + spans.samples[i] * capture.events[spans.event[i]].period);
	capture.processes = [...new Set(capture.threads.map((thread) => thread[1]))];
	capture.end = Math.max(...capture.events.map((event) => event.heat.samples.length * event.heat.step), capture.step);
}

// The frames of a node's stack, root first.
function stackOf(event, node) {
	const stack = new Array(node ? event.depth[node - 1] : 0);
	for (let at = node, i = stack.length; at; at = event.parent[at])
		stack[--i] = event.frame[at - 1];
	return stack;
}

// ---- what is chosen ---------------------------------------------------------------------------

// Stacks in steps of time, of `width` of the capture's steps each; within one in the tree's order.
function collect(width) {
	const event = capture.events[chosen.event], nodes = [], weights = [], inStep = new Map();
	let frames = 0, step = -1;
	const endStep = () => {
		for (const node of [...inStep.keys()].sort((a, b) => a - b)) {
			if (nodes[nodes.length - 1] === node) {
				weights[weights.length - 1] += inStep.get(node);
				continue;
			}
			nodes.push(node);
			weights.push(inStep.get(node));
			frames += node ? event.depth[node - 1] : 0;
		}
		inStep.clear();
	};
	for (let i = 0; i < spans.bin.length; i++) {
		const bin = spans.bin[i], node = spans.node[i];
		if (spans.event[i] !== chosen.event || bin < chosen.from || bin >= chosen.to || !chosen.has(spans.thread[i]))
			continue;
		if (Math.floor(bin / width) !== step) {
			endStep();
			step = Math.floor(bin / width);
		}
		inStep.set(node, (inStep.get(node) || 0) + spans.weight[i]);
	}
	endStep();
	return { event, nodes, weights, frames, width };
}

function choose() {
	const who = element("who").value, number = Number(who.slice(1));
	const process = capture.processes[number];
	const has = who[0] === "p" ? capture.threads.map((thread) => thread[1] === process) : [];
	const from = Number(element("from").value) * 1e9, to = Number(element("to").value) * 1e9;
	chosen = {
		event: Number(element("event").value),
		from: Math.floor(from / capture.step + 1e-6),
		to: Math.max(Math.ceil(to / capture.step - 1e-6), Math.floor(from / capture.step + 1e-6) + 1),
		has: (thread) => who === "all" || (who[0] === "t" ? thread === number : has[thread]),
		name: element("who").selectedOptions[0].textContent,
	};
	let view = collect(1);
	while (view.frames > FRAMES_MAX && view.width * capture.step < capture.end)
		view = collect(view.width * 4);
	return view;
}

// ---- speedscope ----------------------------------------------------------------------------------

function nameOf(frame) {
	return frame[0] + capture.kinds[frame[1]];
}

// In its own file format, version 1.0.
function speedscopeFile(view) {
	const total = view.weights.reduce((a, b) => a + b, 0);
	return {
		$schema: "https://www.speedscope.app/file-format-schema.json",
		exporter: "stackreel",
		shared: {
			frames: capture.frames.map((frame) => {
				const to = { name: nameOf(frame) };
				if (frame[3] || frame[2])
					to.file = frame[3] || frame[2];
				if (frame[4])
					to.line = frame[4];
				return to;
			}),
		},
		profiles: [{
			type: "sampled",
			name: `${capture.file}: ${view.event.name}, ${chosen.name}`,
			unit: view.event.isTime ? "nanoseconds" : "none",
			startValue: 0,
			endValue: total,
			samples: view.nodes.map((node) => stackOf(view.event, node)),
			weights: view.weights,
		}],
	};
}

function toBase64(text) {
	const bytes = new TextEncoder().encode(text), parts = [];
	for (let i = 0; i < bytes.length; i += 24576)
		parts.push(btoa(String.fromCharCode(...bytes.subarray(i, i + 24576))));
	return parts.join("");
}

// speedscope runs in a separate frame. With `localProfilePath` it waits for a script that passes it a profile: this script.
async function startSpeedscope() {
	const program = await unpack("speedscope").text();
	return new Promise((resolve) => {
		const frame = element("view");
		frame.addEventListener("load", () => {
			const inner = frame.contentDocument, append = inner.head.appendChild;
			frame.contentWindow.location.hash = "#localProfilePath=capture";
			inner.head.appendChild = function (node) {
				if (node.localName !== "script")
					return append.call(this, node);
				resolve(frame.contentWindow);
				return node;
			};
			inner.addEventListener("input", (event) => showMatched(event.target.value), true);
			const style = inner.createElement("style"), script = inner.createElement("script");
			style.textContent = element("speedscope-style").textContent;
			script.textContent = program;
			inner.head.append(style);
			inner.body.append(script);
		}, { once: true });
		frame.srcdoc = "<!DOCTYPE html><html><head></head><body></body></html>";
	});
}

// ---- flame graph and icicle --------------------------------------------------------------------

let chart;

// Plain functions get one of several shades, so that neighbours differ; other kinds as in a picture (cli/flamegraph/svg.c).
const SHADES = ["#ffb15c", "#ffbd70", "#ffa647", "#ffc785", "#f99d3e"];
const COLORS = ["", "#fff3b8", "#b5d9ee", "#dddddd", "#ffffff"];

function colorOfNode(node) {
	if (!node.of)
		return "#eeeeee";
	return COLORS[node.of[1]] || SHADES[node.frame % SHADES.length];
}

function textOf(weight) {
	if (!shown.event.isTime)
		return weight.toLocaleString("en");
	return weight < 1e9 ? `${(weight / 1e6).toFixed(2)} ms` : `${(weight / 1e9).toFixed(2)} s`;
}

function describeNode(node) {
	const [, , module, file, line] = node.of || [], all = node.all;
	return `${node.name}${module ? ` (${module})` : ""}${file ? ` ${file}${line ? `:${line}` : ""}` : ""}: ${textOf(node.value)}, ${share(node.value, all)}`;
}

// All shown stacks, equal ones merged; nodes follow their callers.
function treeOfShown() {
	const event = shown.event, weights = new Array(event.parent.length).fill(0);
	shown.nodes.forEach((node, i) => { weights[node] += shown.weights[i]; });
	for (let node = weights.length - 1; node; node--)
		weights[event.parent[node]] += weights[node];
	const nodes = weights.map((value, node) => {
		const frame = node ? event.frame[node - 1] : -1, of = capture.frames[frame];
		return { name: of ? nameOf(of) : "all", value, frame, of, all: weights[0], children: [] };
	});
	for (let node = 1; node < nodes.length; node++) {
		if (nodes[node].value)
			nodes[event.parent[node]].children.push(nodes[node]);
	}
	return nodes[0];
}

function searchChart() {
	const text = element("search").value.toLocaleLowerCase();
	chart.clear();
	if (text)
		chart.search(text);
	showMatched(text);
}

async function showChart() {
	if (!window.flamegraph) {
		const script = document.createElement("script");
		script.textContent = await unpack("d3").text();
		document.body.append(script);
	}
	chart = drawChart({
		root: treeOfShown(),
		rootOnTop: element("look").value === "icicle",
		colorOf: colorOfNode,
		describe: describeNode,
		isMatch: (node, text) => node.of && node.name.toLocaleLowerCase().includes(text),
	});
	// The root of a flame graph is at the bottom.
	element("chart").scrollTop = element("look").value === "icicle" ? 0 : element("chart").scrollHeight;
	searchChart();
}

// ---- what is shown ------------------------------------------------------------------------------

let shown, isLoaded;

const isChart = () => element("look").value !== "speedscope";

function draw() {
	for (const id of ["chart", "details", "search-label"])
		element(id).hidden = !isChart();
	element("view").hidden = isChart();
	if (isChart()) {
		showChart().catch((error) => complain(`this can't be drawn: ${error.message}`));
		return;
	}
	showMatched("");
	if (!isLoaded)
		viewer.speedscope.loadFileFromBase64(capture.file, toBase64(JSON.stringify(speedscopeFile(shown))));
	isLoaded = true;
}

function show() {
	const view = choose();
	if (!view.nodes.length) {
		complain("no sample is of that");
		return;
	}
	shown = view;
	isLoaded = false;
	element("problem").hidden = true;
	draw();
	sayRange();
	drawHeat();
}

// ---- search -----------------------------------------------------------------------------------------

// speedscope searches; this page computes the share of all stacks that match.
function showMatched(query) {
	const text = query.toLocaleLowerCase(), event = shown.event, total = shown.weights.reduce((a, b) => a + b, 0);
	if (!text) {
		element("matched").textContent = "";
		return;
	}
	const isMatch = capture.frames.map((frame) => nameOf(frame).toLocaleLowerCase().includes(text));
	const matches = new Uint8Array(event.parent.length);
	for (let node = 1; node < matches.length; node++)
		matches[node] = matches[event.parent[node]] || isMatch[event.frame[node - 1]] ? 1 : 0;
	let part = 0;
	for (let i = 0; i < shown.nodes.length; i++)
		part += matches[shown.nodes[i]] ? shown.weights[i] : 0;
	element("matched").textContent = `matched: ${share(part, total)}`;
}

// ---- the heat map -----------------------------------------------------------------------------------

function heatShape() {
	const heat = capture.events[Number(element("event").value)].heat;
	const rows = Math.max(1, Math.round(1e9 / heat.step)), perColumn = rows * heat.step;
	const columns = Math.ceil(heat.samples.length / rows);
	const width = Math.max(1, Math.min(12, Math.floor((element("heat-panel").clientWidth - 16) / columns)));
	return { heat, rows, columns, perColumn, width, height: rows > 1 ? Math.max(2, Math.floor(100 / rows)) : 16 };
}

function drawHeat() {
	if (element("heat-panel").hidden)
		return;
	const { heat, rows, columns, width, height } = heatShape();
	const canvas = element("heat"), style = getComputedStyle(document.documentElement);
	const most = heat.samples.reduce((a, b) => Math.max(a, b), 1);
	canvas.width = columns * width;
	canvas.height = rows * height;
	const draw = canvas.getContext("2d"), ink = style.getPropertyValue("--ink");
	draw.fillStyle = style.getPropertyValue("--cold");
	draw.fillRect(0, 0, canvas.width, canvas.height);
	const from = Number(element("from").value) * 1e9, to = Number(element("to").value) * 1e9;
	const isPart = from > 0 || to < capture.end;
	heat.samples.forEach((count, i) => {
		const x = Math.floor(i / rows) * width, y = (rows - 1 - i % rows) * height;
		draw.globalAlpha = Math.sqrt(count / most);
		draw.fillStyle = style.getPropertyValue("--hot");
		draw.fillRect(x, y, width, height);
		if (isPart && i * heat.step >= from && i * heat.step < to) {
			draw.globalAlpha = 1;
			draw.fillStyle = ink;
			draw.fillRect(x, y, Math.max(1, width / 3), height);
		}
	});
	canvas.setAttribute("aria-label", `samples by time: ${columns} seconds, at most ${most} in ${heat.step / 1e6} ms`);
}

function sayRange() {
	if (isProfile())
		return;
	const { heat } = heatShape(), step = capture.step * shown.width / 1e6;
	let text = `Samples in each ${heat.step / 1e6} ms. The flame graph is of ${seconds(chosen.from * capture.step)} s to `
		+ `${seconds(Math.min(chosen.to * capture.step, capture.end))} s; time order in steps of ${step} ms`;
	if (capture.step > heat.step)
		text += ` (this capture is too long for a page with finer ones: stackreel flamegraph --time A..B makes one of a part)`;
	element("heat-says").textContent = text + ".";
}

function timeAt(event) {
	const { heat, rows, columns, perColumn, width, height } = heatShape(), box = element("heat").getBoundingClientRect();
	const column = Math.max(0, Math.min(columns - 1, Math.floor((event.clientX - box.left) / width)));
	const row = Math.max(0, Math.min(rows - 1, rows - 1 - Math.floor((event.clientY - box.top) / height)));
	return { start: column * perColumn + row * heat.step, step: heat.step };
}

function setRange(from, to) {
	element("from").value = from / 1e9;
	element("to").value = to / 1e9;
}

function watchHeat() {
	let first;
	element("heat").addEventListener("pointerdown", (event) => {
		first = timeAt(event);
		element("heat").setPointerCapture(event.pointerId);
	});
	element("heat").addEventListener("pointerup", (event) => {
		if (!first)
			return;
		const last = timeAt(event);
		setRange(Math.min(first.start, last.start), Math.max(first.start, last.start) + last.step);
		first = undefined;
		show();
	});
}

// ---- the bar --------------------------------------------------------------------------------------------

function addOption(select, value, text, parent) {
	const option = document.createElement("option");
	option.value = value;
	option.textContent = text;
	(parent || select).append(option);
}

function addGroup(select, label) {
	const group = document.createElement("optgroup");
	group.label = label;
	select.append(group);
	return group;
}

// Heaviest first.
function orderBySamples(count, numberOf) {
	const samples = new Array(count).fill(0);
	spans.thread.forEach((thread, i) => { samples[numberOf(thread)] += spans.samples[i]; });
	return samples.map((n, i) => i).sort((a, b) => samples[b] - samples[a]);
}

function fillBar() {
	const who = element("who"), processes = new Map(capture.processes.map((name, i) => [name, i]));
	document.title = `${capture.file} - flame graph`;
	element("title").textContent = capture.file;
	capture.events.forEach((event, i) => addOption(element("event"), i, event.name));
	const samples = capture.events.map(() => 0);
	spans.event.forEach((event, i) => { samples[event] += spans.samples[i]; });
	element("event").value = samples.indexOf(Math.max(...samples));
	element("event-label").hidden = capture.events.length < 2;
	addOption(who, "all", isProfile() ? "all captures" : "all threads");
	if (isProfile())
		return;
	const byProcess = addGroup(who, "process"), byThread = addGroup(who, "thread");
	for (const i of orderBySamples(capture.processes.length, (thread) => processes.get(capture.threads[thread][1])))
		addOption(who, `p${i}`, capture.processes[i], byProcess);
	for (const i of orderBySamples(capture.threads.length, (thread) => thread))
		addOption(who, `t${i}`, capture.threads[i][0], byThread);
}

function sayWhatItIs() {
	let says = isProfile() ? `${capture.file}: a profile of ${capture.captures.toLocaleString("en")} captures, as stackreel aggregate makes it; `
		: `${capture.file}: ${capture.host}, Linux ${capture.kernel} ${capture.arch}, ${capture.time || "time unknown"}; `;
	says += `${capture.samples.toLocaleString("en")} samples; complete traces: ${capture.complete}.`;
	if (isProfile())
		says += " It has no times, threads or source lines, and does not tell which frames are guessed: view 1 has stacks in the order of the tree, as view 2.";
	if (capture.pruned)
		says += ` Of ${capture.pruned.toLocaleString("en")} samples the stacks' rare ends are left out, so that the page stays small.`;
	element("capture-says").textContent = says;
	for (const id of ["who-label", "from-label", "to-label", "reset", "toggle-heat", "heat-panel"])
		element(id).hidden = isProfile();
}

async function start() {
	capture = await unpack("capture").json();
	prepare();
	fillBar();
	sayWhatItIs();
	setRange(0, capture.end);
	viewer = await startSpeedscope();
	for (const id of ["event", "who", "from", "to"])
		element(id).addEventListener("change", show);
	element("reset").addEventListener("click", () => { setRange(0, capture.end); show(); });
	element("look").addEventListener("change", () => { draw(); if (!isChart()) viewer.focus(); });
	element("search").addEventListener("input", searchChart);
	watchKeys(() => chart, isChart);
	addToggle("toggle-heat", "heat-panel", drawHeat);
	addToggle("toggle-about", "about", () => {});
	window.addEventListener("resize", () => { drawHeat(); if (isChart()) draw(); });
	matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawHeat);
	watchHeat();
	show();
	viewer.focus();
}

start().catch((error) => complain(`this page can't show its capture: ${error.message}`));
