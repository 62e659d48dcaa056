#!/usr/bin/env python3
"""tests/plan.py: in a repository made here, which runners a change concerns, and that each other one has its turn; in this one, that the
lines `# checks:` name rooms and paths that exist, and that a runner checks each room."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

TOP = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
sys.path[:0] = [os.path.join(TOP, "tests")]
import counting

ROOMS = """include: the public header
base: used by all
	include
unwind: frames
	base include
names: functions
	unwind base include
bpf: the kernel's part
record: recording
	record/jit bpf base include
record/jit: code
	bpf(shared.h) base
cli: commands
	cli/diff base include
cli/diff: comparing
	base include
"""
RUNNERS = {
    "unwind/test-frames.sh": "unwind", "names/test-names.sh": "names", "record/test-record.sh": "record", "jit/test-jit.sh": "record/jit", "names/test-alone.sh": "=names", "cli/test-diff.sh": "cli/diff",
    "cli/test-page.sh": "cli docs", "project/test-all-rooms.sh": "everything", "project/test-unmarked.sh": None,
}


@unittest.skipUnless(shutil.which("git"), "git is not installed")
class Repository(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        for path in ("tests/plan.py", "tests/project/rooms.py"):
            self.write(path, open(os.path.join(TOP, path)).read(), 0o755)
        self.write("tests/project/rooms", ROOMS)
        for name, checks in RUNNERS.items():
            marks = "thorough" + (" shares longer" if name == "project/test-all-rooms.sh" else "")
            self.write("tests/" + name, "# run.sh: %s\n" % marks + ("# checks: %s\n" % checks if checks else ""))
        self.write("tests/unwind/helper.py", "import extra\n")
        self.write("tests/unwind/extra.py", "")
        self.write("tests/unwind/loose.py", "")
        self.write("tests/names/test-names.sh", "# run.sh: thorough\n# checks: names\nunwind/helper.py testdata/a.reel (a).passed\ntests/run.sh\n")
        self.write("tests/run.sh", "tests/plan.py\n")
        self.write("tests/unit/names/test_names.c", '#include "names/names.h"\n')
        for path in ("include/stackreel.h", "base/base.c", "unwind/unwind.c", "unwind/unwind.h", "names/names.h", "bpf/sample.h", "bpf/shared.h", "bpf/types.h", "record/record.c", "record/jit/jit.c",
                     "cli/main.c", "cli/diff.c", "cli/diff/change.c", "Makefile", "README.md", "docs/a.md", "testdata/a.reel", "odd.file"):
            self.write(path, "")
        self.write("names/names.h", '#include "unwind/unwind.h"\n')
        self.write("bpf/shared.h", '#include "bpf/types.h"\n')
        self.git("init", "-q")
        self.first = self.commit()
        self.passed(self.first)
        self.commit()

    def write(self, path, text, mode=0o644):
        path = os.path.join(self.folder, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text)
        os.chmod(path, mode)

    def git(self, *arguments):
        command = ("git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", self.folder) + arguments
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()

    def commit(self):
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "x")
        return self.git("rev-parse", "--short=12", "HEAD")

    def passed(self, commit, cpu=10):
        self.write("tests/passed", "# rows\n" + "".join("%s %s 2026-01-02 5 %d 1 0\n" % (name, commit, cpu) for name in RUNNERS))

    def plan(self, *arguments, status=0, seconds=None):
        environment = os.environ | ({"CHANGED_SECONDS": str(seconds)} if seconds else {})
        done = subprocess.run([os.path.join(self.folder, "tests/plan.py"), *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
        self.assertEqual(done.returncode, status, done.stderr)
        return {row[0].removeprefix("tests/"): row[1:] for row in (line.split("\t") for line in done.stdout.splitlines())}

    def by_change(self, path):
        """The runners that a change of the file concerns."""
        full = os.path.join(self.folder, path)
        mode = os.stat(full).st_mode & 0o777 if os.path.exists(full) else 0o644
        self.write(path, (open(full).read() if os.path.exists(full) else "") + ("# changed" if path.endswith(".py") else "/* changed */"), mode)
        found = {name for name, (_, why) in self.plan().items() if not why.startswith("turn")}
        self.git("checkout", "-q", ".")
        return found

    def test_rooms(self):
        always = {"project/test-all-rooms.sh", "project/test-unmarked.sh"}
        self.assertEqual(self.by_change("unwind/unwind.c"), always | {"unwind/test-frames.sh", "names/test-names.sh"})
        self.assertEqual(self.by_change("names/names.h"), always | {"names/test-names.sh", "names/test-alone.sh"})
        self.assertEqual(self.by_change("bpf/sample.h"), always | {"record/test-record.sh"})
        for header in "shared", "types":
            self.assertEqual(self.by_change("bpf/%s.h" % header), always | {"record/test-record.sh", "jit/test-jit.sh"})
        self.assertEqual(self.by_change("cli/diff/change.c"), always | {"cli/test-diff.sh", "cli/test-page.sh"})
        self.assertEqual(self.by_change("cli/diff.c"), always | {"cli/test-diff.sh", "cli/test-page.sh"})
        self.assertEqual(self.by_change("cli/main.c"), always | {"cli/test-page.sh"})
        for path in "base/base.c", "include/stackreel.h":
            self.assertEqual(self.by_change(path), set(RUNNERS) - {"names/test-alone.sh"})

    def test_files(self):
        self.assertEqual(self.by_change("tests/unwind/extra.py"), {"names/test-names.sh"})
        self.assertEqual(self.by_change("tests/unwind/loose.py"), {"unwind/test-frames.sh"})
        self.assertEqual(self.by_change("tests/names/test-names.sh"), {"names/test-names.sh"})
        self.assertEqual(self.by_change("testdata/a.reel"), {"names/test-names.sh"})
        self.assertEqual(self.by_change("docs/a.md"), {"cli/test-page.sh"})
        self.assertEqual(self.by_change("README.md") | self.by_change("names/README.md") | self.by_change("tests/plan.py"), set())
        self.assertEqual(self.by_change("odd.file"), {"project/test-all-rooms.sh", "project/test-unmarked.sh"})
        self.assertEqual(self.by_change("Makefile"), set(RUNNERS))
        self.assertEqual(self.by_change("unwind/new.c"), {"project/test-all-rooms.sh", "project/test-unmarked.sh", "unwind/test-frames.sh", "names/test-names.sh"})

    def test_each_row_has_its_commit(self):
        self.write("bpf/sample.h", "/* changed */")
        later = self.commit()
        rows = {name: later for name in RUNNERS} | {"cli/test-diff.sh": "0" * 12}
        self.write("tests/passed", "".join("%s %s 2026-01-02 5 10 1 0\n" % row for row in rows.items()))
        self.commit()
        self.assertEqual(self.by_change("README.md"), {"cli/test-diff.sh"})
        self.assertIn("missing here", self.plan()["cli/test-diff.sh"][1])
        os.unlink(os.path.join(self.folder, "tests/passed"))
        self.assertEqual({why for name, (_, why) in self.plan().items() if not name.endswith("@long")}, {"never passed as a whole"})
        self.assertIn("record/test-record.sh", self.plan(self.first))
        self.assertRegex(self.plan("HEAD")["project/test-all-rooms.sh"][0], r"^\d+/6$")
        self.plan("no-such-commit", status=1)

    def test_turns(self):
        """Within as many commits as there are turns, each runner is run, and the shares add up; those that cost much, in four times as many."""
        for cpu, turns, commits in (10, 6, 6), (310, 10, 40):
            self.passed(self.first, cpu)
            seen, shares = set(), set()
            for _ in range(commits):
                self.commit()
                plan = self.plan()
                share, why = plan.pop("project/test-all-rooms.sh@long")
                self.assertRegex(share + why, r"^\d+/%dturn \d+ of %d$" % (15 * turns, 15 * turns))
                for name, (share, why) in plan.items():
                    self.assertRegex(why, r"^turn \d+ of %d$" % turns)
                    seen.add(name)
                    shares.add(share)
            self.assertEqual(seen, set(RUNNERS))
            self.assertEqual(shares, {"all"} | {"%d/%d" % (turn, turns) for turn in range(turns)})

    def test_affected(self):
        self.write("unwind/unwind.h", "/* changed */")
        share = self.plan("--affected", self.folder)["project/test-all-rooms.sh"][0]
        sources = open(share.removeprefix("affected=")).read().split()
        self.assertEqual(sources, ["names/names.h", "tests/unit/names/test_names.c", "unwind/unwind.c", "unwind/unwind.h"])

    def test_within(self):
        """A bound for what rooms concern: the others wait, and each has its turn; what concerns a runner's own files does not wait."""
        self.write("base/base.c", "/* changed */")
        self.write("tests/unwind/loose.py", "changed = 1")
        ran = set()
        for i in range(40):
            self.commit()
            seconds, wanted = ((25, 3), (5, 2))[i % 2]
            plan = self.plan(seconds=seconds)
            now = {name for name, (share, why) in plan.items() if share == "all" and not why.startswith("turn")}
            later = {name for name, (share, _) in plan.items() if share == "later"}
            self.assertIn("unwind/test-frames.sh", now)
            self.assertEqual(len(now), wanted)
            self.assertEqual(now | later, set(RUNNERS) - {"names/test-alone.sh"})
            ran |= now
        self.assertEqual(ran, set(RUNNERS) - {"names/test-alone.sh"})

    def test_own_files_in_shares(self):
        self.write("odd.file", "changed")
        self.commit()
        shared, whole = "project/test-all-rooms.sh", "project/test-unmarked.sh"
        self.assertEqual({self.plan(seconds=10)[name][0] for name in (shared, whole)}, {"all"})
        plan = self.plan(seconds=9)
        self.assertRegex(plan[shared][0], r"^\d+/\d+$")
        self.assertEqual(plan[whole], ["all", "odd.file"])

    def test_remember(self):
        head = self.git("rev-parse", "--short=12", "HEAD")
        costs = os.path.join(tempfile.mkdtemp(), "costs")
        self.addCleanup(shutil.rmtree, os.path.dirname(costs))
        rows = [("record/test-record.sh", 7, 9, 3, 0, 1, "all"), ("cli/test-diff.sh", 1, 1, 1, 1, 0, "all"), ("cli/test-page.sh", 1, 1, 1, 0, 0, "0/6")]
        with open(costs, "w") as out:
            out.write("head\n" + "".join("\t".join(map(str, row + (head, "all"))) + "\n" for row in rows))
        self.plan("--remember", costs)
        lines = open(os.path.join(self.folder, "tests/passed")).read().splitlines()
        self.assertEqual([line.split()[0] for line in lines if head in line], ["record/test-record.sh"])
        self.assertRegex("\n".join(lines), r"record/test-record.sh %s \d{4}-\d\d-\d\d 7 9 3 1\n" % head)
        # Not what passed with changes that are not committed.
        self.write("README.md", "changed")
        self.plan("--remember", costs, status=1)


class ThisRepository(unittest.TestCase):
    def test_lines(self):
        import plan

        rooms, checked = plan.table.read(), set()
        for runner in plan.all_runners():
            for word in runner.checks:
                self.assertTrue(word.removeprefix("=") in rooms or word == "everything" or os.path.exists(word), "%s: checks %s" % (runner.path, word))
            checked.update(word.removeprefix("=") for word in runner.checks)
        unit = {folder.removeprefix("tests/unit/") for folder, _, files in os.walk("tests/unit") if files}
        by_use = {"include", "elf/libiberty", "cli/page/web", "cli/static", "cli/missing",
                  "host", "host/linux", "host/wasm", "replay/missing"}  # within elf, cli/page and the builds
        by_use |= {room for room in rooms if room.startswith("bpf/")}
        self.assertEqual(set(rooms) - checked - unit - by_use, set())


if __name__ == "__main__":
    os.chdir(TOP)
    sys.exit(counting.run_suite(unittest.defaultTestLoader.loadTestsFromModule(sys.modules[__name__]), sys.stdout))
