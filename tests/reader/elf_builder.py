"""ELF files made by hand, for tests: sections with any bytes, compressed or not, of any claimed size.

    elf = Elf(build_id)
    elf.add(".debug_info", info, compress=True)
    elf.write(path)
"""

import struct
import zlib

SHT_PROGBITS, SHT_SYMTAB, SHT_STRTAB, SHT_DYNAMIC, SHT_NOTE, SHT_NOBITS = 1, 2, 3, 6, 7, 8
SHF_ALLOC, SHF_EXECINSTR, SHF_COMPRESSED = 2, 4, 0x800
PT_LOAD, PT_NOTE, PT_GNU_EH_FRAME = 1, 4, 0x6474E550
ELFCOMPRESS_ZLIB, ELFCOMPRESS_ZSTD = 1, 2

# The code: the file only has these bytes; a search for it finds zeros.
TEXT, TEXT_SIZE = 0x1000, 0x1000000


def uleb(number):
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(out) + bytes([number])


def note(name, kind, description):
    name += b"\0"
    pad = -len(name) % 4, -len(description) % 4
    return (struct.pack("<III", len(name), len(description), kind) + name + bytes(pad[0])
            + description + bytes(pad[1]))


class Elf:
    def __init__(self, build_id=b"\x42" * 20):
        self.sections = [dict(name="", type=0)]
        self.segments = [(PT_LOAD, 5, 0, TEXT, 0x1000, TEXT_SIZE)]
        self.strings = None  # of section names
        if build_id:
            self.add(".note.gnu.build-id", note(b"GNU", 3, build_id), SHT_NOTE, SHF_ALLOC)
        self.add(".text", b"", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, address=TEXT,
                 size=TEXT_SIZE, in_file=False)

    def add(self, name, data, type=SHT_PROGBITS, flags=0, address=0, link=0, entry=0, size=None,
            compress=False, in_file=True, data_of=None):
        """compress: or zstd's output for the data.  size: a size that differs from the data's.  data_of: the index of a section with
        these bytes."""
        raw = len(data)
        if compress:
            zstd = isinstance(compress, bytes)
            data = (struct.pack("<IIQQ", ELFCOMPRESS_ZSTD if zstd else ELFCOMPRESS_ZLIB, 0, raw, 1)
                    + (compress if zstd else zlib.compress(data, 9)))
            flags |= SHF_COMPRESSED
        self.sections.append(dict(name=name, data=data, type=type, flags=flags, address=address,
                                  link=link, entry=entry, size=size, in_file=in_file,
                                  data_of=data_of))
        return len(self.sections) - 1

    def symbols(self, symbols, strings, **options):
        """symbols: (offset of the name, value, size)."""
        table = bytes(24) + b"".join(struct.pack("<IBBHQQ", name, 0x12, 0, 2, value, size)
                                     for name, value, size in symbols)
        link = self.add(".strtab", strings, SHT_STRTAB, **options)
        self.add(".symtab", table, SHT_SYMTAB, link=link, entry=24, **options)

    def bytes(self):
        names, offsets = bytearray(), {}
        index = len(self.sections)
        for section in self.sections + [dict(name=".shstrtab")]:
            if section["name"] not in offsets:
                offsets[section["name"]] = len(names)
                names += section["name"].encode() + b"\0"
        strings = bytes(names) if self.strings is None else bytes(names) + self.strings
        out = bytearray(64 + 56 * len(self.segments))
        headers = bytearray()
        for section in self.sections + [dict(name=".shstrtab", type=SHT_STRTAB, data=strings)]:
            data = section.get("data") or b""
            out += bytes(-len(out) % 8)
            section["offset"] = len(out)
            if section.get("data_of"):
                section["offset"] = self.sections[section["data_of"]]["offset"]
                data = b""
            out += data
            size = section.get("size")
            headers += struct.pack(
                "<IIQQQQIIQQ", offsets[section["name"]], section["type"], section.get("flags", 0),
                section.get("address", 0), section["offset"] if section["type"] else 0,
                len(data) if size is None else size, section.get("link", 0), 0, 1,
                section.get("entry", 0))
        out += bytes(-len(out) % 8)
        table = len(out)
        n = index + 1
        if n >= 0xFF00:  # extended numbering
            struct.pack_into("<Q", headers, 32, n)
            struct.pack_into("<I", headers, 40, index)
        struct.pack_into("<16sHHIQQQIHHHHHH", out, 0, b"\x7fELF\x02\x01\x01", 3, 62, 1, TEXT,
                         64, table, 0, 64, 56, len(self.segments), 64, n if n < 0xFF00 else 0,
                         index if n < 0xFF00 else 0xFFFF)
        for i, (kind, flags, offset, address, file_size, size) in enumerate(self.segments):
            struct.pack_into("<IIQQQQQQ", out, 64 + 56 * i, kind, flags, offset, address, address,
                             file_size, size, 4096)
        return bytes(out + headers)

    def write(self, path):
        data = self.bytes()
        with open(path, "wb") as file:
            file.write(data)
        return len(data)
