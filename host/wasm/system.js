// SPDX-License-Identifier: Apache-2.0
// What emscripten's system leaves out, in node and in pages: a library of functions in JavaScript.
mergeInto(LibraryManager.library, {
	$reel_descriptors__deps: ["$FS"],
	$reel_descriptors: {
		// Emscripten's would open the same path again: as a new file, or not at all.
		duplicate: (fd, from) => {
			const stream = SYSCALLS.getStreamFromFD(fd);
			stream.sharers = stream.sharers || { n: 1 };
			stream.sharers.n++;
			return FS.createStream(stream, from).fd;
		},
		// FS.close for these: the last descriptor closes the file.
		closing: (close) => (stream) => stream.sharers && --stream.sharers.n ? FS.closeStream(stream.fd) : close(stream),
		status: (mode, size) => {
			const now = new Date();
			return { dev: 0, ino: 0, mode, nlink: 0, uid: 0, gid: 0, rdev: 0, size, blocks: 0, atime: now, mtime: now, ctime: now };
		},
	},
	__syscall_dup__deps: ["$reel_descriptors"],
	__syscall_dup: function (fd) {
		return reel_descriptors.duplicate(fd, 0);
	},
	__syscall_fcntl64__deps: ["$SYSCALLS", "$reel_descriptors"],
	__syscall_fcntl64: function (fd, command, varargs) {
		const stream = SYSCALLS.getStreamFromFD(fd);
		SYSCALLS.varargs = varargs;
		switch (command) {
		case {{{ cDefine("F_DUPFD") }}}:
			return reel_descriptors.duplicate(fd, SYSCALLS.get());
		case {{{ cDefine("F_GETFD") }}}:
		case {{{ cDefine("F_SETFD") }}}:
		case {{{ cDefine("F_SETFL") }}}:
			return 0;
		case {{{ cDefine("F_GETFL") }}}:
			return stream.flags;
		}
		return -{{{ cDefine("EINVAL") }}};
	},

	// By descriptor: a file may have lost its name, and a pipe has none.
	__syscall_fstat64__deps: ["$SYSCALLS"],
	__syscall_fstat64: function (fd, to) {
		const stream = SYSCALLS.getStreamFromFD(fd);
		const status = () => stream.status ? stream.status() : stream.nfd === undefined ? stream.node.node_ops.getattr(stream.node) : fs.fstatSync(stream.nfd);
		return SYSCALLS.doStat(status, stream.path, to);
	},

	// With zones' short names, as tzset(3) has them; emscripten's are whole words.
	_tzset_js__deps: [],
	_tzset_js: function (timezone, daylight, names) {
		const year = new Date().getFullYear(), days = [new Date(year, 0, 1), new Date(year, 6, 1)];
		const format = new Intl.DateTimeFormat("en-GB", { timeZoneName: "short" });

		days.sort((a, b) => b.getTimezoneOffset() - a.getTimezoneOffset());
		HEAP32[timezone >> 2] = days[0].getTimezoneOffset() * 60;
		HEAP32[daylight >> 2] = Number(days[0].getTimezoneOffset() !== days[1].getTimezoneOffset());
		days.forEach((day, i) => {
			const name = format.formatToParts(day).find((part) => part.type === "timeZoneName").value;
			HEAP32[(names >> 2) + i] = allocateUTF8(name);
		});
	},

	// int reel_reopen(int fd): the same file again, with a position of its own; -errno on failure.
	reel_reopen__deps: ["$FS"],
	reel_reopen: function (fd) {
		try {
			return FS.open(FS.getStream(fd).path, 0).fd;
		} catch (error) {
			return -error.errno;
		}
	},

	reel_system_memory_file__deps: ["$FS", "$reel_descriptors"],
	reel_system_memory_file: function () {
		let bytes = new Uint8Array(1 << 16), size = 0;
		const fd = FS.nextfd();
		FS.streams[fd] = {
			fd, path: "", flags: 2, position: 0, seekable: true, node: { mode: 0o100600 },
			status: () => reel_descriptors.status(0o100600, size),
			stream_ops: {
				llseek: (stream, offset, whence) => offset + (whence === 1 ? stream.position : whence === 2 ? size : 0),
				read: (stream, to, offset, length, position) => {
					length = Math.max(0, Math.min(length, size - position));
					to.set(bytes.subarray(position, position + length), offset);
					return length;
				},
				write: (stream, from, offset, length, position) => {
					if (position + length > bytes.length) {
						const grown = new Uint8Array(Math.max(position + length, 2 * bytes.length));
						grown.set(bytes.subarray(0, size));
						bytes = grown;
					}
					bytes.set(from.subarray(offset, offset + length), position);
					size = Math.max(size, position + length);
					return length;
				},
			},
		};
		return fd;
	},
});
