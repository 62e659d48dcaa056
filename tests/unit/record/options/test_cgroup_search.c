/* SPDX-License-Identifier: Apache-2.0 */
/* Cgroups by name, in a folder that looks like a mount of cgroup v2. */
#include <limits.h>
#include <sys/stat.h>

#include "include/commands.h"
#include "record/options/cgroup_search.h"
#include "record/helper/inspector.h"
#include "tests/support/test.h"

#define ID   "3f4e5d6c7b8a99887766554433221100ffeeddccbbaa00112233445566778899"
#define ID2  "3f4e5d6c7b8a00000000000000000000ffeeddccbbaa00112233445566778899"
#define ID3  "aaaaaaaaaaaa00000000000000000000ffeeddccbbaa00112233445566778899"
#define ID4  "bbbbbbbbbbbb00000000000000000000ffeeddccbbaa00112233445566778899"
#define ID5  "cccccccccccc00000000000000000000ffeeddccbbaa00112233445566778899"
#define POD  "kubepods-pod0d2c5f3e_7b1a_4c6d_9e8f_a1b2c3d4e5f6.slice"
#define POD2 "burstable/pod11111111-7b1a-4c6d-9e8f-a1b2c3d4e5f6"
#define POD3 "burstable/pod22222222-7b1a-4c6d-9e8f-a1b2c3d4e5f6"

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
	"kubepods.slice/burstable",
	"kubepods.slice/" POD2,
	"kubepods.slice/" POD2 "/" ID3,
	"kubepods.slice/" POD2 "/" ID4,
	"kubepods.slice/" POD3,
	"kubepods.slice/" POD3 "/" ID5,
	"lxc.payload.web",
	"lxc.payload.web/init.scope",
	"init.scope",
	"odd\033[31m",
	"odd\033[31m/a.slice",
	"a.slice",
};

static char mount[] = "/tmp/stackreel-cgroups-XXXXXX";

/* What engines say of the containers, in place of the recorder's helper. */
bool reel_inspector_container(struct reel_inspector *inspector, uint32_t pid,
			      const char id[REEL_CONTAINER_ID + 1],
			      struct reel_container_names *ret)
{
	static const struct {
		const char *id;
		struct reel_container_names names;
	} known[] = {
		{ ID2, { "app", "shop-0", "default" } },
		{ ID3, { "cache", "shop-0", "test" } },
		{ ID4, { "cache", "shop-0", "test" } },
		{ ID5, { "db", "db", "" } },
	};

	(void)inspector;
	(void)pid;
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		if (strcmp(known[i].id, id) != 0)
			continue;
		*ret = known[i].names;
		return true;
	}
	return false;
}

/* Not looked at. */
#define INSPECTOR ((struct reel_inspector *)mount)

static void finds(const char *name, const char *expected)
{
	char *found = NULL;

	assert_null(reel_cgroup_search_below(mount, name, INSPECTOR, &found));
	if (!expected) {
		assert_null(found);
		return;
	}
	assert_non_null(found);
	assert_int_equal(strncmp(found, mount, strlen(mount)), 0);
	assert_string_equal(found + strlen(mount) + 1, expected);
	free(found);
}

TEST(names_lead_to_cgroups)
{
	finds("nginx.service", "system.slice/nginx.service");
	finds(POD, "kubepods.slice/" POD);
	finds("docker-" ID ".scope", "system.slice/docker-" ID ".scope");
	finds(ID, "system.slice/docker-" ID ".scope");
	finds("3f4e5d6c7b8a9", "system.slice/docker-" ID ".scope");
	finds("3f4e5d6c7b8a0", "kubepods.slice/" POD "/cri-containerd-" ID2 ".scope");
	finds("web", "lxc.payload.web");
	finds("0d2c5f3e-7b1a-4c6d-9e8f-a1b2c3d4e5f6", "kubepods.slice/" POD);
	finds("app", "kubepods.slice/" POD "/cri-containerd-" ID2 ".scope");
	finds("default/shop-0", "kubepods.slice/" POD);
	finds("test/shop-0", "kubepods.slice/" POD2);
	/* A container is called as its pod, whose namespace is not known. */
	finds("db", "kubepods.slice/" POD3 "/" ID5);
	finds("/db", NULL);
	finds("default/db", NULL);
	finds("default/app", NULL);
	finds("tes/shop-0", NULL);
	finds("test/shop", NULL);
	/* No beginnings of names, too few digits, not a name. */
	finds("nginx", NULL);
	finds("we", NULL);
	finds("3f4e5d6", NULL);
	finds("99887766", NULL);
	finds("worker", NULL);
	finds("", NULL);
}

TEST(several_are_listed)
{
	char *found;
	struct reel_error *error;

	/* The order is the file system's. */
	error = reel_cgroup_search_below(mount, "3f4e5d6c", INSPECTOR, &found);

	assert_non_null(error);
	assert_non_null(strstr(reel_error_message(error), "2 cgroups match: "));
	assert_non_null(strstr(reel_error_message(error), "/system.slice/docker-" ID ".scope"));
	assert_non_null(strstr(reel_error_message(error), "cri-containerd-" ID2 ".scope"));
	reel_error_destroy(error);
	error = reel_cgroup_search_below(mount, "a.slice", INSPECTOR, &found);
	assert_non_null(error);
	assert_non_null(strstr(reel_error_message(error), "/odd?[31m/a.slice"));
	reel_error_destroy(error);
	assert_error(reel_cgroup_search_below(mount, "cron.service", INSPECTOR, &found),
		     REEL_ERROR_INVALID);
}

TEST(names_of_several_are_listed)
{
	struct reel_error *error;
	char *found;

	error = reel_cgroup_search_below(mount, "shop-0", INSPECTOR, &found);
	assert_non_null(error);
	assert_non_null(strstr(reel_error_message(error), "2 cgroups match: /kubepods.slice/"));
	assert_non_null(strstr(reel_error_message(error), "/kubepods.slice/" POD2));
	assert_non_null(strstr(reel_error_message(error), "; name NAMESPACE/POD or one's path"));
	reel_error_destroy(error);
	error = reel_cgroup_search_below(mount, "cache", INSPECTOR, &found);
	assert_non_null(error);
	assert_non_null(strstr(reel_error_message(error), POD2 "/" ID4));
	assert_non_null(strstr(reel_error_message(error), "; name one's path"));
	reel_error_destroy(error);
}

static int make(void **state)
{
	char path[PATH_MAX];

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

	for (size_t i = sizeof(made) / sizeof(*made); i-- > 0;) {
		snprintf(path, sizeof(path), "%s/%s", mount, made[i]);
		rmdir(path);
	}
	return rmdir(mount);
}

RUN_TESTS_WITH(make, clear)
