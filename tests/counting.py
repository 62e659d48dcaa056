"""For the test scripts in Python: counts cases, and ends with the line that tests/run.sh adds up (as count.sh does)."""

import os
import re
import subprocess
import unittest


class Count:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def ok(self, name, condition, why=""):
        """A case; `why` shows the actual result."""
        if condition:
            self.passed += 1
        else:
            self.failed += 1
            print("FAILED: " + name + (": " + why if why else ""))
        return condition

    def skip(self, why):
        self.skipped += 1
        print("skip: " + why)

    def finish(self):
        """Returns the exit status."""
        print("%d passed, %d failed, %d skipped" % (self.passed, self.failed, self.skipped))
        return 1 if self.failed else 0


def capture(*arguments):
    """The folder of a capture (support/capture.sh); skips a unittest where it cannot be made."""
    done = subprocess.run([os.path.join(os.path.dirname(os.path.abspath(__file__)), "support", "capture.sh"), *arguments], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode == 77:
        raise unittest.SkipTest(done.stderr.strip())
    assert done.returncode == 0, (arguments, done.stderr)
    return done.stdout.strip()


def in_share(index):
    """Whether SHARE=K/N, from tests/run.sh, selects this item: its index is K modulo N. Unset: all."""
    share = re.fullmatch(r"([0-9]+)/([1-9][0-9]*)", os.environ.get("SHARE", "0/1"))
    if not share or int(share[1]) >= int(share[2]):
        raise SystemExit("invalid SHARE '%s'" % os.environ["SHARE"])
    return index % int(share[2]) == int(share[1])


def affected(source):
    """Whether AFFECTED, a file from tests/run.sh, has a line with this source, which a change can thus break. Unset: all."""
    if "AFFECTED" not in os.environ:
        return True
    with open(os.environ["AFFECTED"], encoding="utf-8") as file:
        return source in file.read().splitlines()


def run_suite(suite, stream):
    """Runs unittest's cases, and returns the exit status."""
    result = unittest.TextTestRunner(stream=stream, verbosity=0).run(suite)
    count = Count()
    count.failed = len(result.failures) + len(result.errors)
    for _, why in result.skipped:
        count.skip(why)
    count.passed = result.testsRun - count.failed - count.skipped
    return count.finish()
