# SPDX-License-Identifier: Apache-2.0
"""The table of results: the name, ours, a peer's, their ratio, and whether that meets the target."""

import dataclasses
import math
import statistics


@dataclasses.dataclass
class Row:
    """A line. `ours` and `theirs` are in `unit`; `target` is ">= N" or "<= N", the required ratio (ours to theirs), or with
    `absolute` the required value of ours. `why` gives the reason for a missing value."""

    part: str
    what: str
    peer: str = ""
    unit: str = ""
    ours: float = None
    theirs: float = None
    target: str = ""
    absolute: bool = False
    why: str = ""
    note: str = ""

    @property
    def ratio(self):
        if self.ours is None or not self.theirs:
            return None
        return self.ours / self.theirs

    @property
    def met(self):
        """True, False, or None without a target or a measurement."""
        value = self.ours if self.absolute else self.ratio
        if not self.target or value is None:
            return None
        relation, limit = self.target.split()
        if relation not in ("<=", ">="):
            raise ValueError("target " + self.target)
        return value <= float(limit) if relation == "<=" else value >= float(limit)


def number(value, unit=""):
    """Three significant digits, with a prefix for large numbers: 335, 15.2 k, 1.01 M; bytes unchanged."""
    if value is None:
        return ""
    if value == 0 or not math.isfinite(value):
        return ("%g %s" % (value, unit)).strip()
    prefix = ""
    if unit != "bytes":
        for prefix in ("", "k", "M", "G"):
            if abs(value) < 999.5 or prefix == "G":
                break
            value /= 1000
    value = value if unit == "bytes" else float("%.3g" % value)
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    text = "%.*f" % (digits, value) if digits <= 6 else "%.3g" % value
    if unit == "bytes" and abs(value) >= 1000:
        text = format(round(value), ",")
    return " ".join(("%s %s%s" % (text, prefix, unit if unit in ("B", "B/s") else " " + unit)).split())


def ratio_text(row):
    if row.ratio is None:
        return ""
    if row.ratio < 0.1:
        return "%.2g (1/%s)" % (row.ratio, number(1 / row.ratio)) if row.ratio else "0"
    return number(row.ratio)


HEADINGS = ("what", "ours", "peer", "its", "ratio", "target", "met")


def cells(row):
    relation, _, limit = row.target.partition(" ")
    target = "%s %s" % (relation.replace(">=", "≥").replace("<=", "≤"), number(float(limit), row.unit) if row.absolute else limit) if limit else ""
    met = {True: "yes", False: "**no**", None: ""}[row.met]
    if row.why:
        met = "not run: " + row.why if row.ours is None and row.theirs is None else row.why
    what = row.what + (" (%s)" % row.note if row.note else "")
    return (what, number(row.ours, row.unit), row.peer, number(row.theirs, row.unit), ratio_text(row), target.strip(), met)


def by_part(rows):
    parts = {}
    for row in rows:
        parts.setdefault(row.part, []).append(row)
    return parts


def plain(rows):
    """For a terminal."""
    lines = [HEADINGS] + [cells(row) for row in rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(HEADINGS))]
    out = []

    def add(line):
        line = [line[i].ljust(widths[i]) if i in (0, 2, 6) else line[i].rjust(widths[i]) for i in range(len(HEADINGS))]
        out.append("  ".join(line).rstrip().replace("**", ""))

    add(HEADINGS)
    for part, some in by_part(rows).items():
        out.append("-- " + part)
        for row in some:
            add(cells(row))
    return "\n".join(out) + "\n"


def markdown(rows):
    out = ["| " + " | ".join(HEADINGS) + " |", "|---|---:|---|---:|---:|---:|---|"]
    for part, some in by_part(rows).items():
        out.append("| **%s** |||||||" % part)
        out += ["| " + " | ".join(cell.replace("|", "\\|") for cell in cells(row)) + " |" for row in some]
    return "\n".join(out) + "\n"


def summary(rows):
    met = [row.met for row in rows if row.target]
    return "%d of %d targets met, %d not, %d not measured" % (met.count(True), len(met), met.count(False), met.count(None))


def geometric_mean(values):
    """The geometric mean of positive numbers; None for none."""
    return statistics.geometric_mean(values) if values else None
