// The box with details of the item under the pointer.

import { el } from "./dom.js";

const box = el("div", { class: "tooltip", role: "tooltip", hidden: true });

/** @param {number} x @param {number} y @param {{ title: string, lines: [string, string][], note?: string }} content */
export function showTooltip(x, y, content) {
	if (!box.isConnected)
		document.body.append(box);
	box.replaceChildren(el("div", { class: "tooltip-title" }, content.title), el("dl", {}, ...content.lines.flatMap(([name, text]) => [el("dt", {}, name), el("dd", {}, text)])));
	if (content.note)
		box.append(el("div", { class: "tooltip-note" }, content.note));
	box.hidden = false;
	const { width, height } = box.getBoundingClientRect();
	box.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - width - 4))}px`;
	box.style.top = `${y + 18 + height > innerHeight ? Math.max(4, y - height - 10) : y + 18}px`;
}

export function hideTooltip() {
	box.hidden = true;
}
