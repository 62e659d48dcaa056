// SPDX-License-Identifier: Apache-2.0
// Preloaded by test-wasm.sh: paths as node has them on Windows, whose drive C: is the parent of the current folder, C:\work.
// Folders are drives: a file cannot be renamed into another.
"use strict";
const fs = require("fs"), Module = require("module"), { win32 } = require("path");

const load = Module._load;
Module._load = (name, ...rest) => name === "path" ? win32 : load(name, ...rest);
Object.defineProperty(process, "platform", { value: "win32" });
process.cwd = () => "C:\\work";
const place = (path) => typeof path === "string" ? path.replaceAll("\\", "/").replace(/^c:/i, "..") : path;
for (const name of Object.keys(fs).filter((key) => key.endsWith("Sync"))) {
	const call = fs[name];
	fs[name] = (path, ...rest) => call(place(path), ...rest);
}
const rename = fs.renameSync;
fs.renameSync = (from, to) => {
	if (win32.dirname(from) !== win32.dirname(to))
		throw Object.assign(new Error(`EXDEV: ${from}, ${to}`), { code: "EXDEV", errno: -18 });
	rename(from, place(to));
};
