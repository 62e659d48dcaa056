"""Run inside gdb, with CORES set to paths of core files that share symbols: each frame's variables as gdb knows them, as one line
"RESULT <JSON>" for each core.

Frames are [pc, function, [[name, kind, text]], whether gdb made it up for a tail call]; kind is known, gone, missing (memory or
register) or other (a type that stackreel does not show). Texts are as stackreel prints them (replay/values/value.c), without the
characters after their numbers and texts after pointers.
"""
import json
import math

import gdb

# As in value.c.
DEPTH_MAX, MEMBERS_MAX, ELEMENTS_MAX, TEXT_MAX = 3, 24, 8, 200
ESCAPES = {ord('"'): '\\"', ord("\\"): "\\\\", 10: "\\n", 9: "\\t"}
# Structures that are texts: a pointer to bytes, and their number.
CXX_STRING = "basic_string<char, std::char_traits<char>, std::allocator<char> >"
TEXTS = (("&str", "data_ptr", "length"), ("string::String", "vec.buf.inner.ptr.pointer.pointer", "vec.len"),
         ("string", "str", "len"), (CXX_STRING, "_M_dataplus._M_p", "_M_string_length"),
         ("basic_string_view<char, std::char_traits<char> >", "_M_str", "_M_len"),
         ("basic_string_view<char, std::__1::char_traits<char> >", "__data_", "__size_"),
         ("basic_string_view<char, std::__1::char_traits<char> >", "__data", "__size"))  # before LLVM 15
LIBCXX_STRING = "std::__1::basic_string<char, std::__1::char_traits<char>, std::__1::allocator<char> >"


class Gone(Exception):
    pass


class Other(Exception):
    pass


def quoted(data):
    # What gdb gets is bytes of any text; stackreel prints those above 0x7f as they are.
    return '"%s"' % "".join(ESCAPES.get(byte) or ("\\%03o" % byte if byte < 32 or byte == 127 else chr(byte)) for byte in data)


def is_character(kind):
    return kind.sizeof == 1 and "char" in (kind.name or "")


def text_at(address, length):
    try:
        data = gdb.selected_inferior().read_memory(address, min(length, TEXT_MAX)).tobytes() if length else b""
    except gdb.error:
        return "0x%x <%d bytes not captured>" % (address, length)
    return quoted(data) + ("..." if length > TEXT_MAX else "")


def libcxx_string(value):
    """By the bytes of the usual layout, 64-bit and little-endian: in the first, 1 for a long one, or twice the size."""
    address = int(value.address)
    data = gdb.selected_inferior().read_memory(address, 24).tobytes()
    if data[0] & 1:
        return text_at(int.from_bytes(data[16:], "little"), int.from_bytes(data[8:16], "little"))
    return text_at(address + 1, data[0] >> 1)


def library_text(value, kind):
    """The text that a structure of a library is; None: it is none."""
    if kind.name == LIBCXX_STRING:
        return libcxx_string(value)
    for name, pointer, size in TEXTS:
        if kind.name != name and not (kind.name or "").endswith(name):
            continue
        try:
            address, length = value, value
            for part in pointer.split("."):
                address = address[part]
            for part in size.split("."):
                length = length[part]
        except (gdb.error, KeyError):
            # clang declares the type of _M_dataplus only.
            if name == CXX_STRING:
                raise Other from None
            continue
        return text_at(int(address), int(length))
    return None


def structure(value, kind, depth):
    fields = [field for field in kind.fields() if hasattr(field, "bitpos")]
    text = library_text(value, kind)
    if text is not None:
        return text
    # Of Rust's enumerations gdb has the discriminant, without a name, and the present variant.
    if fields and fields[0].artificial and not fields[0].name:
        if len(fields) > 2:
            raise Other
        return "%s %s" % (fields[1].name, render(value[fields[1]], depth + 1)) if fields[1].type.fields() else fields[1].name
    parts, text = 0, "{"
    for field in fields:
        if parts == MEMBERS_MAX or depth >= DEPTH_MAX:
            value.fetch_lazy()
            text += "..."
            break
        text += ", " if parts else ""
        text += "%s = " % field.name if field.name and not field.is_base_class else ""
        text += render(value[field], depth + 1)
        parts += 1
    return text + "}"


def array(value, kind, depth):
    element, (low, high) = kind.target().strip_typedefs(), kind.range()
    if "vector" in str(kind) or low or element.code == gdb.TYPE_CODE_ARRAY or kind.dynamic:
        raise Other
    if is_character(element):
        if high >= TEXT_MAX:
            raise Other
        return quoted(bytes(int(value[i]) & 255 for i in range(high + 1)).split(b"\0")[0])
    text = "{"
    for i in range(high + 1):
        text += ", " if i else ""
        if i == ELEMENTS_MAX or depth >= DEPTH_MAX:
            value.fetch_lazy()
            text += "..."
            break
        text += render(value[i], depth + 1)
    return text + "}"


def scalar(value, kind):
    if kind.code == gdb.TYPE_CODE_FLT:
        if kind.sizeof not in (4, 8):
            raise Other
        number = float(value)
        return "nan" if math.isnan(number) else ("%.17g" if kind.sizeof == 8 else "%.9g") % number
    number = int(value)
    if kind.sizeof > 8:
        raise Other
    if kind.code == gdb.TYPE_CODE_BOOL and number in (0, 1):
        return "true" if number else "false"
    if kind.code == gdb.TYPE_CODE_ENUM:
        mask = (1 << 8 * kind.sizeof) - 1
        names = [field.name for field in kind.fields() if field.enumval & mask == number & mask]
        return names[0].split("::")[-1] if names else str(number & mask)
    return str(number)


def render(value, depth=0):
    kind = value.type.strip_typedefs()
    if kind.code in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION):
        return structure(value, kind, depth)
    if kind.code == gdb.TYPE_CODE_ARRAY:
        return array(value, kind, depth)
    if value.is_optimized_out:
        raise Gone
    if kind.code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF):
        return "@0x%x" % int(value.referenced_value().address)
    if kind.code == gdb.TYPE_CODE_PTR:
        if "synthetic" in value.format_string():
            raise Gone
        return "0x%x" % int(value)
    if kind.code not in (gdb.TYPE_CODE_INT, gdb.TYPE_CODE_CHAR, gdb.TYPE_CODE_BOOL, gdb.TYPE_CODE_ENUM, gdb.TYPE_CODE_FLT):
        raise Other
    return scalar(value, kind)


def describe(symbol, frame):
    try:
        return "known", render(symbol.value(frame))
    except Gone:
        return "gone", None
    except Other:
        return "other", None
    except gdb.error as error:
        return ("gone" if "optimized out" in str(error) else "missing"), str(error)


def variables(frame):
    found, block = {}, None
    try:
        block = frame.block()
    except RuntimeError:
        pass
    while block is not None and not block.is_static and not block.is_global:
        inner = {}
        for symbol in block:
            if (symbol.is_variable or symbol.is_argument) and symbol.addr_class != gdb.SYMBOL_LOC_STATIC:
                inner[symbol.name] = describe(symbol, frame)
        found = {**inner, **found}
        if block.function is not None:
            break
        block = block.superblock
    return [[name, *value] for name, value in sorted(found.items())]


def all_frames():
    try:
        frame = gdb.newest_frame()
        while frame is not None and frame.is_valid():
            # Tail calls that gdb makes up have no address of their own.
            yield [frame.pc(), frame.name(), variables(frame), frame.type() == gdb.TAILCALL_FRAME]
            frame = frame.older()
    except gdb.error:
        pass


for i, core in enumerate(CORES):  # pylint: disable=undefined-variable
    gdb.execute("source %s.gdb" % core if not i else "core-file %s" % core, to_string=True)
    print("\nRESULT " + json.dumps(list(all_frames())), flush=True)
