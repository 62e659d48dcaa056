// Starts the page.

import { App } from "./app.js";
import { unpack } from "./bytes.js";
import { readCapture } from "./capture.js";
import { byId } from "./dom.js";
import { Shell } from "./shell.js";

async function start() {
	const content = byId("content"), bytes = await unpack(/** @type {string} */ (content.textContent).trim());
	content.remove();
	const app = new App(readCapture(bytes));
	byId("page").hidden = false;
	const shell = new Shell(app);
	document.documentElement.dataset.ready = "true";
	// For the console, and tests.
	Object.assign(globalThis, { stackreel: { app, shell } });
}

start().catch((error) => {
	byId("problem").hidden = false;
	byId("problem").textContent = `This page cannot be shown: ${error.message}`;
	throw error;
});
