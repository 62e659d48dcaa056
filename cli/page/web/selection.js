// The selected part of a capture: an event, a range of time, and threads; added up by node.

/** @typedef {import("./capture.js").Capture} Capture */
/** @typedef {{ event: number, from: number, to: number, threads: Set<number> | null, sets?: Uint8Array | null }} Selection from and to in ns; all threads if null; `sets`: of labels that pass, all if missing */

/** The first of a run's spans at or after a time. @param {Float64Array} time @param {number} first @param {number} end @param {number} wanted */
export function lowerBound(time, first, end, wanted) {
	while (first < end) {
		const middle = first + end >> 1;
		if (time[middle] < wanted)
			first = middle + 1;
		else
			end = middle;
	}
	return first;
}

/** Calls `visit` with the spans of each selected run: [first, end). @param {Capture} capture @param {Selection} selection @param {(first: number, end: number, thread: number) => void} visit */
export function visitRuns(capture, selection, visit) {
	const { runs, time, labels } = capture.spans, sets = selection.sets ?? null;
	for (let run = 0; run < runs.first.length; run++) {
		if (runs.event[run] !== selection.event || selection.threads && !selection.threads.has(runs.thread[run]))
			continue;
		const first = runs.first[run], end = first + runs.length[run];
		const from = selection.from <= 0 ? first : lowerBound(time, first, end, selection.from);
		const to = selection.to >= capture.duration ? end : lowerBound(time, from, end, selection.to);
		if (from < to && !sets)
			visit(from, to, runs.thread[run]);
		for (let i = from; sets && i < to;) {
			let next = i;
			while (next < to && sets[labels[next]])
				next++;
			if (i < next)
				visit(i, next, runs.thread[run]);
			i = next + 1;
		}
	}
}

/** Each node's own weight and samples, by its number in the event. @param {Capture} capture @param {Selection} selection */
export function sumSelection(capture, selection) {
	const event = capture.events[selection.event], { node, weight, samples } = capture.spans;
	const sums = { weight: new Float64Array(event.nodes), samples: new Float64Array(event.nodes), allWeight: 0, allSamples: 0 };
	visitRuns(capture, selection, (first, end) => {
		for (let i = first; i < end; i++) {
			const at = node[i] - event.firstNode;
			sums.weight[at] += weight[i];
			sums.samples[at] += samples[i];
			sums.allWeight += weight[i];
			sums.allSamples += samples[i];
		}
	});
	return sums;
}

/** Weight and samples of each thread in the range. @param {Capture} capture @param {Selection} selection */
export function sumThreads(capture, selection) {
	const { weight } = capture.spans, sums = new Float64Array(Math.max(capture.threads.length, 1));
	visitRuns(capture, { ...selection, threads: null }, (first, end, thread) => {
		for (let i = first; i < end; i++)
			sums[thread] += weight[i];
	});
	return sums;
}
