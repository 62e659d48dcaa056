/* SPDX-License-Identifier: Apache-2.0 */
/* Paths as systemd and container engines make them. */
#include "format/timeline/cgroup_path.h"
#include "tests/support/test.h"

#define ID    "3f4e5d6c7b8a99887766554433221100ffeeddccbbaa00112233445566778899"
#define ID2   "00112233445566778899aabbccddeeff3f4e5d6c7b8a9988776655443322110f"
#define UID   "0d2c5f3e-7b1a-4c6d-9e8f-a1b2c3d4e5f6"
#define UID_  "0d2c5f3e_7b1a_4c6d_9e8f_a1b2c3d4e5f6"
#define HASH  "5a2e6f6a0c1d4b7e8f90a1b2c3d4e5f6"
#define KUBE  "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_ ".slice/"
#define USER1 "/user.slice/user-1000.slice/user@1000.service/"

static const struct {
	const char *path, *container, *pod, *unit;
} cases[] = {
	{ "/", "", "", "" },
	{ "", "", "", "" },
	/* systemd */
	{ "/init.scope", "", "", "init.scope" },
	{ "/system.slice", "", "", "system.slice" },
	{ "/system.slice/nginx.service", "", "", "nginx.service" },
	{ "/system.slice/system-getty.slice/getty@tty1.service", "", "", "getty@tty1.service" },
	{ "/system.slice/systemd-udevd.service/udev", "", "", "systemd-udevd.service" },
	{ "/system.slice/system-postgresql.slice/postgresql@15-main.service", "", "",
	  "postgresql@15-main.service" },
	{ "/user.slice/user-1000.slice/session-3.scope", "", "", "session-3.scope" },
	{ USER1 "app.slice/app-gnome-firefox\\x2desr-4711.scope", "", "",
	  "app-gnome-firefox\\x2desr-4711.scope" },
	{ USER1 "init.scope", "", "", "init.scope" },
	{ "/system.slice/dev-hugepages.mount", "", "", "system.slice" },
	{ "/system.slice/slurmstepd.scope/job_12/step_0/user/task_0", "", "", "slurmstepd.scope" },
	/* Docker */
	{ "/docker/" ID, ID, "", "" },
	{ "/docker/" ID "/docker/" ID2, ID2, "", "" },
	{ "/docker/" ID "/init", ID, "", "" },
	{ "/system.slice/docker-" ID ".scope", ID, "", "docker-" ID ".scope" },
	{ "/system.slice/docker-" ID ".scope/system.slice/cron.service", ID, "", "cron.service" },
	{ USER1 "user.slice/docker-" ID ".scope", ID, "", "docker-" ID ".scope" },
	{ "/system.slice/docker.service", "", "", "docker.service" },
	{ "/ecs/0123456789abcdef0123456789abcdef/" ID, ID, "", "" },
	{ "/actions_job/" ID, ID, "", "" },
	/* Podman */
	{ "/machine.slice/libpod-" ID ".scope", ID, "", "libpod-" ID ".scope" },
	{ "/machine.slice/libpod-" ID ".scope/container", ID, "", "libpod-" ID ".scope" },
	{ USER1 "user.slice/libpod-" ID ".scope/container", ID, "", "libpod-" ID ".scope" },
	{ USER1 "user.slice/user-libpod_pod_" ID2 ".slice/libpod-" ID ".scope", ID, ID2,
	  "libpod-" ID ".scope" },
	{ "/machine.slice/machine-libpod_pod_" ID2 ".slice/libpod-" ID ".scope", ID, ID2,
	  "libpod-" ID ".scope" },
	{ "/libpod_parent/libpod-" ID, ID, "", "" },
	{ "/system.slice/web.service/libpod-payload-" ID, ID, "", "web.service" },
	{ "/machine.slice/libpod-conmon-" ID ".scope", "", "", "libpod-conmon-" ID ".scope" },
	{ "/system.slice/" ID "-1f2e.service", "", "", ID "-1f2e.service" },
	/* Kubernetes */
	{ KUBE "cri-containerd-" ID ".scope", ID, UID, "cri-containerd-" ID ".scope" },
	{ KUBE "crio-" ID ".scope", ID, UID, "crio-" ID ".scope" },
	{ KUBE "crio-" ID ".scope/container", ID, UID, "crio-" ID ".scope" },
	{ KUBE "crio-conmon-" ID ".scope", "", UID, "crio-conmon-" ID ".scope" },
	{ KUBE "docker-" ID ".scope", ID, UID, "docker-" ID ".scope" },
	{ "/kubepods.slice/kubepods-pod" UID_ ".slice/cri-containerd-" ID ".scope", ID, UID,
	  "cri-containerd-" ID ".scope" },
	{ "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" HASH ".slice", "",
	  HASH, "kubepods-besteffort-pod" HASH ".slice" },
	{ "/kubepods/burstable/pod" UID "/" ID, ID, UID, "" },
	{ "/kubepods/besteffort/pod" UID, "", UID, "" },
	{ "/kubepods/pod" HASH "/" ID, ID, HASH, "" },
	{ "/system.slice/containerd.service/kubepods-burstable-pod" UID_
	  ".slice:cri-containerd:" ID,
	  ID, UID, "containerd.service" },
	{ "/docker/" ID "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-besteffort.slice/"
	  "kubelet-kubepods-besteffort-pod" UID_ ".slice/cri-containerd-" ID2 ".scope",
	  ID2, UID, "cri-containerd-" ID2 ".scope" },
	{ "/docker/" ID "/kubelet/kubepods/besteffort/pod" UID "/" ID2, ID2, UID, "" },
	/* LXC, Incus, Proxmox */
	{ "/lxc/web/system.slice/cron.service", "web", "", "cron.service" },
	{ "/lxc/101/ns/system.slice/nginx.service", "101", "", "nginx.service" },
	{ "/lxc.payload.web-1/init.scope", "web-1", "", "init.scope" },
	{ "/lxc.payload/web/init.scope", "web", "", "init.scope" },
	{ "/lxc.monitor.web", "", "", "" },
	{ "/lxc.monitor/web", "", "", "" },
	/* systemd-machined */
	{ "/machine.slice/systemd-nspawn@debian.service/payload", "debian", "",
	  "systemd-nspawn@debian.service" },
	{ "/machine.slice/machine-my\\x2dbox.scope/payload/init.scope", "my-box", "",
	  "init.scope" },
	{ "/machine.slice/machine-qemu\\x2d1\\x2dvm.scope/libvirt", "qemu-1-vm", "",
	  "machine-qemu\\x2d1\\x2dvm.scope" },
	{ "/system.slice/machine-check.scope", "", "", "machine-check.scope" },
	/* Names that only look like it. */
	{ "/docker/3f4e5d6c7b8a", "", "", "" },
	{ "/docker/" ID "0", "", "", "" },
	{ "/docker/x" ID, "", "", "" },
	{ "/docker/" ID ".scope.d", "", "", "" },
	{ "/pod" UID, "", "", "" },
	{ "/podcast/kubepods", "", "", "" },
	{ "/kubepods/burstable/pod", "", "", "" },
	{ "/kubepods/burstable/podcast", "", "", "" },
	{ "/kubepods-pod" UID "f", "", "", "" },
	{ "/machine.slice/machine-.scope", "", "", "machine-.scope" },
	{ "/machine.slice/machine-a\\x00b.scope", "a\\x00b", "", "machine-a\\x00b.scope" },
	{ "/machine.slice/machine-\\x2.scope", "\\x2", "", "machine-\\x2.scope" },
	{ "/.service", "", "", "" },
	{ "/lxc", "", "", "" },
	{ "/lxc.payload.", "", "", "" },
	/* Missing first names, and separators too many. */
	{ "docker-" ID ".scope/init", ID, "", "docker-" ID ".scope" },
	{ "//a.slice///b.service/", "", "", "b.service" },
};

TEST(paths_tell)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		/* Without bytes after it. */
		char *path = strdup(cases[i].path);
		struct reel_cgroup_path found;

		assert_non_null(path);
		reel_cgroup_path_parse(path, &found);
		print_message("# %s\n", path);
		assert_string_equal(found.container, cases[i].container);
		assert_string_equal(found.pod, cases[i].pod);
		assert_string_equal(found.unit, cases[i].unit);
		free(path);
	}
}

TEST(long_names_are_ignored)
{
	char path[2 * REEL_CGROUP_NAME + 20];
	struct reel_cgroup_path found;

	for (size_t size = REEL_CGROUP_NAME - 2; size <= REEL_CGROUP_NAME + 1; size++) {
		snprintf(path, sizeof(path), "/a.slice/%0*d.service/lxc/%0*d",
			 (int)(size - strlen(".service")), 0, (int)size, 0);
		reel_cgroup_path_parse(path, &found);
		assert_int_equal(strlen(found.unit),
				 size < REEL_CGROUP_NAME ? size : strlen("a.slice"));
		assert_int_equal(strlen(found.container), size < REEL_CGROUP_NAME ? size : 0);
	}
}

RUN_TESTS()
