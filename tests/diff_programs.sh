# Sourced by tests of `stackreel diff`, after tests/count.sh: programs that are built and recorded in $work; the test ends where that can't be.
if ! "$O/stackreel-record" -o "$work/try.reel" true >/dev/null 2>"$work/err"; then
    skip "nothing can be recorded here: $(head -n 1 "$work/err")"
    finish
fi

# build NAME COMPILER...
build() {
    mkdir "$work/$1"
    "${@:2}" -g -o "$work/$1/orders" 2>"$work/err"
    count $? "$1 is built"
}
# record NAME N WORK OPTION...: that many captures of it.
record() {
    local i
    for ((i = 1; i <= $2; i++)); do
        "$O/stackreel-record" -q "${@:4}" -o "$work/$1$i.reel" "$work/$1/orders" "$3" >/dev/null 2>"$work/err"
        count $? "$1 is recorded"
    done
}
