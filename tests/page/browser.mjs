// Chromium and counted checks, for page.mjs and drop.mjs.

import { createRequire } from "node:module";

let passed = 0, failed = 0;

export function ok(name, condition, why) {
	if (condition) {
		passed++;
	} else {
		failed++;
		console.log(`FAILED: ${name}${why === undefined ? "" : `: ${why}`}`);
	}
}

// Chromium cannot sandbox as root, and these pages are our own. There is no GPU.
export function launch(playwright, executablePath) {
	return createRequire(import.meta.url)(playwright).chromium.launch({ executablePath, args: ["--disable-gpu", "--no-sandbox"] });
}

/** An empty page, and a list that gets its errors and warnings. */
export async function newPage(browser, options) {
	const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, acceptDownloads: true, ...options }), page = await context.newPage();
	const problems = [];
	page.on("console", (message) => ["error", "warning"].includes(message.type()) && problems.push(message.text()));
	page.on("pageerror", (error) => problems.push(error.stack));
	return { context, page, problems };
}

export async function finish(browser) {
	await browser.close();
	console.log(`${passed} passed, ${failed} failed, 0 skipped`);
	process.exit(failed ? 1 : 0);
}
