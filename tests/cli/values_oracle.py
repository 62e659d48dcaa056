"""Values of variables as script prints them, compared with gdb's, which reads the same samples as core files."""
import collections
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

import counting

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = os.path.join(HERE, "values")
BUILD = os.path.abspath(os.environ.get("O", "build"))
TOOL = os.path.join(BUILD, "stackreel")
GDB = shutil.which("gdb-multiarch") or shutil.which("gdb")
UNKNOWN = ("<optimized out>", "<not captured>")
# Of gdb's symbols that were loaded; many more need much memory.
CORES_MAX = 500


def run(*arguments, **options):
    done = subprocess.run(arguments, stdin=subprocess.DEVNULL, check=False,
                          **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "errors": "surrogateescape", **options})
    assert done.returncode == 0, (arguments, done.returncode, done.stdout, done.stderr)
    return done.stdout


def unescaped(text):
    """Undoes script's escapes: a backslash is doubled, other bytes are \\xNN."""
    return re.sub(r"\\(\\|x[0-9a-f]{2})", lambda found: "\\" if found[1] == "\\" else chr(int(found[1][1:], 16)), text)


def printed(capture, *options, fields="locals"):
    """By sample: user frames as [address, function, {name: text}]."""
    found = {}
    # Texts are any bytes, as gdb has them.
    for block in run(TOOL, "script", "-q", "-F", "sample,ip,sym," + fields, *options, str(capture), encoding="latin-1").split("\n\n"):
        head, *lines = block.strip("\n").split("\n")
        frames = []
        for line in lines:
            if line.startswith("  ") and not line.startswith("  " * 4):
                name, _, text = line.strip().partition(" = ")
                # Of inner blocks last.
                frames[-1][2][name] = unescaped(text)
            elif not line.startswith("#"):
                address, _, name = line.strip().partition(" ")
                frames.append([int(address, 16), name, {}])
        if head:
            found[int(head.removeprefix("sample="))] = [frame for frame in frames if frame[0] < 1 << 63]
    return found


def of_gdb(capture, ours, numbers, folder, *options):
    """By sample: gdb's frames (values_gdb.py); samples that gdb cannot read are missing."""
    alike, found = collections.defaultdict(list), {}
    for number in numbers:
        core = os.path.join(folder, "core-%d" % number)
        try:
            run(TOOL, "core", "-q", "--sample", str(number), "-o", core, *options, capture)
        except AssertionError:
            continue
        with open(core + ".gdb", encoding="utf-8", errors="surrogateescape") as file:
            symbols = [line for line in file if not line.startswith(("#", "core-file "))]
        with open(core + ".json", "w", encoding="utf-8") as file:
            json.dump([frame[2] for frame in ours[number]], file)
        alike["".join(symbols)].append(number)
    for some in alike.values():
        while some:
            cores = [os.path.join(folder, "core-%d" % number) for number in some[:CORES_MAX]]
            done = subprocess.run([GDB, "-nx", "-batch", "-iex", "set debuginfod enabled off", "-iex", "set auto-load off",
                                   "-iex", "maint set internal-error corefile no", "-iex", "maint set internal-error backtrace no", "-ex",
                                   "python CORES = %r" % cores, "-x", os.path.join(HERE, "values_gdb.py")], stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="surrogateescape", cwd=folder, check=False)
            results = [line.removeprefix("RESULT ") for line in done.stdout.splitlines() if line.startswith("RESULT ")]
            found.update((number, json.loads(result)) for number, result in zip(some, results))
            # gdb 13 ends with an internal error for some types: that sample is skipped.
            n = len(results) + (len(results) < len(cores))
            assert "Traceback" not in done.stderr, done.stderr[-1000:]
            for core in cores[:n]:
                for ending in ("", ".gdb", ".json"):
                    os.remove(core + ending)
            some = some[n:]
    return found


def compare(capture, found, numbers, folder, counts, *options):
    """Counts how each variable of the samples compares; returns the differences."""
    differences = []
    all_theirs = of_gdb(capture, found, numbers, folder, *options)
    counts["samples that gdb cannot read"] += len(numbers) - len(all_theirs)
    for number, theirs in all_theirs.items():
        ours = found[number]
        # Tail calls that gdb makes up, and a caller of Go's outermost function.
        theirs = [frame for frame in theirs if not frame[3] and frame[0]]
        if [frame[0] for frame in theirs] != [frame[0] for frame in ours][:len(theirs)]:
            counts["samples with other frames"] += 1
            continue
        counts["frames"] += len(theirs)
        for mine, (_, function, variables, _) in zip(ours, theirs):
            for name, kind, value, reason in variables:
                text = mine[2].get(name)
                if text is not None and text not in UNKNOWN and kind == "known":
                    label = "equal" if reason is None else "different, as gdb is wrong: " + reason
                    if reason == "":
                        differences.append((capture, number, function, name, text, value))
                        continue
                else:
                    label = "not listed" if text is None else text.strip("<>") if text in UNKNOWN else "known"
                    label = "%s, gdb: %s%s" % (label, kind, ": " + reason if reason else "")
                counts[label] += 1
                if "VERBOSE" in os.environ and os.environ["VERBOSE"] in label:
                    print(label, capture, number, function, name, text, value)
    return differences


class RecordingTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="stackreel-values.")

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def record(self, name, *command, frequency="299", before=""):
        """A capture of a second of a program that the command, with -o before its last word, compiles."""
        build = "%s%s -o $dir/%s %s" % (before, " ".join(command[:-1]), name, command[-1])
        folder = counting.capture("values-" + name, build, "--raw-stacks -F " + frequency, "prlimit --cpu=1 $dir/" + name)
        return shutil.copy(os.path.join(folder, "a.reel"), os.path.join(self.folder, name + ".reel"))

    def check_with_gdb(self, capture, found, numbers, each, limit=3):
        """No variable of some of the samples differs; at least `each` of a sample are known to both."""
        if not GDB:
            return
        counts, some = collections.Counter(), list(numbers)[::max(1, len(numbers) // limit)]
        self.assertEqual(compare(capture, found, some, self.folder, counts), [])
        self.assertGreater(counts["equal"], each * (len(some) - counts["samples that gdb cannot read"]), counts)
