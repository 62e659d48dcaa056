#!/bin/bash
# The recorder reads a process's perf map only if the process itself could: not another's file that it mounts there, nor one that only root
# may read. Needs root, to act as a second user.
# run.sh: records
. "$(dirname "$0")/../count.sh"
tool=$PWD/${O:-build}/stackreel
# Not in /tmp, where the process mounts something else.
maps=()
trap 'rm -rf "$work" "${maps[@]}"' EXIT
chmod 755 "$work"
[ -x "$recorder" ] || { skip "recording: $recorder is not built"; finish; }
[ "$(id -u)" = 0 ] || { skip "needs root to act as a second user"; finish; }
[ "$(uname -m)" = x86_64 ] || { skip "the program's code is for x86_64"; finish; }
mkdir -m 777 "$work/shared"
mkdir -m 755 "$work/mnt"

# Code outside of files, which calls nothing: it runs once GO exists, until its thread has used a second of a CPU.
cat >"$work/jit.c" <<'C'
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	static const unsigned char loop[] = { 0x55, 0x48, 0x89, 0xe5, 0xb9, 0, 0, 0, 4, 0xff, 0xc9, 0x75, 0xfc, 0x5d, 0xc3 };
	char *code = mmap((void *)0x10000000, 4096, 7, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	FILE *pid = fopen(argv[1], "w");

	(void)argc;
	memcpy(code, loop, sizeof(loop));
	fprintf(pid, "%d\n", getpid());
	fclose(pid);
	while (access(argv[2], F_OK))
		usleep(10000);
	for (clock_t end = clock() + 2 * CLOCKS_PER_SEC; clock() < end;)
		((void (*)(void))code)();
}
C
gcc -O1 -o "$work/jit" "$work/jit.c" || { skip "gcc is not installed"; finish; }
"$recorder" -q -o "$work/probe.reel" -- true 2>"$work/err"
[ -s "$work/probe.reel" ] || { skip "recording: $(head -n 1 "$work/err")"; finish; }

# names MAKE [WRAPPER...]: whether the capture has the name that MAKE, run as root with the process's number, has put into its map.
names() {
    local make=$1 pid recording
    shift
    rm -f "$work"/shared/*
    timeout 60 "$recorder" -q -F 299 -o "$work/a.reel" -- setpriv --reuid=65534 --regid=65534 --clear-groups "$@" "$work/jit" \
        "$work/shared/pid" "$work/shared/go" 2>"$work/err" &
    recording=$!
    for _ in $(seq 200); do
        [ -s "$work/shared/pid" ] && break
        sleep 0.05
    done
    pid=$(cat "$work/shared/pid")
    maps+=("/tmp/perf-$pid.map")
    $make "$pid"
    : >"$work/shared/go"
    wait $recording || return 2
    "$tool" dump "$work/a.reel" | grep -q 'JIT_SYMBOL.*name="secret'
}
line='10000000 1000 secret'
own() { setpriv --reuid=65534 --regid=65534 --clear-groups sh -c "umask 077; echo $line >/tmp/perf-$1.map"; }
public() { (umask 022; echo "$line" >"/tmp/perf-$1.map"); }
group() { (umask 027; echo "$line" >"/tmp/perf-$1.map"; chgrp 65534 "/tmp/perf-$1.map"); }
private() { (umask 077; echo "$line" >"/tmp/perf-$1.map"); }

names own
count $? "a private map of the process's own user"
names public
count $? "root's map that all may read"
names group
count $? "root's map that the process's group may read"
names private
[ $? = 1 ]
count $? "root's map that only root may read is not read"

# In a mount namespace of its own, the process has files of others below its own /tmp.
(umask 022; echo "$line" >"$work/public")
(umask 077; echo "$line" >"$work/private")
cat >"$work/inside" <<S
#!/bin/sh
mount -t tmpfs t $work/mnt || exit 3
for pid in \$(seq 20); do
    : >$work/mnt/perf-\$pid.map && mount --bind \$MAP $work/mnt/perf-\$pid.map || exit 3
done
mount --rbind $work/mnt /tmp && exec "\$@"
S
chmod 755 "$work/inside"
if setpriv --reuid=65534 --regid=65534 --clear-groups unshare -Urm true 2>/dev/null; then
    for map in private public; do
        export MAP=$work/$map
        names true unshare -Urmpf --mount-proc "$work/inside"
        status=$?
        [ $status = 1 ]
        count $? "a mounted $map file is not read (status $status)"
    done
else
    skip "no user namespaces"
fi
finish
