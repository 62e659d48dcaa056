# Sourced by tests of builds with another C library, which have the output, messages and exit status of stackreel.

# make_other TARGET TOOL...: builds, or skips the test.
make_other() {
    local target=$1 tool
    shift
    export TZ=UTC LC_ALL=C
    for tool in dpkg-source "$@"; do
        command -v "$tool" >/dev/null || { skip "$tool is not installed"; finish; }
    done
    make "$target" O="$O" >"$work/out" 2>"$work/err" && return
    if grep -q 'deb-src\|Failed to fetch\|Unable to find a source' "$work/err"; then
        skip "no source packages: $(head -n 1 "$work/err")"
    else
        count 1 "make $target"
    fi
    finish
}

# same COMMAND OPTION...: by stackreel and "${other[@]}", with $input as standard input. Byte-identical output, messages and status.
input=/dev/null
same() {
    timeout 120 "$stackreel" "$@" >"$work/out" 2>"$work/err" <"$input"
    local wanted=$? status
    timeout 300 "${other[@]}" "$@" >"$work/other.out" 2>"$work/other.err" <"$input"
    status=$?
    [ $status = $wanted ] && cmp -s "$work/out" "$work/other.out" && cmp -s "$work/err" "$work/other.err"
    count $? "stackreel $*: status $status, $wanted natively; $(diff "$work/out" "$work/other.out" | head -n 2) $(diff "$work/err" "$work/other.err" | head -n 2)"
}

# same_everywhere: all captures of testdata, and commands on one or two.
golden=testdata/golden/x86_64-exception.reel
same_everywhere() {
    local capture
    while read -r capture; do
        same folded "$capture"
    done < <(find testdata -name '*.reel' | LC_ALL=C sort)
    same --help
    same --version
    same report --help
    same report --bogus
    same report /nonexistent
    same report "$golden"
    same report --tree "$golden"
    same script "$golden"
    same info "$golden"
    same dump "$golden"
    same doctor "$golden"
    same verify "$golden"
    same diff "$golden" testdata/golden/x86_64-perf-fp.reel
    same ls testdata/aarch64/orders
    same view "$golden" -o -
    same export --format speedscope "$golden"
    same report --identity /nonexistent testdata/golden/x86_64-encrypted.reel
    input=$golden
    same folded -
    input=/dev/null
}
