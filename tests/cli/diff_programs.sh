# Sourced by tests of `stackreel diff`, after tests/count.sh.

# record NAME N WORK BUILD [OPTIONS]: makes N captures of a program, $work/NAME1.reel and so on, which works for WORK; ends the test where
# that is not possible. BUILD is the compiler's command without -o.
record() {
    local i
    for ((i = 1; i <= $2; i++)); do
        capture "diff-$1-$i" "$4 -g -o \$dir/orders" "${5-}" "\$dir/orders $3" || finish
        cp "$dir/a.reel" "$work/$1$i.reel"
    done
}
