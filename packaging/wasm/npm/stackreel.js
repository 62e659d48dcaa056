#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// Runs stackreel on this machine's files: npx stackreel report a.reel
"use strict";
const { existsSync, readFileSync } = require("fs"), { tmpdir } = require("os"), { dirname, join } = require("path");
// Windows takes both separators in paths. stackreel knows one, and makes a new file first beside its last place, on the same drive.
const withSlashes = (path) => existsSync(dirname(path)) ? path.replaceAll("\\", "/") : path;
const argument = (text) => process.platform === "win32" ? text.replace(/^(--[a-z-]+=)?(.*)$/s, (_, option = "", value) => option + withSlashes(value)) : text;

require("./module.js")({
	thisProgram: "stackreel",
	arguments: process.argv.slice(2).map(argument),
	wasmBinary: readFileSync(join(__dirname, "module.wasm")),
	preRun: ({ ENV }) => Object.assign(ENV, process.platform === "linux" ? {} : { TMPDIR: tmpdir() }, process.env),
});
