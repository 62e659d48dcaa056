#!/bin/bash
# run.sh: records thorough
# checks: record/embedding
# `stackreel-record --embed`: a capture alone gives byte-identical traces and function names to one read with the original binaries. Covers
# programs of this host; files that are deleted, replaced, in memory, in a chroot or in a different mount namespace; rotated and encrypted
# captures; and a killed recorder.
#
#   tests/record/test-embed.sh [NAME...]     O=DIR   the object directory (build); KEEP=DIR: keeps the captures there
# shellcheck disable=SC2016 # commands are expanded where they are run
. "$(dirname "$0")/../count.sh"
O=$(realpath "${O:-build}")

sources=$PWD/tests/truth/programs
export sources LC_ALL=C
unset DEBUGINFOD_URLS
for program in "$stackreel" "$recorder"; do
    [ -x "$program" ] || { skip "$program is not built"; finish; }
done
[ "$(id -u)" = 0 ] || { skip "not root"; finish; }
chmod 711 "$work"
mkdir "$work/none"
"$recorder" -q -o "$work/probe.reel" -- true 2>"$work/err" || { skip "recording: $(head -n 1 "$work/err")"; finish; }
wanted=" $* "

# ---- comparing -------------------------------------------------------------------

# traces OPTION... FILE: the traces without inlined functions and lines, which are not embedded, and without debug packages of this host.
traces() {
    "$stackreel" script -q -j1 --no-host-files --no-inline --debug-dir "$work/none" "${identity[@]}" "$@" 2>&1
}

identity=()

# gather CAPTURE FOLDER: copies the files of the capture's modules to the same paths in FOLDER
gather() {
    "$stackreel" info --no-host-files "$1" | awk '/^Modules/ { on = 1 } on && $3 ~ /^\// { print $3 }' | while read -r file; do
        [ ! -f "$file" ] || { mkdir -p "$2/${file%/*}" && cp -L "$file" "$2/$file"; }
    done
}

# same NAME CAPTURE OPTION...: the capture alone gives the same traces as with these options, which name its files
same() {
    local name=$1 capture=$2
    shift 2
    traces "$@" "$capture" >"$work/with"
    traces "$capture" >"$work/alone"
    cmp "$work/with" "$work/alone" >"$work/err" 2>&1
    count $? "$name: same traces without its files: $(diff "$work/with" "$work/alone" | head -n 12)"
    # Empty traces would be equal too: most frames must have names.
    [ "$(grep -c '^\s.*+0x' "$work/alone")" -gt "${frames:-20}" ]
    count $? "$name: enough frames: $(head -n 5 "$work/alone")"
    samples=$((samples + $(grep -c '^[^	#]' "$work/alone")))
}
samples=0

# record NAME OPTION... -- COMMAND...: records to $work/NAME.reel in the program's folder, with messages in $work/log
record() {
    local name=$1
    shift
    (cd "$work/$name" && exec "$recorder" -o "$work/$name.reel" "$@") >"$work/out" 2>"$work/log" </dev/null
    grep -q '^embedded [0-9,]* modules*, ' "$work/log"
    count $? "$name: reports embedded modules: $(tail -n 3 "$work/log")"
}

is_wanted() {
    [ "$wanted" = "  " ] || [[ $wanted == *" $1 "* ]]
}

# program NAME NEEDS PREPARE COMMAND: PREPARE and COMMAND are run by sh in a folder of their own
program() {
    is_wanted "$1" || return 0
    local name=$1 need
    for need in $2; do
        command -v "$need" >/dev/null || { skip "$name: $need is not installed"; return; }
    done
    mkdir "$work/$name"
    (cd "$work/$name" && sh -ec "$3") >"$work/err" 2>&1 </dev/null || { count 1 "$name: preparing"; return; }
    record "$name" -- sh -c "$4"
    gather "$work/$name.reel" "$work/$name.files"
    same "$name" "$work/$name.reel" --symfs "$work/$name.files"
    [ -z "${KEEP:-}" ] || cp "$work/$name.reel" "$KEEP"
    rm -rf "$work/$name" "$work/$name.files" "$work/$name.reel"
}

spin='cc -O2 -g -fomit-frame-pointer -o spin "$sources/descent.c"'

# ---- programs of this host ------------------------------------------------------------------

program openssl openssl : 'openssl speed -seconds 1 -evp aes-256-gcm; openssl speed -seconds 1 ecdsap384'
program perl perl : 'timeout 1 perl -e "my %h; while (1) { \$h{\$_ % 5003} = sprintf(q(%d), \$_) for 1 .. 100000; my @k = sort keys %h; join q(,), @k }"'
program python3 python3 : 'timeout 1 python3 -c "import json
while 1: [json.dumps(list(range(100))) for i in range(100)]"'
program gcc gcc : 'gcc -O2 -c -o o.o -x c++ "$sources/exceptions.cc"'
program exceptions c++ 'c++ -O2 -o ex "$sources/exceptions.cc"' 'timeout 1 ./ex 1'
program xz xz 'head -c 20000000 /dev/urandom | od | head -c 20000000 >in' 'timeout 1 xz -6 -T2 -kc in'
program zstd zstd 'head -c 20000000 /dev/urandom | od | head -c 20000000 >in' 'timeout 1 zstd -12 -T2 -c in'
program sort sort 'seq 1000000 | shuf >in' 'timeout 1 sort in'
program awk awk : 'seq 1000000 | timeout 1 awk "{ a[\$1 % 1000] += \$1; b = b substr(\$1, 1, 1) } END { print length(b) }"'
program git git 'git init -q r; cd r; git config user.name a; git config user.email a@b; cp -r /usr/include/linux .; git add .; git commit -q -m 1' \
    'git -C r gc --aggressive --force -q; git -C r log -p'
program gdb 'gdb cc' "$spin" 'gdb -batch -ex "info functions a" -ex "break main" -ex run -ex bt ./spin'
program readelf readelf : 'for i in 1 2 3 4 5 6 7 8; do readelf -a /proc/self/exe; readelf -W -a "$sources"/../../../build/stackreel; done'
program find find : 'find /usr /etc -name "*zz*"'
program sqlite3 sqlite3 : 'timeout 2 sqlite3 :memory: "create table t(a, b); with recursive c(x) as (values(1) union all select x + 1 from c where x < 200000)
    insert into t select x, x * 7919 % 100003 from c; create index i on t(b); select sum(a) from t group by b % 100"'
program bash bash : 'timeout 1 bash -c "i=0; while :; do i=\$((i + 1)); x=\${x:0:100}\$i; case \$x in *zz*) echo ;; esac; done"'
program node node : 'node -e "const end = Date.now() + 1000, c = new Map()
    while (Date.now() < end) { const s = JSON.stringify([...Array(50)].map(() => Math.random())); c.set(s.slice(0, 4), JSON.parse(s).sort()) }"'
program java 'java javac' 'cp "$sources/Work.java" .; javac -d . Work.java' 'java Work 1'
program go go 'cp "$sources/work.go" .; HOME=$PWD go build -o work work.go; chmod -R u+w .' ./work
program musl musl-gcc 'musl-gcc -O2 -o musl "$sources/musl.c"' './musl 1'
program ucontext cc 'cc -O2 -o contexts "$sources/contexts.c"' './contexts 1'
program processes perl : 'i=0; while [ $i -lt 100 ]; do perl -MPOSIX -e 1; i=$((i + 1)); done'
program dlopen cc 'cc -O2 -o plugins "$sources/plugins.c"; for i in 1 2 3 4 5; do cc -O2 -shared -fPIC -DPADDING=$i -o plugin-$i.so "$sources/plugin.c"; done' \
    './plugins 1 ./plugin-*.so'
echo "$samples samples"

# ---- files that moved -------------------------------------------------------

is_wanted places || finish
mkdir "$work/places"
cc -O2 -g -fomit-frame-pointer -Wl,--build-id -o "$work/twin" "$sources/descent.c" && cc -O2 -o "$work/memfd" "$sources/memfd.c"
count $? "compile programs"
mkdir -p "$work/libraries"
cp -L --parents $(ldd "$work/twin" | grep -o '/[^ ]*') "$work/libraries"

# place NAME COMMAND [OPTION...]: COMMAND is run by sh in $work/places, where `spin` is a copy of `twin`
place() {
    local name=$1 command=$2 given=(--module "$work/twin")
    shift 2
    # --module matches by build-id.
    readelf -n "$work/twin" | grep -q 'Build ID' || given=()
    rm -rf "$work/places"/*
    cp "$work/twin" "$work/places/spin"
    mkdir "$work/$name"
    record "$name" "$@" -- sh -c "cd '$work/places'; $command"
    same "$name" "$work/$name.reel" --symfs "$work/libraries" "${given[@]}"
    # The capture must embed this file, not a different one.
    grep -q ' descend' "$work/alone"
    count $? "$name: the program's functions have names: $(grep -m 3 spin "$work/alone")"
}
place deleted './spin 1 & sleep 0.3; rm spin; wait'
place replaced 'cp /bin/true new; ./spin 1 & sleep 0.3; mv new spin; wait'
place memory "'$work/memfd' spin 1"
# Without a build-id the digest identifies the file.
cp "$work/twin" "$work/twin-with" && cc -O2 -g -fomit-frame-pointer -Wl,--build-id=none -o "$work/twin" "$sources/descent.c"
count $? "build a program without a build-id"
place memory-without "'$work/memfd' spin 1"
mv "$work/twin-with" "$work/twin"
place chroot 'mkdir root; cp spin root; cp -r '"$work"'/libraries/* root; chroot root /spin 1'
# The kernel reports their build-ids, but not device and inode.
place kernel-ids './spin 1 & sleep 0.3; rm spin; wait' --build-id-events
place kernel-ids-memory "'$work/memfd' spin 1" --build-id-events
place mounts 'unshare --mount sh -c "mount -t tmpfs none /mnt && cp spin /mnt/there && exec /mnt/there 1"'
# These programs exit before the recorder sees them, but their files still exist.
place short 'i=0; while [ $i -lt 40 ]; do cp spin spin$i; ./spin$i 0; i=$((i + 1)); done; ./spin 1'

# ---- options ----------------------------------------------------------------------------

mkdir "$work/options"
cp "$work/twin" "$work/options/spin"
images() {
    "$stackreel" dump -q "$1" | grep -c '^[^ ]* IMAGE '
}
run 0 "$recorder" --embed=none -o "$work/none.reel" -- "$work/options/spin" 1
! grep -q embedded "$work/err"
count $? "--embed=none embeds nothing"
[ "$(images "$work/none.reel")" -le 1 ] # the vDSO's
count $? "--embed=none stores no images"
run 0 "$recorder" --embed=hits -o "$work/hits.reel" -- "$work/options/spin" 1
run 0 "$recorder" --embed=modules -o "$work/modules.reel" -- "$work/options/spin" 1
same modules "$work/modules.reel" --symfs "$work/libraries" --module "$work/twin"
[ "$(stat -c %s "$work/modules.reel")" -gt "$(stat -c %s "$work/hits.reel")" ]
count $? "--embed=modules makes a larger file"
"$stackreel" dump -q --json --bytes "$work/modules.reel" >"$work/out"
grep -q "$(printf pthread_mutex_trylock | xxd -p)" "$work/out"
count $? "--embed=modules has functions of libc that no sample hit"
run 0 "$recorder" --no-symbols -o "$work/names.reel" -- "$work/options/spin" 1
traces "$work/names.reel" >"$work/alone"
! grep -q descend "$work/alone" && grep -q '\[fde\]' "$work/alone"
count $? "--no-symbols: traces without names"
run 0 "$recorder" --embed-limit=64K --embed=modules -o "$work/limit.reel" -- "$work/options/spin" 1
says 'embedded [0-9]* modules?, .*; [0-9]* left out \(/.*libc.so.6: .*exceed'
run 0 "$stackreel" info --no-host-files "$work/limit.reel"
has out 'modules not embedded'
run 2 "$recorder" --embed=some true
says "invalid value 'some' \(expected hits, modules or none\)"
run 2 "$recorder" --embed-limit=1K true
says "is out of range \(64K"
run 0 "$recorder" --raw-stacks -o "$work/raw.reel" -- "$work/options/spin" 1
same raw "$work/raw.reel" --symfs "$work/libraries" --module "$work/twin"

"$stackreel" keygen "$work/key" >"$work/public"
run 0 "$recorder" --encrypt-to "$work/public" -o "$work/encrypted.reel" -- "$work/options/spin" 1
identity=(--identity "$work/key")
same encrypted "$work/encrypted.reel" --symfs "$work/libraries" --module "$work/twin"
identity=()

# A debug package on the recording host names the functions of a stripped program; a debug file with a different build-id does not.
mkdir "$work/debug"
strip -o "$work/stripped" "$work/twin"
objcopy --only-keep-debug "$work/twin" "$work/debug/right"
cc -g -O2 -Wl,--build-id -o "$work/other" "$sources/memfd.c" && objcopy --only-keep-debug "$work/other" "$work/debug/wrong"
id=$(readelf -n "$work/twin" | sed -n 's/.*Build ID: //p')
# packaged FILE: records the stripped program with FILE installed as its debug file
packaged() {
    unshare --mount sh -ec 'mount -t tmpfs none /usr/lib/debug && mkdir -p "/usr/lib/debug/.build-id/${1%${1#??}}"
        cp "$2" "/usr/lib/debug/.build-id/${1%${1#??}}/${1#??}.debug"; shift 2; exec "$@"' sh "$id" "$1" \
        "$recorder" -q -o "$work/packaged.reel" -- "$work/stripped" 1 2>"$work/err"
}
if [ -d /usr/lib/debug ]; then
    for kind in right wrong; do
        ok "record with the $kind debug file" packaged "$work/debug/$kind"
        traces "$work/packaged.reel" >"$work/alone"
        [ "$(grep -c ' descend' "$work/alone")" -gt 20 ] || [ $kind = wrong ]
        count $? "embeds names of a debug file: $(grep -m 3 stripped "$work/alone")"
    done
    ! grep -q ' descend' "$work/alone" && [ "$(grep -c stripped "$work/alone")" -gt 20 ]
    count $? "no names of a debug file with a different build-id: $(grep -m 3 stripped "$work/alone")"
else
    skip "no /usr/lib/debug to mount over"
fi

# Each part is complete on its own.
run 0 "$recorder" --rotate 500ms -o "$work/part.reel" -- "$work/options/spin" 2
parts=0
for part in "$work"/part.*.reel; do
    parts=$((parts + 1))
    # The last part may have started as the program ended.
    traces "$part" | grep -q '+0x' || [ $parts = 1 ] || continue
    frames=0 same "${part##*/}" "$part" --symfs "$work/libraries" --module "$work/twin"
done
[ $parts -ge 3 ]
count $? "$parts parts"

# Even a killed recorder leaves images (test-flight.sh has more).
"$recorder" -q -o "$work/killed.reel" -- "$work/options/spin" 9 &
sleep 8
kill -9 $!
wait $! 2>"$work/err"
traces "$work/killed.reel" >"$work/alone"
grep -q ' descend' "$work/alone"
count $? "a killed recorder leaves images: $(head -n 5 "$work/alone")"

# Bytes that are more than half used do not keep a program that begins later from its first image.
cp "$work/options/spin" "$work/options/later"
run 0 "$recorder" --embed=modules -o "$work/bytes.reel" -- sh -c "$work/options/spin 1; true"
bytes=$("$stackreel" dump -q "$work/bytes.reel" | awk 'match($0, / IMAGE .*offset=0 total_size=[0-9]+/) {
    sub(/.*total_size=/, ""); bytes += $1 } END { print bytes }')
"$recorder" -q --embed=modules --embed-limit=$((bytes * 8 / 5)) -o "$work/half.reel" -- sh -c "$work/options/spin 2; $work/options/later 9" &
sleep 8
kill -9 $!
wait $! 2>"$work/err"
traces --comm later "$work/half.reel" >"$work/alone"
grep -q ' descend' "$work/alone"
count $? "a killed recorder with $bytes bytes of images leaves those of a later program: $(head -n 5 "$work/alone")"

# Each image costs what all its hits cost: samples that need a new one are worth it when they are many (test-flight.sh), not if they are few, here
# of a program that has used 300 functions and calls another each second for 2 ms.
{
    echo '#include <time.h>'
    echo 'static void spin(long ms) { struct timespec a, b; clock_gettime(CLOCK_MONOTONIC, &a); do clock_gettime(CLOCK_MONOTONIC, &b);'
    echo '  while ((b.tv_sec - a.tv_sec) * 1000 + (b.tv_nsec - a.tv_nsec) / 1000000 < ms); }'
    for i in {0..309}; do echo "__attribute__((noinline)) void f$i(long ms) { spin(ms); __asm__ volatile(\"\"); }"; done
    echo 'static void (*const all[])(long) = {' f{0..309}, '};'
    echo 'int main(void) { for (int i = 0; i < 310; i++) { all[i](i < 300 ? 5 : 2); all[0](i < 300 ? 0 : 998); } }'
} >"$work/few.c"
cc -O1 -o "$work/few" "$work/few.c" && "$recorder" -q -F 999 -o "$work/few.reel" -- "$work/few"
images=$("$stackreel" dump "$work/few.reel" | awk '/ IMAGE .* offset=0 / { n[$3]++; if (n[$3] > most) most = n[$3] } END { print most + 0 }')
[ "$images" -ge 2 ] && [ "$images" -le 10 ]
count $? "few new hits: $images images of a module"

# Small files built to be slow to embed. When hit at 64K places each, they once delayed the recorder's exit by minutes.
python3 tests/record/hostile_images.py "$work" 6 && cc -O1 -o "$work/hit_files" tests/programs/hit_files.c
count $? "make hostile files"
"$recorder" -o "$work/hostile.reel" -- "$work/hit_files" "$work"/hostile?.so >"$work/out" 2>"$work/err" &
sleep 3
begin=$(date +%s)
kill -TERM $!
wait $!
took=$(($(date +%s) - begin))
[ $took -le 8 ]
count $? "hostile files: the recorder exits $took s after SIGTERM"
run 0 "$stackreel" info --no-host-files "$work/hostile.reel"
has out 'hostile0.so'

# ---- images, and an empty root --------------------------------------------------------

python3 tests/reader/reel_images.py --write "$work/image" "$work/hits.reel" >"$work/images" 2>"$work/err"
count $? "another reader reads the images: $(cat "$work/err")"
for image in "$work"/image.*; do
    readelf -W -a "$image" >"$work/out" 2>"$work/err"
    [ -s "$work/out" ] && [ ! -s "$work/err" ] && ! grep -qi warning "$work/out"
    count $? "readelf accepts the image"
done
# The program and its C library or loader, as samples hit them
[ "$(wc -l <"$work/images")" -ge 2 ]
count $? "enough images"

if make -s O="$O" "$O/static/stackreel" 2>"$work/err"; then
    mkdir "$work/root"
    cp "$O/static/stackreel" "$work/hits.reel" "$work/root"
    "$stackreel" script -q -j1 --no-inline --no-host-files --debug-dir "$work/none" --symfs "$work/libraries" --module "$work/twin" "$work/hits.reel" >"$work/with"
    chroot "$work/root" /stackreel script -q -j1 --no-inline /hits.reel >"$work/alone" 2>"$work/err"
    cmp "$work/with" "$work/alone"
    count $? "same traces in an empty root"
else
    skip "cannot link stackreel statically"
fi
finish
