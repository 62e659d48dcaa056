#!/usr/bin/env python3
"""Checks the chains of testdata/programs/crowd.c, which are known by construction.

    stackreel folded FILE | crowd_chains.py [--min SAMPLES]

Prints `N samples, N right` and each wrong stack; the exit status is 1 if any stack is wrong, or if spin has fewer
samples than SAMPLES.
"""

import argparse
import re
import sys

DIVES = (10, 20, 30, 40)
# A new thread first runs in clone3 itself, which has no caller.
THREAD = re.compile(r"(__clone3|clone3|__clone|clone)(?:;start_thread(;.*)?)?")
# The C library's start and end, and main, which starts threads and waits for them.
MAIN = re.compile(r"(_start|_init|_fini|\[no frames\]|\[incomplete: no u[a-z ]*\]|_exit)(;[^;]+)*")


def is_right(stack):
    own = re.findall(r"\b(?:work|dive|spin|now)\b", stack)
    thread = THREAD.fullmatch(stack)
    if not thread:
        return not own and bool(MAIN.fullmatch(stack))
    if not own:
        return True
    inner = re.fullmatch(r";work((?:;dive)*)(;spin|;now(?:;[^;]+)*)?", thread.group(2))
    if not inner:
        return False
    dives, leaf = inner.group(1).count(";dive"), inner.group(2) or ""
    if leaf == ";spin":
        return dives in DIVES
    return dives <= max(DIVES) if not leaf else dives == 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--min", type=int, default=1)
    options = parser.parse_args()
    samples, spinning, wrong = 0, 0, []
    for line in sys.stdin:
        stack, count = line.rstrip("\n").rsplit(" ", 1)
        samples += int(count)
        if not is_right(stack):
            wrong.append((int(count), stack))
        elif stack.endswith(";spin"):
            spinning += int(count)
    print("%d samples, %d right; spin %d" % (samples, samples - sum(count for count, _ in wrong), spinning))
    for count, stack in sorted(wrong, reverse=True)[:20]:
        print("wrong: %d x %s" % (count, stack))
    return 1 if wrong or spinning < options.min else 0


if __name__ == "__main__":
    sys.exit(main())
