# SPDX-License-Identifier: Apache-2.0
# make -j2 CC=gcc FILES=N: compiles a file N times, by three processes each
SOURCE := $(dir $(lastword $(MAKEFILE_LIST)))ends.c

all: $(addprefix file-,$(shell seq $(FILES)))

file-%:
	$(CC) -O2 -c -o /dev/null $(SOURCE)
