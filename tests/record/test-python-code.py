#!/usr/bin/env python3
"""The names, files and lines of Python functions, as the recorder's helper reads them from the memory of a running interpreter: for all
code objects of the standard library, they are those that the interpreter itself reports. Interpreters that are not installed are skipped.

    O=DIR          the object directory (build)
    PYTHONS=LIST   more interpreters, as commands with a comma in between
"""
# run.sh: thorough
# checks: record/runtime

import os
import shlex
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, TESTS)
import counting

READER = os.path.join(os.environ.get("O", "build"), "tests/record/code_reader")
VERSIONS = ["3.%d" % minor for minor in range(8, 16)]
WHICH = "import os, sys; print('%d.%d' % sys.version_info[:2], os.path.realpath(sys.executable))"

count = counting.Count()


def interpreters():
    """Their commands by version and path; others than CPython have no runtime that we know."""
    found = {}
    commands = [c for c in os.environ.get("PYTHONS", "").split(",") if c]
    for command in commands + ["python3", "/usr/bin/python3"] + ["python" + version for version in VERSIONS]:
        command = shlex.split(command)
        try:
            done = subprocess.run([*command, "-c", WHICH], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
        except OSError:
            continue
        if done.returncode == 0:
            found.setdefault(tuple(done.stdout.decode().split()), command)
    for version in VERSIONS:
        if not any(key[0] == version for key in found):
            count.skip("no python%s" % version)
    return found


def pairs_of(text, first, end):
    """Places where the line changes, without what is outside of the instructions."""
    found = [(first, 0)]
    for pair in text.split():
        position, line = map(int, pair.split(b":"))
        position = max(position, first)
        if position >= end:
            continue
        if found[-1][0] == position:
            found.pop()
        if not found or found[-1][1] != line:
            found.append((position, line))
    return found


def differences(expected, answers):
    named, unnamed = 0, 0
    for line in expected:
        fields = line.split(b"\t")
        answer = answers.get(fields[0])
        if len(fields) == 1:
            unnamed += 1
            if answer:
                yield "%s has a name" % fields[0]
            continue
        named += 1
        if not answer:
            yield "no answer for %s" % fields[:4]
            continue
        first, end, lines = (fields[4].split(b" ", 2) + [b""])[:3]
        ours, theirs = (pairs_of(text, int(first), int(end)) for text in (answer[4], lines))
        if answer[:4] != fields[:4]:
            yield "%s is %s" % (fields[:4], answer[:4])
        elif ours != theirs:
            yield "%s: lines %s, expected %s" % (fields[:4], ours[:8], theirs[:8])
    if named < 1000 or unnamed < 5:
        yield "only %d code objects, %d others" % (named, unnamed)


def check(version, command, work):
    path = os.path.join(work, "expected")
    script = os.path.join(TESTS, "record/python_code.py")
    with subprocess.Popen([*command, script, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as target:
        target.stdout.readline()
        with open(path, "rb") as file:
            expected = file.read().split(b"\n")[:-1]
        addresses = b"".join(line.split(b"\t")[0] + b"\n" for line in expected)
        done = subprocess.run([READER, str(target.pid)], input=addresses, stdout=subprocess.PIPE, check=False)
        target.stdin.close()
    lines = done.stdout.split(b"\n")[:-1]
    major, minor = map(int, version.split("."))
    count.ok(version + ": is located", lines and lines[0].split()[0] == b"%x" % (major << 16 | minor << 8), str(lines[:1]))
    answers = {fields[0]: fields for fields in (line.split(b"\t") for line in lines[1:])}
    found = list(differences(expected, answers))
    count.ok("%s: %d code objects" % (version, len(expected)), not found, "%d differ: %s" % (len(found), "; ".join(found[:4])))


def main():
    with tempfile.TemporaryDirectory() as work:
        for (version, _), command in sorted(interpreters().items()):
            check(version, command, work)
    return count.finish()


if __name__ == "__main__":
    sys.exit(main())
