// A search: part of a name, in any case, or a regular expression between slashes.

/** @typedef {import("./capture.js").Functions} Functions */

/** @param {string} text @returns {{ test: (name: string) => boolean, problem: string } | null} null for an empty search */
export function parseSearch(text) {
	const wanted = text.trim();
	if (!wanted)
		return null;
	const expression = /^\/(.+)\/(i?)$/.exec(wanted);
	if (expression) {
		try {
			const pattern = new RegExp(expression[1], expression[2]);
			return { test: (name) => pattern.test(name), problem: "" };
		} catch {
			return { test: () => false, problem: "invalid expression" };
		}
	}
	const lower = wanted.toLowerCase();
	return { test: (name) => name.toLowerCase().includes(lower), problem: "" };
}

/** By function. @param {Functions} functions @param {{ test: (name: string) => boolean }} search @returns {Uint8Array} */
export function matchFunctions(functions, search) {
	const matches = new Uint8Array(functions.count);
	for (let i = 0; i < matches.length; i++)
		matches[i] = search.test(functions.name[i]) || search.test(functions.modules[functions.module[i]]) ? 1 : 0;
	return matches;
}
