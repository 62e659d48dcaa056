/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <time.h>

#include "base/decimal.h"
#include "base/quantity.h"
#include "cli/session/wall_time.h"

/* "03:17", "03:17:00", "03:17:00.25"; returns the rest of the text, NULL: no such time. */
static const char *parse_clock(const char *text, struct tm *tm, uint64_t *fraction_ret)
{
	const char *at = strptime(text, "%H:%M", tm);

	if (!at || *at != ':')
		return at;
	at = strptime(at + 1, "%S", tm);
	if (!at || *at != '.')
		return at;
	return reel_decimal_parse(at, REEL_NS_PER_SECOND, &at, fraction_ret) ? at : NULL;
}

/* The zone at the end of a time; false: not a zone. */
static bool parse_zone(const char *text, bool *is_local_ret, int64_t *offset_ret)
{
	struct tm tm = { 0 };
	const char *end;

	text += strspn(text, " ");
	*is_local_ret = !*text;
	*offset_ret = 0;
	if (!*text || !strcmp(text, "Z") || !strcmp(text, "UTC"))
		return true;
	if (*text != '+' && *text != '-')
		return false;
	end = strptime(text + 1, "%H:%M", &tm);
	if (!end)
		end = strptime(text + 1, "%H%M", &tm);
	*offset_ret = (tm.tm_hour * 60 + tm.tm_min) * (*text == '-' ? -60 : 60);
	return end && !*end;
}

static void set_date(struct tm *tm, uint64_t day, bool is_local, int64_t offset)
{
	time_t seconds = (time_t)(day / REEL_NS_PER_SECOND) + offset;
	struct tm date = { 0 };

	if (is_local)
		localtime_r(&seconds, &date);
	else
		gmtime_r(&seconds, &date);
	tm->tm_year = date.tm_year;
	tm->tm_mon = date.tm_mon;
	tm->tm_mday = date.tm_mday;
}

bool wall_time_parse(const char *text, uint64_t day, uint64_t *ret)
{
	struct tm tm = { 0 }, normal;
	const char *at = strptime(text, "%Y-%m-%d", &tm), *zone = at;
	bool has_date = at, is_local;
	uint64_t fraction = 0;
	int64_t offset;
	time_t seconds;

	tzset(); /* before a sandbox hides the zone's file */
	if (!at || *at == 'T' || (*at == ' ' && at[1] >= '0' && at[1] <= '9'))
		zone = parse_clock(at ? at + 1 : text, &tm, &fraction);
	if (!zone || !parse_zone(zone, &is_local, &offset))
		return false;
	if (!has_date)
		set_date(&tm, day, is_local, offset);
	tm.tm_isdst = -1;
	normal = tm;
	seconds = is_local ? mktime(&normal) : timegm(&normal);
	if (seconds - offset <= 0 || normal.tm_mday != tm.tm_mday || normal.tm_hour != tm.tm_hour ||
	    normal.tm_min != tm.tm_min)
		return false;
	*ret = (uint64_t)(seconds - offset) * REEL_NS_PER_SECOND + fraction % REEL_NS_PER_SECOND;
	return true;
}

bool wall_range_parse(const char *text, uint64_t *from_ret, uint64_t *to_ret)
{
	const char *dots = strstr(text, "..");
	uint64_t today = reel_clock_now(CLOCK_REALTIME);
	_cleanup_free_ char *from = NULL;

	if (!dots)
		return false;
	from = memory_print("%.*s", (int)(dots - text), text);
	*from_ret = *to_ret = 0;
	if (*from && !wall_time_parse(from, today, from_ret))
		return false;
	if (!dots[2])
		return *from_ret;
	return wall_time_parse(dots + 2, *from_ret ? *from_ret : today, to_ret) &&
	       *to_ret > *from_ret;
}

struct short_text format_local_time(uint64_t nanoseconds)
{
	time_t seconds = (time_t)(nanoseconds / REEL_NS_PER_SECOND);
	struct short_text ret;
	struct tm tm;

	if (!localtime_r(&seconds, &tm) ||
	    !strftime(ret.text, sizeof(ret.text), "%Y-%m-%d %H:%M:%S %Z (%z)", &tm))
		strcpy(ret.text, "unknown");
	return ret;
}
