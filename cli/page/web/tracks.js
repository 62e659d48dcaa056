// The timeline's rows: everything, processes, and their threads, by weight.

import { sumThreads } from "./selection.js";

/** @typedef {import("./capture.js").Capture} Capture */
/** @typedef {{ kind: "all" | "process" | "thread" | "more", id: number, key: string, name: string, number: number, weight: number, threads: number[], level: number, open?: boolean, hidden?: number }} Track */

export const FIRST = 12; // of processes, and of a process's threads

/** By weight; those without any are not listed. @param {Capture} capture @param {number} event */
export function rankTracks(capture, event) {
	const weights = sumThreads(capture, { event, from: 0, to: Infinity, threads: null });
	const byWeight = (/** @type {number[]} */ threads) => threads.filter((thread) => weights[thread] > 0).sort((a, b) => weights[b] - weights[a] || a - b);
	const processes = capture.processes.map((process, id) => {
		const threads = byWeight(process.threads);
		return { id, threads, weight: threads.reduce((sum, thread) => sum + weights[thread], 0) };
	}).filter((process) => process.threads.length).sort((a, b) => b.weight - a.weight || a.id - b.id);
	return { processes, weights, weight: processes.reduce((sum, process) => sum + process.weight, 0) };
}

/**
 * @param {Capture} capture @param {ReturnType<typeof rankTracks>} ranked @param {{ open: Set<number>, limits: Map<string, number>, search: string }} view
 * `open`: processes whose threads are shown; `limits`: how many, by the key of "more"
 * @returns {Track[]}
 */
export function listTracks(capture, ranked, view) {
	const search = view.search.trim().toLowerCase();
	const matches = (/** @type {{ name: string, id: number }} */ of) => !search || of.name.toLowerCase().includes(search) || String(of.id) === search;
	/** @type {Track[]} */
	const tracks = [{ kind: "all", id: -1, key: "all", name: "All", number: 0, weight: ranked.weight, threads: ranked.processes.flatMap((process) => process.threads), level: 0 }];
	const more = (/** @type {string} */ key, /** @type {number} */ hidden, /** @type {string} */ noun, /** @type {number} */ level) => {
		if (hidden > 0)
			tracks.push({ kind: "more", id: -1, key, name: `${hidden.toLocaleString("en")} more ${noun}${noun === "process" ? (hidden > 1 ? "es" : "") : hidden > 1 ? "s" : ""}`, number: 0, weight: 0, threads: [], level, hidden });
	};
	const found = ranked.processes.map(({ id, threads, weight }) => {
		const isNamed = matches(capture.processes[id]);
		return { id, threads, weight, shown: isNamed ? threads : threads.filter((thread) => matches(capture.threads[thread])), isNamed };
	}).filter((process) => process.shown.length);
	const limit = view.limits.get("processes") ?? FIRST;
	for (const { id, threads, weight, shown, isNamed } of found.slice(0, limit)) {
		const process = capture.processes[id], isSingle = threads.length === 1, open = view.open.has(id) || !isNamed;
		tracks.push({ kind: "process", id, key: `p${id}`, name: process.name, number: process.id, weight, threads, level: 0, open: isSingle ? undefined : open });
		if (isSingle || !open)
			continue;
		const most = view.limits.get(`p${id}`) ?? FIRST;
		for (const thread of shown.slice(0, most)) {
			const { name, id: number } = capture.threads[thread];
			tracks.push({ kind: "thread", id: thread, key: `t${thread}`, name, number, weight: ranked.weights[thread], threads: [thread], level: 1 });
		}
		more(`p${id}`, shown.length - most, "thread", 1);
	}
	more("processes", found.length - limit, "process", 0);
	return tracks;
}
