# SPDX-License-Identifier: Apache-2.0
"""The cost and the losses of recording, as measured by bench/record.sh, in rows of the table."""

import re
import subprocess

from host import ENVIRONMENT, OBJECTS, RECORDER, ROOT, NotRun, built, last_line, log
from table import Row

PART = "Recording: kernel time, the recorder's CPU, losses"
# By name: the required ratio, or, without a peer, the required value of ours.
TARGETS = ((r"kernel time a sample, 0\.7 KB .*, median$", "<= 0.35"), (r"kernel time a sample, 36 KB .*, median$", "<= 0.5"),
           (r"recorder CPU, .* Hz", "<= 0.334"))
NONE_LOST = re.compile(r"samples lost, .* 4,?999 Hz$")
TIMEOUT = 1800


def row_of(line):
    """For a line `name, ours, perf's or -, ratio, unit`, separated by tabs."""
    name, ours, theirs, _, unit = line.split("\t")
    target = next((target for pattern, target in TARGETS if re.match(pattern, name)), "")
    scale, unit = {"ns": (1e-9, "s"), "MB/s": (1e6, "B/s")}.get(unit, (1, unit))
    row = Row(PART, name, "" if theirs == "-" else "perf", unit, float(ours) * scale, None if theirs == "-" else float(theirs) * scale, target)
    if unit == "s" and row.ours < 0.001:
        row.unit, row.ours, row.theirs = "ns", row.ours * 1e9, row.theirs * 1e9
    if NONE_LOST.match(name):
        row.target, row.absolute = "<= 0", True
    return row


def run(_, quick):
    """All rows of this part, with its own programs."""
    built(RECORDER, OBJECTS / "bench/callback", OBJECTS / "bench/stack")
    log("recording")
    process = subprocess.run([str(ROOT / "bench/record.sh"), "1" if quick else "3"], capture_output=True, text=True, env=ENVIRONMENT,
                             timeout=TIMEOUT, check=False)
    rows = [row_of(line) for line in process.stdout.splitlines() if line.count("\t") == 4]
    if process.returncode or not rows:
        raise NotRun(last_line(process.stderr, "bench/record.sh: status %d" % process.returncode))
    return rows
