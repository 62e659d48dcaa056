#!/usr/bin/env python3
"""stackreel flamegraph: the numbers in pictures, compared with those of folded, report and export; marks; hostile names; and that its pages are those of view.

Python's XML parser (expat) reads pictures; Python's gzip unpacks a page's content. tests/page/ reads and opens pages.

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
    """From export's samples: stacks, as tuples of names and kinds from the root."""

    def __init__(self, *arguments, guesses=True):
        self.guesses = guesses
        self.samples = [json.loads(line) for line in said("export", "--format=ndjson", *arguments).splitlines()]
        self.stacks, self.weights = collections.Counter(), collections.Counter()
        for sample in self.samples:
            stack = self.stack_of(sample)
            self.stacks[stack] += 1
            self.weights[stack] += sample["weight"]

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

def texts_of(page):
    """Of the content's header: cli/page/page_content.h."""
    content = gzip.decompress(base64.b64decode(re.search(r'<script type="text/plain" id="content">([A-Za-z0-9+/=]*)</script>', page)[1]))
    return set(json.loads(content[4:4 + int.from_bytes(content[:4], "little")])["strings"])


def check_pages():
    html = said("flamegraph", "--format=html", *FROM, CAPTURE)
    check("a page is view's", html, said("view", "-o", "-", *FROM, CAPTURE))
    other = os.path.join(ROOT, "testdata/i386/orders/orders.reel")
    for n in (1, 2):
        check("a comparison, too, with %d old captures" % n, said("flamegraph", "--format=html", *["--diff", other] * n, *FROM, CAPTURE),
              said("view", "-o", "-", *[other] * n, "--new", CAPTURE, *FROM))
    check("captures as view takes them", said("flamegraph", "--format=html", "--per=second", *FROM, CAPTURE, CAPTURE),
          said("view", "-o", "-", "--per=second", *FROM, CAPTURE, CAPTURE))
    policy = re.search(r"script-src ([^;]*);", html)[1].split()
    hashes = ["'sha256-%s'" % base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
              for script in re.findall(r"<script>(.*?)</script>", html, flags=re.S)]
    count.ok("a page's policy has the hash of its script, and no other", hashes == policy, str(policy))
    count.ok("a page refers to no file", not re.search(r"(src|href)\s*=", re.sub(r"<script.*?</script>", "", html, flags=re.S)))


# ---- without -o ------------------------------------------------------------------------------------

def check_default():
    folder, end = tempfile.mkdtemp(dir=work), "html"

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
    check(name + ": a profile's page is view's", said("flamegraph", "--format=html", file), said("view", "-o", "-", file))
    empty = file + ".empty"
    with open(empty, "w", encoding="utf-8") as out:
        out.write("stackreel profile 1\nevent\tns\tcpu-clock\nend\n")
    nothing = run("flamegraph", "--format=svg", empty)
    count.ok("a profile without samples", nothing.returncode == 1 and b"no samples to draw" in nothing.stderr, nothing.stderr)
    refused = run("flamegraph", "--diff", file, "-o", os.path.join(work, "never.html"), capture)
    count.ok("profiles are not compared", refused.returncode == 1 and b"comparisons need captures" in refused.stderr)


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
    page = said("flamegraph", "--format=html", file)
    check("names in a page", wanted - texts_of(page), set())
    changes = said("flamegraph", "--format=html", "--diff", file, file)
    count.ok("names in a comparison", len(wanted & texts_of(changes)) > len(wanted) // 2)
    count.ok("no name is in a page unescaped", "acted" not in page + changes)


try:
    check_pictures()
    check_pages()
    check_default()
    check_profile("orders", CAPTURE, *FROM)
    check_profile("guesses", GUESSES, "--no-host-files")
    check_names()
finally:
    shutil.rmtree(work)
sys.exit(count.finish())
