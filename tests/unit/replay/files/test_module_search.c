/* SPDX-License-Identifier: Apache-2.0 */
/* Finding a module's files among files with the right names and the wrong contents. */
#include <errno.h>
#include <limits.h>
#include <linux/magic.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <zlib.h>

#include "elf/file_search.h"
#include "replay/files/module_search.h"
#include "tests/support/elf_builder.h"
#include "tests/support/test.h"

#define ID_A  "AAAAAAAAAAaaaaaaaaaa"
#define ID_B  "BBBBBBBBBBbbbbbbbbbb"
#define HEX_A "4141414141414141414161616161616161616161"
#define HEX_B "4242424242424242424262626262626262626262"

static char root[] = "/tmp/reel-module-search-XXXXXX";

/* ROOT/relative, in one of a few buffers used in turn. */
static const char *in_root(const char *relative)
{
	static char paths[8][PATH_MAX];
	static unsigned turn;
	char *path = paths[turn++ % 8];

	snprintf(path, PATH_MAX, "%s/%s", root, relative);
	return path;
}

static void write_file(const char *path, const void *bytes, size_t size)
{
	char dir[PATH_MAX];
	FILE *stream;

	snprintf(dir, sizeof(dir), "%s", path);
	for (char *slash = strchr(dir + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		mkdir(dir, 0755);
		*slash = '/';
	}
	stream = fopen(path, "wb");
	assert_non_null(stream);
	assert_int_equal(fwrite(bytes, 1, size, stream), size);
	assert_int_equal(fclose(stream), 0);
}

struct elf_options {
	const char *build_id; /* NULL: none */
	bool debug;	      /* a debug file: code elsewhere, .debug_info here */
	const char *debuglink;
	uint32_t crc;
	const char *altlink, *altlink_id;
};

static void build_elf(struct elf_builder *builder, const struct elf_options *options)
{
	static const uint8_t code[64];
	uint8_t note[64] = { 0 }, link[128] = { 0 }, alternate[128] = { 0 };
	struct elf_builder scratch = { 0 };

	elf_put_header(builder, ET_DYN, 1);
	elf_put_segment(builder, 0, PT_LOAD, PF_R | PF_X, 0x200, 0x1000, options->debug ? 0 : 64,
			0x1000);
	elf_put(builder, 0x1ff, 0, 1);
	elf_add_section(builder, (struct elf_section_spec){
					 ".text", options->debug ? SHT_NOBITS : SHT_PROGBITS,
					 SHF_ALLOC | SHF_EXECINSTR, 0x1000,
					 options->debug ? NULL : code, sizeof(code), 0, 0 });
	if (options->build_id) {
		elf_put_note(&scratch, 0, options->build_id);
		memcpy(note, scratch.bytes, scratch.size);
		elf_add_section(builder,
				(struct elf_section_spec){ ".note.gnu.build-id", SHT_NOTE, 0, 0,
							   note, scratch.size, 0, 0 });
	}
	if (options->debug)
		elf_add_section(builder, (struct elf_section_spec){ ".debug_info", SHT_PROGBITS, 0,
								    0, code, 4, 0, 0 });
	if (options->debuglink) {
		size_t crc = (strlen(options->debuglink) + 4) & ~(size_t)3;

		strcpy((char *)link, options->debuglink);
		for (int i = 0; i < 4; i++)
			link[crc + i] = (uint8_t)(options->crc >> 8 * i);
		elf_add_section(builder, (struct elf_section_spec){ ".gnu_debuglink", SHT_PROGBITS,
								    0, 0, link, crc + 4, 0, 0 });
	}
	if (options->altlink) {
		size_t size = strlen(options->altlink) + 1;

		strcpy((char *)alternate, options->altlink);
		memcpy(alternate + size, options->altlink_id, strlen(options->altlink_id));
		elf_add_section(builder, (struct elf_section_spec){
						 ".gnu_debugaltlink", SHT_PROGBITS, 0, 0, alternate,
						 size + strlen(options->altlink_id), 0, 0 });
	}
	elf_finish_sections(builder);
}

/* Writes ROOT/relative; returns its CRC. */
static uint32_t write_elf(const char *relative, struct elf_options options)
{
	struct elf_builder builder = { 0 };

	build_elf(&builder, &options);
	write_file(in_root(relative), builder.bytes, builder.size);
	return (uint32_t)crc32(0, builder.bytes, (uInt)builder.size);
}

static struct reel_module_search *create(struct reel_capture_options options)
{
	static const char *const nowhere[] = { NULL };
	struct reel_module_search *search = NULL;

	if (!options.debug_dirs)
		options.debug_dirs = nowhere;
	assert_null(reel_module_search_create(&options, &search));
	return search;
}

static struct reel_module_files look_for(struct reel_module_search *search, const char *path,
					 const char *build_id)
{
	struct reel_record_module module = {
		.kind = REEL_MODULE_FILE,
		.path = reel_bytes_of_string(path),
		.build_id = reel_bytes_of_string(build_id),
	};
	struct reel_module_files files;

	assert_null(reel_module_search_find(search, &module, &files));
	return files;
}

static void expect_found(struct reel_module_search *search, const char *path, const char *build_id,
			 const char *file, const char *debug)
{
	struct reel_module_files files = look_for(search, path, build_id);

	if (files.problem)
		fail_msg("%s", files.problem);
	assert_int_equal(files.state, REEL_MODULE_FOUND);
	assert_string_equal(reel_elf_file_path(files.file), file);
	if (debug) {
		assert_non_null(files.debug);
		assert_string_equal(reel_elf_file_path(files.debug), debug);
	} else {
		assert_null(files.debug);
	}
	reel_module_files_free(&files);
}

static void expect_problem(struct reel_module_search *search, const char *path,
			   const char *build_id, enum reel_module_state module_state,
			   const char *const *parts)
{
	struct reel_module_files files = look_for(search, path, build_id);

	assert_int_equal(files.state, module_state);
	assert_null(files.file);
	assert_null(files.debug);
	assert_non_null(files.problem);
	for (; *parts; parts++) {
		if (!strstr(files.problem, *parts))
			fail_msg("\"%s\" lacks \"%s\"", files.problem, *parts);
	}
	reel_module_files_free(&files);
}

#define PARTS(...) ((const char *const[]){ __VA_ARGS__, NULL })

TEST(test_host_path)
{
	struct reel_module_search *search = create((struct reel_capture_options){ 0 });
	const char *path = in_root("host/liba.so");
	char deleted[PATH_MAX + 16];

	write_elf("host/liba.so", (struct elf_options){ .build_id = ID_A });
	expect_found(search, path, ID_A, path, NULL);
	snprintf(deleted, sizeof(deleted), "%s (deleted)", path);
	expect_found(search, deleted, ID_A, path, NULL);
	expect_problem(search, path, ID_B, REEL_MODULE_MISMATCH,
		       PARTS(path, "has build-id " HEX_A, "with build-id " HEX_B, "--symfs",
			     "--module FILE"));
	expect_problem(search, deleted, ID_B, REEL_MODULE_MISMATCH, PARTS("deleted or replaced"));
	expect_problem(search, in_root("host/none.so"), ID_A, REEL_MODULE_MISSING,
		       PARTS("host/none.so: No such file or directory"));
	expect_problem(search, "", ID_A, REEL_MODULE_MISSING, PARTS("without a path"));
	expect_problem(search, "//anon", "", REEL_MODULE_MISSING, PARTS("//anon"));
	reel_module_search_destroy(search);
	search = create((struct reel_capture_options){ .no_host_files = true });
	expect_problem(search, path, ID_A, REEL_MODULE_MISSING, PARTS("host's files are not used"));
	reel_module_search_destroy(search);
}

TEST(test_without_build_id)
{
	struct reel_module_search *search = create((struct reel_capture_options){ 0 });
	const char *path = in_root("host/plain");
	struct reel_record_module module = { .kind = REEL_MODULE_FILE };
	struct reel_module_files files;
	struct stat status;

	write_elf("host/plain", (struct elf_options){ 0 });
	assert_int_equal(stat(path, &status), 0);
	module.path = reel_bytes_of_string(path);
	module.device_major = major(status.st_dev);
	module.device_minor = minor(status.st_dev);
	module.inode = status.st_ino;
	assert_null(reel_module_search_find(search, &module, &files));
	assert_int_equal(files.state, REEL_MODULE_FOUND);
	reel_module_files_free(&files);
	module.inode++;
	assert_null(reel_module_search_find(search, &module, &files));
	assert_int_equal(files.state, REEL_MODULE_MISMATCH);
	assert_non_null(strstr(files.problem, "is a different file"));
	reel_module_files_free(&files);
	/* By path alone: never. */
	expect_problem(search, path, "", REEL_MODULE_MISMATCH, PARTS("no build-id or inode"));
	/* With a build-id recorded, a file without one does not match. */
	expect_problem(search, path, ID_A, REEL_MODULE_MISMATCH, PARTS("has no build-id"));
	reel_module_search_destroy(search);
}

/* The recorded file's digest must match, wherever the file is; also for a file given by name. */
TEST(test_digest)
{
	const char *symfs[] = { in_root("digest"), NULL };
	struct reel_module_search *search = create((struct reel_capture_options){ .symfs = symfs });
	struct reel_record_module module = { .kind = REEL_MODULE_FILE };
	uint8_t digest[REEL_FILE_DIGEST_SIZE];
	struct reel_module_files files;
	struct reel_elf_file *file;

	write_elf("digest/bin/plain", (struct elf_options){ 0 });
	assert_null(reel_elf_file_open(in_root("digest/bin/plain"), &file));
	assert_true(reel_elf_file_digest(file, digest));
	reel_elf_file_close(file);
	module.path = reel_bytes_of_string("/bin/plain");
	module.file_digest = (struct reel_bytes){ digest, sizeof(digest) };
	assert_null(reel_module_search_find(search, &module, &files));
	assert_int_equal(files.state, REEL_MODULE_FOUND);
	assert_false(files.unchecked);
	reel_module_files_free(&files);
	digest[3] ^= 1;
	assert_null(reel_module_search_find(search, &module, &files));
	assert_int_equal(files.state, REEL_MODULE_MISMATCH);
	assert_non_null(strstr(files.problem, "bin/plain is not the recorded file"));
	reel_module_files_free(&files);
	/* An older capture has no digest: the file is accepted and marked as unchecked. */
	module.file_digest = (struct reel_bytes){ 0 };
	assert_null(reel_module_search_find(search, &module, &files));
	assert_int_equal(files.state, REEL_MODULE_FOUND);
	assert_true(files.unchecked);
	reel_module_files_free(&files);
	reel_module_search_destroy(search);
}

TEST(test_symfs)
{
	const char *symfs[] = { in_root("sys1"), in_root("sys2"), NULL };
	struct reel_module_search *search = create((struct reel_capture_options){ .symfs = symfs });

	write_elf("sys1/usr/lib/libx.so", (struct elf_options){ .build_id = ID_B });
	write_elf("sys2/usr/lib/libx.so", (struct elf_options){ .build_id = ID_A });
	write_elf("sys2/usr/lib/liby.so", (struct elf_options){ 0 });
	expect_found(search, "/usr/lib/libx.so", ID_A, in_root("sys2/usr/lib/libx.so"), NULL);
	expect_found(search, "/usr/lib/liby.so", "", in_root("sys2/usr/lib/liby.so"), NULL);
	expect_problem(search, "/usr/lib/liby.so", ID_A, REEL_MODULE_MISMATCH,
		       PARTS("sys1/usr/lib/liby.so: No such file",
			     "sys2/usr/lib/liby.so has no build-id"));
	/* Paths cannot leave it. */
	write_elf("outside", (struct elf_options){ 0 });
	expect_problem(search, "/../outside", "", REEL_MODULE_MISSING, PARTS("not a file path"));
	expect_problem(search, "/usr/../../outside", "", REEL_MODULE_MISSING,
		       PARTS("not a file path"));
	reel_module_search_destroy(search);
}

TEST(test_module_files)
{
	const char *files[] = { in_root("named/one"), in_root("named/two"), NULL };
	const char *missing[] = { in_root("named/none"), NULL };
	struct reel_module_search *search;
	struct reel_error *error;

	write_elf("named/one", (struct elf_options){ .build_id = ID_A });
	write_elf("named/two", (struct elf_options){ 0 });
	search = create((struct reel_capture_options){ .module_files = files });
	expect_found(search, "/opt/whatever", ID_A, files[0], NULL);
	expect_found(search, "", ID_A, files[0], NULL);
	expect_found(search, "/opt/two", "", files[1], NULL);
	expect_problem(search, "/opt/one", ID_B, REEL_MODULE_MISMATCH,
		       PARTS("named/one has build-id " HEX_A));
	reel_module_search_destroy(search);
	error = reel_module_search_create(&(struct reel_capture_options){ .module_files = missing },
					  &search);
	assert_non_null(error);
	assert_non_null(strstr(reel_error_message(error), "named/none"));
	reel_error_destroy(error);
}

TEST(test_broken)
{
	static const char text[] = "INPUT(libc.so.6) -- a linker script, not an ELF file.";
	struct reel_module_search *search = create((struct reel_capture_options){ 0 });
	struct elf_builder builder = { 0 };
	const char *path = in_root("broken/libc.so");

	write_file(path, text, sizeof(text));
	expect_problem(search, path, ID_A, REEL_MODULE_BROKEN, PARTS("not an ELF file"));
	build_elf(&builder, &(struct elf_options){ .build_id = ID_A });
	write_file(path, builder.bytes, builder.size - 100);
	expect_problem(search, path, ID_A, REEL_MODULE_BROKEN, PARTS("copy it again"));
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	expect_problem(search, path, ID_A, REEL_MODULE_BROKEN, PARTS("not a regular file"));
	unlink(path);
	reel_module_search_destroy(search);
}

TEST(test_debug_by_build_id)
{
	const char *dirs[] = { in_root("none"), in_root("dbg"), NULL };
	struct reel_module_search *search =
		create((struct reel_capture_options){ .debug_dirs = dirs });
	const char *path = in_root("host/libd.so");
	const char *debug = in_root("dbg/.build-id/41/"
				    "41414141414141414161616161616161616161.debug");

	write_elf("host/libd.so", (struct elf_options){ .build_id = ID_A });
	expect_found(search, path, ID_A, path, NULL);
	/* A file with another build-id does not match. */
	write_file(debug, "", 0);
	expect_found(search, path, ID_A, path, NULL);
	write_elf(debug + strlen(root) + 1,
		  (struct elf_options){ .build_id = ID_B, .debug = true });
	expect_found(search, path, ID_A, path, NULL);
	write_elf(debug + strlen(root) + 1,
		  (struct elf_options){ .build_id = ID_A, .debug = true });
	expect_found(search, path, ID_A, path, debug);
	/* It never replaces the file itself. */
	write_elf("host/libe.so", (struct elf_options){ .build_id = ID_A, .debug = true });
	expect_problem(search, in_root("host/libe.so"), ID_A, REEL_MODULE_MISSING,
		       PARTS("is a debug file"));
	/* The file by its build-id, whatever its path was. */
	write_elf("dbg/.build-id/41/41414141414141414161616161616161616161",
		  (struct elf_options){ .build_id = ID_A });
	expect_found(search, "/gone", ID_A,
		     in_root("dbg/.build-id/41/41414141414141414161616161616161616161"), debug);
	reel_module_search_destroy(search);
}

/* The debug directory of the recorded host, under symfs. */
TEST(test_debug_in_symfs)
{
	const char *symfs[] = { in_root("sys3"), NULL }, *dirs[] = { "/usr/lib/debug", NULL };
	struct reel_module_search *search =
		create((struct reel_capture_options){ .symfs = symfs, .debug_dirs = dirs });
	const char *debug = "sys3/usr/lib/debug/.build-id/42/"
			    "42424242424242424262626262626262626262.debug";

	write_elf("sys3/bin/tool", (struct elf_options){ .build_id = ID_B });
	write_elf(debug, (struct elf_options){ .build_id = ID_B, .debug = true });
	expect_found(search, "/bin/tool", ID_B, in_root("sys3/bin/tool"), in_root(debug));
	reel_module_search_destroy(search);
}

TEST(test_debuglink)
{
	static const char *const places[] = { "link/bin/tool.debug", "link/bin/.debug/tool.debug",
					      "linkdbg/bin/tool.debug" };
	const char *symfs[] = { in_root("link"), NULL }, *dirs[] = { in_root("linkdbg"), NULL };
	struct reel_module_search *search =
		create((struct reel_capture_options){ .symfs = symfs, .debug_dirs = dirs });

	for (size_t i = 0; i < 3; i++) {
		const char *path = in_root("link/bin/tool"), *debug = in_root(places[i]);
		uint32_t crc;

		/* Without build-ids the CRC decides. */
		crc = write_elf(places[i], (struct elf_options){ .debug = true });
		write_elf("link/bin/tool",
			  (struct elf_options){ .debuglink = "tool.debug", .crc = crc });
		expect_found(search, "/bin/tool", "", path, debug);
		write_elf("link/bin/tool",
			  (struct elf_options){ .debuglink = "tool.debug", .crc = crc + 1 });
		expect_found(search, "/bin/tool", "", path, NULL);
		/* With build-ids, these decide. */
		write_elf("link/bin/tool",
			  (struct elf_options){ .build_id = ID_A, .debuglink = "tool.debug" });
		expect_found(search, "/bin/tool", ID_A, path, NULL);
		write_elf(places[i], (struct elf_options){ .build_id = ID_A, .debug = true });
		expect_found(search, "/bin/tool", ID_A, path, debug);
		unlink(debug);
	}
	write_elf("link/bin/tool", (struct elf_options){ .debuglink = "../../etc/passwd" });
	expect_found(search, "/bin/tool", "", in_root("link/bin/tool"), NULL);
	reel_module_search_destroy(search);
}

TEST(test_alternate)
{
	const char *dirs[] = { in_root("altdbg"), NULL };
	struct reel_module_search *search =
		create((struct reel_capture_options){ .debug_dirs = dirs });
	const char *debug = "altdbg/.build-id/41/41414141414141414161616161616161616161.debug";
	const char *path = in_root("host/libz.so");

	write_elf("host/libz.so", (struct elf_options){ .build_id = ID_A });
	write_elf(debug, (struct elf_options){ .build_id = ID_A,
					       .debug = true,
					       .altlink = "../../.dwz/cpu/pack.debug",
					       .altlink_id = ID_B });
	for (int attempt = 0; attempt < 3; attempt++) {
		struct reel_module_files files = look_for(search, path, ID_A);

		assert_non_null(files.debug);
		assert_int_equal(reel_elf_file_alternate(files.debug) != NULL, attempt == 2);
		reel_module_files_free(&files);
		/* First none, then a wrong one, then the right one. */
		write_elf("altdbg/.dwz/cpu/pack.debug",
			  (struct elf_options){ .build_id = attempt ? ID_B : ID_A, .debug = true });
	}
	reel_module_search_destroy(search);
}

/* A file that the debuginfod client fetched earlier; `cache` is searched last. */
TEST(test_fetched)
{
	static const char id_a[] = "4141414141414141414161616161616161616161",
			  id_b[] = "4242424242424242424262626262626262626262";
	char executable[128], debug[128], shared[128];
	struct reel_module_search *search =
		create((struct reel_capture_options){ .debuginfod_cache = in_root("fetched") });
	struct reel_module_files files;

	snprintf(executable, sizeof(executable), "fetched/%s/executable", id_a);
	snprintf(debug, sizeof(debug), "fetched/%s/debuginfo", id_a);
	snprintf(shared, sizeof(shared), "fetched/%s/debuginfo", id_b);
	expect_problem(search, "/gone", ID_A, REEL_MODULE_MISSING, PARTS("/gone"));
	/* An empty file means that no server had it. */
	write_file(in_root(executable), "", 0);
	expect_problem(search, "/gone", ID_A, REEL_MODULE_MISSING, PARTS("/gone"));
	write_elf(executable, (struct elf_options){ .build_id = ID_B });
	expect_problem(search, "/gone", ID_A, REEL_MODULE_MISMATCH, PARTS("has build-id"));
	write_elf(executable, (struct elf_options){ .build_id = ID_A });
	expect_found(search, "/gone", ID_A, in_root(executable), NULL);
	write_elf(debug, (struct elf_options){ .build_id = ID_B, .debug = true });
	expect_found(search, "/gone", ID_A, in_root(executable), NULL);
	write_elf(debug, (struct elf_options){ .build_id = ID_A,
					       .debug = true,
					       .altlink = "/none/pack.debug",
					       .altlink_id = ID_B });
	expect_found(search, "/gone", ID_A, in_root(executable), in_root(debug));
	write_elf(shared, (struct elf_options){ .build_id = ID_B, .debug = true });
	files = look_for(search, "/gone", ID_A);
	assert_non_null(reel_elf_file_alternate(files.debug));
	reel_module_files_free(&files);
	/* Files of this host come first. */
	write_elf("host/libfetched.so", (struct elf_options){ .build_id = ID_A });
	expect_found(search, in_root("host/libfetched.so"), ID_A, in_root("host/libfetched.so"),
		     in_root(debug));
	reel_module_search_destroy(search);
}

TEST(test_identity)
{
	REEL_SIZED(reel_file_identity, identity);

	write_elf("identity", (struct elf_options){ .build_id = ID_A,
						    .debug = true,
						    .altlink = "pack.debug",
						    .altlink_id = ID_B });
	assert_null(reel_file_identify(in_root("identity"), &identity));
	assert_string_equal(identity.build_id, "4141414141414141414161616161616161616161");
	assert_string_equal(identity.alternate, "4242424242424242424262626262626262626262");
	write_elf("identity", (struct elf_options){ 0 });
	assert_null(reel_file_identify(in_root("identity"), &identity));
	assert_string_equal(identity.build_id, "");
	assert_string_equal(identity.alternate, "");
	write_file(in_root("identity"), "no ELF", 6);
	assert_error(reel_file_identify(in_root("identity"), &identity), REEL_ERROR_NOT_A_CAPTURE);
}

/* ---- names in a capture or a file that do not lead to regular files ------------------------- */

/* A device that everybody may open; opening it creates a terminal. */
#define DEVICE "/dev/ptmx"

static int watch(const char *const *paths)
{
	int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);

	assert_true(fd >= 0);
	for (; *paths; paths++)
		assert_true(inotify_add_watch(fd, *paths, IN_OPEN) >= 0);
	return fd;
}

static void expect_unopened(int watched)
{
	struct inotify_event event;

	assert_int_equal(read(watched, &event, sizeof(event)), -1);
	assert_int_equal(errno, EAGAIN);
}

/* The recorded path, in symfs and on the host, and a folder of build-ids. */
static void expect_nothing_there(const char *of_module)
{
	const char *symfs[] = { in_root("nofile/sys"), NULL };
	const char *dirs[] = { in_root("nofile/dbg"), NULL };
	struct reel_module_search *search =
		create((struct reel_capture_options){ .symfs = symfs, .debug_dirs = dirs });

	expect_problem(search, of_module, ID_A, REEL_MODULE_BROKEN, PARTS("not a regular file"));
	expect_problem(search, "/sub/module", ID_A, REEL_MODULE_BROKEN,
		       PARTS("not a regular file"));
	expect_problem(search, "/none", ID_B, REEL_MODULE_BROKEN, PARTS("not a regular file"));
	reel_module_search_destroy(search);
}

TEST(test_nothing_but_files_is_opened)
{
	/* Copies: in_root's buffers are reused. */
	char *root_dir = strdup(in_root("nofile")), *fifo = strdup(in_root("nofile/fifo"));
	char *link = strdup(in_root("nofile/sys/sub/module"));
	char *by_id =
		strdup(in_root("nofile/dbg/.build-id/42/42424242424242424262626262626262626262"));
	const char *symfs[] = { root_dir, NULL }, *watched[] = { fifo, DEVICE, NULL };
	struct reel_module_search *search;
	int fd;

	if (access(DEVICE, R_OK | W_OK))
		watched[1] = NULL;
	write_elf("nofile/sys/sub/file", (struct elf_options){ .build_id = ID_B });
	write_elf("nofile/dbg/.build-id/42/file", (struct elf_options){ .build_id = ID_B });
	assert_int_equal(mkfifo(fifo, 0600), 0);
	fd = watch(watched);
	for (size_t i = 0; watched[i]; i++) {
		assert_int_equal(symlink(watched[i], link), 0);
		assert_int_equal(symlink(watched[i], by_id), 0);
		expect_nothing_there(watched[i]);
		unlink(link);
		unlink(by_id);
	}
	/* Names in a file: a debug file by name, and dwz's. */
	write_elf("nofile/bin/tool", (struct elf_options){ .debuglink = "tool.debug",
							   .altlink = fifo,
							   .altlink_id = ID_B });
	assert_int_equal(symlink(fifo, in_root("nofile/bin/tool.debug")), 0);
	search = create((struct reel_capture_options){ .symfs = symfs });
	expect_found(search, "/bin/tool", "", in_root("nofile/bin/tool"), NULL);
	expect_unopened(fd);
	reel_module_search_destroy(search);
	close(fd);
	free(root_dir);
	free(fifo);
	free(link);
	free(by_id);
}

/* They claim to be regular files; reading the kernel's log removes it for other readers.  qemu-user
 * fakes some of /proc. */
static void expect_kernels_own(struct reel_module_search *search, const char *path, uint32_t type)
{
	char text[200];

	snprintf(text, sizeof(text),
		 "%s: unsupported file system type 0x%08x; copy the file to a disk", path,
		 (unsigned int)type);
	if (!access(path, R_OK))
		expect_problem(search, path, ID_A, REEL_MODULE_BROKEN, PARTS(text));
}

TEST(test_kernels_own_files)
{
	struct reel_module_search *search = create((struct reel_capture_options){ 0 });

	expect_kernels_own(search, "/proc/version", PROC_SUPER_MAGIC);
	expect_kernels_own(search, "/sys/kernel/vmcoreinfo", SYSFS_MAGIC);
	expect_kernels_own(search, "/sys/fs/cgroup/cgroup.procs", CGROUP2_SUPER_MAGIC);
	expect_kernels_own(search, "/sys/fs/cgroup/cpu/cgroup.procs", CGROUP_SUPER_MAGIC);
	reel_module_search_destroy(search);
}

static int remove_root(void **state)
{
	char command[PATH_MAX];

	snprintf(command, sizeof(command), "rm -rf '%s'", root);
	return system(command) == 0 ? 0 : -1;
}

static int make_root(void **state)
{
	return mkdtemp(root) ? 0 : -1;
}

static void expect_split_files(const struct reel_capture_options *options, const char *directory,
			       const char *name, const char *expected)
{
	struct reel_module_search *search;
	struct reel_strings paths = { 0 };
	char text[1024] = "";

	assert_null(reel_module_search_create(options, &search));
	assert_null(
		reel_module_search_split_files(search, "/found/bin/prog", directory, name, &paths));
	for (size_t i = 0; i < paths.n; i++) {
		strcat(text, paths.all[i]);
		strcat(text, " ");
	}
	assert_string_equal(text, expected);
	reel_strings_free(&paths);
	reel_module_search_destroy(search);
}

/* Where .dwo files are searched; names with .. never lead out of a given folder. */
TEST(test_split_files)
{
	const char *symfs[] = { "/copy", NULL }, *dirs[] = { "/debug", NULL };
	struct reel_capture_options options = { .symfs = symfs, .debug_dirs = dirs };

	expect_split_files(&options, "/src/build", "a/b.dwo",
			   "/copy/src/build/a/b.dwo /debug/src/build/a/b.dwo "
			   "/copy/debug/src/build/a/b.dwo /src/build/a/b.dwo /found/bin/b.dwo ");
	expect_split_files(&options, "/src", "/obj/b.dwo",
			   "/copy/obj/b.dwo /debug/obj/b.dwo /copy/debug/obj/b.dwo /obj/b.dwo "
			   "/found/bin/b.dwo ");
	expect_split_files(&options, "/found", "bin/b.dwo",
			   "/copy/found/bin/b.dwo /debug/found/bin/b.dwo "
			   "/copy/debug/found/bin/b.dwo /found/bin/b.dwo ");
	options.no_host_files = true;
	expect_split_files(&options, "/src", "../b.dwo", "");
	expect_split_files(&options, "", "b.dwo", "");
	expect_split_files(&options, "/src", "b.dwo",
			   "/copy/src/b.dwo /debug/src/b.dwo /copy/debug/src/b.dwo "
			   "/found/bin/b.dwo ");
}

RUN_TESTS_WITH(make_root, remove_root)
