#!/bin/bash
# Frames get names only from their own process's file. An attacker maps a copy of a library with the same build-id but different names and
# code, before the victim maps the original. Both are unprivileged users. Needs root and BPF.
# run.sh: thorough
# checks: record/processes =replay/names =replay/files
# shellcheck disable=SC2015,SC2094,SC2181,SC2317
. "$(dirname "$0")/../count.sh"
reader=$PWD/tests/reader/reel_reader.py
chmod 755 "$work"
attacker=
trap '[ -z "$attacker" ] || kill "$attacker" 2>/dev/null; rm -rf "$work"' EXIT

if [ ! -x "$recorder" ] || [ ! -x "$stackreel" ] || [ "$(id -u)" != 0 ] || ! command -v setpriv >/dev/null; then
    skip "root, setpriv, $recorder and $stackreel are needed"
    finish
fi
cd "$work" || exit
cc=${CC:-cc}

# The same code except for the names: an attacker can pad functions to match.
library() {
    cat <<E2
double $1(double seconds);
double $2(void);
#include <time.h>
double __attribute__((noinline)) $2(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}
double __attribute__((noinline)) $1(double seconds)
{
	double end = $2() + seconds;
	volatile unsigned sum = 0;

	while ($2() < end) {
		for (unsigned i = 0; i < 100000; i++)
			sum += i;
	}
	return sum;
}
E2
}
cat >run.c <<'E2'
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	void *library = argc == 4 ? dlopen(argv[1], RTLD_NOW) : NULL;
	double (*work)(double) = library ? (double (*)(double))dlsym(library, argv[2]) : NULL;

	if (!work)
		return 1;
	printf("mapped\n");
	fflush(stdout);
	return work(atof(argv[3])) < 0;
}
E2
library check_password now_a >victim.c
library forged_name_xx now_b >attacker.c
mkdir usr home
id=0x0123456789abcdef0123456789abcdef01234567
$cc -O1 -g -o run run.c -ldl &&
    cp run victim && cp run attacker &&
    $cc -O1 -g -shared -fPIC -Wl,--build-id=$id -o usr/libpassword.so victim.c &&
    $cc -O1 -g -shared -fPIC -Wl,--build-id=$id -o home/libforged.so attacker.c || { failed=1; finish; }
"$recorder" -q -o probe.reel -- true 2>err
[ -s probe.reel ] || { skip "$(head -n 1 err)"; finish; }

# attack OPTION...: the attacker maps and runs the copy, then the victim starts. Records to a.reel.
attack() {
    : >mapped
    setpriv --reuid=65534 --regid=65534 --clear-groups ./attacker "$work/home/libforged.so" forged_name_xx 1000 >mapped &
    attacker=$!
    for _ in $(seq 200); do [ -s mapped ] && break; sleep 0.05; done
    "$recorder" -a -F 499 "$@" -o a.reel -- setpriv --reuid=1 --regid=1 --clear-groups \
        ./victim "$work/usr/libpassword.so" check_password 1 >out 2>err
    local status=$?
    kill "$attacker"
    wait "$attacker" 2>/dev/null
    attacker=
    return "$status"
}

# named COMM: the number of COMM's frames with the victim's name, and with the attacker's.
named() {
    "$stackreel" script --comm="$1" a.reel >script 2>/dev/null
    echo "$(grep -c check_password script) $(grep -c forged_name script)"
}

# Both have samples, and each has names from its own file only.
names_are_right() {
    local victim attacker
    victim=$(named victim) attacker=$(named attacker)
    echo "victim: $victim, attacker: $attacker (check_password, forged_name)"
    [ "${victim#* }" = 0 ] && [ "${victim% *}" -gt 20 ] && [ "${attacker% *}" = 0 ] && [ "${attacker#* }" -gt 20 ]
}

# The attacker maps the copy before the recording starts, so it is read from /proc.
ok "recording beside an attacker" attack
ok "each process's frames have names from the file it mapped" names_are_right
[ "$(python3 "$reader" a.reel | grep '"MODULE"' | grep -c "${id#0x}")" = 2 ]
count $? "two modules with one build-id"
python3 "$reader" a.reel | grep '"MODULE"' | grep -q "$work/usr/libpassword.so"
count $? "one has the victim's path"

# If the kernel reports build-ids, the files are not read.
ok "recording with the kernel's build-ids" attack --build-id-events
ok "... the names are right" names_are_right

# Both files have the same path, the attacker's in a different mount namespace, so the kernel reports both identically. Images must come
# from the mapped files.
same_path() {
    local inside=$work/usr/libpassword.so
    : >mapped
    unshare --mount sh -c "mount --bind '$work/home/libforged.so' '$inside' &&
        exec setpriv --reuid=65534 --regid=65534 --clear-groups ./attacker '$inside' forged_name_xx 1000" >mapped &
    attacker=$!
    for _ in $(seq 200); do [ -s mapped ] && break; sleep 0.05; done
    "$recorder" -a -F 499 --build-id-events "$@" -o a.reel -- sh -c "setpriv --reuid=1 --regid=1 --clear-groups \
        ./victim '$inside' check_password 1 & unshare --mount sh -c \"mount --bind '$work/home/libforged.so' '$inside' &&
        exec setpriv --reuid=65534 --regid=65534 --clear-groups ./attacker '$inside' forged_name_xx 1\"; wait" >out 2>err
    local status=$?
    kill "$attacker"
    wait "$attacker" 2>/dev/null
    attacker=
    return "$status"
}
ok "record two files with one path and build-id" same_path
mv usr/libpassword.so usr/gone
ok "... embedded images give each process names from its own file" names_are_right
mv usr/gone usr/libpassword.so

# If the victim's file is missing, its frames have no names, and never the attacker's.
ok "recording without embedding" attack --build-id-events --embed=none
mv usr/libpassword.so usr/gone
[ "$(named victim)" = "0 0" ]
count $? "no names without the victim's file: $(named victim)"
mv usr/gone usr/libpassword.so

# Upgrade in place: a different file with the same name is a different module.
$cc -O1 -g -shared -fPIC -Wl,--build-id=0xaabbccddeeff00112233445566778899aabbccdd -o usr/new.so victim.c
"$recorder" -a -F 499 -o b.reel -- sh -c '
    ./run usr/libpassword.so check_password 0.2 && mv usr/new.so usr/libpassword.so &&
    ./run usr/libpassword.so check_password 0.2' >out 2>err
[ "$(python3 "$reader" b.reel | grep '"MODULE"' | grep -c 'usr/libpassword.so')" = 2 ]
count $? "an upgrade in place: two modules with one path"

# A file that is overwritten keeps its inode, and what was read of it for an earlier process is no longer true.
$cc -O1 -g -shared -fPIC -Wl,--build-id=0xbbbbccddeeff00112233445566778899aabbccdd -o usr/new.so victim.c
"$recorder" -a -F 499 -o b.reel -- sh -c '
    ./run usr/libpassword.so check_password 0.2 && cat usr/new.so >usr/libpassword.so &&
    ./run usr/libpassword.so check_password 0.2' >out 2>err
[ "$(python3 "$reader" b.reel | grep '"MODULE"' | grep 'usr/libpassword.so' | grep -oE '(aabb|bbbb)ccddeeff' | sort | tr '\n' ' ')" = "aabbccddeeff bbbbccddeeff " ]
count $? "an overwritten file: two modules with one inode"

finish
