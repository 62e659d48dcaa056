#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""expected_amounts.py <NDJSON - functions and lines with their amounts, added up from the samples of `export --format=ndjson`, as JSON"""

import json
import sys


def main():
    functions, lines = {}, {}
    for text in sys.stdin:
        sample = json.loads(text)
        weight, seen = sample["weight"], set()
        for i, frame in enumerate(sample["frames"]):
            name, line = frame["function"], (frame["file"], frame["line"])
            if not name:
                continue
            entry = functions.setdefault(name, dict(name=name, self=0, total=0, samples=0))
            entry["self"] += weight * (i == 0)
            if name not in seen:
                entry["total"] += weight
                entry["samples"] += 1
            seen.add(name)
            if frame["line"]:
                entry = lines.setdefault(line, dict(file=frame["file"], line=frame["line"], self=0))
                entry["self"] += weight * (i == 0)
    json.dump(dict(functions=list(functions.values()), lines=list(lines.values())), sys.stdout)


if __name__ == "__main__":
    main()
