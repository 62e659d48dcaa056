// Short names of functions: without arguments of functions and templates, hashes and default parts. The full name is always one hover away.

const OPEN = "<([{", CLOSE = ">)]}";

/** Of a bracket at `at`, the place after its end; -1 if it has none. @param {string} text @param {number} at */
function afterBracket(text, at) {
	let depth = 0;
	for (let i = at; i < text.length; i++) {
		// "operator<", "->" and "<=" are no brackets.
		if (text[i] === ">" && text[i - 1] === "-")
			continue;
		if (OPEN.includes(text[i]))
			depth++;
		else if (CLOSE.includes(text[i]) && --depth === 0)
			return i + 1;
	}
	return -1;
}

const OPERATOR = /^operator(<=>|<<=|>>=|<<|>>|<=|>=|->\*?|<|>|\(\)|\[\])/;
// Rust's hash, "::h0123456789abcdef", and its "{{closure}}".
const RUST_HASH = /::h[0-9a-f]{16}$/;
const KNOWN = [
	[/std::(__cxx11::|__1::)?basic_string<char, std::(__1::)?char_traits<char>, std::(__1::)?allocator<char> ?>/g, "std::string"],
	[/std::__cxx11::/g, "std::"],
	[/std::__1::/g, "std::"],
	[/\(anonymous namespace\)::/g, ""],
	[/\{\{closure\}\}/g, "{closure}"],
	[/ \[clone [^\]]*\]/g, ""],
];

/**
 * Replaces what is in brackets of templates and arguments by "…"; "(anonymous class)", "{lambda}" and such stay recognizable.
 * @param {string} text
 */
function collapse(text) {
	let short = "", i = 0;
	while (i < text.length) {
		const operator = text.startsWith("operator", i) ? OPERATOR.exec(text.slice(i, i + 12)) : null;
		if (operator) {
			short += operator[0];
			i += operator[0].length;
			continue;
		}
		const c = text[i];
		if (c !== "<" && c !== "(" && c !== "{") {
			short += c;
			i++;
			continue;
		}
		const end = afterBracket(text, i);
		if (end < 0)
			return short + text.slice(i);
		const inside = text.slice(i + 1, end - 1);
		if (c === "(" && text[i - 1] === ".")
			short += text.slice(i, end); // a method of Go: main.(*Server).handle
		else if (c === "{")
			short += inside.startsWith("lambda") ? "{lambda}" : text.slice(i, end);
		else if (c === "<")
			short += i === 0 || text.startsWith("::", i - 2) ? rustType(inside) : inside.length > 2 ? "<…>" : text.slice(i, end);
		else if (end < text.length && text.startsWith("::", end))
			short += "{…}"; // a function's local class or lambda
		i = end;
	}
	return short;
}

/** "<alloc::vec::Vec<T> as core::ops::Drop>" is "Vec". @param {string} inside */
function rustType(inside) {
	const type = collapse(inside.split(" as ")[0]);
	return `<${type.slice(type.lastIndexOf("::") + 1).replace(/^:/, "")}>`;
}

/** Places of blanks outside of brackets. @param {string} text */
function blanks(text) {
	const found = [];
	for (let i = 0, depth = 0; i < text.length; i++) {
		depth += OPEN.includes(text[i]) ? 1 : CLOSE.includes(text[i]) ? -1 : 0;
		if (text[i] === " " && depth <= 0)
			found.push(i);
	}
	return found;
}

/** Drops what comes before the name: "void", "static int", "std::enable_if<…>::type". @param {string} text */
function dropResult(text) {
	for (const blank of blanks(text).reverse()) {
		const rest = text.slice(blank + 1), before = text.slice(Math.max(0, blank - 16), blank);
		if (!/(^|[ :])operator\S*$/.test(before))
			return /^[A-Za-z_~<{]/.test(rest) ? rest : text;
	}
	return text;
}

/** @param {string} full @returns {string} */
export function shortName(full) {
	let name = full.replace(RUST_HASH, "");
	// Addresses, marks, and names from the kernel or C.
	if (!/[<({:]/.test(name) || name.startsWith("["))
		return name;
	for (const [pattern, text] of /** @type {[RegExp, string][]} */ (KNOWN))
		name = name.replace(pattern, text);
	name = collapse(name).trim().replace(/ (const|volatile|&&?)$/, "");
	return dropResult(name) || full;
}

/** Without namespaces and classes: what follows the last "::" outside of brackets. @param {string} name @returns {string} */
export function innerName(name) {
	let start = 0;
	for (let i = 0, depth = 0; i < name.length - 2; i++) {
		depth += OPEN.includes(name[i]) ? 1 : CLOSE.includes(name[i]) ? -1 : 0;
		if (depth <= 0 && name[i] === ":" && name[i + 1] === ":")
			start = i + 2;
	}
	return name.slice(start);
}

/** Without folders; the kernel's text in memory is the kernel. @param {string} path */
export function baseName(path) {
	if (path === "[kernel.kallsyms]")
		return "[kernel]";
	const base = path.slice(path.lastIndexOf("/") + 1);
	return base || path;
}
