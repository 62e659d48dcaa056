#!/usr/bin/env python3
# checks: cli/sql
"""stackreel sql and export: the queries of docs/sql.md, word by word, compared with folded, report, script and eu-addr2line; what a query
must not do; and files for other programs, read by these programs.

    O=DIR   the object directory (build)

DuckDB comes from npm, as listed in tests/npm.
"""

import collections
import csv
import glob
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests"))
import counting

NPM = os.path.join(ROOT, "tests/npm")
TOOL = os.path.join(ROOT, os.environ.get("O", "build"), "stackreel")
ORDERS = os.path.join(ROOT, "testdata/aarch64/orders")
CAPTURE = os.path.join(ORDERS, "orders.reel")
FROM = ["--no-host-files", "--symfs", ORDERS, "--debug-dir", ORDERS]

count = counting.Count()
work = tempfile.mkdtemp()


def run(*arguments, text=True, **options):
    options.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.run([TOOL, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, text=text, **options)


def said(*arguments):
    done = run(*arguments, *FROM, CAPTURE)
    count.ok(" ".join(arguments), done.returncode == 0, done.stderr)
    return done.stdout


def same(name, found, wanted):
    found, wanted = list(found), list(wanted)
    first = next(((a, b) for a, b in zip(found, wanted) if a != b), None)
    count.ok(name, found == wanted and wanted, "%d rows, not %d; %r" % (len(found), len(wanted), first))


# ---- the other commands' answers -------------------------------------------------------------------


def folded(*options):
    """Stacks as lists of names, and their counts."""
    for line in said("folded", *options).splitlines():
        stack, _, amount = line.rpartition(" ")
        yield stack.split(";"), int(amount)


def script():
    """For each sample: its matched head, and its frames as (function, module) or (function, None) if inlined."""
    for paragraph in said("script", "--ns").rstrip("\n").split("\n\n"):
        head, *lines = paragraph.split("\n")
        head = re.fullmatch(r"(.*?) +(\d+)/(\d+) +\[(\d+)\] +(\d+)\.(\d+): +(\d+) (\S+):", head)
        frames = [re.fullmatch(r"\t *([0-9a-f]+) (.*?)(?:\+0x[0-9a-f]+)? \((.*)\)", line) for line in lines if not line.startswith("#")]
        yield head, frames, [line for line in lines if line.startswith("#")]


def sums(stacks):
    """Self and total by function."""
    self, total = collections.Counter(), collections.Counter()
    for stack, amount in stacks:
        names = [name for name in stack if not re.match(r"\[(incomplete|no frames)", name)]
        if names:
            self[names[-1]] += amount
        for name in set(names):
            total[name] += amount
    return self, total


# ---- the document's queries ------------------------------------------------------------------------


def queries():
    with open(os.path.join(ROOT, "docs/sql.md"), encoding="utf-8") as file:
        return re.findall(r"### (.*?)\n\n```sql\n(.*?)```", file.read(), re.DOTALL)


def rows_by_name(rows, column):
    found = collections.Counter()
    for row in rows:
        found[row["function"].replace(";", ":")] += row[column]
    return found


def ask(database, query):
    return [dict(row) for row in database.execute(query)]


def check_times(database, query, which):
    """SELF or TOTAL; without its LIMIT the query returns all functions of folded's lines."""
    rows = ask(database, re.sub(r" LIMIT 20", "", query))
    same("the first rows", ask(database, query), rows[:20])
    same("samples by function", sorted(rows_by_name(rows, "samples").items()), sorted(sums(folded())[which].items()))
    weights = sums(folded("--weight=time", "--unit=ns", "--no-suffix"))[which]
    same("weight by function", sorted(rows_by_name(rows, "weight").items()), sorted(weights.items()))
    return rows


def report_rows(*options):
    line = re.compile(r" *([\d.]+) %.*? ([\d.]+) %.*? (\d+)  (\S.*?)(?:  +(\S+))?$")
    return [match.groups() for match in map(line.match, said("report", "--names=full", "--percent-limit=0", *options).splitlines()) if match]


def check_self(database, query):
    rows = check_times(database, query, 0)
    whole = sum(row["samples"] for row in ask(database, "SELECT * FROM by_thread"))
    found = collections.Counter("%s %.2f" % (row["function"], 100 * row["samples"] / whole) for row in rows)
    wanted = collections.Counter(re.sub(r" \((inlined)\)$| \[k\]$", "", row[3]) + " " + row[0] for row in report_rows() if float(row[0]))
    same("report's SELF", sorted(wanted), sorted(key for key in found if not key.endswith(" 0.00")))


def check_total(database, query):
    rows = check_times(database, query, 1)
    found = sorted((row["function"], str(row["samples"])) for row in rows)
    same("report's samples", found, sorted((re.sub(r" \((inlined)\)$| \[k\]$", "", row[3]), row[2]) for row in report_rows()))


def check_stops(database, query):
    rows = ask(database, query)
    samples = list(script())
    same("samples", [sum(row["samples"] for row in rows)], [len(samples)])
    same("samples with `# stop'", [sum(row["cut"] for row in rows)], [sum(bool(stops) for _, _, stops in samples)])
    info = said("info")
    for row in rows:
        if row["stop"] != "no user stack":
            count.ok("info has " + row["stop"], re.search(r" %d  %s" % (row["samples"], re.escape(row["stop"])), info))


def check_threads(database, query):
    found = collections.Counter((head[1], head[2], head[3]) for head, _, _ in script())
    wanted = [(comm, pid, tid, samples) for (comm, pid, tid), samples in found.items()]
    same("threads", [(row["name"], str(row["pid"]), str(row["tid"]), row["samples"]) for row in ask(database, query)], wanted)


def check_folded(database, query):
    same("folded's lines", sorted(row["line"] for row in ask(database, query)), sorted(said("folded").splitlines()))


def check_lines(database, query):
    """Compares with eu-addr2line for the innermost frames, whose addresses are those of instructions."""
    rows = ask(database, query)
    if not count.ok("lines", rows):
        return
    if not shutil.which("eu-addr2line"):
        count.skip("eu-addr2line is not installed: lines are not compared")
        return
    frames = ask(database, """SELECT r.module_address AS address, m.local_path AS path, l.file, l.line, f.name AS function, count(*) AS samples
        FROM samples s JOIN stacks k ON k.id = s.stack_id JOIN frames r ON r.id = k.frame_id JOIN lines l ON l.id = r.line_id
        JOIN functions f ON f.id = r.function_id JOIN modules m ON m.id = r.module_id GROUP BY r.id""")
    told = subprocess.run(["eu-addr2line", "-e", frames[0]["path"], *("0x%x" % frame["address"] for frame in frames)], text=True,
                          stdout=subprocess.PIPE, check=True).stdout.splitlines()
    found = ["%s:%d" % (os.path.basename(frame["file"]), frame["line"]) for frame in frames]
    same("eu-addr2line's lines", found, [re.sub(r"(:\d+):\d+$", r"\1", os.path.basename(line)) for line in told])
    wanted = collections.Counter()
    for frame in frames:
        wanted[frame["file"], frame["line"], frame["function"]] += frame["samples"]
    same("samples by line", [row["samples"] for row in rows], sorted(wanted.values(), reverse=True)[:20])


def check_callers(database, query):
    function = re.search(r"name = '(.*)'", query)[1]
    wanted = collections.Counter()
    for stack, amount in folded():
        if function in stack:
            at = stack.index(function)
            wanted[stack[at - 1] if at else "[root]"] += amount
    same("callers", ((row["caller"], row["samples"]) for row in ask(database, query)), sorted(wanted.items(), key=lambda i: (-i[1], i[0])))


def check_tree(database, query):
    wanted = collections.Counter()
    for stack, amount in folded():
        for depth in range(1, 4) if not stack[0].startswith("[") else ():
            if depth <= len(stack):
                wanted[" > ".join(stack[:depth])] += amount
    same("the tree", ((row["path"], row["samples"]) for row in ask(database, query)), sorted(wanted.items()))


def check_slices(database, query):
    times = [int(head[5]) * 10**9 + int(head[6]) for head, _, _ in script()]
    wanted = collections.Counter((time - min(times)) // 10**8 for time in times)
    same("slices", ((row["slice"], row["samples"]) for row in ask(database, query)), sorted(wanted.items()))


def check_sample(database, query):
    number = int(re.search(r"number = (\d+)", query)[1])
    head, frames, _ = list(script())[number - 1]
    rows = ask(database, query)
    same("functions", (row["function"] for row in rows), (frame[2] for frame in frames))
    same("inlined", (bool(row["is_inlined"]) for row in rows), (frame[3] == "inlined" for frame in frames))
    sample = ask(database, "SELECT * FROM sample_list WHERE number = %d" % number)[0]
    same("the sample", ["%d %d %d %d %s" % (sample["pid"], sample["tid"], sample["time"], sample["weight"], sample["event"])],
         ["%s %s %d %s %s" % (head[2], head[3], int(head[5]) * 10**9 + int(head[6]), head[7], head[8])])
    ip = ask(database, "SELECT printf('%%x', ip) AS ip FROM samples WHERE number = %d" % number)[0]["ip"]
    same("its address", [ip], [frames[0][1]])


def check_locks(database, query):
    """This capture has no labels; test-labels.py has some."""
    same("locks", ask(database, query), ask(database, "SELECT '[no lock]' AS lock, count(*) AS samples, sum(weight) AS weight FROM samples"))


CHECKS = (check_self, check_total, check_stops, check_threads, check_folded, check_lines, check_callers, check_tree, check_slices, check_sample, check_locks)


def check_database(path):
    database = sqlite3.connect("file:%s?mode=ro" % path, uri=True)
    database.row_factory = sqlite3.Row
    found = queries()
    count.ok("eleven queries", len(found) == len(CHECKS), str(len(found)))
    for (title, query), check in zip(found, CHECKS):
        before = count.failed
        check(database, query)
        tsv = run("sql", "--tsv", *FROM, CAPTURE, query)
        rows = [tuple("" if value is None else str(value) for value in row) for row in database.execute(query)]
        same("sql: " + title, [tuple(line.split("\t")) for line in tsv.stdout.splitlines()[1:]], rows)
        if count.failed > before:
            print("    of: " + title)
    for table in ("captures", "events", "modules", "threads", "processes", "process_events", "frames", "lines", "stops", "comms"):
        count.ok(table + " has rows", ask(database, "SELECT 1 FROM " + table))
    same("schema version", [database.execute("PRAGMA user_version").fetchone()[0],
                            ask(database, "SELECT value FROM meta WHERE key = 'schema_version'")[0]["value"]], [1, "1"])
    same("integrity", database.execute("PRAGMA integrity_check").fetchone(), ["ok"])
    same("references", [len(database.execute("PRAGMA foreign_key_check").fetchall())], [0])
    kinds = [row["kind"] for row in ask(database, "SELECT kind FROM process_events ORDER BY time, id")]
    records = said_records("THREAD", "THREAD_COMM", "THREAD_EXEC", "THREAD_EXIT", "SPACE_EXIT")
    same("process events", [len(kinds)], [len(records)])
    database.close()


def said_records(*kinds):
    return [value for value in map(json.loads, run("dump", "--json", CAPTURE).stdout.splitlines()) if value["record"] in kinds]


# ---- sql ----------------------------------------------------------------------------------------------


def sql(query, *options, **more):
    return run("sql", *options, *FROM, CAPTURE, query, **more)


def check_refusals():
    outside = os.path.join(work, "outside.db")
    for query in ("ATTACH '%s' AS x" % outside, "VACUUM INTO '%s'" % outside, "DELETE FROM base_samples", "CREATE TABLE x (a)",
                  "CREATE TEMP TABLE x (a)", "PRAGMA journal_mode = WAL", "PRAGMA user_version = 7", "PRAGMA writable_schema = ON",
                  "UPDATE sqlite_master SET sql = ''", "BEGIN", "DROP VIEW folded", "INSERT INTO meta VALUES (1, 2)", "DETACH main",
                  "PRAGMA temp_store_directory = '%s'" % work, "SELECT load_extension('x')"):
        done = sql(query)
        count.ok(query, done.returncode == 1 and not done.stdout and re.search("authoriz|may not be modified", done.stderr), done.stderr)
    count.ok("nothing was made", not os.path.exists(outside))
    for query, why in (("selec 1", 'near "selec": syntax error'), ("SELECT nope FROM samples", "no such column: nope"),
                       ("SELECT 1; SELECT 2", "one statement"), ("", "empty"), ("/* nothing */", "empty"),
                       ("SELECT abs(-9223372036854775807 - (id > 700)) FROM samples", "integer overflow")):
        done = sql(query)
        count.ok(query, done.returncode == 1 and not done.stdout and why in done.stderr, done.stderr)


def check_other_captures():
    """Kernel frames, several processes, incomplete traces: the tables still have folded's lines, and only refer to existing rows."""
    for name in ("format/good-two-threads.reel", "aarch64/orders/orders.reel", "x86_64/chains/gcc/jump.reel", "x86_64/jit/python3.14-perf_jit.reel",
                 "x86_64/jit/node-perf-prof.reel", "i386/orders/orders.reel"):
        capture = os.path.join(ROOT, "testdata", name)
        database = os.path.join(work, "other.db")
        done = run("export", "-q", "--format=sqlite", "--no-host-files", capture, "-o", database)
        if not count.ok(name, done.returncode == 0, done.stderr):
            continue
        connection = sqlite3.connect(database)
        event, = connection.execute("SELECT name FROM events e JOIN samples s ON s.event_id = e.id ORDER BY s.id LIMIT 1").fetchone()
        wanted = sorted(run("folded", "-q", "--no-host-files", capture).stdout.splitlines())
        found = connection.execute("SELECT stack || ' ' || samples FROM folded WHERE event = ?", [event])
        same(name + ": folded's lines", sorted(line for line, in found), wanted)
        same(name + ": references", [len(connection.execute("PRAGMA foreign_key_check").fetchall())], [0])
        connection.close()


def check_marks():
    """Of a file with every record; its clock's 1000 is Unix time 1001 ns."""
    capture = "testdata/format/good-all-records.reel"
    done = run("sql", "--json", "--no-host-files", os.path.join(ROOT, capture), "SELECT m.time, m.wall_time - c.start_wall_time AS since, kind, text FROM marks m JOIN captures c ON c.id = capture_id")
    same("marks", json.loads(done.stdout), [{"time": 25000, "since": 24000, "kind": "trigger", "text": "cdef"}])


def check_output():
    query = "SELECT 'a,\"b' AS t, 1 AS i, 1.5 AS r, NULL AS n, x'00ff' AS b, char(27, 9, 10, 8238) AS h UNION ALL SELECT 'c', 22, 0, 0, 0, 0"
    same("tsv", sql(query).stdout.splitlines()[:2], ["t\ti\tr\tn\tb\th", 'a,"b\t1\t1.5\t\tx\'00ff\'\t\\x1b\\x09\\x0a\\xe2\\x80\\xae'])
    same("csv", list(csv.reader(sql(query, "--csv").stdout.splitlines()))[1:2], [['a,"b', "1", "1.5", "", "x'00ff'", "\\x1b\\x09\\x0a\\xe2\\x80\\xae"]])
    same("json", json.loads(sql(query, "--json").stdout)[:1],
         [{"t": 'a,"b', "i": 1, "r": 1.5, "n": None, "b": "x'00ff'", "h": "\x1b\t\n\u202e"}])
    same("table", sql(query, "--table", "--no-header").stdout.splitlines()[1:], ["c     22    0  0  0        0"])
    same("no rows", json.loads(sql("SELECT 1 WHERE 0", "--json").stdout) or ["none"], ["none"])
    query = "SELECT count(*) FROM samples"
    wanted = sql(query).stdout
    with open(CAPTURE, "rb") as file:
        same("from standard input", [run("sql", *FROM, "-", query, stdin=file).stdout], [wanted])
    same("query on standard input", [run("sql", *FROM, CAPTURE, stdin=None, input=query).stdout], [wanted])
    same("-i", [run("sql", *FROM, "-i", CAPTURE, query).stdout], [wanted])
    same("selected", [sql(query, "--time=0..100ms", "--no-header").stdout.strip()],
         [str(sum(line.startswith("orders") for line in said("script", "--time=0..100ms").splitlines()))])
    two = run("sql", *FROM, CAPTURE, CAPTURE, "SELECT count(*), count(DISTINCT capture_id) FROM samples")
    same("two captures", two.stdout.splitlines()[1:], ["%d\t2" % (2 * int(wanted.split()[1]))])
    done = run("sql")
    count.ok("no capture", done.returncode == 2, done.stderr)
    count.ok("no such capture", run("sql", os.path.join(work, "none"), "SELECT 1").returncode == 1)


# ---- files ---------------------------------------------------------------------------------------------


def export(kind, name, *options, capture=CAPTURE):
    path = os.path.join(work, name)
    done = run("export", "--format=" + kind, *FROM, *options, capture, "-o", path)
    return path, done


def check_files(path):
    """What remains of a file that could not be made."""
    with open(path, "rb") as file:
        whole = file.read()
    for kind in ("sqlite", "csv", "ndjson"):
        _, done = export(kind, os.path.basename(path), capture=os.path.join(ROOT, "README.md"))
        with open(path, "rb") as file:
            count.ok(kind + ": the old one stays", done.returncode == 1 and file.read() == whole, done.stderr)
    capture = shutil.copy(CAPTURE, work)
    _, done = export("csv", "orders.reel", capture=capture)
    with open(capture, "rb") as one, open(CAPTURE, "rb") as other:
        count.ok("not over the capture itself", done.returncode == 1 and "is also the input file" in done.stderr and one.read() == other.read())
    count.ok("sqlite to a pipe", run("export", "--format=sqlite", *FROM, CAPTURE).returncode == 2)
    count.ok("sqlite to a device", export("sqlite", "/dev/null")[1].returncode == 1)
    count.ok("no format", run("export", *FROM, CAPTURE).returncode == 2)
    count.ok("an unknown format", "sqlite, ndjson, csv" in run("export", "--format=x", CAPTURE).stderr)
    count.ok("a full disk", "No space left" in export("csv", "/dev/full")[1].stderr)
    again, _ = export("sqlite", "again.db")
    with open(again, "rb") as file:
        count.ok("the same bytes each time", file.read() == whole)
    with open(CAPTURE, "rb") as file:
        sandboxed = os.path.join(work, "sandboxed.db")
        done = run("export", "--format=sqlite", *FROM, "-", "-o", sandboxed, stdin=file)
        file.seek(0)
        piped = run("export", "--format=sqlite", *FROM, "-", "-o", "-", stdin=file, text=False)
    with open(sandboxed, "rb") as file:
        count.ok("in the sandbox, to standard output: the same bytes", piped.returncode == 0 and piped.stdout == file.read(), piped.stderr)
    printed = run("export", "--format=sqlite", *FROM, CAPTURE, "-o", "-", text=False)
    count.ok("to standard output: the same bytes", printed.returncode == 0 and printed.stdout == whole, printed.stderr)
    with open("/dev/full", "wb") as full:
        failed = subprocess.run([TOOL, "export", "--format=sqlite", *FROM, CAPTURE, "-o", "-"], stdout=full, stderr=subprocess.PIPE, check=False)
    count.ok("to standard output: a full disk", failed.returncode == 1 and b"No space left" in failed.stderr, failed.stderr)
    broken = run("export", "--format=sqlite", "/dev/null", "-o", "-")
    count.ok("to standard output: nothing of a failed export", broken.returncode == 1 and not broken.stdout)
    older = run("export", "--format=csv", "-", "-o", sandboxed, stdin=None, input="no capture")
    count.ok("in the sandbox: the old one stays", older.returncode == 1 and done.returncode == 0, older.stderr + done.stderr)
    found = sqlite3.connect(sandboxed).execute("SELECT count(*), (SELECT sum(samples) FROM total_time) FROM samples").fetchone()
    wanted = sqlite3.connect(path).execute("SELECT count(*), (SELECT sum(samples) FROM total_time) FROM samples").fetchone()
    same("in the sandbox", [found], [wanted])
    shell = shutil.which("sqlite3")
    if shell:
        told = subprocess.run([shell, path, "SELECT count(*) FROM samples"], stdout=subprocess.PIPE, text=True, check=False).stdout
        same("sqlite3's shell", [told], ["%d\n" % wanted[0]])
    else:
        count.skip("sqlite3 is not installed")


def check_folded_text():
    """Folded text in place of a capture, by name and in a pipe."""
    text = said("folded")
    query = Path(ROOT, "docs/queries/folded.sql").read_text(encoding="utf-8")
    asked = run("sql", "--no-header", *FROM, CAPTURE, "\n" + query).stdout
    same("the query folded.sql", sorted(asked.splitlines()), sorted(text.splitlines()))
    path = os.path.join(work, "a.folded")
    with open(path, "w", encoding="utf-8") as file:
        file.write(asked)
    for name, stdin in ((path, None), ("-", asked)):
        again = run("folded", name, stdin=None, input=stdin)
        same("folded of %s" % name, sorted(again.stdout.splitlines()), sorted(text.splitlines()))
        table = run("report", "--percent-limit=0", "--names=full", name, stdin=None, input=stdin).stdout.splitlines()
        count.ok("report of %s" % name, table[:2] == ["# %s: folded stacks" % name, "# 842 samples"], str(table[:2]))
        found = [re.fullmatch(r" *[\d.]+ % +(\d+) +[\d.]+ % +(\d+) +\d+  (.*)", row).groups() for row in table[4:]]
        self, total = sums(folded())
        same("functions of %s" % name, sorted(row for row in found if not row[2].startswith("[")), sorted((str(self[key]), str(total[key]), key) for key in total))
        for suffix in ("svg", "html"):
            picture = os.path.join(work, "folded." + suffix)
            done = run("flamegraph", "-q", "-o", picture, name, stdin=None, input=stdin)
            count.ok("%s of %s" % (suffix, name), done.returncode == 0 and os.path.getsize(picture) > 5000, done.stderr)
    # Marks, odd names, sums, blank lines, and other tools' backslashes.
    odd = "[incomplete: x];a 1\n[no frames] 2\n\na 3\na 4\nApp\\Main;b c 5 6\nq;;r 7\n"
    same("odd lines", sorted(run("folded", "-", stdin=None, input=odd).stdout.splitlines()),
         sorted(["[incomplete: x];a 1", "[no frames] 2", "a 7", "App\\\\Main;b c 5 6", "q;[unknown];r 7"]))
    for lines, why in (("a 1\nb\n", "line 2: no stack and number"), ("a 1\nb 99999999999999999999\n", "does not fit"),
                       ("a 18446744073709551615\na 1\n", "does not fit"), ("a 1\n\0 2\n", "not a stackreel capture"), ("a b\n", "not a stackreel capture")):
        done = run("report", "-", stdin=None, input=lines)
        count.ok("refused: %r" % lines, done.returncode and why in done.stderr and not done.stdout, done.stderr)
    done = run("aggregate", path)
    count.ok("aggregate refuses folded text", done.returncode and "concatenate" in done.stderr, done.stderr)


def check_text_formats():
    lines, done = export("ndjson", "a.ndjson")
    count.ok("ndjson", done.returncode == 0, done.stderr)
    with open(lines, encoding="ascii") as file:
        samples = [json.loads(line) for line in file]
    wanted = list(script())
    same("ndjson: frames", ([frame["function"] for frame in sample["frames"]] for sample in samples),
         ([frame[2] for frame in frames] for _, frames, _ in wanted))
    same("ndjson: samples", ((str(s["pid"]), str(s["tid"]), s["comm"], str(s["weight"]), s["whole"]) for s in samples),
         ((head[2], head[3], head[1], head[7], not stops) for head, _, stops in wanted))
    path, done = export("csv", "a.csv")
    count.ok("csv", done.returncode == 0, done.stderr)
    with open(path, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    found = collections.Counter(row["stack"] for row in rows)
    same("csv: stacks", sorted("%s %d" % item for item in found.items()), sorted(said("folded").splitlines()))
    same("csv: times", (row["time"] for row in rows), (str(sample["time"]) for sample in samples))
    check_duckdb(lines, path, samples)


DUCKDB = """
const { DuckDBInstance } = require('@duckdb/node-api');
(async () => {
    const connection = await (await DuckDBInstance.create(':memory:')).connect();
    const ask = async sql => (await connection.runAndReadAll(sql)).getRowsJson();
    await connection.run(`CREATE TABLE lines AS SELECT * FROM read_json('${process.argv[1]}')`);
    await connection.run(`CREATE TABLE flat AS SELECT * FROM read_csv('${process.argv[2]}')`);
    console.log(JSON.stringify([
        await ask('SELECT frames[1].function AS f, count(*) AS n FROM lines WHERE len(frames) > 0 GROUP BY 1 ORDER BY 2 DESC, 1'),
        await ask('SELECT "function" AS f, count(*) AS n FROM flat WHERE frames > 0 GROUP BY 1 ORDER BY 2 DESC, 1'),
        await ask('SELECT count(*), sum(weight), min(time), typeof(any_value(wall_time)) FROM lines'),
        await ask('SELECT count(*), sum(weight), min(time), typeof(any_value(wall_time)) FROM flat')]));
})();
"""


def check_duckdb(lines, flat, samples):
    node = shutil.which("node")
    if not node or not glob.glob(os.path.join(NPM, "node_modules/@duckdb/node-bindings-*")):
        count.skip("node, or what `npm ci --ignore-scripts' installs in tests/npm, is missing: no DuckDB")
        return
    done = subprocess.run([node, "-e", DUCKDB, lines, flat], cwd=NPM, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if not count.ok("DuckDB", done.returncode == 0, done.stderr[-300:]):
        return
    by_line, by_flat, line_sums, flat_sums = json.loads(done.stdout)
    wanted = collections.Counter(sample["frames"][0]["function"] for sample in samples if sample["frames"])
    wanted = [[name, str(n)] for name, n in sorted(wanted.items(), key=lambda item: (-item[1], item[0]))]
    same("DuckDB: ndjson", by_line, wanted)
    same("DuckDB: csv", by_flat, wanted)
    sums_wanted = [[str(len(samples)), str(sum(s["weight"] for s in samples)), str(min(s["time"] for s in samples)), "BIGINT"]]
    same("DuckDB: sums of ndjson", line_sums, sums_wanted)
    same("DuckDB: sums of csv", flat_sums, sums_wanted)


def main():
    probe = run("sql", *FROM, CAPTURE, "SELECT 1")
    if "built without libsqlite3" in probe.stderr:
        count.skip("this stackreel has no SQL")
    else:
        path, done = export("sqlite", "a.db")
        if count.ok("export", done.returncode == 0, done.stderr):
            check_database(path)
            check_files(path)
        check_refusals()
        check_other_captures()
        check_marks()
        check_output()
    check_folded_text()
    check_text_formats()
    shutil.rmtree(work)
    return count.finish()


if __name__ == "__main__":
    sys.exit(main())
