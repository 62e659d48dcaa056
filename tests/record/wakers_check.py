#!/usr/bin/env python3
"""wakers_check.py HOLDS DUMP: compares who ended waits with who released the locks.

HOLDS is the output of tests/programs/locks.c, DUMP that of `stackreel dump --json`.  Prints what is wrong; exit status 1.
"""
import bisect
import collections
import json
import sys

LOCK, OWNER, WAKER, WAKER_TID, WAKER_SAMPLE = 1, 2, 3, 4, 5
LATE = 5e6     # ns from the release to the wakeup: the system call


def main(holds_path, dump_path):
    ends = collections.defaultdict(list)
    held = collections.defaultdict(list)
    of_locks = collections.defaultdict(list)
    with open(holds_path, encoding="utf-8") as lines:
        for line in lines:
            _, address, tid, begin, end = line.split()
            ends[int(tid)].append(int(end))
            of_locks[int(address, 16)].append((int(end), int(tid)))
            held[int(tid)].append((int(begin), int(end)))
    for times in [*ends.values(), *of_locks.values()]:
        times.sort()
    events, samples = {}, []
    with open(dump_path, encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            if record["record"] == "EVENT":
                events[record["id"]] = record["name"]
            elif record["record"] == "SAMPLE":
                record["labels"] = dict(map(tuple, record["labels"] or []))
                samples.append(record)
    times = {s["id"]: s["time"] for s in samples if events[s["event"]] == "waker"}
    # When looks ended: 10 ms apart, or more on a busy host.
    looked = sorted(s["time"] for s in samples if events[s["event"]] == "off-cpu")
    looks = [time for time, after in zip(looked, looked[1:]) if after - time > 1e6]
    counts = collections.Counter()
    for sample in samples:
        labels = sample["labels"]
        if events[sample["event"]] != "off-cpu" or WAKER not in labels:
            continue
        kind = "lock" if LOCK in labels else "sleep"
        counts[kind] += 1
        if kind == "sleep":
            counts["sleep ended by a thread"] += not labels[WAKER].startswith("[")
            continue
        if labels[WAKER].startswith("["):      # pthread_cond_timedwait
            counts["lock ended by an interrupt"] += 1
            continue
        time = times.get(labels.get(WAKER_SAMPLE))
        of_lock, of_thread = of_locks.get(labels[LOCK]), ends.get(labels[WAKER_TID], [])
        if of_lock:     # Who had it last, however long ago: a busy host may run others before the wakeup.
            at = bisect.bisect_right(of_lock, (time or 0, 0))
            right = at and of_lock[at - 1][1] == labels[WAKER_TID]
        else:           # A read-write lock waits for a word of its own.
            at = bisect.bisect_right(of_thread, time or 0)
            right = time is not None and at and time - of_thread[at - 1] < LATE
        counts["woken by a thread that released a lock" if right else "woken by another"] += 1
        # The main thread never holds a lock: its tid is a decoy, which only replay can tell.
        if labels.get(OWNER) not in ends:
            continue
        # After the last look, or one before, another thread may have got the lock before this one did.
        if labels[OWNER] == labels[WAKER_TID]:
            counts["by its owner"] += 1
        elif time is not None and any(begin < time and end > looks[max(bisect.bisect(looks, time) - 3, 0)] for begin, end in held[labels[OWNER]]):
            counts["by another after its owner"] += 1
        else:
            counts["by another than the owner"] += 1
    print(dict(counts))
    released = counts["woken by a thread that released a lock"]
    return not (counts["sleep"] > 100 and counts["sleep ended by a thread"] <= 0.02 * counts["sleep"] and
                released > 100 and counts["woken by another"] <= 0.02 * released and
                counts["by its owner"] > 100 and
                counts["by another than the owner"] <= 0.05 * counts["by its owner"])


sys.exit(main(*sys.argv[1:]))
