#!/bin/sh
# record.sh RECORDER DIR MODE OUT [COMMAND...]: records mode MODE of DIR/chains, optionally started by COMMAND, with the program RECORDER
#
# Leaves OUT.reel, OUT.printed (the program's output) and OUT.log (the recorder's messages). The shell may be busybox's.
# $SECONDS_OF_CPU: how long a mode runs (0.6); $FREQUENCY: samples a second (4999); $STACK_BYTES: how deep mode deep goes;
# $RECORD_OPTIONS: more options of RECORDER.
set -u
[ $# -ge 4 ] || exit 2
recorder=$1 dir=$2 mode=$3 out=$4
shift 4
seconds=${SECONDS_OF_CPU:-0.6} frequency=${FREQUENCY:-4999} arguments=
case $mode in
# dlopen cannot determine its caller if it was called by ld.so.
lazy) arguments=$dir/liblazy.so ;;
exec | thread-exec) seconds=$(awk "BEGIN { print $seconds / 6 }") arguments="$dir/other-chains 6" ;;
# By default a megabyte, less the bytes above main: a hundred times as many frames and bytes as in other modes.
deep) [ -n "${STACK_BYTES:=}" ] && arguments=$STACK_BYTES || { frequency=$((frequency / 20)) && seconds=$(awk "BEGIN { print $seconds * 3 }"); } ;;
cut) mode=deep arguments=1500000 frequency=$((frequency / 20)) seconds=$(awk "BEGIN { print $seconds * 3 }") ;;
esac
max_stack=
[ "$mode" != deep ] || max_stack="--max-stack 1M"
# No mode waits for long; the limit of minutes is for busy machines.
# shellcheck disable=SC2086 # lists of words
exec timeout 120 "$recorder" -q -F "$frequency" $max_stack ${RECORD_OPTIONS-} -o "$out.reel" -- "$@" "$dir/chains" "$mode" "$seconds" $arguments \
    >"$out.printed" 2>"$out.log"
