// Actions on a function or a node of a tree, as a menu and as keys.

import { el } from "./dom.js";
import { stackText } from "./details.js";
import { hideTooltip } from "./tooltip.js";

/** @typedef {import("./app.js").App} App */
/** @typedef {import("./profile.js").SummedTree} SummedTree */
/** @typedef {{ of: number, summed?: SummedTree, node?: number, path?: number[] | null }} Subject `path`: from the root, if the node is one of the profile's own tree */
/** @typedef {{ key: string, words: string, act: (app: App, subject: Subject) => void, applies?: (app: App, subject: Subject) => boolean }} Action */

/** @param {string} text */
function copy(text) {
	const copied = navigator.clipboard?.writeText(text);
	(copied ?? Promise.reject()).catch(() => {
		// Pages of file: URLs may not have a clipboard.
		const area = el("textarea", { value: text, class: "copied" });
		document.body.append(area);
		area.select();
		document.execCommand("copy");
		area.remove();
	});
}

/** @type {Action[]} */
export const actions = [
	{ key: "f", words: "Focus on this function", act: (app, { of }) => app.addTransform({ kind: "focus", of }) },
	{ key: "F", words: "Focus on this subtree only", act: (app, { path }) => path && app.addTransform({ kind: "subtree", path }), applies: (_, { path }) => Boolean(path) },
	{ key: "m", words: "Merge into its callers", act: (app, { of }) => app.addTransform({ kind: "merge", of }) },
	{ key: "r", words: "Collapse recursion", act: (app, { of }) => app.addTransform({ kind: "recursion", of }) },
	{
		key: "l", words: "Collapse its library", act: (app, { of }) => app.addTransform({ kind: "library", of: app.capture.functions.module[of] }),
		applies: (app, { of }) => app.capture.functions.modules[app.capture.functions.module[of]] !== "",
	},
	{ key: "x", words: "Hide stacks with this function", act: (app, { of }) => app.addTransform({ kind: "drop", of }) },
	{ key: "c", words: "Show callers and callees", act: (app, { of }) => app.update({ of, tab: "sandwich" }) },
	{ key: "o", words: "Show source code", act: (app, { of }) => app.update({ of, tab: "source" }), applies: (app) => app.capture.code !== null },
	{ key: "n", words: "Copy the name", act: (app, { of }) => copy(app.capture.functions.name[of]) },
	{ key: "y", words: "Copy the stack", act: (app, { summed, node }) => copy(stackText(app, /** @type {SummedTree} */ (summed), /** @type {number} */ (node))), applies: (_, { summed }) => Boolean(summed) },
];

/** @type {HTMLElement | null} */
let shown = null;

export function hideMenu() {
	shown?.remove();
	shown = null;
}

/** @param {App} app @param {Subject} subject @param {number} x @param {number} y */
export function showMenu(app, subject, x, y) {
	const back = /** @type {HTMLElement | null} */ (document.activeElement);
	hideMenu();
	hideTooltip();
	const items = actions.filter((action) => action.applies?.(app, subject) ?? true).map((action) => el("button", {
		type: "button", role: "menuitem",
		onclick: () => {
			hideMenu();
			back?.focus();
			action.act(app, subject);
		},
	}, el("span", {}, action.words), el("kbd", {}, action.key)));
	const menu = el("div", {
		class: "menu", role: "menu",
		onkeydown: (/** @type {KeyboardEvent} */ event) => {
			const at = items.indexOf(/** @type {HTMLButtonElement} */ (document.activeElement));
			if (event.key === "Escape") {
				hideMenu();
				back?.focus();
			} else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
				items[(at + (event.key === "ArrowDown" ? 1 : items.length - 1)) % items.length].focus();
				event.preventDefault();
			}
			event.stopPropagation();
		},
	}, el("div", { class: "menu-title" }, app.capture.functions.short[subject.of]), ...items);
	shown = menu;
	document.body.append(menu);
	const { width, height } = menu.getBoundingClientRect();
	menu.style.left = `${Math.max(4, Math.min(x, innerWidth - width - 4))}px`;
	menu.style.top = `${Math.max(4, Math.min(y, innerHeight - height - 4))}px`;
	items[0].focus();
}

addEventListener("pointerdown", (event) => {
	if (shown && !shown.contains(/** @type {Node} */ (event.target)))
		hideMenu();
});

/** @param {App} app @param {Subject} subject @param {KeyboardEvent} event @returns {boolean} whether the key was an action's */
export function actByKey(app, subject, event) {
	const action = actions.find(({ key }) => key === event.key);
	if (!action || event.ctrlKey || event.metaKey || event.altKey || !(action.applies?.(app, subject) ?? true))
		return false;
	action.act(app, subject);
	return true;
}
