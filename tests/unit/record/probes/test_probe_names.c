/* SPDX-License-Identifier: Apache-2.0 */
/* Names of probes: their parts, and which symbols they mean. */
#include "record/probes/probe_places.h"
#include "record/probes/probe_values.h"
#include "tests/support/test.h"

TEST(test_parse)
{
	static const struct {
		const char *name;
		enum reel_sampler_probe kind;
		const char *file, *function; /* NULL: an error */
		uint64_t offset;
	} cases[] = {
		{ "uprobe:/bin/a:main", REEL_SAMPLER_UPROBE, "/bin/a", "main", 0 },
		{ "uprobe:libc.so.6:malloc+0x10", REEL_SAMPLER_UPROBE, "libc.so.6", "malloc", 16 },
		{ "uprobe:a:malloc+10", REEL_SAMPLER_UPROBE, "a", "malloc", 10 },
		{ "uretprobe:a:ns::f(int, char)", REEL_SAMPLER_URETPROBE, "a", "ns::f(int, char)",
		  0 },
		{ "uprobe:a:ns::operator+", REEL_SAMPLER_UPROBE, "a", "ns::operator+", 0 },
		{ "uprobe:a:ns::operator++", REEL_SAMPLER_UPROBE, "a", "ns::operator++", 0 },
		{ "uprobe:a:f+1x", REEL_SAMPLER_UPROBE, "a", NULL, 0 },
		{ "uprobe:a:f+99999999999999999999", REEL_SAMPLER_UPROBE, "a", NULL, 0 },
		{ "uretprobe:a:f+1", REEL_SAMPLER_URETPROBE, "a", NULL, 0 },
		{ "usdt:a:shop:sold+1", REEL_SAMPLER_USDT, "a", "sold+1", 0 },
		{ "usdt:a:shop", REEL_SAMPLER_USDT, NULL, NULL, 0 },
		{ "usdt:a::sold", REEL_SAMPLER_USDT, NULL, NULL, 0 },
		{ "kprobe:vfs_read+4", REEL_SAMPLER_KPROBE, NULL, "vfs_read", 4 },
		{ "kretprobe:tun:tun_open", REEL_SAMPLER_KRETPROBE, NULL, "tun:tun_open", 0 },
		{ "kretprobe:vfs_read+4", REEL_SAMPLER_KRETPROBE, NULL, NULL, 0 },
		{ "kprobe:", REEL_SAMPLER_KPROBE, NULL, NULL, 0 },
		{ "uprobe:a", REEL_SAMPLER_UPROBE, NULL, NULL, 0 },
		{ "uprobe:a:", REEL_SAMPLER_UPROBE, NULL, NULL, 0 },
		{ "uprobe::f", REEL_SAMPLER_UPROBE, NULL, NULL, 0 },
		{ "uprobe:a:+1", REEL_SAMPLER_UPROBE, NULL, NULL, 0 },
	};

	assert_int_equal(reel_probe_name_kind("sched:sched_switch"), REEL_SAMPLER_NO_PROBE);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct reel_probe_name name;
		struct reel_error *error = reel_probe_name_parse(cases[i].name, &name);

		assert_int_equal(name.kind, cases[i].kind);
		assert_int_equal(error == NULL, cases[i].function != NULL);
		if (!error) {
			if (cases[i].file)
				assert_string_equal(name.file, cases[i].file);
			assert_string_equal(name.function, cases[i].function);
			assert_int_equal(name.offset, cases[i].offset);
		}
		reel_error_destroy(error);
		reel_probe_name_free(&name);
	}
}

TEST(test_matches)
{
	static const struct {
		const char *name, *symbol;
		bool matches;
	} cases[] = {
		{ "malloc", "malloc", true },
		{ "malloc", "malloc@@GLIBC_2.2.5", true },
		{ "malloc", "mallocx", false },
		{ "mall*", "malloc@@GLIBC_2.2.5", true },
		{ "*", "f.cold", false },
		{ "f.cold", "f.cold", true },
		{ "ns::f", "_ZN2ns1fEi", true },
		{ "ns::f(int)", "_ZN2ns1fEi", true },
		{ "ns::f(char)", "_ZN2ns1fEi", false },
		{ "f", "_ZN2ns1fEi", false },
		{ "ns::*", "_ZN2ns1fEi", true },
		{ "_ZN2ns1fEi", "_ZN2ns1fEi", true },
		/* int ns::g<int>(int), char const* is not a pattern */
		{ "ns::g<int>", "_ZN2ns1gIiEEiT_", true },
		{ "int ns::g<int>(int)", "_ZN2ns1gIiEEiT_", true },
		{ "h(char const*)", "_Z1hPKc", true },
		{ "C::operator()", "_ZN1CclEi", true },
		{ "C::operator<", "_ZN1CltERKS_", true },
		{ "C::operator<<", "_ZN1ClsEi", true },
		{ "C::operator->", "_ZN1CptEv", true },
		{ "(anonymous namespace)::f", "_ZN12_GLOBAL__N_11fEi", true },
		/* Rust, legacy and v0 */
		{ "core::fmt::write", "_ZN4core3fmt5write17h0123456789abcdefE", true },
		{ "mycrate::example", "_RNvCs1234_7mycrate7example", true },
		{ "", "f", false },
		{ "@x", "@x", true },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		if (reel_probe_name_matches(cases[i].name, cases[i].symbol) != cases[i].matches)
			fail_msg("%s: %s", cases[i].name, cases[i].symbol);
	}
}

TEST(test_operands)
{
	static const struct {
		const char *machine, *operand;
		bool known;
		struct reel_bpf_value value;
	} cases[] = {
		{ "x86_64", "-4@%edi", true, { .size = 4, .is_signed = 1, .base = 5 } },
		{ "x86_64", "8@%r13", true, { .size = 8, .base = 13 } },
		{ "x86_64", "4@%r8d", true, { .size = 4, .base = 8 } },
		{ "x86_64", "1@%al", true, { .size = 1, .base = 0 } },
		{ "x86_64", "1@%sil", true, { .size = 1, .base = 4 } },
		{ "x86_64", "2@%dx", true, { .size = 2, .base = 1 } },
		{ "x86_64",
		  "-8@$-5",
		  true,
		  { .size = 8, .is_signed = 1, .source = REEL_BPF_VALUE_CONSTANT, .offset = -5 } },
		{ "x86_64",
		  "8@-16(%rbp)",
		  true,
		  { .size = 8, .source = REEL_BPF_VALUE_MEMORY, .base = 6, .offset = -16 } },
		{ "x86_64",
		  "8@(%rsp)",
		  true,
		  { .size = 8, .source = REEL_BPF_VALUE_MEMORY, .base = 7 } },
		{ "x86_64",
		  "8@8(%rax,%rdx,4)",
		  true,
		  { .size = 8,
		    .source = REEL_BPF_VALUE_MEMORY,
		    .base = 0,
		    .offset = 8,
		    .has_index = 1,
		    .index = 1,
		    .scale = 4 } },
		{ "x86_64", "1@%ah", false, { 0 } },
		{ "x86_64", "8@symbol(%rip)", false, { 0 } },
		{ "x86_64", "3@%rax", false, { 0 } },
		{ "x86_64", "8@%xmm0", false, { 0 } },
		{ "x86_64", "8@-16(%rbp", false, { 0 } },
		{ "x86_64", "%rax", false, { 0 } },
		{ "aarch64", "-4@w0", true, { .size = 4, .is_signed = 1, .base = 0 } },
		{ "aarch64",
		  "8@[sp, 16]",
		  true,
		  { .size = 8, .source = REEL_BPF_VALUE_MEMORY, .base = 31, .offset = 16 } },
		{ "aarch64",
		  "8@[x19]",
		  true,
		  { .size = 8, .source = REEL_BPF_VALUE_MEMORY, .base = 19 } },
		{ "aarch64",
		  "4@5",
		  true,
		  { .size = 4, .source = REEL_BPF_VALUE_CONSTANT, .offset = 5 } },
		{ "aarch64", "8@x31", false, { 0 } },
		{ "s390x", "8@%r2", false, { 0 } },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct reel_bpf_value value;

		if (reel_probe_operand_read(cases[i].machine, cases[i].operand, &value) !=
			    cases[i].known ||
		    (cases[i].known && memcmp(&value, &cases[i].value, sizeof(value)) != 0))
			fail_msg("%s: %s", cases[i].machine, cases[i].operand);
	}
}

/* From Linux 6.18, but for the broken ones. */
TEST(test_fields)
{
	static const struct {
		const char *line, *name; /* NULL: not a field */
		struct reel_bpf_value value;
	} cases[] = {
		{ "\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n",
		  "prev_pid",
		  { .kind = REEL_BPF_VALUE_NUMBER, .size = 4, .is_signed = 1, .offset = 24 } },
		{ "\tfield:const char * filename;\toffset:24;\tsize:8;\tsigned:0;\n",
		  "filename",
		  { .kind = REEL_BPF_VALUE_NUMBER, .size = 8, .offset = 24 } },
		{ "\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n",
		  "prev_comm",
		  { .kind = REEL_BPF_VALUE_KERNEL_STRING,
		    .source = REEL_BPF_VALUE_ARRAY,
		    .size = 16,
		    .offset = 8 } },
		{ "\tfield:__data_loc char[] filename;\toffset:8;\tsize:4;\tsigned:0;\n",
		  "filename",
		  { .kind = REEL_BPF_VALUE_KERNEL_STRING,
		    .source = REEL_BPF_VALUE_LOCATION,
		    .size = 4,
		    .offset = 8 } },
		{ "\tfield:__rel_data_loc char[] name;\toffset:8;\tsize:4;\tsigned:0;\n",
		  "name",
		  { .kind = REEL_BPF_VALUE_KERNEL_STRING,
		    .source = REEL_BPF_VALUE_REL_LOCATION,
		    .size = 4,
		    .offset = 8 } },
		{ "\tfield:__u8 saddr[4];\toffset:28;\tsize:4;\tsigned:0;\n",
		  "saddr",
		  { .source = REEL_BPF_VALUE_ARRAY, .size = 4, .offset = 28 } },
		{ "\tfield:charge_t x[8];\toffset:28;\tsize:8;\tsigned:0;\n",
		  "x",
		  { .source = REEL_BPF_VALUE_ARRAY, .size = 8, .offset = 28 } },
		{ "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n", NULL, { 0 } },
		{ "\tfield:int x];\toffset:4;\tsize:4;\tsigned:1;\n", NULL, { 0 } },
		{ "\tfield:;\toffset:4;\tsize:4;\tsigned:1;\n", NULL, { 0 } },
		{ "\tfield:int *;\toffset:4;\tsize:4;\tsigned:1;\n", NULL, { 0 } },
		{ "print fmt: \"\"\n", NULL, { 0 } },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct reel_bpf_value wanted = cases[i].value;
		struct reel_tracepoint_field field;

		if (reel_tracepoint_field_parse(cases[i].line, &field) != (cases[i].name != NULL))
			fail_msg("%s", cases[i].line);
		if (!cases[i].name)
			continue;
		if (!wanted.source)
			wanted.source = REEL_BPF_VALUE_FIELD;
		assert_string_equal(field.name, cases[i].name);
		assert_memory_equal(&field.value, &wanted, sizeof(wanted));
	}
}

RUN_TESTS()
