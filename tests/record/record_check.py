#!/usr/bin/env python3
"""Checks the output of stackreel-record, with the independent reader (reel_reader.py).

    record_check.py FILE CHECK...

Each CHECK prints problems, if any; the exit status is then 1.

    complete            no damage, and the END record exists
    cut                 no damage in any block; END may be missing
    samples=N           at least N samples
    reason=N            END's reason
    exit_status=N       END's exit_status
    placed[=PERCENT]    this percentage (99) of samples' pcs are in mappings of their thread's space at that time
    processes=LIST      each pid of the file LIST that has samples has its end, and they are in a space with mappings
    execs=LIST          ... and samples are in spaces made by exec
    threads=N           at least N threads in one space
    comm=NAME           some thread has that name
    field=NAME:VALUE    of CAPTURE
    until=NS            the last sample is not older than that
    kernel              some sample has a kernel chain, whose addresses all have symbols
    cpus=LIST           all samples are from these CPUs
    tids=LIST           all samples are of these tids
    pids=LIST           all samples are of these processes
    frequency=N event=NAME period=N     of EVENT 0
    reused              some tid belongs to two threads, both with samples
    namespaced          some space has another pid in its own namespace
    max_region=N        no region is larger, and one has this size
    unmapped            some UNMAP reports that a mapping replaced another
    encrypted=KEYFILE   it is encrypted to this key, and read with it
    bits=N              some space with samples has words of N bits, and a vDSO image
"""

import bisect
import collections
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../reader"))
import reel_cipher  # noqa: E402
import reel_reader  # noqa: E402


class Facts:
    def __init__(self, path, identity=None):
        self.problems = []
        self.side, self.samples, self.by_kind = [], [], collections.defaultdict(list)
        self.defined_late = []
        known = set()
        with open(path, "rb") as file:
            capture = reel_reader.Capture(file, self.problems.append, identity=identity)
            self.encrypted = capture.cipher is not None
            for _, record in capture.all_records():
                kind = record["record"]
                if kind == "SAMPLE":
                    # The reader still needs the regions that it returned.
                    record["regions"] = [{"size": r["size"]} for r in record["regions"]]
                    self.samples.append(record)
                    if record["thread"] not in known:
                        self.defined_late.append(record["id"])
                elif kind != "SAMPLE_LAYOUT":
                    self.side.append(record)
                    self.by_kind[kind].append(record)
                    if kind == "THREAD":
                        known.add(record["id"])
        self.threads = {}
        for record in self.by_kind["THREAD"]:
            self.threads.setdefault(record["id"], record)
        self.spaces = {}
        for record in self.by_kind["SPACE"]:
            self.spaces.setdefault(record["id"], record)

    def places(self):
        """(sample, space id, mapping or None) in order of time."""
        side = sorted((r for r in self.side if "time" in r), key=lambda r: r["time"])
        maps, where = {}, {}
        at = 0
        for sample in sorted(self.samples, key=lambda r: r["time"]):
            while at < len(side) and side[at]["time"] <= sample["time"]:
                apply(side[at], maps, where)
                at += 1
            space = where.get(sample["thread"])
            yield sample, space, find(maps.get(space, []), sample["pc"])


def cut_out(mappings, address, size):
    kept = []
    for start, end, record in mappings:
        if end <= address or start >= address + size:
            kept.append((start, end, record))
            continue
        if start < address:
            kept.append((start, address, record))
        if end > address + size:
            kept.append((address + size, end, record))
    return sorted(kept, key=lambda m: m[0])


def apply(record, maps, where):
    kind = record["record"]
    if kind == "SPACE" and record["id"] not in maps:
        maps[record["id"]] = list(maps.get(record["parent"], [])) if record["origin"] == 1 else []
    elif kind == "THREAD":
        where[record["id"]] = record["space"]
    elif kind == "THREAD_EXEC":
        where[record["thread"]] = record["space"]
    elif kind == "MAP":
        mappings = cut_out(maps.setdefault(record["space"], []), record["address"], record["size"])
        mappings.append((record["address"], record["address"] + record["size"], record))
        maps[record["space"]] = sorted(mappings, key=lambda m: m[0])
    elif kind == "UNMAP":
        maps[record["space"]] = cut_out(maps.get(record["space"], []), record["address"], record["size"])


def find(mappings, address):
    i = bisect.bisect_right([m[0] for m in mappings], address) - 1
    return mappings[i][2] if i >= 0 and address < mappings[i][1] else None


def numbers(text):
    return {int(n) for n in text.split(",")}


def check_complete(facts, _):
    yield from (p.message for p in facts.problems)
    if not facts.by_kind["END"]:
        yield "the END record is missing"


def check_cut(facts, _):
    for problem in facts.problems:
        if problem.problem != "truncated":
            yield problem.message
    if facts.defined_late:
        yield f"{len(facts.defined_late)} samples precede their THREAD"


def check_samples(facts, value):
    if len(facts.samples) < int(value):
        yield f"{len(facts.samples)} samples, expected {value}"


def end_field(facts, name, value):
    ends = facts.by_kind["END"]
    if not ends or ends[0][name] != int(value):
        yield f"END has {name} {ends and ends[0][name]}, expected {value}"


def check_reason(facts, value):
    yield from end_field(facts, "reason", value)


def check_exit_status(facts, value):
    yield from end_field(facts, "exit_status", value)


def check_placed(facts, value):
    total = lost = nowhere = 0
    for sample, space, mapping in facts.places():
        if not sample["registers"]:
            continue
        total += 1
        lost += mapping is None
        nowhere += space is None
    if 100 * (total - lost) < float(value or 99) * total or nowhere:
        yield f"{lost} of {total} pcs are in no mapping, {nowhere} samples in no space"
    if facts.defined_late:
        yield f"{len(facts.defined_late)} samples precede their THREAD"


def processes(facts, path, origins):
    with open(path) as file:
        pids = [int(line) for line in file if line.strip()]
    mapped = collections.Counter(r["space"] for r in facts.by_kind["MAP"])
    ended_threads = {r["thread"] for r in facts.by_kind["THREAD_EXIT"]}
    ended = {facts.threads[t]["tid"] for t in ended_threads if t in facts.threads}
    # Only those with samples are in the file. A sample may be older than the exec, and the only one.
    spaces = collections.defaultdict(dict)
    for sample, space, _ in facts.places():
        if sample["thread"] in facts.threads:
            spaces[facts.threads[sample["thread"]]["tid"]][space] = facts.spaces.get(space)
    pids = [p for p in pids if p in spaces]

    def is_mapped(space):
        return mapped[space["id"]] >= 3 or space["origin"] == 1 and is_mapped(facts.spaces[space["parent"]])
    missing = [p for p in pids if None in spaces[p].values()]
    unmapped = [p for p in pids if p not in missing and not any(is_mapped(s) for s in spaces[p].values())]
    if not any(s and s["origin"] in origins for p in pids for s in spaces[p].values()):
        yield "none of the processes has a sample there"
    running = [p for p in pids if p not in ended]
    if missing or unmapped or running:
        yield (f"of {len(pids)} processes {len(missing)} are missing, {len(unmapped)} have no mappings, "
               f"{len(running)} have no end: {(missing + unmapped + running)[:5]}")


def check_processes(facts, value):
    yield from processes(facts, value, (0, 1, 2, 3))


def check_execs(facts, value):
    yield from processes(facts, value, (2,))


def check_threads(facts, value):
    spaces = {(t["id"], t["space"]) for t in facts.threads.values()}
    spaces |= {(r["thread"], r["space"]) for r in facts.by_kind["THREAD_EXEC"]}
    most = max(collections.Counter(space for _, space in spaces).values(), default=0)
    if most < int(value):
        yield f"at most {most} threads are in one space, expected {value}"


def check_comm(facts, value):
    names = {r["comm"] for r in facts.by_kind["THREAD"] + facts.by_kind["THREAD_COMM"]}
    if value not in names:
        yield f"no thread has the name {value}: {sorted(names)[:10]}"


def check_field(facts, value):
    name, _, wanted = value.partition(":")
    found = facts.by_kind["CAPTURE"][0][name]
    if str(found) != wanted:
        yield f"CAPTURE has {name} {found}, expected {wanted}"


def check_until(facts, value):
    last = max((s["time"] for s in facts.samples), default=0)
    if last < int(value):
        yield f"the last sample is {(int(value) - last) / 1e9:.3f} s too old"


def check_kernel(facts, _):
    symbols = sorted((r["address"], r["size"]) for r in facts.by_kind["KERNEL_SYMBOL"])
    starts = [s[0] for s in symbols]
    chains = [s["kernel_chain"] for s in facts.samples if s["kernel_chain"]]
    unnamed = 0
    for chain in chains:
        for address in chain:
            i = bisect.bisect_right(starts, address) - 1
            unnamed += i < 0 or (symbols[i][1] != 0 and address >= sum(symbols[i]))
    if not chains or unnamed:
        yield f"{len(chains)} kernel chains, {unnamed} addresses without symbol"


def check_cpus(facts, value):
    others = {s["cpu"] for s in facts.samples} - numbers(value)
    if others:
        yield f"there are samples of CPUs {sorted(others)}"


def sample_threads(facts):
    return {s["thread"] for s in facts.samples}


def check_tids(facts, value):
    others = {facts.threads[t]["tid"] for t in sample_threads(facts)} - numbers(value)
    if others:
        yield f"there are samples of tids {sorted(others)}"


def check_pids(facts, value):
    others = {facts.spaces[facts.threads[t]["space"]]["pid"] for t in sample_threads(facts)} - numbers(value)
    if others:
        yield f"there are samples of processes {sorted(others)}"


def event_field(facts, name, value):
    found = facts.by_kind["EVENT"][0][name]
    if str(found) != value:
        yield f"EVENT has {name} {found}, expected {value}"


def check_frequency(facts, value):
    yield from event_field(facts, "frequency", value)


def check_period(facts, value):
    yield from event_field(facts, "period", value)


def check_event(facts, value):
    yield from event_field(facts, "name", value)


def check_reused(facts, _):
    threads = collections.defaultdict(list)
    for thread in facts.threads.values():
        threads[thread["tid"]].append(thread["id"])
    twice = {tid: ids for tid, ids in threads.items() if len(ids) > 1}
    sampled = collections.Counter(s["thread"] for s in facts.samples)
    if not any(sum(sampled[i] > 0 for i in ids) > 1 for ids in twice.values()):
        yield f"{len(twice)} tids were reused, none with samples of two threads"
    for sample in facts.samples:
        thread = facts.threads[sample["thread"]]
        if thread["time"] > sample["time"] and thread["origin"] == 1:
            yield f"sample {sample['id']} is older than its thread"
            return


def check_namespaced(facts, _):
    if not any(r["namespace_pid"] not in (0, r["pid"]) for r in facts.by_kind["SPACE"]):
        yield "no space has another pid in its own namespace"


def check_max_region(facts, value):
    sizes = [r["size"] for s in facts.samples for r in s["regions"]]
    if max(sizes, default=0) != int(value):
        yield f"the largest region has {max(sizes, default=0)} bytes, expected {value}"


def check_unmapped(facts, _):
    if not any(r["how"] == 1 for r in facts.by_kind["UNMAP"]):
        yield f"{len(facts.by_kind['UNMAP'])} UNMAP records, none by overlap"


def check_bits(facts, value):
    of_samples = {facts.threads[t]["space"] for t in sample_threads(facts)}
    of_samples |= {r["space"] for r in facts.by_kind["THREAD_EXEC"] if r["thread"] in sample_threads(facts)}
    spaces = {r["id"] for r in facts.by_kind["SPACE"] if r["word_bits"] == int(value)} & of_samples
    images = {r["module"] for r in facts.by_kind["IMAGE"]}
    if not any(r["space"] in spaces and r["module"] in images for r in facts.by_kind["MAP"]):
        yield f"no space of {value} bits has samples and a vDSO image"


def check_encrypted(facts, _):
    if not facts.encrypted:
        yield "it is not encrypted"


def main():
    keys = [argument[10:] for argument in sys.argv if argument.startswith("encrypted=")]
    facts = Facts(sys.argv[1], reel_cipher.Identity(keys[0]) if keys else None)
    wrong = 0
    for argument in sys.argv[2:]:
        name, _, value = argument.partition("=")
        for line in globals()["check_" + name](facts, value):
            print(f"{sys.argv[1]}: {name}: {line}")
            wrong = 1
    return wrong


if __name__ == "__main__":
    sys.exit(main())
