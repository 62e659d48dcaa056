"""Loads the code objects of the standard library, and writes each one's address, definition's line, name, file, and its lines
as POSITION:LINE pairs after the positions of its first instruction and of its end. Then waits for the end of standard input.

    python_code.py FILE

For all versions since 3.8."""

import dis
import glob
import importlib.util
import marshal
import os
import sys
import types


def codes_in(code):
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from codes_in(constant)


def loaded(to_compile=40):
    folder = os.path.dirname(os.__file__)
    for path in sorted(glob.glob(folder + "/*.py") + glob.glob(folder + "/[!t]*/*.py")):  # test/ has errors
        try:
            with open(importlib.util.cache_from_source(path), "rb") as file:
                yield from codes_in(marshal.loads(file.read()[16:]))
        except OSError:
            if to_compile:
                to_compile -= 1
                with open(path, "rb") as file:
                    yield from codes_in(compile(file.read(), path, "exec"))


def lines_of(code):
    # Up to 3.9 there is no co_lines(), and each instruction has a line.
    if not hasattr(code, "co_lines"):
        return list(dis.findlinestarts(code))
    found = []
    for start, end, line in code.co_lines():
        if start < end and not (found and found[-1][1] == (line or 0)):
            found.append((start, line or 0))
    return found


def own(source, **changes):
    code = next(c for c in codes_in(compile(source, "<own>", "exec")) if c.co_name == "f")
    return code.replace(**changes)


OWN = [
    own("def f(): pass", co_filename="/tmp/\u00e9t\u00e9.py"),
    own("def f(): pass", co_filename="/tmp/\u0442\u0435\u0441\u0442.py"),
    own("def f(): pass", co_filename="/tmp/\U0001f40d.py"),
    own("def f(): pass", co_filename="/tmp/\udcff\udc80.py"),
    own("def f(): pass", co_filename=""),
    own("def f(): pass", co_firstlineno=2000000000),
    own("def f():\n" + "\n" * 3000 + "  pass\n  return 1"),
    own("def f(x):\n  for i in x:\n    try:\n      yield\n    finally:\n      pass\n"),
    own("def f(): return (" + "\n".join("x%d()," % i for i in range(2000)) + ")"),
    own("def f(): return 1", **{"co_linetable": b""}) if sys.version_info >= (3, 11) else own("def f(): pass"),
    own("def f(): pass", co_filename="x" * 4096),
]
# These, and other bytes than code, get no name.
TOO_LONG = [own("def f(): pass", co_filename="x" * 4097), own("def f(): pass", co_filename="\u00e9" * 2049)]

codes = list(loaded()) + OWN
# Positions as the recorder sees them.
if sys.version_info >= (3, 11):
    base, scale = types.CodeType.__basicsize__, 1
else:
    base, scale = 0, 2 if sys.version_info >= (3, 10) else 1
with open(sys.argv[1], "wb") as file:
    for code in codes:
        lines = ["%d" % base, "%d" % (base + len(code.co_code) // scale)]
        lines += ["%d:%d" % (base + start // scale, line) for start, line in lines_of(code)]
        fields = [
            b"%x" % id(code),
            b"%d" % code.co_firstlineno,
            getattr(code, "co_qualname", code.co_name).encode("utf-8", "surrogateescape"),
            code.co_filename.encode("utf-8", "surrogateescape"),
            " ".join(lines).encode(),
        ]
        file.write(b"\t".join(fields) + b"\n")
    for address in [id(code) for code in TOO_LONG] + [id(object()), id("text"), 4096]:
        file.write(b"%x\n" % address)
print("ready", flush=True)
sys.stdin.read()
