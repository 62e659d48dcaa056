#!/usr/bin/env python3
"""Compares the recordings of tests/vm/fentry.sh with the output of the kernel's own tracers from the same time.

    fentry_check.py STACKREEL DIR

prints a line for each case, "ok NAME" or "FAILED NAME: why".
"""

import collections
import json
import pathlib
import re
import subprocess
import sys

# As called by testdata/programs/reads.c.
USER = ["innermost", "middle", "outermost", "main"]
ROUNDS = 40
# The message expected from a recording that is impossible.
REFUSALS = [
    (r"no_such_function", r"no function no_such_function"),
    (r"nosuchmodule", r"no function vfs_read in a loaded module nosuchmodule"),
    (r"fentry:$", r"fentry:FUNCTION"),
    (r"fexit:a:b:c$", r"fentry:FUNCTION"),
    (r"fentry:(do_syscall_64|el0_svc)$", r"cannot be traced|does not describe"),
    (r"-e fentry:[\w.]+$", r"ambiguous function|does not describe"),
    (r"(-e fentry:ksys_read ?){9}$", r"number of events: 9"),
]


def require(condition, why):
    if not condition:
        raise AssertionError(why)


class Recording:
    def __init__(self, tool, directory, name):
        self.tool = [tool]
        self.directory = directory
        self.path = directory / (name + ".reel")
        lines = [json.loads(line) for line in self.run("dump", "--json").splitlines()]
        names = {r["id"]: r["name"] for r in lines if r["record"] == "EVENT"}
        self.samples = collections.defaultdict(list)
        traces = self.traces()
        samples = [r for r in lines if r["record"] == "SAMPLE"]
        require(len(traces) == len(samples), "%d traces of %d samples" % (len(traces), len(samples)))
        for sample, trace in zip(samples, traces):
            sample["kernel"], sample["user"], sample["stop"] = trace
            self.samples[names[sample["event"]]].append(sample)

    def run(self, command, *options):
        return subprocess.run(
            self.tool + [command, *options, str(self.path)], check=True, text=True,
            stdout=subprocess.PIPE).stdout

    def traces(self):
        """(kernel functions, user functions, reason for the end) of each sample."""
        traces = []
        for block in self.run("script", "--no-host-files", "--symfs",
                              str(self.directory)).split("\n\n"):
            kernel, user, stop = [], [], None
            if not block.strip():
                continue
            for line in block.splitlines()[1:]:
                if line.startswith("# stop: "):
                    stop = line[8:]
                    continue
                name, module = re.fullmatch(r"\s*[0-9a-f]+ (.+) \((.*)\)", line).groups()
                name = re.sub(r"\+0x[0-9a-f]+$", "", name)
                (kernel if module.startswith("[") else user).append(name)
            traces.append((kernel, user, stop))
        return traces


def number(value):
    return int(value, 16) if isinstance(value, str) else value


def frame(sample):
    require(sample["kernel_frame"], "a sample has no kernel frame")
    return {key: number(value) for key, value in sample["kernel_frame"].items()}


def check_users(samples):
    for sample in samples:
        require(sample["stop"] is None, "a trace stopped: %s" % sample["stop"])
        at = sample["user"].index("innermost") if "innermost" in sample["user"] else -1
        require(sample["user"][at:at + len(USER)] == USER and at >= 0,
                "user functions are %s" % sample["user"])


def of_program(samples):
    """The samples of main's calls, not of the C library's start."""
    return [s for s in samples if "main" in s["user"] and "innermost" in s["user"]]


def check_registers(tool, directory):
    """The registers at each call: the kprobe's, taken by an exception at the function's entry."""
    hits = [{key: int(value, 16) for key, value in re.findall(r"(\w+)=0x([0-9a-f]+)", line)}
            for line in open(directory / "kprobe.txt")]
    samples = Recording(tool, directory, "both").samples
    for event in "fentry:ksys_read", "fexit:ksys_read":
        require(len(hits) >= ROUNDS, "%d hits of the kprobe" % len(hits))
        # Before its exec the thread is still the recorder's, which waits in a read for its start.
        before = len(hits) - len(samples[event])
        require(before in (0, 1), "%d samples of %s, %d hits of the kprobe" % (
            len(samples[event]), event, len(hits)))
        for sample, hit in zip(samples[event], hits[before:]):
            ours = frame(sample)
            chain = [number(address) for address in sample["kernel_chain"]]
            pc = ours.pop("pc")
            require(ours == hit, "%s: %s, by the kprobe %s" % (event, ours, hit))
            require(chain[:2] == [pc, ours["return_address"]], "%s: chain %s" % (event, chain[:2]))
    for entry, leave in zip(samples["fentry:ksys_read"], samples["fexit:ksys_read"]):
        require(entry["time"] < leave["time"], "left before it was entered")
        require(entry["kernel_chain"] == leave["kernel_chain"], "chains differ")
        require(entry["pc"] == leave["pc"] and entry["registers"] == leave["registers"],
                "user registers differ")


def check_chains(tool, directory):
    """The kernel's functions, as listed by its function tracer."""
    traced = []
    for line in open(directory / "ftrace.txt"):
        if "<stack trace>" in line:
            traced.append([])
        # The tracer's own trampoline comes first on x86-64.
        elif " => " in line and traced and "[FTRACE TRAMPOLINE]" not in line:
            traced[-1].append(line.split("=> ")[1].strip())
    chains = {tuple(chain) for chain in traced if chain and chain[0] == "ksys_read"}
    require(len(chains) == 1 and len(traced) >= 3, "the function tracer's chains: %s" % traced)
    chain = list(chains.pop())
    samples = Recording(tool, directory, "both").samples
    for event in samples:
        ours = of_program(samples[event])
        require(len(ours) == ROUNDS, "%s: %d samples of main's calls" % (event, len(ours)))
        for sample in ours:
            require(sample["kernel"] == chain, "%s: %s, by the function tracer %s" % (
                event, sample["kernel"], chain))
        check_users(ours)


def check_period(tool, directory):
    samples = Recording(tool, directory, "period").samples["fentry:vfs_read"]
    # Each CPU counts by itself.
    require(2 <= len(samples) <= 6, "%d samples of %d calls" % (len(samples), ROUNDS))
    for sample in samples:
        require(sample["weight"] == 8, "weight %d" % sample["weight"])


def calls_of_vfs_read(samples):
    require("fexit:vfs_read" in samples, "events are %s" % list(samples))
    ours = of_program(samples["fexit:vfs_read"])
    require(len(ours) == 20, "%d samples of main's calls" % len(ours))
    for sample in ours:
        require(sample["kernel"][:2] == ["vfs_read", "ksys_read"], sample["kernel"])
    return ours


def check_mixed(tool, directory):
    samples = Recording(tool, directory, "mixed").samples
    ours = calls_of_vfs_read(samples)
    for sample in ours:
        require(sample["frame_chain"] and sample["frame_chain"][0] == sample["pc"],
                "no chain by frame pointers")
    check_users(ours)


def check_faults(tool, directory):
    samples = Recording(tool, directory, "faults").samples
    require("page-faults" in samples, "events are %s" % list(samples))
    check_users(calls_of_vfs_read(samples))
    for sample in samples["page-faults"]:
        require(sample["kernel_frame"] is None, "a page fault with a kernel frame")


def check_module(tool, directory):
    samples = Recording(tool, directory, "mixed").samples["fentry:tun:tun_chr_open"]
    require(len(samples) == 1, "%d samples" % len(samples))
    require(samples[0]["kernel"][0] == "tun_chr_open", samples[0]["kernel"])
    require("main" in samples[0]["user"], samples[0]["user"])


def check_refusals(_, directory):
    lines = open(directory / "refused.txt").read().splitlines()
    require(len(lines) == len(REFUSALS), "not a line each: %s" % lines)
    for line, (options, message) in zip(lines, REFUSALS):
        asked, said = line.split(": ", 1)
        require(re.search(options, asked), "%s for %s" % (asked, options))
        require(re.search(message, said) and "stackreel-record: " in said, line)


def main():
    tool, directory = sys.argv[1], pathlib.Path(sys.argv[2])
    for name, check in sorted(globals().items()):
        if not name.startswith("check_") or name == "check_users":
            continue
        name = name[6:].replace("_", " ")
        try:
            check(tool, directory)
            print("ok %s" % name)
        except (AssertionError, KeyError, IndexError, OSError) as error:
            print("FAILED %s: %s" % (name, error))


main()
