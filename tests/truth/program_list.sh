# program_list.sh - programs that people run, each with about two seconds of work; to be sourced by a script that defines `program`
# shellcheck shell=bash
# shellcheck disable=SC2016 # commands are expanded where they are run
#
# program NAME NEEDS PREPARE COMMAND [FILES [SYMFS [ATTACH]]]: NEEDS lists required commands and files. PREPARE makes the input; it and
# COMMAND are run by sh in an empty folder, with programs/ as $sources. FILES: RECORDED=HERE, for programs.py to find files that were
# renamed. SYMFS: a folder of files by their recorded path. ATTACH: the command is already running when recording begins, and runs longer
# than is recorded.
#
# NPM=DIR: a folder where `npm install esbuild deno sass-embedded` was run; TRIXIE=DIR: a tree of Debian 13 with ocaml-nox, gcc, libc6-dev.

# missing WORD...: the first missing command or file; /pattern|pattern requires one of several.
missing() {
	local need
	for need; do
		case $need in
		/*) compgen -G "$need" >/dev/null || { echo "$need"; return; } ;;
		*) command -v "$need" >/dev/null || { echo "$need"; return; } ;;
		esac
	done
}

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
program g++ g++ : 'timeout 2 g++ -std=c++17 -O2 -c -o out.o "$sources/exceptions.cc"'
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
# code outside of files that is replaced all the time
program jit-reuse cc 'cc -O2 -fno-optimize-sibling-calls -o reuse "$sources/../../programs/jit_reuse.c"' './reuse rewritten 60'
program musl musl-gcc 'musl-gcc -O2 -o musl "$sources/musl.c"' './musl 2'
program deleted cc "$spin"'; mv spin twin' 'cp twin spin; (sleep 0.2; rm spin) & exec ./spin 9' '$dir/spin=$dir/twin' '' attach
program memfd cc "$spin"'; cc -O2 -o memfd "$sources/memfd.c"' './memfd spin 2' '/memfd:program=$dir/spin'
program guile guile 'HOME=$PWD guile "$sources/guile.scm"' 'HOME=$PWD guile "$sources/guile.scm"'
program sbcl sbcl : 'sbcl --script "$sources/work.lisp"'
program racket racket : 'racket "$sources/work.rkt"'
program mono 'mono mcs' 'mcs -out:work.exe "$sources/Work.cs"' 'mono work.exe'
program chicken csc 'cp "$sources/chicken.scm" work.scm; csc -O2 -o work work.scm' ./work
program r R : 'R --vanilla -q -f "$sources/work.R"'
program pypy pypy3 : 'pypy3 "$sources/work.py"'
program swi-prolog swipl : 'timeout -s KILL 2 swipl "$sources/work.pl"'
program gnu-prolog gplc 'cp "$sources/work.pl" .; gplc -o work work.pl' 'timeout 2 ./work'
program clisp clisp : 'clisp -q "$sources/clisp.lisp"'
program polyml 'polyc poly' 'cp "$sources/work.sml" .; polyc -o work work.sml' ./work
program 7zip 7zz 'cat /usr/lib/x86_64-linux-gnu/*.so | head -c 30000000 >in' 'timeout 3 7zz a -mmt=2 -bd out.7z in; rm -f out.7z'
program lame lame 'head -c 40000000 /dev/urandom >in.raw' 'timeout 2 lame --quiet -r in.raw out.mp3'
program pari gp : 'gp -q "$sources/work.gp" </dev/null'
program fpc fpc 'cp "$sources/work.pas" .; fpc -O2 -v0 work.pas' ./work
program nim nim 'cp "$sources/work.nim" .; HOME=$PWD nim c -d:release --hints:off -o:work work.nim' ./work
program bzip2 bzip2 'cat /usr/lib/x86_64-linux-gnu/*.so | head -c 30000000 >in' 'timeout 2 bzip2 -kc in >/dev/null'

# x86-16: two loops, and a call in the inner one
loops="printf '\\271\\377\\377\\121\\271\\000\\020\\350\\007\\000\\342\\373\\131\\342\\364\\315\\040\\367\\343\\001\\320\\100\\303'"
modules=${NPM:-/NPM}/node_modules tree=${TRIXIE:-/TRIXIE}
program jit-jumped cc 'cc -O2 -fno-optimize-sibling-calls -o reuse "$sources/../../programs/jit_reuse.c"' './reuse jumped'
places='cc -O1 -o places "$sources/../../programs/code_places.c"'
program text-copied cc "$places" './places fixed 1500'
program code-in-data cc "$places" './places data 1500'
program shared-memory cc "$places"'; echo "void inner(void) { for (volatile int i = 0; i < 200000; i++) ; }" >inner.c; cc -shared -fPIC -o inner.so inner.c' './places shared 1500 ./inner.so'
program block-sections 'clang ld.lld' 'clang -O2 -g -fomit-frame-pointer -fbasic-block-sections=all -fuse-ld=lld -o spin "$sources/descent.c"' './spin 2'
program esbuild "$modules/@esbuild/linux-x64/bin/esbuild" 'for i in $(seq 20000); do echo "export const f$i = (a: number, b: string) => [$i, a].map((y) => y * $i).join(b)"; done >in.ts' \
	"$modules/@esbuild/linux-x64/bin/esbuild in.ts --minify --outfile=out.js"
program cgo 'go cc' 'cp "$sources/../../programs/callbacks.go" .; HOME=$PWD go build -o callbacks callbacks.go; chmod -R u+w .' ./callbacks
program ocaml5 "$tree/usr/bin/ocamlopt chroot" "cp \"\$sources/work.ml\" $tree/tmp; chroot $tree env TMPDIR=/tmp sh -c 'cd /tmp && ocamlopt -o work work.ml'; mv $tree/tmp/work .; rm -f $tree/tmp/work.*" \
	"$tree/lib64/ld-linux-x86-64.so.2 --library-path $tree/usr/lib/x86_64-linux-gnu ./work"
program tcc tcc : 'timeout 3 tcc -run "$sources/tcc.c"'
program spidermonkey js102 : 'timeout 2 js102 -e "function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2) }
	while (true) { fib(18); JSON.stringify(Array.from({ length: 50 }, Math.random).sort()) }"'
program deno "$modules/@deno/linux-x64-glibc/deno" 'echo "const end = Date.now() + 2000, c = new Map()
	while (Date.now() < end) { const s = JSON.stringify(Array.from({ length: 50 }, Math.random)); c.set(s.slice(0, 4), JSON.parse(s).sort()) }" >work.js' \
	"HOME=\$PWD $modules/@deno/linux-x64-glibc/deno run work.js"
program gccgo gccgo-12 'gccgo-12 -O2 -g -o work "$sources/work.go"' ./work
program boost-coroutine 'c++ /usr/include/boost/coroutine/all.hpp' 'c++ -O2 -w -o coroutine "$sources/coroutine.cc" -lboost_coroutine -lboost_context' './coroutine 2'
program split-stack 'cc ld.gold' 'cc -O1 -fsplit-stack -fuse-ld=gold -pthread -o split "$sources/split.c"' ./split
program perl-coro 'perl /usr/lib/*/perl5/*/Coro.pm' : 'perl "$sources/coro.pl"'
program gfortran gfortran 'gfortran -O2 -g -o work "$sources/work.f90"' ./work
program gnat gnatmake 'cp "$sources/busy_tasks.adb" .; gnatmake -q -O2 -g busy_tasks.adb' ./busy_tasks
program gdc gdc 'gdc -O2 -g -o work "$sources/work.d"' ./work
program raku raku : 'raku "$sources/work.raku"'
program mit-scheme mit-scheme : 'mit-scheme --quiet --load "$sources/mit.scm" </dev/null'
program gcl gcl 'cp "$sources/work.lisp" .; sed -i "1a (compile (quote fib))" work.lisp' 'gcl -batch -load work.lisp'
program ghdl ghdl 'ghdl -a "$sources/work.vhd"' 'timeout 3 ghdl -r work_bench'
program pandoc pandoc 'cat "$sources/../../../SPEC.md" >in.md' 'pandoc in.md -t latex -o out.tex'
program dosbox dosbox "printf \"[cpu]\\ncore=dynamic\\ncycles=max\\n\" >conf; $loops >w.com" \
	'SDL_VIDEODRIVER=dummy SDL_AUDIODRIVER=dummy timeout 3 dosbox -conf conf -c "mount c ." -c c: -c w.com'
program varnish 'varnishd curl' : 'varnishd -F -n "$PWD/v" -a "$PWD/socket",mode=666 -f "$sources/work.vcl" & '"$server"'
	timeout 2 curl -s --unix-socket socket "http://a/abcdefghijklm[1-99999]" >/dev/null; kill $!; wait; rm -f socket'
program sass "$modules/sass-embedded-linux-x64/dart-sass/sass" 'for i in $(seq 1500); do echo ".a$i { \$x: $i; .b { width: \$x * 2px; &:hover { color: mix(red, blue, 50%); } } }"; done >in.scss' \
	"$modules/sass-embedded-linux-x64/dart-sass/sass --no-source-map in.scss out.css"
program qemu-system qemu-system-x86_64 "$loops >disk; truncate -s 510 disk; printf '\\125\\252' >>disk; truncate -s 1M disk" \
	'timeout 4 qemu-system-x86_64 -accel tcg -display none -nodefaults -drive format=raw,file=disk'
program libreoffice soffice 'for i in $(seq 3000); do echo "$i,word $i,=A1*2"; done >in.csv' 'HOME=$PWD timeout 20 soffice --headless --convert-to pdf in.csv'
program bat batcat : 'timeout 2 batcat -f --paging=never "$sources"/../../../replay/unwind/*.c >/dev/null'
program csound csound : 'timeout 2 csound "$sources/work.csd"'
program greenlet '/usr/bin/python3 /usr/lib/python3/dist-packages/greenlet' : '/usr/bin/python3 "$sources/greenlets.py"'
