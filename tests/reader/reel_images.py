#!/usr/bin/env python3
"""Reads images of files (SPEC.md 5.1), from that text alone.

    reel_images.py CAPTURE              a line for each image: module, build-id, sizes of its parts
    reel_images.py --write NAME CAPTURE
                    also writes them to NAME.MODULE
    reel_images.py --check CAPTURE <SYMBOLS
                    SYMBOLS is the output of tests/names/trace_symbols for the capture: each address must have the
                    functions, files and lines that an image gives it. Prints the number compared.
"""

import bisect
import collections
import struct
import subprocess
import sys
import tempfile

import reel_reader
from reel_records import Cursor, ReelError, corrupt

NOBITS, SYMTAB, NOTE = 8, 2, 7
MAX_CALLS = 4096


def string_at(data, at):
    end = data.find(b"\0", at)
    if end < 0:
        raise corrupt("unterminated string")
    return data[at:end]


class Elf:
    """Sections of an ELF file, by name; none extends past the file."""

    def __init__(self, data):
        if data[:4] != b"\x7fELF" or data[4] not in (1, 2) or data[5] not in (1, 2):
            raise corrupt("not an ELF file")
        self.data, self.word = data, 4 * data[4]
        self.order = "<" if data[5] == 1 else ">"
        large = self.word == 8
        try:
            at, = self.unpack("Q" if large else "I", 40 if large else 32)
            size, count, names = self.unpack("3H", 58 if large else 46)
            headers = [self.unpack("IIQQQQIIQQ" if large else "10I", at + i * size) for i in range(count)]
            strings = self.bytes_of(headers[names])
        except (struct.error, IndexError) as error:
            raise corrupt("section headers outside of the file") from error
        self.sections = [(string_at(strings, header[0]).decode(), header) for header in headers[1:]]
        self.headers = headers

    def unpack(self, form, at):
        return struct.unpack_from(self.order + form, self.data, at)

    def bytes_of(self, header):
        if header[1] == NOBITS:
            return b""
        if header[4] + header[5] > len(self.data):
            raise corrupt("a section exceeds the file")
        return self.data[header[4]:header[4] + header[5]]

    def section(self, name):
        found = [header for own, header in self.sections if own == name]
        return self.bytes_of(found[0]) if found else b""


class Image:
    def __init__(self, data):
        self.elf = Elf(data)
        self.build_id = self.read_build_id()
        self.symbols = self.read_symbols()
        self.code = self.read_code()
        self.switches = self.read_switches()
        self.lines = self.read_lines()

    def read_build_id(self):
        note = self.elf.section(".note.gnu.build-id")
        if not note:
            return b""
        name, size, kind = struct.unpack_from(self.elf.order + "3I", note)
        if (name, kind, note[12:16]) != (4, 3, b"GNU\0") or size > len(note) - 16:
            raise corrupt("no build-id in its note")
        return note[16:16 + size]

    def read_symbols(self):
        """Functions: (begin, end, name), ascending; each is in an executable section."""
        elf, found = self.elf, []
        texts = [(h[3], h[3] + h[5]) for _, h in elf.sections if h[1] == NOBITS and h[2] & 4]
        for _, header in elf.sections:
            if header[1] != SYMTAB:
                continue
            table, strings = elf.bytes_of(header), elf.bytes_of(elf.headers[header[6]])
            size = 24 if elf.word == 8 else 16
            for at in range(size, len(table), size):
                if elf.word == 8:
                    name, info, _, _, value, length = struct.unpack_from(elf.order + "IBBHQQ", table, at)
                else:
                    name, value, length, info, _, _ = struct.unpack_from(elf.order + "IIIBBH", table, at)
                if info & 15 != 2 or not length:
                    raise corrupt("a symbol that is not a function with a size")
                if not any(begin <= value < end for begin, end in texts):
                    raise corrupt("a symbol outside of executable sections")
                found.append((value, value + length, string_at(strings, name)))
        return sorted(found)

    def numbers(self, data):
        if len(data) % 8:
            raise corrupt("incomplete numbers")
        return struct.unpack("%s%dQ" % (self.elf.order, len(data) // 8), data)

    def read_code(self):
        data, pieces = self.elf.section(".stackreel.code"), []
        if not data:
            return pieces
        count, = self.numbers(data[:8])
        table = self.numbers(data[8:8 + 16 * count])
        if len(table) != 2 * count:
            raise corrupt("fewer pieces of code than declared")
        at, end = 8 + 16 * count, -1
        for address, size in zip(table[::2], table[1::2]):
            if not size or address <= end or at + size > len(data):
                raise corrupt("pieces of code that are empty, adjacent, or incomplete")
            pieces.append((address, data[at:at + size]))
            at, end = at + size, address + size
        return pieces

    def read_switches(self):
        numbers = self.numbers(self.elf.section(".stackreel.switches"))
        if len(numbers) % 2 or list(numbers) != sorted(numbers):
            raise corrupt("functions that change stacks, out of order")
        return list(zip(numbers[::2], numbers[1::2]))

    def read_lines(self):
        """address -> frames, innermost first: (name, file, line, column)."""
        data = self.elf.section(".stackreel.lines")
        if not data:
            return {}
        cursor = Cursor(data)
        names, files = self.read_strings(cursor), self.read_strings(cursor)
        places, begin = [(0, b"", None, None)], 0 # depth of calls, name, caller, position in it
        for _ in range(cursor.uv()):
            name = self.pick(names, cursor.uv())
            begin = (begin + cursor.sv()) % (1 << 64)
            places.append((0, name, None, None))
        for _ in range(cursor.uv()):
            name, caller = self.pick(names, cursor.uv()), cursor.uv()
            depth = self.pick(places, caller)[0] + 1
            if depth > MAX_CALLS:
                raise corrupt("calls that are too deep")
            places.append((depth, name, caller, self.read_position(cursor, files)))
        found, address = {}, 0
        for i in range(cursor.uv()):
            difference = cursor.uv()
            address += difference
            if address >= 1 << 64 or (i and not difference):
                raise corrupt("addresses that do not ascend")
            place = self.pick(places, cursor.uv())
            frames, position = [], self.read_position(cursor, files)
            while True:
                frames.append((place[1],) + position)
                if place[2] is None:
                    break
                place, position = places[place[2]], place[3]
            found[address] = frames
        if cursor.pos != cursor.end:
            raise corrupt("extra bytes after the last address")
        return found

    @staticmethod
    def read_strings(cursor):
        strings = [b""]
        for _ in range(cursor.uv()):
            strings.append(string_at(cursor.data, cursor.pos))
            cursor.pos += len(strings[-1]) + 1
        return strings

    @staticmethod
    def pick(items, number):
        if number >= len(items):
            raise corrupt("a number without a name")
        return items[number]

    def read_position(self, cursor, files):
        file, line, column = self.pick(files, cursor.uv()), cursor.uv(), cursor.uv()
        if line >= 1 << 32 or column >= 1 << 32:
            raise corrupt("a line or column of more than 32 bits")
        return file, line, column

    def look_up(self, address):
        if address in self.lines:
            return self.lines[address]
        at = bisect.bisect_right(self.symbols, (address, 1 << 65))
        for begin, end, name in reversed(self.symbols[:at]):
            if begin <= address < end:
                return [(name, b"", 0, 0)]
        return [(b"", b"", 0, 0)]


def changed(image, change):
    """The image after a change, by zstd's own program."""
    with tempfile.NamedTemporaryFile() as base:
        base.write(image)
        base.flush()
        return subprocess.run(["zstd", "-dcq", "--long=25", "--patch-from=" + base.name], input=bytes(change), stdout=subprocess.PIPE, check=True).stdout


def images_of(path):
    """(MODULE record, Image) of all modules of kind 1 with an image."""
    modules, images = {}, {}
    parts = collections.defaultdict(dict)
    with open(path, "rb") as file:
        capture = reel_reader.Capture(file, None, True, None)
        for _, record in capture.all_records():
            if record["record"] == "MODULE":
                modules.setdefault(record["id"], record)
            elif record["record"] == "IMAGE":
                key = record["number"], record["base"]
                size, data = parts[record["module"]].setdefault(key, (record["total_size"], {}))
                if size == record["total_size"]:
                    data[record["offset"]] = record["bytes"]
    for module, numbered in parts.items():
        for (number, base), (size, pieces) in sorted(numbered.items()):
            data = bytearray(size)
            for at, piece in pieces.items():
                data[at:at + len(piece)] = piece
            if sum(map(len, pieces.values())) != size or base and (module not in images or images[module][0] != base - 1):
                continue
            images[module] = number, changed(images[module][1], data) if base else bytes(data)
    for module, (_, image) in images.items():
        if modules[module]["kind"] == 1:
            yield modules[module], Image(image)


def check(images, lines):
    """The number of compared addresses, and the differences."""
    count, address, wanted, different = 0, None, [], []

    def compare():
        def shown(image):
            return [(name.split(b"@")[0] or b"", file, line) for name, file, line, _ in image.look_up(address)]
        # The vDSO's image is a complete file, with symbols in a different table.
        if wanted[-1][0].startswith((b"__vdso_", b"__kernel_")):
            return
        if not any(shown(image) == wanted for _, image in images):
            different.append("%#x: %s, not %s" % (address, wanted, [shown(image) for _, image in images]))

    for line in lines + [b"A\t\t\t0"]:
        fields = line.rstrip(b"\n").split(b"\t")
        if fields[0] == b"A":
            if address is not None:
                compare()
                count += 1
            address, wanted = int(fields[3], 16), []
        else:
            wanted.append((fields[1].split(b"@")[0], fields[2], int(fields[3])))
    return count, different


def main():
    arguments = sys.argv[1:]
    is_check = arguments[:1] == ["--check"]
    try:
        images = list(images_of(arguments[-1]))
    except ReelError as error:
        sys.stderr.write("%s: %s\n" % (arguments[-1], error.message))
        return 1
    if is_check:
        count, different = check(images, sys.stdin.buffer.readlines())
        print("%d addresses compared, %d differ" % (count, len(different)))
        print("\n".join(different[:5]))
        return 1 if different or not count else 0
    for module, image in images:
        if module["build_id"] and module["build_id"] != image.build_id:
            sys.stderr.write("module %d: an image with a different build-id\n" % module["id"])
            return 1
        print("%d %s: %d symbols, %d addresses with lines, %d pieces of code, %d switches" % (
            module["id"], image.build_id.hex(), len(image.symbols), len(image.lines), len(image.code),
            len(image.switches)))
        if arguments[0] == "--write":
            with open("%s.%d" % (arguments[1], module["id"]), "wb") as file:
                file.write(image.elf.data)
    return 0


if __name__ == "__main__":
    sys.exit(main())
