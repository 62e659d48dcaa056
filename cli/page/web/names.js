// Parts of names and paths, for little room.

const OPEN = "<([{", CLOSE = ">)]}";

// A function without a symbol: what distinguishes it is its address.
const ADDRESS = /^\S+(\+0x[0-9a-f]+)(?: \[fde\])?$/;
const PACKAGE = /^(?:[\w$]+\.)+(?=[\w$]+\.[\w$<>]+\()/;

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
