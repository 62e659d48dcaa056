// Labels of samples: filters, sums, and the labels at a moment.

import { lowerBound, visitRuns } from "./selection.js";

/** @typedef {import("./capture.js").Capture} Capture */
/** @typedef {import("./selection.js").Selection} Selection */
/** @typedef {{ key: string, text: string }} Label */

/** For each set of labels, how many keys of the filters it fails, and one of these. Values of a key are alternatives; "" is a sample without the label. @param {Capture["labels"]} labels @param {Label[]} filters */
function failures({ values, sets }, filters) {
	/** @type {Map<string, Set<string>>} */
	const wanted = new Map();
	for (const { key, text } of filters)
		wanted.set(key, (wanted.get(key) ?? new Set()).add(text));
	const count = new Uint8Array(sets.length), last = new Array(sets.length).fill("");
	sets.forEach((members, set) => {
		for (const [key, texts] of wanted) {
			const found = members.find((value) => values[value].key === key);
			if (!texts.has(found === undefined ? "" : values[found].text)) {
				count[set]++;
				last[set] = key;
			}
		}
	});
	return { count, last };
}

/** The sets that pass; null: all. @param {Capture["labels"]} labels @param {Label[]} filters @returns {Uint8Array | null} */
export function passingSets(labels, filters) {
	return filters.length ? failures(labels, filters).count.map((count) => count ? 0 : 1) : null;
}

/** A label in words: "container=abc". @param {string} text @param {string[]} keys @returns {Label | null} */
export function parseLabel(text, keys) {
	const [, key, value] = /^\s*([^=]+)=(.*?)\s*$/.exec(text) ?? [];
	return keys.includes(key) ? { key, text: value } : null;
}

/**
 * The weight and samples of each value; filters of its own key do not count, so that alternatives can be chosen.
 * @param {Capture} capture @param {Selection} selection @param {Label[]} filters
 */
export function sumLabels(capture, selection, filters) {
	const { labels, spans } = capture, { values, sets } = labels, { count, last } = failures(labels, filters);
	const bySet = { weight: new Float64Array(sets.length), samples: new Float64Array(sets.length) };
	const sums = { weight: new Float64Array(values.length), samples: new Float64Array(values.length) };
	visitRuns(capture, { ...selection, sets: null }, (first, end) => {
		for (let i = first; i < end; i++) {
			bySet.weight[spans.labels[i]] += spans.weight[i];
			bySet.samples[spans.labels[i]] += spans.samples[i];
		}
	});
	sets.forEach((members, set) => {
		for (const value of members) {
			if (count[set] === 0 || count[set] === 1 && last[set] === values[value].key) {
				sums.weight[value] += bySet.weight[set];
				sums.samples[value] += bySet.samples[set];
			}
		}
	});
	return sums;
}

/** Each thread's value of a key that has the most of its weight in any event; -1: none. @param {Capture} capture @param {string} key */
export function valueOfThreads(capture, key) {
	const { labels, spans, threads } = capture, { values, sets } = labels, { runs } = spans;
	const ofSet = Int32Array.from(sets, (members) => members.find((value) => values[value].key === key) ?? -1);
	const found = new Int32Array(threads.length).fill(-1), most = new Float64Array(threads.length);
	for (let run = 0; run < runs.first.length; run++) {
		/** @type {Map<number, number>} */
		const sums = new Map();
		for (let i = runs.first[run]; i < runs.first[run] + runs.length[run]; i++) {
			const value = ofSet[spans.labels[i]];
			if (value >= 0)
				sums.set(value, (sums.get(value) ?? 0) + spans.weight[i]);
		}
		for (const [value, weight] of sums) {
			if (weight > most[runs.thread[run]]) {
				most[runs.thread[run]] = weight;
				found[runs.thread[run]] = value;
			}
		}
	}
	return found;
}

const LONG = 12; // letters: ids

/** Without ids that are part of another label, as a container's is of its cgroup's path. @param {Label[]} labels */
export function withoutRepeated(labels) {
	return labels.filter(({ text }, i) => text.length < LONG || !labels.some((other, at) => at !== i && other.text.includes(text) && (other.text !== text || at < i)));
}

/** The labels of the thread's wait at that time, or of its nearest sample, at most `reach` away. @param {Capture} capture @param {number} run @param {number} time @param {number} reach @param {Uint8Array | null} sets that pass @returns {Label[]} */
export function labelsAt({ spans, labels, step }, run, time, reach, sets) {
	const first = spans.runs.first[run], end = first + spans.runs.length[run], passes = (/** @type {number} */ i) => !sets || sets[spans.labels[i]];
	let after = lowerBound(spans.time, first, end, time), before = after - 1;
	while (after < end && !passes(after))
		after++;
	while (before >= first && !passes(before))
		before--;
	const far = (/** @type {number} */ i) => i < first || i >= end ? Infinity : Math.abs(spans.time[i] - time);
	// A wait's sample is at its end.
	const waits = after < end && spans.state[after] > 0 && time >= spans.time[after] + step - spans.weight[after] / spans.samples[after];
	const near = waits || far(after) <= far(before) ? after : before;
	return waits || far(near) <= reach ? labels.sets[spans.labels[near]].map((value) => labels.values[value]) : [];
}
