// drop.mjs FOLDER PAGE PLAYWRIGHT CHROMIUM [SHOTS] - drops files on the page of `make wasm` in a browser, from file://.
// tests/page/test-drop.sh makes the captures in FOLDER, and next to each NAME.reel the page NAME.html that `stackreel view` writes. Screenshots are
// written to SHOTS.

import { existsSync, readFileSync, readdirSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { finish, launch, newPage, ok } from "./browser.mjs";

const [folder, place, playwright, executablePath, shots] = process.argv.slice(2);
const browser = await launch(playwright, executablePath);

async function open(options = {}) {
	const { context, page, problems } = await newPage(browser, options);
	page.setDefaultTimeout(300000);
	page.on("request", (request) => !/^blob:/.test(request.url()) && request.url() !== pathToFileURL(place).href && problems.push(`asks for ${request.url().slice(0, 80)}`));
	await page.goto(pathToFileURL(place).href);
	const session = await context.newCDPSession(page);
	// As a desktop drops them: paths, of folders as well.
	const drop = async (...files) => {
		const data = { items: [], files, dragOperationsMask: 1 }, at = { x: 400, y: 300, data };
		for (const type of ["dragEnter", "dragOver", "drop"])
			await session.send("Input.dispatchDragEvent", { type, ...at });
	};
	return { page, problems, drop, close: () => context.close() };
}

/** The page's next state. */
async function state(page, ...wanted) {
	await page.waitForFunction((states) => states.includes(document.documentElement.dataset.state), wanted.length ? wanted : ["shown", "failed"]);
	return page.evaluate(() => document.documentElement.dataset.state);
}

const messages = async (page) => (await page.locator("#messages li").allTextContents()).join("\n");

/** The viewer that is shown: its numbers; and the bytes that "Save page" saves. */
async function shown(page) {
	const frame = page.frameLocator("#view");
	await frame.locator("html[data-ready]").waitFor();
	const amount = await frame.locator("#amount").textContent();
	const waiting = page.waitForEvent("download");
	await page.locator("#save").click();
	const download = await waiting;
	return { amount, name: download.suggestedFilename(), bytes: readFileSync(await download.path()) };
}

async function close(name, opened) {
	ok(`${name}: no errors, and nothing is fetched`, opened.problems.length === 0, opened.problems.join("; "));
	await opened.close();
}

/** Drops one capture, or two, and compares with `view`. */
async function checkCapture(name, captures, wanted, remarks) {
	const opened = await open(), { page, drop } = opened;
	await drop(...captures);
	ok(`${name} is shown`, await state(page) === "shown", await messages(page));
	const { amount, name: saved, bytes } = await shown(page), native = readFileSync(`${folder}/${wanted}.html`);
	ok(`${name}: the page of stackreel view`, bytes.equals(native), `${bytes.length} bytes, not ${native.length}`);
	ok(`${name}: its samples`, /^100\.00 %|samples?$/.test(amount), amount);
	ok(`${name}: saved under its name`, saved === captures.at(-1).replace(/^.*\//, "").replace(/\.reel$/, ".html"), saved);
	const said = await page.locator("#remarks li").allTextContents();
	ok(`${name}: stackreel's messages`, said.join("\n") === remarks, said.join("\n"));
	await close(name, opened);
}

async function checkErrors() {
	const opened = await open(), { page, drop } = opened;
	await drop(`${folder}/text.txt`);
	ok("a text is refused", await state(page) === "failed" && await messages(page) === "text.txt: not a stackreel capture", await messages(page));
	await drop(`${folder}/modules/other`);
	await page.waitForFunction(() => document.getElementById("messages").textContent === "now drop the capture");
	await drop(...["small", "before", "after"].map((name) => `${folder}/${name}.reel`));
	await page.waitForFunction(() => document.getElementById("messages").textContent.startsWith("these are 3 captures"));
	await drop(`${folder}/small.reel`);
	ok("after errors, a capture is shown", await state(page, "shown") === "shown");
	await page.locator("#close").click();
	ok("closing leads back to the start", await page.locator("h1").isVisible() && await page.locator("#view").count() === 0);
	await close("errors", opened);
}

async function checkKeys() {
	const opened = await open(), { page, drop } = opened;
	await drop(`${folder}/encrypted.reel`);
	ok("a key is asked for", await state(page) === "failed" && await page.locator("#key").isVisible() && /encrypted to key/.test(await messages(page)), await messages(page));
	await page.keyboard.type("no key");
	await page.keyboard.press("Enter");
	await page.waitForFunction(() => /invalid secret key/.test(document.getElementById("messages").textContent) && !document.getElementById("key").hidden);
	await page.locator("#secret").fill(readFileSync(`${folder}/team.key`, "utf8").split("\n").find((line) => line.startsWith("reelsec")));
	await page.keyboard.press("Enter");
	ok("a key from the keyboard", await state(page, "shown") === "shown" && (await shown(page)).bytes.equals(readFileSync(`${folder}/encrypted.html`)));
	ok("the key does not stay", await page.evaluate(() => document.getElementById("secret").value) === "");
	await page.locator("#close").click();
	await drop(`${folder}/encrypted.reel`);
	await page.locator("#key").waitFor();
	await drop(`${folder}/team.key`);
	ok("a key file", await state(page, "shown") === "shown" && (await shown(page)).bytes.equals(readFileSync(`${folder}/encrypted.html`)));
	await close("keys", opened);
}

/** Programs and debug files: of a chosen folder, and of a dropped one. */
async function checkModules() {
	const opened = await open(), { page, drop } = opened;
	const check = async (name) => {
		ok(`${name} matches`, await state(page, "shown") === "shown" && await page.locator("#matching").textContent() === "1 of 2 debug files match", `${await messages(page)}${await page.locator("#matching").textContent()}`);
		ok(`${name}: the page of stackreel view`, (await shown(page)).bytes.equals(readFileSync(`${folder}/modules.html`)));
		await page.locator("#close").click();
	};
	await page.locator("#folder").setInputFiles(`${folder}/modules`);
	await page.waitForFunction(() => document.getElementById("messages").textContent === "now drop the capture");
	await page.locator("#files").setInputFiles(`${folder}/small.reel`);
	await check("a chosen folder");
	await drop(`${folder}/small.reel`, `${folder}/modules`);
	await check("a dropped folder");
	await close("modules", opened);
}

/** The clock is the test's: nothing depends on the machine's speed. */
async function checkEnds() {
	const opened = await open(), { page, drop } = opened;
	await page.clock.install();
	await drop(`${folder}/long.reel`);
	await state(page, "working");
	await page.waitForFunction(() => /^[\d.]+ MB of [\d.]+ MB, [\d,]+ samples \(\d+ %\)$/.test(document.getElementById("state").textContent), undefined, { polling: 20 });
	ok("progress in a bar", await page.evaluate(() => document.getElementById("bar").position > 0));
	await page.locator("#cancel").click();
	ok("cancelled", await state(page) === "failed" && await messages(page) === "cancelled", await messages(page));
	await drop(`${folder}/long.reel`);
	await state(page, "working");
	await page.clock.fastForward("10:00");
	ok("a time limit", await state(page) === "failed" && /^stopped after \d+ seconds, the limit for files of this size;/.test(await messages(page)), await messages(page));
	await drop(`${folder}/small.reel`);
	ok("the next capture", await state(page, "shown") === "shown");
	await close("ends", opened);
}

/** A worker whose memory cannot grow, and one that fails. */
async function checkFailures() {
	for (const [name, trouble, wanted] of [
		["memory", "WebAssembly.Memory.prototype.grow = () => { throw new RangeError(); };", /out of memory.*A page has 2 GB of memory/s],
		["a crash", "WebAssembly.instantiate = () => Promise.reject(new WebAssembly.RuntimeError('unreachable'));", /^stackreel failed: .*unreachable/],
	]) {
		const opened = await open(), { page, drop } = opened;
		await page.evaluate((code) => {
			const create = URL.createObjectURL;
			URL.createObjectURL = (blob) => create.call(URL, blob.type === "text/javascript" ? new Blob([code, blob]) : blob);
		}, trouble);
		await drop(`${folder}/long.reel`);
		ok(`${name} ends the worker`, await state(page) === "failed" && wanted.test(await messages(page)), await messages(page));
		await opened.close();
	}
}

async function checkPolicy() {
	const opened = await open(), { page } = opened;
	const reached = await page.evaluate(() => Promise.all([
		fetch("https://example.com").then(() => "fetch", () => ""),
		new Promise((done) => {
			const image = new Image();
			image.onload = () => done("image");
			image.onerror = () => done("");
			image.src = "https://example.com/a.png";
		}),
		new Promise((done) => {
			addEventListener("securitypolicyviolation", (event) => event.effectiveDirective.startsWith("script-src") && done(""));
			const script = document.createElement("script");
			script.textContent = "globalThis.injected = true";
			document.body.append(script);
			setTimeout(() => done(globalThis.injected ? "script" : "?"), 2000);
		}),
	]));
	ok("the policy stops requests and scripts", reached.join("") === "" && opened.problems.filter((line) => /Content Security Policy/.test(line)).length >= 3, reached.join());
	await opened.close();
}

if (shots) {
	for (const colorScheme of ["light", "dark"]) {
		for (const [width, height] of [[1440, 900], [1000, 700]]) {
			const { page, drop, close } = await open({ colorScheme, viewport: { width, height } });
			const shoot = (name) => page.screenshot({ path: `${shots}/${name}-${colorScheme}-${width}.png` });
			await shoot("start");
			for (const name of readdirSync(folder).filter((file) => file.endsWith(".reel")).map((file) => file.slice(0, -5))) {
				await drop(`${folder}/${name}.reel`);
				if (name === "long") {
					await page.waitForFunction(() => document.getElementById("bar").position > 0);
					await shoot(`${name}-progress`);
				}
				if (await state(page) === "shown")
					await page.frameLocator("#view").locator("html[data-ready]").waitFor();
				await shoot(name);
				await page.evaluate(() => document.getElementById("close").click());
			}
			await close();
		}
	}
	await browser.close();
	process.exit();
}

for (const name of readdirSync(folder).filter((file) => file.endsWith(".messages")).map((file) => file.slice(0, -9))) {
	const captures = name === "diff" ? ["before", "after"] : [name];
	await checkCapture(name, captures.map((capture) => `${folder}/${capture}.reel`), name, readFileSync(`${folder}/${name}.messages`, "utf8").trim());
}
await checkErrors();
await checkKeys();
await checkModules();
await checkEnds();
await checkFailures();
await checkPolicy();
await finish(browser);
