/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "cli/doctor/runtimes.h"

const struct runtime runtimes[RUNTIMES] = {
	{ "Node.js",
	  { "node", "nodejs" },
	  "node --perf-basic-prof --interpreted-frames-native-stack" },
	{ "Java",
	  { "libjvm.so" },
	  "stackreel-record --java-perfmap (JDK 17), or java "
	  "-XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit" },
	{ "Python",
	  { "python3.", "libpython3." },
	  NULL, /* code in its processes is made by libraries such as numba */
	  { "_PyEval_EvalFrameDefault" },
	  "stackreel-record without --no-interpreters (CPython 3.8 to 3.15), except in a "
	  "process's first 10 ms; with other recorders, python3 -X perf (3.12)" },
	{ "Ruby",
	  { "ruby", "libruby" },
	  "ruby --yjit --yjit-perf (3.3)",
	  { "ruby_run_node", "rb_" }, /* what Debian's files name */
	  "stackreel-record without --no-interpreters (Ruby 3.1 to 3.4), except in a process's "
	  "first 100 ms" },
	{ "PHP", { "php", "libphp", "mod_php" }, "php -d opcache.jit_debug=16 (a perf map)" },
	{ "Erlang", { "beam.smp" }, "erl +JPperf true (OTP 25)" },
	{ ".NET", { "libcoreclr.so", "dotnet" }, "DOTNET_PerfMapEnabled=1" },
	{ "LuaJIT", { "luajit", "libluajit" }, "build it with XCFLAGS=-DLUAJIT_USE_PERFTOOLS" },
};

static bool is_file(const char *name, const char *start)
{
	size_t size = strlen(start);

	return !strncmp(name, start, size) && !isalpha((unsigned char)name[size]);
}

size_t runtime_of_path(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	for (size_t i = 0; i < RUNTIMES; i++) {
		for (size_t j = 0; j < 3 && runtimes[i].files[j]; j++) {
			if (is_file(name, runtimes[i].files[j]))
				return i;
		}
	}
	return RUNTIMES;
}
