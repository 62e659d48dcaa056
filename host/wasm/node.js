// SPDX-License-Identifier: Apache-2.0
// What emscripten's NODERAWFS, which gives the module node's files, leaves out: a library of functions in JavaScript.
mergeInto(LibraryManager.library, {
	$reel_files__deps: ["$FS", "$NODERAWFS", "$ERRNO_CODES", "$reel_descriptors"],
	$reel_files__postset: "reel_files.begin();",
	$reel_files: {
		begin: () => {
			const read = FS.read, write = FS.write, tty = require("tty");

			FS.createStandardStreams = () => {
				for (let fd = 0; fd < 3; fd++)
					FS.streams[fd] = { fd, nfd: fd, position: 0, path: "", flags: fd ? 1 : 0, tty: tty.isatty(fd), seekable: false };
			};
			FS.read = (...request) => reel_files.patiently(read, request);
			FS.write = (...request) => reel_files.patiently(write, request);
			FS.close = reel_descriptors.closing(FS.close);
		},
		// The other end of a pipe may be slow; and where a console or a pipe ends, node throws on Windows.
		patiently: (call, request) => {
			for (;;) {
				try {
					return call(...request);
				} catch (error) {
					if (!request[0].nfd && error.errno === undefined)
						return 0;
					if (error.errno !== ERRNO_CODES.EAGAIN)
						throw error;
					Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
				}
			}
		},
	},

	// As the file's owner is compared with: of others' files, replay trusts less. It brings the above along, which nothing calls by name.
	__syscall_geteuid32__deps: ["$reel_files"],
	__syscall_geteuid32: function () {
		return process.geteuid ? process.geteuid() : 0;
	},
});
