"""callbacks_check.py FOLDED [stripped]: each complete chain of tests/programs/callbacks.go is one that the program has, and nearly all are
complete."""
import sys

NEXT = ["main.level", "viaC", "goLevel", "main.goLevel"]
CHAINS = [["main.main.func1"] + 3 * NEXT + ["main.level", "viaC", "spinC"], ["thread"] + 2 * (NEXT[2:] + NEXT[:2]) + ["spinC"]]
NAMES = {name for chain in CHAINS for name in chain} | {"main.spinGo"}
if "stripped" in sys.argv:
    NAMES -= {"viaC", "spinC", "thread"}


def is_true(frames):
    """From the root to any level, where Go may work."""
    above = frames[:-1] if frames[-1] == "main.spinGo" else frames
    return any(above == [name for name in chain if name in NAMES][:len(above)] for chain in CHAINS) and \
        (above is frames or above[-1] == "main.level")


complete = incomplete = 0
deepest = 0
for line in open(sys.argv[1]):
    stack, count = line.rsplit(" ", 1)
    frames = [name for name in stack.split(";") if name in NAMES]
    if "main.level" not in frames:
        continue
    if stack.startswith("[incomplete"):
        incomplete += int(count)
    elif not is_true(frames):
        sys.exit(f"false: {stack}")
    else:
        complete += int(count)
        deepest = max(deepest, frames.count("main.level"))
print(f"{complete} complete, {incomplete} incomplete, {deepest} levels")
sys.exit(complete < 100 or incomplete > 0.03 * complete or deepest != 4)
