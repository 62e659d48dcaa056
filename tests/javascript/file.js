'use strict';
// File header, blocks, and the handling of damage: SPEC.md, sections 2, 3, 9 and 10.

const zlib = require('node:zlib');
const { spawnSync } = require('node:child_process');
const { Problem } = require('./bytes.js');

const MiB = 1 << 20;
const SIGNATURE = Buffer.from('\x89REEL\r\n\x1a', 'latin1');
const FILE_HEADER = 48;
const BLOCK_HEADER = 80;
const TRAILER = 32;
const TYPES = { 1: 'side', 2: 'samples', 3: 'index', 4: 'keys' };
const FLAGS = { optional: 1, encrypted: 2, scrubbed: 4 };
const ALL_FLAGS = 7;
const ENCRYPTED_FEATURE = 1;

const corrupt = (message) => new Problem('corrupt', message);
const crcIsRight = (bytes) => zlib.crc32(bytes.subarray(0, -4)) === bytes.readUInt32LE(bytes.length - 4);

function frameStart(magic, size, rest) {
  const start = Buffer.alloc(8);
  start.writeUInt32LE(magic);
  start.writeUInt32LE(size, 4);
  return Buffer.concat([start, rest]);
}

const FILE_START = frameStart(0x184d2a5e, FILE_HEADER - 8, SIGNATURE);
const TRAILER_START = frameStart(0x184d2a5c, TRAILER - 8, Buffer.from('REELEND\n'));
const blockStart = (tag) => frameStart(0x184d2a5d, BLOCK_HEADER - 8, Buffer.concat([Buffer.from('RBLK'), tag]));

/** The file header's fields; a file with a wrong header is not read. */
function readFileHeader(file) {
  const header = file.subarray(0, FILE_HEADER);
  const start = header.subarray(0, FILE_START.length);
  if (!start.equals(FILE_START.subarray(0, start.length))) throw new Problem('not a capture', 'magic, size or signature is another');
  if (header.length < FILE_HEADER) throw new Problem('truncated', `a file header of ${header.length} bytes`);
  if (!crcIsRight(header)) throw corrupt('the crc of the file header is wrong');
  const [major, minor, features] = [header.readUInt16LE(16), header.readUInt16LE(18), header.readUInt32LE(20)];
  if (major !== 1 && !(major === 0 && minor === 1)) throw new Problem('unsupported', `version ${major}.${minor}`);
  if (features & ~ENCRYPTED_FEATURE) throw new Problem('unsupported', `features ${features}`);
  return { encrypted: features === ENCRYPTED_FEATURE, id: header.subarray(24, 40), tag: header.subarray(24, 28), bytes: header };
}

/** The block header at an offset, or null if it is incomplete. */
function readBlockHeader(file, at, tag) {
  const bytes = file.subarray(at, at + BLOCK_HEADER);
  if (bytes.length < BLOCK_HEADER || !bytes.subarray(0, 16).equals(blockStart(tag)) || !crcIsRight(bytes)) return null;
  const header = {
    at,
    bytes,
    type: bytes.readUInt16LE(16),
    codec: bytes[18],
    flags: bytes[19],
    sequence: bytes.readUInt32LE(20),
    storedSize: bytes.readUInt32LE(24),
    rawSize: bytes.readUInt32LE(28),
    expandedSize: bytes.readBigUInt64LE(32),
    records: bytes.readUInt32LE(56),
    payloadCrc: bytes.readUInt32LE(60),
  };
  if (header.storedSize > 65 * MiB || header.rawSize > 64 * MiB || header.expandedSize > BigInt(256 * MiB)) return null;
  header.typeName = TYPES[header.type] ?? null;
  header.optional = Boolean(header.flags & FLAGS.optional);
  header.encrypted = Boolean(header.flags & FLAGS.encrypted);
  header.unknown = !header.typeName || header.codec !== 1 || (header.flags & ~ALL_FLAGS) !== 0;
  header.end = at + BLOCK_HEADER + header.storedSize;
  return header;
}

function isTrailer(file, at, tag) {
  const bytes = file.subarray(at, at + TRAILER);
  if (bytes.length < TRAILER || !bytes.subarray(0, 16).equals(TRAILER_START)) return false;
  return bytes.subarray(24, 28).equals(tag) && crcIsRight(bytes);
}

function searchHeader(file, from, end, tag) {
  const start = blockStart(tag);
  for (let at = file.indexOf(start, from); at >= 0 && at < end; at = file.indexOf(start, at + 1)) {
    if (at + BLOCK_HEADER <= end && readBlockHeader(file, at, tag)) return at;
  }
  return -1;
}

/** Whether the bytes are the beginning of a truncated header or trailer. */
function isCutHeader(bytes, tag) {
  return [[blockStart(tag), BLOCK_HEADER], [TRAILER_START, TRAILER]].some(
    ([start, size]) => bytes.length < size && bytes.subarray(0, 16).equals(start.subarray(0, bytes.length)),
  );
}

/** Scans a file: yields headers of blocks and problems, in order; finally a summary. */
function* scan(file, tag) {
  const endsInTrailer = file.length >= FILE_HEADER + TRAILER && isTrailer(file, file.length - TRAILER, tag);
  const end = endsInTrailer ? file.length - TRAILER : file.length;
  let trailer = endsInTrailer ? end : -1;
  let behindTrailer = false;
  let searchFrom = FILE_HEADER;
  let cut = false;
  for (let at = FILE_HEADER; at < end; ) {
    const header = readBlockHeader(file.subarray(0, end), at, tag);
    if (!header && isTrailer(file, at, tag)) {
      if (!endsInTrailer) trailer = at;
      behindTrailer = true;
      at += TRAILER;
      searchFrom = at;
      continue;
    }
    if (header) searchFrom = at + BLOCK_HEADER;
    const next = header && header.end <= end ? header.end : searchHeader(file, searchFrom, end, tag);
    cut = next < 0 && (header !== null || isCutHeader(file.subarray(at, end), tag));
    if (cut) break;
    const to = next < 0 ? end : next;
    if (header && behindTrailer) yield { problem: corrupt('a block after the trailer'), at };
    if (header) yield { header };
    // A header found before `at` is in the payload of the previous block, whose crc reports the damage.
    else if (to > at) yield { problem: corrupt(`bytes ${at} to ${to} are passed over`), at };
    at = to;
  }
  const indexOffset = trailer < 0 ? null : Number(file.readBigUInt64LE(trailer + 16));
  yield { summary: { indexOffset, truncated: cut || trailer < 0 } };
}

/** Checks a payload before it is decompressed: one zstd frame, without a dictionary, of a known size (3.1). */
function checkZstdFrame(payload, rawSize) {
  const bytes = (at, size) => {
    if (at + size > payload.length) throw corrupt('the zstd frame ends too early');
    return size && payload.readUIntLE(at, size);
  };
  if (bytes(0, 4) !== 0xfd2fb528) throw corrupt('the payload is no zstd frame');
  const descriptor = bytes(4, 1);
  const single = (descriptor >> 5) & 1;
  const dictionarySize = [0, 1, 2, 4][descriptor & 3];
  const contentSizeSize = [single, 2, 4, 8][descriptor >> 6];
  const checksum = (descriptor >> 2) & 1;
  let at = 5;
  const windowByte = single ? 0 : bytes(at++, 1);
  if (bytes(at, dictionarySize) !== 0) throw corrupt('a zstd frame with a dictionary');
  at += dictionarySize;
  if (contentSizeSize === 0) throw corrupt('a zstd frame without its content size');
  bytes(at, contentSizeSize);
  const field = payload.subarray(at, at + contentSizeSize);
  const number = contentSizeSize === 8 ? Number(field.readBigUInt64LE()) : field.readUIntLE(0, contentSizeSize);
  const content = contentSizeSize === 2 ? number + 256 : number;
  at += contentSizeSize;
  const windowBase = 2 ** (10 + (windowByte >> 3));
  const window = single ? content : windowBase + (windowBase / 8) * (windowByte & 7);
  if (window > 64 * MiB) throw corrupt(`a zstd window of ${window} bytes`);
  if (content !== rawSize) throw corrupt(`raw size ${rawSize}, but a zstd frame of ${content} bytes`);
  for (let last = 0; !last; ) {
    const block = bytes(at, 3);
    last = block & 1;
    at += 3 + (((block >> 1) & 3) === 1 ? 1 : block >> 3);
  }
  if (at + 4 * checksum !== payload.length) throw corrupt('the payload is not exactly one zstd frame');
}

/** The raw bytes of a payload that is stored as in section 3.1. */
function expand(payload, header) {
  checkZstdFrame(payload, header.rawSize);
  const { status, stdout } = spawnSync('zstd', ['-dc'], { input: payload, maxBuffer: 65 * MiB });
  if (status !== 0 || stdout.length !== header.rawSize) throw corrupt('zstd can not decompress the payload');
  return stdout;
}

function readPayload(file, header) {
  const payload = file.subarray(header.at + BLOCK_HEADER, header.end);
  if (payload.length !== header.storedSize || zlib.crc32(payload) !== header.payloadCrc) throw corrupt('the payload crc is wrong');
  return payload;
}

/** Section 9's limits on the density of a whole block. */
function checkDensities({ type, storedSize, rawSize }, records) {
  if (rawSize > 4096 + (type === 2 ? 256 : 64) * storedSize) throw corrupt('too many raw bytes for the stored ones');
  if (records > 256 + 4 * storedSize) throw corrupt('too many records for the stored bytes');
}

module.exports = { FILE_HEADER, readFileHeader, readPayload, scan, expand, checkDensities };
