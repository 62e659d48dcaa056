#!/bin/bash
# The service in packaging/: the unit's exposure by systemd-analyze, the options in recorder.conf and in the DaemonSet, and the DaemonSet's schema.
# systemd itself does not run here: the unit's capabilities and its view of /proc are tried without it.
#
#   KUBERNETES=DIR  a folder whose node_modules contains kubernetes-models (tests/npm)
#
# run.sh: records
. "$(dirname "$0")/../count.sh"
. tests/record/recording.sh
packaging=$tests/../packaging
unit=$packaging/stackreel-recorder.service

if systemd-analyze security --offline=true --help >/dev/null 2>&1; then
    exposure=$(systemd-analyze security --offline=true "$unit" | sed -nE 's/.*Overall exposure level.*: ([0-9.]+) .*/\1/p')
    awk -v "value=$exposure" 'BEGIN { exit !(value > 0 && value < 2) }'
    count $? "systemd-analyze security: $exposure"
    systemd-analyze verify "$unit" 2>&1 | grep -vE 'is not executable|man stackreel-record' >err
    [ ! -s err ]
    count $? "systemd-analyze verify: $(head -n 2 err)"
else
    skip "the unit's exposure: no systemd-analyze that works offline"
fi

# A list of events is printed only if all options are valid.
sed -n '/^  recorder.conf: |/,/^---/s/^    //p' "$packaging/kubernetes.yaml" >pod.conf
grep -q '^all-cpus' pod.conf && cmp <(grep -v '^#\|^$' "$packaging/recorder.conf") pod.conf
count $? "the DaemonSet has the service's options"
sed 's/^#\([a-z].*\)/\1/; /^encrypt-to/d' "$packaging/recorder.conf" >all.conf
for file in "$packaging/recorder.conf" all.conf; do
    run 0 "$recorder" --config "$file" --list=cpu-clock
done

kubernetes=${KUBERNETES:-$tests/npm}
if [ -e "$kubernetes/node_modules/kubernetes-models" ] && python3 -c 'import yaml' 2>/dev/null; then
    python3 -c 'import json, sys, yaml; json.dump(list(yaml.safe_load_all(open(sys.argv[1]))), sys.stdout)' "$packaging/kubernetes.yaml" >pods.json
    NODE_PATH=$kubernetes/node_modules node -e '
        const { ConfigMap } = require("kubernetes-models/v1"), { DaemonSet } = require("kubernetes-models/apps/v1");
        const [map, pods] = JSON.parse(require("fs").readFileSync("pods.json"));
        new ConfigMap(map).validate();
        new DaemonSet(pods).validate();
        // And the schema rejects a wrong type.
        pods.spec.template.spec.hostPID = 3;
        try { new DaemonSet(pods).validate(); } catch { process.exit(0); }
        process.exit(1);' 2>err
    count $? "the DaemonSet fits its schema: $(head -n 3 err)"
else
    skip "the DaemonSet's schema: python3-yaml or kubernetes-models is missing (run 'npm ci --ignore-scripts' in tests/npm)"
fi

needs_to_record
capabilities=$(sed -n 's/^CapabilityBoundingSet=//p' "$unit" | tr 'A-Z' 'a-z' | sed 's/cap_/,+/g; s/ //g')
sed "s|/var/lib/stackreel/|$work/parts/|; s/10m/500ms/; s/-free.*/-free = 1%/" "$packaging/recorder.conf" >c.conf
cat >confined <<END
mount -t proc -o hidepid=invisible proc /proc && exec setpriv --bounding-set=-all$capabilities --inh-caps=-all --no-new-privs "$recorder" --config c.conf
END
if ! unshare -n -m sh -c 'mount -t proc -o hidepid=invisible proc /proc' 2>err; then
    skip "the unit's rights: $(head -n 1 err)"
    finish
fi
"$busy" spin 60 &
spinner=$!
# unshare executes the recorder: the process ID is the recorder's.
unshare -n -m sh ./confined 2>err &
service=$!
trap 'kill $service $spinner 2>/dev/null; rm -rf "$work"' EXIT
for _ in $(seq 200); do [ "$(ls parts/*.reel 2>/dev/null | wc -l)" -ge 3 ] && break; sleep 0.1; done
kill -TERM $service
wait $service
status=$?
last=$(ls parts/*.reel | tail -n 1)
[ $status = 0 ] && "$check" "$(ls parts/*.reel | sed -n 2p)" complete placed comm=busy
count $? "records with the unit's capabilities alone: status $status, $last: $(tail -n 2 err)"
finish
