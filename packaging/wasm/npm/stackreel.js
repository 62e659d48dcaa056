#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// Runs stackreel on this machine's files: npx stackreel report a.reel
"use strict";
const { readFileSync } = require("fs"), { tmpdir } = require("os"), { join } = require("path");

require("./module.js")({
	thisProgram: "stackreel",
	arguments: process.argv.slice(2),
	wasmBinary: readFileSync(join(__dirname, "module.wasm")),
	preRun: ({ ENV }) => Object.assign(ENV, process.platform === "linux" ? {} : { TMPDIR: tmpdir() }, process.env),
});
