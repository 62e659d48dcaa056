#!/bin/bash
# A task of a Slurm job array: adds up its part of a list of captures.
#
#   sbatch --array=1-8 docs/fleet/slurm.sh 8 LIST FOLDER
#
# With FORMAT=parquet, it writes tables instead, in folders of up to 100 captures.
#
# LIST has a path a line, and must not change meanwhile; the parts are FOLDER/1-of-8.profile and so on. Their number is given twice, so
# that a task started again on its own (--array=3) gets the same part as before.
#SBATCH --job-name=stackreel
#SBATCH --cpus-per-task=2
#SBATCH --mem-per-cpu=1G
#SBATCH --requeue
set -eu
parts=$1 list=$2 folder=$3 part=$SLURM_ARRAY_TASK_ID

# One cache per node, so that its tasks fetch each debug file once (with --debuginfod or $STACKREEL_DEBUGINFOD).
export DEBUGINFOD_CACHE_PATH=${DEBUGINFOD_CACHE_PATH:-/var/tmp/debuginfod-$(id -u)}

if [ "${FORMAT:-profile}" = parquet ]; then
    # shellcheck disable=SC2016 # for sh
    split -n "r/$part/$parts" "$list" | xargs -n 100 sh -c 'stackreel export -q --format=parquet "$@" -o "$0/$(basename "$1" .reel)"' "$folder"
    exit
fi
exec stackreel aggregate -q -j "${SLURM_CPUS_PER_TASK:-0}" --files-from "$list" --shard "$part/$parts" -o "$folder/$part-of-$parts.profile"
