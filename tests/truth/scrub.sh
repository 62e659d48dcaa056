#!/bin/bash
# scrub.sh [--quick] - the distribution's programs, recorded raw and scrubbed later: same traces
#
# Records each installed program raw for a few seconds, scrubs the capture, and compares it trace by trace with tests/rewrite/scrub_compare,
# which counts the allowed differences in its classes. Then records it with default options: if the program's raw traces are complete, these
# must be as well. Programs that are not installed are skipped by name. --quick: only those whose CFI computes with values that are not
# addresses (OpenSSL's multiplication), and three others.
#
#   O=DIR   the object directory (build)
# shellcheck disable=SC2016 # programs of other languages
. "$(dirname "$0")/../count.sh"
compare=$O/tests/rewrite/scrub_compare
quick=
case ${1-} in
--quick) quick=yes ;;
'') ;;
*)
    sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
esac
for program in "$stackreel" "$recorder" "$compare"; do
    [ -x "$program" ] || { skip "$program is not built"; finish; }
done
[ "$(id -u)" = 0 ] || { skip "recording: not root"; finish; }
"$recorder" -q -o "$work/probe.reel" -- true 2>"$work/err" || { skip "recording: $(head -n 1 "$work/err")"; finish; }

# share CAPTURE END: the share of samples whose trace ended like this, in hundredths of a percent. Empty if info prints no shares.
share() {
    "$stackreel" info -q "$1" | sed -nE 's/^ *([0-9]+)\.([0-9]+) % +[0-9,]+  /\1\2 /p' |
        awk -v end="$2" '{ told = 1 } index($0, " " end) { found = $1 } END { if (told) print found + 0 }'
}

# record CAPTURE OPTION... -- COMMAND...: records until the command ends, at most two seconds.
record() {
    local capture=$1
    shift
    "$recorder" -q -F 999 -o "$capture" --duration 2s "$@" >/dev/null 2>"$work/recorded" </dev/null
    [ -s "$capture" ]
}

# same NAME COMMAND...
same() {
    local name=$1 raw live away
    shift
    [ "$1" != env ] || set -- /usr/bin/env "${@:2}"
    command -v "$1" >/dev/null || { skip "$name: $1 is not installed"; return; }
    [ "$1" != /usr/bin/env ] || command -v openssl >/dev/null || { skip "$name: openssl is not installed"; return; }
    if ! record "$work/raw.reel" --raw-stacks -- "$@" || ! record "$work/live.reel" -- "$@"; then
        count 1 "$name: recording: $(head -n 1 "$work/recorded")"
        return
    fi
    ok "$name: traces" "$compare" "$work/scrubbed.reel" "" "$work/raw.reel"
    raw=$(share "$work/raw.reel" 'root reached: complete') live=$(share "$work/live.reel" 'root reached: complete') away=$(share "$work/live.reel" 'scrubbed away')
    printf '%-18s %s; complete: raw %d.%02d %%, recorded scrubbed %d.%02d %%\n' "$name" "$(tail -n 1 "$work/out" | cut -d, -f2-)" \
        $((raw / 100)) $((raw % 100)) $((live / 100)) $((live % 100)) | tee -a "$work/table"
    [ -n "$raw" ] && [ -n "$live" ]
    count $? "$name: info shows how traces ended"
    # Traces that end at scrubbed data are a separate class, which the comparison accepts.
    [ "${raw:-0}" -lt 9900 ] || [ $((live + away)) -ge 9800 ]
    count $? "$name: complete when scrubbed by the recorder as well"
}

# OpenSSL's bn_mul_mont, bn_mul4x_mont and bn_mul_mont_gather5; without ADX and BMI2 it runs different code.
same "openssl ec" openssl speed -seconds 1 ecdsap384 ecdsap521
same "openssl rsa" openssl speed -seconds 1 rsa1024 rsa4096
same "openssl ec, mulx" env OPENSSL_ia32cap=:~0x80100 openssl speed -seconds 1 ecdsap384 ecdsap521
same "openssl rsa, mulx" env OPENSSL_ia32cap=:~0x80100 openssl speed -seconds 1 rsa1024 rsa4096
if ${CC:-cc} -O2 -Wall -Wextra -Werror -shared -fPIC -o "$work/sigprof.so" tests/truth/programs/sigprof.c 2>"$work/err"; then
    same "openssl, SIGPROF" env LD_PRELOAD="$work/sigprof.so" openssl speed -seconds 2 ecdsap521
else
    count 1 "sigprof.c"
fi
same "node, P-521" node -e 'const c = require("crypto"), t = Date.now(); while (Date.now() - t < 2000) c.generateKeyPairSync("ec", { namedCurve: "secp521r1" })'
same sqlite3 sqlite3 :memory: 'with recursive t(i) as (select 1 union all select i+1 from t where i<3000000) select count(*), sum(i%7), max(hex(i)) from t'
same python3 "$(python3 -c 'import sys; print(sys.executable)' 2>/dev/null || echo python3)" -c 'import hashlib
for i in range(6): hashlib.pbkdf2_hmac("sha512", b"x", b"y", 300000)'
same perl perl -e 'my %h; $h{$_ % 5003} .= sprintf("%d", $_) for 1 .. 3000000; print length join ",", map { length $h{$_} } sort keys %h'

if [ -z "$quick" ]; then
    # Random bytes as pictures and sound samples, and real text.
    head -c 34560000 /dev/urandom >"$work/noise" && base64 "$work/noise" >"$work/text"
    same gnutls-cli gnutls-cli --benchmark-ciphers
    same botan botan speed --msec=150 RSA ECDSA AES-256/GCM SHA-3
    same ssh-keygen ssh-keygen -q -t rsa -b 8192 -N "" -f "$work/key-$$"
    same gpg sh -c 'h=$(mktemp -d) && gpg --homedir "$h" --batch --passphrase "" --quick-gen-key a@b rsa4096; gpgconf --homedir "$h" --kill all; rm -rf "$h"'
    same minisign sh -c 'for i in 1 2 3; do printf "a\na\n" | minisign -G -f -p '"$work/p -s $work/s; done"
    same x264 x264 --quiet --input-res 640x360 --fps 25 --demuxer raw -o /dev/null "$work/noise"
    same x265 x265 --log-level none --input "$work/noise" --input-res 640x360 --fps 25 -o /dev/null
    same "ffmpeg, vp9" ffmpeg -v error -f lavfi -i testsrc2=size=320x180:rate=25 -frames:v 60 -c:v libvpx-vp9 -f null -
    same lame lame -r -s 44.1 --quiet "$work/noise" /dev/null
    same flac flac -8 -s -f --force-raw-format --endian=little --sign=signed --channels=2 --bps=16 --sample-rate=44100 -o /dev/null "$work/noise"
    same opusenc opusenc --quiet --raw "$work/noise" /dev/null
    same xz xz -9 -T1 -kc "$work/text"
    same brotli brotli -q 9 -c "$work/text"
    same zstd zstd -19 -qc "$work/text"
    same lua lua5.4 -e 'local t = {} for i = 1, 3e7 do t[i % 1000] = math.sin(i) .. "" end'
    same luajit luajit -e 'local t = {} for i = 1, 3e7 do t[i % 1000] = math.sin(i) .. "" end'
    same ruby ruby -e 'a = (1..2000000).map { |i| (i * 7919) % 1000003 }; 5.times { a.sort; a.map(&:to_s).join.hash }'
    same guile guile -c '(define (fib n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2))))) (fib 36)'
    same sbcl sbcl --noinform --eval '(progn (defun f (n) (if (< n 2) n (+ (f (- n 1)) (f (- n 2))))) (f 38) (quit))'
    same redis sh -c 'redis-server --port 0 --unixsocket '"$work/redis"' --save "" >/dev/null & p=$!
        sleep 0.5; redis-benchmark -s '"$work/redis"' -n 100000 -q -t set,lpush,zadd >/dev/null; kill $p'
fi
awk '{ for (i = 1; i < NF; i++) { if ($(i + 1) == "samples,") s += $i; if ($(i + 1) == "differences,") d += $i
        if ($(i + 1) == "scrubbed" && $(i + 2) ~ /^away/) a += $i } }
    END { printf "%d programs, %d samples, %d differences, %d scrubbed away\n", NR, s, d, a }' "$work/table"
finish
