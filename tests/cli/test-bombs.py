#!/usr/bin/env python3
# run.sh: thorough
# checks: =replay/rewrite =replay/capture =replay/dwarf =replay/files =replay/values replay/import format/timeline elf cli/session
"""Few bytes must not cause much work: hostile files that would, read as a user reads them.

    test-bombs.py [--measure] [BOMB...]

Each bomb is made here, is some hundred KB at most, and once took minutes or gigabytes (its text says which). The
command must end within limits of CPU time (not wall time: the machine may be busy) and memory, and not by a signal.
--measure prints the costs instead of checking them; STACKREEL names a program other than $O/stackreel.
"""

import os
import random
import resource
import shutil
import struct
import subprocess
import sys
import tempfile

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [TESTS, os.path.join(TESTS, "reader")]

import counting
import reel_builder as b
from elf_builder import (
    SHF_ALLOC, SHT_DYNAMIC, SHT_NOTE, SHT_STRTAB, TEXT, TEXT_SIZE, Elf, note, uleb)
from reel_cases import X86, end_record, finish, started

PROGRAM = os.environ.get("STACKREEL", os.path.join(os.environ.get("O", "build"), "stackreel"))
KIB, MIB = 1 << 10, 1 << 20
OUTPUT_MAX = 64 * MIB
CODE = 0x10000000  # where the module is mapped
STACK = 0x7FFF0000
bombs = []
cases = counting.Count()


def bomb(cpu=2, memory=256):
    """cpu: seconds; each bomb takes a tenth of this or so here.  memory: MiB."""
    def add(function):
        bombs.append((function.__name__.replace("_", "-"), function, cpu, memory))
        return function
    return add


# ---- captures ----------------------------------------------------------------------------------

def side_records(path, build_id):
    return [b.record("EVENT", 1, 1, 0, 99, 0, 1, "cpu-clock", 0),
            b.record("MODULE", 1, 1, 0, 0, 0, 0, build_id, path),
            b.record("SPACE", 1, 1, 0, 0, 100, 100, 62, 64, 1, 0, 0, 0),
            b.record("THREAD", 1, 1, 1, 0, 100, 100, 0, "bomb"),
            b.record("MAP", 1, 1, CODE, TEXT_SIZE, 0, 5, 2, 1)]


def compressed(raw):
    """As a stranger would: well."""
    return b.zstd_frame(raw, "-6", "--long=26")


def filled(raw, records, raw_a_byte=64):
    """The same with noise in an unknown record: as dense as SPEC.md, 9, allows."""
    stored = max(len(raw) // (raw_a_byte - 4), (records - 256) // 4)
    noise = random.Random(1).randbytes(stored)
    return raw + b.record(200, noise), records + 1


def samples_at(pcs):
    samples = b.Samples()
    samples.layout(1, X86)
    for i, pc in enumerate(pcs):
        samples.sample(i + 1, i + 1, pc=pc, layout=1, values=[0, STACK, pc, 0],
                       regions=[b.Region(STACK, bytes(64))])
    return samples


def chain_of(addresses):
    """A frame-pointer walk: one sample, any number of addresses."""
    samples = b.Samples()
    for i in range(0, len(addresses), 16000):
        samples.sample(i + 1, i + 1, frames=addresses[i:i + 16000])
    return samples


def report(folder, elf, samples, *options):
    """The capture of a process that has the file mapped, and ran at these places."""
    path = os.path.join(folder, "module.so")
    if isinstance(elf, Elf):
        elf.write(path)
    raw, records = filled(b"".join(samples.records), len(samples.records), 256)
    capture = finish(started().side(*side_records(path, b"\x42" * 20)).block(
        b.SAMPLES, (), raw=raw, records=records, expanded_size=samples.expanded,
        compress=compressed))
    reel = os.path.join(folder, "capture.reel")
    with open(reel, "wb") as file:
        file.write(capture.data)
    return ["report", *options, reel]


def side_bomb(folder, *blocks, command="report"):
    """A capture with these side blocks: raw bytes, and their number of records."""
    reel = started()
    for raw, records in blocks:
        reel.block(b.SIDE, (), raw=raw, records=records, compress=compressed)
    path = os.path.join(folder, "capture.reel")
    with open(path, "wb") as file:
        file.write(finish(reel).data)
    return [command, path]


def place(address):
    """The runtime address of an ELF address."""
    return CODE + address - TEXT


# ---- DWARF -------------------------------------------------------------------------------------

def form(*pairs):
    return b"".join(uleb(n) for pair in pairs for n in pair) + b"\0\0"


CU, SUBPROGRAM, INLINED = 0x11, 0x2E, 0x1D
NAME, STMT_LIST, LOW_PC, HIGH_PC, COMP_DIR, LINKAGE, ORIGIN, RANGES, LANGUAGE = (
    0x03, 0x10, 0x11, 0x12, 0x1B, 0x6E, 0x31, 0x55, 0x13)
ADDR, DATA4, STRING, STRP, SEC_OFFSET, REF4, DATA1 = 0x01, 0x06, 0x08, 0x0E, 0x17, 0x13, 0x0B
STRX4, INDIRECT = 0x28, 0x16


def abbreviation(code, tag, children, *pairs):
    return uleb(code) + uleb(tag) + bytes([children]) + form(*pairs)


def unit(dies, version=4, abbreviations=0):
    if version >= 5:
        body = struct.pack("<HBBI", version, 1, 8, abbreviations) + dies
    else:
        body = struct.pack("<HIB", version, abbreviations, 8) + dies
    return struct.pack("<I", len(body)) + body


def line_table(files=b"", directories=b"", program=b""):
    """Version 4."""
    tables = directories + b"\0" + files + b"\0"
    head = struct.pack("<BBBbBB", 1, 1, 1, -5, 14, 13) + bytes(
        [0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1]) + tables
    body = struct.pack("<HI", 4, len(head)) + head + program
    return struct.pack("<I", len(body)) + body


def row(address, file=1):
    """A sequence of one row."""
    return (b"\0\x09\x02" + struct.pack("<Q", address) + b"\x04" + uleb(file) + b"\x01"
            + b"\x02\x10" + b"\0\x01\x01")


def units_of_functions(n, size=0x100, extra=(), values=lambda i: b""):
    """n units of a function each, from TEXT on."""
    abbreviations = (abbreviation(1, CU, 1, (LOW_PC, ADDR), (HIGH_PC, DATA4), *extra)
                     + abbreviation(2, SUBPROGRAM, 0, (LOW_PC, ADDR), (HIGH_PC, DATA4),
                                    (NAME, STRING)) + b"\0")
    info = b"".join(
        unit(b"\x01" + struct.pack("<QI", TEXT + i * size, size) + values(i)
             + b"\x02" + struct.pack("<QI", TEXT + i * size, size) + b"f%d\0" % i + b"\0")
        for i in range(n))
    return info, abbreviations


@bomb()
def line_files(folder):
    """53 KB of line files: > 40 s, as each unit read all of them again."""
    n = 2000
    info, abbreviations = units_of_functions(
        n, extra=((STMT_LIST, SEC_OFFSET),), values=lambda i: bytes(4))
    elf = Elf()
    elf.add(".debug_info", info, compress=True)
    elf.add(".debug_abbrev", abbreviations)
    elf.add(".debug_line", line_table(b"a\0\0\0\0" * 10000000), compress=True)
    return report(folder, elf, chain_of([place(TEXT + i * 0x100 + 8) for i in range(n)]))


@bomb()
def line_tables_shared(folder):
    """The same with 500 KB that are not compressed."""
    n = 2000
    info, abbreviations = units_of_functions(
        n, extra=((STMT_LIST, SEC_OFFSET),), values=lambda i: bytes(4))
    elf = Elf()
    elf.add(".debug_info", info)
    elf.add(".debug_abbrev", abbreviations)
    elf.add(".debug_line", line_table(b"a\0\0\0\0" * 100000))
    return report(folder, elf, chain_of([place(TEXT + i * 0x100 + 8) for i in range(n)]))


@bomb()
def linkage_names(folder):
    """53 KB of linkage names: 2.1 GB, as each function had a copy of its own."""
    n = 40000
    abbreviations = (abbreviation(1, CU, 1, (LOW_PC, ADDR), (HIGH_PC, DATA4))
                     + abbreviation(2, SUBPROGRAM, 0, (LOW_PC, ADDR), (HIGH_PC, DATA4),
                                    (LINKAGE, STRP)) + b"\0")
    info = unit(b"\x01" + struct.pack("<QI", TEXT, n * 0x40)
                + b"".join(b"\x02" + struct.pack("<QII", TEXT + i * 0x40, 0x40, i)
                           for i in range(n)) + b"\0")
    elf = Elf()
    elf.add(".debug_info", info, compress=True)
    elf.add(".debug_abbrev", abbreviations)
    elf.add(".debug_str", b"x" * 60000 + b"\0", compress=True)
    return report(folder, elf, chain_of([place(TEXT + i * 0x40 + 8) for i in range(n)]))


@bomb()
def long_paths(folder):
    """41 KB of paths: 1.25 GB: one directory of 60 KB, which contains all files."""
    n = 20000
    info, abbreviations = units_of_functions(
        1, n * 0x40, extra=((STMT_LIST, SEC_OFFSET),), values=lambda i: bytes(4))
    files = b"".join(b"%x\0\1\0\0" % i for i in range(n))
    rows = b"".join(row(TEXT + i * 0x40, i + 1) for i in range(n))
    elf = Elf()
    elf.add(".debug_info", info)
    elf.add(".debug_abbrev", abbreviations)
    elf.add(".debug_line", line_table(files, b"/" + b"d" * 60000 + b"\0", rows), compress=True)
    return report(folder, elf, chain_of([place(TEXT + i * 0x40 + 8) for i in range(n)]))


@bomb()
def nested_functions(folder):
    """Functions in functions in functions: each lookup walked all nested ones."""
    n = 30000
    abbreviations = (abbreviation(1, CU, 1, (LOW_PC, ADDR), (HIGH_PC, DATA4))
                     + abbreviation(2, SUBPROGRAM, 1, (LOW_PC, ADDR), (HIGH_PC, DATA4)) + b"\0")
    info = unit(b"\x01" + struct.pack("<QI", TEXT, n * 0x40)
                + b"".join(b"\x02" + struct.pack("<QI", TEXT + i * 0x40, 0x40) for i in range(n))
                + b"\0" * (n + 1))
    elf = Elf()
    elf.add(".debug_info", info)
    elf.add(".debug_abbrev", abbreviations)
    return report(folder, elf, chain_of([place(TEXT + i * 0x40 + 8) for i in range(n)]))


def nested_inlines(size, depth):
    """A function of that many bytes, with that many functions inlined into one another at each of them."""
    abbreviations = (abbreviation(1, CU, 1, (LOW_PC, ADDR), (HIGH_PC, DATA4))
                     + abbreviation(2, SUBPROGRAM, 1, (LOW_PC, ADDR), (HIGH_PC, DATA4))
                     + abbreviation(3, INLINED, 1, (LOW_PC, ADDR), (HIGH_PC, DATA4)) + b"\0")
    whole = struct.pack("<QI", TEXT, size)
    info = unit(b"\x01" + whole + b"\x02" + whole + (b"\x03" + whole) * depth + bytes(depth + 2))
    elf = Elf()
    elf.add(".debug_info", info)
    elf.add(".debug_abbrev", abbreviations)
    return elf


@bomb()
def deep_inlines(folder):
    """4096 inlined functions, each in the previous one, at each of 50,000 addresses."""
    n = 50000
    elf = nested_inlines(n * 2, 4000)
    return report(folder, elf, chain_of([place(TEXT + i + 1) for i in range(n)]))


@bomb()
def inlined_output(folder):
    """Each of 1000 samples shows 4000 inlined functions: more than 100 MB of text for some KB."""
    elf = nested_inlines(500, 4000)
    return ["script"] + report(folder, elf, samples_at([place(TEXT)] * 1000))[1:]


@bomb()
def shared_ranges(folder):
    """One list of ranges for all functions."""
    n = 20000
    abbreviations = (abbreviation(1, CU, 1, (LOW_PC, ADDR), (HIGH_PC, DATA4))
                     + abbreviation(2, SUBPROGRAM, 0, (RANGES, SEC_OFFSET)) + b"\0")
    info = unit(b"\x01" + struct.pack("<QI", TEXT, TEXT_SIZE) + b"\x02\0\0\0\0" * n + b"\0")
    ranges = b"".join(struct.pack("<QQ", i * 16, i * 16 + 8) for i in range(1, 40000)) + bytes(16)
    elf = Elf()
    elf.add(".debug_info", info)
    elf.add(".debug_abbrev", abbreviations)
    elf.add(".debug_ranges", ranges)
    return report(folder, elf, chain_of([place(TEXT + i * 16 + 8) for i in range(1, 16000)]))


@bomb()
def abbreviations(folder):
    """Units with tables of abbreviations that overlap."""
    n = 20000
    table = abbreviation(1, CU, 0, (LOW_PC, ADDR), (HIGH_PC, DATA4))
    tables = b"".join(table for i in range(n)) + b"\0"
    info = b"".join(unit(b"\x01" + struct.pack("<QI", TEXT + i * 0x40, 0x40),
                         abbreviations=i * len(table)) for i in range(n))
    elf = Elf()
    elf.add(".debug_info", info)
    elf.add(".debug_abbrev", tables)
    return report(folder, elf, chain_of([place(TEXT + i * 0x40 + 8) for i in range(n)]))


@bomb()
def line_nops(folder):
    """82 KB of nops in a line program, between two rows: executed for each address between them."""
    n = 20000
    info, abbreviations = units_of_functions(
        1, n * 0x40, extra=((STMT_LIST, SEC_OFFSET),), values=lambda i: bytes(4))
    rows = (b"\0\x09\x02" + struct.pack("<Q", TEXT) + b"\x01" + b"\x06" * 300000
            + b"\x02" + uleb(n * 0x40) + b"\x01" + b"\0\x01\x01")
    elf = Elf()
    elf.add(".debug_info", info)
    elf.add(".debug_abbrev", abbreviations)
    elf.add(".debug_line", line_table(b"a\0\0\0\0", b"", rows))
    return report(folder, elf, chain_of([place(TEXT + i * 0x40 + 8) for i in range(n)]))


@bomb()
def large_origin(folder):
    """The abstract instance of 20,000 functions is a single DIE of 200 KB."""
    n, attributes = 20000, 200000
    abbreviations = (abbreviation(1, CU, 1, (LOW_PC, ADDR), (HIGH_PC, DATA4))
                     + abbreviation(2, SUBPROGRAM, 0, (LOW_PC, ADDR), (HIGH_PC, DATA4),
                                    (ORIGIN, REF4))
                     + uleb(3) + uleb(SUBPROGRAM) + b"\0" + b"\x40\x0f" * attributes + b"\0\0\0")
    functions = b"".join(b"\x02" + struct.pack("<QII", TEXT + i * 0x40, 0x40, 11 + 13 + n * 17)
                         for i in range(n))
    info = unit(b"\x01" + struct.pack("<QI", TEXT, n * 0x40) + functions + b"\x03"
                + bytes(attributes) + b"\0")
    elf = Elf()
    elf.add(".debug_info", info)
    elf.add(".debug_abbrev", abbreviations)
    return report(folder, elf, chain_of([place(TEXT + i * 0x40 + 8) for i in range(n)]))


@bomb()
def units(folder):
    """As many units as possible."""
    n = 400000
    abbreviations = abbreviation(1, CU, 0, (NAME, STRING)) + b"\0"
    elf = Elf()
    elf.add(".debug_info", unit(b"\x01\0") * n, compress=True)
    elf.add(".debug_abbrev", abbreviations)
    return report(folder, elf, chain_of([place(TEXT + i * 0x40 + 8) for i in range(100)]))


@bomb(memory=64)
def zstd_section(folder):
    """300 MB of DIEs in 30 KB."""
    zeros = bytes(300 << 20)
    elf = Elf()
    elf.add(".debug_info", zeros, compress=b.zstd_frame(zeros))
    elf.add(".debug_abbrev", bytes(1000))
    return report(folder, elf, chain_of([place(TEXT)]))


@bomb(memory=64)
def zstd_section_of_more(folder):
    """The same in a section that claims to have 1000 bytes."""
    elf = Elf()
    elf.add(".debug_info", bytes(1000), compress=b.zstd_frame(bytes(300 << 20)))
    elf.add(".debug_abbrev", bytes(1000))
    return report(folder, elf, chain_of([place(TEXT)]))


@bomb()
def indirect_forms(folder):
    """Attributes whose form precedes each value."""
    n, attributes = 20000, 200000
    abbreviations = (abbreviation(1, CU, 1, (LOW_PC, ADDR), (HIGH_PC, DATA4))
                     + uleb(2) + uleb(SUBPROGRAM) + b"\0" + form((LOW_PC, ADDR), (HIGH_PC, DATA4))[:-2]
                     + b"\x40\x16" * attributes + b"\0\0\0")
    info = unit(b"\x01" + struct.pack("<QI", TEXT, n * 0x40)
                + b"".join(b"\x02" + struct.pack("<QI", TEXT + i * 0x40, 0x40)
                           + b"\x16" * attributes for i in range(2)) + b"\0")
    elf = Elf()
    elf.add(".debug_info", info)
    elf.add(".debug_abbrev", abbreviations)
    return report(folder, elf, chain_of([place(TEXT + i * 0x40 + 8) for i in range(n)]))


@bomb()
def strings(folder):
    """Names that are the ends of one string of 1 MB, which is not compressed."""
    n = 30000
    abbreviations = (abbreviation(1, CU, 1, (LOW_PC, ADDR), (HIGH_PC, DATA4))
                     + abbreviation(2, SUBPROGRAM, 0, (LOW_PC, ADDR), (HIGH_PC, DATA4),
                                    (NAME, STRP)) + b"\0")
    info = unit(b"\x01" + struct.pack("<QI", TEXT, n * 0x40)
                + b"".join(b"\x02" + struct.pack("<QII", TEXT + i * 0x40, 0x40, i)
                           for i in range(n)) + b"\0")
    elf = Elf()
    elf.add(".debug_info", info)
    elf.add(".debug_abbrev", abbreviations)
    elf.add(".debug_str", b"x" * MIB + b"\0")
    return report(folder, elf, chain_of([place(TEXT + i * 0x40 + 8) for i in range(n)]))


# ---- ELF ---------------------------------------------------------------------------------------

@bomb()
def symbols_at_one_address(folder):
    """5.9 MB of symbols at one address: > 40 s."""
    n = 240000
    elf = Elf()
    elf.symbols([(1 + i % 8, TEXT, 16) for i in range(n)], b"\0" + b"a" * 60000 + b"\0")
    return report(folder, elf, chain_of([place(TEXT + 1)]))


@bomb(cpu=1)
def symbols_underscores(folder):
    """The same, with names made of underscores: each comparison counted them all."""
    n = 240000
    elf = Elf()
    elf.symbols([(1 + i % 8, TEXT, 16) for i in range(n)], b"\0" + b"_" * 60000 + b"\0")
    return report(folder, elf, chain_of([place(TEXT + 1)]))


@bomb()
def mangled_names(folder):
    """Names of 110 bytes that take 100,000 steps to demangle, each: 20 s."""
    n = 20000
    names = bytearray(b"\0")
    at = []
    for i in range(n):
        at.append(len(names))
        names += b"_ZN6a%05dcv" % i + b"T_I" * 24 + b"i" + b"E" * 24 + b"Ev\0"
    elf = Elf()
    elf.symbols([(offset, TEXT + 16 * i, 16) for i, offset in enumerate(at)], bytes(names))
    return report(folder, elf, chain_of([place(TEXT + 16 * i + 1) for i in range(n)]))


@bomb()
def symbol_names(folder):
    """Symbols whose names are the ends of one long string."""
    n = 40000
    elf = Elf()
    elf.symbols([(1 + i, TEXT + 16 * i, 16) for i in range(n)], b"\0" + b"a" * 60000 + b"\0")
    return report(folder, elf, chain_of([place(TEXT + 16 * i + 1) for i in range(n)]))


@bomb()
def sparse_file(folder):
    """16 KB on the disk, a size of 1 GB: all of it was read."""
    elf = Elf()
    elf.add(".debug_abbrev", b"\1\x11\0" + b"\0\0\0")
    elf.add(".eh_frame", b"", size=0)
    elf.add(".debug_info", b"", size=0)
    path = os.path.join(folder, "module.so")
    data = bytearray(elf.bytes())
    with open(path, "wb") as file:
        file.write(data)
        file.truncate(1 << 30)
    headers, = struct.unpack_from("<Q", data, 40)
    with open(path, "r+b") as file:
        for index in range(struct.unpack_from("<H", data, 60)[0]):
            at = headers + 64 * index
            if struct.unpack_from("<Q", data, at + 32)[0] == 0 and index > 1:
                file.seek(at + 24)
                file.write(struct.pack("<QQ", MIB, (1 << 30) - 2 * MIB))
    return report(folder, None, samples_at([place(TEXT + i) for i in range(10)]))


@bomb()
def sparse_names(folder):
    """16 KB on the disk, a size of 1.1 GB: the names of its sections, a single hole, were read before anything was checked."""
    path = os.path.join(folder, "module.so")
    elf = Elf()
    data = bytearray(elf.bytes())
    headers, = struct.unpack_from("<Q", data, 40)
    names = headers + 64 * struct.unpack_from("<H", data, 62)[0]
    struct.pack_into("<QQ", data, names + 24, MIB, 1100 * MIB)
    with open(path, "wb") as file:
        file.write(data)
        file.truncate(1101 * MIB)
    return report(folder, None, samples_at([place(TEXT + i) for i in range(10)]))


@bomb()
def section_names(folder):
    """Sections whose names have no end: each lookup searched for it again."""
    elf = Elf()
    for i in range(10000):
        elf.add("x", b"", SHT_NOTE if i < 0 else 1)
    elf.strings = b"y" * 400000
    return report(folder, elf, chain_of([place(TEXT + 1)]))


@bomb()
def notes(folder):
    """Sections of notes that all share the same 300 KB."""
    elf = Elf(build_id=None)
    first = elf.add(".note", note(b"AAA", 1, b"") * 15000, SHT_NOTE)
    for _ in range(8000):
        elf.add(".note", b"", SHT_NOTE, data_of=first, size=15000 * 16)
    return report(folder, elf, chain_of([place(TEXT + 1)]))


@bomb()
def dynamic_sections(folder):
    """Dynamic sections that all share the same 300 KB."""
    elf = Elf()
    first = elf.add(".dynamic", struct.pack("<QQ", 1, 1) * 20000, SHT_DYNAMIC)
    for _ in range(8000):
        elf.add(".dynamic", b"", SHT_DYNAMIC, data_of=first, size=20000 * 16)
    return report(folder, elf, chain_of([place(TEXT + 1)]))


@bomb()
def segments(folder):
    """A program header table of 17,000."""
    elf = Elf()
    elf.segments += [(1, 4, 0x100000 + 0x1000 * i, 0x10000000 + 0x1000 * i, 0, 0x10)
                     for i in range(17000)]
    return report(folder, elf, samples_at([place(TEXT + i * 16) for i in range(20000)]))


# ---- CFI ---------------------------------------------------------------------------------------

def cie(augmentation=b"", program=b"\x0c\x07\x08\x90\x01"):
    """For .debug_frame, version 4."""
    body = struct.pack("<IB", 0xFFFFFFFF, 4) + augmentation + b"\0" + b"\x08\0\x01\x78\x10"
    body += program
    return struct.pack("<I", len(body)) + body


def fde(begin, size, program=b"", cie_offset=0):
    body = struct.pack("<IQQ", cie_offset, begin, size) + program
    return struct.pack("<I", len(body)) + body


@bomb()
def nops(folder):
    """82 KB of nops: 14 s, once for each address."""
    n = 60000
    elf = Elf()
    elf.add(".debug_frame", cie() + fde(TEXT, 0x100000, bytes(65000)))
    return report(folder, elf, samples_at([place(TEXT + i * 16) for i in range(n)]))


@bomb()
def states(folder):
    """Instructions that copy all registers."""
    n = 2000
    program = b"\x07\xff\0" + b"\x0a\x0b" * 30000
    elf = Elf()
    elf.add(".debug_frame", cie() + fde(TEXT, 0x100000, b"\x07\x60" + program[3:]))
    return report(folder, elf, samples_at([place(TEXT + i * 16) for i in range(n)]))


@bomb()
def table_rows(folder):
    """Each row of an FDE was found from the FDE's start."""
    path = os.path.join(folder, "module.so")
    elf = Elf()
    elf.add(".debug_frame", cie() + b"".join(
        fde(TEXT + i * 0x10000, 0x10000, b"\x41\x0e\x10" * 20000) for i in range(10)))
    elf.write(path)
    return ["table", path]


@bomb()
def cie_instructions(folder):
    """A CIE of 60,000 instructions, for each of 40,000 FDEs."""
    n = 40000
    elf = Elf()
    elf.add(".debug_frame", cie(program=b"\x90\x01" * 30000)
            + b"".join(fde(TEXT + i * 16, 16) for i in range(n)))
    return report(folder, elf, samples_at([place(TEXT + i * 16) for i in range(n)]))


@bomb()
def augmentation(folder):
    """A CIE with an augmentation string of 32 MB, compressed: parsed for each FDE."""
    n = 5000
    elf = Elf()
    elf.add(".debug_frame", cie(b"z" + b"S" * (32 * MIB))
            + b"".join(fde(TEXT + i * 16, 16) for i in range(n)), compress=True)
    return report(folder, elf, samples_at([place(TEXT + i * 16) for i in range(n)]))


@bomb()
def augmentation_plain(folder):
    """The same with 500 KB, not compressed."""
    n = 5000
    elf = Elf()
    elf.add(".debug_frame", cie(b"z" + b"S" * 500000)
            + b"".join(fde(TEXT + i * 16, 16) for i in range(n)))
    return report(folder, elf, samples_at([place(TEXT + i * 16) for i in range(n)]))


@bomb()
def expressions(folder):
    """A CFA of 4096 operations at each frame."""
    n = 5000
    loop = b"\x96" * 10 + b"\x2f" + struct.pack("<h", -13)  # nops, and back
    elf = Elf()
    elf.add(".debug_frame", cie() + fde(TEXT, 0x100000, b"\x0f" + uleb(len(loop)) + loop))
    return report(folder, elf, samples_at([place(TEXT + i * 16) for i in range(n)]))


# ---- captures ----------------------------------------------------------------------------------

def unknown_records(n):
    return bytes([2 * 20, 0]) * n, n


@bomb()
def empty_records(folder):
    """91 KB that are 352 million empty records: > 40 s."""
    return side_bomb(folder, *[unknown_records(32 * MIB - 1)] * 3)


@bomb()
def empty_records_allowed(folder):
    """As many as fit in 1 MB."""
    return side_bomb(folder, filled(*unknown_records(4000000)))


@bomb()
def module_paths(folder):
    """1.1 MB of modules' paths: > 6 GB."""
    return side_bomb(folder, *[
        (b"".join(b.record("MODULE", i * 1000 + j, 1, 0, 0, 0, 0, b"", "p" * 60000)
                  for j in range(1000)), 1000) for i in range(1, 7)])


@bomb()
def module_paths_allowed(folder):
    """As many as fit in 500 KB, all of them mapped and needed."""
    path = b"/" + b"x" * 60000
    samples = b.Samples()
    records, maps = [], []
    n = 500
    for i in range(n):
        records.append(b.record("MODULE", 10 + i, 1, 0, 0, 0, 0, b"", b.Encoded(
            b.field(b"%04d" % i + path))))
        maps.append(b.record("MAP", 1, 1, CODE + i * 0x1000, 0x1000, 0, 5, 2, 10 + i))
    raw, count = filled(b"".join(records), n)
    reel = started().side(*side_records("/x", b""))
    reel.block(b.SIDE, (), raw=raw, records=count, compress=compressed)
    raw, count = filled(b"".join(maps), n)
    reel.block(b.SIDE, (), raw=raw, records=count, compress=compressed)
    reel.samples(chain_of([CODE + i * 0x1000 + 8 for i in range(n)]), compress=compressed)
    file = os.path.join(folder, "capture.reel")
    with open(file, "wb") as stream:
        stream.write(finish(reel).data)
    return ["report", file]


@bomb()
def losses(folder):
    """A LOSS for each of 300,000 CPUs: each was searched for in a list of all."""
    n = 300000
    return side_bomb(folder, filled(b"".join(b.record("LOSS", 1, i, 1, 1) for i in range(n)), n))


@bomb()
def events(folder):
    """100,000 events."""
    n = 100000
    return side_bomb(folder, filled(b"".join(b.record("EVENT", i, 1, 0, 99, 0, 1, "x", 0)
                                             for i in range(n)), n))


@bomb()
def images(folder):
    """An image of 16 MiB for each of thousands of modules."""
    n = 3000
    raw = b"".join(b.record("MODULE", 10 + i, 2, 0, 0, 0, 0, b"", "[vdso]")
                   + b.record("IMAGE", 10 + i, 0, 16 * MIB, bytes(4000)) for i in range(n))
    return side_bomb(folder, filled(raw, 2 * n))


@bomb()
def modules(folder):
    """Half a million modules, which take hundreds of bytes each in memory."""
    n = 500000
    raw = b"".join(b.record("MODULE", 10 + i, 5, 0, 0, 0, 0, b"", "") for i in range(n))
    return side_bomb(folder, filled(raw, n))


@bomb()
def sparse_capture(folder):
    """A hole of 8 GB."""
    path = os.path.join(folder, "capture.reel")
    with open(path, "wb") as file:
        file.write(started().data)
        file.truncate(8 << 30)
    return ["info", path]


@bomb()
def sparse_payloads(folder):
    """Blocks of 65 MB each, which are holes except for their first byte."""
    path = os.path.join(folder, "capture.reel")
    with open(path, "wb") as file:
        file.write(started().data)
        for i in range(100):
            file.write(b.block_header(b.SIDE, i + 1, 65 * MIB, 1, 1, 0))
            file.write(b"x")
            file.seek(65 * MIB - 1, os.SEEK_CUR)
        file.truncate()
    return ["info", path]


@bomb()
def maps(folder):
    """300,000 mappings, each at its own time: trees of all of them are kept."""
    n = 300000
    raw = b"".join(b.record("MAP", 2 + i, 1, 0x1000 * (i * 7 % 65536), 0x1000, 0, 5, 2, 1)
                   for i in range(n))
    return side_bomb(folder, filled(raw, n))


@bomb()
def kernel_symbols(folder):
    """Symbols of the kernel, each with its own time."""
    n = 250000
    raw = b"".join(b.record("KERNEL_SYMBOL", 0x1000 * i + 1, 16, 1, "s", i) for i in range(n))
    return side_bomb(folder, filled(raw, n))


@bomb()
def symbols_of_long_paths(folder):
    """Each module has a path of 60 KB."""
    n = 150000
    raw = b.record("MODULE", 7, 3, 0, 0, 0, 0, b"", "p" * 60000) + b"".join(
        b.record("KERNEL_SYMBOL", 0x1000 * i + 1, 16, 7, "s") for i in range(n))
    return side_bomb(folder, filled(raw, n + 1))


@bomb()
def comms(folder):
    """Thread names of 60 KB each."""
    n = 900
    raw = b"".join(b.record("THREAD_COMM", 2 + i, 1, "c" * 60000) for i in range(n))
    return side_bomb(folder, filled(raw, n))


@bomb()
def spaces(folder):
    """150,000 processes, each the child of the previous one."""
    n = 150000
    raw = b"".join(b.record("SPACE", 2 + i, 2 + i, 1 + i, 1, 1, 1, 62, 64, 1, 0, 0, 0)
                   for i in range(n))
    return side_bomb(folder, filled(raw, n))


@bomb()
def dense_samples_allowed(folder):
    """The same, as many as fit in 250 KB."""
    n = 1000000
    raw, count = filled(b.sample_record(region_count=0) * n, n, 256)
    reel = started().side(*side_records("/x", b""))
    reel.block(b.SAMPLES, (), raw=raw, records=count, compress=compressed)
    path = os.path.join(folder, "capture.reel")
    with open(path, "wb") as file:
        file.write(finish(reel).data)
    return ["report", path]


@bomb()
def dense_samples(folder):
    """Samples that take no bytes."""
    n = 3000000
    one = b.sample_record(region_count=0)
    reel = started().side(*side_records("/x", b""))
    for _ in range(3):
        reel.block(b.SAMPLES, (), raw=one * n, records=n, compress=compressed)
    path = os.path.join(folder, "capture.reel")
    with open(path, "wb") as file:
        file.write(finish(reel).data)
    return ["report", path]


@bomb(cpu=3, memory=300)
def long_chains(folder):
    """Chains of distinct addresses, a byte each before compression."""
    n = 60000
    reel = started().side(*side_records("/x", b""))
    samples = b.Samples()
    for i in range(30):
        first = CODE + i * 64 * 1000000 % TEXT_SIZE + i
        samples.sample(i + 1, i + 1, frames=[first + 60 * j for j in range(n)])
    raw, count = filled(b"".join(samples.records), len(samples.records), 256)
    reel.block(b.SAMPLES, (), raw=raw, records=count, compress=compressed)
    path = os.path.join(folder, "capture.reel")
    with open(path, "wb") as file:
        file.write(finish(reel).data)
    return ["report", "--max-frames=65536", path]


# ---- running -----------------------------------------------------------------------------------

def limits(cpu):
    def set_limits():
        resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu + 1))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        # The machine may be busy with other work.
        resource.setrlimit(resource.RLIMIT_DATA, (2 << 30, 2 << 30))
    return set_limits


def make_apart(make, folder):
    """In another process: a child's peak memory starts at its parent's."""
    reader, writer = os.pipe()
    if not os.fork():
        status = 1
        try:
            os.write(writer, "\0".join(make(folder)).encode())
            status = 0
        finally:
            os._exit(status)
    os.close(writer)
    with os.fdopen(reader) as stream:
        command = stream.read().split("\0")
    assert os.wait()[1] == 0, "the bomb could not be made"
    return command


def run(name, make, cpu, memory, measure):
    folder = tempfile.mkdtemp(prefix="stackreel-bombs-")
    try:
        command = make_apart(make, folder)
        size = sum(os.stat(os.path.join(folder, f)).st_blocks * 512 for f in os.listdir(folder))
        output = tempfile.TemporaryFile()
        process = subprocess.Popen([PROGRAM, *command], stdout=output, stderr=subprocess.PIPE,
                                   preexec_fn=limits(20 if measure else cpu))
        errors = process.stderr.read()
        printed = os.fstat(output.fileno()).st_size
        output.close()
        _, status, usage = os.wait4(process.pid, 0)
    finally:
        shutil.rmtree(folder)
    took = usage.ru_utime + usage.ru_stime
    mib = usage.ru_maxrss / 1024
    how = "%.2f s CPU, %.0f MiB, %d KB of files, %.1f MB of output, status %s" % (
        took, mib, size // 1000, printed / 1e6, os.waitstatus_to_exitcode(status))
    if measure:
        print("%-24s %s %s" % (name, how, errors[:int(os.environ.get("ERR", "0"))].decode(errors="replace")), flush=True)
        return True
    ended = os.WIFEXITED(status) and os.WEXITSTATUS(status) in (0, 1)
    # Failures are reported, with the file or the problem.
    said = not os.WEXITSTATUS(status) or (errors.startswith(b"stackreel: ")
                                          and b"out of memory" not in errors)
    fine = ended and said and took <= cpu and mib <= memory and printed <= OUTPUT_MAX
    return cases.ok(name, fine, "%s; at most %d s and %d MiB were allowed: %s"
                    % (how, cpu, memory, errors[:200].decode(errors="replace")))


def main(arguments):
    measure = "--measure" in arguments
    wanted = [a for a in arguments if a != "--measure"]
    if not shutil.which("zstd"):
        cases.skip("zstd is not installed")
        return cases.finish()
    for it in bombs:
        if not wanted or it[0] in wanted:
            run(*it, measure)
    return cases.finish()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
