#!/bin/bash
# compile.sh SECONDS COMPILER ARGUMENT... - runs the compiler again and again until so many seconds are over
set -e
end=$((SECONDS + $1))
shift
while [ $SECONDS -lt $end ]; do
	"$@"
done
