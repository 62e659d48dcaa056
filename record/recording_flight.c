/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The flight recorder: the last time is in memory, and a request makes a file of it, and of what
 * follows for some time.  Files may overlap, so that each has all that came before its request.
 */
#include "include/commands.h"
#include "base/quantity.h"
#include "record/recording_internal.h"

struct reel_error *recording_flight_dump(struct recording *recording, uint64_t time,
					 const char *text)
{
	struct recording_flight *flight = &recording->flight;
	struct reel_error *error;

	TRY(recording_mark_trigger(recording, time, text));
	if (flight->end) {
		recording_note_trigger_file(recording);
		return NULL;
	}
	error = reel_output_begin_dump(recording->output);
	if (error) {
		/* A full disk, for example: the next request may find room. */
		recording_say(recording, "%s: %s", text, reel_error_message(error));
		reel_error_destroy(error);
		return NULL;
	}
	flight->end = reel_now() + recording->options->after;
	recording_note_trigger_file(recording);
	if (!recording->options->quiet)
		recording_say(recording, "%s: writing %s", text,
			      reel_output_path(recording->output));
	return NULL;
}

static struct reel_error *pull(struct recording *recording, const struct reel_trigger *trigger,
			       uint64_t time)
{
	struct recording_flight *flight = &recording->flight;

	if (flight->end || reel_triggers_allow(recording->triggers)) {
		flight->said_limit = false;
		return recording_flight_dump(recording, time, trigger->text);
	}
	if (!flight->said_limit && !recording->options->quiet)
		recording_say(recording, "%s: no file, after %d within an hour", trigger->text,
			      REEL_TRIGGER_FILES);
	flight->said_limit = true;
	return NULL;
}

static struct reel_error *pull_all(struct recording *recording)
{
	const struct reel_trigger *trigger;
	uint64_t time;

	/* A file has a moment of each trigger only once. */
	if (!recording->flight.end)
		reel_triggers_restart(recording->triggers);
	reel_triggers_look(recording->triggers);
	while ((trigger = reel_triggers_next(recording->triggers, &time)))
		TRY(pull(recording, trigger, time));
	return NULL;
}

struct reel_error *recording_flight_turn(struct recording *recording)
{
	const struct recording_flight *flight = &recording->flight;
	uint64_t now;

	if (recording->triggers)
		TRY(pull_all(recording));
	now = reel_now();

	/* A round does not end the file early. */
	if (flight->end ? now < flight->end : !reel_output_round_is_due(recording->output, now))
		return NULL;
	return recording_rotate(recording);
}

struct reel_error *recording_flight_finish(struct recording *recording)
{
	if (recording->flight.end)
		return recording_finish(recording);
	reel_sampler_disable(recording->sampler);
	return NULL;
}
