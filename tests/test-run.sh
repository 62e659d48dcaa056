#!/bin/bash
# tests/run.sh itself: what it counts and prints, what it runs beside what, and that an interrupt leaves nothing behind. It runs scripts that
# are made here, in a folder of their own.
set -u
cd "$(dirname "$0")/.." || exit
. tests/count.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/tests" "$work/build/tests/unit/room"
cp tests/run.sh "$work/tests/"
unset JOBS EMULATOR O
cd "$work" || exit

# script NAME MARKS: the script on standard input
script() {
    { printf '#!/bin/bash\n# run.sh: %s\n' "$2" && cat; } >"tests/test-$1.sh"
    chmod +x "tests/test-$1.sh"
}

# watched NAME MARKS: a script that takes a while, and leaves when it began and ended in order.log.
watched() {
    script "$1" "$2" <<-END
		echo "$1 begins" >>order.log
		sleep 0.5
		echo "$1 ends" >>order.log
		echo "1 passed, 0 failed, 0 skipped"
	END
}

# apart NAME...: none of these began before another one had ended.
apart() {
    grep -E "^($(IFS='|' && echo "$*")) " order.log | awk '{ print $2 }' | tr '\n' ' ' | grep -qE '^(begins ends )+$'
}

# gone PID...: what was killed ends soon, and then waits for a parent to hear of it.
gone() {
    for _ in {1..100}; do
        ps -o stat= -p "$(IFS=, && echo "$*")" | grep -qv Z || return 0
        sleep 0.1
    done
    return 1
}

clear_scripts() { rm -rf tests/test-* build/tests/unit/room/* order.log; }

# ---- counts -----------------------------------------------------------------------------------------

script good "" <<'END'
echo "skip: no such thing"
echo "3 passed, 0 failed, 1 skipped"
END
for form in "-j 1" -j1 -j3 ""; do
    # shellcheck disable=SC2086 # words, or none
    run 0 tests/run.sh $form
    [ "$(tail -n 1 out)" = "3 passed, 0 failed, 1 skipped" ] && grep -qx '    skip: no such thing' out &&
        grep -qE '^test-good.sh +3 passed, 0 failed, 1 skipped, [0-9]+ s \([0-9]+ s of CPU\)$' out &&
        grep -qE '^[0-9]+ s; longest: [0-9]+ s test-good.sh$' out
    count $? "what a script counted, with '$form'"
done
JOBS=2 run 0 tests/run.sh
for wrong in "-j 0" -jx -j --none; do
    # shellcheck disable=SC2086 # words
    run 2 tests/run.sh $wrong
done
JOBS=0 run 2 tests/run.sh
run 0 tests/run.sh --help
grep -q 'JOBS=N' out
count $? "--help"

script bad "" <<'END'
for i in {1..200}; do echo "line $i"; done
echo "1 passed, 2 failed, 0 skipped"
exit 1
END
script crash "" <<<'kill -SEGV $$'
script silent "" <<<'exit 0'
script status "" <<'END'
echo "1 passed, 0 failed, 0 skipped"
exit 3
END
for name in ok not; do
    printf '#!/bin/bash\necho "%s 1 - a"\necho "ok 2 - b"\necho "ok 3 # SKIP c"\n[ %s = ok ]\n' "${name/not/not ok}" $name >build/tests/unit/room/test_$name
    chmod +x build/tests/unit/room/test_$name
done
for form in -j1 -j4; do
    run 1 tests/run.sh $form
    [ "$(tail -n 1 out)" = "8 passed, 6 failed, 3 skipped" ]
    count $? "the sum, with $form: $(tail -n 1 out)"
    # As it is printed: each one's words stay together.
    seq -f '    line %g' 200 >lines
    grep -nE '^    line ' out | cut -d: -f1 | awk 'NR > 1 && $1 != last + 1 { exit 1 } { last = $1 }' && grep -E '^    line ' out | cmp -s - lines
    count $? "a failure's output is shown, whole, with $form"
    grep -qx 'test-crash.sh: exit status 139' out && grep -qx 'test-silent.sh: ran no test' out && grep -qx 'test-status.sh: exit status 3' out
    count $? "failures that a script does not count, with $form"
done
run 1 tests/run.sh --unit
[ "$(tail -n 1 out)" = "3 passed, 1 failed, 2 skipped" ]
count $? "unit tests alone"
run 0 tests/run.sh test_ok good
[ "$(tail -n 1 out)" = "5 passed, 0 failed, 2 skipped" ]
count $? "names"
script slow "thorough records" <<<'echo "7 passed, 0 failed, 0 skipped"'
run 0 tests/run.sh --thorough
[ "$(tail -n 1 out)" = "7 passed, 0 failed, 0 skipped" ]
count $? "thorough ones alone"
run 0 tests/run.sh slow good
[ "$(tail -n 1 out)" = "10 passed, 0 failed, 1 skipped" ]
count $? "a thorough one, by its name"
run 1 tests/run.sh
! grep -q test-slow out
count $? "and not where nobody asks for it"
run 1 tests/run.sh no-such-name
script misspelt recods <<<'echo "1 passed, 0 failed, 0 skipped"'
run 2 tests/run.sh
says "test-misspelt.sh: 'run.sh: recods' means nothing"
clear_scripts

# ---- what runs beside what --------------------------------------------------------------------------

for name in a b c; do watched record-$name records; done
for name in a b; do watched guest-$name guests; done
watched both "records guests"
watched make-a makes
watched make-b makes
watched other ""
run 0 tests/run.sh -j 4
[ "$(tail -n 1 out)" = "9 passed, 0 failed, 0 skipped" ]
count $? "all of them ran"
apart record-a record-b record-c both && apart guest-a guest-b both && apart make-a make-b
count $? "what must not run beside each other: $(tr '\n' ',' <order.log)"
! apart record-a record-b record-c guest-a guest-b make-a make-b other both
count $? "what may, does"
rm order.log
run 0 tests/run.sh -j1
[ "$(awk '{ print $1 }' order.log | uniq | tr '\n' ' ')" = "both guest-a guest-b make-a make-b other record-a record-b record-c " ]
count $? "one after the other, and in order, with -j1: $(tr '\n' ',' <order.log)"
clear_scripts

# ---- what fails beside others, and alone -------------------------------------------------------------

script busy records <<'END'
[ -e ran ] && echo "2 passed, 0 failed, 0 skipped" && exit
touch ran
echo "too busy"
echo "1 passed, 1 failed, 0 skipped"
exit 1
END
script broken guests <<<'echo "1 passed, 1 failed, 0 skipped"; exit 1'
script good "" <<<'echo "1 passed, 0 failed, 0 skipped"'
run 1 tests/run.sh -j2
[ "$(tail -n 1 out)" = "4 passed, 1 failed, 0 skipped" ] && grep -qx '    too busy' out &&
    [ "$(grep -c '^note: .* failed beside other tests, and was run again alone$' out)" = 2 ]
count $? "a runner that failed beside others is run again, alone: $(tail -n 1 out)"
rm ran
run 1 tests/run.sh -j1
[ "$(tail -n 1 out)" = "3 passed, 2 failed, 0 skipped" ] && ! grep -q 'beside others' out
count $? "and not one that was alone: $(tail -n 1 out)"
rm ran
clear_scripts

# ---- what hangs ----------------------------------------------------------------------------------------

script hangs "" <<'END'
echo "so far"
echo "1 passed, 0 failed, 0 skipped"
sleep 300 & echo $! >>pids
wait
END
LIMIT=0.5 run 1 tests/run.sh hangs
[ "$(tail -n 1 out)" = "1 passed, 1 failed, 0 skipped" ] && grep -qx '    so far' out && grep -qx 'test-hangs.sh: was ended after 0.5' out
count $? "a runner that hangs has failed: $(tail -n 1 out)"
gone "$(cat pids)"
count $? "and what it started is gone"
rm pids
clear_scripts

# ---- interrupts --------------------------------------------------------------------------------------

# One that puts things away, one that has a process group of its own below it, one that hears nothing.
script tidy "" <<'END'
trap 'echo tidy >>tidied' EXIT
sleep 300 & echo $! >>pids
wait
END
script deep "" <<'END'
timeout 300 sh -c 'echo $$ >>pids; sleep 300; true'
END
script deaf "" <<'END'
trap '' TERM INT
sleep 300 & echo $! >>pids
wait
sleep 300
END
for signal in INT TERM; do
    rm -f pids tidied
    # Who started this may ignore SIGINT, and a shell keeps to that.
    python3 - tests/run.sh -j3 >out 2>err <<'PYTHON' &
import os
import signal
import sys

signal.signal(signal.SIGINT, signal.SIG_DFL)
os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
os.execv(sys.argv[1], sys.argv[1:])
PYTHON
    pid=$!
    for _ in {1..100}; do
        [ "$(wc -l 2>/dev/null <pids)" = 3 ] && break
        sleep 0.1
    done
    kill -$signal $pid
    wait $pid
    status=$?
    [ $status = $((128 + $(kill -l $signal))) ] && [ "$(grep -c ': was ended$' err)" = 3 ]
    count $? "$signal: status $status"
    mapfile -t pids <pids
    [ ${#pids[@]} = 3 ] && gone "${pids[@]}"
    count $? "$signal: nothing is left of what it started"
    [ "$(cat tidied)" = tidy ]
    count $? "$signal: scripts put their things away"
done
finish
