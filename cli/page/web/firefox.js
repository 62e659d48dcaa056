// The page of `stackreel view --firefox`: hands a profile to a window of profiler.firefox.com.

import { unpack } from "./bytes.js";
import { byId } from "./dom.js";
import { download } from "./export.js";
import { formatPlural } from "./numbers.js";

const SITE = "https://profiler.firefox.com";
const ASK_EACH = 250; // ms
const ASK_FOR = 120e3; // ms: slow networks

// The site waits for a window that asks whether it is ready, since it cannot know who opened it. Its documentation and its program name these
// messages differently; it ignores the others.
const questions = ["ready:request", "is-ready"], answers = ["ready:response", "is-ready"];

/** @param {string} text */
function say(text) {
	byId("state").textContent = text;
}

/** Opens the site and gives it the profile once it answers. @param {unknown} profile */
function handOver(profile) {
	const site = window.open(`${SITE}/from-post-message/`);
	if (!site) {
		say("the browser blocked the window; allow this page to open windows");
		return;
	}
	const until = Date.now() + ASK_FOR;
	const asking = setInterval(() => {
		if (site.closed || Date.now() > until) {
			stop(site.closed ? "the window was closed" : "profiler.firefox.com does not answer");
			return;
		}
		for (const name of questions)
			site.postMessage({ name }, SITE);
	}, ASK_EACH);
	const listen = (/** @type {MessageEvent} */ event) => {
		if (event.source !== site || event.origin !== SITE || !answers.includes(event.data?.name))
			return;
		site.postMessage({ name: "inject-profile", profile }, SITE);
		stop("the other window has the profile");
	};
	/** @param {string} text */
	function stop(text) {
		clearInterval(asking);
		removeEventListener("message", listen);
		say(text);
	}
	addEventListener("message", listen);
	say("waiting for profiler.firefox.com …");
}

async function start() {
	const bytes = await unpack(/** @type {string} */ (byId("content").textContent).trim()), text = new TextDecoder().decode(bytes), profile = JSON.parse(text);
	byId("content").remove();
	const { meta, threads } = profile, samples = threads.reduce((/** @type {number} */ sum, /** @type {any} */ thread) => sum + thread.samples.length, 0);
	byId("title").textContent = meta.arguments || meta.product;
	byId("facts").textContent = `${formatPlural(samples, "sample")} of ${formatPlural(threads.length, "thread")} · ${meta.oscpu ?? ""}`;
	document.documentElement.dataset.theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
	byId("open").addEventListener("click", () => handOver(profile));
	byId("save").addEventListener("click", () => download("profile.json", text, "application/json"));
	for (const id of ["open", "save"])
		/** @type {HTMLButtonElement} */ (byId(id)).disabled = false;
	say("");
	document.documentElement.dataset.ready = "true";
}

start().catch((error) => {
	byId("problem").hidden = false;
	byId("problem").textContent = `This page cannot be shown: ${error.message}`;
	throw error;
});
