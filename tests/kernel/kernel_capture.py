#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes captures of a kernel and a module that tests/kernel/test-kernel-symbols.sh built.

    kernel_capture.py VMLINUX MODULE.ko DIR

writes DIR/kernel.reel, whose kernel chains contain every instruction of both, as a leaf and as a return address,
relocated as by KASLR and the module loader; DIR/truth, with a line for each address to look up: runtime address,
file, section, offset in it (for the kernel: the file's address); and DIR/MACHINE.reel, DIR/… for the other cases of
the script.
"""

import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../reader"))
import reel_builder as b  # noqa: E402

KASLR = 0x1C600000
KERNEL, MODULE, OTHER, BPF = 1, 2, 3, 4
RELEASE = "6.1.0-fake"
# Addresses at which the loader put the module's sections, and those after it was loaded again.
PLACES = {".text": 0xFFFFFFFFC0A01000, ".text.unlikely": 0xFFFFFFFFC0B77040}
PLACES_LATER = {".text": 0xFFFFFFFFC0A01080, ".text.unlikely": 0xFFFFFFFFC0C00000}
RELOADED = 5000


def run(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout


def build_id(path):
    return bytes.fromhex(re.search(r"Build ID: ([0-9a-f]+)", run("readelf", "-n", path))[1])


def symbols(path):
    """(section, address or offset, size, name) of each function; it extends to the next one, or to the section's end,
    as in /proc/kallsyms."""
    found = []
    for line in run("readelf", "-sW", path).splitlines():
        m = re.match(r"\s*\d+: ([0-9a-f]+) +(\w+) (FUNC|NOTYPE) +\w+ +\w+ +(\d+) (\S+)$", line)
        if m:
            found.append((int(m[4]), int(m[1], 16), m[5]))
    found.sort()
    ends = section_ends(path)
    return [(section, start, min([at for other, at, _ in found if other == section and at > start],
                                 default=ends[section]) - start, name)
            for section, start, name in found]


def section_ends(path):
    return {int(m[1]): int(m[2], 16) + int(m[3], 16) for m in re.finditer(
        r"\[ *(\d+)\] \S+ +\w+ +([0-9a-f]+) [0-9a-f]+ ([0-9a-f]+)", run("readelf", "-SW", path))}


def sections(path):
    return {int(m[1]): m[2] for m in re.finditer(r"\[ *(\d+)\] (\.\S+)", run("readelf", "-SW", path))}


def instructions(path, section):
    out = run("objdump", "-d", "-j", section, path)
    return [int(m[1], 16) for m in re.finditer(r"^ *([0-9a-f]+):\t", out, re.M)]


def capture(records, samples, machine=62, build=b"", word_bits=64, order=1):
    reel = b.Reel()
    reel.side(
        b.record("CAPTURE", 1, 0, 1, machine, word_bits, order, 4096, 1, 1, 65536, 0, 0, 0, b"",
                 "host", RELEASE, "#1", build, "test", b""),
        b.record("EVENT", 1, 1, 0, 0, 1, 1, "cpu-clock", 0),
        b.record("SPACE", 1, 1, 0, 0, 100, 100, machine, word_bits, order, 0, 0, 0),
        b.record("THREAD", 1, 1, 1, 0, 100, 100, 0, "task"), *records)
    block = b.Samples()
    for i, (time, chain) in enumerate(samples):
        block.sample(i + 1, time, thread=1, where=2, kernel=chain)
    reel.samples(block)
    reel.side(b.record("END", 10000, 0, len(samples), 0))
    return reel.index().trailer().data


def symbol(address, size, module, name, since=0):
    return b.record("KERNEL_SYMBOL", address, size, module, name, since)


def module(id, kind, build, path):
    return b.record("MODULE", id, kind, 0, 0, 0, 0, build, path)


class Maker:
    def __init__(self, vmlinux, ko, out):
        self.vmlinux, self.ko, self.out = vmlinux, ko, out
        self.modules = [module(KERNEL, 3, build_id(vmlinux), "[kernel.kallsyms]"),
                        module(MODULE, 4, build_id(ko), "[fake_driver]"),
                        module(OTHER, 4, b"", "[other]"), module(BPF, 4, b"", "[bpf]")]
        self.kernel_symbols = [(a + KASLR, size, name) for _, a, size, name in symbols(vmlinux)]
        names = sections(ko)
        self.ko_symbols = [(names[s], a, size, name) for s, a, size, name in symbols(ko)
                           if names.get(s) in PLACES]

    def write(self, name, data):
        with open(os.path.join(self.out, name), "wb") as file:
            file.write(data)

    def records(self, later=True):
        out = list(self.modules)
        out += [symbol(a, size, KERNEL, name) for a, size, name in self.kernel_symbols]
        out += [symbol(PLACES[s] + a, size, MODULE, name) for s, a, size, name in self.ko_symbols]
        if later:
            out += [symbol(PLACES[s] + a, size, MODULE, "", RELOADED)
                    for s, a, size, _ in self.ko_symbols]
            out += [symbol(PLACES_LATER[s] + a, size, MODULE, name, RELOADED)
                    for s, a, size, name in self.ko_symbols]
        return out

    def kernel(self):
        """All instructions, the kernel's once and the module's at both of its places."""
        root = max(a for a, _, name in self.kernel_symbols if name == "sys_read") + 1
        samples, truth = [], set()

        def both(time, runtime, *place):
            samples.append((time, [runtime]))
            samples.append((time, [root, runtime]))
            *place, offset = place
            truth.update([(runtime, *place, offset), (runtime - 1, *place, offset - 1)])

        for section in (".text", ".head.text"):
            for address in instructions(self.vmlinux, section)[1:]:
                both(100, address + KASLR, self.vmlinux, "-", address)
        for time, places in ((100, PLACES), (RELOADED + 100, PLACES_LATER)):
            for section, base in places.items():
                for offset in instructions(self.ko, section)[1:]:
                    both(time, base + offset, self.ko, section, offset)
        truth.add((root - 1, self.vmlinux, "-", root - 1 - KASLR))
        truth.add((root, self.vmlinux, "-", root - KASLR))
        samples.sort(key=lambda s: s[0])
        self.write("kernel.reel", capture(self.records(), samples, build=build_id(self.vmlinux)))
        with open(os.path.join(self.out, "truth"), "w") as file:
            for line in sorted(truth):
                file.write("%#x\t%s\t%s\t%#x\n" % line)

    def reuse(self):
        """A BPF program replaces the module, then nothing, then another module."""
        at = 0xFFFFFFFFC0200000
        records = self.modules + [
            symbol(at, 0x100, OTHER, "other_poll"), symbol(at + 0x100, 0x300, OTHER, "other_init"),
            symbol(at + 0x80, 0x100, BPF, "bpf_prog_6deef7357e7b4530", 200),
            symbol(at + 0x80, 0x100, BPF, "", 300),
            symbol(at + 0x100, 0x10, MODULE, "driver_late", 400),
            # With unknown size: up to the next one, or for a page.
            symbol(at + 0x10000, 0, OTHER, "other_tail"), symbol(at + 0x10020, 8, OTHER, "other_end"),
            symbol(at + 0x20000, 0, OTHER, "other_last")]
        # Leaf, then return addresses: for these, look up the preceding byte.
        chain = [at + 0x85, at + 0x80, at + 0x81, at + 0x105, at + 0x200]
        samples = [(t, chain) for t in (100, 199, 200, 299, 300, 400)]
        samples += [(500, [at + 0x1001F]), (500, [at + 0x10028]), (500, [at + 0x20FFF]), (500, [at + 0x21000])]
        self.write("reuse.reel", capture(records, samples))

    def overlap(self):
        """s390x: kernel and user addresses are in two separate spaces; both use the same numbers here."""
        records = self.modules + [
            module(9, 1, b"\1" * 20, "/bin/task"), b.record("MAP", 1, 1, 0x100000, 0x1000, 0, 5, 2, 9),
            symbol(0x100000, 0x100, KERNEL, "startup")]
        reel = capture(records, [(100, [0x100010])], machine=22, order=2)
        self.write("overlap.reel", reel)

    def interrupts(self):
        """After an interrupt's entry comes the interrupted pc itself, and then return addresses."""
        at = 0xFFFFFFFF81000000
        records = self.modules + [
            symbol(at + n * 0x100, 0x100, KERNEL, name) for n, name in enumerate((
                "before", "interrupted", "asm_sysvec_call_function", "asm_load_gs_index", "caller"))]
        chain = [at + 0x10, at + 0x210, at + 0x100, at + 0x100, at + 0x310, at + 0x400]
        self.write("interrupts.reel", capture(records, [(100, chain)]))

    def old(self):
        """Without kernel symbols that show its address, the file must not be used."""
        names = [symbol(a, size, KERNEL, "no_" + name) for a, size, name in self.kernel_symbols]
        address = self.kernel_symbols[0][0]
        self.write("unplaced.reel", capture(self.modules + names, [(100, [address])]))

    def anchor(self):
        """Only _text: its vmlinux has the other names."""
        names = [symbol(a, size, KERNEL, name) for a, size, name in self.kernel_symbols if name == "_text"]
        chain = [a for a, _, name in self.kernel_symbols if name == "vfs_read"]
        self.write("anchor.reel", capture(self.modules + names, [(100, [chain[0]]), (100, [0xFFFF0000])]))


def main():
    maker = Maker(*sys.argv[1:])
    maker.kernel()
    maker.reuse()
    maker.overlap()
    maker.interrupts()
    maker.old()
    maker.anchor()


main()
