/* SPDX-License-Identifier: Apache-2.0 */
/* The wall clock in the file: how far it may be off, and jumps. */
#include <stdlib.h>
#include <sys/timex.h>

#include "include/commands.h"
#include "base/quantity.h"
#include "format/clock_text.h"
#include "record/recording_internal.h"

/* From this jump on, a part begins anew. */
#define JUMP_PART (100 * (int64_t)REEL_NS_PER_MS)

static struct reel_error *mark(struct recording *recording, enum reel_mark kind, const char *text)
{
	const struct reel_record record = {
		.id = REEL_RECORD_MARK,
		.mark = { reel_now(), kind, reel_bytes_of_string(text) },
	};

	return recording->sink.put(recording->sink.context, &record);
}

struct reel_error *recording_mark_clock(struct recording *recording)
{
	struct timex now = { 0 };
	char text[REEL_CLOCK_TEXT_SIZE];

	if (adjtimex(&now) < 0)
		return NULL;
	reel_clock_text_print(
		&(struct reel_clock_state){
			.is_synchronized = !(now.status & STA_UNSYNC),
			.error = (uint64_t)now.maxerror,
			.offset = now.status & STA_NANO ? now.offset / 1000 : now.offset,
		},
		text);
	return mark(recording, REEL_MARK_CLOCK, text);
}

struct reel_error *recording_watch_clock(struct recording *recording, bool *jumped_ret)
{
	struct reel_wall_clock *last = &recording->wall_clock, now;
	struct reel_wall_clock_jump jump;
	char text[128];

	*jumped_ret = false;
	if (!reel_wall_clock_read(&now))
		return NULL;
	if (!last->ahead)
		*last = now;
	/* Small steps add up until they are one. */
	if (!reel_wall_clock_compare(last, &now, &jump))
		return NULL;
	*last = now;
	if (jump.slept)
		reel_cpu_watch_sleep(recording->cpu_watch);
	reel_wall_clock_jump_print(&jump, text);
	recording_note(recording, text);
	*jumped_ret = jump.slept >= (uint64_t)JUMP_PART || llabs(jump.set) >= JUMP_PART;
	return mark(recording, REEL_MARK_JUMP, text);
}
