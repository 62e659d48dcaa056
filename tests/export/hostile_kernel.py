#!/usr/bin/env python3
"""hostile_kernel.py OUT - a capture whose kernel functions have names that would act in a page or a picture, if allowed"""

import os
import sys

sys.dont_write_bytecode = True
TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [TESTS, os.path.join(TESTS, "reader")]
import reel_builder as b
import reel_cases

# If the code ran, it would set the page's title.
NAMES = ["<script>document.title='acted'</script>", "</script><script>document.title='acted'</script>", "<img src=x onerror=\"document.title='acted'\">",
         "<!--", "-->", "]]>", "&lt;b&gt;", "&#x3c;", "\"onload=\"document.title='acted'", "'", "`${document.title='acted'}`", "a\u2028b", "\ufffe", "\uffff", "\ufdd0",
         "\U0001f525", "\u202e", "\x1b[1m", "\udcff", "\\", "__proto__", "constructor", "toString", ";", "a;b", "@CAPTURE@", "x" * 5000]


def build():
    samples = b.Samples()
    samples.layout(1, reel_cases.X86)
    for number in range(len(NAMES)):
        samples.sample(number + 1, 1000 + number * 10000000, pc=0x401000, layout=1, values=[1, 0x7000, 0x401000, 2],
                       regions=[b.Region(0x7000, bytes(64))], event=1 + number % 2, weight=1 + number * number, kernel=[0xffffffff81000010 + number * 0x1000, 0xffffffff81000010])
    symbols = [b.record("KERNEL_SYMBOL", 0xffffffff81000000 + number * 0x1000, 0x1000, 2, name) for number, name in enumerate(NAMES)]
    reel = b.Reel().side(
        reel_cases.capture_record(hostname=NAMES[0]), b.record("EVENT", 1, 1, 0, 999, 0, 1, NAMES[1], 0),
        b.record("EVENT", 2, 1, 0, 999, 0, 0, "faults", 0), b.record("MODULE", 2, 2, 0, 0, 0, 0, b"", "[kernel]"),
        b.record("SPACE", 1, 1, 0, 1, 10, 10, 62, 64, 1, 0, 0, 0), b.record("THREAD", 1, 1, 1, 1, 10, 10, 0, NAMES[2]), *symbols)
    return reel_cases.finish(reel.samples(samples)).data


if __name__ == "__main__":
    with open(sys.argv[1], "wb") as file:
        file.write(build())
