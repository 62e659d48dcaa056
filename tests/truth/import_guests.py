#!/usr/bin/env python3
"""Compares what stackreel script and perf script print of the same samples, address by address.

    import_guests.py --symfs DIR --records FILE [--allow CLASS,...] OURS THEIRS

THEIRS is `perf script -F tid,time,ip --ns --no-inline` of the machine that recorded: for user code it prints offsets
in the file (map__map_ip), so ours are converted by the programs' headers in DIR. perf subtracts 1 from a caller's
address.  --records is the output of stackreel dump.
Prints the samples of each class; the exit status is 1 if a sample has a class that is not allowed.

  equal          the same addresses
  longer         all of perf's, followed by more: perf's unwinder gave up early
  no frame       perf has none: it does not unwind without stack bytes
  link register  perf's second address is the link register's, but by the CFI the caller differs:
                 without CFI that it can read (a static program), libunwind guesses this way.  The rest
                 of a frame pointer chain is the same; a DWARF chain ends there.
  vdso           ours ends in the vDSO, whose image is missing: the recording has no build-id for it
"""

import argparse
import collections
import re
import struct
import sys

FRAME = re.compile(r"^\s+([0-9a-f]+)(?: (.*))?$")


def segments(path):
    """[(vaddr, offset, filesz)] of a 64-bit ELF file, of either byte order."""
    with open(path, "rb") as file:
        data = file.read()
    order = "<" if data[5] == 1 else ">"
    start, = struct.unpack_from(order + "Q", data, 32)
    size, count = struct.unpack_from(order + "HH", data, 54)
    found = []
    for i in range(count):
        kind, _, offset, vaddr, _, filesz = struct.unpack_from(order + "IIQQQQ", data, start + i * size)
        if kind == 1:
            found.append((vaddr, offset, filesz))
    return data[16 + (order == ">")] == 2, found  # ET_EXEC


class Files:
    def __init__(self, symfs):
        self.symfs, self.files = symfs, {}

    def offset(self, address, path):
        """The offset in the file at a path, None if it is unknown."""
        if path not in self.files:
            try:
                self.files[path] = segments(self.symfs + path)
            except OSError:
                self.files[path] = (False, [])
        fixed, found = self.files[path]
        if not fixed:
            return None
        for vaddr, offset, filesz in found:
            if vaddr <= address < vaddr + filesz:
                return address - vaddr + offset
        return None

    def any_offset(self, address):
        return {self.offset(address, path) for path in self.files} - {None}


def samples(lines, frame_of):
    """{(tid, time): [frames]}"""
    found, frames = {}, None
    for line in lines:
        match = FRAME.match(line)
        header = re.match(r"^(?:.*?\s)?(\d+)(?:/(\d+))?\s+(?:\[\d+\]\s+)?(\d+\.\d+):", line)
        if header:
            frames = []
            found[int(header.group(2) or header.group(1)), header.group(3)] = frames
        elif match and frames is not None:
            frame = frame_of(int(match.group(1), 16), match.group(2) or "")
            if frame is not None:
                frames.append(frame)
    return found


def same(ours, theirs):
    """`ours` is [acceptable addresses]."""
    return theirs in ours or theirs + 1 in ours


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--symfs", required=True)
    parser.add_argument("--records", required=True)
    parser.add_argument("--allow", default="", help="classes that are no failure, besides `equal'")
    parser.add_argument("ours")
    parser.add_argument("theirs")
    options = parser.parse_args()
    files = Files(options.symfs)

    def our_frame(address, rest):
        if rest.endswith("(inlined)"):
            return None
        path = re.search(r"\((/[^()]*)\)$", rest)
        offset = files.offset(address, path.group(1)) if path else None
        frame = {address}
        if offset is not None:
            frame.add(offset)
        if "[vdso]" in rest:
            # The vDSO begins with a page, and has few.
            frame |= {address & mask for mask in (0xfff, 0x1fff, 0x3fff)} | {"vdso"}
        return frame

    links = {}
    with open(options.records, errors="replace") as file:
        for line in file:
            time = re.search(r" SAMPLE .*? time=(\d+) ", line)
            link = re.search(r"\[30 8 0x([0-9a-f]+)\]", line)
            if time and link:
                links[int(time.group(1))] = int(link.group(1), 16)
    with open(options.ours, errors="replace") as file:
        ours = samples(file, our_frame)
    with open(options.theirs, errors="replace") as file:
        theirs = samples(file, lambda address, rest: address)
    counts, shown = collections.Counter(), 0
    for key, wanted in theirs.items():
        if key not in ours:
            name = "missing"
        else:
            seconds, fraction = key[1].split(".")
            link = links.get(int(seconds) * 10 ** 9 + int(fraction))
            name = judge(ours[key], wanted, link, lambda address: files.any_offset(address))
        counts[name] += 1
        if name in ("missing", "different", "shorter") and shown < 5:
            shown += 1
            print(name, key, "perf:", " ".join("%x" % address for address in wanted), "ours:",
                  " ".join("|".join("%x" % a for a in sorted(frame)) for frame in ours.get(key, [])))
    counts["extra"] = len(set(ours) - set(theirs))
    print("%d samples: %s" % (len(theirs), ", ".join(
        "%s %d" % item for item in sorted(counts.items()) if item[1])))
    allowed = {"equal"} | set(filter(None, options.allow.split(",")))
    bad = [name for name, count in counts.items() if count and name not in allowed]
    return 1 if bad or not theirs else 0


def judge(ours, wanted, link, offsets):
    def begins(some, all_of_it):
        return len(some) <= len(all_of_it) and all(map(same, all_of_it, some))

    if begins(wanted, ours):
        if len(ours) == len(wanted):
            return "equal"
        return "longer" if wanted else "no frame"
    if len(ours) < len(wanted) and begins(wanted[:len(ours)], ours):
        return "vdso" if "vdso" in ours[-1] else "shorter"
    leaf = sum(address >> 63 for address in wanted)  # after the kernel's
    if link and len(wanted) >= leaf + 2 and wanted[leaf + 1] + 1 in {link} | offsets(link):
        rest = wanted[:leaf + 1] + wanted[leaf + 2:]
        if begins(rest, ours) and (len(rest) == len(ours) or len(rest) == leaf + 1):
            return "link register"
    return "different"


if __name__ == "__main__":
    sys.exit(main())
