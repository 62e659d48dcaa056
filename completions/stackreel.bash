# SPDX-License-Identifier: Apache-2.0
# Completion of stackreel(1) for bash.

_stackreel_options() {
    local file="-i --input -o --output -q --quiet --memory-limit --time-limit --help"
    local common="--pid --tid --comm --cpu --time --event --symfs --debug-dir --module --no-host-files
        --no-inline --no-demangle --no-frame-pointers --max-frames --min-complete --identity -j --jobs
        --sandbox --no-sandbox --debuginfod --no-debuginfod --debuginfod-timeout --debuginfod-max-size"
    case $1 in
    report) echo "--sort --percent-limit --tree --callers --residency --compare-fp --by --stdio --tui --no-pager --shard $common $file" ;;
    top) echo "--delay --window --count --stdio --sort $common $file" ;;
    annotate) echo "--source --no-source --source-path --bytes --intel --json --no-pager $common $file" ;;
    script) echo "-F --fields --full-source-path --ns --shard $common $file" ;;
    folded) echo "--weight --unit --no-suffix --with-comm --annotate --shard $common $file" ;;
    flamegraph) echo "--format --diff --width --min-share --icicle $common $file" ;;
    aggregate) echo "--files-from --keep-going --shard ${common/--sandbox --no-sandbox /} $file" ;;
    export) echo "--format --shard --push --push-name --push-timeout $common $file" ;;
    sql) echo "--table --tsv --csv --json --no-header $common $file" ;;
    diff) echo "--new --per --false-rate --run-noise --percent-limit --fail-if --tree --folded --markdown --json $common $file" ;;
    info) echo "--all-modules $common $file" ;;
    doctor) echo "--all $common $file" ;;
    dump) echo "--json --bytes --identity --sandbox --no-sandbox $file" ;;
    table) echo "--sandbox --no-sandbox $file" ;;
    import) echo "--arch --kallsyms --jit --scrub --raw-stacks --no-cmdline --encrypt-to $file" ;;
    keygen) echo "-y -o --output --help" ;;
    scrub) echo "--no-cmdline --encrypt-to --decrypt --identity $file" ;;
    pack | resolve) echo "--no-symbols --no-lines --no-check --symfs --debug-dir --module --no-host-files --no-inline --no-demangle
        --no-frame-pointers --max-frames --encrypt-to --decrypt --identity $file" ;;
    cut) echo "--pid --tid --comm --cpu --time --event --encrypt-to --decrypt --identity $file" ;;
    merge) echo "--encrypt-to --decrypt --identity $file" ;;
    unpack) echo "--force --full --symfs --debug-dir --module --no-host-files --identity $file" ;;
    verify) echo "--deep --json --symfs --debug-dir --module --no-host-files --no-inline --no-demangle
        --no-frame-pointers --max-frames -j --jobs --identity --sandbox --no-sandbox $file" ;;
    repair) echo "--encrypt-to --decrypt --identity $file" ;;
    shrink) echo "--archive --symfs --debug-dir --module --no-host-files --no-inline --no-demangle
        --no-frame-pointers --max-frames --encrypt-to --decrypt --identity $file" ;;
    esac
}

_stackreel() {
    local cur prev words cword
    local commands="record report top annotate script folded flamegraph aggregate export sql diff info doctor dump table import scrub cut merge shrink pack unpack resolve verify repair keygen help"
    if declare -F _init_completion >/dev/null; then
        _init_completion || return
    else
        cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
        words=("${COMP_WORDS[@]}") cword=$COMP_CWORD
    fi
    COMPREPLY=()
    if [ "$cword" = 1 ]; then
        mapfile -t COMPREPLY < <(compgen -W "$commands --help --version" -- "$cur")
        return
    fi
    case $prev in
    help) mapfile -t COMPREPLY < <(compgen -W "$commands" -- "$cur") ;;
    --sort) mapfile -t COMPREPLY < <(compgen -W "self total samples symbol module" -- "$cur") ;;
    --by) mapfile -t COMPREPLY < <(compgen -W "function module source line address thread process comm host" -- "$cur") ;;
    --fields) mapfile -t COMPREPLY < <(compgen -W "comm pid tid cpu time period event ip sym symoff dso srcline" -- "$cur") ;;
    --weight) mapfile -t COMPREPLY < <(compgen -W "samples time" -- "$cur") ;;
    --arch) mapfile -t COMPREPLY < <(compgen -W "x86_64 aarch64 riscv64 s390x i386" -- "$cur") ;;
    --format)
        local formats="sqlite ndjson csv pprof perfetto otlp speedscope firefox callgrind perf-script perf.data llvm-sample-profile"
        [ "${words[1]}" != flamegraph ] || formats="html svg"
        mapfile -t COMPREPLY < <(compgen -W "$formats" -- "$cur")
        ;;
    --unit) mapfile -t COMPREPLY < <(compgen -W "ns us ms s" -- "$cur") ;;
    --symfs | --debug-dir | --source-path | --jit)
        compopt -o filenames
        mapfile -t COMPREPLY < <(compgen -d -- "$cur")
        ;;
    --callers | --per | --false-rate | --fail-if | --pid | --tid | --comm | --cpu | --time | --event | --shard | --max-frames | --min-complete | --percent-limit | --width | --min-share | -j | --jobs | --memory-limit | --time-limit) ;;
    *)
        if [[ $cur == -* ]]; then
            mapfile -t COMPREPLY < <(compgen -W "$(_stackreel_options "${words[1]}")" -- "$cur")
        else
            compopt -o filenames
            mapfile -t COMPREPLY < <(compgen -f -- "$cur")
        fi
        ;;
    esac
}

complete -F _stackreel stackreel
