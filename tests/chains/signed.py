#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Are the return addresses on arm64 stacks of a capture signed?

    signed.py STACKREEL FILE [--least PERCENT]

The program is FILE's /chains/*/chains, built with -mbranch-protection.  Of the words on its stacks
that, with the capture's code mask stripped, lie in the program's code, a signed one has bits of the
mask; the sample's own LR is one of them.  Prints how many there are; fails if fewer than PERCENT
(50) are signed, or if the capture has no mask.
"""

import argparse
import json
import subprocess
import sys


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("stackreel")
    parser.add_argument("file")
    parser.add_argument("--least", type=float, default=50)
    options = parser.parse_args()
    modules, code, mask, plain, signed = set(), [], 0, 0, 0
    with subprocess.Popen([options.stackreel, "dump", "--json", "--bytes", options.file],
                          stdout=subprocess.PIPE, text=True) as process:
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
                for region in record["regions"]:
                    data = bytes.fromhex(region["bytes"])
                    for at in range(0, len(data) - 7, 8):
                        word = int.from_bytes(data[at:at + 8], "little")
                        if any(begin <= word & ~mask < end for begin, end in code):
                            signed += word & mask != 0
                            plain += word & mask == 0
    print("code mask %#x: %d words on stacks are addresses in the program, signed, %d are not signed" % (mask, signed, plain))
    return 0 if mask and 100 * signed >= options.least * (signed + plain) and signed else 1


if __name__ == "__main__":
    sys.exit(main())
