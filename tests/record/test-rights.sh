#!/bin/bash
# The recorder keeps images of files as far as their processes may read them: not of a program that its user may execute only, but of all
# others, whatever their owner, mode, file system and namespaces. Needs root, to act as other users.
# run.sh: records
# checks: record/proc record/embedding
. "$(dirname "$0")/../count.sh"
tool=$PWD/${O:-build}/stackreel
chmod 1777 "$work"
for program in "$tool" "$recorder"; do
    [ -x "$program" ] || { skip "$program is not built"; finish; }
done
[ "$(id -u)" = 0 ] || { skip "needs root to act as other users"; finish; }
"$recorder" -q -o "$work/probe.reel" -- true 2>"$work/err"
[ -s "$work/probe.reel" ] || { skip "recording: $(head -n 1 "$work/err")"; finish; }

# Works for half a second of a CPU, as another user if one is given.
cat >"$work/work.c" <<'C'
#define _GNU_SOURCE
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

__attribute__((noinline)) static void works_here(void)
{
	for (volatile int i = 0; i < 1000000; i++)
		;
}

int main(int argc, char **argv)
{
	if (argc > 1 && setresuid(atoi(argv[1]), atoi(argv[1]), atoi(argv[1])))
		return 1;
	while (clock() < CLOCKS_PER_SEC / 2)
		works_here();
	return 0;
}
C
gcc -O1 -g -o "$work/work" "$work/work.c" || { skip "gcc is not installed"; finish; }

# image COMMAND...: whether a capture has the program's name of its function
image() {
    "$recorder" -F 199 -o "$work/a.reel" -- "$@" >"$work/out" 2>"$work/err" || return 2
    "$tool" folded -q --no-host-files "$work/a.reel" >"$work/stacks" 2>/dev/null
    grep -q 'works_here' "$work/stacks"
}

# place MODE OWNER: the program's file
place() {
    rm -f "$work/program"
    cp "$work/work" "$work/program"
    chown "$2" "$work/program"
    chmod "$1" "$work/program"
}
other=(setpriv --reuid=65534 --regid=65534 --clear-groups)

place 755 0:0
image "${other[@]}" "$work/program"
count $? "a program that all may read"
place 711 0:0
image "${other[@]}" "$work/program"
[ $? = 1 ]
count $? "no image of a program that its user may only execute"
"$tool" dump "$work/a.reel" 2>/dev/null | grep -q "MODULE.*$work/program"
count $? "its identity is recorded"
grep -q "$work/program: .*may not read it" "$work/err"
count $? "it is named as missing: $(cat "$work/err")"
image "$work/program"
count $? "root may read the same program"
place 750 0:65534
image "${other[@]}" "$work/program"
count $? "a program of the process's group"
place 710 0:65534
image "${other[@]}" "$work/program"
[ $? = 1 ]
count $? "a program that the process's group may only execute"
place 4711 0:0
image "${other[@]}" "$work/program"
count $? "a set-user-id program"
place 700 0:0
image "$work/program" 65534
count $? "a program of root's that then becomes another user's process"
place 700 65534:65534
image "${other[@]}" "$work/program"
count $? "a user's own program"
image "${other[@]}" sh -c "cp $work/program /tmp/gone.$$ && { /tmp/gone.$$ & } && sleep 0.2 && rm /tmp/gone.$$; wait"
count $? "a deleted program"

# Containers
place 755 0:0
if "${other[@]}" unshare -Urm true 2>/dev/null; then
    image "${other[@]}" unshare -Urm sh -c "mount -t tmpfs t /mnt && cp $work/program /mnt && chmod 700 /mnt/program && exec /mnt/program"
    count $? "a private file system in namespaces"
    install -d -o 65534 "$work/lower"
    cp "$work/work" "$work/lower"
    overlay="mount -t tmpfs t /mnt && mkdir /mnt/u /mnt/w && mount -t overlay -o lowerdir=$work/lower,upperdir=/mnt/u,workdir=/mnt/w o /mnt && cd /mnt"
    if "${other[@]}" unshare -Urm sh -c "$overlay" 2>/dev/null; then
        image "${other[@]}" unshare -Urm sh -c "$overlay && exec ./work"
        count $? "a file of an overlay's lower folder"
        image "${other[@]}" unshare -Urm sh -c "$overlay && cp work new && exec ./new"
        count $? "a file of an overlay's upper folder"
    else
        skip "no overlay file systems in user namespaces"
    fi
else
    skip "no user namespaces"
fi
finish
