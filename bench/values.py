#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How many parameters of sampled frames have known values, in programs built from Debian's sources by several compilers: the first table
of docs/values.md. With --gdb, every variable against gdb instead: the second table, and what each value is counted as.

    bench/values.py [--gdb SAMPLES] [--cpu ARCH] [--seconds N] [PROGRAM...]

--gdb compares up to SAMPLES samples of each build with gdb on core files. PROGRAM is sqlite, zstd, lua, zlib or bzip2 (C), jsoncpp
(C++), json (Rust) or gofmt (Go), or one of its builds, such as bzip2-gcc-O2. Sources, builds and captures are kept in the cache (bench/run --help). Counts are of (sample, frame,
parameter): of the innermost function, its caller, that one's caller, and all others; inlined functions are frames like others.

--cpu records on another CPU (arm64, s390x, riscv64: in an emulated guest, tests/vm; i386: here) what its compilers build: gcc, clang and Go.
"""

import argparse
import collections
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
from host import CACHE, ENVIRONMENT, OBJECTS, RECORDER, ROOT, NotRun, last_line, log, output  # noqa: E402

sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/cli")]
import values_oracle  # noqa: E402

SUITE = "bookworm"
FOLDER = CACHE / "values"
DATA = "seq 1 4000000 > $DATA"
# Debian's source package, commands before compiling, sources, options, and what runs: it is repeated.
# The language, Debian's package (none: gofmt is part of Go), commands before compiling, sources, options, and what runs: it is repeated.
Program = collections.namedtuple("Program", "language package prepare sources options run")
PROGRAMS = {
    "sqlite": Program("C", "sqlite3", "./configure -q --disable-tcl && make -s sqlite3.c shell.c", "sqlite3.c shell.c",
                      "-DSQLITE_THREADSAFE=0 -DSQLITE_OMIT_LOAD_EXTENSION -lm", "$PROGRAM :memory: \"$SQL\""),
    "zstd": Program("C", "libzstd", "", "lib/common/*.c lib/compress/*.c lib/decompress/*.c lib/dictBuilder/*.c programs/*.c",
                    "-DZSTD_DISABLE_ASM -DZSTD_LEGACY_SUPPORT=0 -pthread",
                    "$PROGRAM -q -9 --single-thread -c $DATA >$OUT; $PROGRAM -q -d -c $OUT >/dev/null"),
    "lua": Program("C", "lua5.4", "rm -f src/luac.c", "src/*.c", "-lm", "$PROGRAM -e \"$LUA\""),
    "zlib": Program("C", "zlib", "./configure >/dev/null && cp test/minigzip.c .", "*.c", "-D_LARGEFILE64_SOURCE=1",
                    "$PROGRAM -c $DATA >$OUT; $PROGRAM -d -c <$OUT >/dev/null"),
    "bzip2": Program("C", "bzip2", "rm -f spewG.c unzcrash.c dlltest.c mk251.c bzip2recover.c", "*.c", "",
                     "$PROGRAM -c $DATA >$OUT; $PROGRAM -dc $OUT >/dev/null"),
    "jsoncpp": Program("C++", "libjsoncpp", "(echo '['; seq 1 5000 | sed 's/.*/{\"id\": &, \"name\": \"number &\", \"of\": [1.5, null, &7]},/'; echo '0]') >source",
                       "src/lib_json/*.cpp src/jsontestrunner/main.cpp", "-Iinclude -std=c++17", "cp $SOURCE $OUT.json; $PROGRAM $OUT.json; rm -f $OUT.*"),
    "json": Program("Rust", "librust-json-dev", "printf '%s' \"$RUST\" >main.rs", "", "", "$PROGRAM"),
    "gofmt": Program("Go", "", "", "cmd/gofmt", "", "$PROGRAM -l $SOURCE"),
}
SQL = """create table t(a integer primary key, b text); with recursive n(i) as (select 1 union all select i+1 from n where i<100000)
insert into t select i, printf('%d text', i*7919 % 100003) from n; create index tb on t(b);
select count(*), max(length(x.b)) from t x join t y on x.b = y.b where x.b like '%7%' group by x.a % 10;"""
LUA = """local t = {} for i = 1, 300000 do t[i] = tostring(i * 7919 % 100003) end table.sort(t) local s = 0
for _, v in ipairs(t) do s = s + #v:gsub('1', 'one') end print(s, #table.concat(t, ','):rep(2):upper())"""
RUST = """fn main() {
    let mut text = String::from("[");
    for i in 0..20000 { text += &format!("{}{{\\"id\\": {i}, \\"name\\": \\"number {i}\\", \\"of\\": [1.5, null, {}]}}", if i > 0 { "," } else { "" }, i * 7); }
    let value = json::parse(&(text + "]")).unwrap();
    let names: usize = value.members().filter_map(|it| it["name"].as_str()).map(str::len).sum();
    println!("{} {}", names, value.pretty(2).len());
}
"""
LEVELS = {
    "gcc": ("-O0", "-O1", "-O2", "-O3", "-O2 -flto"),
    "clang": ("-O0", "-O1", "-O2", "-O3", "-O2 -flto -fuse-ld=lld"),
    "rustc": ("-C opt-level=0", "-C opt-level=1", "-C opt-level=2", "-C opt-level=3", "-C opt-level=2 -C lto=fat"),
    "go": ("-N -l", ""),
}
COMPILERS = {"C": {"gcc": "gcc", "clang": "clang"}, "C++": {"gcc": "g++", "clang": "clang++"}, "Rust": {"rustc": "rustc"}, "Go": {"go": "go"}}
# gcc's prefix, Go's name, and the guest that records.
CPUS = {"arm64": ("aarch64-linux-gnu", "arm64", "arm64-6.12"), "s390x": ("s390x-linux-gnu", "s390x", "s390x-6.12"),
        "riscv64": ("riscv64-linux-gnu", "riscv64", "riscv64-6.12"), "i386": ("i686-linux-gnu", "386", None)}
DEPTHS = ("innermost", "caller 1", "caller 2", "others")
STATES = ("known", "optimized out", "not captured")


def shell(command, folder, **environment):
    done = subprocess.run(["sh", "-c", command], cwd=folder, env={**ENVIRONMENT, **environment}, capture_output=True, text=True, errors="replace",
                          stdin=subprocess.DEVNULL)
    if done.returncode:
        raise NotRun(last_line(done.stderr, command))


def source_of(name):
    program, folder = PROGRAMS[name], FOLDER / name
    if not (folder / "ready").exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        # Crates are packages with sources.
        fetch = ("amd64 apt-get download -qq %s && dpkg -x *.deb . && mv usr/share/cargo/registry/*/src ." if program.language == "Rust" else
                 "source apt-get source -qq --download-only %s && tar -xf $(ls *.orig.tar.* | grep -v asc$) --strip-components=1") % program.package
        fetch = "'%s' %s %s && " % (ROOT / "tests/vm/apt.sh", SUITE, fetch)
        shell((fetch if program.package else "") + (program.prepare or "true"), folder, RUST=RUST)
        (folder / "ready").touch()
    return folder


class Build:
    """One program, built by a compiler at a level, for a CPU (None: this host's)."""

    def __init__(self, name, compiler, level, cpu):
        self.name, self.compiler, self.level, self.cpu = name, compiler, level, cpu
        self.recipe = PROGRAMS[name]
        words = [name, compiler + re.sub("-C opt-level=|-C | ", "", level)] + ([cpu] if cpu else [])
        # tests/vm/run.sh splits names at "=".
        self.program = FOLDER / "-".join(words).replace("=", "")
        self.capture = Path("%s.reel" % self.program)

    def title(self):
        return "%s %s" % (self.compiler, self.level.replace(" -fuse-ld=lld", "").replace("-C ", ""))

    def command(self):
        command, static = COMPILERS[self.recipe.language][self.compiler], ""
        if self.compiler == "go":
            return "go build -gcflags='all=%s' -o %s %s" % (self.level, self.program, self.recipe.sources)
        if self.compiler == "rustc":
            if self.cpu:
                raise NotRun("no Rust for other CPUs")
            rustc = "rustc -g --edition 2018 %s" % self.level
            return "%s -C lto=off --crate-type rlib --crate-name json -o lib%s.rlib src/lib.rs && %s --extern json=lib%s.rlib -o %s main.rs" % (
                rustc, self.program.name, rustc, self.program.name, self.program)
        if self.cpu:
            prefix, _, guest = CPUS[self.cpu]
            static = "-static" if guest else ""
            command = "%s-%s" % (prefix, command) if self.compiler == "gcc" else "%s --target=%s" % (command, prefix)
        return "%s %s -g %s -w -I. -o %s %s %s" % (command, static, self.level, self.program, self.recipe.sources, self.recipe.options)

    def make(self):
        folder = source_of(self.name)
        if not self.program.exists():
            log("building %s" % self.program.name)
            go = {"CGO_ENABLED": "0", "GOARCH": CPUS[self.cpu][1]} if self.cpu else {}
            shell(self.command(), folder, **go)

    def variables(self, data, source):
        text = {"DATA": data, "SOURCE": source, "SQL": SQL, "LUA": LUA}
        return {name: str(value).replace("\n", " ") for name, value in text.items()}

    def record(self, seconds):
        data = FOLDER / "data"
        if not data.exists():
            shell(DATA, FOLDER, DATA=str(data))
        source = os.path.join(output("go", "env", "GOROOT").strip(), "src/net") if self.compiler == "go" else source_of(self.name) / "source"
        script = "end=$(($(date +%%s) + %d)); while [ $(date +%%s) -lt $end ]; do %s; done >/dev/null" % (seconds, self.recipe.run)
        with tempfile.NamedTemporaryFile() as out:
            output("env", "PROGRAM=%s" % self.program, "OUT=%s" % out.name, *["%s=%s" % pair for pair in self.variables(data, source).items()],
                   RECORDER, "-q", "--raw-stacks", "-F", "999", "-o", self.capture, "--", "sh", "-c", script)


def record_in_guest(builds, cpu, seconds):
    """Records programs in one boot: each runs once, for some seconds at most."""
    builds = [build for build in builds if not build.capture.exists()]
    if not builds:
        return
    arch, guest = CPUS[cpu][1:]
    recorder = OBJECTS / ("vm-" + arch) / ("stackreel-record" if arch == "riscv64" else "static/stackreel-record")
    if not recorder.exists():
        shell("make -s O=%s $(tests/vm/cross.sh %s) %s" % (OBJECTS / ("vm-" + arch), arch, recorder), ROOT)
    with tempfile.TemporaryDirectory(prefix="stackreel-values.") as folder:
        folder = Path(folder)
        (folder / "data").write_text("".join("%d\n" % i for i in range(200000)), encoding="ascii")
        go = os.path.join(output("go", "env", "GOROOT").strip(), "src/go/printer/nodes.go")
        (folder / "go.go").write_text(Path(go).read_text(encoding="utf-8"), encoding="utf-8")
        files, lines = ["%s=/data" % (folder / "data"), "%s=/go.go" % (folder / "go.go"), recorder], []
        for build in builds:
            files.append("%s=/programs/%s" % (build.program, build.program.name))
            source = "/go.go" if build.compiler == "go" else "/source-" + build.name
            if build.compiler != "go" and (source_of(build.name) / "source").exists():
                files.append("%s=%s" % (source_of(build.name) / "source", source))
            assign = " ".join("%s='%s'" % (name, value.replace("'", "'\\''")) for name, value in build.variables("/data", source).items())
            run = "stackreel-record -q --raw-stacks -F 1999 -o /out/%s -- timeout %d sh -c '%s'" % (
                build.capture.name, seconds, build.recipe.run)
            lines.append("export %s PROGRAM=/programs/%s OUT=/tmp/out\n%s >/dev/null" % (assign, build.program.name, run))
        if arch == "riscv64":
            files += shell_output("tests/vm/libs.sh %s" % recorder).split()
        (folder / "script").write_text("mkdir -p /tmp\n%s\ntrue\n" % "\n".join(lines), encoding="utf-8")
        log("recording %d programs in %s" % (len(builds), guest))
        shell("STACKREEL_VM_TIMEOUT=3000 tests/vm/run.sh %s %s %s %s" % (guest, folder / "script", folder / "out", " ".join(map(str, dict.fromkeys(files)))), ROOT)
        for build in builds:
            if (folder / "out" / build.capture.name).exists():
                shutil.copy(folder / "out" / build.capture.name, build.capture)


def shell_output(command):
    return subprocess.run(["sh", "-c", command], cwd=ROOT, capture_output=True, text=True, check=True).stdout


def selection(build):
    """Options: the program's own samples, with its file where it is here."""
    options = ["--comm", build.program.name[:15]]
    if not build.cpu or not CPUS[build.cpu][2]:
        return options, []
    return options, ["--no-host-files", "--module", str(build.program)]


def count(build):
    """By depth and state: parameters of the program's samples."""
    counts, (options, files) = collections.Counter(), selection(build)
    for frames in values_oracle.printed(build.capture, *options, *files, fields="args").values():
        for i, (_, _, values) in enumerate(frames):
            for text in values.values():
                counts[DEPTHS[min(i, 3)], text.strip("<>") if text in values_oracle.UNKNOWN else "known"] += 1
    return counts


def compare(build, limit):
    counts, (options, files) = collections.Counter(), selection(build)
    found = values_oracle.printed(build.capture, *options, *files)
    numbers = list(found)
    with tempfile.TemporaryDirectory(prefix="stackreel-values.") as folder:
        differences = values_oracle.compare(str(build.capture), found, numbers[::max(1, len(numbers) // limit)], folder, counts, *files)
    for difference in differences:
        print("DIFFERENT", *difference, flush=True)
    counts["different"] += len(differences)
    return counts


def sum_of(counts, *starts):
    return "{:,}".format(sum(number for label, number in counts.items() if label.startswith(starts)))


def compared_row(title, counts):
    """Frames, equal values, unknown to both, known to one, different."""
    both = [label for label in counts if re.fullmatch("(not listed|not captured|optimized out), gdb: (gone|missing|other)", label)]
    ours = [label for label in counts if label.startswith("known, gdb: ")]
    theirs = [label for label in counts if re.match("(not listed|not captured|optimized out), gdb: known", label)]
    print("| %s | %s |" % (" | ".join(title), " | ".join([sum_of(counts, "frames"), sum_of(counts, "equal")] +
          [sum_of({label: counts[label] for label in some}, "") for some in (both, theirs, ours)] +
          [sum_of(counts, "different, as gdb"), "{:,}".format(counts["different"])])), flush=True)


def cell(counts, depth):
    whole = sum(counts[depth, state] for state in STATES)
    return " / ".join("%.0f" % (100 * counts[depth, state] / whole) for state in STATES) if whole else ""


def row(title, counts):
    print("| %s | %s |" % (" | ".join(title), " | ".join([f"{sum(counts.values()):,}"] + [cell(counts, depth) for depth in DEPTHS])), flush=True)


def builds_of(names, cpu):
    for name in PROGRAMS:
        for compiler in COMPILERS[PROGRAMS[name].language]:
            for level in LEVELS[compiler]:
                build = Build(name, compiler, level, cpu)
                try:
                    if shutil.which(compiler) and (not names or {name, build.program.name} & set(names)):
                        build.make()
                        yield build
                except NotRun as reason:
                    log("%s: %s" % (build.program.name, reason))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gdb", type=int, default=0, metavar="SAMPLES")
    parser.add_argument("--cpu", choices=CPUS)
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("programs", nargs="*", metavar="PROGRAM")
    arguments = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    compared, all_of = collections.Counter(), collections.defaultdict(collections.Counter)
    columns = ("frames", "equal", "unknown to both", "only gdb", "only stackreel", "gdb is wrong", "different") if arguments.gdb else ("parameters", *DEPTHS)
    print("| program | built by | %s |\n|---|---|%s" % (" | ".join(columns), "--:|" * len(columns)))
    builds = builds_of(arguments.programs, arguments.cpu)
    if arguments.cpu and CPUS[arguments.cpu][2]:
        builds = list(builds)
        record_in_guest(builds, arguments.cpu, arguments.seconds)
    for build in builds:
        try:
            if not build.capture.exists():
                build.record(arguments.seconds)
            if arguments.gdb:
                counts = compare(build, arguments.gdb)
                compared_row((build.name, build.title()), counts)
                compared += counts
            else:
                counts = count(build)
                row((build.name, build.title()), counts)
            all_of[build.compiler, build.title()] += counts
        except NotRun as reason:
            log("%s: %s" % (build.program.name, reason))
        except KeyboardInterrupt:
            break
    for (_, title), counts in all_of.items():
        (compared_row if arguments.gdb else row)(("all", title), counts)
    for reason, number in compared.most_common():
        print("%9d  %s" % (number, reason))


if __name__ == "__main__":
    main()
