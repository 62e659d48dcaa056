// The stacks, threads and times of a capture, from the content that cli/page/page_content.c wrote.

import { Columns } from "./bytes.js";
import { readCode, readInstructions } from "./code.js";
import { readDiff } from "./diff.js";
import { baseName } from "./names.js";

// As enum flame_kind (cli/flamegraph/flame_frames.h), and three that only pages know.
export const Kind = { plain: 0, inlined: 1, kernel: 2, guessed: 3, incomplete: 4, python: 5, jit: 6, library: 7, group: 8 };
export const kindWords = ["", "inlined", "kernel", "guessed", "incomplete", "Python, Ruby", "JIT", "library", "group"];

// As enum reel_state.
export const stateWords = ["running", "blocked", "preempted", "woken"];

const FLAG_JIT = 1;

/**
 * @typedef {{ name: string, isTime: boolean, period: number, frequency: number, nodes: number, firstNode: number, weight: number, samples: number }} Event
 * @typedef {{ id: number, name: string, threads: number[] }} Process
 * @typedef {{ id: number, name: string, process: number, count: number }} Thread count: of threads that this one stands for; then its id is 0
 */

/** A function of a kind: the same function may be proven in some stacks and guessed in others. Collapsed libraries are functions, too. */
export class Functions {
	constructor() {
		/** @type {string[]} */
		this.name = [];
		/** @type {string[]} */
		this.short = [];
		/** @type {number[]} */
		this.module = [];
		/** @type {number[]} */
		this.kind = [];
		/** @type {string[]} */
		this.modules = [];
		/** The function that stands for a module @type {Map<number, number>} */
		this.libraries = new Map();
	}

	get count() {
		return this.name.length;
	}

	/** @param {string} name @param {number} module @param {number} kind @param {string} [short] @returns {number} */
	add(name, module, kind, short = name) {
		this.name.push(name);
		this.short.push(short);
		this.module.push(module);
		this.kind.push(kind);
		return this.name.length - 1;
	}

	/** @param {number} of @returns {string} */
	kindWord(of) {
		const kind = this.kind[of];
		return kind !== Kind.python ? kindWords[kind] : this.modules[this.module[of]] === "[ruby]" ? "Ruby" : "Python";
	}

	/** @param {number} module @returns {number} */
	library(module) {
		const known = this.libraries.get(module);
		if (known !== undefined)
			return known;
		const added = this.add(`[${baseName(this.modules[module]).replace(/^\[|\]$/g, "") || "unknown"}]`, module, Kind.library);
		this.libraries.set(module, added);
		return added;
	}
}

/** @param {Columns} columns @param {string[]} strings */
function readFunctions(columns, strings) {
	const functions = new Functions(), modules = new Map();
	const { name, short } = columns.names("function", strings), module = columns.differences("functionModule"), flags = columns.small("functionFlags");
	const frameFunction = columns.differences("frameFunction"), frameKind = columns.small("frameKind");
	/** @type {Map<number, number>} */
	const known = new Map();
	const ofFrame = new Int32Array(frameFunction.length);
	for (let i = 0; i < frameFunction.length; i++) {
		const number = frameFunction[i], key = number * 16 + frameKind[i];
		let at = known.get(key);
		if (at === undefined) {
			const path = strings[module[number]];
			if (!modules.has(path))
				modules.set(path, functions.modules.push(path) - 1);
			const kind = frameKind[i] === Kind.plain && flags[number] & FLAG_JIT ? Kind.jit : frameKind[i];
			at = functions.add(name[number], modules.get(path), kind, short[number]);
			known.set(key, at);
		}
		ofFrame[i] = at;
	}
	// Add them all now, so that numbers in links do not depend on the order of transforms.
	functions.modules.forEach((_, module) => functions.library(module));
	const frames = { function: ofFrame, file: columns.differences("frameFile"), line: columns.differences("frameLine") };
	return { functions, frames };
}

/** Nodes of all events; each event begins with its root, whose frame is -1. @param {Columns} columns @param {Event[]} events */
function readNodes(columns, events) {
	const depth = columns.numbers("nodeDepth"), frame = columns.differences("nodeFrame");
	const total = depth.length + events.length;
	const nodes = { parent: new Int32Array(total), frame: new Int32Array(total).fill(-1) };
	let from = 0, to = 0;
	for (const event of events) {
		const path = [to];
		event.firstNode = to;
		nodes.parent[to++] = -1;
		for (let i = 0; i < event.nodes; i++, from++, to++) {
			nodes.parent[to] = path[depth[from] - 1];
			nodes.frame[to] = frame[from];
			path[depth[from]] = to;
		}
		event.nodes++;
	}
	return nodes;
}

/** Sums in steps of time, by thread. @param {Columns} columns @param {Event[]} events @param {number} step */
function readSpans(columns, events, step) {
	const runs = { event: columns.numbers("runEvent"), thread: columns.differences("runThread"), length: columns.numbers("runLength"), first: new Int32Array(0) };
	const time = columns.largeDifferences("spanBin"), node = columns.differences("spanNode"), samples = columns.numbers("spanSamples");
	const weight = columns.large("spanExtra"), state = columns.small("spanState"), labels = columns.differences("spanLabels");
	runs.first = new Int32Array(runs.length.length);
	for (let run = 0, at = 0; run < runs.first.length; run++) {
		const event = events[runs.event[run]];
		runs.first[run] = at;
		for (const end = at + runs.length[run]; at < end; at++) {
			time[at] *= step;
			node[at] += event.firstNode;
			samples[at]++;
			weight[at] += event.period * samples[at];
			event.weight += weight[at];
			event.samples += samples[at];
		}
	}
	return { runs, time, node, samples, weight, state, labels, count: time.length };
}

/** Labels of samples; spans have the number of a set, and set 0 is empty. @param {Columns} columns @param {string[]} strings */
function readLabels(columns, strings) {
	const key = columns.differences("labelKey"), text = columns.differences("labelText"), size = columns.numbers("labelSetSize"), member = columns.differences("labelSetMember");
	const values = Array.from(key, (of, i) => ({ key: strings[of], text: strings[text[i]] }));
	let at = 0;
	const sets = Array.from(size, (n) => Array.from(member.subarray(at, at += n)));
	return { values, sets: sets.length ? sets : [[]], keys: [...new Set(values.map((value) => value.key))] };
}

/** @param {Columns} columns @param {string[]} strings */
function readThreads(columns, strings) {
	const processId = columns.differences("processId"), processName = columns.differences("processName");
	/** @type {Process[]} */
	const processes = Array.from(processId, (id, i) => ({ id, name: strings[processName[i]], threads: [] }));
	const id = columns.differences("threadId"), name = columns.differences("threadName"), process = columns.differences("threadProcess"), count = columns.numbers("threadCount");
	/** @type {Thread[]} */
	const threads = Array.from(id, (tid, i) => ({ id: tid, name: strings[name[i]], process: process[i], count: count[i] }));
	threads.forEach((thread, i) => processes[thread.process].threads.push(i));
	return { processes, threads };
}

/** Programs that threads started, by thread. @param {[number, number, string][]} execs time, tid, and the thread's name from then on @param {Map<number, number>} byTid */
function readExecs(execs, byTid) {
	/** @type {Map<number, { time: number, name: string }[]>} */
	const byThread = new Map();
	for (const [time, tid, name] of execs) {
		const thread = byTid.get(tid);
		if (thread === undefined)
			continue;
		const all = byThread.get(thread) ?? [];
		all.push({ time, name });
		byThread.set(thread, all);
	}
	return byThread;
}

/** Threads that started or ended during the recording. @param {[number, number | null, number | null][]} lives tid, start and end @param {Map<number, number>} byTid */
function readLives(lives, byTid) {
	return lives.flatMap(([tid, start, end]) => {
		const thread = byTid.get(tid);
		return thread === undefined ? [] : [{ thread, start, end }];
	});
}

/** The latest end of a span. @param {ReturnType<typeof readSpans>} spans @param {number} step */
function durationOf(spans, step) {
	let end = 0;
	for (let i = 0; i < spans.count; i++)
		end = Math.max(end, spans.time[i]);
	return end + step;
}

/** @param {Uint8Array} bytes */
export function readCapture(bytes) {
	const size = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
	const header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + size)));
	const columns = new Columns(bytes, 4 + size, header.columns);
	/** @type {Event[]} */
	const events = header.events;
	for (const event of events)
		event.weight = event.samples = 0;
	const { functions, frames } = readFunctions(columns, header.strings);
	const nodes = readNodes(columns, events), spans = readSpans(columns, events, header.step);
	const { processes, threads } = readThreads(columns, header.strings), byTid = new Map(threads.map(({ id }, i) => [id, i]));
	const duration = durationOf(spans, header.step);
	/** Time, what, count, and whether samples are missing. Both may follow the last sample. @type {[number, string, number, number][]} */
	const marks = (header.marks ?? []).map((/** @type {[number, string, number, number]} */ [time, ...mark]) => [Math.min(time, duration), ...mark]);
	/** @type {{ time: number, kind: string, text: string }[]} */
	const recorderMarks = (header.recorderMarks ?? []).map((/** @type {[number, string, string]} */ [time, kind, text]) => ({ time: Math.min(time, duration), kind, text }));
	return {
		labels: readLabels(columns, header.strings), execs: readExecs(header.execs ?? [], byTid), lives: readLives(header.lives ?? [], byTid),
		header, strings: /** @type {string[]} */ (header.strings), step: /** @type {number} */ (header.step), marks, recorderMarks,
		events, functions, frames, nodes, spans, processes, threads, duration,
		kinds: nodeKinds(functions, frames, nodes), isGrouped: false,
		code: header.code ? readCode(header.code, columns, header.strings) : null,
		instructions: header.instructions ? readInstructions(header.instructions, columns, header.strings) : null,
		diff: header.diff ? readDiff(header.diff, columns, header.strings, functions) : null,
	};
}

/** The kind of each node's function. @param {Functions} functions @param {{ function: Int32Array }} frames @param {{ frame: Int32Array }} nodes */
export function nodeKinds(functions, frames, nodes) {
	const kinds = new Uint8Array(nodes.frame.length);
	for (let i = 0; i < kinds.length; i++)
		kinds[i] = nodes.frame[i] < 0 ? Kind.plain : functions.kind[frames.function[nodes.frame[i]]];
	return kinds;
}

/** @typedef {ReturnType<typeof readCapture>} Capture */
