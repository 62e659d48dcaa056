#!/bin/sh
# clang.sh CLANG: succeeds if this compiler has libFuzzer and the sanitizers; otherwise prints its errors.
to=$(mktemp) || exit
echo 'int LLVMFuzzerTestOneInput(void) { return 0; }' | "$1" -fsanitize=fuzzer,address,undefined -x c -o "$to" -
status=$?
rm -f "$to"
exit $status
