#!/bin/bash
# Fails if an include crosses a layer, or if code outside of bpf/ and tests/ tests for the host's CPU or byte order. Includes are written
# from the root, so the folder in an include is its room. A room may include its own files, and rooms below it if listed here. The rooms of
# cli/ may not include each other in a circle, nor may the files of such a room, of import/ or of record/ itself.
set -u
cd "$(dirname "$0")/../.." || exit
. tests/count.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

declare -A may=(
    [include]="" [vendor]="" [arch]="" [bpf]=""
    [base]="include"
    [format]="format/codec base include"
    [format/codec]="format base"
    [timeline]="format base include"
    [perf]="format base include"
    [scrub]="timeline format arch base"
    [record/host]="base"
    [record/proc]="record/host bpf perf format base"
    [record/runtime]="record/proc bpf base"
    [record/helper]="record/runtime record/proc record/host base"
    [record/processes]="record/helper record/proc record/host bpf timeline perf format base include"
    [record/embedding]="record/processes record/helper record/proc record/host image module elf timeline format arch base"
    [record/sampling]="record/processes record/helper record/proc record/host bpf format base"
    [record/probes]="record/sampling record/helper record/proc record/host bpf elf format base include"
    [record/jit]="record/processes record/helper record/proc timeline format arch base"
    [record]="record/jit record/probes record/embedding record/sampling record/processes record/helper record/proc record/host bpf scrub timeline format arch base include"
    [elf]="format vendor arch base include"
    [replay/files]="elf format base include"
    [replay/dwarf]="replay/files elf base"
    [replay/values]="replay/dwarf elf cfi arch base"
    [cfi]="arch base include"
    [module]="cfi elf arch base"
    [image]="module cfi elf base"
    [replay/synthesis]="cfi arch base"
    [replay/unwind]="cfi replay/synthesis arch base include"
    [replay/names]="replay/files module elf replay/dwarf replay/values replay/unwind cfi replay/synthesis timeline format arch base include"
    [replay/image]="replay/names replay/dwarf image module elf base"
    [replay/capture]="replay/image replay/names replay/unwind timeline format base include"
    [replay/traces]="replay/capture replay/values replay/dwarf elf replay/names replay/unwind cfi scrub timeline format arch base include"
    [replay/rewrite]="replay/capture replay/image replay/names replay/traces scrub timeline format base include"
    [replay/api]="replay/capture replay/files replay/names replay/synthesis replay/unwind module elf timeline format base include"
    [replay/core]="replay/capture arch base include"
    [import]="scrub timeline perf format arch base include"
    [cli/print]="base include"
    [cli/session]="cli/print base include"
    [cli/profile]="cli/print cli/session base include"
    [cli/report]="cli/profile cli/print cli/session base include"
    [cli/diff]="cli/report cli/profile cli/print cli/session base include"
    [cli/core]="cli/print cli/session base include"
    [cli/annotate]="cli/report cli/profile cli/print cli/session base include"
    [cli/browse]="cli/annotate cli/export cli/report cli/profile cli/print cli/session base include"
    [cli/doctor]="cli/print cli/session base include"
    [cli/export]="cli/report cli/profile cli/print cli/session base include"
    [cli/flamegraph]="cli/export cli/profile cli/print cli/session base include"
    [cli/page]="cli/annotate cli/diff cli/flamegraph cli/export cli/profile cli/print cli/session base include"
    [cli/perf_data]="perf cli/export cli/report cli/profile cli/print cli/session base include"
    [cli/sql]="cli/export cli/report cli/profile cli/print cli/session cli base include"
    [cli/protobuf]="cli/export cli/report cli/profile cli/print cli/session base include"
    [cli/push]="cli/print base include"
    [cli/missing]="cli/browse cli/export cli/push cli/print cli"
    [cli/static]=""
    [cli]="cli/session cli/print cli/profile cli/report cli/annotate cli/browse cli/core cli/diff cli/doctor cli/export cli/flamegraph cli/page cli/push base include"
)
# Only these headers of other rooms.
declare -A only=(
    [format/codec:format]="record.h|record_coder.h|schema.h"
    [record/proc:bpf]="interpreter.h|publisher.h"
    [record/runtime:bpf]="interpreter.h"
    [record/processes:bpf]="publisher.h|sample.h"
    [cli/profile:cli/session]="session.h|summary.h"
    [cli/report:cli/session]="session.h|summary.h"
    [cli/diff:cli/session]="selection.h|session.h"
    [cli/annotate:cli/session]="session.h|summary.h"
    [cli/browse:cli/export]="trace_facts.h"
    [cli/doctor:cli/session]="session.h"
    [cli/export:cli/session]="moments.h|selection.h|session.h"
    [cli/flamegraph:cli/session]="options.h|session.h"
    [cli/flamegraph:cli/export]="trace_facts.h"
    [cli/page:cli/flamegraph]="flame_profile.h|flame_shrink.h"
    [cli/page:cli/annotate]="listing.h|source_files.h"
    [cli/page:cli/export]="trace_facts.h|formats.h"
    [cli/sql:cli/session]="inputs.h|sandbox.h|session.h"
    [cli/sql:cli]="commands.h"
    [cli/missing:cli]="commands.h"
    [cli/perf_data:cli/session]="session.h"
    [cli/perf_data:perf]="perf_abi.h"
    [cli/protobuf:cli/session]="session.h"
    [replay/synthesis:cfi]="row.h"
    [replay/traces:replay/capture]="capture.h"
    [replay/unwind:replay/synthesis]="synthesis.h"
)
# Library headers that a room may not include: it is used without linking the library, or must not duplicate the library's work.
elf='elfutils|libelf|gelf|dwarf|libdw' compression='zstd|zlib|lzma'
declare -A never=(
    [include]="$elf|$compression|bpf/" [vendor]="$elf|$compression|bpf/" [arch]="$elf|$compression|bpf/" [bpf]="$elf|$compression"
    [base]="$elf|$compression|bpf/" [format]="$elf|bpf/" [format/codec]="$elf|bpf/"
    [timeline]="$elf|$compression|bpf/" [perf]="$elf|$compression|bpf/" [scrub]="$elf|$compression|bpf/"
    [record]='elfutils|dwarf|libdw' [record/host]='elfutils|dwarf|libdw' [record/proc]='elfutils|dwarf|libdw' [record/runtime]='elfutils|dwarf|libdw' [record/helper]='elfutils|dwarf|libdw' [record/processes]='elfutils|dwarf|libdw' [record/sampling]='elfutils|dwarf|libdw' [record/probes]='elfutils|dwarf|libdw' [record/embedding]='elfutils|dwarf|libdw' [record/jit]='elfutils|dwarf|libdw'
    [replay/capture]='bpf/' [replay/api]='bpf/' [replay/core]='bpf/' [elf]='elfutils|libdw|bpf/' [replay/files]='bpf/' [replay/image]='bpf/' [replay/dwarf]='bpf/' [replay/values]='bpf/' [replay/unwind]="elfutils|libelf|gelf|libdw|$compression|bpf/" [replay/rewrite]='bpf/' [replay/names]='bpf/' [replay/traces]="$elf|$compression|bpf/"
    [module]='libdw|bpf/' [image]='libdw|bpf/' [cfi]="elfutils|libelf|gelf|libdw|$compression|bpf/" [replay/synthesis]="elfutils|libelf|gelf|libdw|$compression|bpf/"
    [import]="$elf|bpf/|linux/perf_event.h" [cli]="$elf|$compression|bpf/|sqlite3|.*curses" [cli/print]="$elf|$compression|bpf/|.*curses" [cli/session]="$elf|$compression|bpf/" [cli/profile]="$elf|$compression|bpf/" [cli/report]="$elf|$compression|bpf/" [cli/diff]="$elf|$compression|bpf/" [cli/annotate]="$elf|$compression|bpf/" [cli/doctor]="$elf|$compression|bpf/" [cli/core]="$elf|$compression|bpf/" [cli/static]="$elf|$compression|bpf/" [cli/missing]="$elf|$compression|bpf/|sqlite3|.*curses|protobuf|curl"
    [cli/flamegraph]="$elf|$compression|bpf/|sqlite3"
    [cli/browse]="$elf|$compression|bpf/|sqlite3|curl"
    [cli/export]="$elf|$compression|bpf/|sqlite3" [cli/sql]="$elf|$compression|bpf/"
    [cli/page]="$elf|zstd|lzma|bpf/|sqlite3"
    [cli/perf_data]="$elf|$compression|bpf/|sqlite3|protobuf"
    [cli/protobuf]="$elf|zstd|lzma|bpf/|sqlite3"
    [cli/push]="$elf|$compression|bpf/|sqlite3|protobuf"
)

check_room() {
    local room=$1 file line text folder header
    while IFS=: read -r file line text; do
        # Vendored files include files of their own folder by plain names.
        [ "$room" = vendor ] && [[ $text != */* ]] && continue
        header=$(sed -E 's/.*"([^"]+)".*/\1/' <<<"$text")
        folder=${header%/*}
        [ "${folder%%/*}" != vendor ] || folder=vendor
        case " $room ${may[$room]} " in
        *" $folder "*)
            [ -z "${only[$room:$folder]:-}" ] || [[ ${header##*/} =~ ^(${only[$room:$folder]})$ ]] ||
                echo "$file:$line: $room/ may include only ${only[$room:$folder]} of $folder/"
            ;;
        *) echo "$file:$line: $room/ may not include $folder/" ;;
        esac
    done < <(grep -nE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' "${files[@]}" /dev/null)
    grep -nE "^[[:space:]]*#[[:space:]]*include[[:space:]]*<(${never[$room]})" "${files[@]}" /dev/null
    [ "$room" = bpf ] ||
        grep -nE '^[[:space:]]*#[[:space:]]*(el)?if.*(__x86_64__|__i386__|__aarch64__|__arm__|__riscv|__s390|__powerpc|__BYTE_ORDER|__LITTLE_ENDIAN|__BIG_ENDIAN)' \
            "${files[@]}" /dev/null
}

for room in "${!may[@]}"; do
    depth=1
    [ $room != vendor ] || depth=2
    mapfile -t files < <(find "$room" -maxdepth $depth -name '*.[chS]')
    [ ${#files[@]} != 0 ]
    count $? "$room/: has files"
    check_room "$room" >"$work/bad"
    [ ! -s "$work/bad" ]
    count $? "$room/: $(cat "$work/bad")"
done

# The rooms of cli/ that a room may include, by the list above.
cli_rooms() {
    local room other
    for room in "${!may[@]}"; do
        for other in ${may[$room]}; do
            [[ $room != cli* || $other != cli* ]] || echo "$room $other"
        done
    done
}
# The files of a room that a file includes; a source file and its header are one.
room_files() {
    grep -HE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' "$1"/*.[ch] /dev/null |
        sed -nE "s|^$1/([^:]*)\.[ch]:.*\"$1/([^/\"]*)\.h\".*|\1 \2|p"
}
# check_circles NAME: fails if the pairs on standard input have a circle.
check_circles() {
    sort -u | tsort 2>"$work/circle" >/dev/null
    count $? "$1: $(sed 's/^tsort: //; /^-: /d' "$work/circle" | paste -sd' ')"
}
check_circles "the rooms of cli/ include each other" < <(cli_rooms)
for room in "${!may[@]}"; do
    [[ $room != @(cli*|import|record) ]] || check_circles "files of $room/ include each other" < <(room_files "$room")
done

# Every folder of code must be listed above.
diff <(printf '%s\n' "${!may[@]}" | sort) \
    <(git ls-files '*.[chS]' 2>/dev/null | grep -vE '^(tests|bench|testdata)/' | sed -E 's|/[^/]*$||; s|^vendor/.*|vendor|' | sort -u) >"$work/err"
count $? "each room is listed"
finish
