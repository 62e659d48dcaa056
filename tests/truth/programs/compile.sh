#!/bin/bash
# compile.sh SECONDS COMPILER ARGUMENT... - runs the compiler repeatedly for SECONDS
set -e
end=$((SECONDS + $1))
shift
while [ $SECONDS -lt $end ]; do
	"$@"
done
