#!/usr/bin/env python3
"""A folder again, on a disk that fails: a FUSE file system of one flat folder.

    bad_disk.py FOLDER MOUNTPOINT CONTROL     needs root; serves until MOUNTPOINT is unmounted

Each write reads the file CONTROL: `eio` makes it fail, `slow SECONDS` makes it take that long, anything else does neither.  The same for
fsync, new files and renames.  Speaks the kernel's protocol (linux/fuse.h, version 7.31) itself, since Debian has no library for it that
other parts of the project need.
"""

import ctypes
import errno
import os
import struct
import sys
import time

ROOT = 1
LOOKUP, FORGET, GETATTR, SETATTR, UNLINK, RENAME, OPEN, READ, WRITE, STATFS, RELEASE, FSYNC = 1, 2, 3, 4, 10, 12, 14, 15, 16, 17, 18, 20
FLUSH, INIT, OPENDIR, READDIR, RELEASEDIR, FSYNCDIR, CREATE, INTERRUPT, BATCH_FORGET, RENAME2 = 25, 26, 27, 28, 29, 30, 35, 36, 42, 45
CHANGES = {WRITE, FSYNC, FSYNCDIR, CREATE, RENAME, RENAME2}
MAX_WRITE = 1 << 17


class Disk:
    def __init__(self, folder, control):
        self.folder, self.control = os.open(folder, os.O_RDONLY | os.O_DIRECTORY), control
        self.names, self.nodes, self.next = {ROOT: b"."}, {}, ROOT + 1  # node to name, and back
        self.open = {}  # node to its open descriptors: an unlinked file has attributes as well

    def node(self, name):
        if name not in self.nodes:
            self.nodes[name], self.names[self.next] = self.next, name
            self.next += 1
        return self.nodes[name]

    def attributes(self, node):
        if self.open.get(node):
            stat = os.fstat(self.open[node][-1])
        else:
            stat = os.stat(self.names[node], dir_fd=self.folder, follow_symlinks=False)
        times = (stat.st_atime_ns, stat.st_mtime_ns, stat.st_ctime_ns)
        return struct.pack("<QQQ QQQ III IIII III", node, stat.st_size, stat.st_blocks, *(t // 10**9 for t in times), *(t % 10**9 for t in times),
                           stat.st_mode, stat.st_nlink, stat.st_uid, stat.st_gid, 0, 4096, 0)

    def entry(self, name):
        os.stat(name, dir_fd=self.folder, follow_symlinks=False)
        node = self.node(name)
        return struct.pack("<QQQQII", node, 0, 0, 0, 0, 0) + self.attributes(node)

    def opened(self, node, flags, mode=0):
        descriptor = os.open(self.names[node], flags & ~os.O_NOFOLLOW | os.O_CLOEXEC, mode, dir_fd=self.folder)
        self.open.setdefault(node, []).append(descriptor)
        return struct.pack("<QII", descriptor, 0, 0)

    def forget_name(self, name):
        if name in self.nodes:
            self.names[self.nodes.pop(name)] = b"\0gone"

    def rename(self, names):
        old, new = names.split(b"\0")[:2]
        os.rename(old, new, src_dir_fd=self.folder, dst_dir_fd=self.folder)
        self.forget_name(new)
        if old in self.nodes:
            node = self.nodes[new] = self.nodes.pop(old)
            self.names[node] = new

    def suffer(self):
        """What the disk does now."""
        with open(self.control, encoding="ascii") as file:
            words = file.read().split()
        if words[:1] == ["slow"]:
            time.sleep(float(words[1]))
        elif words[:1] == ["eio"]:
            raise OSError(errno.EIO, "")

    def answer(self, code, node, body):
        if code in CHANGES:
            self.suffer()
        if code == INIT:
            # Version, readahead, flags (FUSE_BIG_WRITES), background, congestion, max_write, time granularity, and unused fields.
            return struct.pack("<IIIIHHII", 7, 31, 1 << 16, 1 << 5, 0, 0, MAX_WRITE, 1).ljust(64, b"\0")
        if code == LOOKUP:
            return self.entry(body.split(b"\0")[0])
        if code == GETATTR:
            return struct.pack("<QII", 0, 0, 0) + self.attributes(node)
        if code == SETATTR:
            valid, _, _, size = struct.unpack_from("<IIQQ", body)
            mode, _, uid, gid = struct.unpack_from("<IIII", body, 68)
            if valid & 8:
                os.truncate(self.open[node][-1] if self.open.get(node) else b"/proc/self/fd/%d/%s" % (self.folder, self.names[node]), size)
            if valid & 1:
                os.chmod(self.names[node], mode & 0o7777, dir_fd=self.folder)
            if valid & 6:
                os.chown(self.names[node], uid if valid & 2 else -1, gid if valid & 4 else -1, dir_fd=self.folder)
            return struct.pack("<QII", 0, 0, 0) + self.attributes(node)
        if code == CREATE:
            flags, mode = struct.unpack_from("<II", body)
            name = body[16:].split(b"\0")[0]
            opened = self.opened(self.node(name), flags | os.O_CREAT, mode)
            return self.entry(name) + opened
        if code in (OPEN, OPENDIR):
            return self.opened(node, struct.unpack_from("<I", body)[0])
        if code in (RELEASE, RELEASEDIR):
            descriptor = struct.unpack_from("<Q", body)[0]
            self.open[node].remove(descriptor)
            os.close(descriptor)
        elif code == READ:
            descriptor, offset, size = struct.unpack_from("<QQI", body)
            return os.pread(descriptor, size, offset)
        elif code == WRITE:
            descriptor, offset, size = struct.unpack_from("<QQI", body)
            return struct.pack("<II", os.pwrite(descriptor, body[40:40 + size], offset), 0)
        elif code == READDIR:
            _, offset, size = struct.unpack_from("<QQI", body)
            found = b""
            for at, name in enumerate([b".", b".."] + sorted(map(os.fsencode, os.listdir(self.folder)))):
                item = struct.pack("<QQII", 1, at + 1, len(name), 0) + name
                item = item.ljust(-(-len(item) // 8) * 8, b"\0")
                if len(found) + len(item) > size:
                    break
                if at >= offset:
                    found += item
            return found
        elif code == STATFS:
            stat = os.fstatvfs(self.folder)
            return struct.pack("<QQQQQIIII", stat.f_blocks, stat.f_bfree, stat.f_bavail, stat.f_files, stat.f_ffree, stat.f_bsize, stat.f_namemax,
                               stat.f_frsize, 0).ljust(80, b"\0")
        elif code in (FSYNC, FSYNCDIR):
            os.fsync(struct.unpack_from("<Q", body)[0])
        elif code == UNLINK:
            name = body.split(b"\0")[0]
            os.unlink(name, dir_fd=self.folder)
            self.forget_name(name)
        elif code == RENAME:
            self.rename(body[8:])
        elif code == RENAME2:
            self.rename(body[16:])
        elif code != FLUSH:
            raise OSError(errno.ENOSYS, "")
        return b""


def main():
    folder, mountpoint, control = sys.argv[1:]
    disk = Disk(folder, control)
    device = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
    options = f"fd={device},rootmode=40000,user_id=0,group_id=0,allow_other,default_permissions"
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"bad_disk", os.fsencode(mountpoint), b"fuse.bad_disk", 6, options.encode()):  # MS_NOSUID | MS_NODEV
        sys.exit(f"{mountpoint}: mount: {os.strerror(ctypes.get_errno())}")
    print("mounted", flush=True)
    while True:
        try:
            request = os.read(device, MAX_WRITE + 4096)
        except OSError as error:
            if error.errno == errno.ENODEV:  # unmounted
                return
            if error.errno in (errno.ENOENT, errno.EINTR, errno.EAGAIN):  # the request was interrupted
                continue
            raise
        _, code, unique, node = struct.unpack_from("<IIQQ", request)
        if code in (FORGET, BATCH_FORGET, INTERRUPT):
            continue
        try:
            status, found = 0, disk.answer(code, node, request[40:])
        except OSError as error:
            status, found = -(error.errno or errno.EIO), b""
        try:
            os.write(device, struct.pack("<IiQ", 16 + len(found), status, unique) + found)
        except OSError as error:
            if error.errno != errno.ENOENT:  # nobody waits for it any more
                raise


if __name__ == "__main__":
    main()
