#!/usr/bin/env python3
"""stack_bytes_check.py REPORT OUTPUT USAGE: `report --stack-bytes` of stack_bytes.c, its output, and gcc's -fstack-usage of it."""

import re
import sys

text, output, usage = (open(path).read() for path in sys.argv[1:4])
bad = []


def same(what, found, expected):
    if found != expected:
        bad.append("%s: %s, expected %s" % (what, found, expected))


number = lambda text: int(text.replace(",", ""))
_, threads, functions = re.split(r"\n *(?=DEEPEST |MOST )", text)
depths = {}
for line in threads.splitlines()[1:]:
    if not line.startswith("#"):
        deepest, _, _, _, comm, tid = line.split()[:6]
        depths[int(re.search(r"\d+", tid)[0])] = number(deepest)
same("depths", depths, {int(tid): int(depth) for tid, depth in re.findall(r"thread (\d+) (\d+)", output)})

rows = {}
for line in functions.splitlines()[1:]:
    if not line.startswith("#"):
        most, frame, median, calls, _, _, _, name = line.split()[:8]
        rows[name] = dict(zip(("most", "frame", "median", "calls"), map(number, (most, frame, median, calls))))
static = {name: int(size) for name, size in re.findall(r":(\w+)\t(\d+)\t", usage)}
for name in "with_array", "has_inlined", "recursive":
    same("%s's frame" % name, (rows[name]["median"], rows[name]["frame"]), (static[name], static[name]))
for name in "with_array", "with_alloca", "has_inlined":
    same("%s's calls" % name, (rows[name]["calls"], rows[name]["most"]), (1, rows[name]["frame"]))
calls = int(re.search(r"calls (\d+)", output)[1])
same("recursive", (rows["recursive"]["calls"], rows["recursive"]["most"]), (calls, calls * static["recursive"]))
same("alloca", (rows["with_alloca"]["median"], rows["with_alloca"]["frame"]),
     (static["with_alloca"] + 4096, static["with_alloca"] + 4096 + 32768))
same("an inlined function's row", "inlined" in rows, False)
print("\n".join(bad) or "as expected")
sys.exit(bool(bad))
