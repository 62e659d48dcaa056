#!/bin/bash
# Reads captures with both readers, tests/reader/reel_reader.py and `stackreel dump --json`, and compares
# their output line by line as objects, their exit status, and the classes of reported problems.
# The captures are those in testdata, and those that tests/reader/test-reel-reader.py and
# tests/reader/test-reel-records.py make.  Each file is a test.
#
#   tests/reader/test-readers-agree.sh [FILE...]
#   LONG=1                  all of testdata
#   O=DIR                   the object directory (build)
# run.sh: thorough shares longer
# checks: format SPEC.md
set -u
reader=$(cd "$(dirname "$0")" && pwd)
O=${O:-build}
if [ $# = 0 ]; then cd "$reader/../.." || exit; fi
tool=$O/stackreel

skip_all() {
    echo "skip: $1"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
}

# Whether the command exists: help mentions it, or it reports an empty file as expected.
has_dump() {
    "$tool" --help 2>&1 | grep -qw dump && return
    "$tool" dump --json "$work/empty" 2>&1 | grep -q '"problem"'
}

[ -x "$tool" ] || skip_all "$O/stackreel is not built"
command -v zstd >/dev/null || skip_all "there is no zstd program"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
: >"$work/empty"
has_dump || skip_all "$O/stackreel has no dump --json"

if [ $# = 0 ]; then
    for script in test-reel-reader.py test-reel-records.py; do
        "$reader/$script" --write "$work/made" >/dev/null ||
            echo "$script failed; comparing its captures anyway"
    done
    shopt -s nullglob globstar
    # Every ninth of a CPU's captures of chains, unless LONG is set: their records are all similar.
    set -- "$work"/made/*.reel
    number=0
    for file in testdata/**/*.reel; do
        case $file in */chains/*) [ "${LONG:-0}" = 1 ] || [ $((number++ % 9)) = 0 ] || continue ;; esac
        set -- "$@" "$file"
    done
fi

# One process for all files, since starting the reader takes longer than reading most files.
PYTHONPATH=$reader:$reader/.. PYTHONDONTWRITEBYTECODE=1 python3 - "$tool" "$@" <<'PYTHON'
import itertools
import json
import subprocess
import sys
import tempfile

import reel_reader
from counting import in_share


class Difference(Exception):
    def __init__(self, where, reader, tool):
        super().__init__("%s\n    reel_reader.py: %s\n    stackreel:      %s"
                         % (where, short(reader), short(tool)))


def short(value):
    text = json.dumps(value)
    return text if len(text) <= 400 else text[:400] + "..."


class Reader:
    """Its lines as objects, then its status and the classes of its problems."""

    def __init__(self, path):
        self.path = path

    def lines(self):
        problems = []
        count = 0
        with open(self.path, "rb") as file:
            try:
                capture = reel_reader.Capture(file, problems.append)
                for block, record in capture.all_records():
                    count += 1
                    # Converted to JSON and back, since tuples and lists are the same there.
                    yield json.loads(json.dumps(reel_reader.printable(block, record)))
            except reel_reader.ReelError as error:
                problems.append(error)
        self.classes = sorted({problem.problem for problem in problems})
        self.status = reel_reader.exit_status(len(problems), count)


class Tool:
    def __init__(self, tool, path):
        self.command = [tool, "dump", "--json", path]

    def lines(self):
        with tempfile.TemporaryFile() as errors:
            with subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stderr=errors,
                                  stdout=subprocess.PIPE) as process:
                yield from map(parse, process.stdout)
            self.status = process.returncode
            errors.seek(0)
            # Other messages are not compared.
            objects = [parse(line) for line in errors if line.startswith(b"{")]
        self.classes = sorted({o.get("problem", "no problem") if isinstance(o, dict) else o
                               for o in objects})


def parse(line):
    try:
        return json.loads(line.decode("ascii"))
    except ValueError:
        return "not ASCII JSON: %.200r" % line


def compare_objects(number, one, two):
    """Their keys must stand in the same order, too."""
    if one == two and json.dumps(one) == json.dumps(two):
        return
    where = "line %d" % number
    if isinstance(one, dict) and isinstance(two, dict):
        where += " (%s of block %s)" % (one.get("record"), one.get("block"))
        if list(one) != list(two):
            raise Difference(where + ": keys", list(one), list(two))
        for key in one:
            if json.dumps(one[key]) != json.dumps(two[key]):
                raise Difference("%s: %s" % (where, key), one[key], two[key])
    raise Difference(where, one, two)


def compare(tool, path):
    one, two = Reader(path), Tool(tool, path)
    for number, pair in enumerate(itertools.zip_longest(one.lines(), two.lines()), 1):
        compare_objects(number, *pair)
    if one.classes != two.classes:
        raise Difference("problems", one.classes, two.classes)
    if one.status != two.status:
        raise Difference("exit status", one.status, two.status)


failed = 0
paths = [path for index, path in enumerate(sys.argv[2:]) if in_share(index)]
for path in paths:
    try:
        compare(sys.argv[1], path)
    except Difference as difference:
        failed += 1
        print("%s: %s" % (path, difference))
print("%d passed, %d failed, 0 skipped" % (len(paths) - failed, failed))
sys.exit(1 if failed else 0)
PYTHON
