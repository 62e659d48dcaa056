// A tree that d3-flame-graph draws into the element "chart": `root` has name, value and children, and whatever else `colorOf`, `describe` and `isMatch` ask of a node.
function drawChart({ root, rootOnTop, colorOf, describe, isMatch }) {
	element("chart").replaceChildren();
	const chart = flamegraph.default()
		.width(element("chart").clientWidth - 24).cellHeight(18).minFrameSize(1).transitionDuration(0)
		.inverted(rootOnTop)
		.tooltip(false)
		.setColorMapper((d, color) => d.highlight ? "#e600e6" : colorOf(d.data))
		.setLabelHandler((d) => describe(d.data))
		.setDetailsHandler((text) => { element("details").textContent = text || ""; })
		.setSearchMatch((d, text) => isMatch(d.data, text));
	d3.select("#chart").datum(root).call(chart);
	return chart;
}

// If `isOn`, Escape shows all of the result of `chart`, and / goes to the search.
function watchKeys(chart, isOn) {
	document.addEventListener("keydown", (event) => {
		if (!isOn())
			return;
		if (event.key === "Escape")
			chart().resetZoom();
		if (event.key === "/" && event.target !== element("search")) {
			event.preventDefault();
			element("search").focus();
		}
	});
}
