// The first level of stacks: the program, process, container or thread that they are of.

import { Kind, nodeKinds } from "./capture.js";
import { containerName } from "./tracks.js";

/** @typedef {import("./capture.js").Capture} Capture */
/** @typedef {"none" | "program" | "process" | "container" | "thread"} By */

/** @type {By[]} */
export const groupings = ["none", "program", "process", "container", "thread"];

// How libcs call main: the same boxes in every program.
const START = /^(_start|_start_c|_dl_start_user|__libc_start_(call_)?main\w*|libc_start_main_stage2)(@.*)?$/;

/** Puts nodes of groups above those of a capture, which it changes. */
export class Grouper {
	/** @param {Capture} capture */
	constructor(capture) {
		const { functions, frames, processes, threads, labels } = capture, isGrouped = functions.kind.includes(Kind.group);
		this.capture = capture;
		/** Without groups. */
		this.plain = { nodes: capture.nodes, node: capture.spans.node, events: capture.events.map(({ firstNode, nodes }) => ({ firstNode, nodes })), kinds: capture.kinds };
		/** The groups' frames, by name. @type {Map<string, number>} */
		this.frames = new Map();
		const nameOfProcess = processes.map(({ name, id }) => `${name} (${id})`), nameOfThread = threads.map(({ name, id }) => `${name} (${id})`);
		const containerOfSet = labels.sets.map((members) => members.find((value) => labels.values[value].key === "container") ?? -1);
		const nameOfContainer = new Map(containerOfSet.map((group) => [group, group < 0 ? "no container" : containerName(capture, group)])), shared = [...nameOfContainer.values()];
		for (const [group, name] of nameOfContainer) {
			if (group >= 0 && shared.filter((other) => other === name).length > 1)
				nameOfContainer.set(group, labels.values[group].text);
		}
		/** A sample's group, by its thread and its set of labels. @type {Record<Exclude<By, "none">, (thread: number, set: number) => string>} */
		this.names = {
			program: (thread) => processes[threads[thread].process].name, process: (thread) => nameOfProcess[threads[thread].process], thread: (thread) => nameOfThread[thread],
			container: (_, set) => /** @type {string} */ (nameOfContainer.get(containerOfSet[set])),
		};
		/** @type {Record<Exclude<By, "none">, Set<string>>} */
		const all = { program: new Set(processes.map(({ name }) => name)), process: new Set(nameOfProcess), container: new Set(nameOfContainer.values()), thread: new Set(nameOfThread) };
		/** What a choice of groups would show; `view --by` has chosen them already. */
		this.choices = groupings.filter((by) => by === "none" || !isGrouped && all[by].size > 1);
		// Add them all now, so that numbers in links do not depend on the choice.
		const names = new Set(this.choices.flatMap((by) => by === "none" ? [] : [...all[by]])), more = new Int32Array(names.size), first = frames.function.length;
		if (!names.size)
			return;
		const known = functions.modules.indexOf(""), module = known < 0 ? functions.modules.push("") - 1 : known;
		for (const name of names) {
			more[this.frames.size] = functions.add(name, module, Kind.group);
			this.frames.set(name, first + this.frames.size);
		}
		capture.frames = { function: joined(frames.function, more), file: joined(frames.file, new Int32Array(names.size)), line: joined(frames.line, new Int32Array(names.size)) };
	}

	/** Of a capture with several programs, what a host runs comes first. @returns {By} */
	get start() {
		return this.choices.includes("program") ? "program" : "none";
	}

	/** @param {By} by one of the choices */
	use(by) {
		const { capture, plain } = this, { spans } = capture;
		capture.isGrouped = by !== "none";
		if (by === "none") {
			Object.assign(capture, { nodes: plain.nodes, kinds: plain.kinds, spans: { ...spans, node: plain.node } });
			plain.events.forEach((event, i) => Object.assign(capture.events[i], event));
			return;
		}
		const node = new Int32Array(spans.count), parents = /** @type {number[]} */ ([]), frames = /** @type {number[]} */ ([]), { runs } = spans, nameOf = this.names[by];
		capture.events.forEach((event, number) => {
			const place = new Placer(plain.nodes, plain.events[number], capture, parents, frames);
			for (let run = 0; run < runs.first.length; run++) {
				for (let i = runs.first[run]; runs.event[run] === number && i < runs.first[run] + runs.length[run]; i++)
					node[i] = place.of(plain.node[i], /** @type {number} */ (this.frames.get(nameOf(runs.thread[run], spans.labels[i]))));
			}
			event.firstNode = place.root;
			event.nodes = parents.length - place.root;
		});
		const nodes = { parent: Int32Array.from(parents), frame: Int32Array.from(frames) };
		Object.assign(capture, { nodes, kinds: nodeKinds(capture.functions, capture.frames, nodes), spans: { ...spans, node } });
	}
}

/** Copies an event's nodes below their groups' nodes. */
class Placer {
	/** @param {Capture["nodes"]} from @param {{ firstNode: number }} event @param {Capture} capture @param {number[]} parents @param {number[]} frames of the nodes that are made */
	constructor(from, event, capture, parents, frames) {
		this.from = from;
		this.first = event.firstNode;
		this.capture = capture;
		this.parents = parents;
		this.frames = frames;
		/** New nodes of each group, by old node. @type {Map<number, Map<number, number>>} */
		this.known = new Map();
		this.root = this.add(-1, -1);
	}

	/** @param {number} parent @param {number} frame */
	add(parent, frame) {
		this.frames.push(frame);
		return this.parents.push(parent) - 1;
	}

	/** @param {number} node @param {number} group its frame @returns {number} */
	of(node, group) {
		let known = this.known.get(group);
		if (!known)
			this.known.set(group, known = new Map([[this.first, this.add(this.root, group)]]));
		const path = [], { parent, frame } = this.from, top = known.get(this.first);
		for (; !known.has(node); node = parent[node])
			path.push(node);
		let at = /** @type {number} */ (known.get(node));
		for (const next of path.reverse()) {
			at = at === top && this.isStart(frame[next]) ? at : this.add(at, frame[next]);
			known.set(next, at);
		}
		return at;
	}

	/** @param {number} frame */
	isStart(frame) {
		const { functions, frames } = this.capture, of = frames.function[frame];
		return functions.kind[of] === Kind.plain && START.test(functions.name[of]);
	}
}

/** @param {ArrayLike<number>} a @param {ArrayLike<number>} b */
function joined(a, b) {
	const all = new Int32Array(a.length + b.length);
	all.set(a);
	all.set(b, a.length);
	return all;
}
