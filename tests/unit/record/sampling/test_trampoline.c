/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bpf/trampoline.h on stacks of real kernels, and how record/sampling/sample_translator.c
 * translates a chain recorded on them.  Each stack is from one sample on a Debian kernel, starting
 * at the program's context; the following words, of the function's caller, are unchanged.  The
 * chain is the kernel's (bpf_get_stack).
 */
#include "bpf/sample.h"
#include "bpf/trampoline.h"
#include "record/sampling/sample_translator.h"
#include "tests/support/test.h"

struct stack {
	const char *name;
	enum reel_trampoline cpu;
	uint64_t function, address, n_arguments;
	enum reel_trampoline_frame found;
	uint64_t sp, fp, caller;
	/* Omitted ones at the end are 0. */
	uint64_t words[REEL_TRAMPOLINE_WORDS];
	uint64_t chain[10];
	/* Of those, the number below the function's caller. */
	unsigned own;
};

static const struct stack stacks[] = {
	/* endbr64 does not exist there yet: the call at ksys_read's entry ends at ksys_read + 5.
	 * The arguments have no count. */
	{
		.name = "x86_64 5.10, fentry of ksys_read",
		.cpu = REEL_TRAMPOLINE_X86_64,
		.function = 0xffffffffae2dc700,
		.address = 0xffffbc3dc01a3f18,
		.n_arguments = REEL_TRAMPOLINE_ANY_ARGUMENTS,
		.found = REEL_TRAMPOLINE_CALLED,
		.sp = 0xffffbc3dc01a3f40,
		.fp = 0xffffbc3dc01a3f58,
		.caller = 0xffffffffae901053, /* do_syscall_64 */
		.words = { 0x6,
			   0x7ffcbab742cc,
			   0x4,
			   0xffffbc3dc01a3f58,
			   0xffffffffae2dc705,
			   0xffffffffae901053,
			   0,
			   0xffffffffaea0011f,
			   0,
			   0x7ffcbab74988,
			   0x7ffcbab78f54,
			   0x7ffcbab742cc,
			   0x7ffcbab74970,
			   0x7ffcbab77eec,
			   0x246,
			   0x7ffcbabe5080,
			   0xe,
			   0x63,
			   0xffffffffffffffda,
			   0x536e2d,
			   0x4,
			   0x7ffcbab742cc,
			   0x6 },
		.chain = { 0xffffffffc01719cd, 0xffffffffc01719cd, 0xffffffffc016b1d6,
			   0xffffffffc017a025, 0xffffffffae2dc705, 0xffffffffae901053,
			   0xffffffffaea0011f },
		.own = 5,
	},
	/* fexit: the slot of the result is between arguments and rbp. */
	{
		.name = "x86_64 5.10, fexit of ksys_read",
		.cpu = REEL_TRAMPOLINE_X86_64,
		.function = 0xffffffffae2dc700,
		.address = 0xffffbc3dc01a3f10,
		.n_arguments = REEL_TRAMPOLINE_ANY_ARGUMENTS,
		.found = REEL_TRAMPOLINE_CALLED,
		.sp = 0xffffbc3dc01a3f40,
		.fp = 0xffffbc3dc01a3f58,
		.caller = 0xffffffffae901053,
		.words = { 0xffffffff00000006,
			   0x7ffef2f0fdec,
			   0x4,
			   0,
			   0xffffbc3dc01a3f58,
			   0xffffffffae2dc705,
			   0xffffffffae901053,
			   0,
			   0xffffffffaea0011f,
			   0,
			   0x7ffef2f104a8,
			   0x7ffef2f14f54,
			   0x7ffef2f0fdec,
			   0x7ffef2f10490,
			   0x7ffef2f13a0c,
			   0x246,
			   0x7ffef2f19080,
			   0xe,
			   0x6e,
			   0xffffffffffffffda,
			   0x536e2d,
			   0x4,
			   0x7ffef2f0fdec,
			   0x6 },
		.chain = { 0xffffffffc0171fe5, 0xffffffffc0171fe5, 0xffffffffc016b32a,
			   0xffffffffc017a04d, 0xffffffffae2dc705, 0xffffffffae901053,
			   0xffffffffaea0011f },
		.own = 5,
	},
	{
		.name = "x86_64 6.1, fexit of ksys_read",
		.cpu = REEL_TRAMPOLINE_X86_64,
		.function = 0xffffffffaff64300,
		.address = 0xff471805c0413b48,
		.n_arguments = 3,
		.found = REEL_TRAMPOLINE_CALLED,
		.sp = 0xff471805c0413b78,
		.fp = 0xff471805c0413f48,
		.caller = 0xffffffffb0638bdd,
		.words = { 0x6, 0x7fff46da3b1c, 0x4, 0, 0xff471805c0413f48, 0xffffffffaff64305,
			   0xffffffffb0638bdd, 0xffffffffaff89242, 0x6b01b561, 0x175d7200,
			   0x329e351ddd2cbc00, 0x1, 0x2e433e7, 0xff15e9bc55709f00,
			   0xff15e9bc7e631cc0, 0x31f172830 },
		.chain = { 0xffffffffc00da5e7, 0xffffffffc00d9662, 0xffffffffc02e007f,
			   0xffffffffaff64305, 0xffffffffb0638bdd, 0xffffffffb0800126 },
		.own = 4,
	},
	/* endbr64, then the call: ksys_read + 9. */
	{
		.name = "x86_64 6.12, fentry of ksys_read",
		.cpu = REEL_TRAMPOLINE_X86_64,
		.function = 0xffffffff93442a30,
		.address = 0xff4fd79b4045be50,
		.n_arguments = 3,
		.found = REEL_TRAMPOLINE_CALLED,
		.sp = 0xff4fd79b4045be78,
		.fp = 0xff4fd79b4045bf48,
		.caller = 0xffffffff93cfe467,
		.words = { 0x6,
			   0x7ffd35042fac,
			   0x4,
			   0xff4fd79b4045bf48,
			   0xffffffff93442a39,
			   0xffffffff93cfe467,
			   0,
			   0,
			   0,
			   0,
			   0,
			   0,
			   0,
			   0x769bf88cc64ffe00,
			   0xff4fd79b4045bf58,
			   0,
			   0xff4fd79b4045bf58,
			   0xffffffff93191916,
			   0,
			   0xffffffff93d03de7,
			   0xff4fd79b4045bf58,
			   0xff4fd79b4045bf48,
			   0x141,
			   0xffffffff93cfe473,
			   0,
			   0,
			   0xffffffff93191916 },
		.chain = { 0xffffffffc030d759, 0xffffffffc030c677, 0xffffffffc030ea96,
			   0xffffffff93442a39, 0xffffffff93cfe467, 0xffffffff93e0012f },
		.own = 4,
	},
	/* 9 arguments, three of them passed on the stack; rbp is not a frame pointer. */
	{
		.name = "x86_64 6.12, fexit of do_mmap",
		.cpu = REEL_TRAMPOLINE_X86_64,
		.function = 0xffffffff933897a0,
		.address = 0xff4fd79b405b3920,
		.n_arguments = 9,
		.found = REEL_TRAMPOLINE_CALLED,
		.sp = 0xff4fd79b405b3980,
		.fp = 0x1,
		.caller = 0xffffffff93352968, /* vm_mmap_pgoff */
		.words = { 0xff32009f7fcd5240, 0x400000, 0x1000, 0x1, 0x100002, 0, 0,
			   0xff4fd79b405b39c0, 0xff4fd79b405b39c8, 0x400000, 0x1,
			   0xffffffff933897a9, 0xffffffff93352968, 0, 0xff4fd79b405b39c0,
			   0xff4fd79b405b39c8, 0x400000, 0x1000, 0xff32009f4105bd28 },
		.chain = { 0xffffffffc030d769, 0xffffffffc030c673, 0xffffffffc030eb13,
			   0xffffffff933897a9, 0xffffffff93352968, 0xffffffff934d9b68,
			   0xffffffff934da536, 0xffffffff9344cdd4 },
		.own = 4,
	},
	{
		.name = "x86_64 7.2, fentry of ksys_read",
		.cpu = REEL_TRAMPOLINE_X86_64,
		.function = 0xffffffffaca23170,
		.address = 0xff4fd61a404a3c28,
		.n_arguments = 3,
		.found = REEL_TRAMPOLINE_CALLED,
		.sp = 0xff4fd61a404a3c50,
		.fp = 0xff4fd61a404a3f38,
		.caller = 0xffffffffad4a5b41,
		.words = { 0x6, 0x7ffc9503582c, 0x4, 0xff4fd61a404a3f38, 0xffffffffaca23179,
			   0xffffffffad4a5b41, 0xff2c624c42f6a300, 0xffffffffac5df273,
			   0xff2c624ccf5f4000, 0x1ac4b2503, 0xff2c624c42f64600, 0xff2c624c7e632280,
			   0xff2c624c42f6a300, 0, 0xff2c624c41073f00, 0xff4fd61a404a3d10,
			   0xffffffffad4b698d },
		.chain = { 0xffffffffc014e7fc, 0xffffffffc014e1e7, 0xffffffffc014fc5b,
			   0xffffffffaca23179, 0xffffffffad4a5b41, 0xffffffffac20012f },
		.own = 4,
	},
	/* The entry jumps to the trampoline: ksys_read has nothing on the stack. */
	{
		.name = "x86_64 7.2, fexit of ksys_read",
		.cpu = REEL_TRAMPOLINE_X86_64,
		.function = 0xffffffffaca23170,
		.address = 0xff4fd61a404cbb48,
		.n_arguments = 3,
		.found = REEL_TRAMPOLINE_JUMPED,
		.sp = 0xff4fd61a404cbb70,
		.fp = 0xff4fd61a404cbf38,
		.caller = 0xffffffffad4a5b41,
		.words = { 0x6, 0x7ffd592ea10c, 0x4, 0, 0xff4fd61a404cbf38, 0xffffffffad4a5b41,
			   0xff2c624c427fa540, 0x42e34e36e4d9df00, 0x3, 0, 0xffffffffaca1f3e7,
			   0xff2c624c42978000, 0xff4fd61a404cbf38, 0xffffffffad4a5b7e,
			   0xff2c624c4188e000, 0xffffffffac63d793 },
		.chain = { 0xffffffffc014e7f8, 0xffffffffc014dbb7, 0xffffffffc014fc7f,
			   0xffffffffad4a5b41, 0xffffffffac20012f },
		.own = 3,
	},
	{
		.name = "x86_64 7.2, fexit of do_mmap",
		.cpu = REEL_TRAMPOLINE_X86_64,
		.function = 0xffffffffac92d680,
		.address = 0xff4fd61a4041bb90,
		.n_arguments = 9,
		.found = REEL_TRAMPOLINE_JUMPED,
		.sp = 0xff4fd61a4041bbe8,
		.fp = 0xff2c624c427f7600,
		.caller = 0xffffffffac8ee013,
		.words = { 0xff2c624c427f7600, 0x400000, 0x1000, 0x1, 0x100002, 0, 0,
			   0xff4fd61a4041bc28, 0xff4fd61a4041bc38, 0x400000, 0xff2c624c427f7600,
			   0xffffffffac8ee013, 0, 0xff4fd61a4041bc28, 0xff4fd61a4041bc38, 0x1000,
			   0x400000, 0xff2c624c41076a98 },
		.chain = { 0xffffffffc014e80c, 0xffffffffc014e1eb, 0xffffffffc014fcd0,
			   0xffffffffac8ee013, 0xffffffffacad3681, 0xffffffffacad3e65,
			   0xffffffffaca2e28b, 0xffffffffaca2fb37 },
		.own = 3,
	},
	/* x19, x20, then the two records; mov x9, x30 and bl end at ksys_read + 8. */
	{
		.name = "arm64 6.12, fentry of ksys_read",
		.cpu = REEL_TRAMPOLINE_ARM64,
		.function = 0xffffc64875c52e78,
		.address = 0xffff80008069bd70,
		.n_arguments = 3,
		.found = REEL_TRAMPOLINE_CALLED,
		.sp = 0xffff80008069bdc0,
		.fp = 0xffff80008069bdc0,
		.caller = 0xffffc64875c52fbc, /* __arm64_sys_read */
		.words = { 0x6,
			   0xfffffb29c20c,
			   0x4,
			   0xffff80008069beb0,
			   0xffff649804155c80,
			   0xffffc648758283f0,
			   0xffff80008069bdb0,
			   0xffffc64875c52e80,
			   0xffff80008069bdc0,
			   0xffffc64875c52fbc,
			   0xffff80008069be20,
			   0xffffc648758283c8,
			   0,
			   0x43bf791a15c91d00,
			   0xffff80008069be40,
			   0xffffc64875818170,
			   0x4,
			   0xffff649804155c80,
			   0xffff80008069beb0,
			   0x20,
			   0x60000000,
			   0,
			   0xffff80008069be40,
			   0xffffc64875828490 },
		.chain = { 0xffff80008012eed8, 0xffff80008012eed8, 0xffff80008012d8ac,
			   0xffff800080130578, 0xffffc64875c52e80, 0xffffc64875c52fbc,
			   0xffffc648758283c8, 0xffffc64875828490 },
		.own = 5,
	},
	/* The result instead of padding. */
	{
		.name = "arm64 6.12, fexit of ksys_read",
		.cpu = REEL_TRAMPOLINE_ARM64,
		.function = 0xffffc64875c52e78,
		.address = 0xffff800080523bf0,
		.n_arguments = 3,
		.found = REEL_TRAMPOLINE_CALLED,
		.sp = 0xffff800080523c40,
		.fp = 0xffff800080523c40,
		.caller = 0xffffc64875c52fbc,
		.words = { 0x6, 0xfffff831cc4c, 0x4, 0, 0xffff800080523eb0, 0xffff649804390000,
			   0xffff800080523c30, 0xffffc64875c52e80, 0xffff800080523c40,
			   0xffffc64875c52fbc, 0xffff800080523e20, 0xffffc648758283c8,
			   0xffff800080523d20, 0xffffc64875bc6738 },
		.chain = { 0xffff80008012eed8, 0xffff80008012eed8, 0xffff80008012d8ac,
			   0xffff8000801305b4, 0xffffc64875c52e80, 0xffffc64875c52fbc,
			   0xffffc648758283c8, 0xffffc64875828490 },
		.own = 5,
	},
	/* 9 arguments: the ninth was passed on the stack, at the function's sp. */
	{
		.name = "arm64 7.2, fentry of do_mmap",
		.cpu = REEL_TRAMPOLINE_ARM64,
		.function = 0xffffd9575a49d818,
		.address = 0xffff8000805039a0,
		.n_arguments = 9,
		.found = REEL_TRAMPOLINE_CALLED,
		.sp = 0xffff800080503a20,
		.fp = 0xffff800080503a70,
		.caller = 0xffffd9575a459ef0,
		.words = { 0xffff000004861d80,
			   0x400000,
			   0x1b3000,
			   0x5,
			   0x100002,
			   0,
			   0,
			   0xffff800080503a48,
			   0xffff800080503a58,
			   0xffff800080503a58,
			   0xffff000005d1d140,
			   0xffff000005d1d140,
			   0xffff800080503a10,
			   0xffffd9575a49d820,
			   0xffff800080503a70,
			   0xffffd9575a459ef0,
			   0xffff800080503a58,
			   0x73,
			   0x100000000,
			   0x400000000,
			   0x600000005 },
		.chain = { 0xffff800080136e04, 0xffff800080136e04, 0xffff800080135ef4,
			   0xffff800080138458, 0xffffd9575a49d820, 0xffffd9575a459ef0,
			   0xffffd9575a459ffc, 0xffffd9575a646de4 },
		.own = 5,
	},
	{
		.name = "arm64 7.2, fexit of do_mmap",
		.cpu = REEL_TRAMPOLINE_ARM64,
		.function = 0xffffd9575a49d818,
		.address = 0xffff80008052b848,
		.n_arguments = 9,
		.found = REEL_TRAMPOLINE_CALLED,
		.sp = 0xffff80008052b8d0,
		.fp = 0xffff80008052b920,
		.caller = 0xffffd9575a459ef0,
		.words = { 0xffff000004863000, 0x400000, 0x1b3000, 0x5, 0x100002, 0, 0,
			   0xffff80008052b8f8, 0xffff80008052b908, 0x400000, 0xffff80008052b908,
			   0xffff000005c8b200, 0xffff000005c8b200, 0xffff80008052b8c0,
			   0xffffd9575a49d820, 0xffff80008052b920, 0xffffd9575a459ef0,
			   0xffff80008052b908, 0x73 },
		.chain = { 0xffff800080136e3c, 0xffff800080136e3c, 0xffff8000801358bc,
			   0xffff8000801384ec, 0xffffd9575a49d820, 0xffffd9575a459ef0,
			   0xffffd9575a459ffc, 0xffffd9575a646de4 },
		.own = 5,
	},
};

static enum reel_trampoline_frame find(const struct stack *stack, const __u64 *words,
				       struct reel_bpf_kernel_frame *ret)
{
	return reel_trampoline_find(stack->cpu, words, stack->address, stack->n_arguments,
				    stack->function, ret);
}

static void words_of(const struct stack *stack, __u64 words[REEL_TRAMPOLINE_WORDS])
{
	for (size_t i = 0; i < REEL_TRAMPOLINE_WORDS; i++)
		words[i] = stack->words[i];
}

TEST(test_frames)
{
	for (size_t i = 0; i < sizeof(stacks) / sizeof(*stacks); i++) {
		const struct stack *stack = &stacks[i];
		struct reel_bpf_kernel_frame frame;
		__u64 words[REEL_TRAMPOLINE_WORDS];

		print_message("%s\n", stack->name);
		words_of(stack, words);
		assert_int_equal(find(stack, words, &frame), stack->found);
		assert_true(frame.pc == stack->function);
		assert_true(frame.sp == stack->sp);
		assert_true(frame.fp == stack->fp);
		assert_true(frame.return_address == stack->caller);
	}
}

/* Arguments that look like the frame are not mistaken for it. */
TEST(test_arguments)
{
	struct reel_bpf_kernel_frame frame;
	__u64 words[REEL_TRAMPOLINE_WORDS];

	for (size_t i = 0; i < sizeof(stacks) / sizeof(*stacks); i++) {
		const struct stack *stack = &stacks[i];

		if (stack->n_arguments == REEL_TRAMPOLINE_ANY_ARGUMENTS)
			continue;
		words_of(stack, words);
		words[1] = stack->function + (stack->cpu == REEL_TRAMPOLINE_ARM64 ? 8 : 9);
		words[2] = stack->function;
		assert_int_equal(find(stack, words, &frame), stack->found);
		assert_true(frame.return_address == stack->caller);
	}
}

/* Leftovers of an earlier call above the frame do not belong to this one. */
TEST(test_stale)
{
	const struct stack *stack = &stacks[6];
	struct reel_bpf_kernel_frame frame;
	__u64 words[REEL_TRAMPOLINE_WORDS];

	assert_int_equal(stack->found, REEL_TRAMPOLINE_JUMPED);
	words_of(stack, words);
	words[8] = stack->function + 9;
	assert_int_equal(find(stack, words, &frame), REEL_TRAMPOLINE_JUMPED);
	assert_true(frame.return_address == stack->caller);
}

TEST(test_no_frame)
{
	const __u64 words[REEL_TRAMPOLINE_WORDS] = { 0 };
	struct reel_bpf_kernel_frame frame;
	__u64 cut[REEL_TRAMPOLINE_WORDS];

	for (size_t i = 0; i < sizeof(stacks) / sizeof(*stacks); i++) {
		const struct stack *stack = &stacks[i];

		/* For an unknown CPU. */
		words_of(stack, cut);
		assert_int_equal(reel_trampoline_find(REEL_TRAMPOLINE_UNKNOWN, cut, stack->address,
						      stack->n_arguments, stack->function, &frame),
				 REEL_TRAMPOLINE_NO_FRAME);
		/* As at the end of an interrupt stack. */
		if (stack->cpu == REEL_TRAMPOLINE_ARM64 ||
		    stack->n_arguments == REEL_TRAMPOLINE_ANY_ARGUMENTS)
			assert_int_equal(find(stack, words, &frame), REEL_TRAMPOLINE_NO_FRAME);
		/* A record that is not linked to the next. */
		if (stack->cpu != REEL_TRAMPOLINE_ARM64)
			continue;
		for (size_t j = 0; j < REEL_TRAMPOLINE_WORDS; j++)
			cut[j] = cut[j] == stack->sp - 16 ? cut[j] + 8 : cut[j];
		assert_int_equal(find(stack, cut, &frame), REEL_TRAMPOLINE_NO_FRAME);
	}
}

/* ---- chains ----------------------------------------------------------------------- */

static struct reel_sample_translator translator;

static const struct reel_sample *translate(const struct stack *stack, size_t from, size_t n)
{
	static struct reel_bpf_sample sample;
	struct reel_sampler_parts parts = { .sample = &sample,
					    .kernel_chain = stack->chain + from };
	__u64 words[REEL_TRAMPOLINE_WORDS];

	sample = (struct reel_bpf_sample){
		.flags = REEL_BPF_FUNCTION | REEL_BPF_KERNEL_FRAME,
		.n_kernel_chain = (__u32)n,
	};
	words_of(stack, words);
	if (find(stack, words, &sample.kernel_frame) == REEL_TRAMPOLINE_JUMPED)
		sample.flags |= REEL_BPF_FRAME_GUESSED;
	translator = (struct reel_sample_translator){ .page_size = 4096 };
	return reel_sample_translate(&translator, &parts);
}

static size_t chain_length(const struct stack *stack)
{
	size_t n = 0;

	while (stack->chain[n])
		n++;
	return n;
}

TEST(test_chains)
{
	for (size_t i = 0; i < sizeof(stacks) / sizeof(*stacks); i++) {
		const struct stack *stack = &stacks[i];
		size_t n = chain_length(stack);
		const struct reel_sample *sample = translate(stack, 0, n);

		assert_true(sample->has_kernel_frame);
		assert_true(sample->kernel_frame.sp == stack->sp);
		assert_int_equal(sample->n_kernel_chain, 1 + n - stack->own);
		assert_true(sample->kernel_chain[0] == stack->function);
		assert_true(sample->kernel_chain[1] == stack->caller);
		assert_memory_equal(sample->kernel_chain + 1, stack->chain + stack->own,
				    8 * (n - stack->own));
	}
}

/* The kernel's chain is missing, or ends before the function's caller. */
TEST(test_short_chains)
{
	for (size_t i = 0; i < sizeof(stacks) / sizeof(*stacks); i++) {
		const struct stack *stack = &stacks[i];
		bool certain = stack->found == REEL_TRAMPOLINE_CALLED;

		for (size_t n = 0; n < stack->own; n++) {
			const struct reel_sample *sample = translate(stack, 0, n);

			assert_int_equal(sample->has_kernel_frame, certain);
			assert_int_equal(sample->n_kernel_chain, certain ? 2 : 1);
			assert_true(sample->kernel_chain[0] == stack->function);
			if (certain)
				assert_true(sample->kernel_chain[1] == stack->caller);
		}
	}
}

/* The frame was not found: the chain is kept as is. */
TEST(test_chain_without_frame)
{
	static struct reel_bpf_sample sample;
	const struct stack *stack = &stacks[3];
	struct reel_sampler_parts parts = { .sample = &sample, .kernel_chain = stack->chain };
	const struct reel_sample *translated;

	sample = (struct reel_bpf_sample){ .flags = REEL_BPF_FUNCTION, .n_kernel_chain = 6 };
	sample.kernel_frame.pc = stack->function;
	translator = (struct reel_sample_translator){ .page_size = 4096 };
	translated = reel_sample_translate(&translator, &parts);
	assert_false(translated->has_kernel_frame);
	assert_int_equal(translated->n_kernel_chain, 3);
	assert_true(translated->kernel_chain[0] == stack->function);
	assert_true(translated->kernel_chain[1] == stack->caller);
}

RUN_TESTS()
