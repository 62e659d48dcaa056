#!/usr/bin/env python3
"""Compares the code in a recording of tests/programs/jit.c with the code that it printed.

    jit_code_check.py PRINTED STACKREEL CAPTURE...

Of several captures (parts of one recording) each must have the code that ran in it.
"""

import re
import subprocess
import sys

SECRET = b"swordfish"


def printed(path):
    """[(time, [(address, bytes) of each function])] of each time."""
    times = []
    with open(path) as file:
        for line in file:
            first, second = line.split()
            if first == "time":
                times.append((int(second), []))
            else:
                times[-1][1].append((int(first, 16), bytes.fromhex(second)))
    return times


def records(stackreel, capture):
    """CODE records as (time, address, bytes); the times of samples; the number of dropped ones."""
    code, samples, lost = [], [], 0
    out = subprocess.run([stackreel, "dump", capture], stdout=subprocess.PIPE, check=True).stdout
    for line in out.decode(errors="replace").splitlines():
        kind = line.split(maxsplit=2)[1]
        fields = dict(re.findall(r"(\w+)=(\S+)", line))
        if kind == "CODE":
            code.append((int(fields["time"]), int(fields["address"], 16),
                         bytes.fromhex(fields["bytes"])))
        elif kind == "SAMPLE":
            samples.append(int(fields["time"]))
        elif kind == "LOSS" and fields["cause"] == "11":
            lost += int(fields["count"])
    return sorted(code), samples, lost


def bytes_at(code, time, address, size):
    """The bytes at that time; None for missing ones."""
    known = [None] * size
    for since, start, data in code:
        if since > time:
            break
        for i in range(size):
            if 0 <= address + i - start < len(data):
                known[i] = data[address + i - start]
    return bytes(known) if None not in known else None


def main():
    times = printed(sys.argv[1])
    problems = []
    changes = 0
    for capture in sys.argv[3:]:
        code, samples, lost = records(*sys.argv[2:3], capture)
        begin, end = min(samples), max(samples)
        whole = b"".join(data for _, _, data in code)
        if SECRET in whole:
            problems.append("data that no call led to is in %s" % capture)
        if any(len(data) > 4096 for _, _, data in code):
            problems.append("a record of more than a page")
        for i, (start, functions) in enumerate(times):
            stop = times[i + 1][0] if i + 1 < len(times) else end
            # A change may take up to a second to be noticed, and some time passes at the start of a part.
            if stop - max(start, begin) < 1500000000 or stop > end:
                continue
            changes += 1
            for address, data in functions:
                found = bytes_at(code, stop - 1, address, len(data))
                if found != data:
                    problems.append("%s: at %#x in time %d: %s, not %s" % (
                        capture, address, i + 1, found and found.hex(), data.hex()))
        # The same bytes must not be written twice.
        pages = {}
        for _, address, data in code:
            for at in range(0, len(data), 256):
                piece = pages.setdefault(address + at, [])
                if piece and piece[-1] == data[at:at + 256]:
                    problems.append("%#x was written again unchanged" % (address + at))
                piece.append(data[at:at + 256])
        print("%d bytes in %d records, %d pages dropped" % (len(whole), len(code), lost))
    if not changes:
        problems.append("no time was long enough")
    for problem in problems[:10]:
        print(problem)
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
