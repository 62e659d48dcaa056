// Source lines of the selection.

/** @typedef {import("./profile.js").Profile} Profile */
/** @typedef {{ file: string, line: number, function: number, self: number, selfSamples: number, total: number, totalSamples: number }} Line */

/** Lines by frame, those of one place together; stacks that transforms leave out are not counted. @param {Profile} profile @returns {Line[]} */
export function linesOf(profile) {
	const { capture, sums, map } = profile, event = capture.events[profile.selection.event];
	const { parent, frame } = capture.nodes, { frames, strings } = capture, first = event.firstNode;
	const keys = new Int32Array(frames.line.length), places = new Map();
	/** @type {Line[]} */
	const lines = [];
	for (let i = 0; i < keys.length; i++) {
		const key = `${frames.file[i]}:${frames.line[i]}:${frames.function[i]}`;
		let at = places.get(key);
		if (at === undefined) {
			places.set(key, at = lines.length);
			lines.push({ file: strings[frames.file[i]], line: frames.line[i], function: frames.function[i], self: 0, selfSamples: 0, total: 0, totalSamples: 0 });
		}
		keys[i] = at;
	}
	const total = new Float64Array(event.nodes), totalSamples = new Float64Array(event.nodes);
	for (let i = event.nodes - 1; i > 0; i--) {
		const up = parent[first + i] - first, counted = map[i] >= 0 ? 1 : 0, line = lines[keys[frame[first + i]]];
		total[i] += sums.weight[i] * counted;
		totalSamples[i] += sums.samples[i] * counted;
		total[up] += total[i];
		totalSamples[up] += totalSamples[i];
		line.self += sums.weight[i] * counted;
		line.selfSamples += sums.samples[i] * counted;
	}
	for (let i = 1; i < event.nodes; i++) {
		const key = keys[frame[first + i]];
		if (total[i] > 0 && !isOnPath(profile, i, key, keys)) {
			lines[key].total += total[i];
			lines[key].totalSamples += totalSamples[i];
		}
	}
	return lines.filter((line) => line.total > 0 && line.line > 0);
}

/** A line nearer to the root is the same one. @param {Profile} profile @param {number} node @param {number} key @param {Int32Array} keys */
function isOnPath(profile, node, key, keys) {
	const { nodes, events } = profile.capture, first = events[profile.selection.event].firstNode;
	for (let at = nodes.parent[first + node]; at > first; at = nodes.parent[at]) {
		if (keys[nodes.frame[at]] === key)
			return true;
	}
	return false;
}
