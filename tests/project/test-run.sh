#!/bin/bash
# tests/run.sh itself: its counts and its output, which runners it starts in parallel, and that an interrupt leaves no processes. Runs
# generated scripts in a folder of their own.
. "$(dirname "$0")/../count.sh"
mkdir -p "$work/tests/room" "$work/build/tests/unit/room"
cp tests/run.sh "$work/tests/"
unset JOBS EMULATOR O
cd "$work" || exit

# script NAME MARKS: creates a test from the script on standard input
script() {
    { printf '#!/bin/bash\n# run.sh: %s\n' "$2" && cat; } >"tests/room/test-$1.sh"
    chmod +x "tests/room/test-$1.sh"
}

# watched NAME MARKS: a script that takes a while and logs its start and end to order.log.
watched() {
    script "$1" "$2" <<-END
		echo "$1 begins" >>order.log
		sleep 0.5
		echo "$1 ends" >>order.log
		echo "1 passed, 0 failed, 0 skipped"
	END
}

# apart NAME...: whether none of these started before the previous one had ended.
apart() {
    grep -E "^($(IFS='|' && echo "$*")) " order.log | awk '{ print $2 }' | tr '\n' ' ' | grep -qE '^(begins ends )+$'
}

# gone PID...: whether these end soon. A killed process stays a zombie until its parent waits for it.
gone() {
    for _ in {1..100}; do
        ps -o stat= -p "$(IFS=, && echo "$*")" | grep -qv Z || return 0
        sleep 0.1
    done
    return 1
}

clear_scripts() { rm -rf tests/room/* build/tests/unit/room/* order.log; }

# ---- counts -----------------------------------------------------------------------------------------

script good "" <<'END'
echo "skip: no such thing"
echo "3 passed, 0 failed, 1 skipped"
END
for form in "-j 1" -j1 -j3 ""; do
    # shellcheck disable=SC2086 # words, or none
    run 0 tests/run.sh $form
    [ "$(tail -n 1 out)" = "3 passed, 0 failed, 1 skipped" ] && grep -qx '    skip: no such thing' out &&
        grep -qE '^room/test-good.sh +3 passed, 0 failed, 1 skipped, [0-9]+ s \([0-9]+ s of CPU\)$' out &&
        grep -qE '^[0-9]+ s; longest: [0-9]+ s room/test-good.sh$' out
    count $? "a script's counts, with '$form'"
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
    count $? "the totals, with $form: $(tail -n 1 out)"
    # A failing runner's lines are printed together, without other output between them; twice if it was run again alone.
    seq -f '    line %g' 200 >lines
    [ $form = -j1 ] || seq -f '    line %g' 200 >>lines
    grep -nE '^    line ' out | awk -F'[: ]+' '$3 != 1 && $1 != last + 1 { exit 1 } { last = $1 }' && grep -E '^    line ' out | cmp -s - lines
    count $? "the whole output of a failed runner, with $form"
    grep -qx 'room/test-crash.sh: exit status 139' out && grep -qx 'room/test-silent.sh: no tests ran' out && grep -qx 'room/test-status.sh: exit status 3' out
    count $? "failures outside of a script's count, with $form"
done
run 1 tests/run.sh --unit
[ "$(tail -n 1 out)" = "3 passed, 1 failed, 2 skipped" ]
count $? "only unit tests"
run 0 tests/run.sh test_ok good
[ "$(tail -n 1 out)" = "5 passed, 0 failed, 2 skipped" ]
count $? "names"
for name in test-good.sh room/test-g; do
    run 0 tests/run.sh $name
    [ "$(tail -n 1 out)" = "3 passed, 0 failed, 1 skipped" ]
    count $? "found in its folder: $name"
done
script slow "thorough records" <<<'echo "7 passed, 0 failed, 0 skipped"'
run 1 tests/run.sh --all
grep -q '^room/test-slow' out
count $? "all tests"
run 0 tests/run.sh slow good
[ "$(tail -n 1 out)" = "10 passed, 0 failed, 1 skipped" ]
count $? "a thorough test by name"
run 1 tests/run.sh
! grep -q test-slow out
count $? "no thorough test by default"
run 1 tests/run.sh no-such-name
script misspelt recods <<<'echo "1 passed, 0 failed, 0 skipped"'
run 2 tests/run.sh
says "room/test-misspelt.sh: unknown mark 'run.sh: recods'"
clear_scripts

# ---- costs, and what tests/plan.py chooses -------------------------------------------------------------

watched slow "thorough records"
watched quick ""
script shares "thorough shares longer" <<'END'
echo "share=${SHARE-none}${LONG+ long} affected=$([ -z "${AFFECTED-}" ] || cat "$AFFECTED")" >>order.log
echo "1 passed, 0 failed, 0 skipped"
END
run 0 tests/run.sh -j1 --all
[ "$(grep -E 'quick|slow' order.log | paste -sd,)" = "quick begins,quick ends,slow begins,slow ends" ]
count $? "quick tests first: $(paste -sd, order.log)"
grep -q 'share=none affected=$' order.log
count $? "a whole runner has no share"
run 0 tests/run.sh --costs
has out '^ +[0-9]+ +[0-9]+ +1 +0 +0  room/test-slow.sh +thorough$' '^ +[0-9]+ +[0-9]+ +3 +0 +0  3 runners$'
cat >tests/plan.py <<'END'
#!/bin/bash
if [ "$1" = --remember ]; then cp "$2" remembered; exit; fi
echo "file.c" >"$2/list"
case ${3-} in
base) printf 'tests/room/test-shares.sh%s\n' $'\t2/6\tturn 3 of 6' $'@long\t4/30\tturn 3 of 30' ;;
*) printf 'tests/room/test-shares.sh\taffected=%s/list\tfile.c\n' "$2" ;;
esac
END
chmod +x tests/plan.py
: >order.log
run 0 tests/run.sh --changed
[ "$(cat order.log)" = "share=none affected=file.c" ] && grep -qx '1 runners by a change' out
count $? "a runner for affected sources: $(cat order.log)"
run 0 tests/run.sh --changed base
[ "$(tail -n 2 order.log | sort | paste -sd,)" = "share=2/6 affected=,share=4/30 long affected=" ] && grep -qx '1 runners in turn 3 of 6' out
count $? "a share in turn, and one of the long form: $(cat order.log)"
run 0 tests/run.sh --costs
grep -q 'test-quick.sh' out && grep -qE 'test-shares.sh +turn 3 of 6$' out && ! grep -q test-slow out
count $? "--changed adds to the costs of the quick tests"
run 0 tests/run.sh slow
! grep -q test-slow build/costs
count $? "runners by name leave the table alone"
run 0 tests/run.sh --remember slow
grep -qP '^room/test-slow.sh\t\d+\t\d+\t1\t0\t0\tall\t.*\tthorough$' remembered
count $? "--remember"
clear_scripts

# ---- running in parallel --------------------------------------------------------------------------

for name in a b c; do watched record-$name records; done
for name in a b; do watched guest-$name guests; done
watched both "records guests"
watched make-a makes
watched make-b makes
watched other ""
run 0 tests/run.sh -j 4
[ "$(tail -n 1 out)" = "9 passed, 0 failed, 0 skipped" ]
count $? "all tests ran"
apart record-a record-b record-c both && apart guest-a guest-b both && apart make-a make-b
count $? "tests with the same mark never overlap: $(tr '\n' ',' <order.log)"
! apart record-a record-b record-c guest-a guest-b make-a make-b other both
count $? "tests with different marks overlap"
rm order.log
run 0 tests/run.sh -j1
[ "$(awk '{ print $1 }' order.log | uniq | tr '\n' ' ')" = "both guest-a guest-b make-a make-b other record-a record-b record-c " ]
count $? "sequential and in order with -j1: $(tr '\n' ',' <order.log)"
clear_scripts

# ---- repeating failed tests alone -------------------------------------------------------------

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
    grep -qx '2 failed while other tests ran and ran again alone; 1 flaky (passed then): room/test-busy.sh' out
count $? "a runner that failed in parallel is run again alone: $(tail -n 1 out)"
rm ran
run 1 tests/run.sh -j1
[ "$(tail -n 1 out)" = "3 passed, 2 failed, 0 skipped" ] && ! grep -q 'while other tests ran' out
count $? "a runner that was alone is not repeated: $(tail -n 1 out)"
rm ran
clear_scripts

# ---- timeouts ----------------------------------------------------------------------------------------

script hangs "" <<'END'
echo "so far"
echo "1 passed, 0 failed, 0 skipped"
sleep 300 & echo $! >>pids
wait
END
LIMIT=0.5 run 1 tests/run.sh hangs
[ "$(tail -n 1 out)" = "1 passed, 1 failed, 0 skipped" ] && grep -qx '    so far' out && grep -qx 'room/test-hangs.sh: timed out after 0.5' out
count $? "a runner that hangs fails: $(tail -n 1 out)"
gone "$(cat pids)"
count $? "the processes of a hanging runner are gone"
rm pids
clear_scripts

# ---- interrupts --------------------------------------------------------------------------------------

# One runner cleans up, one has a child with its own process group, one ignores signals.
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
    # The process that runs this test may ignore SIGINT, and a shell cannot undo that.
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
    [ $status = $((128 + $(kill -l $signal))) ] && [ "$(grep -c ': terminated$' err)" = 3 ]
    count $? "$signal: status $status"
    mapfile -t pids <pids
    [ ${#pids[@]} = 3 ] && gone "${pids[@]}"
    count $? "$signal: no processes are left"
    [ "$(cat tidied)" = tidy ]
    count $? "$signal: scripts can clean up"
done
finish
