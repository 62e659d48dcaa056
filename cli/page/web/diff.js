// Changes between captures, from the content that cli/page/page_diff.c wrote. All numbers are `stackreel diff`'s: nothing is judged here.

import { Tree } from "./tree.js";

const SURE = 1, TESTED = 2;

/** @typedef {import("./bytes.js").Columns} Columns */
/** @typedef {import("./capture.js").Functions} Functions */
/** @typedef {{ old: Float64Array, new: Float64Array, half: Float64Array, flags: Uint8Array }} Changes values of both sides, in the unit; half of the interval of 95 % */
/** @typedef {"new" | "old" | "both"} Width */
/** @typedef {{ file: string, captures: number, all: number }} Side */
/**
 * @typedef {{
 *   sides: { old: Side, new: Side }, unit: string, limit: string, method: string[], first: number, remarks: string[], self: Changes, total: Changes, tree: Tree, paths: Changes, values: Float64Array[],
 * }} Diff `first`: the number of the first function; these have their own, since clones of functions are together here; `values`: those that the test is based on, see valuesOf
 */

/** @param {Columns} columns @param {string} name @param {number} step @returns {Changes} */
function readChanges(columns, name, step) {
	const values = (/** @type {string} */ which) => columns.large(name + which).map((value) => value * step);
	return { old: values("Old"), new: values("New"), half: values("Half"), flags: columns.small(`${name}Flags`) };
}

/** Parts of a column, one after the other. @param {Float64Array} all @param {ArrayLike<number>} sizes */
function split(all, sizes) {
	let at = 0;
	return Array.from(sizes, (size) => all.subarray(at, at += size));
}

/** Adds the functions. @param {any} header @param {Columns} columns @param {string[]} strings @param {Functions} functions @returns {Diff} */
export function readDiff(header, columns, strings, functions) {
	const first = functions.count;
	const { name, short } = columns.names("diff", strings), module = columns.differences("diffModule"), kind = columns.small("diffKind");
	for (let i = 0; i < name.length; i++) {
		const path = strings[module[i]], known = functions.modules.indexOf(path);
		functions.add(name[i], known < 0 ? functions.modules.push(path) - 1 : known, kind[i], short[i]);
	}
	const depth = columns.numbers("diffDepth"), of = columns.differences("diffFunction"), tree = new Tree(depth.length + 1), path = [0];
	for (let i = 0; i < depth.length; i++)
		path[depth[i]] = tree.add(path[depth[i] - 1], first + of[i]);
	const values = split(columns.large("diffValue").map((value) => value * header.step), columns.numbers("diffValues"));
	return {
		values, sides: { old: header.old, new: header.new }, unit: header.unit, limit: header.limit, method: header.method, first,
		remarks: Array.from(columns.differences("diffRemark"), (remark) => strings[remark].trim()),
		self: readChanges(columns, "diffSelf", header.step), total: readChanges(columns, "diffTotal", header.step), tree: tree.finish(), paths: readChanges(columns, "diffPath", header.step),
	};
}

/** The tree with one of the widths: of the new side, the old one, or the mean of both. @param {Diff} diff @param {Width} width @returns {import("./profile.js").SummedTree} */
export function widthsOf(diff, width) {
	const { tree, paths, sides } = diff, total = new Float64Array(tree.count), self = new Float64Array(tree.count);
	const value = (/** @type {number} */ before, /** @type {number} */ after) => width === "new" ? after : width === "old" ? before : (before + after) / 2;
	total[0] = value(sides.old.all, sides.new.all);
	for (let i = 1; i < tree.count; i++)
		total[i] = value(paths.old[i - 1], paths.new[i - 1]);
	return { tree, self, selfSamples: self, total, totalSamples: self };
}

/** @param {Changes} changes @param {number} i */
export function changeAt(changes, i) {
	const before = changes.old[i], after = changes.new[i], half = changes.half[i], by = after - before;
	return {
		before, after, by, low: by - half, high: by + half, isSure: (changes.flags[i] & SURE) !== 0, isTested: (changes.flags[i] & TESTED) !== 0,
		/** Of the larger side: from -1 (gone) to 1 (new). */
		part: by / Math.max(before, after, 1e-300),
	};
}

/** Sorted values of a function in blocks of time or captures; none if it has not changed significantly. @param {Diff} diff @param {number} i @param {"self" | "total"} part */
export function valuesOf(diff, i, part) {
	const at = i * 4 + (part === "self" ? 0 : 2);
	return { old: diff.values[at], new: diff.values[at + 1] };
}

/** @param {Float64Array} values sorted */
export function medianOf(values) {
	return (values[values.length - 1 >> 1] + values[values.length >> 1]) / 2;
}

/** @typedef {ReturnType<typeof changeAt>} Change */

/** For a node; the root does not change. @param {Diff} diff @param {number} node @returns {Change | null} */
export function changeOfNode(diff, node) {
	return node > 0 ? changeAt(diff.paths, node - 1) : null;
}

/** @param {Change} change */
export function verdict(change) {
	return change.isSure ? "significant" : change.isTested ? "not significant" : "too few samples";
}

/** "-1.23 %"; with a sign if it is a difference. @param {number} value @param {string} unit @param {boolean} [isSigned] */
export function formatValue(value, unit, isSigned = false) {
	return `${isSigned && value >= 0 ? "+" : ""}${value.toFixed(2).replace("-", "−")}${unit && ` ${unit}`}`;
}

/** As a share of the old value. @param {Change} change */
export function formatRelative(change) {
	return change.before <= 0 ? "new" : change.after <= 0 ? "gone" : `${change.by < 0 ? "−" : "+"}${(100 * Math.abs(change.by) / change.before).toFixed(1)} %`;
}

/** @param {Change} change @param {string} unit */
export function formatInterval(change, unit) {
	return `${formatValue(change.low, "", true)} … ${formatValue(change.high, unit, true)}`;
}

/** The weight of the outermost matching nodes. @param {import("./profile.js").SummedTree} summed @param {Uint8Array} matches by function */
export function matchedTotal(summed, matches) {
	const { tree, total } = summed, on = new Uint8Array(tree.count);
	let sum = 0;
	for (let i = 1; i < tree.count; i++) {
		on[i] = on[tree.parent[i]] | matches[tree.function[i]];
		if (on[i] && !on[tree.parent[i]])
			sum += total[i];
	}
	return sum;
}
