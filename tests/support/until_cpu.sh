#!/bin/bash
# until_cpu.sh PID SECONDS: waits until the process has had that much more CPU time, by the kernel's account, or has ended. As the recorder's
# command it makes `-p PID` last as long as it takes to have samples, however busy the host is.
ticks() {
    local stat
    { stat=$(<"/proc/$1/stat"); } 2>/dev/null || return
    read -r -a stat <<<"${stat##*) }"
    echo $((stat[11] + stat[12]))
}
begin=$(ticks "$1") || exit 0
end=$(awk -v n="$begin" -v s="$2" -v hz="$(getconf CLK_TCK)" 'BEGIN { printf "%d", n + s * hz + 0.5 }')
while now=$(ticks "$1") && [ "$now" -lt "$end" ]; do sleep 0.05; done
