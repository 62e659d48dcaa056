#!/bin/bash
# report --stack-bytes: sizes of frames, against gcc's -fstack-usage, alloca and a recursion of known sizes, and depths of threads, against
# the program's own stack pointer.
. "$(dirname "$0")/../count.sh"
. tests/record/recording.sh
needs_to_record

# gcc, for -fstack-usage.
gcc -O1 -g -fomit-frame-pointer -fstack-usage -Wl,-z,now -pthread -o stack_bytes "$tests/programs/stack_bytes.c" || { failed=1; finish; }
usage=$(echo *stack_bytes.su)
record -q -F 499 -o a.reel -- ./stack_bytes >output
count $? "records: $(head -n 3 err)"

# check NAME CAPTURE
check() {
    "$stackreel" report --stack-bytes --percent-limit 0 --names=full "$2" >report 2>err && python3 "$tests/record/stack_bytes_check.py" report output "$usage" >found 2>&1
    count $? "$1: $(head -n 5 err found)"
}
check "frames and depths of a scrubbed capture" a.reel
record -q --raw-stacks -F 499 -o raw.reel -- ./stack_bytes >output
check "of raw stacks" raw.reel
"$stackreel" report --stack-bytes -j1 --percent-limit 0 --names=full raw.reel | diff report - >found
count $? "the same with one thread: $(head -n 3 found)"

"$stackreel" sql --tsv raw.reel 'SELECT max(stack_bytes), sum(is_stack_minimum) FROM samples GROUP BY thread_id ORDER BY 1 DESC' >found 2>err
diff <(sed 1d found) <(awk '/DEEPEST/ { on = 1; next } /^#/ { on = 0 } on { gsub(",", "", $1); print $1 "\t0" }' report) >err
count $? "the same in SQL: $(head -n 5 err)"
"$stackreel" report --stack-bytes=90K raw.reel >found 2>err
grep -q '^# 1 thread used 80 % or more of 92,160 bytes$' found && ! grep -q 'captures do not have' found
count $? "a limit: $(head -n 12 err found)"
"$stackreel" report --stack-bytes --percent-limit 50 raw.reel >found 2>err
! grep -q with_array found && grep -q recursive found && grep -q '^# [0-9]* more below --percent-limit 50 of the deepest stack$' found
count $? "--percent-limit: $(cat err found)"
# says TEXT ARGUMENT...
says() {
    local text=$1
    shift
    ! "$stackreel" report "$@" >found 2>&1 && grep -qF -- "$text" found
    count $? "$*: $(head -n 3 found)"
}
"$stackreel" resolve -q -o resolved.reel a.reel
says "no selected sample has a stack to measure" --stack-bytes resolved.reel
says "--stack-bytes cannot be combined with --sort or --by" --stack-bytes --by module a.reel
says "exclude each other" --stack-bytes --locks a.reel
says "--stack-bytes: " --stack-bytes=many a.reel
finish
