"""callbacks_check.py FOLDED PROGRAM [UNNAMED...]: each complete chain of tests/programs/PROGRAM is one that the program has, and nearly all
are complete.  UNNAMED functions have no names."""
import sys

# The calls, from the root on; the function that also calls others; those calls; the number of these functions in the longest chain.
GO = ["main.level", "viaC", "goLevel", "main.goLevel"]
C = ["start_program", "level", "c_call", "via_c"]
PROGRAMS = {
    "callbacks.go": ([["main.main.func1"] + 3 * GO + ["main.level", "viaC", "spinC"], ["thread"] + 2 * (GO[2:] + GO[:2]) + ["spinC"]],
                     "main.level", [["main.spinGo"]], 4),
    "two_stacks.c": ([["main", "run"] + 3 * C + ["spin_c"], ["start_thread", "run"] + 3 * C + ["spin_c"]],
                     "level", [["spin_heap"], ["quiet_call", "spin_c"]], 3),
    "goroutines.go": ([["runtime.goexit", "main.work", "main.spin"]], "main.spin", [], 1),
    "stored_return.c": ([["main", "before", "last", "spin"], ["ends", "work", "spin"]], "spin", [], 1),
}
chains, caller, others, most = PROGRAMS[sys.argv[2]]
names = {name for chain in chains + others for name in chain} - set(sys.argv[3:])
chains = [[name for name in chain if name in names] for chain in chains]


def is_true(frames):
    for chain in chains:
        for n in range(1, len(chain) + 1):
            if frames == chain[:n] or chain[n - 1] == caller and frames in [chain[:n] + other[:i] for other in others for i in (1, 2)]:
                return True
    return False


complete = incomplete = deepest = 0
for line in open(sys.argv[1]):
    stack, count = line.rsplit(" ", 1)
    frames = [name for name in stack.split(";") if name in names]
    if caller not in frames:
        continue
    if stack.startswith("[incomplete"):
        incomplete += int(count)
    elif not is_true(frames):
        sys.exit(f"false: {stack}")
    else:
        complete += int(count)
        deepest = max(deepest, frames.count(caller))
print(f"{complete} complete, {incomplete} incomplete, {deepest} levels")
sys.exit(complete < 100 or incomplete > 0.05 * complete or deepest != most)
