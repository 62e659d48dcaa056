#!/usr/bin/env python3
"""Compares our traces of a perf.data with those of perf script, and decides for every difference who is right.

    perf_compare.py --data FILE --ours FILE --perf NAME=FILE... [--alone NAME=COMMAND]... [--label TEXT] [--minimum PERCENT]
                    [--examples N]

--ours is the output of `addresses`, each --perf that of `perf script --ns -F comm,pid,tid,time,ip,dso` of that version, both for the
same --data. --alone names the command that starts that perf, to check single samples again.

A third unwinder (reference.py: libdw's rows, the sample's bytes, no guesses) decides. Classes:

    equal                          every pc, kernel and user (additions by perf where nothing was captured are named)
    ours longer and right: WHY     perf's chain is the start of ours, and the rest follows from CFI and bytes
    perf made up frames: WHY       ours is the start of perf's, and by CFI or bytes the chain ends there
    perf wrong: WHY                the chains part, and ours agrees with CFI and bytes
    ours shorter: WHY              ours ends where the CFI does, perf continues by other means
    not judged: WHY                the CFI is unavailable
    UNEXPLAINED                    everything else

WHY is a fault of perf that was reproduced for this sample: the third unwinder with that fault ends where perf does, or perf without the
cause of the fault prints our chain. Exit status 1 if less than --minimum percent are right, or anything is unexplained.
"""

import argparse
import bisect
import collections
import os
import shlex
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import perf_data  # noqa: E402
import reference  # noqa: E402

STOPS = ("root reached", "end of the captured bytes", "stack cut", "no unwind info", "bad unwind info", "no progress", "depth limit",
         "module missing", "no mapping", "register unknown", "no user state", "end of the recorded chain", "unknown CPU", "scrubbed away",
         "guessed root", "on another stack")
SIGNAL, FRAME_POINTER, UNDO_CALL, KERNEL, SYNTHESIZED = 2, 3, 4, 5, 8

# perf names a caller by its return address less one
NO_PC = (1 << 64) - 1
OTHERS = "not compared: another program of this host"
NO_REASON = "no reason in CFI and bytes"
FAULTS = (
    ("a register was just popped: perf reads its slot below sp, and stops", {"popped": "stop"}),
    ("a register was just popped: perf treats it as lost, and needs it further up", {"popped": "lose"}),
    ("perf does not read the last captured word", {"shorter": 8}),
    ("perf does not read the last two captured words", {"shorter": 16}),
)

Ours = collections.namedtuple("Ours", "stop kernel user steps")
Perf = collections.namedtuple("Perf", "kernel user")
Difference = collections.namedtuple("Difference", "name sample perf ours reference at")


def read_ours(path):
    traces = collections.defaultdict(collections.deque)
    with open(path) as lines:
        for line in lines:
            time, pid, tid, stop, *frames = line.split()
            parsed = [(int(a, 16), int(s)) for a, _, s in (f.partition(":") for f in frames)]
            kernel = [a for a, s in parsed if s == KERNEL]
            user = parsed[len(kernel):]
            traces[int(time), int(pid), int(tid)].append(Ours(int(stop), kernel, [a for a, _ in user], [s for _, s in user]))
    return traces


def header(line):
    """`COMM PID/TID TIME:`; a comm may hold spaces."""
    words = line.rsplit(None, 2)
    pid, _, tid = words[-2].partition("/")
    seconds, _, fraction = words[-1].rstrip(":").partition(".")
    return int(seconds) * 10**9 + int(fraction.ljust(9, "0")), int(pid), int(tid)


def parse_perf(lines, comms=None):
    traces = collections.defaultdict(collections.deque)
    key = trace = None
    for line in lines:
        line = line.rstrip("\n")
        if not line.strip():
            key = None
        elif key is None or not line[0].isspace():
            line = line.rstrip()
            cut = line.find(": ", line.rfind("/") if " (" not in line else line.rfind("/", 0, line.find(" (")))
            head, rest = (line[:cut + 1], line[cut + 1:].strip()) if cut >= 0 else (line, "")
            key, trace = header(head), []
            traces[key].append(trace)
            if comms is not None:
                comms[key] = head.rsplit(None, 2)[0].strip()
            if rest:  # without a chain the pc is on the same line
                add_frame(trace, rest)
        else:
            add_frame(trace, line.strip())
    return traces


def add_frame(trace, text):
    """`ADDRESS (FILE)`; from a pipe 6.x prints `ADDRESS SYMBOL (FILE)`. A file may end in ` (deleted)`, a symbol may hold brackets."""
    address, _, rest = text.partition(" ")
    begin = next((at for at in map(rest.rfind, ("(/", "([", "(")) if at >= 0), 0)
    trace.append((int(address, 16), rest[begin + 1:-1]))


class Judge:
    def __init__(self, data):
        self.data, self.modules = data, reference.Modules()

    def same(self, frame, address, step, next_step, pid):
        """perf names a caller by its call, one byte before the return address; up to 6.x as an offset in the file, not the
        address."""
        got, dso = frame
        wanted = {address} if step in (0, SIGNAL, None) else {address - 1}
        if SIGNAL in (step, next_step):  # libunwind and libdw disagree about which frames beside a signal are calls
            wanted = {address, address - 1}
        if got in wanted:
            return True
        for pc in wanted:
            mapping = self.data.mapping(pid, pc)
            if mapping and got == pc - mapping.start + mapping.offset and dso_same(dso, mapping.path):
                return True
        return False

    def common(self, sample, perf, ours, steps):
        if sample.registers is None:  # the kernel's addresses, unchanged
            steps = [None] * len(steps)
        steps = steps + [None]
        for i, (frame, address) in enumerate(zip(perf, ours)):
            if not self.same(frame, address, steps[i], steps[i + 1], sample.pid):
                return i
        return min(len(perf), len(ours))

    def unwind(self, sample, **how):
        return reference.unwind(sample, lambda address: self.code(sample.pid, address), self.modules, **how)

    def code(self, pid, address):
        mapping = self.data.mapping(pid, address)
        return mapping if mapping and mapping.executable else None

    def classify(self, sample, perf, ours):
        if not sample.kernel == ours.kernel == [a for a, _ in perf.kernel]:
            return Difference("UNEXPLAINED: kernel frames", sample, perf, ours, None, 0)
        at = self.common(sample, perf.user, ours.user, ours.steps)
        if sample.registers is None:  # only the kernel's chain exists
            same = sample.user_chain == ours.user == [a for a, _ in perf.user] or \
                (sample.user_chain == ours.user and at == len(perf.user) == len(ours.user))
            if sample.odd_marker and not perf.user and sample.user_chain == ours.user:
                return Difference("ours longer and right: the kernel's chain by frame pointers holds a number like an unknown marker, "
                                  "and perf drops it all", sample, perf, ours, None, at)
            return None if same else Difference("UNEXPLAINED: chain by frame pointers", sample, perf, ours, None, at)
        if at == len(perf.user) == len(ours.user):
            return None
        judged = self.unwind(sample)
        return Difference(self.name(sample, perf, ours, judged, at), sample, perf, ours, judged, at)

    def name(self, sample, perf, ours, judged, at):
        if [f.pc for f in judged.frames] != ours.user:
            return self.name_other(perf, ours, judged, at)
        added = ""
        if perf.user and perf.user[-1][0] == NO_PC and at < len(perf.user):
            perf, added = Perf(perf.kernel, perf.user[:-1]), ", and perf adds a frame at pc 0"
            if at == len(perf.user) == len(ours.user) and judged.stop.startswith("return address: slot not captured"):
                return f"equal{added} where the return address was not captured"
        if at == len(ours.user):
            if judged.stop == "no CFI":
                return f"ours shorter: no CFI, perf goes on without{added}"
            return f"perf made up frames: {judged.stop}{added}"
        kind = "ours longer and right" if at == len(perf.user) else "perf wrong"
        return f"{kind}: {self.why(sample, perf, judged, at)}{added}"

    @staticmethod
    def name_other(perf, ours, judged, at):
        """We and the reference part: it does not guess."""
        n = len(judged.frames)
        if judged.stop == "no file" and at == len(perf.user) and [f.pc for f in judged.frames] == ours.user[:n] and \
                set(ours.steps[n:]) == {FRAME_POINTER}:
            return "not judged: the code's file is gone, and we go on by frame pointers"
        if judged.stop == "no CFI" and at == len(perf.user) == n and [f.pc for f in judged.frames] == ours.user[:n] and \
                ours.steps[n] in (UNDO_CALL, SYNTHESIZED):
            return "not judged: there is no CFI, and we go on by what the code does"
        return (f"UNEXPLAINED: reference stops with '{judged.stop}' after {n}, ours with '{STOPS[ours.stop]}' after {len(ours.user)}, "
                f"perf after {len(perf.user)}, {at} in common with us")

    def why(self, sample, perf, judged, at):
        """The first known fault that makes the reference end where perf did."""
        if judged.stop in ("no mapping", "no file") and at == len(perf.user) == len(judged.frames) - 1:
            return f"the last pc is in no known code ({judged.stop}), and perf leaves it out"
        if at and isinstance(judged.frames[at - 1].row, reference.CrtRow):
            return "crti.S and crtn.S, the parts of .init and .fini, have no CFI, and perf stops or guesses there"
        if not sample.stack and not perf.user:
            return "no stack was captured, and perf leaves out the sample's own pc"
        for fault, how in FAULTS:
            if len(self.unwind(sample, **how).frames) == at == len(perf.user):
                return fault
        return NO_REASON


def dso_same(dso, path):
    return dso == path or os.path.basename(dso) == os.path.basename(path) or (dso == "[vdso]" and path == "[vdso]")


def look_again(command, path, judge, ours, differences):
    """perf's output for the same samples when the cause of a known fault is removed: (difference, fault) if that is our
    chain."""
    unclear = [d for d in differences if NO_REASON in d.name]
    for fault, traces in (("perf uses mappings from before an exec; without them", without_history),
                          ("an earlier pc in a data segment made perf mistake a file's base; after that sample",
                           behind_data)):
        for some, again in traces(command, path, judge.data, ours, unclear):
            for difference in some:
                sample, own = difference.sample, difference.ours
                found = again.get((sample.time, sample.pid, sample.tid))
                user = found[0][len(sample.kernel):] if found else None
                if user is None:
                    continue
                at = judge.common(sample, user, own.user, own.steps)
                if at == len(user) == len(own.user):
                    yield difference, f"{fault} it prints our chain"
                    unclear.remove(difference)
                    continue
                name = judge.name(sample, Perf(sample.kernel, user), own, difference.reference, at)
                if name.startswith(("equal, ", "ours longer and right")) and NO_REASON not in name:
                    yield difference, f"{fault} only this is left: {name.removeprefix('ours longer and right: ')}"
                    unclear.remove(difference)


def without_history(command, path, data, ours, differences):
    """6.x keeps a process's mappings over exec, and uses the lowest mapping of a file as its base: so it misses the CFI of every
    library that was mapped lower before."""
    execs = data.last_execs()
    some = [d for d in differences if d.sample.time > execs.get(d.sample.pid, d.sample.time)]
    if some:
        with tempfile.TemporaryDirectory(dir=os.path.dirname(path)) as folder:
            other = os.path.join(folder, "perf.data")
            data.write_without_history(other)
            yield some, run_perf(command, other)


def behind_data(command, path, data, ours, differences):
    """If a chain reaches a pc in a data segment, 7.x computes the file's base as `start - offset` of that mapping, which differs from
    the code's where p_vaddr != p_offset. It keeps one address space for all samples of a process, and the file is at the wrong
    base from then on."""
    poison = sorted({key[0] for key, own in ours if own.stop not in (STOPS.index("root reached"), STOPS.index("no user state"))})
    segments = collections.defaultdict(list)
    for difference in differences:
        segments[bisect.bisect_left(poison, difference.sample.time)].append(difference)
    for segment, some in segments.items():
        if segment:
            start, end = poison[segment - 1] + 1, some[-1].sample.time
            yield some, run_perf(command, path, "--time", ",".join(f"{t // 10**9}.{t % 10**9:09d}" for t in (start, end)))


def run_perf(command, data_path, *more):
    run = subprocess.run([*shlex.split(command), "script", "--ns", "--no-inline", "--max-stack", "20000", "-F", "comm,pid,tid,time,ip,dso",
                          *more, "-i", data_path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, errors="surrogateescape",
                         check=False)
    return parse_perf(run.stdout.splitlines())


def show(difference, judge, out=sys.stdout):
    sample, ours, judged, at = difference.sample, difference.ours, difference.reference, difference.at
    print(f"    sample {sample.time} of {sample.pid}/{sample.tid}: {len(difference.perf.user)} frames of perf, {len(ours.user)} of ours "
          f"({STOPS[ours.stop]}); {at} in common", file=out)
    if not judged:
        print(f"      perf {[hex(a) for a, _ in difference.perf.kernel + difference.perf.user]} ours "
              f"{[hex(a) for a in ours.kernel + ours.user]} file {[hex(a) for a in sample.kernel + sample.user_chain]}", file=out)
        return
    print(f"      reference: {len(judged.frames)} frames, {judged.stop}", file=out)
    for i in range(max(0, at - 1), min(at + 2, max(len(ours.user), len(difference.perf.user), len(judged.frames)))):
        mine = f"{ours.user[i]:x}:{ours.steps[i]}" if i < len(ours.user) else "-"
        theirs = f"{difference.perf.user[i][0]:x} ({difference.perf.user[i][1]})" if i < len(difference.perf.user) else "-"
        line = f"      frame {i}: ours {mine}, perf {theirs}"
        if i < len(judged.frames):
            frame = judged.frames[i]
            line += f"; reference {frame.pc:x}"
            if frame.mapping:
                line += f" in {os.path.basename(frame.mapping.path)}"
            if frame.vaddr is not None:
                line += f" at {frame.vaddr:#x}"
            if frame.cfa is not None:
                module = judge.modules.get(frame.mapping.path)
                line += (f", CFA sp0+{frame.cfa - sample.stack_address:#x} of {len(sample.stack):#x}, "
                         f"code {module.code(frame.vaddr - 7, 8).hex()}")
            for note in frame.notes:
                line += f", {note[0]} {note[1]} at sp0{note[2] - sample.stack_address:+#x}"
        print(line, file=out)


def main():
    parser = argparse.ArgumentParser()
    for name in ("--data", "--ours"):
        parser.add_argument(name, required=True)
    parser.add_argument("--perf", action="append", required=True)
    parser.add_argument("--alone", action="append", default=[])
    parser.add_argument("--label", default="")
    parser.add_argument("--minimum", type=float, default=99.9)
    parser.add_argument("--comm", help="of processes compare those of this name only, and what has no user stack")
    parser.add_argument("--table", help="append a line for each class: label, version, count, total, class")
    parser.add_argument("--examples", type=int, default=1)
    options = parser.parse_args()
    commands = dict(a.split("=", 1) for a in options.alone)

    failed = False
    for version, path in (p.split("=", 1) for p in options.perf):
        with open(path, errors="surrogateescape") as lines:
            comms = {}
            theirs = parse_perf(lines, comms)
        failed |= not compare(options, version, theirs, comms, dict(a.split("=", 1) for a in options.alone).get(version))
    return 1 if failed else 0


def compare(options, version, theirs, comms, command):
    ours = read_ours(options.ours)
    all_ours = [(key, trace) for key, traces in ours.items() for trace in traces]
    data = perf_data.File(options.data)
    judge = Judge(data)
    counts, differences = collections.Counter(), []
    total = frames = 0
    for sample in data.samples():
        total += 1
        key = sample.time, sample.pid, sample.tid
        found = [traces[key].popleft() if traces.get(key) else None for traces in (theirs, ours)]
        if None in found:
            counts[f"UNEXPLAINED: no such sample in {'perf' if found[0] is None else 'ours'}"] += 1
            continue
        if options.comm and sample.registers and comms.get(key) != options.comm:
            counts[OTHERS] += 1
            continue
        # the chain in the file itself shows how many of perf's lines are the kernel's
        found[0] = Perf(found[0][:len(sample.kernel)], found[0][len(sample.kernel):])
        frames += len(found[1].kernel) + len(found[1].user)
        difference = judge.classify(sample, *found)
        if difference:
            differences.append(difference)
        else:
            counts["equal"] += 1
    for name, traces in (("perf", theirs), ("ours", ours)):
        left = sum(map(len, traces.values()))
        if left:
            counts[f"UNEXPLAINED: {name} has samples that are not in the file"] += left

    cleared = {id(d): fault for d, fault in look_again(command, options.data, judge, all_ours, differences)} if command else {}
    classes = collections.defaultdict(list)
    for d in differences:
        name = d.name.replace(NO_REASON, cleared.get(id(d), NO_REASON))
        if NO_REASON in name:
            name = f"UNEXPLAINED: {name}"
        counts[name] += 1
        classes[name].append(d)
    return report(options, version, counts, classes, judge, total, frames)


def report(options, version, counts, classes, judge, total, frames):
    def share(*names):
        return 100 * sum(n for name, n in counts.items() if name.startswith(names)) / max(total, 1)

    total -= counts.get(OTHERS, 0)
    right = share("equal", "ours longer and right", "perf made up frames", "perf wrong")
    # Of a thousand samples, one or two are in code without CFI.
    fine = right + min(share("not judged"), 0.5) >= options.minimum and not any(name.startswith("UNEXPLAINED") for name in counts)
    print(f"{options.label} perf {version}: {total} samples, {frames} frames; {share('equal'):.3f} % equal, "
          f"{share('equal', 'ours longer and right'):.3f} % equal or ours longer and right, {right:.3f} % right"
          f"{'' if fine else '  FAILED'}")
    for name, count in sorted(counts.items(), key=lambda item: -item[1]):
        print(f"  {count:7} {f'{100 * count / max(total, 1):8.3f} %' if name != OTHERS else '':10}  {name}")
        if options.table and name != OTHERS:
            with open(options.table, "a") as table:
                print(options.label, version, count, total, name, sep="\t", file=table)
        for difference in classes[name][:options.examples]:
            show(difference, judge)
    return fine


if __name__ == "__main__":
    sys.exit(main())
