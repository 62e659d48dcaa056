/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Finds the mapping that holds an address, by walking the kernel's tree without its lock:
 * bpf_find_vma fails with EBUSY in half of the samples of a process that maps a lot.  Nothing read
 * here is trusted: addresses are read by bpf_probe_read_kernel, and the mapping found must hold the
 * address.
 */
#ifndef BPF_MAPPING_H
#define BPF_MAPPING_H

#include "bpf/kernel.h"

/* 40 levels of a red-black tree hold a million mappings; a maple tree has 10 or 16 slots per
 * level. */
#define REEL_RB_DEPTH_MAX    40
#define REEL_MAPLE_DEPTH_MAX 8

/* include/linux/maple_tree.h and lib/maple_tree.c: node pointers have the type in bits 3 to 6. */
#define REEL_MAPLE_NODE_MASK   0xffull
#define REEL_MAPLE_TYPE(entry) ((entry) >> 3 & 0xf)
/* xa_is_internal: the root is a pointer to a node, not to the only mapping. */
#define REEL_MAPLE_INTERNAL(entry) (((entry)&3) == 2 && (entry) > 4096)

enum maple_type {
	maple_dense,
	maple_leaf_64,
	maple_range_64,
	maple_arange_64,
};

/* Before 6.1. */
static __always_inline bool reel_mappings_are_rb(void)
{
	return bpf_core_field_exists(((struct mm_struct___rb *)0)->mm_rb);
}

static __always_inline __u64 reel_mapping_check(struct vm_area_struct *mapping, __u64 address)
{
	return BPF_CORE_READ(mapping, vm_start) <= address &&
			       address < BPF_CORE_READ(mapping, vm_end)
		       ? (__u64)mapping
		       : 0;
}

static __always_inline __u64 reel_mapping_find_rb(struct mm_struct___rb *mm, __u64 address)
{
	struct rb_node *node = BPF_CORE_READ(mm, mm_rb.rb_node);

	for (int i = 0; node && i < REEL_RB_DEPTH_MAX; i++) {
		struct vm_area_struct *mapping =
			(void *)node - bpf_core_field_offset(struct vm_area_struct___rb, vm_rb);

		if (address < BPF_CORE_READ(mapping, vm_start))
			node = BPF_CORE_READ(node, rb_left);
		else if (address >= BPF_CORE_READ(mapping, vm_end))
			node = BPF_CORE_READ(node, rb_right);
		else
			return reel_mapping_check(mapping, address);
	}
	return 0;
}

/* Scans with copies are for older kernels, and have no stack left for this. */
#ifdef REEL_SCAN_COPIES
static __always_inline __u64 reel_mapping_find_maple(struct mm_struct *mm, __u64 address)
{
	(void)mm;
	(void)address;
	return 0;
}
#else
/* Pivots of a node that are read together: all of them would be a quarter of the stack. */
#define REEL_MAPLE_PIVOTS 8

/*
 * The entry for an address in a node of the tree, 0 if none.  pivot[i] is the last address of
 * slot[i]; the first 0 after pivot[0] ends them, and that slot reaches to the node's end.  Not
 * static: the verifier then checks it once, not at each level.
 */
__noinline __u64 reel_maple_descend(__u64 entry, __u64 address)
{
	struct maple_node *node = (void *)(entry & ~REEL_MAPLE_NODE_MASK);
	__u64 type = REEL_MAPLE_TYPE(entry), slots, from;
	unsigned long pivots[REEL_MAPLE_PIVOTS] = {};
	__u32 pivot, n_pivots;

	/* The verifier also checks this function on kernels without such nodes. */
	if (reel_mappings_are_rb())
		return 0;
	if (type == maple_leaf_64 || type == maple_range_64) {
		n_pivots = 15;
		slots = (__u64)&node->mr64.slot;
		from = (__u64)&node->mr64.pivot;
	} else if (type == maple_arange_64) {
		n_pivots = 9;
		slots = (__u64)&node->ma64.slot;
		from = (__u64)&node->ma64.pivot;
	} else {
		return 0;
	}
#pragma unroll
	for (pivot = 0; pivot < 15; pivot++) {
		unsigned long *at = &pivots[pivot % REEL_MAPLE_PIVOTS];

		if (pivot >= n_pivots)
			break;
		if (pivot % REEL_MAPLE_PIVOTS == 0)
			bpf_probe_read_kernel(pivots, sizeof(pivots), (void *)(from + pivot * 8));
		if (*at >= address || (pivot && !*at))
			break;
	}
	if (bpf_probe_read_kernel(&entry, sizeof(entry), (void *)(slots + pivot * 8)))
		return 0;
	return entry;
}

static __always_inline __u64 reel_mapping_find_maple(struct mm_struct *mm, __u64 address)
{
	__u64 entry = (__u64)BPF_CORE_READ(mm, mm_mt.ma_root);

	if (!REEL_MAPLE_INTERNAL(entry))
		return 0;
	for (int depth = 0; entry && depth < REEL_MAPLE_DEPTH_MAX; depth++) {
		__u64 type = REEL_MAPLE_TYPE(entry);

		entry = reel_maple_descend(entry, address);
		if (type == maple_leaf_64)
			return entry ? reel_mapping_check((void *)entry, address) : 0;
	}
	return 0;
}
#endif

/*
 * The struct vm_area_struct of the mapping that holds `address`, 0 if not found.  Not static: the
 * verifier then checks it once, for all arguments.
 */
__noinline __u64 reel_mapping_find(__u64 mm, __u64 address)
{
	if (reel_mappings_are_rb())
		return reel_mapping_find_rb((void *)mm, address);
	return reel_mapping_find_maple((void *)mm, address);
}

/*
 * File systems (linux/magic.h) whose pages come from a disk of this host, or from memory.  Not
 * inlined, for the limit of 512 bytes of stack of all functions called at a time.
 */
__noinline bool reel_file_is_local(__u64 address)
{
	struct file *file = (void *)address;

	switch (BPF_CORE_READ(file, f_inode, i_sb, s_magic)) {
	case 0x01021994: /* tmpfs, also of shared memory and memfds */
	case 0x0000ef53: /* ext4 */
	case 0x2fc12fc1: /* ZFS */
	case 0x58465342: /* XFS */
	case 0x73717368: /* squashfs */
	case 0x794c7630: /* overlayfs */
	case 0x858458f6: /* ramfs */
	case 0x9123683e: /* btrfs */
	case 0x958458f6: /* hugetlbfs */
	case 0xca451a4e: /* bcachefs */
	case 0xe0f5e1e2: /* EROFS */
	case 0xf2f52010: /* F2FS */
		return true;
	default:
		return false;
	}
}

/*
 * Whether `size` bytes are in one mapping whose pages do not take another process's time, as a
 * FUSE server's.
 */
__noinline bool reel_mapping_is_local(__u64 mm, __u64 address, __u64 size)
{
	struct vm_area_struct *mapping = (void *)reel_mapping_find(mm, address);
	struct file *file;

	if (!mapping || BPF_CORE_READ(mapping, vm_end) - address < size)
		return false;
	file = BPF_CORE_READ(mapping, vm_file);
	return !file || reel_file_is_local((__u64)file);
}

static __always_inline __u64 reel_mapping_end(__u64 mm, __u64 address)
{
	struct vm_area_struct *mapping = (void *)reel_mapping_find(mm, address);

	return mapping ? BPF_CORE_READ(mapping, vm_end) : 0;
}

/* kernel/locking/rwsem.c: a writer has the lock, or waits for it, and new readers have to wait. */
#define REEL_LOCK_IS_BUSY 7

/* Whether reading the task's memory would wait for a lock, which a process can hold for long. */
static __always_inline bool reel_other_is_locked(struct mm_struct *mm)
{
	return bpf_core_field_exists(mm->mmap_lock.count) &&
	       BPF_CORE_READ(mm, mmap_lock.count.counter) & REEL_LOCK_IS_BUSY;
}

#endif
