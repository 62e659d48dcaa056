#!/bin/bash
# --debuginfod: files and debug information that only a server has, from Debian's debuginfod and from servers that are slow, fail or send
# wrong data. Runs in its own network namespace, where only the loopback device can be reached.
#
#   O=DIR   the object directory (build)
# checks: cli/doctor cli/session
. "$(dirname "$0")/../count.sh"
tool=$PWD/$O/stackreel

if [ -z "${IN_NAMESPACE-}" ]; then
    as_root=()
    [ "$(id -u)" = 0 ] || as_root=(-r)
    if ! unshare "${as_root[@]}" -n true 2>/dev/null; then
        skip "cannot create a network namespace"
        finish
    fi
    IN_NAMESPACE=yes unshare "${as_root[@]}" -n "$0"
    exit
fi

servers=()
clean() {
    [ ${#servers[@]} = 0 ] || kill "${servers[@]}" 2>/dev/null
    wait
    rm -rf "$work"
}
trap clean EXIT

[ -x "$tool" ] || { skip "$tool is not built" && finish; }
[ "$(uname -m)" = x86_64 ] || { skip "needs x86-64, like the captures' programs" && finish; }
python3 -c 'import ctypes; ctypes.CDLL("libdebuginfod.so.1")' 2>/dev/null || { skip "libdebuginfod is not installed" && finish; }
# SIOCSIFFLAGS: brings the loopback device up (16: IFF_UP | IFF_LOOPBACK | IFF_RUNNING).
ok "bring up the loopback device" python3 -c 'import fcntl, socket, struct; fcntl.ioctl(socket.socket(), 0x8914, struct.pack("16sh14x", b"lo", 0x49))'

export HOME=$work/home LC_ALL=C.UTF-8
unset DEBUGINFOD_URLS DEBUGINFOD_CACHE_PATH XDG_CACHE_HOME STACKREEL_DEBUGINFOD DEBUGINFOD_TIMEOUT
mkdir "$HOME"
cache=$HOME/.cache/debuginfod_client

# ---- programs and their captures ------------------------------------------------------------

# program N: pN here is stripped; a copy with debug information is in served/pN.
mkdir "$work/here" "$work/served"
program() {
    cat >"$work/p$1.c" <<END
volatile int sink;
static inline __attribute__((always_inline)) void inlined_$1(int x) { sink = x * $1; __asm__ volatile("nop"); }
__attribute__((noinline)) void outer_$1(int x) { sink++; inlined_$1(x); }
int main(int argc, char **argv) { (void)argv; outer_$1(argc); return sink + $1; }
END
    (cd "$work" && "${CC:-cc}" -g -O2 -no-pie -Wl,--build-id -o "served/p$1" "p$1.c" && strip -o "here/p$1" "served/p$1")
}
for n in 1 2 3 4 5 6; do program $n || { count 1 "build p$n" && finish; }; done
build_id() { readelf -n "$1" | sed -n 's/^ *Build ID: *//p'; }
id1=$(build_id "$work/served/p1")

# capture OUT PATH:FILE[:CALLER] ...: a sample in each module, in the function inlined into outer_N. outer_N is the outermost frame, or its
# caller is the main of module number CALLER in the list (from 0).
capture() {
    python3 -B - "$@" <<'END'
import re
import subprocess
import sys
sys.path[:0] = ["tests", "tests/reader"]
import reel_builder as b
from reel_cases import capture_record, end_record, finish

out, *modules = sys.argv[1:]
BASE = 0x10000000  # between modules, and they are linked for the same addresses

def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout

def code(file):
    return run("objdump", "-d", "--no-show-raw-insn", file).splitlines()

def in_inlined(file):
    """The address of its nop, the first one in outer."""
    lines = code(file)
    begin = next(i for i, line in enumerate(lines) if re.search(r"<outer_\d>:$", line))
    return next(int(line.split(":")[0], 16) for line in lines[begin:] if line.endswith("\tnop"))

def behind_call(file):
    """The address behind main's call of outer."""
    lines = code(file)
    at = next(i for i, line in enumerate(lines) if re.search(r"call .*<outer_\d>$", line))
    return int(lines[at + 1].split(":")[0], 16)

records, samples = [], b.Samples()
samples.layout(0, [(7, 8), (16, 8)])
files = [module.split(":")[1] for module in modules]
for i, module in enumerate(modules):
    path, file, caller = (module.split(":") + [""])[:3]
    build_id = re.search("Build ID: *([0-9a-f]*)", run("readelf", "-n", file)).group(1)
    records.append(b.record("MODULE", i + 1, 1, 0, 0, 0, 0, bytes.fromhex(build_id), path))
    records.append(b.record("MAP", 10, 1, BASE * i + 0x401000, 0x1000, 0x1000, 5, 2, i + 1))
    pc = BASE * i + in_inlined(file)
    stack = (BASE * int(caller) + behind_call(files[int(caller)]) if caller else 0).to_bytes(8, "little") + bytes(56)
    samples.sample(i + 1, 20 + i, thread=1, pc=pc, layout=0, values=[0x7000, pc], regions=[b.Region(0x7000, stack)])
reel = b.Reel().side(
    capture_record(), b.record("EVENT", 1, 1, 0, 999, 0, 1, "cpu-clock", 0),
    b.record("SPACE", 10, 1, 0, 0, 1, 0, 62, 64, 1, 0, 0, 0), b.record("THREAD", 10, 1, 1, 0, 1, 0, 0, "p"), *records)
with open(out, "wb") as file:
    file.write(finish(reel.samples(samples)).data)
END
}
here=() gone=()
for n in 1 2 3 4 5 6; do here+=("$work/here/p$n:$work/served/p$n"); done
ok "a capture of one module" capture "$work/one.reel" "${here[0]}"
ok "a capture of six modules" capture "$work/six.reel" "${here[@]}"
# The caller's module is missing as well, which is known only after the first file arrives.
ok "a capture of modules that are gone" capture "$work/gone.reel" "/gone/p1:$work/served/p1:1" "/gone/p2:$work/served/p2"
[ "$failed" = 0 ] || finish

# named FILE N: has the functions, inlined functions and lines of module N.
named() { grep -qE "inlined_$2 \(inlined\)" "$work/$1" && grep -qE "outer_$2(\+0x|$| )" "$work/$1"; }
# nameless: the output has none of these names.
nameless() {
    ! grep -qE '(outer|inlined)_[0-9]' "$work/out"
    count $? "no names: $(grep -E '(outer|inlined)_[0-9]' "$work/out" | head -n 2)"
}
has_names() {
    local n
    for n; do
        named out "$n"
        count $? "names of module $n: $(head -n 5 "$work/out")"
    done
}
silent() {
    [ ! -s "$work/err" ]
    count $? "no messages"
}

# ---- servers -----------------------------------------------------------------------------------------

# serve MODE [FILE]: starts a server, sets $url and empties $work/log.
serve() {
    end_servers
    : >"$work/log"
    rm -f "$work/port"
    python3 -B tests/names/debuginfod_server.py "$1" "$work/log" ${2+"$2"} >"$work/port" &
    servers+=($!)
    for _ in {1..600}; do
        [ ! -s "$work/port" ] || break
        sleep 0.1
    done
    url=http://127.0.0.1:$(cat "$work/port")
    rm -rf "$HOME/.cache"
}
end_servers() {
    [ ${#servers[@]} = 0 ] || kill "${servers[@]}"
    [ ${#servers[@]} = 0 ] || wait "${servers[@]}" 2>/dev/null
    servers=()
}
asked() { wc -l <"$work/log"; }
is_asked() {
    [ "$(asked)" = "$1" ]
    count $? "$1 requests to the server: $(head -n 3 "$work/log")"
}

# ---- no requests without the option ------------------------------------------------------------

serve 404
export DEBUGINFOD_URLS=$url
for command in report script folded info doctor; do
    run 0 "$tool" $command "$work/one.reel"
    run 0 env STACKREEL_DEBUGINFOD=0 "$tool" $command "$work/one.reel"
    run 0 env STACKREEL_DEBUGINFOD=1 "$tool" $command --no-debuginfod "$work/one.reel"
done
run 0 "$tool" shrink -o "$work/shrunk.reel" "$work/one.reel"
run 0 "$tool" dump "$work/one.reel"
is_asked 0
run 0 "$tool" doctor "$work/one.reel"
has out 'stackreel report --debuginfod [^=]'
run 0 env -u DEBUGINFOD_URLS "$tool" doctor "$work/one.reel"
has out 'stackreel report --debuginfod=https://debuginfod\.'
run 0 "$tool" doctor --debuginfod "$work/one.reel"
is_asked 1
! grep -q 'report --debuginfod' "$work/out"
count $? "doctor does not suggest --debuginfod when it is used"
run 0 env STACKREEL_DEBUGINFOD=1 "$tool" report "$work/six.reel"
is_asked 6 # p1 is known to be missing
run 1 "$tool" script --debuginfod --tid 77 "$work/gone.reel" # no sample, so no module that one hits
unset DEBUGINFOD_URLS
run 2 "$tool" report --debuginfod "$work/one.reel"
says 'no servers'
run 2 "$tool" report --debuginfod=one.reel "$work/one.reel"
says 'invalid server'
rm -rf "$HOME/.cache"
run 0 env STACKREEL_DEBUGINFOD="$url" "$tool" report "$work/one.reel"
is_asked 7
# A URL contains no data of the capture except hexadecimal digits.
ok "all URLs are build-id URLs" test -z "$(grep -vE '^/buildid/[0-9a-f]+/(debuginfo|executable)$' "$work/log")"

# ---- several processes ------------------------------------------------------------------------------

# report_together MODE: four processes request the same file from a server that takes a second.
report_together() {
    local pid pids=()
    serve "$1" "$work/served/p1"
    for n in 1 2 3 4; do
        "$tool" report --debuginfod="$url" "$work/one.reel" >"$work/out.$n" 2>&1 &
        pids+=($!)
    done
    for pid in "${pids[@]}"; do wait "$pid" || count 1 "one of four processes failed"; done
    is_asked 1
}
report_together late
for n in 1 2 3 4; do
    named out.$n 1
    count $? "process $n of four has names"
done
report_together 404

# ---- Debian's server --------------------------------------------------------------------------------------

# serve_real: runs debuginfod on all of served/, and waits until it has indexed the last file.
serve_real() {
    local port
    end_servers
    port=$(python3 -B tests/names/debuginfod_server.py --free)
    rm -f "$work/sqlite"*
    debuginfod -d "$work/sqlite" -p "$port" -F -t 0 -g 0 "$work/served" >"$work/real" 2>&1 &
    servers+=($!)
    for n in 1 2 3 4 5 6; do
        python3 -B tests/names/debuginfod_server.py --wait "$port" "/buildid/$(build_id "$work/served/p$n")/debuginfo" || return
    done
    url=http://127.0.0.1:$port
    rm -rf "$HOME/.cache"
}
if ! command -v debuginfod >/dev/null; then
    skip "debuginfod is not installed"
else
    serve_real
    count $? "debuginfod runs: $(tail -n 2 "$work/real")"
    run 0 "$tool" report "$work/one.reel"
    nameless
    run 0 "$tool" report --debuginfod="$url" "$work/one.reel"
    has_names 1
    silent
    run 0 env DEBUGINFOD_URLS="$url" "$tool" script --debuginfod "$work/six.reel"
    has_names 1 2 3 4 5 6
    silent
    run 0 "$tool" script --debuginfod="$url" "$work/gone.reel"
    has_names 1 2
    has out 'main\+0x.* \(/gone/p2\)'
    silent
    run 0 "$tool" doctor --all --debuginfod="$url" "$work/one.reel"
    has out '^1 frame: 0\.00 % without a name, 0\.00 % without a line$'
    run 0 env DEBUGINFOD_CACHE_PATH="$work/another" "$tool" report --debuginfod="$url" "$work/one.reel"
    has_names 1
    ok "DEBUGINFOD_CACHE_PATH" test -s "$work/another/$id1/debuginfo"
    for options in --sandbox "--sandbox --no-host-files" -j4; do
        rm -rf "$HOME/.cache"
        # shellcheck disable=SC2086 # words
        run 0 "$tool" report $options --debuginfod="$url" "$work/gone.reel"
        grep -q 'kernel has no' "$work/err" || has_names 1 2
    done
    rm -rf "$HOME/.cache"
    run 0 bash -c "'$tool' report --debuginfod='$url' - <'$work/six.reel'"
    has_names 1 2 3 4 5 6
    rm -rf "$HOME/.cache"
    run 0 bash -c "cat '$work/six.reel' | '$tool' report --debuginfod='$url' -"
    has_names 1 2 3 4 5 6
    run 0 "$tool" report --debuginfod="$url" "$work/gone.reel"
    "$tool" report --debuginfod="$url" "$work/gone.reel" >"$work/online" 2>&1

    # The server has stopped, and fetched files remain.
    end_servers
    "$tool" report --debuginfod="$url" "$work/gone.reel" >"$work/offline" 2>&1
    ok "offline, with the option" cmp "$work/online" "$work/offline"
    run 0 "$tool" script "$work/gone.reel"
    has_names 1 2
    run 0 "$tool" script --sandbox "$work/six.reel"
    grep -q 'kernel has no' "$work/err" || has_names 1 2 3 4 5 6
    run 0 "$tool" script --no-debuginfod "$work/six.reel"
    nameless
fi

# ---- bad servers ----------------------------------------------------------------------------------------------

# fetches PATTERN [OPTION...]: fetching for one.reel fails: no names, status 0, one message that matches PATTERN, and no file remains.
fetches() {
    local pattern=$1
    shift
    run 0 "$tool" report --debuginfod="$url" "$@" "$work/one.reel"
    says "^stackreel: debuginfod: $pattern"
    [ "$(wc -l <"$work/err")" = 1 ]
    count $? "one line: $(cat "$work/err")"
    nameless
    [ -z "$(find "$cache/$id1" -type f -size +0 2>/dev/null)" ]
    count $? "no files remain: $(find "$cache" -type f)"
    run 0 "$tool" report -q --debuginfod="$url" "$@" "$work/one.reel"
    silent
}
# A miss is only remembered if the server reported the file as missing.
asked_again() {
    [ "$(asked)" -gt "$1" ]
    count $? "asks again: $(asked) times"
}
serve 404
fetches "no server has the debug information of $work/here/p1 \(build-id $id1\)$"
is_asked 1
for status in 500 503 403; do
    serve $status
    fetches "a server failed to send the debug information of $work/here/p1"
    asked_again 1
done
serve redirect
# libcurl follows without a limit before its version 8.3.
fetches "a server failed to send the debug information of $work/here/p1|continuing without .*--debuginfod-timeout" --debuginfod-timeout=3s
serve cut "$work/served/p1"
fetches "a server failed to send the debug information"
serve send "$work/served/p2"
fetches "a server sent a file with a different build-id for the debug information of $work/here/p1 .*, which was discarded$"
serve send "$work/p1.c"
fetches 'a server sent a file with a different build-id '
: >"$work/nothing"
serve send "$work/nothing"
run 0 "$tool" report --debuginfod="$url" "$work/one.reel"
nameless
serve endless
fetches 'refused: .* larger than 8\.39 MB \(--debuginfod-max-size\)' --debuginfod-max-size=8M
for mode in drip silent; do
    serve $mode
    SECONDS=0
    fetches "continuing without the debug information of $work/here/p1 .*, which took longer than 500\.0 ms \(--debuginfod-timeout\)$" \
        --debuginfod-timeout=500ms
    [ $SECONDS -lt 60 ]
    count $? "$mode: ends after $SECONDS s"
done
end_servers
fetches "no server can be reached for the debug information of $work/here/p1"
# One message for many files.
run 0 "$tool" report --debuginfod="$url" "$work/six.reel"
says 'and 5 more$'
# Two servers, one of them working.
serve send "$work/served/p1"
run 0 "$tool" report --debuginfod="http://127.0.0.1:9 $url" "$work/one.reel"
has_names 1
silent
# A problem with the local cache is not reported as the server's.
serve send "$work/served/p1"
run 0 env DEBUGINFOD_CACHE_PATH="$work/nothing" "$tool" report --debuginfod="$url" "$work/one.reel"
says 'debuginfod: cannot create the cache folder: .*; set DEBUGINFOD_CACHE_PATH'
is_asked 0

# ---- parallel requests, and Ctrl-C --------------------------------------------------------------------------

# The server answers a request only once the others have arrived.
serve together-6
run 0 "$tool" report --debuginfod="$url" "$work/six.reel"
says 'no server has .* and 5 more$'
is_asked 6
serve drip
# A shell without job control starts background processes with SIGINT ignored.
python3 -B -c 'import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execv(sys.argv[1], sys.argv[1:])' \
    "$tool" report --debuginfod="$url" "$work/six.reel" >"$work/out" 2>"$work/err" &
reader=$!
for _ in {1..600}; do
    [ "$(asked)" -lt 6 ] || break
    sleep 0.1
done
kill -INT $reader
wait $reader
count $? "Ctrl-C: the report continues"
says 'interrupted: continuing without .* and 5 more$'
has out '# 6 samples'
ok "no processes remain" test -z "$(pgrep -f "debuginfod=$url")"
[ -z "$(find "$cache" -name '*.??????')" ]
count $? "no partial files remain: $(find "$cache" -type f | head -n 3)"

# ---- without libdebuginfod -----------------------------------------------------------------------------

if [ -x "$O/static/stackreel" ]; then
    run 0 "$O/static/stackreel" report --debuginfod="$url" "$work/one.reel"
    says 'libdebuginfod.so.1 is not available .* a static stackreel cannot load it$'
fi
finish
