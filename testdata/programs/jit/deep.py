"""Has known chains: <module>, main, deep eleven times, fib up to twelve times."""
import sys
import time


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def deep(n, end):
    if n:
        return deep(n - 1, end)
    while time.time() < end:
        fib(12)


def main():
    deep(10, time.time() + float(sys.argv[1]))


main()
