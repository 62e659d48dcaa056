# SPDX-License-Identifier: Apache-2.0
"""The answers of llvm-symbolizer, addr2line and eu-addr2line for addresses, in one form.

An answer is a list of frames, innermost first, and a frame is (function, file, line), with "" and 0 for unknown
values.  All print mangled names, so demanglers' styles do not matter.
"""
import collections
import os
import re
import subprocess


def run(command, addresses=None, check=True):
    text = None if addresses is None else "".join("0x%x\n" % a for a in addresses)
    return subprocess.run(command, input=text, capture_output=True, text=True, check=check).stdout


def frame(function, position):
    position = re.sub(r" \(discriminator \d+\)$", "", position)
    m = re.match(r"(.*?)(?::(\d+|\?))?(?::(\d+))?$", position)
    path, line = m[1], m[2] or "0"
    line = 0 if line == "?" else int(line)
    # A bare name with line 0 comes from the symbol table's STT_FILE: not a source position.
    if path == "??" or (line == 0 and "/" not in path):
        path, line = "", 0
    return ("" if function == "??" else function, os.path.normpath(path) if path else "", line)


def parse_blocks(output):
    """Blocks of function and position lines, each closed by an empty line."""
    for block in output.split("\n\n"):
        lines = block.strip("\n").split("\n")
        if lines != [""]:
            yield [frame(*pair) for pair in zip(lines[::2], lines[1::2])]


def parse_addr2line(output):
    """`addr2line -a`: each address on a line of its own before its frames."""
    frames, lines = None, output.splitlines()
    i = 0
    while i < len(lines):
        if re.match(r"0x[0-9a-f]+$", lines[i]):
            if frames is not None:
                yield frames
            frames = []
            i += 1
        else:
            frames.append(frame(lines[i], lines[i + 1]))
            i += 2
    if frames is not None:
        yield frames


def aliases(path):
    """All names of each address, by name."""
    at = collections.defaultdict(set)
    for line in (run(["nm", "--defined-only", path], check=False) +
                 run(["nm", "-D", "--defined-only", path], check=False)).splitlines():
        address, kind, name = line.split(" ", 2)
        if kind in "tTwWiuV":
            at[int(address, 16)].add(name.split("@")[0])
    alias = collections.defaultdict(set)
    for names in at.values():
        for name in names:
            alias[name] |= names
    return alias


def strip_version(name):
    return name.split("@")[0] if not name.startswith("@") else name


def same(a, b, alias):
    """Equal, except for other names of the same symbol in the outermost frame, and the namespaces of a function without a
    linkage name, which these tools omit (tests/names/libdw_symbols.c compares them with libdw's)."""
    if len(a) != len(b):
        return False
    for i, (x, y) in enumerate(zip(a, b)):
        if x[1:] != y[1:]:
            return False
        x, y = strip_version(x[0]), strip_version(y[0])
        if x != y and not x.endswith("::" + y) and not (i + 1 == len(a) and y in alias.get(x, ())):
            return False
    return True


# Suffixes that GCC and LLVM add to the names of a function's pieces and copies.
CLONE = re.compile(r"(\.(cold|part|isra|constprop|lto_priv|localalias|llvm)(\.\d+)*)+$")
# Constructors and destructors: complete, base, … (Itanium C++ ABI, 5.1.4.3); GCC's DWARF names their common part C4 and
# D4.
STRUCTOR = re.compile(r"([CD])[0-5](?=[EI])")


def is_form_of(name, linkage_name):
    """Whether a DW_AT_name may belong to a symbol (Itanium C++ ABI, 5.1.2: the symbol contains the name, or it is an
    operator)."""
    name, linkage_name = (STRUCTOR.sub(r"\1", CLONE.sub("", x)) for x in (name, linkage_name))
    base = re.split(r"[<(]", name.lstrip("~"))[0]
    if name == linkage_name:
        return True
    if not linkage_name.startswith(("_Z", "_R")):
        return False
    return bool(base) and "%d%s" % (len(base), base) in linkage_name or name.startswith("operator")


def is_doubled(path, doubled):
    """Whether one is the other below its own directory: directory 0 of a DWARF 5 line table is the unit's (6.2.4, 11);
    if it is relative, all but LLVM 21 and we put it below itself."""
    head = doubled[: -len(path) - 1]
    return bool(path) and doubled == head + "/" + path and path.startswith(head + "/")


def alike(a, b, alias):
    """Equal, except for the form of names (of clones, of constructors, of symbols at one address, with or without class
    and arguments) and of paths."""
    if len(a) != len(b):
        return False
    for i, (x, y) in enumerate(zip(a, b)):
        if x[2] != y[2]:
            return False
        if x[1] != y[1] and not is_doubled(x[1], y[1]) and not is_doubled(y[1], x[1]):
            return False
        x, y = strip_version(x[0]), strip_version(y[0])
        if x != y and not x.endswith("::" + y) and not is_form_of(x, y) and not is_form_of(y, x) and y not in alias.get(x, ()):
            return False
    return True


def misses_inlined(ours, theirs, alias):
    """Whether it is our answer without its innermost functions, but with their position.

    addr2line and eu-addr2line (including 2.47 and 0.196) do this where clang's DWARF 5 begins the ranges of an
    inlined call with DW_RLE_base_addressx, such as 01 03 04 b6 21 d0 21 00 in .debug_rnglists: address 3, then
    offsets 0x10b6 to 0x10d0 from it (DWARF 5, 2.17.3)."""
    inner = len(ours) - len(theirs)
    if inner <= 0 or not theirs:
        return False
    return alike([(ours[inner][0],) + ours[0][1:]] + ours[inner + 1:], theirs, alias)


def kind_of(a, b):
    if len(a) != len(b):
        return "depth"
    for x, y in zip(a, b):
        if x[0] != y[0]:
            return "function"
        if x[1] != y[1]:
            return "file"
        if x[2] != y[2]:
            return "line"
    return "alias"


def ask_llvm(path, addresses, program=("llvm-symbolizer",)):
    return list(parse_blocks(run([*program, "--no-demangle", "-e", path], addresses)))


def ask_addr2line(path, addresses, program=("addr2line",)):
    return list(parse_addr2line(run([*program, "-a", "-i", "-f", "-e", path], addresses)))


def ask_eu_addr2line(path, addresses, program=("eu-addr2line",)):
    """`name inlined at file:line in name`: this is the position of the next frame."""
    # The exit status is 1 if an address has no line.
    lines = run([*program, "-a", "-i", "-f", "-e", path], addresses, check=False).splitlines()
    return list(parse_addr2line("\n".join(re.sub(r" inlined at .*", "", line) for line in lines)))
