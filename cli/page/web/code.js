// Source code and instructions with samples, from the content that cli/page/page_code.c wrote; and a function's lines with it.

/** @typedef {import("./lines.js").Line} Line */
/** @typedef {{ files: Map<string, Map<number, string>>, remarks: Map<string, string>, omitted: number }} Code texts by path and line */
/** @typedef {{ address: string, text: string, weight: number, file: string, line: number }} Instruction */
/** @typedef {{ whole: number, omitted: number, listings: Map<string, Instruction[]> }} Instructions of the first event and the whole capture; listings by listingKey */
/** @typedef {{ file: string, line: number, text: string, own: Line | null }} CodeRow `line` 0: the file itself, -1: lines that are left out; `own`: the amounts of a line with samples */

const AROUND = 8; // as page_code.c has

/** @param {any} header @param {import("./bytes.js").Columns} columns @param {string[]} strings @returns {Code} */
export function readCode(header, columns, strings) {
	const file = columns.differences("codeFile"), line = columns.differences("codeLine"), text = columns.differences("codeText"), files = new Map();
	for (let i = 0; i < file.length; i++) {
		const path = strings[file[i]];
		if (!files.has(path))
			files.set(path, new Map());
		files.get(path).set(line[i], strings[text[i]]);
	}
	return { files, remarks: new Map(header.remarks), omitted: header.omitted };
}

/** @param {string} name @param {string} module */
export function listingKey(name, module) {
	return `${module}\n${name}`;
}

/** @param {any} header @param {import("./bytes.js").Columns} columns @param {string[]} strings @returns {Instructions} */
export function readInstructions(header, columns, strings) {
	const name = columns.differences("listingName"), module = columns.differences("listingModule"), rows = columns.numbers("listingRows"), begin = columns.differences("listingBegin"), listings = new Map();
	const offset = columns.largeDifferences("rowOffset"), text = columns.differences("rowText"), weight = columns.large("rowWeight"), file = columns.differences("rowFile"), line = columns.differences("rowLine");
	for (let i = 0, at = 0; i < rows.length; i++) {
		const key = listingKey(strings[name[i]], strings[module[i]]), listing = listings.get(key) ?? [], start = BigInt(`0x${strings[begin[i]]}`);
		for (const end = at + rows[i]; at < end; at++)
			listing.push({ address: (start + BigInt(offset[at])).toString(16), text: strings[text[at]], weight: weight[at], file: strings[file[at]], line: line[at] });
		listings.set(key, listing);
	}
	return { ...header, listings };
}

/** Functions of which the page has code, those with the most on a line first. @param {Code} code @param {Line[]} lines */
export function functionsWithCode(code, lines) {
	return new Set(lines.filter(({ file, line }) => code.files.get(file)?.has(line)).sort((a, b) => b.total - a.total).map((line) => line.function));
}

/** A function's lines in their files, the file with the most samples first, with the code around them. @param {Code} code @param {Line[]} lines of one function @returns {CodeRow[]} */
export function codeRows(code, lines) {
	/** @type {Map<string, Map<number, Line>>} */
	const byFile = new Map();
	for (const line of lines) {
		if (!byFile.has(line.file))
			byFile.set(line.file, new Map());
		/** @type {Map<number, Line>} */ (byFile.get(line.file)).set(line.line, line);
	}
	const weight = (/** @type {Map<number, Line>} */ own) => [...own.values()].reduce((sum, line) => sum + line.total, 0);
	/** @type {CodeRow[]} */
	const rows = [];
	for (const [file, own] of [...byFile].sort((a, b) => weight(b[1]) - weight(a[1]))) {
		const texts = code.files.get(file), shown = new Set(own.keys()), remark = code.remarks.get(file);
		for (const line of own.keys()) {
			for (let near = line - AROUND; texts && near <= line + AROUND; near++) {
				if (texts.has(near))
					shown.add(near);
			}
		}
		rows.push({ file, line: 0, text: remark ? `${file} (${remark})` : file, own: null });
		let last = 0;
		for (const line of [...shown].sort((a, b) => a - b)) {
			if (last && line > last + 1)
				rows.push({ file, line: -1, text: "", own: null });
			rows.push({ file, line, text: texts?.get(line) ?? "", own: own.get(line) ?? null });
			last = line;
		}
	}
	return rows;
}
