#!/usr/bin/env python3
"""A JIT's names for its functions: in all output, which of several names counts, and for which process; how the functions
are unwound; and what rewriting a capture keeps.

The captures are made by hand; chains of addresses that the recorder walked need no unwinding.

    O=DIR   the object directory (build)
"""

import os
import re
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [TESTS, os.path.join(TESTS, "reader")]
import counting
import reel_builder as b
import reel_cases

TOOL = os.path.join(os.environ.get("O", "build"), "stackreel")

FILE, ANONYMOUS = 1, 5
FOUND, FORK, EXEC = 0, 1, 2
NONE = "[unknown]"
CODE = 0x7F0000001000

MODULES = [(1, ANONYMOUS, "//anon"), (2, FILE, "/opt/app"), (3, FILE, "/tmp/ffi (deleted)"), (4, ANONYMOUS, "/memfd:doublemapper (deleted)")]


def tool(*arguments):
    done = subprocess.run([TOOL, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    return done.stdout.decode()


class JitNames(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def capture(self, side, samples, machine=62, code_mask=0, registers=((7, 8), (16, 8))):
        """side: records after the definitions; samples: (time, thread, addresses), or (time, thread, pc, sp, stack) and the values
        of the registers if there are others besides sp and pc."""
        records = [b.record("EVENT", 1, 1, 0, 999, 0, 1, "cpu-clock")]
        records += [b.record("MODULE", number, kind, 0, 0, 0, 0, b"", path) for number, kind, path in MODULES]
        records += [b.record("SPACE", 10, 1, 0, FOUND, 100, 100, machine, 64, 1, code_mask, code_mask, 0), b.record("THREAD", 10, 1, 1, FOUND, 100, 100, 0, "app")]
        records += [b.record("MAP", 10, 1, CODE + (number - 1) * 0x10000, 0x10000, 0, 5, 2, number) for number in range(1, 5)]
        taken = b.Samples()
        taken.layout(1, registers)
        for number, (time, thread, *where) in enumerate(samples, 1):
            if len(where) == 1:
                taken.sample(number, time, thread=thread, frames=where[0])
                continue
            pc, sp, stack, *values = where
            region = b.Region(sp, b"".join(word.to_bytes(8, "little") for word in stack))
            taken.sample(number, time, thread=thread, pc=pc, layout=1, values=values[0] if values else [sp, pc], regions=[region])
        reel = reel_cases.started(*records, *side).samples(taken).side(b.record("END", 9000, 0, len(samples), 0))
        path = os.path.join(self.folder, "a.reel")
        with open(path, "wb") as file:
            file.write(reel.index().trailer().data)
        return path

    def frames(self, path, *options):
        """The names of the frames of each trace."""
        script = tool("script", "-q", *options, path)
        return [re.findall(r"^\t +[0-9a-f]+ (.*?)(?:\+0x[0-9a-f]+)? \(.*\)$", trace, re.MULTILINE) for trace in script.split("\n\n") if "cpu-clock" in trace]

    NAMED = [b.record("JIT_SYMBOL", 0, 1, CODE, 0x100, 1, "LazyCompile:*fib /tmp/x.js:3"),
             b.record("JIT_SYMBOL", 0, 1, CODE + 0x100, 0x80, 2, "Foo::bar()"),
             b.record("JIT_LINE", 0, 1, CODE + 0x100, CODE + 0x100, 7, "Foo.java"),
             b.record("JIT_LINE", 0, 1, CODE + 0x100, CODE + 0x110, 9, "Foo.java")]
    # The second byte of Foo::bar's line 9, and a return address right after line 7.
    CHAINS = [(20, 1, [CODE + 5, CODE + 0x111, CODE + 0x110, CODE + 0x100, CODE + 0x5000])]

    def test_names_and_lines(self):
        path = self.capture(self.NAMED, self.CHAINS)
        # The return address of the last but one follows the code before Foo::bar().
        self.assertEqual(self.frames(path), [["LazyCompile:*fib /tmp/x.js:3", "Foo::bar()", "Foo::bar()", "LazyCompile:*fib /tmp/x.js:3",
                                              NONE]])
        script = tool("script", path)
        self.assertIn("%x LazyCompile:*fib /tmp/x.js:3+0x5 (//anon)" % (CODE + 5), script)
        self.assertIn("LazyCompile:*fib /tmp/x.js:3;", tool("folded", path))
        self.assertIn("Foo::bar()", tool("report", path))
        self.assertIn("5 frames: 20.00 % without a name", tool("doctor", path))
        self.assertRegex(tool("info", path), "JIT code +2 names, 2 lines, unwind information 0 times\\n")

    def test_what_counts_when(self):
        side = [b.record("JIT_SYMBOL", 0, 1, CODE, 0x100, 1, "first"), b.record("JIT_SYMBOL", 30, 1, CODE + 0x80, 0x100, 1, "second"),
                b.record("SPACE", 40, 2, 1, FORK, 101, 101, 62, 64, 1, 0, 0, 0), b.record("THREAD", 40, 2, 2, FORK, 101, 101, 1, "child"),
                b.record("JIT_SYMBOL", 50, 1, CODE, 0x100, 1, "third"), b.record("UNMAP", 60, 2, CODE, 0x10000, 0),
                b.record("MAP", 60, 2, CODE, 0x10000, 0, 5, 2, 1), b.record("JIT_SYMBOL", 70, 2, CODE, 1, 1, "of the child"),
                b.record("SPACE", 80, 3, 1, EXEC, 100, 100, 62, 64, 1, 0, 0, 0), b.record("THREAD_EXEC", 80, 1, 3),
                b.record("MAP", 80, 3, CODE, 0x10000, 0, 5, 2, 1)]
        chain = [CODE, CODE + 0x91]
        path = self.capture(side, [(time, thread, chain) for time in range(20, 90, 10) for thread in (1, 2) if thread == 1 or time >= 40])
        expected = [["first", "first"], ["first", "second"],
                    ["first", "second"], ["first", "second"],
                    ["third", "third"], ["first", "second"],
                    ["third", "third"], [NONE, NONE],
                    ["third", "third"], ["of the child", NONE],
                    [NONE, NONE], ["of the child", NONE]]
        for jobs in "-j1", "-j4":
            self.assertEqual(self.frames(path, jobs), expected)

    def test_files_in_memory(self):
        """Names of ELF files in memory end; their unwind information may be .debug_frame, whose addresses are absolute."""
        entry = b"\xff\xff\xff\xff\x01\0\x01\x78\x10\x0c\x07\x08\x90\x01\x0e\x20\0\0\0\0"
        description = bytes(4) + CODE.to_bytes(8, "little") + (0x100).to_bytes(8, "little")
        section = b"".join(len(part).to_bytes(4, "little") + part for part in (entry, description))
        side = [b.record("JIT_SYMBOL", 0, 1, CODE, 0x100, 3, "block"), b.record("JIT_UNWIND", 0, 1, CODE, 0x100, 0, section, 1),
                b.record("JIT_SYMBOL", 30, 1, CODE, 0x80, 3, "")]
        stack = [0, 0, 0, CODE + 0x90]
        path = self.capture(side, [(time, 1, CODE + 5, 0x7FFD00001000, stack) for time in (20, 30)])
        self.assertEqual([names[:2] for names in self.frames(path)], [["block", "block"], [NONE]])

    def test_one_row_for_each_program(self):
        """Code without a JIT's name, in anonymous memory; /opt/other has the lower of two mappings of files."""
        side = [b.record("MODULE", 8, FILE, 0, 0, 0, 0, b"", "/opt/other"),
                b.record("SPACE", 10, 2, 0, FOUND, 101, 101, 62, 64, 1, 0, 0, 0), b.record("THREAD", 10, 2, 2, FOUND, 101, 101, 0, "other"),
                b.record("MAP", 10, 2, CODE - 0x10000, 0x10000, 0, 5, 2, 8), b.record("MAP", 10, 2, CODE, 0x10000, 0, 5, 2, 1),
                b.record("MAP", 10, 2, CODE + 0x10000, 0x10000, 0, 5, 2, 2), b.record("JIT_SYMBOL", 0, 1, CODE + 0x800, 0x10, 1, "named")]
        path = self.capture(side, [(20, 1, [CODE + 4 * i]) for i in range(5)] + [(21, 1, [CODE + 0x30005]), (22, 1, [CODE + 0x804])] +
                            [(30 + i, 2, [CODE + 4 * i]) for i in range(3)])
        folded = sorted(line for line in tool("folded", path).split("\n") if line)
        self.assertEqual([line.split(";")[-1] for line in folded], ["JIT code of app 6", "JIT code of other 3", "named 1"])
        self.assertEqual(re.findall(r"(\d+)  (JIT code of \w+) +(\S+)", tool("report", path)),
                         [("5", "JIT code of app", "[JIT]"), ("3", "JIT code of other", "[JIT]"), ("1", "JIT code of app", "memfd:doublemapper")])
        self.assertIn("[JIT]+0x4 ", tool("report", "--by=address", path))
        self.assertEqual(set(sum(self.frames(path), [])), {NONE, "named"})

    def test_only_code_of_no_file(self):
        side = [b.record("JIT_SYMBOL", 0, 1, CODE, 0x40000, 1, "jit")]
        path = self.capture(side, [(20, 1, [CODE + 0x10000 * i]) for i in range(4)])
        self.assertEqual(self.frames(path), [["jit"], [NONE], ["jit"], ["jit"]])

    def test_doctor_names_what_would_name_it(self):
        hints = {"/usr/bin/node": "Node.js (100.00 % of the samples): node --perf-basic-prof", "/usr/lib/jvm/lib/server/libjvm.so": "-XX:+DumpPerfMapAtExit",
                 "/usr/bin/ruby3.3": "--yjit-perf",
                 "/usr/bin/php8.4": "opcache.jit_debug", "/usr/lib/erlang/erts-13/bin/beam.smp": "+JPperf", "/usr/share/dotnet/dotnet": "DOTNET_PerfMapEnabled=1",
                 "/usr/bin/luajit": "LUAJIT_USE_PERFTOOLS", "/usr/bin/python3.12": None, "/usr/bin/rubyx": None, "/opt/node/x": None}
        for module, hint in hints.items():
            # Detected by a frame, or at least by the process's mappings.
            for chain in [CODE + 5, CODE + 0x40001], [CODE + 5]:
                side = [b.record("MODULE", 9, FILE, 0, 0, 0, 0, b"", module), b.record("MAP", 10, 1, CODE + 0x40000, 0x1000, 0, 5, 2, 9)]
                text = " ".join(tool("doctor", self.capture(side, [(20, 1, chain)])).split())
                self.assertIn("generated by a JIT", text)
                self.assertTrue(hint in text if hint else text.endswith("so that it names its code"), (module, text))
            named = b.record("JIT_SYMBOL", 0, 1, CODE, 0x100, 1, "f")
            self.assertNotIn("generated by a JIT", tool("doctor", self.capture(side + [named], [(20, 1, [CODE + 5])])))

    def test_doctor_says_what_the_recorder_left_out(self):
        def doctor(*side):
            return " ".join(tool("doctor", self.capture(list(side), [(20, 1, [CODE + 5])])).split())
        named = b.record("JIT_SYMBOL", 0, 1, CODE, 0x100, 1, "f")
        self.assertNotIn("How to fix it", doctor(named))
        # Counted in turn, for any CPU.
        text = doctor(named, b.record("LOSS", 30, 0xFFFFFFFF, 12, 1000), b.record("LOSS", 40, 3, 12, 234), b.record("LOSS", 50, 0xFFFFFFFF, 13, 7))
        self.assertIn("names not recorded (1,234) a perf map or jitdump file was not a regular file", text)
        self.assertIn("modules not embedded, or only in part (7) their files could not be read", text)
        for option in "stackreel-record -v", "--embed-limit", "stackreel pack", "--rotate":
            self.assertIn(option, text)
        # Other losses have no remedy that concerns names.
        self.assertNotIn("How to fix it", doctor(named, b.record("LOSS", 30, 0, 1, 5)))

    # ---- unwinding ------------------------------------------------------------------------------

    @staticmethod
    def eh_frame(address, size, at, program=b"", encoding=0x1B):
        """A CIE as made by compilers on x86-64, and an FDE; `at`: the address of its first byte."""
        cie = b"\0\0\0\0" + b"\1zR\0\1\x78\x10\1" + bytes([encoding]) + b"\x0c\x07\x08\x90\x01"
        cie += bytes(-(len(cie) + 4) % 8)
        begin = address - (at + len(cie) + 4 + 8) if encoding == 0x1B else address
        width = 4 if encoding == 0x1B else 8
        fde = (len(cie) + 4 + 4).to_bytes(4, "little") + (begin % (1 << 8 * width)).to_bytes(width, "little") + size.to_bytes(width, "little")
        fde += b"\0" + program
        fde += bytes(-(len(fde) + 4) % 8)
        return b"".join(len(part).to_bytes(4, "little") + part for part in (cie, fde)) + bytes(4)

    SP = 0x7FFE00001000
    APP = CODE + 0x10000  # of /opt/app, which does not exist
    CFA_OFFSET_32 = b"\x0e\x20"
    #                               the return address
    STACK = [1, 2, 3, APP + 0x123, 5, CODE + 0x123, 7, 8]

    def unwound(self, time, pc, *side, stack=None):
        """The number of frames."""
        path = self.capture(list(side), [(time, 1, pc, self.SP, stack or self.STACK)])
        return len(self.frames(path, "--no-frame-pointers")[0])

    def test_unwinding(self):
        at = CODE + 0x200
        frame = self.eh_frame(CODE, 0x100, at, self.CFA_OFFSET_32)
        unwind = b.record("JIT_UNWIND", 20, 1, CODE, 0x80, at, frame)
        self.assertEqual(self.unwound(30, CODE + 5, unwind), 2)
        self.assertEqual(self.unwound(19, CODE + 5, unwind), 1)  # before its time
        self.assertEqual(self.unwound(30, CODE + 0x85, unwind), 1)  # in the FDE, but not in the record's range
        self.assertEqual(self.unwound(30, CODE + 5, unwind, b.record("UNMAP", 25, 1, CODE, 0x1000, 0), b.record("MAP", 25, 1, CODE, 0x1000, 0, 5, 2, 1)), 1)
        self.assertEqual(self.unwound(30, CODE + 5, b.record("JIT_UNWIND", 20, 1, CODE, 0x80, at,
                                                             self.eh_frame(CODE, 0x100, at, self.CFA_OFFSET_32, encoding=4))), 2)
        # Another one for the same code; both count fully, as one calls the other.
        larger = b.record("JIT_UNWIND", 25, 1, CODE, 0x80, at, self.eh_frame(CODE, 0x80, at, b"\x0e\x30"))
        calls = b.record("JIT_UNWIND", 25, 1, CODE + 0x100, 0x80, at, self.eh_frame(CODE + 0x100, 0x80, at, b"\x0e\x10"))
        self.assertEqual(self.unwound(30, CODE + 5, unwind, larger, stack=self.STACK[:6] + [9, self.APP + 1]), 2)
        self.assertEqual(self.unwound(30, CODE + 5, unwind, larger, calls, stack=self.STACK[:6] + [9, self.APP + 1]), 3)

    # CPython's trampoline on arm64, one for each function, in memory and named by a perf map (-X perf): the bytes between _Py_trampoline_func_start and
    # _Py_trampoline_func_end in Debian's arm64 packages python3.13 (3.13.5) and python3.14. For each instruction: whether the return address is on the
    # stack.
    ARM64_TRAMPOLINES = {"3.13": [("fd7bbfa9", False),  # stp x29, x30, [sp, #-16]!
                                  ("fd030091", True),  # mov x29, sp
                                  ("60003fd6", True),  # blr x3
                                  ("fd7bc1a8", True),  # ldp x29, x30, [sp], #16
                                  ("c0035fd6", False)],  # ret
                         "3.14": [("3f2303d5", False),  # paciasp
                                  ("fd7bbfa9", False), ("fd030091", True), ("60003fd6", True), ("fd7bc1a8", True),
                                  ("bf2303d5", False),  # autiasp
                                  ("c0035fd6", False)]}

    def test_python_on_arm64(self):
        """Each instruction of a trampoline that was called by another one, with return addresses signed and not."""
        x29, x30, sp, pc = (29, 8), (30, 8), (31, 8), (32, 8)
        mask = 0x7F << 48
        for version, trampoline in self.ARM64_TRAMPOLINES.items():
            code = bytes.fromhex("".join(instruction for instruction, _ in trampoline))
            side = [b.record("CODE", 15, 1, 0, CODE, (code + bytes(-len(code) % 32)) * 2)]
            fib, main = CODE, CODE + (len(code) + 31) // 32 * 32
            side += [b.record("JIT_SYMBOL", 0, 1, fib, len(code), 1, "py::fib"), b.record("JIT_SYMBOL", 0, 1, main, len(code), 1, "py::main")]
            call = next(i for i, (instruction, _) in enumerate(trampoline) if instruction == "60003fd6")
            for i, (instruction, is_pushed) in enumerate(trampoline):
                for signed in (0, mask & 0x2A << 48) if version == "3.14" else (0,):
                    # After autiasp it is plain, and before paciasp.
                    top = signed if 0 < i < len(trampoline) - 1 else 0
                    back = main + 4 * (call + 1)
                    main_frame = [self.SP + 0x100, self.APP + 0x124 | signed]
                    stack = ([self.SP + 0x10, back | top] if is_pushed else []) + main_frame + [1, 2, 3, 4]
                    frame_pointer = self.SP if is_pushed and trampoline[i - 1][0] != "fd7bbfa9" else self.SP + 0x10 * is_pushed
                    path = self.capture(side, [(20, 1, fib + 4 * i, self.SP, stack, [frame_pointer, back | top, self.SP, fib + 4 * i])], machine=183,
                                        code_mask=mask if version == "3.14" else 0, registers=(x29, x30, sp, pc))
                    self.assertEqual(self.frames(path, "--no-frame-pointers"), [["py::fib", "py::main", NONE]], (version, i, instruction, signed))

    def test_code_read_later(self):
        """Code that was read when the process had already mapped other code; the sample's mappings count."""
        # push %rbp; sub $0x10,%rsp; add $0x10,%rsp; pop %rbp; ret.  At 0x40: a call to this function; mov -8(%rbp),%eax; leave; ret
        code = bytes.fromhex("554883ec104883c4105dc3").ljust(0x40, b"\xcc") + bytes.fromhex("e8bbffffff8b45f8c9c3").ljust(0x40, b"\xcc")
        stack = [1, 2, self.SP + 0x40, CODE + 0x45, 5, 6, 7, 8, 0, 0]
        for mapped in CODE + 0x90000, CODE:
            side = [b.record("UNMAP", 30, 1, CODE, 0x1000, 0)] if mapped == CODE else []
            side += [b.record("MAP", 30, 1, mapped, 0x1000, 0, 5, 2, 3), b.record("CODE", 40, 1, 0, CODE, code)]
            path = self.capture(side, [(20, 1, CODE + 5, self.SP, stack, [9, self.SP, CODE + 5])], registers=((6, 8), (7, 8), (16, 8)))
            self.assertEqual(len(self.frames(path)[0]), 2 if mapped != CODE else 1)

    # leave; ret, after each of two calls; and the called function, whose frame has that size: push %rbp; sub, nop, add,
    # pop %rbp; ret.
    @staticmethod
    def callers(size, nop=b"\x90"):
        frame = b"\x55\x48\x83\xec" + bytes([size]) + nop + b"\x48\x83\xc4" + bytes([size]) + b"\x5d\xc3"
        return b"\xe8\x3b\0\0\0\xc9\xc3" + bytes(25) + b"\xe8\x1b\0\0\0\xc9\xc3" + bytes(25) + frame

    def test_code_replaced_between_readings(self):
        """Where either of two forms may have run, a trace is whole if both give it, or only one gives a whole one."""
        one, two = CODE + 5, CODE + 0x25
        pc, top = CODE + 0x45, self.SP + 0x80
        stack = [0, 0, 0, top, one, 0, 0, top, two] + [0] * 9
        small, large = self.callers(0x18), self.callers(0x38)
        cases = [
            ([b.record("CODE", 15, 1, 0, CODE, small)], [one] * 3),
            ([b.record("CODE", 15, 1, 0, CODE, small), b.record("CODE", 40, 1, 0, CODE, large, 25)], [one, None, two]),
            # Only the size matters here.
            ([b.record("CODE", 15, 1, 0, CODE, small), b.record("CODE", 40, 1, 0, CODE, self.callers(0x18, b"\xf8"), 25)], [one] * 3),
            # In one of the forms the code leads to no caller.
            ([b.record("CODE", 15, 1, 0, CODE, small), b.record("CODE", 40, 1, 0, CODE, self.callers(0x20), 25)], [one, one, None]),
            ([b.record("CODE", 15, 1, 0, CODE, self.callers(0x20)), b.record("CODE", 40, 1, 0, CODE, large, 25)], [None, two, two]),
            # Early captures do not have the time of the last reading, and may have an older form only because nobody looked.
            ([b.record("CODE", 15, 1, 0, CODE, small), b.record("CODE", 40, 1, 0, CODE, large)], [None, None, two]),
            # The first reading; and one after a time with unknown bytes.
            ([b.record("CODE", 35, 1, 0, CODE, small)], [one] * 3),
            ([b.record("CODE", 35, 1, 0, CODE, small, 25)], [None, one, one]),
            ([b.record("CODE", 15, 1, 0, CODE, small), b.record("CODE_END", 25, 1, CODE, 0x1000), b.record("CODE", 40, 1, 0, CODE, large, 40)],
             [one, None, two]),
        ]
        for side, expected in cases:
            samples = [(time, 1, pc, self.SP, stack, [9, self.SP, pc]) for time in (20, 30, 50)]
            path = self.capture(side, samples, registers=((6, 8), (7, 8), (16, 8)))
            for command in None, "merge", "shrink":
                if command:
                    tool(command, "-q", "-o", path + ".new", path)
                    path += ".new"
                script = tool("script", "-q", path)
                found = [[int(address, 16) for address in re.findall(r"^\t +([0-9a-f]+) ", trace, re.MULTILINE)] + ["# stop" in trace]
                         for trace in script.split("\n\n") if "cpu-clock" in trace]
                self.assertEqual(found, [[pc, True] if caller is None else [pc, caller, False] for caller in expected], (side, command, script))

    def test_only_callers_are_believed(self):
        """Not "none", and not places without code or code below."""
        at = CODE + 0x200
        for program in b"\x07\x10", b"\x0e\x08", b"\x0e\x00", b"\x0c\x07\x7f", b"\x0f\x02\x30\x31", b"\x0a" * 50000:
            frame = self.eh_frame(CODE, 0x80, at, program)
            self.assertEqual(self.unwound(30, CODE + 5, b.record("JIT_UNWIND", 20, 1, CODE, 0x80, at, frame)), 1, program[:9])

    def test_hostile_unwind_information(self):
        at = CODE + 0x200
        frame = self.eh_frame(CODE, 0x80, at, self.CFA_OFFSET_32)
        records, samples = [], []
        for size in range(len(frame)):
            records.append(b.record("JIT_UNWIND", 100 + 3 * size, 1, CODE, 0x80, at, frame[:size]))
            for step, byte in (1, 0xFF), (2, 0x80):
                records.append(b.record("JIT_UNWIND", 100 + 3 * size + step, 1, CODE, 0x80, at, frame[:size] + bytes([byte]) + frame[size + 1:]))
            samples += [(100 + 3 * size + step, 1, CODE + 5, self.SP, self.STACK) for step in range(3)]
        path = self.capture(records, samples)
        frames = self.frames(path, "--no-frame-pointers")
        self.assertEqual(len(frames), len(samples))
        self.assertTrue(all(len(trace) in (1, 2) for trace in frames))
        self.assertEqual(frames, self.frames(path, "--no-frame-pointers", "-j4"))

    # ---- rewriting ------------------------------------------------------------------------------

    def test_rewriting(self):
        path = self.capture(self.NAMED, self.CHAINS)
        before = self.frames(path)
        for command in ["scrub"], ["shrink", "--no-host-files"], ["pack", "--no-host-files"]:
            tool(*command, "-o", path + ".new", path)
            self.assertEqual(self.frames(path + ".new"), before, command)
        at = CODE + 0x200
        unwind = b.record("JIT_UNWIND", 20, 1, CODE, 0x80, at, self.eh_frame(CODE, 0x80, at, self.CFA_OFFSET_32))
        stack = self.capture([unwind], [(30, 1, CODE + 5, self.SP, self.STACK)])
        for command in ["scrub"], ["shrink", "--no-host-files"], ["pack", "--no-symbols", "--no-host-files"]:
            tool(*command, "-o", stack + ".new", stack)
            self.assertEqual(len(self.frames(stack + ".new")[0]), 2, command)
        path = self.capture(self.NAMED, self.CHAINS)
        tool("pack", "--no-symbols", "--no-host-files", "-o", path + ".new", path)
        self.assertEqual(self.frames(path + ".new"), [[NONE] * 5])
        self.assertNotIn("JIT_", tool("dump", path + ".new"))
        self.assertIn("JIT_SYMBOL", tool("dump", path))

    def test_hostile_names(self):
        side = [b.record("JIT_SYMBOL", 0, 1, CODE, 0x100, 1, "\x1b[31m;\n" + "x" * 60000), b.record("JIT_LINE", 0, 1, CODE, CODE, 1 << 63, "\r\n")]
        path = self.capture(side, self.CHAINS[:1])
        for command in ["script"], ["folded"], ["report"], ["report", "--tree"], ["doctor"]:
            text = tool(*command, path)
            self.assertNotIn("\x1b", text)
            self.assertNotIn("\r", text)
        self.assertEqual(len(tool("folded", path).splitlines()), 1)


RECORDED = "testdata/x86_64/jit"  # by tests/jit/capture.sh


class Recorded(unittest.TestCase):
    """Debian's CPython and V8, running testdata/programs/jit/: all traces are whole, and the programs' own functions form a
    chain that the program has."""

    @staticmethod
    def stacks(name):
        lines = tool("folded", "-q", "--no-host-files", os.path.join(RECORDED, name)).splitlines()
        return [line.rsplit(" ", 1)[0].split(";") for line in lines]

    def check(self, name, is_own, chain):
        """is_own: whether a frame is the program's own; chain: a pattern of the own frames, joined by spaces."""
        stacks = self.stacks(name)
        own = [[frame for frame in stack if is_own(frame)] for stack in stacks]
        running = [frames for frames in own if any("deep" in frame for frame in frames)]
        self.assertGreater(len(running), 5)
        for frames in running:
            self.assertRegex(" ".join(frames), "^(%s)$" % chain)
        for stack in stacks:
            self.assertNotIn("[incomplete", stack[0])
            self.assertNotIn("[unknown]", stack)

    def test_python(self):
        names = sorted(name for name in os.listdir(RECORDED) if name.startswith("python"))
        self.assertEqual(len(names), 4)
        for name in names:
            self.check(name, lambda frame: frame.endswith(":/tmp/deep.py"),
                       "py::<module>:/tmp/deep.py py::main:/tmp/deep.py( py::deep:/tmp/deep.py){11}( py::fib:/tmp/deep.py){0,13}")

    def test_unwinding_by_what_python_says(self):
        """-X perf_jit: no step follows the code."""
        for version in "3.13", "3.14":
            found = tool("report", "--no-host-files", os.path.join(RECORDED, "python%s-perf_jit.reel" % version))
            self.assertNotIn("without unwind information", found)
            self.assertIn("complete traces: 100.00 %", found)

    def test_node(self):
        """V8 inlines fib into itself."""
        for name in "node-perf-basic-prof.reel", "node-perf-prof.reel":
            self.check(name, lambda frame: frame.startswith("JS:") and "/tmp/deep.js" in frame,
                       r"JS:. /tmp/deep.js:1:1 JS:.main /tmp/deep.js:15:15( JS:.deep /tmp/deep.js:6:14){11}( JS:.fib /tmp/deep.js:2:13){0,13}")


if __name__ == "__main__":
    sys.exit(counting.run_suite(unittest.defaultTestLoader.loadTestsFromModule(sys.modules[__name__]), sys.stdout))
