#!/usr/bin/env python3
# run.sh: thorough
# checks: cli
"""Hostile names, in all output: nothing controls a terminal, hides or reorders text, and the bytes can be recovered.

Every code point of Unicode and every kind of invalid UTF-8 is in the paths of a capture's modules. Python's unicodedata decides
which characters hide, and perl which code points are default-ignorable, both possibly by an older Unicode than stackreel's;
Python's parser judges JSON, and refuses lone surrogates.

    O=DIR   the object directory (build)
"""

import gzip
import html
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unicodedata
import unittest

sys.dont_write_bytecode = True
TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [TESTS, os.path.join(TESTS, "reader")]
import counting
import reel_builder as b
import reel_cases
import reel_reader

TOOL = os.path.join(os.environ.get("O", "build"), "stackreel")

SURROGATES = range(0xD800, 0xE000)
POINTS = [point for point in range(1, 0x110000) if point not in SURROGATES]

# For each kind of invalid UTF-8 all sequences, or the first and the last.
NOT_UTF8 = [bytes([byte]) for byte in range(0x80, 0x100)]  # without the required byte before or after
NOT_UTF8 += [b"\xc0\x80", b"\xc1\xbf", b"\xe0\x80\x80", b"\xe0\x9f\xbf", b"\xf0\x80\x80\x80", b"\xf0\x8f\xbf\xbf"]  # overlong
NOT_UTF8 += [b"\xed\xa0\x80", b"\xed\xaf\xbf", b"\xed\xb0\x80", b"\xed\xbf\xbf", b"\xed\xa0\xbd\xed\xb8\x80"]  # surrogates, CESU-8
NOT_UTF8 += [b"\xf4\x90\x80\x80", b"\xf7\xbf\xbf\xbf", b"\xf8\x88\x80\x80\x80", b"\xfc\x84\x80\x80\x80\x80"]  # above U+10FFFF
NOT_UTF8 += [b"\xc3", b"\xe2\x82", b"\xf0\x9f\x98", b"\xc3(", b"\xe2\x82(", b"\xf0\x9f\x98(", b"\xe2(\xa1"]  # cut
BACKSLASHES = [b"\\", b"\\\\", b"\\x1b", b"\\xe2\\x80\\x8b", b"a\\", b"\\\xff", b"\\u200b", b'\\"']

# One of each class: an escape sequence, CSI as a single character, an override, a space of no width, a byte order mark, a tag, a
# variation selector, a filler, a line separator, an invalid byte, and text that only looks like an escape.
HOSTILE = ("\x1b]0;x\x07\r\n", "\x9b1m", "\u202e", "\u200b", "\ufeff", "\U000e0041", "\ufe0f", "\u3164", "\u2028", "\udcff", "\\x1b")
EVIL = "e" + "v".join(HOSTILE) + "il"
LOCK = 1


def perl_ignorable():
    """The default-ignorable code points; none without perl."""
    program = r'for (1..0x10ffff) { next if $_ >= 0xd800 && $_ < 0xe000; print "$_\n" if chr =~ /\p{Default_Ignorable_Code_Point}/ }'
    perl = shutil.which("perl")
    return set(map(int, subprocess.run([perl, "-e", program], capture_output=True, check=True).stdout.split())) if perl else set()


IGNORABLE = perl_ignorable()


def hides(point):
    return unicodedata.category(chr(point)) in ("Cc", "Cf", "Zl", "Zp") or point in IGNORABLE


def unescape(text):
    """The bytes of a text in the output."""
    return re.sub(rb"\\(\\|x([0-9a-f]{2}))", lambda match: bytes.fromhex(match[2].decode()) if match[2] else b"\\", text.encode())


def strict(line):
    value = json.loads(line.decode("ascii"))
    json.dumps(value, ensure_ascii=False).encode("utf-8")  # fails at lone surrogates
    return value


def fields(message):
    """The fields of a protobuf message: numbers, and the bytes of fields with a length."""
    at = 0

    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(message):
        tag = number()
        value = number()
        if tag & 7 == 2:
            value, at = message[at:at + value], at + value
        yield tag >> 3, value


def run(*arguments, **options):
    return subprocess.run([TOOL, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                          **options)


class Names(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def write(self, name, data):
        path = os.path.join(self.folder, name)
        with open(path, "wb") as file:
            file.write(data)
        return path

    def visible(self, output, allowed=b"\n"):
        """Checks that it is UTF-8, and hides nothing except `allowed`."""
        for char in set(output.decode("utf-8")) - set(allowed.decode()):
            self.assertFalse(hides(ord(char)), "U+%04X in %r" % (ord(char), output[:2000]))

    def modules(self, paths):
        records = [b.record("MODULE", number, 1, 0, 0, 0, 0, b"", path) for number, path in enumerate(paths, 1)]
        return self.write("modules.reel", reel_cases.finish(reel_cases.started().side(*records)).data)

    def paths(self):
        """Bytes: all code points, in texts of a thousand, and invalid sequences; each of these alone, and between
        others."""
        yield from ("".join(map(chr, POINTS[i:i + 1000])).encode() for i in range(0, len(POINTS), 1000))
        for wrong in NOT_UTF8 + BACKSLASHES:
            yield wrong
            yield b"a" + wrong + "\u00e9".encode() + wrong

    # ---- dump ------------------------------------------------------------------------------------

    def test_json_tells_all_bytes(self):
        paths = list(self.paths())
        done = run("dump", "--json", self.modules(paths))
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        found = [value["path"] for value in map(strict, done.stdout.splitlines()) if value["record"] == "MODULE"]
        self.assertEqual(len(found), len(paths))
        for path, text in zip(paths, found):
            self.assertEqual(unescape(text), path)

    def test_json_is_what_the_other_reader_writes(self):
        file = self.modules(self.paths())
        other = subprocess.run([sys.executable, reel_reader.__file__, file], stdout=subprocess.PIPE, check=True)
        self.assertEqual(run("dump", "--json", file).stdout, other.stdout)

    def test_text_tells_all_bytes_and_hides_none(self):
        paths = list(self.paths())
        done = run("dump", self.modules(paths))
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.visible(done.stdout)
        found = re.findall(r' path="(.*)" file_size=0 file_time=0 file_digest=-$', done.stdout.decode(), re.MULTILINE)
        self.assertEqual(len(found), len(paths))
        for path, text in zip(paths, found):
            self.assertEqual(unescape(text), path)

    def test_what_is_visible_stays(self):
        """Characters that both Python's Unicode and stackreel's know stay unchanged: nothing is escaped in vain."""
        points = [point for point in POINTS if not hides(point) and unicodedata.category(chr(point)) not in ("Cn", "Co") and
                  chr(point) not in '\\"']
        if not IGNORABLE:
            self.skipTest("perl, which knows default-ignorable code points, is not installed")
        texts = ["".join(map(chr, points[i:i + 1000])) for i in range(0, len(points), 1000)]
        output = run("dump", self.modules(text.encode() for text in texts)).stdout.decode()
        for text in texts:
            self.assertIn('path="%s"' % text, output)

    # ---- everything else -------------------------------------------------------------------------

    def capture(self):
        """A sample whose every name is hostile."""
        host = dict(hostname=EVIL, kernel_release=EVIL, kernel_version=EVIL, tool_version=EVIL,
                    command_line=EVIL.encode("utf-8", "surrogateescape"))
        samples = b.Samples()
        samples.layout(1, reel_cases.X86)
        samples.sample(1, 1000, pc=0x401000, layout=1, values=[1, 0x7000, 0x401000, 2], regions=[b.Region(0x7000, bytes(64))],
                       kernel=[0xffffffff81000010], weight=100, labels={LOCK: (3, 0x7f0010)})
        reel = b.Reel().side(
            reel_cases.capture_record(**host),
            b.record("EVENT", 1, 1, 0, 999, 0, 1, EVIL, 0),
            b.record("MODULE", 1, 1, 0, 0, 0, 0, b"\x01" * 20, "/usr/" + EVIL),
            b.record("MODULE", 2, 2, 0, 0, 0, 0, b"", EVIL),
            b.record("SPACE", 1, 1, 0, 1, 10, 10, 62, 64, 1, 0, 0, 0),
            b.record("THREAD", 1, 1, 1, 1, 10, 10, 0, EVIL),
            b.record("MAP", 1, 1, 0x400000, 0x10000, 0, 5, 0, 1),
            b.record("KERNEL_SYMBOL", 0xffffffff81000000, 0x1000, 2, EVIL))
        return self.write("evil.reel", reel_cases.finish(reel.samples(samples)).data)

    def test_every_command(self):
        file = self.capture()
        for command in (["report"], ["report", "--tree"], ["report", "--residency"], ["report", "--locks"], ["report", "--by", "module"], ["report", "--by", "thread"],
                        ["report", "--by", "comm"], ["report", "--by", "line"], ["report", "--by", "source"], ["report", "--by", "address"],
                        ["annotate", EVIL], ["annotate", "--source", EVIL], ["annotate", "--json", EVIL], ["script"], ["script", "-F", "comm,ip,sym,dso,srcline"], ["export", "--format=csv"], ["export", "--format=ndjson"],
                        ["export", "--format=perf-script"], ["export", "--format=speedscope"], ["export", "--format=firefox"], ["export", "--format=callgrind"], ["folded", "--with-comm"], ["aggregate"], ["info", "--all-modules"],
                        ["diff", "--tree", file], ["flamegraph", "--format=svg"],
                        ["diff", "--folded", file], ["diff", "--json", file], ["doctor", "--all"], ["dump"], ["dump", "--json"]):
            with self.subTest(command):
                done = run(*command, file, env=dict(os.environ, LC_ALL="C.UTF-8"))
                self.assertIn(done.returncode, (0, 3), done.stderr)
                self.assertIn(b"v", done.stdout)
                # Stacks are indented by a tab, as in perf script; fields of profiles have tabs between them.
                self.visible(done.stdout, b"\n\t" if command[0] in ("script", "aggregate") or command[1:] == ["--format=perf-script"] else b"\n")
                self.visible(done.stderr)
                if command[1:] in (["--format=speedscope"], ["--format=firefox"]):
                    self.assertIn(EVIL.encode("utf-8", "surrogateescape"), [unescape(text) for text in self.texts(strict(done.stdout))])
                elif "--json" not in command and "--format=ndjson" not in command:
                    self.assertIn(rb"\xe2\x80\xae", done.stdout)
                    self.assertIn(rb"\\x1b", done.stdout)

    def texts(self, value):
        """Everything in the JSON."""
        if isinstance(value, str):
            yield value
        for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            yield from self.texts(item)

    def compared(self, name, counts):
        """Kernel functions: samples in `name`, which is called from a function like NAME, and in another one."""
        files = []
        for side, (here, elsewhere) in enumerate(counts):
            samples = b.Samples()
            samples.layout(1, reel_cases.X86)
            for number in range(here + elsewhere):
                address = 0xffffffff81000010 if number < here else 0xffffffff81002010
                samples.sample(number + 1, 1000 + number * 10000000, pc=0x401000, layout=1, values=[1, 0x7000, 0x401000, 2],
                               regions=[b.Region(0x7000, bytes(64))], kernel=[address, 0xffffffff81001010])
            reel = b.Reel().side(
                reel_cases.capture_record(), b.record("EVENT", 1, 1, 0, 999, 0, 1, "cpu-clock", 0), b.record("MODULE", 2, 2, 0, 0, 0, 0, b"", "[kernel]"),
                b.record("SPACE", 1, 1, 0, 1, 10, 10, 62, 64, 1, 0, 0, 0), b.record("THREAD", 1, 1, 1, 1, 10, 10, 0, "x"),
                b.record("KERNEL_SYMBOL", 0xffffffff81000000, 0x1000, 2, name), b.record("KERNEL_SYMBOL", 0xffffffff81001000, 0x1000, 2, name + "2"),
                b.record("KERNEL_SYMBOL", 0xffffffff81002000, 0x1000, 2, "other"))
            files.append(self.write("%d.reel" % side, reel_cases.finish(reel.samples(samples)).data))
        return files

    def test_diff_shows_changes(self):
        """Text, JSON and Markdown about functions that changed, with hostile names."""
        files = self.compared(EVIL, ((90, 30), (30, 90)))
        for command in ([], ["--markdown", "--fail-if=any>+1%"], ["--json"]):
            with self.subTest(command):
                done = run("diff", *command, *files)
                self.assertIn(done.returncode, (0, 3), done.stderr)
                self.visible(done.stdout)
                self.visible(done.stderr)
                if command == ["--json"]:
                    functions = {unescape(function["name"]).decode("utf-8", "surrogateescape"): function for function in strict(done.stdout)["functions"]}
                    self.assertTrue(functions[EVIL]["self"]["sure"])
                    self.assertEqual(unescape(functions[EVIL]["self"]["callers"][0]["name"]).decode("utf-8", "surrogateescape"), EVIL + "2")
                else:
                    self.assertIn(b"xe2", done.stdout)

    def test_diff_markdown(self):
        """The result of cmark-gfm: tables with the names unchanged in their cells, and without effects of the names."""
        if not shutil.which("cmark-gfm"):
            self.skipTest("cmark-gfm is not installed")
        for name in ("a|b", "`c`", "<img src=x>", "[x](http://e.org)", "http://e.org/", "a@b.org", "@somebody", "#1", "*d*", "~~e~~", "&amp;",
                     "| |", "f\\|g", "www.e.org", "</code><b>", "```", "operator||(a const&, b<c*>)", "  "):
            with self.subTest(name):
                done = run("diff", "--markdown", "--names=full", "--fail-if=any>+1%", *self.compared(name, ((90, 30), (30, 90))))
                self.assertEqual(done.returncode, 3, done.stderr)
                page = subprocess.run(["cmark-gfm", "-e", "table", "-e", "autolink", "-e", "strikethrough", "-e", "tagfilter", "--unsafe"],
                                      input=done.stdout, stdout=subprocess.PIPE, check=True).stdout.decode()
                # An address is a link, within code.
                codes = [html.unescape(re.sub(r"</?a\b[^>]*>", "", code)) for code in re.findall("<td[^>]*><code>(.*?)</code>", page)]
                self.assertIn(name.replace("\\", "\\\\"), codes, page)
                self.assertIn("other", codes)
                self.assertFalse(re.search(r"<(img|b|em|del|a href=\"(?!mailto))", page), page)
                # The second is the fence's.
                self.assertEqual(page.count("<pre>"), 2, page)

    def test_samples_for_other_programs(self):
        """Each text is valid UTF-8 that hides nothing, and the bytes can be recovered."""
        file = self.capture()
        names = EVIL.encode("utf-8", "surrogateescape")
        sample = strict(run("export", "--format=ndjson", file).stdout)
        for text in (sample["comm"], sample["event"], sample["frames"][0]["function"]):
            self.visible(text.encode())
            self.assertEqual(unescape(text), names)
        self.assertEqual(unescape(sample["frames"][1]["module"]), b"/usr/" + names)
        profile = run("export", "--format=pprof", file)
        if b"was missing" not in profile.stderr:
            texts = [value for field, value in fields(gzip.decompress(profile.stdout)) if field == 6]
            for text in texts:
                self.visible(text)
            self.assertLessEqual({names, b"/usr/" + names}, {unescape(text.decode()) for text in texts})
            # For the other formats, the texts at the ends of these paths of fields.
            for form, paths in (("otlp", [(2, 5)]), ("perfetto", [(1, 12, 5, 2), (1, 12, 17, 2), (1, 2, 1, 3), (1, 2, 2, 2), (1, 59, 12, 1, 10)])):
                found = set()
                for path in paths:
                    values = [run("export", "--format=" + form, file).stdout]
                    for field in path:
                        values = [value for message in values for number, value in fields(message) if number == field]
                    for text in values:
                        self.visible(text)
                        found.add(unescape(text.decode()))
                self.assertLessEqual({names, b"/usr/" + names}, found)
        if b"built without libsqlite3" in run("sql", file, "SELECT 1").stderr:
            self.skipTest("this stackreel has no SQL")
        path = os.path.join(self.folder, "evil.db")
        self.assertEqual(run("export", "--format=sqlite", file, "-o", path).returncode, 0)
        # Python refuses invalid UTF-8.
        database = sqlite3.connect(path)
        found = set()
        for table, in database.execute("SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')").fetchall():
            for row in database.execute("SELECT * FROM " + table):
                for text in row:
                    if isinstance(text, str):
                        self.visible(text.encode())
                        found.add(unescape(text))
        self.assertLessEqual({names, b"/usr/" + names}, found)
        for form in ("--table", "--tsv", "--csv"):
            output = run("sql", form, file, "SELECT hostname, 1 FROM captures").stdout
            self.visible(output, b"\n\t" if form == "--tsv" else b"\n")
            self.assertIn(rb"\xe2\x80\xae", output)
        rows = strict(run("sql", "--json", file, "SELECT hostname FROM captures").stdout)
        self.assertEqual(unescape(rows[0]["hostname"]), names)
        # A column's name comes from the query itself.
        self.visible(run("sql", file, "SELECT 1 AS 'a\u202eb\x1b'").stdout)

    def test_messages(self):
        """Names of files and options on standard error, as from a shell's `*'."""
        evil = os.path.join(self.folder, EVIL.replace("/", "")).encode("utf-8", "surrogateescape")
        broken = evil + b".broken"
        with open(broken, "wb") as file:
            file.write(b.Reel().side(reel_cases.capture_record()).data[:-3])
        for arguments in ([b"report", evil], [b"report", broken], [b"info", broken], [b"table", evil], [b"table", broken],
                          [b"import", evil], [b"scrub", broken, b"-o", evil + b"/none/x"], [b"keygen", evil + b"/none/x"],
                          [b"report", broken, broken], [b"report", b"-o", evil + b"/none/x", broken], [b"report", b"--event", evil, broken],
                          [b"report", b"--time", evil], [b"report", b"--sort", evil], [b"folded", b"--unit", evil],
                          [b"report", b"--identity", evil, broken], [evil]):
            with self.subTest(arguments):
                done = run(*arguments)
                self.assertIn(rb"\xe2\x80\xae", done.stderr + done.stdout)
                self.visible(done.stderr)
                self.visible(done.stdout)


if __name__ == "__main__":
    sys.exit(counting.run_suite(unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"]), sys.stderr))
