// The page's state, and the profile that it selects. Views listen for changes.

import { BoxColors } from "./colors.js";
import { readFragment, writeFragment } from "./fragment.js";
import { Grouper } from "./groups.js";
import { passingSets } from "./labels.js";
import { matchFunctions, parseSearch } from "./search.js";
import { ProfileMaker } from "./profile.js";
import { formatWeight } from "./numbers.js";

/** @typedef {import("./capture.js").Capture} Capture */
/** @typedef {import("./fragment.js").State} State */
/** @typedef {import("./profile.js").Profile} Profile */

const WRITE_DELAY = 200; // ms; browsers limit how often an address changes

export class App {
	/** @param {Capture} capture */
	constructor(capture) {
		this.capture = capture;
		this.grouper = new Grouper(capture);
		this.maker = new ProfileMaker(capture);
		this.colors = new BoxColors(capture.functions);
		/** The event of waits; -1: none. */
		this.waits = capture.events.findIndex((event) => event.name === "off-cpu");
		this.darkQuery = matchMedia("(prefers-color-scheme: dark)");
		/** @type {((changed: Set<keyof State>) => void)[]} */
		this.listeners = [];
		/** @type {State} */
		this.state = this.readState();
		this.sets = passingSets(capture.labels, this.state.labels);
		this.grouper.use(this.by);
		/** @type {Profile} */
		this.profile = this.makeProfile();
		/** @type {Uint8Array | null} */
		this.matches = null;
		this.searchProblem = "";
		this.writing = 0;
		this.useSearch();
		this.useTheme();
		this.darkQuery.addEventListener("change", () => this.update({ theme: this.state.theme }));
		addEventListener("hashchange", () => this.update(this.readState()));
	}

	readState() {
		const { events, functions, threads, processes } = this.capture;
		return readFragment(location.hash.slice(1), {
			events: events.length, functions: functions.count, modules: functions.modules.length, threads: threads.length, processes: processes.length,
		}, this.start);
	}

	/** Waiting is not what most people look for first. @returns {import("./fragment.js").Start} */
	get start() {
		const { diff, events } = this.capture;
		return { tab: diff ? "diff" : "flame", event: Math.max(0, events.findIndex((event) => event.name !== "off-cpu")) };
	}

	/** @param {(changed: Set<keyof State>) => void} listener */
	listen(listener) {
		this.listeners.push(listener);
	}

	/** @param {Partial<State>} patch */
	update(patch) {
		const changed = new Set(/** @type {(keyof State)[]} */ (Object.keys(patch)));
		this.state = { ...this.state, ...patch };
		const has = (/** @type {(keyof State)[]} */ ...keys) => keys.some((key) => changed.has(key));
		if (has("labels"))
			this.sets = passingSets(this.capture.labels, this.state.labels);
		if (has("by")) {
			this.grouper.use(this.by);
			this.maker = new ProfileMaker(this.capture);
		}
		if (has("by", "event", "from", "to", "who", "transforms", "labels"))
			this.profile = this.makeProfile();
		if (has("search"))
			this.useSearch();
		if (has("theme"))
			this.useTheme();
		for (const listener of this.listeners)
			listener(changed);
		clearTimeout(this.writing);
		this.writing = window.setTimeout(() => history.replaceState(null, "", `#${writeFragment(this.state, this.start)}`), WRITE_DELAY);
	}

	/** The first level of stacks. */
	get by() {
		const { by } = this.state, { choices, start } = this.grouper;
		return by && choices.includes(by) ? by : start;
	}

	makeProfile() {
		return this.maker.make(this.selection(), this.state.transforms);
	}

	/** @returns {import("./selection.js").Selection} */
	selection() {
		const { event, from, to } = this.state;
		return { event, from: from ?? 0, to: to ?? Infinity, threads: this.selectedThreads(), sets: this.sets };
	}

	/** @returns {Set<number> | null} */
	selectedThreads() {
		if (!this.state.who.length)
			return null;
		return new Set(this.state.who.flatMap((who) => who[0] === "p" ? this.capture.processes[Number(who.slice(1))].threads : [Number(who.slice(1))]));
	}

	useSearch() {
		const search = parseSearch(this.state.search);
		this.matches = search && matchFunctions(this.capture.functions, search);
		this.searchProblem = search?.problem ?? "";
	}

	useTheme() {
		const isDark = this.state.theme ? this.state.theme === "dark" : this.darkQuery.matches;
		document.documentElement.dataset.theme = isDark ? "dark" : "light";
		this.colors.setDark(isDark);
	}

	get event() {
		return this.capture.events[this.state.event];
	}

	/** @param {number} of a function @returns {string} */
	name(of) {
		return this.state.full ? this.capture.functions.name[of] : this.capture.functions.short[of];
	}

	/** @param {number} weight */
	weightText(weight) {
		return formatWeight(weight, this.profile.isTime);
	}

	/** Adds a filter, or removes it. @param {import("./labels.js").Label} label */
	toggleLabel({ key, text }) {
		const { labels } = this.state, rest = labels.filter((other) => other.key !== key || other.text !== text);
		this.update({ labels: rest.length < labels.length ? rest : [...labels, { key, text }] });
	}

	/** @param {import("./transforms.js").Transform} transform */
	addTransform(transform) {
		this.update({ transforms: [...this.state.transforms, transform] });
	}
}
