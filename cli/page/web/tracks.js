// The timeline's rows: everything, processes, and their threads, by weight.

import { valueOfThreads } from "./labels.js";
import { sumThreads } from "./selection.js";

/** @typedef {import("./capture.js").Capture} Capture */
/** @typedef {{ kind: "all" | "group" | "process" | "thread" | "more" | "note", id: number, key: string, name: string, number: number, weight: number, threads: number[], level: number, open?: boolean, hidden?: number, label?: import("./labels.js").Label }} Track a group's `label` is what its processes share */

export const FIRST = 12; // of processes, and of a process's threads

const IDLE = 1e-3; // of a CPU, over the recording: threads with less are idle

/** By the time that they ran, also if their waits are selected; those without any weight are not listed. @param {Capture} capture @param {number} event @param {Uint8Array | null} [sets] of labels that pass */
export function rankTracks(capture, event, sets = null) {
	const weights = sumThreads(capture, { event, from: 0, to: Infinity, threads: null, sets });
	const running = capture.events[event]?.name === "off-cpu" ? capture.events.findIndex(({ name }) => name !== "off-cpu") : event, hasTime = Boolean(capture.events[running]?.isTime);
	const ran = running === event || running < 0 ? weights : sumThreads(capture, { event: running, from: 0, to: Infinity, threads: null, sets });
	const byWeight = (/** @type {number[]} */ threads) => threads.filter((thread) => weights[thread] > 0).sort((a, b) => ran[b] - ran[a] || weights[b] - weights[a] || a - b);
	const isIdle = (/** @type {number[]} */ threads) => hasTime && threads.reduce((sum, thread) => sum + ran[thread], 0) < IDLE * capture.duration;
	const processes = capture.processes.map((process, id) => {
		const threads = byWeight(process.threads);
		return { id, threads, weight: threads.reduce((sum, thread) => sum + weights[thread], 0), ran: threads.reduce((sum, thread) => sum + ran[thread], 0) };
	}).filter((process) => process.threads.length).sort((a, b) => b.ran - a.ran || b.weight - a.weight || a.id - b.id);
	return { processes, weights, isIdle, weight: processes.reduce((sum, process) => sum + process.weight, 0) };
}

/** The container of each process, as a label's value; -1: none. Null if fewer than two containers exist. @param {Capture} capture @returns {Int32Array | null} */
export function groupsOfProcesses(capture) {
	if (!capture.labels.keys.includes("container"))
		return null;
	const values = valueOfThreads(capture, "container"), groups = Int32Array.from(capture.processes, ({ threads }) => values[threads.find((thread) => values[thread] >= 0) ?? -1] ?? -1);
	return new Set(groups.filter((group) => group >= 0)).size > 1 ? groups : null;
}

/** What the engine calls a container, which is its id if that is unknown. @param {Capture} capture @param {number} group a value of the label container */
export function containerName(capture, group) {
	const { sets, values } = capture.labels;
	const name = sets.find((members) => members.includes(group))?.find((value) => values[value].key === "container-name") ?? group;
	return values[name].text.replace(/^([0-9a-f]{12})[0-9a-f]{52}$/, "$1");
}

/**
 * @param {Capture} capture @param {ReturnType<typeof rankTracks>} ranked @param {{ open: Set<number>, limits: Map<string, number>, search: string, groups?: Int32Array | null }} view
 * `open`: processes whose threads are shown; `limits`: how many, by the key of "more"; `groups`: by process
 * @returns {Track[]}
 */
export function listTracks(capture, ranked, view) {
	const search = view.search.trim().toLowerCase();
	const matches = (/** @type {{ name: string, id: number }} */ of) => !search || of.name.toLowerCase().includes(search) || String(of.id) === search;
	/** @type {Track[]} */
	const tracks = [{ kind: "all", id: -1, key: "all", name: "All", number: 0, weight: ranked.weight, threads: ranked.processes.flatMap((process) => process.threads), level: 0 }];
	/** How many of those that are sorted by activity are shown at first: no idle ones below others. @template T @param {T[]} all @param {(of: T) => number[]} threadsOf @param {string} key */
	const limitOf = (all, threadsOf, key) => {
		const busy = search ? -1 : all.findIndex((of) => ranked.isIdle(threadsOf(of)));
		return view.limits.get(key) ?? (busy > 0 ? Math.min(busy, FIRST) : FIRST);
	};
	const more = (/** @type {string} */ key, /** @type {number[][]} */ all, /** @type {number} */ limit, /** @type {string} */ noun, /** @type {number} */ level) => {
		const hidden = all.length - limit, areIdle = hidden > 0 && !ranked.isIdle(all[0]) && all.slice(limit).every(ranked.isIdle);
		if (hidden > 0)
			tracks.push({ kind: "more", id: -1, key, name: `${hidden.toLocaleString("en")} ${areIdle ? "idle" : "more"} ${noun}${noun === "process" ? (hidden > 1 ? "es" : "") : hidden > 1 ? "s" : ""}`, number: 0, weight: 0, threads: [], level, hidden });
	};
	const found = ranked.processes.map(({ id, threads, weight }) => {
		const isNamed = matches(capture.processes[id]);
		return { id, threads, weight, shown: isNamed ? threads : threads.filter((thread) => matches(capture.threads[thread])), isNamed };
	}).filter((process) => process.shown.length);
	const addProcesses = (/** @type {typeof found} */ processes, /** @type {string} */ key, /** @type {number} */ level) => {
		const limit = limitOf(processes, ({ threads }) => threads, key);
		for (const { id, threads, weight, shown, isNamed } of processes.slice(0, limit)) {
			const process = capture.processes[id], isSingle = threads.length === 1, open = view.open.has(id) || !isNamed;
			tracks.push({ kind: "process", id, key: `p${id}`, name: process.name, number: process.id, weight, threads, level, open: isSingle ? undefined : open });
			if (isSingle || !open)
				continue;
			const most = limitOf(shown, (thread) => [thread], `p${id}`);
			for (const thread of shown.slice(0, most)) {
				const { name, id: number } = capture.threads[thread];
				tracks.push({ kind: "thread", id: thread, key: `t${thread}`, name, number, weight: ranked.weights[thread], threads: [thread], level: level + 1 });
			}
			more(`p${id}`, shown.map((thread) => [thread]), most, "thread", level + 1);
		}
		more(key, processes.map(({ threads }) => threads), limit, "process", level);
	};
	if (!found.length && search)
		tracks.push({ kind: "note", id: -1, key: "note", name: "No process or thread matches", number: 0, weight: 0, threads: [], level: 0 });
	const { groups } = view;
	if (!groups) {
		addProcesses(found, "processes", 0);
		return tracks;
	}
	/** @type {Map<number, typeof found>} */
	const byGroup = new Map();
	for (const process of found) {
		const inside = byGroup.get(groups[process.id]);
		if (inside)
			inside.push(process);
		else
			byGroup.set(groups[process.id], [process]);
	}
	const weightOf = (/** @type {typeof found} */ processes) => processes.reduce((sum, { weight }) => sum + weight, 0);
	const limit = view.limits.get("groups") ?? FIRST, ordered = [...byGroup].sort(([, a], [, b]) => weightOf(b) - weightOf(a));
	for (const [group, processes] of ordered.slice(0, limit)) {
		const text = group < 0 ? "" : capture.labels.values[group].text;
		tracks.push({ kind: "group", id: group, key: `g${group}`, name: group < 0 ? "no container" : containerName(capture, group), number: 0, weight: weightOf(processes), threads: processes.flatMap(({ threads }) => threads), level: 0, label: { key: "container", text } });
		addProcesses(processes, `g${group}/processes`, 1);
	}
	more("groups", ordered.map(([, processes]) => processes.flatMap(({ threads }) => threads)), limit, "container", 0);
	return tracks;
}
