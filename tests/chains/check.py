#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the samples of testdata/programs/chains against what each mode can have (chains.py).

    stackreel script FILE | check.py MODE [--printed TEXT] [--count N]

Every sample's chain, from _start (or the thread's or the coroutine's entry) to the leaf, must fully match one of the
mode's patterns.  Explained ends of traces are counted by name and printed with the reason.  Fails on any other
chain, and if too few samples are in the places that the mode exercises.

--printed is what the program printed (a number of frames or of processes); --count is the number of programs that
mode exec was asked to run, one after the other.
"""

import argparse
import os
import re
import struct
import subprocess
import sys

sys.dont_write_bytecode = True
from chains import ENDS, MODES, PARTS, START  # noqa: E402
from cpus import CPUS, LIBCS  # noqa: E402

# A slow CPU takes long to start and to end a program, which reduces the share of the mode itself.
SLOW_LEAST = 0.2  # of each minimum share
SLOW_ENDS_MAX = 40
# If this many samples are expected in a place, given how few there are, at least one must be there; in percent of a
# sample.
SLOW_EXPECTED = 300
# The maximum share of explained ends that are not the mode's own, in percent of its samples.
ENDS_MAX = 2
# spawn and exec consist of starts, ends and execs; a loop that throws is in uw_install_context for 1 to 2 %, by CPU.
ENDS_MAX_OF = {"spawn": 10, "exec": 10, "thread-exec": 10, "exception": 4}


def expand(pattern, parts):
    """Replaces names in capitals by their patterns."""
    while True:
        longer = re.sub(r"\b[A-Z]{3,}\b", lambda match: "(%s)" % parts[match.group()]
                        if match.group() in parts else match.group(), pattern)
        if longer == pattern:
            return re.compile(pattern)
        pattern = longer


def plain(name):
    """Removes arguments, return type, and marks of versions and clones."""
    if name.startswith("["):  # not a function
        return name
    name = re.sub(r" \[clone [^]]*\]", "", name)
    if not name.startswith("("):
        name = name.split("(")[0]
    name = re.sub(r"@@?[A-Z]\S*$", "", name)
    depth = 0
    for at in range(len(name) - 1, -1, -1):
        depth += {">": 1, "<": -1}.get(name[at], 0)
        if name[at] == " " and not depth and not name[:at].endswith("operator"):
            return name[at + 1:]
    return name


class Sections:
    """The small section of a file that contains an address, by the offset in its page."""

    NAMES = {".plt": "plt", ".plt.sec": "plt", ".plt.got": "plt", ".iplt": "plt", ".init": "init", ".fini": "fini"}

    def __init__(self, symfs):
        self.files, self.symfs = {}, symfs

    def read(self, path):
        ranges = []
        try:
            with open(self.symfs + path, "rb") as file:
                data = file.read()
            order = "<" if data[5] == 1 else ">"
            is_64 = data[4] == 2
            text_size = 0
            table, = struct.unpack_from(order + ("Q" if is_64 else "I"), data, 0x28 if is_64 else 0x20)
            size, count, names_index = struct.unpack_from(order + "HHH", data, 0x3a if is_64 else 0x2e)
            headers = [struct.unpack_from(order + ("IIQQQQ" if is_64 else "IIIIII"), data, table + i * size)
                       for i in range(count)]
            names = headers[names_index][4]
            for name, _, _, address, _, length in headers:
                name = data[names + name:data.index(b"\0", names + name)].decode()
                text_size = length if name == ".text" else text_size
                if name in self.NAMES:
                    ranges.append((address & 0xfff, length, self.NAMES[name]))
            # In a large section, offsets in a page are ambiguous.
            if text_size > 32768:
                return []
        except (OSError, struct.error, IndexError, ValueError):
            pass
        return ranges

    def name(self, path, address):
        if path not in self.files:
            self.files[path] = self.read(path)
        for start, length, name in self.files[path]:
            if ((address & 0xfff) - start) & 0xfff < length:
                return name
        return ""


class Sample:
    def __init__(self, pid, tid):
        self.pid, self.tid = pid, tid
        self.names, self.modules, self.addresses = [], [], []  # leaf first
        self.leaf = None  # (function, offset, path): the function itself, or the one it is inlined into
        self.stop = ""


FRAME = re.compile(r"\t *([0-9a-f]+) (.*) \(([^()]*)\)$")
OFFSET = re.compile(r"(.*)\+0x([0-9a-f]+)$")
HEADER = re.compile(r"\S.*?\s+(\d+)/(\d+) +\[\d+\] ")


def read_samples(file, symfs):
    sections, names = Sections(symfs), {}
    sample = None
    for line in file:
        if line[0] == "\t":
            known = names.get(line)
            if known is None:
                known = names[line] = parse_frame(line.rstrip("\n"), sections)
            name, path, leaf, address = known
            sample.leaf = sample.leaf or leaf
            sample.names.append(name)
            sample.modules.append(path)
            sample.addresses.append(address)
        elif line.startswith("# stop: "):
            sample.stop = line[8:].strip()
        elif line != "\n":
            header = HEADER.match(line)
            if not header:
                sys.exit("not a line of stackreel script: %r" % line)
            sample = Sample(int(header.group(1)), int(header.group(2)))
        elif sample:
            yield sample
            sample = None
    if sample:
        yield sample


def parse_frame(line, sections):
    match = FRAME.match(line)
    address, name, path = int(match.group(1), 16), match.group(2), match.group(3)
    offset = OFFSET.match(name)
    if path == "inlined":
        return plain(name), None, None, address
    # A frame named only by an unwind entry is known by its section, like a frame without a name; so is a stub.
    if name == "[unknown]" or name.endswith(" [fde]") or (offset and offset.group(1).endswith(("@plt", " [fde]"))):
        return "%s+%s" % (os.path.basename(path), sections.name(path, address)), path, None, address
    if offset:
        name = offset.group(1)
    return plain(name), path, (plain(name), int(offset.group(2), 16) if offset else 0, path), address


def without_steps(names):
    """Removes i386's helper calls, root first: the function that returns the pc, the vDSO's system call."""
    return [name for at, name in enumerate(names)
            if not at or not (name == "__kernel_vsyscall" or name.startswith("__x86.get_pc_thunk."))]


def switch_of(path):
    """The offsets in swapcontext at which neither the old nor the new stack matches the CFI."""
    text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", "--disassemble=swapcontext", path],
                          capture_output=True, text=True, check=False).stdout
    lines = re.findall(r"^ *([0-9a-f]+):\s+(.*)$", text, re.M)
    if not lines:
        return range(0)
    first = int(lines[0][0], 16)
    begin = end = None
    for (address, instruction), (following, _) in zip(lines, lines[1:]):
        if re.match(r"mov +0x[0-9a-f]+\(%(rdx|eax)\),%[re]sp", instruction):
            begin = int(following, 16)
        if begin and end is None and re.match(r"push +%[re]cx", instruction):
            end = int(following, 16)
    return range(begin - first, end - first) if begin and end else range(0)


def merged(cpu, libc):
    """Differences of a CPU and a C library."""
    both = {**cpu, **libc}
    for key, value in cpu.items():
        if key in libc:
            both[key] = {**value, **libc[key]} if isinstance(value, dict) else libc[key] + value
    return both


class Checker:
    def __init__(self, mode, cpu, libc, symfs, slow, trimmed=False):
        self.trimmed = trimmed
        known, own = MODES[mode], merged(CPUS[cpu], LIBCS[libc])
        self.slow, self.least_scale = slow, SLOW_LEAST if slow else 1
        self.ends_max = own.get("ends_max", SLOW_ENDS_MAX if slow else ENDS_MAX_OF.get(mode, ENDS_MAX))
        parts = {**PARTS, **own.get("parts", {})}
        self.mode, self.cpu, self.symfs = mode, cpu, symfs
        self.places = [(name, expand(pattern, parts), own.get("least", {}).get((mode, name), least))
                       for name, (pattern, least) in known["places"].items()]
        self.starts = [expand(pattern, parts) for pattern in START + own.get("start", [])]
        ends = own.get("mode_ends", {}).get(mode, []) + known["ends"] + own.get("ends", []) + ENDS
        self.instructions = {function: (offsets, end[0]) for end in ends if isinstance(end[1], dict)
                             for function, offsets in end[1].items()}
        self.ends = [(end[0], None if isinstance(end[1], dict) else expand(end[1], parts), end[2],
                      own.get("least", {}).get((mode, end[0]), end[3] if len(end) > 3 else None)) for end in ends]
        self.kinds, self.counts, self.wrong = {}, {}, {}
        self.samples, self.switch = 0, None
        self.errors = []
        # For modes that check more than chains.
        self.depths, self.workers, self.pids, self.turns, self.pages = {}, {}, set(), [], {}

    def kind_of(self, chain):
        for match in re.finditer(r"tiny_keep<(\d+)>;tiny_leaf<(\d+)>", chain):
            if match.group(1) != match.group(2):
                return None
        for name, pattern, _ in self.places:
            if pattern.fullmatch(chain):
                return ("place", name)
        for pattern in self.starts:
            if pattern.fullmatch(chain):
                return ("place", "start and end")
        for name, pattern, _, _ in self.ends:
            if pattern and pattern.fullmatch(chain):
                return ("end", name)
        return None

    def add(self, sample):
        names = without_steps(list(reversed(sample.names)))
        depth = names.count("deep")
        if depth > 1:
            first = names.index("deep")
            if any(name != "deep" for name in names[first:first + depth]):
                depth = -1
            del names[first:first + depth - 1]
        # testdata's binaries contain only the code around samples: a root cannot be proved from it.
        if sample.stop and not (self.trimmed and sample.stop == "root reached by a guess"):
            names.insert(0, "[%s]" % sample.stop)
        elif not names:
            names = ["[no user stack]"]
        chain = ";".join(names)
        if chain not in self.kinds:
            self.kinds[chain] = self.kind_of(chain)
        kind = self.kinds[chain]
        if kind is None and self.is_switch(sample):
            kind = ("end", "swapcontext")
        if kind is None and sample.leaf and sample.leaf[0] in self.instructions:
            offsets, name = self.instructions[sample.leaf[0]]
            kind = ("end", name) if sample.leaf[1] in offsets else None
        self.samples += 1
        if kind is None:
            self.wrong[chain] = self.wrong.get(chain, 0) + 1
            return
        self.counts[kind] = self.counts.get(kind, 0) + 1
        self.remember(sample, kind[1], chain, depth)

    def is_switch(self, sample):
        if self.cpu not in ("x86_64", "i386") or self.mode != "coroutine" or not sample.leaf or sample.leaf[0] != "swapcontext":
            return False
        if self.switch is None:
            self.switch = switch_of(self.symfs + sample.leaf[2])
        return sample.leaf[1] in self.switch

    def remember(self, sample, place, chain, depth):
        if place == "deep_bottom":
            self.depths[depth] = self.depths.get(depth, 0) + 1
        worker = re.search(r"worker<(\d)>", chain)
        if worker:
            self.workers.setdefault(sample.tid, set()).add(worker.group(1))
        if place == "children":
            self.pids.add(sample.pid)
        if place in ("first program", "other program", "left", "right") and sample.leaf:
            file = {"first program": "chains", "other program": "other-chains",
                    "left": "libleft.so", "right": "libright.so"}[place]
            deepest = next(path for path in sample.modules if path)
            if place in ("left", "right") and chain.endswith("call_" + place):
                file = "chains"
            if os.path.basename(deepest) != file:
                self.errors.append("%s in %s" % (chain, deepest))
            self.pages.setdefault(place, set()).update(
                address >> 12 for path, address in zip(sample.modules, sample.addresses)
                if path and os.path.basename(path) == file)
            if not self.turns or self.turns[-1] != place:
                self.turns.append(place)

    def check_more(self, options):
        if self.mode == "deep" and list(self.depths) != [int(options.printed)]:
            self.errors.append("depths %s, not %s" % (self.depths, options.printed))
        # An emulated CPU may pause for longer than a thread lives.
        least = 3 if options.slow else 8
        if self.mode == "threads" and (len(self.workers) < least or any(len(w) != 1 for w in self.workers.values()) or
                                       len(set().union(*self.workers.values())) != len(self.workers)):
            self.errors.append("threads and their workers: %s" % self.workers)
        forks = int(options.printed) if self.mode == "fork" else 0
        # A slow CPU may pause for longer than a child lives.
        if not (forks / 2 if options.slow else forks) <= len(self.pids) <= forks:
            self.errors.append("samples of %d children, not of %s" % (len(self.pids), options.printed))
        if self.mode in ("exec", "thread-exec") and len(self.turns) != options.count:
            self.errors.append("%d programs one after the other, not %d" % (len(self.turns), options.count))
        if self.mode in ("exec", "thread-exec", "reload") and \
                (len(self.pages) != 2 or not set.intersection(*self.pages.values())):
            self.errors.append("not at the same address: %s" % self.pages)

    def is_enough(self, name, count, least):
        if self.slow and name.startswith("worker"):
            return True
        wanted = least * self.least_scale * self.samples
        return 100 * count >= wanted or (self.slow and wanted < SLOW_EXPECTED)

    def report(self, options):
        share = lambda count: 100 * count / max(self.samples, 1)
        ends = sum(count for kind, count in self.counts.items() if kind[0] == "end")
        right = sum(self.counts.values()) - ends
        print("%s: %d samples, %d right, %d with an explained end, %d wrong" % (
            self.mode, self.samples, right, ends, sum(self.wrong.values())))
        for name, _, least in self.places + [("start and end", None, 0)]:
            count = self.counts.get(("place", name), 0)
            print("    %-26s %7d" % (name, count))
            if not self.is_enough(name, count, least):
                self.errors.append("%s: %.2f %% of the samples, not %g" % (name, share(count), least))
        others = 0
        for name, _, reason, least in self.ends:
            count = self.counts.get(("end", name), 0)
            if count:
                print("    %-26s %7d   %s" % (name, count, reason))
            if least is None:
                others += count
            elif not self.is_enough(name, count, least):
                self.errors.append("%s: %.2f %% of the samples, not %g" % (name, share(count), least))
        if share(others) > self.ends_max:
            self.errors.append("explained ends: %.2f %% of the samples" % share(others))
        if self.samples < options.min:
            self.errors.append("%d samples, not %d" % (self.samples, options.min))
        self.check_more(options)
        for chain, count in sorted(self.wrong.items(), key=lambda item: -item[1])[:20]:
            self.errors.append("%d x %s" % (count, chain[:1000]))
        for error in self.errors[:40]:
            print("wrong: %s" % error)
        return 1 if self.errors else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("mode", choices=sorted(MODES))
    parser.add_argument("--printed", default="0")
    parser.add_argument("--count", type=int, default=0)
    parser.add_argument("--min", type=int, default=100, help="samples at least")
    parser.add_argument("--cpu", choices=sorted(CPUS), default=os.uname().machine)
    parser.add_argument("--libc", choices=sorted(LIBCS), default="glibc")
    parser.add_argument("--symfs", default="", help="where the modules are")
    parser.add_argument("--slow", action="store_true", help="the CPU was an emulated one: shares may be smaller")
    options = parser.parse_args()
    checker = Checker(options.mode, options.cpu, options.libc, options.symfs, options.slow)
    for sample in read_samples(sys.stdin, options.symfs):
        checker.add(sample)
    return checker.report(options)


if __name__ == "__main__":
    sys.exit(main())
