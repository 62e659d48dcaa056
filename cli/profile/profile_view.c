/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "cli/print/text.h"
#include "cli/profile/profile_view.h"
#include "cli/session/summary.h"

/* Returns a given option that would have no effect, or NULL. */
static const char *option_of_captures(const struct options *options)
{
	const struct {
		bool given;
		const char *name;
	} all[] = {
		{ options->pids.count, "--pid" },
		{ options->tids.count, "--tid" },
		{ options->cpus.count, "--cpu" },
		{ options->comms.count, "--comm" },
		{ options->from || options->to || options->wall.from || options->wall.to,
		  "--time" },
		{ options->shard.count, "--shard" },
		{ options->symfs.count, "--symfs" },
		{ options->debug_dirs.count, "--debug-dir" },
		{ options->module_files.count, "--module" },
		{ options->identities.count, "--identity" },
		{ options->no_inlines, "--no-inline" },
		{ options->no_demangle, "--no-demangle" },
		{ options->no_frame_pointers, "--no-frame-pointers" },
		{ options->max_frames, "--max-frames" },
		{ options->runtimes, "--runtime" },
		{ options->sandbox == SANDBOX_ON, "--sandbox" },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		if (all[i].given)
			return all[i].name;
	}
	return NULL;
}

/* Others go. */
static bool keep_event(const struct options *options, struct profiles *profiles)
{
	profiles_keep(profiles, options->event);
	if (profiles->count)
		return true;
	complain("%s: the profile has no event '%s'", options->file, options->event);
	return false;
}

bool profile_view_open(struct profile_view *view, const struct options *options,
		       struct profiles *profiles)
{
	const char *wrong = option_of_captures(options);

	*view = (struct profile_view){ .options = options };
	if (wrong) {
		complain("%s: %s needs a capture, not a profile; use 'stackreel aggregate' with it",
			 options->file, wrong);
		return false;
	}
	if (!profile_file_read(options->file, profiles, &view->totals) ||
	    (options->event && !keep_event(options, profiles)))
		return false;
	view->quality = profiles_quality(profiles);
	profiles_finish(profiles);
	return true;
}

static void print_events(const struct profiles *profiles, FILE *file)
{
	for (size_t i = 0; i < profiles->count; i++) {
		_cleanup_free_ char *name = text_escape(event_name(profiles->items[i].event), "");

		fprintf(file, "%s%s", i ? ", " : "", name);
	}
	if (!profiles->count)
		fputs("none", file);
}

void profile_view_print(const struct profile_view *view, const struct profiles *profiles,
			FILE *file)
{
	_cleanup_free_ char *path = text_escape(view->options->file, "");
	const struct profile_totals *totals = &view->totals;

	if (totals->is_folded)
		fprintf(file, "# %s: folded stacks\n", path);
	else
		fprintf(file, "# %s: a profile of %s captures\n", path,
			format_count(totals->captures).text);
	fprintf(file, "# %s", format_count(view->quality.traces).text);
	if (totals->recorded != view->quality.traces)
		fprintf(file, " of %s", format_count(totals->recorded).text);
	if (totals->is_folded) {
		fputs(" samples\n", file);
		return;
	}
	fputs(" samples of ", file);
	print_events(profiles, file);
	fputc('\n', file);
	summary_print_quality(&view->quality, file);
	fputs("# lost: ", file);
	losses_print(totals->lost, &view->quality, file);
	fputc('\n', file);
	if (totals->unread)
		fprintf(file, "# %s unreadable captures were skipped\n",
			format_count(totals->unread).text);
	if (totals->problems)
		fprintf(file, "# %s problems in captures (use 'stackreel verify')\n",
			format_count(totals->problems).text);
}
