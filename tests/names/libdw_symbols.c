/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions, inlined calls and lines of debug information, compared with libdw's: each value of a
 * DIE, each list of ranges and each row is from libdw, and all DIEs of a unit are walked.
 *
 *   libdw_symbols [--alternate FILE] [--every N] FILE [DEBUG-FILE]
 *
 * compares both for every Nth byte of each executable section of FILE.  It prints the numbers of
 * addresses and frames, and the first few differences; the exit status is 1 if there are any.
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "replay/dwarf/debug_info.h"
#include "tests/support/or_exit.h"

#define EXAMPLES   5
#define DEPTH_MAX  512
#define FRAMES_MAX 512

/* A range of a DIE; of several that contain an address, the last one counts. */
struct range {
	Dwarf_Addr begin, end;
	size_t die;
};

/* DIEs with code, in file order. */
struct dies {
	struct die {
		Dwarf_Die die;
		size_t parent; /* SIZE_MAX: none */
	} * all;
	size_t n;
	struct range *ranges;
	size_t n_ranges;
};

struct oracle {
	Dwarf *dwarf;
	int fd;
	Dwarf_Addr text_begin, text_end;
	struct dies units, functions, inlined;
	Dwarf_Off unit, function; /* whose functions and inlined calls are read */
};

struct frame {
	const char *function, *file;
	unsigned line, column;
};

static void fail(const char *what)
{
	fprintf(stderr, "libdw_symbols: %s: %s\n", what, dwarf_errmsg(-1));
	exit(2);
}

static void *grown(void *items, size_t n, size_t size)
{
	/* At powers of two. */
	if (n & (n - 1))
		return items;
	items = reallocarray(items, n ? 2 * n : 1, size);
	if (!items)
		exit(2);
	return items;
}

static void add_die(const struct oracle *oracle, struct dies *dies, Dwarf_Die *die, size_t parent)
{
	Dwarf_Addr base, begin, end;
	ptrdiff_t at = 0;

	dies->all = grown(dies->all, dies->n, sizeof(*dies->all));
	dies->all[dies->n] = (struct die){ *die, parent };
	while ((at = dwarf_ranges(die, at, &base, &begin, &end)) > 0) {
		if (begin < oracle->text_begin || begin >= oracle->text_end || begin >= end)
			continue;
		dies->ranges = grown(dies->ranges, dies->n_ranges, sizeof(*dies->ranges));
		dies->ranges[dies->n_ranges++] = (struct range){ begin, end, dies->n };
	}
	dies->n++;
}

static struct die *find_die(const struct dies *dies, Dwarf_Addr address)
{
	for (size_t i = dies->n_ranges; i--;) {
		if (address >= dies->ranges[i].begin && address < dies->ranges[i].end)
			return &dies->all[dies->ranges[i].die];
	}
	return NULL;
}

static void add_functions(struct oracle *oracle, Dwarf_Die *parent, int depth)
{
	Dwarf_Die die;

	if (depth == DEPTH_MAX || dwarf_child(parent, &die) != 0)
		return;
	do {
		if (dwarf_tag(&die) == DW_TAG_subprogram)
			add_die(oracle, &oracle->functions, &die, SIZE_MAX);
		add_functions(oracle, &die, depth + 1);
	} while (dwarf_siblingof(&die, &die) == 0);
}

static void add_inlined(struct oracle *oracle, Dwarf_Die *parent, size_t inlined, int depth)
{
	Dwarf_Die die;

	if (depth == DEPTH_MAX || dwarf_child(parent, &die) != 0)
		return;
	do {
		size_t within = inlined;

		if (dwarf_tag(&die) == DW_TAG_subprogram)
			continue;
		if (dwarf_tag(&die) == DW_TAG_inlined_subroutine) {
			within = oracle->inlined.n;
			add_die(oracle, &oracle->inlined, &die, inlined);
		}
		add_inlined(oracle, &die, within, depth + 1);
	} while (dwarf_siblingof(&die, &die) == 0);
}

static void add_units(struct oracle *oracle)
{
	Dwarf_Off offset = 0, next;
	size_t header_size;
	Dwarf_Half version;
	Dwarf_Die die;

	for (; dwarf_next_unit(oracle->dwarf, offset, &next, &header_size, &version, NULL, NULL,
			       NULL, NULL, NULL) == 0;
	     offset = next) {
		if (dwarf_offdie(oracle->dwarf, offset + header_size, &die) &&
		    (dwarf_tag(&die) == DW_TAG_compile_unit ||
		     dwarf_tag(&die) == DW_TAG_skeleton_unit))
			add_die(oracle, &oracle->units, &die, SIZE_MAX);
	}
}

/* The DIE's abstract origin or declaration. */
static Dwarf_Die origin_of(const Dwarf_Die *die)
{
	static const unsigned attributes[] = { DW_AT_abstract_origin, DW_AT_specification };
	Dwarf_Die at = *die, next;
	Dwarf_Attribute attribute;

	for (size_t i = 0; i < 2;) {
		if (dwarf_attr(&at, attributes[i], &attribute) &&
		    dwarf_formref_die(&attribute, &next)) {
			at = next;
			i = 0;
		} else {
			i++;
		}
	}
	return at;
}

static bool is_scope(Dwarf_Die *die)
{
	int tag = dwarf_tag(die);

	return tag == DW_TAG_namespace || tag == DW_TAG_class_type ||
	       tag == DW_TAG_structure_type || tag == DW_TAG_union_type;
}

/* Prepends the namespaces and classes around a DIE to a text that ends at `end`. */
static char *put_scopes(Dwarf_Die at, char *end, const char *begin)
{
	Dwarf_Die *scopes;
	int n = dwarf_getscopes_die(&at, &scopes);

	for (int i = 1; i < n; i++) {
		Dwarf_Die scope = origin_of(&scopes[i]);
		const char *name = dwarf_diename(&scope);
		size_t size;

		if (!is_scope(&scopes[i]))
			continue;
		if (!name && dwarf_tag(&scope) == DW_TAG_namespace)
			name = "(anonymous namespace)";
		size = name ? strlen(name) + 2 : 0;
		if (size > (size_t)(end - begin))
			errx(2, "a name of more than %td bytes", end - begin);
		if (name && *name) {
			end -= size;
			memcpy(end, name, size - 2);
			memcpy(end + size - 2, "::", 2);
		}
		if (scope.addr != scopes[i].addr) {
			end = put_scopes(scope, end, begin);
			break;
		}
	}
	if (n > 0)
		free(scopes);
	return end;
}

/* C++ and Rust have scopes; a DIE without a linkage name is named by them. */
static const char *qualified(Dwarf_Die *die, const char *name)
{
	/* dwarf_getscopes_die walks the whole unit, and few DIEs are looked up often. */
	static struct {
		void *address;
		char *text;
	} known[1 << 16];
	char text[4096], *end = text + sizeof(text) - strlen(name) - 1;
	Dwarf_Die unit, origin = origin_of(die);
	int language = dwarf_diecu(die, &unit, NULL, NULL) ? dwarf_srclang(&unit) : 0;
	size_t slot = ((uintptr_t)origin.addr * 0x9e3779b97f4a7c15u >> 40) % (1 << 16);

	switch (language) {
	case DW_LANG_C_plus_plus:
	case DW_LANG_C_plus_plus_03:
	case DW_LANG_C_plus_plus_11:
	case DW_LANG_C_plus_plus_14:
	case DW_LANG_Rust:
		while (known[slot].address && known[slot].address != origin.addr)
			slot = (slot + 1) % (1 << 16);
		if (known[slot].address)
			return known[slot].text;
		strcpy(end, name);
		known[slot].address = origin.addr;
		known[slot].text = must_have(strdup(put_scopes(origin, end, text)));
		return known[slot].text;
	default:
		return name;
	}
}

static const char *name_of(Dwarf_Die *die)
{
	static const unsigned attributes[] = { DW_AT_linkage_name, DW_AT_MIPS_linkage_name,
					       DW_AT_name };
	Dwarf_Attribute attribute;

	for (size_t i = 0; i < 3; i++) {
		const char *name = NULL;

		if (dwarf_attr_integrate(die, attributes[i], &attribute))
			name = dwarf_formstring(&attribute);
		if (name)
			return i < 2 ? name : qualified(die, name);
	}
	return "";
}

static Dwarf_Word number_of(Dwarf_Die *die, unsigned name, Dwarf_Word otherwise)
{
	Dwarf_Attribute attribute;
	Dwarf_Word number;

	return dwarf_attr(die, name, &attribute) && dwarf_formudata(&attribute, &number) == 0
		       ? number
		       : otherwise;
}

/*
 * All of libdw's answers except for the line of the address itself; frames have their call's
 * position.
 */
static size_t ask_libdw(struct oracle *oracle, Dwarf_Addr address, struct frame *frames,
			struct die **unit_ret)
{
	struct die *unit = find_die(&oracle->units, address), *function, *inlined;
	size_t n = 0, n_files;
	Dwarf_Files *files;

	*unit_ret = unit;
	if (!unit)
		return 0;
	if (oracle->unit != dwarf_dieoffset(&unit->die)) {
		oracle->unit = dwarf_dieoffset(&unit->die);
		oracle->functions.n = oracle->functions.n_ranges = 0;
		add_functions(oracle, &unit->die, 0);
	}
	function = find_die(&oracle->functions, address);
	if (!function)
		return 0;
	if (oracle->function != dwarf_dieoffset(&function->die)) {
		oracle->function = dwarf_dieoffset(&function->die);
		oracle->inlined.n = oracle->inlined.n_ranges = 0;
		add_inlined(oracle, &function->die, SIZE_MAX, 0);
	}
	if (dwarf_getsrcfiles(&unit->die, &files, &n_files) != 0)
		files = NULL;
	inlined = find_die(&oracle->inlined, address);
	while (inlined && n < FRAMES_MAX - 1) {
		Dwarf_Word file = number_of(&inlined->die, DW_AT_call_file, UINT32_MAX);
		const char *path =
			files && file < n_files ? dwarf_filesrc(files, file, NULL, NULL) : NULL;

		frames[n].function = name_of(&inlined->die);
		frames[n + 1].file = path ? path : "";
		frames[n + 1].line = (unsigned)number_of(&inlined->die, DW_AT_call_line, 0);
		frames[n + 1].column = (unsigned)number_of(&inlined->die, DW_AT_call_column, 0);
		n++;
		inlined =
			inlined->parent == SIZE_MAX ? NULL : &oracle->inlined.all[inlined->parent];
	}
	frames[n++].function = name_of(&function->die);
	return n;
}

/* libdw's paths are relative to the unit's directory if the table's are, ours are not. */
static bool same_file(const char *ours, const char *libdws)
{
	size_t ours_size = strlen(ours), size = strlen(libdws);

	if (strncmp(libdws, "./", 2) == 0)
		libdws += 2, size -= 2;
	return size <= ours_size && strcmp(ours + ours_size - size, libdws) == 0 &&
	       (!size == !ours_size) &&
	       (size == ours_size || libdws[0] == '/' || ours[ours_size - size - 1] == '/');
}

/* Whether the line is in one of libdw's rows with the last address that is not above. */
static bool same_line(struct die *unit, Dwarf_Addr address, const struct reel_debug_frame *ours)
{
	size_t n, low = 0, high;
	bool found = false, ended = false;
	Dwarf_Lines *lines;
	Dwarf_Addr at = 0;

	if (dwarf_getsrclines(&unit->die, &lines, &n) != 0)
		return !ours->line;
	high = n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		dwarf_lineaddr(dwarf_onesrcline(lines, middle), &at);
		if (at <= address)
			low = middle + 1;
		else
			high = middle;
	}
	for (Dwarf_Addr last = 0; low--;) {
		Dwarf_Line *line = dwarf_onesrcline(lines, low);
		int number = 0, column = 0;
		const char *file;
		bool end = false;

		dwarf_lineaddr(line, &at);
		if (found && at != last)
			break;
		dwarf_lineendsequence(line, &end);
		if (end) {
			ended = true;
			continue;
		}
		found = true;
		last = at;
		dwarf_lineno(line, &number);
		dwarf_linecol(line, &column);
		file = dwarf_linesrc(line, NULL, NULL);
		if ((unsigned)number == ours->line &&
		    ((unsigned)column == ours->column || column > UINT16_MAX) &&
		    same_file(ours->file, file ? file : ""))
			return true;
	}
	return !ours->line && !ours->file[0] && (ended || !found);
}

static bool same(struct oracle *oracle, Dwarf_Addr address, const struct reel_debug_frame *ours,
		 size_t n, char *why)
{
	struct frame frames[FRAMES_MAX];
	struct die *unit;
	size_t n_libdw = ask_libdw(oracle, address, frames, &unit);

	/* For a line outside of functions, ours has a frame without a name. */
	if (!n_libdw && n == 1 && !ours[0].function[0]) {
		if (unit && same_line(unit, address, &ours[0]))
			return true;
		sprintf(why, "line %u outside of functions", ours[0].line);
		return false;
	}
	if (n != n_libdw) {
		sprintf(why, "%zu frames, libdw %zu", n, n_libdw);
		return false;
	}
	if (n && !same_line(unit, address, &ours[0])) {
		sprintf(why, "%.200s:%u:%u is not libdw's", ours[0].file, ours[0].line,
			ours[0].column);
		return false;
	}
	for (size_t i = 0; i < n; i++) {
		if (strcmp(ours[i].function, frames[i].function) != 0) {
			sprintf(why, "frame %zu is %.200s, libdw %.200s", i, ours[i].function,
				frames[i].function);
			return false;
		}
		if (i && (ours[i].line != frames[i].line || ours[i].column != frames[i].column ||
			  !same_file(ours[i].file, frames[i].file))) {
			sprintf(why, "frame %zu at %.200s:%u:%u, libdw %.200s:%u:%u", i,
				ours[i].file, ours[i].line, ours[i].column, frames[i].file,
				frames[i].line, frames[i].column);
			return false;
		}
	}
	return true;
}

struct counts {
	unsigned long addresses, frames, differ;
};

static void compare_section(struct oracle *oracle, struct reel_debug_info *info,
			    const GElf_Shdr *section, unsigned long every, struct counts *counts)
{
	for (Dwarf_Addr at = section->sh_addr; at < section->sh_addr + section->sh_size;
	     at += every) {
		const struct reel_debug_frame *frames = NULL;
		uint64_t begin;
		char why[1024];
		size_t n;

		check(reel_debug_info_look_up(info, at, &frames, &n, &begin));
		counts->addresses++;
		counts->frames += n;
		if (!same(oracle, at, frames, n, why) && counts->differ++ < EXAMPLES)
			printf("%#llx: %s\n", (unsigned long long)at, why);
	}
}

static void open_libdw(struct oracle *oracle, const char *path)
{
	oracle->fd = open(path, O_RDONLY | O_CLOEXEC);
	oracle->dwarf = oracle->fd < 0 ? NULL : dwarf_begin(oracle->fd, DWARF_C_READ);
	if (!oracle->dwarf)
		fail(path);
}

static void free_dies(struct dies *dies)
{
	free(dies->all);
	free(dies->ranges);
}

static void close_libdw(struct oracle *oracle)
{
	free_dies(&oracle->units);
	free_dies(&oracle->functions);
	free_dies(&oracle->inlined);
	dwarf_end(oracle->dwarf);
	close(oracle->fd);
}

int main(int argc, char **argv)
{
	struct reel_elf_file *file = NULL, *debug = NULL, *alternate = NULL;
	struct oracle oracle = { .unit = UINT64_MAX, .function = UINT64_MAX };
	struct counts counts = { 0 };
	struct reel_debug_info *info;
	unsigned long every = 1;
	const char *path = NULL;
	Elf_Scn *section = NULL;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--alternate") == 0 && i + 1 < argc) {
			check(reel_elf_file_open(argv[++i], &alternate));
		} else if (strcmp(argv[i], "--every") == 0 && i + 1 < argc) {
			every = strtoul(argv[++i], NULL, 10);
		} else {
			path = argv[i];
			check(reel_elf_file_open(path, file ? &debug : &file));
		}
	}
	if (!file || !every)
		return 2;
	if (alternate)
		reel_elf_file_set_alternate(debug ? debug : file, alternate);
	check(reel_debug_info_open(debug ? debug : file, file, NULL, &info));
	open_libdw(&oracle, path);
	reel_elf_file_text_range(file, &oracle.text_begin, &oracle.text_end);
	add_units(&oracle);
	while ((section = elf_nextscn(reel_elf_file_handle(file), section))) {
		GElf_Shdr header;

		if (gelf_getshdr(section, &header) && header.sh_flags & SHF_EXECINSTR)
			compare_section(&oracle, info, &header, every, &counts);
	}
	printf("%lu addresses, %lu frames, %lu differ\n", counts.addresses, counts.frames,
	       counts.differ);
	close_libdw(&oracle);
	reel_debug_info_close(info);
	reel_elf_file_close(debug);
	reel_elf_file_close(file); /* and with it, the alternate one */
	return counts.differ ? 1 : 0;
}
