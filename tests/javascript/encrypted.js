'use strict';
// Encrypted captures: SPEC.md, section 3.4.

const { Problem, Cursor } = require('./bytes.js');
const { RECORDS, readRecord } = require('./records.js');
const { FILE_HEADER, expand, readPayload } = require('./file.js');
const { SECRETSTREAM_HEADER, SECRETSTREAM_OVERHEAD, SecretStream, blake2b, openSealed, publicKeyOf } = require('./libsodium.js');

const SECRET_PREFIX = 'reelsec1_';
const SEALED_BOX = 2n;
const MAX_KEYS = 64;
const SKIPPABLE_MAGIC = 0x184d2a5b;
const MESSAGE = 0;
const FINAL = 3;
const FRAME_START = 8;
const TIMES_AND_RECORDS = 20 + SECRETSTREAM_OVERHEAD;
const LEAST_PAYLOAD = FRAME_START + SECRETSTREAM_HEADER + TIMES_AND_RECORDS + SECRETSTREAM_OVERHEAD;

/** The secret key in a text, anywhere in it. */
function readSecretKey(text) {
  const found = new RegExp(`${SECRET_PREFIX}([\\w-]{48})`).exec(text);
  const bytes = Buffer.from(found?.[1] ?? '', 'base64url');
  const key = bytes.subarray(0, 32);
  if (!found || !blake2b(32, Buffer.concat([Buffer.from(SECRET_PREFIX), key])).subarray(0, 4).equals(bytes.subarray(32))) {
    throw new Error('no secret key, or a mistyped one');
  }
  return key;
}

/** Raw bytes and KEY records of a whole block of keys, or null. */
function readKeys(file, header) {
  const rest = Buffer.concat([header.bytes.subarray(32, 56), header.bytes.subarray(64, 76)]);
  if (header.typeName !== 'keys' || header.codec !== 1 || header.flags !== 0 || rest.some((byte) => byte !== 0)) return null;
  try {
    const raw = expand(readPayload(file, header), header);
    const cursor = new Cursor(raw);
    const keys = [];
    let records = 0;
    for (; cursor.left > 0; records++) {
      const record = RECORDS.get(Number(cursor.uv() >> 1n));
      const payload = cursor.sized();
      if (record?.name === 'KEY') keys.push(readRecord(record, payload).fields);
    }
    return records === header.records ? { raw, keys } : null;
  } catch (problem) {
    if (problem instanceof Problem) return null;
    throw problem;
  }
}

/** Decrypts the blocks of one file. */
class Encryption {
  constructor(file, fileHeader, headers, secret) {
    this.file = file;
    const last = headers.at(headers.at(-1)?.typeName === 'index' ? -2 : -1);
    const places = [headers.find(({ at }) => at === FILE_HEADER), last].filter((header) => header !== undefined);
    const blocks = places.map((header) => ({ header, block: readKeys(file, header) })).filter(({ block }) => block !== null);
    if (blocks.length === 0) throw new Problem('corrupt', 'no whole block of keys');
    const { raw, keys } = blocks[0].block;
    this.keyBlocks = new Set(blocks.filter(({ block }) => block.raw.equals(raw)).map(({ header }) => header));
    this.associated = Buffer.concat([fileHeader.bytes, blake2b(32, raw)]);
    this.key = fileKey(keys.slice(0, MAX_KEYS), secret);
  }

  /** Whether an unencrypted block is one of the two blocks of keys. */
  isKeys(header) {
    return this.keyBlocks.has(header);
  }

  /** Times, records and the zstd frame (null if it cannot be decrypted) of a block; null if the block must be refused. */
  open(header) {
    const payload = this.file.subarray(header.at + header.bytes.length, header.end);
    if (payload.length !== header.storedSize || payload.length < LEAST_PAYLOAD) return null;
    if (payload.readUInt32LE() !== SKIPPABLE_MAGIC || payload.readUInt32LE(4) !== payload.length - FRAME_START) return null;
    if ([...header.bytes.subarray(40, 60), ...header.bytes.subarray(64, 76)].some((byte) => byte !== 0)) return null;
    const associated = Buffer.concat([this.associated, header.bytes]);
    associated.fill(0, associated.length - 20, associated.length - 16);
    associated.fill(0, associated.length - 4);
    const messages = payload.subarray(FRAME_START + SECRETSTREAM_HEADER);
    const stream = new SecretStream(this.key, payload.subarray(FRAME_START, FRAME_START + SECRETSTREAM_HEADER));
    const numbers = stream.open(messages.subarray(0, TIMES_AND_RECORDS), associated, MESSAGE);
    if (!numbers) return null;
    return { records: numbers.readUInt32LE(16), frame: stream.open(messages.subarray(TIMES_AND_RECORDS), associated, FINAL) };
  }
}

function fileKey(keys, secret) {
  const ours = keys.filter(({ algorithm }) => algorithm === SEALED_BOX);
  if (keys.length > 0 && ours.length === 0) throw new Problem('unsupported', 'keys of unknown algorithms only');
  if (!secret) throw new Problem('encrypted', 'no secret key is given');
  const name = blake2b(32, publicKeyOf(secret)).subarray(0, 8);
  for (const { key, sealed } of ours) {
    const opened = key.equals(name) && sealed.length === 80 ? openSealed(sealed, secret) : null;
    if (opened) return opened;
  }
  throw new Problem('encrypted', 'it is sealed to other keys');
}

module.exports = { Encryption, readSecretKey };
