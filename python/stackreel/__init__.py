# SPDX-License-Identifier: Apache-2.0
"""
Traces of stackreel captures, by libstackreel.

    with stackreel.open("stackreel.reel") as capture:
        for trace in capture.traces(pids=[1234]):
            print(trace.comm, [frame.function for frame in trace.frames])

The members of Info, Event, Module, Frame and Trace, the options of open() and those of Capture.traces() are those of stackreel.h's structs,
which describes them. What they contain is copied: it stays usable after the capture is closed. Threads may use one capture at once, each with
its own iterator.
"""
import builtins
import ctypes
import os
import weakref
from types import SimpleNamespace

from . import _library
from ._library import (ErrorCode, LabelKind, Loss, MatchKind, ModuleKind, ModuleState, Runtime, Runtimes, State, Step, Stop, Where, fields)

__version__ = "1.0.0"
__all__ = ["open", "version", "Capture", "Error", "Event", "Frame", "Info", "LossCount", "Module", "Problem", "Trace", "ErrorCode", "LabelKind",
           "Loss", "MatchKind", "ModuleKind", "ModuleState", "Runtime", "Runtimes", "State", "Step", "Stop", "Where"]

_functions = _library.load()


class Error(Exception):
    """`code` is an ErrorCode."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


class _Record(SimpleNamespace):
    def as_dict(self):
        return dict(vars(self))


class Info(_Record):
    """struct reel_capture_info; file_id is bytes."""


class Problem(_Record):
    """struct reel_capture_problem."""


class LossCount(_Record):
    """struct reel_loss_info."""


class Event(_Record):
    """struct reel_event_info."""


class Module(_Record):
    """struct reel_module_info."""


class Frame(_Record):
    """struct reel_frame: one function at one address. All traces of a capture share it."""

    def __str__(self):
        return self.function or f"{os.path.basename(self.module_path)}+{self.module_address:#x}"


class Trace(_Record):
    """
    struct reel_trace. `frames` is a tuple of Frame, leaf first, as are `addresses`, `steps` and, if asked for, `stack_pointers`; `labels` is a
    dict of values: numbers as int, texts as str.
    """

    @property
    def is_complete(self):
        return self.stop == Stop.ROOT

    def as_dict(self):
        """For tables: `frames` and the enums as names."""
        return {**vars(self), "frames": [str(frame) for frame in self.frames], "steps": [step.name for step in self.steps],
                "where": self.where.name, "state": self.state.name, "stop": self.stop.name}


def version():
    """The version of libstackreel in use."""
    return _functions.reel_version().decode()


def _check(error):
    if not error:
        return
    failed = Error(ErrorCode(_functions.reel_error_code(error)), os.fsdecode(_functions.reel_error_message(error)))
    _functions.reel_error_destroy(error)
    raise failed


def _fill(struct, values):
    """A struct of options with these members; lists get their count, or end with NULL if the struct has none."""
    kinds = type(struct).kinds
    struct.size = ctypes.sizeof(struct)
    for name, value in values.items():
        if name not in kinds or name == "size" or name.startswith("n_"):
            raise TypeError(f"unknown option '{name}'")
        if value is None:
            continue
        kind = kinds[name]
        if isinstance(value, (str, bytes, os.PathLike)) and kind is not ctypes.c_char_p:
            raise TypeError(f"option '{name}' is a list")
        if kind is _library.Strings:
            value = [os.fsencode(item) for item in value]
            kind = ctypes.c_char_p
            count = len(value) + ("n_" + name not in kinds)
        elif kind is ctypes.POINTER(_library.LabelMatch):
            value = [_library.LabelMatch(os.fsencode(key), os.fsencode(text), match) for key, text, match in
                     (item if len(item) == 3 else (*item, MatchKind.VALUE) for item in value)]
            kind, count = _library.LabelMatch, len(value)
        elif kind is ctypes.POINTER(ctypes.c_uint32):
            value = list(value)
            kind, count = ctypes.c_uint32, len(value)
        else:
            setattr(struct, name, os.fsencode(value) if kind is ctypes.c_char_p else value)
            continue
        setattr(struct, name, (kind * count)(*value))
        if "n_" + name in kinds:
            setattr(struct, "n_" + name, len(value))
    return struct


def open(path, **options):
    """Opens a capture. Options are the members of struct reel_capture_options, such as no_inlines=True or debug_dirs=["/debug"]."""
    return Capture(path, **options)


class Capture:
    """An open capture; a context manager. Iterating it gives all its traces."""

    def __init__(self, path, **options):
        self._handle = None
        self._iterators = weakref.WeakSet()
        self._frames = {}
        handle = ctypes.c_void_p()
        _check(_functions.reel_capture_open(os.fsencode(path), _fill(_library.CaptureOptions(), options), handle))
        self._handle = handle
        info = _functions.reel_capture_info(handle).contents
        self.info = Info(**{**fields(info), "file_id": bytes(info.file_id)})

    def close(self):
        for iterator in list(self._iterators):
            iterator.close()
        handle, self._handle = self._handle, None
        _functions.reel_capture_close(handle)

    def __del__(self):
        if getattr(self, "_handle", None):
            self.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __iter__(self):
        return self.traces()

    def _open(self):
        if not self._handle:
            raise ValueError("the capture is closed")
        return self._handle

    def _list(self, function, kind):
        count = ctypes.c_size_t()
        items = function(self._open(), count)
        return [kind(**fields(items[i])) for i in range(count.value)]

    @property
    def problems(self):
        """The problems found so far, as list of Problem."""
        return self._list(_functions.reel_capture_problems, Problem)

    @property
    def losses(self):
        return self._list(_functions.reel_capture_losses, LossCount)

    def event(self, number):
        """The Event with a trace's `event`; None if it does not exist."""
        event = _functions.reel_capture_event(self._open(), number)
        return Event(**fields(event.contents)) if event else None

    def module(self, number):
        """The Module with a frame's `module_id` in its present state; None if it does not exist."""
        module = _fill(_library.ModuleInfo(), {})
        _check(_functions.reel_capture_module(self._open(), number, module))
        return Module(**fields(module)) if module.id else None

    def traces(self, **filter):
        """
        An iterator of the traces. The filter's options are the members of struct reel_filter, such as comms=["nginx*"], with "from" as
        from_, and labels=[(key, value), ...] or (key, value, MatchKind).
        """
        if "from_" in filter:
            filter["from"] = filter.pop("from_")
        return _Traces(self, _fill(_library.Filter(), filter))

    def _frame(self, pointer):
        frame = self._frames.get(pointer)
        if frame is None:
            frame = Frame(**fields(_library.Frame.from_address(pointer)))
            self._frames[pointer] = frame
        return frame


class _Traces:
    def __init__(self, capture, filter):
        self._handle = ctypes.c_void_p()
        self._capture = capture
        _check(_functions.reel_traces_create(capture._open(), filter, self._handle))
        capture._iterators.add(self)

    def close(self):
        handle, self._handle = self._handle, None
        _functions.reel_traces_destroy(handle)

    def __del__(self):
        if self._handle:
            self.close()

    def __iter__(self):
        return self

    def __next__(self):
        if not self._handle:
            raise StopIteration
        pointer = ctypes.POINTER(_library.Trace)()
        _check(_functions.reel_traces_next(self._handle, pointer))
        if not pointer:
            self.close()
            raise StopIteration
        trace = pointer.contents
        n, frame = trace.n_frames, self._capture._frame
        members = fields(trace, ("frames", "addresses", "steps", "frame_chain", "labels", "stack_pointers", "n_frames", "n_frame_chain", "n_labels"))
        return Trace(
            frames=tuple(map(frame, trace.frames[:n])), addresses=tuple(trace.addresses[:n]), steps=tuple(map(Step, trace.steps[:n])),
            stack_pointers=tuple(trace.stack_pointers[:n]) if trace.stack_pointers else None,
            frame_chain=tuple(trace.frame_chain[:trace.n_frame_chain]), labels=_labels(trace), **members)


def _labels(trace):
    labels = {}
    for label in trace.labels[:trace.n_labels]:
        value = os.fsdecode(label.text) if label.kind == LabelKind.TEXT else label.number
        labels[os.fsdecode(label.key)] = value - (1 << 64) if label.kind == LabelKind.SIGNED and value >> 63 else value
    return labels
