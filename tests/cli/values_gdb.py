"""Run inside gdb, with CORES set to paths of core files that share symbols: each frame's variables as gdb knows them, as one line
"RESULT <JSON>" for each core. CORE.json has the values that stackreel prints: for each frame, by name.

Frames are [pc, function, [[name, kind, text, reason]], whether gdb made it up for a tail call]; kind is known, gone, missing (memory or
register) or other (a type that is not compared). Texts are as stackreel prints them (replay/values/value.c), without the characters
after their numbers and texts after pointers. The reason, of values that are not equal (of two different ones "", if gdb is not
known to be wrong), is found from the place that the debug information has
for the variable at this instruction, and the frame's registers.
"""
import json
import math
import re

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


# What stackreel prints for the variable.
mine = None


def text_at(address, length):
    missing = "0x%x <%d bytes not captured>" % (address, length)
    # gdb reads files for memory that the capture does not have.
    if missing in (mine or ""):
        return missing
    try:
        data = gdb.selected_inferior().read_memory(address, min(length, TEXT_MAX)).tobytes() if length else b""
    except gdb.error:
        return missing
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
        return text_at(int(address), int(length) & (1 << 64) - 1)
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
        value.fetch_lazy()
        text = bytes(int(value[i]) & 255 for i in range(min(high + 1, TEXT_MAX))).split(b"\0")[0]
        return quoted(text) + ("..." if len(text) == TEXT_MAX <= high else "")
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
        target = value.referenced_value().address
        if target is None:
            raise Gone
        return "@0x%x" % int(target)
    if kind.code == gdb.TYPE_CODE_PTR:
        if "synthetic" in value.format_string():
            raise Gone
        return "0x%x" % int(value)
    if kind.code not in (gdb.TYPE_CODE_INT, gdb.TYPE_CODE_CHAR, gdb.TYPE_CODE_BOOL, gdb.TYPE_CODE_ENUM, gdb.TYPE_CODE_FLT):
        raise Other
    return scalar(value, kind)


def plain(text):
    """Without the character after a number, the text after a pointer, and the sign of a NaN."""
    text = re.sub(r"""(0x[0-9a-f]+) "(?:[^"\\]|\\.)*"(?:\.\.\.)?""", r"\1", text)
    text = re.sub(r"""(\d) '(?:\\\d{3}|\\.|[^\\])'""", r"\1", text)
    return re.sub(r"-nan\b", "nan", text)


# ---- reasons -----------------------------------------------------------------------------

# Registers that functions save for their callers, as gdb names them.
SAVED = {"i386:x86-64": "rbx rbp rsp r12 r13 r14 r15 rip", "i386": "ebx esi edi ebp esp eip",
         "aarch64": "x19 x20 x21 x22 x23 x24 x25 x26 x27 x28 x29 x30 fp lr sp pc", "s390:64-bit": "r6 r7 r8 r9 r10 r11 r12 r13 r14 r15 pc",
         "riscv:rv64": "s0 s1 s2 s3 s4 s5 s6 s7 s8 s9 s10 s11 fp sp pc"}
FRAME_POINTERS = {"rbp": 16, "ebp": 8}


def concrete(frame):
    while frame.type() == gdb.INLINE_FRAME:
        frame = frame.older()
    return frame


def command(text):
    try:
        return gdb.execute(text, to_string=True)
    except gdb.error as error:
        return str(error)


def place_of(name, frame):
    """What `info address` has for the frame's instruction, and whether it holds in all of the function."""
    frame.select()
    text = command("info address " + name)
    ranges = re.findall(r"Range (0x[0-9a-f]+)-(0x[0-9a-f]+): (.*?)(?=\n  Range |\Z)", text, re.S)
    at = frame.pc() - (frame_level(frame) > 0)
    for low, high, place in ranges:
        if int(low, 16) <= at < int(high, 16):
            return place, False
    return ("", False) if "multi-location" in text else (text, True)


def frame_level(frame):
    """Calls above it: frames of inlined functions do not count."""
    frame, level = concrete(frame), 0
    while frame.newer() is not None:
        frame = frame.newer()
        level += frame.type() != gdb.INLINE_FRAME
    return level


def is_set_up(frame):
    """Whether the innermost function has passed its first line, and its frame pointer is that of this frame."""
    frame, pc = concrete(frame), frame.pc()
    start = frame.function() and frame.function().symtab is not None and int(frame.function().value().address)
    line = gdb.find_pc_line(start) if start else None
    if line is not None and line.last is not None and pc <= line.last:
        return False
    frame.select()
    cfa = re.search(r"frame at (0x[0-9a-f]+)", command("info frame"))
    for register, distance in FRAME_POINTERS.items():
        try:
            uses = "$%s" % register in command("info address %s" % next(s.name for s in frame.block() if s.is_argument or s.is_variable))
        except (StopIteration, RuntimeError):
            uses = False
        if uses and cfa and int(frame.read_register(register)) + distance != int(cfa[1], 16):
            return False
    return True


def in_system_call(frame):
    """Of these, stackreel looks up the instruction that made it, gdb the next one."""
    frame.select()
    for size in (2, 4):
        if re.search(r"\t(syscall|svc|ecall)\b", command("x/i $pc-%d" % size)):
            return frame_level(frame) == 0
    return False


def address_of(symbol, frame):
    try:
        return int(symbol.value(frame).address)
    except (gdb.error, TypeError):
        return None


def reason_of(symbol, frame, ours, kind):
    place, is_of_all = place_of(symbol.name, frame)
    level = frame_level(frame)
    # Go's functions save no registers.
    saved = ["rsp", "rip", "sp", "pc"] if symbol.symtab.filename.endswith(".go") else SAVED.get(frame.architecture().name(), "").split()
    registers = set(re.findall(r"\$(\w+)", place))
    if ours is not None and not ours.startswith("<") and kind == "known":
        # gdb evaluates the call's expression in the next frame, even if that is the function which this one is inlined in. The variable
        # is at the same place in that function.
        if frame.type() == gdb.INLINE_FRAME and "entry_value" in place and describe(symbol, concrete(frame), ours) == ("known", plain(ours)):
            return "entry value in an inlined function, evaluated in the wrong frame"
        return ""
    pieces = [int(size) for size in re.findall(r"\[(\d+)-byte piece\]", place)]
    if "an empty" in place or (pieces and sum(pieces) < symbol.type.sizeof):
        return "a part has no place: gdb reads 0"
    if re.search("entry_value|entry_parameter|parameter_ref", place):
        return "entry value"
    if kind == "gone":
        # For example constants (DW_AT_const_value) of inlined functions.
        return "gdb has no place"
    if not place or "optimized out" in place:
        return "no place"
    if "implicit" in place or "synthetic" in place:
        return "points to an object without an address"
    if level and registers - set(saved):
        return "register that calls may change"
    if registers & {"xmm%d" % i for i in range(32)} or any(re.match(r"[vdqsf]\d+$|st", name) for name in registers - set(saved)):
        return "vector or floating-point register"
    address = address_of(symbol, frame)
    section = re.search(r"in section (\S+)", command("info symbol 0x%x" % address)) if address is not None else None
    if section:
        return "memory of a file: " + section[1]
    if in_system_call(frame):
        return "after the system call, which the sample is in"
    if not level and is_of_all:
        return "a place for all of the function" if is_set_up(frame) else "before the frame is set up, or after"
    return "other: " + re.sub(r"0x[0-9a-f]+", "0x", " ".join(place.split()))[-60:]


# ---- values ------------------------------------------------------------------------------


def describe(symbol, frame, ours):
    global mine
    mine = ours
    try:
        return "known", render(symbol.value(frame))
    except Gone:
        return "gone", None
    except Other:
        return "other", None
    except gdb.error as error:
        return ("gone" if "optimized out" in str(error) else "missing"), str(error)


def variables(frame, ours):
    found, block = {}, None
    try:
        block = frame.block()
    except RuntimeError:
        pass
    while block is not None and not block.is_static and not block.is_global:
        inner = {}
        for symbol in block:
            if (symbol.is_variable or symbol.is_argument) and symbol.addr_class != gdb.SYMBOL_LOC_STATIC:
                printed, reason = ours.get(symbol.name), None
                kind, text = describe(symbol, frame, printed)
                if (kind == "known" and (printed is None or plain(printed) != text)) or (kind == "gone" and printed is not None and not printed.startswith("<")):
                    reason = reason_of(symbol, frame, printed, kind)
                inner[symbol.name] = kind, text, reason
        found = {**inner, **found}
        if block.function is not None:
            break
        block = block.superblock
    return [[name, *value] for name, value in sorted(found.items())]


def all_frames(ours):
    number = 0
    try:
        frame = gdb.newest_frame()
        while frame is not None and frame.is_valid():
            # Tail calls that gdb makes up have no address of their own.
            is_tail = frame.type() == gdb.TAILCALL_FRAME
            yield [frame.pc(), frame.name(), variables(frame, ours[number] if number < len(ours) else {}), is_tail]
            number += not is_tail and frame.pc() != 0
            frame = frame.older()
    except gdb.error:
        pass


# They would have the previous core file's memory.
gdb.execute("set stack-cache off")
gdb.execute("set code-cache off")
for i, CORE in enumerate(CORES):  # pylint: disable=undefined-variable
    gdb.execute("source %s.gdb" % CORE if not i else "core-file %s" % CORE, to_string=True)
    with open(CORE + ".json", encoding="utf-8") as file:
        OURS = json.load(file)
    print("\nRESULT " + json.dumps(list(all_frames(OURS))), flush=True)
