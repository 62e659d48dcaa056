/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "cli/export/formats.h"
#include "cli/page/page_firefox.h"
#include "cli/page/page_pack.h"
#include "cli/print/complain.h"
#include "cli/print/memory.h"
#include "cli/profile/profile_file.h"

char *page_firefox_make(const struct options *common, int *status_ret)
{
	const struct export_format *format = &export_firefox;
	_cleanup_free_ char *text = NULL;
	struct export_target target = { .fd = -1 };
	size_t size, packed_size;
	void *state;
	bool ok;

	if (profile_file_is(common->file)) {
		complain("%s: --firefox needs a capture, not a profile of 'stackreel aggregate'",
			 common->file);
		return NULL;
	}
	target.file = open_memstream(&text, &size);
	memory_check(target.file);
	state = format->open(&target);
	ok = state;
	if (state) {
		*status_ret = export_capture(format, state, common, &ok);
		ok = format->close(state, ok) && ok;
	}
	fclose(target.file);
	memory_check(text);
	return ok ? page_pack(text, size, &packed_size) : NULL;
}
