#!/usr/bin/env python3
"""disk_wakers_check.py DUMP: how many of the waits for a disk have a waker; DUMP is the output of `stackreel dump --json`.

Prints both numbers, and the wakers.  Exit status 1 if fewer than half have one, or if no interrupt has a name; 2 if there are
too few waits to tell.
"""
import collections
import json
import sys

WAKER, STATE, BLOCKED = 3, 6, 1


def main(path):
    events, waits, wakers = {}, 0, collections.Counter()
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            if record["record"] == "EVENT":
                events[record["id"]] = record["name"]
            elif record["record"] == "SAMPLE" and events[record["event"]] == "off-cpu" and record["flags"] >> STATE & 3 == BLOCKED:
                waits += 1
                wakers.update(value for key, value in record["labels"] or [] if key == WAKER)
    known = sum(wakers.values())
    print("%d of %d waits have a waker: %s" % (known, waits, dict(wakers)))
    is_named = any(str(name).startswith(("[interrupt: ", "[softirq: ")) for name in wakers)
    return 2 if waits < 40 else int(2 * known < waits or not is_named)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
