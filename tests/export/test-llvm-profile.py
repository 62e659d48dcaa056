#!/usr/bin/env python3
"""stackreel export --format=llvm-sample-profile: the input of clang's -fprofile-sample-use.

Programs built here by clang and gcc, in captures made by hand with samples all over their code. The profile is computed again from
llvm-symbolizer's answers (functions, the lines where they begin, discriminators, inlined calls) for every instruction that
llvm-objdump finds, by the rules of LLVM's documentation; llvm-profdata reads it and writes the same bytes, and clang compiles with
it.

    O=DIR   the object directory (build)
"""

import collections
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "tests"), os.path.join(ROOT, "tests/reader")]
import counting
import reel_builder as b
import reel_cases

TOOL = os.path.join(ROOT, os.environ.get("O", "build"), "stackreel")
BASE = 0x555500000000

count = counting.Count()
work = tempfile.mkdtemp()

SOURCE = r"""
#include <stdio.h>
#include <stdlib.h>
#define PICK(x) ((x) & 4 ? (x) * 3 : (x) & 2 ? (x) - 7 : (x) ^ 0x55)
#ifdef __clang__ /* gcc's assembler cannot */
int strange(int x) __asm__("odd name:strange");
#endif
__attribute__((noinline)) int strange(int x) { return x * 5 + 1; }

namespace shop {
struct Order { int amounts[64]; int n; int total() const; virtual int price(int x) { return x + n; } virtual ~Order() {} };
extern "C" __attribute__((noinline)) int plain_c(int x) { return PICK(x) + 1; }

static inline int clamp(int x, int low)
{
    if (x < low) return low; else if (x > 1000) return 1000;
    return x;
}
static inline int inner(int x) { return plain_c(x) - 1; }
static inline int outer(int x) { return inner(x + 2) * 3; }
template <typename T> static inline T twice(T x) { return clamp(x, 3) + clamp(x, 5); }

__attribute__((noinline))
int Order::total() const
{
    int sum = 0;

    for (int i = 0; i < n; i++) sum += PICK(amounts[i]) > 10 ? twice(amounts[i]) : amounts[i] & 3 ? clamp(sum, 2) : -1;
    for (int i = 0; i < 64; i++)
        sum ^= amounts[i];
    return sum;
}
}

typedef int (*operation)(int);
static __attribute__((noinline)) int add(int x) { return x + 40; }
static __attribute__((noinline)) int subtract(int x) { return x - 40; }
operation operations[] = { add, subtract, shop::plain_c, strange };

__attribute__((noinline)) int apply(unsigned which, int x)
{
    if (which > 3) abort();
    return operations[which & 3](x) + 1;
}

int main(int argc, char **argv)
{
    shop::Order order = {};
    int sum = 0;

    order.n = argc + 30;
    for (int i = 0; i < 64; i++)
        order.amounts[i] = i * argc;
    for (int i = 0; i < (argc > 1 ? atoi(argv[1]) : 2); i++)
        sum += order.total() + apply((unsigned)i & 3, sum) + shop::outer(sum);
    printf("%d\n", sum);
    return 0;
}
"""


def run(*arguments, **options):
    return subprocess.run(arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, **options)


def text(*arguments):
    done = run(*arguments)
    if done.returncode:
        raise RuntimeError("%s: %s" % (" ".join(arguments), done.stderr.decode(errors="replace")))
    return done.stdout.decode(errors="replace")


# ---- a program, and the answers of LLVM's tools -------------------------------------------------------


class Program:
    def __init__(self, name, compiler, *flags):
        self.name, self.flags = name, flags
        self.path = os.path.join(work, name)
        source = os.path.join(work, "shop.cpp")
        with open(source, "w", encoding="ascii") as file:
            file.write(SOURCE)
        text(compiler, "-O2", *flags, "-Wl,--build-id", "-o", self.path, source)
        self.build_id = bytes.fromhex(re.search(r"Build ID: (\w+)", text("readelf", "-n", self.path)).group(1))
        self.segments = [[int(number, 16) for number in line.split()[1:6]] for line in
                         text("readelf", "-lW", self.path).splitlines() if re.match(r" *LOAD .* R E ", line)]
        self.functions, self.names = {}, {}
        for line in text("nm", "-S", self.path).splitlines():
            match = re.match(r"(\w+) (\w+) [tTwW] (.+)", line)
            if match and int(match.group(2), 16):
                self.functions.setdefault(int(match.group(1), 16), int(match.group(2), 16))
                self.names[match.group(3)] = int(match.group(1), 16)
        self.calls = {}  # the return address of each call, by the call's address
        self.instructions = self.disassemble()
        self.places = self.symbolize(sorted(self.instructions))

    def disassemble(self):
        """Addresses mapped to the beginnings of their functions."""
        found, last = {}, None
        for line in text("llvm-objdump", "-d", "--no-show-raw-insn", self.path).splitlines():
            match = re.match(r" *([0-9a-f]+):\s+(\S+)\s*(.*)", line)
            if not match:
                continue
            address = int(match.group(1), 16)
            if last is not None:
                self.calls[last] = address
            last = address if match.group(2).startswith("call") and "*" in match.group(3) else None
            for begin, size in self.functions.items():
                if begin <= address < begin + size:
                    found[address] = begin
        return found

    def symbolize(self, addresses):
        """For each, the functions there, innermost first: (name, line, the function's line, discriminator)."""
        process = subprocess.run(["llvm-symbolizer", "--output-style=JSON", "--no-demangle", "--functions=linkage", "--inlines", "--obj=" + self.path],
                                 input="".join("0x%x\n" % address for address in addresses), stdout=subprocess.PIPE, check=True, text=True)
        answers = []
        for line in process.stdout.splitlines():  # a line each, or all in a list
            answer = json.loads(line)
            answers += answer if isinstance(answer, list) else [answer]
        return {int(answer["Address"], 16): [(it["FunctionName"], it["Line"], it["StartLine"], it["Discriminator"]) for it in answer["Symbol"]]
                for answer in answers}

    def capture(self, name, samples, kernel=0, events=("cycles",)):
        """`samples`: (address, return address or None). A capture of these, with that many in the kernel."""
        out = b.Samples()
        out.layout(1, reel_cases.X86)
        for i, (address, caller) in enumerate(samples):
            stack = (BASE + caller if caller else 0).to_bytes(8, "little") + bytes(56)
            out.sample(i + 1, 1000 + i, event=1 + i % len(events), pc=BASE + address, layout=1, values=[1, 0x7000, BASE + address, 2],
                       regions=[b.Region(0x7000, stack)])
        for i in range(kernel):
            out.sample(len(samples) + i + 1, 9000 + i, pc=BASE + 1, layout=1, values=[1, 0x7000, BASE + 1, 2], regions=[b.Region(0x7000, bytes(64))],
                       kernel=[0xffffffff81000010])
        offset, address, _, size, _ = self.segments[0]
        start, end = address & ~0xfff, (address + size + 0xfff) & ~0xfff
        reel = b.Reel().side(
            reel_cases.capture_record(command_line=b""),
            *[b.record("EVENT", 1 + i, 1, 0, 999, 0, 1, event, 0) for i, event in enumerate(events)],
            b.record("MODULE", 1, 1, 0, 0, 0, 0, self.build_id, self.path),
            b.record("SPACE", 1, 1, 0, 1, 10, 10, 62, 64, 1, 0, 0, 0),
            b.record("THREAD", 1, 1, 1, 1, 10, 10, 0, "shop"),
            b.record("MAP", 1, 1, BASE + start, end - start, offset - (address - start), 5, 0, 1))
        path = os.path.join(work, name)
        with open(path, "wb") as file:
            file.write(reel_cases.finish(reel.samples(out), len(samples) + kernel).data)
        return path


# ---- the expected profile -----------------------------------------------------------------------------


def discriminator(number):
    """LLVM's encoding: (the block of the line, the number of copies of the code that it represents)."""
    def take(bits):
        if bits & 1:
            return 0, bits >> 1
        low = bits >> 1 & 0x1f
        return (low | bits >> 2 & 0xfe0, bits >> 14) if bits & 0x40 else (low, bits >> 7)
    base, rest = take(number)
    return base, max(take(rest)[0], 1)


def canonical(name):
    match = re.match(r"(.+?\.__uniq\.\d+|[^.]+)", name)
    return match.group(1)


def location(frame):
    _, line, start, number = frame
    base, _ = discriminator(number)
    return ((line - start) & 0xffff, base)


def expect(program, samples):
    """{path: count} of lines, {path: total} of functions (a path has names, with the places that lead to the next one), and {name:
    count} of their first lines."""
    hits = collections.Counter(address for address, _ in samples)
    functions = {program.instructions[address] for address in hits}
    lines, totals, first = {}, collections.Counter(), []
    for address, begin in program.instructions.items():
        if begin not in functions:
            continue
        frames = program.places[address]
        if any(not name or not start or " " in name for name, _, start, _ in frames):
            continue
        path = []
        for frame in reversed(frames):
            path.append(canonical(frame[0]))
            totals[tuple(path)] += hits[address]
            path.append(location(frame))
        if frames[0][1]:
            _, copies = discriminator(frames[0][3])
            lines[tuple(path)] = max(lines.get(tuple(path), 0), hits[address] * copies)
            if address == begin:
                first.append(tuple(path))
    totals = +totals
    return {path: n for path, n in lines.items() if path[:-1] in totals}, dict(totals), {path[0]: lines[path] for path in first}


def parse(path):
    """The same for a profile, with the targets of calls by path, and the number of entries of functions."""
    lines, totals, targets, entries, stack = {}, {}, {}, {}, []
    for line in open(path, encoding="ascii"):
        depth = len(line) - len(line.lstrip(" "))
        if not depth:
            name, total, entered = line.rstrip().rsplit(":", 2)
            stack = [name]
            totals[(name,)], entries[name] = int(total), int(entered)
            continue
        where, rest = line.strip().split(": ", 1)
        number, _, block = where.partition(".")
        stack = stack[:2 * depth - 1] + [(int(number), int(block or 0))]
        first, *others = rest.split()
        if first.isdigit():
            lines[tuple(stack)] = int(first)
            if others:
                targets[tuple(stack)] = {name: int(n) for name, n in (other.rsplit(":", 1) for other in others)}
        else:
            name, total = first.rsplit(":", 1)
            stack.append(name)
            totals[tuple(stack)] = int(total)
    return lines, totals, targets, entries


def same(name, found, wanted):
    differ = sorted(map(str, set(found.items()) ^ set(wanted.items())))
    count.ok(name, found == wanted and wanted, "%d, not %d; %s" % (len(found), len(wanted), "; ".join(differ[:6])))


def export(*arguments, output="out.prof"):
    path = os.path.join(work, output)
    return run(TOOL, "export", "--format=llvm-sample-profile", "-o", path, *arguments), path


def fails(name, done, *reasons):
    stderr = done.stderr.decode()
    count.ok(name, done.returncode == 1 and all(reason in stderr for reason in reasons), "status %d: %s" % (done.returncode, stderr))


# ---- checks ---------------------------------------------------------------------------------------------


def choose(program, seed):
    """Samples in half of all instructions whose function LLVM's tools know."""
    chance = random.Random(seed)
    known = sorted(address for address in program.instructions if program.places[address][0][0])
    return [(address, None) for address in known if chance.random() < 0.5 for _ in range(chance.randint(1, 9))]


def check_program(program):
    samples = choose(program, program.name)
    lines, totals, entered = expect(program, samples)
    done, path = export(program.capture(program.name + ".reel", samples, kernel=3))
    stderr = done.stderr.decode()
    count.ok("%s: exported" % program.name, done.returncode == 0, stderr)
    count.ok("%s: samples in the kernel are reported" % program.name,
             "3 of %s samples" % format(len(samples) + 3, ",") in stderr and "kernel code" in stderr, stderr)
    count.ok("%s: _start, which has no line, is reported" % program.name, "the first lines of their functions are unknown" in stderr, stderr)
    found_lines, found_totals, _, entries = parse(path)
    same("%s: lines are llvm-symbolizer's" % program.name, found_lines, lines)
    same("%s: functions are llvm-symbolizer's" % program.name, found_totals, totals)
    count.ok("%s: functions are inlined in each other" % program.name, max(len(key) for key in lines) >= 6)
    same("%s: a function is entered as often as its first line runs" % program.name, entries, entered)
    merged = os.path.join(work, "merged.prof")
    text("llvm-profdata", "merge", "--sample", "--text", path, "-o", merged)
    with open(path, "rb") as ours, open(merged, "rb") as theirs:
        count.ok("%s: llvm-profdata merge writes the same bytes" % program.name, ours.read() == theirs.read())
    shown = text("llvm-profdata", "show", "--sample", path)
    count.ok("%s: llvm-profdata show has its functions" % program.name,
             {(m.group(1), int(m.group(2))) for m in re.finditer(r"^Function: (\S+): (\d+),", shown, re.M)} ==
             {(key[0], n) for key, n in totals.items() if len(key) == 1}, shown[:300])
    return path, {key[-1][1] for key in lines}


def check_calls(program):
    """Targets of an indirect call: samples at the first instruction of the callee, with the return address on the stack."""
    site = next(at for at in program.calls if program.instructions.get(at) == program.names["_Z5applyji"])
    targets = {program.names[name]: n for name, n in (("_ZL3addi", 5), ("_ZL8subtracti", 3), ("plain_c", 7))}
    samples = [(target, program.calls[site]) for target, n in targets.items() for _ in range(n)]
    done, path = export(program.capture("calls.reel", samples + [(site, None)]))
    _, _, found, _ = parse(path)
    wanted = {("_Z5applyji", location(program.places[site][0])): {"_ZL3addi": 5, "_ZL8subtracti": 3, "plain_c": 7}}
    count.ok("targets of an indirect call", done.returncode == 0 and found == wanted, "%s, not %s" % (found, wanted))


def check_more(program):
    samples = choose(program, "more")
    once, twice = program.capture("once.reel", samples), program.capture("twice.reel", samples * 2)
    _, path = export(once, once, output="two.prof")
    _, other = export(twice, output="twice.prof")
    found, wanted = parse(path), parse(other)
    count.ok("two captures are the sum of both", found == wanted and wanted[0])
    _, path = export(once)
    with open(path, "rb") as file:
        count.ok("standard output has the same", file.read() == run(TOOL, "export", "--format=llvm-sample-profile", once).stdout)
    fails("without inlined calls there is no profile", export("--no-inline", once)[0], "remove --no-inline")
    mixed = program.capture("mixed.reel", samples, events=("cycles", "page-faults"))
    fails("a profile is of one event", export(mixed)[0], "cycles", "page-faults", "--event")
    done, path = export("--event=cycles", mixed)
    count.ok("--event chooses one", done.returncode == 0 and sum(n for key, n in parse(path)[1].items() if len(key) == 1) > 100, done.stderr.decode())
    fails("code of JITs is in no file", export(os.path.join(ROOT, "testdata/x86_64/jit/node-perf-prof.reel"), "--no-host-files")[0],
          "code without a file", "no functions to write")
    packed = os.path.join(work, "packed.reel")
    text(TOOL, "pack", "-o", packed, once)
    fails("a packed capture alone does not tell where functions begin", export("--no-host-files", packed)[0], "--module or --symfs", "no functions to write")
    done, path = export("--no-host-files", "--module", program.path, packed, output="packed.prof")
    _, wanted = export(once)
    with open(path, "rb") as ours, open(wanted, "rb") as theirs:
        count.ok("with the program it does", done.returncode == 0 and ours.read() == theirs.read(), done.stderr.decode())


def check_clang(program, profile):
    """Clang accepts it without warnings, and it has an effect."""
    source = os.path.join(work, "shop.cpp")
    done = run("clang++", "-O2", *program.flags, "-fprofile-sample-use=" + profile, "-S", "-emit-llvm", "-o", "-", source)
    code = done.stdout.decode()
    count.ok("clang compiles with it", done.returncode == 0 and not done.stderr, done.stderr.decode())
    count.ok("functions have counts, and branches weights", "function_entry_count" in code and "branch_weights" in code)


def main():
    for tool in ("clang++", "llvm-profdata", "llvm-symbolizer", "llvm-objdump", "g++"):
        if not shutil.which(tool):
            count.skip("%s is not installed" % tool)
            return count.finish()
    lines = ("-gline-tables-only", "-fdebug-info-for-profiling")
    program = Program("clang", "clang++", *lines)
    profile, blocks = check_program(program)
    count.ok("lines have several blocks", len(blocks) > 2, str(blocks))
    check_clang(program, profile)
    check_calls(program)
    check_more(program)
    check_program(Program("dwarf4", "clang++", "-g", "-gdwarf-4", "-no-pie", "-fdebug-info-for-profiling", "-funique-internal-linkage-names"))
    check_program(Program("gcc", "g++", "-g"))
    short = Program("short", "clang++", "-gline-tables-only")
    fails("lines alone are not enough", export(short.capture("short.reel", choose(short, "short")))[0], "-fdebug-info-for-profiling", "no functions to write")
    return count.finish()


try:
    status = main()
finally:
    shutil.rmtree(work)
sys.exit(status)
