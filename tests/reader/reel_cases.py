"""Shared by test-reel-reader.py and test-reel-records.py: Case reads captures with reel_reader.py.

Both end in main(), which understands the arguments

    [TEST...]
    --write DIR [TEST...]       also leaves each capture in DIR, for other readers
"""

import collections
import io
import os
import shutil
import sys
import unittest

import counting
import reel_builder as b
import reel_reader

SIDE, SAMPLES = b.SIDE, b.SAMPLES
MIB = 1 << 20

Result = collections.namedtuple("Result", "records problems capture")
write_dir = None

CAPTURE_FIELDS = [1000, 1700000000000000000, 1, 62, 64, 1, 4096, 8, 4, 65536, 1 << 20, 4, 0,
                  b.FILE_ID, "host", "6.1.0", "#1 SMP", b"\x01\x02", "0.1", b"stackreel\0record\0"]

# [(DWARF number, size), ...]
X86 = [(0, 8), (7, 8), (16, 8), (49, 4)]


def capture_record(**changes):
    names = """start_time start_wall_time clock machine word_bits byte_order page_size
        cpus_possible cpus_online max_stack ring_size rings part recording hostname
        kernel_release kernel_version kernel_build_id tool_version command_line""".split()
    values = dict(zip(names, CAPTURE_FIELDS), **changes)
    return b.record("CAPTURE", *values.values())


def end_record(samples=1):
    return b.record("END", 9000, 0, samples, 0)


def started(*records, **header):
    """A capture with its first block."""
    return b.Reel(**header).side(capture_record(), *records)


def finish(reel, samples=1):
    return reel.side(end_record(samples)).index().trailer()


def sample_block(*records, expanded=MIB, **header):
    """A complete capture with these records in a sample block, built field by field."""
    return finish(started().block(SAMPLES, records, expanded_size=expanded, **header))


class Case(unittest.TestCase):
    maxDiff = 2000

    def read(self, data, use_index=True, keep=True):
        data = bytes(data.data if isinstance(data, b.Reel) else data)
        if keep and write_dir:
            self.keep(data)
        problems = []
        try:
            capture = reel_reader.Capture(io.BytesIO(data), problems.append, use_index)
        except reel_reader.ReelError as error:
            problem = reel_reader.Problem(error.problem, error.offset, error.message)
            return Result([], [problem], None)
        return Result(list(capture.all_records()), problems, capture)

    def keep(self, data):
        """Each capture that a test reads, numbered if it reads several."""
        self.kept = getattr(self, "kept", 0) + 1
        name = "%s-%s-%d.reel" % (type(self).__name__, self._testMethodName[len("test_"):],
                                  self.kept)
        with open(os.path.join(write_dir, name), "wb") as file:
            file.write(data)

    def good(self, data, use_index=True):
        """The records, without CAPTURE, END and the index."""
        result = self.read(data, use_index)
        self.assertEqual(result.problems, [])
        return self.inner(result)

    @staticmethod
    def inner(result):
        return [record for _, record in result.records
                if record["record"] not in ("CAPTURE", "END", "INDEX_ENTRY")]

    def assert_problems(self, result, *expected):
        """Each is a class or a (class, offset)."""
        found = [(p.problem, p.offset) if isinstance(e, tuple) else p.problem
                 for p, e in zip(result.problems, expected)]
        self.assertEqual((found, len(result.problems)), (list(expected), len(expected)),
                         result.problems)

    def bad(self, data, *expected):
        """Problems of these classes, and the records."""
        result = self.read(data)
        self.assert_problems(result, *expected)
        return self.inner(result)


def names(records):
    return [record["record"] for record in records]


def main(script_globals, arguments):
    """Runs the tests of each Case among the script's globals(), and returns the exit status."""
    global write_dir
    if arguments[:1] == ["--write"]:
        write_dir = arguments[1]
        arguments = arguments[2:]
        os.makedirs(write_dir, exist_ok=True)
    if not shutil.which("zstd"):
        cases = counting.Count()
        cases.skip("zstd is not installed")
        return cases.finish()
    suite = unittest.TestSuite()
    for value in list(script_globals.values()):
        if isinstance(value, type) and issubclass(value, Case):
            for name in unittest.defaultTestLoader.getTestCaseNames(value):
                if not arguments or any(only in name for only in arguments):
                    suite.addTest(value(name))
    return counting.run_suite(suite, sys.stdout)
