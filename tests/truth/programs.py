#!/usr/bin/env python3
"""Judges the traces of one program, made by any tool, by its files alone; programs.sh lists the programs.

    programs.py --label NAME --data PERF.DATA [--perf VERSION=FILE]... --ours FILE --recorded FILE [--dump FILE] [--file RECORDED=HERE]...
                [--table FILE] [--examples N]

--perf is the output of `perf script -F comm,pid,tid,time,ip,sym,dso` of that version for --data, --ours that of `addresses --names` for its
import, --recorded for our own capture of another run, and --dump its `dump --json --bytes`, for code outside of files. --file gives the place of a renamed file, or of its unstripped twin.

A trace is
    wrong       if one of its callers is impossible: its return address does not follow a call, or follows a direct one whose target, through
                PLT stubs and tail jumps, does not reach the callee. Code outside of files (of JITs) is reached only by functions that jump
                through registers or memory. A caller there is wrong in our own capture if the trace is called proved, but the bytes before
                the return address are unknown at that time, and no JIT has described that code, or always were a direct call into a file that does not reach the callee.
                Callers in ABSENT are wrong
    complete    if it is not wrong, and its outermost function has no caller: its CFI marks it as outermost, or it is the entry of an
                ELF file, or one of ROOTS, or its return address does not follow a call and the code there never returns
    proved      (ours) if its end is also "root reached", not "guessed"
Unnamed is the share of user frames without a function's name. Samples without user registers, and
those within execve, whose stack is gone, do not count. A sample that perf does not
print counts as a trace without frames.

Not judged, for any tool: callers of the kernel's signal trampoline and the trampoline as a caller (no call has led there); whether callers in code
outside files follow a call (JITs push return addresses); the outermost function's return address, if that function is a root
(makecontext, make_fcontext, goexit and Coro put it on the stack themselves; mcall and morestack leave it on the goroutine's, which may have been
freed since); callers of functions that end at an exception's handler. A thread that has not yet left the system call that made it, or checks its result, 0, has
one frame, and is whole (in our own recording, which is scrubbed, the 0 has to be trusted).
Indirect calls and jumps may lead anywhere.
"""

import argparse
import bisect
import collections
import json
import os
import re
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import perf_compare  # noqa: E402
import perf_data  # noqa: E402
import reference  # noqa: E402

ROOT, NO_USER_STATE, SIGNAL, KERNEL = 0, 10, 2, 5
# mov $__NR_rt_sigreturn, %rax (glibc, musl), or %eax (Go); syscall
SIGRETURNS = bytes.fromhex("48c7c00f0000000f05"), bytes.fromhex("b80f0000000f05")
# Functions that are not called, but whose CFI does not show that: musl's __clone, boost's make_fcontext, Go's goroutines and
# threads (gccgo: kickoff).
ROOTS = re.compile(r"(__clone|make_fcontext|runtime\.(goexit|kickoff|rt0_go|mstart|clone|mcall|morestack)(\.abi0)?|_rt0_amd64.*)$")
# Go notes this one as the place where a goroutine's stack continues, but it has called nothing.
NO_ROOT = re.compile(r"runtime\.systemstack_switch(\.abi0)?$")
# They return to where nothing was called: Go's signal handler as if from any instruction (runtime/preempt.go), OCaml and libgcc to handlers.
INJECTED = {"runtime.asyncPreempt.abi0", "caml_raise_exn", "caml_raise_exception", "_Unwind_RaiseException", "_Unwind_Resume", "_Unwind_Resume_or_Rethrow",
            "_Unwind_ForcedUnwind"}
UNNAMED = ("", "[unknown]")
PREFIX = re.compile(r"^((notrack|bnd|repz?|rex\S*|data16|cs) )+")
DIRECT_JUMP = re.compile(r"(?:j\S+|loop\S*|xbegin)\s+(?:0x)?([0-9a-f]+)\b")
INDIRECT_JUMP, SLOT = re.compile(r"jmp\S*\s+\*"), re.compile(r"# (?:0x)?([0-9a-f]+)")
# by a table of addresses, or of offsets: add %rdx,%rax; jmp *%rax
SWITCH = re.compile(r".*;jmp\S*\s+\*(0x[0-9a-f]+)?\(,|add\s+%\w+,(%\w+);jmp\S*\s+\*\2$")

# Functions that the sampled code never has on its stack, although their addresses are there (tests/programs/jit_reuse.c).
ABSENT = {"mistaken"}

Frame = collections.namedtuple("Frame", "path look_up returns named name address", defaults=(0,))


class File(reference.Module):
    """An ELF file's functions, relocations and calls. Addresses are the file's own."""

    def __init__(self, data, descriptor, path):
        super().__init__(data, descriptor)
        self.path, self.reached, self.dumped = path, {}, {}
        self.sections = self.read_sections()
        self.entry, = struct.unpack_from("<Q", data, 24)
        self.symbols, self.exported, self.relocated = [], {}, {}
        for name, kind, address, offset, size, link in self.sections:
            if kind in (2, 11):
                self.read_symbols(offset, size, self.sections[link], kind == 11)
        self.symbols.sort()
        self.starts = [symbol[0] for symbol in self.symbols]
        for name, kind, address, offset, size, link in self.sections:
            if kind == 4:
                self.read_relocations(offset, size, self.sections[link])
        self.fdes = self.read_fdes()
        self.fde_starts = [begin for begin, _ in self.fdes]
        # where code can begin, outside of entries
        self.edges = sorted({e for fde in self.fdes for e in fde} | set(self.starts) |
                            {edge for _, _, address, _, size, _ in self.sections if address for edge in (address, address + size)})

    def read_sections(self):
        table, = struct.unpack_from("<Q", self.data, 40)
        size, count, names = struct.unpack_from("<HHH", self.data, 58)
        if not table or table + size * count > len(self.data):
            return []
        raw = [struct.unpack_from("<IIQQQQI", self.data, table + i * size) for i in range(count)]
        at = raw[names][4] if names < count else 0
        return [(self.text(at + name), kind, address, offset, length, link) for name, kind, _, address, offset, length, link in raw]

    def text(self, at):
        return bytes(self.data[at:self.data.find(b"\0", at)]).decode(errors="replace")

    def section_of(self, vaddr):
        return next((name for name, kind, address, _, size, _ in self.sections if address and kind != 8 and address <= vaddr < address + size), "")

    def read_symbols(self, offset, size, strings, dynamic):
        for name, info, _, section, value, length in struct.iter_unpack("<IBBHQQ", self.data[offset:offset + size // 24 * 24]):
            if section and info & 15 in (0, 2, 10) and value and section < 0xFF00 and name:
                text = self.text(strings[3] + name)
                self.symbols.append((value, length, info & 15, text))
                if dynamic:
                    self.exported[text] = (value, info & 15)

    def read_relocations(self, offset, size, symbols):
        for slot, info, _ in struct.iter_unpack("<QQq", self.data[offset:offset + size // 24 * 24]):
            if info & 0xFFFFFFFF in (6, 7) and symbols[1] == 11:  # GLOB_DAT, JUMP_SLOT
                name, = struct.unpack_from("<I", self.data, symbols[3] + (info >> 32) * 24)
                self.relocated[slot] = self.text(self.sections[symbols[5]][3] + name)

    def read_fdes(self):
        """.eh_frame_hdr's table leads to them (LSB 5.0, 10.6.2): sdata4, relative to the section; in an FDE as GCC and LLVM encode it."""
        fdes = []
        header = next((s for s in self.sections if s[0] == ".eh_frame_hdr"), None)
        frame = next((s for s in self.sections if s[0] == ".eh_frame"), None)
        if not header or not frame or self.data[header[3]:header[3] + 4] != b"\x01\x1b\x03\x3b":
            return fdes
        count, = struct.unpack_from("<I", self.data, header[3] + 8)
        table = self.data[header[3] + 12:header[3] + 12 + 8 * count]
        for begin, fde in struct.iter_unpack("<ii", table[:len(table) // 8 * 8]):
            at = frame[3] + header[2] + fde - frame[2]
            _, _, start, length = struct.unpack_from("<IIiI", self.data, at)
            begin += header[2]
            if header[2] + fde + 8 + start == begin and length:
                fdes.append((begin, begin + length))
        return fdes

    def function(self, vaddr):
        """(begin, end) of the unwind entry, or else the symbol, or else the hole between them, that contains an
        address."""
        i = bisect.bisect_right(self.fde_starts, vaddr) - 1
        if i >= 0 and vaddr < self.fdes[i][1] and not self.section_of(vaddr).startswith(".plt"):
            return self.fdes[i]
        i = bisect.bisect_right(self.starts, vaddr) - 1
        if i >= 0 and vaddr < self.symbols[i][0] + self.symbols[i][1]:
            return self.symbols[i][0], self.symbols[i][0] + self.symbols[i][1]
        i = bisect.bisect_right(self.edges, vaddr)
        return (self.edges[i - 1] if i else 0), (self.edges[i] if i < len(self.edges) else vaddr + 4096)

    def names_at(self, vaddr):
        """Of the symbols that contain it: one with a size, or the last one before it."""
        i = bisect.bisect_right(self.starts, vaddr) - 1
        begin, j = (self.symbols[i][0] if i >= 0 else 0), i
        while j >= 0 and (self.symbols[j][0] == begin or j > i - 8):
            if self.symbols[j][0] + self.symbols[j][1] > vaddr or (not self.symbols[j][1] and self.symbols[j][0] == begin):
                yield self.symbols[j][3]
            j -= 1

    def is_goexit(self, at):
        """Go's outermost function, in a file without symbols (runtime/asm_amd64.s): nop; call goexit1; nop. goexit + 1 is stored as the caller."""
        code = self.code(at - 1, 7)
        return len(code) == 7 and code[0] == code[6] == 0x90 and code[1] == 0xE8 and any(name[0] == ".gopclntab" for name in self.sections)

    def is_root(self, look_up, is_caller):
        entry = self.entry <= look_up < self.entry + 0x40
        row = self.row(look_up)
        if row and row.rules[reference.RETURN_ADDRESS] is None and not row.signal:
            return True
        return entry or (is_caller and (self.is_goexit(look_up + 1) or self.is_stored(look_up) or any(ROOTS.match(name) for name in self.names_at(look_up))))

    def is_stored(self, at):
        """Perl's Coro stores abort's address as the outermost return address."""
        return "abort" in self.names_at(at) and "abort" not in self.names_at(at - 1)

    def never_returns(self, addresses):
        """The address does not follow a call, and the code there never returns."""
        return not any(self.calls_before(at) for at in addresses) and \
            any(self.section_of(at) and not self.leaves(at) for at in addresses)

    def calls_before(self, vaddr):
        """Calls that can end at an address: their targets, None for indirect ones (Intel SDM: e8; ff /2 by ModRM and
        SIB)."""
        code = self.code(vaddr - 7, 7)
        if len(code) < 7:
            return []
        found = []
        if code[2] == 0xE8:
            found.append((vaddr + struct.unpack_from("<i", code, 3)[0]) & reference.MASK)
        for length in (2, 3, 4, 6, 7):
            at = 7 - length
            if code[at] != 0xFF or code[at + 1] >> 3 & 7 != 2:
                continue
            mod, rm = code[at + 1] >> 6, code[at + 1] & 7
            sib = mod != 3 and rm == 4
            wide = mod == 2 or (mod == 0 and (rm == 5 or (sib and length > 2 and code[at + 2] & 7 == 5)))
            if length == 2 + sib + (mod == 1) + 4 * wide:
                found.append(None)
        return found

    def leaves(self, vaddr):
        """Where the function at an address goes without a call: direct targets, "anywhere" for an indirect jump that is not a
        switch."""
        begin, end = self.function(vaddr)
        if (vaddr, end) not in self.dumped:
            self.dumped[vaddr, end] = self.dump(vaddr, begin, min(end, vaddr + (1 << 14)))
        return self.dumped[vaddr, end]

    def dump(self, start, begin, end):
        # Only of the bytes: objdump takes a second to read the symbols of a large file.
        with tempfile.NamedTemporaryFile() as code:
            code.write(self.code(start, end - start))
            code.flush()
            text = subprocess.run(["objdump", "-D", "-b", "binary", "-m", "i386:x86-64", f"--adjust-vma={start:#x}", "--no-show-raw-insn", code.name],
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False).stdout
        targets, lines = set(), [line.split("\t", 1)[1] for line in text.splitlines() if line[:1] == " " and "\t" in line]
        lines = [PREFIX.sub("", line.strip()) for line in lines] or ["ret"]
        for before, line in zip(["", *lines], lines):
            if line[0] not in "jlxr":
                continue
            if line.startswith("ret"):
                targets.add("return")
            match = DIRECT_JUMP.match(line)
            if match:
                target = int(match[1], 16)
                if not begin <= target < end:
                    targets.add(target)
            elif INDIRECT_JUMP.match(line) and not SWITCH.match(f"{before};{line}"):
                slot = SLOT.search(line)
                targets.add(("slot", int(slot[1], 16)) if slot else "anywhere")
        last = lines[-1]
        if not re.match(r"(jmp|ret|ud2|hlt|call|int3|nop)", last):
            targets.add(end)  # it falls through to the following code
        return targets


class Judge:
    def __init__(self, files):
        self.files, self.named_files, self.pairs, self.roots = {}, files, {}, {}

    def file(self, path):
        path = path and path.removesuffix(" (deleted)")
        if path not in self.files:
            self.files[path] = self.open(self.named_files.get(path, path))
        return self.files[path]

    @staticmethod
    def open(path):
        try:
            if path == "[vdso]":
                return File(reference.own_vdso(), None, path)
            if not path or not os.path.isfile(path):
                return None
            with open(path, "rb") as file:
                return File(file.read(), os.open(path, os.O_RDONLY), path)
        except (OSError, reference.Unreadable, struct.error):
            return None

    def is_root(self, frame, is_caller=True):
        key = frame.path, frame.look_up, frame.returns, is_caller
        if key not in self.roots:
            file = self.file(frame.path)
            self.roots[key] = bool(file) and not any(NO_ROOT.match(name) for at in frame.returns for name in file.names_at(at)) and \
                                             (any(file.is_root(at, is_caller) for at in {frame.look_up, *frame.returns}) or
                                              (is_caller and not self.is_signal(frame) and file.never_returns(frame.returns)))
        return self.roots[key]

    def is_signal(self, frame):
        file = self.file(frame.path)
        return bool(file) and any(code in file.code(frame.look_up - 8, 18) for code in SIGRETURNS)

    def is_behind_system_call(self, frames):
        """At most the few bytes of code after it that check the result."""
        file = len(frames) == 1 and self.file(frames[0].path)
        return bool(file) and b"\x0f\x05" in file.code(frames[0].look_up - 12, 12)

    def wrong(self, callee, caller, outermost):
        """Why a caller is impossible, or None."""
        key = callee.path, callee.look_up, caller.path, caller.look_up, caller.returns, outermost
        if key not in self.pairs:
            self.pairs[key] = self.find_wrong(callee, caller, outermost)
        return self.pairs[key]

    def find_wrong(self, callee, caller, outermost):
        file = self.file(caller.path)
        if not file or self.is_signal(callee) or self.is_signal(caller) or (outermost and self.is_root(caller)):
            return None
        here = self.file(callee.path)
        if here and not INJECTED.isdisjoint(here.names_at(callee.look_up)):
            return None
        calls = [call for at in caller.returns for call in file.calls_before(at)]
        if not calls:
            return "not after a call"
        if None in calls or not (here or is_outside(callee)):
            return None
        for target in calls:
            if self.comes_to(file, target, callee, set()):
                return None
        return f"calls {calls[0]:#x} ({', '.join(file.names_at(calls[0]))})"

    def comes_to(self, file, target, callee, seen):
        """Does a call of `target` reach the callee without another call?"""
        todo = [(file, target)]
        while todo:
            file, at = todo.pop()
            if (file.path, at) in seen:
                continue
            if len(seen) > 64:
                return True
            seen.add((file.path, at))
            if not is_outside(callee) and file.path == self.file(callee.path).path:
                begin, end = file.function(callee.look_up)
                if begin <= at < end:
                    return True
            for leaf in file.leaves(at):
                if leaf == "anywhere":
                    return True
                if leaf == "return":
                    continue
                if isinstance(leaf, tuple):
                    name = file.relocated.get(leaf[1])
                    defined = [(other, *other.exported[name]) for other in self.files.values() if other and name in other.exported]
                    # Bound on the first call: by ld.so, to which PLT0 jumps. GNU_IFUNC: the called function differs.
                    if not defined or any(kind == 10 for _, _, kind in defined) or os.path.basename(callee.path or "").startswith("ld-linux"):
                        return True
                    todo += [(other, value) for other, value, _ in defined]
                else:
                    todo.append((file, leaf))
        return False


    def wrong_outside(self, code, key, callee, caller):
        """Why a caller in code outside of files cannot have called, at the time of a proved trace; or None."""
        forms = code.forms(*key[:2], caller.address - 5, 5)
        if not forms:
            return None if code.is_described(*key[:2], caller.address) else "its code is unknown"
        file = self.file(callee.path)
        for form in forms:
            if form[0] != 0xE8 or not file:
                return None
            target = (caller.address + int.from_bytes(form[1:], "little", signed=True)) - (callee.address - callee.returns[0])
            if not file.code(target, 1) or self.comes_to(file, target, callee, set()):
                return None
        return f"calls {target:#x} ({', '.join(file.names_at(target))})"


class Code:
    """Code outside of files as a capture has it (SPEC.md, 5 and 7)."""

    def __init__(self, path):
        self.spaces, self.records, self.described = collections.defaultdict(set), collections.defaultdict(list), collections.defaultdict(list)
        with open(path, errors="surrogateescape") as lines:
            for line in lines:
                record = json.loads(line)
                if record["record"] == "SPACE":
                    self.spaces[record["pid"]].add(record["id"])
                elif record["record"] in ("CODE", "CODE_END"):
                    self.add(record)
                else:  # JIT_UNWIND
                    self.described[record["space"]].append((record["time"], record["address"], record["address"] + record["size"]))

    def is_described(self, time, pid, address):
        """By a JIT's own unwind information."""
        return any(begin < address <= end and since <= time for space in self.spaces[pid] for since, begin, end in self.described[space])

    def add(self, record):
        data = bytes.fromhex(record["bytes"]) if "bytes" in record else None
        begin, end = record["address"], record["address"] + (len(data) if data else record["size"])
        for page in range(begin >> 12, (end - 1 >> 12) + 1):
            self.records[record["space"], page].append((record["time"], record.get("since") or record["time"], begin, end, data))

    def forms(self, time, pid, address, size):
        """The bytes that may have been there: as last found by then, and as found next if they may already have been there. None without
        one of them."""
        found = {self.read(space, time, address, size, which) for space in self.spaces[pid] for which in (0, 1)}
        return found - {None}

    def read(self, space, time, address, size, which):
        data = [None] * size
        for i in range(size):
            at = address + i
            for *times, begin, end, code in sorted(self.records[space, at >> 12], key=lambda record: record[which]):
                if begin <= at < end and times[which] <= time:
                    data[i] = code[at - begin] if code else None
        return None if None in data else bytes(data)


def is_outside(frame):
    """In no file: JIT code."""
    return not frame.path or frame.path.startswith(("//", "/memfd:", "[anon"))


class Tally:
    def __init__(self):
        self.samples = self.complete = self.proved = self.wrong = self.frames = self.unnamed = 0
        self.why = collections.Counter()
        self.ends = collections.Counter()

    def add(self, judge, frames, newborn, proved, stop, code=None, key=None):
        self.samples += 1
        # a return address of 0, or a number: not a place, and not a frame
        while frames and frames[-1].path is None and (frames[-1].look_up + 2) & reference.MASK < 4096:
            frames.pop()
        self.frames += len(frames)
        self.unnamed += sum(not frame.named for frame in frames)
        why = next(((callee, caller, why) for i, (callee, caller) in enumerate(zip(frames, frames[1:]))
                    if (why := "never on the stack" if caller.name in ABSENT else
                        judge.wrong(callee, caller, i + 2 == len(frames)) or
                        (code and proved and is_outside(caller) and judge.wrong_outside(code, key, callee, caller)))), None)
        if why:
            self.wrong += 1
            self.why[f"{show(why[0])} <- {show(why[1])}: {why[2]}"] += 1
        elif frames and (judge.is_root(frames[-1], len(frames) > 1) or (newborn and len(frames) == 1)):
            self.complete += 1
            self.proved += bool(proved)
            if proved is False:
                self.ends[f"{stop}, at the root {show(frames[-1])}"] += 1
        else:
            self.ends[f"{stop} {show(frames[-1]) if frames else 'no frame'}"] += 1

    def percent(self, count, of=None):
        of = self.samples if of is None else of
        return f"{100 * count / of:.2f}" if of else "-"


def show(frame):
    return f"{frame.name if frame.named else '?'} {os.path.basename(frame.path or '-')}:{frame.look_up:x}"


def our_frames(fields):
    """The user frames, and whether the thread has not run yet; None if the sample is within execve."""
    frames, newborn = [], False
    for field in fields:
        head, _, name = field.partition("|")
        address, step, exact, module_address, path = head.split(":", 4)
        if int(step) == KERNEL:
            if "execve" in name:
                return None, newborn
            newborn |= "ret_from_fork" in name
            continue
        at = int(module_address if path else address, 16)
        frames.append(Frame(path or None, at if exact == "1" else at - 1, (at,), name not in UNNAMED, name, int(address, 16)))
    return frames, newborn


def read_ours(path):
    with open(path, errors="surrogateescape") as lines:
        for line in lines:
            head, *fields = line.rstrip("\n").split("\t")
            time, pid, tid, stop = (int(n) for n in head.split())
            yield (time, pid, tid), stop, *our_frames(fields)


def parse_perf(path):
    """(time, pid, tid) to traces of (address, symbol, file)."""
    traces, trace = collections.defaultdict(collections.deque), None
    with open(path, errors="surrogateescape") as lines:
        for line in lines:
            line = line.rstrip("\n")
            if not line:
                trace = None
            elif trace is None or not line[0].isspace():
                cut = re.match(r"(.*\s\d+/\d+\s+\d+\.\d+:)(.*)", line)
                trace = []
                traces[perf_compare.header(cut[1])].append(trace)
                if cut[2].strip():
                    add_frame(trace, cut[2].strip())
            else:
                add_frame(trace, line.strip())
    return traces


def add_frame(trace, text):
    address, _, rest = text.partition(" ")
    begin = next((at for at in map(rest.rfind, (" (/", " ([", " (")) if at >= 0), len(rest))
    address = int(address, 16)
    trace.append((address, rest[:begin].strip(), rest[begin + 2:-1]))


class PerfFrames:
    """perf's addresses as places in files. 6.x prints offsets in files, 7.x addresses; both name a caller by the preceding
    byte."""

    def __init__(self, judge, data):
        self.judge, self.data, self.cache, self.alive = judge, data, {}, {}

    def place(self, pid, address):
        mappings = self.data.mappings.get(pid, ())
        self.alive[id(mappings)] = mappings
        key = id(mappings), len(mappings), address
        if key not in self.cache:
            mapping = self.data.mapping(pid, address)
            file = mapping and mapping.path[:2] != "//" and self.judge.file(mapping.path)
            at = file.vaddr(address - mapping.start + mapping.offset) if file else None
            self.cache[key] = (mapping.path, at) if at is not None else (None, address)
        return self.cache[key]

    def frames(self, pid, trace, offsets):
        frames = []
        for i, (address, symbol, dso) in enumerate(trace):
            if offsets:
                file = dso[:1] in "/[" and self.judge.file(dso)
                at = file.vaddr(address) if file else None
                path, at = (dso, at) if at is not None else (None, address)
            else:
                path, at = self.place(pid, address)
            frames.append(Frame(path, at, (at + 1, at) if i else (), symbol not in UNNAMED, symbol))
        return frames


def user_part(trace, n_kernel):
    return [frame for frame in trace[n_kernel:] if frame[0] != perf_compare.NO_PC]


def print_offsets(data_path, perf):
    """Whether a version prints offsets: then its first user address is never the sample's pc."""
    votes = collections.Counter()
    for sample in perf_data.File(data_path).samples():
        found = perf.get((sample.time, sample.pid, sample.tid))
        if sample.registers and found and len(found[0]) > len(sample.kernel):
            votes[found[0][len(sample.kernel)][0] == sample.registers[reference.RETURN_ADDRESS]] += 1
        if sum(votes.values()) > 500:
            break
    return votes[False] > votes[True]


def judge_data(judge, arguments, tallies):
    perfs = {name: parse_perf(path) for name, _, path in (text.partition("=") for text in arguments.perf)}
    offsets = {name: print_offsets(arguments.data, perf) for name, perf in perfs.items()}
    ours = collections.defaultdict(collections.deque)
    for key, *trace in read_ours(arguments.ours):
        ours[key].append(trace)
    data = perf_data.File(arguments.data)
    places = PerfFrames(judge, data)
    for sample in data.samples():
        if sample.registers is None:
            continue
        key = sample.time, sample.pid, sample.tid
        stop, frames, newborn = ours[key].popleft() if ours.get(key) else (None, [], False)
        if frames is None:
            continue
        newborn |= sample.registers[0] == 0 and judge.is_behind_system_call(frames)
        tallies["ours"].add(judge, frames, newborn, stop == ROOT, stop_name(stop))
        for name, perf in perfs.items():
            trace = perf[key].popleft() if perf.get(key) else []
            frames = places.frames(sample.pid, user_part(trace, len(sample.kernel)), offsets[name])
            tallies[name].add(judge, frames, newborn, None, "ends in")


def stop_name(stop):
    return "not there" if stop is None else perf_compare.STOPS[stop]


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    for name in ("label", "data", "ours", "recorded", "dump", "table"):
        parser.add_argument(f"--{name}")
    parser.add_argument("--perf", action="append", default=[])
    parser.add_argument("--file", action="append", default=[])
    parser.add_argument("--examples", type=int, default=3)
    arguments = parser.parse_args()
    judge = Judge(dict(text.split("=", 1) for text in arguments.file))
    tallies = collections.defaultdict(Tally)
    if arguments.data:
        judge_data(judge, arguments, tallies)
    if arguments.recorded:
        code = Code(arguments.dump) if arguments.dump else None
        for key, stop, frames, newborn in read_ours(arguments.recorded):
            if stop != NO_USER_STATE and frames is not None:
                newborn |= stop == ROOT and judge.is_behind_system_call(frames)
                tallies["recorded"].add(judge, frames, newborn, stop == ROOT, stop_name(stop), code, key)
    for name, tally in tallies.items():
        proved = tally.percent(tally.proved) if name in ("ours", "recorded") else "-"
        row = (arguments.label, name, tally.samples, tally.percent(tally.complete), proved,
               tally.percent(tally.wrong), tally.percent(tally.unnamed, tally.frames))
        print("%-16s %-9s %6d samples: %6s %% complete, %6s %% proved, %6s %% wrong, %6s %% of frames unnamed" % row)
        for what, counter in (("wrong", tally.why), ("end", tally.ends)):
            for text, count in counter.most_common(arguments.examples):
                print(f"    {count:6d} {what}: {text}")
        if arguments.table:
            with open(arguments.table, "a") as table:
                print(*row, sep="\t", file=table)


if __name__ == "__main__":
    main()
