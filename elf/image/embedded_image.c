/* SPDX-License-Identifier: Apache-2.0 */
/* Writes an embedded ELF file: ELF header, PT_LOADs, sections' bytes, section headers. */
#include <gelf.h>
#include <stdlib.h>

#include "elf/image/embedded_image.h"

struct image_section {
	uint32_t name, type, link, info;
	uint64_t flags, address, offset, size, align, entry_size;
};

struct image {
	struct reel_elf_file *file;
	Elf *elf;
	GElf_Ehdr header;
	struct reel_buffer *out;
	struct reel_buffer names; /* .shstrtab */
	bool big_endian;
	unsigned word;
	size_t n_segments; /* PT_LOADs */
	struct image_section *sections;
	size_t n, capacity;
	struct reel_address_ranges data; /* its sections of data, tidy */
};

static void put(struct reel_buffer *out, const struct image *image, unsigned size, uint64_t value)
{
	uint8_t bytes[8];

	reel_store_target(bytes, size, image->big_endian, value);
	reel_buffer_append(out, bytes, size);
}

/* ---- headers ------------------------------------------------------------------------------ */

static struct reel_error *put_raw(struct image *image, uint64_t offset, size_t size)
{
	Elf_Data *data = elf_getdata_rawchunk(image->elf, (int64_t)offset, size, ELF_T_BYTE);

	if (!data || !data->d_buf || data->d_size != size)
		return reel_error_create(REEL_ERROR_CORRUPT, "%s: cannot read the headers: %s",
					 reel_elf_file_path(image->file), elf_errmsg(-1));
	reel_buffer_append(image->out, data->d_buf, size);
	return NULL;
}

/* Copies the file's own headers; changed fields are stored at the end. */
static struct reel_error *put_headers(struct image *image)
{
	size_t entry = gelf_fsize(image->elf, ELF_T_PHDR, 1, EV_CURRENT), n;
	struct reel_error *error;

	if (!gelf_getehdr(image->elf, &image->header) || elf_getphdrnum(image->elf, &n))
		return reel_error_create(REEL_ERROR_CORRUPT, "%s: ELF header: %s",
					 reel_elf_file_path(image->file), elf_errmsg(-1));
	error = put_raw(image, 0, gelf_fsize(image->elf, ELF_T_EHDR, 1, EV_CURRENT));
	for (size_t i = 0; i < n && !error; i++) {
		GElf_Phdr segment;

		if (!gelf_getphdr(image->elf, (int)i, &segment) || segment.p_type != PT_LOAD)
			continue;
		error = put_raw(image, image->header.e_phoff + i * entry, entry);
		image->n_segments++;
	}
	return error;
}

/* The offsets of ELF header fields, in files of 32 and of 64 bits (System V ABI, chapter 4). */
static void store_header(struct image *image, uint64_t sections_at)
{
	bool is_64 = image->word == 8;
	uint8_t *at = image->out->bytes;
	size_t header = gelf_fsize(image->elf, ELF_T_EHDR, 1, EV_CURRENT);

	reel_store_target(at + (is_64 ? 32 : 28), image->word, image->big_endian, header);
	reel_store_target(at + (is_64 ? 40 : 32), image->word, image->big_endian, sections_at);
	at += is_64 ? 52 : 40;
	reel_store_target(at, 2, image->big_endian, header);
	reel_store_target(at + 2, 2, image->big_endian,
			  gelf_fsize(image->elf, ELF_T_PHDR, 1, EV_CURRENT));
	reel_store_target(at + 4, 2, image->big_endian, image->n_segments);
	reel_store_target(at + 6, 2, image->big_endian,
			  gelf_fsize(image->elf, ELF_T_SHDR, 1, EV_CURRENT));
	reel_store_target(at + 8, 2, image->big_endian, image->n);
	reel_store_target(at + 10, 2, image->big_endian, image->n - 1); /* .shstrtab */
}

static void put_section_header(struct image *image, const struct image_section *section)
{
	unsigned word = image->word;

	put(image->out, image, 4, section->name);
	put(image->out, image, 4, section->type);
	put(image->out, image, word, section->flags);
	put(image->out, image, word, section->address);
	put(image->out, image, word, section->offset);
	put(image->out, image, word, section->size);
	put(image->out, image, 4, section->link);
	put(image->out, image, 4, section->info);
	put(image->out, image, word, section->align);
	put(image->out, image, word, section->entry_size);
}

/* ---- sections ----------------------------------------------------------------------------- */

static void align(struct image *image, size_t size)
{
	/* Without memory, it does not grow. */
	while (image->out->size % size && !image->out->failed)
		reel_buffer_u8(image->out, 0);
}

/* Begins a section here.  `ret` may be changed until the next one begins. */
static struct image_section *begin_section(struct image *image, const char *name, uint32_t type)
{
	struct image_section *section = &image->sections[image->n++];

	align(image, 8);
	*section = (struct image_section){ .name = (uint32_t)image->names.size,
					   .type = type,
					   .offset = image->out->size,
					   .align = 1 };
	reel_buffer_append(&image->names, name, strlen(name) + 1);
	return section;
}

static void end_section(struct image *image)
{
	struct image_section *section = &image->sections[image->n - 1];

	section->size = image->out->size - section->offset;
}

static void put_build_id(struct image *image)
{
	struct reel_bytes build_id = reel_elf_file_build_id(image->file);

	if (!build_id.size)
		return;
	begin_section(image, ".note.gnu.build-id", SHT_NOTE)->align = 4;
	put(image->out, image, 4, 4);
	put(image->out, image, 4, build_id.size);
	put(image->out, image, 4, NT_GNU_BUILD_ID);
	reel_buffer_append(image->out, "GNU", 4);
	reel_buffer_append(image->out, build_id.data, build_id.size);
	align(image, 4);
	end_section(image);
}

static void put_text(struct image *image, const char *name, uint64_t address, uint64_t size)
{
	struct image_section *section = begin_section(image, name, SHT_NOBITS);

	section->flags = SHF_ALLOC | SHF_EXECINSTR;
	section->address = address;
	section->size = size;
}

/* Linked files have a handful. */
#define TEXTS_MAX 256

/*
 * Symbols refer to sections, and these show that the code is in another file. gdb accepts a symbol
 * only if its section has the name, address and size of the file's.
 */
static void put_text_sections(struct image *image)
{
	Elf_Scn *section = NULL;
	size_t names, n = 0;
	GElf_Shdr header;

	if (elf_getshdrstrndx(image->elf, &names))
		return;
	while ((section = elf_nextscn(image->elf, section)) && n < TEXTS_MAX) {
		const char *name;

		if (!gelf_getshdr(section, &header) || !header.sh_size ||
		    (header.sh_flags & (SHF_ALLOC | SHF_EXECINSTR)) != (SHF_ALLOC | SHF_EXECINSTR))
			continue;
		name = elf_strptr(image->elf, names, header.sh_name);
		put_text(image, name && strlen(name) < TEXTS_MAX ? name : ".text", header.sh_addr,
			 header.sh_size);
		n++;
	}
}

/* For a file without section headers. */
static void put_text_segments(struct image *image)
{
	size_t n = 0;

	if (elf_getphdrnum(image->elf, &n))
		n = 0;
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr segment;

		if (gelf_getphdr(image->elf, (int)i, &segment) && segment.p_type == PT_LOAD &&
		    segment.p_flags & PF_X)
			put_text(image, ".text", segment.p_vaddr, segment.p_memsz);
	}
}

/* The number of the section that holds the address; 0 if none does. */
static uint16_t text_of(const struct image *image, uint64_t address)
{
	for (size_t i = 1; i < image->n; i++) {
		const struct image_section *section = &image->sections[i];

		if (section->type == SHT_NOBITS && address >= section->address &&
		    address - section->address < section->size)
			return (uint16_t)i;
	}
	return 0;
}

static void put_symbol(struct image *image, const struct reel_embedded_symbol *symbol,
		       uint32_t name, uint16_t section)
{
	uint8_t info = GELF_ST_INFO(STB_LOCAL, symbol->name ? STT_FUNC : STT_NOTYPE);

	put(image->out, image, 4, name);
	if (image->word == 8) {
		put(image->out, image, 1, info);
		put(image->out, image, 1, STV_DEFAULT);
		put(image->out, image, 2, section);
	}
	put(image->out, image, image->word, symbol->begin);
	put(image->out, image, image->word, symbol->end - symbol->begin);
	if (image->word == 4) {
		put(image->out, image, 1, info);
		put(image->out, image, 1, STV_DEFAULT);
		put(image->out, image, 2, section);
	}
}

static void put_symbols(struct image *image, const struct reel_embedded_input *input, size_t limit)
{
	static const struct reel_embedded_symbol none = { 0 };
	struct image_section *section;
	_cleanup_buffer_ struct reel_buffer names = { 0 };
	uint32_t n = 1;

	if (!input->n_symbols)
		return;
	section = begin_section(image, ".symtab", SHT_SYMTAB);
	section->align = 8;
	section->entry_size = gelf_fsize(image->elf, ELF_T_SYM, 1, EV_CURRENT);
	section->link = (uint32_t)image->n; /* the next section */
	reel_buffer_u8(&names, 0);
	put_symbol(image, &none, 0, 0);
	for (size_t i = 0; i < input->n_symbols && names.size <= limit; i++) {
		const struct reel_embedded_symbol *symbol = &input->symbols[i];
		uint16_t text = text_of(image, symbol->begin);

		if (!text)
			continue;
		put_symbol(image, symbol, (uint32_t)names.size, text);
		reel_buffer_append(&names, symbol->name, strlen(symbol->name) + 1);
		n++;
	}
	section->info = n; /* all symbols are local */
	end_section(image);
	begin_section(image, ".strtab", SHT_STRTAB);
	reel_buffer_append(image->out, names.bytes, names.size);
	image->out->failed |= names.failed;
	end_section(image);
}

/*
 * Zeroes constants that were read in an executable segment, next to the code (-z noseparate-code):
 * they are not calls, and nobody's data.  Needs section headers to tell code from data.
 */
static void blank_data(const struct image *image, uint64_t address, uint8_t *bytes, size_t size)
{
	const struct reel_address_ranges *data = &image->data;
	size_t i = reel_address_ranges_search(data, address);

	for (; i < data->n && data->all[i].begin < address + size; i++) {
		uint64_t begin = data->all[i].begin, end = data->all[i].end;

		begin = begin > address ? begin : address;
		end = end < address + size ? end : address + size;
		memset(bytes + (begin - address), 0, (size_t)(end - begin));
	}
}

static void find_data(struct image *image)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(image->elf, section))) {
		if (gelf_getshdr(section, &header) && header.sh_flags & SHF_ALLOC &&
		    !(header.sh_flags & SHF_EXECINSTR) && header.sh_size &&
		    header.sh_size <= UINT64_MAX - header.sh_addr)
			reel_address_ranges_add(&image->data, header.sh_addr,
						header.sh_addr + header.sh_size);
	}
	reel_address_ranges_tidy(&image->data);
}

/* Each byte of the range was read before, but perhaps in parts: it may cover two segments. */
static void put_piece(struct image *image, const struct reel_address_range *range, bool is_code)
{
	uint64_t at = range->begin;

	while (at < range->end) {
		size_t size = range->end - at < 4096 ? (size_t)(range->end - at) : 4096;
		uint8_t *room = reel_buffer_reserve(image->out, size);

		if (!room)
			return;
		while (size && !(is_code ? reel_elf_file_read : reel_elf_file_read_constant)(
				       image->file, at, size, room))
			size /= 2;
		/* The file has become shorter. */
		if (!size) {
			size = 1;
			*room = 0;
		}
		if (is_code)
			blank_data(image, at, room, size);
		image->out->size += size;
		at += size;
	}
}

static void put_pieces(struct image *image, const char *name,
		       const struct reel_address_ranges *pieces, bool is_code, size_t limit)
{
	if (!pieces || !pieces->n)
		return;
	begin_section(image, name, SHT_PROGBITS)->align = 8;
	put(image->out, image, 8, pieces->n);
	for (size_t i = 0; i < pieces->n; i++) {
		put(image->out, image, 8, pieces->all[i].begin);
		put(image->out, image, 8, pieces->all[i].end - pieces->all[i].begin);
	}
	for (size_t i = 0; i < pieces->n && image->out->size <= limit; i++)
		put_piece(image, &pieces->all[i], is_code);
	end_section(image);
}

static void put_switches(struct image *image, const struct reel_embedded_input *input)
{
	if (!input->n_switches)
		return;
	begin_section(image, REEL_EMBEDDED_SWITCHES, SHT_PROGBITS)->align = 8;
	for (size_t i = 0; i < input->n_switches; i++) {
		put(image->out, image, 8, input->switches[i].begin);
		put(image->out, image, 8, input->switches[i].end);
	}
	end_section(image);
}

static void put_lines(struct image *image, const struct reel_embedded_input *input)
{
	if (!input->lines.size)
		return;
	begin_section(image, REEL_EMBEDDED_LINES, SHT_PROGBITS);
	reel_buffer_append(image->out, input->lines.data, input->lines.size);
	end_section(image);
}

static void put_sections(struct image *image, const struct reel_embedded_input *input, size_t limit)
{
	size_t texts;

	begin_section(image, "", SHT_NULL);
	image->sections[0] = (struct image_section){ .type = SHT_NULL };
	put_build_id(image);
	texts = image->n;
	put_text_sections(image);
	if (image->n == texts)
		put_text_segments(image);
	if (input->debug_frame.size) {
		begin_section(image, ".debug_frame", SHT_PROGBITS)->align = 8;
		reel_buffer_append(image->out, input->debug_frame.data, input->debug_frame.size);
		end_section(image);
	}
	put_symbols(image, input, limit);
	if (input->code->n)
		find_data(image);
	put_pieces(image, REEL_EMBEDDED_CODE, input->code, true, limit);
	put_switches(image, input);
	put_lines(image, input);
	put_pieces(image, REEL_EMBEDDED_CONSTANTS, input->constants, false, limit);
	for (size_t i = 0; i < input->n_sections; i++) {
		begin_section(image, input->sections[i].name, SHT_PROGBITS);
		reel_buffer_append(image->out, input->sections[i].bytes.data,
				   input->sections[i].bytes.size);
		end_section(image);
	}
	begin_section(image, ".shstrtab", SHT_STRTAB);
	reel_buffer_append(image->out, image->names.bytes, image->names.size);
	end_section(image);
}

/* Besides sections of code. */
#define SECTIONS_MAX (11 + REEL_EMBEDDED_SECTIONS_MAX)

struct reel_error *reel_embedded_image_write(const struct reel_embedded_input *input, size_t limit,
					     struct reel_buffer *ret)
{
	struct image image = { .file = input->file,
			       .elf = reel_elf_file_handle(input->file),
			       .out = ret,
			       .big_endian = reel_elf_file_big_endian(input->file),
			       .word = reel_elf_file_word_bits(input->file) / 8 };
	struct reel_error *error = put_headers(&image);
	size_t sections_at;

	if (error)
		return error;
	image.sections =
		calloc(SECTIONS_MAX + TEXTS_MAX + image.n_segments, sizeof(*image.sections));
	if (!image.sections)
		return reel_error_no_memory();
	put_sections(&image, input, limit);
	align(&image, 8);
	sections_at = ret->size;
	for (size_t i = 0; i < image.n; i++)
		put_section_header(&image, &image.sections[i]);
	if (ret->failed || image.names.failed || image.data.failed || input->code->failed)
		error = reel_error_no_memory();
	else if (ret->size > limit)
		error = reel_error_create(REEL_ERROR_UNSUPPORTED, "required parts exceed %zu bytes",
					  limit);
	else
		store_header(&image, sections_at);
	reel_buffer_free(&image.names);
	reel_address_ranges_free(&image.data);
	free(image.sections);
	return error;
}
