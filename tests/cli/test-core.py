#!/usr/bin/env python3
"""stackreel core and gdb: in gdb, samples of each CPU have the frames, functions and registers that replay and dump print; in lldb and
drgn, the frames and functions; the core files' memory is the recorded memory; values of a program recorded here; refused samples.

    O=DIR   the object directory (build)
"""
# checks: replay/core cli/core

import itertools
import json
import os
import re
import shutil
import struct
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

BUILD = os.path.abspath(os.environ.get("O", "build"))
TOOL = os.path.join(BUILD, "stackreel")
DATA = os.path.join(os.path.dirname(TESTS), "testdata")
FRAMES = os.path.join(TESTS, "cli", "core_frames.py")
GDB = shutil.which("gdb-multiarch") or shutil.which("gdb")

# gdb's name of each CPU, and the names of registers by DWARF number (stackreel.h), apart from s390x's floating-point ones.
CPUS = {
    "x86_64": ("i386:x86-64", "rax rdx rcx rbx rsi rdi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15 rip".split()),
    "i386": ("i386", "eax ecx edx ebx esp ebp esi edi eip".split()),
    "aarch64": ("aarch64", ["x%d" % i for i in range(31)] + ["sp", "pc"]),
    "riscv64": ("riscv:rv64", "zero ra sp gp tp t0 t1 t2 fp s1 a0 a1 a2 a3 a4 a5 a6 a7 s2 s3 s4 s5 s6 s7 s8 s9 s10 s11 t3 t4 t5 t6".split()
                + [None] * 32 + ["pc"]),
    "s390x": ("s390:64-bit", ["r%d" % i for i in range(16)] + [None] * 48 + ["pswm", "pc"]),
}
# Captures of testdata/CPU/chains, and of which samples.  Not among them: functions without CFI (bare), and PLT stubs (lazy), which gdb
# follows in other ways.
CHAINS = ["gcc/leaf", "gcc/exception", "gcc/handler"]
MORE_CHAINS = {"aarch64": ["pauth/leaf", "static-pie/tiny"], "x86_64": ["no-pie/tiny", "gcc/threads", "gcc/inline"], "s390x": ["gcc-O0/tiny"], "riscv64": ["gcc-fp/tiny"]}


def run(*arguments, status=0, **options):
    done = subprocess.run(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL, check=False, **options)
    assert done.returncode == status, (arguments, done.returncode, done.stdout, done.stderr)
    return done.stdout if not status else done.stderr


def traces(capture, *options):
    """The user frames of each sample, as (address, function, is inlined)."""
    found = {}
    for block in run(TOOL, "script", "-q", "-F", "sample,ip,sym", *options, capture).split("\n\n"):
        head, *lines = block.strip("\n").split("\n")
        frames = []
        for line in lines:
            if line.startswith("#"):
                continue
            address, _, name = line.strip().partition(" ")
            inlined = name.endswith(" (inlined)")
            if int(address, 16) < 1 << 63:
                frames.append((int(address, 16), name.removesuffix(" (inlined)"), inlined))
        if head:
            found[int(head.removeprefix("sample="))] = frames
    return found


def samples(capture):
    return [record for record in map(json.loads, run(TOOL, "dump", "-q", "--json", "--bytes", capture).splitlines()) if record["record"] == "SAMPLE"]


def bare_name(name):
    """Without arguments, return type, scopes, a clone's suffix, or what an alias adds."""
    name = re.sub(r"\(.*", "", name.replace("(anonymous namespace)", ""))
    return re.sub(r" \[clone.*|\.(constprop|isra|part|cold).*|@.*|_impl$", "", name).split("::")[-1].split()[-1].lstrip("_")


def gdb(core, *arguments):
    return run(GDB, "-nx", "-batch", "-iex", "set debuginfod enabled off", "-x", core + ".gdb", *arguments)


def segments(path):
    """The PT_LOADs of an ELF file, as {address: bytes}."""
    with open(path, "rb") as file:
        data = file.read()
    order, wide = "<>"[data[5] - 1], data[4] == 2
    # Without ELFOSABI_LINUX, lldb refuses core files of other CPUs.
    assert data[7] == 3
    assert data[:4] == b"\x7fELF" and struct.unpack_from(order + "H", data, 16) == (4,), "not a core file"
    at, size, count = (struct.unpack_from(order + "Q", data, 32) + struct.unpack_from(order + "HH", data, 54) if wide else
                       struct.unpack_from(order + "I", data, 28) + struct.unpack_from(order + "HH", data, 42))
    found = {}
    for place in range(at, at + size * count, size):
        if wide:
            kind, _, offset, address, _, length, memory, _ = struct.unpack_from(order + "IIQQQQQQ", data, place)
        else:
            kind, offset, address, _, length, memory, _, _ = struct.unpack_from(order + "IIIIIIII", data, place)
        if kind == 1:
            assert length == memory and offset + length <= len(data)
            found[address] = data[offset:offset + length]
    return found


def recorded(sample):
    """The bytes of the sample's regions, by address; the first of two counts."""
    found = {}
    for region in sample["regions"]:
        data = bytes.fromhex(region["bytes"])
        missing = {i for offset, size in region["missing"] for i in range(offset, offset + size)}
        for i, byte in enumerate(data):
            if i not in missing:
                found.setdefault(region["address"] + i, byte)
    return found


class CoreTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="stackreel-core.")
        cls.core = os.path.join(cls.folder, "core")

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def write(self, capture, number, *options):
        run(TOOL, "core", "-q", "--sample", str(number), "-o", self.core, *options, capture)
        self.assertLess(os.path.getsize(self.core), 1 << 20)
        for path in (self.core, *[self.core + suffix for suffix in (".gdb", ".lldb", ".py")]):
            self.assertEqual(os.stat(path).st_mode & 0o777, 0o600, path)

    def check_sample(self, capture, number, trace, sample, names, *options):
        self.write(capture, number, *options)
        (line,) = [line for line in gdb(self.core, "-x", FRAMES).splitlines() if line.startswith("RESULT ")]
        result = json.loads(line.removeprefix("RESULT "))
        frames = [frame for frame in result["frames"] if frame[0]]
        where = "%s, sample %d" % (os.path.relpath(capture, DATA), number)
        self.assertEqual([frame[0] for frame in trace], [frame[0] for frame in frames], where)
        for ours, (_, name, inlined) in zip(trace, frames):
            if name:
                self.assertEqual((bare_name(ours[1]), ours[2]), (bare_name(name), inlined), where)
        compared = 0
        for number, size, value in sample["registers"]:
            name = names[number] if number < len(names) else None
            if name in result["registers"] and value is not None:
                self.assertEqual(result["registers"][name] & (1 << 8 * size) - 1, value, "%s: %s" % (where, name))
                compared += 1
        self.assertGreater(compared, 7, where)
        return len(frames)

    def chosen(self, capture, *options, count=1):
        """Some samples, and all traces and samples by number."""
        found = traces(capture, *options)
        by_number = {sample["id"]: sample for sample in samples(capture)}
        numbers = [number for number in sorted(found) if by_number[number]["regions"] and len(found[number]) > 3]
        chosen = numbers[len(numbers) // 3::max(1, len(numbers) // (2 * count))][:count]
        self.assertEqual(len(chosen), count)
        return chosen, found, by_number

    def check_capture(self, cpu, capture, *options, count=1):
        chosen, found, by_number = self.chosen(capture, *options, count=count)
        return sum(self.check_sample(capture, number, found[number], by_number[number], CPUS[cpu][1], *options) for number in chosen)

    def needs_gdb(self, cpu):
        if not GDB:
            self.skipTest("gdb is not installed")
        known = subprocess.run([GDB, "-nx", "-batch", "-ex", "set architecture " + CPUS[cpu][0], "-ex", "python print(1)"],
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False).stdout
        if "Undefined item" in known or known.splitlines()[-1:] != ["1"]:
            self.skipTest("%s does not know %s, or has no Python" % (GDB, cpu))

    def chains(self, cpu):
        """Captures, and the options to find their files."""
        root = os.path.join(self.folder, cpu)
        if not os.path.exists(root):
            run(os.path.join(TESTS, "matrix", "unpack.sh"), cpu, root)
        options = "--no-host-files", "--symfs", root, "--debug-dir", os.path.join(root, "usr/lib/debug")
        return [os.path.join(DATA, cpu, "chains", mode + ".reel") for mode in CHAINS + MORE_CHAINS.get(cpu, [])], options

    def check_chains(self, cpu):
        self.needs_gdb(cpu)
        captures, options = self.chains(cpu)
        for capture in captures:
            self.check_capture(cpu, capture, *options)

    def check_debugger(self, check, without):
        """Has a debugger's frames checked with ours, of samples of two CPUs. Captures with `without` in their paths are skipped."""
        checked = 0
        for cpu in ("x86_64", "aarch64"):
            captures, options = self.chains(cpu)
            for capture in captures:
                if without not in capture:
                    (number,), found, _ = self.chosen(capture, *options)
                    self.write(capture, number, *options)
                    check(found[number], "%s, sample %d" % (os.path.relpath(capture, DATA), number))
                    checked += 1
        self.assertGreaterEqual(checked, 10)

    def test_lldb(self):
        lldb = shutil.which("lldb")
        if not lldb:
            self.skipTest("lldb is not installed")
        format_of_frames = 'settings set frame-format "FRAME ${frame.pc}|${function.name-without-args}\\n"'

        def check(ours, where):
            """An inlined function has the name of the one around it, and a caller of one has another address; lldb 14 misses some."""
            printed = run(lldb, "--no-lldbinit", "--batch", "-s", self.core + ".lldb", "-o", format_of_frames, "-o", "bt")
            theirs = re.findall(r"^[ *]+FRAME 0x([0-9a-f]+)\|(.*)", printed, re.M)
            names, others = ([re.sub(r".*\[fde\].*|.*lldb_unnamed.*", "", bare_name(name)) for name in some] for some in
                             ([name for _, name, inlined in ours if not inlined], [name for _, name in theirs]))
            self.assertEqual([name for name, _ in itertools.groupby(names)], [name for name, _ in itertools.groupby(others)], where)
            called = [frame[0] for frame, inner in zip(ours, [(0, "", False)] + ours) if not frame[2] and not inner[2]]
            self.assertEqual([], [hex(address) for address in called if address not in {int(frame[0], 16) for frame in theirs}], where)

        self.check_debugger(check, "nothing")

    def test_drgn(self):
        drgn, script = shutil.which("drgn"), os.path.join(self.folder, "frames.py")
        version = re.match(r"drgn (\d+)\.(\d+)\.(\d+)", run(drgn, "--version")) if drgn else None
        if not version or tuple(map(int, version.groups())) < (0, 0, 30):
            self.skipTest("drgn 0.0.30 is not installed")
        with open(script, "w", encoding="utf-8") as file:
            file.write("import json, sys\nexec(open(sys.argv[1]).read())\n"
                       "for frame in next(prog.threads()).stack_trace():\n"
                       "    try: print('FRAME', json.dumps([frame.pc, frame.name, frame.is_inline]))\n"
                       "    except LookupError: pass\n")

        def check(ours, where):
            printed = run(drgn, "-q", "-c", self.core, script, self.core + ".py")
            theirs = [json.loads(line.removeprefix("FRAME ")) for line in printed.splitlines() if line.startswith("FRAME ")]
            self.assertEqual([frame[::2] for frame in ours], [(frame[0], frame[2]) for frame in theirs], where)
            for mine, (_, name, _) in zip(ours, theirs):
                # Addresses are functions without a name.
                self.assertIn(bare_name(name), (bare_name(mine[1]), bare_name(hex(mine[0]))), where)

        # There drgn 0.0.31 misses the function that a signal interrupted.
        self.check_debugger(check, "aarch64/chains/gcc/handler")

    def test_x86_64(self):
        self.check_chains("x86_64")

    def test_aarch64(self):
        self.check_chains("aarch64")

    def test_riscv64(self):
        self.check_chains("riscv64")

    def test_s390x(self):
        self.check_chains("s390x")

    def test_i386(self):
        self.needs_gdb("i386")
        self.check_capture("i386", os.path.join(DATA, "i386/orders/orders.reel"), "--no-host-files", "--symfs", os.path.join(DATA, "i386/orders"), count=2)

    def test_perf(self):
        """A capture of perf's, whose program is not position-independent."""
        self.needs_gdb("x86_64")
        capture, perf = os.path.join(self.folder, "perf.reel"), os.path.join(DATA, "x86_64/perf")
        run(TOOL, "import", "-q", "--raw-stacks", "-o", capture, os.path.join(perf, "dwarf.data"))
        self.check_capture("x86_64", capture, "--no-host-files", "--symfs", perf, count=2)
        run(TOOL, "import", "-q", "-o", capture, os.path.join(perf, "fp.data"))
        number = samples(capture)[0]["id"]
        self.assertRegex(run(TOOL, "core", "--sample", str(number), "-o", self.core, capture, status=1), "sample %d has no (stack|registers)" % number)

    def test_images(self):
        """Without files, gdb unwinds with the capture's images."""
        self.needs_gdb("x86_64")
        capture = os.path.join(DATA, "golden/x86_64-exception.reel")
        self.assertGreater(self.check_capture("x86_64", capture, "--no-host-files", "--no-inline"), 4)
        done = subprocess.run([TOOL, "core", "--sample", "1", "--no-host-files", "-o", self.core, capture], stderr=subprocess.PIPE, text=True, check=True)
        self.assertRegex(done.stderr, r"[3-9] of the mapped files not found: debuggers show no arguments")

    def test_terminal(self):
        """gdb prints names of processes, files and symbols as they are, so core files and images have none with control characters."""
        self.needs_gdb("x86_64")
        evil = "\x1b]0;x\x07\x7f\u009b2J\u00e9"
        program = os.path.join(self.folder, "program")
        with open(program + ".c", "w", encoding="ascii") as file:
            file.write("void hot(void) { for (;;) ; }\nint main(void) { return 0; }\n")
        run("gcc", "-O1", "-static", "-nostdlib", "-Wl,--build-id,-e,main", "-o", program, program + ".c")
        run("objcopy", "--redefine-sym", "hot=h" + evil, program)
        with open(program, "rb") as file:
            image = file.read()
        build_id = bytes.fromhex(run("readelf", "-nW", program).split("Build ID: ")[1].split()[0])
        hot = next(int(line.split()[0], 16) for line in run("nm", program).splitlines() if line.split()[2].startswith("h"))
        side = [reel_cases.capture_record(), b.record("EVENT", 1, 1, 0, 999, 0, 1, "cpu-clock", 0), b.record("SPACE", 1, 1, 0, 1, 10, 10, 62, 64, 1, 0, 0, 0)]
        for module, path in ((1, "/nowhere/" + evil), (2, "/nowhere/b")):
            side += [b.record("MODULE", module, 1, 0, 0, 0, 0, build_id if module == 2 else b"", path)]
        side += [b.record("MAP", 1, 1, 0x10000, 0x1000, 0, 5, 0, 1), b.record("MAP", 1, 1, 0x400000, 0x10000, 0, 5, 0, 2),
                 b.record("THREAD", 1, 1, 1, 1, 10, 10, 0, evil), b.record("IMAGE", 2, 0, len(image), image)]
        found = b.Samples()
        found.layout(1, reel_cases.X86)
        found.sample(1, 1000, pc=hot, layout=1, values=[1, 0x7000, hot, 2], regions=[b.Region(0x7000, bytes(64))])
        capture = os.path.join(self.folder, "evil.reel")
        with open(capture, "wb") as file:
            file.write(reel_cases.finish(b.Reel().side(*side).samples(found)).data)
        done = subprocess.run([TOOL, "gdb", "--no-host-files", "--sample", "1", capture, "--", "-nx", "-batch"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=True)
        self.assertIn(b"h?]0;x??", done.stdout)
        self.assertIn(b"Core was generated by `?]0;x??", done.stdout)
        self.assertRegex(done.stdout.decode(), "\\A[^\\x00-\\x09\\x0b-\\x1f\\x7f-\\x9f]*\\Z")

    def test_memory(self):
        """Segments are the recorded bytes: not those that are missing, nor any twice."""
        pieces = missing = 0
        for name in sorted(os.listdir(os.path.join(DATA, "format"))):
            capture = os.path.join(DATA, "format", name)
            # These have processes of CPUs that replay does not know.
            if not name.startswith("good-") or name in ("good-all-records.reel", "good-columns-words.reel"):
                continue
            for sample in samples(capture):
                if not sample["regions"] or sample["layout"] is None:
                    continue
                self.write(capture, sample["id"], "--force")
                expected, found = recorded(sample), {}
                for address, data in segments(self.core).items():
                    for i, byte in enumerate(data):
                        self.assertNotIn(address + i, found)
                        found[address + i] = byte
                    pieces += 1
                self.assertEqual(found, expected, capture)
                missing += sum(len(region["missing"]) for region in sample["regions"])
        self.assertGreater(pieces, 20)
        self.assertGreater(missing, 2)

    def test_refused(self):
        capture = os.path.join(DATA, "x86_64/chains/gcc/leaf.reel")
        core = [TOOL, "core", "-o", self.core]
        self.assertIn("no sample 99999999 in the capture", run(*core, "--sample", "99999999", capture, status=1))
        self.assertIn("no sample selected", run(*core, capture, status=2))
        self.assertIn("invalid", run(*core, "--sample", "x", capture, status=2))
        self.assertIn("-o requires", run(TOOL, "gdb", "-o", self.core, "--sample", "1", capture, status=2))
        self.assertIn("use -o FILE", run(TOOL, "core", "-o", "-", "--sample", "1", capture, status=1))
        resolved = os.path.join(DATA, "golden/x86_64-resolved.reel")
        self.assertIn("is resolved", run(*core, "--sample", str(samples(resolved)[0]["id"]), resolved, status=1))
        blank = os.path.join(self.folder, "a folder")
        os.mkdir(blank)
        self.assertIn("blanks or quotes", run(TOOL, "core", "--sample", "1", "-o", os.path.join(blank, "core"), capture, status=1))
        self.assertEqual(os.listdir(blank), [])
        scrubbed = os.path.join(self.folder, "scrubbed.reel")
        run(TOOL, "scrub", "-q", "-o", scrubbed, capture)
        before = sorted(os.listdir(self.folder))
        self.assertIn("is scrubbed", run(*core[:3], self.core + "2", "--sample", "1", scrubbed, status=1))
        self.assertEqual(sorted(os.listdir(self.folder)), before)
        self.write(scrubbed, 1, "--force")
        locked = os.path.join(DATA, "format/encrypted.reel")
        self.assertIn("encrypted", run(*core, "--sample", "1", locked, status=1))

    def test_gdb(self):
        """The command: its arguments, status, and what it leaves behind."""
        self.needs_gdb("x86_64")
        capture, folder = os.path.join(DATA, "x86_64/chains/gcc/leaf.reel"), os.path.join(self.folder, "temporary")
        os.mkdir(folder)
        environment = dict(os.environ, TMPDIR=folder)
        done = [TOOL, "gdb", "-q", "--no-host-files", "--sample", "3", capture, "--", "-nx", "-batch"]
        self.assertIn("#0 ", run(*done, env=environment))
        run(*done, "-ex", "quit 7", status=7, env=environment)
        self.assertIn("cannot run gdb", run(*done, status=127, env=dict(environment, PATH=self.folder)))
        self.assertEqual(os.listdir(folder), [])

    def test_values(self):
        """A program recorded here: values on its stack and in its constants, but none of other memory.  Its debug information is in a file
        that only --module names."""
        if not GDB or not shutil.which("objcopy"):
            self.skipTest("gdb or objcopy is missing")
        if os.uname().machine not in CPUS:
            self.skipTest("stackreel does not know this CPU")
        self.needs_gdb(os.uname().machine)
        build = "gcc -g -O0 -Wl,--build-id -o $dir/work tests/cli/values/core.c && objcopy --only-keep-debug $dir/work $dir/debug && objcopy --strip-all $dir/work"
        folder = counting.capture("core", build, "-F 499 --raw-stacks", "prlimit --cpu=1 $dir/work")
        capture, debug = (os.path.join(folder, name) for name in ("a.reel", "debug"))
        number = next(number for number, trace in traces(capture, "--module", debug).items() if trace and trace[0][1] == "work")
        self.write(capture, number, "--module", debug)
        wanted = ["request->length", "request->name", "request->flag", "color", "letter", "global", "*heap", "sink"]
        printed = gdb(self.core, *[word for value in wanted for word in ("-ex", "python\ntry: print('VALUE', gdb.parse_and_eval('%s'))\n"
                                                                           "except gdb.error as error: print('VALUE', error)" % value)])
        found = [re.sub("0x[0-9a-f]+", "N", line.replace("VALUE ", "")) for line in printed.splitlines() if line.startswith("VALUE ")]
        self.assertEqual(found, ["1234567", 'N "a name"', "5", "GREEN", "120 'x'"] + ["Cannot access memory at address N"] * 3)


if __name__ == "__main__":
    sys.exit(counting.run_suite(unittest.defaultTestLoader.loadTestsFromModule(sys.modules[__name__]), sys.stdout))
