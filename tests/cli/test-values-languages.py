#!/usr/bin/env python3
"""Values of variables of C++, Rust and Go programs, with and without optimization, and of link-time optimized ones: every variable of
every frame in some samples against gdb; what the programs know of themselves; and shares of time by value, within 2 %.

    O=DIR            the object directory (build)
    LIBCXX=COMMAND   a C++ compiler with libc++ (clang++ -stdlib=libc++, with Debian's packages if it is not installed)
"""
# run.sh: thorough
# checks: replay/values

import glob
import os
import platform
import shutil
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [TESTS, os.path.join(TESTS, "cli")]
import counting
from values_oracle import PROGRAMS, TOOL, UNKNOWN, RecordingTest, printed, run


def compiles(command):
    return shutil.which(command[0]) and subprocess.run([*command, "-x", "c++", "-o", "/dev/null", "-"], input="#include <string>\nint main() {}",
                                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True, check=False).returncode == 0


def libcxx():
    """A compiler command. Debian 12's libc++-dev cannot be installed beside libunwind-dev, so it is unpacked in the cache."""
    command = os.environ.get("LIBCXX", "clang++ -stdlib=libc++").split()
    if compiles(command):
        return command
    if not shutil.which("clang++"):
        raise unittest.SkipTest("clang++ is missing")
    release = platform.freedesktop_os_release() if os.path.exists("/etc/os-release") else {}
    done = subprocess.run([os.path.join(TESTS, "vm/sysroot.sh"), release.get("VERSION_CODENAME", "sid"), platform.machine(), "libc++-dev", "libc++abi-dev"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode == 77:
        raise unittest.SkipTest("libc++: " + done.stderr.strip().rpartition("\n")[2])
    assert done.returncode == 0, done.stderr
    (folder,) = glob.glob(done.stdout.strip() + "/usr/lib/llvm-*")
    command = ["clang++", "-stdlib=libc++", "-nostdinc++", "-isystem", folder + "/include/c++/v1", "-L%s/lib" % folder, "-Wl,-rpath,%s/lib" % folder]
    assert compiles(command), command
    return command


class LanguagesTest(RecordingTest):
    def check(self, each, name, *command):
        capture = self.record(name, *command, os.path.join(PROGRAMS, "values." + name.split("-")[0]))
        found = printed(capture)
        self.check_with_gdb(capture, found, list(found), each, 6)
        return found

    def test_shares(self):
        """A program with a known distribution of values."""
        for compiler, level in (("gcc", "-O0"), ("gcc", "-O2"), ("clang", "-O2")):
            capture = self.record("shares-%s%s" % (compiler, level), compiler, "-g", level, os.path.join(PROGRAMS, "shares.c"), frequency="4999")
            rows = run(TOOL, "values", "-q", "--exact", "work:kind", capture).splitlines()[4:]
            shares = {row.split(None, 3)[-1].split("  < ")[0]: float(row.split()[0]) for row in rows}
            for kind, share in (("1", 60), ("20", 30), ("-300", 10)):
                self.assertAlmostEqual(shares.get(kind, 0), share, delta=2, msg=(compiler, level, rows))

    def test_go(self):
        """Go's functions save no registers for their callers, so that values of callers are only on the stack."""
        found = self.check(5, "go-1", "go", "build")
        several = 0
        for frames in found.values():
            requests = [frame[2]["request"] for frame in frames if frame[1] in ("main.(*Request).Sum", "main.visit")]
            known = {request for request in requests if not request.startswith("<")}
            self.assertLessEqual(len(known), 1, frames)
            several += len(requests) > 2
            depths = enumerate(frame[2]["depth"] for frame in frames if frame[1] == "main.visit")
            self.assertLessEqual(len({int(depth) - i for i, depth in depths if not depth.startswith("<")}), 1, frames)
        self.assertGreater(several, 10)

    def test_go_0(self):
        self.check(3, "go-0", "go", "build", "-gcflags", "'-N -l'")

    def values_of(self, name, expression):
        rows = run(TOOL, "values", "-q", expression, os.path.join(self.folder, name + ".reel")).splitlines()[4:]
        return {row.split(None, 3)[-1].split("  < ")[0] for row in rows} - set(UNKNOWN)

    def test_rust_0(self):
        self.check(10, "rs-0", "rustc", "-g", "-C", "opt-level=0")
        self.assertEqual(self.values_of("rs-0", "measure:text"), {'"the second"'})
        self.assertEqual(self.values_of("rs-0", "serve:request.next.Some.__0.name"), {'"first"'})
        self.assertEqual(self.values_of("rs-0", "serve:request.next.Some.__0.limit"), {"Some {__0 = 70}"})
        self.assertEqual(self.values_of("rs-0", "serve:request.next.Some.__0.path"), {"<14 bytes not captured>"})
        for copy in self.values_of("rs-0", "area:copy"):
            self.assertRegex(copy, r"^(Nothing|Circle {__0 = 2.5}|Rectangle {width = 3, height = 4}|Named {__0 = 0x\w+ <6 bytes not captured>, __1 = 9})$")

    def test_rust_3(self):
        self.check(5, "rs-3", "rustc", "-g", "-C", "opt-level=3")

    def test_rust_lto(self):
        self.check(5, "rs-lto", "rustc", "-g", "-C", "opt-level=2", "-C", "lto=fat", "-C", "codegen-units=1")

    def test_gcc_0(self):
        self.check(10, "cc-gcc-0", "g++", "-std=c++17", "-g", "-O0")
        self.assertEqual(self.values_of("cc-gcc-0", "serve:request.next.name"), {'"first"'})
        self.assertEqual(self.values_of("cc-gcc-0", "measure:view"), {'"a view"'})
        report = run(TOOL, "report", "-q", "--by", "serve:request.next.name", os.path.join(self.folder, "cc-gcc-0.reel"))
        self.assertRegex(report, r'\d  "first"\n')

    def test_gcc_lto(self):
        self.check(5, "cc-gcc-lto", "g++", "-std=c++17", "-g", "-O3", "-flto")

    def test_libcxx(self):
        """Short texts of libc++ are in the string itself."""
        command = libcxx()
        self.check(10, "cc-libcxx", *command, "-std=c++17", "-g", "-O0")
        self.assertEqual(self.values_of("cc-libcxx", "serve:request.next.name"), {'"first"'})
        self.assertEqual(self.values_of("cc-libcxx", "measure:view"), {'"a view"'})
        # On the heap.
        self.assertRegex("".join(self.values_of("cc-libcxx", "serve:request.name")), r"^(<3[0-9] bytes not captured>)+$")

    def test_clang_2(self):
        self.check(5, "cc-clang-2", "clang++", "-std=c++17", "-g", "-O2")


if __name__ == "__main__":
    sys.exit(counting.run_suite(unittest.defaultTestLoader.loadTestsFromModule(sys.modules[__name__]), sys.stdout))
