#!/bin/bash
# SpiderMonkey's frames, whose sizes are on the stack: traces reach the root through compiled and interpreted code, and have all frames of
# a recursion of known depth.
# run.sh: records
. "$(dirname "$0")/../count.sh"
. tests/record/recording.sh
needs_to_record
# Other versions have other frames.
js=$(command -v js102) || { skip "js102 is not installed"; finish; }
[ "$(uname -m)" = x86_64 ] || { skip "this code is followed on x86-64 only"; finish; }
cat >compiled.js <<'END'
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2) }
var end = Date.now() + 1500, sum = 0
while (Date.now() < end) { sum += fib(20); sum += [3, 1, 2].sort((a, b) => a - b)[0] }
END
cat >deep.js <<'END'
function leaf() { var sum = 0; for (var i = 0; i < 100000; i++) sum += i % 7; return sum }
function call(n) { return n ? call(n - 1) + 1 : leaf() }
function run() { var end = Date.now() + 1500; while (Date.now() < end) call(20) }
run()
END

# complete NAME REGEX: at least 90 % of the samples in JavaScript have a complete trace, and it matches.
complete() {
    "$stackreel" folded -q "$1.reel" >"$1.folded"
    awk -v wanted="$2" '
        !/;JIT code/ { next }
        { n += $NF }
        !/\[incomplete/ && $0 ~ wanted { complete += $NF }
        END { printf "%d samples, %d complete\n", n, complete; exit !(n && complete >= 0.9 * n) }' "$1.folded"
}

record -q -F 999 -o compiled.reel -- "$js" compiled.js
count $? "record compiled code"
complete compiled ';__libc_start_main;.*(;JIT code[^;]*){3}'
count $? "compiled code: traces"
record -q -F 999 -o deep.reel -- "$js" --no-ion deep.js
count $? "record a recursion"
# A function has a frame, and one for its call.
complete deep '(;JIT code[^;]*){42}'
count $? "a recursion: traces with all frames"
finish
