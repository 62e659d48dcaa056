#!/usr/bin/env python3
"""Values of variables in captures alone: pack --values gives the same without the program, and scrub --keep has a limit.

    O=DIR       the object directory (build)
"""
# run.sh: thorough
# checks: replay/values =replay/rewrite elf/image

import os
import re
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [TESTS, os.path.join(TESTS, "cli")]
import counting
from values_oracle import PROGRAMS, TOOL, RecordingTest, printed, run


class PackedTest(RecordingTest):
    def built(self, compiler, flags, source):
        """A program that was recorded."""
        return self.record("packed-" + compiler + "".join(flags), compiler, *["-std=c++17"] * ("+" in compiler), "-g", *flags, os.path.join(PROGRAMS, source), frequency="99").removesuffix(".reel")

    def check_packed(self, program, packed):
        """A capture packed with --values has the same values without the program."""
        capture = program + ".reel"
        arguments = ("script", "-q", "-F", "sample,ip,sym,args,locals")
        theirs = run(TOOL, *arguments, capture)
        ours = run(TOOL, *arguments, "--no-host-files", packed)
        # And packed again, from the images alone.
        run(TOOL, "pack", "-q", "--values", "--no-host-files", "-o", packed + ".again", packed)
        again = run(TOOL, *arguments, "--no-host-files", packed + ".again")
        self.assertGreater(len(re.findall("(?m)^  [^=]* = [^<]", theirs)), 50)
        # Comparing texts of this size takes unittest minutes.
        self.assertTrue(ours == theirs, "values without the program")
        self.assertTrue(again == theirs, "values packed again")
        # Names and lines are those without values.
        run(TOOL, "pack", "-q", "-o", packed + ".plain", capture)
        plain, full = (run(TOOL, "script", "-q", "-F", "sample,ip,sym,srcline", "--no-host-files", path) for path in (packed + ".plain", packed))
        self.assertTrue(plain == full, "names and lines")

    def test_packed(self):
        for compiler, flags, source in (("gcc", ["-O2"], "work.c"), ("gcc", ["-O1", "-gdwarf-4"], "work.c"), ("clang", ["-O2"], "work.c"),
                                      ("g++", ["-O2"], "values.cc"), ("clang++", ["-O1", "-gdwarf-4"], "values.cc"), ("clang++", ["-O2", "-gdwarf-5"], "values.cc")):
            with self.subTest(compiler=compiler, flags=flags):
                program = self.built(compiler, flags, source)
                done = subprocess.run([TOOL, "pack", "--values", "-o", program + ".packed", program + ".reel"], stderr=subprocess.PIPE, text=True, check=False)
                self.assertEqual((done.returncode, "warning" in done.stderr), (0, False), done.stderr)
                self.check_packed(program, program + ".packed")

    def test_not_packed(self):
        """Split debug information is reported; scrubbed captures are refused."""
        program = self.built("gcc", ["-O1", "-gsplit-dwarf"], "work.c")
        done = subprocess.run([TOOL, "pack", "--values", "-o", program + ".packed", program + ".reel"], stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual((done.returncode, "values of its variables are not kept: its debug information is split" in done.stderr), (0, True), done.stderr)
        run(TOOL, "scrub", "-q", "-o", program + ".scrubbed", program + ".reel")
        done = subprocess.run([TOOL, "pack", "--values", "-o", program + ".no", program + ".scrubbed"], stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual((done.returncode, "the capture is scrubbed" in done.stderr), (2, True), done.stderr)
        self.assertFalse(os.path.exists(program + ".no"))

    def test_kept_many(self):
        """Values of deep recursion that a sample has no room for are counted; the innermost ones stay."""
        program = self.record("deep", "gcc", "-g", "-O0", os.path.join(PROGRAMS, "deep.c"), frequency="49").removesuffix(".reel")
        done = subprocess.run([TOOL, "scrub", "--keep", "deep:left", "-o", program + ".kept", program + ".reel"], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r"left out [\d,]+ values of outer calls")
        self.assertEqual(run(TOOL, "values", "-q", "deep:left", program + ".kept"), run(TOOL, "values", "-q", "deep:left", program + ".reel"))
        depths = [[frame[2]["left"] for frame in frames if "left" in frame[2]] for frames in printed(program + ".kept").values()]
        self.assertGreater(max(map(len, depths)), 500)
        for values in depths:
            # The innermost call may have its frame only in part.
            if values[:1] == ["<not captured>"]:
                del values[0]
            first = int(values[0]) if values else 0
            self.assertTrue(values == [str(first + i) for i in range(len(values))], values[:20])


if __name__ == "__main__":
    sys.exit(counting.run_suite(unittest.defaultTestLoader.loadTestsFromModule(sys.modules[__name__]), sys.stdout))
