#!/usr/bin/env python3
"""Knows its own stack each time it calls os.getppid(), and prints it: a line of JSON for each call, with the thread's number and the functions
from the innermost on, as [qualified name, file, line]. From 3.11 on the names are qualified.

    frames.py CALLS     stops after this many calls; 0: only what is printed for a single thread, each way once
"""

import asyncio
import ctypes
import functools
import json
import os
import random
import sys
import threading
import time

try:
    import numpy
except ImportError:
    numpy = None
try:
    import greenlet
except ImportError:
    greenlet = None

calls = int(sys.argv[1])
output = []
local = threading.local()


def stack():
    """Without the functions of this file that print: the caller of mark() first."""
    frame, found = sys._getframe(1), []
    while frame:
        code = frame.f_code
        found.append([getattr(code, "co_qualname", code.co_name), code.co_filename, frame.f_lineno])
        frame = frame.f_back
    return found


def mark():
    found = stack()
    os.getppid(); found[0][2] = sys._getframe().f_lineno
    output.append([threading.get_native_id(), found])


def deep(n):
    return mark() if n <= 0 else deep(n - 1)


class Shop:
    def order(self, n):
        return [self.price(i) for i in range(n)]

    def price(self, i):
        mark()
        return -i

    @functools.lru_cache(maxsize=1)
    def cached(self, n):
        return self.order(n)

    @property
    def total(self):
        return sum(self.price(i) for i in range(2))

    def __lt__(self, other):
        mark()
        return id(self) < id(other)


def generator(n):
    for i in range(n):
        mark()
        yield i
    if n > 1:
        yield from generator(n - 1)


async def wait(n):
    if n:
        await wait(n - 1)
    mark()
    await asyncio.sleep(0)
    mark()


async def gather():
    await asyncio.gather(*(wait(i) for i in range(3)))


@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
def compare(a, b):
    mark()
    return a[0] - b[0]


def by_c():
    numbers = (ctypes.c_int * 4)(3, 1, 2, 0)
    ctypes.CDLL(None).qsort(numbers, 4, 4, compare)


def raises(n):
    try:
        if n:
            raises(n - 1)
        raise KeyError(n)
    except KeyError:
        mark()
        if n == 2:
            return
        raise
    finally:
        mark()


def by_exec():
    exec(compile("def made():\n\n    mark()\nmade()", "made %d.py" % random.randrange(3), "exec"), {"mark": mark})


def by_numpy():
    shop = Shop()
    numpy.frompyfunc(shop.price, 1, 1)(numpy.arange(3))
    numpy.vectorize(shop.price)(numpy.arange(2))
    numpy.apply_along_axis(lambda row: shop.price(row[0]), 0, numpy.ones((2, 2)))
    sorted(numpy.array([Shop(), Shop()], dtype=object))


def switch(n, parent):
    """Greenlets have a chain of frames each, and share the native stack."""
    mark()
    if n:
        child = greenlet.greenlet(switch)
        child.switch(n - 1, greenlet.getcurrent())
        deep(n)
        child.switch()
    parent.switch()
    mark()


def by_greenlets():
    first = greenlet.greenlet(switch)
    sorted([1, 2], key=lambda i: first.switch(3, greenlet.getcurrent()) or mark() or i)
    mark()


WAYS = [
    lambda: deep(random.randrange(40)),
    lambda: Shop().order(3),
    lambda: Shop().cached(2),
    lambda: Shop().total,
    lambda: sorted([Shop(), Shop(), Shop()]),
    lambda: sorted(range(3), key=lambda i: Shop().price(i)),
    lambda: list(generator(3)),
    lambda: asyncio.run(gather()),
    by_c,
    lambda: list(map(Shop().price, range(3))),
    lambda: raises(2),
    by_exec,
    lambda: max((Shop().price(i) for i in range(3)), default=0),
]
WAYS += [by_numpy] * bool(numpy) + [by_greenlets] * bool(greenlet)


def work():
    while len(output) < calls:
        random.choice(WAYS)()


random.seed(1)
# Some samples, until the recorder has found the interpreter.
for _ in range(5):
    mark()
    time.sleep(0.05)
if not calls:
    for way in WAYS:
        way()
else:
    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    work()
    for thread in threads:
        thread.join()
for item in output:
    print(json.dumps(item))
