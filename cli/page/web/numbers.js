// Numbers as people read them.

const counts = new Intl.NumberFormat("en");

/** 1234567 as "1,234,567". @param {number} value */
export function formatCount(value) {
	return counts.format(Math.round(value));
}

/** @param {number} count @param {string} noun that takes an s */
export function formatPlural(count, noun) {
	return `${formatCount(count)} ${noun}${count === 1 ? "" : "s"}`;
}

/** Three digits at least, four at most. @param {number} value */
function digits(value) {
	return value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0);
}

/** "1.23 s", "45.6 ms". @param {number} ns */
export function formatTime(ns) {
	const size = Math.abs(ns);
	if (size === 0)
		return "0 s";
	if (size < 999.5)
		return `${Math.round(ns)} ns`;
	if (size < 999.5e3)
		return `${digits(ns / 1e3)} µs`;
	if (size < 999.5e6)
		return `${digits(ns / 1e6)} ms`;
	return size < 9999.5e9 ? `${digits(ns / 1e9)} s` : `${formatCount(ns / 1e9)} s`;
}

/** A moment on the axis, exact enough for ticks that far apart. @param {number} ns @param {number} apart */
export function formatMoment(ns, apart) {
	if (apart < 1e6)
		return `${(ns / 1e6).toFixed(apart < 1e4 ? 3 : apart < 1e5 ? 2 : 1)} ms`;
	if (apart < 1e9)
		return ns < 1e9 && apart < 1e8 ? `${Math.round(ns / 1e6)} ms` : `${(ns / 1e9).toFixed(apart < 1e7 ? 3 : apart < 1e8 ? 2 : 1)} s`;
	if (apart < 60e9 && ns < 600e9)
		return `${Math.round(ns / 1e9)} s`;
	const seconds = Math.round(ns / 1e9), rest = String(seconds % 60).padStart(2, "0"), minutes = Math.floor(seconds / 60);
	return minutes < 60 ? `${minutes}:${rest}` : `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, "0")}:${rest}`;
}

/** @param {number} part @param {number} whole */
export function formatShare(part, whole) {
	return `${(whole ? part / whole * 100 : 0).toFixed(2)} %`;
}

/** An event's weight: time, or a count. @param {number} weight @param {boolean} isTime */
export function formatWeight(weight, isTime) {
	return isTime ? formatTime(weight) : formatCount(weight);
}

/** A tick's number, exact enough for ticks that far apart. @param {number} value @param {number} apart */
export function formatTick(value, apart) {
	return value.toFixed(Math.max(0, Math.min(-Math.floor(Math.log10(apart) + 1e-9), 9)));
}

const units = /** @type {const} */ ([[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e4, "k"]]);

/** An amount on the axis, exact enough for ticks that far apart: "1.5 s", "20 k". @param {number} value @param {number} apart @param {boolean} isTime */
export function formatAmount(value, apart, isTime) {
	if (isTime)
		return value ? formatMoment(value, apart) : "0 s";
	const [size, unit] = units.find(([least]) => value >= least) ?? [1, ""], scale = unit === "k" ? 1e3 : size;
	return `${formatTick(value / scale, apart / scale)}${unit && ` ${unit}`}`;
}

/** The distance of ticks: 1, 2 or 5 times a power of ten, of times above a minute also minutes. @param {number} least @param {boolean} [isTime] */
export function tickStep(least, isTime = true) {
	if (isTime && least > 20e9) {
		for (const seconds of [30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 43200, 86400]) {
			if (seconds * 1e9 >= least)
				return seconds * 1e9;
		}
		return Math.ceil(least / 86400e9) * 86400e9;
	}
	const power = 10 ** Math.floor(Math.log10(least));
	return power * ([1, 2, 5, 10].find((factor) => power * factor >= least * 0.999999) ?? 10);
}
