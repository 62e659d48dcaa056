# stackreel: `make` builds, `make test` tests, `make demo` shows an example; `make test-all` runs all tests,
# `make test-changed` those slow ones that a change can break; `make help` lists the other targets.
#
#   V=1             show commands          O=DIR            object directory (build)
#   WERROR=1        warnings are errors (make test and test-all set it)
#   SAN=1           ASan + UBSan           SAN=thread       TSan
#   HOURS=N         how long `make fuzz` and `make soak` run
#   CC=, CFLAGS=    as usual               CROSS_COMPILE=   a cross compiler's prefix
#   CCACHE=         compile without ccache, which is used where it is installed
#   PREFIX=, DESTDIR=                      SYSROOT=DIR      libraries to cross-build with
#   JOBS=N          number of parallel test runners (tests/run.sh --help)

# A failing recipe leaves no incomplete files.
.DELETE_ON_ERROR:

VERSION := $(shell sed -n 's/^\#define REEL_VERSION_STRING "\(.*\)"/\1/p' include/stackreel.h)
ABI := 1

O ?= build
PREFIX ?= /usr/local
BINDIR ?= $(PREFIX)/bin
LIBDIR ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
MANDIR ?= $(PREFIX)/share/man
DOCDIR ?= $(PREFIX)/share/doc/stackreel
BASHCOMPDIR ?= $(PREFIX)/share/bash-completion/completions
ZSHCOMPDIR ?= $(PREFIX)/share/zsh/site-functions
FISHCOMPDIR ?= $(PREFIX)/share/fish/vendor_completions.d
UNITDIR ?= $(PREFIX)/lib/systemd/system
# For the Python package, which is installed only if this is given.
PYTHONDIR ?=
SYSCONFDIR ?= $(if $(filter /usr,$(PREFIX)),/etc,$(PREFIX)/etc)

ifeq ($(origin CC),default)
CC := $(CROSS_COMPILE)gcc
endif
ifeq ($(origin AR),default)
AR := $(CROSS_COMPILE)ar
endif
ifeq ($(origin CXX),default)
CXX := $(CROSS_COMPILE)g++
endif
CLANG ?= clang
# The room of host/ with what the system has, and the folder of libraries that packaging/libraries.sh builds in place of the
# system's; `make wasm` and `make musl` set them.
host := linux
libraries :=
own_libs = -L$(libraries)/lib -largp -lelf -ldeflate -llzma -lcapstone -lzstd -lz -lsodium
# Unless its folder cannot be written, e.g. without a home.
ifeq ($(origin CCACHE),undefined)
CCACHE := $(if $(filter %ccache,$(CC)),,$(shell folder=$$(ccache -k cache_dir 2>/dev/null) && mkdir -p "$$folder" 2>/dev/null && test -w "$$folder" && command -v ccache))
endif
ifneq ($(CCACHE),)
# Clones in different folders share their objects: debug information names sources relative to the top folder.
export CCACHE_BASEDIR := $(CURDIR)
ccache_flags := -fdebug-prefix-map=$(CURDIR)=.
endif
PKG_CONFIG ?= pkg-config
Q := $(if $(V),,@)
say = $(if $(V),@:,@printf '  %-7s %s\n' "$(1)" "$(2)")

ifdef SYSROOT
export PKG_CONFIG_SYSROOT_DIR := $(SYSROOT)
export PKG_CONFIG_LIBDIR := $(wildcard $(SYSROOT)/usr/lib/*/pkgconfig):$(SYSROOT)/usr/share/pkgconfig
sysroot_flags := --sysroot=$(SYSROOT)
endif

# ---- flags ------------------------------------------------------------------

CFLAGS ?= -O2 -g
# Not by default: newer compilers have new warnings.
werror := $(if $(WERROR),-Werror)
warnings := -Wall -Wextra $(werror) -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wundef -Wpointer-arith \
	-Wformat=2 -Wno-missing-field-initializers -Wno-psabi
ifeq ($(SAN),fuzz)
san_flags := -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
# Linking so many programs with sanitizers takes half as long.
linker := $(if $(shell command -v ld.lld),-fuse-ld=lld)
else ifeq ($(SAN),1)
san_flags := -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
else ifneq ($(SAN),)
san_flags := -fsanitize=$(SAN) -fno-omit-frame-pointer
endif
base_cflags = -std=gnu11 -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -D_TIME_BITS=64 -fPIC -pthread -I. -I$(O)/include $(if $(libraries),-isystem $(libraries)/include) $(warnings) $(san_flags) $(sysroot_flags) $(ccache_flags)
base_ldflags = -pthread $(linker) $(san_flags) $(sysroot_flags)

ifeq ($(host),wasm)
base_cflags = -std=gnu11 -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -I. -I$(O)/include -I$(libraries)/include -include host/wasm/libc.h $(warnings)
base_ldflags :=
# Debian's emscripten 3.1.6 expects its packages of node there, and a node without fetch().
export NODE_PATH := /usr/share/nodejs
export NODE_OPTIONS := --no-experimental-fetch
endif

pkg_cflags = $(shell $(PKG_CONFIG) --cflags $(1) 2>/dev/null)
pkg_libs = $(shell $(PKG_CONFIG) --libs $(1) 2>/dev/null)
have = $(shell $(PKG_CONFIG) --exists $(1) 2>/dev/null && echo yes)

format_libs := $(call pkg_libs,libzstd zlib libsodium)
replay_libs := $(call pkg_libs,libdw libelf libdeflate liblzma capstone) $(format_libs) -pthread
# Optional: SQL.
sqlite := $(if $(call have,sqlite3),sqlite3)
# Optional: browsing reports on terminals, instead of text.
ncurses := $(if $(call have,ncursesw),ncursesw)
# Optional, for --push: only the header, as the library is loaded when needed.
libcurl := $(if $(call have,libcurl),libcurl)
# Optional, together with the compiler for its files: the formats that use it.
PROTOC ?= protoc
protobuf := $(if $(and $(call have,libprotobuf-c),$(shell command -v $(PROTOC)),$(shell command -v protoc-gen-c)),libprotobuf-c)
cli_libs := $(replay_libs) $(call pkg_libs,libseccomp $(sqlite) $(protobuf) $(ncurses)) -lm
cli_static_libs = $(shell $(PKG_CONFIG) --static --libs libdw libelf libdeflate liblzma capstone libzstd zlib libsodium libseccomp $(sqlite) $(protobuf) $(ncurses)) -lm
ifdef libraries
# musl's threads have 128 KB of stack otherwise.
cli_static_libs = -Wl,-z,stack-size=8388608 $(own_libs) -lseccomp
endif
record_packages := libbpf libelf libdeflate liblzma libzstd zlib libsodium libseccomp
record_libs = $(call pkg_libs,$(record_packages))
record_static_libs = $(shell $(PKG_CONFIG) --static --libs $(record_packages))

# ---- objects and programs ------------------------------------------------------------

# The target CPU, by the compiler's name.
machine := $(firstword $(subst -, ,$(shell $(CC) -dumpmachine)))
bpf_arch := $(patsubst x86_64,x86,$(patsubst aarch64,arm64,$(patsubst riscv64,riscv,$(patsubst s390x,s390,$(machine)))))
bpf_target := $(if $(filter s390x,$(machine)),bpfeb,bpfel)

sources = $(sort $(wildcard $(1)/*.c $(1)/*/*.c))
objects = $(patsubst %.c,$(O)/%.o,$(call sources,$(1)))
# What only Linux has, what needs libdw, or else what replaces them.
other_objects := $(addprefix $(O)/,$(if $(filter linux,$(host)),cli/missing,cli/session)/sandbox.o replay/$(if $(libraries),files,missing)/relocated.o)

# Rooms that both programs link, and those that the library adds.
shared_objects := $(foreach room,base host/$(host) format arch elf cfi,$(call objects,$(room)))
library_objects := $(shared_objects) $(filter-out $(other_objects),$(call objects,replay))
static_objects := $(call objects,cli/static)
page := cli/page/web
page_object := $(O)/cli/page/page_bytes.o
messages := $(patsubst cli/protobuf/proto/%.proto,%,$(wildcard cli/protobuf/proto/*.proto))
message_objects := $(patsubst %,$(O)/cli/protobuf/%.pb-c.o,$(messages))
# An optional room, or its replacement in cli/missing/.
unused_objects := $(foreach room,$(if $(sqlite),missing/,)sql $(if $(ncurses),missing/,)browse $(if $(protobuf),missing/,)protobuf \
	$(if $(libcurl),missing/,)push,$(call objects,cli/$(room)) $(patsubst %.c,$(O)/%.o,$(wildcard cli/$(room).c)))
cli_objects := $(filter-out $(static_objects) $(unused_objects) $(other_objects),$(call objects,cli)) $(if $(protobuf),$(message_objects)) $(page_object)
record_objects := $(call objects,record) $(O)/record/sampling/bpf_object.o

have_clang := $(shell command -v $(CLANG) >/dev/null 2>&1 && echo yes)
# From libdw, only a header with DWARF's constants.
have_record := $(and $(have_clang),$(call have,$(record_packages) libdw))
have_replay := $(call have,libdw libelf libdeflate liblzma capstone libzstd zlib libsodium libseccomp)

programs := $(if $(have_replay),$(O)/stackreel) $(if $(have_record),$(O)/stackreel-record)
library := $(if $(have_replay),$(O)/libstackreel.so.$(VERSION))

# For each program and shell. All share the words that arguments can be, and the way they read --help.
completions := $(foreach program,stackreel stackreel-record,$(addprefix $(O)/completions/$(program).,bash zsh fish))

.PHONY: all programs
all: $(programs) $(library) $(completions)
ifneq ($(have_record),yes)
	@echo "note: clang, libbpf or libseccomp is missing: built stackreel but not stackreel-record (make deps installs them)"
endif
ifeq ($(sqlite),)
	@echo "note: libsqlite3 is missing: stackreel is built without SQL (make deps installs it)"
endif
ifeq ($(ncurses),)
	@echo "note: ncursesw is missing: stackreel is built without interactive reports (make deps installs it)"
endif
ifeq ($(libcurl),)
	@echo "note: libcurl is missing: stackreel is built without --push (make deps installs it)"
endif
ifeq ($(protobuf),)
	@echo "note: protobuf-c is missing: stackreel is built without pprof, perfetto and otlp exports (make deps installs it)"
endif
ifneq ($(have_replay),yes)
	@echo "note: libdw, liblzma, capstone or libseccomp is missing: built stackreel-record but not stackreel (make deps installs it)"
endif

programs: $(programs)

# Not our code: functions that we do not call are unused.
$(call objects,elf/libiberty): warnings := -Wall $(werror) -Wno-unused-function

# An object's dependencies, independent of the object directory's spelling in the next call of make.
depend = -MMD -MP -MT '$$(O)/$(1)'

$(O)/%.o: %.c
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CCACHE) $(CC) $(base_cflags) $(call depend,$*.o) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<

$(O)/cli/browse/screen.o: CPPFLAGS += $(call pkg_cflags,ncursesw)
$(call objects,cli/push): CPPFLAGS += $(call pkg_cflags,libcurl)

# protobuf-c's code for messages, generated from their descriptions.
message_headers := $(patsubst %,$(O)/include/cli/protobuf/%.pb-c.h,$(messages))
$(message_headers): $(O)/include/cli/protobuf/%.pb-c.h: cli/protobuf/proto/%.proto
	$(call say,PROTO,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(PROTOC) --proto_path=$(<D) --c_out=$(@D) $<
$(message_objects): $(O)/cli/protobuf/%.pb-c.o: $(O)/include/cli/protobuf/%.pb-c.h
	$(call say,CC,$(<:.h=.c))
	$(Q)mkdir -p $(@D)
	$(Q)$(CCACHE) $(CC) $(base_cflags) -I$(<D) $(call pkg_cflags,libprotobuf-c) $(CPPFLAGS) $(CFLAGS) -c -o $@ $(<:.h=.c)
$(call objects,cli/protobuf): | $(if $(protobuf),$(message_headers))
$(call objects,cli/protobuf): CPPFLAGS += $(call pkg_cflags,libprotobuf-c)

$(O)/libstackreel.a: $(library_objects)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(O)/libstackreel.so.$(VERSION): $(library_objects) replay/libstackreel.map
	$(call say,LD,$@)
	$(Q)$(CC) -shared -Wl,-soname,libstackreel.so.$(ABI) -Wl,--version-script=replay/libstackreel.map \
		$(base_ldflags) $(LDFLAGS) -o $@ $(library_objects) $(replay_libs)
	$(Q)ln -sf $(@F) $(O)/libstackreel.so.$(ABI) && ln -sf $(@F) $(O)/libstackreel.so

# The pages of `stackreel view` need no packages.
drop_files := $(wildcard $(page)/drop*)
page_files := $(filter-out $(drop_files),$(page)/make-page.sh $(wildcard $(page)/*.html $(page)/*.css $(page)/*.js))
$(O)/page/page.html: page_main := main.js
$(O)/page/firefox.html: page_main := firefox.js
$(O)/page/drop.html: page_main := drop.js
$(O)/page/drop.html: $(drop_files)
$(O)/page/page.html $(O)/page/firefox.html $(O)/page/drop.html: $(page_files)
	$(call say,PAGE,$(@F))
	$(Q)mkdir -p $(@D)
	$(Q)$< $(@F) $(page_main) $@
$(page_object): CPPFLAGS += -I$(O)/page
$(page_object): $(if $(filter wasm,$(host)),host/wasm,cli/page)/page_bytes.S $(O)/page/page.html $(O)/page/firefox.html
	$(call say,AS,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(sysroot_flags) $(CPPFLAGS) -c -o $@ $<

$(O)/stackreel: $(cli_objects) $(O)/libstackreel.a
	$(call say,LD,$@)
	$(Q)$(CC) $(base_ldflags) $(LDFLAGS) -o $@ $^ $(cli_libs)

# LABELS are the keys of labels.
$(completions): $(wildcard packaging/completions/*) replay/api/label_keys.c
	$(call say,SHELL,$@)
	$(Q)mkdir -p $(@D)
	$(Q)sed -e 's/@PROGRAM@/$(basename $(@F))/g' -e '/@VALUES@/{r packaging/completions/values' -e 'd}' -e '/@HELP@/{r packaging/completions/help.sed' -e 'd}' \
		packaging/completions/$(subst .,,$(suffix $@)).in | \
		sed "s/ LABELS\$$/ $$(grep -oE '"[a-z0-9-]+"' replay/api/label_keys.c | tr -d '"' | xargs)/" >$@

# ---- the recorder ---------------------------------------------------------------

# DWARF is useless in BPF objects (BTF stays); without llvm-strip they are larger.
LLVM_STRIP ?= $(shell command -v llvm-strip)

bpf_objects := $(patsubst %.bpf.c,$(O)/%.bpf.o,$(wildcard bpf/*.bpf.c))
# BTF contains names of source files, which must not depend on the build folder.
bpf_cflags = -std=gnu11 -O2 -g -mcpu=v2 -Wall -Wextra $(werror) -ffile-prefix-map=$(CURDIR)=. -I. -D__TARGET_ARCH_$(bpf_arch) \
	$(call pkg_cflags,libbpf) $(if $(SYSROOT),-I$(SYSROOT)/usr/include)

$(O)/bpf/%.bpf.o: bpf/%.bpf.c
	$(call say,BPF,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CCACHE) $(CLANG) -target $(bpf_target) $(bpf_cflags) $(call depend,bpf/$*.bpf.o) -c -o $@ $<
	$(if $(LLVM_STRIP),$(Q)$(LLVM_STRIP) -g $@)

# The BPF object is linked into the program.
$(O)/record/sampling/bpf_object.o: record/sampling/bpf_object.S $(bpf_objects)
	$(call say,AS,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(sysroot_flags) -I$(O)/bpf -c -o $@ $<

recorder_objects := $(record_objects) $(shared_objects)

$(O)/stackreel-record: $(recorder_objects)
	$(call say,LD,$@)
	$(Q)$(CC) $(base_ldflags) $(LDFLAGS) -o $@ $^ $(record_libs)

# Both programs, if their static libraries exist: Fedora has libdw.a in a separate package, and Debian 13's is incomplete.
.PHONY: static
static: $(if $(have_record),$(O)/static/stackreel-record)
	+$(Q)$(MAKE) --no-print-directory $(O)/static/stackreel || echo "note: cannot link stackreel statically: libdw.a is missing or incomplete (Debian 12's is complete)"
$(O)/static/stackreel-record: $(recorder_objects)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -static $(base_ldflags) $(LDFLAGS) -o $@ $^ $(record_static_libs)

$(O)/static/stackreel: $(cli_objects) $(static_objects) $(O)/libstackreel.a
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -static -Wl,--wrap=dlopen $(base_ldflags) $(LDFLAGS) -o $@ $^ $(cli_static_libs)

# ---- other libcs ----------------------------------------------------------------------

# With libraries built from source packages, and nothing that pkg-config finds.
own = $(MAKE) --no-print-directory O=$(O)/$@ libraries=$(O)/$@/libraries CLANG= PKG_CONFIG=false
# The command line as one module; the npm package that runs it in node, and the page that runs it in a browser: packaging/wasm/README.md.
.PHONY: wasm
wasm: $(O)/wasm/libraries/done
	+$(Q)$(own) host=wasm CC=emcc AR=emar CFLAGS=-O2 CCACHE= wasm-package $(O)/$@/stackreel.html
$(O)/wasm/libraries/done: own_tools := CC=emcc AR=emar NODE_OPTIONS=--no-experimental-fetch

# A static stackreel with musl, which needs no static libraries of the system.
.PHONY: musl
musl: $(O)/musl/libraries/done
	+$(Q)$(own) CC=musl-gcc $(O)/musl/static/stackreel
$(O)/musl/libraries/done: own_tools := CC=musl-gcc AR=$(AR)

$(O)/wasm/libraries/done $(O)/musl/libraries/done: packaging/libraries.sh
	$(call say,LIBS,$(@D))
	$(Q)$(own_tools) $< $(@D) $(O)/sources
	$(Q)touch $@

ifeq ($(host),wasm)
npm := $(O)/npm
npm_files := $(addprefix $(npm)/,package.json stackreel.js README.md)
.PHONY: wasm-package
wasm-package: $(npm)/module.js $(npm_files)
	$(Q)mkdir -p $(npm)/licences && cp $(libraries)/licences/* LICENSE $(npm)/licences/
module_objects := $(cli_objects) $(O)/libstackreel.a host/wasm/system.js
link_module = emcc -O2 -sALLOW_MEMORY_GROWTH -sTOTAL_STACK=8MB -sMODULARIZE -sEXIT_RUNTIME $(patsubst %.js,--js-library %.js,$(filter %.js,$^)) -o $@ \
	$(filter %.o %.a,$^) $(own_libs)
$(npm)/module.js: $(module_objects) host/wasm/node.js
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(link_module) -sNODERAWFS -sMAXIMUM_MEMORY=4GB -sNODEJS_CATCH_EXIT=0 -sNODEJS_CATCH_REJECTION=0 -sEXPORTED_RUNTIME_METHODS=ENV
$(O)/page/module.js: $(module_objects) host/wasm/page.js
	$(call say,LD,$@)
	$(Q)$(link_module) -sENVIRONMENT=worker -sEXPORT_NAME=stackreelModule -sINVOKE_RUN=0 -sMAXIMUM_MEMORY=2GB -lworkerfs.js \
		-sEXPORTED_RUNTIME_METHODS=FS,WORKERFS,callMain
$(O)/stackreel.html: packaging/wasm/page.sh packaging/wasm/npm/README.md $(page)/drop_worker.js $(O)/page/drop.html $(O)/page/page.html $(O)/page/module.js
	$(call say,PAGE,$@)
	$(Q)VERSION=$(VERSION) packaging/wasm/page.sh $(filter $(O)/%,$^) LICENSE $(libraries)/licences/* >$@
$(npm_files): $(npm)/%: packaging/wasm/npm/%
	$(call say,NPM,$@)
	$(Q)mkdir -p $(@D)
	$(Q)sed 's/@VERSION@/$(VERSION)/' $< >$@
endif

# ---- tests -----------------------------------------------------------------------

# Functions that cmocka, libraries and signals call often need not all of their arguments.
$(O)/tests/%.o: warnings += -Wno-unused-parameter

# Each tests/unit/ROOM/test_*.c is a cmocka program; tests/run.sh runs these and all other tests.
unit_tests := $(patsubst %.c,$(O)/%,$(wildcard tests/unit/*/*.c tests/unit/*/*/*.c))
test_libs := $(call pkg_libs,cmocka)

# The CLI's objects, from which each test links those it needs.
$(O)/cli.a: $(filter-out $(O)/cli/main.o,$(cli_objects))
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

# The recorder's objects that do not need libbpf.
$(O)/recorder.a: $(filter-out $(addprefix $(O)/,$(patsubst %.c,%.o,$(shell grep -l '<bpf/\|sampling/programs.h' record/sampling/*.c))),$(call objects,record))
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

# Only tests of the commands and of the recorder link these, so that a few tests of the library need not build all objects.
$(filter $(O)/tests/unit/cli/%,$(unit_tests)): $(O)/cli.a
$(filter $(O)/tests/unit/record/%,$(unit_tests)): $(O)/recorder.a
$(O)/tests/unit/%: $(O)/tests/unit/%.o $(O)/libstackreel.a
	$(call say,LD,$@)
	$(Q)$(CC) $(base_ldflags) $(LDFLAGS) -o $@ $< $(filter %/recorder.a %/cli.a,$^) $(O)/libstackreel.a $(test_libs) $(cli_libs)

# Programs that tests/*/test-*.sh need.
test_programs := $(addprefix $(O)/tests/,$(addprefix names/,demangle symbolize libdw_symbols trace_symbols) $(addprefix unwind/,stepped cfi_rows synthesized_rows arch_table) \
	$(addprefix rewrite/,scrub_compare scrub_chance) cli/make_perf_data record/lock_samples format/encrypted_captures fixtures/format_fixtures truth/torn_check truth/addresses)

$(test_programs): $(O)/tests/%: $(O)/tests/%.o $(O)/libstackreel.a
	$(call say,LD,$@)
	$(Q)$(CC) $(base_ldflags) $(LDFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(replay_libs)

# What the recorder's helper reads of Python code.
$(O)/tests/record/code_reader: $(O)/tests/record/code_reader.o $(O)/recorder.a $(O)/cli.a $(O)/libstackreel.a
	$(call say,LD,$@)
	$(Q)$(CC) $(base_ldflags) $(LDFLAGS) -o $@ $^ $(test_libs) $(cli_libs)

# It looks up its own lines, whose files must have absolute names.
$(O)/tests/unit/replay/names/test_symbolizer.o: ccache_flags :=

# Its cleanups compile to landing pads.
$(O)/tests/unwind/stepped.o: CPPFLAGS += -fexceptions
$(O)/tests/unwind/cfi_rows: $(O)/tests/unwind/cfi_rules.o $(O)/tests/unwind/cfi_reads.o
$(O)/tests/fixtures/format_fixtures: $(call objects,tests/fixtures)

# Compares our traces with libdw's and, if installed, libunwind's.
have_libunwind := $(call have,libunwind-generic)
compare_unwinders_objects := $(addprefix $(O)/tests/truth/,compare_unwinders.o difference.o incomplete.o tally.o \
	unwind_capture.o cfi_judge.o target_code.o dwarf_evaluate.o dwfl_oracle.o libunwind_oracle.o)

$(O)/tests/truth/libunwind_oracle.o: CPPFLAGS += $(if $(have_libunwind),-DHAVE_LIBUNWIND $(call pkg_cflags,libunwind-generic))
# It may be removed between two builds: Debian's libc++-dev and libunwind-dev exclude each other.
$(O)/tests/truth/libunwind_oracle.o: $(O)/libunwind.state
$(O)/libunwind.state: always
	$(Q)mkdir -p $(@D)
	$(Q)echo '$(have_libunwind)' | cmp -s - $@ || echo '$(have_libunwind)' >$@
.PHONY: always
$(O)/tests/truth/compare_unwinders: $(compare_unwinders_objects) $(O)/libstackreel.a
	$(call say,LD,$@)
	$(Q)$(CC) $(base_ldflags) $(LDFLAGS) -o $@ $^ $(replay_libs) $(if $(have_libunwind),$(call pkg_libs,libunwind-generic))

# Checks the BPF program alone; the static variant is for guests.
probe_objects := $(addprefix $(O)/tests/record/,sampler_probe.o sampler_cases.o) $(filter-out $(O)/record/main.o,$(recorder_objects))

$(O)/tests/record/sampler_probe: $(probe_objects)
	$(call say,LD,$@)
	$(Q)$(CC) -pthread $(base_ldflags) $(LDFLAGS) -o $@ $^ $(record_libs)
$(O)/static/sampler_probe: $(probe_objects)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -static -pthread $(base_ldflags) $(LDFLAGS) -o $@ $^ $(record_static_libs)

# As many rings as a large host has.
$(O)/tests/record/ring_writers: $(addprefix $(O)/,tests/record/ring_writers.o record/sampling/rings.o base/error.o)
	$(call say,LD,$@)
	$(Q)$(CC) -pthread $(base_ldflags) $(LDFLAGS) -o $@ $^ $(record_libs)

.PHONY: unit tests
unit: $(unit_tests)
	$(Q)O=$(O) tests/run.sh --unit
tests: all $(unit_tests) $(test_programs) $(addprefix $(O)/bench/,measure repeat storm synthesize unwind) $(O)/tests/truth/compare_unwinders \
	$(if $(have_record),$(addprefix $(O)/tests/record/,sampler_probe ring_writers code_reader))

# Detailed comparisons with libdw, gdb, perf, llvm-symbolizer etc.; `make test-all` runs their quick form.
.PHONY: truth
truth: tests
	$(Q)O=$(O) tests/truth/run.sh

# Runs our recorder on all kernels and CPUs of tests/vm/cells.sh, and prints a line for each; makes the captures in testdata again.
.PHONY: vm-test vm-capture
vm-test: all
	$(Q)O=$(O) CELLS=all tests/vm/test-guests.sh
vm-capture: tests
	$(Q)O=$(O) tests/vm/capture.sh

# ---- the two commands of README: `make deps demo`, `make deps test` ------------------

# Installed dependencies are detected when make starts, so these targets start another make
# after deps, with as many jobs as there are CPUs, unless -j is given.
all_cpus = $(if $(findstring -j,$(MAKEFLAGS)),,-j$(shell nproc))
.PHONY: deps demo test test-all test-changed
test test-all test-changed: export WERROR := 1
deps:
	$(Q)packaging/deps.sh $(if $(filter test,$(MAKECMDGOALS)),test) $(if $(filter test-all test-changed,$(MAKECMDGOALS)),test-all)
demo: | $(filter deps,$(MAKECMDGOALS))
	+$(Q)$(MAKE) $(all_cpus) --no-print-directory programs
	$(Q)O=$(O) packaging/demo.sh
# Each prints `N passed, N failed, N skipped` last. test-all runs all tests and notes in tests/passed what passed; test-changed runs, of the
# tests that test leaves out, those that changes since can break (or since the commit BASE), and a share of the others.
test test-all test-changed: | $(filter deps,$(MAKECMDGOALS))
	+$(Q)$(MAKE) $(all_cpus) --no-print-directory tests
	$(Q)O=$(O) tests/run.sh $(if $(filter test-all,$@),--remember --all) $(if $(filter test-changed,$@),--changed $(BASE))

# ---- installation -------------------------------------------------------------------

documents := NEWS.md SPEC.md $(wildcard docs/*.*)
doc_folders := fleet images queries
.PHONY: install uninstall
install: all $(O)/libstackreel.a
	$(Q)install -d $(DESTDIR)$(BINDIR) $(DESTDIR)$(LIBDIR)/pkgconfig $(DESTDIR)$(INCLUDEDIR) \
		$(DESTDIR)$(MANDIR)/man1 $(DESTDIR)$(BASHCOMPDIR) $(DESTDIR)$(ZSHCOMPDIR) $(DESTDIR)$(FISHCOMPDIR) $(DESTDIR)$(DOCDIR)
	$(Q)for program in stackreel stackreel-record; do \
		test -x $(O)/$$program || continue; \
		install -m 755 $(O)/$$program $(DESTDIR)$(BINDIR)/ && \
		install -m 644 $(O)/completions/$$program.bash $(DESTDIR)$(BASHCOMPDIR)/$$program && \
		install -m 644 $(O)/completions/$$program.zsh $(DESTDIR)$(ZSHCOMPDIR)/_$$program && \
		install -m 644 $(O)/completions/$$program.fish $(DESTDIR)$(FISHCOMPDIR)/ || exit; done
	$(Q)install -m 644 include/stackreel.h $(DESTDIR)$(INCLUDEDIR)/
	$(Q)install -m 644 $(O)/libstackreel.a $(DESTDIR)$(LIBDIR)/
	$(Q)install -m 755 $(O)/libstackreel.so.$(VERSION) $(DESTDIR)$(LIBDIR)/
	$(Q)ln -sf libstackreel.so.$(VERSION) $(DESTDIR)$(LIBDIR)/libstackreel.so.$(ABI)
	$(Q)ln -sf libstackreel.so.$(ABI) $(DESTDIR)$(LIBDIR)/libstackreel.so
	$(Q)sed 's|@PREFIX@|$(PREFIX)|;s|@LIBDIR@|$(LIBDIR)|;s|@INCLUDEDIR@|$(INCLUDEDIR)|;s|@VERSION@|$(VERSION)|' \
		packaging/stackreel.pc.in >$(DESTDIR)$(LIBDIR)/pkgconfig/stackreel.pc
	$(Q)install -m 644 docs/man/*.1 $(DESTDIR)$(MANDIR)/man1/
	$(Q)install -m 644 $(documents) $(DESTDIR)$(DOCDIR)/
	$(Q)for folder in $(doc_folders); do install -d $(DESTDIR)$(DOCDIR)/$$folder && \
		install -m 644 docs/$$folder/* $(DESTDIR)$(DOCDIR)/$$folder/ || exit; done
ifneq ($(PYTHONDIR),)
	$(Q)install -d $(DESTDIR)$(PYTHONDIR)/stackreel
	$(Q)install -m 644 python/stackreel/*.py $(DESTDIR)$(PYTHONDIR)/stackreel/
endif
ifneq ($(have_record),)
	$(Q)install -d $(DESTDIR)$(UNITDIR) $(DESTDIR)$(SYSCONFDIR)/stackreel
	$(Q)sed 's|/usr/bin/|$(BINDIR)/|;s|/etc/|$(SYSCONFDIR)/|' packaging/stackreel-recorder.service \
		>$(DESTDIR)$(UNITDIR)/stackreel-recorder.service
	$(Q)test -e $(DESTDIR)$(SYSCONFDIR)/stackreel/recorder.conf || \
		install -m 644 packaging/recorder.conf $(DESTDIR)$(SYSCONFDIR)/stackreel/
endif

uninstall:
	rm -f $(DESTDIR)$(BINDIR)/stackreel $(DESTDIR)$(BINDIR)/stackreel-record \
		$(DESTDIR)$(UNITDIR)/stackreel-recorder.service $(DESTDIR)$(SYSCONFDIR)/stackreel/recorder.conf \
		$(DESTDIR)$(INCLUDEDIR)/stackreel.h $(DESTDIR)$(LIBDIR)/libstackreel.* \
		$(DESTDIR)$(LIBDIR)/pkgconfig/stackreel.pc $(DESTDIR)$(MANDIR)/man1/stackreel*.1 \
		$(foreach program,stackreel stackreel-record,$(DESTDIR)$(BASHCOMPDIR)/$(program) $(DESTDIR)$(ZSHCOMPDIR)/_$(program) \
			$(DESTDIR)$(FISHCOMPDIR)/$(program).fish) $(addprefix $(DESTDIR)$(DOCDIR)/,$(notdir $(documents)))
	rm -rf $(addprefix $(DESTDIR)$(DOCDIR)/,$(doc_folders)) $(if $(PYTHONDIR),$(DESTDIR)$(PYTHONDIR)/stackreel)

# ---- releases: docs/release.md ---------------------------------------------------------

# The last commit as an archive. The same commit and version of zstd give the same bytes on each machine.
dist_file := stackreel-$(VERSION).tar.zst
.PHONY: dist release-check
dist:
	$(Q)git diff --quiet HEAD || { echo "dist: uncommitted changes; commit them first" >&2; exit 1; }
	$(Q)mkdir -p $(O)
	$(Q)git -c tar.umask=0022 archive --prefix=stackreel-$(VERSION)/ -o $(O)/dist.tar HEAD
	$(Q)zstd -q -f -19 -T1 --rm $(O)/dist.tar -o $(O)/$(dist_file)
	$(Q)cd $(O) && sha256sum $(dist_file) | tee $(dist_file).sha256
release-check:
	$(Q)O=$(O) packaging/release/check

# Not of nested object directories (tests build in several), where compilers may be writing them.
built_rooms := $(wildcard $(addprefix $(O)/,$(wildcard */)))
-include $(if $(built_rooms),$(shell find $(built_rooms) -name '*.d'))

# ---- fuzzing and benchmarks, on request ------------------------------------------------

# Each tests/fuzz/fuzz_*.c is a libFuzzer target. Their common code is built once, with coverage and sanitizers, in $(O)/fuzz.
.PHONY: fuzz fuzz-commands fuzz-build fuzz-targets bench bench-quick bench-growth bench-gate
HOURS ?= 1
fuzz_corpus ?= $(O)/fuzz/corpus
# Continues from the previous corpora, and prints a table; fails if it found something.
fuzz: all fuzz-build
	$(Q)tests/fuzz/run.py --hours $(HOURS) --programs $(O)/fuzz/tests/fuzz --corpus $(fuzz_corpus) --stackreel $(O)/stackreel
# Every command with sanitizers, on captures with invalid contents; SEED=N gives different ones.
fuzz-commands:
	+$(Q)$(MAKE) $(all_cpus) --no-print-directory SAN=1 O=$(O)/san $(O)/san/stackreel
	$(Q)tests/fuzz/commands.py --hours $(HOURS) --seed $(or $(SEED),1) --stackreel $(O)/san/stackreel --finds $(O)/fuzz-commands
fuzz-build:
	+$(Q)$(MAKE) $(all_cpus) --no-print-directory SAN=fuzz CC=$(CLANG) CFLAGS="-O1 -g1" O=$(O)/fuzz fuzz-targets

# What targets need of the commands and the recorder; building the rest for them would take as long again. Add what the linker misses.
fuzz_room_objects := $(foreach room,cli/print cli/profile cli/session record/proc,$(call objects,$(room)))
$(O)/fuzz.a: $(fuzz_room_objects) $(addprefix $(O)/record/,host/cpus.o processes/families.o \
	runtime/python_lines.o sampling/sample_translator.o sampling/user_probes.o)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

ifeq ($(SAN),fuzz)
# With sanitizers, optimizing takes more than half of the compiler's time, and tests spend little of theirs in these rooms.
$(filter-out $(fuzz_room_objects),$(call objects,cli) $(call objects,record)): override CFLAGS += -O0
endif

fuzz_targets := $(patsubst %.c,$(O)/%,$(wildcard tests/fuzz/fuzz_*.c))
fuzz-targets: $(fuzz_targets)
$(fuzz_targets): $(O)/%: $(O)/%.o $(O)/fuzz.a $(O)/libstackreel.a
	$(call say,LD,$@)
	$(Q)$(CC) -pthread $(linker) -fsanitize=fuzzer,address,undefined $(LDFLAGS) -o $@ $^ $(cli_libs)
# Compares with other programs: prints a table and writes bench/RESULTS.md. bench-quick takes less than two minutes once its peers are in
# the cache.
bench_programs := $(patsubst %.c,$(O)/%,$(filter-out %.bpf.c $(if $(have_record),,bench/callback.c),$(wildcard bench/*.c)))
bench bench-quick: all $(bench_programs) $(addprefix $(O)/tests/names/,symbolize trace_symbols) $(if $(have_record),$(O)/bench/callback.bpf.o)
	$(Q)env -u CC O=$(O) bench/run $(if $(filter bench-quick,$@),--quick)
bench-growth: all $(bench_programs)
	$(Q)O=$(O) bench/growth
# Instructions and memory against bench/gate.tsv. UPDATE=1 writes all to it, for a commit that says why something became slower.
bench-gate: all $(addprefix $(O)/bench/,measure synthesize)
	$(Q)O=$(O) bench/gate $(if $(UPDATE),--update)

# Our unwinder and others on samples in memory: bench/unwind.c.
bench_unwind_objects := $(addprefix $(O)/,bench/unwind.o tests/truth/unwind_capture.o tests/truth/dwfl_oracle.o \
	tests/truth/libunwind_oracle.o)
$(O)/bench/unwind: $(bench_unwind_objects) $(O)/libstackreel.a
	$(call say,LD,$@)
	$(Q)$(CC) $(base_ldflags) $(LDFLAGS) -o $@ $^ $(replay_libs) $(if $(have_libunwind),$(call pkg_libs,libunwind-generic))
$(O)/bench/diff_power: $(O)/bench/diff_power.o $(O)/cli.a $(O)/libstackreel.a
	$(call say,LD,$@)
	$(Q)$(CC) $(base_ldflags) $(LDFLAGS) -o $@ $^ $(cli_libs)
$(O)/bench/%: $(O)/bench/%.o $(O)/libstackreel.a
	$(call say,LD,$@)
	$(Q)$(CC) $(base_ldflags) $(LDFLAGS) -o $@ $^ $(replay_libs)

# The costs and losses of recording, compared with perf.
.PHONY: bench-record
bench-record: all $(O)/bench/callback $(O)/bench/callback.bpf.o $(O)/bench/stack
	$(Q)O=$(O) bench/record.sh
$(O)/bench/callback: $(O)/bench/callback.o
	$(call say,LD,$@)
	$(Q)$(CC) $(base_ldflags) $(LDFLAGS) -o $@ $^ $(record_libs)
$(O)/bench/stack: $(O)/bench/stack.o
	$(call say,LD,$@)
	$(Q)$(CC) $(base_ldflags) $(LDFLAGS) -o $@ $^
# <linux/types.h> for the BPF target.
$(O)/bench/%.bpf.o: bench/%.bpf.c
	$(call say,BPF,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CCACHE) $(CLANG) -target $(bpf_target) $(bpf_cflags) $(if $(SYSROOT),,-I/usr/include/$(shell $(CC) -dumpmachine)) \
		$(call depend,bench/$*.bpf.o) -c -o $@ $<

# The recorder under faults; bench/soak says what may be set. SEED=N repeats an order of faults.
.PHONY: soak
soak: all
	$(Q)O=$(O) bench/soak $(HOURS)

.PHONY: clean
clean:
	rm -rf $(O)
.SECONDARY:

.PHONY: help
help:
	@sed -n '/^#/!q;s/^# \{0,1\}//p' Makefile
	@echo
	@echo "  all  static  musl  wasm  test  test-changed  test-all  truth  unit  demo  deps  install  uninstall  clean  fuzz  fuzz-commands  bench  bench-quick  bench-growth  bench-gate  bench-record  soak  vm-test  vm-capture  dist  release-check"
