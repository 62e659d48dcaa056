#!/usr/bin/env python3
"""stackreel export for programs that show profiles: speedscope, Firefox's profiler, KCachegrind, and readers of perf's text.

The numbers of each file for each thread, event and function equal those of `export --format=ndjson` (which test-sql.py compares with folded,
report and script), and third-party programs read it: ajv with speedscope's own schema, Mozilla's profiler-cli, callgrind_annotate, perf.

    O=DIR                the object directory (build)
    PERF=COMMAND         another perf besides the installed one: "$(bench/peers.sh perf-new)"; the share of equal frames is printed
    PERFPARSER=COMMAND   hotspot's, if it is not the installed one: "$(bench/peers.sh perfparser)"
"""
# run.sh: thorough
# checks: cli/export cli/perf_data cli/protobuf

import collections
import glob
import json
import os
import re
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "tests"), os.path.join(ROOT, "tests/reader")]
import counting
import json_schema
import reel_builder as b
import reel_cases

TOOL = os.path.join(ROOT, os.environ.get("O", "build"), "stackreel")
NPM = os.path.join(ROOT, "tests/npm/node_modules")
NODE = shutil.which("node")
ORDERS = os.path.join(ROOT, "testdata/aarch64/orders")

count = counting.Count()
work = tempfile.mkdtemp()


def run(*arguments, **options):
    return subprocess.run(arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, text=True, **options)


def export(kind, capture):
    """The path of the made file."""
    path = os.path.join(work, "%s.%s" % (capture[0], kind))
    done = run(TOOL, "export", "--format=" + kind, "--no-host-files", *capture[1:], "-o", path)
    count.ok("%s of %s" % (kind, capture[0]), done.returncode == 0 and not done.stderr, done.stderr)
    return path


def same(name, found, wanted):
    differ = sorted(map(str, set(found.items()) ^ set(wanted.items()))) if found != wanted else []
    count.ok(name, found == wanted and wanted, "%d, not %d; %s" % (len(found), len(wanted), "; ".join(differ[:6])))


# ---- expected data ---------------------------------------------------------------------------------


def events_and_kernel():
    """A thread with two events on two CPUs, one of them without weights, whose samples are out of order in time; kernel frames, recursion."""
    samples = b.Samples()
    samples.layout(1, reel_cases.X86)
    chains = [[0x10, 0x1010], [0x20, 0x10, 0x1010], [0x10, 0x2010, 0x10, 0x1010, 0x2010], [0x2010], [0x10, 0x10, 0x10, 0x1010]]
    for number in range(20):
        samples.sample(number + 1, 1000 + (number ^ 3) * 1000, pc=0x401000, layout=1, values=[1, 0x7000, 0x401000, 2], event=1 + number % 2,
                       weight=(number * 7) * (number % 2), cpu=number % 2,
                       regions=[b.Region(0x7000, bytes(64))], kernel=[0xffffffff81000000 + offset for offset in chains[number % 5]])
    reel = b.Reel().side(
        reel_cases.capture_record(), b.record("EVENT", 1, 1, 0, 999, 0, 1, "one", 0), b.record("EVENT", 2, 1, 1, 0, 1000, 1, "two", 0),
        b.record("MODULE", 2, 2, 0, 0, 0, 0, b"", "[kernel]"),
        b.record("SPACE", 1, 1, 0, 1, 10, 10, 62, 64, 1, 0, 0, 0), b.record("THREAD", 1, 1, 1, 1, 10, 10, 0, "x"),
        *(b.record("KERNEL_SYMBOL", 0xffffffff81000000 + offset, 0x1000, 2, name) for offset, name in ((0, "f"), (0x1000, "g"), (0x2000, "h"))))
    path = os.path.join(work, "events.reel")
    with open(path, "wb") as file:
        file.write(reel_cases.finish(reel.samples(samples)).data)
    return path


def golden(name):
    return os.path.join(ROOT, "testdata/golden", name)


def captures():
    yield ("orders", "--symfs", ORDERS, "--debug-dir", ORDERS, os.path.join(ORDERS, "orders.reel"))
    yield ("jit", golden("x86_64-jit.reel"))
    yield ("threads", golden("x86_64-recorded.reel"))
    yield ("perf", golden("x86_64-perf-dwarf.reel"))
    yield ("several", golden("s390x-exception.reel"), golden("aarch64-inline.reel"))
    yield ("events", events_and_kernel())


class Sample:
    def __init__(self, line, weighted):
        self.time, self.thread, self.event = line["wall_time"] or line["time"], (line["capture"], line["pid"], line["tid"], line["event"]), line["event"]
        self.weight = line["weight"] if weighted else 1
        self.is_time = weighted and line["unit"] == "ns"
        self.stack = [(frame["function"], frame["module"], frame["inlined"]) for frame in reversed(line["frames"])]
        self.lines = [(frame["function"], frame["file"] or "???", frame["line"]) for frame in reversed(line["frames"])]
        if not line["whole"]:
            self.stack.insert(0, ("[incomplete: %s]" % line["stop"], "", False))
        elif not self.stack:
            self.stack = [("[no frames]", "", False)]


def read_samples(capture, schema):
    with open(export("ndjson", capture), encoding="ascii") as file:
        lines = list(map(json.loads, file))
    if schema:
        # A line in twenty: Python's validator is slow.
        errors = [error.message for line in lines[::20] for error in schema.iter_errors(line)]
        count.ok("ndjson of %s matches its schema" % capture[0], not errors, str(errors[:3]))
    weighted = {line["event"] for line in lines if line["weight"]}
    return [Sample(line, line["event"] in weighted) for line in lines]


def threads_of(samples):
    """Lists of samples in order of time, by thread and event, in the order of the first of each."""
    threads = collections.OrderedDict()
    for sample in samples:
        threads.setdefault(sample.thread, []).append(sample)
    return [sorted(thread, key=lambda sample: sample.time) for thread in threads.values()]


def sums(stacks):
    """For pairs of stack and weight: what each function has itself, and including its callees."""
    own, total = collections.Counter(), collections.Counter()
    for stack, weight in stacks:
        own[stack[-1]] += weight
        for function in set(stack):
            total[function] += weight
    return own, total


def named(stack):
    return [name + (" (inlined)" if inlined else "") for name, _, inlined in stack]


# ---- speedscope ----------------------------------------------------------------------------------------


def check_speedscope(capture, samples):
    path = export("speedscope", capture)
    with open(path, encoding="ascii") as file:
        profile = json.load(file)
    names = [frame["name"] for frame in profile["shared"]["frames"]]
    threads = threads_of(samples)
    found = [[[names[frame] for frame in stack] for stack in thread["samples"]] for thread in profile["profiles"]]
    count.ok("speedscope: stacks of %s" % capture[0], found == [[named(sample.stack) for sample in thread] for thread in threads])
    count.ok("speedscope: weights of %s" % capture[0],
             [thread["weights"] for thread in profile["profiles"]] == [[sample.weight for sample in thread] for thread in threads])
    count.ok("speedscope: units of %s" % capture[0],
             [(thread["unit"], thread["endValue"]) for thread in profile["profiles"]] ==
             [("nanoseconds" if thread[0].is_time else "none", sum(sample.weight for sample in thread)) for thread in threads])
    return path


AJV = """
const fs = require('fs');
const ajv = new (require('ajv'))({ strict: false });
const check = ajv.compile(JSON.parse(fs.readFileSync(require.resolve('speedscope/dist/release/file-format-schema.json'))));
for (const path of process.argv.slice(1))
    if (!check(JSON.parse(fs.readFileSync(path)))) { console.log(path, ajv.errorsText(check.errors)); process.exitCode = 1; }
"""


def check_speedscope_schema(paths):
    done = run(NODE, "-e", AJV, *paths, cwd=os.path.dirname(NPM))
    count.ok("speedscope: ajv and its schema", done.returncode == 0, done.stdout + done.stderr)


# ---- Firefox's profiler --------------------------------------------------------------------------------


def check_firefox(capture, samples):
    path = export("firefox", capture)
    with open(path, encoding="ascii") as file:
        profile = json.load(file)
    shared = profile["shared"]
    strings, functions, frames, nodes = shared["stringArray"], shared["funcTable"], shared["frameTable"], shared["stackTable"]
    count.ok("firefox: no string twice in %s" % capture[0], len(set(strings)) == len(strings))
    for name, table in [(name, table) for name, table in shared.items() if name != "stringArray"]:
        count.ok("firefox: lengths of %s of %s" % (name, capture[0]),
                 all(len(column) == table["length"] for column in table.values() if isinstance(column, list)))

    def stack_of(node):
        stack = []
        while node is not None:
            frame = nodes["frame"][node]
            stack.insert(0, (strings[functions["name"][frames["func"][frame]]], frames["inlineDepth"][frame] > 0, frames["line"][frame] or 0))
            node = nodes["prefix"][node]
        return stack

    def wanted_of(sample):
        lines = [0] * (len(sample.stack) - len(sample.lines)) + [line for _, _, line in sample.lines]
        return [(name, inlined, line) for (name, _, inlined), line in zip(sample.stack, lines)]

    threads = threads_of(samples)
    profile["threads"] = [thread for thread in profile["threads"] if thread["name"] != "recorder"]
    count.ok("firefox: stacks and lines of %s" % capture[0], [[stack_of(node) for node in thread["samples"]["stack"]] for thread in profile["threads"]] ==
             [[wanted_of(sample) for sample in thread] for thread in threads])
    first = min(sample.time for sample in samples)
    count.ok("firefox: times of %s" % capture[0], [[round(ms * 1e6) for ms in thread["samples"]["time"]] for thread in profile["threads"]] ==
             [[sample.time - first for sample in thread] for thread in threads])
    count.ok("firefox: weights of %s" % capture[0],
             [[round(weight * (1e6 if thread["samples"]["weightType"] == "tracing-ms" else 1)) for weight in thread["samples"]["weight"]]
              for thread in profile["threads"]] == [[sample.weight for sample in thread] for thread in threads])
    if capture[0] == "orders":
        check_symbols(profile)
    return path


def check_symbols(profile):
    """For a program with debug information: build-ids in the forms of readelf and Breakpad, and functions where nm has
    them."""
    program = os.path.join(ORDERS, "usr/bin/orders")
    shared, lib = profile["shared"], profile["libs"][0]
    build_id = re.search("Build ID: ([0-9a-f]+)", run("readelf", "-n", program).stdout)[1]
    count.ok("firefox: codeId", lib["codeId"] == build_id, lib["codeId"])
    turned = "".join(build_id[2 * i:2 * i + 2] for i in (3, 2, 1, 0, 5, 4, 7, 6)) + build_id[16:32] + "0"
    count.ok("firefox: breakpadId", lib["breakpadId"] == turned.upper(), lib["breakpadId"])
    first = int(re.search("LOAD +0x0+ 0x([0-9a-f]+)", run("readelf", "-lW", program).stdout)[1], 16)
    known = {(int(line.split()[0], 16) - first, line.split(None, 2)[2]) for line in run("nm", "-C", program).stdout.splitlines() if line[0] != " "}
    symbols = [(address, shared["stringArray"][name]) for address, name, of in
               zip(*(shared["nativeSymbols"][key] for key in ("address", "name", "libIndex"))) if of == 0]
    strangers = [symbol for symbol in symbols if symbol not in known and "." not in symbol[1] and "@plt" not in symbol[1]]
    count.ok("firefox: native symbols", len(symbols) > 20 and not strangers, str(strangers))


def profiler_cli(*arguments):
    return run(NODE, os.path.join(NPM, "@firefox-devtools/profiler-cli/dist/profiler-cli.js"), *arguments,
               env=dict(os.environ, PROFILER_CLI_SESSION_DIR=os.path.join(work, "sessions"), HOME=work))


def load(path):
    """Has Mozilla's loader read a file."""
    done = profiler_cli("load", path)
    if "It has not exited, so it is most likely still starting" in done.stderr:
        # It waits for half a second, which is too short on a busy machine; its daemon continues.
        for _ in range(60):
            time.sleep(1)
            done = profiler_cli("thread", "list")
            if done.returncode == 0:
                break
    return count.ok("profiler-cli load", done.returncode == 0, done.stdout + done.stderr)


def loaded_functions(path, threads):
    """The result of Mozilla's loader for a file: for each thread, the numbers of each function."""
    if not load(path):
        return []
    functions = []
    for number in range(threads):
        done = profiler_cli("thread", "functions", "--json", "--limit", "0", "--include-idle", "--thread", "t-%d" % number)
        if count.ok("profiler-cli functions", done.returncode == 0, done.stdout + done.stderr):
            functions.append(json.loads(done.stdout))
    profiler_cli("stop")
    return functions


def check_loader(capture, samples, path):
    threads = threads_of(samples)
    for thread, found in zip(threads, loaded_functions(path, len(threads))):
        factor = 1e6 if found["weightType"] == "tracing-ms" else 1
        own, total = sums(([name for name, _, _ in sample.stack], sample.weight) for sample in thread)
        got_own, got_total = collections.Counter(), collections.Counter()
        for function in found["functions"]:
            got_own[function["name"]] += round(function["selfSamples"] * factor)
            got_total[function["name"]] += round(function["totalSamples"] * factor)
        same("profiler-cli: self of %s" % capture[0], +got_own, +own)
        same("profiler-cli: total of %s" % capture[0], +got_total, +total)


BLOCKED, PREEMPTED, WOKEN = (state << 6 for state in (1, 2, 3))


def waits_and_records():
    """A thread on and off a CPU, one that only waits and one without samples; records about all of them, losses and marks."""
    samples = b.Samples()
    for number, (time, thread, event, weight, state) in enumerate((
            (2000000, 1, 1, 1000000, 0), (3000000, 2, 2, 500000, BLOCKED), (4000000, 1, 2, 1500000, BLOCKED), (4250000, 1, 2, 250000, WOKEN),
            (5000000, 1, 1, 1000000, 0), (6000000, 1, 2, 750000, PREEMPTED), (6500000, 2, 2, 9000000, BLOCKED))):
        samples.sample(number + 1, time, thread=thread, event=event, weight=weight, flags=state, kernel=[0xffffffff81000000 + 0x10 * thread])
    comm = b"\xff\\\"program"
    reel = b.Reel().side(
        reel_cases.capture_record(), b.record("EVENT", 1, 1, 0, 999, 0, 1, "cpu-clock", 0), b.record("EVENT", 2, (1 << 32) - 1, 0, 99, 0, 1, "off-cpu", 0),
        b.record("MODULE", 2, 2, 0, 0, 0, 0, b"", "[kernel]"), b.record("KERNEL_SYMBOL", 0xffffffff81000000, 0x1000, 2, "f"),
        b.record("SPACE", 1, 1, 0, 1, 10, 10, 62, 64, 1, 0, 0, 0), b.record("SPACE", 4500000, 2, 0, 1, 10, 10, 62, 64, 1, 0, 0, 0),
        b.record("THREAD", 1000000, 1, 1, 0, 10, 10, 0, "x"), b.record("THREAD", 2500000, 2, 1, 1, 11, 11, 1, "y"),
        b.record("THREAD", 2600000, 3, 1, 1, 12, 12, 1, "z"), b.record("LOSS", 3000000, 1, 1, 5), b.record("LOSS", 3500000, 0xffffffff, 6, 7),
        b.record("LOSS", 3600000, 0, 7, 0), b.record("THREAD_EXEC", 4500000, 1, 2), b.record("THREAD_EXIT", 4600000, 3),
        b.record("THREAD_COMM", 4700000, 1, comm), b.record("THREAD_EXIT", 7000000, 2),
        b.record("MARK", 6900000, 1, comm), b.record("MARK", 3900000, 7, ""))
    path = os.path.join(work, "markers.reel")
    with open(path, "wb") as file:
        file.write(reel_cases.finish(reel.samples(samples)).data)
    return path


def check_marks_alone():
    """A capture without samples: its only thread is the recorder's."""
    path = os.path.join(work, "marks.reel")
    reel = b.Reel().side(reel_cases.capture_record(), b.record("EVENT", 1, 1, 0, 999, 0, 1, "cpu-clock", 0), b.record("MARK", 3000000, 1, "SIGUSR2"))
    with open(path, "wb") as file:
        file.write(reel_cases.finish(reel, samples=0).data)
    with open(export("firefox", ("marks", path)), encoding="ascii") as file:
        profile = json.load(file)
    count.ok("firefox: a mark without samples", [(thread["name"], thread["markers"]["length"]) for thread in profile["threads"]] == [("recorder", 1)])
    for kind in ("speedscope", "ndjson", "csv", "callgrind", "perf-script"):
        with open(export(kind, ("marks", path)), encoding="utf-8") as file:
            text = file.read()
        count.ok("%s of no samples" % kind, kind != "speedscope" or not json.loads(text)["profiles"], text[:200])


def check_markers(tools):
    path = export("firefox", ("markers", waits_and_records()))
    with open(path, encoding="ascii") as file:
        profile = json.load(file)
    strings, found = profile["shared"]["stringArray"], {}
    for thread in profile["threads"]:
        table = thread["markers"]
        columns = [table[name] for name in ("name", "startTime", "endTime", "phase", "data")]
        count.ok("firefox: lengths of markers of %s" % thread["name"], all(len(column) == table["length"] for column in columns + [table["category"]]))
        for name, begin, end, phase, data in zip(*columns):
            count.ok("firefox: the phase of %s" % strings[name], phase == (0 if end is None else 1))
            stack = data.pop("cause", {}).get("stack")
            if data["type"] == "wait":
                count.ok("firefox: the stack of %s" % strings[name], any(stack in of["samples"]["stack"] for of in profile["threads"] if of["tid"] == thread["tid"]))
            found.setdefault(thread["name"], []).append((strings[name], begin, end, data))
    wait, thread, losses = {"type": "wait"}, {"type": "thread"}, [name for name, _, _, data in found["recorder"] if data["type"] == "loss"]
    # Times count from the first sample; earlier ones are 0.
    wanted = {
        "\\xff\\\\\"program cpu-clock": [
            ("blocked", 0.5, 2.0, wait), ("woken", 2.0, 2.25, wait), ("preempted", 3.25, 4.0, wait),
            ("exec", 2.5, None, {"type": "exec", "program": "\\xff\\\\\"program"})],
        "y off-cpu": [("thread start", 0.5, None, thread), ("blocked", 0.5, 1.0, wait), ("blocked", 0.0, 4.5, wait), ("thread exit", 5.0, None, thread)],
        "recorder": [(losses[0], 1.0, None, {"type": "loss", "count": 5, "cpu": 1}), (losses[1], 1.5, None, {"type": "loss", "count": 7}),
                     ("trigger", 4.9, None, {"type": "mark", "text": "\\xff\\\\\"program"}), ("mark", 1.9, None, {"type": "mark", "text": ""})]}
    for name in set(found) | set(wanted):
        count.ok("firefox: markers of %s" % name, sorted(map(str, found.get(name, []))) == sorted(map(str, wanted.get(name, []))), str(found.get(name)))
    kinds = {schema["name"]: {field["key"] for field in schema["fields"]} for schema in profile["meta"]["markerSchema"]}
    count.ok("firefox: schemas", all(set(data) - {"type"} <= kinds[data["type"]] for markers in found.values() for *_, data in markers))
    count.ok("firefox: shown first", profile["meta"]["initialVisibleThreads"] == [0, len(profile["threads"]) - 1])
    if tools:
        check_loaded_markers(path, {thread["name"]: thread["markers"]["length"] for thread in profile["threads"]})


def check_loaded_markers(path, wanted):
    """Mozilla's loader derives markers from the tables."""
    if not load(path):
        return
    found = {}
    for number in range(len(wanted)):
        done = profiler_cli("thread", "markers", "--json", "--thread", "t-%d" % number)
        if count.ok("profiler-cli markers", done.returncode == 0, done.stdout + done.stderr):
            result = json.loads(done.stdout)
            found[result["threadName"] if "threadName" in result else result["friendlyThreadName"]] = result["totalMarkerCount"]
    profiler_cli("stop")
    same("profiler-cli: numbers of markers", found, wanted)


# ---- perf's text -----------------------------------------------------------------------------------------


def check_perf_script(capture, samples):
    path = export("perf-script", capture)
    if len(capture) > 2 and capture[0] == "several":
        return path
    with open(path, encoding="utf-8") as file:
        count.ok("perf-script is script of %s" % capture[0], file.read() == run(TOOL, "script", "--no-host-files", *capture[1:]).stdout)
    return path


def check_perf_importer(samples, path):
    """Mozilla's importer of perf's text, which counts samples."""
    found = (loaded_functions(path, 1) or [{"functions": []}])[0]
    own = collections.Counter(sample.stack[-1][0] for sample in samples if len(sample.lines))
    got = collections.Counter({function["name"]: round(function["selfSamples"]) for function in found["functions"]})
    same("profiler-cli: perf's text", +got, +own)


# ---- callgrind ------------------------------------------------------------------------------------------


def annotated(path, event, inclusive, names):
    """The lines of callgrind_annotate for these functions are `COST (SHARE)  FILE:FUNCTION [MODULE]', and both may contain colons."""
    done = run("callgrind_annotate", "--threshold=100", "--auto=no", "--inclusive=" + inclusive, "--show=" + event, "--sort=" + event, path)
    costs = collections.Counter()
    for line in done.stdout.splitlines():
        match = re.match(r" *([0-9,]+) \( ?[0-9.]+%\)  (.*?)(?: \[\S*\])?$", line)
        ends = [name for name in names if match and match[2].endswith(":" + name)]
        if ends:
            costs[max(ends, key=len)] += int(match[1].replace(",", ""))
    return costs


def check_callgrind(capture, samples):
    path = export("callgrind", capture)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    events = re.search("^events: (.*)", text, re.M)[1].split()
    wanted = list(collections.OrderedDict.fromkeys(sample.event for sample in samples))
    count.ok("callgrind: events of %s" % capture[0], events == [re.sub("[^A-Za-z0-9]", "_", event) for event in wanted], str(events))
    totals = re.search("^summary: (.*)", text, re.M)[1].split()
    count.ok("callgrind: summary of %s" % capture[0],
             list(map(int, totals)) == [sum(sample.weight for sample in samples if sample.event == event) for event in wanted])
    lines = collections.Counter()
    for sample in samples:
        if sample.lines and sample.event == wanted[0]:
            lines[sample.lines[-1]] += sample.weight
    same("callgrind: lines of %s" % capture[0], +parse_callgrind(text), +lines)
    return path, list(zip(events, wanted))


def parse_callgrind(text):
    """Function, file and line with its own cost, for the first event."""
    names, place, file, cost, after_calls = {}, None, None, collections.Counter(), False
    for line in text.splitlines():
        match = re.match(r"(c?)(ob|f[lien]|fn)=\((\d+)\)(?: (.*))?$", line)
        if match:
            of = names.setdefault(match[3], match[4])
            if not match[1] and match[2] == "fn":
                place = re.sub("( \\(inlined\\))?('2)?$", "", of)
            elif not match[1] and match[2] != "ob":
                file = of
        elif line.startswith("calls="):
            after_calls = True
        elif re.match(r"\d", line):
            if not after_calls and not re.match(r"\[(incomplete: .*|no frames)\]$", place):
                cost[(place, file, int(line.split()[0]))] += int(line.split()[1])
            after_calls = False
    return cost


def check_annotate(capture, samples, path, events):
    for event, name in events:
        own, total = sums((named(sample.stack), sample.weight) for sample in samples if sample.event == name)
        again = {function + "'2" for function in total}
        found = collections.Counter()
        for function, cost in annotated(path, event, "no", again | set(total)).items():
            found[re.sub("'2$", "", function)] += cost
        same("callgrind_annotate: self of %s" % capture[0], +found, +own)
        found = annotated(path, event, "yes", again | set(total))
        same("callgrind_annotate: total of %s" % capture[0], +collections.Counter({key: found[key] for key in set(found) - again}), +total)


# ---- perf.data -------------------------------------------------------------------------------------------


def made(*arguments):
    done = run(TOOL, *arguments)
    return count.ok(" ".join(map(os.path.basename, arguments[:2])), done.returncode == 0, done.stderr)


def physical(line):
    """The parts of a sample that a recording can express: without inlined functions, and without names in the vDSO, whose
    image it does not have."""
    return [(frame["module"], frame["module_address"], frame["module"] != "[vdso]" and frame["function"])
            for frame in line["frames"] if not frame["inlined"]]


def by_time(*arguments):
    done = run(TOOL, "export", "-q", "--format=ndjson", "--no-host-files", *arguments)
    return {(line["tid"], line["time"], line["cpu"], line["event"], line["weight"]): line for line in map(json.loads, done.stdout.splitlines())}


def check_perf_data_again():
    """To perf.data and back: the same frames, except for samples without a stack, at a task's end."""
    capture = ("orders", "--symfs", ORDERS, "--debug-dir", ORDERS)
    path, again = export("perf.data", capture + (os.path.join(ORDERS, "orders.reel"),)), os.path.join(work, "again.reel")
    if not made("import", path, "--raw-stacks", "-o", again):
        return
    ours, theirs = by_time(*capture[1:], os.path.join(ORDERS, "orders.reel")), by_time(*capture[1:], again)
    count.ok("perf.data: samples again", set(ours) == set(theirs))
    differ = [line["sample"] for key, line in ours.items() if line["stop"] != "no user stack" and physical(line) != physical(theirs[key])]
    count.ok("perf.data: frames again", len(ours) > 800 and not differ, str(differ[:5]))


def check_perf_reads_its_own():
    """A recording by perf, as a capture, and back: perf script prints the same for both."""
    folder = os.path.join(ROOT, "testdata/x86_64/perf")
    for kind in ("dwarf", "fp"):
        original, capture, path = os.path.join(folder, kind + ".data"), os.path.join(work, kind + ".reel"), os.path.join(work, kind + ".data")
        if not made("import", "-q", "--raw-stacks", "--jit=none", original, "-o", capture):
            continue
        made("export", "--format=perf.data", "--no-host-files", "--symfs", folder, capture, "-o", path)
        texts = [run("perf", "script", "--symfs", folder, "--ns", "-F", "comm,pid,tid,time,period,event,ip,sym,dso", "-i", file).stdout
                 for file in (original, path)]
        count.ok("perf.data: perf script of %s" % kind, texts[0] == texts[1] and texts[0].count("stairs") > 39)


class Offsets:
    """perf prints offsets in files."""

    def __init__(self, root):
        self.root, self.files = root, {}

    def of(self, path, address):
        if path not in self.files:
            with open(self.root + path, "rb") as file:
                data = file.read()
            start, = struct.unpack_from("<Q", data, 32)
            size, n = struct.unpack_from("<HH", data, 54)
            headers = [struct.unpack_from("<IIQQQQ", data, start + i * size) for i in range(n)]
            self.files[path] = [(vaddr, offset, length) for kind, _, offset, vaddr, _, length in headers if kind == 1]
        return next((address - vaddr + offset for vaddr, offset, length in self.files[path] if vaddr <= address < vaddr + length), address)


def script_frames(text):
    """Addresses by thread and time, as perf script and ours print them."""
    frames, key = {}, None
    for line in text.splitlines():
        head = re.match(r"^\s*(\d+)\s+(\d+)\.(\d+):", line)
        if head:
            key = int(head[1]), int(head[2] + head[3])
            frames[key] = []
        elif line.startswith("\t") and key:
            frames[key].append(int(line.split()[0], 16))
    return frames


class PerfparserStream:
    """The output of hotspot-perfparser for hotspot: messages of a little-endian length, a type, and fields in big-endian
    order."""

    LOCATION, SAMPLE = 3, 13

    def __init__(self, data):
        at, addresses, self.frames = data.index(b"\0") + 5, {}, {}
        while at < len(data):
            size, kind = struct.unpack_from("<IB", data, at)
            if kind == self.LOCATION:
                number, address = struct.unpack_from(">iQ", data, at + 5)
                addresses[number] = address
            elif kind == self.SAMPLE:
                _, tid, when, _, n = struct.unpack_from(">IIQII", data, at + 5)
                self.frames[tid, when] = [addresses[number] for number in struct.unpack_from(">%di" % n, data, at + 29)]
            at += 4 + size


def unwinders(path, root):
    """Other tools' frames for a perf.data: a name, and addresses by thread and time, in files or in memory."""
    debug = root + "/usr/lib/debug"
    commands = {"perf": shutil.which("perf"), "PERF": os.environ.get("PERF")}
    for name, command in commands.items():
        if command:
            yield name, script_frames(run(*shlex.split(command), "script", "--symfs", root, "--ns", "--no-inline", "-F", "tid,time,event,ip", "-i", path).stdout)
        elif name == "perf":
            count.skip("perf is not installed")
    parser = os.environ.get("PERFPARSER") or next(iter(glob.glob("/usr/lib*/*/libexec/hotspot-perfparser") + glob.glob("/usr/libexec/hotspot-perfparser")), None)
    if not parser:
        count.skip("hotspot is not installed: no hotspot-perfparser")
        return
    done = subprocess.run([*shlex.split(parser), "--input", path, "--sysroot", root, "--debug", debug, "--max-frames", "2000"], capture_output=True, check=False)
    if count.ok("hotspot-perfparser", done.returncode == 0, done.stderr.decode()):
        yield "hotspot-perfparser", PerfparserStream(done.stdout).frames


def check_unwinders():
    """Other unwinders and ours, on the same registers and stacks: they stop earlier here and there, and never give anything
    else."""
    root, capture = os.path.join(work, "root"), os.path.join(ROOT, "testdata/x86_64/chains/gcc/threads.reel")
    count.ok("the programs", run(os.path.join(ROOT, "tests/matrix/unpack.sh"), "x86_64", root).returncode == 0)
    files = ("--symfs", root, "--debug-dir", root + "/usr/lib/debug")
    path, offsets, ours = export("perf.data", ("chains", *files, capture)), Offsets(root), by_time(*files, capture)
    memory = script_frames(run(TOOL, "script", "--no-host-files", "--no-inline", "--ns", "-F", "tid,time,ip", *files, capture).stdout)
    for name, others in unwinders(path, root):
        equal, strange = 0, []
        for (tid, when, *_), line in ours.items():
            frames = [frame for frame in line["frames"] if not frame["inlined"]]
            if line["stop"] == "no user stack" or any(frame["module"] == "[vdso]" for frame in frames):
                continue
            # Callers' addresses are after calls, theirs within.
            in_file = [offsets.of(frame["module"], int(frame["module_address"], 16)) - (i > 0) for i, frame in enumerate(frames)]
            in_memory = [address - (i > 0) for i, address in enumerate(memory[tid, when])]
            found = others.get((tid, when), [])
            equal += found in (in_file, in_memory)
            if not found or found not in (in_file[:len(found)], in_memory[:len(found)]):
                strange.append((line["sample"], found, in_file, in_memory))
        count.ok("perf.data: no frame of %s differs from ours" % name, not strange, "%d: %s" % (len(strange), strange[:2]))
        count.ok("perf.data: frames of %s are ours" % name, equal > 0.9 * len(ours) and len(ours) > 200, "%d of %d" % (equal, len(ours)))
        if os.environ.get("PERF"):
            print("%s: of %d samples with the same frames: %d" % (name, len(ours), equal))


def check_perf_pipe():
    capture = os.path.join(ROOT, "testdata/x86_64/chains/gcc/threads.reel")
    piped = subprocess.run("'%s' export -q --format=perf.data --no-host-files '%s' | perf script -F tid,time -i - | grep -c :" % (TOOL, capture),
                           shell=True, stdout=subprocess.PIPE, check=False, text=True).stdout
    count.ok("perf.data: a pipe", int(piped) > 200, piped)


def check_perf_data():
    several = run(TOOL, "export", "--format=perf.data", "--no-host-files", golden("x86_64-inline.reel"), golden("x86_64-jit.reel"), "-o", work + "/x")
    count.ok("perf.data of two", several.returncode == 1 and "a single host and recording" in several.stderr and not os.path.exists(work + "/x"), several.stderr)
    check_perf_data_again()
    check_unwinders()
    if shutil.which("perf"):
        check_perf_reads_its_own()
        check_perf_pipe()


def main():
    tools = bool(NODE and os.path.isdir(NPM))
    if not tools:
        count.skip("node, or what `npm ci --ignore-scripts' installs in tests/npm, is missing: no ajv and no profiler-cli")
    annotate = bool(shutil.which("callgrind_annotate"))
    if not annotate:
        count.skip("valgrind is not installed: no callgrind_annotate")
    line_schema, paths = json_schema.validator("ndjson"), []
    if not line_schema:
        count.skip("python3-jsonschema is not installed")
    for capture in captures():
        samples = read_samples(capture, line_schema)
        paths.append(check_speedscope(capture, samples))
        firefox, text = check_firefox(capture, samples), check_perf_script(capture, samples)
        callgrind, events = check_callgrind(capture, samples)
        if tools and capture[0] in ("orders", "events", "several"):
            check_loader(capture, samples, firefox)
        if tools and capture[0] == "orders":
            check_perf_importer(samples, text)
        if annotate:
            check_annotate(capture, samples, callgrind, events)
    check_markers(tools)
    check_marks_alone()
    check_perf_data()
    if tools:
        check_speedscope_schema(paths)
    shutil.rmtree(work)
    return count.finish()


if __name__ == "__main__":
    sys.exit(main())
