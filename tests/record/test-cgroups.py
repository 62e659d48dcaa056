#!/usr/bin/env python3
"""The recorder writes the cgroup of each sample's process, as it was at the sample's time: of processes that move, are born in another
cgroup (clone3), have threads in threaded cgroups, end with their cgroup, or see other numbers and paths in namespaces of their own; in v2 and
v1, and in each part of a rotated recording. The second reader reads the captures.
"""
# run.sh: records thorough
# checks: record/processes bpf

import bisect
import collections
import ctypes
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [TESTS, os.path.join(TESTS, "reader")]
import counting
import reel_reader

STACKREEL = os.path.abspath(os.path.join(os.environ.get("O", "build"), "stackreel"))
RECORDER = os.path.abspath(os.path.join(os.environ.get("O", "build"), "stackreel-record"))
ID = "3f4e5d6c7b8a99887766554433221100ffeeddccbbaa00112233445566778899"
ID2 = ID[::-1]
SYS_CLONE3, CLONE_INTO_CGROUP = 435, 1 << 33
count = counting.Count()


# ---- captures --------------------------------------------------------------------------------

class Capture:
    """The samples of a capture: (pid, tid, time, path of the cgroup)."""

    def __init__(self, path):
        self.problems, self.n_events = [], 0
        self.cgroups, self.spaces, self.tids = {}, {}, {}
        self.of_spaces, self.of_threads = collections.defaultdict(list), collections.defaultdict(list)
        samples = []
        with open(path, "rb") as file:
            for _, record in reel_reader.Capture(file, self.problems.append).all_records():
                self.take(record)
                if record["record"] == "SAMPLE":
                    samples.append(record)
        self.samples = [self.place(sample) for sample in samples]
        if self.n_events == 1:
            self.check_labels(path)

    def check_labels(self, path):
        """stackreel has the same for each sample."""
        folded = subprocess.run([STACKREEL, "folded", "-q", "--no-host-files", "--by=cgroup", "--no-suffix", path], stdout=subprocess.PIPE, check=True)
        found, expected = collections.Counter(), collections.Counter(sample[3] for sample in self.samples)
        for line in folded.stdout.decode().splitlines():
            found[line.split(";")[0].split("=")[1]] += int(line.split()[-1])
        count.ok("labels of the same samples", found == expected, "%s, not %s" % (found, expected))

    def take(self, record):
        name = record["record"]
        if name == "CGROUP":
            self.cgroups[record["id"]] = record["path"]
        elif name == "SPACE_CGROUP":
            self.of_spaces[record["space"]].append((record["time"], len(self.of_spaces[record["space"]]), record["cgroup"]))
        elif name == "EVENT":
            self.n_events += 1
        elif name == "SPACE":
            self.spaces[record["id"]] = record["pid"]
        elif name == "THREAD":
            self.of_threads[record["id"]].append((record["time"], 0, record["space"]))
            self.tids[record["id"]] = record["tid"]
        elif name == "THREAD_EXEC":
            self.of_threads[record["thread"]].append((record["time"], 1, record["space"]))

    @staticmethod
    def at(changes, when):
        changes = sorted(changes)
        i = bisect.bisect(changes, (when, 1 << 64))
        return changes[i - 1][2] if i else 0

    def place(self, sample):
        space = self.at(self.of_threads[sample["thread"]], sample["time"])
        cgroup = self.at(self.of_spaces[space], sample["time"])
        return self.spaces.get(space), self.tids.get(sample["thread"]), sample["time"], self.cgroups.get(cgroup)


def blocks_of_samples(folder):
    """The number in the captures being written."""
    n = 0
    for name in os.listdir(folder):
        if name.endswith(".reel"):
            with open(os.path.join(folder, name), "rb") as file:
                # Signature, file tag, type.
                n += sum(header[4:6] == b"\2\0" for header in file.read().split(b"RBLK")[1:])
    return n


def wait_for_samples(folder, recorder, n):
    """On a busy host it takes a while until the recorder samples, and writes."""
    wanted = blocks_of_samples(folder) + n
    for _ in range(300):
        if recorder.poll() is not None or blocks_of_samples(folder) >= wanted:
            break
        time.sleep(0.1)


def record(folder, *options, during=None):
    """The captures of a recording during which something happens."""
    out = os.path.join(folder, "a.reel")
    with subprocess.Popen([RECORDER, "-q", "-F", "299", "--max-stack=4k", "--embed=none", "-o", out, *options], stderr=subprocess.PIPE) as recorder:
        wait_for_samples(folder, recorder, 1)
        if during:
            during()
        # The block being made may be of before.
        wait_for_samples(folder, recorder, 2 if during else 1)
        recorder.send_signal(signal.SIGINT)
        errors = recorder.communicate()[1].decode()
    names = sorted(name for name in os.listdir(folder) if name.endswith(".reel"))
    captures = [Capture(os.path.join(folder, name)) for name in names]
    for name in names:
        os.remove(os.path.join(folder, name))
    count.ok("recording: no problems", captures and not any(capture.problems for capture in captures), errors)
    return captures


# ---- cgroups ---------------------------------------------------------------------------------

class Tree:
    """Cgroups below a new one in a hierarchy."""

    def __init__(self, mount):
        self.name = "stackreel-test-%d" % os.getpid()
        self.mount = mount
        self.made = []
        self.make("")

    def file(self, name, file="cgroup.procs"):
        return os.path.join(self.mount, self.name, name, file)

    def path(self, name):
        """As seen from the host's root: the test may itself be in a namespace, below its root."""
        return ("/%s/%s" % (self.name, name)).rstrip("/")

    def make(self, name):
        os.makedirs(os.path.dirname(self.file(name)), exist_ok=True)
        self.made.append(name)
        return self

    def move(self, name, pid, file="cgroup.procs"):
        with open(self.file(name, file), "w", encoding="ascii") as procs:
            procs.write(str(pid))

    def remove(self):
        for name in reversed(self.made):
            for _ in range(100):
                try:
                    os.rmdir(os.path.dirname(self.file(name)))
                    break
                except FileNotFoundError:
                    break
                except OSError:
                    time.sleep(0.05)


def mounts():
    """v2's mount, and v1's of the controller that the recorder looks at; with the test's own cgroup in the root, or paths would differ."""
    found = {}
    with open("/proc/self/mounts", encoding="utf-8") as file:
        for line in file:
            _, place, kind, options, *_ = line.split()
            if kind == "cgroup2":
                found.setdefault("v2", place)
            elif kind == "cgroup" and "pids" in options.split(","):
                found.setdefault("v1", place)
    return found


class Case:
    """Processes that are busy in cgroups, and what their samples must have."""

    def __init__(self, busy, tree):
        self.busy, self.tree = busy, tree
        self.processes, self.expected, self.started = [], {}, {}

    def start(self, name, *wrapper, arguments=("spin", "1000"), tree=None):
        """Starts in the cgroup."""
        tree = tree or self.tree
        process = subprocess.Popen([*wrapper, self.busy, *arguments], preexec_fn=lambda: tree.move(name, os.getpid()))
        self.processes.append(process)
        # Before its exec it was on the way to the cgroup.
        self.started[process.pid] = time.monotonic_ns()
        self.expected[process.pid] = [(0, 0, tree.path(name))]
        return process.pid

    def move(self, name, pid, tree=None):
        tree = tree or self.tree
        begin = time.monotonic_ns()
        tree.move(name, pid)
        self.expected[pid].append((begin, time.monotonic_ns(), tree.path(name)))

    def check(self, what, captures, pids, expected=None, wants=1):
        """Each sample of the processes has the right path; samples during a move may have either."""
        samples = [sample for capture in captures for sample in capture.samples
                   if sample[0] in pids and sample[2] >= self.started.get(sample[0], 0)]
        wrong = [sample for sample in samples if sample[3] not in self.paths_at(expected or sample[0], sample[2])]
        count.ok(what + ": %d samples have their cgroup" % len(samples), not wrong, "%d: %s" % (len(wrong), wrong[:3]))
        for pid in pids:
            paths = [path for _, _, path in self.expected[expected or pid]]
            missing = [path for path in paths if sum(sample[0] == pid and sample[3] == path for sample in samples) < wants]
            count.ok(what + ": some of each cgroup", not missing, "none of %s: %s" % (missing, collections.Counter(sample[3] for sample in samples if sample[0] == pid)))

    def paths_at(self, pid, when):
        paths = []
        for begin, end, path in self.expected[pid]:
            if when > end:
                paths = [path]
            elif when >= begin:
                paths.append(path)
        return paths

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()
            process.wait()
        self.processes = []


def clone_into(folder, arguments):
    """Starts a process in a cgroup (CLONE_INTO_CGROUP, Linux 5.7): it has never been in another."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    wanted = struct.pack("=11Q", CLONE_INTO_CGROUP, 0, 0, 0, signal.SIGCHLD, 0, 0, 0, 0, 0, fd)
    buffer = ctypes.create_string_buffer(wanted, len(wanted))
    pid = ctypes.CDLL(None, use_errno=True).syscall(SYS_CLONE3, buffer, ctypes.c_size_t(len(wanted)))
    if pid == 0:
        try:
            os.execv(arguments[0], arguments)
        finally:
            os._exit(127)
    os.close(fd)
    return pid


def children(pid):
    """Of a wrapper such as unshare."""
    with open("/proc/%d/task/%d/children" % (pid, pid), encoding="ascii") as file:
        return list(map(int, file.read().split()))


# ---- tests -----------------------------------------------------------------------------------

def test_moves(case, folder, version):
    scope = "docker-%s.scope" % ID
    case.tree.make("a").make("b").make("b/" + scope).make("gone")
    stays, moves = case.start("a"), case.start("a", arguments=("threads", "2", "1000"))
    returns = case.start("b/" + scope)
    wrapper = case.start("a", "unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "--cgroup")
    gone = case.start("gone")
    late = []

    def during():
        case.move("b/" + scope, moves)
        case.move("a", returns)
        # A process and its cgroup end.
        for process in case.processes:
            if process.pid == gone:
                process.kill()
                process.wait()
        os.rmdir(os.path.dirname(case.tree.file("gone")))
        late.append(case.start("b"))
        time.sleep(1)
        case.move("b", returns)

    inside = []
    for _ in range(100):
        inside = children(wrapper)
        if inside:
            break
        time.sleep(0.05)
    captures = record(folder, "-a", during=during)
    case.check(version + ", processes that move", captures, [stays, moves, returns])
    case.check(version + ", a process that starts", captures, late)
    case.check(version + ", a cgroup that is removed", captures, [gone])
    case.check(version + ", in namespaces", captures, inside, expected=wrapper)
    records = sum(len(spans) for capture in captures for spans in capture.of_spaces.values())
    samples = sum(len(capture.samples) for capture in captures)
    count.ok("%s: few records: %d for %d samples" % (version, records, samples), records < samples / 2 + 100)


def test_rotation(case, folder):
    case.tree.make("r1").make("r2")
    stays, moves = case.start("r1"), case.start("r1")
    captures = record(folder, "-a", "--rotate=1s", during=lambda: case.move("r2", moves))
    count.ok("several parts", len(captures) > 1)
    case.check("rotated", captures, [stays, moves])
    parts = sum(any(sample[0] == stays for sample in capture.samples) for capture in captures)
    count.ok("each part has the paths", parts == sum(case.tree.path("r1") in capture.cgroups.values() for capture in captures))


def test_targets(case, folder):
    """Other ways to say whom to record, and a recorder in namespaces of its own."""
    case.tree.make("t")
    pid = case.start("t")
    case.check("-p", record(folder, "-p", str(pid)), [pid])
    if case.tree.mount == mounts().get("v2"):
        unit = "stackreel-test-%d.service" % os.getpid()
        case.tree.make(unit).make("docker-%s.scope" % ID2)
        inside, other = case.start(unit), case.start("docker-%s.scope" % ID2)
        for name, wanted in (unit, inside), (ID2, other), (ID2[:8], other), (case.tree.path(unit), inside):
            captures = record(folder, "-G", name)
            case.check("-G " + name[:8], captures, [wanted])
            count.ok("... and no other process", {sample[0] for capture in captures for sample in capture.samples} == {wanted})
        case.tree.make("b/" + unit)
        done = subprocess.run([RECORDER, "-G", unit, "-o", os.path.join(folder, "none"), "--duration=1"], stderr=subprocess.PIPE)
        count.ok("-G: two units of a name", done.returncode == 1 and b"2 cgroups match: /" in done.stderr, done.stderr.decode())
        for process in case.processes:
            if process.pid in (inside, other):
                process.kill()
    case.check("several rings", record(folder, "-a", "--rings=2"), [pid])
    case.check("--off-cpu", record(folder, "-a", "--off-cpu=199"), [pid])


def test_clone(case, folder):
    case.tree.make("born")
    pids = []

    def during():
        pids.append(clone_into(os.path.dirname(case.tree.file("born")), [case.busy, "spin", "1000"]))

    captures = record(folder, "-a", during=during)
    case.expected[pids[0]] = [(0, 0, case.tree.path("born"))]
    case.check("clone3", captures, pids)
    os.kill(pids[0], signal.SIGKILL)
    os.waitpid(pids[0], 0)


def test_threaded(case, folder):
    """The process is where its threads' cgroups meet."""
    case.tree.make("dom").make("dom/one").make("dom/two")
    for name in "one", "two":
        with open(case.tree.file("dom/" + name, "cgroup.type"), "w", encoding="ascii") as file:
            file.write("threaded")
    pid = case.start("dom", arguments=("threads", "2", "1000"))
    time.sleep(0.2)
    for tid, name in zip(map(int, os.listdir("/proc/%d/task" % pid)), ("one", "two", "one")):
        case.tree.move("dom/" + name, tid, "cgroup.threads")
    case.check("threaded cgroups", record(folder, "-a"), [pid])


def main():
    if os.getuid() or not os.path.exists(RECORDER):
        count.skip("needs root and " + RECORDER)
        return count.finish()
    folder = tempfile.mkdtemp()
    trees = []
    try:
        busy = os.path.join(folder, "busy")
        subprocess.run([os.environ.get("CC", "cc"), "-O2", "-pthread", "-o", busy, "tests/programs/busy.c"], check=True)
        probe = subprocess.run([RECORDER, "-q", "-o", os.path.join(folder, "probe"), "--", "true"], stderr=subprocess.PIPE)
        if not os.path.exists(os.path.join(folder, "probe")):
            count.skip("recording: " + probe.stderr.decode().split("\n", maxsplit=1)[0])
            return count.finish()
        found = mounts()
        for version in "v2", "v1":
            try:
                tree = Tree(found[version])
                trees.append(tree)
                with Case(busy, tree) as case:
                    test_moves(case, folder, version)
            except (KeyError, OSError) as why:
                count.skip("cgroup %s: cannot make cgroups here: %r" % (version, why))
        if not trees:
            return count.finish()
        tests = [test_rotation, test_targets]
        if trees[0].mount == found.get("v2"):
            tests += [test_clone, test_threaded]
        else:
            count.skip("clone3, threads: cannot make cgroups of v2 here")
        for test in tests:
            with Case(busy, trees[0]) as case:
                test(case, folder)
    finally:
        for tree in trees:
            tree.remove()
        shutil.rmtree(folder)
    return count.finish()


sys.exit(main())
