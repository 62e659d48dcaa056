#!/usr/bin/env python3
"""Reads standard input to a file: BYTES a second for SECONDS, then as fast as it comes.

    slow_reader.py FILE BYTES SECONDS
"""

import sys
import time

out, rate, seconds = open(sys.argv[1], "wb"), int(sys.argv[2]), float(sys.argv[3])
source = sys.stdin.buffer.raw
start = time.monotonic()
taken = 0
while True:
    now = time.monotonic() - start
    if now < seconds and taken > now * rate:
        time.sleep(0.01)
        continue
    chunk = source.read(16384)
    if not chunk:
        break
    taken += len(chunk)
    out.write(chunk)
