#!/usr/bin/env python3
"""stackreel export --format=parquet: DuckDB, hyparquet and Arrow's Rust reader (parquet-wasm) read the files, and find the rows that
`export --format=ndjson` and `sql` have; hashlib computes the ids of stacks.

    O=DIR   the object directory (build)

The readers come from npm, as listed in tests/npm.
"""
# checks: cli/export cli/parquet

import calendar
import collections
import glob
import hashlib
import itertools
import json
import math
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests"))
sys.path.insert(0, os.path.join(ROOT, "tests/reader"))
import counting
import reel_builder as b
import reel_cases

NPM = os.path.join(ROOT, "tests/npm")
TOOL = os.path.join(ROOT, os.environ.get("O", "build"), "stackreel")
ORDERS = os.path.join(ROOT, "testdata/aarch64/orders")
FROM = ["--no-host-files", "--symfs", ORDERS, "--debug-dir", ORDERS]
TABLES = ("modules", "captures", "stacks", "samples")
# More rows than a row group has.
REPEATS = 150

count = counting.Count()
work = tempfile.mkdtemp()

# Prints a JSON object for each row of each file; numbers are text.
READERS = {
    "DuckDB": """
const { DuckDBInstance } = require('@duckdb/node-api');
const read = async path => {
    const connection = await (await DuckDBInstance.create(':memory:')).connect();
    const columns = (await connection.runAndReadAll(`DESCRIBE SELECT * FROM '${path}'`)).getRowObjectsJson();
    const list = columns.map(({ column_name: name, column_type: type }) => {
        if (type.startsWith('TIMESTAMP'))
            return `epoch_us("${name}") * 1000 AS "${name}"`;
        return type === 'BLOB' ? `lower(hex("${name}")) AS "${name}"` : `"${name}"`;
    });
    return (await connection.runAndReadAll(`SELECT ${list} FROM '${path}'`)).getRowObjectsJson().map(row => {
        for (const map of ['labels', 'losses'])
            if (row[map])
                row[map] = Object.fromEntries(row[map].map(({ key, value }) => [key, value]));
        return row;
    });
};""",
    "hyparquet": """
const { readFileSync } = require('fs');
const read = async path => {
    const { parquetReadObjects } = await import('hyparquet');
    const { compressors } = await import('hyparquet-compressors');
    const bytes = readFileSync(path);
    return parquetReadObjects({ file: bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length), compressors,
                                parsers: { timestampFromNanoseconds: value => value } });
};""",
    "parquet-wasm": """
const { readFileSync } = require('fs');
const { tableFromIPC, Vector } = require('apache-arrow');
const { readParquet } = require('parquet-wasm/node');
const plain = value => value === null || typeof value !== 'object' || value instanceof Uint8Array ? value
    : value instanceof Vector ? [...value].map(plain)
    : Object.fromEntries(Object.entries(value.toJSON()).map(([key, inner]) => [key, plain(inner)]));
const read = async path => {
    const table = tableFromIPC(readParquet(readFileSync(path)).intoIPCStream());
    const names = table.schema.fields.map(field => field.name);
    const columns = Object.fromEntries(names.map(name => [name, table.getChild(name)]));
    /* Times as they are: toArray would round them. */
    const times = Object.fromEntries(names.filter(name => ['wall_time', 'start'].includes(name)).map(name =>
        [name, columns[name].data.flatMap(data => Array.from(data.values, value => BigInt(value)))]));
    return Array.from({ length: table.numRows }, (_, at) => Object.fromEntries(names.map(name =>
        [name, columns[name].get(at) === null ? null : times[name] ? times[name][at] : plain(columns[name].get(at))])));
};""",
}
PRINT = """
const show = (key, value) => value instanceof Uint8Array ? Buffer.from(value).toString('hex')
    : typeof value === 'number' || typeof value === 'bigint' ? String(value) : value;
(async () => {
    for (const path of process.argv.slice(1))
        console.log(JSON.stringify(await read(path), show));
})();
"""
ASK = """
const { DuckDBInstance } = require('@duckdb/node-api');
(async () => {
    const connection = await (await DuckDBInstance.create(':memory:')).connect();
    for (const question of process.argv.slice(1))
        console.log(JSON.stringify((await connection.runAndReadAll(question)).getRowObjectsJson()));
})();
"""


def run(*arguments, **options):
    return subprocess.run(arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, **options)


def same(name, found, wanted):
    found, wanted = list(found), list(wanted)
    at = next((i for i, pair in enumerate(zip(found, wanted)) if pair[0] != pair[1]), min(len(found), len(wanted)))
    count.ok(name, found == wanted and wanted, "%d rows, not %d; row %d is %s, not %s" % (
        len(found), len(wanted), at, found[at:at + 1], wanted[at:at + 1]))


def export(name, *arguments):
    folder = os.path.join(work, name)
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    done = run(TOOL, "export", "--format=parquet", *arguments, "-o", folder)
    count.ok("export to %s" % name, done.returncode == 0 and sorted(os.listdir(folder)) == sorted(t + ".parquet" for t in TABLES), done.stderr)
    return folder


def node(script, *arguments, folder=NPM):
    """The lines that it prints, as JSON; None after an error."""
    done = run(shutil.which("node"), "-e", script, "--", *arguments, cwd=folder, env=dict(os.environ, NODE_PATH=os.path.join(NPM, "node_modules")))
    return list(map(json.loads, done.stdout.splitlines())) if count.ok("node", done.returncode == 0, done.stderr[-500:]) else None


def labelled(name):
    """A capture of a host with this name: waits, who ended them, and requests."""
    data = b.Samples()
    for number in range(60):
        thread, service, trace = 1 + number % 2, {26: b"shop"} if number % 3 else {}, {24: b"%032x" % (number % 4)} if number % 4 else {}
        if thread == 1:
            data.sample(number, 1000 + number * 1000, thread=1, event=2, frames=[0x1000 + 16 * (number % 5)], labels={**trace, **service})
        else:
            waker = {3: b"alpha", 4: (1, 11), 5: (1, number - 1)}
            data.sample(number, 1000 + number * 1000, thread=2, event=1, weight=1000000 * number, frames=[0x2000], labels={**waker, **trace, **service})
    reel = b.Reel(file_id=hashlib.md5(name.encode()).digest()).side(
        reel_cases.capture_record(hostname=name),
        b.record("EVENT", 1, 1, 0, 0, 1, 1, "off-cpu", 0), b.record("EVENT", 2, 1, 1, 0, 1, 1, "waker", 0),
        b.record("SPACE", 1, 1, 0, 1, 10, 10, 62, 64, 1, 0, 0, 0), b.record("THREAD", 1, 1, 1, 1, 11, 11, 0, "alpha"),
        b.record("THREAD", 1, 2, 1, 1, 12, 12, 0, "beta"))
    path = os.path.join(work, name + ".reel")
    with open(path, "wb") as file:
        file.write(reel_cases.finish(reel.samples(data), 60).data)
    return path


# ---- expected rows ---------------------------------------------------------------------------------


def texts(value):
    """As the readers print rows."""
    if isinstance(value, dict):
        return {key: texts(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return list(map(texts, value))
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def signed(number):
    return number - (1 << 64) if number >> 63 else number


def sql(arguments, query):
    done = run(TOOL, "sql", "--json", *arguments, query)
    count.ok("sql", done.returncode == 0, done.stderr)
    return json.loads(done.stdout)


class Wanted:
    """What the other formats say of the same captures."""

    def __init__(self, arguments):
        done = run(TOOL, "export", "--format=ndjson", *arguments)
        self.lines = list(map(json.loads, done.stdout.splitlines()))
        self.captures = {row["path"]: row for row in sql(arguments, "SELECT * FROM captures")}
        self.modules = sql(arguments, "SELECT c.file_id, m.kind, m.path, m.build_id, m.state, m.problem, m.has_debug_info "
                                      "FROM modules m JOIN captures c ON c.id = m.capture_id ORDER BY m.id")

    def sample(self, line):
        capture, labels = self.captures[line["capture"]], line["labels"]
        leaf = line["frames"][0] if line["frames"] else {"function": None, "module": None}
        # In a merged capture, names begin with their host.
        host, comm = line["comm"].split(":") if ":" in line["comm"] else (capture["hostname"], line["comm"])
        row = {key: line[key] for key in ("sample", "time", "wall_time", "event", "unit", "weight", "cpu", "pid", "tid", "ran_in", "state", "stop")}
        row.update(file_id=capture["file_id"], host=host, comm=comm, samples=1, is_whole=line["whole"], function=leaf["function"],
                   module=leaf["module"] or None, waker_sample=labels.get("waker-sample"), container=labels.get("container"),
                   pod=labels.get("pod"), service=labels.get("service"), systemd_unit=labels.get("unit"), trace=labels.get("trace"),
                   labels={key: str(value) for key, value in labels.items()})
        return texts(row)

    @staticmethod
    def frames(line):
        """Without the members that NDJSON does not have."""
        return texts([{
            "function": frame["function"], "module": frame["module"] or None, "address": signed(int(frame["module_address"], 16)),
            "file": frame["file"] or None, "line": frame["line"], "inlined": frame["inlined"], "guessed": frame["guessed"],
            "kernel": frame["kernel"]} for frame in reversed(line["frames"])])


# ---- what readers find -----------------------------------------------------------------------------


def stack_id(frames):
    """docs/parquet.md, "The id of a stack"."""
    value = bytes(16)
    for frame in frames:
        texts_first = [frame[name] or "" for name in ("function", "linkage_name", "module", "build_id", "file", "kind")]
        members = texts_first + [frame["address"], frame["line"], str(int(frame["inlined"])), str(int(frame["guessed"]))]
        value = hashlib.blake2b(value + b"".join(member.encode() + b"\0" for member in members), digest_size=16).digest()
    return value.hex()


def check_stacks(name, tables, wanted):
    stacks = {row["stack_id"]: row for row in tables["stacks"]}
    build_ids = collections.defaultdict(set)
    for module in wanted.modules:
        build_ids[module["path"]].add(module["build_id"])
    count.ok(name + ": each stack once, and those of samples",
             len(stacks) == len(tables["stacks"]) and set(stacks) == {row["stack_id"] for row in tables["samples"]})
    same(name + ": ids of stacks", stacks, [stack_id(row["frames"]) for row in tables["stacks"]])
    same(name + ": functions", (row["functions"] for row in tables["stacks"]),
         ([frame["function"] for frame in row["frames"]] for row in tables["stacks"]))
    kept = ("function", "module", "address", "file", "line", "inlined", "guessed")
    same(name + ": frames", ([dict({key: frame[key] for key in kept}, kernel=frame["kind"] == "kernel")
                              for frame in stacks[row["stack_id"]]["frames"]] for row in tables["samples"]),
         map(wanted.frames, wanted.lines))
    frames = [frame for row in tables["stacks"] for frame in row["frames"]]
    wrong = [frame for frame in frames if frame["module"] in build_ids and frame["build_id"] not in build_ids[frame["module"]]]
    count.ok(name + ": build-ids", not wrong and any(frame["build_id"] for frame in frames), str(wrong[:1]))
    mangled = {frame["linkage_name"]: frame["function"] for frame in frames if frame["linkage_name"]}
    if mangled and shutil.which("c++filt"):
        # Shown as c++filt shows them, but for this abbreviation.
        string = "std::basic_string<char, std::char_traits<char>, std::allocator<char> >"
        same(name + ": linkage names", run("c++filt", *mangled).stdout.replace(string, "std::string").splitlines(),
             (function.replace(string, "std::string") for function in mangled.values()))


def rounded(row, unit):
    """With wall times in a multiple of `unit` ns."""
    return {key: str(int(value) // unit * unit) if key in ("wall_time", "start") and value else value for key, value in row.items()}


def check_rows(name, tables, wanted):
    # DuckDB's times with a zone have microseconds.
    unit = 1000 if name.startswith("DuckDB") else 1
    same(name + ": processes", (row["process"] or "" for row in tables["samples"] if row["pid"] == row["tid"]),
         (row["comm"] for row in tables["samples"] if row["pid"] == row["tid"]))
    same(name + ": samples", ({key: value for key, value in row.items() if key not in ("process", "stack_id")} for row in tables["samples"]),
         (rounded(wanted.sample(line), unit) for line in wanted.lines))
    check_stacks(name, tables, wanted)
    same(name + ": modules", tables["modules"], (dict(texts(row), has_debug_info=bool(row["has_debug_info"])) for row in wanted.modules))
    columns = {"file_id": "file_id", "path": "path", "host": "hostname", "arch": "arch", "cpus": "cpus", "samples": "samples",
               "start": "start_wall_time", "kernel_release": "kernel_release", "command_line": "command_line"}
    same(name + ": captures", ({key: row[key] for key in columns} for row in tables["captures"]),
         (rounded(texts({key: row[column] for key, column in columns.items()}), unit) for row in wanted.captures.values()))
    exported = collections.Counter(line["capture"] for line in wanted.lines)
    roots = collections.Counter(line["capture"] for line in wanted.lines if line["stop"] == "root reached")
    same(name + ": what is known of captures", ((row["exported"], row["whole"]) for row in tables["captures"]),
         ((str(exported[path]), str(roots[path])) for path in wanted.captures))


def check_readers(name, arguments):
    folder = export(name, *arguments)
    wanted = Wanted(arguments)
    for reader, script in READERS.items():
        found = node(script + PRINT, *(os.path.join(folder, table + ".parquet") for table in TABLES))
        if found:
            check_rows("%s: %s" % (reader, name), dict(zip(TABLES, found)), wanted)


def check_large():
    """Several row groups: their statistics, what they leave out, and the same bytes again, also by one thread."""
    captures = [os.path.join(ORDERS, "orders.reel")] * REPEATS
    folder, again = export("large", *FROM, *captures), export("again", *FROM, "-j1", *captures)
    for table in TABLES:
        with open(os.path.join(folder, table + ".parquet"), "rb") as one, open(os.path.join(again, table + ".parquet"), "rb") as other:
            count.ok("the same bytes: " + table, one.read() == other.read())
    with open(os.path.join(work, "orders.ndjson"), encoding="ascii") as file:
        lines = list(map(json.loads, file))
    times = sorted(line["time"] for line in lines)
    path, stacks = (os.path.join(folder, table + ".parquet") for table in ("samples", "stacks"))
    found = node(ASK, "SELECT count(*), sum(weight), count(DISTINCT stack_id), any_value(typeof(wall_time)) FROM '%s'" % path,
                 "SELECT count(*) FROM '%s'" % stacks,
                 "SELECT row_group_num_rows, stats_min_value, stats_max_value, stats_null_count FROM parquet_metadata('%s') WHERE path_in_schema = 'time' "
                 "ORDER BY row_group_id" % path,
                 "SELECT count(*) FROM '%s' WHERE time > %d" % (path, times[len(times) // 2]),
                 "SELECT count(*) FROM '%s' WHERE time > %d" % (path, times[-1]),
                 "SELECT function, count(*) AS n FROM '%s' GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 5" % path)
    if not found:
        return
    found = [[list(row.values()) for row in rows] for rows in found]
    leaves = collections.Counter(line["frames"][0]["function"] if line["frames"] else None for line in lines)
    n_stacks = len({json.dumps(line["frames"]) for line in lines})
    rows = len(lines) * REPEATS
    same("large: sums", found[0], [[str(rows), str(sum(line["weight"] for line in lines) * REPEATS), str(n_stacks), "TIMESTAMP WITH TIME ZONE"]])
    same("large: each stack once", found[1], [[str(n_stacks)]])
    count.ok("large: row groups", len(found[2]) == 2 and sum(int(group[0]) for group in found[2]) == rows, str(found[2]))
    same("large: bounds of times", (group[1:] for group in found[2]), [[str(times[0]), str(times[-1]), "0"]] * len(found[2]))
    same("large: later samples", found[3] + found[4], [[str(sum(time > times[len(times) // 2] for time in times) * REPEATS)], ["0"]])
    same("large: functions", found[5], [[name, str(n * REPEATS)] for name, n in sorted(leaves.items(), key=lambda item: (-item[1], item[0] or ""))[:5]])


# ---- docs/queries ----------------------------------------------------------------------------------


def sums(rows):
    """Of (key, row): the samples and weight of each key."""
    found = collections.defaultdict(lambda: [0, 0])
    for key, row in rows:
        found[key][0] += int(row["samples"])
        found[key][1] += int(row["weight"])
    return sorted(((key, tuple(value)) for key, value in found.items()), key=str)


def outermost(frames, is_wanted):
    return next((i for i, frame in enumerate(frames) if is_wanted(frame)), None)


ROUNDED = ("old", "new", "usual", "share", "change", "low", "high", "probability")


def alike(row):
    """A row of DuckDB's or SQLite's, as text: SQLite has no lists, maps and booleans, and its modules are those of people."""
    row = {key: json.loads(value) if key in ("losses", "problems") and isinstance(value, str) else value for key, value in row.items()}
    if row.get("losses") is not None:
        row["losses"] = {loss["key"]: int(loss["value"]) for loss in row["losses"]} if isinstance(row["losses"], list) else row["losses"]
    if row.get("module") == "//anon":
        row["module"] = "[JIT]"
    return json.dumps({key: float(value) if (key.startswith("percent") or key in ROUNDED) and value is not None else int(value) if isinstance(value, bool) else value for key, value in row.items()}
                      | {key: int(row[key]) for key in ("samples", "weight", "exported", "hosts") if key in row}, sort_keys=True)


class Fleet:
    """The rows of all captures by NDJSON, and what DuckDB answers."""

    def __init__(self, arguments, captures):
        self.arguments, self.captures = arguments, captures
        self.wanted = Wanted([*arguments, *captures])
        self.rows = [dict(self.wanted.sample(line), frames=self.wanted.frames(line)) for line in self.wanted.lines]
        self.build_ids = {(module["file_id"], module["path"]): module["build_id"] for module in self.wanted.modules}
        for number, capture in enumerate(captures):
            export("fleet/capture=%d" % number, *arguments, capture)
        found = node(ASK, "SELECT file_id, sample, process FROM 'fleet/**/samples.parquet'", folder=work)
        processes = {(row["file_id"], row["sample"]): row["process"] for row in found[0]}
        for row in self.rows:
            row["service"] = row["labels"].get("service") or row["container"] or processes[row["file_id"], row["sample"]] or row["comm"]

    def ask(self, name):
        """DuckDB's answer, which must be that of `stackreel sql'."""
        duckdb, query = (pathlib.Path(ROOT, "docs/queries", file + ".sql").read_text(encoding="utf-8") for file in ("duckdb", name))
        rows = node(ASK, duckdb, query, folder=work)[-1]
        ours = sql([*self.arguments, *self.captures], "\n" + query)
        same("query %s: stackreel sql" % name, sorted(map(alike, ours)) or "no rows", sorted(map(alike, rows)) or "no rows")
        return rows

    def compare(self, name, columns, rows):
        """The answer's samples and weight by these columns; `rows`: pairs of a key and a row."""
        found = self.ask(name)
        same("query %s" % name, sums((tuple(row[column] for column in columns), row) for row in found), sums(rows))
        return found

    def build_id(self, row, frame):
        return self.build_ids.get((row["file_id"], frame["module"]))

    def of_view(self, view, columns):
        """Rows of a view of `sql`, of all captures."""
        for row in sql([*self.arguments, *self.captures], "SELECT * FROM " + view):
            yield tuple(row[column] if column != "is_inlined" else bool(row[column]) for column in columns), row


def check_queries(arguments, captures):
    fleet = Fleet(arguments, captures)
    rows = fleet.rows
    leaves = [row for row in rows if row["frames"]]
    # `sql` has no rows for samples without frames, and modules as people read them.
    shown = {None: "", "//anon": "[JIT]"}
    found = [row for row in fleet.ask("self") if row["function"]]
    same("query self", sums(((row["event"], row["function"], shown.get(row["module"], row["module"])), row) for row in found),
         sums(fleet.of_view("self_time", ("event", "function", "module"))))
    found = fleet.ask("total")
    same("query total", sums(((row["event"], row["function"], shown.get(row["module"], row["module"]), row["inlined"]), row) for row in found),
         sums(fleet.of_view("total_time", ("event", "function", "module", "is_inlined"))))
    fleet.compare("total", ("event", "function", "module", "build_id", "inlined"), (
        ((row["event"], *key), row) for row in leaves
        for key in {(f["function"], f["module"], fleet.build_id(row, f), f["inlined"]) for f in row["frames"]}))
    calls = [(row, outermost(row["frames"], lambda frame: "memcpy" in frame["function"])) for row in rows]
    fleet.compare("callers", ("event", "callee", "caller"), (
        ((row["event"], row["frames"][at]["function"], row["frames"][at - 1]["function"] if at else "[root]"), row)
        for row, at in calls if at is not None))
    uses = [row for row in rows if outermost(row["frames"], lambda frame: "/libc" in (frame["module"] or "")) is not None]
    found = fleet.compare("library", ("service", "event"), (((row["service"], row["event"]), row) for row in uses))
    whole = dict(sums(((row["service"], row["event"]), row) for row in rows))
    count.ok("query library: shares", all(abs(row["percent"] - 100 * int(row["weight"]) / whole[row["service"], row["event"]][1]) < 0.006 for row in found))
    found = fleet.ask("incomplete")
    incomplete = collections.Counter((row["stop"], row["frames"][0]["module"], fleet.build_id(row, row["frames"][0])) if row["frames"] else (row["stop"], None, None)
                                     for row in rows if not row["is_whole"])
    same("query incomplete", sorted(((row["stop"], row["module"], row["build_id"]), int(row["samples"])) for row in found) if found else [],
         sorted(incomplete.items()))
    lines = collections.Counter()
    for capture in captures:
        for line in run(TOOL, "folded", "-q", "--event=cpu-clock", *arguments, capture).stdout.splitlines():
            stack, _, samples = line.rpartition(" ")
            lines[stack] += int(samples)
    same("query folded", sorted(row["line"] for row in fleet.ask("folded")), sorted("%s %d" % item for item in lines.items()))
    fleet.compare("hours", ("hour", "host", "event"), (
        ((row["wall_time"] and time.strftime("%Y-%m-%d %H:00", time.gmtime(int(row["wall_time"]) // 10**9)), row["host"], row["event"]), row) for row in rows))
    fleet.compare("containers", ("host", "container", "event"), (((row["host"], row["container"], row["event"]), row) for row in rows))
    fleet.compare("traces", ("trace", "event"), (((row["trace"], row["event"]), row) for row in rows if row["trace"] and row["unit"] == "ns"))
    by_number = {(row["file_id"], row["sample"]): row for row in rows}
    wakers = ((row, by_number.get((row["file_id"], str(row["waker_sample"])))) for row in rows if row["waker_sample"])
    fleet.compare("wakers", ("comm", "waker", "woken_in"), (((row["comm"], waker["comm"], waker["function"]), row) for row, waker in wakers if waker))
    best = {}
    for (service, event, function, module), (_, weight) in sums(((row["service"], row["event"], row["function"], row["module"]), row) for row in rows):
        best[service, event] = min(best.get((service, event), (0,)), (-weight, function or "", module or ""))
    same("query hottest", sorted((row["service"], row["event"], -int(row["weight"]), row["function"] or "", row["module"] or "") for row in fleet.ask("hottest")),
         sorted((*key, *value) for key, value in best.items()))
    same("query captures", sorted((row["path"], row["exported"]) for row in fleet.ask("captures")),
         sorted((path, str(n)) for path, n in collections.Counter(line["capture"] for line in fleet.wanted.lines).items()))


def ask_both(name, folder, arguments, captures):
    """DuckDB's answer for captures in a folder, which must be that of `stackreel sql'."""
    done = run(TOOL, "export", "--format=parquet", *arguments, *captures, "-o", "fleet", cwd=folder)
    count.ok("export for %s" % name, done.returncode == 0, done.stderr)
    duckdb, query = (pathlib.Path(ROOT, "docs/queries", file + ".sql").read_text(encoding="utf-8") for file in ("duckdb", name))
    rows = node(ASK, duckdb, query, folder=folder)[-1]
    ours = json.loads(run(TOOL, "sql", "--json", *arguments, *captures, "\n" + query, cwd=folder).stdout)
    same("query %s: stackreel sql" % name, sorted(map(alike, ours)), sorted(map(alike, rows)))
    return rows


def versions(folder, noise):
    """Captures of two versions: the runs of each differ by more than chance, f4 changed, and f1 is different in each second run."""
    fixed = random.Random(7)
    parts = [fixed.expovariate(1) for _ in range(40)]
    for run_number in range(13):
        source, side = random.Random(run_number), "new" if run_number > 6 else "old"
        path = os.path.join(folder, side, "%d.reel" % run_number)
        weights = [max(part * (1 + source.gauss(0, noise)) * (1.8 if side == "new" and i == 4 else 1) * (8 if run_number % 2 and i == 1 and not noise else 1), 0)
                   for i, part in enumerate(parts)]
        leaves = source.choices(range(40), weights, k=1500 + source.randrange(500))
        called(path, 1764547200, 40, [(leaf, leaf // 3, leaf // 9, 0) for leaf in leaves], [1] * len(leaves))
    return sorted(glob.glob(os.path.join(folder, "*/*.reel")))


def called(path, start, functions, stacks, threads):
    """A capture with these stacks of functions, innermost first, and threads."""
    kernel = 0xffffffff81000000
    symbols = [b.record("KERNEL_SYMBOL", kernel + i * 0x1000, 0x1000, 2, "f%d" % i) for i in range(functions)]
    reel = b.Reel(file_id=hashlib.md5(path.encode()).digest()).side(
        reel_cases.capture_record(hostname="shop", start_time=4999999900, start_wall_time=start * 10**9, cpus_online=8),
        b.record("MODULE", 2, 3, 0, 0, 0, 0, b"", "[kernel]"), *symbols, b.record("EVENT", 1, 1, 0, 999, 0, 1, "cpu-clock"),
        *(b.record("SPACE", 1, i, 0, 1, 1000 + i, 1000 + i, 62, 64, 1, 0, 0, 0) for i in (1, 2)),
        *(b.record("THREAD", 1, i, i, 1, 1000 + i, 1000 + i, 0, "worker-%d" % i) for i in (1, 2)))
    samples = b.Samples()
    for i, (stack, thread) in enumerate(zip(stacks, threads), 1):
        samples.sample(i, 5000000000 + i * 10000000, thread=thread, weight=1001001, where=4, kernel=[kernel + 0x10 + 0x1000 * function for function in stack])
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(reel_cases.finish(reel.samples(samples), len(stacks)).data)


def check_regression(name, folder, arguments, captures, n_sure):
    """The numbers of `stackreel diff', to what their rounding and its iterations leave open."""
    captures = [os.path.relpath(path, folder) for path in captures]
    rows = ask_both("regression", folder, arguments, captures)
    old, new = ([path for path in captures if path.startswith(side)] for side in ("old/", "new/"))
    diff = json.loads(run(TOOL, "diff", "--json", *arguments, *old, "--new", *new, cwd=folder).stdout)
    wanted = {(function["name"], function["module"], part): function[part] for function in diff["functions"]
              for part in ("self", "total") if function[part]["tested"]}
    found = {(row["function"], row["module"], row["part"]): row for row in rows}
    same("query regression of %s: functions" % name, sorted(found), sorted(wanted))
    wrong = [(key, column, found[key][column], value[column]) for key, value in wanted.items() if key in found
             for column, limit in (("old", 6e-4), ("new", 6e-4), ("change", 6e-4), ("low", 5e-3), ("high", 5e-3), ("probability", 5e-4), ("sure", 0))
             if abs(found[key]["is_sure" if column == "sure" else column] - value[column]) > limit]
    count.ok("query regression of %s: the numbers of diff" % name, not wrong and diff["sure"] >= n_sure, "%s; %d are sure" % (wrong[:3], diff["sure"]))


def student(t, freedom):
    """Abramowitz and Stegun, 26.7.3 and 26.7.4: the probability of a value at least as far from 0."""
    angle = math.atan(t / math.sqrt(freedom))
    term = total = math.cos(angle) if freedom % 2 else 1
    for k in range(3 if freedom % 2 else 2, freedom, 2):
        term *= (k - 1) / k * math.cos(angle) ** 2
        total += term
    if freedom % 2:
        return 1 - 2 / math.pi * (angle + math.sin(angle) * (total if freedom > 1 else 0))
    return 1 - math.sin(angle) * total


def check_minute(folder):
    """f5 and worker-2 take more in one of thirty minutes of two days; the lines of NDJSON have the shares."""
    fixed = random.Random(7)
    parts = [fixed.expovariate(1) for _ in range(30)]
    for day, minute in itertools.product((29, 30), range(10, 25)):
        source, asked = random.Random(100 * day + minute), (day, minute) == (30, 17)
        weights = [max(part * (1 + source.gauss(0, 0.1)) * (5 if asked and i == 5 else 1), 0) for i, part in enumerate(parts)]
        leaves = source.choices(range(30), weights, k=500 + source.randrange(100))
        called(os.path.join(folder, "%d-%d.reel" % (day, minute)), calendar.timegm((2026, 11, day, 3, minute, 1)), 30,
               [(leaf, leaf // 3, leaf // 9, 0) for leaf in leaves], [1 + (source.random() < (0.6 if asked else 0.3)) for _ in leaves])
    captures = sorted(os.path.basename(path) for path in glob.glob(os.path.join(folder, "*.reel")))
    rows = ask_both("minute", folder, ["--no-host-files"], captures)
    lines = list(map(json.loads, run(TOOL, "export", "--format=ndjson", "--no-host-files", *captures, cwd=folder).stdout.splitlines()))
    weights, wholes = collections.Counter(), collections.Counter()
    for line in lines:
        minute = line["wall_time"] // 60000000000
        wholes[minute] += line["weight"]
        for key in {("function", frame["function"]) for frame in line["frames"]} | {("program", line["comm"])}:
            weights[key, minute] += line["weight"]
    asked = calendar.timegm((2026, 11, 30, 3, 17, 0)) // 60
    usual = [minute for minute in wholes if minute != asked]
    n_asked, n_usual = (sum(line["wall_time"] // 60000000000 in minutes for line in lines) for minutes in ([asked], usual))
    wrong = []
    for row in rows:
        key = row["kind"], row["name"]
        share, mean = weights[key, asked] / wholes[asked], sum(weights[key, minute] for minute in usual) / sum(wholes[minute] for minute in usual)
        variance = sum((weights[key, minute] / wholes[minute] - mean) ** 2 for minute in usual) / (len(usual) - 1) * (1 + 1 / len(usual))
        error = math.sqrt(max(variance, mean * (1 - mean) * (1 / n_asked + 1 / n_usual)) + 1 / n_asked ** 2)
        wanted = [100 * mean, 100 * share, student(abs(share - mean) / error, len(usual) - 1)]
        if any(abs(row[column] - value) > 6e-4 for column, value in zip(("usual", "share", "probability"), wanted)) or abs(student((row["high"] - row["low"]) / 200 / error, len(usual) - 1) - 0.05) > 1e-3:
            wrong.append((row, wanted))
    count.ok("query minute: as computed from NDJSON", not wrong and len(rows) > 20, str(wrong[:2]))
    count.ok("query minute: what changed", {"f5", "worker-2"} <= {row["name"] for row in rows if row["is_sure"] and row["change"] > 0} and len([row for row in rows if row["is_sure"]]) <= 4)
    done = run(TOOL, "report", "--no-host-files", "--by=comm", "30-17.reel", cwd=folder)
    share = next((row["share"] for row in rows if row["name"] == "worker-2"), 0)
    count.ok("query minute: the share in report", re.search(r"^ *%.2f %%.* worker-2" % share, done.stdout, re.M), "%s\n%s%s" % (share, done.stdout[:600], done.stderr))


def check_changes():
    for noise, n_sure in ((0, 1), (0.3, 0)):
        folder = os.path.join(work, "versions-%g" % noise)
        check_regression("runs that differ by %g" % noise, folder, ["--no-host-files"], versions(folder, noise), n_sure)
    folder = os.path.join(work, "windows")
    for number in range(8):
        path = os.path.join(folder, "new" if number % 2 else "old", "%d.reel" % number)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        done = run(TOOL, "cut", "-q", *FROM, "--time", "%dms..%dms" % (number * 120, number * 120 + 120), os.path.join(ORDERS, "orders.reel"), "-o", path)
        count.ok("cut", done.returncode == 0, done.stderr)
    check_regression("windows of orders", folder, FROM, sorted(glob.glob(os.path.join(folder, "*/*.reel"))), 0)
    os.makedirs(os.path.join(work, "minutes"))
    check_minute(os.path.join(work, "minutes"))


def check_guide(captures):
    """The commands of docs/fleet.md, and the script for Slurm: together, its parts have each capture once."""
    text = pathlib.Path(ROOT, "docs/fleet.md").read_text(encoding="utf-8")
    question = re.search('^duckdb -c "(.*)"$', text, re.M).group(1)
    folder = os.path.join(work, "guide")
    os.makedirs(folder)
    link = os.path.join(folder, "captures")
    os.makedirs(link)
    for number, capture in enumerate(captures):
        os.symlink(capture, os.path.join(link, "%d.reel" % number))
    environment = dict(os.environ, PATH=os.path.dirname(TOOL) + ":" + os.environ["PATH"])
    answers = []
    commands = [re.search("^stackreel export .*$", text, re.M).group(0), text[text.index("ls captures/*.reel >list\nmkdir"):text.index("```", text.index("ls captures/*.reel >list\nmkdir"))],
                *("FORMAT=parquet SLURM_ARRAY_TASK_ID=%d bash %s/docs/fleet/slurm.sh 2 list fleet" % (part, ROOT) for part in (1, 2))]
    for command in commands:
        done = run("bash", "-euc", command, cwd=folder, env=environment)
        count.ok("docs/fleet.md: %s" % command, done.returncode == 0, done.stderr)
        if "ARRAY_TASK_ID=1" not in command:
            answers.append([(row["function"], int(row["samples"])) for row in node(ASK, question, folder=folder)[0]])
            shutil.rmtree(os.path.join(folder, "fleet"))
            os.makedirs(os.path.join(folder, "fleet"))
    wanted = sql(captures, "SELECT function, sum(samples) AS samples FROM self_time GROUP BY 1 ORDER BY 2 DESC LIMIT 3")
    same("docs/fleet.md: the three hottest functions", answers, [[(row["function"], row["samples"]) for row in wanted]] * 3)


def check_partitions(merged):
    """--partition: one folder for each day and host, whatever the host is called; the same bytes again; and DuckDB's columns."""
    folder = os.path.join(work, "partitions")
    # The last second of a day: a capture is in the folder of the day on which it began.
    midnight = calendar.timegm((2026, 11, 29, 23, 59, 59))
    hosts = {"web1": midnight, "web2": midnight + 2, "../../up": midnight, "/root": midnight, "..": midnight, "a=b&c d%": midnight, "\u00fc\n\x01": midnight, "12": 0, "": midnight, "x" * 240: midnight}
    wanted = []
    for number, (host, start) in enumerate(hosts.items()):
        data = b.Samples()
        for i in range(3):
            data.sample(i, 1000 + i * 10**9, thread=1, event=1, frames=[0x1000])
        reel = b.Reel(file_id=bytes([number] * 16)).side(
            reel_cases.capture_record(hostname=host, start_time=0, start_wall_time=start * 10**9), b.record("EVENT", 1, 1, 0, 0, 1, 1, "off-cpu", 0),
            b.record("SPACE", 1, 1, 0, 1, 10, 10, 62, 64, 1, 0, 0, 0), b.record("THREAD", 1, 1, 1, 1, 11, 11, 0, "alpha"))
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "%d.reel" % number), "wb") as file:
            file.write(reel_cases.finish(reel.samples(data), 3).data)
        shown = host.replace("\n", "\\x0a").replace("\x01", "\\x01")
        wanted.append((time.strftime("%Y-%m-%d", time.gmtime(start)) if start else None, shown or None, shown, "%02x" % number * 16))
    captures = sorted(name for name in os.listdir(folder) if name.endswith(".reel"))
    contents = []
    for _ in range(2):
        done = run(TOOL, "export", "-q", "--format=parquet", "--partition", "--no-host-files", *captures, "-o", "fleet", cwd=folder)
        count.ok("export --partition", done.returncode == 0, done.stderr)
        contents.append({str(path.relative_to(folder)): path.read_bytes() for path in pathlib.Path(folder, "fleet").rglob("*") if path.is_file()})
    count.ok("partitions: the same files and bytes again", contents[0] == contents[1] and len(contents[0]) == len(TABLES) * len(hosts), sorted(contents[0]))
    count.ok("partitions: folders", all(re.fullmatch(r"fleet/date=(2026-11-(29|30)|__HIVE_DEFAULT_PARTITION__)/host=[^/]+/(modules|captures|stacks|samples)-[0-9a-f]{32}.parquet", name)
                                        for name in contents[0]) and sorted(os.listdir(folder)) == sorted([*captures, "fleet"]), sorted(contents[0]))
    files = "'fleet/**/samples*.parquet'"
    found = node(ASK, "SELECT DISTINCT CAST(date AS VARCHAR) AS date, h.host AS folder, f.host AS host, f.file_id AS file_id FROM read_parquet(%s, hive_partitioning = true) h "
                 "JOIN read_parquet(%s, hive_partitioning = false) f ON h.file_id = f.file_id" % (files, files), folder=folder)
    same("partitions: DuckDB's columns", sorted((tuple(row.values()) for row in found[0]), key=str), sorted(wanted, key=str))
    duckdb = pathlib.Path(ROOT, "docs/queries/duckdb.sql").read_text(encoding="utf-8")
    found = node(ASK, duckdb, "SELECT host, sum(samples) AS samples FROM samples WHERE date = '2026-11-30' OR host = '12' GROUP BY 1 ORDER BY 1", folder=folder)
    same("partitions: duckdb.sql", [tuple(row.values()) for row in found[-1]], [("12", "3"), ("web2", "3")])
    for arguments in (["--format=csv", "0.reel"], ["--format=parquet", "--sandbox", "0.reel"], ["--format=parquet", "-"], ["--format=parquet", merged]):
        done = run(TOOL, "export", "--partition", "--no-host-files", *arguments, "-o", "refused", cwd=folder)
        count.ok("refused: --partition %s" % arguments, done.returncode and "--partition" in done.stderr and not os.path.exists(os.path.join(folder, "refused")), done.stderr)


def check_sandbox():
    """Of standard input, which is read in the sandbox: the same stacks."""
    folder = os.path.join(work, "piped")
    with open(os.path.join(ORDERS, "orders.reel"), "rb") as capture:
        done = subprocess.run([TOOL, "export", "--format=parquet", *FROM, "-", "-o", folder], stdin=capture, stderr=subprocess.PIPE, check=False)
    if count.ok("sandbox", done.returncode == 0, done.stderr):
        for table in ("stacks", "samples"):
            with open(os.path.join(folder, table + ".parquet"), "rb") as one, open(os.path.join(work, "orders", table + ".parquet"), "rb") as other:
                count.ok("the same bytes in the sandbox: " + table, one.read() == other.read())


def check_refusals():
    capture = os.path.join(ORDERS, "orders.reel")
    for arguments in ([], ["-o", "-"], ["-o", capture]):
        done = run(TOOL, "export", "--format=parquet", *FROM, capture, *arguments)
        count.ok("refused: %s" % arguments, done.returncode and re.search("no folder|ot a directory", done.stderr), done.stderr)


def main():
    check_refusals()
    if not shutil.which("node") or not os.path.exists(os.path.join(NPM, "node_modules/hyparquet")):
        count.skip("node, or what `npm ci --ignore-scripts' installs in tests/npm, is missing: no readers of Parquet")
        return count.finish()
    golden = sorted(path for path in glob.glob(os.path.join(ROOT, "testdata/golden/*.reel")) if "encrypted" not in path)
    check_readers("orders", [*FROM, os.path.join(ORDERS, "orders.reel")])
    hosts = [labelled("web1"), labelled("web2")]
    merged = os.path.join(work, "merged.reel")
    done = run(TOOL, "merge", *hosts, "-o", merged)
    count.ok("merge", done.returncode == 0, done.stderr)
    check_readers("golden", ["--no-host-files", *golden, hosts[0], merged])
    check_queries(FROM, [os.path.join(ORDERS, "orders.reel"), hosts[0], *golden])
    check_changes()
    check_partitions(merged)
    check_guide([path for path in golden if "x86_64" in path])
    check_sandbox()
    with open(os.path.join(work, "orders.ndjson"), "w", encoding="ascii") as file:
        subprocess.run([TOOL, "export", "--format=ndjson", *FROM, os.path.join(ORDERS, "orders.reel")], stdout=file, check=True)
    check_large()
    shutil.rmtree(work)
    return count.finish()


if __name__ == "__main__":
    sys.exit(main())
