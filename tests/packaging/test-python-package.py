#!/usr/bin/env python3
"""The Python package: its structs and enums are those of stackreel.h, as a C compiler lays them out, its traces are those of `stackreel export`,
and the example of docs/library.md runs.

    O=DIR   the object directory (build)
"""
import contextlib
import ctypes
import gc
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import unittest

sys.dont_write_bytecode = True
TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROOT = os.path.dirname(TESTS)
O = os.path.abspath(os.environ.get("O", "build"))
sys.path[:0] = [TESTS, os.path.join(ROOT, "python")]
os.environ["LIBSTACKREEL"] = os.path.join(O, "libstackreel.so.1")
import counting
import stackreel
from stackreel import _library

ORDERS = os.path.join(ROOT, "testdata/aarch64/orders")
CAPTURE = os.path.join(ORDERS, "orders.reel")
LABELS = os.path.join(ROOT, "testdata/format/good-labels.reel")
PLACES = {"symfs": [ORDERS], "no_host_files": True}
HEADER = re.sub(r"/\*.*?\*/", "", open(os.path.join(ROOT, "include/stackreel.h"), encoding="utf-8").read(), flags=re.S)
STRUCTS = [kind for kind in vars(_library).values() if isinstance(kind, type) and issubclass(kind, ctypes.Structure) and kind is not ctypes.Structure]


def in_c(expressions):
    """What a C program prints for these numbers."""
    with tempfile.TemporaryDirectory() as folder:
        source = "#include <stdio.h>\n#include \"stackreel.h\"\nint main(void)\n{\n" + "".join(
            f"printf(\"%lld\\n\", (long long)({expression}));\n" for expression in expressions) + "return 0;\n}\n"
        subprocess.run(["cc", "-x", "c", "-I", os.path.join(ROOT, "include"), "-o", folder + "/numbers", "-"], input=source, text=True, check=True)
        output = subprocess.run([folder + "/numbers"], text=True, capture_output=True, check=True).stdout
    return dict(zip(expressions, map(int, output.split())))


def exported(path, *options):
    command = [os.path.join(O, "stackreel"), "export", "--format=ndjson", path, "-o", "-", *options]
    return [json.loads(line) for line in subprocess.run(command, text=True, capture_output=True, check=True).stdout.splitlines()]


class Header(unittest.TestCase):
    def test_structs(self):
        expected = {}
        for kind in STRUCTS:
            for name, _ in kind._fields_:
                expected[f"offsetof(struct {kind.__name__}, {name})"] = getattr(kind, name).offset
                expected[f"sizeof(((struct {kind.__name__} *)0)->{name})"] = getattr(kind, name).size
            # What the library fills may be longer.
            if kind is not _library.Trace:
                expected[f"sizeof(struct {kind.__name__})"] = ctypes.sizeof(kind)
        self.assertGreater(len(expected), 200)
        self.assertEqual(in_c(expected), expected)

    def test_enums(self):
        expected = {prefix + member.name: member.value for enum, prefix in _library.PREFIXES.items() for member in enum}
        self.assertEqual(in_c(expected), expected)
        others = set(re.findall(r"\b(REEL_\w+) = ", HEADER)) - set(expected)
        self.assertEqual(others, {"REEL_STACK_AFTER_SYSCALL"})

    def test_functions(self):
        declared = dict(re.findall(r"\b(reel_\w+)\(([^;]*?)\);", HEADER, flags=re.S))
        for name, (_, *arguments) in _library.FUNCTIONS.items():
            self.assertEqual(0 if declared[name] == "void" else declared[name].count(",") + 1, len(arguments), name)

    def test_version(self):
        self.assertIn(f'REEL_VERSION_STRING "{stackreel.__version__}"', HEADER)
        self.assertEqual(stackreel.version(), stackreel.__version__)

    def test_later_constants(self):
        self.assertEqual((stackreel.Stop(99).name, int(stackreel.Stop(99))), ("UNKNOWN_99", 99))


class Captures(unittest.TestCase):
    def test_traces(self):
        rows = exported(CAPTURE, "--symfs", ORDERS)
        with stackreel.open(CAPTURE, **PLACES) as capture:
            traces = list(capture)
            self.assertEqual(capture.info.samples, len(traces))
            self.assertEqual({capture.event(trace.event).name for trace in traces}, {row["event"] for row in rows})
            module = capture.module(traces[-1].frames[0].module_id)
            self.assertIsNone(capture.module(1 << 40))
            self.assertIsNone(capture.event(12345))
        self.assertEqual((module.path, module.state), (traces[-1].frames[0].module_path, stackreel.ModuleState.FOUND))
        self.assertEqual(len(rows), len(traces))
        for row, trace in zip(rows, traces):
            self.assertEqual([row[key] for key in ("sample", "time", "weight", "cpu", "pid", "tid", "comm")] + [row["stop"] == "root reached"],
                             [trace.id, trace.time, trace.weight, trace.cpu, trace.pid, trace.tid, trace.comm, trace.is_complete])
            self.assertEqual([(frame["function"], frame["module"], frame["file"], frame["line"], frame["inlined"]) for frame in row["frames"]],
                             [(frame.function, frame.module_path, frame.file, frame.line, frame.inlined) for frame in trace.frames])
        self.assertTrue(any(frame.inlined for trace in traces for frame in trace.frames))

    def test_filter(self):
        with stackreel.open(CAPTURE, **PLACES) as capture:
            every = list(capture)
            from_, to = every[len(every) // 4].time, every[len(every) // 2].time
            some = list(capture.traces(cpus=[1], comms=["ord*"], from_=from_, to=to, stacks=True))
            self.assertEqual(list(capture.traces(pids=[1])), [])
        expected = [trace.id for trace in every if trace.cpu == 1 and from_ <= trace.time <= to]
        self.assertEqual([trace.id for trace in some], expected)
        self.assertTrue(0 < len(some) < len(every))
        self.assertTrue(all(len(trace.stack_pointers) == len(trace.frames) for trace in some if trace.frames))
        self.assertTrue(all(trace.stack_pointers is None for trace in every))

    def test_labels(self):
        rows = exported(LABELS)
        with stackreel.open(LABELS) as capture:
            traces = list(capture)
            key, value = next((key, value) for trace in traces for key, value in trace.labels.items())
            chosen = list(capture.traces(labels=[(key, str(value))]))
        self.assertEqual([set(row["labels"]) for row in rows], [set(trace.labels) for trace in traces])
        self.assertTrue(chosen)
        self.assertTrue(all(trace.labels[key] == value for trace in chosen))

    def test_lifetimes(self):
        capture = stackreel.open(CAPTURE, **PLACES)
        traces = capture.traces()
        trace = next(traces)
        del traces
        gc.collect()
        others = capture.traces()
        next(others)
        capture.close()
        self.assertEqual(list(others), [])
        self.assertEqual(trace.comm, "orders")
        self.assertRaises(ValueError, capture.traces)
        capture.close()

    def test_threads(self):
        lengths = []
        with stackreel.open(CAPTURE, **PLACES) as capture:
            threads = [threading.Thread(target=lambda: lengths.append(len(list(capture)))) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(lengths, [capture.info.samples] * 4)

    def test_errors(self):
        with self.assertRaises(stackreel.Error) as caught:
            stackreel.open("/no/such/file")
        self.assertEqual(caught.exception.code, stackreel.ErrorCode.OS)
        self.assertIn("/no/such/file", str(caught.exception))
        with self.assertRaises(stackreel.Error) as caught:
            stackreel.open(__file__)
        self.assertEqual(caught.exception.code, stackreel.ErrorCode.NOT_A_CAPTURE)
        self.assertRaises(TypeError, stackreel.open, CAPTURE, no_such_option=1)
        self.assertRaises(TypeError, stackreel.open, CAPTURE, symfs="/a")

    def test_problems(self):
        with tempfile.NamedTemporaryFile() as cut, open(CAPTURE, "rb") as whole:
            cut.write(whole.read()[:30000])
            cut.flush()
            with stackreel.open(cut.name) as capture:
                self.assertTrue(capture.info.truncated)
                self.assertIn(stackreel.ErrorCode.TRUNCATED, [problem.code for problem in capture.problems])

    def test_example(self):
        text = open(os.path.join(ROOT, "docs/library.md"), encoding="utf-8").read()
        example = re.search(r"^```python$(.*?)^```$", text, flags=re.S | re.M)[1]
        self.assertLessEqual(len(example.strip().splitlines()), 20)
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            exec(example.replace('"stackreel.reel"', repr(CAPTURE)), {})
        self.assertIn("'MODULE_MISSING': 840", output.getvalue())
        self.assertEqual(output.getvalue().splitlines()[0], "(none) 842 samples")


if __name__ == "__main__":
    sys.exit(counting.run_suite(unittest.defaultTestLoader.loadTestsFromModule(sys.modules[__name__]), sys.stdout))
