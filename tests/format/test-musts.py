#!/usr/bin/env python3
"""testdata/format/musts has each *must* of SPEC.md's sections 1 to 12 and annexes A to E once, with what proves it.

A fixture is one of testdata/format; a file of tests/ is followed by a word in it that names the case.
"""

import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import counting

FORMAT = "testdata/format/"
count = counting.Count()


def content(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def spec():
    """The normative text, with one space between words."""
    text = content("SPEC.md").partition("\n## Annex F.")[0]
    return " ".join(text.split())


def is_proof(proof):
    """A fixture that exists and is listed, or a test that has the word."""
    path, _, word = proof.partition(" ")
    if "/" not in path:
        return not word and os.path.exists(FORMAT + path + ".reel") and "`%s.reel`" % path in content(FORMAT + "README.md")
    return path.startswith("tests/") and os.path.exists(path) and bool(word) and re.search(r"\b%s\b" % re.escape(word), content(path)) is not None


def main():
    text, proved = spec(), {}
    for line in content(FORMAT + "musts").splitlines():
        if not line or line.startswith("#"):
            continue
        words, _, proofs = line.partition(" => ")
        places = [found.start() for found in re.finditer(re.escape(words), text)]
        musts = [places[0] + at.start() for at in re.finditer(r"\bmust\b", words)] if places else []
        count.ok("once in SPEC.md: " + words, len(places) == 1 and musts and not set(musts) & set(proved), "%d times" % len(places))
        proved.update(dict.fromkeys(musts, words))
        for proof in proofs.split(", "):
            count.ok("%s: %s" % (words, proof), is_proof(proof), "no such fixture, or not in this file")
    for found in re.finditer(r"(?<!\*)\bmust\b", text):
        if found.start() not in proved:
            count.ok("proved: ..." + text[max(found.start() - 60, 0):found.end() + 60] + "...", False, "add a line to %smusts" % FORMAT)
    return count.finish()


if __name__ == "__main__":
    sys.exit(main())
