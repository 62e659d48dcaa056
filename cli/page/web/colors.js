// Colours of boxes and areas, light and dark. Text on boxes has a contrast of 4.5 at least (WCAG AA).

import { Kind } from "./capture.js";

/** @typedef {import("./capture.js").Functions} Functions */

export const FONT = '12px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';

// Hue, saturation and lightness of each kind.
const light = {
	[Kind.plain]: [213, 78, 82], [Kind.inlined]: [196, 62, 87], [Kind.kernel]: [24, 88, 82], [Kind.jit]: [148, 48, 78],
	[Kind.python]: [330, 60, 87], [Kind.guessed]: [280, 40, 86], [Kind.incomplete]: [220, 10, 84], [Kind.library]: [245, 60, 87], [Kind.group]: [48, 62, 84],
};
const dark = {
	[Kind.plain]: [213, 44, 34], [Kind.inlined]: [196, 34, 28], [Kind.kernel]: [20, 46, 33], [Kind.jit]: [150, 36, 27],
	[Kind.python]: [330, 30, 36], [Kind.guessed]: [280, 22, 36], [Kind.incomplete]: [220, 6, 31], [Kind.library]: [248, 28, 38], [Kind.group]: [48, 30, 27],
};

export const themes = {
	light: {
		paper: "#ffffff", band: "#f6f7f9", ink: "#1a1f26", muted: "#5b6570", line: "#e3e7ec", accent: "#1f5fd0", match: "#ffd60a", matchInk: "#1a1f26",
		select: "rgba(31, 95, 208, 0.13)", outside: "rgba(255, 255, 255, 0.62)", loss: "#c62828", whole: "#e9ecf1", tiny: "#c3ccd8", gone: "#f1f3f6", inlined: "#2f8fa3",
		more: "#f2705c", less: "#5f9df0", same: "#e4e7ec",
		areas: ["#6ea0ec", "#f0a067", "#58b78a", "#9aa4b2"], states: ["", "#b9c1cc", "#b5489b", "#e9b949"],
	},
	dark: {
		paper: "#14171c", band: "#1a1e24", ink: "#e7eaee", muted: "#9aa5b1", line: "#2b313a", accent: "#7fb0ff", match: "#ffd60a", matchInk: "#1a1f26",
		select: "rgba(127, 176, 255, 0.16)", outside: "rgba(20, 23, 28, 0.62)", loss: "#ff7b72", whole: "#262c35", tiny: "#3a4350", gone: "#1f242c", inlined: "#58b4c8",
		more: "#a8352b", less: "#2c63b0", same: "#333a44",
		areas: ["#4d80cf", "#cf7c42", "#3f9a6e", "#69737f"], states: ["", "#4b5563", "#b8599f", "#c99a2e"],
	},
};

const STRENGTHS = 32; // of colours of changes

/** @param {string} text @returns {number} below 1 */
function spread(text) {
	let hash = 2166136261;
	for (let i = 0; i < text.length; i++)
		hash = Math.imul(hash ^ text.charCodeAt(i), 16777619);
	return (hash >>> 8) / 2 ** 24;
}

/** "#rrggbb", which pictures and canvases take fastest. @param {number} hue in degrees @param {number} saturation @param {number} lightness below 1 */
function hex(hue, saturation, lightness) {
	const most = saturation * Math.min(lightness, 1 - lightness);
	return `#${[0, 8, 4].map((n) => {
		const at = (n + hue / 30) % 12;
		return Math.round(255 * (lightness - most * Math.max(-1, Math.min(at - 3, 9 - at, 1)))).toString(16).padStart(2, "0");
	}).join("")}`;
}

/** @param {string} from @param {string} to both "#rrggbb" @param {number} part of `to` */
function mix(from, to, part) {
	return `#${[1, 3, 5].map((at) => {
		const start = parseInt(from.slice(at, at + 2), 16), end = parseInt(to.slice(at, at + 2), 16);
		return Math.round(start + (end - start) * part).toString(16).padStart(2, "0");
	}).join("")}`;
}

/** A box's colour: its kind's, a little different for each module and function. @param {Functions} functions @param {number} of @param {boolean} isDark */
function colorOf(functions, of, isDark) {
	const kind = functions.kind[of], [hue, saturation, lightness] = (isDark ? dark : light)[kind];
	const module = spread(functions.modules[functions.module[of]]), name = spread(functions.name[of]);
	const turn = kind === Kind.kernel ? 10 : kind === Kind.incomplete ? 0 : 26;
	return hex(hue + (module - 0.5) * turn, saturation / 100, (lightness + (name - 0.5) * 8) / 100);
}

/** Remembers the colours of functions. */
export class BoxColors {
	/** @param {Functions} functions */
	constructor(functions) {
		this.functions = functions;
		this.isDark = false;
		/** @type {string[]} */
		this.known = [];
		/** @type {Map<number, string>} */
		this.knownChanges = new Map();
		/** @type {Map<string, string>} */
		this.knownPale = new Map();
	}

	/** @param {boolean} isDark */
	setDark(isDark) {
		if (this.isDark !== isDark) {
			this.known = [];
			this.knownChanges.clear();
			this.knownPale.clear();
		}
		this.isDark = isDark;
	}

	get theme() {
		return this.isDark ? themes.dark : themes.light;
	}

	/** The strongest ones. */
	get changes() {
		const { more, less, same } = this.theme;
		return { more, less, same };
	}

	/** Red for more and blue for less, which everybody can distinguish; the stronger, the larger the part that is new or gone. @param {import("./diff.js").Change | null} change */
	ofChange(change) {
		const { more, less, same } = this.theme;
		if (!change?.isSure)
			return same;
		const strength = Math.ceil(STRENGTHS * Math.min(Math.abs(change.part), 1)), key = change.by > 0 ? strength : -strength;
		let color = this.knownChanges.get(key);
		if (color === undefined)
			this.knownChanges.set(key, color = mix(same, key > 0 ? more : less, 0.35 + 0.65 * strength / STRENGTHS));
		return color;
	}

	/** As in the timeline, where that has the kind. @param {number} kind */
	ofKind(kind) {
		const { theme } = this;
		if (kind === Kind.inlined)
			return theme.inlined;
		return kind === Kind.plain || areaOfKind[kind] ? theme.areas[areaOfKind[kind]] : this.of(this.functions.kind.indexOf(kind));
	}

	/** Of the boxes of waits. @param {string} color of the state or function @returns {string} */
	pale(color) {
		let pale = this.knownPale.get(color);
		if (pale === undefined)
			this.knownPale.set(color, pale = mix(color, this.theme.paper, 0.5));
		return pale;
	}

	/** @param {number} of @returns {string} */
	of(of) {
		return this.known[of] ??= colorOf(this.functions, of, this.isDark);
	}
}

/** The area of the timeline for a node's kind: user, kernel, JIT, or incomplete. */
export const areaOfKind = [0, 0, 1, 0, 3, 0, 2, 0, 3];
export const areaWords = ["user", "kernel", "JIT", "no stack"];
