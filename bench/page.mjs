// page.mjs PLAYWRIGHT CHROMIUM URL - prints how fast a page of `stackreel view` is: its first paint, and frames while wheel events zoom and pan.

import { createRequire } from "node:module";

const [playwright, executablePath, url] = process.argv.slice(2);
const { chromium } = createRequire(import.meta.url)(playwright);
// Chromium cannot sandbox as root, and the page is our own. There is no GPU.
const browser = await chromium.launch({ executablePath, args: ["--disable-gpu", "--no-sandbox"] });

async function open() {
	const page = await (await browser.newContext({ viewport: { width: 1280, height: 800 } })).newPage(), session = await page.context().newCDPSession(page);
	await session.send("Performance.enable", { timeDomain: "threadTicks" });
	await page.goto(url);
	await page.locator("html[data-ready]").waitFor({ timeout: 60000 });
	// The working time of the page's thread, in ms: the elapsed time depends on the machine's load.
	const worked = async () => (await session.send("Performance.getMetrics")).metrics.find((metric) => metric.name === "ThreadTime").value * 1000;
	return { page, worked };
}

const median = (numbers) => numbers.sort((a, b) => a - b)[numbers.length >> 1];

// Sends a wheel event in each frame.
async function frames({ page, worked }, selector, events) {
	const before = await worked(), times = await page.evaluate(([wanted, all]) => new Promise((resolve) => {
		const target = document.querySelector(wanted), place = target.getBoundingClientRect(), moments = [];
		requestAnimationFrame(function frame() {
			moments.push(performance.now());
			if (moments.length > all.length) {
				resolve(moments);
				return;
			}
			target.dispatchEvent(new WheelEvent("wheel", { clientX: place.left + place.width * 0.4, clientY: place.top + 40, bubbles: true, cancelable: true, ...all[moments.length - 1] }));
			requestAnimationFrame(frame);
		});
	}), [selector, events]);
	const lengths = times.slice(1).map((time, i) => time - times[i]), elapsed = times[times.length - 1] - times[0];
	return { rate: lengths.length * 1000 / elapsed, longest: Math.max(...lengths), work: (await worked() - before) / events.length };
}

const paints = [], work = [];
for (let i = 0; i < 5; i++) {
	const { page, worked } = await open();
	paints.push(await (await page.waitForFunction("performance.getEntriesByName('first-contentful-paint')[0]?.startTime")).jsonValue());
	work.push(await worked());
	await page.context().close();
}
console.log(`first paint: ${median(paints).toFixed(0)} ms (the page's thread works for ${median(work).toFixed(0)} ms; medians of 5)`);

const opened = await open();
await opened.page.waitForTimeout(1000);
const wheel = (count, event) => Array(count).fill(event);
const moves = { "zoom in": wheel(80, { deltaY: -50, ctrlKey: true }), pan: [...wheel(40, { deltaX: 40 }), ...wheel(40, { deltaX: -40 })], "zoom out": wheel(80, { deltaY: 50, ctrlKey: true }) };
for (const [name, selector] of [["timeline", ".tracks-right canvas"], ["flame graph", ".flame canvas"]]) {
	for (const [move, events] of Object.entries(moves)) {
		const { rate, longest, work: each } = await frames(opened, selector, events);
		console.log(`${name}, ${move}: ${rate.toFixed(1)} frames/s, the longest ${longest.toFixed(0)} ms; work per frame ${each.toFixed(1)} ms`);
	}
}
await browser.close();
