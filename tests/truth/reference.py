"""Unwinds one sample by the book: rows from libdw's CFI reader, DWARF 5 section 6.4.4, and the bytes of the sample. Tests only.

Slow, and deliberately without guesses: where the bytes and the CFI do not suffice, it stops, and gives the reason. It also
notes for each frame what is known to mislead other unwinders:

    popped       a register whose slot, by the row, is below the stack pointer, and which the code before pc has popped
                 (the code's bytes are shown); the register itself has its value
    below        the same, but the code does not show it
    edge         a slot within the last 16 captured bytes, or beyond them

The result of an unwinder with a known fault can be reproduced, to identify the fault: see `popped` and `shorter` of unwind().
"""

import collections
import ctypes
import os
import struct

RETURN_ADDRESS, STACK_POINTER = 16, 7
NAMES = "rax rdx rcx rbx rsi rdi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15 ra".split()

Frame = collections.namedtuple("Frame", "pc is_call cfa row notes mapping vaddr")
Trace = collections.namedtuple("Trace", "frames stop")


class Op(ctypes.Structure):
    _fields_ = [("atom", ctypes.c_uint8), ("number", ctypes.c_uint64), ("number2", ctypes.c_uint64), ("offset", ctypes.c_uint64)]


class Unreadable(Exception):
    pass


def libdw():
    library = ctypes.CDLL("libdw.so.1")
    elf = ctypes.CDLL("libelf.so.1")
    elf.elf_version(1)
    pointer, ops = ctypes.c_void_p, ctypes.POINTER(ctypes.POINTER(Op))
    for function, arguments, result in (
        (elf.elf_begin, (ctypes.c_int, ctypes.c_int, pointer), pointer),
        (elf.elf_memory, (ctypes.c_char_p, ctypes.c_size_t), pointer),
        (library.dwarf_begin_elf, (pointer, ctypes.c_int, pointer), pointer),
        (library.dwarf_getcfi_elf, (pointer,), pointer),
        (library.dwarf_getcfi, (pointer,), pointer),
        (library.dwarf_cfi_addrframe, (pointer, ctypes.c_uint64, ctypes.POINTER(pointer)), ctypes.c_int),
        (library.dwarf_frame_cfa, (pointer, ops, ctypes.POINTER(ctypes.c_size_t)), ctypes.c_int),
        (library.dwarf_frame_register, (pointer, ctypes.c_int, ctypes.POINTER(Op), ops, ctypes.POINTER(ctypes.c_size_t)), ctypes.c_int),
        (library.dwarf_frame_info, (pointer, ctypes.POINTER(ctypes.c_uint64), ctypes.POINTER(ctypes.c_uint64),
                                    ctypes.POINTER(ctypes.c_bool)), ctypes.c_int),
    ):
        function.argtypes, function.restype = arguments, result
    return library, elf


DW, ELF = libdw()
FREE = ctypes.CDLL(None).free
FREE.argtypes = (ctypes.c_void_p,)


class Row:
    """cfa: a list of ops. rules[n]: None (undefined), "same", or ops that give the slot's address (the value, if stack_value ends them)."""

    def __init__(self, frame):
        ops, count = ctypes.POINTER(Op)(), ctypes.c_size_t()
        if DW.dwarf_frame_cfa(frame, ctypes.byref(ops), ctypes.byref(count)):
            raise Unreadable("no CFA")
        self.cfa = copied(ops, count)
        self.rules = []
        for register in range(RETURN_ADDRESS + 1):
            memory, ops = (Op * 3)(), ctypes.POINTER(Op)()
            if DW.dwarf_frame_register(frame, register, memory, ctypes.byref(ops), ctypes.byref(count)):
                raise Unreadable("no rule")
            if count.value:
                self.rules.append(copied(ops, count))
            else:
                self.rules.append(None if ctypes.cast(ops, ctypes.c_void_p).value == ctypes.addressof(memory) else "same")
        signal = ctypes.c_bool()
        start, end = ctypes.c_uint64(), ctypes.c_uint64()
        DW.dwarf_frame_info(frame, ctypes.byref(start), ctypes.byref(end), ctypes.byref(signal))
        self.begin, self.end, self.signal = start.value, end.value, signal.value


class CrtRow:
    """In .init and .fini, which have no CFI: the code between crti.S's sub $8,%rsp and crtn.S's add $8,%rsp; ret."""

    signal = False

    def __init__(self, has_subtracted):
        self.cfa = [(0x77, 16 if has_subtracted else 8, 0)]  # breg7
        self.rules = ["same"] * RETURN_ADDRESS + [[(0x9C, 0, 0), (0x08, 8, 0), (0x1C, 0, 0)]]  # CFA - 8
        self.rules[STACK_POINTER] = [(0x9C, 0, 0), (0x9F, 0, 0)]


def copied(ops, count):
    return [(ops[i].atom, ops[i].number, ops[i].number2) for i in range(count.value)]


class Module:
    """An ELF file: PT_LOADs, bytes, and the row of each address (.eh_frame first, then .debug_frame)."""

    def __init__(self, data, descriptor):
        self.data, self.rows = data, {}
        if data[:6] != b"\x7fELF\x02\x01":
            raise Unreadable("no 64-bit ELF file")
        table, = struct.unpack_from("<Q", data, 32)
        size, count = struct.unpack_from("<HH", data, 54)
        self.loads = []
        for i in range(count):
            kind, flags, offset, vaddr, _, file_size = struct.unpack_from("<IIQQQQ", data, table + i * size)
            if kind == 1:
                self.loads.append((offset, file_size, vaddr, bool(flags & 1)))
        self.loads.sort(key=lambda load: not load[3])
        self.crt = list(self.crt_sections())
        self.elf = ELF.elf_begin(descriptor, 8, None) if descriptor is not None else ELF.elf_memory(data, len(data))
        dwarf = DW.dwarf_begin_elf(self.elf, 0, None)
        self.cfis = [cfi for cfi in (DW.dwarf_getcfi_elf(self.elf), dwarf and DW.dwarf_getcfi(dwarf)) if cfi]

    def vaddr(self, offset):
        for start, size, vaddr, _ in self.loads:
            if start <= offset < start + size:
                return vaddr + offset - start
        return None

    def code(self, vaddr, size):
        for start, length, load, _ in self.loads:
            if load <= vaddr < load + length:
                return bytes(self.data[start + vaddr - load:start + vaddr - load + size])
        return b""

    def crt_sections(self):
        """(address, code) of .init and .fini."""
        table, = struct.unpack_from("<Q", self.data, 40)
        size, count, names = struct.unpack_from("<HHH", self.data, 58)
        headers = [struct.unpack_from("<IIQQQQ", self.data, table + i * size) for i in range(count)]
        for name, _, _, vaddr, offset, length in headers:
            at = headers[names][4] + name
            if self.data[at:at + 6] in (b".init\0", b".fini\0"):
                yield vaddr, bytes(self.data[offset:offset + length])

    def row(self, vaddr):
        if vaddr not in self.rows:
            self.rows[vaddr] = self.find_row(vaddr)
        return self.rows[vaddr]

    def find_row(self, vaddr):
        for cfi in self.cfis:
            frame = ctypes.c_void_p()
            if DW.dwarf_cfi_addrframe(cfi, vaddr, ctypes.byref(frame)) == 0:
                row = Row(frame)
                FREE(frame)
                return row
        for start, code in self.crt:
            begin = code.find(b"\x48\x83\xec\x08") + 4
            if 0 <= vaddr - start < len(code) and begin in (4, 8) and code.endswith(b"\x48\x83\xc4\x08\xc3"):
                return CrtRow(begin <= vaddr - start < len(code) - 1)
        return None


def own_vdso():
    """The kernel's one vDSO image, as this process has it."""
    with open("/proc/self/maps") as maps:
        for line in maps:
            if line.endswith("[vdso]\n"):
                start, end = (int(n, 16) for n in line.split()[0].split("-"))
                with open("/proc/self/mem", "rb", 0) as memory:
                    memory.seek(start)
                    return memory.read(end - start)
    raise Unreadable("no vDSO")


class Modules:
    def __init__(self):
        self.modules = {}

    def get(self, path):
        if path not in self.modules:
            self.modules[path] = self.open(path)
        return self.modules[path]

    @staticmethod
    def open(path):
        try:
            if path == "[vdso]":
                return Module(own_vdso(), None)
            if not os.path.isfile(path):
                return None
            descriptor = os.open(path, os.O_RDONLY)
            with open(path, "rb") as file:
                return Module(file.read(), descriptor)
        except (OSError, Unreadable, struct.error):
            return None


MASK = (1 << 64) - 1


def evaluate(ops, registers, read, cfa):
    """A location or value; stack_value ends a value. Backward jumps do not occur in CFI, and others do not occur in the
    judged files."""
    stack, is_value = [], False
    for atom, number, number2 in ops:
        if atom == 0x9C:  # call_frame_cfa
            stack.append(cfa)
        elif 0x70 <= atom <= 0x8F or atom == 0x92:  # breg*, bregx
            register, offset = (number, number2) if atom == 0x92 else (atom - 0x70, number)
            if registers.get(register) is None:
                raise Unreadable(f"{NAMES[register]} is not known")
            stack.append(registers[register] + offset)
        elif 0x50 <= atom <= 0x6F or atom == 0x90:  # reg*, regx: the register's contents are the value
            stack.append(registers.get(number if atom == 0x90 else atom - 0x50))
            is_value = True
        elif 0x30 <= atom <= 0x4F:
            stack.append(atom - 0x30)
        elif 0x08 <= atom <= 0x11:
            stack.append(number)
        elif atom == 0x23:
            stack[-1] += number
        elif atom == 0x06:
            stack[-1] = read(stack[-1] & MASK)
        elif atom == 0x12:
            stack.append(stack[-1])
        elif atom in (0x1A, 0x1C, 0x1E, 0x22, 0x24, 0x2A):
            b, a = stack.pop() & MASK, stack.pop() & MASK
            stack.append({0x1A: lambda: a & b, 0x1C: lambda: a - b, 0x1E: lambda: a * b, 0x22: lambda: a + b, 0x24: lambda: a << b,
                          0x2A: lambda: int((a ^ 1 << 63) >= (b ^ 1 << 63))}[atom]())
        elif atom == 0x9F:
            is_value = True
        else:
            raise Unreadable(f"DW_OP {atom:#x} is not supported here")
    return (None if stack[-1] is None else stack[-1] & MASK), is_value


def popped_by(code, register):
    """Whether the instruction that ends `code` popped the register: `pop` (58+r, 41 58+r) or `leave` (c9, rbp)."""
    number = {0: 0, 2: 1, 1: 2, 3: 3, 7: 4, 6: 5, 4: 6, 5: 7}.get(register, register)
    if number >= 8:
        return code[-2:] == bytes((0x41, 0x58 + number - 8))
    return (code[-1:] == bytes((0x58 + number,)) and code[-2:-1] != b"\x41") or (register == 6 and code[-1:] == b"\xc9")


def unwind(sample, find_mapping, modules, limit=100000, popped="keep", shorter=0):
    """popped: the treatment of a register whose slot is below sp: "keep" it, "lose" its value, or "stop" there.
    shorter: the number of bytes at the stack's end that are ignored."""
    registers = dict(sample.registers)
    base, stack = sample.stack_address, sample.stack[:len(sample.stack) - shorter]
    frames, is_call = [], False

    def read(address):
        if not base <= address <= base + len(stack) - 8:
            raise Unreadable("captured" if address >= base else "below")
        return struct.unpack_from("<Q", stack, address - base)[0]

    while len(frames) < limit:
        pc = registers[RETURN_ADDRESS]
        look_up = pc - 1 if is_call else pc
        mapping = find_mapping(look_up)
        module = mapping and modules.get(mapping.path)
        vaddr = module.vaddr(look_up - mapping.start + mapping.offset) if module else None
        row = module.row(vaddr) if vaddr is not None else None
        notes = []
        frames.append(Frame(pc, is_call, None, row, notes, mapping, vaddr))
        if not mapping:  # no call is there
            return Trace(frames[:-1] if is_call else frames, "no mapping")
        if not module or vaddr is None:
            return Trace(frames, "no file")
        if not row:
            return Trace(frames, "no CFI")
        try:
            cfa, _ = evaluate(row.cfa, registers, read, None)
        except Unreadable as why:
            return Trace(frames, f"CFA: {why}")
        frames[-1] = frames[-1]._replace(cfa=cfa)
        caller = {STACK_POINTER: cfa}
        stop = None
        for register, rule in enumerate(row.rules):
            if rule is None:
                if register == RETURN_ADDRESS:
                    stop = "root"
                continue
            if rule == "same":
                caller[register] = registers.get(register)
                continue
            try:
                value, is_value = evaluate(rule, registers, read, cfa)
            except Unreadable as why:
                if register == RETURN_ADDRESS:
                    stop = f"return address: {why}"
                continue
            if is_value:
                caller[register] = value
                continue
            if base + len(stack) - 16 <= value:
                notes.append(("edge", NAMES[register], value))
            try:
                caller[register] = read(value)
            except Unreadable as why:
                if register == RETURN_ADDRESS:
                    stop = f"return address: slot not {why}" if str(why) == "captured" else "return address: slot below sp"
                elif str(why) == "below":
                    code = module.code(vaddr - 15, 15) if not is_call else b""
                    shown = any(popped_by(code[:len(code) - n], register) for n in pops_before(code))
                    notes.append(("popped" if shown else "below", NAMES[register], value, code.hex()))
                    if popped == "stop":
                        stop = f"{NAMES[register]}: slot below sp"
                    caller[register] = registers.get(register) if popped == "keep" else None
        if caller.get(RETURN_ADDRESS) is None and not stop:
            stop = "return address unknown"
        if stop:
            return Trace(frames, stop)
        registers = caller
        is_call = not row.signal
        # code without a caller, whose CFI does not show that, is often called with a zero return address
        if registers[RETURN_ADDRESS] == 0:
            return Trace(frames, "zero")
    return Trace(frames, "limit")


def pops_before(code):
    """The number of bytes of pops that end `code`: several registers may have been popped in a row."""
    behind = [0]
    while True:
        rest = code[:len(code) - behind[-1]]
        if rest[-2:-1] == b"\x41" and 0x58 <= rest[-1] <= 0x5F:
            behind.append(behind[-1] + 2)
        elif rest and (0x58 <= rest[-1] <= 0x5F or rest[-1] == 0xC9):
            behind.append(behind[-1] + 1)
        else:
            return behind
