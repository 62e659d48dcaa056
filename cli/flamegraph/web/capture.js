// The start of both pages: the data embedded by `stackreel flamegraph`.
"use strict";

const element = (id) => document.getElementById(id);

function complain(text) {
	element("problem").hidden = false;
	element("problem").textContent = text;
}

// Unpacks an element's gzip data in base64.
function unpack(id) {
	if (!window.DecompressionStream)
		throw new Error("this browser is too old to read what is in the page (it has no DecompressionStream)");
	const text = atob(element(id).textContent.trim());
	const bytes = new Uint8Array(text.length);
	for (let i = 0; i < text.length; i++)
		bytes[i] = text.charCodeAt(i);
	return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")));
}

// Depths, of nodes in the order of a walk from the root down, to each node's caller; the root is 0, the first node 1.
function parentsOf(depths) {
	const parents = new Int32Array(depths.length + 1), path = [0];
	for (let i = 0; i < depths.length; i++) {
		parents[i + 1] = path[depths[i] - 1];
		path[depths[i]] = i + 1;
	}
	return parents;
}

function seconds(ns) {
	return (ns / 1e9).toLocaleString("en", { maximumFractionDigits: 3 });
}

function share(part, whole) {
	return (whole ? part / whole * 100 : 0).toFixed(2) + " %";
}

function addToggle(button, panel, changed) {
	element(button).addEventListener("click", () => {
		element(panel).hidden = !element(panel).hidden;
		element(button).setAttribute("aria-expanded", String(!element(panel).hidden));
		changed();
	});
}
