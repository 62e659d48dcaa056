import std/[algorithm, tables, times, strutils]
proc fib(n: int): int = (if n < 2: n else: fib(n - 1) + fib(n - 2))
let stop = epochTime() + 2
while epochTime() < stop:
  var list: seq[int]
  for i in 0 ..< 2000: list.add(i * 7919 mod 1003)
  list.sort()
  discard fib(18)
  var t = initTable[string, int]()
  for i in 0 ..< 500: t[intToStr(i)] = i
