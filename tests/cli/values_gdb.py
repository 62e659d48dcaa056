"""Run inside gdb with a core file: each frame's variables as gdb knows them, one line "RESULT <JSON>".

Frames are [pc, function, [[name, kind, value]]]; kind is number, float, text (an enumerator), gone, missing (memory or register) or other.
"""
import json

import gdb

SCALARS = {gdb.TYPE_CODE_INT: "number", gdb.TYPE_CODE_CHAR: "number", gdb.TYPE_CODE_BOOL: "number", gdb.TYPE_CODE_PTR: "number",
           gdb.TYPE_CODE_REF: "reference", gdb.TYPE_CODE_ENUM: "text", gdb.TYPE_CODE_FLT: "float"}


def describe(value):
    try:
        kind = SCALARS.get(value.type.strip_typedefs().code, "other")
        if value.is_optimized_out:
            return "gone", None
        if kind == "float":
            return kind, float(value)
        if kind == "text":
            return kind, str(value)
        if kind == "reference":
            return "number", int(value.address)
        if kind == "number":
            return kind, int(value)
        value.fetch_lazy()
        return kind, None
    except gdb.error as error:
        text = str(error)
        return ("gone" if "optimized out" in text else "missing"), text


def variables(frame):
    found, block = {}, None
    try:
        block = frame.block()
    except RuntimeError:
        pass
    while block is not None and not block.is_static and not block.is_global:
        for symbol in block:
            if (symbol.is_variable or symbol.is_argument) and symbol.addr_class != gdb.SYMBOL_LOC_STATIC and symbol.name not in found:
                try:
                    found[symbol.name] = describe(symbol.value(frame))
                except gdb.error as error:
                    found[symbol.name] = ("gone" if "optimized out" in str(error) else "missing", str(error))
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


print("RESULT " + json.dumps(list(all_frames())))
