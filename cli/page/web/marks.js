// Moments and spans of a recording that are not samples: losses, marks of the recorder, programs that were started, lives of processes and threads.

import { formatPlural } from "./numbers.js";

/** @typedef {import("./capture.js").Capture} Capture */
/** @typedef {{ time: number, end: number, kind: string, what: string, thread: number }} Mark `thread`: -1: all */

/** Those that reach into a range; null: to the recording's start, or its end. @param {Mark[]} marks @param {number | null} from @param {number | null} to */
export function marksIn(marks, from, to) {
	return marks.filter(({ time, end }) => time <= (to ?? Infinity) && end >= (from ?? 0));
}

/** In order of time. @param {Capture} capture @returns {Mark[]} */
export function marksOf(capture) {
	const { marks, recorderMarks, execs, lives, threads, processes, duration, header } = capture;
	/** @type {Mark[]} */
	const all = marks.map(([time, what, count, isMissing]) => ({ time, end: time + header.markStep, kind: isMissing ? "lost samples" : "incomplete data", what: `${what} (${formatPlural(count, "time")})`, thread: -1 }));
	for (const { time, kind, text } of recorderMarks)
		all.push({ time, end: time, kind, what: text, thread: -1 });
	const ends = new Map(lives.map(({ thread, end }) => [thread, end ?? duration]));
	for (const [thread, programs] of execs) {
		const end = ends.get(thread) ?? duration;
		programs.forEach(({ time, name }, i) => {
			const until = end > time ? end : duration;
			all.push({ time, end: programs[i + 1]?.time ?? until, kind: "exec", what: name, thread });
		});
	}
	for (const { thread, start, end } of lives) {
		const { id, process } = threads[thread], what = start === null ? "ended; started before the recording" : end === null ? "started; running at the end" : "started and ended";
		all.push({ time: start ?? 0, end: end ?? duration, kind: id === processes[process].id ? "process" : "thread", what, thread });
	}
	for (const mark of all)
		mark.end = Math.min(mark.end, duration);
	return all.sort((a, b) => a.time - b.time || a.end - b.end || a.thread - b.thread);
}
