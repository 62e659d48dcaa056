# Sourced by the test scripts: counts cases, and ends with the line that tests/run.sh adds up. $work is the script's own folder, where files
# out and err are of what was run last.
passed=0 failed=0 skipped=0 last=

# skip WHY
skip() {
    echo "skip: $1"
    skipped=$((skipped + 1))
}

# count STATUS NAME: a case that passed if STATUS is 0; if not, what was run last and its standard error are shown.
count() {
    if [ "$1" = 0 ]; then
        passed=$((passed + 1))
        return
    fi
    failed=$((failed + 1))
    echo "FAILED: $2"
    [ -z "$last" ] || echo "    after: $last"
    [ ! -s "${work:-}/err" ] || sed 's/^/    stderr: /' "$work/err" | head -n 5
}

# ok NAME COMMAND...: a case that passed if the command succeeds; if not, what it printed is shown. $work is a folder.
# There is no form that counts $? of the last command: a $(…) in the name would set that.
ok() {
    local status name=$1
    shift
    "${@:?ok: no command: $name}" >"$work/out" 2>&1
    status=$?
    count $status "$name (status $status)"
    [ $status = 0 ] || sed 's/^/    /' "$work/out" | head -n 20
}

# run STATUS COMMAND...: a case that passed if it ends with that status.
run() {
    local wanted=$1 status
    shift
    "$@" >"$work/out" 2>"$work/err" </dev/null
    status=$?
    last="${*##*/stackreel}: status $status"
    [ $status = "$wanted" ]
    count $? "status $wanted"
}

# has FILE REGEX...: each is in a line of that file in $work.
has() {
    local file=$work/$1 regex
    shift
    for regex; do
        grep -qE -- "$regex" "$file"
        count $? "a line with '$regex' in ${file##*/}: $(head -n 5 "$file")"
    done
}

# says PATTERN: what was run last, on standard error.
says() {
    grep -qE -- "$1" "$work/err"
    count $? "says '$1': $(head -n 2 "$work/err")"
}

# recorded CELL COMMAND...: a case that passed if the command has recorded in that guest. False if it has not, or (then it is skipped) cannot
# do so here. What it says goes to $work/log.
recorded() {
    local cell=$1 status
    shift
    "$@" >"$work/log" 2>&1
    status=$?
    if [ $status = 77 ]; then
        skip "$cell: $(tail -n 1 "$work/log")"
        return 1
    fi
    [ $status = 0 ] || tail -n 30 "$work/log"
    count $status "$cell: recording"
    return $status
}

# Whether this kernel executes 32-bit programs of x86 (CONFIG_IA32_EMULATION, which a boot option can switch off); false as well if
# there is no compiler for them.
runs_i386() {
    printf '.globl _start\n_start: mov $1, %%eax\nmov $42, %%ebx\nint $0x80\n' >"$work/i386.s"
    "${CC:-cc}" -m32 -nostdlib -static -no-pie -o "$work/i386.bin" "$work/i386.s" 2>/dev/null || return
    "$work/i386.bin" 2>/dev/null
    [ $? = 42 ]
}

finish() {
    echo "$passed passed, $failed failed, $skipped skipped"
    [ "$failed" = 0 ]
    exit
}
