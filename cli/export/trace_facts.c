/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/export/trace_facts.h"
#include "cli/print/text.h"

const char *step_name(enum reel_step step)
{
	static const char *const names[] = {
		[REEL_STEP_SAMPLE] = "sample",
		[REEL_STEP_CFI] = "unwind information",
		[REEL_STEP_SIGNAL] = "signal frame",
		[REEL_STEP_FRAME_POINTER] = "frame pointer",
		[REEL_STEP_UNDO_CALL] = "undone call",
		[REEL_STEP_KERNEL] = "kernel",
		[REEL_STEP_LINK_REGISTER] = "link register",
		[REEL_STEP_RECORDED] = "recorder's frame pointers",
		[REEL_STEP_SYNTHESIZED] = "code",
		[REEL_STEP_RECORDED_CALL] = "CPU's record of calls",
		[REEL_STEP_GAP] = "gap",
		[REEL_STEP_BEYOND_GAP] = "beyond gap",
		[REEL_STEP_OTHER_STACK] = "other stack",
		[REEL_STEP_RUNTIME] = "interpreter",
	};

	return (unsigned int)step < sizeof(names) / sizeof(*names) ? names[step] : "unknown";
}

bool step_is_guess(enum reel_step step)
{
	return step == REEL_STEP_FRAME_POINTER || step == REEL_STEP_LINK_REGISTER ||
	       step == REEL_STEP_RECORDED || step == REEL_STEP_RECORDED_CALL ||
	       step == REEL_STEP_BEYOND_GAP;
}

const char *where_name(enum reel_where where)
{
	switch (where) {
	case REEL_WHERE_USER:
		return "user";
	case REEL_WHERE_SYSCALL:
		return "syscall";
	case REEL_WHERE_INTERRUPT:
		return "interrupt";
	case REEL_WHERE_KERNEL_THREAD:
		return "kernel thread";
	case REEL_WHERE_UNKNOWN:
		break;
	}
	return "unknown";
}

const char *module_kind_name(enum reel_module_kind kind)
{
	static const char *const kinds[] = {
		[REEL_MODULE_FILE] = "file",
		[REEL_MODULE_VDSO] = "vdso",
		[REEL_MODULE_KERNEL] = "kernel",
		[REEL_MODULE_KERNEL_MODULE] = "kernel module",
		[REEL_MODULE_ANONYMOUS] = "anonymous",
		[REEL_MODULE_SPECIAL] = "special",
	};

	return (unsigned int)kind < sizeof(kinds) / sizeof(*kinds) ? kinds[kind] : NULL;
}

const char *module_state_name(const struct reel_module_info *module)
{
	static const char *const states[] = { "unused", "found", "missing", "mismatch", "broken" };

	return module->embedded ? "embedded" : states[module->state];
}

char *labels_text(const struct reel_trace *trace)
{
	char *text = memory_print("%s", "");

	for (size_t i = 0; i < trace->n_labels; i++) {
		_cleanup_free_ char *before = text;
		_cleanup_free_ char *value = text_escape(trace->labels[i].text, " ");

		text = memory_print("%s%s%s=%s", before, i ? " " : "", trace->labels[i].key, value);
	}
	return text;
}

bool wall_time_of(const struct reel_capture_info *info, uint64_t time, uint64_t *ret)
{
	*ret = info->start_wall_time + (time - info->start_time);
	return info->start_wall_time;
}
