# SPDX-License-Identifier: Apache-2.0
"""This host: paths, running programs and their cost, and the versions that are compared."""

import os
import re
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from collections import namedtuple
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OBJECTS = (ROOT / os.environ.get("O", "build")).resolve()
CACHE = Path(os.environ.get("STACKREEL_CACHE") or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "stackreel") / "bench"
STACKREEL, RECORDER, MEASURE = OBJECTS / "stackreel", OBJECTS / "stackreel-record", OBJECTS / "bench/measure"
# No queries to debuginfod servers, and a single language.
ENVIRONMENT = {**{key: value for key, value in os.environ.items() if key != "DEBUGINFOD_URLS"}, "LC_ALL": "C.UTF-8", "DEBUGINFOD_URLS": ""}

Taken = namedtuple("Taken", "wall user system memory")  # seconds, seconds, seconds, bytes


class NotRun(Exception):
    """The reason why something cannot be measured here."""


def log(text):
    print("[%s] %s" % (time.strftime("%H:%M:%S"), text), file=sys.stderr, flush=True)


def last_line(text, otherwise):
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].strip()[:150] if lines else otherwise


def output(*command, timeout=600):
    """A command's output."""
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True, errors="replace", env=ENVIRONMENT, timeout=timeout)
    if result.returncode:
        raise NotRun(last_line(result.stderr, "%s: status %d" % (command[0], result.returncode)))
    return result.stdout


def measure(command, timeout=600, out=subprocess.DEVNULL):
    """Runs a command to its end, and returns its cost."""
    with tempfile.NamedTemporaryFile("r") as file, tempfile.TemporaryFile("w+") as errors:
        words = [str(MEASURE), file.name] + [str(word) for word in command]
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=out, stderr=errors, env=ENVIRONMENT, start_new_session=True)
        try:
            status = process.wait(timeout)
        except BaseException as error:
            os.killpg(process.pid, 9)
            process.wait()
            if isinstance(error, subprocess.TimeoutExpired):
                raise NotRun("more than %d s" % timeout) from None
            raise
        errors.seek(0)
        if status:
            raise NotRun(last_line(errors.read(), "status %d" % status))
        wall, user, system, memory = (float(word) for word in file.read().split())
        return Taken(wall, user, system, memory * 1024)


def alternate(commands, rounds, slow=15):
    """Runs the commands in turn. Returns the medians of the costs for each name, or a NotRun. After a command that took `slow`
    seconds, only one more round is run."""
    taken = {name: [] for name in commands}
    failed = {}
    for turn in range(rounds):
        for name, command in commands.items():
            if name in failed or (turn > 1 and max(t.wall for t in taken[name]) > slow):
                continue
            try:
                taken[name].append(measure(command))
            except NotRun as error:
                failed[name] = error
    return {name: failed.get(name) or Taken(*(statistics.median(values) for values in zip(*some))) for name, some in taken.items()}


def peer(name):
    """The words of a peer's command."""
    result = subprocess.run([str(ROOT / "bench/peers.sh"), name], capture_output=True, text=True)
    if result.returncode or not result.stdout.strip():
        raise NotRun(last_line(result.stderr, "cannot be had"))
    return shlex.split(result.stdout)


def built(*paths):
    for path in paths:
        if not os.access(path, os.X_OK):
            raise NotRun("%s is not built" % path.name)


def commit():
    """The version being measured, marked if it has uncommitted changes."""
    try:
        name = output("git", "-C", ROOT, "rev-parse", "--short=12", "HEAD").strip()
        changed = output("git", "-C", ROOT, "status", "--porcelain", "--", ".", ":!bench/RESULTS.md", ":!bench/growth.svg", ":!bench/GROWTH.md", ":!README.md").strip()
    except (NotRun, OSError):
        return "unknown"
    return name + ("+changes" if changed else "")


def versions():
    """(what, version) of everything that matters; missing parts are marked."""
    cpu = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text(errors="replace"))
    memory = re.search(r"MemTotal:\s*(\d+)", Path("/proc/meminfo").read_text())
    release = os.uname()
    found = [
        ("CPU", "%d x %s, %.1f GB" % (os.cpu_count(), cpu.group(1) if cpu else release.machine, int(memory.group(1)) / 1e6)),
        ("kernel", "%s %s" % (release.sysname, release.release)),
        ("stackreel", commit()),
    ]

    def add(what, *command):
        try:
            found.append((what, output(*command, timeout=60).splitlines()[0].strip()))
        except (NotRun, OSError, IndexError) as error:
            found.append((what, "not here: %s" % error))

    for compiler in ("gcc", "g++", "clang"):
        add(compiler, compiler, "--version")
    add("libdw", "pkg-config", "--modversion", "libdw")
    add("libunwind", "pkg-config", "--modversion", "libunwind-generic")
    for name, option in (("perf", "version"), ("perf-new", "version"), ("perfparser", "--version"), ("samply", "--version"),
                         ("llvm-symbolizer", "--version")):
        try:
            add(name, *peer(name), option)
        except NotRun as error:
            found.append((name, "not here: %s" % error))
    return found
