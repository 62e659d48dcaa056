# Sourced by the test scripts: counts cases, and ends with the line that tests/run.sh adds up.
passed=0 failed=0 skipped=0

# skip WHY
skip() {
    echo "skip: $1"
    skipped=$((skipped + 1))
}

# count STATUS NAME: a case that passed if STATUS is 0.
count() {
    if [ "$1" = 0 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $2"
    fi
}

finish() {
    echo "$passed passed, $failed failed, $skipped skipped"
    [ "$failed" = 0 ]
    exit
}
