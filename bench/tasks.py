#!/usr/bin/env python3
"""What other programs have written, for bench/tasks.sh, on standard output as folded stacks: "root;caller;leaf", a line per sample, with
inlined functions.

    tasks.py perf <TEXT           `perf script -F comm,ip,sym`
    tasks.py samply PROFILE        a profile with addresses, and with names if there is PROFILE's .syms.json
    tasks.py hotspot FILE           `hotspot --exportTo FILE.perfparser`
"""

import gzip
import json
import struct
import sys


def perf_stacks(file):
    frames = None
    for line in file:
        if line.startswith("\t"):
            frames.append((line.split(None, 1) + ["[unknown]"])[1].strip().removesuffix(" (inlined)"))
        elif line.strip():
            if frames is not None:
                yield frames[::-1]
            frames = []
    if frames is not None:
        yield frames[::-1]


def samply_names(path):
    """A function of a library's debug name and an address: names from outer to inner, or none."""
    try:
        with open(path.removesuffix(".gz").removesuffix(".json") + ".json.syms.json", encoding="utf-8") as file:
            symbols = json.load(file)
    except OSError:
        return lambda library, address: []
    texts = symbols["string_table"]
    tables = {library["debug_name"]: library["symbol_table"] for library in symbols["data"]}
    known = {library["debug_name"]: dict(library["known_addresses"]) for library in symbols["data"]}

    def names(library, address):
        row = known.get(library, {}).get(address)
        if row is None:
            return []
        row = tables[library][row]
        return [texts[row["symbol"]]] + [texts[frame["function"]] for frame in row.get("frames", [])[-2::-1]]
    return names


def samply_stacks(path):
    with gzip.open(path) as file:
        profile = json.load(file)
    names = samply_names(path)
    for thread in profile["threads"]:
        stacks, frames, functions, resources = (thread[name] for name in ("stackTable", "frameTable", "funcTable", "resourceTable"))
        chains = []
        for prefix, frame in zip(stacks["prefix"], stacks["frame"]):
            function = functions["name"][frames["func"][frame]]
            resource = functions["resource"][frames["func"][frame]]
            library = profile["libs"][resources["lib"][resource]]["debugName"] if resource >= 0 and resources["lib"][resource] is not None else ""
            own = names(library, frames["address"][frame]) or [thread["stringArray"][function]]
            chains.append((chains[prefix] if prefix is not None else []) + own)
        for stack in thread["samples"]["stack"]:
            yield chains[stack] if stack is not None else []


def hotspot_stacks(path):
    """Messages of a little-endian length, a type, and fields in big-endian order (hotspot's src/perfparser)."""
    location_type, symbol_type, string_type, sample_type = 3, 4, 5, 13
    with open(path, "rb") as file:
        data = file.read()
    at, parents, symbols, texts = data.index(b"\0") + 5, {}, {}, {}
    while at + 5 <= len(data):
        size, kind = struct.unpack_from("<IB", data, at)
        start = at + 5
        if kind == location_type:  # number, address, file, pid, line, column, parent: the function's entry, or an inlined function's caller
            number, _, _, _, _, _, parents_number = struct.unpack_from(">iQiiiii", data, start)
            parents[number] = parents_number
        elif kind == symbol_type:
            symbols.update([struct.unpack_from(">ii", data, start)])
        elif kind == string_type:
            number, length = struct.unpack_from(">iI", data, start)
            texts[number] = data[start + 8:start + 8 + length].decode(errors="replace")
        elif kind == sample_type:
            count, = struct.unpack_from(">I", data, start + 20)
            chain = []
            for number in struct.unpack_from(">%di" % count, data, start + 24):
                names = []
                while number >= 0:
                    names += [texts[symbols[number]]] if texts.get(symbols.get(number)) else []
                    number = parents.get(number, -1)
                chain += names or ["[unknown]"]
            yield chain[::-1]
        at += 4 + size


STACKS = {"perf": lambda: perf_stacks(sys.stdin), "samply": lambda: samply_stacks(sys.argv[2]), "hotspot": lambda: hotspot_stacks(sys.argv[2])}
for frames in STACKS[sys.argv[1]]():
    print(";".join(frames), 1)
