#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Replays the captures of testdata/CPU/chains, and checks every sample.

For each cell of tests/matrix/cells.py: the output of `stackreel folded` is byte-identical to the expected file, and
every sample has a chain that the program can have (tests/chains/check.py).  A missing cell has a reason.  With
--libdw (make truth), all traces are also compared with libdw's. Prints a line for each CPU and scenario: samples,
right, explained.
"""

import argparse
import concurrent.futures
import contextlib
import io
import lzma
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "tests", folder) for folder in ("", "chains", "matrix")]
import counting  # noqa: E402
from cells import CPUS, SCENARIOS, absent, cells  # noqa: E402
from check import Checker, read_samples  # noqa: E402

BUILD = os.environ.get("O") or "build"
STACKREEL = os.path.join(BUILD, "stackreel")


class Options:
    """The options that check.py reads from its command line."""

    def __init__(self, printed):
        self.printed, self.count, self.min, self.slow = printed or "0", 6, 25, True


class Cell:
    def __init__(self, cpu, name, symfs):
        self.cpu, self.name, self.symfs = cpu, name, symfs
        self.variant, self.mode = name.split("/")
        self.path = os.path.join("testdata", cpu, "chains", name)
        self.samples = self.right = self.explained = 0
        self.problem = ""

    def replay(self, command):
        options = ["-q", "--no-host-files", "--symfs", self.symfs, "--debug-dir", self.symfs + "/usr/lib/debug"]
        return subprocess.run([STACKREEL, command, *options, self.path + ".reel"], check=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE).stdout

    def read(self, suffix):
        with open(self.path + suffix, "rb") as file:
            return file.read()

    def fail(self, problem):
        self.problem += ("\n    " if self.problem else "") + problem

    def check_chains(self, script):
        printed = self.read(".printed").decode().strip() if os.path.exists(self.path + ".printed") else ""
        checker = Checker(self.mode, self.cpu, "musl" if self.variant == "musl" else "glibc", self.symfs, True, trimmed=True)
        for sample in read_samples(io.StringIO(script.decode(errors="replace")), self.symfs):
            checker.add(sample)
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            if checker.report(Options(printed)):
                self.fail("its chains\n" + text.getvalue().rstrip())
        self.samples = checker.samples
        self.explained = sum(count for kind, count in checker.counts.items() if kind[0] == "end")
        self.right = sum(checker.counts.values()) - self.explained

    def update(self):
        """Expects the current output, if every chain is right."""
        self.check_chains(self.replay("script"))
        if not self.problem:
            with open(self.path + ".folded.xz", "wb") as file:
                file.write(lzma.compress(self.replay("folded"), preset=9))
        return self

    def check(self, libdw):
        try:
            folded, expected = self.replay("folded"), lzma.decompress(self.read(".folded.xz"))
            if folded != expected:
                ours, theirs = folded.decode().splitlines(), expected.decode().splitlines()
                differ = sorted(set(ours) ^ set(theirs))[:6]
                self.fail("folded differs from %s.folded:\n%s" % (self.path, "\n".join(
                    "%s %s" % ("+" if line in ours else "-", line[:400]) for line in differ)))
            self.check_chains(self.replay("script"))
            # Elsewhere most PLTs have no CFI, which misleads libdw.
            if libdw and self.cpu == "x86_64":
                done = subprocess.run(["tests/matrix/libdw.sh", self.symfs, self.path + ".reel"], check=False,
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                if done.returncode:
                    self.fail("libdw\n" + done.stdout)
        except subprocess.CalledProcessError as error:
            self.fail("%s: %s" % (" ".join(error.cmd[:2]), error.stderr.decode(errors="replace").strip()))
        except OSError as error:
            self.fail(str(error))
        return self


def table(cpu, results, missing):
    print("%s: %d captures, %d samples" % (cpu, len(results), sum(cell.samples for cell in results.values())))
    for scenario, names in SCENARIOS.items():
        some = [results[name] for name in names if name in results]
        if some:
            print("    %-28s %6d samples %6d right %6d explained%s   %s" % (
                scenario, sum(cell.samples for cell in some), sum(cell.right for cell in some),
                sum(cell.explained for cell in some),
                " WRONG" if any(cell.problem for cell in some) else "", " ".join(cell.name for cell in some)))
        for name in names:
            if name in missing:
                print("    %-28s not on %s: %s: %s" % (scenario, cpu, name, missing[name]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--libdw", action="store_true", help="also compare with libdw")
    parser.add_argument("--update", action="store_true", help="rewrite the expected files, if every chain is right")
    options = parser.parse_args()
    os.chdir(ROOT)
    count = counting.Count()
    with tempfile.TemporaryDirectory() as work:
        for cpu in CPUS:
            symfs = os.path.join(work, cpu)
            done = subprocess.run(["tests/matrix/unpack.sh", cpu, symfs], check=False, stderr=subprocess.PIPE, text=True)
            if done.returncode:
                count.ok(cpu, False, done.stderr.strip())
                continue
            wanted = [Cell(cpu, name, symfs) for name in cells(cpu)]
            with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
                check = Cell.update if options.update else lambda cell: cell.check(options.libdw)
                results = {cell.name: cell for cell in pool.map(check, wanted)}
            every = dict.fromkeys(name for names in SCENARIOS.values() for name in names)
            table(cpu, results, {name: absent(cpu, name) for name in every if absent(cpu, name)})
            for cell in results.values():
                count.ok("%s %s" % (cpu, cell.name), not cell.problem, cell.problem)
            # A capture in no scenario would not be checked.
            for folder, _, files in sorted(os.walk(os.path.join("testdata", cpu, "chains"))):
                for name in sorted(files):
                    cell = os.path.join(os.path.basename(folder), name[:-len(".reel")])
                    if name.endswith(".reel") and cell not in results:
                        count.ok("%s %s" % (cpu, cell), False, "it is in no scenario")
    return count.finish() or not count.passed


if __name__ == "__main__":
    sys.exit(main())
