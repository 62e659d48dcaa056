#!/usr/bin/env python3
"""`stackreel report` on a terminal: a pager, like git's, and lines that fit the terminal's width.

    O=DIR   the object directory (build)
"""

import errno
import fcntl
import json
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest

sys.dont_write_bytecode = True
TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [TESTS, os.path.join(TESTS, "reader")]
import counting
import reel_builder as b
import reel_cases

ROOT = os.path.dirname(TESTS)
TOOL = os.path.abspath(os.path.join(os.environ.get("O", "build"), "stackreel"))
ORDERS = os.path.join(ROOT, "testdata/aarch64/orders")
REPORT = ["report", "--stdio", "--no-host-files", "--symfs", ORDERS]
CAPTURE = os.path.join(ORDERS, "orders.reel")
COLOR = re.compile(r"\x1b\[[0-9;]*[mK]")
# A test that hangs fails.
SECONDS_MAX = 120


class Terminal:
    """A terminal, with a program running in it."""

    def __init__(self, argv, width=80, height=24, stdin=None, **environment):
        variables = {"PATH": os.environ["PATH"], "TERM": "xterm", "LC_ALL": "C.UTF-8"}
        variables.update({key: value for key, value in environment.items() if value is not None})
        self.text = b""
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
            if stdin:
                os.dup2(os.open(stdin, os.O_RDONLY), 0)
            os.execve(TOOL, [TOOL] + argv, variables)

    def read(self, until=None, again=None):
        """All output, or the output up to a text. again: keys that are typed until it appears, as a shell that is about to read misses
        a signal."""
        deadline, typed = time.monotonic() + SECONDS_MAX, 0
        while until is None or until not in self.text:
            now = time.monotonic()
            if again and now > typed + 0.5:
                self.type(again)
                typed = now
            ready, _, _ = select.select([self.terminal], [], [], 0.5 if again else SECONDS_MAX)
            if not ready and again and now < deadline:
                continue
            if not ready:
                os.kill(self.pid, signal.SIGKILL)
                raise AssertionError("nothing more came after %r" % self.text[-200:])
            try:
                some = os.read(self.terminal, 65536)
            except OSError as error:
                if error.errno != errno.EIO:
                    raise
                some = b""
            if not some:
                break
            self.text += some
        return self.text

    def type(self, keys):
        os.write(self.terminal, keys)

    def end(self):
        """The output, and the status; negative for a signal."""
        self.read()
        _, status = os.waitpid(self.pid, 0)
        os.close(self.terminal)
        text = self.text.decode().replace("\r\n", "\n")
        return text, os.waitstatus_to_exitcode(status)


def on_terminal(argv, **how):
    return Terminal(argv, **how).end()


def plain(argv, **variables):
    done = subprocess.run([TOOL] + argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, env={**os.environ, **variables})
    return done.stdout.decode(), done.returncode


class Pager(unittest.TestCase):
    """Which pager runs, and how it ends."""

    def setUp(self):
        self.work = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.work)

    def pager(self, lines):
        path = os.path.join(self.work, "pager")
        with open(path, "w") as file:
            file.write("#!/bin/sh\n" + lines)
        os.chmod(path, 0o755)
        return path

    def marks(self, argv=None, **variables):
        """Whether the text came through a pager that marks each line."""
        text, status = on_terminal(argv or REPORT + [CAPTURE], **variables)
        self.assertEqual(status, 0, text)
        self.assertIn("shop::Checkout::tax", text)
        return "paged: # lost" in text

    def test_which(self):
        mark, not_this = "sed 's/^/paged: /'", "false"
        self.assertTrue(self.marks(STACKREEL_PAGER=mark, PAGER=not_this))
        self.assertTrue(self.marks(PAGER=mark))
        for none in "", "cat":
            self.assertFalse(self.marks(STACKREEL_PAGER=none, PAGER=mark))
            self.assertFalse(self.marks(PAGER=none))
        for term in "dumb", None:
            self.assertFalse(self.marks(PAGER=mark, TERM=term) if term else self.marks_without_term(mark))
        self.assertFalse(self.marks(REPORT + ["--no-pager", CAPTURE], PAGER=mark))

    def marks_without_term(self, mark):
        variables = {"PATH": os.environ["PATH"], "PAGER": mark}
        pid, terminal = pty.fork()
        if pid == 0:
            os.execve(TOOL, [TOOL] + REPORT + [CAPTURE], variables)
        held = Terminal.__new__(Terminal)
        held.pid, held.terminal, held.text = pid, terminal, b""
        text, status = held.end()
        self.assertEqual(status, 0, text)
        return "paged: " in text

    def test_default(self):
        """less, if installed, set up as by git; otherwise none."""
        for name in "sh", "env", "cat":
            os.symlink(shutil.which(name), os.path.join(self.work, name))
        self.assertFalse(self.marks(PATH=self.work))
        less = os.path.join(self.work, "less")
        with open(less, "w") as file:
            file.write('#!/bin/sh\necho "LESS=$LESS"\nexec cat\n')
        os.chmod(less, 0o755)
        self.assertIn("LESS=FRX\n", on_terminal(REPORT + [CAPTURE], PATH=self.work)[0])
        self.assertIn("LESS=mine\n", on_terminal(REPORT + [CAPTURE], PATH=self.work, LESS="mine")[0])

    def test_not_on_terminal(self):
        text, status = plain(REPORT + [CAPTURE], PAGER="sed s/^/paged:/", TERM="xterm")
        self.assertEqual(status, 0)
        self.assertNotIn("paged", text)
        self.assertNotIn("\x1b", text)
        out = os.path.join(self.work, "out")
        self.assertEqual(on_terminal(REPORT + ["-o", out, CAPTURE], PAGER="echo paged"), ("", 0))
        with open(out) as file:
            self.assertEqual(file.read(), text)

    def test_same_text(self):
        """Colours and widths depend on the terminal."""
        through, _ = on_terminal(REPORT + [CAPTURE], PAGER="sed ''")
        without, _ = on_terminal(REPORT + ["--no-pager", CAPTURE])
        self.assertEqual(through, without)
        self.assertIn("\x1b[31m", through)

    def test_in_sandbox(self):
        for argv in ["--sandbox", CAPTURE], ["-"]:
            terminal = Terminal(REPORT + argv, stdin=CAPTURE, PAGER="sed 's/^/paged: /'")
            text, status = terminal.end()
            self.assertEqual(status, 0, text)
            self.assertIn("paged: # lost", text)

    def test_status(self):
        for pager in "sed ''", self.pager("exec cat"), "exit 5":
            self.assertEqual(on_terminal(REPORT + [CAPTURE], PAGER=pager)[1], 0)
        text, status = on_terminal(REPORT + ["--min-complete", "100", "--max-frames", "1", CAPTURE], PAGER="sed 's/^/paged: /'")
        self.assertEqual(status, 3)
        # The message follows the table.
        self.assertRegex(text, r"(?s)FUNCTION.*\npaged: stackreel: .*less than --min-complete 100\n$")
        text, status = on_terminal(REPORT + [CAPTURE], PAGER=os.path.join(self.work, "none"))
        self.assertEqual(status, 1)
        self.assertIn("use --no-pager", text)

    def test_error(self):
        """No pager for an empty output, and messages are on the terminal."""
        for argv in ["none.reel"], [CAPTURE, "--comm", "none"], [CAPTURE, "--callers", "none"]:
            text, status = on_terminal(REPORT + argv, PAGER="echo paged; cat")
            self.assertEqual(status, 1)
            self.assertIn("stackreel: ", text)
            self.assertNotIn("paged", text)

    def long_report(self):
        """Output that exceeds a pipe's capacity."""
        name = "x" * 60000
        samples = b.Samples()
        samples.layout(1, reel_cases.X86)
        samples.sample(1, 1000, pc=0x401000, layout=1, values=[1, 0x7000, 0x401000, 2], regions=[b.Region(0x7000, bytes(64))])
        reel = b.Reel().side(
            reel_cases.capture_record(), b.record("EVENT", 1, 1, 0, 999, 0, 1, "cpu-clock", 0),
            b.record("MODULE", 1, 1, 0, 0, 0, 0, b"", "/" + name), b.record("SPACE", 1, 1, 0, 1, 10, 10, 62, 64, 1, 0, 0, 0),
            b.record("THREAD", 1, 1, 1, 1, 10, 10, 0, name), b.record("MAP", 1, 1, 0x400000, 0x10000, 0, 5, 0, 1))
        path = os.path.join(self.work, "long.reel")
        with open(path, "wb") as file:
            file.write(reel_cases.finish(reel.samples(samples)).data)
        return ["report", "--residency", "--by", "comm", path]

    def test_left_early(self):
        """Unread output is dropped, and that is not an error."""
        argv = self.long_report()
        self.assertGreater(len(plain(argv)[0]), 1 << 16)
        text, status = on_terminal(argv, PAGER="head -n 1")
        self.assertEqual((text.count("\n"), status), (1, 0))

    def test_waits(self):
        """It ends with its pager; keys go to the pager."""
        pager = self.pager("trap 'echo interrupted' INT\ncat >/dev/null\necho shown\nfor try in 1 2 3 4 5 6 7 8 9; do read line </dev/tty && break; done\necho read $line\nexec sleep 0.2\n")
        terminal = Terminal(REPORT + ["--time-limit", "100", CAPTURE], PAGER=pager)
        terminal.read(b"shown")
        terminal.read(b"interrupted", again=b"\x03")
        self.assertEqual(os.waitpid(terminal.pid, os.WNOHANG), (0, 0))
        terminal.type(b"on\n")
        text, status = terminal.end()
        self.assertEqual(status, 0)
        self.assertIn("read on", text)

    def test_less(self):
        """Output that fits on the screen is shown and the pager exits; longer output starts with the hottest rows,
        until q."""
        if not shutil.which("less"):
            self.skipTest("less is not installed")
        text, status = on_terminal(REPORT + [CAPTURE], height=60)
        self.assertEqual(status, 0)
        self.assertIn("_start", text)
        terminal = Terminal(REPORT + ["--percent-limit", "0", CAPTURE], height=12)
        terminal.read(b"by_value")
        self.assertEqual(os.waitpid(terminal.pid, os.WNOHANG), (0, 0))
        terminal.type(b"q")
        text, status = terminal.end()
        self.assertEqual(status, 0)
        self.assertIn("tax(…)", text)
        self.assertNotIn(" _start", text)


class Width(unittest.TestCase):
    """Lines of rows on a terminal, and in a pipe."""

    LONG = "shop::Checkout::price(shop::Order const&) const (inlined)"

    def rows(self, options, width):
        text, status = on_terminal(REPORT + options + ["--no-pager", "--names=full", CAPTURE], width=width)
        self.assertEqual(status, 0, text)
        return [line for line in COLOR.sub("", text).split("\n") if not line.startswith("#")]

    def test_table(self):
        for width in 40, 60, 80, 99, 100, 132:
            lines = self.rows([], width)
            self.assertLessEqual(max(map(len, lines)), width, lines)
            head = lines[1].split()
            self.assertEqual("SAMPLES" in head, width >= 100)
            self.assertEqual(head[-2:], ["FUNCTION", "MODULE"])
            self.assertTrue(any("…" in line for line in lines[2:]) or width not in (40, 60, 100))
        self.assertTrue(any(self.LONG + "  orders" in line for line in self.rows([], 200)))

    def test_tree(self):
        for width in 66, 80:
            lines = self.rows(["--tree"], width)
            self.assertLessEqual(max(map(len, lines)), width, lines)
            self.assertTrue(any("…" in line for line in lines))
            lines = self.rows(["--callers", "tax"], width)
            self.assertLessEqual(max(map(len, lines)), width, lines)

    def test_pipe(self):
        for option in "--tree", "--percent-limit=1":
            text, status = plain(REPORT + [option, "--names=full", CAPTURE], LC_ALL="C.UTF-8")
            self.assertEqual(status, 0)
            self.assertIn(self.LONG, text)
            self.assertNotIn("…", text)


class Sparkline(unittest.TestCase):
    """`report --sparkline` against the samples' times."""

    LEVELS = " ▁▂▃▄▅▆▇█"

    def check(self, limit, *capture):
        text, status = plain(["report", "--stdio", "--sparkline", "--names=full", "--percent-limit=%d" % limit, *capture], LC_ALL="C.UTF-8")
        self.assertEqual(status, 0)
        lines = text.splitlines()
        head = next(line for line in lines if "COURSE" in line)
        at, name, module = (head.index(word) for word in ("COURSE", "FUNCTION", "MODULE"))
        export = subprocess.run([TOOL, "export", "-q", "--format=ndjson", *capture], stdout=subprocess.PIPE, check=True)
        samples = [sample for sample in map(json.loads, export.stdout.splitlines()) if "frames" in sample]
        begin, end = min(sample["time"] for sample in samples), max(sample["time"] for sample in samples)
        rows = [line for line in lines[lines.index(head) + 1:] if line and line[0] != "#"]
        self.assertGreater(len(rows), 3)
        for row in rows:
            columns = [0] * 10
            function = re.sub(r" \((inlined)\)$| \[k\]$", "", row[name:module].rstrip())
            for sample in samples:
                if any(frame["function"] == function for frame in sample["frames"]):
                    self.add(columns, sample, begin, (end - begin) / 10)
            # A sample at the edge of two columns may be counted in either.
            for shown, weight in zip(row[at:at + 10], columns):
                self.assertLessEqual(abs(self.LEVELS.index(shown) - weight * 8 / max(columns)), 1.5, (row, columns))

    @staticmethod
    def add(columns, sample, begin, width):
        """A wait counts from its begin to its end."""
        length = min(sample["weight"], sample["time"] - begin) if sample["state"] != "running" else 0
        last, first = sample["time"] - begin, sample["time"] - begin - length
        for column in range(10):
            overlap = min(last, (column + 1) * width) - max(first, column * width)
            if length:
                columns[column] += sample["weight"] * max(overlap, 0) / length
            elif min(int(last / width), 9) == column:
                columns[column] += sample["weight"]

    def test_columns(self):
        self.check(5, *REPORT[2:], CAPTURE)

    def test_events(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "waits.reel")
            subprocess.run([os.path.join(TESTS, "page/make_captures.py"), "waits", path], check=True)
            self.check(25, "--no-host-files", "--event=off-cpu", path)
            self.assertEqual(plain(["report", "--stdio", "--no-host-files", "--sparkline", path], LC_ALL="C.UTF-8"), ("", 1))

    def test_refused(self):
        for options, environment, why in (["--tree"], {}, "requires the table"), (["--by=comm"], {}, "without groups"), ([], {"LC_ALL": "C"}, "a locale with UTF-8"):
            done = subprocess.run([TOOL, *REPORT, "--sparkline", *options, CAPTURE], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, env={**os.environ, "LC_ALL": "C.UTF-8", **environment})
            self.assertEqual(done.returncode, 2)
            self.assertIn(why, done.stderr.decode())


if __name__ == "__main__":
    os.chdir(ROOT)
    suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules[__name__])
    sys.exit(counting.run_suite(suite, sys.stdout))
