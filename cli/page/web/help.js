// Keys, marks and facts about the capture.

import { el } from "./dom.js";
import { kindWords, Kind, stateWords } from "./capture.js";
import { actions } from "./menu.js";
import { areaWords } from "./colors.js";
import { formatCount, formatPlural, formatShare, formatTime } from "./numbers.js";

/** @typedef {import("./app.js").App} App */

/** @param {[string, string][]} rows @param {boolean} areKeys */
function list(rows, areKeys = false) {
	return el("dl", { class: areKeys ? "keys" : "facts" }, ...rows.flatMap(([name, text]) => [el("dt", {}, areKeys ? el("kbd", {}, name) : name), el("dd", {}, text)]));
}

/** @param {App} app */
function facts(app) {
	const { header, duration, threads, marks } = app.capture;
	/** @type {[string, string][]} */
	const rows = [["File", header.file]];
	if (header.host)
		rows.push(["Host", `${header.host}, Linux ${header.kernel} ${header.arch}, ${header.cpus} CPUs`]);
	if (header.time)
		rows.push(["Start", header.time]);
	if (header.command)
		rows.push(["Command", header.command]);
	if (header.captures)
		rows.push(["Captures", `a profile of ${formatCount(header.captures)} captures: without times and threads`]);
	const all = threads.reduce((sum, thread) => sum + thread.count, 0);
	rows.push(["Samples", formatCount(header.samples) + (threads.length ? ` of ${formatPlural(all, "thread")}` : "")]);
	if (all > threads.length)
		rows.push(["Added up", `the ${formatCount(all - threads.filter((thread) => thread.count === 1).length)} threads with the fewest samples are one in each process`]);
	if (threads.length)
		rows.push(["Time", `${formatTime(duration)}, in steps of ${formatTime(app.capture.step)}`]);
	if (header.unwound)
		rows.push(["Complete", `${formatShare(header.complete, header.unwound)} of ${formatCount(header.unwound)} unwound stacks`]);
	for (const [name, count] of header.stops)
		rows.push(["", `${name}: ${formatCount(count)}`]);
	if (header.pruned)
		rows.push(["Left out", `the callees of ${formatCount(header.pruned)} samples: rare calls, shown as [rare calls, left out]`]);
	if (!header.lines)
		rows.push(["Lines", "one for each function: there are too many stacks for more"]);
	const lost = marks.reduce((sum, [, , count, isMissing]) => sum + count * isMissing, 0), others = marks.some(([, , , isMissing]) => !isMissing);
	rows.push(["Lost", (lost ? `${formatCount(lost)}: red marks on the time axis` : "none") + (others ? "; grey marks are incomplete stacks, names or mappings" : "")]);
	if (header.execsLeftOut)
		rows.push(["Execs", `${formatCount(header.execsLeftOut)} more programs were started than are marked`]);
	if (header.livesLeftOut)
		rows.push(["", `${formatPlural(header.livesLeftOut, "thread")} without marks of start and end`]);
	return rows;
}

/** The kinds and states of this capture, as swatches with words. @param {App} app */
export function legendEntries(app) {
	const { theme } = app.colors, entry = (/** @type {string} */ color, /** @type {string} */ text) => {
		const swatch = el("i", { class: "swatch" });
		swatch.style.background = color;
		if (text === kindWords[Kind.inlined])
			swatch.style.borderBottom = `3px solid ${theme.inlined}`;
		return el("span", { class: "legend" }, swatch, text);
	};
	const of = (/** @type {number} */ kind) => {
		const { functions } = app.capture, found = functions.kind.indexOf(kind);
		return found < 0 ? [] : [entry(app.colors.of(found), kind === Kind.plain ? "user" : kindWords[kind])];
	};
	const hasWaits = app.capture.events.some((event) => event.name === "off-cpu");
	return {
		kinds: [Kind.plain, Kind.inlined, Kind.kernel, Kind.python, Kind.jit, Kind.guessed, Kind.incomplete, Kind.group].flatMap(of),
		areas: areaWords.slice(0, 3).map((word, area) => entry(theme.areas[area], word)),
		states: hasWaits ? stateWords.slice(1).map((word, state) => entry(theme.states[state + 1], word)) : [],
	};
}

/** @param {App} app */
function legend(app) {
	const { kinds, areas, states } = legendEntries(app);
	return el("div", {},
		el("p", {}, "Boxes: ", ...kinds), el("p", {}, "Timeline: ", ...areas, ...states),
		el("p", {}, "Marks: red and grey triangles on the time axis, lost samples and incomplete data; blue triangles in tracks, programs that a thread started (exec); arrows lead from a thread to one that it woke. A track is shaded before its process or thread starts and after it ends."),
		el("p", {}, "Guessed: nothing proves this frame. Incomplete: the stack could not be unwound to its root. Inlined, with a line below: no call; its code is in the caller's."));
}

/** @param {App} app */
export function showHelp(app) {
	const dialog = el("dialog", { class: "help", "aria-label": "Help", onclose: () => dialog.remove() });
	const close = el("button", { type: "button", class: "close", "aria-label": "Close", onclick: () => dialog.close() }, "×");
	dialog.append(close, el("h2", {}, "This capture"), list(facts(app)), el("h2", {}, "Colours"), legend(app), el("h2", {}, "Keys"), el("div", { class: "help-columns" },
		el("div", {}, el("h3", {}, "Everywhere"), list([["/", "search: part of a name, or /expression/"], ["1 2 3 …", "tabs"], ["i", "invert: from the leaves"], ["b", "root at the bottom"], ["h", "full or short names"], ["p", "details of the selected function"],
			["Esc", "undo the last: search, transform, range, threads"], ["t", "to the timeline"], ["v", "to the view"], ["e", "save the view as SVG"], ["E  S", "save its stacks: folded; for speedscope"], ["?", "this help"]], true)),
		el("div", {}, el("h3", {}, "Boxes and rows"), list([["arrows", "the next box or row"], ["Enter", "zoom to a box; open a row"], ["+  −  0", "zoom in, out, all"], ["a  d", "move left, right"], ["Space", "menu (or a right click)"],
			...actions.map((action) => /** @type {[string, string]} */ ([action.key, action.words.toLowerCase()]))], true)),
		el("div", {}, el("h3", {}, "Timeline"), list([["drag", "select a range"], ["click", "select a thread; with Ctrl, one more"], ["wheel", "zoom; with Shift, move"], ["z", "zoom to the range"], ["+  −  0", "zoom in, out, all"],
			["← →", "move; with Shift, the range's end"]], true))));
	document.body.append(dialog);
	dialog.showModal();
}
