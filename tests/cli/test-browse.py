#!/usr/bin/env python3
# checks: cli/browse
"""`stackreel report` on a terminal, provided by tmux: the screen shows the data of the text output, whichever keys lead there.

    O=DIR   the object directory (build)

Arguments are classes or tests to run, such as Top; default: all.
"""

import contextlib
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True
TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [TESTS, os.path.join(TESTS, "reader")]
import counting
import reel_builder as b
import reel_cases
import reel_reader

ROOT = os.path.dirname(TESTS)
TOOL = os.path.abspath(os.path.join(os.environ.get("O", "build"), "stackreel"))
ORDERS = os.path.join(ROOT, "testdata/aarch64/orders")
CAPTURE = os.path.join(ORDERS, "orders.reel")
GUESSES = os.path.join(ROOT, "testdata/riscv64/chains/gcc/threads.reel")
RECORDS = os.path.join(ROOT, "testdata/golden/records.reel")
FROM = ["--no-host-files", "--symfs", ORDERS, "--debug-dir", ORDERS]
# A screen that never becomes right is a failure.
SECONDS_MAX = 60
SHARE = r"^ *\d+\.\d\d %"


class Screen:
    """A terminal in which the tool runs. stdin: a file."""

    def __init__(self, *arguments, width=110, height=30, stdin=None, **environment):
        self.folder = tempfile.mkdtemp()
        self.status = os.path.join(self.folder, "status")
        variables = {"LC_ALL": "C.UTF-8", **environment}
        command = "env -u NO_COLOR %s %s %s %s; echo $? >%s; exec sleep 1000" % (
            " ".join("%s=%s" % item for item in variables.items()), TOOL, " ".join(shlex.quote(a) for a in arguments),
            "<" + shlex.quote(stdin) if stdin else "", self.status)
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(width), "-y", str(height), command)

    def tmux(self, *arguments):
        done = subprocess.run(["tmux", "-u", "-S", os.path.join(self.folder, "socket"), *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                              env={**os.environ, "TERM": "screen", "LC_ALL": "C.UTF-8"})
        return done.stdout.decode()

    def rows(self, escapes=False):
        return self.tmux("capture-pane", "-p", *(["-e"] if escapes else [])).splitlines()

    def page(self):
        """Without the lines that are about it."""
        return self.rows()[2:-1]

    def wait(self, text):
        """All rows, once one of them has the text, which is a regular expression."""
        end = time.monotonic() + SECONDS_MAX
        while not any(re.search(text, row) for row in self.rows()):
            if time.monotonic() > end:
                raise AssertionError("no %r on the screen:\n%s" % (text, "\n".join(self.rows())))
            time.sleep(0.02)
        return self.settled()

    def settled(self):
        """The rows, once they stay as they are: a terminal draws a screen in several steps."""
        rows = self.rows()
        for _ in range(10):
            time.sleep(0.02)
            before, rows = rows, self.rows()
            if rows == before:
                break
        return rows

    def type(self, *keys, until=None):
        self.tmux("send-keys", *keys)
        return self.wait(until) if until else None

    def resize(self, width, height):
        self.tmux("resize-window", "-x", str(width), "-y", str(height))

    def ended(self):
        """The status."""
        end = time.monotonic() + SECONDS_MAX
        while not os.path.exists(self.status) or not os.path.getsize(self.status):
            if time.monotonic() > end:
                raise AssertionError("it goes on:\n%s" % "\n".join(self.rows()))
            time.sleep(0.02)
        with open(self.status, encoding="ascii") as file:
            return int(file.read())

    def close(self):
        self.tmux("kill-server")
        shutil.rmtree(self.folder)


def text(*arguments):
    return subprocess.run([TOOL, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=False, env={**os.environ, "LC_ALL": "C.UTF-8"}).stdout.decode()


def report(*arguments):
    return text("report", "--percent-limit=0", *arguments)


def table(rows):
    """Self, total, and the name, cut at the available width."""
    found = (re.match(r" *([\d.]+) % +\S+ .{2} +([\d.]+) % .{9} +[\d,]+  (\S.*?)(?:  .*)?$", row) for row in rows)
    return [(m[1], m[2], m[3].rstrip("…")) for m in found if m]


def code(rows):
    """The rows of a table, without the marks that the text output does not have."""
    return [row for row in table(rows) if not re.match(r"\[(incomplete|no frames)", row[2])]


def names(rows):
    """The rows of a tree, on the screen or as text: shares, and the names beside them."""
    found = (re.search(r"([\d.]+) %(?!.*\d %)(?: +[\d,]+)?  [ +│├└─-]*(\S.*?)(?:  \S+)?$", row) for row in rows if not row.startswith("#"))
    return sorted((m[1], m[2]) for m in found if m)


def two_events(path):
    """A sample for each, from a thread whose name would set a terminal's title, and with a value."""
    name = "\x1b]0;owned\x07"
    samples = b.Samples()
    samples.layout(1, reel_cases.X86)
    for event in 1, 2:
        samples.sample(event, 1000 * event, pc=0x401000, layout=1, event=event, values=[1, 0x7000, 0x401000, 2], regions=[b.Region(0x7000, bytes(64))],
                       labels={16: (1, 7)})
    reel = b.Reel().side(
        reel_cases.capture_record(), b.record("EVENT", 1, 1, 0, 999, 0, 1, "cpu-clock", "next_pid"), b.record("EVENT", 2, 1, 0, 0, 1, 2, "faults", 0),
        b.record("SPACE", 1, 1, 0, 1, 10, 10, 62, 64, 1, 0, 0, 0), b.record("THREAD", 1, 1, 1, 1, 10, 10, 0, name))
    with open(path, "wb") as file:
        file.write(reel_cases.finish(reel.samples(samples)).data)


HAS_SCREEN = b"ncurses" in subprocess.run(["ldd", TOOL], stdout=subprocess.PIPE, check=False).stdout
needs_screen = unittest.skipUnless(shutil.which("tmux") and HAS_SCREEN, "tmux is not installed, or this stackreel was built without ncurses")


@needs_screen
class Browse(unittest.TestCase):
    def open(self, *arguments, **how):
        screen = Screen("report", *arguments, **how)
        self.addCleanup(screen.close)
        screen.wait(r"\?: help")
        return screen

    def orders(self, *arguments, **how):
        return self.open(*FROM, *arguments, CAPTURE, **how)

    def same_table(self, rows, *arguments):
        """The screen has the first rows of the text; it may cut names."""
        shown, right = code(rows), code(report(*FROM, *arguments, CAPTURE).splitlines())
        self.assertGreater(len(shown), 3)
        for left, whole in zip(shown, right):
            self.assertEqual(left[:2], whole[:2])
            self.assertTrue(whole[2].startswith(left[2]), (left, whole))

    def test_table(self):
        screen = self.orders()
        rows = screen.rows()
        self.assertRegex(rows[0], r"orders\.reel  cpu-clock  842 samples, 842\.8 ms  100\.00 % complete")
        self.same_table(rows)
        self.assertRegex(rows[-1], r"^ 1/49  by function, sorted by self")
        for order, last in ("total", "total"), ("samples", "samples"), ("symbol", "symbol"), ("module", "module"):
            self.same_table(screen.type("o", until="sorted by " + last), "--sort=" + order)
        screen.type("q")
        self.assertEqual(screen.ended(), 0)

    def test_moves(self):
        screen = self.orders(height=14)
        screen.type("Down", until="^ 2/49")
        screen.type("PPage", until="^ 1/49")
        screen.type("NPage", until="^ 12/49")
        last = screen.type("End", until="^ 49/49")
        self.assertEqual(len([row for row in last if re.search(SHARE, row)]), 11)
        screen.type("Home", until="^ 1/49")

    def test_tree(self):
        right = names(report(*FROM, "--tree", CAPTURE).splitlines())
        screen = self.orders("--tree", height=200)
        self.assertLess(len(names(screen.page())), len(right))
        screen.type("E", until=r"^ 1/\d\d\d")
        self.assertEqual(names(screen.page()), right)
        screen.type("C", until="^ 1/3 ")
        self.assertEqual(len(names(screen.page())), 3)
        rows = screen.type("Enter", until="^ 1/9 ")
        self.assertRegex(rows[3], r"^  0.24 % +- __libc_start_main_impl")
        screen.type("Left", until="^ 1/3 ")
        screen.type("2", "1", until="by function")

    def test_callers_and_callees(self):
        screen = self.orders(height=100)
        screen.type("/", "qsort_r", until="^/qsort_r")
        screen.type("Enter", until="1/1  by function.*with 'qsort_r'")
        screen.type("3", "E", until="callers of __qsort_r")
        screen.wait("_start  orders")
        self.assertEqual(names(screen.page()), names(report(*FROM, "--callers=__qsort_r", CAPTURE).splitlines()))
        screen.type("4", until="callees of __qsort_r")
        rows = screen.type("E", until="shop::by_value")
        # msort_with_tmp calls itself: the shares of the first level add up to qsort_r's.
        self.assertRegex("\n".join(rows), r"21\.62 % +182  - __qsort_r\b")
        self.assertRegex("\n".join(rows), r"21\.38 % +180    - msort_with_tmp\.part\.0")
        screen.type("Escape", until="callers of")
        screen.type("Escape", until="1/1  by function")
        screen.type("Escape", until="1/49")

    def test_callers_from_the_start(self):
        screen = self.orders("--callers=shop::walk")
        self.assertIn("callers of 'shop::walk'", screen.rows()[-1])
        screen = Screen("report", *FROM, "--callers=nowhere", CAPTURE)
        self.addCleanup(screen.close)
        screen.wait("no function name matches 'nowhere'")

    def test_courses(self):
        """When rows ran: in tables as report --sparkline prints it, in trees the same for what has one caller only."""
        def courses(rows):
            found = (re.search(r"% .*[\d,]+  ([ ▁▂▃▄▅▆▇█]{10})  [ +-]*(\S.*?)(?:  .*)?$", row) for row in rows)
            return [(m[2], m[1]) for m in found if m and m[2][0] != "["]

        right = courses(report(*FROM, "--sparkline", CAPTURE).splitlines())
        screen = self.orders(width=140, height=200)
        self.assertIn("COURSE", screen.wait("by function")[1])
        shown = courses(screen.page())
        self.assertEqual(shown, right)
        self.assertGreater(len(shown), 40)
        own = dict(right)["shop::walk(…)"]
        screen.type("/", "walk", "Enter", until="with 'walk'")
        for key, until in ("3", "callers of"), ("4", "callees of"):
            self.assertEqual(courses(screen.type(key, until=until))[0], ("shop::walk(…)", own))
        screen.type("1", until="by function")
        self.assertIn(("shop::walk(…)", own), courses(screen.type("2", "E", until="shop::walk")))
        self.assertRegex(screen.type("t", until="by thread")[2], r" ▇▇████████  orders ")
        self.assertEqual(courses(screen.type("Enter", until="> orders.*")), right)
        rows = screen.type("c", until="courses are hidden")
        self.assertNotIn("COURSE", rows[1])
        self.assertIn("COURSE", screen.type("c", until="COURSE")[1])
        screen.resize(119, 30)
        screen.wait("TOTAL .*SAMPLES  FUNCTION")
        screen.type("c", "c", until="no room: courses need a UTF-8 terminal with 120 columns")
        screen.resize(130, 30)
        screen.wait("COURSE")

    def test_filter(self):
        screen = self.orders()
        for typed, rows in ("/", 49), ("w", None), ("a", None), ("lk", 1):
            screen.type(typed)
            if rows:
                screen.type("", until="^/")
        rows = screen.wait("^/walk")
        self.assertEqual([row[2] for row in table(rows)], ["shop::walk(…)"])
        screen.type("BSpace", "BSpace", "BSpace", until="^/w$")
        screen.type("Escape", until="1/49")
        screen.type("/", "kernel_clock", "Enter", until="with 'kernel_clock'")
        screen.type("Escape", until="1/49")
        screen.type("L", "5", "Enter", until="1/1[0-9].*at least 5 %")
        self.same_table(screen.rows(), "--percent-limit=5")
        screen.type("L", "x", "Enter", until="invalid percentage")

    def test_filter_of_a_tree(self):
        screen = self.orders("--tree")
        rows = screen.type("/", "by_value", until="^/by_value")
        rows = screen.wait("shop::by_value")
        self.assertEqual(rows[2].split()[-2:], ["_start", "orders"])
        self.assertNotIn("shop::walk", "\n".join(rows))

    def test_groups(self):
        screen = self.open("--no-host-files", GUESSES)
        rows = screen.type("t", until="by thread")
        threads = table(rows)
        self.assertEqual(threads, table(report("--no-host-files", "--by=thread", GUESSES).splitlines()))
        tid = re.search(r"\((\d+)\)$", threads[0][2])[1]
        rows = screen.type("Enter", until=r"> \w+ \(%s\)" % tid)
        self.assertEqual(code(rows), code(report("--no-host-files", "--tid", tid, GUESSES).splitlines()))
        screen.type("Escape", until="^ 1/[0-9]+  by function")
        screen.type("b", until="by process")
        screen.type("Down", "Enter", until="by module")
        rows = screen.wait("by module")
        self.assertEqual([row[2] for row in code(rows)], [row[2] for row in table(report("--no-host-files", "--by=module", GUESSES).splitlines())])

    def test_labels(self):
        """The keys of labels are the last groupings to choose from."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "labels.reel")
            two_events(path)
            screen = self.open("--no-host-files", path)
            self.assertEqual([row for row in screen.type("b", until="group by") if row.startswith("  by ")][-1].strip(), "by next_pid")
            self.assertRegex("\n".join(screen.type("End", "Enter", until="by next_pid, ")), r"\n100\.00 %.* 7\b")

    def test_lines(self):
        screen = self.orders("--by=line")
        self.same_table(screen.rows(), "--by=line")

    def test_marks(self):
        self.assertIn("[guessed]", "\n".join(self.open("--no-host-files", "--tree", GUESSES).type("E", until="guessed")))
        screen = self.open("--no-host-files", CAPTURE, width=130)
        screen.type("/", "incomplete", until=r"99\.76 %.*\[incomplete: module missing\]")
        screen.type("Escape", until="1/70")
        rows = screen.type("i", until="# no file")
        self.assertIn("# complete traces: 0.00 %", "\n".join(rows))

    def test_code(self):
        screen = self.orders()
        screen.type("/", "by_value", "Enter", until="1/1 ")
        rows = screen.type("a", until="instructions of shop::by_value")
        right = text("annotate", "--no-pager", *FROM, "by_value", CAPTURE).splitlines()
        hottest = max((line for line in right if re.match(r" *\d+\.\d\d ", line)), key=lambda line: float(line.split()[0]))
        self.assertIn(hottest.rstrip(), [row.rstrip() for row in rows])
        self.assertEqual(int(re.match(r" (\d+)/", rows[-1])[1]), right.index(hottest) + 1)
        screen.type("Escape", until="by function")
        screen.type("s", until="source of shop::by_value")
        screen.type("Escape", "Escape", until="1/49")
        screen.type("b", "Down", "Enter", until="by module")
        screen.type("a", until="not a function")
        screen.type("b", "Enter", until="by function")
        # Inlined functions are part of a caller, which the screen names.
        screen.type("a", until="is always inlined")

    def test_events(self):
        screen = self.open("--no-host-files", RECORDS)
        screen.type("Tab", until="the capture has a single event")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "two.reel")
            two_events(path)
            screen = self.open("--no-host-files", path)
            first = screen.rows()[0]
            self.assertIn("(1 of 2)", first)
            self.assertNotEqual(screen.type("Tab", until=r"\(2 of 2\)")[0], first)
            screen.type("BTab", until=r"\(1 of 2\)")

    def test_time(self):
        screen = self.orders()
        screen.type("[", "0", ".", "5", until=r"^from .*: 0\.5")
        later = screen.type("Enter", until=" [1-7][0-9][0-9] samples.*from 500")
        self.same_table(later, "--time=0.5..")
        screen.type("]", "6", "0", "0", "m", "s", "Enter", until=" [1-9][0-9] samples.*to 600")
        self.same_table(screen.rows(), "--time=0.5..0.6")
        screen.type("]", "x", "Enter", until="invalid time")
        screen.type("[", "9", "Enter", until="invalid time|no samples in this time")
        self.assertIn("to 600", screen.rows()[0])
        screen.type("[", "Enter", "]", "Enter", until="842 samples")
        self.assertNotIn("from", screen.rows()[0])

    def test_short_and_full_names(self):
        screen = self.orders()
        self.assertIn("shop::walk(…)", "\n".join(screen.rows()))
        screen.type("n", until="full names")
        self.assertIn("shop::walk(int, unsigned long)", "\n".join(screen.rows()))
        # The types of arguments are cut, not the function's name.
        screen.resize(60, 30)
        screen.wait(r" shop::by_value\(void.*…  orders$")
        screen.resize(110, 30)
        screen.wait("SAMPLES  FUNCTION")
        screen.type("n", until="short names")
        self.assertIn("shop::walk(…)", "\n".join(screen.rows()))

    def test_sizes(self):
        screen = self.orders(width=80, height=24)
        self.assertIn("45.01 %   45.01 %  shop::Checkout::tax(…) (inlined)", "\n".join(screen.rows()))
        screen.type("2", until="calls, from the root")
        screen.resize(50, 24)
        screen.wait(r"…\S*price\(…\) \(inlined\)  orders$")
        for width, height in (50, 10), (12, 4), (3, 1), (200, 60):
            screen.resize(width, height)
            time.sleep(0.1)
        screen.wait("shop::walk")
        screen.type("1", until="by function")
        screen.resize(100, 20)
        screen.wait(r"\?: help")
        self.assertLessEqual(max(map(len, screen.rows())), 100)
        screen.type("/", "walk", "Enter", until="1/1 .*with 'walk'")
        screen.resize(130, 20)
        screen.wait("379.4 ms|12.95 %  109.1 ms")
        screen.wait("1/1 .*with 'walk'")

    def test_without_colours_and_utf8(self):
        colours = re.compile(r"\x1b\[[0-9;]*3[1-7]m")
        self.assertRegex("\n".join(self.orders().rows(escapes=True)), colours)
        screen = self.orders(NO_COLOR="1", LC_ALL="C")
        self.assertNotRegex("\n".join(screen.rows(escapes=True)), colours)
        screen.type("/", "by_value", "Enter", "a", until="instructions of")
        self.assertTrue(all(row.isascii() for row in screen.rows()), screen.rows())

    def test_help(self):
        """It fits 80 columns; q closes it, and quits on the first page."""
        screen = self.orders(height=60)
        rows = screen.type("?", until="keys")
        for key in "q", "/", "Tab", "a  s", "Enter":
            self.assertTrue(any(row.startswith("  " + key) for row in rows), key)
        self.assertIn("reason.", rows)
        source = re.search(r"static const char help\[\] =(.*?);\n\n", open("cli/browse/views.c").read(), re.S).group(1)
        lines = "".join(re.findall(r'"(.*)"', source)).split("\\n")
        self.assertLessEqual(max(map(len, lines)), 80)
        self.assertRegex(rows[-1], "q: back")
        screen.type("q", until="by function")
        screen.type("q")
        self.assertEqual(screen.ended(), 0)

    def test_text(self):
        """When requested, and when there is no terminal."""
        for arguments, environment in (["--stdio", CAPTURE], {}), (["--no-pager", CAPTURE], {}), ([CAPTURE], {"TERM": "dumb"}), (["--residency", CAPTURE], {}), ([CAPTURE], {"TERM": "unheard-of"}):
            screen = Screen("report", *FROM, *arguments, PAGER="cat", **environment)
            self.addCleanup(screen.close)
            self.assertEqual(screen.ended(), 0)
        done = subprocess.run([TOOL, "report", "--tui", *FROM, CAPTURE], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        self.assertEqual((done.returncode, done.stdout), (1, b""))
        self.assertIn(b"--tui: standard output is not a suitable terminal", done.stderr)

    def test_standard_input(self):
        """Keys still come from the terminal. The sandbox reads no keys: it prints text."""
        self.same_table(self.open("--no-sandbox", *FROM, "-", stdin=CAPTURE).rows())
        screen = Screen("report", *FROM, "-", stdin=CAPTURE, PAGER="cat", ASAN_OPTIONS="detect_leaks=0")
        self.addCleanup(screen.close)
        self.assertEqual(screen.ended(), 0)

    def test_hostile_names(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "hostile.reel")
            two_events(path)
            screen = self.open("--no-host-files", "--by=comm", path)
            self.assertRegex("\n".join(screen.rows()), r"\\x1b")
            self.assertNotIn("owned", screen.tmux("display-message", "-p", "#{pane_title}"))


class Top(unittest.TestCase):
    """`stackreel top`, with a stream read from a file; tests/record/test-record.sh has it run a recorder."""

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        with open(CAPTURE, "rb") as file:
            self.capture = file.read()

    def run_top(self, *arguments, stream):
        done = subprocess.run([TOOL, "top", "--stdio", "--delay=100ms", *arguments, *FROM, "-"], input=stream, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    def test_text(self):
        status, out, _ = self.run_top("--count=1", stream=self.capture)
        self.assertEqual(status, 0)
        self.assertEqual(code(out.splitlines()), code(text("report", *FROM, CAPTURE).splitlines()))
        self.assertIn("# 842 samples of cpu-clock", out)

    def test_bad_streams(self):
        for stream, why in (b"", "ended before a capture had begun"), (b"no capture, and more than a header has of bytes, so it is read", "not a stackreel capture"), \
                (self.capture[:48] + bytes(1000), "damaged stream: no block at offset 48"), (self.capture[:200], "ends within the block at offset 48"):
            status, _, said = self.run_top(stream=stream)
            self.assertEqual(status, 1, why)
            self.assertIn(why, said)

    def test_delay(self):
        """It is shown as long as data keeps coming."""
        command = [TOOL, "top", "--stdio", "--count=1", "--delay=1s", *FROM, "-"]
        begin = time.monotonic()
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as top:
            # On a busy host, top may have shown its table before all is written.
            with contextlib.suppress(BrokenPipeError):
                for at in range(0, len(self.capture) - 1000, 100):
                    top.stdin.write(self.capture[at:at + 100])
                    if at < 5000:
                        time.sleep(0.01)
            out = top.stdout.readline()
            self.assertGreaterEqual(time.monotonic() - begin, 1)
            self.assertRegex(out, rb"# \d+ samples of cpu-clock")

    @unittest.skipUnless(os.access("/proc/self/autogroup", os.W_OK) and not subprocess.run(["nice", "-n", "-20", "true"], stderr=subprocess.PIPE, check=False).stderr,
                         "cannot raise priorities here")
    def test_priority(self):
        """top and its session have a higher one, which the session loses even if top is killed."""
        pipe = os.path.join(self.folder, "pipe")
        os.mkfifo(pipe)

        def session_is(nice):
            end = time.monotonic() + SECONDS_MAX
            while time.monotonic() < end:
                with open("/proc/%d/autogroup" % session.pid, encoding="ascii") as file:
                    if file.read().endswith(" nice %d\n" % nice):
                        return True
                time.sleep(0.02)
            return False

        for given, nice in (0, -20), (5, 0):
            # The runner of tests has a priority of its own.
            command = 'nice -n %d "$0" top --stdio "$1" >&2 & echo $!; exec cat' % (given - os.getpriority(os.PRIO_PROCESS, 0))
            with subprocess.Popen(["sh", "-c", command, TOOL, pipe], start_new_session=True, stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as session:
                top = int(session.stdout.readline())
                with open(pipe, "wb", buffering=0) as stream:
                    stream.write(self.capture[:-2000])
                    self.assertTrue(session_is(nice))
                    self.assertEqual(os.getpriority(os.PRIO_PROCESS, top), nice or given)
                    os.kill(top, signal.SIGKILL)
                self.assertTrue(session_is(0))

    @needs_screen
    def test_window(self):
        """Earlier samples are forgotten."""
        pipe = os.path.join(self.folder, "pipe")
        os.mkfifo(pipe)
        screen = Screen("top", "--delay=100ms", "--window=2s", *FROM, "-", stdin=pipe)
        self.addCleanup(screen.close)
        with open(pipe, "wb", buffering=0) as stream:
            stream.write(self.capture[:-2000])
            screen.wait(" [1-7]?[0-9]?[0-9] samples,")
            screen.wait("no recent samples")

    def pieces(self):
        """The stream, cut after each block of samples."""
        at = begin = reel_reader.FILE_HEADER.size
        begin = 0
        while self.capture.startswith(reel_reader.BLOCK_START, at):
            header = reel_reader.BLOCK_HEADER.unpack_from(self.capture, at)
            at += reel_reader.BLOCK_HEADER.size + header[8]
            if header[4] == reel_reader.SAMPLES:
                yield self.capture[begin:at]
                begin = at
        yield self.capture[begin:]

    @needs_screen
    def test_parts(self):
        """The view sums up parts of the stream, each of which was read by itself: tables, groups, lines and instructions are those of the whole."""
        pipe = os.path.join(self.folder, "pipe")
        os.mkfifo(pipe)
        # A part takes at least a sixteenth of the window.
        screen = Screen("top", "--delay=100ms", "--window=16s", *FROM, "-", stdin=pipe, height=60)
        self.addCleanup(screen.close)
        pieces, shown = list(self.pieces()), 0
        self.assertGreater(len(pieces), 2)
        with open(pipe, "wb", buffering=0) as stream:
            for piece in pieces[:-2]:
                time.sleep(1.2)
                stream.write(piece)
                before, shown = shown, int(re.search(r"(\d+) samples", screen.wait(r" (?!%d )\d+ samples,.* 100.00 %% complete" % shown)[0])[1])
                self.assertGreater(shown, before)
            # What arrives while the user looks at a detail waits, and is shown afterwards, although the stream has ended by then.
            screen.type("3", until="callers of")
            time.sleep(1.2)
            stream.write(b"".join(pieces[-2:]))
        screen.wait("end of the recording")
        screen.type("p", until="paused")
        screen.type("Escape", until="by function.*paused")
        time.sleep(0.5)
        self.assertNotIn(" 842 samples,", screen.rows()[0])
        rows = screen.type("p", until=" 842 samples,")
        self.assertEqual(code(rows)[:40], code(report(*FROM, CAPTURE).splitlines())[:40])
        screen.type("/", "walk", "Enter", until="1/1 .*with 'walk'")
        screen.type("a", until="instructions of shop::walk")
        lines = [row.strip() for row in screen.page() if row.strip()]
        wanted = [row.strip() for row in text("annotate", *FROM, "shop::walk", CAPTURE).splitlines() if row]
        self.assertIn("# self: 12.95 % of cpu-clock, 109.1 ms, 109 samples of 842", lines)
        self.assertGreater(len(lines), 20)
        # Not its first line, which names the file.
        self.assertLessEqual(set(lines[1:]), set(wanted))
        screen.type("Escape", until="by function")
        screen.type("Escape", until="1/49 ")
        screen.type("t", until="by thread")
        threads = code(screen.rows())
        self.assertEqual(threads, code(report("--by=thread", *FROM, CAPTURE).splitlines()))
        screen.type("q")
        self.assertEqual(screen.ended(), 0)

    @needs_screen
    def test_grows(self):
        pipe = os.path.join(self.folder, "pipe")
        os.mkfifo(pipe)
        screen = Screen("top", "--delay=100ms", "--window=1h", *FROM, "-", stdin=pipe)
        self.addCleanup(screen.close)
        with open(pipe, "wb", buffering=0) as stream:
            stream.write(self.capture[:-2000])
            screen.wait(" [1-7]?[0-9]?[0-9] samples,.*100.00 % complete")
            stream.write(self.capture[-2000:])
            screen.wait("842 samples")
            rows = screen.type("Down", "Down", until="^ 3/49")
            chosen = table(rows)[2]
            screen.type("p", until="paused")
            screen.type("p", "o", until="sorted by total")
            screen.type("/", "walk", "Enter", until="1/1 .*with 'walk'")
        self.assertRegex(chosen[2], "shop::")
        screen.wait("1/1 ")
        screen.type("a", until="instructions of shop::walk")
        screen.type("Q")
        self.assertEqual(screen.ended(), 0)


if __name__ == "__main__":
    loader, module = unittest.defaultTestLoader, sys.modules[__name__]
    sys.exit(counting.run_suite(loader.loadTestsFromNames(sys.argv[1:], module) if sys.argv[1:] else loader.loadTestsFromModule(module), sys.stdout))
