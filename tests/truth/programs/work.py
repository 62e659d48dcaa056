import time

end = time.time() + 2


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


while time.time() < end:
    sorted(i * 7919 % 1003 for i in range(2000))
    fib(18)
    "".join(str(i) for i in range(500)).split("9")
