#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares stackreel's answers about addresses with those of other tools.

    annotate_check.py code TOOL CAPTURE CPU [OPTION...]        each sampled function's instructions with objdump's; their samples with report's
    annotate_check.py lines TOOL CAPTURE ADDR2LINE [OPTION...] report --by line, and --by source, with addr2line's lines of the sampled addresses
    annotate_check.py perf TOOL CAPTURE PERF.DATA [OPTION...]  samples of each address with perf annotate's shares; PERF_OPTIONS gives perf's options

Prints a summary, or the differences, and fails then.
"""
import collections
import json
import os
import re
import subprocess
import sys

PREFIX = {"x86_64": "", "i386": "", "aarch64": "aarch64-linux-gnu-", "riscv64": "riscv64-linux-gnu-", "s390x": "s390x-linux-gnu-"}
# The same instruction, as named by capstone 4 or 5 and binutils.
ALIASES = {"i386": {"fcompi": "fcomip"}, "x86_64": {"movd": "movq", "retq": "repz"}, "aarch64": {"movz": "mov", "movn": "mov", "orr": "mov", "ins": "mov", "b.lo": "b.cc", "b.hs": "b.cs"}, "s390x": {"risbg": "risbgz"}}


def output(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout.decode(errors="surrogateescape")


def rows(tool, capture, by, *options):
    """The table's rows: (own samples, FUNCTION, last column) of each."""
    found = []
    for line in output(tool, "report", "-q", "--names=full", "--percent-limit", "0", "--sort", "symbol", "--by", by, *options, capture).splitlines():
        columns = re.match(r" *[\d.]+ % +([\d.]+ \w+) +[\d.]+ % +([\d.]+ \w+) +[\d,]+  (.*?)(?:  +(\S+))?$", line)
        if columns:
            found.append((columns.group(1), columns.group(3).strip(), columns.group(4) or ""))
    return found


def functions(tool, capture, *options):
    """The output of annotate for each function with own samples."""
    seen = {}
    for own, _, place in rows(tool, capture, "address", *options):
        module, _, number = place.rpartition("+0x")
        if own == "0 ns" or any(os.path.basename(other["module"]) == module and other["begin"] <= int(number, 16) < other["end"] for other in seen.values()):
            continue
        listing = json.loads(output(tool, "annotate", "-q", "--json", *options, place, capture))
        seen[listing["module"], listing["begin"]] = listing
    return list(seen.values())


def nanoseconds(text):
    number, unit = text.split()
    return float(number) * {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}[unit]


def is_same(cpu, ours, theirs):
    """Mnemonics: in AT&T syntax, binutils omits the size suffix where a register shows it."""
    if ours == theirs or ALIASES.get(cpu, {}).get(ours) == theirs:
        return True
    return cpu in ("x86_64", "i386") and (ours in (theirs + "b", theirs + "w", theirs + "l", theirs + "q") or ours.startswith("nop"))


def check_code(tool, capture, cpu, *options):
    # Without inlined functions, a function's own samples in the report are the sum over its instructions.
    own = collections.Counter()
    for weight, name, module in rows(tool, capture, "function", "--no-inline", *options):
        own[name, module] += nanoseconds(weight)
    summed, compared, unknown, n, bad = collections.Counter(), 0, 0, 0, 0
    for listing in functions(tool, capture, *options):
        n += 1
        total = sum(row["self"]["weight"] for row in listing["instructions"])
        assert total == listing["self"]["weight"], (listing["function"], total, listing["self"])
        summed[listing["function"], os.path.basename(listing["module"])] += total
        if listing["code"] in ("", "capture"):
            continue
        text = output(PREFIX[cpu] + "objdump", "-dwz", "--start-address=%d" % listing["begin"], "--stop-address=%d" % listing["end"], listing["code"])
        theirs = {int(address, 16): (len(code.replace(" ", "")) // 2, (words.split() or [""])[0])
                  for address, code, words in re.findall(r"^ *([0-9a-f]+):\t([0-9a-f ]+?) *(?:\t(.*))?$", text, re.MULTILINE)}
        ours = {row["address"]: (row["size"], (row["text"].split() or [""])[0]) for row in listing["instructions"]}
        for address in sorted(set(ours) | set(theirs)):
            size, word = ours.get(address, (0, ""))
            if size != theirs.get(address, (0, ""))[0] or (word and not is_same(cpu, word, theirs[address][1])):
                print("%s %#x: ours %s, objdump's %s" % (listing["function"], address, ours.get(address), theirs.get(address)))
                bad += 1
            compared += 1
            unknown += not word
    for key, weight in summed.items():
        # Report's numbers are rounded to three or more digits.
        if abs(weight - own[key]) > own[key] / 150:
            print("%s: annotate has %d ns, report %d" % (key, weight, own[key]))
            bad += 1
    print("%d functions, %d instructions, %d without text" % (n, compared, unknown))
    return n and not bad


def check_lines(tool, capture, addr2line, *options):
    theirs, files = collections.Counter(), collections.Counter()
    for listing in functions(tool, capture, *options):
        for row in listing["instructions"]:
            if row["self"]["samples"] and listing["code"] != "capture":
                place = output(addr2line, "-e", listing["code"], "%#x" % row["address"]).split()[0].split(":")
                theirs["%s:%s" % (os.path.basename(place[0]), place[1])] += row["self"]["weight"]
                files[os.path.basename(place[0])] += row["self"]["weight"]
    ours, our_files = collections.Counter(), collections.Counter()
    for weight, line, _ in rows(tool, capture, "line", *options):
        ours[line] += nanoseconds(weight)
    for weight, path, _ in rows(tool, capture, "source", *options):
        our_files[os.path.basename(path)] += nanoseconds(weight)
    bad = 0
    for mine, other in (ours, theirs), (our_files, files):
        # Without a line, ours are functions, and addr2line's have question marks.
        mine = +collections.Counter({name: weight for name, weight in mine.items() if "[no line]" not in name and name != "[no source]"})
        other = +collections.Counter({name: weight for name, weight in other.items() if not name.startswith("?") and not name.endswith(":0")})
        for name in set(mine) | set(other):
            if abs(mine[name] - other[name]) > other[name] / 150:
                print("%s: ours %d ns, addr2line's %d" % (name, mine[name], other[name]))
                bad += 1
    print("%d lines, %d files" % (len(theirs), len(files)))
    return theirs and not bad


def check_perf(tool, capture, data, *options):
    n = bad = 0
    for listing in functions(tool, capture, *options):
        if "[fde]" in listing["function"] or listing["code"] in ("", "capture"):
            continue
        done = subprocess.run(["perf", "annotate", "-i", data, *os.environ.get("PERF_OPTIONS", "").split(), "--stdio", "--percent-type", "local-period",
                               "-s", listing["function"]], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        theirs = {int(address, 16): share for share, address in re.findall(r"^ *([\d.]+) : +([0-9a-f]+):", done.stdout.decode(errors="replace"), re.MULTILINE)}
        # perf does not find some of them by name: a clone's, for example.
        if listing["begin"] not in theirs:
            print("not by perf: " + listing["function"])
            continue
        for row in listing["instructions"]:
            share = "%.2f" % (100 * row["self"]["weight"] / listing["self"]["weight"])
            if abs(float(share) - float(theirs.get(row["address"], -1))) > 0.011:
                print("%s %#x: ours %s, perf's %s" % (listing["function"], row["address"], share, theirs.get(row["address"])))
                bad += 1
            n += 1
    print("%d instructions" % n)
    return n and not bad


if __name__ == "__main__":
    checks = {"code": check_code, "lines": check_lines, "perf": check_perf}
    sys.exit(0 if checks[sys.argv[1]](*sys.argv[2:]) else 1)
