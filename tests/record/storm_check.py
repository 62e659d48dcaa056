#!/usr/bin/env python3
"""storm_check.py STACKREEL CAPTURE FORKS: checks the processes in a capture of tests/programs/storm.c.

Only records that a sample needs may exist: each THREAD has a sample, or names a process of which another thread has
one: it is the first thread. Each SPACE has such a thread, or is the parent of another, which needs its mappings. A
process is also written when a mapping replaces its code.
"""
import collections
import json
import subprocess
import sys

stackreel, capture, forks = sys.argv[1], sys.argv[2], int(sys.argv[3])
counts = collections.Counter()
threads, spaces, sampled, moved = {}, {}, collections.Counter(), collections.defaultdict(set)
problems = []
replaced = set()
dump = subprocess.run([stackreel, "dump", "--json", capture], check=True, capture_output=True, text=True).stdout
for line in dump.splitlines():
    record = json.loads(line)
    kind = record["record"]
    counts[kind] += 1
    if kind == "THREAD":
        if record["id"] in threads:
            problems.append(f"two threads have the id {record['id']}")
        threads[record["id"]] = record
        moved[record["id"]].add(record["space"])
        if record["space"] not in spaces:
            problems.append(f"thread {record['id']} comes before its space")
    elif kind == "SPACE":
        # A later one of the same id only tells what became known later (SPEC.md, section 5, SPACE).
        is_first = record["id"] not in spaces
        if spaces.setdefault(record["id"], record)["pid"] != record["pid"]:
            problems.append(f"two spaces have the id {record['id']}")
        if is_first and record["origin"] == 1 and record["parent"] not in spaces:
            problems.append(f"space {record['id']} comes before its parent")
    elif kind == "UNMAP":
        replaced.add(record["space"])
    elif kind == "THREAD_EXEC":
        moved[record["thread"]].add(record["space"])
    elif kind == "SAMPLE":
        sampled[record["thread"]] += 1
        if record["thread"] not in threads:
            problems.append(f"a sample comes before its thread {record['thread']}")
needing = replaced.union(*(moved[thread] for thread in sampled))
first = {t["id"] for t in threads.values() if t["space"] in spaces and t["tid"] == spaces[t["space"]]["pid"]}
idle = {t for t in set(threads) - set(sampled) if not moved[t] & (needing if t in first else replaced)}
if idle:
    problems.append(f"{len(idle)} of {len(threads)} threads have no sample")
needed = {space for thread in threads for space in moved[thread]}
needed |= {s["parent"] for s in spaces.values() if s["origin"] == 1}
unneeded = set(spaces) - needed
if unneeded:
    problems.append(f"{len(unneeded)} of {len(spaces)} spaces have no thread with samples")
n = sum(counts[kind] for kind in ("SPACE", "SPACE_EXIT", "THREAD", "THREAD_EXIT", "THREAD_COMM", "THREAD_EXEC"))
# Beside other tests, half of the forks may have a sample.
if n > max(forks, 6 * len(sampled)):
    problems.append(f"{n} records of processes and threads, for {forks} forks, {len(sampled)} of them sampled")
print(f"{capture}: {forks} forks, {len(sampled)} threads with samples, {n} records of processes and threads, {counts['MAP']} of mappings")
for problem in problems[:10]:
    print(f"    {problem}")
sys.exit(bool(problems))
