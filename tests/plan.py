#!/usr/bin/env python3
"""Finds which thorough runners a change can break, and which of the others have their turn.

    tests/plan.py [BASE]          prints a line for each runner to run: path, share, why, separated by tabs
    tests/plan.py --affected DIR [BASE]   also writes to DIR, for runners with the mark `shares`, the sources that a change can break
    tests/plan.py --remember COSTS        writes the runners that passed, from a table that tests/run.sh wrote, to tests/passed

tests/passed has a row for each thorough runner: the commit at which it passed as a whole, the date, and its cost. What has changed since
that commit (or since BASE), also in the work tree, decides whether the runner is run:

- its own files: the script, other files of its folder, and each file in tests/ that these name;
- the rooms of its line `# checks: WORD...`, and all rooms that these may include (tests/project/rooms); of a room with only some headers
  that may be included, these and what they include. The closure ends at include/: runners that check commands of stackreel do not depend
  on the library's rooms, whose own runners do. `=ROOM` is the room alone, whose included rooms matter to it, but not to what is checked.
  A word may also be a folder or file that is not a room, or `everything`. A runner without this line depends on all rooms;
- the runner itself, the Makefile, and the list of packages (EVERYTHING below).

A runner with the mark `shares` that is run for the second reason gets AFFECTED=FILE, a list of sources, and can do only what concerns these.
The remaining runners are run in turns, chosen by the number of commits: each run takes one share of `turns`, which is at least 6 and so
large that a share takes at most SHARE_SECONDS of CPU. Runners with the mark `shares` are part of each run, with a SHARE that changes with
the turn; those that cost more than SHARE_SECONDS, only of each run in DEAR_TURNS, since each of their shares has to make a tree of Debian or
boot a guest. Each run also takes a share of what runners with the mark `longer` check with LONG=1, in LONG_TURNS times as many turns.

CHANGED_SECONDS=N bounds the CPU time of the runners of the second and third kinds, by what they cost when they passed, as .ci/run does:
a change of base/ or the Makefile concerns nearly all, which take longer than CI may. At each commit others are chosen; the share of those
that wait is `later`. A runner with the mark `shares` that costs more by itself is run in shares, even if its own files have changed.
`make test-all` runs all.
"""

import argparse
import collections
import datetime
import glob
import os
import re
import subprocess
import sys
import zlib

os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.dont_write_bytecode = True
sys.path.insert(0, "tests/project")
import rooms as table

PASSED = "tests/passed"
# Not this file: it only chooses, which test-plan.py checks.
EVERYTHING = {"Makefile", "packaging/deps.sh", "tests/run.sh", "tests/count.sh", "tests/counting.py"}
# Files that no runner depends on, unless its line `checks` names them.
TEXT = re.compile(r"(.*\.md|LICENSE|\.gitignore|\.clang-format|\.ci/.*|tests/passed|docs/.*)$")
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.M)
SHARE_SECONDS = 300
LEAST_TURNS = 6
LONG_TURNS = 15
DEAR_TURNS = 4
BY_ROOM = "by room"  # or by what concerns all


def git(*arguments):
    done = subprocess.run(("git",) + arguments, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return done.stdout.split("\n")[:-1] if done.returncode == 0 else None


def read(path):
    with open(path, errors="replace") as file:
        return file.read()


# ---- runners and their files --------------------------------------------------------------------------


class Runner:
    def __init__(self, path):
        text = read(path)
        self.path = path
        self.marks = set(" ".join(re.findall(r"^# run\.sh: (.*)$", text, re.M)).split())
        self.checks = " ".join(re.findall(r"^# checks: (.*)$", text, re.M)).split() or ["everything"]

    def row_name(self):
        return self.path.removeprefix("tests/")


def all_runners():
    return [Runner(path) for pattern in ("test-*.sh", "test-*.py", "test.sh") for path in sorted(glob.glob("tests/*/" + pattern))]


def thorough_runners():
    return [runner for runner in all_runners() if "thorough" in runner.marks]


def room(path):
    """The folder of tests/ in which the file is."""
    return path.split("/")[1]


class TestFiles:
    """The files in tests/, and which of them each one names."""

    def __init__(self):
        self.files = {path for path in git("ls-files", "tests", "-o", "-c", "--exclude-standard") if os.path.isfile(path)}
        self.files -= {path for path in self.files if path.startswith("tests/unit/")} | {PASSED}
        self.unnamed = None
        self.by_name = collections.defaultdict(set)
        for path in self.files:
            self.by_name[path.removeprefix("tests/")].add(path)
            self.by_name[os.path.basename(path)].add(path)
            if path.endswith((".c", ".cc")):  # a program in the object folder
                self.by_name[os.path.splitext(path)[0].removeprefix("tests/")].add(path)

    def names(self, path):
        """Yields the names of files in a file's text, comments apart."""
        text = re.sub(r"^\s*#(?!\s*include).*$", "", read(path), flags=re.M)
        yield from (re.sub(r"^.*?tests/|^[./]+", "", word) for word in re.findall(r"[\w./-]*[./][\w./-]*\w", text))
        if path.endswith(".py"):
            yield from (name + ".py" for name in re.findall(r"^(?:from|import)\s+(\w+)", text, re.M))

    def needed_by(self, path):
        """The file, those that no runner names, of its folder and of folders that have no runners, and all that these name, directly or
        through others. What only unit tests use of tests/support/ concerns no runner."""
        if self.unnamed is None:
            runners = {name for name in self.files if re.search(r"/(test-[^/]*|test)\.(sh|py)$", name)}
            self.unnamed = {name for name in self.files if name.count("/") > 1} - set().union(*map(self.named_by, runners))
            self.folders = {room(name) for name in runners} | {"support"}
        return self.named_by(path, *(name for name in self.unnamed if room(name) == room(path) or room(name) not in self.folders))

    def named_by(self, *paths):
        found, todo = set(), list(paths)
        while todo:
            path = todo.pop()
            if path in found or path in EVERYTHING:
                continue
            found.add(path)
            if not re.search(r"\.(sh|py|c|h|js|mjs)$|/init$", path):
                continue
            for name in set(self.names(path)):
                for other in self.by_name.get(name, ()):
                    # A plain name means a file of the same folder, or of one that serves all.
                    if "/" in name or os.path.dirname(other) in (os.path.dirname(path), "tests", "tests/support"):
                        todo.append(other)
        return found


# ---- what a change can break ---------------------------------------------------------------------------


def room_of(rooms, path):
    """The room of a source; cli/NAME.c belongs to cli/NAME, if that is a room."""
    room = table.room_of(rooms, path)
    command = os.path.splitext(path)[0].replace("-", "_")
    return command if room == "cli" and command in rooms else room


def stem(path):
    return os.path.splitext(path)[0]


class Includes:
    """Which files include a file. A source file and its header are one."""

    def __init__(self):
        self.files = [path for path in git("ls-files", "*.[chS]", "-o", "-c", "--exclude-standard") if os.path.isfile(path)]
        self.users, self.uses = collections.defaultdict(set), collections.defaultdict(set)
        for path in self.files:
            for header in INCLUDE.findall(read(path)):
                header = header if os.path.exists(header) else os.path.join(os.path.dirname(path), header)
                self.users[stem(header)].add(stem(path))
                self.uses[stem(path)].add(stem(header))


def reachable(graph, start):
    found, todo = set(), list(start)
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            todo += graph[name]
    return found


def closure(rooms, includes, names):
    """Returns the rooms that these depend on, and the files of other rooms."""
    found, headers, todo = set(), set(), list(names)
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            for other, only in rooms[name].may.items():
                if only:
                    headers.update("%s/%s" % (other, stem(header)) for header in only)
                else:
                    todo.append(other)
    return found, reachable(includes.uses, headers)


def reason(runner, changed, rooms, includes, needed):
    """Returns why the runner depends on one of these files, and whether only its rooms do; or None."""
    subject = "everything" in runner.checks
    checked, files = closure(rooms, includes, [word for word in runner.checks if word in rooms])
    checked |= {word[1:] for word in runner.checks if word.startswith("=")}
    paths = [word for word in runner.checks if word not in rooms and word != "everything"]
    by_room = None
    for path in sorted(changed):
        if path in EVERYTHING or path in needed:
            return path, False
        if any(path == word or path.startswith(word + "/") for word in paths):
            return path, False
        room = room_of(rooms, path) if not TEXT.match(path) else None
        if room:
            if subject or room in checked or stem(path) in files:
                by_room = by_room or path
        elif path.startswith("testdata/"):
            # Expected outputs are read by who names their kind.
            if any((".folded.xz" if path.endswith(".folded.xz") else "testdata") in read(file) for file in needed):
                return path, False
        elif not path.startswith("tests/") and not TEXT.match(path) and subject:
            return path, False
    return (by_room, True) if by_room else None


def affected_sources(includes, changed):
    """The changed sources and all that include them, directly or through others. Tests that include the library's headers depend on the
    whole library, which implements it."""
    users = collections.defaultdict(set, includes.users)
    tests = {name for name in users["include/commands"] | users["include/stackreel"] if name.startswith("tests/")}
    for path in includes.files:
        if path.startswith("replay/"):
            users[stem(path)] = users[stem(path)] | tests
    found = reachable(users, map(stem, changed))
    return [path for path in includes.files if stem(path) in found]


# ---- tests/passed ------------------------------------------------------------------------------------------

Row = collections.namedtuple("Row", "runner commit date wall cpu passed skipped")


def read_passed():
    if not os.path.exists(PASSED):
        return {}
    rows = [Row(*line.split()) for line in read(PASSED).splitlines() if not line.startswith("#")]
    return {row.runner: row for row in rows}


def remember(costs):
    """Adds the thorough runners of the table that passed as a whole."""
    head = git("rev-parse", "--short=12", "HEAD")
    dirty = [line for line in git("status", "--porcelain") or [] if not line.endswith(" " + PASSED)]
    if not head or dirty:
        sys.exit("%s is unchanged: the work tree differs from the last commit: %s" % (PASSED, " ".join(dirty[:3])))
    rows = read_passed()
    known = {runner.row_name() for runner in thorough_runners()}
    for line in read(costs).splitlines()[1:]:
        name, wall, cpu, passed, failed, skipped, share, commit = line.split("\t")[:8]
        if name in known and failed == "0" and share == "all" and commit == head[0]:
            rows[name] = Row(name, commit, datetime.date.today().isoformat(), wall, cpu, passed, skipped)
    with open(PASSED, "w") as out:
        out.write("# Written by `make test-all`: where each thorough runner last passed as a whole, and what that cost (tests/plan.py).\n")
        out.write("# runner commit date wall-seconds CPU-seconds passed skipped\n")
        out.writelines(" ".join(row) + "\n" for name, row in sorted(rows.items()) if name in known)


# ---- turns ---------------------------------------------------------------------------------------------------


def turns(runners, rows):
    """Divides the runners into turns of about equal cost. Returns the turn of each runner, and their number."""
    costs = {runner.path: int(rows[runner.row_name()].cpu) for runner in runners if runner.row_name() in rows}
    count = max(LEAST_TURNS, -(-sum(costs.values()) // SHARE_SECONDS))
    whole = [runner.path for runner in runners if "shares" not in runner.marks and runner.path in costs]
    loads, turn_of = [0] * count, {}
    for path in sorted(whole, key=lambda path: (-costs[path], path)):
        turn_of[path] = loads.index(min(loads))
        loads[turn_of[path]] += costs[path]
    return turn_of, count


def plan(base, affected_dir, seconds):
    rooms, includes, files, rows, runners = table.read(), Includes(), TestFiles(), read_passed(), thorough_runners()
    turn_of, count = turns(runners, rows)
    commits = int((git("rev-list", "--count", "HEAD") or ["0"])[0])
    turn = commits % count

    def share(name, turns, commits=commits):
        # Not the same number for all: runners with few items have them in the first shares.
        return "%d/%d" % ((commits + zlib.crc32(name.encode())) % turns, turns), "turn %d of %d" % (commits % turns + 1, turns)

    untracked = git("ls-files", "-o", "--exclude-standard") or []
    changes = {}
    for runner in all_runners():
        if "longer" in runner.marks:
            yield runner.path + "@long", *share(runner.path, count * LONG_TURNS)
    for runner in runners:
        row = rows.get(runner.row_name())
        start = base or (row and row.commit)
        if not start:
            yield runner.path, "all", "never passed as a whole"
            continue
        if start not in changes:
            names = git("diff", "--name-only", start, "--")
            changes[start] = None if names is None else set(names) | set(untracked)
        if changes[start] is None:
            yield runner.path, "all", "commit %s is missing here" % start
            continue
        needed = files.needed_by(runner.path)
        why = reason(runner, changes[start], rooms, includes, needed)
        if why and "shares" in runner.marks and not why[1] and row and int(row.cpu) > seconds:
            why = None
        if why and why[1] and "shares" in runner.marks and affected_dir:
            path = os.path.join(affected_dir, runner.row_name().replace("/", "-"))
            with open(path, "w") as out:
                out.writelines(name + "\n" for name in affected_sources(includes, changes[start]))
            yield runner.path, "affected=" + path, why[0], BY_ROOM
        elif why:
            yield runner.path, "all", why[0], *([BY_ROOM] if why[1] or why[0] in EVERYTHING else [])
        elif "shares" in runner.marks and not (row and int(row.cpu) > SHARE_SECONDS):
            yield runner.path, *share(runner.path, count)
        elif "shares" in runner.marks and commits % DEAR_TURNS == zlib.crc32(runner.path.encode()) % DEAR_TURNS:
            yield runner.path, *share(runner.path, count, commits // DEAR_TURNS)
        elif turn_of.get(runner.path) == turn:
            yield runner.path, "all", "turn %d of %d" % (turn + 1, count)


def within(seconds, rows):
    """The plan with at most so many seconds of CPU for runners whose own files are unchanged."""
    head = (git("rev-parse", "HEAD") or [""])[0]
    costs = {"tests/" + row.runner: int(row.cpu) for row in read_passed().values()}
    left = seconds
    for row in sorted(rows, key=lambda row: zlib.crc32((head + row[0]).encode())):
        cost = costs.get(row[0], 0) if row[3:] == (BY_ROOM,) else 0
        # One that costs more than the bound has its turn if it is the first.
        if cost and cost > left and left < seconds:
            yield row[0], "later", row[2]
        else:
            left -= cost
            yield row[:3]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base", nargs="?", metavar="BASE")
    parser.add_argument("--affected", metavar="DIR")
    parser.add_argument("--remember", metavar="COSTS")
    options = parser.parse_args()
    if options.remember:
        remember(options.remember)
        return
    if options.base and not git("rev-parse", "--verify", "-q", options.base + "^{commit}"):
        sys.exit("plan.py: unknown commit '%s'" % options.base)
    seconds = int(os.environ.get("CHANGED_SECONDS", sys.maxsize))
    for row in within(seconds, plan(options.base, options.affected, seconds)):
        print("\t".join(row))


if __name__ == "__main__":
    main()
