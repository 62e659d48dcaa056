/* SPDX-License-Identifier: Apache-2.0 */
/* Names of containers from files as engines write them, and from a conmon, which is this program. */
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "record/proc/container_names.h"
#include "tests/support/test.h"

#define ID    "3f4e5d6c7b8a99887766554433221100ffeeddccbbaa00112233445566778899"
#define OTHER "0000000000000000000000000000000000000000000000000000000000000000"

#define CONTAINERD "/run/containerd/io.containerd.runtime.v2.task/k8s.io/" ID "/config.json"
#define NERDCTL	   "/run/containerd/io.containerd.runtime.v2.task/default/" ID "/config.json"
#define CRI_O	   "/run/containers/storage/overlay-containers/" ID "/userdata/config.json"
#define DOCKER	   "/var/lib/docker/containers/" ID "/config.v2.json"

static char root[] = "/tmp/stackreel-containers-XXXXXX";

static void write_file(const char *name, const char *text)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s%s", root, name);
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(path, 0700);
		*slash = '/';
	}
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

/* "container pod namespace" of the text in this file alone. */
static void expect(const char *name, const char *text, const char *expected)
{
	char path[PATH_MAX], found[3 * REEL_CONTAINER_NAME + 3];
	struct reel_container_names names;
	bool is_found;

	write_file(name, text);
	is_found = reel_container_names_find(root, ID, 0, &names);
	assert_int_equal(is_found, *names.container || *names.pod);
	assert_true(reel_container_names_are_valid(&names));
	snprintf(found, sizeof(found), "%s %s %s", names.container, names.pod, names.namespace);
	assert_string_equal(found, expected);
	assert_false(reel_container_names_find(root, OTHER, 0, &names));
	snprintf(path, sizeof(path), "%s%s", root, name);
	unlink(path);
}

TEST(descriptions)
{
	expect(DOCKER,
	       "{\"State\":{\"Name\":\"no\"},\"ID\":\"" ID
	       "\",\"Name\":\"/my-nginx\",\"Config\":{\"Env\":"
	       "[\"Name=secret\"],\"Labels\":{}}}",
	       "my-nginx  ");
	expect(DOCKER,
	       "{\"Name\":\"/k8s_app_shop-0_default_x_0\",\"Config\":{\"Labels\":{"
	       "\"io.kubernetes.container.name\":\"app\",\"io.kubernetes.pod.name\":\"shop-0\","
	       "\"io.kubernetes.pod.namespace\":\"default\"}}}",
	       "app shop-0 default");
	expect(CONTAINERD,
	       "{\"process\":{\"env\":[\"A=b\"]},\"annotations\":{"
	       "\"io.kubernetes.cri.container-name\":\"app\",\"io.kubernetes.cri.sandbox-name\":"
	       "\"shop-0\","
	       "\"io.kubernetes.cri.sandbox-namespace\":\"default\"}}",
	       "app shop-0 default");
	/* The container that holds a pod's namespaces */
	expect(CONTAINERD,
	       "{\"annotations\":{\"io.kubernetes.cri.container-type\":\"sandbox\","
	       "\"io.kubernetes.cri.sandbox-name\":\"shop-0\"}}",
	       " shop-0 ");
	expect(NERDCTL, "{\"annotations\":{\"nerdctl/name\":\"web\"}}", "web  ");
	expect(CRI_O,
	       "{\"annotations\":{\"io.kubernetes.container.name\":\"app\",\"io.kubernetes.pod."
	       "name\":"
	       "\"shop-0\",\"io.kubernetes.pod.namespace\":\"default\"}}",
	       "app shop-0 default");
}

TEST(bad_descriptions)
{
	char *text = test_malloc((2 << 20) + 100);

	expect(DOCKER, "", "  ");
	expect(DOCKER, "[\"Name\",\"/web\"]", "  ");
	expect(DOCKER, "{\"Name\":7}", "  ");
	expect(DOCKER, "{\"Name\":\"\"}", "  ");
	expect(DOCKER, "{\"Name\":\"/\"}", "  ");
	expect(DOCKER, "{\"Name\":\"/we\\u0062\"}", "  ");
	expect(DOCKER, "{\"Name\":\"/we\033[31m\"}", "  ");
	expect(DOCKER, "{\"Name\":\"../web\"}", "  ");
	/* Too long, and too large */
	for (size_t size = REEL_CONTAINER_NAME - 1; size <= REEL_CONTAINER_NAME; size++) {
		char name[REEL_CONTAINER_NAME + 1] = "", expected[REEL_CONTAINER_NAME + 3];

		memset(name, 'x', size);
		snprintf(text, 1000, "{\"Name\":\"/%s\"}", name);
		snprintf(expected, sizeof(expected), "%s  ",
			 size < REEL_CONTAINER_NAME ? name : "");
		expect(DOCKER, text, expected);
	}
	memset(text, ' ', 2 << 20);
	strcpy(text + (2 << 20), "{\"Name\":\"web\"}");
	expect(DOCKER, text, "  ");
	test_free(text);
}

TEST(invalid_answers)
{
	struct reel_container_names names = { .container = "web" };

	assert_true(reel_container_names_are_valid(&names));
	strcpy(names.namespace, "a b");
	assert_false(reel_container_names_are_valid(&names));
	memset(names.namespace, 'x', sizeof(names.namespace));
	assert_false(reel_container_names_are_valid(&names));
}

/* Acts as conmon: writes the pid of its child, which waits. */
static int monitor(void)
{
	pid_t pid = fork();

	if (!pid) {
		pause();
		_exit(0);
	}
	if (write(STDOUT_FILENO, &pid, sizeof(pid)) != sizeof(pid))
		return 1;
	return waitpid(pid, NULL, 0) != pid;
}

/* `folder`: the monitor's. */
static void expect_in(const char *folder, char *const arguments[], const char *expected)
{
	char found[3 * REEL_CONTAINER_NAME + 3];
	struct reel_container_names names;
	pid_t pid, child = 0;
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (!pid) {
		char path[PATH_MAX];

		dup2(ends[1], STDOUT_FILENO);
		snprintf(path, sizeof(path), "%s%s", root, folder);
		if (chdir(path))
			_exit(126);
		snprintf(path, sizeof(path), "%s/%s", root, arguments[0]);
		execv(path, arguments);
		_exit(127);
	}
	close(ends[1]);
	assert_int_equal(read(ends[0], &child, sizeof(child)), sizeof(child));
	close(ends[0]);
	assert_int_equal(reel_container_names_find(root, ID, (uint32_t)child, &names),
			 *expected != '\0');
	snprintf(found, sizeof(found), "%s%s%s", names.container, *names.pod ? " " : "", names.pod);
	assert_string_equal(found, expected);
	kill(child, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void expect_monitor(char *const arguments[], const char *expected)
{
	expect_in("", arguments, expected);
}

TEST(monitors)
{
	expect_monitor((char *[]){ "conmon", "--api-version", "1", "-c", ID, "-u", ID, "-n",
				   "my-nginx", "-l", "k8s-file:x", NULL },
		       "my-nginx");
	expect_monitor((char *[]){ "conmon", "-c", OTHER, "-n", "my-nginx", NULL }, "");
	expect_monitor((char *[]){ "conmon", "-c", ID, "-n", NULL }, "");
	expect_monitor((char *[]){ "conmon", "-c", ID, "-n", "a b", NULL }, "");
	expect_monitor((char *[]){ "other", "-c", ID, "-n", "my-nginx", NULL }, "");
}

/* Engines that keep their files elsewhere than by default. */
TEST(other_places)
{
	char bundle[PATH_MAX], text[3 * PATH_MAX];

	write_file("/storage/" ID "/userdata/config.json",
		   "{\"annotations\":{\"io.kubernetes.container.name\":\"app\",\"io.kubernetes.pod."
		   "name\":\"shop-0\"}}");
	snprintf(bundle, sizeof(bundle), "%s/storage/" ID "/userdata", root);
	expect_monitor((char *[]){ "conmon", "-b", bundle, "-c", ID, "-n", "k8s_app", NULL },
		       "app shop-0");
	expect_monitor((char *[]){ "conmon", "-b", bundle, "-c", OTHER, NULL }, "");
	/* Any user's process can be called conmon. */
	if (!geteuid()) {
		strcat(bundle, "/config.json");
		assert_int_equal(chown(bundle, 1000, 1000), 0);
		*strrchr(bundle, '/') = '\0';
		expect_monitor((char *[]){ "conmon", "-b", bundle, "-c", ID, NULL }, "");
	}
	expect_monitor((char *[]){ "conmon", "-b", "storage/" ID "/userdata", "-c", ID, NULL }, "");
	/* A shim has the bundle of the pod's first container. */
	write_file("/state/k8s.io/" ID "/config.json",
		   "{\"annotations\":{\"io.kubernetes.cri.container-name\":\"app\","
		   "\"io.kubernetes.cri.sandbox-name\":\"shop-1\"}}");
	write_file("/state/k8s.io/" OTHER "/config.json", "{}");
	expect_in("/state/k8s.io/" OTHER, (char *[]){ "containerd-shim", "-id", OTHER, NULL },
		  "app shop-1");
	expect_in("/state/k8s.io/" OTHER, (char *[]){ "other", "-id", OTHER, NULL }, "");
	/* Docker's, by a file that it mounts */
	write_file("/data/containers/" ID "/config.v2.json",
		   "{\"Name\":\"/web\",\"MountPoints\":{}}");
	snprintf(text, sizeof(text),
		 "{\"process\":{\"env\":[\"source=/no/" ID "/x\"]},\"mounts\":["
		 "{\"destination\":\"/dev/shm\",\"source\":\"shm\"},{\"destination\":"
		 "\"/etc/hostname\",\"source\":\"%s/data/containers/" ID "/hostname\"}]}",
		 root);
	write_file("/state/moby/" ID "/config.json", text);
	expect_in("/state/moby/" ID, (char *[]){ "containerd-shim", "-id", ID, NULL }, "web");
	write_file("/run/containerd/io.containerd.runtime.v2.task/moby/" ID "/config.json", text);
	expect_monitor((char *[]){ "other", "x", NULL }, "web");
	write_file("/run/containerd/io.containerd.runtime.v2.task/moby/" ID "/config.json",
		   "{\"mounts\":[{\"source\":\"" ID "\"},{\"source\":\"data/containers/" ID
		   "/x\"}]}");
	expect_monitor((char *[]){ "other", "x", NULL }, "");
}

static int make(void **state)
{
	char path[PATH_MAX], self[PATH_MAX] = "";

	if (!mkdtemp(root) || readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		return 1;
	snprintf(path, sizeof(path), "%s/conmon", root);
	if (symlink(self, path))
		return 1;
	snprintf(path, sizeof(path), "%s/containerd-shim", root);
	if (symlink(self, path))
		return 1;
	snprintf(path, sizeof(path), "%s/other", root);
	return symlink(self, path);
}

static int clear(void **state)
{
	char command[PATH_MAX];

	snprintf(command, sizeof(command), "rm -r %s", root);
	return system(command);
}

int main(int argc, char **argv)
{
	(void)argv;
	if (argc > 1)
		return monitor();
	return unit_tests_run(make, clear);
}
