#!/usr/bin/env python3
"""Checks the chains of testdata/programs/orders.cc, which are known by construction.

    stackreel folded FILE | orders_chains.py [--min SAMPLES] [--unread FUNCTION] [--few] [--bottom SHARE]

Every stack must be one that the program can have, from its entry to its leaf: see orders.cc's
header.  Prints `N samples, N right` and each wrong stack; the exit status is 1 if any stack is wrong,
if there are fewer samples than SAMPLES, or if one of the four ways to use the CPU is missing.
With --unread, a trace may end because no byte of its stack could be read, if the kernel was in FUNCTION: this needs the kernel's
frames, as folded --annotate marks them.  Otherwise they do not matter.
SHARE of the samples in walk must be at its bottom (0.97).  With --few, the ways may be missing, and walk need not be at its bottom.
"""

import argparse
import re
import sys

DEPTH = 49  # active calls of walk in its loop

# The required form of a frame's function, without arguments.
ENTRY = ["_start", "__libc_start_main", "__libc_start_call_main", "__libc_start_main_impl",
         "__libc_start_main@@GLIBC_2.34", "generic_start_main"]

# After shop::run, root first: the rest of the stack as one string, frames joined by ';'.
WAYS = {
    "checkout": r"shop::Checkout::checkout(;shop::Checkout::total"
                r"(;shop::Checkout::price(;shop::Checkout::tax)?)?)?",
    # Library frames between qsort and the callback are not checked.
    "rank": r"shop::rank(;[^:;]+)*(;shop::by_value)?",
    "walk": r"shop::walk(;shop::walk)*",
    "pack": r"shop::pack(;shop::checksum)?",
    # The clock: libc, then the vDSO or the system call.
    "clock": r"((shop::)?cpu_seconds|clock)(;[^:;]+)*",
    "run": r"",
}
# Before and after main: the loader, the C library's start and its end; execve, and exit.
START = re.compile(r"_start|\[no frames\]|__run_exit_handlers|_dl_[a-z_]+|_dl_start_user|dl_main|__libc_[a-z_]+|exit|_exit|_IO_.*")


def plain(function):
    """Removes arguments, return type and marks of inlining."""
    function = function.removesuffix("_[i]").split("(")[0]
    return re.sub(r"^(double|unsigned long|int|void) ", "", function).strip()


# Startup code of the compiler and the C library (crtstuff.c, crti.o) without CFI: a trace may end there, and is marked
# incomplete.
BARE = {"_init", "_fini", "frame_dummy", "__do_global_dtors_aux", "register_tm_clones",
        "deregister_tm_clones"}

KERNEL = "_[k]"
# Such traces have the first frame and the functions inlined there, or a leaf's caller as well.
UNREAD = re.compile(r"shop::.*|[^:;]+")


def way_of(frames, unread):
    """The way's name, or None for an impossible stack."""
    kernel = [frame[:-len(KERNEL)].split(".")[0] for frame in frames if frame.endswith(KERNEL)]
    frames = [plain(frame) for frame in frames if not frame.endswith(KERNEL)]
    if unread in kernel and frames[0] == "[incomplete: stack bytes ran out]":
        return "unread" if all(UNREAD.fullmatch(frame) for frame in frames[1:]) else None
    if frames[0] == "[incomplete: no unwind info]" and frames[1] in BARE:
        return "start"
    # exit has freed the memory.
    if frames[0] == "[incomplete: no user stack]" and frames[-1] in ("_exit", "__kernel_vsyscall"):
        return "start"
    # glibc's i386 memcpy.S pushes eax without CFI.
    if frames == ["[incomplete: no mapping]", "memcpy"]:
        return "memcpy"
    # The thunk that gives i386 code its own address.
    if frames[-1].startswith("__x86.get_pc_thunk."):
        frames = frames[:-1]
    if "shop::run" not in frames:
        return "start" if START.fullmatch(frames[0]) else None
    run = frames.index("shop::run")
    if run < 2 or frames[run - 1] != "main" or frames[0] not in ENTRY:
        return None
    if any(frame not in ENTRY for frame in frames[:run - 1]):
        return None
    rest = ";".join(frames[run + 1:])
    for way, pattern in WAYS.items():
        if re.fullmatch(pattern, rest):
            return way
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--min", type=int, default=1)
    parser.add_argument("--unread")
    parser.add_argument("--few", action="store_true")
    parser.add_argument("--bottom", type=float, default=0.97)
    options = parser.parse_args()
    ways, wrong, deep = {}, [], {}
    for line in sys.stdin:
        stack, count = line.rstrip("\n").rsplit(" ", 1)
        way = way_of(stack.split(";"), options.unread)
        ways[way] = ways.get(way, 0) + int(count)
        if way == "walk":
            depth = sum(plain(frame) == "shop::walk" for frame in stack.split(";"))
            deep[depth] = deep.get(depth, 0) + int(count)
        if way is None:
            wrong.append((int(count), stack))
    samples = sum(ways.values())
    right = samples - ways.get(None, 0)
    print("%d samples, %d right; %s" % (samples, right, ", ".join(
        "%s %d" % (way, count) for way, count in sorted(ways.items(), key=str))))
    for count, stack in sorted(wrong, reverse=True)[:20]:
        print("wrong: %d x %s" % (count, stack))
    missing = [way for way in ("checkout", "rank", "walk", "pack") if not ways.get(way)]
    if options.few:
        missing = []
    if missing:
        print("no sample in: %s" % ", ".join(missing))
    # The loop is at the bottom of the recursion; descending takes next to no time.
    bottom = deep.get(DEPTH, 0)
    if max(deep, default=0) > DEPTH or bottom < options.bottom * sum(deep.values()) and not options.few:
        print("walk: %s" % deep)
        missing.append("walk")
    return 1 if wrong or missing or samples < options.min else 0


if __name__ == "__main__":
    sys.exit(main())
