// flamegraph_page.mjs FOLDER PLAYWRIGHT CHROMIUM [SHOTS] - opens the pages in FOLDER in a browser, and uses them like a person.
// tests/export/test-flamegraph-page.sh makes them, and expected.json: shares as printed by `stackreel report`. Screenshots are written to SHOTS.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [folder, playwright, executablePath, shots] = process.argv.slice(2);
const { chromium } = createRequire(import.meta.url)(playwright);
const expected = JSON.parse(readFileSync(`${folder}/expected.json`, "utf8"));
let passed = 0, failed = 0;

function ok(name, condition, why) {
	if (condition) {
		passed++;
	} else {
		failed++;
		console.log(`FAILED: ${name}${why === undefined ? "" : `: ${why}`}`);
	}
}

// speedscope draws with WebGL, which has no GPU here. Chromium cannot sandbox as root, and these pages are our own.
const browser = await chromium.launch({ executablePath, args: ["--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--no-sandbox"] });

// Opens a page, and records events that must not happen; `prepare` is called first.
async function open(name, prepare = () => undefined) {
	const page = await browser.newPage({ viewport: { width: 1280, height: 720 } }), problems = [], url = pathToFileURL(`${folder}/${name}`).href;
	page.on("console", (message) => ["error", "warning"].includes(message.type()) && problems.push(message.text()));
	page.on("pageerror", (error) => problems.push(error.message));
	page.on("request", (request) => request.url() !== url && problems.push(`asks for ${request.url().slice(0, 80)}`));
	const before = await prepare(page), start = Date.now();
	await page.goto(url);
	return { page, problems, before, start, view: page.frameLocator("#view") };
}

// speedscope has drawn: it shows the profile's name.
async function drawn(opened, text) {
	await opened.view.getByText(text).first().waitFor({ timeout: 20000 });
	await opened.page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
	return Date.now() - opened.start;
}

async function close(name, opened) {
	ok(`${name}: no errors, and nothing is fetched`, opened.problems.length === 0, opened.problems.join("; "));
	ok(`${name}: no complaint`, await opened.page.locator("#problem").isHidden());
	await opened.page.close();
}

async function settled(page) {
	await page.waitForTimeout(400);
	return (await page.locator("#view:visible, #chart:visible").screenshot()).toString("base64");
}

async function shoot(page, name, height) {
	if (shots)
		await page.screenshot({ path: `${shots}/${name}.png`, clip: { x: 0, y: 0, width: 1280, height } });
}

// ---- a capture ----------------------------------------------------------------------------------

async function search(opened, text, share) {
	const field = opened.view.locator("input");
	for (let i = 0; i < 10 && !await field.isVisible(); i++) {
		await opened.page.keyboard.press("Control+f");
		await field.waitFor({ timeout: 1000 }).catch(() => {});
	}
	await field.focus();
	await opened.page.keyboard.press("Control+a");
	await opened.page.keyboard.type(text);
	// The last key may be on its way.
	await opened.page.locator("#matched", { hasText: share }).waitFor({ timeout: 2000 }).catch(() => {});
	return (await opened.page.locator("#matched").textContent()).replace("matched: ", "");
}

async function checkViews(opened) {
	const { page, view } = opened, time = await settled(page);
	await page.keyboard.press("2");
	const heavy = await settled(page);
	ok("key 2: left-heavy is a different view", heavy !== time);
	await page.keyboard.press("+");
	await page.keyboard.press("+");
	const zoomed = await settled(page);
	ok("+ zooms", zoomed !== heavy);
	await page.keyboard.press("0");
	ok("0 shows all", await settled(page) === heavy);
	const box = await page.locator("#view").boundingBox();
	let told = "";
	for (let y = 130; y < 400; y += 10) {
		await page.mouse.move(box.x + 300, box.y + y);
		await page.waitForTimeout(50);
		told += await view.locator("body").textContent();
	}
	ok("hovering shows share and source line", /45%\) shop::Checkout::tax\(double\) const \[inlined\].*orders\.cc:\d+/.test(told), told.slice(0, 400));
	await page.keyboard.press("1");
	await page.mouse.move(10, 10);
	ok("key 1: time order, as before", await settled(page) === time);
	await page.keyboard.press("3");
	await view.getByText(expected.name).first().waitFor();
	ok("key 3: a table of functions", true);
	const row = await view.locator("tr", { hasText: expected.name }).first().textContent();
	ok("its share is report's", row.includes(`${Math.round(parseFloat(expected.share))}%`) || row.includes(expected.share.replace(" ", "").slice(0, 4)), row);
	await view.getByText(expected.name).first().click();
	await view.getByText("Callers").first().waitFor();
	ok("a function's callers and callees", await view.getByText("Callees").count() > 0);
	await page.keyboard.press("1");
}

// Flame graph and icicle, which d3-flame-graph draws.
async function checkChart(opened) {
	const { page } = opened, box = (text) => page.locator("#chart g", { hasText: text }).first(), top = async (text) => (await box(text).boundingBox()).y;
	await page.locator("#look").selectOption("flame");
	await box("shop::walk").waitFor();
	ok("a flame graph has its root at the bottom", await top("_start") > await top("shop::walk"));
	for (const [text, share] of Object.entries(expected.searches)) {
		await page.locator("#search").fill(text);
		ok(`search for ${text} in a flame graph`, await page.locator("#matched").textContent() === `matched: ${share}`, await page.locator("#matched").textContent());
	}
	await page.locator("#search").fill("");
	const fills = await page.evaluate(`[...document.querySelectorAll("#chart g")].map((g) => [g.textContent, g.querySelector("rect").getAttribute("fill")])`);
	ok("inlined functions have their colour", fills.length > 10 && fills.every(([text, fill]) => text.includes("[inlined]") === (fill === "#fff3b8")), JSON.stringify(fills.slice(0, 20)));
	await box("shop::walk").hover();
	ok("a box shows its share and its line", (await page.locator("#details").textContent()).match(/orders\.cc:\d+.*%/), await page.locator("#details").textContent());
	const all = await settled(page);
	await box("[inlined]").click();
	await page.mouse.move(5, 5);
	ok("a click shows a branch", await settled(page) !== all);
	await page.keyboard.press("Escape");
	await page.locator("#look").selectOption("icicle");
	ok("an icicle has its root on top", await top("_start") < await top("shop::walk"));
	await page.locator("#look").selectOption("speedscope");
	ok("speedscope again", await page.locator("#view").isVisible() && await page.locator("#chart").isHidden());
}

async function checkRange(opened) {
	const { page } = opened, heat = await page.locator("#heat").boundingBox();
	// The cells of 200 to 400 ms in the first column, from the bottom.
	const cell = heat.height / 50, at = (row) => heat.y + heat.height - (row + 0.5) * cell;
	await page.mouse.move(heat.x + 3, at(10));
	await page.mouse.down();
	await page.mouse.move(heat.x + 3, at(19));
	await page.mouse.up();
	ok("a range of the heat map", await page.locator("#from").inputValue() === "0.2" && await page.locator("#to").inputValue() === "0.4",
		`${await page.locator("#from").inputValue()} to ${await page.locator("#to").inputValue()}`);
	const sum = await page.evaluate("shown.weights.reduce((a, b) => a + b, 0)");
	ok("its flame graph has the range's samples", sum === expected.range, `${sum}, not ${expected.range}`);
	await page.locator("#reset").click();
	ok("all of it again", await page.evaluate("shown.weights.reduce((a, b) => a + b, 0)") === expected.all);
}

async function checkCapture() {
	const opened = await open("orders.html"), { page } = opened;
	await drawn(opened, "orders.reel: cpu-clock, all threads");
	await checkViews(opened);
	for (const [text, share] of Object.entries(expected.searches))
		ok(`search for ${text}`, await search(opened, text, share) === share, await page.locator("#matched").textContent());
	await page.keyboard.press("Escape");
	await checkChart(opened);
	await checkRange(opened);
	await page.locator("#who").selectOption({ index: 1 });
	await drawn(opened, /orders \(\d+\)/);
	ok("a process can be chosen", true);
	const light = await settled(page);
	await page.emulateMedia({ colorScheme: "dark" });
	ok("dark if the system is", await settled(page) !== light);
	await page.locator("#toggle-about").click();
	ok("it explains itself", await page.locator("#about").getByText("[guessed]").isVisible());
	await close("a capture", opened);
}

async function checkThreads() {
	const opened = await open("threads.html"), { page } = opened;
	await drawn(opened, "all threads");
	const sums = [];
	for (const option of await page.locator("#who optgroup[label=thread] option").all()) {
		await page.locator("#who").selectOption(await option.getAttribute("value"));
		sums.push(await page.evaluate("shown.weights.reduce((a, b) => a + b, 0)"));
	}
	ok("threads sum up to all", sums.length > 1 && sums.reduce((a, b) => a + b, 0) === expected.threads, `${sums}, not ${expected.threads}`);
	await close("threads", opened);
}

// Profiles from `stackreel aggregate` have no times and threads to choose from.
async function checkProfile() {
	const opened = await open("profile.html"), { page } = opened;
	await drawn(opened, "fleet.profile: cpu-clock, all captures");
	for (const id of ["who", "from", "to", "reset", "heat", "toggle-heat"])
		ok(`a profile has no ${id}`, await page.locator(`#${id}`).isHidden());
	ok("a profile's samples", await page.evaluate("shown.weights.reduce((a, b) => a + b, 0)") === expected.all);
	for (const [text, share] of Object.entries(expected.searches))
		ok(`search for ${text} in a profile`, await search(opened, text, share) === share, await page.locator("#matched").textContent());
	await page.locator("#toggle-about").click();
	ok("it states what is missing from a profile", await page.locator("#about").getByText("a profile of 1 captures").isVisible());
	await close("a profile", opened);
}

// ---- others -----------------------------------------------------------------------------------------

async function checkNames() {
	const opened = await open("hostile.html"), { page, view } = opened;
	await drawn(opened, "hostile.reel");
	await page.keyboard.press("3");
	for (const event of ["1", "0"]) {
		await page.locator("#event").selectOption(event);
		await page.waitForTimeout(300);
	}
	await view.getByText("__proto__").first().waitFor();
	await settled(page);
	await page.locator("#look").selectOption("icicle");
	await page.locator("#chart g", { hasText: "__proto__" }).first().waitFor();
	ok("no name acts in an icicle", await page.title() !== "acted" && await page.locator("img").count() === 0, await page.title());
	ok("no name acts", await page.title() !== "acted" && await view.locator("img").count() === 0, await page.title());
	// If an element got in, the policy would not run it.
	const injected = await page.evaluate(() => {
		document.body.insertAdjacentHTML("beforeend", "<img src=x onerror='window.injected = 1'>");
		const script = document.createElement("script");
		script.textContent = "window.injected = 1";
		document.body.append(script);
		return new Promise((resolve) => setTimeout(() => resolve(window.injected), 300));
	});
	ok("a foreign script is not run", injected === undefined, String(injected));
	opened.problems.length = 0;
	await close("hostile names", opened);
}

async function checkDiff() {
	const opened = await open("diff.html"), { page } = opened;
	await page.locator("#chart rect").first().waitFor();
	const all = await settled(page);
	await shoot(page, "flamegraph-diff", 290);
	await page.locator("#side").selectOption("new");
	await page.locator("#search").fill(expected.diffName);
	const matched = parseFloat((await page.locator("#matched").textContent()).replace("matched: ", ""));
	ok("search in a comparison", Math.abs(matched - expected.diffShare) < 0.02, `${matched}, not ${expected.diffShare}`);
	await page.locator("#search").fill("");
	await page.locator("#side").selectOption("both");
	await page.locator("#chart g", { hasText: expected.diffName }).last().click();
	ok("a click zooms", await settled(page) !== all);
	await page.keyboard.press("Escape");
	await page.mouse.move(5, 5);
	ok("Escape shows all", await page.locator("#chart rect").count() > 5);
	await page.locator("#side").selectOption("old");
	await page.locator("#icicle").check();
	ok("other widths, turned over", await settled(page) !== all);
	await close("a comparison", opened);
}

// The time until a page is shown, and its thread's working time for that, in ms.
async function openTimed(name, text) {
	const opened = await open(name, async (page) => {
		const session = await page.context().newCDPSession(page);
		await session.send("Performance.enable", { timeDomain: "threadTicks" });
		return session;
	});
	const shown = await drawn(opened, text);
	const { metrics } = await opened.before.send("Performance.getMetrics");
	const worked = Math.round(metrics.find((metric) => metric.name === "ThreadTime").value * 1000);
	return { opened, shown, worked };
}

// The working time of the page's thread counts: the elapsed time depends on the machine's load, and on its missing GPU.
async function checkLong() {
	const { opened, shown, worked } = await openTimed("long.html", "long.reel: cpu-clock, all threads");
	ok("a million samples take less than 2 s", worked > 0 && worked < 2000, `${worked} ms`);
	ok("none of them is missing", await opened.page.evaluate("spans.weight.reduce((a, b) => a + b, 0)") === 1200 * expected.all);
	await close("a million samples", opened);
	return { shown, worked };
}

// With OPENS=N that many times; also the time of a page with 842 samples, which browser and viewer need in any case.
async function checkLongOnes() {
	const times = { "a million samples": [], "842 samples": [] };
	for (let i = 0; i < Number(process.env.OPENS || 1); i++) {
		times["a million samples"].push(await checkLong());
		if (process.env.OPENS) {
			const { opened, ...time } = await openTimed("orders.html", "orders.reel: cpu-clock, all threads");
			times["842 samples"].push(time);
			await close("842 samples", opened);
		}
	}
	for (const [what, all] of Object.entries(times)) {
		const median = (of) => all.map((time) => time[of]).sort((a, b) => a - b)[all.length >> 1];
		if (all.length)
			console.log(`${what}: shown after ${median("shown")} ms, and ${median("worked")} ms of the page's thread (median of ${all.length})`);
	}
}

// speedscope itself, from npm, with a file of export --format=speedscope.
async function checkSpeedscope() {
	const release = `${playwright}/../speedscope/dist/release`, page = await browser.newPage({ viewport: { width: 1280, height: 720 } }), problems = [];
	page.on("pageerror", (error) => problems.push(error.message));
	await page.goto(pathToFileURL(`${release}/index.html`).href);
	await page.locator("input[type=file]").setInputFiles(`${folder}/orders.speedscope.json`);
	await page.getByText("orders (").first().waitFor({ timeout: 20000 });
	await page.keyboard.press("3");
	const row = page.locator("tr", { hasText: "shop::Checkout::price" }).first();
	await row.waitFor();
	const text = await row.textContent(), shares = [...text.matchAll(/([\d.]+)%/g)].map((match) => parseFloat(match[1]));
	ok("export's file in speedscope: total and self are report's", Math.abs(shares[0] - expected.priceTotal) < 0.51 && Math.abs(shares[1] - expected.priceSelf) < 0.51,
		`${text}, not ${expected.priceTotal} and ${expected.priceSelf}`);
	ok("export's file in speedscope: no errors", problems.length === 0, problems.join("; "));
	await page.close();
}

try {
	await checkSpeedscope();
	await checkCapture();
	await checkThreads();
	await checkProfile();
	await checkNames();
	await checkDiff();
	await checkLongOnes();
} catch (error) {
	ok("all steps", false, error.stack);
}
await browser.close();
console.log(`${passed} passed, ${failed} failed, 0 skipped`);
process.exit(failed ? 1 : 0);
