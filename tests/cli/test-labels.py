#!/usr/bin/env python3
"""Labels of samples in all commands: groups, filters, and the columns of exports.

    O=DIR   the object directory (build)
"""

import ast
import csv
import gzip
import importlib
import io
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
sys.path[:0] = [TESTS, os.path.join(TESTS, "reader")]
sys.path.append(os.path.join(TESTS, "cli"))
import counting
import reel_builder as b
import reel_cases

test_browse = importlib.import_module("test-browse")

TOOL = os.path.abspath(os.path.join(os.environ.get("O", "build"), "stackreel"))
PROTO = os.path.join(os.path.dirname(TESTS), "cli/protobuf/proto")
LOCK = 1
MS = 1000000
# Each sample's event, thread, CPU, milliseconds and lock.
CPU_CLOCK, OFF_CPU = 1, 2
SAMPLES = [
    (OFF_CPU, 1, 0, 30, 0x7f0010), (OFF_CPU, 2, 1, 20, 0x7f0010), (OFF_CPU, 2, 1, 40, 0x7f0020),
    (OFF_CPU, 1, 0, 10, None), (CPU_CLOCK, 1, 0, 10, None), (CPU_CLOCK, 2, 1, 10, None),
]


def capture(samples):
    """Two threads, "alpha" (tid 11) and "beta" (tid 12)."""
    data = b.Samples()
    for number, (event, thread, cpu, ms, lock) in enumerate(samples):
        labels = {LOCK: (3, lock)} if lock else None
        data.sample(number, 1000 + number * MS, thread=thread, cpu=cpu, event=event, weight=ms * MS, frames=[0x1000 * thread], labels=labels)
    reel = reel_cases.started(b.record("EVENT", CPU_CLOCK, 1, 0, 99, 0, 1, "cpu-clock", 0), b.record("EVENT", OFF_CPU, 1, 0, 0, 1, 1, "off-cpu", 0),
                              b.record("SPACE", 1, 1, 0, 1, 10, 10, 62, 64, 1, 0, 0, 0), b.record("THREAD", 1, 1, 1, 1, 11, 11, 0, "alpha"),
                              b.record("THREAD", 1, 2, 1, 1, 12, 12, 0, "beta"))
    return bytes(reel_cases.finish(reel.samples(data), len(samples)).data)


def run(*arguments, status=0):
    done = subprocess.run([TOOL, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == status, (arguments, done.returncode, done.stderr)
    return done.stdout + (done.stderr if status else "")


def rows(output):
    """Of a table: the columns after the number of samples, by the samples' number and these."""
    lines = [line for line in output.splitlines() if line and not line.startswith("#")]
    at = lines[0].index("SAMPLES") + len("SAMPLES")
    assert lines[0].startswith("    SELF"), output
    return [lines[0][at:].split()] + [[line[:at].split()[-1], *line[at:].split("  ")[1:]] for line in lines[1:]]


class Labels(unittest.TestCase):
    maxDiff = 3000

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        cls.file = os.path.join(cls.folder, "a.reel")
        with open(cls.file, "wb") as file:
            file.write(capture(SAMPLES))

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def table(self, *arguments):
        return rows(run("report", "-q", "--stdio", "--percent-limit=0", *arguments, self.file))

    def refused(self, *arguments):
        return run(*arguments, self.file, status=1).strip().replace(self.file, "FILE")

    def test_a_key_is_a_column(self):
        self.assertEqual(self.table("--off-cpu", "--by=lock"), [["LOCK"], ["2", "0x7f0010"], ["1", "0x7f0020"], ["1", "[no lock]"]])
        found = self.table("--off-cpu", "--by", "lock,comm,cpu")
        self.assertEqual([[cell.strip() for cell in row] for row in found],
                         [["LOCK", "COMM", "CPU"], ["1", "0x7f0020", "beta", "1"], ["1", "0x7f0010", "alpha", "0"], ["1", "0x7f0010", "beta", "1"],
                          ["1", "[no lock]", "alpha", "0"]])

    def test_a_trace_has_each_group_once(self):
        tree = run("report", "-q", "--stdio", "--tree", "--off-cpu", "--by=lock,comm", self.file)
        self.assertEqual([line.split()[-1] for line in tree.splitlines() if "=" in line], ["lock=0x7f0010", "lock=0x7f0020"])
        folded = run("folded", "-q", "--off-cpu", "--by=event,lock,comm", "--weight=time", self.file)
        self.assertEqual([line.split(";")[:3] for line in folded.splitlines()],
                         [["off-cpu", "[no lock]", "alpha"], ["off-cpu", "lock=0x7f0010", "alpha"], ["off-cpu", "lock=0x7f0010", "beta"],
                          ["off-cpu", "lock=0x7f0020", "beta"]])
        self.assertEqual(sum(int(line.split(" ")[-1][:-2]) for line in folded.splitlines()), 100)

    def test_flame_graph(self):
        picture = os.path.join(self.folder, "a.svg")
        run("flamegraph", "-q", "--off-cpu", "--by=lock,thread", self.file, "-o", picture)
        with open(picture, encoding="utf-8") as file:
            text = file.read()
        for name in "lock=0x7f0010", "lock=0x7f0020", "[no lock]", "alpha (11)", "beta (12)":
            self.assertIn("<title>" + name, text)
        self.assertIn("no sample has the label 'pod'", run("flamegraph", "--by=pod", self.file, "-o", picture, status=1))

    def test_symbols_within_groups(self):
        whole, split = self.table("--off-cpu"), self.table("--off-cpu", "--by=lock,function")
        self.assertEqual(split[0], ["LOCK"] + whole[0])
        self.assertEqual(sum(int(row[0]) for row in whole[1:]), sum(int(row[0]) for row in split[1:]))
        self.assertGreater(len(split), len(whole))

    def test_top(self):
        output = run("top", "--stdio", "--count=1", "--delay=10ms", "--off-cpu", "--by=lock", self.file)
        self.assertEqual(rows(output), [["LOCK"], ["2", "0x7f0010"], ["1", "0x7f0020"], ["1", "[no lock]"]])

    def test_wrong_keys(self):
        self.assertIn("--by: invalid key 'wrong' (expected function, ", run("report", "--by=comm,wrong", self.file, status=1))
        self.assertIn("(expected thread, ", run("folded", "--by=function", self.file, status=2))
        self.assertEqual(self.refused("report", "--stdio", "--by=container"),
                         "stackreel: FILE: no sample has the label 'container'; labels of this capture: 'lock'")
        self.assertEqual(self.refused("folded", "--event=cpu-clock", "--by=lock"), "stackreel: FILE: no selected sample has the label 'lock'")

    def test_filters(self):
        for value in "0x7f0010", "8323088":
            self.assertEqual(self.table("--label=lock=" + value, "--by=comm"), [["COMM"], ["1", "alpha"], ["1", "beta"]])
        self.assertEqual(self.table("--label=lock=0x7f0010", "--label=lock=0x7f0020", "--by=lock"), [["LOCK"], ["2", "0x7f0010"], ["1", "0x7f0020"]])
        self.assertEqual(self.table("--label=lock=0x7f0010", "--label=pod=", "--by=lock"), [["LOCK"], ["2", "0x7f0010"]])
        self.assertEqual(self.table("--off-cpu", "--label=lock=", "--by=comm"), [["COMM"], ["1", "alpha"]])
        self.assertEqual(self.refused("report", "--stdio", "--label=lock=0x7f0030"),
                         "stackreel: FILE: --label lock=0x7f0030 selects no samples; available: '0x7f0010', '0x7f0020'")
        self.assertEqual(self.refused("script", "--pod=x"), "stackreel: FILE: --label pod=x selects no samples; no sample has the label 'pod'")
        self.assertIn("invalid label 'lock' (expected KEY=VALUE with one of lock, lock-owner, ", run("report", "--label=lock", self.file, status=2))

    def test_containers(self):
        """By id and by name, which another record of the cgroup adds."""
        ids, file = ["%02x" % n * 32 for n in (1, 2)], os.path.join(self.folder, "containers.reel")
        data, uid = b.Samples(), "0d2c5f3e-7b1a-4c6d-9e8f-a1b2c3d4e5f6"
        paths = ["/machine.slice/libpod-%s.scope" % ids[0], "/kubepods/pod%s/%s" % (uid, ids[1])]
        for number in range(6):
            data.sample(number, 1000 + number * MS, thread=1 + number % 3, cpu=0, event=1, weight=MS, frames=[0x1000])
        side = [b.record("EVENT", 1, 1, 0, 99, 0, 1, "cpu-clock", 0)]
        for number, comm in (1, "web"), (2, "app"), (3, "none"):
            side += [b.record("SPACE", 1, number, 0, 1, 10 + number, 10, 62, 64, 1, 0, 0, 0),
                     b.record("THREAD", 1, number, number, 1, 10 + number, 10, 0, comm), b.record("SPACE_CGROUP", 1, number, number)]
        for number, path, *names in (1, paths[0], "", "", ""), (2, paths[1]), (1, paths[0], "my-nginx", "", ""), (2, paths[1], "app", "shop-0", "default"):
            side.append(b.record("CGROUP", number, path, *names))
        with open(file, "wb") as out:
            out.write(bytes(reel_cases.finish(reel_cases.started(*side).samples(data), 6).data))

        def table(*arguments):
            return rows(run("report", "-q", "--stdio", *arguments, file))[1:]
        self.assertEqual(sorted(table("--by=container-name")), [["2", "[no container-name]"], ["2", "app"], ["2", "my-nginx"]])
        self.assertEqual(" ".join(table("--by=namespace,pod-name,comm", "--pod=shop-0")[0]).split(), ["2", "default", "shop-0", "app"])
        for option in "--container=my-nginx", "--container=" + ids[0], "--container=" + ids[0][:8]:
            self.assertEqual(table("--by=comm", option), [["2", "web"]])
        for option in "--container=app", "--pod=shop-0", "--pod=" + uid, "--pod=" + uid[:13]:
            self.assertEqual(table("--by=comm", option), [["2", "app"]])
        self.assertEqual(len(table("--by=comm", "--container=app", "--container=" + ids[0][:10])), 2)
        self.assertIn("available: 'app', 'my-nginx'", run("report", "--container=ngin", file, status=1))
        found = run("sql", file, "SELECT text, count(*) FROM sample_labels WHERE key = 'container-name' GROUP BY 1 ORDER BY 1")
        self.assertEqual(found.splitlines()[1:], ["app\t2", "my-nginx\t2"])
        cut = os.path.join(self.folder, "container.reel")
        run("cut", "-q", "--container=my-nginx", file, "-o", cut)
        self.assertEqual(rows(run("report", "-q", "--stdio", "--by=container-name", cut))[1:], [["2", "my-nginx"]])

    def test_cut(self):
        new = os.path.join(self.folder, "cut.reel")
        run("cut", "-q", "--label=lock=0x7f0010", self.file, "-o", new)
        self.assertEqual(rows(run("report", "-q", "--stdio", "--by=lock", new)), [["LOCK"], ["2", "0x7f0010"]])

    def test_share_of_waiting(self):
        for event, share in ("off-cpu", "share of a thread's time"), ("cpu-clock", "share of a CPU"):
            found = json.loads(run("diff", "-q", "--json", "--per=second", "--event=" + event, self.file, self.file))
            self.assertEqual((found["measure"], found["unit"]), (share, "%"))

    def test_diff(self):
        """Of 400 samples, beta's 100 with one lock change to another."""
        files = [os.path.join(self.folder, name + ".reel") for name in ("old", "new")]
        for path, beta in zip(files, (0x7f0010, 0x7f0020)):
            with open(path, "wb") as file:
                file.write(capture([(OFF_CPU, 1 + i % 2, 0, 10, (0x7f0010, beta, 0x7f0020, None)[i % 4]) for i in range(400)]))
        changes = {}
        for by in "lock", "lock,comm", "comm", "lock,comm,function":
            found = json.loads(run("diff", "-q", "--json", "--by=" + by, *files))["functions"]
            changes[by] = {row["name"]: row["self"]["change"] for row in found if row["self"]["sure"] and row["self"]["change"]}
        self.assertEqual(changes["lock"], {"lock=0x7f0010": -25, "lock=0x7f0020": 25})
        self.assertEqual(changes["lock,comm"], {"lock=0x7f0010 / beta": -25, "lock=0x7f0020 / beta": 25})
        self.assertEqual(changes["comm"], {})
        self.assertEqual([name.rsplit(" / ", 1)[0] for name in changes["lock,comm,function"]], list(changes["lock,comm"]))
        folded = run("diff", "-q", "--folded", "--by=lock,comm", *files)
        self.assertEqual(sorted([line.split(";")[:2] + line.split(" ")[-2:] for line in folded.splitlines()]),
                         [["[no lock]", "beta", "1000000000", "1000000000"], ["lock=0x7f0010", "alpha", "1000000000", "1000000000"],
                          ["lock=0x7f0010", "beta", "1000000000", "0"], ["lock=0x7f0020", "alpha", "1000000000", "1000000000"],
                          ["lock=0x7f0020", "beta", "0", "1000000000"]])
        self.assertIn("GROUP\n", run("diff", "-q", "--by=lock", *files))
        self.assertIn("the label 'pod'; labels of these captures: 'lock'", run("diff", "--by=pod", *files, status=1))
        self.assertIn("use comm, their names", run("diff", "--by=thread", *files, status=2))

    def test_info(self):
        info = run("info", self.file)
        self.assertEqual(info[info.index("\nLabels of samples"):].splitlines()[2].split(), ["50.00", "%", "3", "lock"])

    def decoded(self, format, proto, message):
        done = subprocess.run([TOOL, "export", "-q", "--format=" + format, "-o", "-", self.file], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        if b"protobuf" in done.stderr:
            self.skipTest("stackreel was built without protobuf-c")
        data = gzip.decompress(done.stdout) if format == "pprof" else done.stdout
        return subprocess.run(["protoc", "--decode=" + message, "-I" + PROTO, proto], input=data, stdout=subprocess.PIPE, check=True).stdout.decode()

    @unittest.skipUnless(shutil.which("protoc"), "protoc is not installed")
    def test_profiles(self):
        text = self.decoded("pprof", "pprof.proto", "perftools.profiles.Profile")
        strings = [ast.literal_eval(value) for value in re.findall(r"^string_table: (.*)$", text, re.MULTILINE)]
        labels = [(strings[int(key)], strings[int(value)]) for key, value in re.findall(r"label {\s+key: (\d+)\s+str: (\d+)\s+}", text)]
        self.assertEqual(sorted(value for key, value in labels if key == "lock"), ["0x7f0010", "0x7f0010", "0x7f0020"])
        text = self.decoded("otlp", "otlp.proto", "opentelemetry.proto.profiles.v1development.ProfilesData")
        strings = [ast.literal_eval(value) for value in re.findall(r"^  string_table: (.*)$", text, re.MULTILINE)]
        attributes = re.findall(r"attribute_table {\s+key_strindex: (\d+)\s+value {\s+string_value: (.*)\s", text)
        self.assertEqual(sorted(ast.literal_eval(value) for key, value in attributes if strings[int(key)] == "stackreel.lock"), ["0x7f0010", "0x7f0020"])

    @test_browse.needs_screen
    def test_browse(self):
        """A key whose values were not kept is read again, within the zoomed group."""
        screen = test_browse.Screen("report", "--by=lock", self.file)
        self.addCleanup(screen.close)
        screen.wait(r"LOCK$")
        screen.wait("0x7f0010")
        screen.type("Enter", until="> lock=0x7f0010")
        screen.type("b", until="by cpu")
        screen.type("End", "Up", until="12/13")
        screen.type("Enter", until="by cpu, sorted")
        self.assertEqual(rows("\n".join(screen.rows()[1:-1])), [["CPU"], ["1", "0"], ["1", "1"]])
        screen.type("t", until="by thread")
        self.assertEqual(rows("\n".join(screen.rows()[1:-1])), [["THREAD"], ["1", "alpha (11)"], ["1", "beta (12)"]])
        screen.type("q")
        wrong = test_browse.Screen("report", "--by=pod", self.file)
        self.addCleanup(wrong.close)
        wrong.wait("no sample has the label 'pod'; labels of this capture: 'lock'")
        self.assertEqual(wrong.ended(), 1)

    def test_values(self):
        """Kept values of variables (SPEC.md, annex E.2); lines of other forms are skipped."""
        kept = os.path.join(os.path.dirname(TESTS), "testdata/format/good-values.reel")
        for key, wanted in ("main:depth", "2^64 - 1"), ("mix:name", '"ab"'):
            text = run("values", "-q", "--exact", "--no-host-files", key, kept)
            self.assertEqual(re.findall(r"%  +(\d+)  (.*?)  <", text), [("1", wanted)], text)
        again = os.path.join(self.folder, "again.reel")
        run("scrub", "-q", "--keep=main:depth", "-o", again, kept)
        text, = (record["labels"] for record in map(json.loads, run("dump", "-q", "--json", again).splitlines()) if record["record"] == "SAMPLE")
        self.assertEqual(text, [[26, "shop"], [64, "main\tdepth\n0\t2\tu%d\t2^64 - 1\n1\t0\to\t\n1\t0\ts-3\t-3\n" % ((1 << 64) - 1)]])

    def test_script_and_exports(self):
        expected = ["lock=0x%x" % lock if lock else "" for *_, lock in SAMPLES]
        script = run("script", "-q", "-F", "event,labels", self.file).splitlines()
        self.assertEqual([line.split(": ")[1] for line in script], expected)
        found = list(csv.DictReader(io.StringIO(run("export", "-q", "--format=csv", "-o", "-", self.file))))
        self.assertEqual([row["labels"] for row in found], expected)
        found = [json.loads(line) for line in run("export", "-q", "--format=ndjson", "-o", "-", self.file).splitlines()]
        self.assertEqual([row["labels"] for row in found], [{"lock": "0x%x" % lock} if lock else {} for *_, lock in SAMPLES])
        found = run("sql", self.file, "SELECT s.number, l.key, l.number, l.text FROM sample_labels l JOIN samples s ON s.id = l.sample_id ORDER BY 1, 2")
        self.assertEqual([line.split("\t") for line in found.splitlines()[1:]],
                         [[str(number), "lock", str(lock), hex(lock)] for number, (*_, lock) in enumerate(SAMPLES) if lock])


if __name__ == "__main__":
    sys.exit(counting.run_suite(unittest.defaultTestLoader.loadTestsFromModule(sys.modules[__name__]), sys.stdout))
