#!/usr/bin/env python3
"""Fuzzes: all targets in turn, on all CPUs, each continuing from its corpus.

    run.py --programs DIRECTORY --corpus DIRECTORY [--hours N | --seconds N] [--only NAME]... [--tests]

Seeds come from tests/fuzz/seeds.py.  Failing inputs are kept in the corpus directory's `finds`, and their paths
printed; the log beside an input shows its failure.  Prints a table of this run, with the number of runs since the
corpus was created.  The exit status is 1 after a failure.

    --hours N      total time
    --seconds N    time for each target
    --jobs N       number of processes at a time (one per CPU)
    --tests        for tests/run.sh: the same inputs each time, as many as time allows, on a
                   machine that may be busy; a line for each target, and the totals
"""

import argparse
import concurrent.futures
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
# The length of a turn in a long run: other targets get theirs after at most this long.
TURN = 300
# A target with that many finds is skipped.
FINDS = 10
RSS_MB = 2048
TIMEOUT = 5
BUSY_TIMEOUT = 60
# libFuzzer's exit statuses, except the status of a run that was asked to stop.
FOUND = {77: "crash", 70: "timeout", 71: "out of memory"}


class Stop:
    """A request to stop: running processes are ended, no others start, and the table is printed."""

    asked = False
    running = set()

    @classmethod
    def ask(cls, *_):
        cls.asked = True
        for process in list(cls.running):
            process.terminate()


class Target:
    def __init__(self, program, corpus, tests):
        self.name = os.path.basename(program)
        self.program = program
        self.manner = ["-seed=1", "-timeout=%d" % BUSY_TIMEOUT] if tests else ["-timeout=%d" % TIMEOUT]
        self.corpus = os.path.join(corpus, self.name)
        self.seeds = os.path.join(corpus, "seeds", self.name)
        self.finds = os.path.join(corpus, "finds")
        self.runs = self.coverage = 0
        self.seconds = 0.0
        self.found = []
        self.total_file = os.path.join(corpus, self.name + ".json")
        self.total = self.load_total()
        for folder in (self.corpus, self.seeds, self.finds):
            os.makedirs(folder, exist_ok=True)

    def load_total(self):
        try:
            with open(self.total_file, encoding="ascii") as file:
                return json.load(file)["runs"]
        except (OSError, ValueError, KeyError):
            return 0

    def save_total(self):
        with open(self.total_file + ".new", "w", encoding="ascii") as file:
            json.dump({"runs": self.total}, file)
        os.replace(self.total_file + ".new", self.total_file)

    def command(self, seconds):
        dictionary = os.path.join(HERE, self.name + ".dict")
        return [self.program, "-max_total_time=%d" % max(1, seconds), *self.manner,
                "-rss_limit_mb=%d" % RSS_MB, "-print_final_stats=1", "-verbosity=1",
                "-artifact_prefix=%s-" % os.path.join(self.finds, self.name),
                *(["-dict=" + dictionary] if os.path.exists(dictionary) else []),
                self.corpus, self.seeds]

    def turn(self, seconds, most_finds):
        """Runs for the given time, and continues after a find: the next one may differ."""
        end = time.monotonic() + seconds
        while not Stop.asked and len(self.found) < most_finds and (left := end - time.monotonic()) > 0:
            self.run_once(left)

    def run_once(self, seconds):
        begin = time.monotonic()
        # ASan keeps freed memory for a while, to detect uses of it; a smaller quarantine suffices for hours of runs.
        environment = dict(os.environ, ASAN_OPTIONS="quarantine_size_mb=16:detect_odr_violation=0")
        process = subprocess.Popen(["nice", "-n", "19", *self.command(seconds)], env=environment,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT)
        Stop.running.add(process)
        log = process.communicate()[0].decode(errors="replace")
        Stop.running.discard(process)
        self.seconds += time.monotonic() - begin
        runs = re.findall(r"^stat::number_of_executed_units: (\d+)", log, re.M)
        runs = int(runs[-1]) if runs else 0
        self.runs += runs
        self.total += runs
        self.coverage = max([self.coverage, *map(int, re.findall(r" cov: (\d+) ", log))])
        self.save_total()
        if (process.returncode or not runs) and (not Stop.asked or "Test unit written to" in log):
            self.note(process.returncode, log)

    def note(self, status, log):
        kept = re.findall(r"Test unit written to (\S+)", log)
        why = re.findall(r"^unexpected.*|^.*runtime error.*|^SUMMARY.*|^==\d+==ERROR.*", log, re.M)
        path = kept[-1] if kept else os.path.join(self.finds, self.name)
        with open(path + ".log", "w", encoding="utf-8") as file:
            file.write(log)
        what = FOUND.get(status, "exit status %d" % status) if status else "it did not run"
        self.found.append((path, what, why[0] if why else ""))

    def units(self):
        return len(os.listdir(self.corpus))


def find_targets(options):
    names = sorted(name for name in os.listdir(options.programs)
                   if name.startswith("fuzz_") and "." not in name)
    return [Target(os.path.join(options.programs, name), options.corpus, options.tests) for name in names
            if not options.only or name in options.only]


def make_seeds(options):
    folder = os.path.join(options.corpus, "seeds")
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([os.path.join(HERE, "seeds.py"), *(
        ["--stackreel", options.stackreel] if options.stackreel else []), *(
            "--only=" + name for name in options.only), folder], check=True)


def fuzz(options, targets):
    """In turn, so that all have had one whenever the run is ended."""
    if options.seconds:
        turns = [options.seconds]
    else:
        each = options.hours * 3600 * options.jobs / len(targets)
        turns = [each / max(1, round(each / TURN))] * max(1, round(each / TURN))
    most_finds = 1 if options.tests else FINDS
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, Stop.ask)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for seconds in turns:
            list(pool.map(lambda target: target.turn(seconds, most_finds), targets))


def print_table(targets):
    print("%-24s %13s %8s %9s %8s %7s %6s %16s" % ("TARGET", "RUNS", "SECONDS", "RUNS/s", "EDGES", "CORPUS",
                                                   "FINDS", "RUNS IN ALL"))
    for target in targets:
        print("%-24s %13s %8.1f %9s %8d %7d %6d %16s" % (
            target.name, format(target.runs, ","), target.seconds,
            format(int(target.runs / (target.seconds or 1)), ","),
            target.coverage, target.units(), len(target.found), format(target.total, ",")))
    print("%-24s %13s %8.1f %9s %8s %7s %6d %16s" % (
        "all", format(sum(t.runs for t in targets), ","), sum(t.seconds for t in targets), "", "", "",
        sum(len(t.found) for t in targets), format(sum(t.total for t in targets), ",")))
    for target in targets:
        for path, what, why in target.found:
            print("%s: %s: %s\n    %s" % (target.name, what, why, path))


def print_tests(targets):
    passed = 0
    for target in targets:
        if target.found or not target.runs:
            path, what, why = (target.found or [("", "it did not run", "")])[0]
            print("failed: %s: %s: %s" % (target.name, what, why))
            if path:
                print("    the input: %s" % path)
                with open(path + ".log", encoding="utf-8") as file:
                    print("".join("    " + line for line in file.readlines()[-40:]))
        else:
            passed += 1
            print("%s: %s runs in %.1f s, %d edges" % (target.name, format(target.runs, ","), target.seconds,
                                                       target.coverage))
    print("%d passed, %d failed, 0 skipped" % (passed, len(targets) - passed))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--programs", required=True)
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--stackreel")
    parser.add_argument("--hours", type=float, default=1)
    parser.add_argument("--seconds", type=float, default=0)
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--tests", action="store_true")
    options = parser.parse_args()
    make_seeds(options)
    targets = find_targets(options)
    if not targets:
        print("no targets in %s: make fuzz-build" % options.programs)
        return 2
    fuzz(options, targets)
    (print_tests if options.tests else print_table)(targets)
    return any(target.found or not target.runs for target in targets)


if __name__ == "__main__":
    sys.exit(main())
