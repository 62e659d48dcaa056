"""Encrypted captures, from SPEC.md section 3.4: a part of reel_reader.py, see there.

The primitives are libsodium's own, called from here.
"""

import base64
import ctypes
import ctypes.util
import struct

from reel_records import LOCKED, UNSUPPORTED, ReelError, corrupt

STREAM_HEADER, MESSAGE, FINAL, MESSAGE_OVERHEAD = 24, 0, 3, 17
HIDDEN = struct.Struct("<QQI")
# The frame's header, the stream's, message 1, and the overhead of message 2.
HEAD = 8 + STREAM_HEADER + HIDDEN.size + MESSAGE_OVERHEAD
OVERHEAD = HEAD + MESSAGE_OVERHEAD
MAX_KEYS = 64
ALGORITHM = 2


def load_sodium():
    name = ctypes.util.find_library("sodium")
    if not name:
        raise OSError("libsodium is not installed")
    sodium = ctypes.CDLL(name)
    if sodium.sodium_init() < 0:
        raise OSError("cannot initialize libsodium")
    return sodium


def hash256(sodium, data):
    out = ctypes.create_string_buffer(32)
    sodium.crypto_generichash(out, ctypes.c_size_t(32), data, ctypes.c_ulonglong(len(data)),
                              None, ctypes.c_size_t(0))
    return out.raw


class Identity:
    """A secret key, from the first line of a key file that contains one."""

    def __init__(self, path):
        self.sodium = load_sodium()
        with open(path, encoding="ascii") as file:
            lines = [line.strip() for line in file]
        text = next(line for line in lines if line.startswith("reelsec1_"))
        data = base64.urlsafe_b64decode(text[9:])
        self.secret, check = data[:32], data[32:]
        if len(data) != 36 or hash256(self.sodium, text[:9].encode() + self.secret)[:4] != check:
            raise ValueError("%s: the key's check bytes are wrong" % path)
        public = ctypes.create_string_buffer(32)
        self.sodium.crypto_scalarmult_base(public, self.secret)
        self.public = public.raw
        self.id = hash256(self.sodium, self.public)[:8]

    def file_key(self, records):
        """From KEY records of the known algorithm; raises ReelError if none is for this key."""
        for record in records[:MAX_KEYS]:
            if record["key"] != self.id:
                continue
            key = ctypes.create_string_buffer(32)
            sealed = record["sealed"]
            if len(sealed) != 80 or self.sodium.crypto_box_seal_open(
                    key, sealed, ctypes.c_ulonglong(80), self.public, self.secret):
                raise corrupt("the sealed key does not open")
            return key.raw
        raise ReelError(LOCKED, "encrypted to other keys")


def known_keys(records):
    """The KEY records of the known algorithm; raises ReelError if there are none."""
    keys = [record for record in records if record["record"] == "KEY"]
    known = [record for record in keys if record["algorithm"] == ALGORITHM]
    if keys and not known:
        raise ReelError(UNSUPPORTED, "keys of unknown algorithms", 0)
    if not known:
        raise corrupt("a key block without keys")
    return known


class Cipher:
    """Decrypts the payloads of one file."""

    def __init__(self, sodium, file_header, key, raw_keys):
        """file_header: as stored; raw_keys: the bytes of the records of the block of keys."""
        self.sodium = sodium
        self.key = key
        self.raw_keys = raw_keys
        self.associated = file_header + hash256(sodium, raw_keys)

    def messages(self, header, payload):
        """Message 1, and 2 if `payload` extends that far; `header` is the block's 80 bytes."""
        stored, = struct.unpack_from("<I", header, 24)
        if stored < OVERHEAD or payload[:8] != struct.pack("<II", 0x184D2A5B, stored - 8):
            raise corrupt("the payload is not a single frame of an encrypted block")
        if any(header[40:60]) or any(header[64:76]):
            raise corrupt("times, records or reserved bytes in an encrypted block's header")
        # Except for payload crc and crc.
        associated = self.associated + header[:60] + bytes(4) + header[64:76] + bytes(4)
        state = ctypes.create_string_buffer(
            self.sodium.crypto_secretstream_xchacha20poly1305_statebytes())
        self.sodium.crypto_secretstream_xchacha20poly1305_init_pull(state, payload[8:32], self.key)
        yield self.pull(state, payload[32:HEAD], associated, MESSAGE)
        yield self.pull(state, payload[HEAD:], associated, FINAL)

    def pull(self, state, data, associated, tag):
        out = ctypes.create_string_buffer(max(len(data) - MESSAGE_OVERHEAD, 1))
        found = ctypes.c_ubyte()
        if self.sodium.crypto_secretstream_xchacha20poly1305_pull(
                state, out, None, ctypes.byref(found), data, ctypes.c_ulonglong(len(data)),
                associated, ctypes.c_ulonglong(len(associated))) or found.value != tag:
            raise corrupt("the payload does not open with the file's key")
        return out.raw[:len(data) - MESSAGE_OVERHEAD]
