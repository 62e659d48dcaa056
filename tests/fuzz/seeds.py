#!/usr/bin/env python3
"""Makes the seeds for fuzzing, from testdata and the installed compilers.

    seeds.py [--stackreel PROGRAM] [--only TARGET]... DIRECTORY

fills DIRECTORY/TARGET for each target tests/fuzz/TARGET.c.  Compiling takes a minute or more, and is left out if no
TARGET needs it.  Numbers and parts are encoded in an input as
tests/fuzz/fuzz.h reads them.  PROGRAM imports perf recordings, which gives captures with small binaries; without it
these are missing.
"""

import argparse
import glob
import json
import lzma
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# In the order of arch/arch.c.
CPUS = {62: 0, 183: 1, 243: 2, 22: 3, 3: 4}
BIAS = 0x10000000
STACK = 0x7FFF0000
LARGEST = 96 << 10

PROGRAM = r"""
struct list { struct list *next; int value; };
static inline __attribute__((always_inline)) int twice(int x) { return 2 * x; }
static inline __attribute__((always_inline)) int thrice(int x) { return twice(x) + x; }
__attribute__((noinline)) int sum(struct list *list)
{
	int result = 0;
	for (; list; list = list->next)
		result += thrice(list->value);
	return result;
}
__attribute__((noinline)) int deeper(int n, struct list *list)
{
	volatile char room[64];
	room[n & 63] = (char)n;
	return n ? deeper(n - 1, list) + room[n & 63] : sum(list);
}
int begin(int n)
{
	struct list one = { 0, n }, two = { &one, 7 };
	__builtin_alloca(n & 255);
	return deeper(n, &two) + twice(n);
}
"""
COMPILERS = ["gcc", "clang", "aarch64-linux-gnu-gcc", "riscv64-linux-gnu-gcc", "s390x-linux-gnu-gcc",
             "i686-linux-gnu-gcc"]
LINKED = ["-shared", "-nostdlib", "-fPIC", "-Wl,--build-id"]
VARIANTS = {
    "O2": ["-O2", "-g", *LINKED],
    "dwarf2": ["-O2", "-gdwarf-2", *LINKED],
    "dwarf4-types": ["-O1", "-gdwarf-4", "-fdebug-types-section", *LINKED],
    "dwarf64": ["-O2", "-gdwarf64", *LINKED],
    "debug-frame": ["-O2", "-g", "-fno-asynchronous-unwind-tables", *LINKED],
    "gz": ["-O2", "-g", "-gz=zlib", *LINKED],
    "gz-gnu": ["-O2", "-g", "-gz=zlib-gnu", *LINKED],
    "split": ["-O2", "-g", "-gsplit-dwarf", *LINKED],
    "split4": ["-O2", "-gdwarf-4", "-gsplit-dwarf", *LINKED],
    "O0": ["-O0", "-g", *LINKED],
    "object": ["-O2", "-g", "-c"],
    "object-sections": ["-O2", "-gdwarf-4", "-c", "-ffunction-sections"],
}

DEBUG_SECTIONS = [".debug_info", ".debug_abbrev", ".debug_line", ".debug_line_str", ".debug_str",
                  ".debug_addr", ".debug_rnglists", ".debug_str_offsets", ".debug_aranges",
                  ".debug_ranges"]


VARIABLE_SECTIONS = [".debug_info", ".debug_abbrev", ".debug_str", ".debug_addr", ".debug_rnglists", ".debug_loc", ".debug_loclists"]
SKELETON_SECTIONS = [".debug_info", ".debug_abbrev", ".debug_line", ".debug_str", ".debug_addr",
                     ".debug_rnglists", ".debug_ranges"]
PACKAGE_SECTIONS = [".debug_info.dwo", ".debug_abbrev.dwo", ".debug_str.dwo",
                    ".debug_str_offsets.dwo", ".debug_rnglists.dwo", ".debug_cu_index"]


def part(data):
    return len(data).to_bytes(3, "little") + data


class Corpora:
    def __init__(self, directory):
        self.directory = directory

    def has(self, targets):
        return targets and all(os.path.isdir(os.path.join(self.directory, target)) for target in targets)

    def add(self, target, name, data):
        if len(data) > LARGEST:
            return
        folder = os.path.join(self.directory, target)
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, name.replace("/", "-")), "wb") as file:
            file.write(data)


# ---- ELF ----------------------------------------------------------------------------------------

class Elf:
    """Sections by name, of valid files."""

    def __init__(self, name, data):
        self.name, self.data = name, data
        self.is_32, order = data[4] == 1, "<" if data[5] == 1 else ">"
        self.order = order
        self.machine = struct.unpack_from(order + "H", data, 18)[0]
        offset, = struct.unpack_from(order + ("I" if self.is_32 else "Q"), data, 32 if self.is_32 else 40)
        size, count, names = struct.unpack_from(order + "HHH", data, 46 if self.is_32 else 58)
        form = order + ("10I" if self.is_32 else "IIQQQQIIQQ")
        headers = [struct.unpack_from(form, data, offset + i * size) for i in range(count)]
        strings = headers[names]
        self.sections = {}
        for header in headers[1:]:
            at = strings[4] + header[0]
            name = data[at:data.index(b"\0", at)].decode()
            # Type 8: without bytes.  Flag 0x800: compressed.
            if header[1] != 8 and not header[2] & 0x800:
                self.sections.setdefault(name, (header[3], data[header[4]:header[4] + header[5]]))

    def bytes(self, name):
        return self.sections.get(name, (0, b""))[1]

    def section(self, name):
        address, data = self.sections.get(name, (0, b""))
        return (address & 0xFFFFFFFF).to_bytes(4, "little") + part(data)

    def cpu(self):
        return bytes([CPUS[self.machine]])

    def addresses(self, n):
        """Some addresses of .text."""
        begin, text = self.sections.get(".text", (0x1000, b"\0" * 64))
        return [begin + len(text) * i // n for i in range(n)]


def compile_all(folder):
    source = os.path.join(folder, "program.c")
    with open(source, "w") as file:
        file.write(PROGRAM)
    for compiler in COMPILERS:
        for variant, options in VARIANTS.items():
            output = os.path.join(folder, compiler + "-" + variant)
            if not shutil.which(compiler):
                continue
            done = subprocess.run([compiler, "-w", *options, "-o", output, source], cwd=folder,
                                  capture_output=True)
            if not done.returncode:
                yield output
                if "split" in variant and shutil.which("llvm-dwp"):
                    # It does not terminate on some files.
                    subprocess.run(["timeout", "10", "llvm-dwp", "-e", output, "-o", output + ".dwp"],
                                   cwd=folder, capture_output=True)


def add_split(corpora, folder):
    for path in glob.glob(folder + "/*.dwp"):
        with open(path[:-4], "rb") as file:
            elf = Elf(os.path.basename(path), file.read())
        with open(path, "rb") as file:
            data = file.read()
        if data[:4] != b"\x7fELF":  # it took too long
            continue
        package = Elf(elf.name, data)
        corpora.add("fuzz_split", elf.name, elf.cpu() +
                    b"".join(a.to_bytes(4, "little") for a in elf.addresses(8)) +
                    b"".join(part(elf.bytes(section)) for section in SKELETON_SECTIONS) +
                    b"".join(part(package.bytes(section)) for section in PACKAGE_SECTIONS))


def elf_files(folder):
    """Small ones, for each CPU."""
    for path in [*glob.glob(ROOT + "/testdata/*/perf/usr/bin/*"), *glob.glob(ROOT + "/testdata/sframe/*-v*"), *compile_all(folder)]:
        with open(path, "rb") as file:
            data = file.read()
        if data[:4] == b"\x7fELF":
            yield Elf(os.path.relpath(path, ROOT if path.startswith(ROOT) else folder), data)


def add_elf(corpora, elf):
    name = elf.name
    for target in ("fuzz_elf", "fuzz_table", "fuzz_relocation"):
        if (elf.data[16 if elf.order == "<" else 17] == 1) == (target == "fuzz_relocation"):
            corpora.add(target, name, elf.data)
    addresses = b"".join(a.to_bytes(4, "little") for a in elf.addresses(16))
    # As offsets in the file, which equal or are close to addresses; every second one as a pc.
    hits = b"".join(((a & 0x7FFFFFFF) | (i % 2) << 31).to_bytes(4, "little") for i, a in enumerate(elf.addresses(16)))
    for flags in (0, 2):
        corpora.add("fuzz_hit_image", "%s-%d" % (name, flags), bytes([flags, len(hits) // 4]) + hits + elf.data)
    corpora.add("fuzz_debug_info", name, elf.cpu() + b"\x10" + addresses +
                b"".join(part(elf.bytes(section)) for section in DEBUG_SECTIONS))
    registers = part(bytes(range(256))) + b"\xff" * 8 + bytes(range(0, 200, 4))
    for i in range(0, 64, 8):
        corpora.add("fuzz_variables", "%s-%d" % (name, i), elf.cpu() + addresses[i:i + 8] +
                    b"".join(part(elf.bytes(section)) for section in VARIABLE_SECTIONS) + registers)
    corpora.add("fuzz_debug_line", name, bytes([elf.order == ">"]) + addresses[:4] + b"\x04" +
                b"".join(part(elf.bytes(s)) for s in (".debug_line", ".debug_line_str", ".debug_str")))
    symbols = b"".join(part(elf.bytes(s)) for s in (".symtab", ".strtab", ".dynsym", ".dynstr"))
    corpora.add("fuzz_symbols", name, elf.cpu() + addresses[:4] + b"\x04" + symbols)
    # Without a debug file, and with the PLT.
    plt = (".plt.sec", ".rela.plt", ".rel.plt") if elf.bytes(".plt.sec") else (".plt", ".rela.plt", ".rel.plt")
    begin = elf.section(plt[0])[:4]
    corpora.add("fuzz_symbols", name + "-plt", elf.cpu() + begin + b"\x10" + symbols + part(b"") * 2 +
                b"".join(part(elf.bytes(s)) for s in plt) + begin)
    corpora.add("fuzz_symbols", name + "-mini", elf.cpu() + addresses[:4] + b"\x04" + part(b"") * 9 + bytes(4) +
                part(lzma.compress(elf.data)))
    cfi = elf.cpu() + b"".join(elf.section(s) for s in (".eh_frame", ".eh_frame_hdr", ".debug_frame", ".sframe"))
    corpora.add("fuzz_cfi", name, cfi + addresses[:32])
    if elf.bytes(".sframe"):
        # Alone. Its functions move with it, into the range of code.
        moved = elf.sections[".sframe"][0] + 0x10000
        corpora.add("fuzz_cfi", name + "-sframe", elf.cpu() + (bytes(4) + part(b"")) * 3 + moved.to_bytes(4, "little") +
                    part(elf.bytes(".sframe")) + b"".join((0x10000 + a).to_bytes(4, "little") for a in elf.addresses(8)))
    add_stacks(corpora, elf, cfi)
    text = elf.bytes(".text")
    for i in range(0, min(len(text), 16384), 1024):
        corpora.add("fuzz_code", "%s-%d" % (name, i), elf.cpu() + struct.pack("<4H", 0, 64, 300, 900) +
                    text[i:i + 1024])


def add_stacks(corpora, elf, cfi):
    """Stacks whose words are return addresses, and addresses of the stack, in random order."""
    chance = random.Random(elf.name)
    word = 4 if elf.is_32 else 8
    order = "little" if elf.order == "<" else "big"
    code = [BIAS + address + 4 for address in elf.addresses(16)]
    for i in range(4):
        words = [chance.choice([chance.choice(code), STACK + word * chance.randrange(256), 0])
                 for _ in range(128)]
        stack = b"".join(value.to_bytes(word, order) for value in words)
        state = struct.pack("<QQ", chance.choice(code), (1 << 64) - 1)
        registers = b"".join(struct.pack("<Q", STACK + word * chance.randrange(64)) for _ in range(40))
        region = struct.pack("<Q", STACK) + part(stack) + bytes(4)
        nothing = bytes(8) + part(b"") + bytes(4)
        chain = b"".join(struct.pack("<Q", chance.choice(code)) for _ in range(6))
        corpora.add("fuzz_unwind", "%s-%d" % (elf.name, i),
                    bytes([i]) + cfi + elf.section(".text") + region + nothing + nothing +
                    part(chain) + state + registers)


# From .eh_frame's expressions: the one of lazily bound PLT entries, and some of all kinds.
EXPRESSIONS = [bytes.fromhex(text) for text in (
    "77088000 3f1a3b2a33 2422", "7708 06 23 10 1c", "31 32 16 17 13 12 14 15 01", "0e1122334455667788",
    "08 05 09 fb 0a 0001 0b ffff 0c 12345678 0d 87654321 10 ff7f 11 807f", "2f 0000", "28 0100 31 96",
    "31 1b 1c 1d 1e 1f 19 20 21 24 25 26 27 29 2a 2b 2c 2d 2e", "9404 9401 06 30 2801 00", "921000 9c",
)]


def add_expressions(corpora):
    head = struct.pack("<Q", STACK) + part(bytes(range(256))) + b"\xff" * 8 + bytes(range(33))
    for i, expression in enumerate(EXPRESSIONS):
        for cpu in range(5):
            corpora.add("fuzz_expression", "%d-%d" % (i, cpu), bytes([cpu | 64]) + head + expression)


# ---- captures -----------------------------------------------------------------------------------

def blocks_of(data):
    """A capture's blocks as tests/fuzz/capture_parts.h reads them; None if it is invalid."""
    at, blocks = 48, b""
    while data[at + 8:at + 12] == b"RBLK":
        kind, codec, flags = struct.unpack_from("<HBB", data, at + 16)
        stored, = struct.unpack_from("<I", data, at + 24)
        payload = data[at + 80:at + 80 + stored]
        at += 80 + stored
        if flags & 2 or kind not in (1, 2):
            continue
        raw = subprocess.run(["zstd", "-dcq"], input=payload, capture_output=True)
        if raw.returncode:
            return None
        blocks += bytes([kind - 1, flags]) + part(raw.stdout)
    return blocks


def captures(folder, stackreel):
    """Name, file, and its ELF file."""
    for path in sorted(glob.glob(ROOT + "/testdata/format/*.reel") + glob.glob(ROOT + "/testdata/x86_64/jit/python*.reel")):
        with open(path, "rb") as file:
            yield os.path.basename(path), file.read(), b""
    for path in sorted(glob.glob(ROOT + "/testdata/*/perf/*.data")):
        output = os.path.join(folder, "imported.reel")
        if not stackreel or subprocess.run([stackreel, "import", "--raw-stacks", "-o", output, path],
                                           capture_output=True).returncode:
            continue
        with open(output, "rb") as file, \
                open(os.path.dirname(path) + "/usr/bin/stairs", "rb") as elf:
            yield path.split("/")[-3] + "-" + os.path.basename(path), file.read(), elf.read()
        os.unlink(output)


def add_images(corpora, folder, stackreel):
    """Embedded images, as `pack` makes them, and lines as in the unit test."""
    lines = bytes([2]) + b"f\0g\0" + bytes([1]) + b"a\0" + bytes([1, 1, 32, 1, 2, 1, 1, 5, 0, 2, 17, 2, 1, 9, 1,
                                                                    1, 1, 0, 0, 0])
    corpora.add("fuzz_embedded_image", "lines", struct.pack("<BI", 1, 0) + lines)
    packed = os.path.join(folder, "packed.reel")
    for path in sorted(glob.glob(ROOT + "/testdata/*/orders/orders.reel")):
        if not stackreel or subprocess.run([stackreel, "pack", "-q", "--no-host-files", "--symfs", os.path.dirname(path),
                                            "-o", packed, path], capture_output=True).returncode:
            continue
        records = subprocess.run([stackreel, "dump", "-q", "--json", "--bytes", packed], capture_output=True).stdout
        for line in records.splitlines():
            record = json.loads(line)
            if record.get("record") == "IMAGE" and record["bytes"].startswith("7f454c46"):
                image = Elf(path, bytes.fromhex(record["bytes"]))
                name = "%s-%d" % (path.split("/")[-3], record["module"])
                corpora.add("fuzz_embedded_image", name, struct.pack("<BI", 0, image.addresses(2)[1]) + image.data)
                section = image.bytes(".stackreel.lines")
                corpora.add("fuzz_embedded_image", name + "-lines", struct.pack("<BI", 1, 0) + section)


def add_capture(corpora, name, data, elf):
    blocks = blocks_of(data) if data else None
    corpora.add("fuzz_reader", name, data)
    corpora.add("fuzz_live", name, data)
    if blocks is None:
        return
    corpora.add("fuzz_reader", name + "-blocks", blocks)
    for target, head in (("fuzz_replay", b"\1"), ("fuzz_core", b""), ("fuzz_scrub", b""), ("fuzz_shrink", b""),
                         ("fuzz_repair", b""), ("fuzz_pack", b"\0"), ("fuzz_pack", b"\1"), ("fuzz_cut_merge", b"\0")):
        own = name + ("-%d" % head[0] if head else "")
        corpora.add(target, own, head + part(b"") + blocks)
        if elf:
            corpora.add(target, own + "-elf", head + part(elf) + blocks)
    at = 0
    while at < len(blocks):
        size = int.from_bytes(blocks[at + 2:at + 5], "little")
        if blocks[at] == 0:
            corpora.add("fuzz_records", name + "-%d" % at, blocks[at + 5:at + 5 + size])
        at += 5 + size


# ---- texts and records ----------------------------------------------------------------------------

KALLSYMS = """ffffffff81000000 T _stext
ffffffff81000100 T schedule
ffffffff81000200 t vfs_read\t[kernel]
ffffffffc0000000 t nf_hook\t[nf_tables]
ffffffffc0000040 t nf_init\t[nf_tables]
ffffffffc0001000 t bpf_prog_1234\t[bpf]
ffffffffc0002000 t ftrace_trampoline\t[__builtin__ftrace]
0000000000000000 A fixed_percpu_data
ffffffff81000300 D not_code
"""
MAPS = """55d0c2a00000-55d0c2a01000 r-xp 00001000 fe:01 1234    /usr/bin/a\\012b
7f0000000000-7f0000001000 rw-p 00000000 00:00 0
7ffd00000000-7ffd00021000 rw-p 00000000 00:00 0          [stack]
7ffd00021000-7ffd00023000 r-xp 00000000 00:00 0          [vdso]
ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0  [vsyscall]
f7000000-f7001000 r-xs 00000000 103:05 99999999999 /memfd:x (deleted)
"""
STATUS = "Name:\ta\nTgid:\t12\nNgid:\t0\nPid:\t13\nNStgid:\t12\t3\t1\nNSpid:\t13\t4\t2\n"


def go_table(version, order, word):
    """.gopclntab with two functions, another one inlined into the first, and its inline tree."""
    magic = {2: 0xFFFFFFFB, 16: 0xFFFFFFFA, 18: 0xFFFFFFF0, 20: 0xFFFFFFF1}[version]
    pointer, relative = {4: "I", 8: "Q"}[word], version >= 18
    names, files = b"\0main.outer\0main.inner\0", b"\0a.go\0"
    # Values by zigzag and addresses by quanta, from -1 on: file 0, lines 7 and 9, the inlined call 0 at 4 to 8.
    pcs = b"\0" + b"\x02\x20\0" + b"\x10\x04\x04\x1c\0" + b"\0\x04\x02\x04\x01\x18\0"
    header = 8 + word * (2 if version == 2 else 8 if relative else 7)
    entry = 4 if relative else word
    n, at = 2, 0x1000
    functab_size = (2 * n + 1) * entry
    extra = {2: (), 16: (0,), 18: (0,), 20: (0, 0)}[version]
    data = {"names": names, "cu": struct.pack(order + "II", 0, 1), "files": files, "pcs": pcs}
    if version == 2:
        functab, at_file = header - word, header - word + functab_size
        offsets, position = {}, at_file + 4 + 8
        for part_name in ("names", "files", "pcs"):
            offsets[part_name] = position
            position += len(data[part_name])
        base = {part_name: offsets[part_name] for part_name in offsets}
        cu = struct.pack(order + "III", at_file + 4, offsets["files"] + 1, offsets["files"] + 1)
        body, first = cu + names + files + pcs, position
    else:
        position, offsets = header, {}
        for part_name in ("names", "cu", "files", "pcs"):
            offsets[part_name] = position
            position += len(data[part_name])
        base, functab = dict.fromkeys(offsets, 0), position
        body, first = b"".join(data.values()), functab_size
    word_of = lambda value: struct.pack(order + ("I" if relative else pointer), value)
    funcs, rows = b"", b""
    for i in range(n):
        start = 16 * 2 * i
        offset = first + len(funcs)
        rows += word_of(start if relative else at + start) + word_of(offset)
        funcs += word_of(start if relative else at + start)
        funcs += struct.pack(order + "7I", base["names"] + 1 + 11 * i, 0, 0, 0, base["pcs"] + 1, base["pcs"] + 4, 3)
        funcs += struct.pack(order + "%dI" % len(extra), *extra) + bytes([0, 0, 0, 5])
        funcs += struct.pack(order + "3I", 0, 0, base["pcs"] + 9)
        funcs += bytes(-(offset + len(funcs)) % entry)
        funcs += b"".join(word_of(0 if relative else 0x2000) for _ in range(5))
    rows += word_of(64 if relative else at + 64)
    start = struct.pack(order + "IBBBB", magic, 0, 0, 1, word) + struct.pack(order + pointer, n)
    if version == 2:
        table = start + rows + body + funcs
    else:
        fields = [1] + ([at] if relative else []) + [offsets["names"], offsets["cu"], offsets["files"], offsets["pcs"], functab]
        table = start + struct.pack(order + "%d%s" % (len(fields), pointer), *fields) + body + rows + funcs
    tree = (struct.pack(order + "4xIII", base["names"] + 12, 2, 1) if version == 20 else
            struct.pack(order + "hxxIIII", -1, 0, 9, base["names"] + 12, 2))
    module = struct.pack(order + "4%s" % pointer, at, at + 64, at, at + 64) + struct.pack(order + "2" + pointer, 0x2000, 0)
    return table, tree, module


def add_go(corpora):
    for version in (2, 16, 18, 20):
        for machine, order, word in ((62, "<", 8), (22, ">", 8), (3, "<", 4)):
            table, tree, module = go_table(version, order, word)
            for flag, what in ((0, ""), (0x80, "-searched")):
                parts = b"".join(struct.pack("<I", address) + part(data) for address, data in (
                    (0x3000, table), (0x2000, tree), (0x4000, module), (0x5000, b"")))
                corpora.add("fuzz_go_table", "go1.%d-%d%s" % (version, machine, what),
                            bytes([CPUS[machine] | flag]) + struct.pack("<IB", 0x1000, 1) + parts)


PERF_MAP = b"""7f1fa0004b40 1c LazyCompile:*run /srv/app.js:10:13
0x00007f6a6cf8f0a0 0x00000000000001a8 int Main.f(java.lang.String)
bad
7f8e35eb9000 b py::<module>:/tmp/x y.py
"""


def jitdump(order):
    def record(kind, data):
        return struct.pack(order + "IIQ", kind, 16 + len(data), 1000 + kind) + data

    def load(address, index, name):
        return record(0, struct.pack(order + "IIQQQQ", 7, 8, address, address, 4, index) +
                      name + b"\0" + b"\x90" * 4)

    lines = struct.pack(order + "QQ", 0x1000, 2)
    for address, name in ((0x1040, b"a.js"), (0x1042, b"\xff")):
        lines += struct.pack(order + "QII", address, 3, 0) + name + b"\0"
    return (struct.pack(order + "IIIIIIQQ", 0x4A695444, 1, 40, 62, 0, 7, 9, 0) +
            load(0x2000, 1, b"first") + record(2, lines) +
            record(4, struct.pack(order + "QQQ", 14, 6, 0) + b"eh_framehdrhdr") +
            load(0x1000, 2, b"second") +
            record(1, struct.pack(order + "IIQQQQQ", 7, 8, 0x5000, 0x1000, 0x5000, 4, 2)) +
            record(3, b""))


PROFILE = """stackreel profile 1
captures\t3
unread\t1
problems\t2
recorded\t20
lost\t4\tring buffer full
function\tp\t[incomplete: stack bytes ran out]\t
function\tk\tdo_idle\t[kernel]
function\tn\tlibc.so.6+0x1234\t/lib/libc.so.6
function\ti\ta\\\\b\\x09c\t/bin/a
function\t-\tmain\t/bin/a
event\tns\tcpu-clock
stop\t7\troot reached
stop\t3\tstack bytes ran out
kernel_alone\t5
by_code\t1
frames\t40
nameless\t1
1 0
2 4 3 3000000
1 1 5 5000000
1 4
2 3
3 2 7 7000000
event\tcount\tpage-faults
stop\t1\troot reached
1 4 1 1
end
"""


def listed_elf(address):
    """As a JIT lists it for debuggers: a function in .text, and .eh_frame."""
    names = b"\0.text\0.eh_frame\0jitted\0"
    symbols = bytes(24) + struct.pack("<IBBHQQ", names.index(b"jitted"), 2, 0, 1, address, 32)
    contents = [(b"", 0, 0, 0, b""), (b".text", 1, 6, address, bytes(64)), (b".eh_frame", 1, 2, 0, bytes(48)),
                (b"", 2, 0, 0, symbols), (b"", 3, 0, 0, names)]
    data, sections = b"", b""
    for name, kind, flags, at, content in contents:
        sections += struct.pack("<IIQQQQIIQQ", names.index(name + b"\0"), kind, flags, at, 64 + len(data), len(content), 4, 0, 1, 0)
        data += content
    return struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\2\1\1", 3, 62, 1, 0, 0, 64 + len(data), 0, 64, 0, 0, 64,
                       len(contents), 4) + data + sections


def add_jit_lists(corpora):
    """tests/fuzz/fuzz_jit_list.c: the descriptor, three entries, and their files."""
    base, files = 0x10000, [listed_elf(0x400000 + 0x40 * i) for i in range(3)]

    def memory(order):
        data, at = struct.pack("<IIQQ", 1, 1, 0, base + 0x20 * (1 + order[0])).ljust(0x20, b"\0"), 0x80
        for i, file in enumerate(files):
            after = order.index(i) + 1 if i in order else 0
            following = order[after] if 0 < after < len(order) else None
            data += struct.pack("<QQQQ", 0 if following is None else base + 0x20 * (1 + following), 0, base + at, len(file))
            at += len(file)
        return data + b"".join(files)

    for reads in (3, 12, 30, 100):
        corpora.add("fuzz_jit_list", str(reads), struct.pack("<BHH", 1, reads, 0) + part(memory([0, 1])) + memory([2, 0]))


def add_texts(corpora):
    corpora.add("fuzz_profile", "two", PROFILE.encode())
    corpora.add("fuzz_profile", "folded", b"[incomplete: no user stack];a;b 1\n[no frames] 2\n\nApp\\Main;\\x41;;c d 5\n")
    for order in "<>":
        corpora.add("fuzz_jit_names", "big" if order == ">" else "little",
                    struct.pack("<H", 20) + part(PERF_MAP) + jitdump(order))
    symbols = b"".join(struct.pack("<I", i * 0x100) for i in range(8))
    text = KALLSYMS.encode()
    corpora.add("fuzz_kallsyms", "two", symbols + part(text) + part(text.replace(b"1234", b"9999")))
    corpora.add("fuzz_proc", "maps", part(STATUS.encode()) + MAPS.encode())
    with open("/proc/self/maps", "rb") as maps, open("/proc/self/status", "rb") as status:
        corpora.add("fuzz_proc", "own", part(status.read()) + maps.read())
    for i, typed in enumerate(("1.5s", "64K", "10m", "0-3,7", "1,2,3", "999", ".5", "18446744073709551616",
                               "a\u200bb\u202e\U0001F600\ue000\"\\;\x1b[31m\u0085", "caf\u00e9\ufeff")):
        corpora.add("fuzz_texts", str(i), typed.encode())
    corpora.add("fuzz_texts", "bytes", b"\xed\xa0\x80\xff\xc0\xaf\xf4\x90\x80\x80")
    public = b"reelpub1_qTxdGl2Xsk13BsqwAUMVPYP41yXAYD4g_9eZcx7QDShwIDl0"
    corpora.add("fuzz_keys", "public", public)
    corpora.add("fuzz_keys", "publics", b"# ours\n\n  " + public + b"\t\r\n" + public)
    with open(ROOT + "/testdata/format/encrypted.key", "rb") as file:
        corpora.add("fuzz_keys", "secret", file.read())


def event(kind, body, time, misc=0):
    """A perf record, followed by REEL_PROCESS_SAMPLE_TYPE's fields."""
    body += bytes(-len(body) % 8) + struct.pack("<IIQII", 12, 13, time, 1, 0)
    return struct.pack("<IHH", kind, misc, 8 + len(body)) + body


def add_events(corpora):
    def mmap2(path):
        return struct.pack("<IIQQQIIQQII", 12, 13, 0x7F00, 0x1000, 0, 8, 1, 99, 0, 5, 2) + path + b"\0"
    build_id = (struct.pack("<IIQQQB3x", 12, 13, 0x7F00, 0x1000, 0, 20) + bytes(range(20)) +
                struct.pack("<II", 5, 2) + b"/bin/a\0")
    task = struct.pack("<IIIIQ", 20, 12, 20, 12, 5)
    records = [event(10, mmap2(b"/usr/lib/x.so"), 3), event(10, build_id, 1, 1 << 14),
               event(3, struct.pack("<II", 12, 13) + b"name\0\0\0\0", 2, 1 << 13), event(7, task, 5),
               event(4, task, 6), struct.pack("<IHHQQ", 2, 0, 24, 1, 7),
               event(17, struct.pack("<QIHH", 0xFFFFFFFFC0000000, 64, 1, 0) + b"bpf_prog\0", 4),
               event(5, struct.pack("<QQQ", 1, 2, 3), 7)]
    for begin in (0, 4000):
        corpora.add("fuzz_process_events", "each-%d" % begin, struct.pack("<H", begin) + b"".join(
            struct.pack("<I", 10) + part(record) for record in records))
        corpora.add("fuzz_process_events", "all-%d" % begin, struct.pack("<HI", begin, 5) +
                    part(b"".join(records)) + struct.pack("<I", 100) + part(b""))


def bpf_sample(flags, chain, regions, gap):
    """struct reel_bpf_sample and the data after it (bpf/sample.h)."""
    header = struct.pack("<IIQIIIIQIIIIII", 1, flags, 1000, 12, 13, 1, 0, 10101, 1, 17, len(chain), 2,
                         len(regions), 16)
    for i in range(2):
        address, data, missing = regions[i] if i < len(regions) else (0, b"", 0)
        header += struct.pack("<QIHH5Q", address, len(data), i, gap, missing, 0, 0, 0, 0)
    header += struct.pack("<4Q", 0xFFFFFFFF81000100, 1, 2, 0xFFFFFFFF81000200)
    header += struct.pack("<QQ32Q", 0x401000, 0xFFFF, *range(32))
    body = b"".join(struct.pack("<Q", address) for address in [*chain, 0x401000, 0x401100])
    for _, data, _ in regions:
        body += bytes(gap) + data + bytes(-len(data) % 8)
    return header + body


def add_ring(corpora):
    stack = struct.pack("<32Q", *(0x401000 + 8 * i for i in range(32)))
    kernel = [0xFFFFFFFF81000200, 0xFFFFFFFF81000300]
    for flags in (1, 1 | 4, 1 | 8, 1 | 16, 1 | 64 | 128, 1 | 64 | 128 | 256):
        corpora.add("fuzz_ring", "stack-%d" % flags,
                    bpf_sample(flags, kernel, [(0x7FFC00000FE0, stack, flags >> 3 & 1)], 8))
    corpora.add("fuzz_ring", "two", bpf_sample(1, [], [(0x7FFC00000FE0, stack, 2), (0x1000, stack, 0)], 0))
    corpora.add("fuzz_ring", "none", bpf_sample(0, kernel, [], 0))


def add_changes(corpora):
    """The changes that tests/fuzz/fuzz_encrypted.c makes to a capture: the kind of change, the block, and its
    parameters."""
    changes = {"left-out": [0, 2], "swapped": [1, 2, 3], "repeated": [2, 2, 4], "spliced": [3, 2, 2],
               "renumbered": [0, 3, 6, 0], "erased": [8, 3, 0, 8, 3, 2, 3], "keys": [8, 0, 0],
               "cut": [0, 6, 0, 6, 5, 0], "bit": [9, 2, 40, 0, 1], "header": [7, 4, 0], "index": [0, 7, 0, 6]}
    for name, change in changes.items():
        corpora.add("fuzz_encrypted", name, bytes(change))
    corpora.add("fuzz_encrypted", "made-up", bytes([4, 3, 1, 0, 1]) + part(b"\x1e\x04\0\0\0\0"))


def add_samples(corpora):
    """sample_parts.h makes samples from any bytes."""
    chance = random.Random(1)
    for i in range(24):
        data = bytes(chance.choice((0, 1, 8, chance.randrange(256))) for _ in range(200 + 100 * i))
        corpora.add("fuzz_columns", str(i), bytes([i]) + data)
        corpora.add("fuzz_scrub_words", str(i), bytes([i]) + data)


def add_recordings(corpora):
    for path in glob.glob(ROOT + "/testdata/*/perf/*.data"):
        with open(path, "rb") as file:
            corpora.add("fuzz_import", path.split("/")[-3] + "-" + os.path.basename(path), file.read())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--stackreel")
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("directory")
    options = parser.parse_args()
    stackreel = options.stackreel and os.path.abspath(options.stackreel)
    corpora = Corpora(options.directory)
    add_expressions(corpora)
    add_go(corpora)
    add_texts(corpora)
    add_jit_lists(corpora)
    add_events(corpora)
    add_ring(corpora)
    add_changes(corpora)
    add_samples(corpora)
    add_recordings(corpora)
    if corpora.has(options.only):
        return 0
    with tempfile.TemporaryDirectory() as folder:
        for elf in elf_files(folder):
            add_elf(corpora, elf)
        add_split(corpora, folder)
        for name, data, elf in captures(folder, stackreel):
            add_capture(corpora, name, data, elf)
        add_images(corpora, folder, stackreel)
    return 0


if __name__ == "__main__":
    sys.exit(main())
