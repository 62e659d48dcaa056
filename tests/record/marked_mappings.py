#!/usr/bin/env python3
"""Counts the MMAP2 records of a perf.data file marked as holding a build-id (PERF_RECORD_MISC_MMAP_BUILD_ID).

    marked_mappings.py FILE     prints `N of M`; status 1 if N is not 0, or M is 0
"""

import struct
import sys

MMAP2, MARK = 10, 1 << 14


def main():
    with open(sys.argv[1], "rb") as file:
        data = file.read()
    at, size = struct.unpack_from("<QQ", data, 40)
    end = at + size
    mappings = marked = 0
    while at < end:
        kind, misc, size = struct.unpack_from("<IHH", data, at)
        mappings += kind == MMAP2
        marked += kind == MMAP2 and misc & MARK != 0
        at += size
    print("%d of %d" % (marked, mappings))
    return 1 if marked or not mappings else 0


if __name__ == "__main__":
    sys.exit(main())
