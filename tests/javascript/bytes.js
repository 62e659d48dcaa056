'use strict';
// Numbers and bytes as SPEC.md, section 1, defines them.

const MAX_U64 = (1n << 64n) - 1n;
const u64 = (number) => BigInt.asUintN(64, number);
const fromZigzag = (number) => u64((number >> 1n) ^ -(number & 1n));

/** A problem that a reader must report: `kind` is one of the classes in section 10. */
class Problem extends Error {
  constructor(kind, message) {
    super(message);
    this.kind = kind;
  }
}

const malformed = (message) => new Problem('corrupt', `malformed: ${message}`);

/** Reads bytes from the front; a read past their end is malformed. */
class Cursor {
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
  }

  get left() {
    return this.bytes.length - this.at;
  }

  take(size) {
    if (size > this.left) throw malformed('the data ends within a field');
    this.at += Number(size);
    return this.bytes.subarray(this.at - Number(size), this.at);
  }

  u8() {
    return this.take(1)[0];
  }

  uv() {
    let value = 0n;
    for (let i = 0; i < 10; i++) {
      const byte = this.u8();
      if (i === 9 && byte > 1) break;
      value |= BigInt(byte & 127) << BigInt(7 * i);
      if (byte < 128) return value;
    }
    throw malformed('a LEB128 number of more than 64 bits');
  }

  sv() {
    return fromZigzag(this.uv());
  }

  /** A `uv` that counts things in memory. */
  count(most, what) {
    const value = this.uv();
    if (value > BigInt(most)) throw malformed(`${what}: ${value}, at most ${most} are possible`);
    return Number(value);
  }

  sized() {
    return this.take(this.uv());
  }
}

module.exports = { MAX_U64, u64, fromZigzag, Problem, malformed, Cursor };
