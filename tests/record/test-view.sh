#!/bin/bash
# stackreel-record --view: after the recording, `stackreel view` runs as the user who called sudo; not after an error; what is said if there is
# no stackreel.
. "$(dirname "$0")/../count.sh"
"$recorder" -q -o "$work/try.reel" -- true 2>/dev/null || { skip "cannot record here"; finish; }

# A stackreel that prints how it is called, beside a copy of the recorder.
mkdir "$work/bin" "$work/alone"
cp "$recorder" "$work/bin"
cp "$recorder" "$work/alone"
cat >"$work/bin/stackreel" <<'END'
#!/bin/sh
echo "ran as $(id -u):$(id -g), groups $(id -G), HOME=${HOME-none}: $*"
[ -r "$4" ] || [ -r "$3" ] && echo "readable"
END
chmod 755 "$work" "$work/bin" "$work/bin/stackreel"
mkdir -m 777 "$work/of-nobody"
chown 65534:65534 "$work/of-nobody" 2>/dev/null
file=$work/of-nobody/-a.reel
plain=(env -u SUDO_UID -u SUDO_GID)

run 0 "${plain[@]}" "$work/bin/stackreel-record" -q --view -o "$work/a.reel" -- true
has out "^ran as $(id -u):$(id -g), .*: view -q -- $work/a\.reel$"
has out '^readable$'
run 3 "${plain[@]}" "$work/bin/stackreel-record" --view -o "$work/a.reel" -- sh -c 'exit 3'
has out ": view -- $work/a\.reel$"
run 127 "${plain[@]}" "$work/bin/stackreel-record" -q --view -o "$work/b.reel" -- no-such-program
ok "nothing is shown after an error" test ! -s "$work/out"
run 2 "$work/bin/stackreel-record" --view --rotate 1s -o "$work/c.reel" -- true
has err -- '--view cannot be combined with --rotate or -o -'
run 0 "${plain[@]}" PATH=/usr/bin:/bin "$work/alone/stackreel-record" -q --view -o "$work/a.reel" -- true
if [ -x /usr/bin/stackreel ]; then skip "stackreel is installed"; else
    has err "--view: cannot execute stackreel: No such file or directory; on a host that has it: stackreel view $work/a\.reel$"
fi

# Ctrl-C ends the recording, and then the capture is shown: the signal arrives at the whole group.
(setsid "${plain[@]}" "$work/bin/stackreel-record" -q --view -o "$work/a.reel" -- sleep 30 >"$work/out" 2>"$work/err" &
    echo $! >"$work/pid"
    wait) &
for _ in $(seq 600); do sleep 0.1; [ -s "$work/a.reel" ] && pgrep -g "$(cat "$work/pid")" sleep >/dev/null && break; done
kill -INT -- "-$(cat "$work/pid")"
wait
has out ": view -q -- $work/a\.reel$"

if [ "$(id -u)" = 0 ]; then
    run 0 env SUDO_UID=65534 SUDO_GID=65534 "$work/bin/stackreel-record" -q --view -o "$file" -- true
    has out "^ran as 65534:65534, groups 65534, HOME=.*: view -q -- $file$"
    home=$(awk -F: '$3 == 65534 { print $6 }' /etc/passwd)
    has out "HOME=${home:-none}:"
    has out '^readable$'
    # The real one, as that user: it has no browser here.
    run 0 env -u DISPLAY -u WAYLAND_DISPLAY TMPDIR="$work/of-nobody" SUDO_UID=65534 SUDO_GID=65534 "$recorder" --view -o "$file" -- sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done'
    has err "wrote $work/of-nobody/stackreel-.*/-a\.html; open it in a browser"
    ok "the page is the user's" test "$(stat -c %u "$work"/of-nobody/stackreel-*/*.html)" = 65534
else
    skip "needs root to act as a user of sudo"
fi
finish
