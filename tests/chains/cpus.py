# SPDX-License-Identifier: Apache-2.0
"""Replacements for chains.py's patterns on CPUs other than x86_64, and with C libraries other than glibc.

Either may have its own PARTS, more ways to START, more ENDS, and for a mode more ends or other minimum shares.  An
end may name the instruction instead of a pattern: (name, {function: offsets}, reason) is any chain whose leaf is at
one of the offsets in that function.
"""

AARCH64 = {
    "parts": {
        "SIGRETURN": r"__kernel_rt_sigreturn|\[vdso\]\+",
        "VDSO": r"__kernel_clock_gettime|\[vdso\]\+",
        # glibc's clone.S calls start_thread from its own function.
        "THREAD": r"thread_start;start_thread",
        "CHILD": r"(__)?clone|thread_start",
        "BEGINNING": r"(__)?clone|thread_start(;start_thread(;LIBRARY)*)?",
    },
    "start": [
        # ld.so's _start continues into _dl_start_user (sysdeps/aarch64/dl-start.S).
        r"_start(;_dl_init(;call_init)*(;ANY)*|;STUB|;RESOLVE)?",
    ],
    "ends": [
        ("_dl_runtime_resolve", {"_dl_runtime_resolve": [0]},
         "glibc's dl-trampoline.S describes the two words that the PLT has pushed only after its first instruction (bti)"),
        ("clone", r"\[(stack bytes ran out|no mapping)\];(create_thread|__spawnix);(__)?clone",
         "glibc's clone.S: after svc the child has a different stack, but up to the branch to thread_start the CFI is its parent's"),
        ("no stack", r"\[no user stack\](;\w+)?(;__run_exit_handlers)?;_exit", "a task that exits has no memory any more"),
    ],
    "mode_ends": {
        **{mode: [("setup_return", {name: [0] for name in ("on_timer", "on_outer", "on_inner")},
                   "the kernel sets sp and pc to the handler's before the link register (setup_return, arch/arm64/kernel/signal.c): a "
                   "sample between has the interrupted function's return address")]
           for mode in ("handler", "alternate", "alternate-thread", "nested")},
        "fork": [
            ("untouched page", r"\[stack bytes ran out\](;__libc_fork;_Fork)?;arch_fork",
             "a forked child's page table entries are old (mm/memory.c, copy_present_pte): if the CPU does not set the access "
             "flag, the first access faults, which BPF may not do"),
        ],
        **{mode: [("__longjmp", r"\[stack bytes ran out\];((jump_try|refuse_try|siglongjmp);)?__longjmp",
                   "glibc's __longjmp.S uses x0 as the CFA, the jmp_buf, which is not on the stack; sp and x30 are in it, mangled")]
           for mode in ("jump", "noreturn")},
        "coroutine": [
            ("swapcontext, x30", r"\[register unknown\];swapcontext;(swapcontext|setcontext)",
             "glibc's swapcontext.S: from `adr x30, 2f` on, x30 is no longer the return address and the CFI does not locate it", 0.3),
        ],
    },
    "least": {
        ("lazy", "_dl_runtime_resolve"): 0,
        ("exception", "catch"): 0.5,
        ("jump", "__longjmp, switched"): 0,
    },
}

S390X = {
    "parts": {
        "SIGRETURN": r"__kernel_(rt_)?sigreturn|\[vdso\]\+",
        "VDSO": r"__kernel_clock_gettime|\[vdso\]\+",
        "THREAD": r"thread_start;start_thread",
        "CHILD": r"(__)?clone|thread_start",
        "BEGINNING": r"(__)?clone|thread_start(;start_thread(;LIBRARY)*)?",
    },
    "start": [r"_start;(STUB|RESOLVE)"],
    "ends": [
        ("_dl_start_user", r"\[no unwind info\];_dl_start_user(;_dl_init(;call_init)*(;ANY)*)?",
         "glibc's dl-machine.h (RTLD_START) has no CFI for _dl_start_user"),
        ("crt", r"\[no (unwind info|progress)\];(CRT|lib\S+\+)(;STUB|;ANY)*", "crti.S and gcc's crtstuff.c are built without CFI"),
        ("clone", r"\[(stack bytes ran out|no mapping)\];(create_thread|__spawnix|__GI___clone_internal);__clone",
         "glibc's clone.S: after svc the child has a different stack, but up to the branch to thread_start the CFI is its parent's"),
        ("no stack", r"\[no user stack\](;\w+)?(;__run_exit_handlers)?;_exit", "a task that exits has no memory any more"),
        # The leaf, its caller in r14, and the functions inlined in them.
        ("switched", r"\[stack bytes ran out\](;[^;]+){1,5}",
         "a pending timer fires after a switch of tasks, before finish_arch_post_lock_switch loads the user's address "
         "space (asm/mmu_context.h): the kernel cannot read user memory there"),
    ],
    "mode_ends": {
        "coroutine": [
            ("coroutine", r"__makecontext_ret;(coroutine_one|coroutine_two)(;(STUB|RESOLVE|swapcontext|coroutine_work_(one|two)(;SPIN)?))?",
             "a coroutine's chain ends in glibc's __makecontext_ret, whose CFI marks the outermost frame", 10),
        ],
    },
}
RISCV64 = {
    "parts": {
        # Static programs have theirs within .text.
        "STUB": r"(\w*chains|lib\w+\.so)\+(plt)?",
        "SIGRETURN": r"__vdso_rt_sigreturn|\[vdso\]\+",
        "VDSO": r"__vdso_clock_gettime|\[vdso\]\+",
        "THREAD": r"(__thread_start|__thread_start_clone3);start_thread",
        "CHILD": r"(__)?clone3?|__thread_start\w*",
        "BEGINNING": r"(__)?clone3?|__thread_start\w*(;start_thread(;LIBRARY)*)?",
    },
    "start": [r"_start;(STUB|RESOLVE)"],
    "ends": [
        ("_dl_runtime_resolve", r"\[(register unknown|no progress)\];_dl_runtime_resolve(;_dl_fixup(;ANY)*)?",
         "glibc's dl-trampoline.S for riscv moves sp and saves ra without CFI"),
        ("crt", r"\[(no unwind info|no progress|register unknown)\];(_dl_call_fini;)?(CRT|lib\S+\+)(;STUB|;ANY)*", "crti.S and gcc's crtstuff.c are built without CFI"),
        ("no stack", r"\[no user stack\](;\w+)?(;__run_exit_handlers)?;_exit", "a task that exits has no memory any more"),
    ],
    "mode_ends": {
        "coroutine": [
            ("coroutine", r"__start_context;(coroutine_one|coroutine_two)(;(STUB|RESOLVE|swapcontext|coroutine_work_(one|two)(;SPIN)?))?",
             "a coroutine's chain ends in glibc's __start_context, whose CFI marks the outermost frame", 10),
        ],
    },
}

# 32-bit programs on x86_64 kernels.
I386 = {
    "parts": {
        "SIGRETURN": r"__kernel_(rt_)?sigreturn",
        "GETTIME": r"(__)?clock_gettime(;__clock_gettime64|;in_time_t_range)?",
        "VDSO": r"__vdso_clock_gettime64|\[vdso\]\+",
    },
    "start": [r"_dl_start_user;ld-linux\.so\.2\+"],
    "ends": [
        # By the code, whose caller is a guess after a call through a PLT.
        ("glibc's assembly", r"(\[(no mapping|no unwind info|stack bytes ran out)\];)?(\[unknown\]\+;)?(memcpy|__memcpy_(ia32|ssse3)|strchr)|"
         r"\[root reached by a guess\];MAIN;mode_\w+;__memcpy_ssse3",
         "memcpy.S pushes eax without CFI, memcpy-ssse3.S omits ebx after a return, strchr.S counts its pushes with the wrong sign"),
        ("flags", r"\[no mapping\];(libgcc_s\.so\.1\+|__cpu_indicator_init)",
         "gcc's cpuid.h (__get_cpuid_max) pushes the flags without CFI"),
        ("crt", r"\[no unwind info\];lib[\w+-]+\.so[\d.]*\+\w*;lib[\w+-]+\.so[\d.]*\+\w*",
         "crti.S and gcc's crtstuff.c are built without CFI, and call the function that returns the pc"),
        ("no stack", r"\[no user stack\];__kernel_vsyscall", "a task that exits has no memory any more"),
    ],
    "mode_ends": {
        "coroutine": [
            ("coroutine", r"makecontext;(coroutine_one|coroutine_two)"
             r"(;(STUB|RESOLVE|swapcontext|coroutine_work_(one|two)(;SPIN)?))?",
             "makecontext writes the address of one of its labels in place of a return address: no FDE covers it", 60),
            ("swapcontext's system call", r"\[no mapping\];swapcontext",
             "glibc's swapcontext.S pushes ebx around its system call without CFI", 0),
        ],
        "exception": [
            ("uw_install_context, ebp",
             r"MAIN;mode_exception;catcher;thrown_one;thrower;__cxa_throw;_Unwind_RaiseException;(libgcc_s\.so\.1\+\w*|uw_\w+)",
             "libgcc's uw_install_context_1, while only ebp is already the landing function's: thrower's CFA is based on it", 0),
        ],
        "bare-framed-stop": [
            ("vDSO", r"\[no unwind info\];VDSO", "the vDSO's C code is built without CFI", 0),
        ],
    },
    # A stub is a single jump here, which some CPUs hardly ever sample.
    "least": {("lazy", "_dl_runtime_resolve"): 1, ("coroutine", "coroutine"): 0, ("plt", "PLT stub"): 0},
}

CPUS = {"x86_64": {}, "i386": I386, "aarch64": AARCH64, "s390x": S390X, "riscv64": RISCV64}

# Debian builds musl without unwind tables, except for the code from libgcc: a trace ends in musl's first function.
MUSL = {
    "parts": {
        "MUSL": r"(ld-musl-\w+\.so\.1|libc\.so)\+",
        # arm64's crt1.o leaves a frame record of zeros, which properly ends the frame-pointer walk.
        "MAIN": r"(\[no unwind info\];|_start;)?(libc_start_main_stage2|MUSL);main",
        "THREAD": r"(\[no unwind info\];)?((__clone|MUSL);)?(start|MUSL)",
        "BEGINNING": r"(\[no unwind info\];)?(__clone|MUSL)",
        # restore.s has no symbol once stripped; setjmp, which precedes it, has no size.
        "SIGRETURN": r"setjmp|__restore_rt|__kernel_rt_sigreturn|__vdso_rt_sigreturn|\[vdso\]\+|MUSL",
        "RAISE": r"raise(;MUSL|;__restore_sigs|;__block_app_sigs)*",
    },
    "start": [r"(\[root reached by a guess\];)?((_start|_dlstart)(;_start_c|;_dlstart_c|;__dls\w+|;LIBRARY|;MUSL)*|_start_c|__clone|_dlstart_c)"],
    "ends": [
        ("musl", r"(\[(no unwind info|no progress|register unknown)\];)?(CLONED;|(main|cpu_seconds|use_alternate_stack);)?(LIBRARY|MUSL)(;LIBRARY|;VDSO|;MUSL|;STUB)*(;SIGRETURN(;HANDLER|;on_outer(;.*)?)?)?",
         "musl is built without unwind tables"),
        ("musl's caller", r"\[(register unknown|stack bytes ran out)\];(OWN;){1,2}(LIBRARY|MUSL)(;LIBRARY|;VDSO|;MUSL|;STUB)*"
         r"(;SIGRETURN;HANDLER)?",
         "musl is built without unwind tables: the link register gives the caller, but the caller's sp is unknown"),
        ("clock_gettime", r"MAIN;mode_\w+(;OWN|;TINY)*;(__)?clock_gettime(;VDSO)*(;SIGRETURN;HANDLER)?",
         "musl's clock_gettime has no CFI and its argument in rbp: before the first clock is read, tv_nsec holds an old return "
         "address, which is mistaken for the current one"),
        ("system call", r"MAIN(;\w+)*((;MUSL)+(;\w+)?|;(__syscall_ret|__syscall_cp_c|_Exit|cgt_init(;__vdsosym)?))",
         "functions called by musl's system calls and clocks, found by their code; no mode names them"),
        ("vfork", r".*;__clone", "musl's clone.s has no CFI: the child has a different stack"),
    ],
    "mode_ends": {
        "jump": [("longjmp", r"(\[no (mapping|unwind info)\];)?(\[unknown\]\+;)?(.*;)?jump_try;longjmp",
                  "musl's longjmp.s has no CFI: while it loads the registers, the link register and sp belong to different frames")],
    },
    "ends_max": 100,
    "least": {("vdso", "vDSO"): 0, ("jump", "setjmp"): 0, ("jump", "__longjmp, switched"): 0},
}
MUSL["parts"]["CLONED"] = r"__clone|MUSL"

LIBCS = {"glibc": {}, "musl": MUSL}
