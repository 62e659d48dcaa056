#!/bin/bash
# `stackreel diff` with compiler-generated names. Builds a program by g++ and rustc, with and without clones and function parts, and with
# different hashes and closure numbers: its functions must be matched.
#
#   tests/cli/test-diff-names.sh     O=DIR   the object directory (build)
#
# run.sh: thorough
# checks: cli/diff elf
. "$(dirname "$0")/../count.sh"
O=$(realpath "${O:-build}")
[ -x "$stackreel" ] || { skip "$stackreel is not built"; finish; }

. tests/cli/diff_programs.sh
# same_names NAME...: each large function exists on both sides; no name contains a number; and NAMEs are among them.
same_names() {
    python3 - "$work/out" "$@" <<'END' 2>"$work/err"
import json, re, sys
functions = [f for f in json.load(open(sys.argv[1]))["functions"] if f["module"] == "orders" and max(f["total"]["old"], f["total"]["new"]) > 5]
names = [f["name"] for f in functions]
assert all(min(f["total"]["old"], f["total"]["new"]) > 1 for f in functions), functions
assert not any(re.search(r"clone |constprop|\.isra|\.cold|\.(__)?part|#[0-9]|::h[0-9a-f]{16}", name) for name in names), names
assert all(any(name in other for other in names) for name in sys.argv[2:]), names
END
    count $? "same functions on both sides: $*"
}
whole='-DEXTRA -fno-ipa-cp -fno-ipa-sra -fno-partial-inlining -fno-reorder-blocks-and-partition'
record clones 1 100 'g++ -O2 testdata/programs/clones.cc'
clones=$dir
record whole 1 100 "g++ -O2 $whole testdata/programs/clones.cc"
if nm "$clones/orders" | grep -q '\.constprop' && ! nm "$dir/orders" | grep -q 'constprop\|isra\|\.cold'; then
    run 0 "$stackreel" diff --json "$work/clones1.reel" "$work/whole1.reel"
    same_names 'mix(unsigned long, int)' 'add(basket const*' 'check(unsigned long, bool)' 'handle(unsigned long)::{lambda(unsigned long)#}'
else
    skip "the compiler generates no clones"
fi
# A section for each basic block, as for Propeller: names such as mix.__part.2
if command -v clang++ >/dev/null && command -v ld.lld >/dev/null; then
    # Without debug information
    record plain 1 100 'clang++ -O2 -Wl,--strip-debug testdata/programs/clones.cc'
    record blocks 1 100 'clang++ -O2 -Wl,--strip-debug -fbasic-block-sections=all -funique-basic-block-section-names -fuse-ld=lld testdata/programs/clones.cc'
    nm "$dir/orders" | grep -q '\.__part\.'
    count $? "a program of basic block sections"
    run 0 "$stackreel" diff --json "$work/plain1.reel" "$work/blocks1.reel"
    same_names 'mix(unsigned long, int)' 'check(unsigned long, bool)'
    run 0 "$stackreel" report --stdio --names=full --percent-limit=0 "$work/blocks1.reel"
    has out '\.__part\.'
    run 0 "$stackreel" report --stdio --names=full --percent-limit=0 --merge-parts "$work/blocks1.reel"
    ! grep -qE '\.__part|\.cold' "$work/out"
    count $? "--merge-parts"
else
    skip "clang++ and ld.lld are not installed: basic block sections"
fi
export RUSTC_BOOTSTRAP=1 # -C symbol-mangling-version is unstable
for form in legacy v0; do
    rust="rustc -O -Z unstable-options -C symbol-mangling-version=$form testdata/programs/clones.rs"
    if ! $rust -o "$work/rust" >/dev/null 2>&1; then
        skip "no rustc that supports $form names"
        continue
    fi
    record "rust-$form" 1 100 "$rust -C metadata=1"
    record "rust-$form-new" 1 100 "$rust -C metadata=2 --cfg extra"
    run 0 "$stackreel" diff --json --no-inline "$work/rust-${form}1.reel" "$work/rust-$form-new1.reel"
    same_names '::mix' '::main' '::call' 'Work>::run'
done
finish
