#!/usr/bin/env python3
"""--where selects samples by values of variables: a program measures the CPU time that it spends for each value itself, and the shares of
the samples agree within 2 %.

    O=DIR       the object directory (build)
"""

import collections
import contextlib
import importlib.util
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, TESTS)
import counting
import json_schema

BUILD = os.path.abspath(os.environ.get("O", "build"))
TOOL = os.path.join(BUILD, "stackreel")


def run(*arguments, status=0):
    done = subprocess.run([TOOL, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL, check=False)
    assert done.returncode == status, (arguments, done.returncode, done.stdout, done.stderr)
    return done


class WhereTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="stackreel-where.")
        folder = counting.capture("where", "gcc -g -O0 -o $dir/work tests/cli/values/where.c", "--raw-stacks -F 999", "$dir/work")
        cls.capture = os.path.join(folder, "a.reel")
        with open(os.path.join(folder, "output"), encoding="utf-8") as file:
            cls.spent = [float(number) for number in file.read().split()]
        cls.all = cls.stacks()

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    @classmethod
    def stacks(cls, *conditions):
        options = [option for condition in conditions for option in ("--where", condition)]
        found = collections.Counter()
        for line in run("folded", "-q", *options, cls.capture).stdout.splitlines():
            stack, _, samples = line.rpartition(" ")
            found[stack] += int(samples)
        return found

    def share(self, *conditions):
        return sum(self.stacks(*conditions).values()) / sum(samples for stack, samples in self.all.items() if ";work" in stack)

    def test_shares(self):
        small, large, heap = (spent / sum(self.spent) for spent in self.spent)
        for condition, share in (("work:size > 300", small), ("work:size >= 300", small + large), ("work:size<0.3K", large + heap),
                                 ("work:size != 600", large + heap),
                                 ("work:color == RED", small), ("work:color > 7", heap),
                                 ("work:color != GREEN", small + heap), ("work:urgent == true", large + heap), ("work:urgent == 0", small),
                                 ("work:letter == 'r'", small), ("work:request->length > 4K", large), ("work:request->length < 4K", small),
                                 ("work:request->name == \"small\"", small), ("work:request->name != small", large),
                                 ("work:request->ratio < 0", large), ("work:request->ratio == 0.5", small),
                                 ("work:request->length is known", small + large), ("work:request->length is not-captured", heap)):
            self.assertAlmostEqual(self.share(condition), share, delta=0.02, msg=condition)
        self.assertEqual(self.stacks("work:size > 100", "work:color != RED"), self.stacks("work:size == 300"))
        # Of a function that calls itself, the innermost call counts.
        self.assertEqual(self.stacks("serve:depth == 0"), collections.Counter(
            {stack: samples for stack, samples in self.all.items() if stack.count(";serve") == 3}))

    def test_commands(self):
        """All commands select the same samples."""
        wanted, condition = self.stacks("work:size == 300"), ("--where", "work:size == 300", self.capture)
        n = sum(wanted.values())
        self.assertIn("# %d samples of" % n, run("report", "--stdio", *condition).stdout)
        self.assertEqual(len(run("script", "-q", "-F", "sample", *condition).stdout.split()), n)
        self.assertEqual(run("sql", *condition[:2], "--no-header", self.capture, "select count(*) from samples").stdout.strip(), str(n))
        self.assertEqual(len(run("export", "--format=ndjson", *condition).stdout.splitlines()), n)
        self.assertEqual(json.loads(run("annotate", "--json", "work", *condition).stdout)["whole"]["samples"], n)
        self.assertIn("work: in %d of %d samples" % (n, n), run("values", "work:size", *condition).stdout)
        self.assertIn(", %d selected" % n, run("info", *condition).stdout)
        # The values that a command asks for are not mixed with the conditions'.
        rows = run("values", "-q", "work:color", *condition).stdout.splitlines()
        self.assertEqual((len(rows), rows[2:3], rows[-1].split()[2:5]), (5, ["color"], [str(n), "GREEN", "<"]))
        script = run("script", "-q", "-F", "ip,sym,args", *condition).stdout
        self.assertEqual((script.count("size = 300"), script.count("request = ")), (4 * n, 4 * n))
        self.assertIn("\nwork:color=GREEN;", "\n" + run("folded", "-q", "--by", "work:color", *condition).stdout)
        done = run("diff", "--where", "work:size == 300", self.capture, self.capture)
        self.assertIn(str(n), done.stdout)

    def test_cut(self):
        """A new capture of the selected samples has their stacks and values, and no others."""
        part, ids = os.path.join(self.folder, "part.reel"), ("script", "-q", "-F", "sample,time")
        conditions = ("--where", "work:request->length > 4K", "--where", "work:letter == 'x'")
        done = run("cut", *conditions, "-o", part, self.capture)
        self.assertIn("--where 'work:request->length > 4K' leaves out", done.stderr)
        selected = [line.split()[0] for line in run(*ids, *conditions, self.capture).stdout.splitlines()]
        self.assertEqual([line.split()[0] for line in run(*ids, part).stdout.splitlines()], selected)
        self.assertEqual(run("folded", "-q", "--by", "work:request->name", part).stdout, run("folded", "-q", "--by", "work:request->name", *conditions, self.capture).stdout)
        self.assertEqual(run("cut", "-q", "--jobs=3", "--pid", "1", *conditions, "-o", part, self.capture, status=1).stdout, "")
        for condition, message in (("work:size == 301", "selects no samples; available: '600', '300', '100'"), ("work:nosuch > 1", "work has no variable of this name")):
            self.assertIn(message, run("cut", "--where", condition, "-o", os.path.join(self.folder, "none.reel"), self.capture, status=1).stderr)
        self.assertFalse(os.path.exists(os.path.join(self.folder, "none.reel")))

    def test_sql(self):
        """frame_values has what values and script have; only queries that read it take the time to make it."""
        def ask(query, *options):
            return json.loads(run("sql", "--json", *options, self.capture, query).stdout)

        n = sum(self.all.values())
        (row,) = ask("SELECT count(*) AS n, count(DISTINCT sample_id) AS samples, sum(kind = 'argument') AS arguments FROM frame_values",
                     "--values", "serve")
        # Four arguments of each call; a sample may be taken before the innermost one.
        calls = sum(samples * stack.split(";").count("serve") for stack, samples in self.all.items())
        self.assertEqual((row["n"], row["arguments"]), (4 * calls, 4 * calls))
        rows = ask("SELECT text, number, count(*) AS samples FROM value_list WHERE function = 'work' AND variable = 'color' "
                   "AND frame = 0 AND kind = 'argument' GROUP BY 1")
        self.assertEqual({row["text"]: (row["number"], row["samples"]) for row in rows},
                         {name: (number, sum(self.stacks("work:color == " + name).values())) for name, number in (("RED", 0), ("GREEN", 7), ("BLUE", 8))})
        # The local variables of blocks, and the innermost call first.
        rows = ask("SELECT frame, text, kind FROM value_list WHERE function = 'serve' AND variable = 'depth' AND sample_id = "
                   "(SELECT sample_id FROM value_list WHERE function = 'work' LIMIT 1) ORDER BY frame")
        self.assertEqual([(row["frame"], row["text"], row["kind"]) for row in rows], [(i, str(i - 1), "argument") for i in (1, 2, 3)])
        self.assertEqual({row["kind"] for row in ask("SELECT kind FROM value_list WHERE function = 'work' AND variable = 'i'")}, {"local"})
        rows = ask("SELECT state, text, count(*) AS samples FROM frame_values GROUP BY 1, 2", "--values", "work:request->length")
        self.assertEqual({(row["state"], row["text"]) for row in rows}, {("known", "100"), ("known", "5000"), ("not captured", None)})
        self.assertEqual(sum(row["samples"] for row in rows), sum(samples for stack, samples in self.all.items() if ";work" in stack))
        database = os.path.join(self.folder, "a.db")
        for options, rows in (((), 0), (("--values", "main:start"), n)):
            run("export", "--format=sqlite", "-o", database, *options, self.capture)
            with contextlib.closing(sqlite3.connect(database)) as connection:
                found = connection.execute("SELECT count(*) FROM frame_values").fetchone()[0]
            self.assertTrue(0.9 * rows <= found <= rows, (options, found, rows))

    def test_annotate(self):
        """Each line's values add up to its samples, which are those that --where selects."""
        text = run("annotate", "--json", "--values", "size", "--values", "request->length", "--values", "i", "work", self.capture).stdout
        annotated, checker = json.loads(text), json_schema.validator("annotate")
        if checker:
            self.assertEqual([error.message for error in checker.iter_errors(annotated)], [])
        lines = annotated["values"]
        self.assertEqual(sum(line["self"]["samples"] for line in lines), annotated["self"]["samples"])
        sums = collections.Counter()
        for line in lines:
            self.assertEqual([variable["name"] for variable in line["variables"]], ["size", "request->length", "i"])
            for variable in line["variables"]:
                amounts = [value["self"] for value in variable["values"]] + [variable[key] for key in ("others", "optimized_out", "not_captured")]
                for key in ("weight", "samples"):
                    self.assertEqual(sum(amount[key] for amount in amounts), line["self"][key], (line, variable))
            for value in line["variables"][0]["values"]:
                sums[value["value"]] += value["self"]["samples"]
        for size in ("600", "300", "100"):
            self.assertEqual(sums[size], json.loads(run("annotate", "--json", "--where", "work:size == " + size, "work",
                                                        self.capture).stdout)["self"]["samples"])
        hottest = lines[0]
        values = sorted(hottest["variables"][0]["values"], key=lambda value: -value["self"]["weight"])
        shown = run("annotate", "--values", "size", "--values", "+args", "work", self.capture).stdout.split("VALUES AT THE HOTTEST LINES\n")[1]
        first, size, request = shown.splitlines()[:3]
        self.assertRegex(first, r"^ +[0-9.]+ where.c:%d " % hottest["line"])
        whole = hottest["self"]["weight"]
        self.assertEqual(re.findall(r"(\d+) ([0-9.]+) %", size), [(value["value"], "%.2f" % (100 * value["self"]["weight"] / whole)) for value in values])
        self.assertTrue(request.startswith(" " * 12 + "request: 0x"), request)
        self.assertIn("color: RED ", shown)
        self.assertNotIn(" i: ", shown)
        self.assertIn(" i: ", run("annotate", "--values", "+locals", "--source", "work", self.capture).stdout)
        for expression, message, status in (("+all", "invalid expression '+all'", 2), ("", "invalid expression ''", 2), ("-i", "invalid expression '-i'", 2),
                                            ("nosuch->x", "work has no variable 'nosuch'", 1)):
            self.assertIn(message, run("annotate", "--values", expression, "work", self.capture, status=status).stderr)

    def test_browse(self):
        """On a terminal, groups are those of the text; g shows the histogram, and b goes back to the variable."""
        if not shutil.which("tmux"):
            self.skipTest("tmux is missing")
        specification = importlib.util.spec_from_file_location("test_browse", os.path.join(TESTS, "cli/test-browse.py"))
        browse = importlib.util.module_from_spec(specification)
        specification.loader.exec_module(browse)
        counts = {size: str(sum(self.stacks("work:size == " + size).values())) for size in ("600", "300", "100")}
        with contextlib.closing(browse.Screen("report", "--by", "work:size,function", "--tui", self.capture)) as screen:
            screen.wait(r" %s +600 +work +work$" % counts["600"])
            screen.type("b", "End", until="by work:size")
            rows = "\n".join(screen.type("Enter", until=r"%s +600$" % counts["600"]))
            for size, samples in counts.items():
                self.assertRegex(rows, r"(?m) %s +%s$" % (samples, size))
            rows = "\n".join(screen.type("g", until="histogram of work:size"))
            for samples, name in ((counts["600"], "512 .. 1023"), (counts["300"], "256 .. 511"), (counts["100"], "64 .. 127"), ("0", "128 .. 255")):
                self.assertRegex(rows, r"(?m) %s +%s(  █+)?$" % (samples, re.escape(name)))
            screen.type("Escape", until=r"%s +600$" % counts["600"])
            # Only the samples of a value.
            screen.type("/", "300", "Enter", "Enter", until=r"100\.00 % .*main")
            screen.type("b", "Enter", "g", until="group by a label or variable first")
            screen.type("q")
            self.assertEqual(screen.ended(), 0)

    def test_page(self):
        """view's labels have the values, and their histogram is report's."""
        page = os.path.join(self.folder, "a.html")
        run("view", "-q", "--by", "work:color", "--values", "work:size", "--values", "work:request->length", "-o", page, self.capture)
        if not shutil.which("node"):
            self.skipTest("node is missing")
        script = """
            import { captureOf } from "ROOT/tests/page/modules/page_of.mjs";
            import { histogramOf } from "ROOT/cli/page/web/histogram.js";
            import { sumLabels } from "ROOT/cli/page/web/labels.js";
            const capture = await captureOf("PAGE"), { keys, values } = capture.labels;
            const sums = sumLabels(capture, { event: 0, from: 0, to: Infinity, threads: null }, []);
            console.log(JSON.stringify(Object.fromEntries(keys.map((key) => [key, histogramOf(values, sums, key)]))));
        """.replace("ROOT", os.path.dirname(TESTS)).replace("PAGE", page)
        done = subprocess.run(["node", "--input-type=module", "-e", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        shown = json.loads(done.stdout)
        self.assertIsNone(shown["work:color"])
        for key in ("work:size", "work:request->length"):
            report = run("report", "--stdio", "--histogram", "--by", key, self.capture).stdout
            rows = [(name, int(samples.replace(",", ""))) for samples, name in re.findall(r"(?m)^ +[0-9.]+ % .* ([0-9,]+) +([0-9<][\w .]*?>?)(?:  [#█]+)?$", report)]
            self.assertEqual([(bar["text"], bar["samples"]) for bar in shown[key]], rows, report)
        for arguments, message, status in ((["-o", page, "--values", "work"], "'work' has no expression", 2), (["-o", page, "--values", "no:x"], "no sample has a function 'no'", 1),
                                           (["--firefox", "-o", page, "--values", "work:size"], "--firefox shows one capture", 2)):
            self.assertIn(message, run("view", *arguments, self.capture, status=status).stderr)
        self.assertIn("only applies to pages", run("flamegraph", "-o", page + ".svg", "--values", "work:size", self.capture, status=2).stderr)

    def test_exports(self):
        """A value is a label: a number if it is one."""
        lines = run("export", "--format=ndjson", "--values", "work:request->length", "--values", "work:color", self.capture).stdout.splitlines()
        found = collections.Counter(tuple(json.loads(line)["labels"].get(key) for key in ("work:request->length", "work:color")) for line in lines)
        found.pop((None, None), None)
        wanted = {(100, "RED"): "RED", (5000, "GREEN"): "GREEN", ("<not captured>", "BLUE"): "BLUE"}
        self.assertEqual(found, {values: sum(self.stacks("work:color == " + name).values()) for values, name in wanted.items()})
        self.assertIn(" work:size=300", run("export", "--format=csv", "--values", "work:size", "--where", "work:size == 300", self.capture).stdout)
        if shutil.which("go"):
            profile = os.path.join(self.folder, "a.pb.gz")
            run("export", "--format=pprof", "--values", "work:size", "--values", "work:color", "-o", profile, self.capture)
            raw = subprocess.run(["go", "tool", "pprof", "-raw", profile], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=True,
                                 env=dict(os.environ, HOME=self.folder)).stdout
            self.assertRegex(raw, r"work:color:\[GREEN\]\n.* work:size:\[300\]\n")

    def test_unknown(self):
        """Samples without a known value are counted."""
        n = sum(self.stacks("work:request->length is not-captured").values())
        note = ("--where 'work:request->length > 4K' leaves out %d samples of work whose value is unknown (optimized out: 0, not captured: %d)"
                % (n, n))
        self.assertIn(": %s\n" % note, run("folded", "--where", "work:request->length > 4K", self.capture).stderr)
        self.assertNotIn("leaves out", run("folded", "-q", "--where", "work:request->length > 4K", self.capture).stderr)
        self.assertIn("\n# %s\n" % note, run("report", "--stdio", "--where", "work:request->length > 4K", self.capture).stdout)

    def test_refused(self):
        for condition, message, status in (
                ("nosuch:x > 1", "no sample has a function 'nosuch'", 1),
                ("work:nosuch > 1", "work has no variable of this name; available: 'color', 'i', 'letter', 'request', 'size', 'urgent'\n", 1),
                ("work:nosuch is optimized-out", "work has no variable of this name", 1),
                ("work:request->nosuch > 1", "unsupported debug information, or no such member", 1),
                ("work:size == 301", "selects no samples; available: '600', '300', '100'", 1),
                ("work:color == PINK", "selects no samples; available: 'RED', 'GREEN', 'BLUE'", 1),
                ("work:*request > 1", "work has no variable of this name", 1),
                ("main:small > 1", "cannot compare '{length = 100, name = ", 1),
                ("work:size < abc", "'abc' is not a number", 2),
                ("work:size", "invalid condition", 2)):
            done = run("report", "--stdio", "--where", condition, self.capture, status=status)
            self.assertIn(message, done.stderr, condition)
        for arguments in (["report", "--stdio", "--by", "work:nosuch->x"], ["folded", "--by", "work:nosuch"], ["values", "work:nosuch"],
                          ["view", "-o", os.path.join(self.folder, "out.html"), "--by", "work:nosuch"]):
            self.assertIn("work has no variable 'nosuch'", run(*arguments, self.capture, status=1).stderr)
        for option, value, message, status in (("pprof", "nosuch:x", "no sample has a function 'nosuch'", 1), ("csv", "work", "'work' has no expression", 2),
                                               ("csv", ":x", "':x' has no function", 2)):
            done = run("export", "--format=" + option, "-o", os.path.join(self.folder, "out"), "--values", value, self.capture, status=status)
            self.assertIn(message, done.stderr)
        done = run("report", "--stdio", "--where", "work:size > 300", "--where", "work:size < 300", self.capture, status=1)
        self.assertIn("no samples match all filters", done.stderr)


if __name__ == "__main__":
    sys.exit(counting.run_suite(unittest.defaultTestLoader.loadTestsFromModule(sys.modules[__name__]), sys.stdout))
