#!/usr/bin/env python3
"""Python functions in the output of commands: among native frames, alone and not at all; their names, files and lines.

The capture is made by hand: a JIT's names stand for libpython's.

    O=DIR   the object directory (build)
"""

import gzip
import json
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
CODE = 0x7F0000001000
NATIVE = ["_start", "_PyEval_EvalFrameDefault", "json_loads", "_PyEval_EvalFrameDefault", "memcpy"]
START, EVAL, CALL, _, LEAF = (CODE + 0x100 * NATIVE.index(name) + 5 for name in NATIVE)


def write(path, folder, is_native_cut=False):
    """Three samples: in memcpy called from Python, in the interpreter itself, and of a function without a record."""
    reel = b.Reel().side(
        reel_cases.capture_record(recording=b""), b.record("EVENT", 1, 1, 0, 999, 0, 1, "cpu-clock"),
        b.record("MODULE", 1, 5, 0, 0, 0, 0, b"", "//anon"), b.record("SPACE", 10, 1, 0, 0, 100, 100, 62, 64, 1, 0, 0, 0),
        b.record("THREAD", 10, 1, 1, 0, 100, 100, 0, "python3"), b.record("MAP", 10, 1, CODE, 0x10000, 0, 5, 2, 1),
        *(b.record("JIT_SYMBOL", 0, 1, CODE + 0x100 * i, 0x100, 1, name) for i, name in enumerate(NATIVE)),
        # Lines 3, 4 from position 8 on, 3 from 20 on.
        b.record("FUNCTION", 1, 1, 1, "<module>", folder + "/app.py", b"\0\0\4\x0a"),
        b.record("FUNCTION", 2, 1, 2, "Server.handle", folder + "/app.py", b"\0\2\x08\2\x0c\1"),
        # The same function in another process.
        b.record("FUNCTION", 3, 1, 2, "Server.handle", folder + "/app.py", b"\0\2\x08\2\x0c\1"),
        b.record("FUNCTION", 4, 1, 2, "Server.handle", folder + "/other.py", b""))
    samples = b.Samples()
    main = [(1, 6, None)]
    samples.sample(1, 20, frames=[LEAF, EVAL, CALL, EVAL, START])
    samples.sample(2, 40, frames=[EVAL, CALL, EVAL, START])
    samples.sample(3, 60, frames=[EVAL, START])
    samples.sample(4, 80, frames=[LEAF])
    samples.frames = [(0, 1, 0, 0, main + [(2, 9, None)]), (0, 1, 0, 2, [(3, 21, None), (4, 0)]), (0, 1, 0, 0, [(99, 7, None)])]
    reel.samples(samples, time_first=20, time_last=80)
    reel.side(b.record("END", 9000, 0, 4, 0)).index().trailer()
    with open(path, "wb") as file:
        file.write(reel.data)


class Python(unittest.TestCase):
    maxDiff = 4000

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.capture = os.path.join(self.folder, "a.reel")
        write(self.capture, self.folder)
        with open(os.path.join(self.folder, "app.py"), "w", encoding="utf-8") as file:
            file.write("import server\nclass Server:\n    first()\n    second()\n    third()\n    fourth()\n")

    def run_tool(self, *arguments):
        done = subprocess.run([TOOL, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        return done.stdout.decode()

    def folded(self, *options, path=None):
        return sorted(re.sub(r"\[incomplete: .*?\];", "", line) for line in self.run_tool("folded", *options, path or self.capture).splitlines())

    def test_interleaved(self):
        module, handle, other = "<module> (app.py:1)", "Server.handle (app.py:2)", "Server.handle (other.py:2)"
        # Stacks without an end: aligned at the innermost call.
        self.assertEqual(self.folded(), sorted([
            "_start;%s;json_loads;%s;memcpy 1" % (module, handle),
            "_start;%s;json_loads;%s;%s 1" % (module, handle, other),
            "_start;[python function] 1", "memcpy 1"]))

    def test_only(self):
        self.assertEqual(self.folded("--python=only"), sorted([
            "<module> (app.py:1);Server.handle (app.py:2) 1",
            "<module> (app.py:1);Server.handle (app.py:2);Server.handle (other.py:2) 1",
            "[python function] 1", "memcpy 1"]))

    def test_native(self):
        stack = "_start;_PyEval_EvalFrameDefault;json_loads;_PyEval_EvalFrameDefault"
        self.assertEqual(self.folded("--python", "native"), sorted([
            stack + ";memcpy 1", stack + " 1", "_start;_PyEval_EvalFrameDefault 1", "memcpy 1"]))

    def test_lines(self):
        report = self.run_tool("report", "--no-pager", "--by", "line", self.capture)
        # The module's line 6; the first sample's is line 4, the second's 3, and a position without lines has the function's.
        for line in "app.py:6", "app.py:4", "app.py:3", "other.py:2":
            self.assertRegex(report, r"\b%s\b" % line)
        script = self.run_tool("script", "--fields", "+srcline", self.capture)
        self.assertIn("Server.handle (%s/app.py)\n  app.py:4\n" % self.folder, script)

    def test_rewritten(self):
        wanted = self.folded()
        for command in ["shrink"], ["resolve"], ["pack"], ["scrub"], ["cut"], ["repair"], ["merge"]:
            out = os.path.join(self.folder, command[0] + ".reel")
            self.run_tool(*command, "-q", "-o", out, self.capture)
            self.assertEqual(self.folded(path=out), wanted, command)

    def test_how_much(self):
        said = "Python functions in 75.00 % of the samples; 16.67 % of their Python frames have no name\n"
        for command in ["report", "--no-pager"], ["doctor"]:
            self.assertIn(said, self.run_tool(*command, self.capture), command)
        self.assertNotIn("Python", self.run_tool("doctor", "--runtime=native", self.capture))

    def test_kinds(self):
        picture = self.run_tool("flamegraph", "--format=svg", "-o", "/dev/stdout", self.capture)
        self.assertIn(">Python, Ruby</text>", picture)
        self.assertNotIn(">Python, Ruby</text>", self.run_tool("flamegraph", "--format=svg", "--python=native", "-o", "/dev/stdout", self.capture))
        for kind, format in (b"cpython", "otlp"), (b"[python]", "pprof"):
            out = os.path.join(self.folder, "out")
            self.run_tool("export", "--format=" + format, "-o", out, self.capture)
            with open(out, "rb") as file:
                data = file.read()
            self.assertIn(kind, gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)
        frames = [frame for line in self.run_tool("export", "--format=ndjson", self.capture).splitlines()
                  for frame in json.loads(line).get("frames", []) if frame["found_by"] == "interpreter"]
        self.assertEqual({(frame["function"], os.path.basename(frame["file"]), frame["line"]) for frame in frames},
                         {("<module> (app.py:1)", "app.py", 6), ("Server.handle (app.py:2)", "app.py", 4), ("Server.handle (app.py:2)", "app.py", 3),
                          ("Server.handle (other.py:2)", "other.py", 2), ("[python function]", "", 0)})

    def test_diff(self):
        changed = json.loads(self.run_tool("diff", "--json", self.capture, self.capture))
        names = {row["name"] for row in changed["functions"]}
        self.assertLessEqual({"<module> (app.py)", "Server.handle (app.py)", "Server.handle (other.py)", "[python function]"}, names)

    def test_annotate(self):
        text = self.run_tool("annotate", "--no-pager", "--python=only", "Server.handle (app.py:2)", self.capture)
        self.assertIn("\n# Server.handle (app.py:2) [python]\n# self: 25.00 % of cpu-clock", text)
        self.assertIn("             2  class Server:\n             3      first()\n 100.00      4      second()\n", text)
        lines = json.loads(self.run_tool("annotate", "--json", "Server.handle (other.py:2)", self.capture))["instructions"]
        self.assertEqual([(line["places"][0]["line"], line["self"]["samples"]) for line in lines], [(2, 1)])

    def test_wrong_option(self):
        done = subprocess.run([TOOL, "report", "--python=yes", self.capture], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"--runtime: invalid way 'yes' (expected interleaved, only or native)", done.stderr)


if __name__ == "__main__":
    sys.exit(counting.run_suite(unittest.defaultTestLoader.loadTestsFromModule(sys.modules[__name__]), sys.stdout))
