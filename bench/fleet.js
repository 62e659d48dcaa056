// SPDX-License-Identifier: Apache-2.0
// Asks DuckDB questions on two CPUs: node fleet.js FOLDER SETUP QUERY...
// Prints for each file of a query: CPU and wall seconds, the rows of its answer, and the process's peak memory so far.
const { DuckDBInstance } = require("@duckdb/node-api");
const { readFileSync } = require("fs");

const [folder, ...files] = process.argv.slice(2);
const [setup, ...queries] = files.map((file) => [file, readFileSync(file, "utf8")]);
process.chdir(folder);
(async () => {
	const connection = await (await DuckDBInstance.create(":memory:")).connect();
	await connection.run("SET threads = 2");
	await connection.run(setup[1]);
	for (const [file, query] of queries) {
		const before = process.cpuUsage(), begin = Date.now();
		const rows = (await connection.runAndReadAll(query)).currentRowCount;
		const wall = (Date.now() - begin) / 1000, { user, system } = process.cpuUsage(before);
		const cpu = (user + system) / 1e6, memory = process.resourceUsage().maxRSS / 1024;
		console.log(`${file.padEnd(15)} ${cpu.toFixed(2)} s of CPU, ${wall.toFixed(2)} s, ${rows} rows, ${Math.round(memory)} MB`);
	}
})();
