#!/bin/sh
# unrecorded.sh OPTION... -o OUT.reel -- COMMAND... - in the recorder's place, where another recorder records this: notes the process in OUT.pid
while [ "$1" != -- ]; do
	[ "$1" != -o ] || echo $$ >"${2%.reel}.pid"
	shift
done
shift
exec "$@"
