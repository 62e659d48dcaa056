// Short names of functions; the full name is always one hover away.

const OPEN = "<([{", CLOSE = ">)]}";

// As in cli/print/short_name.c, which says what each limit is for.
const DEPTH_MAX = 100, TEMPLATE_WIDTH_MAX = 20, TAG_MAX = 100;
const OPERATORS = ["<=>", "<<=", ">>=", "->*", "<<", ">>", "<=", ">=", "->", "()", "[]", "<", ">", ","];
const DEFAULTS = ["std::allocator<", "std::char_traits<", "std::less<", "std::hash<", "std::equal_to<", "std::default_delete<"];
const QUALIFIER = /^ (const(?![\w$\x80-\uffff])|volatile(?![\w$\x80-\uffff])|noexcept(?![\w$\x80-\uffff])|&&?(?![\w$\x80-\uffff]))/;
const RUST_HASH = /.::h[0-9a-f]{16}$/;
// "int java.util.List.add(java.lang.Object)"; hidden classes have an address.
const JAVA = /^(?:[\w$.<>[\]]+ )?([\w$.<>]+)(?:\/0x[0-9a-f]+(\.[\w$.<>]+))?\(([\w$.<>[\], ]*)\)$/;
// A function without a symbol: what distinguishes it is its address.
const ADDRESS = /^\S+(\+0x[0-9a-f]+)(?: \[fde\])?$/;
const PACKAGE = /^(?:[\w$]+\.)+(?=[\w$]+\.[\w$<>]+\()/;

/** @param {string | undefined} c */
const isWord = c => c !== undefined && (/^[\w$]/.test(c) || c >= "\x80");

/** @typedef {{ open: string, dropsPaths: boolean, path: number, argument: number, before: number }} Level what is between brackets, or (`open` is "") all */

/** The same as the C program's struct shortening: `out` has a character in each place. */
class Shortening {
	/** @param {string} text */
	constructor(text) {
		this.text = text;
		this.at = 0;
		/** @type {string[]} */
		this.out = [];
		this.name = 0;
		this.hasArguments = this.keepsResult = this.inConversion = this.tooDeep = false;
		this.operatorEnd = 0;
		this.depth = 0;
	}

	/** @param {string} text */
	comes(text) {
		return this.text.startsWith(text, this.at);
	}

	/** @param {string} text @param {number} [end] */
	endsWith(text, end = this.out.length) {
		for (let i = 1; i <= text.length; i++) {
			if (this.out[end - i] !== text[text.length - i])
				return false;
		}
		return true;
	}

	/** @param {string} text */
	put(text) {
		for (let i = 0; i < text.length; i++)
			this.out.push(/** @type {string} */ (text[i]));
	}

	/** @param {number} size */
	copy(size) {
		this.put(this.text.slice(this.at, this.at + size));
		this.at += size;
	}

	/** @param {string} open @param {boolean} dropsPaths @returns {Level} */
	level(open, dropsPaths) {
		return { open, dropsPaths, path: this.out.length, argument: this.out.length, before: 0 };
	}

	/** @param {Level} level */
	readOperator(level) {
		this.copy("operator".length);
		if (!level.open && this.text[this.at] === " ")
			this.inConversion = true;
		this.copy(OPERATORS.find(symbol => this.comes(symbol))?.length ?? 0);
		while (this.at < this.text.length && '+-*/%^&|~!="'.includes(/** @type {string} */ (this.text[this.at])))
			this.copy(1);
		this.operatorEnd = this.out.length;
	}

	/** @param {Level} level */
	readWord(level) {
		if (this.comes("operator") && !isWord(this.text[this.at + 8]))
			this.readOperator(level);
		else if (this.comes("__cxx11::") || (this.comes("__1::") && this.endsWith("std::")))
			this.at = this.text.indexOf("::", this.at) + 2;
		else {
			while (isWord(this.text[this.at]))
				this.copy(1);
		}
	}

	/** @param {Level} level */
	readColons(level) {
		if (level.dropsPaths && isWord(this.text[this.at + 2])) {
			this.out.length = level.path;
			this.at += 2;
		} else {
			this.copy(2);
		}
	}

	/** "std::basic_string<char>" is "std::string". @param {number} from */
	useAlias(from) {
		const inside = this.out.length - from;
		const wide = inside === 7 && this.endsWith("<wchar_t") ? "w" : "";
		if (!wide && !(inside === 4 && this.endsWith("<char")))
			return false;
		let word = from - 1;
		while (word && isWord(this.out[word - 1]))
			word--;
		if (from - 1 - word <= 6 || !this.endsWith("std::basic_", word + 6))
			return false;
		this.out.length = from - 1;
		this.out.splice(word, 6, ...wide);
		return true;
	}

	/** Drops a template argument that is the default of the one before. @param {Level} level */
	endArgument(level) {
		const out = this.out;
		while (out.length > level.argument && out[out.length - 1] === " ")
			out.length--;
		if (!level.before)
			return;
		for (const text of DEFAULTS) {
			if (out.length - level.argument >= text.length && this.endsWith(text, level.argument + text.length)) {
				out.length = level.before;
				return;
			}
		}
	}

	/** @param {Level} outer */
	readTemplate(outer) {
		const isRust = this.endsWith("::");
		this.copy(1);
		const from = this.out.length, level = this.level("<", outer.dropsPaths || isRust);
		if (!this.readLevel(level))
			return;
		this.endArgument(level);
		if (this.useAlias(from))
			return;
		let width = 0;
		for (let i = from; i < this.out.length; i++)
			width += /^[\udc00-\udfff]/.test(/** @type {string} */ (this.out[i])) ? 0 : 1;
		if (width > TEMPLATE_WIDTH_MAX) {
			this.out.length = from;
			this.put("…");
		}
		this.put(">");
	}

	/** @param {Level} outer */
	readAngle(outer) {
		const size = this.out.length, last = this.out[size - 1];
		const isOperator = this.operatorEnd && (size === this.operatorEnd || (size === this.operatorEnd + 1 && last === " "));
		if (isOperator || isWord(last) || last === "}" || (this.endsWith("::") && !this.comes("<impl "))) {
			this.readTemplate(outer);
			return;
		}
		// "<alloc::vec::Vec<T> as core::ops::drop::Drop>" is "<Vec<T> as Drop>".
		this.copy(1);
		if (this.readLevel(this.level("<", true)))
			this.put(">");
	}

	/** @param {Level} outer */
	readParentheses(outer) {
		const isLambda = outer.open === "{" && this.endsWith("{lambda"), isAnonymous = this.comes("(anonymous ");
		if (this.comes("(anonymous namespace)::")) {
			this.at += "(anonymous namespace)::".length;
			return;
		}
		this.copy(1);
		const from = this.out.length;
		if (!this.readLevel(this.level("(", outer.dropsPaths)))
			return;
		if (isLambda) {
			this.out.length = from - 1;
			return;
		}
		if (!isAnonymous && this.out.length > from) {
			this.out.length = from;
			this.put("…");
		}
		this.put(")");
		for (let match; (match = QUALIFIER.exec(this.text.slice(this.at, this.at + 12)));)
			this.at += match[0].length;
		if (!outer.open) {
			this.hasArguments = true;
			this.inConversion = false;
		}
	}

	readBraces() {
		if (this.comes("{{closure}}")) {
			this.put("{closure}");
			this.at += "{{closure}}".length;
			return;
		}
		this.copy(1);
		if (this.readLevel(this.level("{", false)))
			this.put("}");
	}

	/** The place of the bracket after what starts with `text`; -1 if this does not come. @param {string} text */
	tagEnd(text) {
		const end = this.comes(text) ? this.text.slice(this.at, this.at + TAG_MAX).indexOf("]") : -1;
		return end < 0 ? -1 : this.at + end;
	}

	/** @param {Level} level */
	readBlank(level) {
		const isOperator = this.operatorEnd && this.out.length === this.operatorEnd;
		const close = level.open ? -1 : this.tagEnd(" [clone .");
		if (close >= 0) {
			// " [clone .constprop.0]" is ".constprop".
			this.put(this.text.slice(this.at + " [clone ".length, close).replace(/\.[0-9]*(?=\.|$)/g, ""));
			this.at = close + 1;
			return;
		}
		if (!level.open && (this.endsWith(" to") || this.endsWith(" for")))
			this.keepsResult = true;
		this.copy(1);
		level.path = this.out.length;
		if (!level.open && !this.inConversion && !isOperator) {
			this.name = this.out.length;
			this.hasArguments = false;
		}
	}

	/** @param {Level} level */
	readComma(level) {
		if (level.open === "<")
			this.endArgument(level);
		level.before = this.out.length;
		this.copy(this.comes(", ") ? 2 : 1);
		level.argument = level.path = this.out.length;
	}

	/** @param {Level} level */
	readOne(level) {
		const c = /** @type {string} */ (this.text[this.at]), close = this.tagEnd("[abi:");
		if (isWord(c) && !isWord(this.text[this.at - 1]))
			this.readWord(level);
		else if (this.comes("::"))
			this.readColons(level);
		else if (c === "<")
			this.readAngle(level);
		else if (c === "(")
			this.readParentheses(level);
		else if (c === "{")
			this.readBraces();
		else if (c === " ")
			this.readBlank(level);
		else if (c === ",")
			this.readComma(level);
		else if (close >= 0)
			this.at = close + 1;
		else {
			this.copy(1);
			level.path = this.out.length;
		}
	}

	/** Closes this level, or one around it; ">" elsewhere compares. @param {Level} level */
	isEnd(level) {
		const c = this.text[this.at];
		return c === ">" ? level.open === "<" && this.text[this.at - 1] !== "-" : (c === ")" || c === "}") && level.open !== "";
	}

	/** Up to the level's end and its bracket, which is not written. False: it has none. @param {Level} level */
	readLevel(level) {
		let isClosed = false;
		if (++this.depth > DEPTH_MAX) {
			this.tooDeep = true;
			this.at = this.text.length;
		}
		while (this.at < this.text.length && !this.isEnd(level))
			this.readOne(level);
		if (this.at < this.text.length) {
			isClosed = OPEN.indexOf(level.open) === CLOSE.indexOf(/** @type {string} */ (this.text[this.at]));
			this.at += isClosed ? 1 : 0;
		}
		this.depth--;
		return isClosed;
	}
}

/** Names of Go, Java, JavaScript and others have dots, single colons or paths, and Python's a file and line at the end. @param {string} name */
function isForeign(name) {
	const start = (/^[^(<{[]*/.exec(name)?.[0] ?? "").replaceAll("::", "");
	return /[.;:]/.test(start) || name.replaceAll("operator/", "").includes("/") || name.startsWith("[") || /:\d+\)$/.test(name) || / \(deleted\)(\+0x.*)?$/.test(name);
}

/** Java's names, without the result, the arguments' types and addresses; "" for others. @param {string} full */
function javaName(full) {
	const [, start = "", end = "", types] = JAVA.exec(full) ?? [], name = start + end;
	return name.includes(".") ? `${name}(${types && "…"})` : "";
}

/** @param {string} full @returns {string} */
export function shortName(full) {
	const java = javaName(full);
	if (java)
		return java;
	const text = RUST_HASH.test(full) ? full.slice(0, -19) : full;
	if (isForeign(text) || !/::|[(<]/.test(full))
		return full;
	const shortening = new Shortening(text);
	shortening.readLevel(shortening.level("", false));
	const out = shortening.out, start = shortening.hasArguments && !shortening.keepsResult ? shortening.name : 0;
	return shortening.tooDeep || !out.length || out[start] === "(" ? full : out.slice(start).join("");
}

/** Without namespaces and classes: what follows the last "::" outside of brackets; without packages. @param {string} name @returns {string} */
export function innerName(name) {
	let start = 0;
	for (let i = 0, depth = 0; i < name.length - 2; i++) {
		depth += OPEN.includes(name[i]) ? 1 : CLOSE.includes(name[i]) ? -1 : 0;
		if (depth <= 0 && name[i] === ":" && name[i + 1] === ":")
			start = i + 2;
	}
	return name.slice(start).replace(PACKAGE, "").replace(ADDRESS, "$1");
}

/** Without folders; the kernel's text in memory is the kernel. @param {string} path */
export function baseName(path) {
	if (path === "[kernel.kallsyms]")
		return "[kernel]";
	const base = path.slice(path.lastIndexOf("/") + 1);
	return base || path;
}
