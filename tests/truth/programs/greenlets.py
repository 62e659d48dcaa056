# SPDX-License-Identifier: Apache-2.0
# greenlets: ten coroutines whose stacks are copied to one place in turns, for two seconds
import greenlet
import time


def work():
    while True:
        sorted(str(i * 7919 % 100003) for i in range(300))
        greenlet.getcurrent().parent.switch()


workers = [greenlet.greenlet(work) for _ in range(10)]
end = time.time() + 2
while time.time() < end:
    for worker in workers:
        worker.switch()
