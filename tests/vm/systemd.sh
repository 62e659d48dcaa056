#!/bin/bash
# systemd.sh CELL OUTDIR - record units of systemd, which is the first process of a guest: services, scopes and slices, some of which are
# called as Kubernetes calls those of pods and containers
#
# Leaves in OUTDIR: NAME.reel and NAME.log of each recording. Each unit has a busy thread with a name of its own: plain, template, transient,
# session, and pod. all.reel has everything; the others what -G selects. Status: as run.sh's.
set -euo pipefail
. "$(dirname "$0")/common.sh"
guest_recorder "$@"
read -r _ _ _ _ userland < <("$vm/cells.sh" "$cell")
sysroot=$("$vm/sysroot.sh" "$userland" "$arch" systemd)
multiarch=$(multiarch "$arch")
programs=("$sysroot"/usr/lib/systemd/systemd "$sysroot"/usr/bin/{systemctl,systemd-run})
# systemd's own libraries are in a folder that only its programs search.
libraries=$("$vm/libs.sh" -s "$sysroot" -s "$sysroot/usr/lib/$multiarch/systemd" "${programs[@]}")
"${prefix}gcc" -O2 -static -pthread -o "$work/busy" "$root/tests/programs/busy.c"

# The guest's init runs as a service, instead of as the first process.
units=$work/units
mkdir -p "$units"
cat >"$units/default.target" <<'END'
[Unit]
DefaultDependencies=no
Wants=guest.service
END
cat >"$units/guest.service" <<'END'
[Unit]
DefaultDependencies=no
[Service]
ExecStart=/init
StandardOutput=tty
StandardError=tty
END
cat >"$units/plain.service" <<'END'
[Unit]
DefaultDependencies=no
[Service]
Nice=19
ExecStart=/bin/plain spin 1000
END
cat >"$units/template@.service" <<'END'
[Unit]
DefaultDependencies=no
[Service]
Nice=19
ExecStart=/bin/%i spin 1000
END

pod=0d2c5f3e-7b1a-4c6d-9e8f-a1b2c3d4e5f6
container=3f4e5d6c7b8a99887766554433221100ffeeddccbbaa00112233445566778899
cat >"$work/config.json" <<'END'
{"ociVersion":"1.1.0","process":{"env":["SECRET=\"annotations\":{"]},"annotations":{"io.kubernetes.cri.container-name":"app",
"io.kubernetes.cri.container-type":"container","io.kubernetes.cri.sandbox-name":"shop-0","io.kubernetes.cri.sandbox-namespace":"default"}}
END

cat >"$work/script" <<SCRIPT
for name in plain template transient session pod; do
	ln -s busy /bin/\$name
done
# Emulated CPUs are slow: the recorder comes first, whatever the session.
echo 0 >/proc/sys/kernel/sched_autogroup_enabled
# As containerd leaves it; systemd has mounted a file system at /run.
mkdir -p /run/containerd/io.containerd.runtime.v2.task/k8s.io/$container
cp /root/config.json /run/containerd/io.containerd.runtime.v2.task/k8s.io/$container
systemctl start plain.service template@template.service
systemd-run -q --unit=transient --nice=19 --property=DefaultDependencies=no /bin/transient spin 1000
systemd-run -q --scope --property=DefaultDependencies=no --slice=user-1000.slice --unit=session-7 --nice=19 /bin/session spin 1000 &
systemd-run -q --scope --property=DefaultDependencies=no --slice=kubepods-burstable-pod$(tr - _ <<<$pod).slice \
	--unit=cri-containerd-$container --nice=19 /bin/pod spin 1000 &
for name in plain template transient session pod; do
	until pidof \$name >/dev/null; do usleep 50000; done
done
recording() {
	local name=\$1
	shift
	stackreel-record -F 199 --max-stack 4k --embed none -o /out/\$name.reel "\$@" 2>/out/\$name.log || echo "failed: \$name"
	cat /out/\$name.log /proc/uptime
}
cd /out
cat /proc/uptime
recording all -a --duration 2
recording plain -G plain.service --duration 1
recording session -G user-1000.slice --duration 1
recording pod -G kubepods-burstable-pod$(tr - _ <<<$pod).slice --duration 1
recording name -G app --duration 1
recording pod-name -G default/shop-0 --duration 1
SCRIPT
status=0
# shellcheck disable=SC2046,SC2086 # lists of words
STACKREEL_VM_CPUS=2 STACKREEL_VM_APPEND="rdinit=/usr/lib/systemd/systemd systemd.log_level=warning systemd.log_target=console" \
	"$vm/run.sh" "$cell" "$work/script" "$work/out" "$recorder" "$work/busy" "$work/config.json=/root/config.json" $libraries \
	$(for file in "${programs[@]}"; do echo "$file=${file#"$sysroot"}"; done) \
	$(for file in "$units"/*; do echo "$file=/etc/systemd/system/${file##*/}"; done) || status=$?
if [ $status = 0 ]; then
	mkdir -p "$outdir"
	cp "$work/out/"* "$outdir/"
	chmod 644 "$outdir"/*.*
fi
exit $status
