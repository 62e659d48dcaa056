#!/bin/bash
# -o FILE in a world-writable folder, where somebody else has already created something under that name. Tests the recorder as root, and
# every command of stackreel that writes a file: no file of another user is written to or truncated, and no device is changed. Captures are
# private to their owner; umask decides who may read reports.
# Needs root, in order to act as a second user.
. "$(dirname "$0")/../count.sh"
root=$PWD
tool=$PWD/${O:-build}/stackreel
chmod 755 "$work"
[ "$(id -u)" = 0 ] || { skip "needs root to act as a second user"; finish; }
nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups sh -c "$1"; }
nobody true 2>/dev/null || { skip "needs setpriv to act as a second user"; finish; }

capture=$work/capture.reel
cp "$root/testdata/format/good-two-threads.reel" "$capture"
if [ -x "${O:-build}/tests/cli/make_perf_data" ]; then
    "${O:-build}/tests/cli/make_perf_data" >"$work/perf.data"
    count $? "make_perf_data"
else
    skip "import: make_perf_data is not built"
fi
public=$work/public private=$work/private
cd "$work" || exit 1
umask 022

# ---- writers ----------------------------------------------------------------------------

# make WRITER FILE: writes FILE in $public, with messages in $work/err.
make() {
    local arguments=()
    case $1 in
    record) arguments=("$recorder" -q -o "$2" -- true) ;;
    import) arguments=("$tool" import -q -o "$2" "$work/perf.data") ;;
    scrub | shrink | cut | merge | dump | verify | repair) arguments=("$tool" "$1" -q -o "$2" "$capture") ;;
    *) arguments=("$tool" "$1" -q --no-host-files -o "$2" "$capture") ;;
    esac
    (cd "$public" && timeout 120 "${arguments[@]}" >"$work/stdout" 2>"$work/err" </dev/null)
}

writers=(report script folded info doctor dump scrub shrink cut merge verify repair)
[ ! -s perf.data ] || writers+=(import)
if [ -x "$recorder" ]; then
    "$recorder" -q -o probe.reel -- true 2>err
    if [ -s probe.reel ]; then
        writers+=(record)
    else
        skip "recording: $(head -n 1 err)"
    fi
else
    skip "recording: $recorder is not built"
fi
records=
[[ ${writers[*]} != *record ]] || records=yes

# fresh: new folders, one like /tmp, and one only for root with a secret in it.
fresh() {
    rm -rf "$public" "$private"
    mkdir -m 1777 "$public"
    mkdir -m 700 "$private"
    echo secret >"$private/secret"
    chmod 600 "$private/secret"
}
untouched() { [ "$(cat "$private/secret")" = secret ] && [ "$(ls "$private")" = secret ]; }
# only NAME...: the folder contains exactly these names, so no temporary file remains.
only() { [ "$(LC_ALL=C ls -A "$public" | xargs)" = "$*" ]; }
# mode_of WRITER UMASK: the expected mode of a new file, in octal. Reports have the mode of a file created by the shell.
mode_of() {
    case $1 in
    report | script | folded | info | doctor | verify) printf %o $((0666 & ~$2)) ;;
    *) echo 600 ;;
    esac
}
# has_mode MODE FILE: the file belongs to root and is not empty.
has_mode() { [ "$(stat -c '%a %u %F' "$public/$2")" = "$1 0 regular file" ] && [ -s "$public/$2" ]; }
for_root_alone() { has_mode 600 "$1"; }
# refused WRITER PATTERN: a case that passes if the writer exits with status 1 and a message that matches PATTERN.
refused() {
    local status
    make "$1" out
    status=$?
    [ $status = 1 ] && grep -qE "$2" err && untouched
    count $? "$1: rejected with '$2' (status $status)"
}
replaced() {
    local status
    make "$1" out
    status=$?
    [ $status = 0 ] && has_mode "$(mode_of "$1" 022)" out && untouched
    count $? "$1: $2 (status $status, $(stat -c '%a %u %F' "$public/out"))"
}

# ---- planted files --------------------------------------------------------------------------

for writer in "${writers[@]}"; do
    fresh
    nobody "ln -s $private/new $public/out"
    refused "$writer" 'out: a symbolic link of user 65534'
    [ -L "$public/out" ] && only out
    count $? "$writer: a dangling link is unchanged"

    fresh
    nobody "ln -s $private/secret $public/out"
    refused "$writer" 'out: a symbolic link of user 65534'

    # The attacker keeps the file open under a different name.
    for content in '' before; do
        fresh
        nobody "printf '$content' >$public/mine; chmod 666 $public/mine; ln $public/mine $public/out"
        replaced "$writer" "another's file with '$content' is replaced"
        [ "$(cat "$public/mine")" = "$content" ]
        count $? "$writer: does not write to another user's file"
    done

    # As with fs.protected_hardlinks off.
    fresh
    cp -p "$private/secret" "$public/roots"
    nobody "ln $public/roots $public/out" 2>/dev/null || ln "$public/roots" "$public/out"
    replaced "$writer" "a hard link to root's file is replaced"
    [ "$(cat "$public/roots")" = secret ]
    count $? "$writer: root's file is unchanged"

    fresh
    nobody "mkfifo -m 666 $public/out"
    nobody "timeout 20 cat $public/out" >leaked &
    reader=$!
    sleep 0.2
    refused "$writer" 'out: a FIFO of user 65534'
    kill $reader
    wait $reader 2>/dev/null
    [ ! -s leaked ]
    count $? "$writer: does not write to another user's FIFO"

    fresh
    nobody "mkdir $public/out"
    refused "$writer" 'Is a directory'

    fresh
    (umask 022 && : >"$public/out")
    replaced "$writer" "an own empty file of mode 644 is replaced"

    for umask in 0 027; do
        fresh
        (umask $umask && make "$writer" out)
        has_mode "$(mode_of "$writer" $umask)" out && [ "$(ls -A "$public" | wc -l)" = 1 ]
        count $? "$writer: umask $umask ($(stat -c %a "$public/out"))"
    done

    # Also test a new device file, since /dev/null may be a mount here.
    fresh
    devices=(/dev/null)
    mknod -m 666 "$public/null" c 1 3 2>/dev/null && : >"$public/null" 2>/dev/null && devices+=("$public/null")
    for device in "${devices[@]}"; do
        before=$(stat -c '%i %a %u:%g %t:%T %h' "$device")
        make "$writer" "$device"
        status=$?
        [ $status = 0 ] && [ "$(stat -c '%i %a %u:%g %t:%T %h' "$device")" = "$before" ] && untouched
        count $? "$writer: $device is unchanged (status $status)"
    done
done

if [ -x "$tool" ]; then
    fresh
    nobody "ln -s $private/new $public/out"
    run 1 "$tool" keygen "$public/out"
    untouched && [ -L "$public/out" ]
    count $? "keygen: does not follow a dangling link"
    fresh
    (umask 0 && "$tool" keygen "$public/out" >stdout)
    ok "keygen: umask 0" for_root_alone out
fi

# ---- folders ---------------------------------------------------------------------------------

# files NAME: writes files below $public/NAME; the second way is the folder that core makes for itself.
images=$root/testdata/golden/x86_64-exception.reel
files() { (cd "$public" && "$tool" unpack -o "$1" "$images" >"$work/stdout" 2>"$work/err"); }
core_files() { (cd "$public" && "$tool" core -q --sample 1 --no-host-files -o "${1%.images}" "$images" >"$work/stdout" 2>"$work/err"); }
if [ -x "$tool" ]; then
    for way in files core_files; do
        fresh
        nobody "ln -s $private $public/out.images"
        $way out.images
        [ $? = 1 ] && untouched && grep -q 'out.images: a symbolic link of user 65534' err
        count $? "$way: does not follow another's link to a folder"
        fresh
        nobody "mkdir $public/out.images"
        $way out.images
        [ $? = 1 ] && [ -z "$(ls -A "$public/out.images")" ] && grep -q 'out.images: the folder of user 65534' err
        count $? "$way: writes nothing into another's folder"
        SUDO_UID=65534 SUDO_GID=65534 $way out.images
        [ $? = 0 ] && [ -d "$public/out.images/.build-id" ]
        count $? "$way by sudo: writes into the caller's folder"
        fresh
        mkdir "$public/real" && ln -s real "$public/out.images"
        $way out.images && [ -d "$public/real/.build-id" ]
        count $? "$way: follows the user's own link"
        fresh
        $way out.images && [ "$(stat -c %a "$public/out.images")" = 700 ] && [ -d "$public/out.images/.build-id" ]
        count $? "$way: makes the folder"
    done
fi

# ---- accepted links and FIFOs ------------------------------------------------------------------

for writer in folded scrub ${records:+record}; do
    fresh
    mkdir elsewhere && ln -s elsewhere/real link
    (public=$work && make "$writer" link) && [ -L link ] && [ -s elsewhere/real ] && [ "$(stat -c %a elsewhere/real)" = "$(mode_of "$writer" 022)" ]
    count $? "$writer: follows and keeps the user's own link in the user's own folder"
    rm -r elsewhere link

    mkdir -m 755 "$public/theirs" && nobody "ln -s $private/new $public/link" && mv "$public/link" "$public/theirs/out" &&
        chown 65534 "$public/theirs"
    make "$writer" theirs/out
    [ $? = 1 ] && untouched
    count $? "$writer: root does not follow a link of the folder's owner"

    # A folder on the way: the user of sudo could swap it for a link at any time.
    fresh
    nobody "ln -s $private $public/way"
    make "$writer" way/out
    status=$?
    [ $status = 1 ] && untouched && grep -q 'way/out: a symbolic link of user 65534' err
    count $? "$writer: does not follow another's link to a folder (status $status)"
    mkdir "$private/own" && rm "$public/way" && ln -s ../private/own "$public/way"
    make "$writer" way/../own/out && [ -s "$private/own/out" ]
    count $? "$writer: follows the user's own link to a folder"

    fresh
    ln -s /dev/null "$public/out"
    refused "$writer" 'a link to a device'
    make "$writer" /dev/null && [ -c /dev/null ]
    count $? "$writer: /dev/null"

    mkfifo "$public/own"
    cat "$public/own" >piped &
    make "$writer" own
    wait $!
    [ -p "$public/own" ] && [ -s piped ]
    count $? "$writer: the user's own FIFO"
    if [ "$writer" != scrub ]; then
        make "$writer" own
        status=$?
        [ $status = 1 ] && grep -q 'own: no process opened this FIFO for reading' err
        count $? "$writer: a FIFO without a reader (status $status)"
    fi

    make "$writer" /dev/stdout && [ -s stdout ]
    count $? "$writer: /dev/stdout"
    # Writing to an open descriptor keeps the existing contents.
    echo before >appended
    make "$writer" /dev/fd/3 3>>appended
    [ "$(head -c 6 appended)" = before ] && [ "$(stat -c %s appended)" -gt 7 ]
    count $? "$writer: /dev/fd/3, appending"
    make "$writer" /dev/fd/9
    [ $? = 1 ]
    count $? "$writer: /dev/fd/9, not open"
    make "$writer" /proc/self/comm
    [ $? = 1 ]
    count $? "$writer: a file of /proc"
done

# A user who may not replace root's file gets an error before any work.
fresh
chmod 644 "$capture"
(umask 0 && echo roots >"$public/out")
cp "$tool" stackreel
nobody "cd $public && $work/stackreel scrub -o out $capture" 2>err
[ $? = 1 ] && [ "$(cat "$public/out")" = roots ] && grep -q "who alone can replace it" err && only out
count $? "without privileges: another user's file in a sticky folder"

# ---- other names that the recorder uses --------------------------------------------------------------------

[ -n "$records" ] || finish
plant_old() {
    fresh
    echo older >"$public/out"
    nobody "$1"
}
# moved WHAT: the recording replaced out, whose older content has another name than out.old, and out.old is as it was.
moved() {
    local before=$(stat -c '%i %F %u %t:%T' "$public/out.old") others
    replaced record "$1 at out.old"
    others=("$public"/out.old-*)
    [ "$(stat -c '%i %F %u %t:%T' "$public/out.old")" = "$before" ] && [ ${#others[@]} = 1 ] && [ "$(cat "${others[0]}")" = older ]
    count $? "$1 at out.old: unchanged"
}
plant_old "ln -s $private/new $public/out.old"
moved "another's dangling link"
plant_old "ln -s $private/secret $public/out.old"
moved "another's link to root's file"
plant_old "umask 0; echo before >$public/mine; ln $public/mine $public/out.old"
moved "another's file"
[ "$(cat "$public/mine")" = before ]
count $? "does not write to another user's out.old"
plant_old "mkdir $public/out.old"
moved "another's folder"
plant_old true
mknod "$public/out.old" c 1 3 && moved "a device"
# Nobody's own out, planted beside root's out.old.
fresh
echo roots >"$public/out.old"
nobody "echo older >$public/out"
moved "root's own file, with another's file at out"
for owner in 0 65534; do
    fresh
    echo older >"$public/out" && echo oldest >"$public/out.old" && chown $owner "$public/out" "$public/out.old"
    replaced record "a file of $owner beside an older one"
    [ "$(cat "$public/out.old")" = older ] && only out out.old
    count $? "a file of $owner replaces an older one of the same user"
done
fresh
chmod 755 "$public" && echo older >"$public/out" && ln -s nowhere "$public/out.old" && chown -h 65534 "$public/out.old"
replaced record "a link at out.old in an own folder"
[ "$(cat "$public/out.old")" = older ] && [ ! -L "$public/out.old" ]
count $? "the older file is moved to out.old"

# Plants all names of the following parts, after the recorder has chosen the numbers; meanwhile it is stopped.
fresh
# until_exists FILE: for a minute
until_exists() {
    local i
    for ((i = 0; i < 3000; i++)); do [ ! -e "$1" ] || return 0; sleep 0.02; done
    return 1
}
(cd "$public" && exec "$recorder" -q --rotate 1s -o out.reel -- sleep 600 2>"$work/err") &
recording=$!
until_exists "$public/out.0001.reel.partial"
kill -STOP $recording
nobody "cd $public && ln -s $private/new out.0002.reel && ln -s $private/secret out.0003.reel && umask 0 && : >out.0004.reel && mkfifo out.0005.reel && mkdir out.0006.reel"
count $? "plants names of parts"
kill -CONT $recording
until_exists "$public/out.0007.reel"
kill -INT $recording
wait $recording
[ $? = 143 ] && untouched && [ ! -s "$public/out.0004.reel" ] && for_root_alone out.0001.reel && for_root_alone out.0007.reel
count $? "skips planted names of parts: $(ls "$public" | xargs)"

# A user who runs the writer by sudo can read the output in their own folder; in other folders it belongs to root.
owner() { stat -c %u:%g:%a "$public/$1"; }
for writer in "${writers[@]}"; do
    fresh && chmod 755 "$public" && chown 65534 "$public"
    SUDO_UID=65534 SUDO_GID=65533 make "$writer" out
    [ "$(owner out)" = "65534:65533:$(mode_of "$writer" 022)" ]
    count $? "$writer by sudo, in the caller's folder: $(owner out)"
    for ids in "65533 65533" "65534x 65534" "4294967295 1" " 65534"; do
        rm "$public/out"
        SUDO_UID=${ids% *} SUDO_GID=${ids#* } make "$writer" out
        [ "$(owner out)" = "0:0:$(mode_of "$writer" 022)" ]
        count $? "$writer by sudo of '$ids', in another user's folder: $(owner out)"
        [ "$writer" = report ] || break
    done
done
if [ -n "$records" ]; then
    fresh && chmod 755 "$public" && chown 65534 "$public"
    (cd "$public" && SUDO_UID=65534 SUDO_GID=65534 timeout 120 "$recorder" -q --rotate 300ms -o out.reel -- sh -c 'until [ -e out.0002.reel ]; do sleep 0.1; done' 2>"$work/err")
    [ "$(owner out.0001.reel)" = 65534:65534:600 ] && [ "$(owner out.0002.reel)" = 65534:65534:600 ]
    count $? "the same for all parts: $(stat -c '%n of %u' "$public"/* | xargs)"
fi

# SIGTERM while the FIFO has no reader.
fresh
mkfifo "$public/own"
(cd "$public" && exec "$recorder" -q -o own -- true) 2>err &
recording=$!
sleep 0.5
kill -TERM $recording
start=$SECONDS
wait $recording
status=$?
[ $status = 143 ] && [ $((SECONDS - start)) -lt 60 ]
count $? "SIGTERM ends the wait for a FIFO's reader (status $status)"

# A killed recorder leaves its data under the requested name.
fresh
(cd "$public" && exec "$recorder" -q -o out -- sh -c "echo \$\$ >$work/command; exec sleep 60") 2>err &
recording=$!
for _ in $(seq 600); do
    [ -s "$public/out" ] && [ -s command ] && break
    sleep 0.1
done
kill -KILL $recording
wait $recording 2>/dev/null
kill "$(cat command)"
for_root_alone out && only out && "$tool" dump -q "$public/out" 2>err | grep -q CAPTURE
count $? "a killed recorder's file: $(ls -A "$public" | xargs)"
finish
