// The timeline of processes and threads. Dragging selects a range, the wheel zooms, and names select threads.

import { AXIS, drawAxis, timeLabels } from "./axis.js";
import { areaWords, FONT } from "./colors.js";
import { stateWords } from "./capture.js";
import { el, oncePerFrame, sizeCanvas, whenIdle } from "./dom.js";
import { labelsAt, withoutRepeated } from "./labels.js";
import { formatCount, formatPlural, formatShare, formatTime } from "./numbers.js";
import { hideTooltip, showTooltip } from "./tooltip.js";
import { drawAreas, drawStates, mostOfSums } from "./track_drawing.js";
import { TrackSummer } from "./track_sums.js";
import { FIRST, groupsOfProcesses, listTracks, rankTracks } from "./tracks.js";
import { Wakes } from "./wakes.js";

/** @typedef {import("./app.js").App} App */
/** @typedef {import("./tracks.js").Track} Track */

const HEIGHT = 30, STRIP = 4, LABELS = 232;
const ARROWS_MAX = 200; // more are not legible
const LABELS_MAX = 8; // in a tooltip
const NEAR = 5; // px: the pointer is at a mark

export class Timeline {
	/** @param {App} app */
	constructor(app) {
		this.app = app;
		this.summer = new TrackSummer(app.capture);
		this.open = new Set();
		/** @type {Map<string, number>} */
		this.limits = new Map();
		/** @type {Track[]} */
		this.tracks = [];
		/** By the track's key. @type {Map<string, { time: number, name: string, thread: number }[]>} */
		this.execs = new Map();
		this.lives = new Map(app.capture.lives.map((life) => [life.thread, life]));
		/** By the track's key. @type {Map<string, { from: number, to: number }>} */
		this.known = new Map();
		this.ranked = rankTracks(app.capture, app.state.event, app.sets);
		this.summer.select(app.sets);
		this.hoverTime = -1;
		this.waits = app.waits;
		this.wakes = new Wakes(app.capture, this.waits);
		/** The arrows that are shown; null: too many. @type {import("./wakes.js").Wake[] | null} */
		this.arrows = [];
		this.groups = groupsOfProcesses(app.capture);
		if (this.ranked.processes.length === 1)
			this.open.add(this.ranked.processes[0].id);
		this.filter = el("input", { type: "search", placeholder: "Filter threads", "aria-label": "Filter processes and threads by name or id", oninput: () => this.list() });
		this.labels = el("div", { class: "tracks-labels", role: "group", "aria-label": "Processes and threads" });
		this.canvas = el("canvas", { tabindex: "0", role: "img" });
		this.spacer = el("div", { class: "tracks-spacer" });
		this.scroller = el("div", { class: "tracks" }, el("div", { class: "tracks-left" }, el("div", { class: "tracks-filter" }, this.filter), this.labels),
			el("div", { class: "tracks-right" }, this.canvas), this.spacer);
		this.element = this.scroller;
		this.draw = oncePerFrame(() => this.drawNow());
		this.listen();
		this.scroller.addEventListener("scroll", () => this.layout());
		new ResizeObserver(() => this.layout()).observe(this.scroller);
		app.listen((changed) => this.changed(changed));
		this.list();
		this.summer.preparations(this.tracks, app.state.event, app.state.event === this.waits).forEach(whenIdle);
	}

	/** @param {Set<keyof import("./fragment.js").State>} changed */
	changed(changed) {
		if (changed.has("event") || changed.has("labels")) {
			this.ranked = rankTracks(this.app.capture, this.app.state.event, this.app.sets);
			this.summer.select(this.app.sets);
			this.list();
		}
		if (changed.has("who") || changed.has("theme"))
			this.layout();
		this.draw();
	}

	list() {
		this.tracks = listTracks(this.app.capture, this.ranked, { open: this.open, limits: this.limits, search: this.filter.value, groups: this.groups });
		this.spacer.style.height = `${AXIS + this.tracks.length * HEIGHT}px`;
		this.layout();
	}

	// ---- labels ---------------------------------------------------------------------------------

	layout() {
		const { first, end } = this.visible();
		const shown = [];
		for (let i = first; i < end; i++)
			shown.push(this.label(this.tracks[i], i));
		const focused = /** @type {HTMLElement | null} */ (document.activeElement)?.dataset?.track;
		this.labels.replaceChildren(...shown);
		if (focused)
			/** @type {HTMLElement | undefined} */ (shown.map((label) => label.querySelector(`[data-track="${CSS.escape(focused)}"]`)).find(Boolean))?.focus({ preventScroll: true });
		this.draw();
	}

	visible() {
		const top = this.scroller.scrollTop, room = this.scroller.clientHeight - AXIS;
		return { first: Math.max(0, Math.floor(top / HEIGHT)), end: Math.min(this.tracks.length, Math.ceil((top + room) / HEIGHT)) };
	}

	/** @param {Track} track @param {number} number */
	label(track, number) {
		const style = `top: ${AXIS + number * HEIGHT - this.scroller.scrollTop}px`, level = `track-label level${track.level} ${track.kind}`;
		if (track.kind === "more") {
			const button = el("button", { type: "button", "data-track": track.key, class: "track-more", onclick: () => this.showMore(track) }, track.name);
			const label = el("div", { class: level }, button);
			label.style.cssText = style;
			return label;
		}
		if (track.kind === "note") {
			const label = el("div", { class: `${level} note`, role: "status" }, track.name);
			label.style.cssText = style;
			return label;
		}
		const { who, labels } = this.app.state, isSelected = track.label ? labels.some(({ key, text }) => key === track.label?.key && text === track.label.text) : track.kind === "all" ? !who.length : who.includes(track.key);
		const share = formatShare(track.weight, this.ranked.weight).replace(/\.(\d)\d /, ".$1 ");
		const id = track.kind === "all" || !track.number ? "" : String(track.number);
		const name = el("button", {
			type: "button", class: "track-name", "data-track": track.key, "aria-pressed": isSelected, title: track.kind === "all" ? "All threads" : `${track.label ? `${track.label.key} ${track.label.text}` : `${track.name} (${id})`}: ${share}`,
			onclick: (/** @type {MouseEvent} */ event) => this.select(track, event.ctrlKey || event.metaKey || event.shiftKey),
		}, el("span", { class: "track-text" }, track.kind === "all" ? `All ${this.threadsText(track)}`.replace(/^All 1 /, "1 ") : track.name), el("span", { class: "track-id" }, id), el("span", { class: "track-share" }, share));
		const parts = track.open === undefined ? [el("span", { class: "track-twisty" }), name] : [this.twisty(track), name];
		const label = el("div", { class: `${level}${isSelected ? " selected" : ""}` }, ...parts);
		label.style.cssText = style;
		return label;
	}

	/** @param {Track} track */
	threadsText(track) {
		return formatPlural(track.threads.reduce((sum, thread) => sum + this.app.capture.threads[thread].count, 0), "thread");
	}

	/** @param {Track} track */
	twisty(track) {
		return el("button", {
			type: "button", class: "track-twisty", "data-track": `open ${track.key}`, "aria-expanded": Boolean(track.open), "aria-label": `Threads of ${track.name}`,
			onclick: () => {
				if (track.open)
					this.open.delete(track.id);
				else
					this.open.add(track.id);
				this.list();
			},
		}, track.open ? "▾" : "▸");
	}

	/** @param {Track} track */
	showMore(track) {
		this.limits.set(track.key, (this.limits.get(track.key) ?? FIRST) * 10);
		this.list();
	}

	/** @param {Track} track @param {boolean} adds to the selected ones, or removes from them */
	select(track, adds) {
		const { who } = this.app.state;
		if (track.label)
			this.app.toggleLabel(track.label);
		else if (track.kind === "all")
			this.app.update({ who: [] });
		else if (adds)
			this.app.update({ who: who.includes(track.key) ? who.filter((key) => key !== track.key) : [...who, track.key] });
		else
			this.app.update({ who: who.length === 1 && who[0] === track.key ? [] : [track.key] });
	}

	// ---- time -----------------------------------------------------------------------------------

	get from() {
		return Math.min(this.app.state.viewFrom ?? 0, this.app.capture.duration * 0.999999);
	}

	get to() {
		return Math.max(Math.min(this.app.state.viewTo ?? Infinity, this.app.capture.duration), this.from + 1000);
	}

	get width() {
		return Math.max(1, this.scroller.clientWidth - LABELS);
	}

	/** @param {number} from @param {number} to */
	setView(from, to) {
		const { duration } = this.app.capture, length = Math.max(Math.min(to - from, duration), Math.min(duration, 100e3));
		const start = Math.max(0, Math.min(from, duration - length));
		this.app.update(length >= duration ? { viewFrom: null, viewTo: null } : { viewFrom: start, viewTo: start + length });
	}

	/** @param {number} factor @param {number} at */
	zoom(factor, at = (this.from + this.to) / 2) {
		this.setView(at - (at - this.from) * factor, at + (this.to - at) * factor);
	}

	/** @param {number} x of the window */
	timeAt(x) {
		const place = this.canvas.getBoundingClientRect();
		return Math.max(0, Math.min(this.app.capture.duration, this.from + (x - place.left) / place.width * (this.to - this.from)));
	}

	/** @param {number} time */
	xOf(time) {
		return (time - this.from) / (this.to - this.from) * this.width;
	}

	listen() {
		const canvas = this.canvas;
		let start = /** @type {{ time: number, x: number } | null} */ (null);
		canvas.addEventListener("pointerdown", (event) => {
			if (event.button !== 0)
				return;
			start = { time: this.timeAt(event.clientX), x: event.clientX };
			canvas.setPointerCapture(event.pointerId);
		});
		const drag = oncePerFrame((/** @type {number} */ from, /** @type {number} */ to) => this.app.update({ from: Math.round(Math.min(from, to)), to: Math.round(Math.max(from, to)) }));
		canvas.addEventListener("pointermove", (event) => {
			this.hoverTime = this.timeAt(event.clientX);
			if (start && Math.abs(event.clientX - start.x) > 3)
				drag(start.time, this.hoverTime);
			this.hover(event);
			this.draw();
		});
		canvas.addEventListener("pointerup", (event) => {
			if (start && Math.abs(event.clientX - start.x) <= 3)
				this.click(event);
			start = null;
		});
		canvas.addEventListener("pointerleave", () => {
			this.hoverTime = -1;
			hideTooltip();
			this.draw();
		});
		canvas.addEventListener("dblclick", () => this.zoomToSelection());
		canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
		canvas.addEventListener("keydown", (event) => this.key(event));
	}

	/** A click selects the track, and gives the range up. @param {PointerEvent} event */
	click(event) {
		const track = this.trackAt(event.clientY);
		this.app.update({ from: null, to: null });
		if (track && track.threads.length && track.kind !== "all")
			this.select(track, event.ctrlKey || event.metaKey || event.shiftKey);
	}

	/** @param {number} y of the window @returns {Track | undefined} */
	trackAt(y) {
		const inside = y - this.canvas.getBoundingClientRect().top - AXIS;
		return inside < 0 ? undefined : this.tracks[Math.floor((inside + this.scroller.scrollTop) / HEIGHT)];
	}

	zoomToSelection() {
		const { from, to } = this.app.state;
		if (from !== null || to !== null)
			this.setView(from ?? 0, to ?? this.app.capture.duration);
	}

	/** @param {WheelEvent} event */
	wheel(event) {
		if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
			const by = (event.deltaX || event.deltaY) / this.width * (this.to - this.from);
			this.setView(this.from + by, this.to + by);
		} else {
			this.zoom(Math.exp(event.deltaY * (event.deltaMode ? 0.05 : 0.002)), this.timeAt(event.clientX));
		}
		event.preventDefault();
	}

	/** @param {KeyboardEvent} event */
	key(event) {
		const by = (this.to - this.from) / 5, { from, to } = this.app.state, unit = (this.to - this.from) / 40;
		const actions = /** @type {Record<string, () => void>} */ ({
			"+": () => this.zoom(0.6), "=": () => this.zoom(0.6), "-": () => this.zoom(1 / 0.6), "0": () => this.setView(0, Infinity), "z": () => this.zoomToSelection(),
			"ArrowLeft": () => event.shiftKey ? this.app.update({ from: from ?? this.from, to: Math.max((to ?? this.to) - unit, (from ?? this.from) + unit) }) : this.setView(this.from - by, this.to - by),
			"ArrowRight": () => event.shiftKey ? this.app.update({ from: from ?? this.from, to: (to ?? this.from) + unit }) : this.setView(this.from + by, this.to + by),
		});
		if (event.ctrlKey || event.metaKey || event.altKey || !actions[event.key])
			return;
		event.preventDefault();
		event.stopPropagation();
		actions[event.key]();
	}

	/** @param {PointerEvent} event */
	hover(event) {
		const { marks, recorderMarks } = this.app.capture, isNear = (/** @type {number} */ time) => Math.abs(this.xOf(time) - this.xOf(this.hoverTime)) < NEAR;
		const mark = marks.find(([time]) => isNear(time)), own = recorderMarks.find(({ time }) => isNear(time));
		const y = event.clientY - this.canvas.getBoundingClientRect().top, track = this.trackAt(event.clientY);
		if (y < AXIS && own) {
			showTooltip(event.clientX, event.clientY, { title: own.kind, lines: [["What", own.text], ["Time", formatTime(own.time)]] });
		} else if (y < AXIS && mark) {
			showTooltip(event.clientX, event.clientY, { title: mark[3] ? "Lost samples" : "Incomplete data", lines: [["What", mark[1]], ["Count", formatCount(mark[2])], ["Time", formatTime(mark[0])]] });
		} else if (track?.threads.length) {
			const lines = this.lines(track);
			showTooltip(event.clientX, event.clientY, { title: track.kind === "all" ? "All threads" : track.label ? `Container ${track.label.text || "none"}` : `${track.name} (${track.number})`, lines });
		} else {
			hideTooltip();
		}
	}

	/** A track at the pointer's time. @param {Track} track @returns {[string, string][]} */
	lines(track) {
		const { capture, event, state } = this.app, pixel = (this.to - this.from) / this.width, span = Math.max(pixel * 3, capture.step * 2);
		const sums = this.summer.exact(track.threads, state.event, false, this.hoverTime - span / 2, this.hoverTime + span / 2, 1).areas.map((area) => area[0]);
		/** @type {[string, string][]} */
		const lines = [["Time", formatTime(this.hoverTime)]];
		sums.forEach((weight, area) => {
			if (weight > 0 && event.isTime && state.event !== this.waits)
				lines.push([areaWords[area], `${(weight / span * 100).toFixed(0)} % of a CPU`]);
		});
		if (this.waits >= 0 && track.threads.length === 1) {
			const states = this.summer.exact(track.threads, this.waits, true, this.hoverTime - span / 2, this.hoverTime + span / 2, 1).areas.map((area) => area[0]);
			states.forEach((weight, number) => weight > 0 && lines.push([stateWords[number], `${Math.min(weight / span * 100, 100).toFixed(0)} %`]));
		}
		lines.push(["Share of all", formatShare(track.weight, this.ranked.weight)]);
		let sampleTime = this.hoverTime;
		for (const { time, name, tid, waker, thread, waited } of this.arrows ?? []) {
			if (Math.abs(this.xOf(time) - this.xOf(this.hoverTime)) >= NEAR)
				continue;
			if (track.threads.length === 1 && track.threads[0] === thread) {
				lines.push(["Woken by", `${name}${tid >= 0 ? ` (${tid})` : ""}, after ${formatTime(waited)}`]);
				// The labels are of this wait, not of one that begins here.
				sampleTime = time - capture.step;
			} else if (track.threads.length === 1 && track.threads[0] === waker)
				lines.push(["Woke", `${capture.threads[thread].name} (${capture.threads[thread].id}), which had waited for ${formatTime(waited)}`]);
		}
		lines.push(...this.labelLines(track, sampleTime, Math.max(span, 2 * capture.step)));
		for (const { time, name, thread } of this.execsOf(track)) {
			if (Math.abs(this.xOf(time) - this.xOf(this.hoverTime)) < NEAR)
				lines.push(["Exec", `${name || "a program"} (${capture.threads[thread].id}), at ${formatTime(time)}`]);
		}
		return lines;
	}

	/** The labels of a thread's sample at that time. @param {Track} track @param {number} time @param {number} reach @returns {[string, string][]} */
	labelLines(track, time, reach) {
		const { capture, state } = this.app, events = [state.event, this.waits].filter((event) => event >= 0);
		if (track.threads.length !== 1)
			return [];
		for (const event of events) {
			const run = this.summer.runs[event].get(track.threads[0]), labels = run === undefined ? [] : withoutRepeated(labelsAt(capture, run, time, reach, this.app.sets));
			const more = labels.length - LABELS_MAX;
			if (labels.length)
				return [...labels.slice(0, LABELS_MAX).map(({ key, text }) => /** @type {[string, string]} */ ([key, text])), ...more > 0 ? [/** @type {[string, string]} */ (["", formatPlural(more, "more label")])] : []];
		}
		return [];
	}

	/** Programs that a process or thread started. @param {Track} track */
	execsOf(track) {
		let found = this.execs.get(track.key);
		if (!found) {
			const { execs } = this.app.capture, isOne = track.kind === "process" || track.kind === "thread";
			found = isOne && execs.size ? track.threads.flatMap((thread) => (execs.get(thread) ?? []).map((exec) => ({ ...exec, thread }))) : [];
			this.execs.set(track.key, found);
		}
		return found;
	}

	/** When a process or thread existed, as far as that is known. @param {Track} track */
	lifeOf(track) {
		let life = this.known.get(track.key);
		if (!life) {
			const { threads, duration } = this.app.capture, isOne = track.kind === "process" || track.kind === "thread", lives = isOne ? track.threads.map((thread) => this.lives.get(thread)) : [];
			const first = lives[track.threads.findIndex((thread) => threads[thread].id === track.number)];
			life = { from: first?.start ?? 0, to: lives.reduce((latest, of) => Math.max(latest, of?.end ?? duration), lives.length ? 0 : duration) };
			this.known.set(track.key, life);
		}
		return life;
	}

	// ---- drawing --------------------------------------------------------------------------------

	drawNow() {
		const { width } = this, height = this.scroller.clientHeight, theme = this.app.colors.theme;
		if (!height)
			return;
		const context = sizeCanvas(this.canvas, width, height), { first, end } = this.visible();
		context.fillStyle = theme.paper;
		context.fillRect(0, 0, width, height);
		for (let i = first; i < end; i++)
			this.drawTrack(context, this.tracks[i], AXIS + i * HEIGHT - this.scroller.scrollTop, width);
		this.drawWakes(context, first, end, width);
		this.drawSelection(context, width, height);
		this.drawAxis(context, width);
		const { from, to } = this.app.state;
		this.canvas.setAttribute("aria-label", `CPU use from ${formatTime(this.from)} to ${formatTime(this.to)}; selected: ${from === null ? "all" : `${formatTime(from)} to ${formatTime(to ?? this.app.capture.duration)}`}`);
	}

	/** @param {CanvasRenderingContext2D} context @param {Track} track @param {number} y @param {number} width */
	drawTrack(context, track, y, width) {
		const { app } = this, theme = app.colors.theme;
		context.fillStyle = theme.line;
		context.fillRect(0, y + HEIGHT - 1, width, 1);
		if (!track.threads.length)
			return;
		const { from, to } = this.lifeOf(track), start = this.xOf(from), end = this.xOf(to);
		context.fillStyle = theme.gone;
		context.fillRect(0, y, Math.min(start, width), HEIGHT - 1);
		context.fillRect(Math.max(end, 0), y, width - end, HEIGHT - 1);
		const isWait = app.state.event === this.waits;
		const sums = this.summer.sum(track.key, track.threads, app.state.event, isWait, this.from, this.to, width);
		const hasStrip = this.waits >= 0 && !isWait && track.kind === "thread" || track.kind === "process" && this.waits >= 0 && !isWait && track.threads.length === 1;
		drawAreas(context, sums, isWait ? theme.states : theme.areas, y + 3, HEIGHT - 5 - (hasStrip ? STRIP : 0), this.mostOf(track, sums, width));
		if (hasStrip)
			drawStates(context, this.summer.columns(track.key, track.threads, this.waits, true, this.from, this.to, width), theme.states, y + HEIGHT - STRIP - 1, STRIP - 1);
		this.drawExecs(context, track, y, width);
	}

	/** Arrows from wakers to threads that waited. @param {CanvasRenderingContext2D} context @param {number} first @param {number} end of visible tracks @param {number} width */
	drawWakes(context, first, end, width) {
		const { app, wakes } = this, { theme } = app.colors, chosen = app.selectedThreads(), middle = (/** @type {number} */ i) => AXIS + i * HEIGHT - this.scroller.scrollTop + HEIGHT / 2;
		/** @type {Map<number, number>} */
		const places = new Map();
		for (let i = first; wakes.exist && i < end; i++) {
			const { threads, kind } = this.tracks[i];
			if (threads.length === 1 && kind !== "all" && app.capture.threads[threads[0]].count === 1)
				places.set(threads[0], middle(i));
		}
		this.arrows = [];
		for (const thread of places.keys()) {
			const found = wakes.between(thread, this.from, this.to);
			this.arrows.push(...!chosen || chosen.has(thread) ? found : found.filter(({ waker }) => chosen.has(waker)));
			if (this.arrows.length > ARROWS_MAX) {
				this.arrows = null;
				break;
			}
		}
		context.fillStyle = context.strokeStyle = theme.ink;
		context.lineWidth = 1;
		for (const { time, thread, waker } of this.arrows ?? []) {
			const x = Math.round(this.xOf(time)) + 0.5, to = /** @type {number} */ (places.get(thread)), from = places.get(waker) ?? to - 12, by = from < to ? -1 : 1;
			context.beginPath();
			context.moveTo(x, from);
			context.lineTo(x, to + by * 4);
			context.stroke();
			context.beginPath();
			context.moveTo(x - 3.5, to + by * 6);
			context.lineTo(x + 3.5, to + by * 6);
			context.lineTo(x, to);
			context.fill();
			if (places.has(waker))
				context.fillRect(x - 2, from - 2, 4, 4);
		}
		if (!this.arrows) {
			const text = `more than ${ARROWS_MAX} wake-ups: zoom in or select a thread to see their arrows`;
			context.font = FONT;
			context.textBaseline = "middle";
			const room = context.measureText(text).width + 16;
			context.fillStyle = theme.band;
			context.fillRect(width - room, AXIS, room, 18);
			context.fillStyle = theme.muted;
			context.fillText(text, width - room + 8, AXIS + 9);
		}
	}

	/** A mark for each program that was started. @param {CanvasRenderingContext2D} context @param {Track} track @param {number} y @param {number} width */
	drawExecs(context, track, y, width) {
		context.fillStyle = this.app.colors.theme.accent;
		for (const { time } of this.execsOf(track)) {
			const x = this.xOf(time);
			if (x < -4 || x > width + 4)
				continue;
			context.beginPath();
			context.moveTo(x - 4, y);
			context.lineTo(x + 4, y);
			context.lineTo(x, y + 6);
			context.fill();
		}
	}

	/** The weight that fills a track's height: of one CPU, or of the CPUs that its threads used; for counts, the highest column. @param {Track} track @param {import("./track_sums.js").TrackSums} sums @param {number} width */
	mostOf(track, sums, width) {
		const most = mostOfSums(sums), pixel = (this.to - this.from) / width, { event, capture, state } = this.app;
		if (!event.isTime)
			return most || 1;
		const cpus = state.event === this.waits ? track.threads.length : Math.min(track.threads.length, capture.header.cpus || 1);
		return Math.max(pixel, Math.min(most, pixel * cpus));
	}

	/** @param {CanvasRenderingContext2D} context @param {number} width @param {number} height */
	drawSelection(context, width, height) {
		const { from, to } = this.app.state, theme = this.app.colors.theme;
		if (from !== null || to !== null) {
			const left = this.xOf(from ?? 0), right = this.xOf(to ?? this.app.capture.duration);
			context.fillStyle = theme.outside;
			context.fillRect(0, AXIS, left, height);
			context.fillRect(right, AXIS, width - right, height);
			context.fillStyle = theme.select;
			context.fillRect(left, 0, right - left, height);
			context.fillStyle = theme.accent;
			context.fillRect(left - 0.5, 0, 1, height);
			context.fillRect(right - 0.5, 0, 1, height);
		}
		if (this.hoverTime >= 0) {
			context.fillStyle = theme.muted;
			context.fillRect(this.xOf(this.hoverTime), AXIS, 1, height);
		}
	}

	/** The axis, with marks of losses and of the recorder. @param {CanvasRenderingContext2D} context @param {number} width */
	drawAxis(context, width) {
		const { theme } = this.app.colors;
		drawAxis(context, this.from, this.to, width, theme, timeLabels);
		const { marks, recorderMarks } = this.app.capture;
		const all = [...marks.map(([time, , , isMissing]) => ({ time, color: isMissing ? theme.loss : theme.tiny })), ...recorderMarks.map(({ time }) => ({ time, color: theme.accent }))];
		for (const { time, color } of all) {
			const x = this.xOf(time);
			context.fillStyle = color;
			if (x < -5 || x > width + 5)
				continue;
			context.beginPath();
			context.moveTo(x - 4, AXIS - 8);
			context.lineTo(x + 4, AXIS - 8);
			context.lineTo(x, AXIS - 1);
			context.fill();
		}
	}
}
