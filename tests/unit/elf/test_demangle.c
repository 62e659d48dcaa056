/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names that would take years or gigabytes, or a deep stack.  All take a second of CPU time; if one
 * hangs, the kernel kills this program after a hundred.
 */
#include <pthread.h>
#include <sys/resource.h>

#include "elf/demangle.h"
#include "tests/support/test.h"

#define STEPS	  100000
#define NAME_SIZE 1024

/* 140 KB are needed on s390x, 95 KB elsewhere; more without optimization, and with sanitizers. */
#if defined(__OPTIMIZE__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) &&              \
	!defined(__SANITIZE_THREAD__)
#define STACK_SIZE (192 << 10)
#else
#define STACK_SIZE (1024 << 10)
#endif

/* ---- names -------------------------------------------------------------------------------- */

/* A name is `head`, then n times `open`, `middle`, n times `close`, `tail`. */
struct family {
	const char *head, *open, *middle, *close, *tail;
};

static const struct family families[] = {
	/* 62^n lifetimes of a function type, each printed */
	{ "_RMIC0FG", "z", "", "", "_EuEu" },
	{ "_RMIC0", "FG9_", "u", "Eu", "E" },
	/* the type of a conversion operator, which is parsed twice at each level */
	{ "_ZN1acv", "T_I", "i", "E", "Ev" },
	{ "_ZN1acv", "T_IcvT_I", "i", "E", "Ev" },
	{ "_ZN1acv", "T_IX", "cvT_IiE", "E", "Ev" },
	{ "_ZN1acv", "T_I", "FFFFiEiEiEiE", "E", "Ev" },
	/* packs of packs */
	{ "_Z1fDp", "Dp", "i", "", "" },
	{ "_Z1fIJ", "i", "EEv", "Dp", "T_" },
	{ "_Z1fIJ", "i", "EEv", "DpT_", "" },
	{ "_Z1fIJ", "i", "EEv", "DpS_", "" },
	{ "_Z1fIJ", "i", "EEDT", "sPDpT_", "EE" },
	{ "_Z1fI", "J", "i", "E", "EvDpT_" },
	{ "_Z1fDT", "sZ", "T_", "", "E" },
	/* references to parameters, each of which keeps the templates seen so far */
	{ "_Z1fIRiEv", "RT_", "", "", "" },
	{ "_Z1fIRiEv", "RT_", "", "1AIOT_E", "" },
	{ "_Z1fI", "1AIR", "i", "E", "EvRT_RT_RT_" },
	/* qualifiers and arrays, whose lists are walked again and again */
	{ "_Z1f", "K", "i", "", "" },
	{ "_Z1f", "A1_", "i", "", "" },
	{ "_Z1f", "KA1_", "i", "", "" },
	{ "_Z1f", "PF", "i", "iE", "" },
	{ "_Z1f", "M1aF", "i", "E", "" },
	{ "_ZNK", "K", "1a", "", "E" },
	/* nested names, or long ones, or both */
	{ "_Z1f", "P", "i", "", "" },
	{ "_Z1f", "1AI", "i", "E", "" },
	{ "_Z", "Z", "1fv", "E1av", "" },
	{ "_Z", "Z", "1fv", "E", "s" },
	{ "_ZZ", "NK1aE", "", "", "" },
	{ "_Z1fDT", "pl", "Li1E", "Li1E", "E" },
	{ "_Z1fI", "J", "", "E", "Ev" },
	{ "_Z1f", "i", "", "", "" },
	{ "_Z1fUl", "Tt", "Ty", "E", "iE_" },
	{ "_ZN", "1a", "", "", "Ev" },
	{ "_Z1fILi", "0", "", "", "EEvv" },
	{ "_R", "Nv", "C1a", "1b", "" },
	{ "_RI", "N", "", "", "" },
	{ "_RIC0", "T", "u", "E", "E" },
	{ "_R", "NvB_", "", "", "" },
	{ "_RINvC1a1bTB_", "B_", "", "", "" },
	/* declarations of template parameters, and constraints */
	{ "_Z1fI", "Tk1C", "i", "", "Evv" },
	{ "_Z1fI", "Tp", "Ty", "", "iEvv" },
	{ "_Z1fI", "Tt", "Ty", "E", "iEvv" },
	{ "_Z1fI", "Tk1CI", "i", "E", "iEvv" },
	{ "_Z1fI", "Dk1CI", "i", "E", "Evv" },
	{ "_Z1fIiQ", "rqX", "T_", "E", "Evv" },
	{ "_Z1fIiQ", "rQi_Q", "T_", "E", "Evv" },
	{ "_Z1fIi", "QTL0_", "", "", "Evv" },
	/* D: types, template arguments, ambiguous lengths, and references to what has references */
	{ "_D1aF", "x", "i", "", "Zv" },
	{ "_D1aF", "PF", "v", "Zv", "Zv" },
	{ "_D", "__T1aTS", "1b", "Z", "i" },
	{ "_D", "__T1aS1111111", "1b", "Z", "i" },
	{ "_D1aF", "B1", "i", "", "Zv" },
	{ "_D1aFHii", "HQgQi", "", "", "Zv" },
	{ "_D1aFxxxxxxxxi", "Qi", "", "", "Zv" },
	{ "_D", "1a", "", "Q", "Z" },
	{ "_D", "9__vtblZxx", "", "", "Z" },
	{ "_D", "6__vtblZ", "", "", "Z" },
	{ "_D1a__T1aVAiA1", "A1", "1", "", "Zi" },
};

/* Its length; 0 if it exceeds the limit for names. */
static size_t make_name(const struct family *family, size_t n, char name[NAME_SIZE + 1])
{
	size_t rest = strlen(family->head) + strlen(family->middle) + strlen(family->tail);
	char *to = name;

	if (rest + n * (strlen(family->open) + strlen(family->close)) > NAME_SIZE)
		return 0;
	to = stpcpy(to, family->head);
	for (size_t i = 0; i < n; i++)
		to = stpcpy(to, family->open);
	to = stpcpy(to, family->middle);
	for (size_t i = 0; i < n; i++)
		to = stpcpy(to, family->close);
	to = stpcpy(to, family->tail);
	return (size_t)(to - name);
}

/* Numbers as both manglings write them: "_" is 0, "0_" is 1. */
static size_t append_number(char *to, int number, int base)
{
	static const char upper[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	static const char both[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char text[16] = { 0 }, *at = text + sizeof(text) - 1;

	*--at = '_';
	for (int rest = number - 1; number && (rest || at[0] == '_'); rest /= base)
		*--at = (base == 36 ? upper : both)[rest % base];
	return (size_t)sprintf(to, "%s", at);
}

/* f(A, B<A, A>, B<that, that>, …): each parameter has twice the text of the previous one. */
static size_t make_doubling(int n, char *name)
{
	size_t at = (size_t)sprintf(name, "_Z1f1A");

	for (int i = 0; i < n; i++) {
		at += (size_t)sprintf(name + at, "1BI");
		for (int side = 0; side < 2; side++) {
			name[at++] = 'S';
			at += append_number(name + at, 2 * i, 36);
		}
		name[at++] = 'E';
	}
	name[at] = '\0';
	return at;
}

/* a::<((), ()), (that, that), …>: the same in Rust, by back references. */
static size_t make_rust_doubling(int n, char *name)
{
	size_t at = (size_t)sprintf(name, "_RIC1aTuuE"), last = at - 4 - 2;

	for (int i = 0; i < n; i++) {
		size_t begin = at - 2;

		name[at++] = 'T';
		for (int side = 0; side < 2; side++) {
			name[at++] = 'B';
			at += append_number(name + at, (int)last, 62);
		}
		name[at++] = 'E';
		last = begin;
	}
	return at + (size_t)sprintf(name + at, "E");
}

/* ---- tests -------------------------------------------------------------------------------- */

static char *demangle(const char *name, long *taken)
{
	long left = STEPS;
	char *text = reel_demangle_within(name, &left);

	assert_in_range(left, 0, STEPS);
	*taken = STEPS - left;
	return text;
}

static void assert_demangled(const char *name, const char *expected)
{
	long taken;
	char *text = demangle(name, &taken);

	assert_non_null(text);
	assert_string_equal(text, expected);
	free(text);
}

TEST(small_ones_are_demangled)
{
	assert_demangled("_RMC0FG0_Eu", "<for<'a, 'b> fn()>");
	assert_demangled("_ZN1acvT_IiEEv", "a::operator int<int>()");
	assert_demangled("_Z1fIJicEEvDpT_", "void f<int, char>(int, char)");
	assert_demangled("_Z1f1A1BIS_S_E", "f(A, B<A, A>)");
	assert_demangled("_RIC1aTuuETB3_B3_EE", "a::<((), ()), (((), ()), ((), ()))>");
}

/* clang 19's names for C++23, with llvm-cxxfilt's text.  It also prints constraints that refer to
 * parameters of classes or have requirements. */
TEST(constrained_templates_are_demangled)
{
	assert_demangled("_Z11constrainedITk7AddableiEvT_", "void constrained<int>(int)");
	assert_demangled("_Z2f3ITpTk7AddableJilEEvDpT_", "void f3<int, long>(int, long)");
	assert_demangled("_Z2f2ITk4BothIiEiEvT_", "void f2<int>(int)");
	assert_demangled(
		"_Z3f10ITkSt8integraliTkSt7same_asIT_EiESt6vectorIS1_SaIS1_EET0_S2_IS5_SaIS5_EE",
		"std::vector<int, std::allocator<int> > f10<int, int>(int, "
		"std::vector<int, std::allocator<int> >)");
	assert_demangled("_Z2f5ITtTk7AddableE1AEvT_IiE", "void f5<A>(A<int>)");
	assert_demangled("_Z7byvalueITnDaXtlZ4mainE3$_0EEEvv", "void byvalue<main::$_0{}>()");
	assert_demangled("_Z3f11ITnDk7AddableLi3EEvv", "void f11<3>()");
	assert_demangled("_ZN3BoxIiE3putIiQsr3stdE7same_asIT_TL0__EEEvS2_",
			 "void Box<int>::put<int>(int)");
	assert_demangled("_ZN3BoxIiEcvbEvQ7AddableIT_E", "Box<int>::operator bool()");
	assert_demangled("_Z2f8IiEvT_QrQS0__Xplfp_fp_E", "void f8<int>(int)");
	assert_demangled("_Z1fIiQ1CIT_EEvv", "void f<int>() requires C<int>");
}

/* gfortran 12's names, with the text that gdb shows for them. */
TEST(procedures_of_modules_are_demangled)
{
	static const char *const others[] = {
		"__MOD_f",  "___MOD_f",	       "__physics_MOD_", "__physics_MOD",
		"_a_MOD_f", "__Physics_MOD_f", "__physics_f",	 "__physics-MOD_f",
	};
	long taken;

	assert_demangled("__physics_MOD_grind", "physics::grind");
	assert_demangled("__a_MOD_f", "a::f");
	assert_demangled("__my_mod_1_MOD_do_it", "my_mod_1::do_it");
	assert_demangled("__physics_MOD___copy_physics_Body", "physics::__copy_physics_Body");
	assert_demangled("__physics.detail_MOD_local", "physics.detail::local");
	assert_demangled("__physics_MOD_grind.constprop.0", "physics::grind.constprop.0");
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		assert_null(demangle(others[i], &taken));
		assert_int_equal(taken, 0);
	}
}

/* gdc 12's names, with the text of binutils' c++filt but for gcc's suffixes. */
TEST(d_is_demangled)
{
	long taken;

	assert_demangled("_Dmain", "D main");
	assert_demangled("_D4prog4eachFDFiZmZm", "prog.each(ulong(int) delegate)");
	assert_demangled("_D4prog4nestFiZ5innerMFNbNiiZm", "prog.nest(int).inner(int)");
	assert_demangled("_D4prog5Shape6__ctorMFiZCQxQu", "prog.Shape.this(int)");
	assert_demangled("_D4prog__T5grindTiZQjFNbNiimZm", "prog.grind!(int).grind(int, ulong)");
	assert_demangled("_D4prog5Shape4areaMFiZ9__requireMFNaNbNiNfKiZv.constprop.0.isra.0",
			 "prog.Shape.area(int).__require(ref int) [clone .constprop.0.isra.0]");
	/* binutils leaves this one mangled. */
	assert_demangled("_DTi16_D4prog5Shape4areaMFiZd",
			 "non-virtual thunk to prog.Shape.area(int)");
	assert_null(demangle("_DTi16", &taken));
	assert_null(demangle("_DTi16_4prog5Shape4areaMFiZd", &taken));
	assert_null(demangle("_DYNAMIC", &taken));
	assert_null(demangle("_D4prog", &taken));
}

/* Wherever the steps are used up, as when memory is short. */
TEST(any_number_of_steps_ends)
{
	static const char *const names[] = {
		"_D6__initZ.x", "_D4prog5Shape4areaMFiZ9__requireMFNaNbNiNfKiZv.constprop.0",
		"_RNvXs_C3fooNtB4_3BarNtB4_5Trait6method", "_ZNSt6vectorIiSaIiEED1Ev"
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		long taken;

		free(demangle(names[i], &taken));
		for (long n = 0; n <= taken; n++) {
			long left = n;

			assert_null(reel_demangle_within(names[i], &left));
			assert_int_equal(left, 0);
		}
	}
}

TEST(every_length_ends)
{
	char name[NAME_SIZE + 1];

	for (size_t i = 0; i < sizeof(families) / sizeof(*families); i++) {
		for (size_t n = 0; make_name(&families[i], n, name); n++) {
			long taken;

			free(demangle(name, &taken));
		}
	}
}

/* Excessive names are not demangled, and reported as having used up the limit. */
TEST(too_much_is_left_mangled)
{
	static const size_t exponential[] = { 2, 3, 5 };
	char name[4 * NAME_SIZE];
	long taken;

	for (size_t i = 0; i < sizeof(exponential) / sizeof(*exponential); i++) {
		assert_true(make_name(&families[exponential[i]], 60, name));
		assert_null(demangle(name, &taken));
		assert_int_equal(taken, STEPS);
	}
	for (int n = 0; make_doubling(n, name) <= NAME_SIZE; n++) {
		char *text = demangle(name, &taken);

		assert_true(n < 12 ? text && taken < STEPS : n < 16 || (!text && taken == STEPS));
		free(text);
	}
	for (int n = 0; make_rust_doubling(n, name) <= NAME_SIZE; n++) {
		char *text = demangle(name, &taken);

		assert_true(n < 8 ? text && taken < STEPS : n < 16 || (!text && taken == STEPS));
		free(text);
	}
}

/* Lists are longer than any nesting is deep. */
TEST(long_lists_are_demangled)
{
	const struct family ints = { "_Z1f", "i", "", "", "" };
	char name[NAME_SIZE + 1], *text;
	long taken;

	assert_int_equal(make_name(&ints, NAME_SIZE - 4, name), NAME_SIZE);
	text = demangle(name, &taken);
	assert_non_null(text);
	assert_int_equal(strlen(text), 5 * (NAME_SIZE - 4) - 2 + 3);
	free(text);
}

TEST(longer_names_stay_mangled)
{
	char name[2 * NAME_SIZE], digits[16];
	long taken;

	for (int size = NAME_SIZE - 5; size < NAME_SIZE + 5; size++) {
		char *text;

		memset(name, 'a', (size_t)size);
		name[size] = '\0';
		/* As many as follow. */
		memcpy(name, digits, (size_t)sprintf(digits, "_Z%d", size - 6));
		text = demangle(name, &taken);
		assert_true(size > NAME_SIZE ? !text : text && !strcmp(text, name + 6));
		free(text);
	}
}

/* The same on every host, whatever its CPU. */
TEST(steps_are_the_same_everywhere)
{
	long taken;

	free(demangle("_ZNSt6vectorIiSaIiEED1Ev", &taken));
	assert_int_equal(taken, 72);
	free(demangle("_RNvXs_C3fooNtB4_3BarNtB4_5Trait6method", &taken));
	assert_int_equal(taken, 91);
}

static void assert_ada(const char *name, const char *expected)
{
	char *text = reel_demangle_ada(name);

	assert_true(expected ? text && !strcmp(text, expected) : !text);
	free(text);
}

/* GNAT 12's names, and gdb's text without gcc's parts. */
TEST(ada_is_decoded)
{
	char longest[NAME_SIZE + 8] = "a__";

	assert_ada("shop__till__grind_int", "shop.till.grind_int");
	assert_ada("shop__till__add__2", "shop.till.add");
	assert_ada("shop__till__add__deep.0", "shop.till.add.deep");
	assert_ada("shop__till__add__2__deep.1", "shop.till.add.deep");
	assert_ada("main__cashierTKB.2", "main.cashier");
	assert_ada("main__cashierTK__work.3", "main.cashier.work");
	assert_ada("shop__Oadd__2", "shop.\"+\"");
	assert_ada("shop__till__addXnb", "shop.till.add");
	assert_ada("shop__till__add.constprop.0", "shop.till.add.constprop.0");
	assert_ada("work__inner__deepX", "work.inner.deep");
	assert_ada("work__Oexpon", "work.\"**\"");
	assert_ada("work__box__putN", "work.box.put");
	assert_ada("work__box__putP", NULL);
	assert_ada("work__box__wait_E6s", "work.box.wait");
	assert_ada("work__box__wait_B7s", NULL);
	assert_ada("work__workerTB", "work.worker");
	assert_ada("work__run__B_1__in_block.6", "work.run.in_block");
	assert_ada("_ada_main", "main");
	assert_ada("main", NULL);
	assert_ada("", NULL);
	assert_ada("__libc_start_main", NULL);
	assert_ada("shop___elabb", NULL);
	assert_ada("shop__", NULL);
	assert_ada("a__bQc", NULL);
	assert_ada("_ada_", NULL);
	memset(longest + 3, 'x', NAME_SIZE);
	assert_ada(longest, NULL);
}

/* ---- the stack ---------------------------------------------------------------------------- */

static void *demangle_all(void *unused)
{
	char name[NAME_SIZE + 1];

	for (size_t i = 0; i < sizeof(families) / sizeof(*families); i++) {
		size_t most = 0;

		while (make_name(&families[i], most + 1, name))
			most++;
		/* Around the depth limit, and the longest. */
		for (size_t n = most < 300 ? most : 300; n > 20; n--) {
			make_name(&families[i], n, name);
			free(reel_demangle(name));
		}
		make_name(&families[i], most, name);
		free(reel_demangle(name));
	}
	return unused;
}

/* An inaccessible page is below the stack. */
TEST(small_stacks_are_enough)
{
	pthread_attr_t attr;
	pthread_t thread;

	assert_int_equal(pthread_attr_init(&attr), 0);
	assert_int_equal(pthread_attr_setstacksize(&attr, STACK_SIZE), 0);
	assert_int_equal(pthread_attr_setguardsize(&attr, 1 << 20), 0);
	assert_int_equal(pthread_create(&thread, &attr, demangle_all, NULL), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	pthread_attr_destroy(&attr);
}

int main(void)
{
	setrlimit(RLIMIT_CPU, &(struct rlimit){ 100, 100 });
	return unit_tests_run(NULL, NULL);
}
