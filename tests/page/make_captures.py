#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_captures.py many FILE THREADS SAMPLES - a host with that many processes of one thread each, and as many samples of each

make_captures.py waits FILE - two threads in a container each that run, wait, and wake each other, with losses and an exec

make_captures.py before FILE [START], after FILE, slower FILE, logged FILE - a program that changed: parse takes more, store less; copy is gone, cache is new. In slower,
only scan takes more; in logged, it also calls log. START: Unix time, ns

make_captures.py calls FILE, calls-back FILE - two functions that call each other more often"""

import os
import random
import sys

sys.dont_write_bytecode = True
TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [TESTS, os.path.join(TESTS, "reader")]
import reel_builder as b
import reel_cases

KERNEL = 0xffffffff81000000
FUNCTIONS = 1500
BLOCK = 20000  # samples
MS = 1000000
BLOCKED = 1
START = 5000000000


def head():
    symbols = [b.record("KERNEL_SYMBOL", KERNEL + i * 0x1000, 0x1000, 2, "function_%d" % i) for i in range(FUNCTIONS)]
    return [reel_cases.capture_record(hostname="crowd", start_time=START - 100, cpus_online=8), b.record("MODULE", 2, 3, 0, 0, 0, 0, b"", "[kernel]"), *symbols]


# The leaf's callers, and its part of the samples on each side.
SIDES = ["before", "after", "slower", "logged", "calls", "calls-back"]
CHANGES = {"serve;parse;scan": (200, 380, 600, 200), "serve;parse;check": (100, 100, 100, 100), "serve;store;write": (300, 120, 300, 300), "serve;store;copy": (60, 0, 60, 60),
           "serve;cache;find": (0, 60, 0, 0), "serve;render": (240, 240, 240, 240), "idle": (100, 100, 100, 100, 300, 380),
           **{"serve;log;" + leaf: (0, 0, 0, 150) for leaf in ("format", "put", "flush")},
           "even;a": (0, 0, 0, 0, 300, 60), "odd;b": (0, 0, 0, 0, 300, 60),
           **{stack: (0, 0, 0, 0, 25, 125) for stack in ("even;odd;c", "even;odd;d", "odd;even;e", "odd;even;f")}}
NAMES = sorted({name for stack in CHANGES for name in stack.split(";")})


def changes(side, start):
    """Samples of all stacks take turns, so that blocks of time are alike."""
    source = random.Random(3 + side)
    symbols = [b.record("KERNEL_SYMBOL", KERNEL + i * 0x1000, 0x1000, 2, name) for i, name in enumerate(NAMES)]
    reel = b.Reel().side(reel_cases.capture_record(hostname="shop", start_time=START - 100, start_wall_time=start, cpus_online=8), b.record("MODULE", 2, 3, 0, 0, 0, 0, b"", "[kernel]"), *symbols,
                         b.record("EVENT", 1, 1, 0, 999, 0, 1, "cpu-clock"), *processes(1))
    samples = b.Samples()
    stacks = [stack for stack, parts in CHANGES.items() for _ in range(parts[side] if side < len(parts) else 0)]
    for i in range(1, 4001):
        names = reversed(source.choice(stacks).split(";"))
        samples.sample(i, START + i * MS, thread=1, weight=1001001, where=4, kernel=[KERNEL + 0x10 + 0x1000 * NAMES.index(name) for name in names])
    return reel_cases.finish(reel.samples(samples), 4000).data


def chain(source, depth):
    """Few functions near the root, any at the leaf."""
    return [KERNEL + 0x10 + 0x1000 * source.randrange(4 * (level + 1) if level < depth - 1 else FUNCTIONS) for level in reversed(range(depth))]


def processes(count, starts=None):
    """`starts`: times of threads that do not exist from the beginning."""
    for i in range(1, count + 1):
        yield b.record("SPACE", 1, i, 0, 1, 1000 + i, 1000 + i, 62, 64, 1, 0, 0, 0)
        yield b.record("THREAD", (starts or {}).get(i, 1), i, i, 1, 1000 + i, 1000 + i, 0, "worker-%d" % (i % 300))


def many(threads, each):
    source = random.Random(1)
    reel = b.Reel().side(*head(), b.record("EVENT", 1, 1, 0, 999, 0, 1, "cpu-clock"), *processes(threads))
    count = 0
    samples, first = b.Samples(), START + MS // 8
    chains = [chain(source, source.randrange(5, 30)) for _ in range(20000)]
    for thread in range(1, threads + 1):
        for _ in range(each):
            count += 1
            samples.sample(count, START + count * MS // 8, thread=thread, cpu=count % 8, weight=1001001, where=4,
                           kernel=chains[min(int(source.expovariate(1 / 3000)), len(chains) - 1)])
            if samples.count == BLOCK:
                reel.samples(samples, time_first=first, time_last=START + count * MS // 8)
                samples, first = b.Samples(), START + (count + 1) * MS // 8
    if samples.count:
        reel.samples(samples, time_first=first, time_last=START + count * MS // 8)
    return reel_cases.finish(reel, count).data


def waits():
    source = random.Random(2)
    reel = b.Reel().side(*head(), b.record("EVENT", 1, 1, 0, 999, 0, 1, "cpu-clock"), b.record("EVENT", 2, 1, 0, 99, 0, 1, "off-cpu"), *processes(2, {1: START + 3 * MS // 2}),
                         b.record("LOSS", START + 300 * MS, 0, 1, 7), b.record("MARK", START + 400 * MS, 1, "SIGUSR2 from process 12"), b.record("LOSS", START + 600 * MS, 1, 3, 2), b.record("LOSS", START + 950 * MS, 1, 4, 1),
                         b.record("THREAD_EXEC", START + 200 * MS, 2, 2), b.record("THREAD_COMM", START + 200 * MS, 2, "worker-2"),
                         *(b.record("CGROUP", i, "/docker/%064x" % (0xabc0 + i)) for i in (1, 2)), *(b.record("SPACE_CGROUP", 0, i, i) for i in (1, 2)),
                         b.record("THREAD", 1, 3, 2, 1, 1003, 1003, 0, "idle"), b.record("THREAD_EXEC", START + 200 * MS, 3, 2),
                         b.record("THREAD_EXIT", START + 599 * MS + MS // 2, 2))
    samples = b.Samples()
    time = START
    for i in range(1, 601):
        time += MS
        thread, phase = 1 + i % 2, i // 100 % 3
        if phase == 0:
            samples.sample(i, time, thread=thread, weight=1001001, where=4, kernel=chain(source, 8))
        elif i % 10 < 2:
            state, waker = phase + (i // 20) % 2, 3 - thread
            labels = {1: (3, 0x7000 + thread), 3: b"worker-%d" % waker, 4: (1, 1000 + waker), 5: (1, i - 1)} if state == BLOCKED else None
            samples.sample(i, time, thread=thread, event=2, weight=10 * MS, where=4, kernel=chain(source, 6), flags=state << 6, labels=labels)
        else:
            samples.sample(i, time, thread=thread, weight=1001001, where=4, kernel=chain(source, 8))
    return reel_cases.finish(reel.samples(samples, time_first=START + MS, time_last=time), 600).data


if __name__ == "__main__":
    with open(sys.argv[2], "wb") as file:
        if sys.argv[1] == "many":
            file.write(many(int(sys.argv[3]), int(sys.argv[4])))
        elif sys.argv[1] == "waits":
            file.write(waits())
        else:
            file.write(changes(SIDES.index(sys.argv[1]), int(sys.argv[3]) if len(sys.argv) > 3 else 1700000000000000000))
