#!/bin/bash
# docs/fleet/slurm.sh in a real Slurm: a controller and two nodes on this machine, with their own munge. The parts of a job array give the
# same profile as a single process, and a repeated part is identical.
#
#   O=DIR   the object directory (build)
# run.sh: thorough
# checks: docs cli/profile
. "$(dirname "$0")/../count.sh"
O=$(realpath "${O:-build}")
PATH=$O:$PATH:/usr/sbin
[ -x "$O/stackreel" ] || { skip "$O/stackreel is not built"; finish; }
for program in slurmctld slurmd munged sbatch; do
    command -v $program >/dev/null || { skip "$program is not installed (Debian: slurmctld, slurmd, slurm-client, munge)"; finish; }
done
[ "$(id -u)" = 0 ] || { skip "slurmd needs root"; finish; }

chmod 755 "$work" # munge asks for it
daemons=()
trap '[ ${#daemons[@]} = 0 ] || kill "${daemons[@]}" 2>/dev/null; wait; rm -rf "$work"' EXIT

# ---- Slurm -----------------------------------------------------------------------------------

start() {
    local log=$work/$1.log
    shift
    "$@" >"$log" 2>&1 &
    daemons+=($!)
}
mapfile -t ports < <(for _ in 1 2 3; do python3 -B tests/names/debuginfod_server.py --free; done)
host=$(hostname -s)
(umask 077 && head -c 1024 /dev/urandom >"$work/key")
cat >"$work/slurm.conf" <<END
ClusterName=fleet
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=${ports[0]}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$work/socket
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/%n
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
MpiDefault=none
SlurmdParameters=config_overrides
NodeName=one NodeHostname=$host NodeAddr=127.0.0.1 Port=${ports[1]} CPUs=2 RealMemory=4096
NodeName=two NodeHostname=$host NodeAddr=127.0.0.1 Port=${ports[2]} CPUs=2 RealMemory=4096
PartitionName=all Nodes=one,two Default=YES MaxTime=10 State=UP
END
export SLURM_CONF=$work/slurm.conf
mkdir "$work/state"
start munged munged --foreground --force --socket="$work/socket" --key-file="$work/key" --pid-file="$work/munged.pid" \
    --log-file="$work/munge.log" --seed-file="$work/seed"
for _ in {1..100}; do [ ! -S "$work/socket" ] || break; sleep 0.1; done
start slurmctld slurmctld -D -f "$SLURM_CONF"
start one slurmd -D -N one -f "$SLURM_CONF"
start two slurmd -D -N two -f "$SLURM_CONF"
for _ in {1..100}; do
    [ "$(sinfo -h -o '%t %D' 2>/dev/null)" != "idle 2" ] || break
    sleep 0.1
done
if [ "$(sinfo -h -o '%t %D' 2>"$work/err")" != "idle 2" ]; then
    # Containers often do not provide the cgroup features that slurmd needs.
    skip "Slurm cannot start here: $(grep -hE 'error|fatal' "$work"/*.log | head -n 1)"
    finish
fi

# ---- the job ---------------------------------------------------------------------------------

# Six captures in four parts on two nodes: two concurrent tasks with two CPUs each.
mkdir "$work/parts"
from=(-q --no-host-files)
for file in testdata/x86_64/jit/*.reel; do
    "$O/stackreel" resolve "${from[@]}" -o "$work/$(basename "$file")" "$file"
done
ls "$work"/*.reel >"$work/list"
run 0 "$O/stackreel" aggregate -q --files-from "$work/list" -o "$work/whole.profile"
# job ARRAY: submits the job and waits for it.
job() {
    run 0 timeout 60 sbatch --wait --export=ALL --array="$1" -o "$work/job.%a" docs/fleet/slurm.sh 4 "$work/list" "$work/parts"
}
sum_up() {
    run 0 "$O/stackreel" aggregate "$work"/parts/{1,2,3,4}-of-4.profile -o "$work/sum.profile"
    cmp "$work/whole.profile" "$work/sum.profile"
    count $? "the job array makes the same profile: $(cat "$work"/job.*)"
}
job 1-4
sum_up
[ "$(grep -oE 'NodeList=(one|two)\b' "$work/slurmctld.log" | sort -u | wc -l)" = 2 ]
count $? "both nodes ran tasks: $(tail -n 5 "$work/slurmctld.log")"
# Repeated alone, a part is the same.
rm "$work/parts/3-of-4.profile"
run 1 "$O/stackreel" aggregate "$work"/parts/{1,2,3,4}-of-4.profile -o "$work/sum.profile"
job 3
sum_up
# A failing task writes no file, and Slurm reports the failure.
echo "$work/missing.reel" >>"$work/list"
rm "$work"/parts/*
run 1 timeout 60 sbatch --wait --array=3 -o "$work/job.%a" docs/fleet/slurm.sh 4 "$work/list" "$work/parts"
[ -z "$(ls "$work/parts")" ] && grep -q 'missing.reel' "$work/job.3"
count $? "a failing part writes no file, and says why: $(cat "$work/job.3")"
finish
