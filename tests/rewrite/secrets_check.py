#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks whether a capture contains the secrets that tests/programs/secrets.c planted.

    secrets_check.py --raw SECRETS CAPTURE         all are present: the program was sampled where it has them
    secrets_check.py --scrubbed SECRETS CAPTURE    none is, not even four bytes of one

SECRETS is the program's output.  The check covers the stacks as the independent reader (reel_reader.py) reconstructs
them, the registers, and the raw bytes of all blocks, as `zstd -dc` gives them.  A kept address may happen to share
four bytes with a secret, and a path four letters: the expected number is measured with the shuffled bytes of each
secret, and computed: pieces times the capture's distinct groups of four bytes, over 2^32; for passwords, groups of
four of their 64 characters, over 2^24.
"""

import argparse
import os
import random
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../reader"))
import reel_reader  # noqa: E402

SHUFFLES = 20
LETTERS = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-")


class Contents:
    """The contents of a capture, without repetitions."""

    def __init__(self, path):
        self.problems, stacks, registers, self.samples, self.scrubbed = [], set(), set(), 0, 0
        order = "little"
        with open(path, "rb") as file:
            for _, record in reel_reader.Capture(file, self.problems.append).all_records():
                if record["record"] == "CAPTURE":
                    order = "little" if record["byte_order"] == 1 else "big"
                if record["record"] != "SAMPLE":
                    continue
                self.samples += 1
                self.scrubbed += record["flags"] >> 1 & 1
                stacks.update(bytes(region["bytes"]) for region in record["regions"])
                registers.update(value.to_bytes(size, order) for _, size, value in record["registers"]
                                 if value is not None)
        # Data shared with other stacks is kept once: runs of 64 bytes, and their overlaps.
        seen, parts = set(), []
        for stack in stacks:
            for at in range(0, len(stack), 64):
                part = stack[at:at + 64 + 40]
                if part not in seen:
                    seen.add(part)
                    parts.append(part)
        # Between any two is a separator that occurs in no secret.
        self.stacks = (b"\0" * 40).join(parts)
        self.registers = registers
        unpacked = subprocess.run(["zstd", "-dcq", path], check=True, stdout=subprocess.PIPE).stdout
        self.all = (b"\0" * 40).join([self.stacks, *registers, unpacked])

    def by_chance(self, pieces):
        fours = {self.all[i:i + 4] for i in range(len(self.all) - 3)}
        texts = sum(LETTERS.issuperset(four) for four in fours)
        text_pieces = sum(LETTERS.issuperset(piece) for piece in pieces)
        return (len(pieces) - text_pieces) * len(fours) / 2 ** 32 + text_pieces * texts / 2 ** 24


def read_secrets(path):
    with open(path, encoding="ascii") as file:
        return {name: bytes.fromhex(value) for name, value in (line.split() for line in file)}


def missing_of(name, secret, contents):
    """The parts of a secret that are missing from the capture, which should have all."""
    kind = name.split("-")[0]
    if kind == "small":
        yield from {secret} - contents.registers
        return
    size = {"stack": len(secret), "number": 4, "word": 8}[kind]
    for at in range(0, len(secret), size):
        part = secret[at:at + size]
        if part not in contents.stacks and not (kind == "word" and part in contents.registers):
            yield part


def pieces_of(name, secret):
    step = 4 if name.startswith("number") else 1
    return {secret[at:at + 4] for at in range(0, len(secret) - 3, step)}


def found_of(pieces, contents):
    return sum(piece in contents.all for piece in pieces)


def check_raw(secrets, contents, optional):
    lacking = {name for name, secret in secrets.items() if any(missing_of(name, secret, contents))}
    print("%d samples: %d of %d secrets found%s" % (
        contents.samples, len(secrets) - len(lacking), len(secrets), "".join(", not " + name for name in sorted(lacking))))
    return not lacking - set(optional)


def check_scrubbed(secrets, contents):
    # No four bytes of a small number are unique, so it is only searched for as a register's value.
    small = [name for name, secret in secrets.items() if name.startswith("small") and secret in contents.registers]
    secrets = {name: secret for name, secret in secrets.items() if not name.startswith("small")}
    pieces = set().union(*(pieces_of(name, secret) for name, secret in secrets.items()))
    found = {name: found_of(pieces_of(name, secret), contents) for name, secret in secrets.items()}
    rng = random.Random(1)
    by_chance = []
    for _ in range(SHUFFLES):
        other = set()
        for name, secret in secrets.items():
            other |= pieces_of(name, bytes(rng.sample(list(secret), len(secret)))) - pieces
        by_chance.append(found_of(other, contents))
    expected = contents.by_chance(pieces)
    print("%d samples, all scrubbed: %s; %d pieces of secrets, found: %d (by chance: %.4f computed, %d of %d shuffled ones, at most %d at once)" % (
        contents.samples, "yes" if contents.scrubbed == contents.samples else "no", len(pieces), sum(found.values()), expected,
        sum(by_chance), len(pieces) * SHUFFLES, max(by_chance)))
    for name, count in found.items():
        if count:
            print("    %s: %d" % (name, count))
    for name in small:
        print("    %s: a register's value" % name)
    # A word of a secret has five pieces: two matches by chance do not come from the same word.
    return not small and contents.scrubbed == contents.samples > 0 and sum(found.values()) <= max(by_chance) + 2


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--raw", action="store_true")
    parser.add_argument("--scrubbed", action="store_true")
    parser.add_argument("--optional", action="append", default=[], help="an optional secret")
    parser.add_argument("secrets")
    parser.add_argument("capture")
    options = parser.parse_args()
    secrets, contents = read_secrets(options.secrets), Contents(options.capture)
    ok = not contents.problems
    if options.raw:
        ok &= check_raw(secrets, contents, options.optional)
    if options.scrubbed:
        ok &= check_scrubbed(secrets, contents)
    for problem in contents.problems[:5]:
        print(problem)
    sys.exit(not ok)


if __name__ == "__main__":
    main()
