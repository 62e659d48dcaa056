#!/bin/bash
# cpus.sh CELL OUTDIR - record with our own recorder on another kernel, while CPUs come online and go offline, the clock is stepped, the
# guest sleeps, and its kernel is locked down
#
# Leaves in OUTDIR: cpus.reel, limit.reel, named.reel and the parts of clock.reel, sleep.reel and flight.reel with the recorder's messages, *.log, also of lockdown; woke, the time
# when the guest woke up; and usr/bin/on_cpu, whose threads are named after the phase in which they run.
# Status: as run.sh's.
set -euo pipefail
. "$(dirname "$0")/common.sh"
guest_recorder "$@"
"${prefix}gcc" -O2 -g -static -o "$work/on_cpu" "$root/tests/programs/on_cpu.c" \
	"-ffile-prefix-map=$root=." "-ffile-prefix-map=$PWD=."

cat >"$work/script" <<'SCRIPT'
cd /out
online=/sys/devices/system/cpu/cpu1/online
[ -w $online ] || exit 77

# Threads: first, with one CPU; came; gone, with one CPU again; back; quick, after the CPU went offline and online at once; and late, whose
# process is known, but which got its program and name on the new CPU before the stopped recorder noticed the CPU.
echo 0 >$online
cat >/root/phases <<'END'
on_cpu first 0 400
echo 1 >/sys/devices/system/cpu/cpu1/online
on_cpu came 1 6000
echo 0 >/sys/devices/system/cpu/cpu1/online
on_cpu gone 0 1000
echo 1 >/sys/devices/system/cpu/cpu1/online
on_cpu back 1 6000
echo 0 >/sys/devices/system/cpu/cpu1/online
echo 1 >/sys/devices/system/cpu/cpu1/online
on_cpu quick 1 6000
echo 0 >/sys/devices/system/cpu/cpu1/online
(until [ -e /root/go ]; do :; done; exec on_cpu late 1 6000) &
sleep 1
kill -STOP $PPID
echo 1 >/sys/devices/system/cpu/cpu1/online
: >/root/go
until grep -q late /proc/$!/comm; do :; done
kill -CONT $PPID
wait
END
stackreel-record -a -F 199 -o cpus.reel -- sh /root/phases 2>cpus.log || { cat *.log; exit 1; }

# The recorder cannot open any file when the CPU comes online.
echo 0 >$online
cat >/root/phases <<'END'
on_cpu --limit $PPID
echo 1 >/sys/devices/system/cpu/cpu1/online
on_cpu unseen 1 600
echo 0 >/sys/devices/system/cpu/cpu1/online
on_cpu last 0 600
END
stackreel-record -a -F 199 -o limit.reel -- sh /root/phases 2>limit.log || { cat *.log; exit 1; }

# Recording only CPU 1, which goes offline and comes back.
echo 1 >$online
cat >/root/phases <<'END'
echo 0 >/sys/devices/system/cpu/cpu1/online
on_cpu other 0 600
echo 1 >/sys/devices/system/cpu/cpu1/online
on_cpu came 1 6000
END
stackreel-record -a -C 1 -F 199 -o named.reel -- sh /root/phases 2>named.log || { cat *.log; exit 1; }

# Steps of the clock, forwards and backwards.
cat >/root/phases <<'END'
on_cpu before 0 600
date -s '2040-01-01 00:00:00'
on_cpu future 0 3000
date -s '2020-01-01 00:00:00'
on_cpu past 0 3000
END
stackreel-record -a -F 199 --rotate 1s -o clock.reel -- sh /root/phases 2>clock.log >&2 || { cat *.log; exit 1; }

# A sleep takes CPU 1 offline and back without a report. A flight recorder waits for waits that are shorter than the sleep, longer than all others.
grep -q mem /sys/power/state && [ -w /sys/class/rtc/rtc0/wakealarm ] && {
mkdir -p /run
stackreel-record -a -F 199 --overwrite 5m --after 100ms --trigger 'off-cpu:sleep>10s' -o flight.reel 2>flight.log &
flight=$!
: >/guest/slept
until stackreel-record --status $flight >/root/status 2>&1; do sleep 1; done
cat >/root/phases <<'END'
on_cpu before 1 600
sleep 3 &
echo +15 >/sys/class/rtc/rtc0/wakealarm
echo mem >/sys/power/state
date -u '+%F %TZ' >woke
on_cpu after 1 3000
wait
END
stackreel-record -a -F 199 --rotate 1h -o sleep.reel -- sh /root/phases 2>sleep.log || { cat *.log; exit 1; }
stackreel-record --dump $flight
until [ -e flight.0001.reel ]; do sleep 1; done
kill $flight
wait $flight
}

# Until the next start.
mount -t securityfs none /sys/kernel/security
[ -w /sys/kernel/security/lockdown ] || exit 0
echo confidentiality >/sys/kernel/security/lockdown
stackreel-record -a -o refused.reel -- true 2>lockdown.log
[ ! -e refused.reel ]
SCRIPT
status=0
STACKREEL_VM_CPUS=2 "$vm/run.sh" "$cell" "$work/script" "$work/out" \
	"$recorder" "$work/on_cpu" || status=$?
if [ $status = 0 ]; then
	mkdir -p "$outdir/usr/bin"
	cp "$work/out/"* "$outdir/"
	chmod 644 "$outdir"/*.*
	cp "$work/on_cpu" "$outdir/usr/bin/"
fi
exit $status
