#!/usr/bin/env python3
"""Compares the registers of samples with rules printed by the sampled program.

    stackreel dump --json --bytes FILE | magic_check.py RULES MINIMUM

A rule is a line; N=V requires the value V in register N (a DWARF number), N=A..B/S one of A, A + S, … B, N=? that it
is marked as unknown:

    rule BEGIN END WHERES N=V...      samples with BEGIN <= pc < END and `where` one of WHERES
    count BEGIN STEP SIZE N=V...      from BEGIN on, instructions of STEP bytes each add 1 to one
                                      register, in this order, starting at V; SIZE bits. This
                                      includes sp, so the sample may not have a stack byte
    saved BEGIN END RETURN N=V...     the same as `rule`, for functions that may have saved the
                                      register between sp and their return address
    nostack                           matching samples have no byte of any stack

Prints how many samples matched, by `where`; exit status 1 if any was wrong, or fewer than MINIMUM matched.
"""

import collections
import json
import sys

WHERE = ["unknown", "user", "system call", "interrupt or fault", "kernel thread"]


def fits(word, value):
    if word == "?":
        return value is None
    if value is None:
        return False
    if ".." in word:
        first, rest = word.split("..")
        last, step = rest.split("/")
        return int(first) <= value <= int(last) and (value - int(first)) % int(step) == 0
    return value == int(word)


def wrong_registers(registers, expected):
    for number, word in expected:
        if not fits(word, registers.get(number)):
            yield f"register {number} is {registers.get(number)}, not {word}"


def wrong_count(rule, registers, pc):
    begin, step, size = (int(f) for f in rule["fields"])
    done, odd = divmod(pc - begin, step)
    if odd:
        yield f"pc {pc:#x} is within an instruction"
    mask = (1 << size) - 1
    turns = None
    for i, (number, word) in enumerate(rule["registers"]):
        if registers.get(number) is None:
            yield f"register {number} is unknown"
            return
        counted = (registers[number] - int(word) - (i < done)) & mask
        turns = counted if turns is None else turns
        if counted != turns:
            yield f"register {number} counted {counted}, another one {turns}; {done} instructions are done"


def wrong_saved(rule, registers, sample):
    region = sample["regions"][0]
    data = bytes.fromhex(region["bytes"])
    at = registers[7] - region["address"]
    words = [int.from_bytes(data[i:i + 8], "little") for i in range(at, len(data) - 7, 8)]
    back = int(rule["fields"][2])
    if back not in words:
        # Before the loop the program called other functions, there.
        if rule.get("began"):
            yield f"no return address {back:#x} above sp"
        return
    rule["began"] = True
    saved = words[:words.index(back)]
    for number, word in rule["registers"]:
        if registers.get(number) != int(word) and int(word) not in saved:
            yield f"register {number} is {registers.get(number)}, and {word} was not saved"


def wrong_stack(sample):
    for region in sample["regions"]:
        missing = sum(size for _, size in region["missing"])
        # esp counts through 32 bits: one sample in thousands is below the real stack, whose bytes end the region.
        if region["address"] + region["size"] <= 1 << 32 and region["missing"] == [[0, missing]] and missing < region["size"]:
            continue
        if missing != region["size"] or any(bytes.fromhex(region["bytes"])):
            yield f"{region['size']} bytes of a stack, {missing} of them missing, where nothing is mapped"


def wrong(rule, sample, registers, nostack):
    if rule["kind"] == "count":
        yield from wrong_count(rule, registers, sample["pc"])
        yield from wrong_stack(sample)
    elif rule["kind"] == "saved":
        yield from wrong_saved(rule, registers, sample)
    else:
        yield from wrong_registers(registers, rule["registers"])
    if nostack:
        yield from wrong_stack(sample)


def rules_read(path):
    rules, nostack = [], False
    with open(path) as file:
        for line in file:
            words = line.split()
            if words == ["nostack"]:
                nostack = True
                continue
            pairs = [w.split("=") for w in words[4:]]
            rule = {"kind": words[0], "fields": words[1:4], "begin": int(words[1]), "wheres": "123"}
            rule["registers"] = [(int(n), v) for n, v in pairs]
            if words[0] == "count":
                # A jump follows the last one.
                rule["end"] = rule["begin"] + len(pairs) * int(words[2]) + 1
            else:
                rule["end"] = int(words[2])
            if words[0] == "rule":
                rule["wheres"] = words[3]
            rules.append(rule)
    return rules, nostack


def main():
    rules, nostack = rules_read(sys.argv[1])
    checked, samples, bad = collections.Counter(), 0, 0
    for line in sys.stdin:
        sample = json.loads(line)
        if sample["record"] != "SAMPLE":
            continue
        samples += 1
        if not sample["registers"]:
            continue
        registers = {number: value for number, _, value in sample["registers"]}
        for rule in rules:
            if not rule["begin"] <= sample["pc"] < rule["end"] or str(sample["where"]) not in rule["wheres"]:
                continue
            checked[WHERE[sample["where"]]] += 1
            for what in wrong(rule, sample, registers, nostack):
                bad += 1
                if bad <= 5:
                    print(f"sample {sample['id']}, where {sample['where']}, pc {sample['pc']:#x}: {what}")
    told = ", ".join(f"{count} in {where}" for where, count in sorted(checked.items()))
    print(f"{samples} samples, {sum(checked.values())} checked ({told}), {bad} values wrong")
    if sum(checked.values()) < int(sys.argv[2]):
        print(f"too few: not {sys.argv[2]}")
        return 1
    return bad != 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (ValueError, KeyError, OSError) as error:
        print(f"cannot be read: {error!r}")
        sys.exit(2)
