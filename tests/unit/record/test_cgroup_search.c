/* SPDX-License-Identifier: Apache-2.0 */
/* Cgroups by name, in a folder that looks like a mount of cgroup v2. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "include/stackreel.h"
#include "record/cgroup_search.h"

#define ID  "3f4e5d6c7b8a99887766554433221100ffeeddccbbaa00112233445566778899"
#define ID2 "3f4e5d6c7b8a00000000000000000000ffeeddccbbaa00112233445566778899"
#define POD "kubepods-pod0d2c5f3e_7b1a_4c6d_9e8f_a1b2c3d4e5f6.slice"

static const char *const made[] = {
	"system.slice",
	"system.slice/nginx.service",
	"system.slice/nginx.service/worker",
	"system.slice/docker-" ID ".scope",
	"system.slice/docker-" ID ".scope/system.slice",
	"system.slice/docker-" ID ".scope/system.slice/cron.service",
	"system.slice/cron.service",
	"kubepods.slice",
	"kubepods.slice/" POD,
	"kubepods.slice/" POD "/cri-containerd-" ID2 ".scope",
	"kubepods.slice/" POD "/cri-containerd-" ID2 ".scope/init",
	"lxc.payload.web",
	"lxc.payload.web/init.scope",
	"init.scope",
	"odd\033[31m",
	"odd\033[31m/a.slice",
	"a.slice",
};

static char mount[] = "/tmp/stackreel-cgroups-XXXXXX";

static void finds(const char *name, const char *expected)
{
	char *found = NULL;

	assert_null(reel_cgroup_search_below(mount, name, NULL, &found));
	if (!expected) {
		assert_null(found);
		return;
	}
	assert_non_null(found);
	assert_int_equal(strncmp(found, mount, strlen(mount)), 0);
	assert_string_equal(found + strlen(mount) + 1, expected);
	free(found);
}

static void names_lead_to_cgroups(void **state)
{
	(void)state;
	finds("nginx.service", "system.slice/nginx.service");
	finds(POD, "kubepods.slice/" POD);
	finds("docker-" ID ".scope", "system.slice/docker-" ID ".scope");
	finds(ID, "system.slice/docker-" ID ".scope");
	finds("3f4e5d6c7b8a9", "system.slice/docker-" ID ".scope");
	finds("3f4e5d6c7b8a0", "kubepods.slice/" POD "/cri-containerd-" ID2 ".scope");
	finds("web", "lxc.payload.web");
	/* No beginnings of names, too few digits, not a name. */
	finds("nginx", NULL);
	finds("we", NULL);
	finds("3f4e5d6", NULL);
	finds("99887766", NULL);
	finds("worker", NULL);
	finds("", NULL);
}

static void several_are_listed(void **state)
{
	char *found;
	struct reel_error *error;

	(void)state;
	/* The order is the file system's. */
	error = reel_cgroup_search_below(mount, "3f4e5d6c", NULL, &found);

	assert_non_null(error);
	assert_non_null(strstr(reel_error_message(error), "2 cgroups match: "));
	assert_non_null(strstr(reel_error_message(error), "/system.slice/docker-" ID ".scope"));
	assert_non_null(strstr(reel_error_message(error), "cri-containerd-" ID2 ".scope"));
	reel_error_destroy(error);
	error = reel_cgroup_search_below(mount, "a.slice", NULL, &found);
	assert_non_null(error);
	assert_non_null(strstr(reel_error_message(error), "/odd?[31m/a.slice"));
	reel_error_destroy(error);
	error = reel_cgroup_search_below(mount, "cron.service", NULL, &found);
	assert_non_null(error);
	assert_int_equal(reel_error_code(error), REEL_ERROR_INVALID);
	reel_error_destroy(error);
}

static int make(void **state)
{
	char path[PATH_MAX];

	(void)state;
	if (!mkdtemp(mount))
		return 1;
	for (size_t i = 0; i < sizeof(made) / sizeof(*made); i++) {
		snprintf(path, sizeof(path), "%s/%s", mount, made[i]);
		if (mkdir(path, 0700))
			return 1;
	}
	return 0;
}

static int clear(void **state)
{
	char path[PATH_MAX];

	(void)state;
	for (size_t i = sizeof(made) / sizeof(*made); i-- > 0;) {
		snprintf(path, sizeof(path), "%s/%s", mount, made[i]);
		rmdir(path);
	}
	return rmdir(mount);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_lead_to_cgroups),
		cmocka_unit_test(several_are_listed),
	};

	return cmocka_run_group_tests(tests, make, clear);
}
