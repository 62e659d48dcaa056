// The page's state as the part of its address after #, so that links and reloads keep it.

import { groupings } from "./groups.js";

/** @typedef {import("./transforms.js").Transform} Transform */
/**
 * @typedef {"flame" | "chart" | "tree" | "functions" | "sandwich" | "lines" | "labels" | "marks" | "source" | "diff"} Tab
 * @typedef {{
 *   event: number, from: number | null, to: number | null, viewFrom: number | null, viewTo: number | null, who: string[], labels: { key: string, text: string }[], tab: Tab,
 *   transforms: Transform[], search: string, invert: boolean, below: boolean, of: number | null, full: boolean, gapless: boolean, theme: "" | "light" | "dark",
 *   width: import("./diff.js").Width, part: "self" | "total", instructions: boolean, details: boolean | null, by: import("./groups.js").By | null,
 * }} State `details`, `by`: null: as usual for the tab, the capture; times in ns; who: "p" and a process's number, or "t" and a thread's; none: all
 */

/** What a page without a fragment shows @typedef {{ tab: Tab, event: number }} Start @type {Start} */
const usualStart = { tab: "flame", event: 0 };

/** @type {Tab[]} */
export const tabs = ["diff", "flame", "chart", "tree", "functions", "sandwich", "lines", "source", "labels", "marks"];

/** Those that are on are "1". */
const flags = /** @type {const} */ (["invert", "below", "full", "gapless", "instructions"]);

/** @returns {State} */
export function startState() {
	return {
		event: 0, from: null, to: null, viewFrom: null, viewTo: null, who: [], labels: [], tab: "flame", transforms: [], search: "", invert: false, below: false, of: null, full: false, gapless: true,
		theme: "", width: "new", part: "total", instructions: false, details: null, by: null,
	};
}

/** @param {Transform} transform */
function writeTransform(transform) {
	if (transform.kind === "native")
		return transform.kind;
	return transform.kind === "subtree" ? `subtree-${transform.path.join(".")}` : `${transform.kind}-${transform.of}`;
}

/** @param {string} text @returns {Transform[]} none if it is not a transform */
function readTransform(text) {
	if (text === "native")
		return [{ kind: text }];
	const [, kind, rest] = /^(\w+)-([\d.]+)$/.exec(text) ?? [];
	if (kind === "subtree")
		return [{ kind, path: rest.split(".").map(Number) }];
	if (kind === "focus" || kind === "merge" || kind === "drop" || kind === "recursion" || kind === "library")
		return [{ kind, of: Number(rest) }];
	return [];
}

/** @param {number | null} from @param {number | null} to */
function writeRange(from, to) {
	return `${Math.round(from ?? 0)}..${to === null ? "" : Math.round(to)}`;
}

/** @param {string | null} text @returns {[number | null, number | null]} */
function readRange(text) {
	const match = /^(\d+)\.\.(\d*)$/.exec(text ?? "");
	return match ? [Number(match[1]), match[2] ? Number(match[2]) : null] : [null, null];
}

/** @param {State} state @param {Start} [start] @returns {string} without # */
export function writeFragment(state, start = usualStart) {
	const parts = new URLSearchParams();
	if (state.tab !== start.tab)
		parts.set("tab", state.tab);
	if (state.event !== start.event)
		parts.set("event", String(state.event));
	if (state.from !== null || state.to !== null)
		parts.set("time", writeRange(state.from, state.to));
	if (state.viewFrom !== null || state.viewTo !== null)
		parts.set("view", writeRange(state.viewFrom, state.viewTo));
	if (state.who.length)
		parts.set("who", state.who.join("."));
	for (const { key, text } of state.labels)
		parts.append("label", `${key}=${text}`);
	if (state.transforms.length)
		parts.set("do", state.transforms.map(writeTransform).join("~"));
	if (state.search)
		parts.set("search", state.search);
	if (state.of !== null)
		parts.set("of", String(state.of));
	for (const flag of flags) {
		if (state[flag] !== startState()[flag])
			parts.set(flag, state[flag] ? "1" : "0");
	}
	if (state.width !== "new")
		parts.set("width", state.width);
	if (state.part !== "total")
		parts.set("part", state.part);
	if (state.details !== null)
		parts.set("details", state.details ? "1" : "0");
	if (state.by)
		parts.set("by", state.by);
	if (state.theme)
		parts.set("theme", state.theme);
	return parts.toString();
}

/**
 * @param {string} fragment without # @param {{ events: number, functions: number, modules: number, threads: number, processes: number }} limits numbers beyond are ignored @param {Start} [start]
 * @returns {State}
 */
export function readFragment(fragment, limits, start = usualStart) {
	const parts = new URLSearchParams(fragment), state = startState();
	const number = (/** @type {string} */ name, /** @type {number} */ limit) => {
		const text = parts.get(name);
		return text !== null && /^\d+$/.test(text) && Number(text) < limit ? Number(text) : null;
	};
	state.tab = tabs.find((tab) => tab === parts.get("tab")) ?? start.tab;
	state.event = number("event", limits.events) ?? start.event;
	[state.from, state.to] = readRange(parts.get("time"));
	[state.viewFrom, state.viewTo] = readRange(parts.get("view"));
	state.who = (parts.get("who") ?? "").split(".").filter((who) => /^[pt]\d+$/.test(who) && Number(who.slice(1)) < (who[0] === "p" ? limits.processes : limits.threads));
	state.labels = parts.getAll("label").flatMap((label) => {
		const [, key, text] = /^([^=]+)=(.*)$/s.exec(label) ?? [];
		return key ? [{ key, text }] : [];
	});
	state.transforms = (parts.get("do") ?? "").split("~").flatMap(readTransform).filter((transform) => transform.kind === "native" || (transform.kind === "subtree"
		? transform.path.every((of) => of < limits.functions) : transform.of < (transform.kind === "library" ? limits.modules : limits.functions)));
	state.search = parts.get("search") ?? "";
	state.of = number("of", limits.functions);
	for (const flag of flags)
		state[flag] = parts.has(flag) ? parts.get(flag) === "1" : state[flag];
	const theme = parts.get("theme"), width = parts.get("width"), details = parts.get("details");
	state.details = details === "1" ? true : details === "0" ? false : null;
	state.by = groupings.find((by) => by === parts.get("by")) ?? null;
	state.width = width === "old" || width === "both" ? width : "new";
	state.part = parts.get("part") === "self" ? "self" : "total";
	state.theme = theme === "light" || theme === "dark" ? theme : "";
	return state;
}
