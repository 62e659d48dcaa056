#!/bin/bash
# Whom processes belong to (the labels unit, pod, container-name, pod-name, namespace) where systemd is the first process, in a guest: services,
# one from a template, a transient one, a session in a user's slice, and a container in slices as Kubernetes has them. -G records one of each.
#   CELLS="…"   the guests (arm64-6.12)
# run.sh: guests thorough
# checks: record/processes
. "$(dirname "$0")/../count.sh"
[ -x "$O/stackreel" ] || { skip "$O/stackreel is not built"; finish; }
container=3f4e5d6c7b8a99887766554433221100ffeeddccbbaa00112233445566778899

# groups CAPTURE KEYS: the groups of the samples, each once, without the keys' names
groups() {
    "$O/stackreel" folded -q --no-host-files --by "$2" --no-suffix "$out/$1.reel" 2>"$work/err" |
        cut -d ';' -f "1-$(tr ',' '\n' <<<"$2" | wc -l)" | sed -E 's/(^|;)[a-z-]+=/\1/g' | sort -u
}

# only CAPTURE KEYS THREAD GROUP: all samples of the thread are in this group
only() {
    groups "$1" "$2,comm" | grep ";$3\$" >"$work/found"
    [ "$(cat "$work/found")" = "$4;$3" ]
    count $? "$cell: $1, $3 by $2: $4, not $(tr '\n' ' ' <"$work/found")"
}

for cell in ${CELLS:-arm64-6.12}; do
    echo "$cell:"
    out=$work/$cell
    recorded "$cell" tests/vm/systemd.sh "$cell" "$out" || continue
    only all unit plain plain.service
    only all unit template template@template.service
    only all unit transient transient.service
    only all unit session session-7.scope
    only all unit pod cri-containerd-$container.scope
    only all cgroup session /user.slice/user-1000.slice/session-7.scope
    only all pod,container pod "0d2c5f3e-7b1a-4c6d-9e8f-a1b2c3d4e5f6;$container"
    # A loaded host's guest may find the names after the first samples, but they hold for all.
    only all container-name,pod-name,namespace pod "app;shop-0;default"
    only all container-name,pod plain "[no container-name];[no pod]"
    for name in plain session pod; do
        [ "$(groups "$name" comm)" = "$name" ]
        count $? "$cell: -G of $name records only that: $(groups "$name" comm | tr '\n' ' ')"
    done
    for name in name pod-name; do
        [ "$(groups "$name" comm)" = pod ]
        count $? "$cell: -G app and default/shop-0 record what has the $name: $(groups "$name" comm | tr '\n' ' ')"
    done
done
finish
