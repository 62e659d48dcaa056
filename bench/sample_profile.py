#!/usr/bin/env python3
"""The gain from profiles made from captures: Debian's programs built by clang, recorded, and built again with -fprofile-sample-use.

    bench/sample_profile.py FOLDER [ROUNDS [PROGRAM...]]

FOLDER is where `apt-get source lua5.4 sqlite3 zstd lz4` was run; the builds are written there, to `built/`, and reused by the next run.
Each round (31 by default) runs all builds of a program, in turn, in one order and then in the other, and counts their CPU time in user
mode, relative to the plain build of the same round: median and quartiles. For comparison, the same with -fprofile-instr-use, for which an
instrumented build runs the same work: it counts exactly, and is many times slower.

Needs clang with its profiling runtime, llvm-profdata, tclsh (for sqlite3's own make), and the requirements of stackreel-record.
"""

import glob
import os
import resource
import statistics
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.join(ROOT, os.environ.get("O", "build"))
FLAGS = ["-O2", "-gline-tables-only", "-fdebug-info-for-profiling"]

LUA = """
local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end
local function sieve(n)
  local t, c = {}, 0
  for i = 2, n do t[i] = true end
  for i = 2, n do if t[i] then c = c + 1 for j = i * i, n, i do t[j] = false end end end
  return c
end
local function words(n)
  local t, c, k = {}, {}, 0
  for i = 1, n do t[#t + 1] = "w" .. (i * 7919 % 10007) end
  table.sort(t)
  for w in table.concat(t, " "):gmatch("%w+") do c[w] = (c[w] or 0) + 1 end
  for _ in pairs(c) do k = k + 1 end
  return k
end
local function objects(n)
  local mt, s = { __index = { get = function(self) return self.v end } }, 0
  for i = 1, n do s = s + setmetatable({ v = i }, mt):get() end
  return s
end
for i = 1, 3 do print(fib(27), sieve(300000), words(40000), objects(400000)) end
"""

SQL = """
create table t(a integer primary key, b int, c text);
with recursive n(i) as (select 1 union all select i+1 from n where i<150000)
insert into t select i, (i*7919)%10007, 'text '||((i*104729)%99991) from n;
create index tb on t(b);
create index tc on t(c);
select count(*), sum(length(c)) from t where b between 100 and 4000;
select b%100 g, count(*), max(c), avg(a) from t group by g order by 2 desc, g limit 5;
select count(*) from t x join t y on x.b=y.a where y.c like '%77%';
select sum(a) from (select a from t order by c limit 60000);
update t set c=replace(c,'1','one') where b%3=0;
delete from t where b%7=2;
select count(*), sum(length(c)) from t;
select count(distinct substr(c,1,8)) from t;
"""


class Program:
    def __init__(self, folder, name, source, includes, files, flags, arguments, stdin=None):
        self.folder, self.name, self.arguments, self.stdin = folder, name, arguments, stdin
        found = glob.glob(os.path.join(folder, source))
        if not found:
            sys.exit("%s: there is no %s; run `apt-get source lua5.4 sqlite3 zstd lz4` there" % (folder, source))
        self.sources = [path for pattern in files for path in sorted(glob.glob(os.path.join(found[0], pattern)))]
        self.flags = ["-I" + os.path.join(found[0], include) for include in includes] + flags

    def build(self, kind, *flags):
        path = os.path.join(self.folder, "built", "%s-%s" % (self.name, kind))
        if not os.path.exists(path):
            subprocess.run(["clang", *FLAGS, *flags, *self.flags, "-w", "-o", path, *self.sources, "-lm", "-ldl"], check=True)
        return path

    def run(self, path, before=(), **environment):
        with open(self.stdin or os.devnull, "rb") as stdin:
            subprocess.run([*before, path, *self.arguments], stdin=stdin, stdout=subprocess.DEVNULL, check=True, env=dict(os.environ, **environment))

    def profile(self, plain):
        """The profile of ten recorded runs."""
        path = os.path.join(self.folder, "built", self.name + ".prof")
        captures = [os.path.join(self.folder, "built", "%s-%d.reel" % (self.name, i)) for i in range(10)]
        if os.path.exists(path):
            return path
        for capture in captures:
            self.run(plain, before=[os.path.join(BUILD, "stackreel-record"), "-q", "-F", "3999", "-o", capture, "--"])
        subprocess.run([os.path.join(BUILD, "stackreel"), "export", "--format=llvm-sample-profile", *captures, "-o", path], check=True)
        return path

    def counts(self):
        """The counts of the instrumented build, in the same work."""
        path = os.path.join(self.folder, "built", self.name + ".profdata")
        if not os.path.exists(path):
            self.run(self.build("instrumented", "-fprofile-instr-generate"), LLVM_PROFILE_FILE=path + ".raw")
            subprocess.run(["llvm-profdata", "merge", "-o", path, path + ".raw"], check=True)
        return path

    def measure(self, path):
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        self.run(path)
        return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before

    def compare(self, rounds):
        plain = self.build("plain")
        builds = [plain, self.build("sampled", "-fprofile-sample-use=" + self.profile(plain)),
                  self.build("counted", "-fprofile-instr-use=" + self.counts())]
        times = {path: [] for path in builds}
        for i in range(rounds):
            for path in builds if i % 2 else builds[::-1]:
                times[path].append(self.measure(path))
        cells = ["%.3f s" % statistics.median(times[plain])]
        for path in builds[1:]:
            low, middle, high = statistics.quantiles([a / b for a, b in zip(times[path], times[plain])], n=4)
            cells.append("%.3f (%.3f to %.3f)" % (middle, low, high))
        print("| %s | %s |" % (self.name, " | ".join(cells)), flush=True)


def prepare(folder):
    """The programs' input."""
    built = os.path.join(folder, "built")
    os.makedirs(built, exist_ok=True)
    for name, text in (("work.lua", LUA), ("work.sql", SQL), ("lua5.4-deb-multiarch.h", '#define DEB_HOST_MULTIARCH "none"\n')):
        with open(os.path.join(built, name), "w", encoding="ascii") as file:
            file.write(text)
    sqlite = glob.glob(os.path.join(folder, "sqlite3-*/"))
    if sqlite and not os.path.exists(os.path.join(sqlite[0], "sqlite3.c")):
        subprocess.run("./configure --disable-tcl >/dev/null && make -s sqlite3.c shell.c >/dev/null", shell=True, cwd=sqlite[0], check=True)
    data = os.path.join(built, "data")
    if sqlite and not os.path.exists(data):
        with open(data, "wb") as file:
            for path in [os.path.join(sqlite[0], "sqlite3.c"), os.path.join(sqlite[0], "shell.c"), os.path.realpath("/usr/bin/git"),
                         os.path.realpath(sys.executable), *sorted(glob.glob("/usr/lib/*/libc.so.6"))]:
                if os.path.exists(path):
                    with open(path, "rb") as part:
                        file.write(part.read(8 << 20))
    return built, data


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    folder, rounds = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 31
    built, data = prepare(folder)
    programs = [
        Program(folder, "lua", "lua5.4-*/src", [], ["l[!u]*.c", "lua.c", "lundump.c", "lutf8lib.c"],
                ["-I" + built, "-DLUA_USE_LINUX", "-Wl,-E"], [os.path.join(built, "work.lua")]),
        Program(folder, "sqlite3", "sqlite3-*/", ["."], ["sqlite3.c", "shell.c"], ["-DSQLITE_THREADSAFE=0"], [":memory:"], os.path.join(built, "work.sql")),
        Program(folder, "zstd", "libzstd-*/", ["lib", "lib/common", "programs"],
                ["lib/common/*.c", "lib/compress/*.c", "lib/decompress/*.c", "lib/dictBuilder/*.c", "programs/*.c"],
                ["-DZSTD_LEGACY_SUPPORT=0", "-DZSTD_DISABLE_ASM", "-DXXH_NAMESPACE=ZSTD_"], ["-q", "-6", "-T1", "-c", data]),
        Program(folder, "lz4", "lz4-*/", ["lib", "programs"], ["lib/*.c", "programs/*.c"], ["-DXXH_NAMESPACE=LZ4_"], ["-q", "-9", "-c", data]),
    ]
    print("| program | plain -O2 | with stackreel's profile | with exact counts |\n|---|---|---|---|")
    for program in programs:
        if not sys.argv[3:] or program.name in sys.argv[3:]:
            program.compare(rounds)


main()
