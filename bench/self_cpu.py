#!/usr/bin/env python3
"""Runs a command, and prints the seconds of CPU (user and system) that it used itself, in all its threads, without its
children.

    self_cpu.py FILE COMMAND...     the command's standard error goes to FILE
"""

import os
import subprocess
import sys

with open(sys.argv[1], "wb") as errors:
    process = subprocess.Popen(sys.argv[2:], stdout=subprocess.DEVNULL, stderr=errors)
    # Dead, but not waited for: its times are still available, separate from those of its children.
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    with open(f"/proc/{process.pid}/stat", encoding="ascii", errors="replace") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    print(f"{(int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK'):.2f}")
    sys.exit(process.wait())
