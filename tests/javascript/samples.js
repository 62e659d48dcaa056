'use strict';
// COLUMNS (SPEC.md, sections 6.1 to 6.4).

const { MAX_U64, u64, malformed, Problem, Cursor } = require('./bytes.js');

const STREAMS = 16;
const MAX_REGIONS = 16;
const MAX_REGION = 16n << 20n;
const MAX_MISSING = 8192;
const MAX_CHAIN = 65536;
const MAX_THREADS = 65536;
const PARTS = { registers: 1n, kernelChain: 2n, frameChain: 4n, kernelFrame: 8n };
const ALL_PARTS = 31n;
const PC_KEY = MAX_U64;
const NO_STACK = { address: 0n, size: 0n };

const BIT_63 = 1n << 63n;
const GOLDEN = 0x9e3779b97f4a7c15n;

/** h() of section 6.4. */
function hash(x, y) {
  let z = u64(x * GOLDEN) ^ u64(y * 0xc2b2ae3d27d4eb4fn);
  z ^= z >> 29n;
  return Number(u64(z * 0xbf58476d1ce4e5b9n) >> 48n);
}

const slot = (number, bits) => Number(u64(number * GOLDEN) >> BigInt(64 - bits));

/** A word's place: the data that predict it, and the address it is relative to (section 6.4). */
class Place {
  constructor(a, b, key, above, second, stack) {
    Object.assign(this, { a, b, key, above, second, stack });
  }

  isOfStack(word) {
    return u64(word - this.stack.address) <= this.stack.size && u64(word - this.a) % BigInt(this.b) === 0n;
  }

  relative(word) {
    return this.isOfStack(word) ? u64(word - this.a) | BIT_63 : word;
  }

  standsFor(value) {
    return this.cut(value & BIT_63 ? this.a + BigInt.asIntN(63, value) : value);
  }

  cut(word) {
    return BigInt.asUintN(8 * this.b, word);
  }
}

/** A piece of memory, seen as words at aligned addresses with some bytes before and after them. */
class Region {
  constructor(kind, words, address, end, missing) {
    const size = u64(end - address);
    if (size > MAX_REGION) throw malformed(`a region of ${size} bytes`);
    if (address + size > 1n << 64n) throw malformed('a region that ends past the last address');
    Object.assign(this, { kind, address, end: u64(end), size, missing });
    this.b = words & 127;
    this.bigEndian = words > 128;
    if (this.b !== 4 && this.b !== 8) throw malformed(`words of ${this.b} bytes`);
    this.bytes = Buffer.alloc(Number(size));
    const before = Number(u64(-address) % BigInt(this.b));
    this.first = before < size ? before : 0;
    this.words = before < size ? Math.floor((this.bytes.length - before) / this.b) : 0;
  }

  copyFrom(other) {
    const start = other.address > this.address ? other.address : this.address;
    const from = Number(start - other.address);
    if (start < this.address + this.size && from < other.bytes.length) {
      other.bytes.copy(this.bytes, Number(start - this.address), from);
    }
  }

  get head() {
    return this.bytes.subarray(0, this.first);
  }

  get tail() {
    return this.bytes.subarray(this.first + this.words * this.b);
  }

  word(i) {
    const at = this.first + i * this.b;
    if (this.b === 4) return BigInt(this.bigEndian ? this.bytes.readUInt32BE(at) : this.bytes.readUInt32LE(at));
    return this.bigEndian ? this.bytes.readBigUInt64BE(at) : this.bytes.readBigUInt64LE(at);
  }

  setWord(i, word) {
    const at = this.first + i * this.b;
    if (this.b === 4) {
      if (this.bigEndian) this.bytes.writeUInt32BE(Number(word), at);
      else this.bytes.writeUInt32LE(Number(word), at);
    } else if (this.bigEndian) this.bytes.writeBigUInt64BE(word, at);
    else this.bytes.writeBigUInt64LE(word, at);
  }

  placeOf(i) {
    const a = this.address + BigInt(this.first + i * this.b);
    return new Place(a, this.b, a, this.relativeWord(i + 1), this.relativeWord(i + 2), this);
  }

  /** Relative values do not depend on the words above, so a place without them will do. */
  relativeWord(i) {
    if (i >= this.words) return 0n;
    const a = this.address + BigInt(this.first + i * this.b);
    return new Place(a, this.b, a, 0n, 0n, this).relative(this.word(i));
  }

  checkMissing() {
    for (const { offset, size } of this.missing) {
      if (this.bytes.subarray(offset, offset + size).some((byte) => byte !== 0)) throw malformed('a missing byte that is not 0');
    }
  }
}

/** The values that a thread's later samples are relative to. */
const nothingBefore = () => ({ pc: 0n, layout: null, values: [], regions: [], stackPointer: 0n });

class Columns {
  constructor(payload, block) {
    const cursor = new Cursor(payload);
    this.count = cursor.uv();
    this.streams = Array.from({ length: STREAMS }, () => new Cursor(cursor.sized()));
    this.block = block;
    this.threads = new Map();
    this.last = { id: 0n, time: 0n };
    this.byPlace = new BigUint64Array(65536);
    this.byWords = new BigUint64Array(65536);
    this.recent = Array(16).fill(0n);
    this.dictionary = new BigUint64Array(4096);
    this.highs = new BigUint64Array(256);
  }

  *samples() {
    for (let i = 0n; i < this.count; i++) {
      this.block.countSample();
      yield { ...this.sample(), labels: this.block.nextLabels(), runtimeFrames: this.block.nextFrames() };
    }
    if (this.streams.some((stream) => stream.left > 0)) throw malformed('bytes of a stream are left');
    if (this.block.labels.length > 0) throw malformed('labels of samples that do not exist');
    if (this.block.frames.length > 0) throw malformed('frames of samples that do not exist');
  }

  sample() {
    const head = this.head();
    if (head.parts & ~ALL_PARTS) throw new Problem('unsupported', `a sample with parts ${head.parts}`);
    if (head.regionCount > MAX_REGIONS) throw malformed(`${head.regionCount} regions`);
    const has = (part) => (head.parts & part) !== 0n;
    const before = this.before(head.thread);
    const chains = { kernelChain: [], frameChain: [], kernelFrame: null };
    const now = { ...head, pc: 0n, layout: null, known: [], values: [], regions: [], ...chains };
    // Early files have it above the flags.
    if (now.flags & 32n && !(now.parts & 16n)) Object.assign(now, { flags: now.flags & 255n, steps: now.flags >> 8n });
    if (has(PARTS.registers)) this.pc(now, before);
    for (let i = 0; i < head.regionCount; i++) now.regions.push(this.region(before.regions[i]));
    if (has(PARTS.registers)) this.registers(now, before);
    for (const region of now.regions) this.bytesOf(region);
    if (has(PARTS.kernelChain)) now.kernelChain = this.chain();
    if (has(PARTS.frameChain)) now.frameChain = this.chain();
    if (has(PARTS.kernelFrame)) now.kernelFrame = this.kernelFrame(now, before);
    before.regions = now.regions;
    if (now.layout) Object.assign(before, { pc: now.pc, layout: now.layout, values: now.values });
    return now;
  }

  before(thread) {
    if (!this.threads.has(thread)) {
      if (this.threads.size === MAX_THREADS) throw malformed('too many threads');
      this.threads.set(thread, nothingBefore());
    }
    return this.threads.get(thread);
  }

  region(old) {
    const stream = this.streams[2];
    const kind = stream.u8();
    const words = stream.u8();
    const { address, end } = this.place(old ?? { address: 0n, end: 0n });
    const region = new Region(kind, words, address, end, []);
    const count = stream.count(MAX_MISSING, 'missing ranges');
    for (let i = 0, at = 0n; i < count; i++) {
      const offset = at + stream.uv();
      const size = stream.uv();
      at = offset + size;
      if (size === 0n || at > region.size) throw malformed('a missing range of no bytes, or out of its region');
      region.missing.push({ offset: Number(offset), size: Number(size) });
    }
    this.block.countExpanded(region.size);
    if (old) region.copyFrom(old);
    return region;
  }

  bytesOf(region) {
    const raw = this.streams[14];
    raw.take(region.tail.length).copy(region.tail);
    this.words(region);
    raw.take(region.head.length).copy(region.head);
    region.checkMissing();
  }

  /** Layout and known registers. */
  layout(now) {
    const id = this.streams[3].uv();
    now.layout = this.block.layouts.get(id);
    if (!now.layout) throw malformed(`layout ${id} is not defined`);
    now.known = this.bits(Math.ceil(now.layout.length / 8), now.layout.length);
  }

  bits(size, used) {
    const bytes = this.streams[3].take(size);
    const bits = Array.from({ length: 8 * size }, (_, i) => (bytes[i >> 3] >> (i & 7)) & 1);
    if (bits.slice(used).includes(1)) throw malformed('a bit above those of the registers');
    return bits.slice(0, used);
  }

  pcPlace(before) {
    return new Place(0n, 8, PC_KEY, before.pc, 0n, NO_STACK);
  }

  /** A register's place, and its unchanged value: the old one, except that a register that held the pc follows the pc. */
  register(i, now, before) {
    const { size } = now.layout[i];
    const old = before.layout === now.layout ? before.values[i] : 0n;
    const follows = old !== 0n && old === before.pc && now.pc < 1n << BigInt(8 * size);
    const stack = now.regions[0] ?? NO_STACK;
    const place = new Place(stack.address, size, BigInt(i), now.pc, old, stack);
    return { place, kept: follows ? now.pc : old };
  }

  kernelFrame(now, before) {
    const stream = this.streams[15];
    const pc = u64((now.kernelChain[0] ?? 0n) + stream.sv());
    const sp = u64(before.stackPointer + stream.sv());
    const fp = u64(sp + stream.sv());
    const returnAddress = u64((now.kernelChain[1] ?? 0n) + stream.sv());
    before.stackPointer = sp;
    return { pc, sp, fp, return_address: returnAddress };
  }

  head() {
    const [stream, times] = this.streams;
    const id = u64(this.last.id + stream.sv());
    const [thread, cpu, event, weight] = [stream.uv(), stream.uv(), stream.uv(), stream.uv()];
    const where = BigInt(stream.u8());
    const [flags, parts, regionCount] = [stream.uv(), stream.uv(), stream.uv()];
    const steps = parts & 16n ? stream.uv() : 0n;
    const time = u64(this.last.time + times.sv());
    this.last = { id, time };
    return { id, time, thread, cpu, event, weight, where, flags, parts, regionCount, steps };
  }

  place(old) {
    const stream = this.streams[2];
    return { address: u64(old.address + stream.sv()), end: u64(old.end + stream.sv()) };
  }

  pc(now, before) {
    this.layout(now);
    const count = now.layout.length;
    this.changed = this.bits((count >> 3) + 1, count + 1);
    now.pc = this.changed[count] ? this.word(this.pcPlace(before)) : before.pc;
  }

  registers(now, before) {
    for (let i = 0; i < now.layout.length; i++) {
      const { place, kept } = this.register(i, now, before);
      if (this.changed[i] && !now.known[i]) throw malformed('a register changes that is not known');
      now.values.push(this.changed[i] ? this.word(place) : now.known[i] ? kept : 0n);
    }
  }

  words(region) {
    const gaps = this.streams[4];
    let left = region.words;
    for (let first = true; left > 0; first = false) {
      const stay = gaps.count(left, 'words that stay');
      if (stay === 0 && !first) throw malformed('no word stays');
      left -= stay;
      if (left === 0) break;
      const anew = gaps.count(left, 'words anew');
      if (anew === 0) throw malformed('no word is written anew');
      for (const end = left - anew; left > end; ) region.setWord(--left, this.word(region.placeOf(left)));
    }
  }

  word(place) {
    const atPlace = hash(place.above, place.key);
    const atWords = hash(place.above, place.second);
    const token = this.streams[5].u8();
    const whole = this.tokenValue(token, place, atPlace, atWords);
    if (token === 7) this.highs[slot(whole >> 24n, 8)] = whole >> 24n;
    if (token >= 5) {
      this.recent.splice(token >= 8 ? token - 8 : this.recent.length - 1, 1);
      this.recent.unshift(whole);
      this.dictionary[slot(whole, 12)] = whole;
    }
    const word = place.cut(whole);
    this.byPlace[atPlace] = this.byWords[atWords] = place.relative(word);
    return word;
  }

  /** The token's value, not yet cut to the word's size. */
  tokenValue(token, place, atPlace, atWords) {
    const { streams } = this;
    const size = BigInt(place.b);
    switch (token) {
      case 0: return place.standsFor(this.byPlace[atPlace]);
      case 1: return place.standsFor(this.byWords[atWords]);
      case 2: return 0n;
      case 3: return u64(place.a + size * BigInt.asIntN(8, BigInt(streams[6].u8())));
      case 4: return u64(place.a + size * streams[7].sv());
      case 5: {
        const index = streams[8].u8() + 256 * streams[9].u8();
        if (index >= this.dictionary.length) throw malformed(`word ${index} of the dictionary`);
        return this.dictionary[index];
      }
      case 6: {
        const high = this.highs[streams[10].u8()];
        const low = streams[11].u8() | (streams[12].u8() << 8) | (streams[13].u8() << 16);
        return u64((high << 24n) + BigInt(low));
      }
      case 7: return streams[14].take(place.b).reduceRight((word, byte) => (word << 8n) | BigInt(byte), 0n);
    }
    if (token > 23) throw malformed(`token ${token}`);
    return this.recent[token - 8];
  }

  chain() {
    const stream = this.streams[15];
    const addresses = [];
    for (let left = stream.count(MAX_CHAIN, 'addresses of a chain'), last = 0n; left > 0; left--) {
      last = u64(last + stream.sv());
      addresses.push(last);
    }
    return addresses;
  }
}

module.exports = { Columns };
