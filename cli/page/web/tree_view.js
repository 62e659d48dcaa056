// The call tree, from the root or from the leaves, as a table.

import { el } from "./dom.js";
import { amountColumns, courseColumns, nameCell } from "./columns.js";
import { invertAll } from "./inverted.js";
import { actByKey, showMenu } from "./menu.js";
import { baseName } from "./names.js";
import { VirtualTable } from "./virtual_table.js";

/** @typedef {import("./app.js").App} App */
/** @typedef {import("./profile.js").SummedTree} SummedTree */
/** @typedef {{ node: number, level: number, isOpen: boolean, isLeaf: boolean }} Row */

const FOUND_MAX = 30; // more paths that a search opens are not legible
const HOT_SHARE = 0.1; // of the selection: the hottest path, which is open at first, ends at callees with less

/** @param {App} app @param {() => void} onSelect @returns {import("./flame_view.js").View} */
export function treeView(app, onSelect) {
	/** @type {SummedTree} */
	let summed = app.profile.summed;
	let shown = /** @type {object | null} */ (null), shownInvert = false;
	let open = new Set([0]), openBefore = open;
	/** @type {Uint8Array | null} */
	let shownMatches = null;

	const children = (/** @type {number} */ node) => summed.tree.children(node).filter((child) => summed.total[child] > 0).sort((a, b) => summed.total[b] - summed.total[a] || a - b);

	function rows() {
		/** @type {Row[]} */
		const all = [];
		const add = (/** @type {number} */ parent, /** @type {number} */ level) => {
			for (const node of children(parent)) {
				const isLeaf = children(node).length === 0;
				all.push({ node, level, isOpen: open.has(node), isLeaf });
				if (open.has(node) && !isLeaf)
					add(node, level + 1);
			}
		};
		add(0, 0);
		return all;
	}

	/** @param {number} node @param {boolean} isOpen */
	function setOpen(node, isOpen) {
		if (isOpen)
			open.add(node);
		else
			open.delete(node);
		refresh(node);
	}

	/** @param {number} node that stays selected */
	function refresh(node) {
		const all = rows();
		table.show(all, all.findIndex((row) => row.node === node));
	}

	/** Opens the path of the heaviest callees, to where most is a function's own, and returns its end. */
	function openHottest() {
		for (let node = 0; ;) {
			const [first] = children(node);
			open.add(node);
			if (first === undefined || summed.total[first] < Math.max(summed.total[0] * HOT_SHARE, summed.self[node]))
				return node;
			node = first;
		}
	}

	/** Opens the paths to the found functions with most weight, and returns the first one's node. @param {Uint8Array} matches */
	function openFound(matches) {
		const { tree, total } = summed, found = [];
		for (let node = 1; node < tree.count; node++) {
			if (total[node] > 0 && matches[tree.function[node]])
				found.push(node);
		}
		found.sort((a, b) => total[b] - total[a] || a - b);
		for (const start of found.slice(0, FOUND_MAX)) {
			for (let node = tree.parent[start]; node > 0; node = tree.parent[node])
				open.add(node);
		}
		return found[0] ?? -1;
	}

	/** What a search opens is closed again after it. @param {number} [chosen] */
	function search(chosen = -1) {
		open = new Set(openBefore);
		const best = app.matches ? openFound(app.matches) : chosen, all = rows();
		shownMatches = app.matches;
		table.show(all, all.length ? 0 : -1);
		if (best > 0) {
			table.select(all.findIndex((row) => row.node === best));
			table.revealBelow();
		}
	}

	/** @param {number} node @param {number} depth */
	function openAll(node, depth) {
		open.add(node);
		if (depth < 60 && open.size < 20000) {
			for (const child of children(node))
				openAll(child, depth + 1);
		}
	}

	const subject = (/** @type {Row} */ row) => ({ of: summed.tree.function[row.node], summed, node: row.node, path: app.state.invert ? null : summed.tree.path(row.node) });

	/** @param {KeyboardEvent} event @param {Row} row */
	function key(event, row) {
		if (event.key === "ArrowRight" && !row.isLeaf && !row.isOpen)
			setOpen(row.node, true);
		else if (event.key === "ArrowRight")
			table.select(table.selected + (row.isLeaf ? 0 : 1));
		else if (event.key === "ArrowLeft" && row.isOpen && !row.isLeaf)
			setOpen(row.node, false);
		else if (event.key === "ArrowLeft")
			table.select(table.rows.findIndex((other) => other.node === summed.tree.parent[row.node]));
		else if (event.key === "*")
			openAll(row.node, 0), refresh(row.node);
		else
			return actByKey(app, subject(row), event);
		return true;
	}

	/** @param {Row} row */
	function courseOf(row) {
		const { courses } = app.profile;
		return shownInvert ? courses.ofEnd(summed.tree.path(row.node)) : courses.of([row.node]);
	}

	/** @param {Row} row */
	function cell(row) {
		const of = summed.tree.function[row.node], inside = el("span", { class: "tree-name" });
		inside.style.paddingLeft = `${Math.min(row.level, 40) * 14}px`;
		inside.append(el("span", { class: "twisty", onclick: () => setOpen(row.node, !row.isOpen) }, row.isLeaf ? "" : row.isOpen ? "▾" : "▸"), nameCell(app, of));
		const { functions } = app.capture, kind = functions.kindWord(of), module = baseName(functions.modules[functions.module[of]]);
		inside.append(el("span", { class: "module" }, [kind, module].filter(Boolean).join(" · ")));
		return inside;
	}

	/** @type {VirtualTable<Row>} */
	const table = new VirtualTable({
		label: "Call tree", tree: true,
		columns: [...amountColumns(app, (/** @type {Row} */ row) => ({ self: summed.self[row.node], total: summed.total[row.node], samples: summed.totalSamples[row.node] })),
			...courseColumns(app, (/** @type {Row} */ row) => shownInvert ? -row.node : row.node, courseOf), { name: "Function", text: () => "", cell }],
		onSelect: () => onSelect(), onOpen: (row) => setOpen(row.node, !row.isOpen), onKey: key, onMenu: (row, x, y) => showMenu(app, subject(row), x, y),
		rowAttributes: (row) => ({ "aria-level": String(row.level + 1), ...row.isLeaf ? {} : { "aria-expanded": String(row.isOpen) } }),
	});

	return {
		element: el("div", { class: "view" }, table.element),
		focus: () => table.element.focus(),
		selected: () => table.rows[table.selected] ? { summed, node: table.rows[table.selected].node } : null,
		show: () => {
			const isSearch = shownMatches !== app.matches;
			if (shown === app.profile && shownInvert === app.state.invert) {
				if (isSearch && !shownMatches)
					openBefore = open;
				if (isSearch)
					search();
				else
					table.draw();
				return;
			}
			const kept = [...open].map((node) => summed.tree.path(node)), isSame = shown !== null && shownInvert === app.state.invert;
			summed = app.state.invert ? invertAll(app.profile.summed) : app.profile.summed;
			shown = app.profile;
			shownInvert = app.state.invert;
			open = new Set(isSame ? kept.map((path) => summed.tree.find(path)).filter((node) => node >= 0) : [0]);
			if (!isSame)
				table.element.scrollTop = 0;
			const hottest = isSame || app.state.invert ? -1 : openHottest();
			openBefore = open;
			search(hottest);
		},
	};
}
