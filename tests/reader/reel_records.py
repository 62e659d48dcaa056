"""Records of captures, from SPEC.md sections 4 to 6: a part of reel_reader.py, see there."""

MIB = 1 << 20
MASK = (1 << 64) - 1

# SPEC section 9.
MAX_REGION = 16 * MIB
MAX_REGIONS = 16
MAX_MISSING = 8192
MAX_REGISTERS = 256
MAX_LAYOUTS = 256
MAX_THREADS = 65536
MAX_LABELS = 32
MAX_LABEL_KEY = 65535
MAX_LABEL_TEXT = 1024
MAX_FRAMES = 512
MAX_FRAME_NODES = 1048576
MAX_ALL_FRAMES = 33554432
MAX_FUNCTION = (1 << 62) - 1
MAX_FUNCTION_TEXT = 4096
MAX_MARK_TEXT = 256
MAX_FUNCTION_LINES = 65536
MAX_CHAIN = 65536
MAX_BUILD_ID = 64
MAX_TEXT = 65536
MAX_SEALED = 1024
MAX_IMAGE = 16 * MIB

SIDE, SAMPLES, INDEX, KEYS = 1, 2, 3, 4

TRUNCATED = "truncated"
CORRUPT = "corrupt"
UNSUPPORTED = "unsupported"
LOCKED = "encrypted"
NOT_A_CAPTURE = "not a capture"


class ReelError(Exception):
    """The rest of the file or the block cannot be read."""

    def __init__(self, problem, message, offset=None):
        super().__init__(message)
        self.problem = problem
        self.message = message
        self.offset = offset


class OutOfRange(Exception):
    """A record to skip: it is well-formed, but has an invalid value."""


def corrupt(message):
    return ReelError(CORRUPT, message)


# ---- the fields of side records --------------------------------------------------------------
# NAME[:TYPE][=VALUE,VALUE...]: a field with listed values may not have others. A field of type "added" is an uv that
# the payload may omit at its end, "added_digest" bytes, "added_text" a text.

FIELDS = {
    1: ("CAPTURE", SIDE, """start_time start_wall_time clock machine word_bits=32,64
        byte_order=1,2 page_size cpus_possible cpus_online max_stack ring_size rings part
        recording:bytes hostname:text kernel_release:text kernel_version:text
        kernel_build_id:build_id tool_version:text command_line:bytes"""),
    2: ("EVENT", SIDE, """id perf_type perf_config frequency period weight_unit name:text
        value_names:added_text waits:added"""),
    3: ("MODULE", SIDE, """id kind device_major device_minor inode inode_generation
        build_id:build_id path:text file_size:added file_time:added file_digest:added_digest"""),
    4: ("IMAGE", SIDE, "module offset total_size bytes:bytes number:added base:added"),
    5: ("SPACE", SIDE, """time id parent origin pid namespace_pid machine
        word_bits=0,32,64 byte_order=0,1,2 code_mask data_mask vdso"""),
    6: ("SPACE_EXIT", SIDE, "time space"),
    7: ("THREAD", SIDE, "time id space origin tid namespace_tid parent comm:text"),
    8: ("THREAD_COMM", SIDE, "time thread comm:text"),
    9: ("THREAD_EXEC", SIDE, "time thread space"),
    10: ("THREAD_EXIT", SIDE, "time thread"),
    11: ("MAP", SIDE, "time space address size offset protection flags module"),
    12: ("UNMAP", SIDE, "time space address size how"),
    13: ("KERNEL_SYMBOL", SIDE, "address size module name:text since:added origin:added"),
    14: ("LOSS", SIDE, "time cpu cause count"),
    15: ("END", SIDE, """time reason samples exit_status
        blocks:added side_records:added"""),
    16: ("CODE", SIDE, "time space module address bytes:bytes since:added"),
    17: ("JIT_SYMBOL", SIDE, "time space address size source name:text"),
    18: ("JIT_UNWIND", SIDE, "time space address size frame_address eh_frame:bytes section:added"),
    19: ("JIT_LINE", SIDE, "time space function address line file:text"),
    20: ("TRACE_STEPS", SIDE, "id stop steps:bytes"),
    21: ("ORIGIN", SIDE, """id first_sample file:bytes start_time start_wall_time clock cpus_online part
        recording:bytes hostname:text kernel_release:text kernel_version:text
        kernel_build_id:build_id tool_version:text command_line:bytes"""),
    22: ("CGROUP", SIDE, "id path:text container_name:added_text pod_name:added_text namespace:added_text"),
    23: ("SPACE_CGROUP", SIDE, "time space cgroup"),
    24: ("FUNCTION", SIDE, "id runtime line name:function_text file:function_text lines:lines"),
    25: ("MARK", SIDE, "time kind text:mark_text"),
    26: ("CODE_END", SIDE, "time space address size"),
    32: ("SAMPLE_LAYOUT", SAMPLES, None),
    35: ("COLUMNS", SAMPLES, None),
    38: ("LABELS", SAMPLES, None),
    39: ("FRAMES", SAMPLES, None),
    48: ("INDEX_ENTRY", INDEX, """offset type sequence stored_size raw_size expanded_size
        time_first time_last records"""),
    49: ("DIGEST", INDEX, "sha256:bytes"),
    56: ("KEY", KEYS, "algorithm key:build_id sealed:sealed"),
}


def parse_field(text):
    name, _, values = text.partition("=")
    name, _, kind = name.partition(":")
    return name, kind or "uv", frozenset(map(int, values.split(","))) if values else None


RECORDS = {number: (name, block, [parse_field(f) for f in fields.split()] if fields else None)
           for number, (name, block, fields) in FIELDS.items()}


def check_capture(record):
    if len(record["recording"]) not in (0, 16):
        raise OutOfRange("recording has %d bytes, neither 0 nor 16" % len(record["recording"]))


def check_origin(record):
    check_id(record)
    if len(record["file"]) != 16:
        raise OutOfRange("file has %d bytes, not 16" % len(record["file"]))
    check_capture(record)


def check_digest(record):
    if len(record["sha256"]) != 32:
        raise OutOfRange("a digest of %d bytes" % len(record["sha256"]))


def check_id(record):
    if record["id"] == 0:
        raise OutOfRange("id is 0")


def check_image(record):
    if record["total_size"] > MAX_IMAGE:
        raise OutOfRange("an image of %d bytes" % record["total_size"])
    if record["offset"] + len(record["bytes"]) > record["total_size"]:
        raise OutOfRange("bytes exceed the image")
    if record["base"] > record["number"]:
        raise OutOfRange("base is not an earlier image")


def check_range(record):
    if record["size"] == 0:
        raise OutOfRange("size is 0")
    if record["address"] + record["size"] > 1 << 64:
        raise OutOfRange("the end exceeds 2^64")


def check_code(record):
    check_range(dict(record, size=len(record["bytes"])))


def check_trace_steps(record):
    if not 1 <= record["id"] <= 1 << 20:
        raise OutOfRange("id is 0 or above 2^20")
    cursor, frames = Cursor(record["steps"]), 0
    while cursor.pos < cursor.end:
        try:
            _, count = cursor.uv(), cursor.uv()
        except ReelError as error:
            raise OutOfRange("invalid steps") from error
        frames += count
        if frames > 65536 or (count == 0 and cursor.pos < cursor.end):
            raise OutOfRange("steps of %d frames" % frames)


def check_function(record):
    if not 1 <= record["id"] <= MAX_FUNCTION:
        raise OutOfRange("id %d" % record["id"])
    if record["runtime"] == 0:
        raise OutOfRange("runtime is 0")
    cursor = Cursor(record["lines"])
    while cursor.pos < cursor.end:
        try:
            cursor.uv(), cursor.sv()
        except ReelError as error:
            raise OutOfRange("invalid lines") from error


def check_mark(record):
    if record["kind"] == 0:
        raise OutOfRange("kind is 0")


CHECKS = {"CAPTURE": check_capture, "MODULE": check_id, "IMAGE": check_image,
          "SPACE": check_id, "THREAD": check_id, "MAP": check_range, "UNMAP": check_range,
          "CODE": check_code, "CODE_END": check_range, "JIT_SYMBOL": check_range, "JIT_UNWIND": check_range,
          "TRACE_STEPS": check_trace_steps, "ORIGIN": check_origin, "DIGEST": check_digest, "CGROUP": check_id,
          "FUNCTION": check_function, "MARK": check_mark}


# ---- numbers and strings ---------------------------------------------------------------------

class Cursor:
    """Takes fields from data[pos:end]."""

    def __init__(self, data, pos=0, end=None):
        self.data = data
        self.pos = pos
        self.end = len(data) if end is None else end

    def u8(self):
        if self.pos >= self.end:
            raise corrupt("ends within a field")
        self.pos += 1
        return self.data[self.pos - 1]

    def added(self):
        return self.uv() if self.pos < self.end else 0

    def added_digest(self):
        return self.limited(MAX_BUILD_ID, "digest") if self.pos < self.end else b""

    def added_text(self):
        return self.text() if self.pos < self.end else b""

    def uv(self):
        value = self.u8()
        if value < 0x80:
            return value
        value &= 0x7F
        for shift in range(7, 70, 7):
            byte = self.u8()
            if shift == 63 and byte > 1:
                raise corrupt("a number of more than 64 bits")
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
        return value

    def sv(self):
        value = self.uv()
        return (value >> 1) ^ -(value & 1)

    def take(self, size):
        if size > self.end - self.pos:
            raise corrupt("ends within a field")
        self.pos += size
        return self.data[self.pos - size:self.pos]

    def bytes(self):
        return self.take(self.uv())

    def limited(self, limit, what):
        size = self.uv()
        if size > limit:
            raise corrupt("a %s of %d bytes" % (what, size))
        return self.take(size)

    def text(self):
        return self.limited(MAX_TEXT, "text")

    def function_text(self):
        return self.limited(MAX_FUNCTION_TEXT, "text")

    def mark_text(self):
        return self.limited(MAX_MARK_TEXT, "text")

    def lines(self):
        return self.limited(MAX_FUNCTION_LINES, "list of lines")

    def sealed(self):
        return self.limited(MAX_SEALED, "sealed key")

    def build_id(self):
        return self.limited(MAX_BUILD_ID, "build-id")


def decode_fields(cursor, name, fields):
    """The whole record first: a malformed record outweighs a value out of range."""
    record = {field: getattr(cursor, kind)() for field, kind, _ in fields}
    for field, kind, values in fields:
        if values is not None and record[field] not in values:
            raise OutOfRange("%s is %d" % (field, record[field]))
        if kind in ("text", "added_text", "function_text", "mark_text"):
            record[field] = decode_text(field, record[field])
    if name in CHECKS:
        CHECKS[name](record)
    return record


def decode_text(field, value):
    if b"\0" in value:
        raise OutOfRange("a NUL in %s" % field)
    return value.decode("utf-8", "surrogateescape")


# ---- samples ---------------------------------------------------------------------------------

class ThreadState:
    """The values that a thread's next sample is relative to."""

    def __init__(self):
        self.pc = 0
        self.kernel_sp = 0
        self.layout = None
        self.values = []
        self.regions = []


def packed_bits(cursor, count):
    """Bits of ceil(count / 8) bytes, lowest first."""
    data = cursor.take((count + 7) // 8)
    if count % 8 and data[-1] >> count % 8:
        raise corrupt("padding bits are set")
    return [data[i // 8] >> i % 8 & 1 for i in range(count)]


def decode_chain(cursor):
    count = cursor.uv()
    if count > MAX_CHAIN:
        raise corrupt("a chain of %d addresses" % count)
    chain = []
    address = 0
    for _ in range(count):
        address = (address + cursor.sv()) & MASK
        chain.append(address)
    return chain or None


def overlay(data, address, old):
    """Copies the previous region's bytes at the same addresses into data."""
    begin = max(address, old["address"])
    end = min(address + len(data), old["address"] + len(old["bytes"]))
    if begin < end:
        old_bytes = old["bytes"][begin - old["address"]:end - old["address"]]
        data[begin - address:end - address] = old_bytes


class SampleDecoder:
    """The state of one sample block."""

    def __init__(self, expanded_limit):
        self.expanded_limit = expanded_limit
        self.expanded = 0
        self.layouts = {}
        self.threads = {}
        self.id = 0
        self.time = 0
        self.labels = []  # of samples to come: how many precede it, and its labels
        self.frames = []  # the same of frames

    def layout(self, cursor):
        layout = cursor.uv()
        count = cursor.uv()
        if count > MAX_REGISTERS:
            raise corrupt("a layout of %d registers" % count)
        registers = [[cursor.uv(), cursor.u8()] for _ in range(count)]
        if any(dwarf > 65535 or size not in (4, 8) for dwarf, size in registers):
            raise corrupt("a register above 65535, or of neither 4 nor 8 bytes")
        if layout in self.layouts:
            raise corrupt("layout %d is defined again" % layout)
        if len(self.layouts) == MAX_LAYOUTS:
            raise corrupt("more than %d layouts" % MAX_LAYOUTS)
        self.layouts[layout] = registers
        return {"id": layout, "registers": registers}

    @staticmethod
    def parts_known(parts):
        if parts > 31:
            raise ReelError(UNSUPPORTED, "a sample with parts %#x" % parts)
        return parts

    def thread(self, number):
        if number not in self.threads and len(self.threads) == MAX_THREADS:
            raise corrupt("samples of more than %d threads" % MAX_THREADS)
        # Later samples of the block depend on this one, so it counts even if it is skipped.
        return self.threads.setdefault(number, ThreadState())

    def add_labels(self, cursor):
        if self.labels:
            raise corrupt("labels of no samples")
        while cursor.pos < cursor.end:
            unlabelled = cursor.uv()
            count = cursor.uv()
            if not 1 <= count <= MAX_LABELS:
                raise corrupt("%d labels" % count)
            labels = [self.label(cursor) for _ in range(count)]
            keys = [key for key, _ in labels]
            if keys != sorted(set(keys)) or keys[0] == 0 or keys[-1] > MAX_LABEL_KEY:
                raise corrupt("keys of labels are %s" % keys)
            self.labels.append([unlabelled, labels])

    @staticmethod
    def label(cursor):
        key, kind = divmod(cursor.uv(), 4)
        if kind:
            return [key, cursor.sv() & MASK if kind == 2 else cursor.uv()]
        text = cursor.bytes()
        if len(text) > MAX_LABEL_TEXT or 0 in text:
            raise corrupt("a label's text of %d bytes" % len(text))
        return [key, text.decode("utf-8", "surrogateescape")]

    def next_labels(self):
        """Those of the next sample, or None."""
        if not self.labels:
            return None
        if self.labels[0][0] == 0:
            return self.labels.pop(0)[1]
        self.labels[0][0] -= 1
        return None

    def add_frames(self, cursor):
        """A sample's: the runtime, whether the outermost are missing, and [function, position, is an entry, native] of
        each, the innermost first."""
        if self.frames:
            raise corrupt("frames of no samples")
        tree, total = [], 0  # of (the frame outside, the frame, how many to the outermost, native or that outside)
        while cursor.pos < cursor.end:
            bare, (runtime, cut), outer, count = cursor.uv(), divmod(cursor.uv(), 2), cursor.uv(), cursor.uv()
            if runtime == 0 or outer > len(tree) or outer == count == 0:
                raise corrupt("frames of runtime %d, %d from the end, %d more" % (runtime, outer, count))
            at = tree[-outer] if outer else None
            if count + (at[2] if at else 0) > MAX_FRAMES:
                raise corrupt("more than %d frames of a sample" % MAX_FRAMES)
            for _ in range(count):
                if len(tree) == MAX_FRAME_NODES:
                    raise corrupt("more than %d frames in a tree" % MAX_FRAME_NODES)
                at = self.frame(cursor, at)
                tree.append(at)
            total += at[2]
            if total > MAX_ALL_FRAMES:
                raise corrupt("more than %d frames" % MAX_ALL_FRAMES)
            self.frames.append([bare, {"runtime": runtime, "cut": cut, "frames": at}])

    @staticmethod
    def frame(cursor, outer):
        _, _, depth, native = outer or (None, None, 0, 0)
        function, kind = divmod(cursor.uv(), 4)
        position = cursor.uv()
        if kind == 2:
            native = (native + cursor.sv()) & MASK
        if kind > 2:
            raise corrupt("a frame of kind %d" % kind)
        return outer, [function, position, int(kind > 0), native if kind == 2 else 0], depth + 1, native

    def next_frames(self):
        """Those of the next sample, or None."""
        if not self.frames:
            return None
        if self.frames[0][0]:
            self.frames[0][0] -= 1
            return None
        found = self.frames.pop(0)[1]
        at, found["frames"] = found["frames"], []
        while at:
            found["frames"].append(at[1])
            at = at[0]
        return found

    def forget(self):
        """A record's samples share nothing with another record's."""
        self.threads = {}
        self.id = self.time = 0

    @staticmethod
    def kernel_frame(cursor, thread, chain):
        first, second = (list(chain or []) + [0, 0])[:2]
        pc = (first + cursor.sv()) & MASK
        thread.kernel_sp = sp = (thread.kernel_sp + cursor.sv()) & MASK
        fp = (sp + cursor.sv()) & MASK
        return {"pc": pc, "sp": sp, "fp": fp, "return_address": (second + cursor.sv()) & MASK}

    def check_region(self, address, size):
        if size > MAX_REGION:
            raise corrupt("a region of %d bytes" % size)
        if address + size > 1 << 64:
            raise corrupt("the end of a region exceeds 2^64")
        self.expanded += size
        if self.expanded > self.expanded_limit:
            raise corrupt("more expanded bytes than the header declares")

    @staticmethod
    def missing(cursor, size):
        count = cursor.uv()
        if count > MAX_MISSING:
            raise corrupt("a region with %d missing ranges" % count)
        ranges = []
        end = 0
        for _ in range(count):
            begin = end + cursor.uv()
            length = cursor.uv()
            end = begin + length
            if length == 0 or end > size:
                raise corrupt("a missing range that is empty or outside its region")
            ranges.append([begin, length])
        return ranges
