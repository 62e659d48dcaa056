#!/usr/bin/env python3
"""The licences and copyright holders that files state are those of debian/copyright (DEP-5), by SPDX lines and by licensecheck, which also
finds third-party code that someone pasted in; and each source in C states one."""

import fnmatch
import os
import re
import shutil
import subprocess
import sys

os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
sys.path[:0] = ["tests"]
from counting import Count

# DEP-5's names for SPDX's.
SPDX = {"Apache-2.0": "Apache-2.0", "GPL-2.0": "GPL-2", "GPL-2.0-only": "GPL-2", "Apache-2.0 OR GPL-2.0-only": "Apache-2.0 or GPL-2"}
SOURCE = (".c", ".h", ".cc", ".S")


def stanzas():
    """(patterns, licence, holders) of each Files stanza, in order: a later one wins."""
    with open("debian/copyright", encoding="utf-8") as file:
        for stanza in file.read().split("\n\n"):
            fields = dict(re.findall(r"^([A-Z][A-Za-z-]+):((?:.*)(?:\n .*)*)", stanza, re.M))
            if "Files" in fields:
                yield fields["Files"].split(), fields["License"].split("\n")[0].strip(), fields["Copyright"]


def main():
    count = Count()
    files = [name for name in subprocess.run(["git", "ls-files", "-z"], stdout=subprocess.PIPE, check=True, text=True).stdout.split("\0") if name]
    licences, holders = {}, {}
    for patterns, licence, holder in stanzas():
        found = [name for name in files if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)]
        count.ok("debian/copyright: files match " + " ".join(patterns), found)
        licences.update(dict.fromkeys(found, licence))
        holders.update(dict.fromkeys(found, holder))
    stated = set()
    for name in files:
        with open(name, "rb") as file:
            spdx = re.search(r"SPDX-License-Identifier: ([A-Za-z0-9. -]+?)(?: \*/)?$", file.read(400).decode("utf-8", "replace"), re.M)
        if spdx:
            stated.add(name)
            count.ok(name, SPDX.get(spdx[1]) == licences[name], "%s, but debian/copyright says %s" % (spdx[1], licences[name]))
    if not shutil.which("licensecheck"):
        count.skip("licensecheck is not installed (docs/release.md)")
        return count.finish()
    # Not of texts of licences, or files that name several.
    rest = [name for name in files if name not in stated and not re.search(r"COPYING|LICENSE|^debian/copyright$|^tests/npm/package-lock|^testdata/.*\.(reel|xz|data|folded)$", name)]
    # By default, licensecheck passes over files whose suffix it does not know, such as .proto.
    command = ["licensecheck", "--check=.", "--copyright", "-m", "--shortname-scheme=debian", *rest]
    output = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout.decode("utf-8", "replace")
    for line in filter(None, output.split("\n")):
        name, found, copyrights = line.split("\t")[:3]
        # In other files, what looks like a copyright is bytes of a program or a sentence of ours.
        stated_holders = re.findall(r"(?:^| / )[0-9][0-9, -]*([^/]+?)(?= / |$)", copyrights)
        if found != "UNKNOWN" and stated_holders:
            count.ok(name, all(holder in holders[name] for holder in stated_holders), "copyright %s, unlike debian/copyright" % copyrights)
        if found == "UNKNOWN":
            count.ok(name + " states its licence", not name.endswith(SOURCE))
        else:
            count.ok(name, licences[name].startswith(found), "%s, but debian/copyright says %s" % (found, licences[name]))
    return count.finish()


if __name__ == "__main__":
    sys.exit(main())
