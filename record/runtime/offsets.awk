# awk -v prefix=PYTHON -f offsets.awk HEADER PROBE.s: prints the row of a version, in the order of the header's enum of fields, by a
# compiled probe's lines "@NAME VALUE".
NR == FNR && $1 ~ "^" prefix "_.*,$" && $1 != prefix "_FIELDS," { names[n++] = substr($1, length(prefix) + 2, length($1) - length(prefix) - 2) }
NR != FNR && /^@/ { values[substr($1, 2)] = $2 }
END {
    printf "\t{ 0x%06x, %s{", values["VERSION"], "INDIRECT" in values ? (values["INDIRECT"] ? "true, " : "false, ") : ""
    for (i = 0; i < n; i++) {
        if (!(names[i] in values)) {
            print names[i] " is missing" >"/dev/stderr"
            exit 1
        }
        printf "%s%4s%s", i % 15 ? " " : "\n\t  ", values[names[i]] == 65535 ? "NONE" : values[names[i]], i + 1 < n ? "," : " } },\n"
    }
}
