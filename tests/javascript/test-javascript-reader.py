#!/usr/bin/env python3
"""tests/javascript/reader.js, written from SPEC.md alone, compared with the table of testdata/format, and with `stackreel dump`
on the golden archive: every sample, every chain, the bytes of every region."""
# run.sh: thorough
# checks: format SPEC.md

import json
import os
import re
import shutil
import subprocess
import sys

os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
TOOL = os.path.join(os.environ.get("O", "build"), "stackreel")
KEY = "testdata/format/encrypted.key"
passed = failed = 0


def check(good, what):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    if not good:
        print("FAILED: %s" % what)


def read(file, *key):
    done = subprocess.run(["node", "tests/javascript/reader.js", file, *key], stdout=subprocess.PIPE)
    return [json.loads(line) for line in done.stdout.splitlines()]


def check_table():
    with open("testdata/format/README.md", encoding="utf-8") as table:
        rows = re.findall(r"^\| `([\w-]+\.reel)` \|.*\| ([^|]+) \| ([^|]+) \| ([^|]*?) ?\|$", table.read(), re.M)
    check(len(rows) > 100, "the table has %d rows" % len(rows))
    for file, *wanted in rows:
        lines = read("testdata/format/" + file)
        problems = list(dict.fromkeys(line["problem"] for line in lines if "problem" in line))
        summary = next((line["summary"] for line in lines if "summary" in line), None)
        got = [", ".join(problems) or "-", str(summary["blocks"]) if summary else "does not open", str(summary["samples"]) if summary else ""]
        check(got == wanted, "%s: %s, not %s" % (file, got, wanted))


def numbers(value):
    """Without the parts that the two print differently."""
    if isinstance(value, dict) and list(value) == ["offset", "size"]:
        return [int(value["offset"]), int(value["size"])]
    if isinstance(value, dict):
        return {{"crc32": "crc"}.get(key, key): numbers(item) for key, item in value.items() if key not in ("block", "block_offset", "record", "layout")}
    if isinstance(value, list):
        return [numbers(item) for item in value] or None
    return int(value) if isinstance(value, str) and value.isdigit() else value


def check_golden():
    for file in sorted(os.listdir("testdata/golden")):
        if not file.endswith(".reel"):
            continue
        path = "testdata/golden/" + file
        key = [KEY] if "encrypted" in file else []
        ours = subprocess.run([TOOL, "dump", "--json", *(["--identity", KEY] if key else []), path], stdout=subprocess.PIPE)
        wanted = [numbers(record) for record in map(json.loads, ours.stdout.splitlines()) if record.get("record") == "SAMPLE"]
        lines = read(path, *key)
        got = [numbers(line["sample"]) for line in lines if "sample" in line]
        different = next((i for i, pair in enumerate(zip(got, wanted)) if pair[0] != pair[1]), None)
        check(different is None and len(got) == len(wanted) > 0, "%s: %d samples, and %d; %s" % (
            file, len(got), len(wanted), "" if different is None else "%s\n    %s" % (got[different], wanted[different])))
        check(not any("problem" in line for line in lines), "%s: no problem" % file)


if not shutil.which("node") or not shutil.which("zstd"):
    print("skip: node or zstd is not installed\n0 passed, 0 failed, 1 skipped")
    sys.exit()
if int(subprocess.run(["node", "-p", "+!require('zlib').crc32"], stdout=subprocess.PIPE).stdout):
    print("skip: this node has no zlib.crc32 (20.15 and later have it)\n0 passed, 0 failed, 1 skipped")
    sys.exit()
check_table()
check_golden()
print("%d passed, %d failed, 0 skipped" % (passed, failed))
sys.exit(failed != 0)
