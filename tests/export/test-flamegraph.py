#!/usr/bin/env python3
"""stackreel flamegraph: the numbers in pages and pictures, compared with those of folded, report and export; marks and lines; hostile names.

Python's XML parser (expat) reads pictures; Python's gzip unpacks a page's data. test-flamegraph-page.sh opens pages in a browser.

    O=DIR   the object directory (build)
"""

import base64
import collections
import gzip
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "tests"), os.path.join(ROOT, "tests/reader")]
import counting
import hostile_kernel

TOOL = os.path.join(ROOT, os.environ.get("O", "build"), "stackreel")
ORDERS = os.path.join(ROOT, "testdata/aarch64/orders")
CAPTURE = os.path.join(ORDERS, "orders.reel")
GUESSES = os.path.join(ROOT, "testdata/riscv64/chains/gcc/threads.reel")
RECORDS = os.path.join(ROOT, "testdata/golden/records.reel")
FROM = ["--no-host-files", "--symfs", ORDERS, "--debug-dir", ORDERS]
MARKS = ["", " [inlined]", " [kernel]", " [guessed]", ""]
SVG = "{http://www.w3.org/2000/svg}"

count = counting.Count()
work = tempfile.mkdtemp()


def run(*arguments):
    return subprocess.run([TOOL, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                          env=dict(os.environ, LC_ALL="C.UTF-8"))


def said(*arguments):
    done = run(*arguments)
    if done.returncode:
        print("stackreel %s: %s" % (" ".join(arguments), done.stderr.decode()))
    return done.stdout.decode()


def check(name, left, right):
    count.ok(name, left == right)
    if left != right:
        print("    %.2000r\n    is not\n    %.2000r" % (left, right))


# ---- expected data ---------------------------------------------------------------------------

def kind_of(frame):
    return 3 if frame["guessed"] else 2 if frame["kernel"] else 1 if frame["inlined"] else 0


class Truth:
    """From export's samples: stacks, as tuples of names and kinds from the root, and the other data of a page."""

    def __init__(self, *arguments, guesses=True):
        self.guesses = guesses
        self.samples = [json.loads(line) for line in said("export", "--format=ndjson", *arguments).splitlines()]
        self.stacks, self.weights, self.threads, self.events = (collections.Counter() for _ in range(4))
        self.lines = collections.defaultdict(collections.Counter)
        for sample in self.samples:
            stack = self.stack_of(sample)
            self.stacks[stack] += 1
            self.weights[stack] += sample["weight"]
            self.threads[sample["tid"]] += 1
            self.events[sample["event"]] += sample["weight"]
            for frame in sample["frames"]:
                self.lines[frame["function"], kind_of(frame), frame["module"]][frame["file"], frame["line"]] += 1

    def stack_of(self, sample):
        stack = tuple((frame["function"], kind_of(frame if self.guesses else dict(frame, guessed=False))) for frame in reversed(sample["frames"]))
        if not sample["whole"]:
            return (("[incomplete: %s]" % sample["stop"], 4),) + stack
        return stack or (("[no frames]", 4),)

    def boxes(self):
        """Samples by depth, name and kind: a picture's box has those of its path, so equal ones are in a list."""
        paths = collections.Counter()
        for stack, n in self.stacks.items():
            for depth in range(len(stack)):
                paths[stack[:depth + 1]] += n
        return sorted((len(path), *path[-1], n) for path, n in paths.items())


# ---- pictures ----------------------------------------------------------------------------------

def boxes_of(picture):
    """Row, title, left edge and width of each, except for the root's."""
    boxes = []
    for group in picture.iter(SVG + "g"):
        rect = group.find(SVG + "rect")
        boxes.append((float(rect.get("y")), group.find(SVG + "title").text, float(rect.get("x")), float(rect.get("width"))))
    return boxes


def told(title):
    """Name, kind and samples in a title."""
    first = title.split("\n")[0]
    samples = int(re.search(r"\(([\d,]+) samples\)$", title)[1].replace(",", ""))
    for kind in (1, 2, 3):
        name, mark, _ = first.partition(MARKS[kind])
        if mark:
            return name, kind, samples
    if first.startswith("[incomplete: ") or first == "[no frames]":
        return first, 4, samples
    return re.sub(r" \([^()]*\)$", "", first), 0, samples


def check_picture(name, capture, *options):
    truth = Truth(*options, capture)
    picture = xml.fromstring(said("flamegraph", "--format=svg", "--min-share=0", *options, capture))
    root, *boxes = boxes_of(picture)
    check(name + ": all samples are in the root's box", told(root[1])[2], len(truth.samples))
    row = 17
    found = sorted((round((root[0] - y) / row), *told(title)) for y, title, _, _ in boxes)
    check(name + ": boxes", found, truth.boxes())
    weights = sum(truth.weights.values())
    shares = [abs(float(re.search(r"([\d.]+) % \(", title)[1]) - 100 * width / 1180) for _, title, _, width in boxes]
    count.ok(name + ": boxes are as wide as their share", weights and max(shares) < 0.011)
    # No box extends past its caller's, or overlaps its neighbour.
    by_row = collections.defaultdict(list)
    for y, _, left, width in boxes:
        by_row[round((root[0] - y) / row)].append((left, left + width))
    by_row[0] = [(root[2], root[2] + root[3])]
    bad = 0
    for depth in range(1, max(by_row) + 1):
        spans = sorted(by_row[depth])
        bad += sum(b[0] < a[1] - 0.02 for a, b in zip(spans, spans[1:]))
        bad += sum(not any(left <= span[0] + 0.02 and span[1] <= right + 0.02 for left, right in by_row[depth - 1]) for span in spans)
    check(name + ": boxes stand on their callers", bad, 0)
    legend = " ".join(text.text for text in picture.findall(SVG + "text"))
    for kind, word in ((1, "inlined into"), (2, "kernel"), (3, "guessed, without")):
        check("%s: the legend has '%s' if some box has that kind" % (name, word), word in legend, any(box[2] == kind for box in found))


def check_pictures():
    check_picture("orders", CAPTURE, *FROM)
    check_picture("guesses", GUESSES, "--no-host-files")
    cut = xml.fromstring(said("flamegraph", "--format=svg", "--min-share=5", "--width=600", *FROM, CAPTURE))
    shares = [float(re.search(r"([\d.]+) % \(", box[1])[1]) for box in boxes_of(cut)]
    count.ok("--min-share and --width", min(shares) >= 5 and cut.get("width") == "600")
    count.ok("the omitted share is stated", "boxes below 5 % are hidden" in "".join(cut.itertext()))
    icicle = boxes_of(xml.fromstring(said("flamegraph", "--format=svg", "--icicle", *FROM, CAPTURE)))
    count.ok("--icicle has the root on top", all(box[0] > icicle[0][0] for box in icicle[1:]))


# ---- pages --------------------------------------------------------------------------------------

def unpack(page):
    data = re.search(r'<script type="text/plain" id="capture">([A-Za-z0-9+/=]*)</script>', page)[1]
    return json.loads(gzip.decompress(base64.b64decode(data)))


class Page:
    def __init__(self, page):
        self.data = unpack(page)
        self.stacks, self.weights, self.threads, self.events = (collections.Counter() for _ in range(4))
        columns = self.data["spans"]
        step = thread = node = 0
        trees = [self.tree(event) for event in self.data["events"]]
        for row in zip(*(columns[name] for name in ("bin", "event", "thread", "node", "extra", "samples"))):
            step, thread, node = step + row[0], thread + row[2], node + row[3]
            stack = trees[row[1]][node]
            self.stacks[stack] += row[5]
            event = self.data["events"][row[1]]
            self.weights[stack] += row[4] + row[5] * event["period"]
            self.events[event["name"]] += row[4] + row[5] * event["period"]
            if self.data["threads"]:
                self.threads[int(re.search(r"\((\d+)\)$", self.data["threads"][thread][0])[1])] += row[5]
        self.steps = step + 1

    def tree(self, event):
        stacks, path = [()], []
        for depth, frame in zip(event["depth"], event["frame"]):
            path[depth - 1:] = [tuple(self.data["frames"][frame][:2])]
            stacks.append(tuple(path))
        return stacks


def check_page(name, capture, *options):
    truth, page = Truth(*options, capture), Page(said("flamegraph", "--format=html", *options, capture))
    check(name + ": stacks", page.stacks, truth.stacks)
    check(name + ": weights", page.weights, truth.weights if any(truth.weights.values()) else truth.stacks)
    check(name + ": threads", page.threads, truth.threads)
    check(name + ": events", page.events, truth.events)
    check(name + ": samples in the heat map", sum(sum(event["heat"]["samples"]) for event in page.data["events"]), len(truth.samples))
    wrong = [frame for frame in page.data["frames"] if frame[1] != 4
             and truth.lines[frame[0], frame[1], frame[2]][frame[3], frame[4]] != max(truth.lines[frame[0], frame[1], frame[2]].values())]
    # A function without any line has none; one with lines has the most frequent one.
    wrong = [frame for frame in wrong if frame[3] or any(file for file, _ in truth.lines[tuple(frame[:3])])]
    check(name + ": lines", wrong, [])
    first = min(sample["time"] for sample in truth.samples)
    cells = collections.Counter((sample["time"] - first) // 20000000 for sample in truth.samples)
    heat = collections.Counter()
    for event in page.data["events"]:
        count.ok(name + ": cells of 20 ms", event["heat"]["step"] == 20000000)
        heat.update({i: n for i, n in enumerate(event["heat"]["samples"]) if n})
    check(name + ": cells", heat, cells)
    return page


def check_pages():
    page = check_page("orders", CAPTURE, *FROM)
    count.ok("a short capture is kept in steps of 1 ms, and whole", page.data["step"] == 1000000 and page.data["pruned"] == 0)
    check_page("records", RECORDS, "--no-host-files")
    check_page("guesses", GUESSES, "--no-host-files")
    html = said("flamegraph", "--format=html", *FROM, CAPTURE)
    policy = re.search(r"script-src ([^;]*);", html)[1].split()
    hashes = ["'sha256-%s'" % base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
              for script in re.findall(r"<script>(.*?)</script>", html, flags=re.S)]
    count.ok("a page's policy has the hashes of its scripts", hashes and set(hashes) <= set(policy) and "'unsafe-inline'" not in policy,
             str(policy))
    count.ok("a page refers to no file", not re.search(r"(src|href)\s*=", re.sub(r"<script.*?</script>", "", html, flags=re.S)))
    count.ok("the licences are in it", "Copyright (c)" in html and "SIL OPEN FONT LICENSE" in html.upper())
    diff = unpack(said("flamegraph", "--format=html", "--diff", CAPTURE, *FROM, CAPTURE))
    check("a capture does not differ from itself", (diff["old"], sum(diff["sure"])), (diff["new"], 0))
    roots = sum(value for value, depth in zip(diff["old"], diff["depth"]) if depth == 1)
    count.ok("the roots of a comparison are everything: %f" % roots, abs(roots - 100) < 0.1)


# ---- without -o ------------------------------------------------------------------------------------

def check_default():
    folder, end = tempfile.mkdtemp(dir=work), "html" if has_pages else "svg"

    def draw(name, *arguments):
        done = subprocess.run([os.path.abspath(TOOL), "flamegraph", *arguments, *FROM], stdin=open(CAPTURE, "rb"), cwd=folder, capture_output=True, check=False)
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            text = file.read()
        count.ok("%s is made, and reported: %s" % (name, done.stderr.decode()), done.returncode == 0 and done.stdout == b"" and "</%s>" % name.rsplit(".", maxsplit=1)[-1] in text
                 and b"wrote %s; open it in a browser" % name.encode() in done.stderr)

    draw("orders." + end, CAPTURE)
    draw("stackreel." + end, "-")
    draw("orders.svg", CAPTURE, "--icicle")
    os.remove(os.path.join(folder, "orders.svg"))
    with open(os.path.join(folder, "orders." + end), "w", encoding="utf-8") as file:
        file.write("mine")
    draw("orders." + end, CAPTURE)
    with open(os.path.join(folder, "orders.%s.old" % end), encoding="utf-8") as file:
        check("the existing file is kept", file.read(), "mine")
    count.ok("-o - is standard output", "</%s>" % end in said("flamegraph", "-o", "-", *FROM, CAPTURE))
    missing = subprocess.run([os.path.abspath(TOOL), "flamegraph", "orders.reel"], cwd=folder, capture_output=True, check=False)
    count.ok("without a capture nothing is moved", missing.returncode == 1 and os.path.exists(os.path.join(folder, "orders." + end)))


# ---- profiles of aggregate -----------------------------------------------------------------------------

def check_profile(name, capture, *options):
    file = os.path.join(work, name + ".profile")
    said("aggregate", "-q", "-o", file, *options, capture)
    truth = Truth(*options, capture, guesses=False)
    picture = boxes_of(xml.fromstring(said("flamegraph", "--format=svg", "--min-share=0", file)))
    check(name + ": a profile's boxes", sorted((round((picture[0][0] - y) / 17), *told(title)) for y, title, _, _ in picture[1:]), truth.boxes())
    if has_pages:
        page = Page(said("flamegraph", "--format=html", file))
        check(name + ": a profile's stacks", page.stacks, truth.stacks)
        check(name + ": a profile's weights", page.weights, truth.weights)
        check(name + ": a profile's events", page.events, truth.events)
        check(name + ": it states how many captures it is from", (page.data["captures"], page.data["samples"]), (1, len(truth.samples)))
    empty = file + ".empty"
    with open(empty, "w", encoding="utf-8") as out:
        out.write("stackreel profile 1\nevent\tns\tcpu-clock\nend\n")
    nothing = run("flamegraph", "--format=svg", empty)
    count.ok("a profile without samples", nothing.returncode == 1 and b"no samples to draw" in nothing.stderr, nothing.stderr)
    refused = run("flamegraph", "--diff", file, "-o", os.path.join(work, "never.html"), capture)
    count.ok("profiles are not compared", refused.returncode == 1 and (b"--diff compares captures" in refused.stderr or not has_pages))


# ---- names ----------------------------------------------------------------------------------------

def escape(name):
    """As the commands show it: tests/cli/test-names.py has the rules."""
    shown = ""
    for char in name:
        hidden = char in "\u2028\u202e\x1b\udcff"
        shown += "".join("\\x%02x" % byte for byte in char.encode("utf-8", "surrogateescape")) if hidden else "\\\\" if char == "\\" else char
    return shown


def check_names():
    file = os.path.join(work, "hostile.reel")
    with open(file, "wb") as out:
        out.write(hostile_kernel.build())
    pictures = [said("flamegraph", "--format=svg", "--min-share=0", "--event", event, file) for event in (hostile_kernel.NAMES[1], "faults")]
    titles = {box[1].split("\n")[0].replace(" [kernel] ([kernel])", "") for picture in pictures for box in boxes_of(xml.fromstring(picture))}
    wanted = {escape(name) for name in hostile_kernel.NAMES}
    # XML cannot contain these two.
    in_xml = {name.replace("\ufffe", r"\xef\xbf\xbe").replace("\uffff", r"\xef\xbf\xbf") for name in wanted}
    check("names in a picture", in_xml - titles, set())
    count.ok("no element comes from a name", not any("<script" in picture or "<img" in picture for picture in pictures))
    if has_pages:
        check_page("two events", file)
        page = said("flamegraph", "--format=html", file)
        check("names in a page", wanted - {frame[0] for frame in unpack(page)["frames"]}, set())
        count.ok("no name is in a page unescaped", "acted" not in page)


try:
    has_pages = b"cannot draw pages" not in run("flamegraph", "--format=html", CAPTURE).stderr
    check_pictures()
    if has_pages:
        check_pages()
    else:
        count.skip("pages: this stackreel was built without npm's packages")
    check_default()
    check_profile("orders", CAPTURE, *FROM)
    check_profile("guesses", GUESSES, "--no-host-files")
    check_names()
finally:
    shutil.rmtree(work)
sys.exit(count.finish())
