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
	const { header, duration, threads, marks, recorderMarks } = app.capture;
	/** @type {[string, string][]} */
	const rows = [["File", header.file]];
	if (header.host)
		rows.push(["Host", `${header.host}, Linux ${header.kernel} ${header.arch}, ${header.cpus} CPUs`]);
	if (header.time)
		rows.push(["Start", header.time]);
	if (header.command)
		rows.push(["Command", header.command]);
	if (header.captures)
		rows.push(["Captures", `a profile merged from ${formatPlural(header.captures, "capture")}, without times and threads`]);
	const all = threads.reduce((sum, thread) => sum + thread.count, 0);
	rows.push(["Samples", formatCount(header.samples) + (threads.length ? ` of ${formatPlural(all, "thread")}` : "")]);
	if (all > threads.length)
		rows.push(["Combined", `the ${formatCount(all - threads.filter((thread) => thread.count === 1).length)} threads with the fewest samples are shown as one per process`]);
	if (threads.length)
		rows.push(["Duration", `${formatTime(duration)}, shown in steps of ${formatTime(app.capture.step)}`]);
	if (header.unwound)
		rows.push(["Complete", `${formatShare(header.complete, header.unwound)} of ${formatCount(header.unwound)} unwound stacks`]);
	for (const [name, count] of header.stops)
		rows.push(["", `${name}: ${formatCount(count)}`]);
	if (header.pruned)
		rows.push(["Left out", `rare calls of ${formatPlural(header.pruned, "sample")}, shown as [rare calls, left out]`]);
	if (!header.lines)
		rows.push(["Lines", "only one per function, because the capture has too many stacks"]);
	const lost = marks.reduce((sum, [, , count, isMissing]) => sum + count * isMissing, 0), others = marks.some(([, , , isMissing]) => !isMissing);
	rows.push(["Lost", (lost ? `${formatPlural(lost, "sample")} (red marks on the time axis)` : "no samples") + (others ? "; grey marks are incomplete stacks, names or mappings" : "")]);
	if (recorderMarks.length)
		rows.push(["Marked", `${formatPlural(recorderMarks.length, "moment")} (blue marks on the time axis)`]);
	if (header.execsLeftOut)
		rows.push(["", `${formatPlural(header.execsLeftOut, "started program")} without a mark`]);
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
	return {
		kinds: [Kind.plain, Kind.inlined, Kind.kernel, Kind.python, Kind.jit, Kind.guessed, Kind.incomplete, Kind.group].flatMap(of),
		areas: areaWords.slice(0, 3).map((word, area) => entry(theme.areas[area], word)),
		states: app.waits >= 0 ? stateWords.slice(1).map((word, state) => entry(theme.states[state + 1], word)) : [],
	};
}

/** @param {App} app */
function legend(app) {
	const { kinds, areas, states } = legendEntries(app);
	return el("div", {},
		el("p", {}, "Boxes: ", ...kinds), el("p", {}, "Timeline: ", ...areas, ...states),
		...states.length ? [el("p", {}, "Blocked: the thread waits for something. Preempted: other threads have its CPU. Woken: it could run, and waits for a CPU. Pale boxes of a flame chart are waits.")] : [],
		el("p", {}, "Marks: red triangles on the time axis are lost samples, grey ones incomplete data. Blue triangles in tracks are programs that a thread started (exec). Arrows lead from a thread to the thread it woke. A track is shaded before its process or thread starts and after it ends."),
		el("p", {}, "Inlined (line below the box): the compiler put the function's code into its caller. Guessed: unwind information does not confirm the frame. Incomplete: the stack could not be unwound to its root. [fde]: a function without a symbol; its place in the file is its name."));
}

/** @param {App} app */
export function showHelp(app) {
	const dialog = el("dialog", { class: "help", "aria-label": "Help", onclose: () => dialog.remove() });
	const close = el("button", { type: "button", class: "close", "aria-label": "Close", onclick: () => dialog.close() }, "×");
	dialog.append(close, el("h2", {}, "This capture"), list(facts(app)), el("h2", {}, "Colours"), legend(app), el("h2", {}, "Keys"), el("div", { class: "help-columns" },
		el("div", {}, el("h3", {}, "Everywhere"), list([["/", "search for part of a name or a /regex/"], ["1 2 3 …", "switch tabs"], ["i", "invert: start from the leaves"], ["b", "put the root at the bottom"], ["h", "show full names"], ["p", "details of the selected function"], ["g", "join the samples of a flame chart, or show them at their times"],
			["Esc", "undo the zoom, search, last transform, time range, labels, threads"], ["t", "go to the timeline"], ["v", "go to the tab's content"], ["e", "save the view as SVG"], ["E  S", "save the stacks: folded, for speedscope"], ["?", "this help"]], true)),
		el("div", {}, el("h3", {}, "Boxes and rows"), list([["arrows", "move to the next box or row"], ["Enter", "zoom to a box; open a row"], ["+  −  0", "zoom in, zoom out, show all"], ["a  d", "move left, right; drag the strip with the whole graph while it is zoomed"], ["Space", "menu (or a right click)"],
			...actions.map((action) => /** @type {[string, string]} */ ([action.key, action.words.toLowerCase()]))], true)),
		el("div", {}, el("h3", {}, "Timeline"), list([["drag", "select a time range"], ["click", "select a thread; Ctrl adds another"], ["wheel", "zoom; with Shift, move"], ["z", "zoom to the selected range"], ["+  −  0", "zoom in, zoom out, show all"],
			["← →", "move; with Shift, change the range"]], true))));
	document.body.append(dialog);
	dialog.showModal();
}
