#!/usr/bin/env python3
"""Python frames of samples, against CPython's own script for gdb, which knows the interpreter's layout from debugging information: gdb stops
programs/frames.py at random moments and reads each thread's functions, which are those of the recorder's sample of that wait.
For the interpreters of this host and $PYTHONS that have debugging information and the script; STOPS=2500 compares 10,000 stacks.
"""
# run.sh: records thorough
# checks: record/runtime bpf

import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [TESTS, os.path.join(TESTS, "record")]
import counting
from runtime_stacks import samples

RECORDER = os.path.abspath(os.path.join(os.environ.get("O", "build"), "stackreel-record"))
PROGRAM = os.path.join(TESTS, "programs", "frames.py")
STOPS = int(os.environ.get("STOPS", "60"))
count = counting.Count()


def script(python):
    """The script of an interpreter, in the folder of the executable or where Debian has it; None if there is none."""
    return next(iter(glob.glob(python + "-gdb.py") + glob.glob("/usr/share/gdb/auto-load" + python + "-gdb.py")), None)


def looker(recorder):
    """The number of the recorder's process that looks at threads."""
    for _ in range(600):
        found = subprocess.run(["pgrep", "-P", str(recorder.pid), "-x", "stackreel-look"], stdout=subprocess.PIPE, check=False)
        if found.stdout or recorder.poll() is not None:
            return found.stdout.decode().strip()
        time.sleep(0.1)
    return ""


def check(python, work):
    version = subprocess.run([python, "-c", "import sys; print('%d.%d.%d' % sys.version_info[:3])"], stdout=subprocess.PIPE,
                             check=True).stdout.decode().strip()
    capture = os.path.join(work, version + ".reel")
    program = subprocess.Popen([python, PROGRAM, "1000000000"], stdout=subprocess.DEVNULL)
    recorder = subprocess.Popen([RECORDER, "-q", "--off-cpu", "-p", str(program.pid), "-o", capture], stderr=subprocess.PIPE)
    looks = looker(recorder)
    # Time to find the interpreter and the names of its functions.
    time.sleep(3)
    gdb = subprocess.run(["gdb", "-nx", "-batch", "-iex", "set auto-load off", "-iex", "set debuginfod enabled off", "-p", str(program.pid),
                          "-ex", "source " + script(python), "-x", os.path.join(TESTS, "record", "python_gdb.py")],
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, check=False,
                         env=dict(os.environ, STOPS=str(STOPS), LOOKER=looks))
    program.kill()
    program.wait()
    recorder.wait()
    lines = [json.loads(line[1:]) for line in gdb.stdout.decode().splitlines() if line.startswith("@")]
    if b"has unknown type" in gdb.stderr:
        count.skip("%s: no debugging information (Debian: python3-dbg)" % version)
        return
    if not count.ok("%s: gdb reads the program" % version, len(lines) > 3 * STOPS, gdb.stderr.decode()):
        return
    # Before, the script mistakes steps backwards in the table for steps forwards (3.8, 3.9), and a function that has just been called is still
    # at its definition (3.10), but in samples at its first instruction.
    fields = 3 if tuple(map(int, version.split("."))) >= (3, 11) else 2
    found = {}
    for sample, tid, frames in samples(capture):
        found.setdefault(tid, []).append((sample["time"] - sample["weight"], sample["time"], frames))
    same = other = backtraces = unnamed = leaving = 0
    for tid, begin, known, printed in lines:
        for waits, ends, frames in found.get(tid, []):
            # A sample is of a wait; it has no frames until the interpreter was found.
            if not waits <= begin <= ends or not frames:
                continue
            unnamed += frames.count(None)
            backtraces += printed is not None
            as_printed = [[its[3], its[1], its[2]] for its in known]
            # A function that has returned, while its native frame has not, is py-bt's, but no longer the interpreter's.
            left = printed is not None and printed[:len(known)] != as_printed and printed[1:][:len(known)] == as_printed
            leaving += left
            # py-bt goes on with those of other greenlets, as the native stack does.
            if (len(frames) == len(known) and all(frame is None or frame[:fields] == its[:fields] for frame, its in zip(frames, known)) and
                    (left or printed is None or printed[:len(known)] == as_printed)):
                same += 1
            else:
                other += 1
                if other < 4:
                    print("  %s\n  %s\n  %s" % (known, printed, frames))
    count.ok("%s: stacks are those that gdb reads" % version, same > 2 * STOPS and not other and 50 * leaving < same,
             "%d are, %d are not, in %d a function was returning" % (same, other, leaving))
    print("%s: %d stacks are the same, %d of them also by py-bt; %d functions have no name" % (version, same, backtraces - leaving, unnamed))


def main():
    if not shutil.which("gdb"):
        count.skip("no gdb")
        return count.finish()
    pythons = {os.path.realpath(path) for path in [sys.executable, "/usr/bin/python3"] + os.environ.get("PYTHONS", "").split()}
    with tempfile.TemporaryDirectory(prefix="stackreel-python.") as work:
        for python in sorted(pythons):
            if script(python):
                check(python, work)
            else:
                count.skip("%s: no script for gdb (Debian: python3-dbg)" % python)
    return count.finish()


if __name__ == "__main__":
    sys.exit(main())
