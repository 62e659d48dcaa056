#!/bin/bash
# Fails where an include crosses a layer, or where code outside of bpf/ and tests/ asks for the host's CPU or byte order.
# Includes are written from the root, so the folder in an include is its layer.
set -u
cd "$(dirname "$0")/.."
passed=0 failed=0

declare -A may=(
    [include]="" [format]="format include" [space]="space format include" [arch]="arch"
    [scrub]="scrub space format arch include" [bpf]="bpf"
    [record]="record bpf format space scrub arch include"
    [replay]="replay include format space scrub arch vendor"
    [import]="import include format space scrub arch"
    [cli]="cli include"
    [vendor]=""
)
# Libraries' headers that a layer may not include.
declare -A never=(
    [format]='elfutils|libelf|gelf|dwarf|libdw|bpf/' [space]='elfutils|libelf|gelf|dwarf|libdw|bpf/|zstd|zlib' [scrub]='elfutils|libelf|gelf|dwarf|libdw|bpf/|zstd|zlib'
    [arch]='elfutils|libelf|gelf|dwarf|libdw|bpf/|zstd|zlib' [record]='elfutils|dwarf|libdw' [replay]='bpf/' [import]='elfutils|libelf|gelf|dwarf|libdw|bpf/|linux/perf_event.h'
    [cli]='elfutils|libelf|gelf|dwarf|libdw|bpf/|zstd|zlib' [include]='elfutils|libelf|gelf|dwarf|libdw|bpf/|zstd|zlib'
    [bpf]='elfutils|libelf|gelf|dwarf|libdw|zstd|zlib' [vendor]='elfutils|libelf|gelf|dwarf|libdw|bpf/|zstd|zlib'
)

for layer in "${!may[@]}"; do
    bad=
    while IFS=: read -r file line text; do
        # What is not ours includes its own folder's files by their names alone.
        [ "$layer" = vendor ] && [[ $text != */* ]] && continue
        folder=$(sed -E 's/.*"([^"/]+)\/.*/\1/' <<<"$text")
        case " ${may[$layer]} " in
        *" $folder "*) ;;
        *) bad+="$file:$line: $layer/ may not include $folder/"$'\n' ;;
        esac
    done < <(grep -rnE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' "$layer" --include='*.[chS]')
    bad+=$(grep -rnE "^[[:space:]]*#[[:space:]]*include[[:space:]]*<(${never[$layer]})" "$layer" --include='*.[chS]')
    if [ "$layer" != bpf ]; then
        bad+=$(grep -rnE '^[[:space:]]*#[[:space:]]*(el)?if.*(__x86_64__|__i386__|__aarch64__|__arm__|__riscv|__s390|__powerpc|__BYTE_ORDER|__LITTLE_ENDIAN|__BIG_ENDIAN)' \
            "$layer" --include='*.[chS]')
    fi
    if [ -n "$bad" ]; then
        echo "$bad"
        failed=$((failed + 1))
    else
        passed=$((passed + 1))
    fi
done
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" = 0 ]
