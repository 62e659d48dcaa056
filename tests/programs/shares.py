# Computes in functions that add up their own CPU time, in two threads: called plainly, from C, and as a generator. Prints the CPU time of each
# function, its own and with its callees, in JSON.
import ctypes
import json
import random
import sys
import threading
import time

# How many ms each one computes at a time, on average.
MEANS = {"Shop.plain": 16, "called_by_sort": 4, "called_by_ctypes": 6, "outer": 12, "inner": 8, "generated": 10}
times = {name: [0, 0] for name in MEANS}


class Clock:
    """The thread's CPU time in a function: until stop() its own, until the end also that of its callees."""

    def __init__(self, name):
        self.name = name
        self.began = time.thread_time()
        self.end = self.began + random.uniform(0.5, 1.5) * MEANS[name] / 1000

    def __enter__(self):
        return self

    def __exit__(self, *_):
        times[self.name][1] += time.thread_time() - self.began

    def stop(self):
        times[self.name][0] += time.thread_time() - self.began


class Shop:
    def plain(self):
        with Clock("Shop.plain") as clock:
            while time.thread_time() < clock.end:
                pass
            clock.stop()


def called_by_sort(x):
    with Clock("called_by_sort") as clock:
        while time.thread_time() < clock.end:
            for _ in range(50):
                x += 1
        clock.stop()
    return x


def called_by_ctypes(x):
    with Clock("called_by_ctypes") as clock:
        while time.thread_time() < clock.end:
            "-".join(["a", "b"] * 20)
        clock.stop()
    return x


def outer():
    with Clock("outer") as clock:
        while time.thread_time() < clock.end:
            pass
        clock.stop()
        inner()


def inner():
    with Clock("inner") as clock:
        while time.thread_time() < clock.end:
            sum(range(100))
        clock.stop()


def generated():
    while True:
        with Clock("generated") as clock:
            while time.thread_time() < clock.end:
                pass
            clock.stop()
        yield


def work(seconds):
    generator = generated()
    callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(called_by_ctypes)
    while time.thread_time() < seconds:
        Shop().plain()
        sorted([2, 1], key=called_by_sort)
        callback(1)
        outer()
        next(generator)


# Time for a recorder to find the interpreter: samples lead it to the process.
for _ in range(200):
    time.sleep(0.002)
    sum(range(10000))
threads = [threading.Thread(target=work, args=(float(sys.argv[1]),)) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(json.dumps(times))
