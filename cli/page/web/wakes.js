// Who ended a thread's waits, and when.

import { lowerBound } from "./selection.js";

/** @typedef {import("./capture.js").Capture} Capture */
/** @typedef {{ time: number, thread: number, waker: number, name: string, tid: number, waited: number }} Wake `waker`: a thread's number; -1: it has no samples, or was an interrupt */

const BLOCKED = 1; // enum reel_state

export class Wakes {
	/** @param {Capture} capture @param {number} event of waits; -1: none */
	constructor(capture, event) {
		const { values, sets } = capture.labels, { runs } = capture.spans;
		const textOf = (/** @type {number[]} */ members, /** @type {string} */ key) => members.map((value) => values[value]).find((value) => value.key === key)?.text;
		this.capture = capture;
		/** By set of labels. */
		this.wakers = sets.map((members) => ({ name: textOf(members, "waker") ?? "", tid: Number(textOf(members, "waker-tid") ?? -1) }));
		this.exist = event >= 0 && this.wakers.some(({ name }) => name);
		this.byTid = new Map(capture.threads.map(({ id }, i) => [id, i]));
		/** @type {Map<number, number>} */
		this.runs = new Map();
		for (let run = 0; this.exist && run < runs.first.length; run++) {
			if (runs.event[run] === event)
				this.runs.set(runs.thread[run], run);
		}
		/** @type {Map<number, { wakes: Wake[], times: Float64Array }>} */
		this.known = new Map();
	}

	/** All of a thread, in order. @param {number} thread */
	ofThread(thread) {
		let found = this.known.get(thread);
		if (!found) {
			const wakes = this.make(thread);
			this.known.set(thread, found = { wakes, times: Float64Array.from(wakes, ({ time }) => time) });
		}
		return found;
	}

	/** @param {number} thread @returns {Wake[]} */
	make(thread) {
		const run = this.runs.get(thread), { spans, step } = this.capture, wakes = [];
		if (run === undefined)
			return [];
		// A long wait has several samples, each of the time before it; the last has the waker.
		let begin = -1, end = -1;
		for (let i = spans.runs.first[run]; i < spans.runs.first[run] + spans.runs.length[run]; i++) {
			if (spans.state[i] !== BLOCKED)
				continue;
			const time = spans.time[i] + step, from = time - spans.weight[i] / spans.samples[i];
			if (begin < 0 || from > end + step)
				begin = from;
			end = time;
			const { name, tid } = this.wakers[spans.labels[i]];
			if (name) {
				wakes.push({ time, thread, waker: this.byTid.get(tid) ?? -1, name, tid, waited: time - begin });
				begin = -1;
			}
		}
		return wakes;
	}

	/** @param {number} thread @param {number} from @param {number} to ns @returns {Wake[]} */
	between(thread, from, to) {
		const { wakes, times } = this.ofThread(thread);
		return wakes.slice(lowerBound(times, 0, times.length, from), lowerBound(times, 0, times.length, to));
	}
}
