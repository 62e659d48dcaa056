// The selected stacks as files for other programs.

/** @typedef {import("./profile.js").Profile} Profile */

/** One line per stack, "a;b;c 10", by samples. @param {Profile} profile @returns {string} */
export function foldedOf(profile) {
	const { tree, selfSamples } = profile.summed, names = profile.capture.functions.name, lines = [];
	for (let i = 1; i < tree.count; i++) {
		if (selfSamples[i] > 0)
			lines.push(`${tree.path(i).map((of) => names[of].replace(/;/g, ":")).join(";")} ${selfSamples[i]}`);
	}
	return `${lines.sort().join("\n")}\n`;
}

/** For speedscope: a sampled profile, with stacks in the tree's order. @param {Profile} profile @returns {string} */
export function speedscopeOf(profile) {
	const { capture, isTime } = profile, { tree, self } = profile.summed, { functions } = capture;
	/** @type {Map<number, number>} */
	const numbers = new Map();
	/** @type {{ name: string, file?: string, line?: number }[]} */
	const frames = [];
	const frame = (/** @type {number} */ of) => {
		let number = numbers.get(of);
		if (number === undefined) {
			const [, file, line] = /^(.*):(\d+)$/.exec(profile.placeOf(of)) ?? [];
			numbers.set(of, number = frames.length);
			frames.push({ name: functions.name[of], ...file ? { file, line: Number(line) } : {} });
		}
		return number;
	};
	/** @type {number[][]} */
	const samples = [];
	const weights = [];
	for (let i = 1; i < tree.count; i++) {
		if (self[i] > 0) {
			samples.push(tree.path(i).map(frame));
			weights.push(self[i]);
		}
	}
	return JSON.stringify({
		$schema: "https://www.speedscope.app/file-format-schema.json", exporter: "stackreel", name: capture.header.file, shared: { frames },
		profiles: [{ type: "sampled", name: capture.events[profile.selection.event].name, unit: isTime ? "nanoseconds" : "none", startValue: 0, endValue: profile.weight, samples, weights }],
	});
}

/** @param {string} text */
export function xmlText(text) {
	return text.replace(/[^\x20-\x7e]/gu, (c) => {
		const code = /** @type {number} */ (c.codePointAt(0));
		// XML has no such characters (XML 1.0, 2.2).
		return code < 0x20 || code >= 0xd800 && code <= 0xdfff || code === 0xfffe || code === 0xffff ? "\ufffd" : `&#${code};`;
	}).replace(/&(?!#\d+;)/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;").replace(/"/g, "&quot;");
}

/**
 * @param {{ x: number, y: number, width: number, height: number, fill: string, foot: string, label: string, title: string }[]} boxes
 * @param {number} width @param {number} height @param {{ paper: string, ink: string }} colors @returns {string}
 */
export function svgOf(boxes, width, height, colors) {
	const parts = boxes.map(({ x, y, width: w, height: h, fill, foot, label, title }) =>
		`<g><title>${xmlText(title)}</title><rect x="${x.toFixed(2)}" y="${y}" width="${w.toFixed(2)}" height="${h}" fill="${xmlText(fill)}"/>` +
		`${foot ? `<rect x="${x.toFixed(2)}" y="${y + h - 2}" width="${w.toFixed(2)}" height="2" fill="${xmlText(foot)}"/>` : ""}` +
		`${label ? `<text x="${(x + 4).toFixed(2)}" y="${y + h - 5}">${xmlText(label)}</text>` : ""}</g>`);
	return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" font-family="system-ui, sans-serif" font-size="12" fill="${colors.ink}">\n` +
		`<rect width="100%" height="100%" fill="${colors.paper}"/>\n${parts.join("\n")}\n</svg>\n`;
}

/** Gives the user a file. @param {string} name @param {string} text @param {string} type */
export function download(name, text, type) {
	const url = URL.createObjectURL(new Blob([text], { type })), link = document.createElement("a");
	link.href = url;
	link.download = name;
	link.click();
	setTimeout(() => URL.revokeObjectURL(url), 10000);
}
