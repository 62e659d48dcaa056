@include capture.js
@include chart.js

let capture, chart;

// ---- the tree ---------------------------------------------------------------------------------

// What d3-flame-graph draws: names, widths and children; `at` is the number of what it is of.
function treeOf(side) {
	const parents = parentsOf(capture.depth);
	const width = (i) => side === "new" ? capture.new[i] : side === "old" ? capture.old[i] : (capture.old[i] + capture.new[i]) / 2;
	const nodes = [{ name: "all", value: 0, at: -1, children: [] }];
	for (let i = 0; i < capture.depth.length; i++) {
		const frame = capture.frames[capture.frame[i]];
		const node = { name: frame[0] + (capture.sure[i] ? " *" : ""), value: width(i), at: i, children: [] };
		nodes.push(node);
		if (node.value > 0)
			nodes[parents[i + 1]].children.push(node);
	}
	nodes[0].value = nodes[0].children.reduce((sum, child) => sum + child.value, 0);
	return nodes[0];
}

// From grey to orange for more and to blue for less: everybody can distinguish these.
function colorOf(at) {
	if (at < 0)
		return "rgb(225, 225, 225)";
	const before = capture.old[at], now = capture.new[at];
	const strength = Math.abs(now - before) / Math.max(now, before, 1e-12);
	const to = now > before ? [230, 97, 1] : [94, 160, 235];
	return `rgb(${to.map((c) => Math.round(225 + (c - 225) * strength)).join(", ")})`;
}

function describe(at) {
	if (at < 0)
		return "all";
	const frame = capture.frames[capture.frame[at]], before = capture.old[at], now = capture.new[at];
	const text = (value) => `${value.toFixed(2)} ${capture.unit}`.trim();
	return `${frame[0]}${frame[1] ? ` (${frame[1]})` : ""}: ${text(before)} -> ${text(now)}, `
		+ `${now >= before ? "+" : ""}${text(now - before)}${capture.sure[at] ? ", for sure" : ", may be chance"}`;
}

// ---- the page -------------------------------------------------------------------------------------

function search() {
	const text = element("search").value.toLowerCase();
	chart.clear();
	element("matched").textContent = "";
	if (text)
		chart.search(text);
}

function draw() {
	chart = drawChart({
		root: treeOf(element("side").value),
		rootOnTop: element("icicle").checked,
		colorOf: (node) => colorOf(node.at),
		describe: (node) => describe(node.at),
		isMatch: (node, text) => node.at >= 0 && node.name.toLowerCase().includes(text),
	}).setSearchHandler((results, part, whole) => { element("matched").textContent = `matched: ${share(part, whole)}`; });
	search();
}

async function start() {
	capture = await unpack("capture").json();
	document.title = `${capture.title} - changes`;
	element("title").textContent = capture.title;
	element("capture-says").textContent = `${capture.says.join(". ")}.`;
	for (const id of ["side", "icicle"])
		element(id).addEventListener("change", draw);
	element("search").addEventListener("input", search);
	element("reset").addEventListener("click", () => chart.resetZoom());
	watchKeys(() => chart, () => true);
	addToggle("toggle-about", "about", () => {});
	window.addEventListener("resize", draw);
	draw();
}

start().catch((error) => complain(`this page can't show its captures: ${error.message}`));
