/* SPDX-License-Identifier: Apache-2.0 */
/* Mappings, processes and losses. */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>

#include "replay/import/importer.h"
#include "base/elf_identity.h"
#include "format/perf/kallsyms.h"
#include "format/timeline/module_set.h"
#include "format/perf/perf_records.h"

#define PROTECTION_READ_EXECUTE 5
#define MAP_PRIVATE_FLAG	2
#define VDSO_SIZE_MAX		(1u << 20)

/* ---- the vDSO ---------------------------------------------------------------------------- */

static struct reel_error *write_image(struct importer *importer, uint64_t module,
				      const uint8_t *image, size_t size)
{
	struct reel_record record = { .id = REEL_RECORD_IMAGE };

	record.image = (struct reel_record_image){
		.module = module,
		.total_size = size,
		.bytes = { image, size },
	};
	return reel_writer_record(importer->writer, &record);
}

static bool has_build_id(const uint8_t *image, size_t size, struct reel_bytes build_id)
{
	struct reel_build_id found;

	return reel_build_id_of_image(image, size, &found) && found.size == build_id.size &&
	       !memcmp(found.bytes, build_id.data, found.size);
}

/* This process's own vDSO, if it is the recorded one: the kernel is the same. */
static const uint8_t *own_vdso(const struct importer *importer, struct reel_bytes build_id,
			       size_t *size_ret)
{
	const uint8_t *image = (const uint8_t *)getauxval(AT_SYSINFO_EHDR);

	*size_ret = image ? reel_elf_image_size(image, sizeof(Elf64_Ehdr), VDSO_SIZE_MAX) : 0;
	if (!*size_ret)
		return NULL;
	if (!build_id.size)
		return importer->kernel.is_here ? image : NULL;
	return has_build_id(image, *size_ret, build_id) ? image : NULL;
}

/* The bytes of a whole file, freed by the caller; NULL if unreadable, or too large for a vDSO. */
static uint8_t *read_small_file(const char *path, size_t *size_ret)
{
	FILE *file = path ? fopen(path, "re") : NULL;
	uint8_t *bytes = file ? malloc(VDSO_SIZE_MAX) : NULL;

	*size_ret = bytes ? fread(bytes, 1, VDSO_SIZE_MAX, file) : 0;
	if (file)
		fclose(file);
	return bytes;
}

/* perf.data does not contain its image; perf record leaves one in its cache. */
static struct reel_error *find_vdso(struct importer *importer, uint64_t module,
				    struct reel_bytes build_id)
{
	_cleanup_free_ char *path = NULL;
	_cleanup_free_ uint8_t *cached = NULL;
	const uint8_t *own;
	size_t size;

	own = own_vdso(importer, build_id, &size);
	if (own)
		return write_image(importer, module, own, size);
	path = reel_perf_cache_path("[vdso]", build_id, "vdso");
	cached = read_small_file(path, &size);
	if (!cached || !has_build_id(cached, size, build_id))
		return NULL;
	return write_image(importer, module, cached, size);
}

static struct reel_error *add_vdso(struct importer *importer, struct reel_record_module module,
				   uint64_t *id_ret)
{
	uint64_t last = importer->report.counts.modules;

	if (!module.build_id.size)
		module.build_id = reel_import_modules_build_id(importer->modules, module.path);
	TRY(reel_import_modules_add(importer->modules, module, id_ret));
	return *id_ret > last ? find_vdso(importer, *id_ret, module.build_id) : NULL;
}

/* ---- mappings ---------------------------------------------------------------------------- */

struct mapping {
	struct reel_task task;
	uint64_t address, size, offset, protection, flags;
	struct reel_record_module module;
};

static bool is_vdso(const struct mapping *mapping)
{
	return mapping->module.kind == REEL_MODULE_VDSO;
}

static struct reel_error *write_mapping(struct importer *importer, const struct mapping *mapping)
{
	struct reel_record record = { .id = REEL_RECORD_MAP };

	record.map = (struct reel_record_map){
		.time = mapping->task.time,
		.address = mapping->address,
		.size = mapping->size,
		.offset = mapping->offset,
		.protection = mapping->protection,
		.flags = mapping->flags,
	};
	if (is_vdso(mapping)) {
		/* There is no file for the offset; the image begins at 0. */
		record.map.offset = 0;
		TRY(add_vdso(importer, mapping->module, &record.map.module));
	} else {
		TRY(reel_import_modules_add(importer->modules, mapping->module,
					    &record.map.module));
	}
	if (record.map.module > importer->report.counts.modules)
		importer->report.counts.modules = record.map.module;
	TRY(reel_processes_space(importer->processes, &mapping->task, &record.map.space));
	TRY(reel_processes_write(importer->processes, &record));
	TRY(reel_jit_processes_add(&importer->jit_processes, mapping->task.pid, &record.map,
				   mapping->module.path));
	return is_vdso(mapping) ? reel_processes_set_vdso(importer->processes, &mapping->task,
							  mapping->address)
				: NULL;
}

#define SHA1_SIZE 20

/*
 * If somebody else recorded build-ids at the same time, Linux marks our records as well
 * (perf_event_mmap_output in kernel/events/core.c does not clear the bit).  Such records contain
 * the device, whose major number would be read as the size.  `perf inject` adds build-ids even if
 * none were requested.
 */
static uint32_t build_id_min(const struct importer *importer, const struct perf_record *record)
{
	if (!(record->misc & PERF_MISC_MMAP_BUILD_ID))
		return PERF_NO_BUILD_ID;
	for (size_t i = 0; i < importer->events.n_events; i++) {
		if (importer->events.events[i].flags >> PERF_ATTR_BUILD_ID & 1)
			return 0;
	}
	return SHA1_SIZE;
}

/* PERF_RECORD_MMAP and MMAP2, of user code; from the kernel's only the build-id is used. */
static struct reel_error *translate_mapping(struct importer *importer,
					    const struct perf_record *record, uint64_t time)
{
	const struct perf_cursor payload = reel_perf_record_payload(&importer->stream, record);
	struct perf_mmap mmap;
	struct mapping mapping;

	if (record->type == PERF_RECORD_MMAP2
		    ? !reel_perf_mmap2_read(payload, build_id_min(importer, record), &mmap)
		    : !reel_perf_mmap_read(payload, &mmap))
		return reel_importer_bad_record(importer, record, "unterminated name");
	if (record->type == PERF_RECORD_MMAP) {
		mmap.protection = record->misc & PERF_MISC_MMAP_DATA ? 1 : PROTECTION_READ_EXECUTE;
		mmap.flags = MAP_PRIVATE_FLAG;
	}
	/* Mappings of the kernel, or of virtual machines, which have their own pids. */
	if ((record->misc & PERF_MISC_CPUMODE) != PERF_MISC_USER)
		return NULL;
	if (!mmap.size || mmap.address > UINT64_MAX - (mmap.size - 1))
		return reel_importer_bad_record(importer, record, "an empty mapping");
	if (mmap.pid == UINT32_MAX)
		return NULL;
	mapping = (struct mapping){
		.task = { time, mmap.pid, mmap.tid },
		.address = mmap.address,
		.size = mmap.size,
		.offset = mmap.offset,
		.protection = mmap.protection,
		.flags = mmap.flags,
		.module = { .kind = reel_module_kind_of_name((const char *)mmap.path.data),
			    .build_id = mmap.build_id,
			    .device_major = mmap.device_major,
			    .device_minor = mmap.device_minor,
			    .inode = mmap.inode,
			    .inode_generation = mmap.inode_generation,
			    .path = mmap.path },
	};
	return write_mapping(importer, &mapping);
}

/* ---- processes --------------------------------------------------------------------------- */

static struct reel_error *translate_comm(struct importer *importer,
					 const struct perf_record *record, uint64_t time)
{
	struct perf_comm comm;
	struct reel_task task;

	if (!reel_perf_comm_read(reel_perf_record_payload(&importer->stream, record), &comm))
		return reel_importer_bad_record(importer, record, "unterminated name");
	task = (struct reel_task){ time, comm.pid, comm.tid };
	if (record->misc & PERF_MISC_COMM_EXEC)
		return reel_processes_exec(importer->processes, &task, comm.comm);
	return reel_processes_comm(importer->processes, &task, comm.comm);
}

static struct reel_error *translate_task(struct importer *importer,
					 const struct perf_record *record, uint64_t time)
{
	struct perf_task told;
	struct reel_task task;

	if (!reel_perf_task_read(reel_perf_record_payload(&importer->stream, record), &told))
		return reel_importer_bad_record(importer, record, "record is too short");
	task = (struct reel_task){ time, told.pid, told.tid };
	if (record->type == PERF_RECORD_EXIT)
		return reel_processes_exit(importer->processes, &task);
	/* A record made up by perf for an existing process has no time of its own. */
	return reel_processes_fork(importer->processes, &task, told.parent_pid, told.parent_tid,
				   !told.time || record->misc & PERF_MISC_FORK_EXEC);
}

/* ---- losses and kernel symbols ------------------------------------------------------------ */

/*
 * If the event asks for it, the kernel counts losses from a full buffer twice (PERF_FORMAT_LOST,
 * kernel/events/ring_buffer.c): for LOST, whenever there is room again, and for the event, which
 * perf reads at its end and writes as LOST_SAMPLES.  Only losses that LOST has not yet reported are
 * new in LOST_SAMPLES.
 */
static uint64_t untold(struct importer *importer, const struct perf_event *event, uint64_t count)
{
	uint64_t told;

	if (!event || !(event->read_format & PERF_READ_LOST))
		return count;
	told = count < importer->told_losses ? count : importer->told_losses;
	importer->told_losses -= told;
	return count - told;
}

static struct reel_error *translate_loss(struct importer *importer,
					 const struct perf_record *record, uint64_t time)
{
	struct perf_cursor cursor = reel_perf_record_payload(&importer->stream, record);
	const struct perf_event *event = reel_perf_events_of_record(&importer->events, cursor);
	struct perf_sample_id id = { .cpu = UINT32_MAX };
	struct reel_record loss = { .id = REEL_RECORD_LOSS };

	if (event)
		reel_perf_sample_id_decode(event, cursor, &id);
	loss.loss = (struct reel_record_loss){ time, id.cpu, REEL_LOSS_RING_FULL, 0 };
	if (record->type == PERF_RECORD_LOST)
		(void)perf_cursor_u64(&cursor); /* the event's id */
	if (record->type == PERF_RECORD_THROTTLE) {
		loss.loss.cause = REEL_LOSS_THROTTLED;
		loss.loss.count = 1;
	} else {
		loss.loss.count = perf_cursor_u64(&cursor);
		if (record->type == PERF_RECORD_LOST_SAMPLES)
			loss.loss.count = record->misc & PERF_MISC_LOST_SAMPLES_BPF
						  ? 0
						  : untold(importer, event, loss.loss.count);
		importer->report.counts.lost += loss.loss.count;
	}
	if (cursor.bytes.failed)
		return reel_importer_bad_record(importer, record, "record is too short");
	return loss.loss.count ? reel_writer_record(importer->writer, &loss) : NULL;
}

static bool is_image(struct reel_bytes name)
{
	char text[32];

	snprintf(text, sizeof(text), "%.*s", (int)(name.size < 31 ? name.size : 31), name.data);
	return reel_kallsyms_is_image(text);
}

/* PERF_RECORD_KSYMBOL: a BPF program or a trampoline, which may be missing in lists of symbols. */
static struct reel_error *translate_kernel_symbol(struct importer *importer,
						  const struct perf_record *record, uint64_t time)
{
	struct reel_record symbol_record = { .id = REEL_RECORD_KERNEL_SYMBOL };
	struct reel_record_kernel_symbol *put = &symbol_record.kernel_symbol;
	struct reel_record_module module = {
		.kind = REEL_MODULE_KERNEL_MODULE,
		.path = reel_bytes_of_string("[bpf]"),
	};
	struct perf_ksymbol symbol;

	if (!reel_perf_ksymbol_read(reel_perf_record_payload(&importer->stream, record), &symbol))
		return reel_importer_bad_record(importer, record, "unterminated name");
	if (!symbol.size)
		return NULL;
	*put = (struct reel_record_kernel_symbol){
		.since = time,
		.address = symbol.address,
		.size = is_image(symbol.name) ? 0 : symbol.size,
		.name = { symbol.name.data, symbol.is_gone ? 0 : symbol.name.size },
	};
	TRY(reel_import_modules_add(importer->modules, module, &put->module));
	return reel_writer_record(importer->writer, &symbol_record);
}

struct reel_error *reel_importer_record(struct importer *importer, const struct perf_record *record,
					uint64_t time)
{
	switch (record->type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		return translate_mapping(importer, record, time);
	case PERF_RECORD_COMM:
		return translate_comm(importer, record, time);
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		return translate_task(importer, record, time);
	case PERF_RECORD_LOST:
	case PERF_RECORD_LOST_SAMPLES:
	case PERF_RECORD_THROTTLE:
		return translate_loss(importer, record, time);
	case PERF_RECORD_KSYMBOL:
		return translate_kernel_symbol(importer, record, time);
	}
	return NULL;
}
