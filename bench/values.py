#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How many parameters of sampled frames have known values, in programs built from Debian's sources by gcc and clang; and with --gdb,
every variable against gdb. Prints the table of docs/values.md.

    bench/values.py [--gdb SAMPLES] [--seconds N] [PROGRAM...]

--gdb compares up to SAMPLES samples of each build with gdb on core files. PROGRAM is sqlite, zstd,
lua, zlib or bzip2. Sources and builds are kept in the cache (bench/run --help). Counts are of (sample, frame, parameter): of the innermost
function, its caller, that one's caller, and all others; inlined functions are frames like others.
"""

import argparse
import collections
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
from host import CACHE, ENVIRONMENT, RECORDER, ROOT, NotRun, last_line, log, output  # noqa: E402

sys.path.insert(0, str(ROOT / "tests/cli"))
import values_oracle  # noqa: E402

SUITE = "bookworm"
FOLDER = CACHE / "values"
DATA = "seq 1 4000000 > $DATA"
# Debian's source package, commands before compiling, sources, options, and what runs: it is repeated.
PROGRAMS = {
    "sqlite": ("sqlite3", "./configure -q --disable-tcl && make -s sqlite3.c shell.c", "sqlite3.c shell.c",
               "-DSQLITE_THREADSAFE=0 -DSQLITE_OMIT_LOAD_EXTENSION -lm", "$PROGRAM :memory: \"$SQL\""),
    "zstd": ("libzstd", "", "lib/common/*.c lib/compress/*.c lib/decompress/*.c lib/dictBuilder/*.c programs/*.c",
             "-DZSTD_DISABLE_ASM -DZSTD_LEGACY_SUPPORT=0 -pthread", "$PROGRAM -q -9 --single-thread -c $DATA >$OUT; $PROGRAM -q -d -c $OUT >/dev/null"),
    "lua": ("lua5.4", "rm -f src/luac.c", "src/*.c", "-lm", "$PROGRAM -e \"$LUA\""),
    "zlib": ("zlib", "./configure >/dev/null && cp test/minigzip.c .", "*.c", "-D_LARGEFILE64_SOURCE=1",
             "$PROGRAM -c $DATA >$OUT; $PROGRAM -d -c <$OUT >/dev/null"),
    "bzip2": ("bzip2", "rm -f spewG.c unzcrash.c dlltest.c mk251.c bzip2recover.c", "*.c", "",
              "$PROGRAM -c $DATA >$OUT; $PROGRAM -dc $OUT >/dev/null"),
}
SQL = """create table t(a integer primary key, b text); with recursive n(i) as (select 1 union all select i+1 from n where i<100000)
insert into t select i, printf('%d text', i*7919 % 100003) from n; create index tb on t(b);
select count(*), max(length(x.b)) from t x join t y on x.b = y.b where x.b like '%7%' group by x.a % 10;"""
LUA = """local t = {} for i = 1, 300000 do t[i] = tostring(i * 7919 % 100003) end table.sort(t) local s = 0
for _, v in ipairs(t) do s = s + #v:gsub('1', 'one') end print(s, #table.concat(t, ','):rep(2):upper())"""
BUILDS = (("gcc", "-O0"), ("gcc", "-O1"), ("gcc", "-O2"), ("gcc", "-O3"), ("gcc", "-O2 -flto"), ("clang", "-O0"), ("clang", "-O1"),
          ("clang", "-O2"), ("clang", "-O3"), ("clang", "-O2 -flto -fuse-ld=lld"))
DEPTHS = ("innermost", "caller 1", "caller 2", "others")
STATES = ("known", "optimized out", "not captured")


def shell(command, folder, **environment):
    done = subprocess.run(["sh", "-c", command], cwd=folder, env={**ENVIRONMENT, **environment}, capture_output=True, text=True, errors="replace",
                          stdin=subprocess.DEVNULL)
    if done.returncode:
        raise NotRun(last_line(done.stderr, command))


def source_of(name):
    package, prepare = PROGRAMS[name][:2]
    folder = FOLDER / name
    if not (folder / "ready").exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        shell("'%s' %s source apt-get source -qq --download-only %s && tar -xf $(ls *.orig.tar.* | grep -v asc$) --strip-components=1 && %s"
              % (ROOT / "tests/vm/apt.sh", SUITE, package, prepare or "true"), folder)
        (folder / "ready").touch()
    return folder


def build(name, compiler, level):
    folder, sources, options = source_of(name), *PROGRAMS[name][2:4]
    program = FOLDER / ("%s-%s%s" % (name, compiler, level.replace(" ", "")))
    if not program.exists():
        log("building %s" % program.name)
        shell("%s -g %s -w -I. -o %s %s %s" % (compiler, level, program, sources, options), folder)
    return program


def record(program, command, seconds):
    capture = program.with_name(program.name + ".reel")
    if not capture.exists():
        data, sql = FOLDER / "data", SQL.replace("\n", " ")
        if not data.exists():
            shell(DATA, FOLDER, DATA=str(data))
        script = "end=$(($(date +%%s) + %d)); while [ $(date +%%s) -lt $end ]; do %s; done >/dev/null" % (seconds, command)
        with tempfile.NamedTemporaryFile() as out:
            output("env", "PROGRAM=%s" % program, "DATA=%s" % data, "OUT=%s" % out.name, "SQL=" + sql, "LUA=" + LUA.replace("\n", " "),
                   RECORDER, "-q", "--raw-stacks", "-F", "999", "-o", capture, "--", "sh", "-c", script)
    return capture


def count(capture, program):
    """By depth and state: parameters of the program's samples."""
    counts = collections.Counter()
    for frames in values_oracle.printed(capture, "--comm", program.name[:15], fields="args").values():
        for i, (_, _, values) in enumerate(frames):
            for text in values.values():
                counts[DEPTHS[min(i, 3)], text.strip("<>") if text in values_oracle.UNKNOWN else "known"] += 1
    return counts


def compare(capture, limit, counts, options=()):
    found = values_oracle.printed(capture, *options)
    numbers = list(found)
    with tempfile.TemporaryDirectory(prefix="stackreel-values.") as folder:
        differences = values_oracle.compare(str(capture), found, numbers[::max(1, len(numbers) // limit)], folder, counts)
    for difference in differences:
        print("DIFFERENT", *difference, flush=True)
    counts["different"] += len(differences)


def cell(counts, depth):
    whole = sum(counts[depth, state] for state in STATES)
    return " / ".join("%.0f" % (100 * counts[depth, state] / whole) for state in STATES) if whole else ""


def row(title, counts):
    print("| %s | %s |" % (" | ".join(title), " | ".join([f"{sum(counts.values()):,}"] + [cell(counts, depth) for depth in DEPTHS])), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gdb", type=int, default=0, metavar="SAMPLES")
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("programs", nargs="*", metavar="PROGRAM")
    arguments = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    compared, all_of = collections.Counter(), collections.defaultdict(collections.Counter)
    print("| program | built by | parameters | %s |\n|---|---|--:|%s" % (" | ".join(DEPTHS), "--:|" * len(DEPTHS)))
    for name in arguments.programs or PROGRAMS:
        for compiler, level in BUILDS:
            try:
                program = build(name, compiler, level)
                capture = record(program, PROGRAMS[name][4], arguments.seconds)
                counts = count(capture, program)
                row((name, "%s %s" % (compiler, level.replace(" -fuse-ld=lld", ""))), counts)
                all_of[compiler, level] += counts
                if arguments.gdb:
                    compare(capture, arguments.gdb, compared, ("--comm", program.name[:15]))
            except NotRun as reason:
                log("%s by %s %s: %s" % (name, compiler, level, reason))
    for (compiler, level), counts in all_of.items():
        row(("all", "%s %s" % (compiler, level.replace(" -fuse-ld=lld", ""))), counts)
    for reason, number in compared.most_common():
        print("%9d  %s" % (number, reason))


if __name__ == "__main__":
    main()
