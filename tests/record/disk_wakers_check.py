#!/usr/bin/env python3
"""disk_wakers_check.py DUMP: how many of the waits for a disk have a waker; DUMP is the output of `stackreel dump --json`.

Prints both numbers.  Exit status 1 if it is less than half, 2 if there are too few waits to tell.
"""
import json
import sys

WAKER, STATE, BLOCKED = 3, 6, 1


def main(path):
    events, waits, known = {}, 0, 0
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            if record["record"] == "EVENT":
                events[record["id"]] = record["name"]
            elif record["record"] == "SAMPLE" and events[record["event"]] == "off-cpu" and record["flags"] >> STATE & 3 == BLOCKED:
                waits += 1
                known += WAKER in dict(map(tuple, record["labels"] or []))
    print("%d of %d waits have a waker" % (known, waits))
    return 2 if waits < 40 else int(2 * known < waits)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
