#!/bin/bash
# programs.sh [--quick] [NAME...] - forty real programs: whose traces are complete, proved, wrong, and what is without a name
#
# Each program is recorded by perf, with 65,528 bytes of stack and 999 samples a second, and that file replayed by perf, by the newest perf, and,
# imported, by us: the same samples for all. In another run of the same command it is recorded by us. programs.py judges all of these traces by
# the programs' files alone, and says what it calls complete, proved and wrong. What is not installed is skipped by name.
#
# It fails where a program has fewer complete traces with us than with a perf (less its wrong ones), or wrong ones. The table is at the end, as it stands in
# bench/PROGRAMS.md. NAME: only these, by shell patterns; --quick: five of them. --list: their names.
#
#   O=DIR          the object directory (build)
#   PERF_NEW=PATH  the newest perf: a program, or a command with words quoted for the shell (bench/peers.sh perf-new fetches Debian
#                  sid's with its libraries, and prints one). PERF_NEW= does without
#   EXAMPLES=N     of what was wrong, and of where traces ended, so many for each program (2)
#   KEEP=DIR       keep the recordings there, and what each tool says of them
#   TABLE=FILE     write the table to this file, too
# shellcheck disable=SC2016 # commands are expanded where they are run
set -u
truth=$(cd "$(dirname "$0")" && pwd)
cd "$truth/../.." || exit 1
O=$(realpath "${O:-build}") sources=$truth/programs
stackreel=$O/stackreel recorder=$O/stackreel-record addresses=$O/tests/truth/addresses
export sources LC_ALL=C
unset DEBUGINFOD_URLS
# shellcheck source=tests/count.sh
. tests/count.sh
quick=
case ${1-} in
--quick) quick=yes && shift ;;
--list) sed -n "s/^program \('[^']*'\|[^ ]*\) .*/\1/p" "$0" | tr -d "'"; exit ;;
-*)
	sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" >&2
	exit 2
	;;
esac
wanted=("$@")
[ -z "$quick" ] || [ ${#wanted[@]} -gt 0 ] || wanted=(perl threads gmp openssl-p521 deleted)

[ "$(uname -m)" = x86_64 ] || { skip "programs.py judges x86-64's code only"; finish; }
for program in "$stackreel" "$recorder" "$addresses"; do
	[ -x "$program" ] || { skip "$program is not built"; finish; }
done
[ "$(id -u)" = 0 ] || { skip "recording: not root"; finish; }
for program in python3 objdump perf; do
	command -v $program >/dev/null || { skip "$program is not installed"; finish; }
done
work=$(mktemp -d "${TMPDIR:-/var/tmp}/stackreel-truth-programs.XXXXXX") || exit 1
running=
# What a program of these left behind has its folder as its current one, or in its arguments: each cleans up by itself.
trap '[ -z "$running" ] || kill "$running" 2>/dev/null; rm -rf "$work"' EXIT
trap 'exit 125' INT TERM HUP
chmod 711 "$work"
"$recorder" -q -o "$work/probe.reel" -- true 2>"$work/err" || { skip "recording: $(head -n 1 "$work/err")"; finish; }
perf record -q -B -e cpu-clock -o "$work/probe.data" -- true >"$work/out" 2>"$work/err" || { skip "perf: $(grep -m 1 . "$work/err")"; finish; }

perf_names=() perf_commands=()
add_perf() {
	local version
	version=$(eval "$1 version" 2>"$work/err" | sed -nE 's/^perf version ([0-9]+\.[0-9]+).*/\1/p')
	[ -n "$version" ] || { skip "no perf is '$1': $(head -n 1 "$work/err")"; return; }
	perf_names+=("$version") perf_commands+=("$1")
}
add_perf perf
if [ -z "${PERF_NEW-unset}" ] || [ -n "$quick" ]; then
	echo "only this host's perf"
elif new=${PERF_NEW:-$(bench/peers.sh perf-new 2>"$work/err")}; then
	add_perf "$new"
else
	skip "the newest perf: $(tail -n 1 "$work/err"); PERF_NEW names one"
fi

# ---- one program -----------------------------------------------------------------------------

# A name is wanted: all are, or it is one of those given.
is_wanted() {
	local pattern
	[ ${#wanted[@]} -gt 0 ] || return 0
	for pattern in "${wanted[@]}"; do
		# shellcheck disable=SC2053 # a pattern
		[[ $1 != $pattern ]] || return 0
	done
	return 1
}

# missing WORD...: the first that is no command, nor a file that is there; one of several by /pattern|pattern.
missing() {
	local need
	for need; do
		case $need in
		/*) compgen -G "$need" >/dev/null || { echo "$need"; return; } ;;
		*) command -v "$need" >/dev/null || { echo "$need"; return; } ;;
		esac
	done
}

# in_folder COMMAND...: in the program's own folder, with nothing to read
in_folder() {
	(cd "$dir" && exec "$@") >>"$dir/log" 2>&1 </dev/null &
	running=$!
	wait "$running"
	local status=$?
	running=
	return $status
}

# record COMMAND RECORDER...: the recorder, of the command; or if $attach is set of the command's process, when it has run for a moment.
record() {
	local command=$1 pid status
	shift
	if [ -z "$attach" ]; then
		in_folder "$@" -- sh -c "$command"
		return
	fi
	(cd "$dir" && exec sh -c "$command") >>"$dir/log" 2>&1 </dev/null &
	pid=$!
	sleep 0.5
	in_folder timeout -s INT 2 "$@" -p $pid
	status=$?
	kill $pid
	wait $pid
	[ $status = 124 ] || return $status
} 2>/dev/null

# perf 6.1 aborts while somebody else's event asks for build-ids (util/build-id.c): again, later.
record_perf() {
	local i
	for i in 1 2 3 4 5; do
		rm -f "$dir/perf.data"
		record "$1" perf --buildid-dir "$work/debug" record -q -m 4096 -F 999 -e cpu-clock --call-graph dwarf,65528 -o "$dir/perf.data"
		python3 "$truth/perf_data.py" "$dir/perf.data" >"$dir/out" 2>"$work/err" && return 0
		echo "note: $name, attempt $i: $(tail -n 1 "$work/err")$(cat "$dir/out")" >&2
		sleep 1
	done
	return 1
}

# program NAME NEEDS PREPARE COMMAND [FILES [SYMFS [ATTACH]]]: what must be installed (commands, files); what makes its input, and the command, both for sh in
# an empty folder, with programs/ as $sources. FILES: RECORDED=HERE, by which the judge finds files that have another name now. SYMFS: a folder
# of files by their recorded path, for us and for perf. ATTACH: the command runs already, for longer than is recorded, when recording begins.
program() {
	local name=$1 needs=$2 prepare=$3 command=$4 files=${5-} symfs=${6-} attach=${7-} lacks file options=() i
	is_wanted "$name" || return 0
	# shellcheck disable=SC2086 # words
	lacks=$(missing $needs)
	[ -z "$lacks" ] || { skip "$name: $lacks is not installed"; return; }
	dir=$work/$name
	mkdir -m 755 "$dir"
	: >"$work/err"
	in_folder sh -ec "$prepare" || { tail -n 5 "$dir/log"; count 1 "$name: its input"; return; }
	record_perf "$command" || { tail -n 5 "$dir/log"; count 1 "$name: perf record"; return; }
	record "$command" "$recorder" -q -g -F 999 -o "$dir/recorded.reel"
	[ -z "$symfs" ] || symfs=$dir/$symfs
	"$stackreel" import -q "$dir/perf.data" -o "$dir/ours.reel" 2>"$work/err"
	"$addresses" --names "$dir/ours.reel" ${symfs:+"$symfs"} >"$dir/ours" 2>>"$work/err" &&
		"$addresses" --names "$dir/recorded.reel" ${symfs:+"$symfs"} >"$dir/recorded" 2>>"$work/err"
	count $? "$name: our traces" && [ -s "$dir/recorded" ] || return
	for i in "${!perf_commands[@]}"; do
		eval "${perf_commands[i]}" --buildid-dir "$work/debug" script --ns --no-inline --max-stack 20000 -F comm,pid,tid,time,ip,sym,dso \
			${symfs:+--symfs "$symfs"} -i "$dir/perf.data" >"$dir/perf-${perf_names[i]}" 2>"$work/err"
		options+=(--perf "${perf_names[i]}=$dir/perf-${perf_names[i]}")
	done
	for file in $files; do options+=(--file "$(eval "echo $file")"); done
	python3 "$truth/programs.py" --label "$name" --data "$dir/perf.data" "${options[@]}" --ours "$dir/ours" --recorded "$dir/recorded" \
		--table "$work/table" --examples "${EXAMPLES:-2}" 2>"$work/err"
	count $? "$name: judged"
	not_below "$name"
	[ -z "${KEEP:-}" ] || { mkdir -p "$KEEP" && rm -rf "${KEEP:?}/$name" && cp -a "$dir" "$KEEP/$name"; }
	rm -rf "$dir"
}

# A perf has more complete traces of the same samples; or we have wrong ones, which is worse than incomplete ones. Where a perf has wrong ones,
# others that end in the same way are not shown to be: as many of its complete ones do not count.
not_below() {
	awk -F '\t' -v name="$1" '
		$1 != name { next }
		$2 == "ours" { complete = $4 }
		$2 == "ours" || $2 == "recorded" { if ($6 > 0) { print $2 ": " $6 " % wrong"; bad = 1 } next }
		$4 - $6 > complete { print "perf " $2 ": " $4 " % complete, ours " complete; bad = 1 }
		END { exit bad }' "$work/table" >"$work/err"
	count $? "$1: not below perf, and none wrong"
}

# ---- the programs -------------------------------------------------------------------------------

spin='cc -O2 -g -fomit-frame-pointer -o spin "$sources/descent.c"'
server='for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do [ -e socket ] && break; sleep 0.2; done'
jpeg='{ echo P6 1024 768 255; head -c 1000000 /dev/urandom | od -An -v -tu1 | tr -d "\n" | head -c 2359296; } >in.ppm'

program redis 'redis-server redis-benchmark' : \
	'redis-server --port 0 --unixsocket socket --save "" & '"$server"'; timeout 2 redis-benchmark -s socket -n 100000000 -q -t lrange_100,zadd; kill $!; wait'
program postgres '/usr/lib/postgresql/*/bin/initdb pgbench runuser' \
	'chown nobody .; for i in /usr/lib/postgresql/*/bin; do ln -sfn $i bin; done
	runuser -u nobody -- bin/initdb -D data' \
	'PGHOST=$PWD; export PGHOST; runuser -u nobody -- bin/postgres -D data -k "$PWD" -h "" & sleep 1
	runuser -u nobody -- pgbench -q -i postgres; runuser -u nobody -- pgbench -n -c 2 -T 2 postgres; runuser -u nobody -- bin/pg_ctl -D data stop -m fast; wait; rm -f .s*'
program mariadb 'mariadbd mariadb-install-db mariadb-slap' \
	'mariadb-install-db --no-defaults --user=root --datadir="$PWD/data" --auth-root-authentication-method=normal' \
	'mariadbd --no-defaults --user=root --datadir="$PWD/data" --skip-networking --socket="$PWD/socket" & '"$server"'
	timeout 2 mariadb-slap --no-defaults --socket="$PWD/socket" -a --concurrency=2 --number-of-queries=1000000; kill $!; wait'
program node node : 'node -e "const end = Date.now() + 2000, c = new Map()
	while (Date.now() < end) { const s = JSON.stringify([...Array(50)].map(() => Math.random())); c.set(s.slice(0, 4), JSON.parse(s).sort()) }"'
program chromium chromium : \
	'timeout 20 chromium --headless --no-sandbox --disable-gpu --user-data-dir="$PWD/profile" --dump-dom "file://$sources/page.html"; rm -rf profile'
program clang 'clang++' : 'timeout 2 clang++ -O2 -c -o out.o "$sources/exceptions.cc"; timeout 2 clang++ -O3 -c -o out.o "$sources/exceptions.cc"'
program git-gc git 'git init -q repository; cd repository; git config user.name a; git config user.email a@b
	for i in 1 2 3 4; do cp -r /usr/include/linux .; for f in linux/*.h; do echo $i >>$f; done; git add .; git commit -q -m $i; done' \
	'timeout 3 git -C repository -c pack.threads=2 gc --aggressive --force -q'
program xz xz 'cat /usr/lib/x86_64-linux-gnu/*.so | head -c 60000000 >in' 'timeout 2 xz -9 -T1 -kc in >/dev/null'
program ripgrep rg : 'for i in 1 2 3 4 5 6; do timeout 1 rg -uuu -c "[a-z]+ing[^a-z].*(tion|ment)[^a-z]" /usr/include; done'
program numpy '/usr/bin/python3 /usr/lib/python3/dist-packages/numpy' : '/usr/bin/python3 -c "import numpy, time
end = time.time() + 2
while time.time() < end:
    a = numpy.random.rand(200, 200); numpy.linalg.svd(a @ a); numpy.sort(a.ravel()); numpy.fft.fft2(a); numpy.sin(a)"'
program openblas 'cc /usr/include/x86_64-linux-gnu/cblas.h' 'cc -O2 -o blas "$sources/blas.c" -lopenblas' './blas 2'
program perl perl : 'timeout 2 perl -e "my %h; while (1) { \$h{\$_ % 5003} = sprintf(q(%d), \$_) for 1 .. 100000; my @k = sort keys %h; join q(,), @k }"'
program lua lua5.4 : 'timeout 2 lua5.4 -e "local t = {} while true do for i = 1, 1000 do t[i] = math.sin(i) .. [[]] end table.sort(t) end"'
program ocaml ocamlopt 'cp "$sources/work.ml" .; ocamlopt -o work work.ml' ./work
program chroot 'cc chroot' "$spin"'; mkdir root; mv spin root; for i in $(ldd root/spin | grep -o "/[^ ]*"); do mkdir -p root/${i%/*}; cp $i root/$i; done' \
	'chroot root /spin 2' '/spin=$dir/root/spin' root
program dlopen cc 'cc -O2 -o plugins "$sources/plugins.c"; for i in 1 2 3 4 5; do cc -O2 -shared -fPIC -DPADDING=$i -o plugin-$i.so "$sources/plugin.c"; done' \
	'./plugins 2 ./plugin-*.so'
program ruby ruby : 'timeout 2 ruby -e "loop { a = (1..20000).map { |i| (i * 7919) % 100003 }; a.sort.map(&:to_s).sort_by(&:reverse).join.hash }"'
program php php : 'timeout 2 php -n "$sources/work.php"'
program make make 'for i in $(seq 20000); do echo "all: t$i"; echo "t$i: \$(patsubst %,x%,\$(filter %7,a7 b$i)); @:"; echo "xa7 xb$i:"; done >Makefile' \
	'timeout 2 make -n >/dev/null; timeout 2 make -s'
program rust rustc 'rustc -O -o work "$sources/work.rs"' ./work
program go go 'cp "$sources/work.go" .; HOME=$PWD go build -o work work.go; chmod -R u+w .' ./work
program go-stripped go 'cp "$sources/work.go" .; HOME=$PWD go build -o twin work.go; strip -o work twin; chmod -R u+w .' ./work '$dir/work=$dir/twin'
program threads cc 'cc -O2 -pthread -o crowd "$sources/crowd.c"' './crowd 2'
program processes perl : 'i=0; while [ $i -lt 150 ]; do perl -MPOSIX -e 1; i=$((i + 1)); done'
program nginx-tls 'nginx openssl curl' 'openssl req -x509 -newkey rsa:2048 -nodes -keyout key -out cert -days 9 -subj /CN=a; head -c 1000000 /dev/urandom >file
	cat >nginx.conf <<END
user root; worker_processes 1; daemon off; pid pid; error_log stderr; events { }
http { access_log off; client_body_temp_path t1; proxy_temp_path t2; fastcgi_temp_path t3; uwsgi_temp_path t4; scgi_temp_path t5
; server { listen unix:$PWD/socket ssl; ssl_certificate $PWD/cert; ssl_certificate_key $PWD/key; root $PWD; } }
END' \
	'nginx -e stderr -p "$PWD" -c "$PWD/nginx.conf" & '"$server"'
	timeout 2 curl -sk -H "Connection: close" --unix-socket socket "https://a/file?[1-9999]" >/dev/null; kill $!; wait; rm -f socket'
program cjpeg cjpeg "$jpeg" 'timeout 2 sh -c "while :; do cjpeg -quality 85 -optimize in.ppm >/dev/null; done"'
program djpeg 'cjpeg djpeg' "$jpeg; cjpeg in.ppm >in.jpg" 'timeout 2 sh -c "while :; do djpeg in.jpg >/dev/null; done"'
program x264 'x264 ffmpeg' 'ffmpeg -v error -f lavfi -i testsrc2=size=640x360:rate=25 -frames:v 250 -pix_fmt yuv420p in.y4m' \
	'timeout 3 x264 --quiet -o out.264 in.y4m'
program x265 'x265 ffmpeg' 'ffmpeg -v error -f lavfi -i testsrc2=size=640x360:rate=25 -frames:v 250 -pix_fmt yuv420p in.y4m' \
	'timeout 3 x265 --log-level none --input in.y4m -o out.hevc'
program ffmpeg ffmpeg 'ffmpeg -v error -f lavfi -i testsrc2=size=640x360:rate=25 -frames:v 250 -pix_fmt yuv420p -c:v libx264 in.mkv' \
	'timeout 3 ffmpeg -v error -threads 2 -stream_loop -1 -i in.mkv -f null -'
program openssl-p521 openssl : 'openssl speed -seconds 1 ecdsap384 ecdsap521'
program openssl-gcm openssl : 'openssl speed -seconds 1 -evp aes-256-gcm'
program valgrind 'valgrind cc' "$spin" 'timeout 3 valgrind -q ./spin 9'
program luajit luajit : 'timeout 2 luajit -e "local t = {} while true do for i = 1, 1000 do t[i] = math.sin(i) .. [[]] end table.sort(t) end"'
program ghc ghc 'cp "$sources/work.hs" .; ghc -v0 -O -o work work.hs' 'timeout 2 ./work'
program boost-context 'c++ /usr/include/boost/context/fiber.hpp' 'c++ -O2 -o fibers "$sources/fibers.cc" -lboost_context' './fibers 2'
program gmp 'cc /usr/include/*/gmp.h' 'cc -O2 -o gmp "$sources/gmp.c" -lgmp' './gmp 2'
program java-interpreter 'java javac' 'javac -d . "$sources/Work.java"' 'java -Xint Work 2'
program java 'java javac' 'javac -d . "$sources/Work.java"' 'java Work 2'
program java-frame-pointer 'java javac' 'javac -d . "$sources/Work.java"' 'java -XX:+PreserveFramePointer Work 2'
program qemu-user 'qemu-x86_64 cc' "$spin" 'timeout 2 qemu-x86_64 ./spin 9'
program erlang erl : 'timeout 3 erl -noshell -eval "F = fun F(N) -> lists:sort([integer_to_list(rand:uniform(N)) || _ <- lists:seq(1, N)]), F(N) end, F(3000)."'
program ucontext cc 'cc -O2 -o contexts "$sources/contexts.c"' './contexts 2'
program php-jit 'php /usr/lib/php/*/opcache.so' : \
	'timeout 2 php -n -d zend_extension=opcache -d opcache.enable_cli=1 -d opcache.jit=tracing -d opcache.jit_buffer_size=64M "$sources/work.php"'
program musl musl-gcc 'musl-gcc -O2 -o musl "$sources/musl.c"' './musl 2'
program deleted cc "$spin"'; mv spin twin' 'cp twin spin; (sleep 0.2; rm spin) & exec ./spin 9' '$dir/spin=$dir/twin' '' attach
program memfd cc "$spin"'; cc -O2 -o memfd "$sources/memfd.c"' './memfd spin 2' '/memfd:program=$dir/spin'

# ---- the table --------------------------------------------------------------------------------------

[ -s "$work/table" ] || finish
{
	echo "Measured on $(date -u +%F) on Linux $(uname -r | cut -d- -f1) with $(nproc) CPUs; $("$stackreel" --version), perf ${perf_names[*]}."
	echo
	awk -F '\t' -v perfs="${perf_names[*]}" '
		!($1 in seen) { seen[$1] = ++n; names[n] = $1 }
		{ if ($2 == "ours") samples[$1] = $3; for (i = 4; i <= 7; i++) value[$1, $2, i] = $i }
		END {
			split(". . . complete proved wrong unnamed", words, " ")
			for (i = 4; i <= 7; i++) {
				k = split(i == 5 ? "ours recorded" : "ours " perfs " recorded", tools, " ")
				for (t = 1; t <= k; t++) { columns[++m] = i; tool[m] = tools[t] }
			}
			printf "| program | samples |"
			for (c = 1; c <= m; c++) printf " %s: %s%s |", words[columns[c]], tool[c] ~ /^[0-9]/ ? "perf " : "", tool[c]
			printf "\n|---|---:|"
			for (c = 1; c <= m; c++) printf "---:|"
			for (i = 1; i <= n; i++) {
				printf "\n| %s | %d |", names[i], samples[names[i]]
				for (c = 1; c <= m; c++) printf " %s |", value[names[i], tool[c], columns[c]]
			}
			print ""
		}' "$work/table"
} | tee "${TABLE:-/dev/null}"
finish
