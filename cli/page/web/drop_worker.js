// Runs a command of stackreel on files that the user gave to drop.js's page. packaging/wasm/page.sh puts emscripten's loader in front of this script.

{
	const MAX_OUTPUT = 512 * 2 ** 20;
	const { stackreelModule } = /** @type {any} */ (globalThis);

	/** @param {MessageEvent<{ wasm: Uint8Array, files: { name: string, data: Blob }[], command: string[] }>} event */
	const run = async ({ data: { wasm, files, command } }) => {
		/** @type {Uint8Array[]} */
		const output = [];
		/** @type {string[]} */
		const messages = [];
		const decoder = new TextDecoder();
		let size = 0, line = "";

		/** Messages end with a newline; what follows is a line of progress, which the next one replaces. @param {Uint8Array} bytes */
		const hear = (bytes) => {
			const before = line, lines = (line + decoder.decode(bytes, { stream: true })).split("\n").map((text) => text.replace(/^.*\r\x1b\[K/, ""));
			line = /** @type {string} */ (lines.pop());
			messages.push(...lines.map((text) => text.replace(/^stackreel: /, "")));
			if (line !== before)
				postMessage({ progress: line });
		};
		const module = await stackreelModule({
			wasmBinary: wasm,
			thisProgram: "stackreel",
			/** For host/wasm/page.js. @param {number} fd @param {Uint8Array} bytes */
			reelWrite: (fd, bytes) => {
				if (fd === 2)
					hear(bytes);
				else if ((size += bytes.length) <= MAX_OUTPUT)
					output.push(bytes);
				return size <= MAX_OUTPUT;
			},
		});
		module.FS.mkdir("/files");
		module.FS.mount(module.WORKERFS, { blobs: files }, "/files");
		module.FS.chdir("/files");
		try {
			module.callMain(command);
		} catch (/** @type {any} */ error) {
			if (error.name !== "ExitStatus")
				throw error;
		}
		postMessage({ messages, output: size <= MAX_OUTPUT ? new Blob(/** @type {BlobPart[]} */ (output), { type: "text/html" }) : null });
	};

	// A rejected promise would be an error of nobody.
	onmessage = (event) => run(event).catch((error) => postMessage({ failure: `stackreel failed: ${error}` }));
}
