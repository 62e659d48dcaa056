#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Are the return addresses on arm64 stacks of captures signed?

    signed.py STACKREEL FILE...

The program is each FILE's /chains/*/chains, built with -mbranch-protection.  Of the words on its stacks that, with
the capture's code mask stripped, lie in the program's code, a signed one has bits of the mask set.  Pointers to
functions are not signed, so some unsigned words are normal.  With addresses of 52 bits, a signature has three bits,
and those of one word in eight are 0; a process gives the same return address in the same place always the same
signature, so several processes are needed.  Prints both numbers; fails unless signed words outnumber the samples of
all files, or if a capture has no mask.
"""

import argparse
import json
import subprocess
import sys


def count(stackreel, file):
    modules, code, mask, plain, signed, samples = set(), [], 0, 0, 0, 0
    with subprocess.Popen([stackreel, "dump", "--json", "--bytes", file], stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            record = json.loads(line)
            kind = record["record"]
            if kind == "SPACE":
                mask |= record["code_mask"]
            elif kind == "MODULE" and record["path"].endswith("/chains"):
                modules.add(record["id"])
            elif kind == "MAP" and record["module"] in modules and record["protection"] & 4:
                code.append((record["address"], record["address"] + record["size"]))
            elif kind == "SAMPLE":
                samples += 1
                for region in record["regions"]:
                    data = bytes.fromhex(region["bytes"])
                    for at in range(0, len(data) - 7, 8):
                        word = int.from_bytes(data[at:at + 8], "little")
                        if any(begin <= word & ~mask < end for begin, end in code):
                            signed += word & mask != 0
                            plain += word & mask == 0
    print("%s: code mask %#x: %d samples; of the words on their stacks that point into the program %d are signed, %d are not" % (
        file, mask, samples, signed, plain))
    return mask, samples, signed


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("stackreel")
    parser.add_argument("files", nargs="+")
    options = parser.parse_args()
    masks, samples, signed = zip(*(count(options.stackreel, file) for file in options.files))
    return 0 if all(masks) and sum(signed) > sum(samples) > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
