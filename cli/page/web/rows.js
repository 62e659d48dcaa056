// Boxes in rows, by depth: of a tree, widest first; of a thread, in order of time. Within a row, boxes are in order and do not overlap.

/** @typedef {import("./profile.js").SummedTree} SummedTree */
/** @typedef {{ x: Float64Array, end: Float64Array, node: Int32Array, count: number }} Row */

class RowMaker {
	constructor() {
		/** @type {number[]} */
		this.x = [];
		/** @type {number[]} */
		this.end = [];
		/** @type {number[]} */
		this.node = [];
		/** Boxes whose thread runs at some time in them. @type {boolean[]} */
		this.runs = [];
	}

	/** @param {number} x @param {number} end @param {number} node @param {boolean} [runs] */
	add(x, end, node, runs = true) {
		this.x.push(x);
		this.runs.push(runs);
		this.end.push(end);
		this.node.push(node);
	}

	/** @returns {Row} */
	finish() {
		return { x: Float64Array.from(this.x), end: Float64Array.from(this.end), node: Int32Array.from(this.node), count: this.x.length };
	}
}

/** The root is row 0, from 0 to its total. @param {SummedTree} summed @returns {Row[]} */
export function rowsOfTree(summed) {
	const { tree, total } = summed, x = new Float64Array(tree.count), depth = new Int32Array(tree.count);
	/** @type {RowMaker[]} */
	const rows = [new RowMaker()];
	rows[0].add(0, total[0], 0);
	/** @type {number[]} */
	const left = [0];
	while (left.length) {
		const node = /** @type {number} */ (left.pop());
		const children = tree.children(node).filter((child) => total[child] > 0);
		children.sort((a, b) => total[b] - total[a] || tree.function[a] - tree.function[b]);
		let at = x[node];
		for (const child of children) {
			x[child] = at;
			at += total[child];
			depth[child] = depth[node] + 1;
		}
		// The stack gives the leftmost first, so that each row is in order.
		for (let i = children.length - 1; i >= 0; i--)
			left.push(children[i]);
		if (node > 0) {
			rows[depth[node]] ??= new RowMaker();
			rows[depth[node]].add(x[node], x[node] + total[node], node);
		}
	}
	return rows.map((row) => row.finish());
}

/**
 * Row 0 is empty. `gap`: neighbours at most that far apart are one box if their function and callers are the same. `inWait`: the node of a box in which the thread never runs.
 * @param {import("./tree.js").Tree} tree @param {import("./chart.js").Piece[]} pieces in order of time @param {number} gap @param {(node: number) => number} inWait @returns {Row[]}
 */
export function rowsOfTime(tree, pieces, gap, inWait) {
	/** @type {RowMaker[]} */
	const rows = [new RowMaker()];
	/** @type {number[]} */
	let last = [];
	let lastEnd = -Infinity;
	for (const piece of pieces) {
		const path = [];
		for (let node = piece.node; node > 0; node = tree.parent[node])
			path.push(node);
		path.reverse();
		const near = piece.from - lastEnd <= gap;
		let same = 0;
		while (near && same < path.length && same < last.length && path[same] === last[same])
			same++;
		for (let i = 0; i < path.length; i++) {
			const row = rows[i + 1] ??= new RowMaker(), before = row.end.length - 1;
			if (i < same) {
				row.end[before] = piece.to;
				row.runs[before] ||= !piece.state;
			} else {
				row.add(piece.from, piece.to, path[i], !piece.state);
			}
		}
		last = path;
		lastEnd = piece.to;
	}
	for (const row of rows)
		row.node = row.node.map((node, i) => row.runs[i] ? node : inWait(node));
	return rows.map((row) => row.finish());
}

/** The box at x; -1 if there is none. @param {Row | undefined} row @param {number} x @returns {number} */
export function boxAt(row, x) {
	if (!row)
		return -1;
	const at = firstBox(row, x);
	return at < row.count && row.x[at] <= x ? at : -1;
}

/** The first box that ends after x. @param {Row} row @param {number} x @returns {number} */
export function firstBox(row, x) {
	let first = 0, end = row.count;
	while (first < end) {
		const middle = first + end >> 1;
		if (row.end[middle] <= x)
			first = middle + 1;
		else
			end = middle;
	}
	return first;
}
