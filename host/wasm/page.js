// SPDX-License-Identifier: Apache-2.0
// In a page's worker, standard output and messages belong to the page: a library of functions in JavaScript.
mergeInto(LibraryManager.library, {
	$reel_streams__deps: ["$FS", "$ERRNO_CODES", "$reel_descriptors"],
	$reel_streams__postset: "reel_streams.begin();",
	$reel_streams: {
		begin: () => {
			FS.close = reel_descriptors.closing(FS.close);
			FS.createStandardStreams = () => {
				for (let fd = 0; fd < 3; fd++)
					FS.streams[fd] = reel_streams.create(fd);
			};
		},
		// Messages have a terminal, which gets progress as well.
		create: (fd) => ({
			fd, path: "", flags: fd ? 1 : 0, position: 0, seekable: false, tty: fd === 2, node: { mode: 0o10600 },
			status: () => reel_descriptors.status(0o10600, 0),
			stream_ops: {
				read: () => 0,
				write: (stream, from, offset, length) => {
					if (!Module["reelWrite"](fd, from.slice(offset, offset + length)))
						throw new FS.ErrnoError(ERRNO_CODES.ENOSPC);
					return length;
				},
			},
		}),
	},
	// The page gives each file to this command alone. It brings the above along, which nothing calls by name.
	__syscall_geteuid32__deps: ["$reel_streams"],
	__syscall_geteuid32: function () {
		return 0;
	},
});
