# SPDX-License-Identifier: Apache-2.0
"""The chains that each mode of testdata/programs/chains may have.

A chain is text: the frames from the root to the leaf, joined by ';', each without arguments, return type and marks
of clones.  A frame without a name is MODULE+SECTION if it is in a small section (plt, init, fini), else MODULE+.
A pattern must match the whole chain.  Words in capitals stand for other patterns:
"""

PARTS = {
    # crt1.o and glibc before and since 2.34, dynamic and static.
    "MAIN": r"_start;(__libc_start_main|__libc_start_main_impl|__libc_start_main_alias_\d)"
            r"(;__libc_start_call_main|;call_main)?;main",
    "THREAD": r"(__)?clone3?;start_thread",
    # Its first instructions are in clone3 itself, where the CFI marks the outermost frame (glibc's clone3.S,
    # thread_start).
    "BEGINNING": r"(__)?clone3?(;start_thread(;LIBRARY)*)?",
    "CHILD": r"(__)?clone3?",
    # Ways to read the time: libc's function, the vDSO's or the system call.
    "CLOCK": r"cpu_seconds(;(STUB|RESOLVE)|;GETTIME(;VDSO)*)?",
    "GETTIME": r"(__)?clock_gettime(64)?",
    "VDSO": r"__vdso_clock_gettime|__cvdso_clock_gettime_\w+|do_hres|__arch_get_hw_counter|\[?vdso\]?\+",
    # ld.so resolves a function at its first call.
    "RESOLVE": r"_dl_runtime_(resolve|profile)\w*(;(_dl_fixup|_dl_profile_fixup)(;LIBRARY)*)?",
    # The entry of a PLT, which has no symbol.
    "STUB": r"([\w-]*chains|lib\w+\.so)\+plt",
    # Small functions that are inlined.
    "SPIN": r"spin(;mix)?|mix",
    "TINY": r"tiny_keep<(\d+)>(;tiny_leaf<\d+>(;mix)?)?",
    # The return address of a signal handler.
    "SIGRETURN": r"__restore_rt",
    # Where a timer may fire: see signals.cc.
    "INTERRUPTED": r"interrupt(;CLOCK|;(STUB|RESOLVE)|;interruptible(;TINY)?)?",
    "HANDLER": r"on_timer(;(STUB|RESOLVE|handler_work(;SPIN)?))?",
    # glibc's setjmp and longjmp, up to the switch.
    "SETJMP": r"(_?setjmp|__sigsetjmp(;__sigjmp_save)?|__sigjmp_save)",
    "LONGJMP": r"(__libc_)?(sig)?longjmp(;(_longjmp_unwind|__GI___pthread_cleanup_upto|__pthread_cleanup_upto|"
               r"_longjmp_unwind;(__GI_)?__pthread_cleanup_upto|__longjmp))?",
    "EXECUTING": r"CLOCK|STUB|RESOLVE|(fix_addresses|format_seconds|exec_next)(;(STUB|RESOLVE|(LIBRARY)(;ANY)*))?",
    "CRT": r"_init|_fini|frame_dummy|(de)?register_tm_clones|__do_global_dtors_aux(;call_weak_fn)?|"
           r"lib[\w+-]+\.so[\d.]*\+(init|fini)?|\w*chains\+(init|fini)",
    # Any function of a library, but none of the program's.
    "LIBRARY": r"(?!(OWN)(;|$))[A-Za-z_]\w*(@@\w+(\.\w+)*|\.cc)?(\.(constprop|part|isra|cold)\.?\d*)*",
    # The same, with and without a name: calls among libraries are not checked.  Static programs have theirs inside.
    "ANY": r"LIBRARY|(lib|ld)[\w+-]+\.so[\d.]*\+\w*|\w*chains\+|std::[^;]+|__cxxabiv1::\S+|__gnu_cxx::[^;]+|operator (new|delete)(\[\])?",
    "OWN": r"main|mode_\w+|(leaf|tiny|tail|fill|realign|deep|inline|jump|coroutine|thrown|library|left|right|bare|framed)_\w+|"
           r"deep|(handler|inner|catch|destroy|fork|exec|refused)_work\w*|on_(timer|inner|outer|signal)|interrupt(ible)?|"
           r"thread_main|start_timer|use_alternate_stack|refused?|refuse_try|thrower|catcher|lazy_(round|\d+)|"
           r"call_(left|right)|load|fork_(one|two)|spawn_(posix|vfork)|exec_(next|thread)|fix_addresses|format_seconds|"
           r"spin|mix|cpu_seconds",
}

# Code before and after main, in every mode.
START = [
    # ld.so: relocations, and then the constructors.
    r"_start(;_dl_start(;ANY)*)?",
    r"_dl_start_user(;_dl_init(;call_init)*(;ANY)*)?",
    # _start's callee is resolved there, unless the program is bound at once.
    r"_start;(STUB|RESOLVE)",
    # libc's code around main, and main's own code that selects the mode.
    r"_start;(__libc_start_main|__libc_start_main_impl)(;__libc_start_call_main)?(;(?!exit|__GI_exit|__libc_start_call_main)(LIBRARY|libc\.so\.6\+))*",
    r"MAIN(;(CLOCK|STUB|RESOLVE|(__)?strcmp\w*)|;(atof|(__)?strtol?d|__GI_\w*strtod\w*)(;LIBRARY|;libc\.so\.6\+)*)?",
    # exit: destructors, and ld.so's _dl_fini, which calls __do_global_dtors_aux of each module.
    r"_start;(__libc_start_main|__libc_start_main_impl)(;__libc_start_call_main|;call_main)?;(__GI_)?exit"
    r"(;ANY|;\w*chains\+\w*)*",
]

# Explained ends of traces, in every mode: (name, pattern, reason).
ENDS = [
    ("crt", r"\[no unwind info\];CRT",
     "crti.S and gcc's crtstuff.c are built without CFI: _init and _fini, and a function's prologue and last ret"),
    ("clone", r"\[no unwind info\];(__)?clone3?",
     "glibc's clone3.S and clone.S end their FDE (cfi_endproc) at the system call: its child has a different stack"),
    ("no stack", r"\[no user stack\](;start_thread|(;__run_exit_handlers)?;(__GI_)?_[eE]xit)?",
     "a task that exits has no memory any more; within execve, the registers are the old program's and the memory is the new one's"),
]


def mode(places, ends=(), start=True):
    return {"places": places, "ends": list(ends), "start": start}


# After main: place -> (pattern, minimum share of all samples in percent).  The name of a place is printed.
def handler_places(root, name):
    return {
        "interrupted": (r"%s;%s(;INTERRUPTED)?" % (root, name), 5),
        "below the signal frame": (r"%s;%s;INTERRUPTED;SIGRETURN;HANDLER" % (root, name), 3),
        "returning": (r"%s;%s;INTERRUPTED;SIGRETURN" % (root, name), 0),
        "setting up": (r"%s(;%s)?(;(RESOLVE|STUB|"
                       r"on_signal|use_alternate_stack|start_timer|interrupt|LIBRARY))*(;start_timer;(CLOCK|handler_work(;SPIN)?))?" % (root, name), 0),
    }


SIGNAL_ENDS = [
    ("rt_sigreturn", r"(.*;)?SIGRETURN",
     "the kernel restores registers one after the other (restore_sigcontext, arch/x86/kernel/signal_64.c): a sample between "
     "sp and ip has the handler's ip with the interrupted sp"),
]

MODES = {
    "leaf": mode({
        "leaf_inner": (r"MAIN;mode_leaf;leaf_outer;leaf_inner(;mix)?", 90),
        "around": (r"MAIN;mode_leaf(;(CLOCK|STUB|RESOLVE|leaf_outer))?", 0),
    }),
    "tiny": mode({
        # Caller and callee must have the same number: see check.py.
        "tiny_keep": (r"MAIN;mode_tiny;TINY", 30),
        "tiny_skip": (r"MAIN;mode_tiny;tiny_skip(;mix|;tiny_skipped(;mix)?)?", 0.2),
        "tiny_variadic": (r"MAIN;mode_tiny;tiny_variadic(;tiny_taken(;mix)?)?", 1),
        "tiny_alloca": (r"MAIN;mode_tiny;tiny_alloca(;tiny_filled)?", 1),
        "around": (r"MAIN;mode_tiny(;(CLOCK|STUB|RESOLVE))?", 0),
    }),
    "realign": mode({
        "realign_local": (r"MAIN;mode_realign;realign_local(;fill_local(;mix)?)?", 5),
        "realign_alloca": (r"MAIN;mode_realign;realign_alloca(;fill_alloca(;mix)?)?", 5),
        "realign_arguments": (r"MAIN;mode_realign;realign_arguments(;fill_arguments(;mix)?)?", 5),
        "around": (r"MAIN;mode_realign(;(CLOCK|STUB|RESOLVE))?", 0),
    }),
    "deep": mode({
        # check.py counts them.
        "deep_bottom": (r"MAIN;mode_deep(;deep)+;deep_bottom(;SPIN)?", 80),
        "on the way": (r"MAIN;mode_deep(;deep)*(;mix)?", 0),
        "around": (r"MAIN;mode_deep((;(CLOCK|STUB|RESOLVE|(__)?strtou?l\w*|____strtou?l\w*|strtou?q))*|;printf(;ANY)*)", 0),
    }),
    "cut": mode({
        # With its root part on x86, if the recorder has kept one.  Earlier calls of main may share no more than main with the live one.
        "stack cut": (r"\[stack cut by the recorder\](;MAIN(;mode_deep(;deep)*)?;\[part of the stack was not kept\]|"
                      r"(((;__libc_start_main\w*)?;__libc_start_call_main)?(;main)?;mode_deep)?)"
                      r"(;deep)+(;deep_bottom(;SPIN)?|;mix)?", 80),
        "on the way": (r"MAIN;mode_deep(;deep)*(;mix)?", 0),
        "around": (r"MAIN;mode_deep((;(CLOCK|STUB|RESOLVE|(__)?strtou?l\w*|____strtou?l\w*|strtou?q))*|;printf(;ANY)*)", 0),
    }),
    "inline": mode({
        "four deep": (r"MAIN;mode_inline;inline_outer;inline_one;inline_two;inline_three;inline_four(;mix)?", 90),
        "around": (r"MAIN;mode_inline(;(CLOCK|STUB|RESOLVE|inline_outer(;inline_one(;inline_two(;inline_three)?)?)?))?", 0),
    }),
    "handler": mode(handler_places("MAIN", "mode_handler"), SIGNAL_ENDS),
    "alternate": mode(handler_places("MAIN", "mode_alternate"), SIGNAL_ENDS),
    "alternate-thread": mode({
        **handler_places("THREAD", "thread_main"),
        "thread": (r"BEGINNING", 0),
        "first thread": (r"MAIN;mode_alternate_thread(;LIBRARY)*", 0),
    }, SIGNAL_ENDS),
    "nested": mode({
        **handler_places("MAIN", "mode_nested"),
        "below the signal frame": (r"MAIN;mode_nested;INTERRUPTED;SIGRETURN;on_outer(;(STUB|RESOLVE|RAISE))?", 0),
        "below two of them": (r"MAIN;mode_nested;INTERRUPTED;SIGRETURN;on_outer;RAISE;SIGRETURN"
                              r"(;on_inner(;(STUB|RESOLVE|inner_work(;SPIN)?))?)?", 3),
    }, SIGNAL_ENDS),
    "jump": mode({
        "longjmp": (r"MAIN;mode_jump;jump_try;jump_one(;jump_two(;(LONGJMP|STUB|RESOLVE|mix))?)?", 10),
        # glibc's __longjmp.S: from `movq (JB_RSP*8)(%rdi),%r8` … on its CFI describes setjmp's caller.
        "__longjmp, switched": (r"MAIN;mode_jump;jump_try;(__)?longjmp", 1),
        "setjmp": (r"MAIN;mode_jump;jump_try;SETJMP", 1),
        "around": (r"MAIN;mode_jump(;(CLOCK|STUB|RESOLVE|jump_try(;(STUB|RESOLVE))?))?", 0),
    }),
    "noreturn": mode({
        "refused_work": (r"MAIN;mode_noreturn;refuse_try;refuse;refused;refused_work(;SPIN)?", 80),
        "around": (r"MAIN;mode_noreturn(;(CLOCK|STUB|RESOLVE|refuse_try(;(STUB|RESOLVE|SETJMP|__longjmp|"
                   r"refuse(;(mix|refused(;(STUB|RESOLVE|LONGJMP))?))?))?))?", 0),
    }),
    "tail": mode({
        "tail_saves": (r"MAIN;mode_tail;tail_caller;tail_saves(;tail_called(;mix)?|;mix)?", 10),
        "tail_short": (r"MAIN;mode_tail;tail_caller;tail_short(;mix)?", 1),
        "tail_last": (r"MAIN;mode_tail;tail_caller;tail_last(;SPIN)?", 20),
        "around": (r"MAIN;mode_tail(;(CLOCK|STUB|RESOLVE|tail_caller))?", 0),
    }),
    "coroutine": mode({
        "mode_coroutine": (r"MAIN;mode_coroutine(;(CLOCK|STUB|RESOLVE|swapcontext|(__)?getcontext|(__)?makecontext|"
                           r"(__)?mmap(64)?(;(__GI_)?(__)?mmap(64)?)?))?", 0),
    }, ends=[
        ("coroutine",
         r"(\[no unwind info\];)?(__start_context|libc\.so\.6\+\w*);(coroutine_one|coroutine_two)"
         r"(;(STUB|RESOLVE|swapcontext|coroutine_work_(one|two)(;SPIN)?))?",
         "makecontext writes the address of __start_context in place of a return address (glibc's makecontext.c): it does not "
         "follow a call and never returns, so the coroutine's chain begins there", 60),
        ("swapcontext", r"SWITCHING",
         "glibc's swapcontext.S has no CFI for the switch: from `mov oRSP(%rdx),%rsp` to `push %rcx` the CFA is wrong"),
    ]),
    "exception": mode({
        "personality": (r"MAIN;mode_exception;catcher;thrown_one;thrown_two(;thrown_three;thrower;__cxa_throw)?;_Unwind_\w+"
                        r"(;ANY)?;__gxx_personality_v0(;ANY)*", 2),
        "_Unwind_RaiseException": (r"MAIN;mode_exception;catcher;thrown_one;thrown_two;thrown_three;thrower;__cxa_throw;"
                                   r"_Unwind_RaiseException(;ANY)*", 20),
        "_Unwind_Resume": (r"MAIN;mode_exception;catcher;thrown_one;thrown_two;_Unwind_Resume(;ANY)*", 5),
        "destructor": (r"MAIN;mode_exception;catcher;thrown_one;thrown_two;Destroyed::~?Destroyed(;destroy_work(;SPIN)?)?", 2),
        "catch": (r"MAIN;mode_exception;catcher;catch_work(;SPIN)?", 2),
        # The CFI of the last jump gives the landing pad.
        "landing": (r"MAIN;mode_exception;catcher(;thrown_one;thrown_two)?;_Unwind_(Resume|RaiseException)", 0),
        "throwing": (r"MAIN;mode_exception;catcher(;thrown_one(;thrown_two(;thrown_three(;thrower)?)?)?)?"
                     r"(;STUB|;RESOLVE)?", 0),
        "new exception": (r"MAIN;mode_exception;catcher;thrown_one;thrown_two;thrown_three;thrower"
                          r"(;(?!_Unwind_|__cxa_throw;_Unwind_)ANY)+", 0),
        "end of an exception": (r"MAIN;mode_exception;catcher(;(?!_Unwind_(?!DeleteException)|__cxa_throw)ANY)+", 0),
        "around": (r"MAIN;mode_exception(;CLOCK|;STUB|;RESOLVE)?", 0),
    }, ends=[
        ("uw_install_context",
         r"(.*;)?(thrown_two|catcher);_Unwind_(RaiseException|Resume)(;(libgcc_s\.so\.1\+\w*|_Unwind_DebugHook|uw_\w+|__memcpy\w*)){0,2}",
         "libgcc's uw_install_context_1 writes the landing function's registers, including its return address, over its own saved "
         "ones: until the jump _Unwind_RaiseException and _Unwind_Resume seem to be called from there, on the wrong stack"),
    ]),
    # The CPU decides which of three consecutive instructions gets the sample.
    "plt": mode({
        "library_add": (r"MAIN;mode_plt;library_add", 0.3),
        "PLT stub": (r"MAIN;mode_plt;STUB", 1),
        "around": (r"MAIN;mode_plt(;(CLOCK|RESOLVE))?", 0),
    }),
    "lazy": mode({
        "_dl_runtime_resolve": (r"MAIN;mode_lazy;lazy_round;_dl_runtime_resolve\w*", 5),
        "_dl_fixup": (r"MAIN;mode_lazy;lazy_round;RESOLVE", 5),
        "PLT stub": (r"MAIN;mode_lazy;lazy_round;STUB", 0.05),
        "called": (r"MAIN;mode_lazy;lazy_round(;lazy_\d\d)?", 0.2),
        "around": (r"MAIN;mode_lazy(;(CLOCK|STUB|RESOLVE|find_slots(;(STUB|RESOLVE))?)|;LIBRARY(;ANY)*)?", 0),
    }),
    # Mode lazy with LD_AUDIT: ld.so stays in the chain of every call through a PLT.
    "audit": mode({
        "called by ld.so": (r"MAIN;mode_lazy;lazy_round;_dl_runtime_profile\w*;lazy_\d\d", 1),
        "_dl_audit_pltexit": (r"MAIN;mode_lazy;lazy_round;_dl_runtime_profile\w*;_dl_audit_pltexit(;LIBRARY)*", 3),
        "_dl_runtime_profile": (r"MAIN;mode_lazy;lazy_round;_dl_runtime_profile\w*(;_dl_profile_fixup(;LIBRARY)*)?", 20),
        "PLT stub": (r"MAIN;mode_lazy;lazy_round;STUB", 0.05),
        "around": (r"MAIN(;mode_lazy(;lazy_round|;cpu_seconds|;find_slots)?|;cpu_seconds)?(;STUB|;_dl_runtime_profile\w*(;ANY)*)?", 0),
    }),
    "vdso": mode({
        "vDSO": (r"MAIN;mode_vdso;GETTIME;VDSO(;\w+|;VDSO)*", 50),
        "around": (r"MAIN;mode_vdso(;(CLOCK|STUB|RESOLVE|GETTIME))?", 0),
    }),
    "reload": mode({
        "left": (r"MAIN;mode_reload;call_left(;left_outer(;left_inner)?)?", 30),
        "right": (r"MAIN;mode_reload;call_right(;right_outer(;right_inner)?)?", 30),
        "loading": (r"MAIN;mode_reload;(load(;(STUB|RESOLVE))?|(load;dl(open|sym)|dlclose)(;ANY)*|"
                    r"STUB|RESOLVE)", 0.1),
        "around": (r"MAIN;mode_reload(;(CLOCK))?", 0),
    }),
    "threads": mode({
        **{"worker %d" % n: (r"THREAD;worker<%d>;work<%d>(;SPIN)?" % (n, n), 2) for n in range(8)},
        "around": (r"BEGINNING|THREAD;worker<\d>(;(CLOCK|STUB|RESOLVE))?", 0),
        "first thread": (r"MAIN;mode_threads(;LIBRARY)*", 0),
    }),
    "fork": mode({
        "children": (r"MAIN;mode_fork;fork_one;fork_two;fork_work(;SPIN)?", 50),
        "fork": (r"MAIN;mode_fork;fork_one(;fork_two(;(STUB|RESOLVE|_exit|(__libc_)?fork(;LIBRARY)*))?)?", 0.1),
        "around": (r"MAIN;mode_fork(;STUB|;RESOLVE|(;LIBRARY)+)?", 0),
    }, ends=[
        ("copied page", r"\[stack bytes ran out\];(fork_one|fork_two|fork_work|LIBRARY)(;LIBRARY)?",
         "the first write after fork: while the kernel copies a page of the stack (wp_page_copy, ptep_clear_flush in "
         "mm/memory.c) none is mapped, and its bytes cannot be read"),
    ]),
    "spawn": mode({
        "the spawned": (r"MAIN;mode_leaf;leaf_outer;leaf_inner(;mix)?", 50),
        "posix_spawn": (r"MAIN;mode_spawn;spawn_posix(;(RESOLVE|STUB|(__)?posix_spawn|__spawni\w*|LIBRARY)(;LIBRARY)*)?", 0),
        "posix_spawn's child": (r"CHILD(;__spawni_child(;LIBRARY)*)?", 0),
        "vfork": (r"MAIN;mode_spawn;spawn_vfork(;(RESOLVE|STUB|(__)?vfork|execve|waitpid|_*(__GI_)?_*wait\w*)(;_*wait\w*)*)?", 0),
        "around": (r"MAIN;(mode_spawn|mode_leaf)(;(CLOCK|STUB|RESOLVE|leaf_outer))?", 0),
    }),
    "exec": mode({
        # check.py knows to which of the two programs a sample belongs.
        "first program": (r"MAIN;mode_exec;exec_work_first(;SPIN)?", 20),
        "other program": (r"MAIN;mode_exec;exec_work_other(;SPIN)?", 20),
        "exec": (r"MAIN;mode_exec(;EXECUTING)?", 0),
    }),
    "thread-exec": mode({
        "first program": (r"THREAD;exec_thread;exec_work_first(;SPIN)?", 20),
        "other program": (r"THREAD;exec_thread;exec_work_other(;SPIN)?", 20),
        "exec": (r"THREAD;exec_thread(;EXECUTING)?", 0),
        "thread": (r"BEGINNING", 0),
        "first thread": (r"MAIN;mode_thread_exec(;fix_addresses)?(;STUB|;RESOLVE|(;LIBRARY)+)?", 0),
    }, ends=[
        ("killed", r"\[no user stack\](;LIBRARY){1,3}", "the other thread's exec kills the first thread while it waits"),
    ]),
    "bare-framed": mode({
        "bare_framed": (r"MAIN;mode_bare_framed;framed_caller;bare_framed", 20),
        "bare_framed_inner": (r"MAIN;mode_bare_framed;framed_caller;bare_framed;bare_framed_inner", 20),
        "around": (r"MAIN;mode_bare_framed(;(CLOCK|STUB|RESOLVE|framed_caller))?", 0),
    }),
    # The same samples, replayed without frame pointers.
    "bare-framed-stop": mode({
        "bare_framed": (r"MAIN;mode_bare_framed;framed_caller;bare_framed", 20),
        "bare_framed_inner": (r"MAIN;mode_bare_framed;framed_caller;bare_framed;bare_framed_inner", 20),
        "around": (r"MAIN;mode_bare_framed(;(CLOCK|STUB|RESOLVE|framed_caller))?", 0),
    }),
    # bare_<cpu>.S has no CFI and no frame pointer: the walk follows its code.
    "bare": mode({
        "bare_unframed": (r"MAIN;mode_bare;bare_caller;bare_unframed", 10),
        "bare_called": (r"MAIN;mode_bare;bare_caller;bare_unframed;bare_called(;SPIN)?", 30),
        "around": (r"MAIN;mode_bare(;(CLOCK|STUB|RESOLVE|bare_caller))?", 0),
    }),
}
PARTS["RAISE"] = r"(__GI_)?raise(;(LIBRARY|RESOLVE))*"
