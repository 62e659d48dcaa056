// Histograms of labels whose values are numbers, in powers of two.

/** @typedef {import("./labels.js").Label} Label */
/** @typedef {{ text: string, weight: number, samples: number }} Bar */

/** Numbers that name something: their size means nothing. */
const identity = /(^|-)(pid|tid|owner|sample)$/;

/** The end next to zero of a number's range: 4 of 4 to 7, -4 of -7 to -4. @param {bigint} number */
function nearEnd(number) {
	const size = number < 0n ? -number : number;
	return size === 0n ? 0n : (1n << BigInt(size.toString(2).length - 1)) * (number < 0n ? -1n : 1n);
}

/** The range that follows. @param {bigint} near */
function next(near) {
	return near === 0n ? 1n : near > 0n ? 2n * near : near === -1n ? 0n : near / 2n;
}

/** "4 .. 7", from the smaller number to the larger. @param {bigint} near */
function rangeText(near) {
	const far = near < 0n ? 2n * near + 1n : 2n * near - 1n;
	return near === 0n || near === far ? String(near) : near < 0n ? `${far} .. ${near}` : `${near} .. ${far}`;
}

/** A number, or a range of rare ones: its range; null if the text is neither. @param {string} text */
function rangeOf(text) {
	const [, first] = /^(-?\d+)(?: \.\. -?\d+)?$/.exec(text) ?? [];
	return first === undefined ? null : nearEnd(BigInt(first));
}

/**
 * The sums of a key's values by range, without gaps from the smallest to the largest, then those of values that are unknown or of which there are
 * too many; null if the values are not numbers.
 * @param {Label[]} values @param {{ weight: ArrayLike<number>, samples: ArrayLike<number> }} sums of the values @param {string} key @returns {Bar[] | null}
 */
export function histogramOf(values, sums, key) {
	/** @type {Map<bigint, Bar>} */
	const ranges = new Map();
	/** @type {Bar[]} */
	const others = [];
	if (identity.test(key))
		return null;
	for (let i = 0; i < values.length; i++) {
		const { text } = values[i], weight = sums.weight[i], samples = sums.samples[i];
		if (values[i].key !== key || samples === 0)
			continue;
		const range = rangeOf(text);
		if (range === null && !/^[<[]/.test(text))
			return null;
		if (range === null) {
			others.push({ text, weight, samples });
			continue;
		}
		const bar = ranges.get(range) ?? { text: rangeText(range), weight: 0, samples: 0 };
		bar.weight += weight;
		bar.samples += samples;
		ranges.set(range, bar);
	}
	if (ranges.size === 0)
		return null;
	const found = [...ranges.keys()].sort((a, b) => a < b ? -1 : a > b ? 1 : 0), last = found[found.length - 1];
	/** @type {Bar[]} */
	const bars = [];
	for (let range = found[0]; range <= last; range = next(range))
		bars.push(ranges.get(range) ?? { text: rangeText(range), weight: 0, samples: 0 });
	return [...bars, ...others];
}
