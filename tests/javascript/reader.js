#!/usr/bin/env node
'use strict';
// Prints a capture as JSON, one object per line: records and problems in the order of the file, then a summary.
// Usage: reader.js CAPTURE [KEY_FILE]

const fs = require('node:fs');
const zlib = require('node:zlib');
const { Problem, Cursor, malformed, u64 } = require('./bytes.js');
const { RECORDS, readRecord } = require('./records.js');
const { Columns } = require('./samples.js');
const { readFileHeader, readPayload, scan, expand, checkDensities } = require('./file.js');
const { Encryption, readSecretKey } = require('./encrypted.js');

const SAMPLE_LAYOUT = 32n;
const LABELS = 38n;
const FRAMES = 39n;
const MAX_FRAMES = 512;
const MAX_TREE = 1048576;
const MAX_ALL_FRAMES = 33554432;
const MAX_LABELS = 32;
const MAX_LABEL_TEXT = 1024;
const COLUMNS = 35n;
const MAX_LAYOUTS = 256;
const MAX_REGISTERS = 256;

/** Shared by the records of a block of samples: layouts, and limits of the whole block. */
class SampleBlock {
  constructor(header) {
    this.layouts = new Map();
    this.samplesLeft = 256 + 16 * header.storedSize;
    this.expandedLeft = header.expandedSize;
    // Of samples to come: how many without labels precede each, and its labels.
    this.labels = [];
    // The same of frames.
    this.frames = [];
  }

  defineLayout(payload) {
    const cursor = new Cursor(payload);
    const id = cursor.uv();
    const count = cursor.count(MAX_REGISTERS, 'registers');
    const registers = Array.from({ length: count }, () => ({ dwarf: cursor.count(65535, 'DWARF number'), size: cursor.u8() }));
    if (registers.some(({ size }) => size !== 4 && size !== 8)) throw malformed('a register of neither 4 nor 8 bytes');
    if (this.layouts.has(id) || this.layouts.size === MAX_LAYOUTS) throw malformed(`layout ${id} is one too many`);
    this.layouts.set(id, registers);
    return { id, registers };
  }

  addLabels(payload) {
    const cursor = new Cursor(payload);
    if (this.labels.length > 0) throw malformed('labels of no samples');
    while (cursor.left > 0) {
      const unlabelled = cursor.uv();
      const count = cursor.count(MAX_LABELS, 'labels');
      const labels = Array.from({ length: count }, () => this.label(cursor));
      if (count === 0 || labels.some(([key], i) => key > 65535n || key <= (i ? labels[i - 1][0] : 0n))) throw malformed('keys of labels');
      this.labels.push({ unlabelled, labels });
    }
  }

  label(cursor) {
    const first = cursor.uv();
    const key = first >> 2n;
    const kind = first & 3n;
    if (kind === 2n) return [key, u64(cursor.sv())];
    if (kind !== 0n) return [key, cursor.uv()];
    const text = cursor.sized();
    if (text.length > MAX_LABEL_TEXT || text.includes(0)) throw malformed('the text of a label');
    return [key, text.toString('utf8')];
  }

  nextLabels() {
    if (this.labels.length === 0 || this.labels[0].unlabelled-- !== 0n) return null;
    return this.labels.shift().labels;
  }

  addFrames(payload) {
    const cursor = new Cursor(payload);
    const tree = [];
    let left = MAX_ALL_FRAMES;
    if (this.frames.length > 0) throw malformed('frames of no samples');
    while (cursor.left > 0) {
      const bare = cursor.uv();
      const runtime = cursor.uv();
      const back = cursor.count(tree.length, 'frames back');
      const count = cursor.count(MAX_FRAMES, 'frames');
      if (runtime < 2n || (back === 0 && count === 0)) throw malformed('frames of no runtime, or none');
      let at = back > 0 ? tree[tree.length - back] : null;
      for (let i = 0; i < count; i++) {
        at = this.frame(cursor, at);
        tree.push(at);
      }
      left -= at.depth;
      if (at.depth > MAX_FRAMES || tree.length > MAX_TREE || left < 0) throw malformed('too many frames');
      this.frames.push({ bare, runtime: runtime >> 1n, cut: Number(runtime & 1n), at });
    }
  }

  frame(cursor, outer) {
    const first = cursor.uv();
    const kind = first & 3n;
    const position = cursor.uv();
    const before = outer ? outer.native : 0n;
    const native = kind === 2n ? u64(before + cursor.sv()) : before;
    if (kind === 3n) throw malformed('a frame of kind 3');
    const printed = [first >> 2n, position, kind > 0n ? 1 : 0, kind === 2n ? native : 0n];
    return { outer, printed, native, depth: outer ? outer.depth + 1 : 1 };
  }

  nextFrames() {
    if (this.frames.length === 0 || this.frames[0].bare-- !== 0n) return null;
    const { runtime, cut, at } = this.frames.shift();
    const frames = [];
    for (let frame = at; frame; frame = frame.outer) frames.push(frame.printed);
    return { runtime, cut, frames };
  }

  countSample() {
    if (this.samplesLeft-- === 0) throw malformed('too many samples for the stored bytes');
  }

  countExpanded(size) {
    this.expandedLeft -= size;
    if (this.expandedLeft < 0n) throw new Problem('corrupt', 'more bytes of regions than the header says');
  }
}

class Reader {
  constructor(file, secret, print) {
    this.file = file;
    this.secret = secret;
    this.print = print;
    this.counts = { blocks: 0, samples: 0 };
    // END counts blocks without the index, and records and samples without those of optional blocks.
    this.counted = { blocks: 0n, side_records: 0n, samples: 0n };
    this.damaged = false;
    this.misplaced = false;
    this.end = null;
    this.firstRecord = null;
    this.largestSequence = -1;
    this.entries = [];
  }

  read() {
    try {
      this.open();
    } catch (problem) {
      this.report(problem, { offset: 0 });
      return;
    }
    for (const { header, problem, at, summary } of this.found) {
      if (header) this.block(header);
      else if (problem) this.gap(problem, at);
      else this.finish(summary);
    }
    this.print({ summary: this.counts });
  }

  open() {
    const fileHeader = readFileHeader(this.file);
    this.found = [...scan(this.file, fileHeader.tag)];
    this.headers = this.found.flatMap(({ header }) => header ?? []);
    this.encryption = fileHeader.encrypted ? new Encryption(this.file, fileHeader, this.headers, this.secret) : null;
  }

  gap(problem, at) {
    this.misplaced = true;
    this.report(problem, { offset: at });
  }

  /** Reports a problem; other errors are bugs in this program. */
  report(problem, where) {
    if (!(problem instanceof Problem)) throw problem;
    this.damaged ||= where.type !== 2;
    this.print({ problem: problem.kind, message: problem.message, ...where });
  }

  block(header) {
    const where = { block: header.sequence, offset: header.at, type: header.type };
    this.sequence(header, where);
    const opened = this.admit(header);
    if (!opened) {
      this.misplaced = true;
      this.report(new Problem('corrupt', 'a block that is not of this file'), where);
      return;
    }
    this.counts.blocks++;
    if (header.typeName !== 'index' && header.typeName !== 'keys') this.counted.blocks++;
    if (header.unknown) {
      if (!header.optional) this.report(new Problem('unsupported', 'a block of unknown type, codec or flags'), where);
      return;
    }
    try {
      checkDensities(header, opened.records);
      const payload = readPayload(this.file, header);
      if (opened.frame === null) throw new Problem('corrupt', 'the payload can not be decrypted');
      this.records(header, opened.records, expand(opened.frame ?? payload, header), where);
    } catch (problem) {
      this.report(problem, where);
    }
  }

  /** The number of records, and the payload if it was encrypted; null for a block that is refused (section 3.4). */
  admit(header) {
    if (header.encrypted) return this.encryption && this.encryption.open(header);
    const fits = this.encryption ? this.encryption.isKeys(header) : header.typeName !== 'keys';
    return fits ? { records: header.records } : null;
  }

  sequence({ sequence }, where) {
    const gap = sequence - this.largestSequence - 1;
    this.misplaced ||= gap !== 0;
    if (gap > 0) this.report(new Problem('corrupt', `${gap} blocks are missing`), { ...where, type: null });
    if (gap < 0) this.report(new Problem('corrupt', 'a block number that was there already'), where);
    this.largestSequence = Math.max(this.largestSequence, sequence);
  }

  records(header, expected, raw, where) {
    const cursor = new Cursor(raw);
    const block = new SampleBlock(header);
    let count = 0;
    for (; cursor.left > 0; count++) {
      const tag = cursor.uv();
      const payload = cursor.sized();
      this.record({ id: tag >> 1n, critical: (tag & 1n) !== 0n, payload }, header, block, where);
    }
    if (count !== expected) throw new Problem('corrupt', `${count} records, but the header says ${expected}`);
  }

  record({ id, critical, payload }, header, block, where) {
    if (id === 0n) throw malformed('a record of id 0');
    const known = RECORDS.get(Number(id));
    const isSample = id === SAMPLE_LAYOUT || id === LABELS || id === FRAMES || id === COLUMNS;
    if (!known && !isSample && critical) throw new Problem('unsupported', `record ${id}`);
    if ((known && known.block !== header.typeName) || (isSample && header.typeName !== 'samples')) {
      throw malformed(`record ${id} in a block of another type`);
    }
    if (id === SAMPLE_LAYOUT) this.print({ record: 'SAMPLE_LAYOUT', ...block.defineLayout(payload) });
    else if (id === LABELS) block.addLabels(payload);
    else if (id === FRAMES) block.addFrames(payload);
    else if (isSample) this.samples(new Columns(payload, block), header, where);
    else if (known) this.known(known, payload, where);
    if (header.typeName === 'side') this.sideRecord(id, header, where);
  }

  known(known, payload, where) {
    const { fields, wrong } = readRecord(known, payload);
    if (wrong) {
      this.report(new Problem('corrupt', `${known.name}: out of range: ${wrong}`), where);
      return;
    }
    this.print({ record: known.name, ...fields });
    if (known.name === 'END') this.end = fields;
    if (known.name === 'INDEX_ENTRY') this.entries.push(fields);
  }

  sideRecord(id, header, where) {
    if (!header.optional) this.counted.side_records++;
    if (this.firstRecord === null && id !== 1n && !this.damaged) {
      this.report(new Problem('corrupt', 'CAPTURE is not the first record'), where);
    }
    this.firstRecord ??= id;
  }

  samples(record, header, where) {
    for (const sample of record.samples()) {
      if (!header.optional) this.counted.samples++;
      this.counts.samples++;
      this.print({ sample: printedSample(sample) });
    }
  }

  finish({ indexOffset, truncated }) {
    const trailer = indexOffset !== null;
    if (truncated || (trailer && !this.end)) {
      this.report(new Problem('truncated', 'the file ends too early'), { offset: this.file.length });
    }
    if (this.encryption && trailer && !this.misplaced && !this.indexIsRight(indexOffset)) {
      this.report(new Problem('corrupt', 'index and trailer do not agree'), { offset: indexOffset });
    }
    if (this.end && this.end.blocks !== 0n) {
      this.compareWithEnd(['blocks', 'side_records']);
      this.compareWithEnd(['samples']);
    }
  }

  /** Only an encrypted file's index matters here: other files are scanned for blocks, and their index is skipped. */
  indexIsRight(offset) {
    const indexes = this.headers.filter(({ typeName }) => typeName === 'index');
    if (offset === 0) return indexes.length === 0;
    const before = this.headers.filter(({ at }) => at < offset);
    const agrees = ({ at, sequence }, i) => this.entries[i].offset === BigInt(at) && this.entries[i].sequence === BigInt(sequence);
    return indexes.length === 1 && indexes[0].at === offset && before.length === this.entries.length && before.every(agrees);
  }

  compareWithEnd(names) {
    const wrong = names.filter((name) => this.end[name] !== this.counted[name]);
    const text = wrong.map((name) => `${this.counted[name]} ${name}, but END says ${this.end[name]}`).join('; ');
    if (text) this.report(new Problem('corrupt', text), {});
  }
}

function printedSample(sample) {
  const { id, time, thread, cpu, event, weight, where, flags, steps, pc, layout, known, values, regions } = sample;
  return {
    id, time, thread, cpu, event, weight, where, flags, steps, pc,
    registers: layout && layout.map(({ dwarf, size }, i) => [dwarf, size, known[i] ? values[i] : null]),
    regions: regions.map((region) => ({
      kind: region.kind,
      address: region.address,
      size: region.size,
      missing: region.missing,
      crc32: zlib.crc32(region.bytes),
    })),
    kernel_chain: sample.kernelChain,
    frame_chain: sample.frameChain,
    kernel_frame: sample.kernelFrame,
    labels: sample.labels,
    runtime_frames: sample.runtimeFrames,
  };
}

/** 64-bit numbers as decimal text, bytes as hexadecimal. */
function toJson(value) {
  return JSON.stringify(value, function (key, item) {
    if (typeof item === 'bigint') return item.toString();
    return Buffer.isBuffer(this[key]) ? this[key].toString('hex') : item;
  });
}

process.stdout.on('error', () => process.exit(1));
const [capture, keyFile] = process.argv.slice(2);
const secret = keyFile ? readSecretKey(fs.readFileSync(keyFile, 'utf8')) : null;
new Reader(fs.readFileSync(capture), secret, (value) => process.stdout.write(`${toJson(value)}\n`)).read();
