#!/usr/bin/env python3
"""Ruby frames of samples, against programs/frames.rb, which knows its own stack at each sample: blocks, recursion, methods called from C,
fibers, exceptions, eval, in four threads. The samples are calls of a function in libc, one for each stack that the program prints. For the
ruby that is installed; RUBIES="ruby3.3 ..." adds others, and CELLS="arm64-6.12 ..." those of Debian's SUITES="bookworm ..." in guests.
"""
# run.sh: records thorough
# checks: record/runtime bpf

import collections
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [TESTS, os.path.join(TESTS, "record")]
import counting
from runtime_stacks import guests, stacks

BUILD = os.path.abspath(os.environ.get("O", "build"))
RECORDER = os.path.join(BUILD, "stackreel-record")
STACKREEL = os.path.join(BUILD, "stackreel")
PROGRAM = os.path.join(TESTS, "programs", "frames.rb")
ROUNDS = 25
count = counting.Count()


def libc(ruby):
    maps = subprocess.run([ruby, "-e", "puts File.read('/proc/self/maps')"], stdout=subprocess.PIPE, check=True).stdout.decode()
    return next(line.split()[-1] for line in maps.splitlines() if "/libc.so.6" in line)


def is_same(frame, known):
    """Of C functions, and of Ruby's own methods that stand for one (Array#each with 3.4's JIT), Ruby says the file and line of the caller;
    of code that 3.4's eval made, the name of the method around."""
    if frame is None or frame[1] in ("<cfunc>", "<internal:array>"):
        return frame is None or frame[0] == known[0]
    return frame[frame[0] == "<compiled>":] == known[frame[0] == "<compiled>":]


def without_class(name):
    """3.4 shows a method's class."""
    return re.sub(r"\b[A-Z][\w:]*[#.]", "", name, count=1)


def without_rescued(sample):
    """3.4 shows a rescue or ensure as its method, and leaves out the frame that the method has of its own."""
    names = [frame[0] if frame else "" for frame in sample]
    is_rescue = [name.startswith(("rescue in ", "ensure in ")) for name in names]
    return [frame and [name.split(" in ")[-1] if rescue else name] + frame[1:]
            for frame, name, rescue, after in zip(sample, names, is_rescue, [False] + is_rescue) if not after]


def check(ruby, work):
    version = subprocess.run([ruby, "-e", "print RUBY_VERSION"], stdout=subprocess.PIPE, check=True).stdout.decode()
    capture = os.path.join(work, "ruby.reel")
    ran = subprocess.run([RECORDER, "-q", "-e", "uprobe:%s:getppid" % libc(ruby), "-c", "1", "-o", capture, "--", ruby, PROGRAM, str(ROUNDS)],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if count.ok("%s: recorded" % version, ran.returncode == 0, ran.stderr.decode()):
        compare(version, ran.stdout.decode(), capture)


def compare(version, printed, capture, is_slow=False):
    """Samples with the stacks that the program printed. A slow machine takes long to find the interpreter: until then samples have Ruby's own
    stack of 1 MB, and some find no room; and some names are not read in time."""
    expected = collections.defaultdict(list)
    for line in printed.splitlines():
        number, stack = json.loads(line)
        expected[number].append([["ppid", "", 0]] + [[without_class(name), file, line] for name, file, line in stack])
    found, unnamed, cut = stacks(capture)
    # The main thread's first stacks are printed without a number.
    expected[0][:0] = expected.pop(None)
    same = other = early = transient = 0
    free = list(found.values())
    if version >= "3.4":
        free = [[without_rescued(sample) for sample in samples] for samples in free]
    for number, its in sorted(expected.items()):
        if not free:
            break
        best = max(free, key=lambda samples: sum(len(a) == len(b) and all(map(is_same, a, b)) for a, b in zip(samples[::-1], its[::-1])))
        free.remove(best)
        if number == 0:
            # A shell that starts ruby has calls of its own.
            best = best[-len(its):]
        count.ok("%s: samples of thread %s" % (version, number), len(its) * (0.9 if is_slow else 1) <= len(best) <= len(its),
                 "%d calls, %d samples" % (len(its), len(best)))
        its = its[-len(best):]
        for call, sample in zip(its, best):
            # Code that eval made is mostly gone before its name is read.
            transient += sum(frame is None and file == "made.rb" for frame, (_, file, _) in zip(sample, call))
            if not sample:
                early += 1
            elif len(call) == len(sample) and all(map(is_same, sample, call)):
                same += 1
            else:
                other += 1
                if other < 4:
                    print("  %s\n  %s" % (call, sample))
    count.ok("%s: stacks are those of the program" % version, same and not other, "%d are, %d are not" % (same, other))
    count.ok("%s: the interpreter is found" % version, early < (same if is_slow else 20), "%d samples before" % early)
    count.ok("%s: functions that stay have names" % version, unnamed <= transient + (same / 10 if is_slow else 0), "%d have none, %d of these are made by eval" % (unnamed, transient))
    # Ruby's own stack of 1 MB is between a thread's native frames.
    count.ok("%s: no native stack is cut" % version, not cut, "%d are" % cut)
    print("%s: %d stacks are the same, %d functions have no name" % (version, same, unnamed))
    folded = subprocess.run([STACKREEL, "folded", capture], stdout=subprocess.PIPE, check=True).stdout.decode()
    # The block that `each` calls, C functions between, and the program's outermost function within ruby's main().
    count.ok("%s: native frames are between" % version, any(
        line.index("<main>") < line.index("each") < line.index("block (2 levels) in kinds") for line in folded.splitlines()
        if "<main>" in line and "each" in line and "block (2 levels) in kinds" in line), folded[:2000])


RACTORS = """
def spin(seconds)
  ends = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) + seconds
  1000.times { } while Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) < ends
end
def in_ractor = [1].each { spin(1.2) }
def in_main = [1].each { spin(1.2) }
spin(0.3)
ractors = [1, 2].map { Ractor.new { in_ractor } }
in_main
ractors.each(&:take)
"""


def check_ractors(ruby, work):
    """Threads of ractors run at the same time, each with its own functions."""
    capture = os.path.join(work, "ractors.reel")
    subprocess.run([RECORDER, "-q", "-o", capture, "--", ruby, "-W0", "-e", RACTORS], check=True)
    folded = subprocess.run([STACKREEL, "folded", "--runtime=only", capture], stdout=subprocess.PIPE, check=True).stdout.decode()
    samples = {"in_ractor": 0, "in_main": 0, "both": 0}
    for stack in folded.splitlines():
        names = [name for name in ("in_ractor", "in_main") if ";%s (" % name in stack]
        if names:
            samples["both" if len(names) == 2 else names[0]] += int(stack.split()[-1])
    count.ok("%s: ractors" % ruby, samples["in_ractor"] > 100 and samples["in_main"] > 30 and not samples["both"], folded)
    print("%s: %s" % (ruby, samples))


def check_doctor(work):
    """What shows the functions, if they were not recorded; also if the file has no symbols."""
    capture = os.path.join(work, "native.reel")
    program = "t = Process.clock_gettime(2); 9.times { } while Process.clock_gettime(2) - t < 0.5" # 2: the process's CPU time
    for options, said in (["--no-interpreters"], True), ([], False):
        subprocess.run([RECORDER, "-q", "-o", capture, *options, "--", "ruby", "-e", program], check=True)
        doctor = subprocess.run([STACKREEL, "doctor", capture], stdout=subprocess.PIPE, check=True).stdout.decode()
        wanted = [float(share) for share in re.findall(r"Ruby \(([0-9.]+) % of the samples\): stackreel-record without", doctor)]
        count.ok("doctor: %s" % (options or "functions"), bool(wanted and wanted[0] > 50) == said, doctor)


def main():
    rubies = [shutil.which("ruby")] + os.environ.get("RUBIES", "").split()
    if not any(rubies):
        count.skip("no ruby")
    with tempfile.TemporaryDirectory(prefix="stackreel-ruby.") as work:
        for ruby in filter(None, rubies):
            check(ruby, work)
            check_ractors(ruby, work)
        for name, version, printed, capture in guests(count, "ruby", PROGRAM, ROUNDS, work):
            compare(re.search("[0-9.]+", version).group() + ", " + name, printed, capture, is_slow=True)
        if rubies[0]:
            check_doctor(work)
    return count.finish()


if __name__ == "__main__":
    sys.exit(main())
