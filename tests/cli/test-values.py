#!/usr/bin/env python3
"""Values of variables: script -F +args,locals and values print what the program has, and for every frame and variable what gdb finds in
the sample's core file.

    O=DIR       the object directory (build)
    CAPTURE...  compare these with gdb instead: PATH or PATH:SAMPLES
"""
# checks: replay/values

import collections
import os
import re
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [TESTS, os.path.join(TESTS, "cli")]
import counting
from values_oracle import PROGRAMS, TOOL, UNKNOWN, RecordingTest, compare, printed, run


class ValuesTest(RecordingTest):
    def check(self, compiler, level):
        source = os.path.join(PROGRAMS, "work.c")
        capture = self.record("work-%s%s" % (compiler, level), compiler, "-g", level, source)
        found = printed(capture)
        works = [frames for frames in found.values() if frames and frames[0][1] == "work"]
        self.assertGreater(len(works), 10)
        for frames in works:
            values = frames[0][2]
            self.assertIn(values["color"], ("GREEN", "<optimized out>"))
            self.assertIn(values["letter"], ("120 'x'", "<optimized out>"))
            self.assertIn(values["negative"], ("-3", "<optimized out>"))
            depths = [frame[2]["depth"] for frame in frames if frame[1] == "caller"]
            known = [(depth, str(i)) for i, depth in enumerate(depths) if not depth.startswith("<")]
            self.assertEqual([depth for depth, _ in known], [i for _, i in known])
        self.assertGreater(sum(frames[0][2]["negative"] == "-3" for frames in works), len(works) // 2)
        shown = run(TOOL, "values", "-q", "work:negative", capture).splitlines()
        self.assertRegex(shown[0], r"^work: in \d+ of \d+ samples, ")
        rows = {row.split(None, 3)[-1].split("  < ")[0]: int(row.split()[2]) for row in shown[4:]}
        self.assertLessEqual(set(rows), {"-3", "<optimized out>", "<not captured>"})
        self.assertEqual(rows["-3"], sum(frames[0][2]["negative"] == "-3" for frames in works))
        self.assertEqual(sum(rows.values()), int(shown[0].split()[2]))
        self.check_groups(capture, works, len(found))
        if level == "-O2":
            self.check_kept(capture, ["work:negative", "work:request->length", "work:request->name", "work:color", "caller:depth", "inlined:times"])
        if level == "-O0":
            # The structure is in main's frame.
            for expression, value in (("request->length", "1234567"), ("request->name", "\"a name\""), ("request->title", "\"a t\""), ("request->flag", "5"),
                                      ("request->pair.a", "-3"), ("request->ratio", "1.5"), ("request->text", "\"hello\""),
                                      ("copy.text[1]", "101 'e'")):
                (row,) = run(TOOL, "values", "-q", "work:" + expression, capture).splitlines()[4:]
                self.assertIn(value + "  < ", row, expression)
            done = subprocess.run([TOOL, "scrub", "--keep", "work:copy", "-o", capture + ".no", capture], stderr=subprocess.PIPE, text=True, check=False)
            self.assertEqual((done.returncode, "work:copy is a structure or an array" in done.stderr), (2, True), done.stderr)
            (row,) = run(TOOL, "values", "-q", "work:copy.text[8]", capture).splitlines()[4:]
            self.assertIn("<not captured>", row)
            ranges = run(TOOL, "values", "-q", "work:i", capture)
            self.assertRegex(ranges, r" 32768 to 65535 ")
            self.assertNotIn(" to ", run(TOOL, "values", "-q", "--exact", "work:i", capture))
        self.check_with_gdb(capture, found, [number for number in found if found[number] in works], 10)

    def test_files(self):
        """A library's function has the parameters of the program's call, unless a library in between has a function of that name."""
        source, found = os.path.join(PROGRAMS, "files.c"), {}
        for name, libraries in (("files", ["work"]), ("files-2", ["first", "work"])):
            libs = "".join("gcc -g -O2 -fPIC -shared -D%s -o $dir/lib%s.so %s && " % ({"work": "LIBRARY", "first": "FIRST"}[library], library, source) for library in libraries)
            found[name] = self.record(name, "gcc", "-g", "-O2", "-L$dir", "-Wl,--no-as-needed,-rpath,$dir", *("-l" + library for library in libraries), source, frequency="999", before=libs)
        capture = found["files"]
        found = printed(capture)
        self.check_with_gdb(capture, found, [number for number in found if any(frame[1] == "main" for frame in found[number])], 3)
        values, interposed = map(self.values_of_calls, (capture, os.path.join(self.folder, "files-2.reel")))
        for name, wanted in (("work:level", {"6", "8"}), ("work:job.name", {'"a job"'}), ("each:size", {"9"}), ("back:job.name", {'"of the library"'})):
            self.assertEqual(set(values[name]) - set(UNKNOWN), wanted, name)
            if name.startswith("work:"):
                # In the first instructions they are still in registers, of both functions of this name.
                known = sum(n for value, n in interposed[name].items() if value not in UNKNOWN)
                self.assertLess(known, sum(interposed[name].values()) / 10, interposed)
            else:
                self.assertEqual(set(interposed[name]) - set(UNKNOWN), wanted, name)

        # A packed capture does not have the names in other files.
        run(TOOL, "pack", "-q", "--values", "-o", capture + ".packed", capture)
        packed = self.values_of_calls(capture + ".packed", "--no-host-files")
        for name, wanted in values.items():
            self.assertLessEqual(set(packed[name]), set(wanted) | {"<not captured>"}, name)

    def values_of_calls(self, capture, *options):
        """By expression: samples by value."""
        found = collections.defaultdict(collections.Counter)
        for expression in ("work:level", "work:job.name", "each:size", "back:job.name"):
            for row in run(TOOL, "values", "-q", "--exact", *options, expression, capture).splitlines()[4:]:
                found[expression][row.split(None, 3)[-1].split("  < ")[0]] += int(row.split()[2])
        return found

    def check_groups(self, capture, works, n):
        """report --by has the same values, each apart from what is unknown."""
        wanted = collections.Counter("work:negative=" + frames[0][2]["negative"] for frames in works)
        if n > len(works):
            wanted["[not in work]"] = n - len(works)
        folded = collections.Counter()
        for line in run(TOOL, "folded", "-q", "--by", "work:negative", capture).splitlines():
            stack, _, samples = line.rpartition(" ")
            folded[stack.split(";")[0]] += int(samples)
        self.assertEqual(folded, wanted)
        report = run(TOOL, "report", "--by", "work:negative", "--histogram", capture)
        rows = {name: count for count, name in re.findall(r"(\d+)  +(-3 \.\. -2|<optimized out>|<not captured>|\[not in work\])(?:  [█#]+)?$", report, re.M)}
        named = {name.removeprefix("work:negative="): str(count) for name, count in wanted.items()}
        self.assertEqual(rows, {"-3 .. -2" if name == "-3" else name: count for name, count in named.items()}, report)

    def check_kept(self, capture, wanted):
        """Scrubbed with --keep, the kept values are the same, in every frame, and no others exist."""
        kept = capture + ".kept"
        # What no sample has is refused: the compiler may remove its value, or the variable from the inlined function.
        printed_values = [subprocess.run([TOOL, "values", "-q", key, capture], stdout=subprocess.PIPE, text=True, check=False).stdout for key in wanted]
        known = [key for key, text in zip(wanted, printed_values) if re.search(r"%  +\d+  [^<]", text)]
        self.assertIn("work:negative", known)
        run(TOOL, "scrub", "-q", *[word for key in known for word in ("--keep", key)], "-o", kept, capture)
        for key in known:
            for arguments in (("values", "-q", key), ("report", "-q", "--by", key), ("report", "-q", "--by", key, "--histogram")):
                if "report" in arguments and key not in ("work:negative", "caller:depth"):
                    continue
                ours, theirs = (re.sub("(?m)^#.*\n", "", run(TOOL, *arguments, file)) for file in (kept, capture))
                self.assertEqual(ours, theirs, (key, arguments))
        raw, values = printed(capture), printed(kept)
        self.assertEqual(list(raw), list(values))
        for sample, frames in raw.items():
            self.assertEqual(len(frames), len(values[sample]))
            for frame, other in zip(frames, values[sample]):
                self.assertEqual(frame[:2], other[:2])
                names = {key.partition(":")[2]: key for key in known if key.partition(":")[0] == frame[1].removesuffix(" (inlined)")}
                self.assertEqual(set(other[2]), set(names), (sample, frame))
                for name in set(names) & set(frame[2]):
                    self.assertEqual(other[2][name], frame[2][name], (sample, frame, name))
        # Also where the program and thus its inlined functions are unknown.
        with_files, without = ([run(TOOL, "values", "-q", *option, key, kept) for key in known] for option in ([], ["--no-host-files"]))
        self.assertEqual([re.sub("  < .*", "", text) for text in without], [re.sub("  < .*", "", text) for text in with_files])
        # A kept value may be kept again; others are gone.
        run(TOOL, "scrub", "-q", "--keep", "work:negative", "-o", kept + ".again", kept)
        self.assertEqual(run(TOOL, "values", "-q", "work:negative", kept + ".again"), run(TOOL, "values", "-q", "work:negative", capture))
        run(TOOL, "scrub", "-q", "-o", kept + ".scrubbed", kept)
        for file, key in ((kept, "work:letter"), (kept + ".again", "work:color"), (kept + ".scrubbed", "work:negative")):
            done = subprocess.run([TOOL, "values", key, file], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
            self.assertEqual((done.returncode, "has no values of 'work'" in done.stderr), (1, True), done.stderr)

    def test_refused(self):
        """A scrubbed capture has no values; wrong arguments."""
        capture = os.path.join(self.folder, "scrubbed.reel")
        data = os.path.join(os.path.dirname(TESTS), "testdata/x86_64/chains/gcc/leaf.reel")
        run(TOOL, "scrub", "-q", "-o", capture, data)
        for arguments, message, status in (([capture, "main"], "", 1), (["main", capture], "is scrubbed", 1), (["main:", capture], "no expression", 2),
                                           (["nosuch:x", capture], "has no values of 'nosuch'", 1), (["nosuch", data], "no sample has a function 'nosuch'", 1), (["--limit", "x", "main", data], "invalid number", 2)):
            done = subprocess.run([TOOL, "values", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
            self.assertEqual(done.returncode, status, arguments)
            self.assertIn(message, done.stderr)
        for key, message, status in (("nosuch:x", "no sample has a function 'nosuch'", 1), ("main:", "'main:' has no expression", 2),
                                     (":x", "':x' has no function", 2)):
            done = subprocess.run([TOOL, "report", "--by", key, data], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
            self.assertEqual((done.returncode, message in done.stderr), (status, True), (key, done.stderr))
        for arguments, message in ((["main"], "'main' has no expression"), ([":x"], "':x' has no function"), (["main:"], "'main:' has no expression"),
                                   (["main:a\tb"], "control character"), (["nosuch:x"], "no sample has a known value of nosuch:x"),
                                   (["main:" + 200 * "x"], "is longer than 160 bytes")):
            done = subprocess.run([TOOL, "scrub", "-o", capture + ".kept", "--keep", *arguments, data], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True, check=False)
            self.assertEqual((done.returncode, message in done.stderr, os.path.exists(capture + ".kept")), (2, True, False), (arguments, done.stderr))

    def test_known(self):
        """No value is wrong while a function sets up its frame, or leaves it, although gdb shows one."""
        wanted = {"is_half": "0.5", "is_5_6": "{a = 5, b = 6}", "is_minus_9": "-9"}
        for compiler, level in (("gcc", "-O0"), ("gcc", "-O2"), ("clang", "-O0"), ("clang", "-O2")):
            capture = self.record("known-%s%s" % (compiler, level), compiler, "-g", level, os.path.join(PROGRAMS, "known.c"), frequency="1999")
            counts = collections.Counter()
            for frames in printed(capture).values():
                for _, function, values in frames:
                    for name, text in values.items() if function in ("leaf", "addressed", "many") else ():
                        if name.startswith("is_"):
                            counts["known" if text == wanted.get(name, name[3:]) else text if text in UNKNOWN else "wrong"] += 1
            self.assertEqual(counts["wrong"], 0, counts)
            self.assertGreater(counts["known"], 2 * counts["<not captured>"], counts)

    def test_gcc_0(self):
        self.check("gcc", "-O0")

    def test_gcc_2(self):
        self.check("gcc", "-O2")

    def test_clang_2(self):
        self.check("clang", "-O2")

    def test_clang_3(self):
        self.check("clang", "-O3")


def compare_captures(arguments):
    counts, failed = collections.Counter(), 0
    with tempfile.TemporaryDirectory(prefix="stackreel-values.") as folder:
        for argument in arguments:
            capture, _, limit = argument.partition(":")
            found = printed(capture)
            numbers = list(found)
            differences = compare(capture, found, numbers[::max(1, len(numbers) // int(limit or 20))], folder, counts)
            for difference in differences:
                print("DIFFERENT", *difference)
            failed += len(differences)
    for reason, count in counts.most_common():
        print("%8d  %s" % (count, reason))
    print("%8d  different" % failed)
    return 1 if failed else 0


if __name__ == "__main__":
    if len(sys.argv) > 1 and not sys.argv[1].startswith("-"):
        sys.exit(compare_captures(sys.argv[1:]))
    sys.exit(counting.run_suite(unittest.defaultTestLoader.loadTestsFromModule(sys.modules[__name__]), sys.stdout))
