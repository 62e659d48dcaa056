#!/usr/bin/env python3
"""Checks frame-pointer walks of testdata/programs/stairs.c, and what `stackreel report --compare-fp` reports for them.

    frame_chains.py CAPTURE PROGRAM <REPORT

The chains come from the independent reader (reel_reader.py).  The stacks of stairs are known, and its instructions show whether
a function has its frame record at a pc: if so, the walk must have found one of these stacks; if not, the same without the
caller. This gives the numbers that the report must have, and the frames that each function must have lost.
Prints these, and the differences; the exit status is then 1.
"""

import bisect
import collections
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../reader"))
import reel_reader  # noqa: E402

PREFIX = {"Advanced Micro Devices X86-64": "", "AArch64": "aarch64-linux-gnu-"}
# The instruction after which a function has its frame record, and the one after which the record is gone.
MADE = re.compile(r"mov\s+(%rsp,%rbp|x29, sp)\b")
GONE = re.compile(r"(leave|pop\s+%rbp|ldp\s+x29, x30)\b")
# Every stack, leaf first.
CLIMBS = [["climb"] * n for n in range(1, 9)]
STACKS = [["_start"], ["run", "_start"], *(c + ["run", "_start"] for c in CLIMBS),
          *(["spin"] + c + ["run", "_start"] for c in CLIMBS)]
WHOLE = {tuple(s) for s in STACKS}
LACKING = {tuple(s[:1] + s[2:]) for s in STACKS if len(s) > 1}


def tool(name, program, *options):
    env = dict(os.environ, LC_ALL="C")
    machine = re.search(r"Machine:\s+(.*\S)", subprocess.run(
        ["readelf", "-hW", program], check=True, text=True, capture_output=True, env=env).stdout)
    return subprocess.run([PREFIX[machine[1]] + name, *options, program], check=True, text=True,
                          capture_output=True, env=env).stdout


def instructions(program):
    """(address, function, whether it has its frame record there), ascending."""
    function, record, ever, ret = None, False, False, []
    for line in tool("objdump", program, "-d", "--no-show-raw-insn").splitlines():
        begin = re.match(r"[0-9a-f]+ <([^>.]+)[^>]*>:$", line)
        if begin:
            function, record, ever = begin[1], False, False
        instruction = re.match(r"\s*([0-9a-f]+):\s+(.*)", line)
        if not instruction:
            continue
        # _start ends the chain, with a frame pointer of 0.
        ret.append((int(instruction[1], 16), function, record or function == "_start"))
        if MADE.match(instruction[2]):
            record = ever = True
        elif GONE.match(instruction[2]):
            record = False
        elif instruction[2].startswith("ret"):
            # The following code was reached by a jump before the epilogue.
            record = ever
    return ret


def chains(path):
    problems = []
    with open(path, "rb") as file:
        capture = reel_reader.Capture(file, problems.append)
        ret = [(r["pc"], r["where"], r["frame_chain"]) for _, r in capture.all_records()
               if r["record"] == "SAMPLE" and r["frame_chain"]]
    if problems:
        sys.exit("%s: %s" % (path, problems[0]))
    return ret


def reported(text):
    """The report's numbers: [whole, lacking, caller, middle, end, wrong], {function: frames lost}"""
    rows = re.findall(r"^ *([\d,]+) +[\d.]+ % +([\d,]+)  (.*)", text, re.M)
    rows = [(int(n.replace(",", "")), int(lost.replace(",", "")), what) for n, lost, what in rows]
    return [row[:2] for row in rows[:6]], {re.split("[ .]", what)[0]: (n, lost) for n, lost, what in rows[6:]}


def main():
    path, program = sys.argv[1:]
    code = instructions(program)
    addresses = [i[0] for i in code]

    def at(address):
        return code[bisect.bisect_right(addresses, address) - 1]

    failed = False
    whole, lacking, root, lost = 0, 0, 0, collections.Counter()
    for pc, where, chain in chains(path):
        # In a system call, pc is after it; but execve's is at the first instruction of all.
        _, function, record = at(pc - (where == 2 and pc > addresses[0]))
        names = tuple([function] + [at(a - 1)[1] for a in chain[1:]])
        if chain[0] != pc or names not in (WHOLE if record else LACKING):
            print("pc %#x (%s, %s frame record): %s" % (pc, function, "with a" if record else "without",
                                                        " ".join(names)))
            failed = True
        elif record:
            whole += 1
        else:
            lacking += 1
            lost[function] += 1
            # Only _start was above, so nothing follows it.
            root += function == "run"
    kinds, functions = reported(sys.stdin.read())
    caller = lacking - root
    expected = [(whole, 0), (lacking, lacking), (caller, caller), (0, 0), (root, root), (0, 0)]
    print("%d walks: %d whole, %d without the leaf's caller: %s" % (
        whole + lacking, whole, lacking, ", ".join("%d in %s" % (n, f) for f, n in sorted(lost.items()))))
    if kinds != expected:
        print("the report has %s, not %s" % (kinds, expected))
        failed = True
    if functions != {f: (n, n) for f, n in lost.items()}:
        print("the report has %s, not %s" % (functions, dict(lost)))
        failed = True
    if whole + lacking < 50:
        print("too few")
        failed = True
    return failed


sys.exit(main())
