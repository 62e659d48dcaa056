#!/bin/bash
# Programs with known call chains on other kernels and CPUs: records testdata/programs/chains there (tests/vm/chains.sh), replays here, and
# checks that each sample has exactly the expected chain.
#   CELLS="CELL …"   which kernels (default: a short list; with LONG=1 one for each CPU)
#   LONG=1           every variant in every mode, on every CPU
# run.sh: guests thorough shares longer
# checks: replay/unwind bpf
. "$(dirname "$0")/../count.sh"

# Variants: the compilers and options that matter. Of the modes, not those of new processes, which test-chains.sh has on this CPU.
all=(leaf tiny realign deep cut inline handler alternate nested alternate-thread jump noreturn tail coroutine exception plt lazy reload
    vdso threads bare-framed bare)
shapes=(tiny realign inline alternate jump noreturn tail exception bare-framed)
without_exceptions=(tiny alternate vdso threads spawn)

variants_of() {
    case $1/${LONG:+long} in
    *-pauth/long) echo "pauth clang-pauth" ;;
    s390x*/long) echo "gcc clang gcc-O0 gcc-O3 gcc-Os backchain static static-pie no-pie musl musl-static" ;;
    # GNU ld 2.40 crashes when it links riscv64's libraries statically.
    riscv64*/long) echo "gcc clang gcc-O0 gcc-O3 gcc-Os gcc-fp no-pie musl musl-static" ;;
    */long) echo "gcc clang gcc-O0 gcc-O3 gcc-Os gcc-fp static static-pie no-pie musl musl-static" ;;
    *-pauth/) echo pauth ;;
    arm64*/) echo "gcc clang gcc-fp musl-static" ;;
    */) echo gcc ;;
    esac
}

# modes_of VARIANT: its modes; empty for all
modes_of() {
    [ -z "${LONG:-}" ] || return
    case $1 in
    pauth) prefixed "$1" "${shapes[@]}" lazy deep ;;
    clang) prefixed "$1" "${shapes[@]:0:5}" ;;
    # With a frame record in every caller, mode bare-framed loses no frame.
    gcc-fp) prefixed "$1" "${shapes[@]:0:4}" ;;
    musl-static) prefixed "$1" "${without_exceptions[@]}" ;;
    *) prefixed "$1" "${all[@]}" ;;
    esac
}

prefixed() {
    local mode variant=$1
    shift
    for mode; do echo "$variant/$mode"; done
}

# check DIR CPU VARIANT MODE [OPTION...]: replays the recording with these options
check() {
    local dir=$1 cpu=$2 variant=$3 mode=$4 out=$1/$3/${4%-stop} capture=() libc=glibc
    shift 4
    capture=("$out.reel")
    [ ! -e "$out.pid" ] || capture=(--pid "$(cat "$out.pid")" --comm chains "$dir/$variant/together.reel")
    [ "${variant#musl}" = "$variant" ] || libc=musl
    "$stackreel" script --no-host-files --symfs "$dir/symfs" "$@" "${capture[@]}" 2>"$work/err" |
        tests/chains/check.py "$mode" --cpu "$cpu" --libc $libc --symfs "$dir/symfs" --slow --min 15 --printed "$(cat "$out.printed")" \
            --count 6 >"$work/out" 2>&1
    local status=$?
    sed "s/^[a-z]/$cpu: $variant: &/" "$work/out"
    cat "$work/err"
    return $status
}

# check_all DIR CPU: checks every requested mode; adds VARIANT/MODE to $again if a chain is wrong
check_all() {
    local dir=$1 cpu=$2 file variant mode
    for file in "$dir"/*/*.log; do
        mode=${file##*/} mode=${mode%.log} variant=${file%/*} variant=${variant##*/}
        if grep -qx "$mode" "$dir/$variant/failed"; then
            echo "$variant: $mode: $(tail -n 1 "$dir/$variant/$mode.log")" | tee "$work/out"
            false
        else
            check "$dir" "$cpu" "$variant" "$mode" &&
                { [ "$mode" != bare-framed ] || check "$dir" "$cpu" "$variant" bare-framed-stop --no-frame-pointers; }
        fi
        local status=$?
        # More than 1 % wrong is not a rare code path.
        if [ $status != 0 ] && awk '$3 == "samples," && $NF == "wrong" && 100 * $(NF - 1) > $2 { many = 1 } END { exit !many }' "$work/out"; then
            count 1 "$variant/$mode: $(head -n 1 "$work/out")"
        elif [ $status = 0 ]; then
            right+=("$variant/$mode")
        else
            again+=("$variant/$mode")
        fi
    done
}

if [ ! -x "$stackreel" ]; then
    skip "stackreel is not built"
    finish
fi
cells="arm64-6.12 arm64-6.12-pauth" together=1
[ -z "${LONG:-}" ] || { cells="$cells riscv64-6.12 s390x-6.12" together=0; }
number=0
for cell in ${CELLS:-$cells}; do
    in_share $((number++)) || continue
    echo "$cell:"
    cpu=${cell%%-*} cpu=${cpu/arm64/aarch64} right=() again=()
    variants=$(variants_of "$cell")
    # shellcheck disable=SC2046 # lists of words
    VARIANTS=$variants SECONDS_OF_CPU=${SECONDS_OF_CPU:-0.4} TOGETHER=$together tests/vm/chains.sh "$cell" "$work/$cell" $(for variant in $variants; do modes_of "$variant"; done) >"$work/log" 2>&1
    status=$?
    grep '^skip: ' "$work/log" && skipped=$((skipped + $(grep -c '^skip: ' "$work/log")))
    if [ $status = 77 ]; then
        grep -q '^skip: ' "$work/log" || skip "$cell: $(tail -n 1 "$work/log")"
        continue
    fi
    [ $status = 0 ] || tail -n 20 "$work/log"
    count $status "$cell: recording"
    [ $status = 0 ] || continue
    check_all "$work/$cell" "$cpu"
    # Libraries have rare code paths that the expected chains do not cover, hit by one sample in thousands: record a wrong mode again.
    if [ ${#again[@]} -gt 0 ]; then
        echo "again: ${again[*]}"
        wanted=("${again[@]}") again=()
        VARIANTS=$(printf '%s\n' "${wanted[@]%/*}" | sort -u) tests/vm/chains.sh "$cell" "$work/$cell-again" "${wanted[@]}" >"$work/log" 2>&1 &&
            check_all "$work/$cell-again" "$cpu"
        count $? "$cell: recording again"
    fi
    for name in "${right[@]}"; do count 0 "$cell: $name"; done
    for name in "${again[@]}"; do count 1 "$cell: $name"; done
    case $cell in
    *-pauth)
        captures=("$work/$cell"/*pauth/together.reel)
        [ -e "${captures[0]}" ] || captures=("$work/$cell"/*pauth/{tiny,realign,inline,jump,noreturn,tail}.reel)
        tests/chains/signed.py "$stackreel" "${captures[@]}"
        count $? "$cell: return addresses on the stack are signed"
        ;;
    esac
    rm -rf "${work:?}/$cell" "$work/$cell-again"
done
finish
