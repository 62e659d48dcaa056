#!/usr/bin/env python3
"""Python frames of samples, against programs/frames.py, which knows its own stack at each sample: recursion, generators, coroutines, callbacks
from C, exceptions, code made by exec, in four threads. The samples are calls of a function in libc, one for each stack that the program
prints. For each interpreter that is installed; PYTHONS="python3.9 ..." adds others, and CELLS="arm64-6.12 ..." those of Debian's
SUITES="bookworm ..." in guests.
"""
# run.sh: records

import collections
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [TESTS, os.path.join(TESTS, "record")]
import counting
from runtime_stacks import guests, stacks

RECORDER = os.path.abspath(os.path.join(os.environ.get("O", "build"), "stackreel-record"))
STACKREEL = os.path.abspath(os.path.join(os.environ.get("O", "build"), "stackreel"))
PROGRAM = os.path.join(TESTS, "programs", "frames.py")
CALLS = 3000
count = counting.Count()


def libc(python):
    maps = subprocess.run([python, "-c", "print(open('/proc/self/maps').read())"], stdout=subprocess.PIPE, check=True).stdout.decode()
    return next(line.split()[-1] for line in maps.splitlines() if "/libc.so.6" in line or "/libc-2." in line)


def check(python, work):
    version = subprocess.run([python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"], stdout=subprocess.PIPE).stdout.decode().strip()
    capture = os.path.join(work, "python.reel")
    ran = subprocess.run([RECORDER, "-q", "-e", "uprobe:%s:getppid" % libc(python), "-c", "1", "-o", capture, "--",
                          python, PROGRAM, str(CALLS)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if count.ok("%s: recorded" % version, ran.returncode == 0, ran.stderr.decode()):
        compare(version, ran.stdout.decode(), capture)


def compare(version, printed, capture, early_max=20):
    """Samples with the stacks that the program printed."""
    expected = collections.defaultdict(list)
    for line in printed.splitlines():
        tid, stack = json.loads(line)
        expected[tid].append(stack)
    found, unnamed, _ = stacks(capture)
    same = other = early = transient = 0
    for tid, its in expected.items():
        # The first samples may precede the interpreter's discovery.
        pairs = list(zip(its, found[tid]))
        if not count.ok("%s: samples of a thread" % version, len(its) == len(found[tid]), "%d calls, %d samples" % (len(its), len(found[tid]))):
            continue
        for call, sample in pairs:
            if not sample:
                early += 1
                continue
            # Code that exec made is mostly gone before its name is read.
            transient += sum(frame is None and file.startswith("made") for frame, (_, file, _) in zip(sample, call))
            if len(call) == len(sample) and all(frame is None or frame == known for frame, known in zip(sample, call)):
                same += 1
            else:
                other += 1
                if other < 4:
                    print("  %s\n  %s" % (call, sample))
    count.ok("%s: stacks are those of the program" % version, same and not other, "%d are, %d are not" % (same, other))
    count.ok("%s: the interpreter is found" % version, early < early_max, "%d samples before" % early)
    count.ok("%s: functions that stay have names" % version, unnamed <= transient, "%d have none, %d of these are made by exec" % (unnamed, transient))
    print("%s: %d stacks are the same" % (version, same))


def check_gil(work):
    """Two threads that compute wait for each other."""
    capture = os.path.join(work, "gil.reel")
    program = "import threading; t = [threading.Thread(target=lambda: sum(range(20000000))) for _ in 'ab']; [x.start() for x in t]; [x.join() for x in t]"
    subprocess.run([RECORDER, "-q", "--off-cpu", "-o", capture, "--", "/usr/bin/python3", "-c", program], check=True)
    report = subprocess.run([STACKREEL, "report", "--off-cpu", "--locks", capture], stdout=subprocess.PIPE, check=True).stdout.decode()
    count.ok("waits for the GIL are named", "Python's GIL (_PyRuntime+" in report, report)


def check_embedded(work):
    """A thread whose state has frames only at times has them in each of these samples."""
    config = "/usr/bin/python3-config"
    if not os.path.exists(config):
        return count.skip("no python3-config")
    program, capture = os.path.join(work, "embedded"), os.path.join(work, "embedded.reel")
    flags = subprocess.run([config, "--embed", "--includes", "--ldflags"], stdout=subprocess.PIPE, check=True).stdout.decode().split()
    subprocess.run(["cc", "-O1", "-g", "-o", program, os.path.join(TESTS, "programs", "embedded.c")] + flags, check=True)
    subprocess.run([RECORDER, "-q", "-o", capture, "--", program], check=True)
    folded = subprocess.run([STACKREEL, "folded", capture], stdout=subprocess.PIPE, check=True).stdout.decode()
    samples = collections.Counter()
    for stack in folded.splitlines():
        samples[";compute" in stack, "called (<string>:" in stack] += int(stack.split()[-1])
    python, native = samples[False, True], samples[False, False]
    count.ok("embedded: Python functions", python > 300 and native < 0.15 * python and samples[True, False] > 200 and not samples[True, True], str(samples))
    print("embedded: %s" % samples)


def check_forks(work):
    """Short workers of a process that only waits: they have their frames from the first sample on, and names that are read when they have ended."""
    python, capture = os.path.join(work, "forker"), os.path.join(work, "forks.reel")
    program = """
import os, time
def compute(end):
    while time.monotonic() < end: sum(range(100))
for _ in range(14):
    if not os.fork():
        compute(time.monotonic() + 0.2)
        os._exit(0)
    os.wait()
"""
    os.symlink("/usr/bin/python3", python)
    with subprocess.Popen([RECORDER, "-q", "-a", "-F", "19", "-o", capture]) as recorder:
        time.sleep(1)
        subprocess.run([python, "-c", program], check=True)
        recorder.send_signal(signal.SIGINT)
    folded = subprocess.run([STACKREEL, "folded", "--comm=forker", capture], stdout=subprocess.PIPE, check=True).stdout.decode()
    all_of = found = 0
    for stack in folded.splitlines():
        all_of += int(stack.split()[-1])
        found += "compute (<string>:" in stack and int(stack.split()[-1])
    count.ok("forks: the function of each worker", all_of > 20 and found > 0.75 * all_of, "%d of %d samples" % (found, all_of))
    print("forks: %d of %d samples" % (found, all_of))


def check_doctor(work):
    """What shows the functions, if they were not recorded."""
    capture = os.path.join(work, "native.reel")
    for options, said in (["--no-interpreters"], True), ([], False):
        subprocess.run([RECORDER, "-q", "-o", capture, *options, "--", "/usr/bin/python3", "-c", "sum(range(20000000))"], check=True)
        doctor = subprocess.run([STACKREEL, "doctor", capture], stdout=subprocess.PIPE, check=True).stdout.decode()
        wanted = [float(share) for share in re.findall(r"Python \(([0-9.]+) % of the samples\): stackreel-record without", doctor)]
        count.ok("doctor: %s" % (options or "functions"), bool(wanted and wanted[0] > 50) == said, doctor)


def main():
    seen = set()
    with tempfile.TemporaryDirectory(prefix="stackreel-python.") as work:
        for name in [sys.executable, "/usr/bin/python3"] + os.environ.get("PYTHONS", "").split():
            python = shutil.which(name)
            if python and os.path.realpath(python) not in seen:
                seen.add(os.path.realpath(python))
                check(python, work)
        for name, version, printed, capture in guests(count, "python3", PROGRAM, CALLS, work):
            compare(version.strip() + ", " + name, printed, capture, CALLS // 2)
        check_gil(work)
        check_embedded(work)
        check_forks(work)
        check_doctor(work)
    return count.finish()


if __name__ == "__main__":
    sys.exit(main())
