"""Run by gdb, attached to a Python program: stops it at random moments, and prints each thread's Python functions, as CPython's own script
for gdb (python-gdb.py, already loaded) reads them. A line of JSON for each thread: its number, when the program had stopped (CLOCK_MONOTONIC,
ns), its functions by the interpreter's state, and those that py-bt prints: null if it cannot read them all.
"""

import json
import os
import random
import re
import subprocess
import time

import gdb

library = vars(__import__("__main__"))
stops = int(os.environ["STOPS"])
looker = os.environ["LOOKER"]
pid = gdb.selected_inferior().pid


def field(value, *names):
    """The first of these fields that the version has."""
    for name in names:
        try:
            return value[name]
        except gdb.error:
            pass
    return None


def states():
    """Thread states by the number that tells the thread."""
    found = {}
    interpreter = gdb.parse_and_eval("_PyRuntime")["interpreters"]["head"]
    while interpreter:
        threads = field(interpreter, "threads", "tstate_head")
        state = threads["head"] if threads.type.strip_typedefs().code == gdb.TYPE_CODE_STRUCT else threads
        while state:
            found[int(field(state, "native_thread_id", "thread_id"))] = state
            state = state["next"]
        interpreter = interpreter["next"]
    return found


def functions(state):
    """Each with its qualified name, where the version has it, file, line and name."""
    frame = field(state, "current_frame", "frame", "cframe")
    if frame.type.target().strip_typedefs().tag == "_PyCFrame":
        frame = frame["current_frame"]
    is_object = frame.type.target().strip_typedefs().tag == "_frame"
    found = []
    while frame:
        if is_object:
            read = library["PyFrameObjectPtr"](frame)
            name = read.co_name.proxyval(set())
            found.append([name, read.filename(), read.current_line_num(), name])
            frame = frame["f_back"]
            continue
        read = library["PyFramePtr"](frame)
        # Without a function: frames that the interpreter keeps for itself.
        if field(frame, "owner") is None or int(frame["owner"]) < 3:
            qualified = read.co.pyop_field("co_qualname").proxyval(set())
            found.append([qualified, read.filename(), read.current_line_num(), read.co_name.proxyval(set())])
        frame = frame["previous"]
    return found


def printed():
    """What py-bt prints of the thread's functions: the same without qualified names."""
    try:
        text = gdb.execute("py-bt", to_string=True)
    except gdb.error:
        return None
    if "unable to read" in text or "optimized out" in text or "Unable to locate" in text:
        return None
    return [[name, file, int(line)] for file, line, name in re.findall(r'^  File "(.*)", line ([0-9]+), in (.*?)(?: \(.*)?$', text, re.M)]


def looks():
    """How often the recorder's process that looks at threads has waited for its next look, or more."""
    with open("/proc/%s/status" % looker) as status:
        return int(re.search(r"^voluntary_ctxt_switches:\s*(\d+)", status.read(), re.M).group(1))


def main():
    gdb.execute("set pagination off")
    gdb.execute("handle SIGUSR2 stop nopass")
    random.seed(1)
    for _ in range(stops):
        waker = subprocess.Popen(["sh", "-c", "sleep %f; kill -USR2 %d" % (0.02 + random.random() / 50, pid)])
        gdb.execute("continue", to_string=True)
        begin = time.monotonic_ns()
        waker.wait()
        before = looks()
        # A whole look at least, so that none before the stop has the wait.
        while looks() < before + 4:
            time.sleep(0.005)
        by_number = states()
        for thread in gdb.selected_inferior().threads():
            number = thread.ptid[1]
            thread.switch()
            state = by_number.get(number) or by_number.get(int.from_bytes(thread.handle(), "little"))
            if state:
                print("@" + json.dumps([number, begin, functions(state), printed()]), flush=True)
    gdb.execute("kill")


main()
