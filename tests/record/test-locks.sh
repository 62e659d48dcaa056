#!/bin/bash
# Locks that threads wait for, and who holds them (--off-cpu): against a program that notes who held which lock when, in this PID namespace
# and in another; and programs whose locks have no owner that could be known.
# run.sh: records
. "$(dirname "$0")/../count.sh"
export LC_ALL=C.UTF-8
. tests/record/waits.sh
needs_to_wait locks
lock_samples=$O/tests/record/lock_samples

# record NAME COMMAND...: leaves NAME.samples, the samples with locks. The program runs as other tests do; the recorder gets a CPU before
# others, so that it sees locks at the time that samples have.
record() {
    local name=$1
    shift
    nice -n -15 "$recorder" -q --off-cpu=499 -o "$name.reel" -- nice -n 15 "$@" >"$name.out" 2>err && "$lock_samples" "$name.reel" >"$name.samples" 2>err
    count $? "records $name: $(head -n 3 err)"
}

record here ./locks 3
ok "owners are those who held the lock" python3 "$tests/record/locks_check.py" here.out here.samples
for verb in resolve scrub shrink; do
    "$stackreel" $verb -q -o $verb.reel here.reel
    ok "$verb keeps locks and owners" diff here.samples <("$lock_samples" $verb.reel)
done
# Each lock's address in its file, and its variable's by nm.
nm locks | awk '$3 ~ /^(normal|recursive|checking|robust|inheriting|semaphore|own)$/ { sub(/^0+/, "", $1); print "+0x" $1 }' | sort >expected
addresses() { "$lock_samples" here.reel | awk '$8 ~ "/locks$" { print $7 }' | sort -u; }
mv locks whole
strip -o locks whole
ok "without symbols, addresses in the module" diff expected <(addresses | comm -12 expected -)
ok "... but no names" diff /dev/null <(addresses | grep -v '^+')
rm locks
ok "the same without the file" diff expected <(addresses | comm -12 expected -)
mv whole locks

# ---- report --locks ----------------------------------------------------------------------------

"$stackreel" report --locks here.reel >report 2>err
count $? "report --locks: $(head -n 3 err)"
ok "locks, who waits for them, and what their holders do" python3 "$tests/record/report_locks_check.py" report here.samples
body() { sed 1,/^$/d "$1"; }
for verb in resolve scrub; do
    "$stackreel" report --locks $verb.reel >$verb.report
    ok "the same after $verb" diff <(body report) <(body $verb.report)
done
"$stackreel" report --locks -j1 here.reel | diff report - >found
count $? "the same with one thread: $(head -n 3 found)"
"$stackreel" report --locks --percent-limit 9.5 here.reel | body /dev/stdin >found
grep -qE '^# [1-9][0-9]* more below --percent-limit 9.5, together' found && [ "$(wc -l <found)" -lt "$(body report | wc -l)" ]
count $? "--percent-limit: $(head -n 20 found)"
waiter=$(awk '$5 == lock { print $3; exit }' lock="$(awk '$7 == "normal+0" { print $5; exit }' here.samples)" here.samples)
"$stackreel" report --locks --tid "$waiter" here.reel >found
grep -q '^# 1 thread waited .* for 1 lock,' found && grep -q '\[not sampled\]' found
count $? "--tid selects a waiting thread, and other threads are unknown: $(head -n 20 found)"
says() {
    local text=$1
    shift
    ! "$stackreel" report "$@" >found 2>&1 && grep -qF -- "$text" found
    count $? "'$text': $(head -n 3 found)"
}
"$recorder" -q -o on-cpu.reel -- true
says 'no waits were recorded, so there are no locks; record with stackreel-record --off-cpu' --locks on-cpu.reel
says "no sample has the label 'lock'" --locks probe.reel
says "no selected sample has the label 'lock'" --locks --event cpu-clock here.reel
says '--locks cannot be combined with --sort or --by' --locks --by module here.reel
says '--locks cannot be combined with --wakers' --locks --wakers here.reel
says '--locks and --stack-bytes always print text' --locks --tui here.reel

# Samples of wakers show a moment, and leave the times of other samples as they are.
"$recorder" -q --wakers -o wakers.reel -- ./locks 1 >/dev/null
# On a busy host a thread that unlocks may wait for a CPU there.
"$stackreel" report -q --event waker wakers.reel | grep -q with_mutex && ! body <("$stackreel" report --locks wakers.reel) | awk '/unlock/ && ($1 >= 5 || $3 >= 5)' | grep .
count $? "samples of wakers do not count: $("$stackreel" report --locks wakers.reel | grep unlock | head -n 3)"

# ---- names of variables in C++ ------------------------------------------------------------------

# variables NAME MODULE COMPILE...: names of the locks in ./NAME's module
variables() {
    local name=$1 module=$2
    shift 2
    "$@" || { count 1 "builds $name"; return; }
    record "$name" "./$name"
    "$stackreel" report --locks "$name.reel" >report
    # A thread may take the lock again before the other wakes up, and so finish before the other begins: then only one ever waits.
    for lock in 'orders::books+0x68' 'orders::desk()::mutex'; do
        [ "$(grep -cE "^ +[0-9.]+ % .* [12]  ${lock//[+()]/.} in $module\$" report)" = 1 ]
        count $? "$name: $lock in $module: $(grep -A4 THREADS report)"
    done
    [ "$(grep -cE '[0-9] {6,}work$' report)" = 2 ]
    count $? "$name: both are waited for in work, not in the C++ library: $(grep -A6 THREADS report)"
}

if command -v g++ >/dev/null; then
    in_library() {
        g++ -O2 -g -DLIBRARY -shared -fPIC -o libwork.so "$tests/programs/locks.cc" &&
            g++ -O2 -g -DPROGRAM -no-pie -pthread -o library "$tests/programs/locks.cc" -L. -lwork "-Wl,-rpath,$work"
    }
    variables library libwork.so in_library
    variables static static g++ -O2 -g -static -pthread -o static "$tests/programs/locks.cc"
    if command -v ld.lld >/dev/null; then
        variables lld lld g++ -O2 -g -fuse-ld=lld -pthread -o lld "$tests/programs/locks.cc"
    else
        skip "a program linked by lld: no lld"
    fi
else
    skip "names in C++: no g++"
fi

# ---- another PID namespace ---------------------------------------------------------------------

if unshare --pid --fork true 2>err; then
    record inside unshare --pid --fork ./locks 3
    ok "owners in another PID namespace are the recorder's tids" python3 "$tests/record/locks_check.py" inside.out inside.samples
    [ -z "$(awk '$3 == $4' inside.samples)" ]
    count $? "... which differ from the program's own: $(awk '$3 == $4' inside.samples | head -n 1)"
else
    skip "another PID namespace: $(head -n 1 err)"
fi

# ---- locks without known holders ---------------------------------------------------------------

# ownerless NAME COMMAND...: its locks have no owners
ownerless() {
    local name=$1
    record "$@"
    [ "$(wc -l <"$name.samples")" -ge 50 ]
    count $? "$name: samples with locks: $(wc -l <"$name.samples")"
    [ -z "$(awk '$6 != "-"' "$name.samples")" ]
    count $? "$name: no owners: $(awk '$6 != "-"' "$name.samples" | head -n 1)"
}

# Both keep the owner's tid in the int at 8 bytes after the word that the others wait for.
if command -v rustc >/dev/null; then
    ok "builds the Rust program" rustc -O -g -o rust "$tests/programs/locks.rs"
    ownerless rust ./rust
else
    skip "Rust's locks: no rustc"
fi
if command -v go >/dev/null; then
    ok "builds the Go program" env GO111MODULE=off GOCACHE="$work/cache" go build -o go "$tests/programs/locks.go"
    ownerless go ./go
else
    skip "Go's locks: no go"
fi
finish
