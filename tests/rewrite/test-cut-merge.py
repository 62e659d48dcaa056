#!/usr/bin/env python3
"""Parts of captures, and merged captures: their samples, names and side records, and the captures these came from.

The captures are made by hand; chains of addresses that the recorder walked need no unwinding. The second reader (reel_reader.py) also
reads the output.

    O=DIR   the object directory (build)
"""

import io
import itertools
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
import reel_reader

TOOL = os.path.join(os.environ.get("O", "build"), "stackreel")

FILE, KERNEL, ANONYMOUS = 1, 3, 5
FOUND, FORK, EXEC = 0, 1, 2
CODE = 0x7F0000001000
ENTRY, WORK, IDLE = 0xFFFFFFFF81000000, 0xFFFFFFFF81001000, 0xFFFFFFFF81002000
WALL = 1700000000 * 10 ** 9
FUNCTIONS = [b"\x0b", b"\x0c"]


class Captures(unittest.TestCase):
    maxDiff = 4000

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.numbers = itertools.count(1)

    def path(self, name=None):
        return os.path.join(self.folder, name or "%d.reel" % next(self.numbers))

    def run_tool(self, status, *arguments):
        done = subprocess.run([TOOL, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        self.assertEqual(done.returncode, status, done.stderr.decode())
        return done.stdout.decode(), done.stderr.decode()

    def output(self, *arguments):
        return self.run_tool(0, *arguments)[0]

    def records(self, path, *names):
        """The records with these names, as the second reader returns them; the file may not have problems."""
        problems = []
        with open(path, "rb") as file:
            capture = reel_reader.Capture(io.BytesIO(file.read()), problems.append)
        found = [record for _, record in capture.all_records()]
        self.assertEqual(problems, [])
        return [record for record in found if not names or record["record"] in names]

    def write(self, *records, samples, end=True, **changes):
        """samples: functions of a b.Samples."""
        changes = dict(dict(recording=b""), **changes)
        file_id = next(self.numbers).to_bytes(16, "little")
        reel = b.Reel(file_id=file_id).side(reel_cases.capture_record(**changes), *records)
        taken, times = b.Samples(), []
        for sample in samples:
            sample(taken)
            times.append(taken.time)
        reel.samples(taken, time_first=min(times), time_last=max(times))
        if end:
            reel.side(b.record("END", 9000, 0, len(samples), 0)).index().trailer()
        path = self.path()
        with open(path, "wb") as file:
            file.write(reel.data)
        return path

    def host(self, name, kernel, comm, jit=(), start=0, **changes):
        """A process of pid 100 with one sample in the kernel; each host's kernel has a different function there."""
        records = [b.record("EVENT", 1, 1, 0, 999, 0, 1, "cpu-clock"),
                   b.record("MODULE", 1, KERNEL, 0, 0, 0, 0, b"kernel", "[kernel]"), b.record("MODULE", 2, ANONYMOUS, 0, 0, 0, 0, b"", "//anon"),
                   b.record("MODULE", 3, FILE, 8, 1, 1000 + start, 0, b"build-id", "/usr/bin/app"),
                   b.record("SPACE", 10, 1, 0, FOUND, 100, 100, 62, 64, 1, 0, 0, 0), b.record("THREAD", 10, 1, 1, FOUND, 100, 100, 0, comm),
                   b.record("MAP", 10, 1, CODE, 0x10000, 0, 5, 2, 2), b.record("MAP", 10, 1, CODE + 0x10000, 0x10000, 0, 5, 2, 3),
                   b.record("CGROUP", 5, "/" + name), b.record("SPACE_CGROUP", 10, 1, 5), b.record("SPACE_CGROUP", 20, 1, 0),
                   b.record("KERNEL_SYMBOL", WORK, 0x100, 1, kernel), b.record("LOSS", 50, 0, 1, 1),
                   b.record("MARK", 30, 1, "by " + name)]
        records += [b.record("JIT_SYMBOL", time, 1, CODE, 0x100, 1, function) for time, function in jit]
        return self.write(*records, samples=[lambda taken: taken.sample(1, 1020, thread=1, kernel=[WORK + 4], frames=[CODE + 5]),
                                             lambda taken: taken.sample(2, 1040, thread=1, kernel=[WORK + 8], frames=[CODE + 5])],
                          hostname=name, start_time=1000, start_wall_time=WALL + start, **changes)

    def merge(self, *paths, status=0):
        path = self.path()
        self.run_tool(status, "merge", "-q", "-o", path, *paths)
        return path


class Merging(Captures):
    def test_hosts_are_told_apart(self):
        web1 = self.host("web1", "sys_read", "nginx", jit=[(0, "alpha")])
        web2 = self.host("web2", "sys_write", "nginx", jit=[(0, "beta")], start=5000)
        merged = self.merge(web2, web1)
        heads = re.findall(r"^(\S+ +100/100 .*): +1 cpu-clock:\n\t.* (\S+)\+0x\w+ \(\[kernel\S*\n\t.* (\S+)\+0x5 ", self.output("script", "--ns", merged), re.MULTILINE)
        self.assertEqual(heads, [("web1:nginx   100/100   [000] 1700000000.000000020", "sys_read", "alpha"),
                                 ("web1:nginx   100/100   [000] 1700000000.000000040", "sys_read", "alpha"),
                                 ("web2:nginx   100/100   [000] 1700000000.000005020", "sys_write", "beta"),
                                 ("web2:nginx   100/100   [000] 1700000000.000005040", "sys_write", "beta")])
        by = {what: re.findall(r"50\.00 %.*? ([a-z]\S+(?: \(\d+\))?)$", self.output("report", "--no-pager", "--by", what, merged), re.MULTILINE)
              for what in ("host", "comm", "process", "thread")}
        self.assertEqual(by, {"host": ["web1", "web2"], "comm": ["web1:nginx", "web2:nginx"], "process": ["web1:nginx (100)", "web2:nginx (100)"],
                              "thread": ["web1:nginx (100)", "web2:nginx (100)"]})
        self.assertRegex(self.output("info", merged), "Captures merged from 2 hosts\n +1  web1, from 2023-11-14 .*\n +1  web2, ")
        # A name alone matches on all hosts.
        for comm, samples in ("nginx", 4), ("web2:nginx", 2):
            self.assertEqual(self.output("script", "--comm", comm, merged).count("cpu-clock:"), samples)
        self.run_tool(1, "script", "--comm", "web3:nginx", merged)

    def test_one_host(self):
        """Its names are unchanged."""
        merged = self.merge(self.host("web1", "sys_read", "nginx"), self.host("web1", "sys_read", "nginx", start=7))
        self.assertEqual(re.findall(r"^nginx +100/100", self.output("script", merged), re.MULTILINE), ["nginx   100/100"] * 4)

    def test_what_is_there_once(self):
        merged = self.merge(*[self.host("web%d" % i, "sys_read", "nginx", start=i) for i in range(3)])
        kinds = [(record["kind"], record["inode"]) for record in self.records(merged, "MODULE")]
        # Each kernel is at a different address; the inode of a file with a build-id is different on each host.
        self.assertEqual(sorted(kinds), [(FILE, 0)] + [(KERNEL, 0)] * 3 + [(ANONYMOUS, 0)])
        self.assertEqual(len(self.records(merged, "EVENT")), 1)
        self.assertEqual([record["id"] for record in self.records(merged, "SPACE", "THREAD", "ORIGIN") if record["record"] == "SPACE"], [1, 2, 3])
        self.assertEqual({record["count"] for record in self.records(merged, "LOSS")}, {1})
        self.assertEqual([(record["time"] % 1000, record["text"]) for record in self.records(merged, "MARK")], [(30, "by web0"), (31, "by web1"), (32, "by web2")])
        self.assertRegex(self.output("info", merged), r"\nMarks\n( +\d+ ns  trigger: by web[012]\n){3}")
        self.assertEqual([(record["id"], record["path"]) for record in self.records(merged, "CGROUP")], [(5, "/web0"), (10, "/web1"), (15, "/web2")])
        cgroups = [(record["space"], record["cgroup"], record["time"] % 1000) for record in self.records(merged, "SPACE_CGROUP")]
        self.assertEqual(cgroups, [(space, cgroup, time + start) for space, start in ((1, 0), (2, 1), (3, 2)) for cgroup, time in ((5 * space, 10), (0, 20))])
        self.assertIn("lost: samples dropped (ring full) 3", self.output("report", "--no-pager", merged).replace("ring buffer full", "samples dropped (ring full)"))

    def test_interpreter_functions(self):
        paths = []
        for name in "f", "g":
            def sample(taken, number):
                taken.frames.append((0, 1, 0, 0, [(4, 2, None), (0, 6)]))
                taken.sample(number, 20, thread=1, frames=[CODE + 5])
            paths.append(self.write(b.record("FUNCTION", 4, 1, 7, name, "app.py", b"\2\2"), samples=[lambda taken: sample(taken, 1)]))
        merged = self.merge(*paths)
        functions = {record["id"]: record["name"] for record in self.records(merged, "FUNCTION")}
        self.assertEqual(functions, {4: "f", 8: "g"})
        self.assertEqual([record["runtime_frames"]["frames"] for record in self.records(merged, "SAMPLE")],
                         [[[0, 6, 0, 0], [id, 2, 1, 0]] for id in (4, 8)])

    def test_order_makes_no_difference(self):
        a, c, d = (self.host(name, kernel, "x", jit=[(5, name)], start=start)
                   for name, kernel, start in (("a", "ka", 9), ("c", "kc", 3), ("d", "kd", 6)))
        merged = [self.merge(a, c, d), self.merge(d, c, a), self.merge(a, self.merge(c, d)), self.merge(self.merge(a, c), d), self.merge(self.merge(d, a), c)]
        for command in ["report"], ["folded"], ["report", "--tree", "--by", "comm"], ["report", "--by", "host"]:
            # The name is in the header.
            outputs = set()
            for path in merged:
                with open(path, "rb") as file:
                    outputs.add(subprocess.run([TOOL, *command, "--no-sandbox", "-"], stdin=file, stdout=subprocess.PIPE, check=True).stdout)
            self.assertEqual(len(outputs), 1, "%s: %s" % (command, b"".join(outputs).decode()))
        scripts = {"".join(sorted(self.output("script", path).split("\n\n"))) for path in merged}
        self.assertEqual(len(scripts), 1)

    def test_times_that_are_none(self):
        """Unknown, and from the start (SPEC.md, section 1)."""
        merged = self.merge(self.host("a", "k", "x", jit=[(0, "f"), (1, "g"), (1000, "h")]), self.host("b", "k", "x"))
        self.assertEqual([record["time"] for record in self.records(merged, "JIT_SYMBOL")], [0, 1, WALL])

    def test_clock_that_was_set(self):
        parts = [self.host("a", "k", "x", recording=bytes(15) + b"r", part=part, start=start) for part, start in ((0, 0), (1, 12 * 10 ** 6))]
        path = self.path()
        said = self.run_tool(0, "merge", "-o", path, *parts)[1]
        self.assertIn("2 captures of 1 host, whose clock was changed by up to 12.0 ms", said)
        self.assertIn("its clock was changed by up to 12.0 ms", self.output("info", path))
        # Different recordings cannot be related.
        said = self.run_tool(0, "merge", "-o", path, parts[0], self.host("a", "k", "x", start=10 ** 9))[1]
        self.assertNotIn("clock", said)

    def test_what_is_refused(self):
        a = self.host("a", "k", "x")
        path = self.path()
        for wrong, why in ((self.host("b", "k", "x", machine=183), "different CPUs: .* is for ELF machine 183, 64 bits, little-endian"),
                           (self.host("b", "k", "x", byte_order=2), "big-endian"), (a, "count twice"), (self.merge(a), "count twice"),
                           (self.write(samples=[lambda taken: taken.sample(1, 1)], start_wall_time=0), "unknown start time"),
                           (self.write(b.record("THREAD", 10, (1 << 62) + 1, 1, FOUND, 100, 100, 0, "x"), samples=[lambda taken: taken.sample(1, 1)]), "exceed 2\\^62"),
                           ("-", "cannot merge standard input"), (self.path("none.reel"), "No such file")):
            status = 2 if wrong in ("-", a) or re.search("twice|CPUs|endian|start time|standard input", why) else 1
            said = self.run_tool(status, "merge", "-o", path, a, wrong)[1]
            self.assertRegex(said, why)
            self.assertFalse(os.path.exists(path))
        with open(a, "rb") as file:
            before = file.read()
        self.assertIn("output file is also an input file", self.run_tool(2, "merge", "-o", a, a, self.host("b", "k", "x"))[1])
        with open(a, "rb") as file:
            self.assertEqual(file.read(), before)

    def test_damage(self):
        """The readable part is merged, and the result also shows that something is missing."""
        a, c = self.host("a", "k", "x"), self.merge(self.host("c", "k", "x", start=1))
        with open(c, "rb") as file:
            data = bytearray(file.read())
        whole = bytes(data)
        data[data.index(b"RBLK", data.index(b"RBLK") + 4) + 80] ^= 1
        with open(c, "wb") as file:
            file.write(data)
        merged = self.path()
        said = self.run_tool(1, "merge", "-o", merged, a, c)[1]
        self.assertIn("block 1", said)
        self.assertIn("END counts: 4 samples, but 2 were read", self.run_tool(1, "info", merged)[0])
        # A file without an END.
        with open(c, "wb") as file:
            file.write(whole[:-40])
        self.run_tool(1, "merge", "-q", "-o", merged, a, c)
        with open(c, "wb") as file:
            file.write(whole[:whole.rindex(b"RBLK")])
        self.run_tool(1, "merge", "-q", "-o", merged, a, c)

    def test_images(self):
        """Equal records are stored once; if they differ, each capture keeps its own."""
        def vdso(bytes, start):
            return self.write(b.record("MODULE", 5, 2, 0, 0, 0, 0, b"vdso", "[vdso]"), b.record("IMAGE", 5, 0, len(bytes), bytes),
                              b.record("SPACE", 10, 1, 0, FOUND, 1, 1, 62, 64, 1, 0, 0, 0), b.record("MAP", 10, 1, CODE, 4096, 0, 5, 2, 5),
                              samples=[lambda taken: taken.sample(1, 20)], start_wall_time=WALL + start)
        merged = self.merge(vdso(b"one", 1), vdso(b"one", 2), vdso(b"two", 3))
        modules = {record["id"] for record in self.records(merged, "MODULE")}
        images = [(record["module"], record["bytes"]) for record in self.records(merged, "IMAGE")]
        self.assertEqual(sorted(images), [(1, b"one".hex()), (2, b"two".hex())] if isinstance(images[0][1], str) else [(1, b"one"), (2, b"two")])
        self.assertEqual(modules, {1, 2})
        self.assertEqual([record["module"] for record in self.records(merged, "MAP")], [1, 1, 2])

    def test_resolved(self):
        """Ways in which frames were found are stored once, wherever their records are."""
        def resolved(id, steps, start):
            return self.write(samples=[lambda taken: taken.sample(1, 20, frames=[5, 6], flags=id << 8 | 34)], end=False, start_wall_time=WALL + start)
        paths = []
        for id, steps, start in (1, b"\x01\x01\x03\x00", 1), (9, b"\x01\x01\x03\x00", 2), (9, b"\x01\x01\x07\x00", 3):
            path = resolved(id, steps, start)
            taken = b.Samples()
            taken.sample(1, 20, frames=[5, 6], flags=id << 8 | 34)
            reel = b.Reel(file_id=bytes(15) + bytes([start])).side(reel_cases.capture_record(recording=b"", start_wall_time=WALL + start)).samples(taken)
            reel.side(b.record("TRACE_STEPS", id, 0, steps), b.record("END", 9000, 0, 1, 0)).index().trailer()
            with open(path, "wb") as file:
                file.write(reel.data)
            paths.append(path)
        merged = self.merge(*paths)
        self.assertEqual([record["id"] for record in self.records(merged, "TRACE_STEPS")], [1, 2])
        self.assertEqual([record["steps"] for record in self.records(merged, "SAMPLE")], [1, 1, 2])


class Copying(Captures):
    def test_several_ends(self):
        """The last one counts (SPEC.md, END): a copy only has that one, and counts one record less."""
        taken = b.Samples()
        taken.sample(1, 20, frames=[5, 6])
        reel = b.Reel().side(reel_cases.capture_record(recording=b"")).samples(taken)
        reel.side(b.record("END", 8000, 0, 1, 0, 3, 3), b.record("END", 9000, 2, 1, 0, 3, 3)).index().trailer()
        with open(self.path("two.reel"), "wb") as file:
            file.write(reel.data)
        for command in "scrub", "shrink", "merge", "repair":
            copy = self.path()
            self.run_tool(0, command, "-q", "-o", copy, self.path("two.reel"))
            self.output("verify", copy)
            self.assertEqual(len(self.records(copy, "END")), 1)
            if command in ("scrub", "shrink"):
                self.assertEqual([(record["reason"], record["side_records"]) for record in self.records(copy, "END")], [(2, 2)])


class Cutting(Captures):
    def processes(self):
        """1 forks 2, which maps more; 3 is unrelated, and 4 is what 1 execs later."""
        def space(time, id, parent, origin, pid):
            return b.record("SPACE", time, id, parent, origin, pid, pid, 62, 64, 1, 0, 0, 0)
        records = [b.record("EVENT", 1, 1, 0, 999, 0, 1, "cpu-clock"), b.record("EVENT", 2, 1, 1, 999, 0, 1, "task-clock")]
        records += [b.record("MODULE", id, kind, 0, 0, 0, 0, b"", path)
                    for id, kind, path in ((1, KERNEL, "[kernel]"), (2, ANONYMOUS, "//anon"), (3, FILE, "/one"), (4, FILE, "/two"), (5, FILE, "/three"), (6, FILE, "/late"))]
        records += [b.record("IMAGE", 3, 0, 4, b"same"), b.record("IMAGE", 5, 0, 4, b"less")]
        records += [space(10, 1, 0, FOUND, 100), b.record("THREAD", 10, 1, 1, FOUND, 100, 100, 0, "one"), b.record("MAP", 10, 1, CODE, 0x10000, 0, 5, 2, 2),
                    b.record("MAP", 10, 1, CODE + 0x10000, 0x10000, 0, 5, 2, 3),
                    space(30, 2, 1, FORK, 200), b.record("THREAD", 30, 2, 2, FORK, 200, 200, 1, "two"), b.record("MAP", 31, 2, CODE + 0x20000, 0x10000, 0, 5, 2, 4),
                    b.record("MAP", 35, 1, CODE + 0x40000, 0x1000, 0, 5, 2, 6),
                    space(12, 3, 0, FOUND, 300), b.record("THREAD", 12, 3, 3, FOUND, 300, 300, 0, "three"), b.record("MAP", 12, 3, CODE, 0x10000, 0, 5, 2, 5),
                    space(60, 4, 1, EXEC, 100), b.record("THREAD_EXEC", 60, 1, 4), b.record("MAP", 60, 4, CODE, 0x10000, 0, 5, 2, 5)]
        records += [b.record("JIT_SYMBOL", 0, 1, CODE, 0x100, 1, "hot"), b.record("JIT_SYMBOL", 0, 1, CODE + 0x100, 0x100, 1, "cold"),
                    b.record("JIT_LINE", 0, 1, CODE, CODE, 3, "x.py"), b.record("JIT_LINE", 0, 1, CODE + 0x100, CODE + 0x100, 9, "x.py")]
        records += [b.record("CGROUP", id, path) for id, path in ((1, "/a"), (2, "/b"), (3, "/c"), (4, "/d"))]
        records += [b.record("SPACE_CGROUP", time, space, cgroup) for time, space, cgroup in ((10, 1, 1), (25, 1, 4), (30, 2, 2), (45, 2, 4), (12, 3, 3), (60, 4, 2))]
        records += [b.record("KERNEL_SYMBOL", address, 0x100, 1, name) for address, name in ((ENTRY, "_stext"), (WORK, "work"), (IDLE, "idle"))]
        records += [b.record("LOSS", time, 0, 1, 1) for time in (20, 90)] + [b.record("MARK", time, 1, "") for time in (20, 90)]
        records += [b.record("FUNCTION", id, 1, 7, name, "app.py", b"") for id, name in ((1, "other"), (2, "needed"))]

        def framed(taken, number, function, time, **fields):
            taken.frames.append((0, 1, 0, 0, [(function, 6, None)]))
            taken.sample(number, time, **fields)

        return self.write(*records, samples=[
            lambda taken: framed(taken, 1, 1, 20, thread=1, frames=[CODE + 5], kernel=[IDLE + 1]),
            lambda taken: framed(taken, 2, 2, 40, thread=2, cpu=1, frames=[CODE + 5, CODE + 0x10010, CODE + 0x20010], kernel=[WORK + 1]),
            lambda taken: taken.sample(3, 50, thread=3, frames=[CODE + 5], event=2),
            lambda taken: taken.sample(4, 80, thread=1, frames=[CODE + 5])])

    def cut(self, path, *options, status=0):
        part = self.path()
        said = self.run_tool(status, "cut", "-q", "-o", part, *options, path)[1]
        return said if status else part

    def test_samples(self):
        whole = self.processes()
        # The kernel is not missing if the names of its functions are recorded; memory without a file is missing without its code.
        info = self.output("info", "--no-host-files", whole)
        self.assertRegex(info, r"\n  names +2  \[kernel\]")
        self.assertRegex(info, r"\n  MISSING +\d+  //anon\n +problem: .* no image or code for it")
        for options in (["--pid", "200"], ["--pid", "100,300"], ["--tid", "300"], ["--comm", "two"], ["--cpu", "1"], ["--time", "20ns..40ns"], ["--time", "..20ns"],
                        ["--event", "task-clock"], ["--time", "60ns.."], []):
            part = self.cut(whole, *options)
            for command in ["script"], ["script", "--no-inline"], ["folded"]:
                self.assertEqual(self.output(*command, part), self.output(*command, *options, whole), options)
            self.records(part)
            self.assertNotIn("Problems", self.output("info", part))

    def damaged(self):
        """Two samples at 20 and 40; the block of a third one, at 90, has a wrong checksum."""
        records = [b.record("EVENT", 1, 1, 0, 999, 0, 1, "cpu-clock"), b.record("SPACE", 10, 1, 0, FOUND, 100, 100, 62, 64, 1, 0, 0, 0),
                   b.record("THREAD", 10, 1, 1, FOUND, 100, 100, 0, "one")]
        reel = b.Reel().side(reel_cases.capture_record(recording=b""), *records)
        for times, changes in (((20, 40), {}), ((90,), dict(payload_crc=1))):
            taken = b.Samples()
            for time in times:
                taken.sample(time, time, thread=1, kernel=[WORK])
            reel.samples(taken, time_first=times[0], time_last=times[-1], **changes)
        reel.side(b.record("END", 100, 0, 3, 0, len(reel.blocks) + 1, 5)).index().trailer()
        path = self.path()
        with open(path, "wb") as file:
            file.write(reel.data)
        return path

    def test_other_times_are_not_read(self):
        whole = self.damaged()
        part = self.cut(whole, "--time", "..40ns")
        self.assertEqual([record["samples"] for record in self.records(part, "END")], [2])
        self.assertEqual(self.output("script", part), self.output("script", "--time", "..40ns", whole))
        self.assertNotIn("Problems", self.output("info", part))
        # Data missing from the whole is also missing here.
        part = self.path()
        self.assertIn("checksum", self.run_tool(1, "cut", "-o", part, "--time", "10ns..", whole)[1])
        self.assertIn("END counts: 2 samples, but 1 were read", self.run_tool(1, "info", part)[0])

    def test_side_records(self):
        part = self.cut(self.processes(), "--pid", "200")
        self.assertEqual([record["id"] for record in self.records(part, "SPACE")], [1, 2])
        self.assertEqual([record["id"] for record in self.records(part, "THREAD")], [2])
        # Mappings made in the parent after the fork are not in the child.
        self.assertEqual([(record["space"], record["module"]) for record in self.records(part, "MAP")], [(1, 2), (1, 3), (2, 4)])
        self.assertEqual([record["id"] for record in self.records(part, "MODULE")], [1, 2, 3, 4])
        self.assertEqual([record["module"] for record in self.records(part, "IMAGE")], [3])
        self.assertEqual([record["name"] for record in self.records(part, "JIT_SYMBOL")], ["hot"])
        self.assertEqual([record["line"] for record in self.records(part, "JIT_LINE")], [3])
        self.assertEqual([record["name"] for record in self.records(part, "KERNEL_SYMBOL")], ["_stext", "work"])
        self.assertEqual([record["path"] for record in self.records(part, "CGROUP")], ["/b"])
        self.assertEqual([record["name"] for record in self.records(part, "FUNCTION")], ["needed"])
        self.assertEqual([(record["space"], record["cgroup"]) for record in self.records(part, "SPACE_CGROUP")], [(2, 2)])
        self.assertEqual([len(self.records(part, name)) for name in ("LOSS", "MARK")], [2, 2])
        self.assertEqual(self.records(part, "END")[0]["samples"], 1)
        # An exec drops everything of the previous program.
        part = self.cut(self.processes(), "--time", "60ns..")
        self.assertEqual([record["id"] for record in self.records(part, "SPACE")], [4])
        self.assertEqual([[record["time"] for record in self.records(part, name)] for name in ("LOSS", "MARK")], [[90], [90]])
        # Nothing else drops a mark.
        for command in "scrub", "shrink", "repair", "pack":
            other = self.path()
            self.run_tool(0, command, "--no-host-files" if command != "scrub" and command != "repair" else "-q", "-o", other, self.processes())
            self.assertEqual([(record["time"], record["kind"], record["text"]) for record in self.records(other, "MARK")], [(20, 1, ""), (90, 1, "")], command)
        self.assertEqual([record["name"] for record in self.records(part, "JIT_SYMBOL")], [])

    def test_nothing_selected(self):
        said = self.cut(self.processes(), "--comm", "nobody", status=1)
        self.assertIn("--comm nobody selects no samples; available: 'one', 'three', 'two'", said)
        self.assertIn("no samples match the selection", said)

    def test_of_merged(self):
        hosts = [self.host(name, kernel, "x", jit=[(0, name)], start=start) for name, kernel, start in (("a", "ka", 1), ("c", "kc", 2))]
        merged = self.merge(*hosts)
        for options in ["--comm", "c:x"], ["--comm", "x"], ["--time", "..1ns"]:
            self.assertEqual(self.output("script", self.cut(merged, *options)), self.output("script", *options, merged))
        part = self.cut(merged, "--comm", "c:x")
        self.assertEqual([record["name"] for record in self.records(part, "KERNEL_SYMBOL")], ["kc"])
        # And merged again with the remaining part.
        self.assertIn("count twice", self.run_tool(2, "merge", "-o", self.path(), part, hosts[1])[1])


if __name__ == "__main__":
    sys.exit(counting.run_suite(unittest.defaultTestLoader.loadTestsFromModule(sys.modules[__name__]), sys.stdout))
