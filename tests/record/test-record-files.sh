#!/bin/bash
# The files of stackreel-record after a full disk, with rotation and encryption, and after a kill.
# Inspects files with the independent reader (record_check.py). Needs root and BPF.
# run.sh: records thorough
# checks: =record =record/output record/processes
# shellcheck disable=SC2012,SC2016,SC2181,SC2317
. "$(dirname "$0")/../count.sh"
. tests/record/recording.sh
needs_to_record

# ---- full disk ------------------------------------------------------------------------------

if mkdir small && mount -t tmpfs -o size=300k none small 2>/dev/null; then
    # Raw stacks, since scrubbed noise would not fill the disk.
    record --raw-stacks -F 4000 -o small/full.reel -- "$busy" noise 32768 20
    status=$?
    [ $status = 1 ] && [ "$(grep -c . err)" = 1 ] &&
        grep -qE 'No space left on device; [0-9,]+ samples \([0-9.]+ [kKM]?B\) are safe in small/full.reel' err
    count $? "a full disk ends the recording"
    ok "the stored part is readable" "$check" small/full.reel cut samples="$(sed -E 's/.*device; ([0-9,]+) samples.*/\1/;s/,//g' err)"
    umount small
    mount -t tmpfs -o size=3m none small
    record --raw-stacks -F 199 --rotate 64K -o small/part.reel -- "$busy" noise 8192 8
    status=$?
    [ $status = 0 ] && grep -q 'disk full: deleted the oldest part' err
    count $? "a full disk: --rotate goes on without the oldest parts: status $status: $(tail -n 2 err)"
    parts=(small/part.*.reel)
    [ ${#parts[@]} -ge 2 ] && [ "${parts[0]}" != small/part.0001.reel ]
    count $? "the latest parts are kept: ${parts[*]}"
    for part in "${parts[@]}"; do
        ok "part $part is readable alone" "$check" "$part" complete placed
    done
    umount small
else
    skip "full disk: cannot mount tmpfs"
fi

# ---- rotation -------------------------------------------------------------------------------

# most COMMAND...: the most bytes that its files had while it ran, looked at often
most() {
    python3 - "$@" <<'END'
import glob, os, subprocess, sys, time
child = subprocess.Popen(sys.argv[2:], stdout=subprocess.DEVNULL, stderr=open("err", "w"))
most = 0
while child.poll() is None:
    total = 0
    for name in glob.glob(sys.argv[1]):
        try:
            total += os.stat(name).st_size
        except FileNotFoundError:
            pass
    most = max(most, total)
    time.sleep(0.02)
print(most)
END
}
total=$(most 't.*' "$recorder" --raw-stacks --rotate 100K,6M -F 199 -o t.reel -- "$busy" noise 8192 4)
parts=(t.*.reel)
[ "${parts[0]}" != t.0001.reel ] && [ ${#parts[@]} -ge 2 ] && [ "$total" -le $((6 << 20)) ] && [ "$total" -gt 3000000 ]
count $? "--rotate with a limit of all parts: at most $total bytes, ${parts[*]}: $(tail -n 1 err)"

# A budget smaller than what a second brings: the rest of each part is lost, and counted.
total=$(most 's.*' "$recorder" --raw-stacks --rotate 1m,1M -F 199 -o s.reel -- "$busy" noise 32768 2)
[ "$total" -le $((1 << 20)) ] && [ "$(ls s.* | wc -l)" -ge 1 ] && grep -q '[1-9][0-9,]* lost' err
count $? "a budget that is too small: at most $total bytes: $(tail -n 1 err)"

# ---- a folder of parts -----------------------------------------------------------------------

"$busy" spin 60 &
spinner=$!
"$recorder" -q -F 99 --rotate 500ms -o d/ -p $spinner 2>err &
recording=$!
until [ "$(ls d/*.reel 2>/dev/null | wc -l)" -ge 3 ]; do kill -0 $recording || break; sleep 0.1; done
parts=(d/*.reel)
for part in "${parts[@]}"; do
    ok "a finished part: $part" "$check" "$part" complete placed
done
[[ ${parts[0]} =~ /"$(uname -n)"-[0-9]{8}T[0-9]{6}\.[0-9]{3}Z\.reel$ ]] && [ "$(ls d/*.reel.partial | wc -l)" -le 2 ]
count $? "names of host and time: $(ls d | xargs)"
fails 1 'another stackreel-record writes to d/' --rotate 500ms -o d/ -- true
kill -9 $recording $spinner
wait $recording $spinner 2>/dev/null
partial=$(ls d/*.reel.partial | head -n 1)
: >d/other.reel
record -F 99 --rotate 300ms,2 -o d/ -- "$busy" spin 1
ls d >names
! grep -q partial names && ! [ -e "${parts[0]}" ] && [ "$(grep -c Z.reel names)" = 3 ] && [ -e d/other.reel ]
count $? "parts of an earlier recording count, other files stay: $(xargs <names); was $partial"

if mount -t tmpfs -o size=24m none small 2>err; then
    mkdir -p small/p
    record --raw-stacks -F 199 --rotate 300ms --min-free=20M -o small/p/ -- "$busy" noise 8192 4
    status=$?
    free=$(($(stat -f -c '%a * %S' small)))
    [ $status = 0 ] && [ "$free" -ge $((20 << 20)) ] && ls small/p/*.reel >/dev/null && grep -q 'deleted the oldest' err
    count $? "--min-free: $free bytes are free: status $status: $(tail -n 2 err)"
    # Others fill the disk: nothing is left to delete, and nothing ends.
    record --raw-stacks -F 199 --rotate 300ms --min-free=50% -o small/p/ -- sh -c "head -c 13m /dev/zero >small/others; '$busy' noise 8192 2; rm small/others; '$busy' noise 8192 2"
    status=$?
    [ $status = 0 ] && grep -q '[1-9][0-9,]* lost' err && "$check" "$(ls small/p/*.reel | tail -n 1)" complete
    count $? "a disk that others filled for a while: status $status: $(tail -n 1 err)"
    umount small
fi

record --rotate 400ms -o r.reel -- "$busy" threads 1 1.5
ls r.*.reel >parts
[ "$(wc -l <parts)" -ge 3 ]
count $? "--rotate by time makes parts"
while read -r part; do
    ok "part $part is readable alone" "$check" "$part" complete placed=98
done <parts
record --raw-stacks --rotate 100K,2 -F 4000 -o k.reel -- "$busy" noise 16384 1.5
[ "$(ls k.*.reel | wc -l)" = 3 ]
count $? "--rotate by size keeps the requested number of parts"
grep -q 'k\.[0-9]*\.reel and the previous 2$' err
count $? "the summary counts the parts that are left: $(tail -n 1 err)"
for part in k.*.reel; do
    ok "part $part is readable alone" "$check" "$part" complete placed
done
"$recorder" --rotate 300ms,1 -o u.reel -- "$busy" spin 3 2>err &
recording=$!
sleep 1.2
kill -USR2 $recording
wait $recording
grep -c 'kept u' err >kept
[ "$(cat kept)" -ge 1 ] && [ "$(ls u.*.reel | wc -l)" -ge $((2 + $(cat kept))) ]
count $? "SIGUSR2 keeps parts"
sed -n 's/.*kept //p' err | while read -r part; do [ -s "$part" ] || echo "$part"; done >gone
[ ! -s gone ]
count $? "... exactly the parts in its message"
if [ -x "$stackreel" ]; then
    last=$(sed -n 's/.*kept //p' err | tail -n 1)
    for part in u.*.reel; do
        "$stackreel" dump "$part" | sed -nE "s/.* MARK time=[0-9]+ kind=1 text=\"SIGUSR2 from process ([0-9]+)\".*/$part \\1/p"
    done >marked
    [ "$(cat marked)" = "$last $$" ]
    count $? "... and marks the moment in the last one: $(cat marked)"
fi
first=$(head -n 1 parts)
cp "$first" before
# The next part cannot be opened; the previous part has the stored data.
mkdir failed
fails 1 'failed/r\.[0-9]+\.reel\.partial: .*samples \([^)]*\) are safe in failed/r\.[0-9]+\.reel( and the previous [0-9]+)?$' \
    --rotate 300ms -o failed/r.reel -- sh -c "cp -l failed/r.0001.reel.partial whole.reel; rm -r failed; exec '$busy' spin 5"
count $? "a failing rotation reports the complete part"
"$check" whole.reel complete placed
count $? "... which is complete"
record --rotate 1s -o r.reel -- true
cmp -s before "$first"
count $? "a new recording keeps old parts"

# ---- encryption -----------------------------------------------------------------------------

# names CAPTURE: whether its unencrypted data names the program or a library.  Status 2: the search failed.
names() {
    zstd -dcq "$1" >raw 2>err || return 2
    grep -aq -e busy -e /usr/lib raw
}

if [ -x "$stackreel" ]; then
    public=$("$stackreel" keygen identity.key)
    echo "$public" >public.keys
    record --encrypt-to public.keys --rotate 500ms -o e.reel -- "$busy" spin 1.3
    for part in e.0001.reel e.0002.reel; do
        ok "an encrypted part: $part" "$check" "$part" encrypted=identity.key cut placed samples=50 comm=busy
        names "$part"
        [ $? = 1 ]
        count $? "$part contains no names"
    done
    names "$(ls k.*.reel | head -n 1)"
    count $? "an unencrypted capture contains names, by the same search"
    "$recorder" -q --encrypt-to "$public" -o e.reel -- "$busy" spin 60 2>err &
    recording=$!
    for _ in $(seq 200); do
        [ "$(stat -c %s e.reel 2>/dev/null || echo 0)" -gt 6000 ] && break
        sleep 0.1
    done
    command=$(pgrep -x -P $recording busy)
    sleep 0.7
    kill -KILL $recording
    wait $recording 2>/dev/null
    kill "$command"
    ok "encrypted, and killed" "$check" e.reel encrypted=identity.key cut placed samples=20
    ok "a secret key is rejected" fails 2 'a secret key' --encrypt-to identity.key -- true
else
    skip "encryption: $stackreel is not built"
fi

# ---- kills ----------------------------------------------------------------------------------

# The recorder promises to lose a second at most. The other second is for a machine busy with other tests.
for i in 1 2 3 4; do
    rm -f kill.reel
    "$recorder" -q -o kill.reel -- "$busy" spin 60 2>err &
    recording=$!
    # Wait for the first samples in the file, as starting may take long on a busy machine.
    for _ in $(seq 200); do
        [ "$(stat -c %s kill.reel 2>/dev/null || echo 0)" -gt 6000 ] && break
        sleep 0.1
    done
    command=$(pgrep -x -P $recording busy)
    sleep "$((RANDOM % 2)).$((RANDOM % 900 + 100))"
    moment=$(python3 -c 'import time; print(time.monotonic_ns())')
    kill -KILL $recording
    wait $recording 2>/dev/null
    kill "$command"
    ok "SIGKILL $i: loses the last second at most" "$check" kill.reel cut placed until=$((moment - 2000000000)) samples=20
done
finish
