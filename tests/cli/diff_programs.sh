# Sourced by tests of `stackreel diff`, after tests/count.sh. Builds programs in $work and records them; ends the test where recording is
# not possible.
if ! "$O/stackreel-record" -o "$work/try.reel" true >/dev/null 2>"$work/err"; then
    skip "cannot record here: $(head -n 1 "$work/err")"
    finish
fi

# build NAME COMPILER...
build() {
    mkdir "$work/$1"
    "${@:2}" -g -o "$work/$1/orders" 2>"$work/err"
    count $? "build $1"
}
# record NAME N WORK OPTION...: make N captures of program NAME.
record() {
    local i
    for ((i = 1; i <= $2; i++)); do
        "$O/stackreel-record" -q "${@:4}" -o "$work/$1$i.reel" "$work/$1/orders" "$3" >/dev/null 2>"$work/err"
        count $? "record $1"
    done
}
