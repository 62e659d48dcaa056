#!/bin/bash
# run.sh: records
# --memory-limit: on a host with many mappings and threads, the memory of the recorder's processes and of its BPF maps, by the kernel's
# account, stays below the limit; the file names the steps and what is missing, and still has samples and traces.
. "$(dirname "$0")/../count.sh"
root=$PWD
. tests/record/recording.sh
needs_to_record
limit=32

# many PROCESSES MAPPINGS THREADS: processes with so many executable mappings that are no neighbours
cat >many.c <<'C'
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>
static void *sleeper(void *x)
{
    pause();
    return x;
}
int main(int argc, char **argv)
{
    int fd = open(argv[0], O_RDONLY);
    for (int i = 0; i < atoi(argv[1]); i++) {
        if (fork())
            continue;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (int j = 0; j < atoi(argv[2]); j++) {
            char *at = mmap(NULL, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            mmap(at, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd, 0);
        }
        for (int j = 0; j < atoi(argv[3]); j++) {
            pthread_t thread;
            pthread_attr_t attr;
            pthread_attr_init(&attr);
            pthread_attr_setstacksize(&attr, 65536);
            pthread_create(&thread, &attr, sleeper, NULL);
        }
        for (;;)
            pause();
    }
    write(1, "ready\n", 6);
    pause();
}
C
cat >worst.py <<'P'
# worst.py COMMAND...: the most MB that the command's processes had in private memory, and its BPF objects, until it ended; and its status.
import glob, os, subprocess, sys, time

def lines(pattern, names):
    total = 0
    for path in glob.glob(pattern):
        try:
            with open(path) as file:
                total += sum(int(line.split()[1]) for line in file if line.startswith(names))
        except OSError:
            pass
    return total

def tree(pid):
    yield pid
    for path in glob.glob(f"/proc/{pid}/task/*/children"):
        try:
            with open(path) as file:
                children = file.read().split()
        except OSError:
            continue
        for child in children:
            yield from tree(child)

recorder, worst, kernel = subprocess.Popen(sys.argv[1:]), 0, 0
while recorder.poll() is None:
    kernel = max(kernel, lines(f"/proc/{recorder.pid}/fdinfo/*", "memlock:"))
    # BPF maps that are mapped as memory are no anonymous memory, nor shmem.
    private = sum(lines(f"/proc/{pid}/smaps_rollup", ("Pss_Anon:", "Pss_Shmem:")) for pid in tree(recorder.pid))
    worst = max(worst, kernel + 1024 * private)
    time.sleep(0.05)
print(f"{worst / 2 ** 20:.1f} {recorder.returncode}")
P
${CC:-cc} -O1 -pthread -o many many.c || { failed=1; finish; }
mkfifo ready
./many 200 1500 5 >ready &
pids=$!
read -r _ <ready
"$busy" spin 60 &
pids="$pids $!"
trap 'kill $pids 2>/dev/null; rm -rf "$work"' EXIT

read -r worst status < <(python3 worst.py "$recorder" -q -a -F 99 --ring-size 4M --duration 3 -o free.reel 2>err)
awk -v worst="$worst" -v limit=$limit 'BEGIN { exit !(worst > 0.75 * limit) }'
count $? "without a limit, the recorder takes $worst MB, status $status $(head -n 2 err)"
read -r worst status < <(python3 worst.py "$recorder" -q -a -F 99 --ring-size 4M --memory-limit ${limit}M --duration 5 -o limit.reel 2>err)
# The recorder looks five times a second: a helper may have had more in between.
awk -v worst="$worst" -v limit=$limit -v status="$status" 'BEGIN { exit !(status == 0 && worst > 0 && worst <= 1.05 * limit) }'
count $? "with a limit of $limit MB, it takes $worst MB, status $status $(head -n 2 err)"
"$stackreel" info limit.reel >info
grep -q ' step: .*% of --memory-limit$' info
count $? "steps: $(grep -c ' step: ' info), $(grep ' step: ' info | tail -n 1)"
grep -q '^Losses: .*mappings and names left out' info
count $? "what is missing is counted: $(grep '^Losses' info)"
"$stackreel" verify -q limit.reel
count $? "verify"
"$stackreel" script -q -j1 --comm busy --fields ip,sym limit.reel | grep -q spin
count $? "the busy program has its traces"

# A JIT that names a million functions: only those that have room are kept, and no step is needed.
kill $pids
${CC:-cc} -O1 -I "$root" -o jit_names "$root/tests/programs/jit_names.c" || { failed=1; finish; }
if [ "$(uname -m)" = x86_64 ]; then
    "$recorder" -q -F 99 --ring-size 4M --memory-limit 64M -o names.reel -- ./jit_names map many 4000 >named 2>err
    "$stackreel" info names.reel >info
    limited=$(grep -c ' step: .*% of --memory-limit$' info)
    "$stackreel" folded -q names.reel >folded
    [ -s named ] && [ "$limited" = 0 ] && grep -q "__libc_start_main;.*main;make" folded
    count $? "--memory-limit 64M, $(tail -n 1 named): $limited steps $(grep ' step: ' info | head -n 1)$(head -n 2 err)"
else
    skip "jit_names is for x86-64"
fi

# A compiler's program is large: the helper that makes its image gives up what it keeps of other files, rather than the image.
cat >large.sh <<'S'
for program in python3 perl; do command -v $program >/dev/null && $program -e 0 2>/dev/null; done
printf '#include <stdlib.h>\n#include <stdio.h>\n' >large.c
for i in $(seq 3000); do echo "int f$i(int n) { for (int i = 0; i < n; i++) printf(\"%d\", i * $i); return n % ($i + 1); }"; done >>large.c
for i in 1 2; do ${CC:-cc} -O2 -S -o /dev/null large.c; done
S
"$recorder" -q -F 199 --ring-size 4M --memory-limit 64M -o large.reel -- bash large.sh 2>err
"$stackreel" info -q --full --no-host-files large.reel >info
awk '/root reached: complete/ { whole = $1 } END { exit !(whole >= 95) }' info
count $? "--memory-limit 64M, a compiler's traces without its files: $(grep -E '%.*(complete|no unwind info|module missing)' info | xargs)$(head -n 2 err)"

# With the tables of its 110,000 symbols, after other programs' images have been made.
if command -v node >/dev/null; then
    "$recorder" -q -a -F 199 --ring-size 4M --memory-limit 64M --duration 8 -o node.reel 2>err &
    recorder_pid=$!
    python3 -c 'import time; t = time.process_time(); [hash(i) for _ in iter(lambda: time.process_time() - t < 0.5, False) for i in range(999)]'
    perl -e '$i = 0; $i++ while $i < 5e6'
    node -e 'for (const end = process.cpuUsage().user + 3e6; process.cpuUsage().user < end;) JSON.stringify([...Array(1000)].map(Math.random).sort())'
    wait $recorder_pid
    "$stackreel" folded -q --no-host-files --comm node node.reel >folded
    awk '{ all += $NF } !/incomplete/ { whole += $NF } END { printf "%d of %d are whole", whole, all; exit !(all > 100 && whole >= 0.95 * all) }' folded >whole
    count $? "--memory-limit 64M, node's traces without its files: $(cat whole)$(head -n 2 err)"
else
    skip "node is not installed"
fi

fails 1 "before the first sample; use at least" -o none.reel -a --memory-limit 8M
count $? "a limit that is too low for the recorder itself"
fails 2 "out of range" --memory-limit 1M -- true
count $? "--memory-limit 1M"
finish
