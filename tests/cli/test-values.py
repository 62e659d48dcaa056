#!/usr/bin/env python3
"""Values of variables: script -F +args,locals and values print what the program has, and for every frame and variable what gdb finds in
the sample's core file.

    O=DIR       the object directory (build)
    CAPTURE...  compare these with gdb instead: PATH or PATH:SAMPLES
"""
# run.sh: records

import collections
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, TESTS)
import counting

BUILD = os.path.abspath(os.environ.get("O", "build"))
TOOL = os.path.join(BUILD, "stackreel")
RECORD = os.path.join(BUILD, "stackreel-record")
GDB = shutil.which("gdb-multiarch") or shutil.which("gdb")
VARIABLES = os.path.join(TESTS, "cli", "values_gdb.py")

PROGRAM = """
#include <stdlib.h>
struct request { int length; const char *name; unsigned flag : 3; struct { short a, b; } pair; double ratio; char text[8]; };
enum color { RED, GREEN = 7 };
volatile unsigned long sink;
int global = 5;
__attribute__((noinline)) void work(const struct request *request, enum color color, char letter, double *heap, long negative,
				    _Bool flag, struct request copy)
{
	for (volatile int i = 0; i < 100000; i++)
		sink += (unsigned long)request->length * (unsigned long)i + color + (unsigned long)letter + (heap != NULL) + flag;
	sink += (unsigned long)negative + (unsigned long)copy.length;
}
static inline __attribute__((always_inline)) void inlined(int times, const struct request *request, double *heap)
{
	for (int j = 0; j < times; j++)
		work(request, GREEN, 'x', heap, -times, 1, *request);
}
__attribute__((noinline)) void caller(int depth, const struct request *request, double *heap)
{
	if (depth)
		caller(depth - 1, request, heap);
	else
		inlined(3, request, heap);
	sink++;
}
int main(void)
{
	struct request request = { 1234567, "a name", 5, { -3, 4 }, 1.5, "hello" };
	double *heap = malloc(sizeof(*heap));

	*heap = global;
	for (;;) {
		caller(3, &request, heap);
		__asm__ volatile("" : : "r"(&request) : "memory");
	}
}
"""


def run(*arguments, **options):
    done = subprocess.run(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL, check=False, **options)
    assert done.returncode == 0, (arguments, done.returncode, done.stdout, done.stderr)
    return done.stdout


def printed(capture, *options):
    """By sample: frames as [address, function, {name: text}]."""
    found = {}
    for block in run(TOOL, "script", "-q", "-F", "sample,ip,sym,locals", *options, capture).split("\n\n"):
        head, *lines = block.strip("\n").split("\n")
        frames = []
        for line in lines:
            if line.startswith("  ") and not line.startswith("  " * 4):
                name, _, text = line.strip().partition(" = ")
                # Of inner blocks last.
                frames[-1][2][name] = text
            elif not line.startswith("#"):
                address, _, name = line.strip().partition(" ")
                frames.append([int(address, 16), name, {}])
        if head:
            found[int(head.removeprefix("sample="))] = [frame for frame in frames if frame[0] < 1 << 63]
    return found


def of_gdb(capture, number, folder, *options):
    core = os.path.join(folder, "core")
    run(TOOL, "core", "-q", "--sample", str(number), "-o", core, *options, capture)
    done = run(GDB, "-nx", "-batch", "-iex", "set debuginfod enabled off", "-x", core + ".gdb", "-x", VARIABLES)
    assert "RESULT " in done, done
    (line,) = [line for line in done.splitlines() if line.startswith("RESULT ")]
    return [frame for frame in json.loads(line.removeprefix("RESULT ")) if not frame[3]]


def same(kind, value, text):
    first = text.split(" ")[0]
    if kind == "float":
        return float(first) == value or value != value
    if kind == "text":
        return text == value.split("::")[-1] or value.startswith("(")
    if first in ("true", "false"):
        return value == (first == "true")
    first = first.removeprefix("@")
    number = int(first, 16) if first.startswith("0x") else int(first)
    return number == value


def compare(capture, number, frames, folder, counts, *options):
    """Counts how each variable compares; returns the differences."""
    differences = []
    theirs = of_gdb(capture, number, folder, *options)
    if [frame[0] for frame in theirs] != [frame[0] for frame in frames][:len(theirs)]:
        counts["other frames"] += 1
        return differences
    for ours, frame in zip(frames, theirs):
        for name, kind, value in frame[2]:
            text = ours[2].get(name)
            if text is None:
                counts["not ours, gdb: " + kind] += 1
            elif text in ("<optimized out>", "<not captured>"):
                known = kind in ("number", "float", "text", "other")
                counts["%s, gdb: %s" % (text.strip("<>"), "known" if known else kind)] += 1
                if known and os.environ.get("VERBOSE"):
                    print("unknown", capture, number, frame[1], name, text, kind, value)
            elif kind in ("number", "float", "text"):
                if same(kind, value, text):
                    counts["same"] += 1
                else:
                    differences.append((capture, number, frame[1], name, text, kind, value))
            else:
                counts["known, gdb: " + kind] += 1
                if os.environ.get("VERBOSE") and kind != "other":
                    print("known", capture, number, frame[1], name, text, kind, value)
    return differences


class ValuesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="stackreel-values.")

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def record(self, compiler, level):
        if not shutil.which(compiler) or not os.path.exists(RECORD):
            self.skipTest("%s or stackreel-record is missing" % compiler)
        source, program = os.path.join(self.folder, "work.c"), os.path.join(self.folder, "work-%s%s" % (compiler, level))
        with open(source, "w", encoding="utf-8") as file:
            file.write(PROGRAM)
        run(compiler, "-g", level, "-o", program, source)
        done = subprocess.run([RECORD, "-q", "--raw-stacks", "-F", "99", "-o", program + ".reel", "--", "timeout", "0.7", program],
                              stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
        if not os.path.exists(program + ".reel"):
            self.skipTest("cannot record: " + done.stderr)
        return program + ".reel"

    def check(self, compiler, level):
        capture = self.record(compiler, level)
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
        if level == "-O0":
            # The structure is in main's frame.
            for expression, value in (("request->length", "1234567"), ("request->name", "\"a name\""), ("request->flag", "5"),
                                      ("request->pair.a", "-3"), ("request->ratio", "1.5"), ("request->text", "\"hello\""),
                                      ("copy.text[1]", "101 'e'")):
                (row,) = run(TOOL, "values", "-q", "work:" + expression, capture).splitlines()[4:]
                self.assertIn(value + "  < ", row, expression)
            (row,) = run(TOOL, "values", "-q", "work:copy.text[8]", capture).splitlines()[4:]
            self.assertIn("<not captured>", row)
            ranges = run(TOOL, "values", "-q", "work:i", capture)
            self.assertRegex(ranges, r" 32768 to 65535 ")
            self.assertNotIn(" to ", run(TOOL, "values", "-q", "--exact", "work:i", capture))
        if GDB:
            counts = collections.Counter()
            numbers = [number for number in found if found[number] in works][::max(1, len(works) // 3)]
            for number in numbers:
                self.assertEqual(compare(capture, number, found[number], self.folder, counts), [])
            self.assertGreater(counts["same"], 10 * len(numbers), counts)

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

    def test_refused(self):
        """A scrubbed capture has no values; wrong arguments."""
        capture = os.path.join(self.folder, "scrubbed.reel")
        data = os.path.join(os.path.dirname(TESTS), "testdata/x86_64/chains/gcc/leaf.reel")
        run(TOOL, "scrub", "-q", "-o", capture, data)
        for arguments, message, status in (([capture, "main"], "", 1), (["main", capture], "is scrubbed", 1), (["main:", capture], "no expression", 2),
                                           (["nosuch", data], "no sample has a function 'nosuch'", 1), (["--limit", "x", "main", data], "invalid number", 2)):
            done = subprocess.run([TOOL, "values", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
            self.assertEqual(done.returncode, status, arguments)
            self.assertIn(message, done.stderr)
        for key, message, status in (("nosuch:x", "no sample has a function 'nosuch'", 1), ("main:", "'main:' has no expression", 2),
                                     (":x", "':x' has no function", 2)):
            done = subprocess.run([TOOL, "report", "--by", key, data], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
            self.assertEqual((done.returncode, message in done.stderr), (status, True), (key, done.stderr))

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
            for number in numbers[::max(1, len(numbers) // int(limit or 20))]:
                try:
                    differences = compare(capture, number, found[number], folder, counts)
                except AssertionError as error:
                    counts["no core file or gdb failed"] += 1
                    continue
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
