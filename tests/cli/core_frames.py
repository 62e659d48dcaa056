"""For test-core.py, run by gdb: prints the frames and registers of the loaded core as a line of JSON."""

import json

import gdb


def address(value):
    return int(value) & 0xffffffffffffffff


def frames():
    found, frame = [], gdb.newest_frame()
    while frame and frame.is_valid():
        function = frame.function()
        # gdb also shows functions that left by a tail call.
        if frame.type() != gdb.TAILCALL_FRAME:
            found.append([frame.pc(), function.name if function else None, frame.type() == gdb.INLINE_FRAME])
        frame = frame.older()
    return found


def registers():
    frame, found = gdb.selected_frame(), {}
    while frame.newer():
        frame = frame.newer()
    for register in frame.architecture().registers("general"):
        value = frame.read_register(register.name)
        if value.type.code in (gdb.TYPE_CODE_INT, gdb.TYPE_CODE_PTR):
            found[register.name] = int(value.cast(gdb.lookup_type("unsigned long long")))
    return found


print("RESULT " + json.dumps({"frames": frames(), "registers": registers()}))
