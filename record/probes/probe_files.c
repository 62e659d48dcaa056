/* SPDX-License-Identifier: Apache-2.0 */
#include "record/probes/probe_files.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/quantity.h"
#include "elf/file_search.h"
#include "record/proc/maps_reader.h"
#include "record/proc/process_file.h"

#define DEBUG_FOLDER "/usr/lib/debug"
/* Folders included by files that ld.so.conf includes. */
#define CONFIG_DEPTH_MAX 4

struct search {
	const char *name;
	const char *problem; /* of the last candidate; NULL: none was found */
	uint32_t pid;	     /* during a visit of its mappings */
	struct reel_probe_files *files;
	bool is_full;
};

/* The debug file by build-id, as debug packages install it. */
static int debug_open(const struct reel_build_id *build_id)
{
	char hex[REEL_BUILD_ID_TEXT];
	char *path;
	int fd;

	if (!build_id->size)
		return -1;
	reel_build_id_print(reel_build_id_bytes(build_id), hex);
	path = reel_build_id_path(DEBUG_FOLDER, hex, ".debug");
	if (!path)
		return -1;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	free(path);
	return fd;
}

/* Takes a place (O_PATH): opens regular files only, each once. */
static bool append_place(struct search *search, int place)
{
	struct reel_probe_files *files = search->files;
	struct reel_proc_file file;
	struct stat status;
	int fd = -1;
	bool ok;

	search->problem = "not a regular file, or not readable";
	ok = place >= 0 && !fstat(place, &status) && reel_proc_file(place, &file, &fd);
	if (place >= 0)
		close(place);
	if (!ok)
		return false;
	for (size_t i = 0; i < files->n; i++) {
		if (files->all[i].device == status.st_dev && files->all[i].inode == status.st_ino) {
			close(fd);
			return true;
		}
	}
	if (files->n == REEL_PROBE_FILES_MAX) {
		search->is_full = true;
		close(fd);
		return false;
	}
	files->all[files->n++] = (struct reel_probe_file){
		.fd = fd,
		.to_read = dup(fd),
		.debug = debug_open(&file.build_id),
		.device = status.st_dev,
		.inode = status.st_ino,
	};
	return true;
}

/* ---- the root directory of a process -------------------------------------------- */

/* "/proc/PID/exe" */
static bool is_program_link(const char *path)
{
	unsigned int pid;
	int end = 0;

	return sscanf(path, "/proc/%9u/exe%n", &pid, &end) == 1 && end && !path[end];
}

/* A link in a container leads to a file of the container, not of the host. */
static bool path_open(struct search *search, const char *root, const char *path)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT };
	_cleanup_fd_ int folder = -1;
	int place;

	/* A process's program, even if it was deleted: a link of the kernel, which only our root has. */
	if (!root || is_program_link(path))
		place = open(path, O_PATH | O_CLOEXEC);
	else {
		folder = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
		place = folder < 0 ? -1
				   : (int)syscall(SYS_openat2, folder, path, &how, sizeof(how));
	}
	if (place >= 0)
		return append_place(search, place);
	if (!search->problem)
		search->problem = errno == ENOENT || errno == ENOTDIR ? NULL : strerror(errno);
	return false;
}

/* Whether a file's name is the wanted one: NAME, or NAME.so and NAME.so.VERSION. */
static bool is_wanted(const char *base, const char *wanted)
{
	size_t size = strlen(wanted);

	if (strncmp(base, wanted, size) != 0)
		return false;
	return !base[size] || strcmp(base + size, ".so") == 0 ||
	       (strncmp(base + size, ".so.", 4) == 0 && isdigit((unsigned char)base[size + 4]));
}

static void visit_mapping(void *context, const struct reel_proc_map *map)
{
	struct search *search = context;
	bool exact;

	if (map->path[0] == '/' && is_wanted(reel_base_name(map->path), search->name))
		append_place(search, reel_proc_find_mapped(search->pid, map, &exact));
}

/* The file of that name that the process has mapped. */
static void mapped_open(struct search *search, uint32_t pid)
{
	const struct reel_maps_limits limits = {
		.mappings = 65536,
		.path_bytes = 16 << 20,
		.deadline = reel_now() + 5 * REEL_NS_PER_SECOND,
	};

	search->pid = pid;
	reel_proc_maps(pid, &limits, visit_mapping, search);
}

/* ---- names without a folder ------------------------------------------------------ */

/* The wanted file in a folder.  A text (libc.so, a linker's script) is not one. */
static bool folder_search(struct search *search, const char *root, const char *folder)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/%s", folder, search->name) >= (int)sizeof(path))
		return false;
	if (path_open(search, root, path))
		return true;
	/* The loader's own names first: libc.so.6. */
	if (!root && strcspn(search->name, "*?[\\") == strlen(search->name)) {
		glob_t found;
		bool ok = false;

		snprintf(path, sizeof(path), "%s/%s.so.[0-9]*", folder, search->name);
		if (glob(path, 0, NULL, &found))
			return false;
		for (size_t i = 0; i < found.gl_pathc && !ok; i++)
			ok = path_open(search, root, found.gl_pathv[i]);
		globfree(&found);
		return ok;
	}
	return false;
}

static bool config_search(struct search *search, const char *path, unsigned depth);

static bool config_include(struct search *search, const char *pattern, unsigned depth)
{
	glob_t found;
	bool ok = false;

	if (depth == CONFIG_DEPTH_MAX || glob(pattern, 0, NULL, &found))
		return false;
	for (size_t i = 0; i < found.gl_pathc && !ok; i++)
		ok = config_search(search, found.gl_pathv[i], depth + 1);
	globfree(&found);
	return ok;
}

/* Cuts the first word off, "" at the end or a comment. */
static char *next_word(char **rest)
{
	char *word = *rest + strspn(*rest, " \t");
	size_t size = strcspn(word, " \t\n#");

	*rest = word + size + (word[size] == ' ' || word[size] == '\t');
	word[size] = '\0';
	return word;
}

/* The folders of ldconfig(8). */
static bool config_search(struct search *search, const char *path, unsigned depth)
{
	FILE *file = fopen(path, "re");
	char *line = NULL;
	size_t size = 0;
	bool ok = false;

	while (file && !ok && getline(&line, &size, file) > 0) {
		char *rest = line, *word = next_word(&rest);

		if (*word == '/')
			ok = folder_search(search, NULL, word);
		else if (strcmp(word, "include") == 0)
			ok = config_include(search, next_word(&rest), depth);
	}
	free(line);
	if (file)
		fclose(file);
	return ok;
}

static bool list_search(struct search *search, const char *root, const char *list)
{
	_cleanup_free_ char *copy = strdup(list);
	char *rest, *folder;

	if (!copy)
		return false;
	for (folder = strtok_r(copy, ":", &rest); folder; folder = strtok_r(NULL, ":", &rest)) {
		if (folder_search(search, root, folder))
			return true;
	}
	return false;
}

static bool name_search(struct search *search, const char *root)
{
	const char *path = getenv("PATH"), *libraries = getenv("LD_LIBRARY_PATH");

	return list_search(search, root,
			   path && !root ? path
					 : "/usr/local/bin:/usr/bin:/bin:"
					   "/usr/local/sbin:/usr/sbin:/sbin") ||
	       (!root && libraries && list_search(search, root, libraries)) ||
	       (!root && config_search(search, "/etc/ld.so.conf", 0)) ||
	       list_search(search, root, "/lib64:/usr/lib64:/lib:/usr/lib");
}

/* ---- all ------------------------------------------------------------------------- */

static bool is_name(const char *name)
{
	return !strchr(name, '/');
}

static void process_open(struct search *search, uint32_t pid)
{
	size_t before = search->files->n;
	char root[40];

	snprintf(root, sizeof(root), "/proc/%u/root", pid);
	if (is_name(search->name)) {
		mapped_open(search, pid);
		if (search->files->n == before && !name_search(search, root))
			name_search(search, NULL);
		return;
	}
	path_open(search, root, search->name);
}

struct reel_error *reel_probe_files_open(const char *name, const struct reel_probe_targets *targets,
					 struct reel_probe_files *ret)
{
	struct search search = { .name = name, .files = ret };

	ret->n = 0;
	for (size_t i = 0; i < targets->n_pids; i++)
		process_open(&search, targets->pids[i]);
	if (!targets->n_pids && is_name(name))
		name_search(&search, NULL);
	else if (!targets->n_pids)
		path_open(&search, NULL, name);
	if (search.is_full)
		return reel_error_create(REEL_ERROR_UNSUPPORTED,
					 "%s: more than %d different files of that name", name,
					 REEL_PROBE_FILES_MAX);
	if (ret->n)
		return NULL;
	if (search.problem)
		return reel_error_create(REEL_ERROR_NOT_FOUND, "%s: %s", name, search.problem);
	return reel_error_create(REEL_ERROR_NOT_FOUND, "%s: no such file%s%s", name,
				 is_name(name) ? " in PATH and the loader's folders" : "",
				 targets->n_pids ? ", seen from the recorded processes" : "");
}

/* ---- who has them ---------------------------------------------------------------- */

#define DELETED " (deleted)"

/* A look at one process: whether it maps one of the files, or a deleted one of that name. */
struct look {
	const char *name;
	const struct reel_probe_files *files;
	uint32_t pid;
	bool maps, maps_deleted;
};

/* st_dev may differ from a mapping's device (btrfs, overlayfs): the inode decides, so that a warning
 * is never wrong, even if it may be missing. */
static void look_at_mapping(void *context, const struct reel_proc_map *map)
{
	struct look *look = context;
	size_t size = strlen(map->path), suffix = strlen(DELETED);
	char path[PATH_MAX];

	for (size_t i = 0; i < look->files->n; i++)
		look->maps |= look->files->all[i].inode == map->inode;
	if (size < suffix || size - suffix >= sizeof(path) ||
	    strcmp(map->path + size - suffix, DELETED) != 0)
		return;
	snprintf(path, sizeof(path), "%.*s", (int)(size - suffix), map->path);
	look->maps_deleted |= is_name(look->name) ? is_wanted(reel_base_name(path), look->name)
						  : strcmp(path, look->name) == 0;
}

static bool look_at(struct look *look, uint64_t deadline)
{
	const struct reel_maps_limits limits = {
		.mappings = 65536,
		.path_bytes = 16 << 20,
		.deadline = deadline,
	};

	look->maps = look->maps_deleted = false;
	return reel_proc_maps(look->pid, &limits, look_at_mapping, look) == REEL_ANSWER_WHOLE;
}

/* The same for a process's program alone, which costs less. */
static void look_at_program(struct look *look)
{
	char link[40], path[PATH_MAX];
	ssize_t size;

	snprintf(link, sizeof(link), "/proc/%u/exe", look->pid);
	size = readlink(link, path, sizeof(path) - 1);
	if (size <= 0)
		return;
	path[size] = '\0';
	look_at_mapping(look, &(struct reel_proc_map){ .path = path });
}

static size_t deleted_programs(struct look *look, uint32_t *pid_ret)
{
	DIR *processes = opendir("/proc");
	struct dirent *entry;
	size_t n = 0;

	while (processes && (entry = readdir(processes))) {
		look->pid = (uint32_t)strtoul(entry->d_name, NULL, 10);
		look->maps_deleted = false;
		if (look->pid)
			look_at_program(look);
		if (look->maps_deleted && !n++)
			*pid_ret = look->pid;
	}
	if (processes)
		closedir(processes);
	return n;
}

void reel_probe_files_warn(const char *name, const struct reel_probe_targets *targets,
			   const struct reel_probe_files *files, size_t size, char *ret)
{
	uint64_t deadline = reel_now() + 2 * REEL_NS_PER_SECOND;
	struct look look = { .name = name, .files = files };
	size_t n_deleted = 0, n_maps = 0;
	bool is_whole = true;
	uint32_t pid = 0;

	*ret = '\0';
	for (size_t i = 0; i < targets->n_pids; i++) {
		look.pid = targets->pids[i];
		is_whole &= look_at(&look, deadline);
		n_maps += look.maps;
		if (!look.maps && look.maps_deleted && !n_deleted++)
			pid = look.pid;
	}
	if (targets->system_wide)
		n_deleted = deleted_programs(&look, &pid);
	if (n_deleted)
		snprintf(ret, size,
			 "%zu process%s an older %s, which was deleted or replaced: calls there do "
			 "not count; name it /proc/%u/exe, or restart the program",
			 n_deleted, n_deleted == 1 ? " runs" : "es run", name, pid);
	else if (targets->n_pids && !n_maps && is_whole)
		snprintf(ret, size, "no recorded process has %s mapped", name);
}
