#!/usr/bin/env python3
"""Compares our capture with perf's of the same program (programs/phases.c): the same chains, equally often. Exit status 1 if not, 2 if they cannot be
compared.

    capture_perf.py [--drop] STACKREEL CAPTURE OUR-CLOCK PERF-DATA PERF-CLOCK PROGRAM
                                   …-CLOCK: the program's output in that run

Chains consist of the program's own functions, by name from nm, below main; consecutive library functions
count as one, `library`: their names depend on the installed packages.

  1. Each chain with LEVEL of the samples or more in one capture is also in the other.
  2. Its share is the same: a two-proportion z-test for each, and for all others together.
  3. The share of each phase equals its share of the thread's clock: a z-test for each, in both.

The probability of a false alarm in a whole run is below ALPHA (Bonferroni), if samples are independent.
They vary less than that: a periodic timer over slices of all phases counts with less variance.
With --drop, ours loses as many samples of one chain as must be noticed in 99.9 % of runs.
"""

import collections
import math
import statistics
import subprocess
import sys

ALPHA = 1e-4
LEVEL = 0.005
POWER = 0.999


def functions_of(program):
    out = subprocess.run(["nm", "--defined-only", program], stdout=subprocess.PIPE, text=True, check=True).stdout
    return {line.split()[2] for line in out.splitlines() if line.split()[1] in "tT"}


def chain_of(names, own):
    """Root first, from main on; None if main is not in it (before main and after it)."""
    if "main" not in names:
        return None
    chain = []
    for name in names[names.index("main"):]:
        name = name if name in own else "library"
        if name != "library" or chain[-1] != "library":
            chain.append(name)
    return tuple(chain)


def ours_read(stackreel, capture, own):
    out = subprocess.run([stackreel, "folded", "-q", "--no-inline", "--no-suffix", capture], stdout=subprocess.PIPE,
                         text=True, check=True).stdout
    chains = collections.Counter()
    for line in out.splitlines():
        stack, count = line.rsplit(" ", 1)
        chains[chain_of(stack.split(";"), own)] += int(count)
    return chains


def perf_read(data, own):
    out = subprocess.run(["perf", "script", "-i", data, "--no-inline", "--max-stack", "4000", "-F", "ip,sym"],
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout
    chains = collections.Counter()
    for block in out.split("\n\n"):
        lines = [line.split(None, 1) for line in block.splitlines() if line.strip()]
        if lines:
            chains[chain_of([words[1] for words in reversed(lines)], own)] += 1
    stats = subprocess.run(["perf", "report", "--stats", "-i", data], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                           text=True, check=False).stdout
    lost = [line.split(":")[1].split()[0] for line in stats.splitlines() if "LOST" in line]
    return chains, lost


def clock_read(path):
    with open(path) as file:
        return {name: int(ns) for name, ns in (line.split() for line in file)}


def z_of_two(a, n, b, m):
    p = (a + b) / (n + m)
    return (a / n - b / m) / math.sqrt(p * (1 - p) * (1 / n + 1 / m)) if 0 < p < 1 else 0.0


def short(chain):
    """main>phase_shallow>recurse×11>burn"""
    if chain is None:
        return "outside of main"
    parts = []
    for name in chain:
        if parts and parts[-1][0] == name:
            parts[-1][1] += 1
        else:
            parts.append([name, 1])
    return ">".join(name if n == 1 else f"{name}×{n}" for name, n in parts)


class Tests:
    def __init__(self, count):
        self.limit = statistics.NormalDist().inv_cdf(1 - ALPHA / count / 2)
        self.wrong = 0

    def check(self, what, z):
        if abs(z) > self.limit:
            self.wrong += 1
            print(f"{what}: z = {z:.1f}, more than {self.limit:.2f}")

    def visible(self, p, n, m):
        """The difference of shares that is found in 99.9 % of runs."""
        deviation = math.sqrt(p * (1 - p) * (1 / n + (1 / m if m else 0)))
        return (self.limit + statistics.NormalDist().inv_cdf(POWER)) * deviation


def phase_counts(chains):
    phases = collections.Counter()
    for chain, count in chains.items():
        for name in chain or ():
            if name.startswith("phase_"):
                phases[name] += count
                break
    return phases


def clock_compare(tests, whose, chains, clock):
    phases, times = phase_counts(chains), sum(clock.values())
    n = sum(phases.values())
    for name, time in clock.items():
        p = time / times
        z = (phases[name] / n - p) / math.sqrt(p * (1 - p) / n)
        print(f"  {name:14} {100 * p:6.2f} % of the thread's clock, {100 * phases[name] / n:6.2f} % of {whose} samples, z {z:5.2f}")
        tests.check(f"{name}, {whose} and the clock", z)


def main():
    drop = sys.argv[1] == "--drop"
    stackreel, capture, our_clock, data, perf_clock, program = sys.argv[1 + drop:]
    own = functions_of(program)
    ours = ours_read(stackreel, capture, own)
    theirs, lost = perf_read(data, own)
    clocks = {"our": clock_read(our_clock), "perf's": clock_read(perf_clock)}
    m = sum(theirs.values())
    big = sorted({c for chains in (ours, theirs) for c in chains if chains[c] >= LEVEL * sum(chains.values()) and c},
                 key=lambda c: -ours[c] - theirs[c])
    tests = Tests(len(big) + 1 + sum(len(c) for c in clocks.values()))
    if drop:
        chain, n = big[0], sum(ours.values())
        p = ours[chain] / n
        # k of n samples fewer: the share becomes (pn - k) / (n - k).
        wanted = p - tests.visible(p, n, m)
        gone = math.ceil((p - wanted) * n / (1 - wanted))
        ours[chain] -= gone
        print(f"dropped {gone} of {ours[chain] + gone} samples of {short(chain)}")
    n = sum(ours.values())
    for chain in big:
        z = z_of_two(ours[chain], n, theirs[chain], m)
        print(f"  {short(chain):52} {100 * ours[chain] / n:6.2f} % of ours, {100 * theirs[chain] / m:6.2f} % of perf's, z {z:5.2f}")
        tests.check(short(chain), z)
        if not ours[chain] or not theirs[chain]:
            tests.wrong += 1
            print(f"{short(chain)} is in only one capture")
    others = [sum(chains.values()) - sum(chains[c] for c in big) for chains in (ours, theirs)]
    tests.check("all other chains", z_of_two(others[0], n, others[1], m))
    clock_compare(tests, "our", ours, clocks["our"])
    clock_compare(tests, "perf's", theirs, clocks["perf's"])
    visible = ", ".join(f"{100 * tests.visible(p, n, m) / p:.0f} % of a share of {100 * p:.0f} %" for p in (0.3, 0.1, 0.02))
    print(f"{n} samples of ours, {m} of perf's{', perf lost ' + ', '.join(lost) if lost else ''}; {len(big)} chains have "
          f"{100 * LEVEL} % or more, {others[0]} and {others[1]} samples are of others; a run fails by chance once in "
          f"{1 / ALPHA:.0f}; found in 99.9 %: {visible}; {tests.wrong} differences")
    return 1 if tests.wrong else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except subprocess.CalledProcessError as error:
        print(error)
        sys.exit(2)
