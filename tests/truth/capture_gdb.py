#!/usr/bin/env python3
"""Compares samples of threads at rest with what gdb and /proc show afterwards.

    capture_gdb.py [--poke] STACKREEL PID FACTS CAPTURE...      FACTS: the output of programs/rest.c
    gdb -x capture_gdb.py                              (it starts this itself)

Checks every sample at the place where its thread rests:
  - each register in the capture equals gdb's; missing are only those that a system
    call lets the kernel change: rcx and r11 (the instruction's own: AMD64 manual, "SYSCALL"), and rax
    (its result)
  - each byte of each region is gdb's; bytes are missing exactly where pagemap shows no present
    page (read before gdb's reads load pages), and are read as 0
  - regions begin and end as SPEC.md, section 8 defines: at start_stack (/proc/PID/stat), the thread
    pointer (fs_base), or the alternate stack's end, as the program printed
  - the chain of pcs is gdb's backtrace, past main and past the entry
With --poke one bit of one stack is changed first: that must be the only difference.
"""

import collections
import json
import os
import struct
import subprocess
import sys
import tempfile

NAMES = ["rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
         "rip"]
MASK = (1 << 64) - 1
PAGE = os.sysconf("SC_PAGESIZE")
OF_KERNEL = {"rax", "rcx", "r11"}
RED_ZONE = 128


# ---- within gdb ------------------------------------------------------------------------------------

def frames_of(gdb):
    pcs, frame = [], gdb.newest_frame()
    while frame is not None:
        # An inlined function has no frame of its own on the stack.
        if frame.type() != gdb.INLINE_FRAME:
            pcs.append(frame.pc())
        frame = frame.older()
    return pcs


def inside_gdb(gdb):
    with open(os.environ["CAPTURE_GDB_WANTED"]) as file:
        wanted = json.load(file)
    found = {}
    inferior = gdb.selected_inferior()
    for thread in inferior.threads():
        tid = str(thread.ptid[1])
        if tid not in wanted:
            continue
        thread.switch()
        frame = gdb.newest_frame()
        registers = {name: int(frame.read_register(name)) & MASK for name in NAMES + ["fs_base"]}
        # An inlined innermost function shares its pc; bytes are read in their current state.
        memory = [bytes(inferior.read_memory(address, size)).hex() for address, size in wanted[tid]]
        found[tid] = {"registers": registers, "frames": frames_of(gdb), "memory": memory}
    with open(os.environ["CAPTURE_GDB_FOUND"], "w") as file:
        json.dump(found, file)


# ---- the capture's data ------------------------------------------------------------------------------

class Thread:
    def __init__(self, tid, how, depth, pc, alternate):
        self.tid, self.how, self.depth = int(tid), how, int(depth)
        self.pc, self.alternate = int(pc), int(alternate)
        self.samples = []   # (sample, chain) at rest, each distinct one once
        self.count = 0


def facts_read(path):
    with open(path) as file:
        lines = [line.split() for line in file]
    return {int(w[1]): Thread(*w[1:]) for w in lines if w[0] == "thread"}


def chains_of(stackreel, capture, tids):
    """(tid, time) -> pcs of the frames, leaf first."""
    chains = {}
    out = subprocess.run([stackreel, "script", "-q", "--ns", "--no-inline", capture], stdout=subprocess.PIPE, text=True,
                         check=True).stdout
    for block in out.split("\n\n"):
        lines = block.strip("\n").split("\n")
        if not lines[0]:
            continue
        head = lines[0].rsplit("[", 1)
        tid = int(head[0].split("/")[-1])
        seconds, fraction = head[1].split()[1].rstrip(":").split(".")
        if tid in tids:
            frames = [line.split() for line in lines[1:] if not line.strip().startswith("#")]
            chains[tid, int(seconds) * 10**9 + int(fraction)] = [int(f[0], 16) for f in frames]
    return chains


def samples_read(stackreel, capture, threads):
    chains = chains_of(stackreel, capture, threads)
    dump = subprocess.Popen([stackreel, "dump", "-q", "--json", "--bytes", capture], stdout=subprocess.PIPE, text=True)
    tids, seen = {}, set()
    for line in dump.stdout:
        record = json.loads(line)
        if record["record"] == "THREAD":
            tids[record["id"]] = record["tid"]
        if record["record"] != "SAMPLE":
            continue
        thread = threads.get(tids.get(record["thread"]))
        if not thread or record["pc"] != thread.pc or not record["registers"]:
            continue
        if record["where"] == 2 or thread.how not in ("sleep", "pause"):
            thread.count += 1
        else:
            # Between two calls: rax is a result, and gdb sees the thread in the next call.
            continue
        chain = chains.get((thread.tid, record["time"]))
        same = json.dumps([thread.tid, record["where"], record["flags"], record["registers"], record["regions"], chain])
        if same not in seen:
            seen.add(same)
            thread.samples.append((record, chain))
    if dump.wait() != 0:
        sys.exit(f"capture_gdb: {capture} has problems")


# ---- the kernel's data ---------------------------------------------------------------------------------

def start_stack(pid):
    with open(f"/proc/{pid}/stat") as file:
        return int(file.read().rsplit(")", 1)[1].split()[25])


def pages_absent(pid, address, size):
    """Ranges [offset, size] of a region whose pages are not present: pagemap's bit 63 (kernel's pagemap.rst)."""
    ranges = []
    with open(f"/proc/{pid}/pagemap", "rb") as file:
        for page in range(address & -PAGE, address + size, PAGE):
            file.seek(page // PAGE * 8)
            if struct.unpack("<Q", file.read(8))[0] >> 63:
                continue
            begin, end = max(page, address) - address, min(page + PAGE, address + size) - address
            if ranges and sum(ranges[-1]) == begin:
                ranges[-1][1] += end - begin
            else:
                ranges.append([begin, end - begin])
    return ranges


# ---- comparison -------------------------------------------------------------------------------------------

Counts = collections.Counter


def registers_compare(sample, found, counts):
    for number, _, value in sample["registers"]:
        name = NAMES[number]
        if value is None:
            counts["unknown registers"] += 1
            if sample["where"] != 2 or name not in OF_KERNEL:
                yield f"{name} is unknown, where {sample['where']}"
        else:
            counts["registers"] += 1
            if value != found["registers"][name]:
                yield f"{name} is {value:#x}, gdb has {found['registers'][name]:#x}"
    if len(sample["registers"]) != len(NAMES):
        yield f"{len(sample['registers'])} registers"


def region_compare(region, data, absent, counts):
    if region["missing"] != absent:
        yield f"missing: {region['missing']}, pagemap: {absent}"
    ours, theirs = bytes.fromhex(region["bytes"]), bytearray.fromhex(data)
    for offset, size in region["missing"]:
        counts["bytes missing"] += size
        theirs[offset:offset + size] = bytes(size)
    counts["bytes"] += len(ours)
    if ours != theirs:
        at = next(i for i in range(len(ours)) if ours[i] != theirs[i])
        yield f"byte {at} of {len(ours)} is {ours[at]:#x}, gdb has {theirs[at]:#x}"


def bounds_compare(sample, thread, found, main_top, counts):
    """The beginnings and ends of the regions."""
    sp = found["registers"]["rsp"]
    top = main_top if thread.is_main else found["registers"]["fs_base"]
    tops = [thread.alternate, top] if thread.alternate else [top]
    if [r["kind"] for r in sample["regions"]] != list(range(len(tops))):
        yield f"{len(sample['regions'])} regions"
        return
    for region, end in zip(sample["regions"], tops):
        counts["regions"] += 1
        if region["address"] + region["size"] != end:
            yield f"region {region['kind']} ends at {region['address'] + region['size']:#x}, not at {end:#x}"
    start, first = (sp - RED_ZONE) & -8, sample["regions"][0]
    if first["address"] != start and not (first["address"] == sp & -PAGE and start < sp & -PAGE):
        yield f"the region begins at {first['address']:#x}, sp is {sp:#x}"
    if sample["flags"]:
        yield f"flags {sample['flags']}"


def chain_compare(chain, found, counts):
    counts["frames"] += len(found["frames"])
    if chain != found["frames"]:
        same = 0
        while chain and same < min(len(chain), len(found["frames"])) and chain[same] == found["frames"][same]:
            same += 1
        yield (f"{len(chain or [])} frames, gdb has {len(found['frames'])}; the first {same} are the same, then "
               f"{[hex(p) for p in (chain or [])[same:same + 3]]} and {[hex(p) for p in found['frames'][same:same + 3]]}")


def poke(pid, threads):
    """Flips a bit of the last region's lowest present byte, the first of the red zone; returns the number of samples
    with that byte."""
    region = threads[max(threads)].samples[-1][0]["regions"][-1]
    missing = region["missing"]
    offset = missing[0][1] if missing and missing[0][0] == 0 else 0
    with open(f"/proc/{pid}/mem", "r+b", buffering=0) as file:
        file.seek(region["address"] + offset)
        byte = file.read(1)[0]
        file.seek(region["address"] + offset)
        file.write(bytes([byte ^ 4]))
    return len(threads[max(threads)].samples)


def gdb_run(pid, wanted):
    with tempfile.TemporaryDirectory() as directory:
        environment = dict(os.environ, CAPTURE_GDB_WANTED=directory + "/wanted", CAPTURE_GDB_FOUND=directory + "/found")
        with open(directory + "/wanted", "w") as file:
            json.dump(wanted, file)
        run = subprocess.run(["gdb", "-nx", "-batch", "-iex", "set debuginfod enabled off", "-ex", "set backtrace past-main on",
                              "-ex", "set backtrace past-entry on", "-ex", "set backtrace limit unlimited",
                              "-p", str(pid), "-x", os.path.abspath(__file__)],
                             env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        try:
            with open(directory + "/found") as file:
                return json.load(file)
        except FileNotFoundError:
            sys.exit("capture_gdb: gdb found nothing:\n" + run.stdout[-2000:])


def main():
    poked = sys.argv[1] == "--poke"
    stackreel, pid, facts, *captures = sys.argv[1 + poked:]
    threads = facts_read(facts)
    for capture in captures:
        samples_read(stackreel, capture, threads)
    main_top = start_stack(pid)
    wanted, absent = {}, {}
    for thread in threads.values():
        thread.is_main = thread.tid == int(pid)
        regions = [(r["address"], r["size"]) for sample, _ in thread.samples for r in sample["regions"]]
        wanted[thread.tid] = sorted(set(regions))
        absent[thread.tid] = [pages_absent(pid, *region) for region in wanted[thread.tid]]
    changed = poke(pid, threads) if poked else 0
    found = gdb_run(pid, wanted)
    counts, wrong, moved, hows = Counts(), 0, 0, Counts()
    for thread in threads.values():
        label = f"thread {thread.tid} ({thread.how}, depth {thread.depth}{', alternate' if thread.alternate else ''})"
        theirs = found.get(str(thread.tid))
        if not thread.samples or not theirs:
            print(f"{label}: {thread.count} samples at rest, {'known' if theirs else 'unknown'} to gdb")
            wrong += 1
            continue
        if theirs["registers"]["rip"] != thread.pc:
            # It was between two calls of nanosleep.
            moved += 1
            continue
        counts["samples"] += thread.count
        hows[f"{thread.how}{' on an alternate stack' if thread.alternate else ''}"] += 1
        for sample, chain in thread.samples:
            counts["different samples"] += 1
            problems = list(registers_compare(sample, theirs, counts))
            problems += bounds_compare(sample, thread, theirs, main_top, counts)
            for region in sample["regions"]:
                at = wanted[thread.tid].index((region["address"], region["size"]))
                problems += region_compare(region, theirs["memory"][at], absent[thread.tid][at], counts)
            problems += chain_compare(chain, theirs, counts)
            for problem in problems[:3]:
                print(f"{label}, sample {sample['id']}: {problem}")
            wrong += len(problems)
    print(f"{len(threads)} threads ({', '.join(f'{n} {how}' for how, n in sorted(hows.items()))}), {moved} had moved: "
          + ", ".join(f"{n} {what}" for what, n in counts.items()) + f"; {wrong} differences")
    if poked:
        return not 1 <= wrong <= changed
    return wrong != 0 or moved * 10 > len(threads)


try:
    import gdb as the_gdb
except ImportError:
    sys.exit(main())
else:
    inside_gdb(the_gdb)
