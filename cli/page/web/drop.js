// The page of `make wasm`: runs `stackreel view` in a worker on the user's files, and shows the page that it writes.

import { unpack } from "./bytes.js";
import { byId, el } from "./dom.js";
import { download } from "./export.js";
import { formatPlural } from "./numbers.js";

/** @typedef {{ name: string, data: File }} Given */
/** @typedef {{ progress?: string, failure?: string, messages?: string[], output?: Blob | null }} Report of the worker */

// A hostile file may keep the worker busy: it ends after a time that any sound capture of this size needs less of.
const LIMIT = 120; // s
const LIMIT_PER_MB = 1; // s

/** What files are. @returns {Record<"capture" | "module" | "key", Given[]>} */
const nothing = () => ({ capture: [], module: [], key: [] });

let given = nothing();
/** What was typed in. */
let secret = "";
/** @type {{ wasm: Uint8Array, script: string } | null} */
let program = null;
/** @type {() => void} */
let stop = () => {};
let isBusy = false;

// ---- files ------------------------------------------------------------------------------------

/** By its first bytes; null for others within folders. @param {Given} file @returns {Promise<keyof typeof given | null>} */
async function roleOf({ name, data }) {
	const head = new TextDecoder("latin1").decode(await data.slice(0, 4096).arrayBuffer());
	if (head.slice(9, 13) === "REEL")
		return "capture";
	if (head.startsWith("\x7fELF") || /\.ko\.(gz|xz|zst)$/.test(name))
		return "module";
	if (/^reelsec1_/m.test(head))
		return "key";
	return name.includes("/") ? null : "capture"; // stackreel says what is wrong with it
}

/** Without a server, Chromium reads dropped folders only by handles, which other browsers have not. @param {any} folder @param {string} path @param {Given[]} into */
async function readHandle(folder, path, into) {
	for await (const [name, one] of folder.entries()) {
		if (one.kind === "directory")
			await readHandle(one, `${path}/${name}`, into);
		else
			into.push({ name: `${path}/${name}`, data: await one.getFile() });
	}
}

/** @param {FileSystemEntry} entry @param {Given[]} into */
async function readEntry(entry, into) {
	if (entry.isFile) {
		const data = await new Promise((done, fail) => /** @type {FileSystemFileEntry} */ (entry).file(done, fail));
		into.push({ name: entry.fullPath.slice(1), data });
		return;
	}
	const reader = /** @type {FileSystemDirectoryEntry} */ (entry).createReader();
	for (;;) {
		/** @type {FileSystemEntry[]} */
		const some = await new Promise((done, fail) => reader.readEntries(done, fail));
		if (!some.length)
			return;
		for (const one of some)
			await readEntry(one, into);
	}
}

/** @param {FileList | null} files of an input */
function chosen(files) {
	return Array.from(files ?? [], (data) => ({ name: data.webkitRelativePath || data.name, data }));
}

/** One after the other: files that arrive while stackreel works are ignored. @param {() => Promise<void>} work */
async function alone(work) {
	if (isBusy)
		return;
	isBusy = true;
	try {
		await work();
	} catch (/** @type {any} */ error) {
		refuse([error.message]);
	}
	isBusy = false;
}

/** @param {Given[]} files */
async function take(files) {
	const names = new Set(Object.values(given).flat().map((file) => file.name));
	files.sort((a, b) => a.data.lastModified - b.data.lastModified || (a.name < b.name ? -1 : 1));
	for (const file of files) {
		const role = await roleOf(file), { name } = file;
		if (!role)
			continue;
		// Names are paths in the worker.
		for (let i = 2; names.has(file.name); i++)
			file.name = `${i}/${name}`;
		names.add(file.name);
		given[role].push(file);
	}
	list();
	if (given.capture.length > 2)
		refuse([`these are ${given.capture.length} captures; drop one, or two to compare`]);
	else if (given.capture.length)
		await view();
	else
		refuse([given.module.length ? "now drop the capture" : given.key.length ? "now drop the capture that this key opens" : "no capture among these files"]);
}

function list() {
	const lines = given.capture.map(({ name, data }) => el("li", {}, el("strong", {}, name), ` ${megabytes(data.size)}`));
	if (given.module.length)
		lines.push(el("li", {}, `with ${formatPlural(given.module.length, "debug file")}`));
	if (given.key.length)
		lines.push(el("li", {}, "with a secret key"));
	byId("given").replaceChildren(...lines);
}

/** @param {number} size */
function megabytes(size) {
	return `${(size / 1e6).toFixed(size < 1e7 ? 2 : 0)} MB`;
}

// ---- states of the page -------------------------------------------------------------------------

/** @param {string} state for tests, too @param {string[]} visible */
function enter(state, visible) {
	for (const id of ["start", "work", "key", "shown"])
		byId(id).hidden = !visible.includes(id);
	document.documentElement.dataset.state = state;
}

/** @param {string[]} lines @param {string} [advice] @param {boolean} wantsKey */
function refuse(lines, advice, wantsKey = false) {
	byId("messages").replaceChildren(...lines.map((line) => el("li", {}, line)), ...advice ? [el("li", { class: "advice" }, advice)] : []);
	enter("failed", wantsKey ? ["start", "key"] : ["start"]);
	// The next files replace these; debug files and keys wait for their capture, a capture for its key.
	if (wantsKey)
		byId("secret").focus();
	else if (given.capture.length)
		given = nothing();
}

/** @param {Report} result @param {Given[]} captures */
function show({ messages = [], output }, captures) {
	const modules = given.module, names = captures.map(({ name }) => name), remarks = [];
	/** @type {Map<string, number>} of captures that have no such module */
	const misses = new Map();
	for (const line of messages) {
		const miss = /: --module (.*): no module in this capture matches/.exec(line);
		if (miss)
			misses.set(miss[1], (misses.get(miss[1]) ?? 0) + 1);
		else
			remarks.push(line);
	}
	const matching = modules.filter(({ name }) => (misses.get(name) ?? 0) < names.length).length;
	byId("opened").textContent = names.length > 1 ? names.join(" → ") : "stackreel";
	byId("matching").textContent = modules.length ? `${matching} of ${formatPlural(modules.length, "debug file")} match${modules.length === 1 ? "es" : ""}` : "";
	byId("remarks").hidden = !remarks.length;
	/** @type {HTMLElement} */ (byId("remarks").firstElementChild).textContent = formatPlural(remarks.length, "message");
	/** @type {HTMLElement} */ (byId("remarks").lastElementChild).replaceChildren(...remarks.map((line) => el("li", {}, line)));
	byId("swap").hidden = names.length < 2;
	const save = /** @type {HTMLAnchorElement} */ (byId("save"));
	URL.revokeObjectURL(save.href);
	save.href = URL.createObjectURL(/** @type {Blob} */ (output));
	save.download = names[names.length - 1].replace(/^.*\//, "").replace(/\.reel$/, "") + ".html";
	const frame = el("iframe", { id: "view", title: "The capture", sandbox: "allow-scripts allow-downloads", src: save.href, onload: () => {
		enter("shown", ["shown"]);
		frame.focus();
	} });
	byId("view")?.remove();
	byId("shown").append(frame);
	document.title = `${names.join(" → ")} – stackreel`;
	enter("loading", ["shown"]);
}

function close() {
	given = nothing();
	URL.revokeObjectURL(/** @type {HTMLAnchorElement} */ (byId("save")).href);
	document.title = "stackreel";
	byId("messages").replaceChildren();
	byId("given").replaceChildren();
	byId("view").remove();
	enter("start", ["start"]);
}

// ---- stackreel ----------------------------------------------------------------------------------

/** The bytes of WebAssembly and the worker's script, which the page contains. */
async function loadProgram() {
	const [wasm, script] = await Promise.all(["content", "worker"].map((id) => unpack(/** @type {string} */ (byId(id).textContent))));
	return { wasm, script: URL.createObjectURL(new Blob([/** @type {BlobPart} */ (script)], { type: "text/javascript" })) };
}

/** "12.5 MB of 90.0 MB, 30,000 samples (14 %)" @param {string} text */
function showProgress(text) {
	const percent = /\((\d+) %\)$/.exec(text), bar = /** @type {HTMLProgressElement} */ (byId("bar"));
	if (percent)
		bar.value = Number(percent[1]) / 100;
	else
		bar.removeAttribute("value");
	byId("state").textContent = text || "making the page …";
}

/** Runs the command in a worker of its own, which nothing outlives. @param {string[]} command @param {Given[]} files @returns {Promise<Report>} */
async function run(command, files) {
	const { wasm, script } = program ??= await loadProgram(), worker = new Worker(script);
	const limit = Math.round(LIMIT + LIMIT_PER_MB * files.reduce((sum, { data }) => sum + data.size, 0) / 1e6);
	/** @type {ReturnType<typeof setTimeout> | undefined} */
	let timer;
	const result = await new Promise((/** @type {(report: Report) => void} */ done) => {
		stop = () => done({ failure: "cancelled" });
		timer = setTimeout(() => done({ failure: `stopped after ${limit} seconds, the limit for files of this size; 'stackreel view' has none, and 'stackreel cut --time' makes smaller captures` }), limit * 1000);
		worker.onmessage = ({ data }) => data.progress === undefined ? done(data) : showProgress(data.progress);
		worker.onerror = (event) => done({ failure: `the worker failed: ${event.message}` });
		worker.postMessage({ wasm, files, command });
	});
	clearTimeout(timer);
	worker.terminate();
	return result;
}

async function view() {
	const { capture: captures, module: modules } = given, keys = [...given.key];
	if (secret)
		keys.push({ name: "typed/key", data: new File([secret], "key") });
	byId("messages").replaceChildren();
	showProgress("");
	byId("state").textContent = `reading ${captures.map(({ name }) => name).join(" and ")} …`;
	enter("working", ["start", "work"]);
	const command = ["view", "--no-host-files", "-o", "-"];
	for (const [option, of] of /** @type {[string, Given[]][]} */ ([["--module", modules], ["--identity", keys]]))
		command.push(...of.map(({ name }) => `${option}=${name}`));
	const result = await run([...command, "--", ...captures.map(({ name }) => name)], [...captures, ...modules, ...keys]);
	secret = "";
	if (result.output?.size)
		show(result, captures);
	else if (result.failure)
		refuse([result.failure]);
	else {
		const messages = result.messages ?? [], wantsKey = keys.length > 0 || messages.some((line) => line.includes("use --identity FILE"));
		given.key = [];
		refuse(messages, messages.some((line) => line.includes("out of memory")) ? "A page has 2 GB of memory, and no options; 'stackreel cut --time' makes smaller captures." : undefined, wantsKey);
	}
}

// ---- the page -----------------------------------------------------------------------------------

/** Where a drop ends, without leaving the page. @param {DragEvent} event */
async function drop(event) {
	event.preventDefault();
	document.body.classList.remove("dragging");
	/** @type {Given[]} */
	const files = [];
	/** @type {Promise<void>[]} */
	const folders = [];
	// The items are gone after the first await.
	for (const item of /** @type {any} */ (event.dataTransfer?.items ?? [])) {
		const entry = item.webkitGetAsEntry(), data = item.getAsFile();
		if (entry?.isDirectory)
			folders.push(item.getAsFileSystemHandle ? item.getAsFileSystemHandle().then((/** @type {any} */ folder) => readHandle(folder, folder.name, files)) : readEntry(entry, files));
		else if (data)
			files.push({ name: data.name, data });
	}
	await alone(async () => {
		await Promise.all(folders);
		await take(files);
	});
}

function start() {
	const dark = matchMedia("(prefers-color-scheme: dark)"), follow = () => {
		document.documentElement.dataset.theme = dark.matches ? "dark" : "light";
	};
	dark.addEventListener("change", follow);
	follow();
	addEventListener("dragover", (event) => {
		event.preventDefault();
		document.body.classList.add("dragging");
	});
	addEventListener("dragleave", () => document.body.classList.remove("dragging"));
	addEventListener("drop", drop);
	for (const [button, input] of [["pick", "files"], ["add", "files"], ["pick-folder", "folder"]]) {
		const field = /** @type {HTMLInputElement} */ (byId(input));
		byId(button).addEventListener("click", () => field.click());
		if (button !== "add")
			field.addEventListener("change", async () => {
				const files = chosen(field.files);
				field.value = "";
				await alone(() => take(files));
			});
	}
	byId("cancel").addEventListener("click", () => stop());
	addEventListener("keydown", (event) => event.key === "Escape" && stop());
	byId("close").addEventListener("click", close);
	byId("swap").addEventListener("click", () => {
		given.capture.reverse();
		alone(view);
	});
	byId("key").addEventListener("submit", (event) => {
		const field = /** @type {HTMLInputElement} */ (byId("secret"));
		event.preventDefault();
		secret = field.value.trim();
		field.value = "";
		alone(view);
	});
	byId("licences").addEventListener("click", async () => download("stackreel-licences.txt", new TextDecoder().decode(await unpack(/** @type {string} */ (byId("licence-texts").textContent))), "text/plain"));
	enter("start", ["start"]);
}

start();
