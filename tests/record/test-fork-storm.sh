#!/bin/bash
# A few thousand short-lived processes alongside a busy one. The capture has only the processes that samples need, and all samples of the
# busy process and of its working children have the expected stacks (tests/programs/storm.c).
# run.sh: records
. "$(dirname "$0")/../count.sh"
. tests/record/recording.sh
needs_to_record
[ -x "$stackreel" ] || { skip "$stackreel is not built"; finish; }
"${CC:-cc}" -O2 -g -o storm "$tests/programs/storm.c" || { failed=1; finish; }
forks=1500

# stacks FUNCTION CALLER CAPTURE...: there are samples with the function, and each has CALLER next, and main further out.
stacks() {
    local function=$1 caller=$2
    shift 2
    for capture; do "$stackreel" script ${comm:---comm=storm --comm=exe} --no-inline -F pid,ip,sym "$capture" 2>/dev/null; done | awk -v function_name="$function" -v caller="$caller" '
        function judge() {
            n += is_wanted
            wrong += is_wanted && !(is_right && ends)
            is_wanted = is_right = ends = above = 0
        }
        NF < 2 || /^#/ { judge(); next }
        above && $2 == caller { is_right = 1 }
        { above = $2 == function_name; is_wanted = is_wanted || above; ends = ends || $2 == "main" }
        END { judge(); printf "%s: %d samples, %d with another stack\n", function_name, n, wrong; exit !n || wrong }'
}

# all_stacks CAPTURE...
all_stacks() {
    ok "$1: children" stacks work_in_child main "$@"
    ok "$1: after exec" stacks work_after_exec main "$@"
}

record -F 499 -o command.reel -- ./storm $forks
count $? "a command that forks"
ok "a command that forks" "$tests/record/storm_check.py" "$stackreel" command.reel $forks
all_stacks command.reel

./storm 1000000 &
storm=$!
record -F 499 -o process.reel -p $storm --duration 2
count $? "a process that forks"
ok "a process that forks: with a sample each" "$tests/record/storm_check.py" "$stackreel" process.reel 1000000
all_stacks process.reel
kill $storm
wait $storm 2>/dev/null

# Beside a process whose first thread waits, as many programs of a host do.
python3 -c 'import threading
def work():
    open("works", "w")
    while True: pass
threading.Thread(target=work).start()' &
neighbour=$!
while [ ! -e works ] && kill -0 $neighbour; do sleep 0.05; done
./storm $((2 * forks)) &
storm=$!
cp "$busy" ./alone
record -a -F 499 -o host.reel -- ./alone spin 1
count $? "the whole host"
kill $storm $neighbour
wait $storm $neighbour 2>/dev/null
ok "the whole host" "$tests/record/storm_check.py" "$stackreel" host.reel 1000000
comm=--comm=alone ok "the whole host: the busy process" stacks spin main host.reel
ok "the whole host: children" stacks work_in_child main host.reel

# Each part has the processes that its own samples need. On a busy host there are more; the last eight are checked.
record -F 499 --rotate 400ms,8 -o parts.reel -- ./storm $forks
count $? "parts"
parts=(parts.*.reel)
[ ${#parts[@]} -gt 2 ]
count $? "${#parts[@]} parts"
for part in "${parts[@]}"; do
    ok "a part" "$tests/record/storm_check.py" "$stackreel" "$part" $forks
done
all_stacks "${parts[@]}"
finish
