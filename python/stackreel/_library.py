# SPDX-License-Identifier: Apache-2.0
"""stackreel.h for ctypes: its structs, enums and functions, with the header's names and order (tests/python/test-package.py compares)."""
import ctypes
import enum
import os
from ctypes import POINTER, c_bool, c_char_p, c_int, c_size_t, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p

Strings = POINTER(c_char_p)


class Enum(enum.IntEnum):
    """Later libraries may have more values: those get a name with their number."""

    @classmethod
    def _missing_(cls, value):
        member = int.__new__(cls, value)
        member._name_, member._value_ = f"UNKNOWN_{value}", value
        return member


ErrorCode = Enum("ErrorCode", "NO_MEMORY OS NOT_A_CAPTURE UNSUPPORTED CORRUPT TRUNCATED INVALID NOT_FOUND MISMATCH PERMISSION KEY")
Runtimes = Enum("Runtimes", "INTERLEAVED ONLY NATIVE", start=0)
Loss = Enum("Loss", "OTHER RING_FULL RING_BUSY COPY_FAILED STACK_CUT PROCESS_EVENTS RECORDER THROTTLED MISSED CPU_NOT_WATCHED LEFT_OUT CODE JIT IMAGES "
            "WAITING", start=0)
ModuleKind = Enum("ModuleKind", "FILE VDSO KERNEL KERNEL_MODULE ANONYMOUS SPECIAL")
ModuleState = Enum("ModuleState", "UNUSED FOUND MISSING MISMATCH BROKEN", start=0)
Stop = Enum("Stop", "ROOT STACK_END STACK_CUT NO_UNWIND_INFO BAD_UNWIND_INFO NO_PROGRESS DEPTH_LIMIT MODULE_MISSING NO_MAPPING REGISTER_UNKNOWN "
            "NO_USER_STATE RECORDED_END UNKNOWN_CPU SCRUBBED GUESSED_ROOT OTHER_STACK", start=0)
Step = Enum("Step", "SAMPLE CFI SIGNAL FRAME_POINTER UNDO_CALL KERNEL LINK_REGISTER RECORDED SYNTHESIZED RECORDED_CALL GAP BEYOND_GAP OTHER_STACK "
            "RUNTIME", start=0)
Runtime = Enum("Runtime", "NONE PYTHON RUBY", start=0)
Where = Enum("Where", "UNKNOWN USER SYSCALL INTERRUPT KERNEL_THREAD", start=0)
State = Enum("State", "RUNNING BLOCKED PREEMPTED WOKEN", start=0)
LabelKind = Enum("LabelKind", "TEXT UNSIGNED SIGNED ADDRESS", start=0)
MatchKind = Enum("MatchKind", "VALUE PREFIX BELOW ID", start=0)

# The enum of each member that is one, and the prefix of the enum's constants in stackreel.h.
PREFIXES = {
    ErrorCode: "REEL_ERROR_", Runtimes: "REEL_RUNTIMES_", Loss: "REEL_LOSS_", ModuleKind: "REEL_MODULE_", ModuleState: "REEL_MODULE_",
    Stop: "REEL_STOP_", Step: "REEL_STEP_", Runtime: "REEL_RUNTIME_", Where: "REEL_WHERE_", State: "REEL_STATE_", LabelKind: "REEL_LABEL_",
    MatchKind: "REEL_MATCH_",
}


def struct(name, *fields):
    """A struct by (type, "names") pairs; one of an Enum is an int in C."""
    pairs = [(member, kind) for kind, names in fields for member in names.split()]
    return type(name, (ctypes.Structure,), {
        "_fields_": [(member, c_int if isinstance(kind, type) and issubclass(kind, Enum) else kind) for member, kind in pairs],
        "kinds": dict(pairs),
    })


def fields(value, skipped=()):
    """A struct's members as a dict of Python's types."""
    kinds = type(value).kinds
    return {name: python(getattr(value, name), kinds[name]) for name in kinds if name != "size" and name not in skipped}


def python(value, kind):
    if isinstance(value, bytes):
        return os.fsdecode(value)
    return kind(value) if isinstance(kind, type) and issubclass(kind, Enum) else value


CaptureOptions = struct(
    "reel_capture_options", (c_size_t, "size"), (Strings, "symfs debug_dirs module_files"),
    (c_bool, "no_host_files no_inlines no_demangle no_frame_pointers"), (c_uint32, "max_frames threads"), (Strings, "identities"),
    (c_char_p, "debuginfod_cache"), (Runtimes, "runtimes"))
CaptureInfo = struct(
    "reel_capture_info", (c_size_t, "size"), (c_char_p, "path"), (c_uint16, "format_major format_minor"), (c_uint8 * 16, "file_id"),
    (c_char_p, "tool_version hostname kernel_release kernel_build_id arch"), (c_bool, "big_endian"), (c_uint32, "page_size cpus"),
    (c_char_p, "command_line"), (c_uint64, "start_time start_wall_time first_sample_time last_sample_time max_stack samples file_size blocks "
                                           "stored_bytes raw_bytes stack_bytes"),
    (c_bool, "scrubbed complete encrypted"), (c_uint64, "jit_symbols jit_lines jit_unwinds"), (c_bool, "truncated"))
CaptureProblem = struct("reel_capture_problem", (ErrorCode, "code"), (c_char_p, "message"))
LossInfo = struct("reel_loss_info", (c_uint32, "cpu"), (Loss, "cause"), (c_uint64, "count"))
EventInfo = struct("reel_event_info", (c_size_t, "size"), (c_uint32, "id"), (c_char_p, "name weight_unit"), (c_uint64, "frequency period"),
                   (c_char_p, "waits_found_at"))
ModuleInfo = struct(
    "reel_module_info", (c_size_t, "size"), (c_uint64, "id"), (ModuleKind, "kind"), (ModuleState, "state"),
    (c_char_p, "path build_id local_path debug_path problem"), (c_uint64, "frames"), (c_bool, "unchecked embedded has_debug_info recorded"))
Frame = struct(
    "reel_frame", (c_size_t, "size"), (c_char_p, "function"), (c_uint32, "function_id"), (c_bool, "inlined kernel exact"), (c_char_p, "file"),
    (c_uint32, "line column"), (c_uint64, "function_offset module_address"), (c_char_p, "module_path"), (c_uint64, "module_id"),
    (c_bool, "is_fde"), (c_char_p, "linkage_name jit_program"), (Runtime, "runtime"), (c_uint32, "function_line"))
Label = struct("reel_label", (c_char_p, "key"), (LabelKind, "kind"), (c_uint64, "number"), (c_char_p, "text alias"))
Trace = struct(
    "reel_trace", (c_size_t, "size"), (c_uint64, "id time weight"), (c_uint32, "event cpu pid tid namespace_pid namespace_tid"),
    (c_uint64, "thread"), (c_char_p, "comm host"), (c_uint32, "host_id"), (Where, "where"), (State, "state"), (POINTER(c_void_p), "frames"),
    (POINTER(c_uint64), "addresses"), (POINTER(c_uint8), "steps"), (c_size_t, "n_frames n_kernel_frames"), (Stop, "stop"), (c_bool, "stack_cut"),
    (POINTER(c_uint64), "frame_chain"), (c_size_t, "n_frame_chain"), (c_bool, "frame_chain_cut"), (POINTER(Label), "labels"),
    (c_size_t, "n_labels"), (POINTER(c_uint64), "stack_pointers"), (c_uint64, "stack_size"), (c_bool, "stack_size_is_minimum"),
    (c_char_p, "process_comm"))
LabelMatch = struct("reel_label_match", (c_char_p, "key value"), (MatchKind, "kind"))
Filter = struct(
    "reel_filter", (c_size_t, "size"), (POINTER(c_uint32), "pids"), (c_size_t, "n_pids"), (POINTER(c_uint32), "tids"), (c_size_t, "n_tids"),
    (Strings, "comms"), (c_size_t, "n_comms"), (POINTER(c_uint32), "cpus"), (c_size_t, "n_cpus"), (c_uint64, "from to"),
    (POINTER(LabelMatch), "labels"), (c_size_t, "n_labels"), (c_bool, "stacks"))

Handle, Handles, Problem = c_void_p, POINTER(c_void_p), c_void_p
FUNCTIONS = {
    "reel_version": (c_char_p,),
    "reel_error_code": (c_int, Problem),
    "reel_error_message": (c_char_p, Problem),
    "reel_error_destroy": (None, Problem),
    "reel_capture_open": (Problem, c_char_p, POINTER(CaptureOptions), Handles),
    "reel_capture_close": (None, Handle),
    "reel_capture_info": (POINTER(CaptureInfo), Handle),
    "reel_capture_problems": (POINTER(CaptureProblem), Handle, POINTER(c_size_t)),
    "reel_capture_losses": (POINTER(LossInfo), Handle, POINTER(c_size_t)),
    "reel_capture_event": (POINTER(EventInfo), Handle, c_uint32),
    "reel_capture_module": (Problem, Handle, c_uint64, POINTER(ModuleInfo)),
    "reel_traces_create": (Problem, Handle, POINTER(Filter), Handles),
    "reel_traces_destroy": (None, Handle),
    "reel_traces_next": (Problem, Handle, POINTER(POINTER(Trace))),
}


def load():
    library = ctypes.CDLL(os.environ.get("LIBSTACKREEL", "libstackreel.so.1"))
    for name, (result, *arguments) in FUNCTIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library
