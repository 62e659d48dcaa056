#!/usr/bin/env python3
"""Fails if an include crosses a layer (tests/project/rooms), if code outside of bpf/ and tests/ tests for the host's CPU or byte order,
or if code that other systems run, too, calls Linux past host/linux/. Includes are written from the root, so the folder in an include is
its room. The rooms of cli/, and those in bpf/, may not include each other in a circle, nor may the files of such a room, of bpf/, of
replay/import/ or of record/ itself. Nor may a room's files need each other in a circle by their symbols, but in CIRCLES. Each header of
bpf/ includes what it uses. CONTRIBUTING.md shows the same table."""

import glob
import graphlib
import os
import re
import shutil
import subprocess
import sys

os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
sys.path[:0] = ["tests", "tests/project"]
from counting import Count
import rooms as table

INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)')
HOST = re.compile(r"^\s*#\s*(el)?if.*(__x86_64__|__i386__|__aarch64__|__arm__|__riscv|__s390|__powerpc|__BYTE_ORDER|__LITTLE_ENDIAN|__BIG_ENDIAN)")
# What only host/linux/ asks of the system, since programs without it run on others as well. The recorder runs on Linux alone, and so does
# the sandbox, which other hosts replace as a whole.
LINUX = re.compile(r"\b(prctl|sched_getaffinity|statx|f?statfs|memfd_create|madvise)\(|landlock")
LINUX_ONLY = re.compile(r"(bpf|record|host/linux)/|cli/session/sandbox\.c$")
# Headers of libraries that only some rooms may use. libdw includes libelf, and dwarf.h has only constants.
LIBRARIES = {
    "bpf": r"bpf/", "capstone": r"capstone/", "curl": r"curl/", "curses": r".*curses\.h|term\.h", "dwarf": r"dwarf\.h",
    "libdw": r"elfutils/|libdw", "libelf": r"libelf|gelf", "lzma": r"lzma", "protobuf": r"protobuf", "seccomp": r"seccomp",
    "sodium": r"sodium", "sqlite": r"sqlite3", "zlib": r"zlib", "zstd": r"zstd",
}


# Rooms with files that need each other in a circle, by their calls.
CIRCLES = {"replay/synthesis"}


def library_of(header):
    return next((name for name, pattern in LIBRARIES.items() if re.match(pattern, header)), None)


def wrong_lines(rooms, room, path):
    """Yields what the file may not contain."""
    with open(path) as lines:
        for number, line in enumerate(lines, 1):
            where = "%s:%d: " % (path, number)
            if not room.name.startswith("bpf") and HOST.match(line):
                yield where + line.strip()
            if not LINUX_ONLY.match(path) and LINUX.search(line):
                yield where + "only host/linux/ may call this: " + line.strip()
            include = INCLUDE.match(line)
            if not include:
                continue
            header, system = include.groups()
            if system:
                library = library_of(system)
                if library and library not in room.libraries:
                    yield where + "%s/ may not include <%s>" % (room.name, system)
                continue
            folder = os.path.dirname(header)
            # Vendored files include files of their own folder by plain names.
            if folder == room.name or (room.name == "elf/libiberty" and not folder):
                continue
            if folder not in room.may:
                yield where + "%s/ may not include %s/" % (room.name, folder)
            elif room.may[folder] and os.path.basename(header) not in room.may[folder]:
                yield where + "%s/ may include only %s of %s/" % (room.name, ", ".join(sorted(room.may[folder])), folder)


def circle(graph):
    """Returns a circle of the graph as text, or None."""
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return " -> ".join(error.args[1])
    return None


def file_graph(room):
    """The files of a room and those that they include; a source file and its header are one."""
    graph = {}
    for path in glob.glob(room + "/*.[ch]"):
        name = os.path.splitext(path)[0]
        with open(path) as lines:
            headers = {os.path.splitext(match.group(1))[0] for match in map(INCLUDE.match, lines) if match and match.group(1)}
        graph.setdefault(name, set()).update(header for header in headers if os.path.dirname(header) == room and header != name)
    return graph


def call_graph(room):
    """The object files of a room, and those of them whose functions or data each uses."""
    build = os.environ.get("O", "build")
    sources = [path[:-2] for path in glob.glob(room + "/*.c") if not path.endswith(".bpf.c")]
    objects = [path for path in ("%s/%s.o" % (build, source) for source in sources) if os.path.exists(path)]
    defined, used = {}, {}
    for line in subprocess.run(["nm", "-gA", *objects], stdout=subprocess.PIPE, text=True).stdout.splitlines() if objects else []:
        path, symbol = line.split(":", 1)
        *_, kind, name = symbol.split()
        if kind == "U":
            used.setdefault(path, set()).add(name)
        else:
            defined[name] = path
    return {path: {defined[name] for name in names if name in defined} for path, names in used.items()}


def incomplete_headers():
    """Yields clang's errors for each header of bpf/ alone."""
    cflags = subprocess.run(["pkg-config", "--cflags", "libbpf"], stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    for path in sorted(glob.glob("bpf/**/*.h", recursive=True)):
        cpu = re.search(r"registers/(\w+)\.h|$", path).group(1) or "x86"
        found = subprocess.run(["clang", "-target", "bpf", "-std=gnu11", "-I.", "-D__TARGET_ARCH_" + cpu, *cflags, "-fsyntax-only", "-w", "-x", "c",
                                "-"], input='#include "%s"\n' % path, stderr=subprocess.PIPE, text=True)
        if found.returncode:
            yield "%s:\n%s" % (path, found.stderr)


def main():
    count = Count()
    rooms = table.read()
    for room in rooms.values():
        files = glob.glob(room.name + "/*.[chS]")
        count.ok(room.name + "/ has files", bool(files) or room.name == "cli/page/web")
        wrong = [line for path in sorted(files) for line in wrong_lines(rooms, room, path)]
        count.ok(room.name + "/: includes", not wrong, "\n".join(wrong))
        count.ok(room.name + "/: rooms that exist", all(name in rooms for name in room.may))
    for prefix in ("cli", "bpf/"):
        graph = {name: {other for other in room.may if other.startswith(prefix)} for name, room in rooms.items() if name.startswith(prefix)}
        count.ok("rooms of %s/ without a circle" % prefix.rstrip("/"), not circle(graph), str(circle(graph)))
    for name in rooms:
        if name.startswith(("cli", "bpf")) or name in ("replay/import", "record"):
            found = circle(file_graph(name))
            count.ok("files of %s/ without a circle" % name, not found, str(found))

    graphs = {name: call_graph(name) for name in rooms}
    if not any(graphs.values()):
        count.skip("calls within rooms: nothing is built")
    for name, graph in graphs.items():
        found = circle(graph)
        if graph and name in CIRCLES:
            count.ok("calls within %s/: the known circle exists" % name, found, "it does not: remove it from CIRCLES")
        elif graph:
            count.ok("calls within %s/ without a circle" % name, not found, str(found))

    if shutil.which("clang") and not subprocess.run(["pkg-config", "--exists", "libbpf"]).returncode:
        wrong = list(incomplete_headers())
        count.ok("headers of bpf/ alone", not wrong, "\n".join(wrong))
    else:
        count.skip("headers of bpf/ alone: clang or libbpf is not installed")

    if shutil.which("git"):
        files = subprocess.run(["git", "ls-files", "*.[chS]"], stdout=subprocess.PIPE, text=True).stdout.split()
        for folder in sorted({os.path.dirname(path) for path in files if not re.match("(tests|bench|testdata)/", path)}):
            count.ok(folder + "/ is in the table", folder in rooms)
    else:
        count.skip("folders that are not in the table: git is not installed")

    with open("CONTRIBUTING.md") as lines:
        shown = [line.rstrip("\n") for line in lines]
    missing = [line for line in table.table(rooms) if line not in shown]
    count.ok("CONTRIBUTING.md's table is that of tests/project/rooms.py", not missing, "missing:\n" + "\n".join(missing))
    return count.finish()


if __name__ == "__main__":
    sys.exit(main())
