#!/bin/bash
# Containers of a real engine: Podman starts some from a folder, without a registry, and its data stays in this test's folder. Their samples
# have the container's id and name, whatever PID namespaces their processes are in, and -G and --container take both. Needs root and podman.
# run.sh: records thorough
# checks: record/processes
# shellcheck disable=SC2181,SC2317
. "$(dirname "$0")/../count.sh"

# In a mount namespace of its own, where cgroup v2 may be mounted in place of v1 and where the engine's mounts go.
if [ "${1:-}" != inside ]; then
    command -v podman >/dev/null || { skip "podman is not installed"; finish; }
    unshare --mount true 2>/dev/null || { skip "needs root, to make mount namespaces"; finish; }
    unshare --mount --propagation private "$0" inside
    exit
fi
. tests/record/recording.sh
needs_to_record
root=$work/root
engine=(podman --root "$work/storage" --runroot "$work/run" --tmpdir "$work/tmp" --cgroup-manager cgroupfs --log-level error)
names=("stackreel-web-$$" "stackreel-app-$$")
declare -A ids=()

end_containers() {
    "${engine[@]}" rm -f -t 0 "${names[@]}" >/dev/null 2>&1
    umount "$work/storage/overlay" 2>/dev/null
    rm -rf "$work"
}
trap end_containers EXIT

mkdir -p "$root/bin" "$root/proc" "$root/dev" "$root/sys" "$root/tmp" "$root/etc"
"${CC:-cc}" -O2 -static -pthread -o "$root/bin/busy" "$tests/programs/busy.c" || { failed=1; finish; }
for name in web app; do cp "$root/bin/busy" "$root/bin/$name"; done

# start NAME COMMAND...
start() {
    local name=$1
    shift
    "${engine[@]}" run -d --network none --name "$name" "${options[@]}" --rootfs "$root" "$@" >"$work/out" 2>"$work/err"
}

# Without CAP_SYS_RESOURCE, as in some containers and virtual machines, limits may only become lower, and programs for devices have none.
limits=(--pids-limit -1 --ulimit nofile=256:256 --ulimit nproc=256:256 --privileged)
options=()
if ! start "${names[0]}" /bin/web spin 1000; then
    "${engine[@]}" rm -f "${names[0]}" >/dev/null 2>&1
    options=("${limits[@]}")
    [ -e /sys/fs/cgroup/cgroup.controllers ] || mount -t cgroup2 none /sys/fs/cgroup
    start "${names[0]}" /bin/web spin 1000 || { skip "podman cannot start a container here: $(tail -n 1 "$work/err")"; finish; }
fi
# The second one's processes are in a PID namespace within the container's.
nested=(/bin/app spin 1000)
if busybox unshare -p -f true 2>/dev/null && ! ldd "$(command -v busybox)" >/dev/null 2>&1; then
    cp "$(command -v busybox)" "$root/bin/busybox"
    nested=(/bin/busybox unshare -p -f /bin/app spin 1000)
    options+=(--privileged)
else
    skip "a nested PID namespace needs a static busybox"
fi
start "${names[1]}" "${nested[@]}"
count $? "a second container"
for name in "${names[@]}"; do
    ids[$name]=$("${engine[@]}" inspect -f '{{.Id}}' "$name")
done

run 0 "$recorder" -q -a -F 199 --max-stack 4k --embed none --duration 1 -o "$work/a.reel"
"$stackreel" folded -q --no-host-files --by container-name,comm --no-suffix "$work/a.reel" >"$work/names"
"$stackreel" folded -q --no-host-files --by container,comm --no-suffix "$work/a.reel" >"$work/ids"
for i in 0 1; do
    name=${names[i]} comm=${names[i]#stackreel-}
    comm=${comm%-*}
    samples=$(awk -v group="container-name=$name;$comm" 'index($0, group) == 1 { n += $NF } END { print n + 0 }' "$work/names")
    [ "$samples" -gt 10 ]
    count $? "$name: $samples samples by name and comm"
    [ "$samples" = "$(awk -v group="container=${ids[$name]};$comm" 'index($0, group) == 1 { n += $NF } END { print n + 0 }' "$work/ids")" ]
    count $? "... and as many by id"
    for value in "$name" "${ids[$name]}" "${ids[$name]:0:12}"; do
        [ "$("$stackreel" script -q --no-host-files -F comm --container "$value" "$work/a.reel" | grep -c "^ *$comm$")" = "$samples" ]
        count $? "--container $value selects them"
    done
done
! grep -qE "^\[no container-name\];(web|app);" "$work/names"
count $? "no sample of theirs is without a container"

# The host's number of the process, and that of the innermost namespace.
pid=$("${engine[@]}" inspect -f '{{.State.Pid}}' "${names[1]}")
[ ${#nested[@]} = 3 ] || read -r pid <"/proc/$pid/task/$pid/children"
"$stackreel" sql "$work/a.reel" "SELECT pid, namespace_pid FROM processes WHERE name = 'app'" >"$work/pids" 2>"$work/err"
[ "$(tail -n +2 "$work/pids")" = "$pid	1" ]
count $? "pids $pid and 1: $(tr '\n' ' ' <"$work/pids")"

for value in "${names[1]}" "${ids[${names[1]}]:0:12}"; do
    run 0 "$recorder" -q -G "$value" -F 199 --max-stack 4k --embed none --duration 1 -o "$work/g.reel"
    "$stackreel" folded -q --no-host-files --by container-name --no-suffix "$work/g.reel" >"$work/names"
    [ -s "$work/names" ] && ! grep -qv "^container-name=${names[1]};" "$work/names"
    count $? "-G $value records only this container: $(head -n 2 "$work/names")"
done
run 1 "$recorder" -q -G "stackreel-none-$$" -o "$work/none.reel"
says "no such cgroup, unit, container or pod"
finish
