// A track's weight over time: for each column of pixels, the weight of each kind of code or state.

import { areaOfKind } from "./colors.js";
import { lowerBound } from "./selection.js";

/** @typedef {import("./capture.js").Capture} Capture */
/** @typedef {{ areas: Float32Array[], width: number }} TrackSums by area, then column */

export const AREAS = 4;
export const STATES = 4;
const LONGEST = 1e9; // ns: longer waits are looked at more often
const SMOOTH = 2; // columns on each side
const COARSE = [4096, 65536]; // columns of the whole time, to draw many spans at once
const REACH = 20e6; // ns: samples of clocks last for less

/** Columns to spread amounts over: the inner columns of an amount are steps up and down, which are added up at the end. */
export class Spread {
	/** @param {number} width */
	constructor(width) {
		this.width = width;
		this.edges = new Float64Array(width);
		this.steps = new Float64Array(width + 1);
	}

	/** Evenly, from one place to another, in columns. @param {number} from @param {number} to @param {number} amount */
	add(from, to, amount) {
		const first = Math.floor(from), last = Math.floor(to), { width, edges, steps } = this;
		if (last < 0 || first >= width)
			return;
		if (first === last) {
			edges[first] += amount;
			return;
		}
		const each = amount / (to - from);
		if (first >= 0)
			edges[first] += each * (first + 1 - from);
		if (last < width)
			edges[last] += each * (to - last);
		const inner = Math.max(first + 1, 0), end = Math.min(last, width);
		if (inner < end) {
			steps[inner] += each;
			steps[end] -= each;
		}
	}

	/** @returns {Float32Array} */
	finish() {
		const columns = new Float32Array(this.width);
		for (let i = 0, level = 0; i < columns.length; i++) {
			level += this.steps[i];
			columns[i] = Math.max(0, this.edges[i] + level);
		}
		return columns;
	}
}

/** The mean of each column and its neighbours: whether a sample falls into a column is chance. @param {Float32Array} columns */
function smooth(columns) {
	const smoothed = new Float32Array(columns.length);
	let sum = 0;
	for (let i = -SMOOTH; i < columns.length; i++) {
		sum += (columns[i + SMOOTH] ?? 0) - (columns[i - SMOOTH - 1] ?? 0);
		if (i >= 0)
			smoothed[i] = Math.max(0, sum) / (Math.min(i + SMOOTH, columns.length - 1) - Math.max(i - SMOOTH, 0) + 1);
	}
	return smoothed;
}

export class TrackSummer {
	/** @param {Capture} capture */
	constructor(capture) {
		this.capture = capture;
		/** Of labels that pass; all if null. @type {Uint8Array | null} */
		this.sets = null;
		/** @type {Map<string, TrackSums>} */
		this.coarse = new Map();
		/** @type {Map<number, { order: Int32Array, time: Float64Array }>} */
		this.ordered = new Map();
		/** Runs of each thread, by event. @type {Map<number, number>[]} */
		this.runs = capture.events.map(() => new Map());
		const { runs } = capture.spans;
		for (let run = 0; run < runs.first.length; run++)
			this.runs[runs.event[run]].set(runs.thread[run], run);
	}

	/** @param {Uint8Array | null} sets */
	select(sets) {
		this.sets = sets;
		this.coarse.clear();
	}

	/**
	 * By kind of code, or by state. @param {string} key of the threads @param {number[]} threads @param {number} event @param {boolean} byState
	 * @param {number} from @param {number} to in ns @param {number} width in columns @returns {TrackSums}
	 */
	sum(key, threads, event, byState, from, to, width) {
		return { areas: this.columns(key, threads, event, byState, from, to, width).areas.map(smooth), width };
	}

	/** The same, column by column. @param {string} key @param {number[]} threads @param {number} event @param {boolean} byState @param {number} from @param {number} to @param {number} width @returns {TrackSums} */
	columns(key, threads, event, byState, from, to, width) {
		const { duration } = this.capture, part = (to - from) / duration;
		const fine = COARSE.find((columns) => part * columns >= width * 1.5);
		if (!fine)
			return key === "all" ? this.exactOfAll(event, byState, from, to, width) : this.exact(threads, event, byState, from, to, width);
		const coarse = this.coarseOf(key, threads, event, byState, fine);
		return { areas: coarse.areas.map((area) => resampled(area, from / duration * fine, to / duration * fine, width)), width };
	}

	/** Of the whole time. @param {string} key @param {number[]} threads @param {number} event @param {boolean} byState @param {number} fine columns */
	coarseOf(key, threads, event, byState, fine) {
		const name = `${key}/${event}/${byState}/${fine}`;
		let coarse = this.coarse.get(name);
		if (!coarse)
			this.coarse.set(name, coarse = this.exact(threads, event, byState, 0, this.capture.duration, fine));
		return coarse;
	}

	/** What zooming needs, so that its first frames are not slow. @param {import("./tracks.js").Track[]} tracks the first is all threads @param {number} event @param {boolean} byState @returns {(() => void)[]} */
	preparations(tracks, event, byState) {
		return [() => void this.inOrder(event), ...tracks.flatMap(({ key, threads }) => COARSE.map((fine) => () => void this.coarseOf(key, threads, event, byState, fine)))];
	}

	/** By kind of code, or by state. @param {number} event @param {boolean} byState @param {number} from @param {number} to @param {number} width */
	adder(event, byState, from, to, width) {
		const { spans, kinds, step, events } = this.capture, { time, weight, samples, state, node, labels } = spans, { sets } = this, { isTime } = events[event];
		const areas = Array.from({ length: byState ? STATES : AREAS }, () => new Spread(width)), scale = width / (to - from);
		return {
			/** False if no later span is in the range, either. @param {number} i a span */
			add(i) {
				const length = isTime ? Math.max(weight[i] / samples[i], step) : step, waits = state[i] > 0, at = waits ? time[i] + step - length : time[i];
				if (at >= to && (!waits || time[i] > to + LONGEST))
					return false;
				if (sets && !sets[labels[i]])
					return true;
				areas[byState ? state[i] : areaOfKind[kinds[node[i]]]].add((at - from) * scale, (at + length - from) * scale, weight[i]);
				return true;
			},
			finish: () => ({ areas: areas.map((area) => area.finish()), width }),
		};
	}

	/** @param {number[]} threads @param {number} event @param {boolean} byState @param {number} from @param {number} to @param {number} width @returns {TrackSums} */
	exact(threads, event, byState, from, to, width) {
		const { spans, step } = this.capture, { time, runs } = spans, adder = this.adder(event, byState, from, to, width);
		for (const thread of threads) {
			const run = this.runs[event].get(thread);
			if (run === undefined)
				continue;
			const first = runs.first[run], end = first + runs.length[run];
			// A span that begins earlier may reach into the range.
			for (let i = from <= 0 ? first : Math.max(first, lowerBound(time, first, end, from - step) - 1); i < end && adder.add(i); i++)
				;
		}
		return adder.finish();
	}

	/** The same for all threads, without looking at each. @param {number} event @param {boolean} byState @param {number} from @param {number} to @param {number} width @returns {TrackSums} */
	exactOfAll(event, byState, from, to, width) {
		const { time, order } = this.inOrder(event), adder = this.adder(event, byState, from, to, width);
		for (let i = lowerBound(time, 0, time.length, from - this.capture.step - REACH); i < time.length && adder.add(order[i]); i++)
			;
		return adder.finish();
	}

	/** All spans of an event by time. @param {number} event */
	inOrder(event) {
		let ordered = this.ordered.get(event);
		if (!ordered)
			this.ordered.set(event, ordered = spansInOrder(this.capture, event));
		return ordered;
	}
}

/** Counts how many spans each step of time has; this is faster than comparing. @param {Capture} capture @param {number} event */
function spansInOrder({ spans, step, duration }, event) {
	const { runs, time, count } = spans, places = new Int32Array(Math.round(duration / step) + 2);
	const visit = (/** @type {(span: number) => void} */ use) => {
		for (let run = 0; run < runs.first.length; run++) {
			for (let i = 0; runs.event[run] === event && i < runs.length[run]; i++)
				use(runs.first[run] + i);
		}
	};
	visit((i) => places[Math.round(time[i] / step) + 1]++);
	for (let i = 1; i < places.length; i++)
		places[i] += places[i - 1];
	const order = new Int32Array(count), times = new Float64Array(count);
	let all = 0;
	visit((i) => {
		const at = places[Math.round(time[i] / step)]++;
		order[at] = i;
		times[at] = time[i];
		all++;
	});
	return { order: order.subarray(0, all), time: times.subarray(0, all) };
}

/** A part of columns in other columns. @param {Float32Array} area @param {number} from @param {number} to @param {number} width */
function resampled(area, from, to, width) {
	const columns = new Spread(width), scale = width / (to - from);
	for (let i = Math.max(0, Math.floor(from)); i < Math.min(area.length, to); i++) {
		if (area[i])
			columns.add((i - from) * scale, (i + 1 - from) * scale, area[i]);
	}
	return columns.finish();
}
