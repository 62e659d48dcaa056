#!/usr/bin/env python3
"""testdata/minimal: the writer makes the capture there, stackreel reads it, and the reader agrees with stackreel's on
this capture and on all good ones of testdata/format.

    O=DIR   the object directory (build)
"""
# checks: format SPEC.md

import json
import os
import shutil
import subprocess
import sys
import tempfile
import zlib

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import counting

TOOL = os.path.join(os.environ.get("O", "build"), "stackreel")
FOLDER = "testdata/minimal/"
# Fixtures with critical records that the reader does not know: DENSE, and ORIGIN.
OTHERS = "dense", "two-records", "all-records"
count = counting.Count()


def run(*arguments):
    return subprocess.run(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=100)


def samples(*arguments):
    done = run(*arguments)
    return [sample for sample in map(json.loads, done.stdout.splitlines()) if sample["record"] == "SAMPLE"]


def of_tool(sample):
    """As the reader prints it."""
    frame = sample["kernel_frame"]
    return dict({key: sample[key] for key in ("id", "time", "thread", "cpu", "event", "weight", "where", "flags", "steps", "pc", "registers")},
                regions=[[r["kind"], [r["address"], r["size"]], r["missing"], r["crc"]] for r in sample["regions"]],
                kernel_frame=frame and [frame[key] for key in ("pc", "sp", "fp", "return_address")],
                kernel_chain=sample["kernel_chain"] or [], frame_chain=sample["frame_chain"] or [])


def of_reader(sample):
    del sample["record"]
    return dict(sample, kernel_frame=sample.get("kernel_frame"),
                regions=[[r["kind"], r["stack"], r["missing"], zlib.crc32(bytes.fromhex(r["bytes"]))] for r in sample["regions"]])


def check_writer():
    with tempfile.TemporaryDirectory(prefix="stackreel-minimal.") as folder:
        made = os.path.join(folder, "made.reel")
        run(sys.executable, FOLDER + "writer.py", made)
        with open(made, "rb") as a, open(FOLDER + "minimal.reel", "rb") as b:
            count.ok("the writer makes minimal.reel", a.read() == b.read())
    done = run(TOOL, "verify", FOLDER + "minimal.reel")
    count.ok("minimal.reel is whole", done.returncode == 0 and b"remark" not in done.stdout, done.stdout)
    done = run(TOOL, "script", "--no-host-files", FOLDER + "minimal.reel")
    count.ok("its trace", done.returncode == 0 and b" 401136 " in done.stdout and b" 401056 " in done.stdout, done.stdout)


def main():
    if not os.access(TOOL, os.X_OK):
        count.skip(TOOL + " is not built")
        return count.finish()
    check_writer()
    if not shutil.which("zstd"):
        count.skip("zstd is not installed")
        return count.finish()
    good = sorted("testdata/format/" + name for name in os.listdir("testdata/format")
                  if name.startswith("good-") and not any(word in name for word in OTHERS))
    for path in [FOLDER + "minimal.reel", *good]:
        wanted = [of_tool(sample) for sample in samples(TOOL, "dump", "--json", path)]
        found = [of_reader(sample) for sample in samples(sys.executable, FOLDER + "reader.py", path)]
        count.ok("%s: %d samples" % (path, len(wanted)), wanted == found, "%r\n%r" % (wanted[:1], found[:1]))
    return count.finish()


if __name__ == "__main__":
    sys.exit(main())
