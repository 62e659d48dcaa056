#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run.sh: thorough
# checks: bench
"""bench/: the table, the measuring programs, and the readers of captures, without any timing. `make bench` measures."""

import importlib.machinery
import importlib.util
import json
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "tests")]
import captures  # noqa: E402
import counting  # noqa: E402
import host  # noqa: E402
import recording  # noqa: E402
import table  # noqa: E402
import unwinding  # noqa: E402

cases = counting.Count()
check, skip = cases.ok, cases.skip


def not_run(function, *arguments):
    """Why it reports that it cannot run, or None if it ran."""
    try:
        function(*arguments)
    except host.NotRun as error:
        return str(error)
    return None


def check_numbers():
    for value, unit, text in ((335, "samples/s", "335 samples/s"), (15218.4, "samples/s", "15.2 k samples/s"), (999.7, "x", "1.00 k x"),
                              (20e6, "frames/s", "20.0 M frames/s"), (28.6e6, "B", "28.6 MB"), (0.53, "", "0.530"), (0, "B", "0 B"),
                              (52, "bytes", "52.0 bytes"), (13112.4, "bytes", "13,112 bytes"), (None, "B", "")):
        check("%s %s is written as %s" % (value, unit, table.number(value, unit)), table.number(value, unit) == text)


def check_recording():
    row = recording.row_of("kernel time a sample, 36 KB of stack, perf dwarf,65528, timer callback, median\t4500\t10000\t0.45\tns")
    check("kernel time is compared", (row.unit, row.ours, row.ratio, row.met) == ("ns", 4500.0, 0.45, True))
    row = recording.row_of("recorder CPU, threads, 999 Hz, perf dwarf,65528 -z\t0.8\t1\t0.80\ts")
    check("CPU is compared", row.unit == "s" and row.met is False)
    row = recording.row_of("samples lost, -a, 4 hogs, 4,999 Hz\t0.00\t-\t-\t%")
    check("a loss has no target", row.absolute and row.met and not row.peer)
    row = recording.row_of("samples lost, 16 threads, 0.7 KB, 49,990 Hz\t3.5\t83\t0.04\t%")
    check("a flood's loss has none either", row.met is None and row.theirs == 83)
    row = recording.row_of("through the ring, 16 threads, 0.7 KB, 4,999 Hz\t9.5\t-\t-\tMB/s")
    check("bytes have their unit", row.unit == "B/s" and row.ours == 9.5e6)


def check_rows():
    rows = [
        table.Row("a", "fast", "peer", "samples/s", 100.0, 2.0, ">= 50"),
        table.Row("a", "slow", "peer", "samples/s", 99.0, 2.0, ">= 50"),
        table.Row("b", "small", "peer", "bytes", 10.0, 100.0, "<= 0.1"),
        table.Row("b", "large", "peer", "bytes", 10.1, 100.0, "<= 0.1"),
        table.Row("b", "alone", unit="frames/s", ours=2e7, target=">= 20000000", absolute=True),
        table.Row("b", "without a peer", "peer", "bytes", 10.0, why="no such | package", target="<= 0.1"),
        table.Row("b", "nothing", why="no perf"),
        table.Row("b", "no target", "peer", "bytes", 10.0, 40.0),
    ]
    check("targets", [row.met for row in rows] == [True, False, True, False, True, None, None, None])
    check("the summary", table.summary(rows) == "3 of 6 targets met, 2 not, 1 not measured")
    lines = table.markdown(rows).splitlines()
    check("a row of markdown has seven cells", all(line.replace("\\|", "").count("|") == 8 for line in lines))
    check("a heading for each part", [line for line in lines if line.startswith("| **")] == ["| **a** |||||||", "| **b** |||||||"])
    check("a ratio and its inverse", lines[6].endswith("| 10.0 bytes | peer | 100 bytes | 0.100 | ≤ 0.1 | yes |"))
    check("a missed target", lines[4].endswith("| 49.5 | ≥ 50 | **no** |"))
    check("a row that could not run gives the reason", lines[-2] == "| nothing |  |  |  |  |  | not run: no perf |")
    check("the plain form has all rows", len(table.plain(rows).splitlines()) == 1 + 2 + len(rows))
    check("the geometric mean", abs(table.geometric_mean([1, 100]) - 10) < 1e-9 and table.geometric_mean([]) is None)
    try:
        met = table.Row("a", "x", "y", "", 1.0, 1.0, "about 1").met
    except ValueError:
        met = "refused"
    check("an invalid target", met == "refused")


def check_measure():
    if not os.access(host.MEASURE, os.X_OK):
        skip("%s is not built" % host.MEASURE)
        return
    small, large = (host.measure([sys.executable, "-c", "x = b'x' * %d; sum(range(5000000))" % size]) for size in (1, 100000000))
    check("time passes", small.wall > 0 and small.user + small.system > 0)
    check("100 MB more are counted", 90e6 < large.memory - small.memory < 120e6)
    check("the measuring program's memory is not", host.measure(["true"]).memory < 8e6)
    check("a failure's last line", not_run(host.measure, ["sh", "-c", "echo first >&2; echo last >&2; exit 3"]) == "last")
    check("a failure without a message", not_run(host.measure, ["false"]) == "status 1")
    check("a missing program", "No such file" in not_run(host.measure, ["/no/such/program"]))
    check("a program that takes too long", not_run(host.measure, ["sleep", "60"], 0.2) == "more than 0 s")
    taken = host.alternate({"good": ["true"], "bad": ["sh", "-c", "echo why >&2; exit 1"]}, 3)
    check("one that fails does not end the others", taken["good"].memory > 0 and str(taken["bad"]) == "why")


def check_captures():
    if not os.access(host.STACKREEL, os.X_OK):
        skip("%s is not built" % host.STACKREEL)
        return
    path = ROOT / "testdata/aarch64/orders/orders.reel"
    info = captures.info(path)
    records = subprocess.run([host.STACKREEL, "dump", "--json", path], capture_output=True, text=True, check=True).stdout
    samples = [record["samples"] for record in map(json.loads, records.splitlines()) if record.get("record") == "END"]
    check("samples of a capture: %d, dumped: %s" % (info.samples, samples), [info.samples] == samples)
    check("its size", info.bytes == path.stat().st_size)
    check("a file that is not a capture", "not a" in not_run(captures.info, Path(__file__)))


def check_growth():
    loader = importlib.machinery.SourceFileLoader("growth", str(ROOT / "bench/growth"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("growth", loader))
    loader.exec_module(module)
    sizes = [10, 100, 1000, 10000, 100000]
    for name, cost, worse in (("nothing", lambda n: 1, False), ("n", lambda n: 1 + n / 1000, False), ("n log n", lambda n: 5 + n * math.log(n), False),
                              ("n^1.5", lambda n: 1 + 1e-3 * n**1.5, True), ("n^2", lambda n: 1 + 1e-6 * n * n, True),
                              ("n^2, late", lambda n: 1 + 1e-9 * n * n, True)):
        exponent, limit = module.growth([(n, cost(n)) for n in sizes])
        check("growth by %s: %.2f of %.2f" % (name, exponent, limit), (exponent > limit + module.TOLERANCE) == worse)
    synthesize = host.OBJECTS / "bench/synthesize"
    if not os.access(synthesize, os.X_OK) or not os.access(host.STACKREEL, os.X_OK):
        skip("%s is not built" % synthesize)
        return
    with tempfile.TemporaryDirectory() as work:
        for parameters in ({"samples": 300}, {"samples": 200, "modules": 7, "mappings": 50, "threads": 9, "depth": 12}, {"samples": 20, "depth": 1}):
            subprocess.run([synthesize, work] + ["%s=%d" % pair for pair in parameters.items()], check=True)
            capture = Path(work) / "capture.reel"
            info = captures.info(capture)
            check("a made capture %s: %s" % (parameters, info), info.samples == parameters["samples"] and info.complete == 100)
            lines = subprocess.run([host.STACKREEL, "folded", "-q", capture], capture_output=True, text=True, check=True).stdout.splitlines()
            depths = {line.count(";") + 1 for line in lines}
            check("its depth: %s" % depths, depths == {parameters.get("depth", 30)})
            check("its samples", sum(int(line.rsplit(" ", 1)[1]) for line in lines) == parameters["samples"])
        result = subprocess.run([synthesize, work, "samples=0"], capture_output=True, text=True)
        check("no samples", result.returncode == 2 and "samples=0" in result.stderr)


def check_unwinding():
    text = """x.reel: 1000 samples, 50.1 frames and 9.7 KB of stack each
  ours           warm   1135611 samples/s   56.87 M frames/s ( 26.43)   cold   773023 samples/s ( 17.25)   the first 100:    0.41 ms (  4.74)
  ours, slow path warm    262634 samples/s   13.15 M frames/s (  6.11)   cold   241254 samples/s (  5.38)   the first 100:    0.66 ms (  2.99)
  libdw          warm     42968 samples/s    2.15 M frames/s (  1.00)   cold    44806 samples/s (  1.00)   the first 100:    1.96 ms (  1.00)
  libunwind: not here, or not for this CPU
"""
    found = unwinding.figures(text)
    check("figures of bench/unwind", found["ours"] == (56.87e6, 773023) and found["libdw"] == (2.15e6, 44806) and "libunwind" not in found)
    rows = list(unwinding.rows_of("threads", found))
    check("their rows", [row.met for row in rows] == [None, True, None, True] and rows[2].why)
    program = host.OBJECTS / "bench/unwind"
    if not os.access(program, os.X_OK):
        skip("%s is not built" % program)
        return
    text = host.output(program, "--rounds", "1", "--samples", "50", "--no-host-files", "--symfs", ROOT / "testdata/aarch64/orders",
                       ROOT / "testdata/aarch64/orders/orders.reel")
    found = unwinding.figures(text)
    check("figures of a capture: %s" % found, found["ours"][0] > 0 and found["libdw"][1] > 0)


def check_commands():
    result = subprocess.run([ROOT / "bench/run", "--help"], capture_output=True, text=True)
    check("bench/run --help", result.returncode == 0 and "--quick" in result.stdout)
    result = subprocess.run([ROOT / "bench/peers.sh", "none"], capture_output=True, text=True)
    check("an unknown peer", result.returncode == 125 and "peers.sh NAME" in result.stderr)


check_numbers()
check_recording()
check_rows()
check_measure()
check_captures()
check_growth()
check_unwinding()
check_commands()
sys.exit(cases.finish())
