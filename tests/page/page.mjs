// page.mjs FOLDER PLAYWRIGHT CHROMIUM [SHOTS] - opens the pages in FOLDER in a browser, and uses them like a person.
// tests/page/test-page.sh makes them, and expected.json: what `stackreel report` and `folded` print. Screenshots are written to SHOTS.

import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { finish, launch, newPage, ok } from "./browser.mjs";

const [folder, playwright, executablePath, shots] = process.argv.slice(2);
const expected = JSON.parse(readFileSync(`${folder}/expected.json`, "utf8"));
const browser = await launch(playwright, executablePath);

// Opens a page, and records events that must not happen.
async function open(name, fragment = "", options = {}) {
	const { context, page, problems } = await newPage(browser, options), url = pathToFileURL(`${folder}/${name}.html`).href;
	page.on("request", (request) => !request.url().startsWith(url) && !request.url().startsWith("blob:") && problems.push(`asks for ${request.url().slice(0, 80)}`));
	const session = await context.newCDPSession(page);
	await session.send("Performance.enable", { timeDomain: "threadTicks" });
	// Stacks of several programs have a first level of programs, which few checks are about.
	const start = /(^|&)by=/.test(fragment) || !["waits", "many"].includes(name) ? fragment : `${fragment}${fragment && "&"}by=none`;
	await page.goto(url + (start && `#${start}`));
	await page.locator("html[data-ready]").waitFor({ timeout: 60000 });
	// The working time of the page's thread, in ms: the elapsed time depends on the machine's load.
	const worked = async () => (await session.send("Performance.getMetrics")).metrics.find((metric) => metric.name === "ThreadTime").value * 1000;
	return { page, problems, worked, close: () => context.close() };
}

async function close(name, opened) {
	ok(`${name}: no errors, and nothing is fetched`, opened.problems.length === 0, opened.problems.join("; "));
	await opened.close();
}

const drawn = (page) => page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));

// The page draws in its next frame: a busy machine shows the state before a key or a click for longer than a person would notice.
async function text(page, selector) {
	await drawn(page);
	return page.locator(selector).first().textContent();
}

async function count(page, selector) {
	await drawn(page);
	return page.locator(selector).count();
}

// A picture of an element, to compare with others of this page.
async function look(page, selector) {
	await drawn(page);
	return (await page.locator(selector).screenshot()).toString("base64");
}

// The middle of the box with this name, in the visible flame graph.
async function boxOf(page, name) {
	return page.evaluate((wanted) => {
		const { app, shell } = globalThis.stackreel, { canvas } = shell.view, place = canvas.canvas.getBoundingClientRect();
		let found = null;
		canvas.visit(place.width, canvas.element.scrollTop, canvas.element.clientHeight, (node, x, y, width) => {
			const left = Math.max(x, 0), right = Math.min(x + width, place.width);
			if (!found && node > 0 && app.capture.functions.name[canvas.summed.tree.function[node]].startsWith(wanted))
				found = { x: place.left + (left + right) / 2, y: place.top + y + 10, width };
		});
		return found;
	}, name);
}

async function search(page, wanted) {
	await page.keyboard.press("/");
	await page.keyboard.press("Control+a");
	await page.keyboard.type(wanted);
	return text(page, "#matched");
}

// ---- a capture ----------------------------------------------------------------------------------

async function checkFlame() {
	const opened = await open("orders"), { page } = opened;
	ok("all samples", (await text(page, "#amount")).endsWith(` · ${expected.samples} samples`), await text(page, "#amount"));
	for (const [wanted, share] of [["shop::walk", expected.walk], ["CHECKOUT::TAX", expected.tax], ["/Checkout::tax\\(/", expected.tax]])
		ok(`search for ${wanted}`, await search(page, wanted) === `${share} matched`, await text(page, "#matched"));
	ok("a search without matches", await search(page, "no such function") === "nothing matches", await text(page, "#matched"));
	ok("an invalid expression", await search(page, "/(/") === "invalid expression");
	await page.keyboard.press("Escape");
	ok("Escape empties the search", await text(page, "#matched") === "");
	const filter = page.getByLabel("Filter processes and threads by name or id");
	await filter.fill("no such thread");
	ok("a filter without matches", await text(page, ".track-label.note") === "No process or thread matches");
	await page.keyboard.press("Escape");
	const checkout = await boxOf(page, "shop::Checkout::checkout("), all = await look(page, "#view");
	await page.mouse.move(checkout.x, checkout.y);
	const tip = await text(page, ".tooltip");
	ok("a tooltip has the full name, share, module and line", tip.includes("shop::Checkout::checkout(shop::Order const*, int)") && tip.includes(expected.checkout) && /orders\.cc:\d+/.test(tip) && tip.includes("/usr/bin/orders"), tip);
	await page.mouse.click(checkout.x, checkout.y, { button: "right" });
	ok("a menu replaces the tooltip", await page.locator(".tooltip").isHidden());
	await page.keyboard.press("Escape");
	await page.mouse.dblclick(checkout.x, checkout.y);
	await drawn(page);
	ok("a double click zooms", (await boxOf(page, "shop::Checkout::checkout(")).width > checkout.width * 1.5);
	const deep = await page.evaluate(`(() => {
		const { app, canvas = stackreel.shell.view.canvas } = stackreel, before = [canvas.from, canvas.to], { tree } = canvas.summed, walk = app.capture.functions.name.indexOf("shop::walk(int, unsigned long)");
		const node = tree.function.subarray(0, tree.count).indexOf(walk), top = canvas.element.scrollTop;
		canvas.zoomTo(node);
		const shown = canvas.rowTop(canvas.find(node).row) - canvas.element.scrollTop;
		canvas.setRange(...before);
		canvas.element.scrollTop = top;
		return shown;
	})()`);
	ok("zooming to a box with many callees leaves two callers above it", deep === 24 + 2 * 20, deep);
	const overview = page.locator(".overview canvas"), range = () => page.evaluate("[stackreel.shell.view.canvas.from, stackreel.shell.view.canvas.to, stackreel.shell.view.canvas.end]");
	const [from, to, end] = await range(), strip = await overview.boundingBox();
	ok("zoomed: a strip shows the whole", await overview.isVisible() && /^\d+\.\d\d % of the width, from \d+\.\d\d %$/.test(await overview.getAttribute("aria-valuetext")), await overview.getAttribute("aria-valuetext"));
	await page.mouse.move(strip.x + (from + to) / 2 / end * strip.width, strip.y + 5);
	await page.mouse.down();
	await page.mouse.move(strip.x + strip.width + 500, strip.y + 5, { steps: 3 });
	await page.mouse.up();
	ok("dragging the strip's frame moves the visible part, to the end at most", await page.evaluate(([wanted, width]) => {
		const { canvas } = stackreel.shell.view;
		return Math.abs(canvas.to - wanted) < 1e-6 * wanted && Math.abs(canvas.to - canvas.from - width) < 1e-6 * width;
	}, [end, to - from]), JSON.stringify([from, to, await range()]));
	await page.mouse.click(strip.x + 2, strip.y + 5);
	ok("a press beside the frame moves it there", (await range())[0] === 0, JSON.stringify(await range()));
	await overview.focus();
	await page.keyboard.press("ArrowRight");
	ok("keys move it", Math.abs((await range())[0] - 0.1 * (to - from)) < 1e-6 * end && Number(await overview.getAttribute("aria-valuenow")) >= 0, JSON.stringify(await range()));
	await page.keyboard.press("0");
	await drawn(page);
	ok("not zoomed: no strip, and the focus is in the graph", await overview.isHidden() && await page.evaluate("document.activeElement === stackreel.shell.view.canvas.canvas"));
	await page.mouse.move(5, 5);
	await page.evaluate("stackreel.shell.view.canvas.select(-1)");
	await page.mouse.dblclick(checkout.x, checkout.y);
	await page.keyboard.press("Escape");
	await page.mouse.move(5, 5);
	await page.evaluate("stackreel.shell.view.canvas.select(-1)");
	ok("Escape shows all", await look(page, "#view") === all);
	await page.keyboard.press("b");
	await drawn(page);
	ok("the root at the bottom", (await boxOf(page, "main")).y > (await boxOf(page, "shop::Checkout::tax")).y);
	await page.keyboard.press("b");
	await page.keyboard.press("i");
	await drawn(page);
	ok("inverted: leaves are on top", (await boxOf(page, "shop::Checkout::tax")).y < (await boxOf(page, "main")).y);
	await page.keyboard.press("i");
	await page.keyboard.press("h");
	ok("full names", await page.evaluate("stackreel.app.name(stackreel.app.capture.functions.name.indexOf('shop::walk(int, unsigned long)'))") === "shop::walk(int, unsigned long)");
	await page.keyboard.press("h");
	await page.locator(".flame canvas").focus();
	for (const key of ["ArrowDown", "ArrowDown", "ArrowDown", "ArrowDown", "ArrowDown", "ArrowDown"])
		await page.keyboard.press(key);
	ok("arrows select boxes", (await text(page, "#selected")).startsWith("shop::run"), await text(page, "#selected"));
	await close("a flame graph", opened);
}

async function checkTransforms() {
	const opened = await open("orders"), { page } = opened, weight = () => page.evaluate("stackreel.app.profile.weight");
	const whole = await weight();
	const use = async (name, words) => {
		const box = await boxOf(page, name);
		await page.mouse.click(box.x, box.y, { button: "right" });
		await page.getByRole("menuitem", { name: words }).click();
		await drawn(page);
	};
	await use("shop::Checkout::checkout(", "Focus on this function");
	ok("focus: a crumb", (await text(page, ".crumb")).startsWith("Focus: shop::Checkout::checkout"), await text(page, "#crumbs"));
	ok("focus: its share", (await text(page, "#amount")).endsWith(`${expected.checkout} of all`), await text(page, "#amount"));
	await use("shop::Checkout::tax", "Merge into its callers");
	ok("merge: gone", await boxOf(page, "shop::Checkout::tax") === null);
	await page.locator(".crumb").first().click();
	ok("a crumb gives its transform up", await weight() === whole && await count(page, ".crumb") === 1);
	await page.keyboard.press("Escape");
	ok("Escape gives the last up", await count(page, ".crumb") === 0 && await boxOf(page, "shop::Checkout::tax") !== null);
	await use("shop::walk(", "Collapse recursion");
	ok("recursion is one box", await page.evaluate(`(() => {
		const { app } = stackreel, { tree } = app.profile.summed, of = app.capture.functions.name.indexOf("shop::walk(int, unsigned long)");
		return tree.function.subarray(0, tree.count).filter((other) => other === of).length;
	})()`) === 1);
	await page.keyboard.press("Escape");
	await use("shop::walk(", "Hide stacks with this function");
	const left = (whole - await weight()) / whole * 100;
	ok("left out: as much as report's total", Math.abs(left - parseFloat(expected.walk)) < 0.01, `${left}`);
	await page.keyboard.press("Escape");
	await use("main", "Collapse its library");
	ok("a library is one box", await boxOf(page, "[orders]") !== null && await boxOf(page, "shop::run") === null);
	await page.keyboard.press("Escape");
	const box = await boxOf(page, "shop::run");
	await page.mouse.click(box.x, box.y);
	await page.keyboard.press("F");
	ok("keys act on the selected box", (await text(page, ".crumb")).startsWith("Subtree: shop::run"), await text(page, "#crumbs"));
	await close("transforms", opened);
}

async function checkRange() {
	const opened = await open("orders"), { page } = opened, place = await page.locator(".tracks-right canvas").boundingBox();
	const duration = await page.evaluate("stackreel.app.capture.duration"), at = (time) => place.x + place.width * time / duration;
	await page.mouse.move(at(0.2e9), place.y + 40);
	await page.mouse.down();
	await page.mouse.move(at(0.3e9), place.y + 45);
	await page.mouse.move(at(0.4e9), place.y + 45);
	await drawn(page);
	await page.mouse.up();
	const { from, to } = await page.evaluate("({ from: stackreel.app.state.from, to: stackreel.app.state.to })");
	ok("dragging selects a range", Math.abs(from - 0.2e9) < 2e6 && Math.abs(to - 0.4e9) < 2e6, `${from} to ${to}`);
	ok("a crumb shows it", /^Time: (199|200|201) ms – (399|400|401) ms/.test(await text(page, ".crumb")), await text(page, ".crumb"));
	await page.evaluate("stackreel.app.update({ from: 200e6, to: 400e6 })");
	ok("the range's samples", (await text(page, "#amount")).includes(` ${expected.rangeSamples} samples`), await text(page, "#amount"));
	ok("search in a range", await search(page, "/Checkout::tax\\(/") === `${expected.range} matched`, await text(page, "#matched"));
	await page.keyboard.press("Escape");
	await page.waitForTimeout(400);
	for (const tab of ["flame", "chart", "tree", "functions", "sandwich", "lines"]) {
		await page.evaluate(`stackreel.app.update({ tab: "${tab}", from: 1, to: 2 })`);
		ok(`no samples, ${tab}`, (await text(page, "#view")).startsWith("No samples in this selection.") && await text(page, "#selected") === "", await text(page, "#view"));
	}
	await page.evaluate("stackreel.app.update({ tab: 'flame', from: 200e6, to: 400e6 })");
	ok("samples again", await page.locator("#view .flame canvas").isVisible());
	await page.waitForTimeout(400);
	const url = page.url();
	ok("the address has the range", url.includes("time=200000000..400000000"), url);
	await page.keyboard.press("Escape");
	ok("Escape gives it up", await page.evaluate("stackreel.app.state.from") === null);
	await page.mouse.move(at(0.5e9), place.y + 40);
	await page.mouse.wheel(0, -500);
	await drawn(page);
	const view = await page.evaluate("[stackreel.shell.timeline.from, stackreel.shell.timeline.to]");
	ok("the wheel zooms around the pointer", view[0] > 0.1e9 && view[1] < 0.9e9 && view[0] < 0.5e9 && view[1] > 0.5e9, String(view));
	await page.locator(".tracks-right canvas").focus();
	await page.keyboard.press("0");
	ok("0 shows all of the time", await page.evaluate("stackreel.shell.timeline.to === stackreel.app.capture.duration"));
	await close("a range", opened);
}

async function checkTabs() {
	const opened = await open("orders"), { page } = opened;
	await page.keyboard.press("2");
	await drawn(page);
	ok("a chart has boxes", await boxOf(page, "shop::Checkout::tax") !== null);
	await page.keyboard.press("3");
	await page.locator(".table-row").first().click();
	await page.keyboard.press("*");
	await drawn(page);
	const row = await text(page, '.table-row:has-text("shop::Checkout::checkout")');
	ok("the call tree has report's shares", row.startsWith(expected.checkout), row);
	await page.keyboard.press("End");
	await page.keyboard.press("Home");
	await page.keyboard.press("ArrowLeft");
	await drawn(page);
	ok("arrows close rows", await count(page, ".table-row") < 5, String(await count(page, ".table-row")));
	await page.keyboard.press("4");
	await drawn(page);
	ok("rows have their course over time", await count(page, ".table-row .course path") === await count(page, ".table-row") && /^M0 18V2\.0h1|h1V2\.0h1/.test(await page.locator(".table-row .course path").first().getAttribute("d")));
	ok("functions: the most self on top", (await text(page, ".table-row")).includes("shop::Checkout::tax"), await text(page, ".table-row"));
	await page.getByRole("button", { name: "Total" }).click();
	await drawn(page);
	ok("another order", (await text(page, ".table-row")).startsWith("99.64 %"), await text(page, ".table-row"));
	ok("it is announced", await page.locator('[aria-sort="descending"]').textContent() === "Total");
	await search(page, "rank");
	await drawn(page);
	ok("the search filters", await count(page, ".table-row") === 1);
	await page.keyboard.press("Escape");
	await page.locator('.table-row:has-text("shop::rank")').dblclick();
	ok("callers and callees", await text(page, ".sandwich-name") === "shop::rank(…)" && await count(page, ".sandwich-half canvas") === 2);
	await page.locator(".sandwich .table-row", { hasText: "Checkout::tax" }).click();
	await drawn(page);
	ok("a row of its list is the function", await text(page, ".sandwich-name") === "shop::Checkout::tax(…)" && (await text(page, '.sandwich .table-row[aria-selected="true"]')).includes(expected.tax), await text(page, ".sandwich-name"));
	await page.keyboard.press("6");
	await drawn(page);
	ok("lines", /orders\.cc:\d+/.test(await text(page, ".table-row")), await text(page, ".table-row"));
	await page.keyboard.press("?");
	ok("help", await page.getByRole("dialog").getByText("collapse recursion").isVisible() && await page.getByRole("dialog").getByText("stackreel-record -F 999").isVisible());
	await page.keyboard.press("Escape");
	ok("each control has a name", await page.evaluate(`[...document.querySelectorAll("button, input, select, canvas")].filter((element) =>
		!(element.textContent.trim() || element.getAttribute("aria-label") || element.labels?.length)).length`) === 0);
	await page.keyboard.press("4");
	await page.locator(".table").first().focus();
	await page.keyboard.press(" ");
	ok("Space opens a row's menu", await page.getByRole("menuitem", { name: "Collapse recursion" }).isVisible());
	await page.keyboard.press("Escape");
	await close("tabs", opened);
}

async function checkTreeSearch() {
	const opened = await open("orders", "tab=tree"), { page } = opened, rows = await count(page, ".table-row");
	await search(page, "Checkout::tax");
	await drawn(page);
	ok("a search in the call tree opens the paths to what it finds", (await text(page, '.table-row[aria-selected="true"]')).includes("shop::Checkout::tax"), await text(page, '.table-row[aria-selected="true"]'));
	await page.keyboard.press("Escape");
	await drawn(page);
	ok("and closes them afterwards", await count(page, ".table-row") === rows);
	ok("a hint instead of a selection", (await text(page, "#crumbs")).startsWith("Drag over the timeline"));
	ok("a legend with the capture's kinds", /^user/.test(await text(page, "#legend")) && (await text(page, "#legend")).includes("inlined") && !(await text(page, "#legend")).includes("Python"), await text(page, "#legend"));
	await close("search in the tree", opened);
}

async function checkDetails() {
	const opened = await open("orders", "tab=tree"), { page } = opened, sidebar = page.locator("#sidebar"), shown = () => page.waitForTimeout(150).then(() => sidebar.innerText());
	ok("the call tree is open along its hottest path", (await text(page, '.table-row[aria-selected="true"]')).includes("shop::Checkout::tax"), await text(page, '.table-row[aria-selected="true"]'));
	const details = await shown();
	ok("details of the selected function", /^shop::Checkout::tax\(double\) const\s*inlined · orders\s*orders.cc:58/.test(details) && details.includes(expected.tax) && /Lines\s*of its total\s*orders.cc:58\s*100.00 %/.test(details), details);
	await page.locator('.table-row:has-text("shop::run")').click();
	ok("of another one", /^shop::run\(double\)/.test(await shown()) && /Kinds\s*of its total\s*inlined\s*60\.\d\d %\s*\d+ ms\s*user/.test(await shown()), await shown());
	await page.evaluate("stackreel.app.update({ from: 200e6, to: 400e6 })");
	ok("of the selection", /Total\s*\d+\.\d\d %\s*\d+ ms\s*1\d\d samples/.test(await shown()), await shown());
	await page.locator(".table").focus();
	await page.keyboard.press("End");
	await page.keyboard.press("i");
	await drawn(page);
	ok("an inverted tree begins at its top", await page.locator('.table-row[aria-selected="true"]').isVisible() && await page.evaluate("document.querySelector('.table').scrollTop") === 0);
	await page.keyboard.press("i");
	await page.setViewportSize({ width: 1000, height: 700 });
	ok("in a small window, names have the room", await sidebar.isHidden() && await page.locator("#details").isHidden());
	await page.setViewportSize({ width: 1280, height: 800 });
	await page.keyboard.press("p");
	ok("key p hides them", await sidebar.isHidden());
	await page.keyboard.press("1");
	ok("a flame graph has none at first", await sidebar.isHidden());
	await page.keyboard.press("p");
	ok("details without a function are the selection's", (await shown()).startsWith("Whole selection") && await page.evaluate("document.documentElement.scrollWidth") <= 1280, await shown());
	const tax = await boxOf(page, "shop::Checkout::tax");
	await page.mouse.click(tax.x, tax.y);
	ok("a box's callers", /Called by\s*shop::Checkout::price\(…\)\s*shop::Checkout::total/.test(await shown()), await shown());
	await page.waitForTimeout(300);
	ok("the address has them", page.url().includes("details=1"), page.url());
	await close("details", opened);
}

async function checkLinks() {
	const fragment = "tab=tree&time=200000000..400000000&do=focus-3&search=tax&full=1&theme=dark";
	const opened = await open("orders", fragment), { page } = opened;
	ok("a link: tab", await count(page, '#tab-tree[aria-selected="true"]') === 1);
	ok("a link: search", await page.locator("#search").inputValue() === "tax" && (await text(page, "#matched")).includes("%"));
	ok("a link: crumbs", await count(page, ".crumb") === 2);
	ok("a link: theme", await page.evaluate("document.documentElement.dataset.theme") === "dark");
	await page.evaluate("stackreel.app.update({ search: 'walk' })");
	await page.waitForTimeout(400);
	await page.reload();
	await page.locator("html[data-ready]").waitFor();
	ok("a reload keeps the state", await page.locator("#search").inputValue() === "walk" && await count(page, ".crumb") === 2);
	await page.goto(`${page.url().split("#")[0]}#tab=functions`);
	ok("another address, another view", await count(page, '#tab-functions[aria-selected="true"]') === 1 && await count(page, ".crumb") === 0);
	await close("links", opened);
	const wrong = await open("orders", "event=9&who=t999.p999&do=focus-99999~subtree-1.2.3~x-1&of=12345&tab=none&time=9..1&search=%2F(%2F");
	ok("a wrong link is no error", await wrong.page.locator("#problem").isHidden());
	await close("a wrong link", wrong);
}

async function checkFiles() {
	const opened = await open("orders"), { page } = opened;
	const save = async (key) => {
		const [download] = await Promise.all([page.waitForEvent("download"), page.keyboard.press(key)]);
		return { name: download.suggestedFilename(), text: readFileSync(await download.path(), "utf8") };
	};
	const folded = await save("E"), svg = await save("e"), speedscope = JSON.parse((await save("S")).text);
	const [profile] = speedscope.profiles, { frames } = speedscope.shared;
	ok("for speedscope: all stacks and their weight", profile.samples.length === expected.folded.trim().split("\n").length && profile.weights.reduce((a, b) => a + b, 0) === profile.endValue
		&& profile.samples.every((stack) => stack.every((of) => frames[of].name)) && frames.some(({ file, line }) => file?.endsWith("orders.cc") && line > 0));
	ok("folded stacks are folded's", folded.name === "orders.folded" && folded.text.trim().split("\n").sort().join("\n") === expected.folded.trim().split("\n").sort().join("\n"));
	ok("a picture", svg.name === "orders.svg" && svg.text.startsWith("<svg") && svg.text.includes("shop::Checkout::tax") && svg.text.includes("orders.cc:") && svg.text.includes("Whole selection"));
	const shape = await page.evaluate((source) => new DOMParser().parseFromString(source, "image/svg+xml").documentElement.nodeName, svg.text);
	ok("a picture is XML", shape === "svg", shape);
	await close("files", opened);
}

// Contrast of two colours (WCAG 2.1).
const contrast = `(a, b) => {
	const light = (color) => {
		const [r, g, b] = color.match(/[\\da-f]{2}/gi).map((part) => parseInt(part, 16) / 255).map((c) => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
		return 0.2126 * r + 0.7152 * g + 0.0722 * b;
	};
	const [x, y] = [light(a), light(b)].sort((p, q) => q - p);
	return (x + 0.05) / (y + 0.05);
}`;

async function checkThemes() {
	const opened = await open("orders"), { page } = opened;
	for (const theme of ["light", "dark"]) {
		await page.emulateMedia({ colorScheme: theme });
		await drawn(page);
		ok(`${theme} if the system is`, await page.evaluate("document.documentElement.dataset.theme") === theme);
		const least = await page.evaluate(`(() => {
			const contrast = ${contrast}, { colors, capture } = stackreel.app, { theme } = colors;
			return Math.min(...capture.functions.name.map((_, of) => contrast(colors.of(of), theme.ink)), contrast(theme.paper, theme.muted), contrast(theme.band, theme.muted), contrast(theme.match, theme.matchInk), contrast(theme.paper, theme.accent));
		})()`);
		ok(`${theme}: a contrast of 4.5 at least`, least >= 4.5, String(least));
	}
	await page.locator("#theme").click();
	ok("the switch changes it", await page.evaluate("document.documentElement.dataset.theme") === "light");
	await close("themes", opened);
}

// ---- others -------------------------------------------------------------------------------------

async function checkWaits() {
	const opened = await open("waits"), { page } = opened;
	await page.locator("#event").selectOption("1");
	ok("another event's samples", (await text(page, "#amount")).includes("80 samples"), await text(page, "#amount"));
	await page.locator("#event").selectOption("0");
	const lives = await page.evaluate("stackreel.shell.timeline.tracks.filter(({ kind }) => kind === 'process').map((track) => [track.number, stackreel.shell.timeline.lifeOf(track)])");
	ok("when processes existed", JSON.stringify(lives.sort()) === JSON.stringify([[1001, { from: 0.5e6, to: 600e6 }], [1002, { from: 0, to: 598.5e6 }]]), JSON.stringify(lives));
	const place = await page.locator(".tracks-right canvas").boundingBox(), duration = await page.evaluate("stackreel.app.capture.duration");
	const x = await page.evaluate("stackreel.app.capture.marks.map(([time]) => stackreel.shell.timeline.xOf(time))");
	ok("losses are marks, and the last one is at the end", x.length === 3 && x[2] <= place.width + 1, String(x));
	await page.mouse.move(place.x + x[0], place.y + 18);
	ok("a mark says what was lost", (await text(page, ".tooltip")).includes("ring buffer full"), await text(page, ".tooltip"));
	await page.mouse.move(place.x + await page.evaluate("stackreel.shell.timeline.xOf(399e6)"), place.y + 18);
	ok("a mark of a trigger", (await text(page, ".tooltip")).includes("SIGUSR2 from process 12"), await text(page, ".tooltip"));
	await page.mouse.move(place.x + await page.evaluate("stackreel.shell.timeline.xOf(199e6)"), place.y + await page.evaluate(`24 + 30 * stackreel.shell.timeline.tracks.findIndex((track) => track.number === 1002) + 15`));
	ok("a mark says which program was started", (await text(page, ".tooltip")).includes("Execworker-2 (1002), at 199 ms"), await text(page, ".tooltip"));
	const name = page.getByRole("button", { name: /^worker-1 1001/ });
	await name.click();
	ok("a name selects its threads", (await text(page, ".crumb")).startsWith("Process: worker-1 (1001)"), await text(page, "#crumbs"));
	await page.getByRole("button", { name: /^worker-2 1002/ }).click({ modifiers: ["Control"] });
	ok("with Ctrl, one more", await count(page, ".crumb") === 2);
	await page.keyboard.press("Escape");
	ok("Escape: all threads", await count(page, ".crumb") === 0);
	const shown = new Set(await page.evaluate(`stackreel.shell.timeline.summer.sum("p0", [0], 1, true, 0, ${duration}, 600).areas.map((area) => area.some((value) => value > 0))`));
	ok("states are there", shown.has(true));
	await close("waits", opened);
}

async function checkWakers() {
	const opened = await open("waits"), { page } = opened, place = await page.locator(".tracks-right canvas").boundingBox();
	ok("arrows of wakers", await page.evaluate("stackreel.shell.timeline.arrows.length") === 20);
	const { x, y } = await page.evaluate(`(() => {
		const { timeline } = stackreel.shell, { time, thread } = timeline.arrows[0];
		return { x: timeline.xOf(time), y: 24 + 30 * timeline.tracks.findIndex((track) => track.kind === "process" && track.threads[0] === thread) + 15 };
	})()`);
	await page.mouse.move(place.x + x, place.y + y);
	ok("who woke whom after how long", /Woken byworker-\d \(100\d\), after 10.0 ms/.test(await text(page, ".tooltip")), await text(page, ".tooltip"));
	await page.evaluate("stackreel.shell.timeline.wakes.known.clear(), stackreel.shell.timeline.wakes.make = (thread) => Array.from({ length: 300 }, (_, i) => ({ time: 1e6 * i, thread, waker: -1, name: 'x', tid: 1, waited: 1 })), stackreel.shell.timeline.draw()");
	await drawn(page);
	ok("too many arrows are none", await page.evaluate("stackreel.shell.timeline.arrows") === null);
	await close("wakers", opened);
}

async function checkLabels() {
	const opened = await open("waits", "event=1"), { page } = opened;
	await page.locator("#tab-labels").click();
	await page.locator('.table-row:has-text("0x7001")').dblclick();
	ok("a label is a filter", (await text(page, ".crumb")).startsWith("lock: 0x7001") && (await text(page, "#amount")).includes("10 samples"), await text(page, "#amount"));
	await page.locator('.table-row:has-text("0x7002")').dblclick();
	ok("alternatives", (await text(page, "#amount")).includes("20 samples") && await count(page, ".crumb") === 2, await text(page, "#amount"));
	await page.waitForTimeout(400);
	ok("the address has labels", page.url().includes("label=lock%3D0x7001&label=lock%3D0x7002"), page.url());
	await page.keyboard.press("Escape");
	await page.keyboard.press("Escape");
	ok("Escape gives them up", await count(page, ".crumb") === 0);
	await page.keyboard.press("/");
	await page.keyboard.type("waker=worker-1");
	await page.keyboard.press("Enter");
	ok("a search for KEY=VALUE is a filter", (await text(page, ".crumb")).startsWith("waker: worker-1") && await page.locator("#search").inputValue() === "" && (await text(page, "#amount")).includes("10 samples"), await text(page, "#amount"));
	ok("the timeline has these threads only", (await page.locator(".track-text").allTextContents()).join() === "1 thread,000000000000,worker-2", (await page.locator(".track-text").allTextContents()).join());
	await page.locator(".track-label.group .track-name").click();
	ok("a container is a filter", (await page.locator(".crumb").allTextContents()).some((crumb) => crumb.startsWith("container: 0")));
	await page.locator("#tab-chart").click();
	await drawn(page);
	const box = await page.locator(".flame canvas").boundingBox();
	await page.keyboard.press("g");
	await drawn(page);
	for (let i = 0; i < 40 && !(await count(page, ".tooltip:visible")); i++)
		await page.mouse.move(box.x + 5 + i * 10, box.y + 34);
	ok("a chart's tooltip has the sample's labels", (await text(page, ".tooltip")).includes("wakerworker-1"), await text(page, ".tooltip"));
	await page.keyboard.press("g");
	await drawn(page);
	ok("without gaps: the samples are joined", await page.evaluate(`(() => {
		const { canvas } = stackreel.shell.view, [row] = canvas.rows, width = row.end[row.count - 1] - row.x[0];
		return row.x[0] === 0 && Math.abs(width - canvas.end) < 1 && Array.from(row.x).every((x, i) => i === 0 || x === row.end[i - 1]) && document.querySelector('.view-bar [aria-pressed="true"]') !== null;
	})()`));
	await page.mouse.move(box.x + 3, box.y + 34);
	ok("without gaps: the tooltip has the sample's labels", (await text(page, ".tooltip")).includes("wakerworker-1"), await text(page, ".tooltip"));
	await close("labels", opened);
}

async function checkMarks() {
	const opened = await open("waits"), { page } = opened, range = () => page.evaluate("[stackreel.app.state.from, stackreel.app.state.to]");
	await page.locator("#tab-marks").click();
	await drawn(page);
	ok("marks in order of time, of which none is chosen", (await page.locator(".table-row > div:nth-child(3)").allTextContents()).join() === "process,process,exec,lost samples,trigger,incomplete data,incomplete data" && await count(page, ".crumb") === 0);
	await page.locator('.table-row[data-kind="lost samples"]').click();
	ok("a row selects its time", (await range()).join() === "200000000,300000000" && (await text(page, ".crumb")).startsWith("Time: 200 ms"), String(await range()));
	await page.keyboard.press("ArrowUp");
	await page.keyboard.press("Enter");
	ok("by keys as well, and Enter its thread", (await range()).join() === "199000000,598500000" && (await page.locator(".crumb").allTextContents()).some((crumb) => crumb.startsWith("Thread: worker-2 (1002)")), String(await range()));
	ok("and zooms in", await page.evaluate("stackreel.app.state.viewFrom") === 199e6);
	await page.getByRole("button", { name: "Duration" }).click();
	await drawn(page);
	ok("another order", (await text(page, ".table-row")).includes("trigger") && await page.locator('[aria-sort="ascending"]').textContent() === "Duration", await text(page, ".table-row"));
	ok("a search finds marks", await search(page, "RING") === "1 of 7 matched" && await count(page, ".table-row") === 1, await text(page, "#matched"));
	await close("marks", opened);
}

async function checkNames() {
	const opened = await open("hostile"), { page } = opened;
	for (const tab of ["1", "2", "3", "4", "5", "6", "3"]) {
		await page.keyboard.press(tab);
		await drawn(page);
	}
	await page.locator(".table-row").first().click();
	await page.keyboard.press("*");
	for (const event of ["1", "0"])
		await page.locator("#event").selectOption(event);
	await page.keyboard.press("4");
	for (const row of await page.locator(".table-row").all())
		await row.hover();
	await page.locator(".table-row").first().click({ button: "right" });
	await page.getByRole("menuitem", { name: "Show callers" }).click();
	await page.keyboard.press("?");
	await page.keyboard.press("Escape");
	await page.keyboard.press("1");
	const box = await page.locator(".flame canvas").boundingBox();
	for (let i = 0; i < 12; i++)
		await page.mouse.move(box.x + 20 + i * 100, box.y + 30);
	ok("names are shown", await page.evaluate("stackreel.app.capture.functions.name.some((name) => name.includes('<script>'))"));
	ok("no name acts", await page.title() !== "acted" && await count(page, "img, main script") === 0, await page.title());
	ok("__proto__ is a name", await page.evaluate("stackreel.app.capture.functions.name.includes('__proto__')"));
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

// A stand-in for profiler.firefox.com, which asks for nothing and answers as the site's program or its documentation says.
const stand = (answers) => `<!DOCTYPE html><title>stand-in</title><script>
	addEventListener("message", ({ data, source, origin }) => {
		const answer = ${JSON.stringify(answers)}[data.name];
		if (answer)
			source.postMessage({ name: answer }, "*");
		if (data.name === "inject-profile")
			window.got = [...window.got ?? [], { profile: data.profile, origin }];
	});
</script>`;

async function checkFirefox() {
	const [{ samples }, profile] = [expected, JSON.parse(readFileSync(`${folder}/firefox.json`, "utf8"))];
	for (const [which, answers] of [["program", { "ready:request": "ready:response" }], ["documentation", { "is-ready": "is-ready" }]]) {
		const opened = await open("firefox"), { page } = opened;
		ok("--firefox: what it has", (await text(page, "#facts")).startsWith(`${samples} samples of 1 thread `), await text(page, "#facts"));
		await page.context().route("https://profiler.firefox.com/**", (route) => route.fulfill({ contentType: "text/html", body: stand(answers) }));
		const [site] = await Promise.all([page.context().waitForEvent("page"), page.locator("#open").click()]);
		await site.waitForFunction("window.got", null, { timeout: 20000 });
		await page.waitForTimeout(600);
		const got = await site.evaluate("window.got");
		ok(`--firefox: the site's ${which}: it has the profile, once`, site.url() === "https://profiler.firefox.com/from-post-message/" && got.length === 1 && JSON.stringify(got[0].profile) === JSON.stringify(profile));
		ok(`--firefox: the site's ${which}: the page says so`, await text(page, "#state") === "the other window has the profile", await text(page, "#state"));
		// Until the site is loaded, its window is an empty page, which must not have the messages.
		opened.problems = opened.problems.filter((problem) => !/target origin provided .* does not match/.test(problem));
		await close(`--firefox, ${which}`, opened);
	}
	const opened = await open("firefox"), { page } = opened;
	await page.context().route("https://profiler.firefox.com/**", (route) => route.fulfill({ contentType: "text/html", body: stand({}) }));
	const [site] = await Promise.all([page.context().waitForEvent("page"), page.locator("#open").click()]);
	await page.evaluate("postMessage({ name: 'ready:response' }, '*')");
	await page.waitForTimeout(600);
	ok("--firefox: other windows' answers do not count", await text(page, "#state") === "waiting for profiler.firefox.com …" && await site.evaluate("window.got") === undefined);
	await site.close();
	await page.locator("#state").getByText("the window was closed").waitFor();
	const [download] = await Promise.all([page.waitForEvent("download"), page.locator("#save").click()]);
	ok("--firefox: the profile as a file", JSON.stringify(JSON.parse(readFileSync(await download.path(), "utf8"))) === JSON.stringify(profile));
	await page.context().close();
}

async function checkMany() {
	const opened = await open("many"), { page } = opened, started = await opened.worked();
	// Twenty times what this takes on an idle machine of 2026: work that grows with the square would exceed it.
	ok("a million samples are shown after a bounded amount of work", started < 20000, `${Math.round(started)} ms`);
	ok("all threads are counted", (await text(page, ".track-name")).startsWith(`All ${expected.threads.toLocaleString("en")} threads`), await text(page, ".track-name"));
	ok("all samples are there", (await text(page, "#amount")).includes(`${(expected.threads * 10).toLocaleString("en")} samples`), await text(page, "#amount"));
	await page.evaluate("document.querySelector('.tracks').scrollTop = 1e9");
	await drawn(page);
	const more = page.locator(".track-more").first();
	ok("more processes are counted", /^[\d,]+ (more|idle) processes$/.test(await more.textContent()), await more.textContent());
	await more.click();
	ok("more are shown", await page.evaluate("stackreel.shell.timeline.tracks.length") > 100);
	await page.getByRole("searchbox", { name: "Filter" }).fill("worker-7");
	await drawn(page);
	ok("they are searched", (await page.locator(".track-text").allTextContents()).slice(1).every((name) => name.includes("worker-7")));
	const place = await page.locator(".tracks-right canvas").boundingBox(), before = await opened.worked();
	await page.mouse.move(place.x + 600, place.y + 40);
	for (let i = 0; i < 30; i++) {
		await page.mouse.wheel(0, -40);
		await drawn(page);
	}
	const each = (await opened.worked() - before) / 30;
	ok("zooming takes a bounded amount of work", each < 330, `${each.toFixed(1)} ms`);
	await close("many threads", opened);
}

// Profiles from `stackreel aggregate` have no times and threads.
async function checkProfile() {
	const opened = await open("profile"), { page } = opened;
	ok("a profile has no timeline", await page.locator("#timeline").isHidden() && await count(page, "#tab-chart") === 0);
	ok("a profile's samples", (await text(page, "#amount")).includes(`${expected.samples} samples`), await text(page, "#amount"));
	ok("search in a profile", await search(page, "shop::walk") === `${expected.walk} matched`, await text(page, "#matched"));
	await close("a profile", opened);
}

async function checkDiff() {
	const opened = await open("diff"), { page } = opened, colorOf = (name) => page.evaluate((wanted) => {
		const { app, shell } = globalThis.stackreel, { diff, functions } = app.capture, node = diff.tree.function.findIndex((of, i) => i > 0 && functions.name[of] === wanted);
		return shell.view.canvas.colorOf(node, diff.tree.function[node]);
	}, name);
	ok("a comparison begins with its changes", await page.locator("#tab-diff").getAttribute("aria-selected") === "true" && await page.locator("#timeline").isHidden());
	ok("its first changed function is selected in the graph", await page.evaluate("(({ app, shell: { view: { canvas } } }) => app.capture.functions.name[canvas.summed.tree.function[canvas.selected]])(stackreel)") === "store"
		&& (await text(page, ".table-row")).includes("store"));
	const [more, less, same] = await Promise.all(["find", "copy", "check"].map(colorOf)), channels = (color) => [1, 5].map((at) => parseInt(color.slice(at, at + 2), 16));
	ok("red, blue and neutral", channels(more)[0] > channels(more)[1] + 80 && channels(less)[1] > channels(less)[0] + 80 && Math.abs(channels(same)[0] - channels(same)[1]) < 15, `${more} ${less} ${same}`);
	const scan = await boxOf(page, "scan"), check = await boxOf(page, "check");
	await page.mouse.move(scan.x, scan.y);
	ok("a tooltip has both values, the change and its interval", /Before19\.95 %After37\.95 %Change\+18\.00 % \(\+90\.2 %\), significantInterval\+14\.\d\d … \+21\.\d\d %/.test(await text(page, ".tooltip")), await text(page, ".tooltip"));
	await page.mouse.move(check.x, check.y);
	ok("not significant", (await text(page, ".tooltip")).includes("not significant"), await text(page, ".tooltip"));
	ok("its values are drawn", /before\s*median 38\.00 % of 27 blocks of time\s*after\s*median 12\.00 %/.test(await text(page, ".spread")) && await count(page, ".spread svg") === 2, await text(page, ".spread"));
	ok("the largest significant change on top", /^significant▼ −25\.55 %/.test(await text(page, ".table-row")), await text(page, ".table-row"));
	await page.getByRole("button", { name: "Change" }).click();
	await drawn(page);
	ok("another order", (await text(page, ".table-row")).includes("▲ +18.00 %"), await text(page, ".table-row"));
	await page.getByLabel("Table").selectOption("self");
	await drawn(page);
	ok("functions alone", (await text(page, ".note >> nth=1")).startsWith("4 of "), await text(page, ".note >> nth=1"));
	ok("a gone function has no width after", await boxOf(page, "copy") === null);
	const [download] = await Promise.all([page.waitForEvent("download"), page.keyboard.press("e")]), svg = readFileSync(await download.path(), "utf8");
	ok("saved as a picture", svg.includes("&#9650; scan") && svg.includes("not significant") && svg.includes(more), svg.slice(0, 300));
	await page.getByLabel("Width").selectOption("old");
	await drawn(page);
	ok("but before", await boxOf(page, "copy") !== null);
	ok("search", await search(page, "store") === "37.80 % matched", await text(page, "#matched"));
	await page.keyboard.press("Escape");
	await page.keyboard.press("2");
	await drawn(page);
	ok("other tabs show the last capture", (await text(page, "#amount")).endsWith("4,000 samples") && !await page.locator("#timeline").isHidden(), await text(page, "#amount"));
	await page.waitForTimeout(400);
	ok("the address has all of it", ["tab=flame", "width=old", "part=self"].every((part) => page.url().includes(part)), page.url());
	await close("changes", opened);
}

async function checkCode() {
	const opened = await open("code"), { page } = opened;
	await page.locator("#tab-source").click();
	await drawn(page);
	ok("Source opens on a function that has source", await count(page, '.table-row[data-kind="hot"]') > 0 && await page.evaluate("stackreel.app.state.of") === null);
	await page.keyboard.press("1");
	await drawn(page);
	const tax = await boxOf(page, "shop::Checkout::tax");
	await page.mouse.click(tax.x, tax.y);
	await page.keyboard.press("o");
	await drawn(page);
	await page.getByRole("button", { name: "Instructions" }).click();
	await drawn(page);
	const reason = page.getByText("This function is inlined"), head = await page.locator('[aria-label="Instructions"] .table-head').boundingBox();
	ok("why a function has no instructions", (await reason.boundingBox()).y >= head.y + head.height);
	await page.getByRole("button", { name: "Instructions" }).click();
	await search(page, "tax");
	const field = await page.locator("#search").boundingBox(), tabs = await page.locator("#tabs").boundingBox(), shareOf = await page.locator("#matched").boundingBox();
	ok("the share is in the field, beside the text", shareOf.x > field.x + 40 && shareOf.x + shareOf.width < field.x + field.width && parseFloat(await page.locator("#search").evaluate((input) => input.style.paddingRight)) > shareOf.width);
	ok("a search does not move the toolbar", Math.abs(field.y + field.height / 2 - tabs.y - tabs.height / 2) < 4, JSON.stringify([field, tabs]));
	ok("with all tabs and a search, all within the window", field.x + field.width <= 1280 && await page.evaluate("document.documentElement.scrollWidth") <= 1280, JSON.stringify(field));
	await page.keyboard.press("Escape");
	ok("key o shows the source code", await page.locator("#tab-source").getAttribute("aria-selected") === "true");
	const hot = await text(page, '.table-row[data-kind="hot"]');
	ok("a line with samples has its share and its text", hot.startsWith(`${expected.tax}${expected.tax}58`) && hot.includes('onerror="document.title=1">') && hot.includes("owed = owed * rate_"), hot);
	ok("its text is text", await count(page, "#view img") === 0 && await page.title() !== "1");
	await page.evaluate("stackreel.app.update({ of: stackreel.app.capture.functions.name.findIndex((name) => name.startsWith('shop::by_value')) })");
	await page.getByRole("button", { name: "Instructions" }).click();
	await drawn(page);
	ok("instructions", /^\d+\.\d\d %orders\.cc:8\d4007\w+(ldr|lsl)/.test(await text(page, '.table-row[data-kind="hot"]:visible')), await text(page, '.table-row[data-kind="hot"]:visible'));
	await page.getByRole("button", { name: "Instructions" }).click();
	await page.evaluate((of) => stackreel.app.update({ from: 200e6, to: 400e6, of }), await page.evaluate("stackreel.app.capture.functions.name.findIndex((name) => name.includes('Checkout::tax'))"));
	await drawn(page);
	ok("the selection's share", (await text(page, '.table-row[data-kind="hot"]')).startsWith(expected.range), await text(page, '.table-row[data-kind="hot"]'));
	await close("source code", opened);
	const other = await open("orders", "tab=lines");
	ok("without it, lines say how to get it", (await text(other.page, "#view .note")).includes("view --source"), await text(other.page, "#view .note"));
	await close("lines", other);
}

// A window at 200 %: the tabs and the buttons have a row each, nothing is cut off, and the flame graph has room below a lower timeline.
async function checkSmall() {
	const opened = await open("waits", "", { viewport: { width: 720, height: 430 } }), { page } = opened;
	const box = async (selector) => page.locator(selector).boundingBox();
	const [tabs, invert, search, hint, timeline, view] = [await box("#tabs"), await box("#invert"), await box("#search"), await box(".hint"), await box("#timeline"), await box("#view")];
	ok("small: buttons are below the tabs", invert.y >= tabs.y + tabs.height && Math.abs(invert.y + invert.height / 2 - search.y - search.height / 2) < 3, JSON.stringify([tabs, invert, search]));
	ok("small: all within the window", search.x + search.width <= 720 && tabs.x + tabs.width <= 720, JSON.stringify([tabs, search]));
	ok("small: the hint takes one line", hint.height < 25, JSON.stringify(hint));
	ok("small: room for the graph", timeline.height <= 430 * 0.36 + 1 && view.height > 80, JSON.stringify([timeline, view]));
	ok("quality without unwound stacks", await text(page, "#quality") === "samples were lost", await text(page, "#quality"));
	await close("small", opened);
}

// In a window of 1000 × 700, the toolbar has one row, whatever tabs there are.
async function checkOneRow() {
	for (const [name, fragment] of [["waits", ""], ["code", ""], ["diff", ""], ["diff", "tab=flame"], ["waits", "search=a"]]) {
		const opened = await open(name, fragment, { viewport: { width: 1000, height: 700 } }), { page } = opened, box = await page.locator("#toolbar").boundingBox(), field = await page.locator("#search").boundingBox();
		const tabs = await page.evaluate("(({ scrollWidth, clientWidth }) => [scrollWidth, clientWidth])(document.getElementById('tabs'))");
		ok(`1000 × 700: ${name} has a toolbar of one row`, box.height < 50 && field.width > 60 && field.x + field.width <= 1000 && tabs[0] <= tabs[1], JSON.stringify([box, field, tabs]));
		await close(name, opened);
	}
}

async function checkGroups() {
	const opened = await open("waits", "by=program"), { page } = opened, choice = page.getByLabel("First level");
	await page.evaluate("stackreel.app.update({ by: null })");
	await drawn(page);
	ok("several programs: they are the first level", await choice.inputValue() === "program" && await boxOf(page, "worker-1") !== null && await boxOf(page, "worker-2") !== null);
	ok("all of what pages of this capture have", (await choice.locator("option").allTextContents()).join() === "none,program,process,container,thread");
	await choice.selectOption("process");
	await drawn(page);
	ok("processes", await boxOf(page, "worker-1 (1001)") !== null);
	await choice.selectOption("container");
	await drawn(page);
	ok("containers", await boxOf(page, "000000000000") !== null);
	await page.waitForTimeout(400);
	ok("the address has the first level", page.url().includes("by=container"), page.url());
	await choice.selectOption("none");
	await drawn(page);
	ok("none", await boxOf(page, "worker-1") === null && await boxOf(page, "function_0") !== null);
	await close("first level", opened);
	const one = await open("orders");
	ok("one program: no choice", await one.page.locator("#by-label").isHidden());
	await close("one program", one);
}

// The threads of the largest process are open.
async function shoot() {
	for (const theme of ["light", "dark"]) {
		const { page, close: done } = await open("shots", "", { colorScheme: theme, viewport: { width: 1280, height: 720 }, deviceScaleFactor: 1.5 });
		const twisty = page.locator('.track-label:nth-child(2) .track-twisty[aria-expanded="false"]');
		if (await twisty.count())
			await twisty.click();
		await drawn(page);
		await page.screenshot({ path: `${shots}/view-${theme}.png` });
		await done();
	}
	const { page, close: done } = await open("shots-diff", "", { viewport: { width: 1280, height: 760 } }), sorting = await boxOf(page, "shop::by_value");
	await page.mouse.move(sorting.x, sorting.y);
	await page.screenshot({ path: `${shots}/view-diff.png` });
	await done();
}

if (shots)
	await shoot();
for (const check of [checkFlame, checkTransforms, checkRange, checkTabs, checkTreeSearch, checkDetails, checkLinks, checkFiles, checkThemes, checkSmall, checkOneRow, checkGroups, checkWaits, checkWakers, checkLabels, checkMarks, checkNames, checkFirefox, checkMany, checkProfile, checkDiff, checkCode])
	await check().catch((error) => ok(check.name, false, error.stack));
await finish(browser);
