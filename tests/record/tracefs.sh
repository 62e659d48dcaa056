# Sourced by tests of tracepoints, after tests/count.sh. They need tracefs, which perf mounts when it runs for the first time after the boot:
# without it, the test runs again with a mount of its own.
tracefs=/sys/kernel/tracing
if [ ! -d $tracefs/events ] && unshare -m mount -t tracefs tracefs $tracefs 2>/dev/null; then
    rm -rf "$work"
    exec unshare -m sh -c "mount -t tracefs tracefs $tracefs && exec \"\$@\"" sh "$0"
fi
[ -d $tracefs/events ] || { skip "tracefs is not mounted, and cannot be"; finish; }
