// What a track's threads did over time: for each column of pixels, the weight of each area.

import { areaOfKind } from "./colors.js";
import { lowerBound } from "./selection.js";

/** @typedef {import("./capture.js").Capture} Capture */
/** @typedef {{ areas: Float32Array[], width: number }} TrackSums by area, then column */

export const AREAS = 4;
export const STATES = 4;
const SMOOTH = 2; // columns on each side
const COARSE = 4096; // columns of the whole time, to draw many spans at once

/** Spreads an amount evenly over columns. @param {Float32Array} into @param {number} from @param {number} to @param {number} amount */
export function spread(into, from, to, amount) {
	const first = Math.max(0, Math.floor(from)), last = Math.min(into.length - 1, Math.floor(to));
	if (last < 0 || first >= into.length)
		return;
	if (to - from < 1e-9 || first === last && from >= 0) {
		into[first] += amount * (to - from < 1e-9 ? 1 : (Math.min(to, last + 1) - from) / (to - from));
		return;
	}
	const each = amount / (to - from);
	for (let i = first; i <= last; i++)
		into[i] += each * (Math.min(to, i + 1) - Math.max(from, i));
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
		/** @type {Map<string, TrackSums>} */
		this.coarse = new Map();
		/** Runs of each thread, by event. @type {Map<number, number>[]} */
		this.runs = capture.events.map(() => new Map());
		const { runs } = capture.spans;
		for (let run = 0; run < runs.first.length; run++)
			this.runs[runs.event[run]].set(runs.thread[run], run);
	}

	/**
	 * By kind of code, or by state. @param {string} key of the threads @param {number[]} threads @param {number} event @param {boolean} byState
	 * @param {number} from @param {number} to in ns @param {number} width in columns @returns {TrackSums}
	 */
	sum(key, threads, event, byState, from, to, width) {
		const sums = this.columns(key, threads, event, byState, from, to, width);
		return byState ? sums : { areas: sums.areas.map(smooth), width };
	}

	/** @param {string} key @param {number[]} threads @param {number} event @param {boolean} byState @param {number} from @param {number} to @param {number} width @returns {TrackSums} */
	columns(key, threads, event, byState, from, to, width) {
		const { duration } = this.capture;
		if ((to - from) / duration * COARSE < width * 1.5)
			return this.exact(threads, event, byState, from, to, width);
		const name = `${key}/${event}/${byState}`;
		let coarse = this.coarse.get(name);
		if (!coarse)
			this.coarse.set(name, coarse = this.exact(threads, event, byState, 0, duration, COARSE));
		const areas = coarse.areas.map((area) => {
			const columns = new Float32Array(width), scale = width / (to - from) * (duration / COARSE), start = -from / (to - from) * width;
			for (let i = Math.max(0, Math.floor(from / duration * COARSE)); i < COARSE; i++) {
				const at = start + i * scale;
				if (at >= width)
					break;
				if (area[i])
					spread(columns, at, at + scale, area[i]);
			}
			return columns;
		});
		return { areas, width };
	}

	/** @param {number[]} threads @param {number} event @param {boolean} byState @param {number} from @param {number} to @param {number} width @returns {TrackSums} */
	exact(threads, event, byState, from, to, width) {
		const { spans, kinds, step } = this.capture, { time, weight, samples, state, node, runs } = spans;
		const areas = Array.from({ length: byState ? STATES : AREAS }, () => new Float32Array(width)), scale = width / (to - from);
		const isTime = this.capture.events[event].isTime;
		for (const thread of threads) {
			const run = this.runs[event].get(thread);
			if (run === undefined)
				continue;
			const first = runs.first[run], end = first + runs.length[run];
			// A span that begins earlier may reach into the range, and a wait that ends later.
			const start = from <= 0 ? first : Math.max(first, lowerBound(time, first, end, from - step) - 1);
			for (let i = start; i < end; i++) {
				const length = isTime ? Math.max(weight[i] / samples[i], step) : step;
				let at = time[i];
				if (state[i] > 0) {
					at = time[i] + step - length;
					if (at >= to && time[i] > to + 1e9)
						break;
				} else if (at >= to) {
					break;
				}
				const area = byState ? state[i] : areaOfKind[kinds[node[i]]];
				spread(areas[area], (at - from) * scale, (at + length - from) * scale, weight[i]);
			}
		}
		return { areas, width };
	}
}
