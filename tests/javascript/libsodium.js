'use strict';
// The primitives of libsodium named in section 3.4 of SPEC.md. node:crypto provides X25519 and ChaCha20; the rest is here,
// written to be short: it is slow, and not safe against timing attacks.

const crypto = require('node:crypto');
const { u64 } = require('./bytes.js');

const SECRETSTREAM_HEADER = 24;
const SECRETSTREAM_OVERHEAD = 17;

// BLAKE2b (RFC 7693), unkeyed.

const BLAKE_START = [0x6a09e667f3bcc908n, 0xbb67ae8584caa73bn, 0x3c6ef372fe94f82bn, 0xa54ff53a5f1d36f1n,
  0x510e527fade682d1n, 0x9b05688c2b3e6c1fn, 0x1f83d9abfb41bd6bn, 0x5be0cd19137e2179n];
const BLAKE_ORDERS = ['0123456789abcdef', 'ea489fd61c02b753', 'b8c052fdae367194', '7931dcbe265a40f8', '905724afe1bc683d',
  '2c6a0b834d75fe19', 'c51fed4a0763928b', 'db7ec13950f4862a', '6fe9b308c2d714a5', 'a2847615fb9e3cd0'];
const BLAKE_BLOCK = 128;

// Columns, then diagonals, of a matrix of four by four.
const QUARTERS = [[0, 4, 8, 12], [1, 5, 9, 13], [2, 6, 10, 14], [3, 7, 11, 15],
  [0, 5, 10, 15], [1, 6, 11, 12], [2, 7, 8, 13], [3, 4, 9, 14]];

const rotateRight = (word, bits) => u64((word >> bits) | (word << (64n - bits)));

function blakeBlock(state, block, total, last) {
  const words = Array.from({ length: 16 }, (_, i) => block.readBigUInt64LE(8 * i));
  const v = [...state, ...BLAKE_START];
  v[12] ^= BigInt(total);
  if (last) v[14] = u64(~v[14]);
  for (let round = 0; round < 12; round++) {
    const order = BLAKE_ORDERS[round % 10];
    QUARTERS.forEach(([a, b, c, d], i) => {
      for (const [half, first, second] of [[0, 32n, 24n], [1, 16n, 63n]]) {
        v[a] = u64(v[a] + v[b] + words[parseInt(order[2 * i + half], 16)]);
        v[d] = rotateRight(v[d] ^ v[a], first);
        v[c] = u64(v[c] + v[d]);
        v[b] = rotateRight(v[b] ^ v[c], second);
      }
    });
  }
  state.forEach((word, i) => (state[i] = word ^ v[i] ^ v[i + 8]));
}

function blake2b(size, message) {
  const state = [...BLAKE_START];
  state[0] ^= 0x01010000n ^ BigInt(size);
  const blocks = Math.max(1, Math.ceil(message.length / BLAKE_BLOCK));
  for (let i = 0; i < blocks; i++) {
    const block = Buffer.alloc(BLAKE_BLOCK);
    message.copy(block, 0, i * BLAKE_BLOCK);
    blakeBlock(state, block, Math.min((i + 1) * BLAKE_BLOCK, message.length), i === blocks - 1);
  }
  const digest = Buffer.alloc(64);
  state.forEach((word, i) => digest.writeBigUInt64LE(word, 8 * i));
  return digest.subarray(0, size);
}

// Salsa20 and ChaCha20 as hashes of a block (the H forms keep 8 of 16 words, without adding the input).

const rotateLeft = (word, bits) => (word << bits) | (word >>> (32 - bits));

function chachaQuarter(x, [a, b, c, d]) {
  for (const [first, second] of [[16, 12], [8, 7]]) {
    x[a] += x[b];
    x[d] = rotateLeft(x[d] ^ x[a], first);
    x[c] += x[d];
    x[b] = rotateLeft(x[b] ^ x[c], second);
  }
}

const SALSA_QUARTERS = [[0, 4, 8, 12], [5, 9, 13, 1], [10, 14, 2, 6], [15, 3, 7, 11],
  [0, 1, 2, 3], [5, 6, 7, 4], [10, 11, 8, 9], [15, 12, 13, 14]];

function salsaQuarter(x, [a, b, c, d]) {
  x[b] ^= rotateLeft(x[a] + x[d], 7);
  x[c] ^= rotateLeft(x[b] + x[a], 9);
  x[d] ^= rotateLeft(x[c] + x[b], 13);
  x[a] ^= rotateLeft(x[d] + x[c], 18);
}

const toWords = (bytes) => Array.from({ length: bytes.length / 4 }, (_, i) => bytes.readUInt32LE(4 * i));
const CONSTANTS = toWords(Buffer.from('expand 32-byte k'));

function fromWords(words) {
  const bytes = Buffer.alloc(4 * words.length);
  words.forEach((word, i) => bytes.writeUInt32LE(word, 4 * i));
  return bytes;
}

function rounds(input, quarters, quarter) {
  const x = Uint32Array.from(input);
  for (let round = 0; round < 10; round++) for (const each of quarters) quarter(x, each);
  return x;
}

function hchacha20(key, input) {
  const x = rounds([...CONSTANTS, ...toWords(key), ...toWords(input)], QUARTERS, chachaQuarter);
  return fromWords([...x.slice(0, 4), ...x.slice(12)]);
}

function salsaInput(key, input) {
  const [k, n] = [toWords(key), toWords(input)];
  return [CONSTANTS[0], ...k.slice(0, 4), CONSTANTS[1], ...n, CONSTANTS[2], ...k.slice(4), CONSTANTS[3]];
}

function hsalsa20(key, input) {
  const x = rounds(salsaInput(key, input), SALSA_QUARTERS, salsaQuarter);
  return fromWords([0, 5, 10, 15, 6, 7, 8, 9].map((i) => x[i]));
}

function salsa20(key, nonce, size) {
  const blocks = [];
  for (let i = 0; 64 * i < size; i++) {
    const counter = Buffer.alloc(8);
    counter.writeBigUInt64LE(BigInt(i));
    const input = Uint32Array.from(salsaInput(key, Buffer.concat([nonce, counter])));
    const x = rounds(input, SALSA_QUARTERS, salsaQuarter);
    blocks.push(fromWords(x.map((word, j) => word + input[j])));
  }
  return Buffer.concat(blocks).subarray(0, size);
}

function chacha20(key, counter, nonce, message) {
  const start = Buffer.alloc(4);
  start.writeUInt32LE(counter);
  return crypto.createDecipheriv('chacha20', key, Buffer.concat([start, nonce])).update(message);
}

function poly1305(key, message) {
  const number = (bytes) => bytes.reduceRight((sum, byte) => (sum << 8n) | BigInt(byte), 0n);
  const r = number(key.subarray(0, 16)) & 0x0ffffffc0ffffffc0ffffffc0fffffffn;
  let sum = 0n;
  for (let at = 0; at < message.length; at += 16) {
    const block = message.subarray(at, at + 16);
    sum = ((sum + number(block) + (1n << BigInt(8 * block.length))) * r) % ((1n << 130n) - 5n);
  }
  const tag = Buffer.from(BigInt.asUintN(128, sum + number(key.subarray(16))).toString(16).padStart(32, '0'), 'hex');
  return tag.reverse();
}

// X25519: node only accepts keys wrapped in DER.

const der = (start, bytes, type) => ({ key: Buffer.concat([Buffer.from(start, 'hex'), bytes]), format: 'der', type });
const privateKey = (bytes) => crypto.createPrivateKey(der('302e020100300506032b656e04220420', bytes, 'pkcs8'));
const publicKey = (bytes) => crypto.createPublicKey(der('302a300506032b656e032100', bytes, 'spki'));
const publicKeyOf = (secret) => crypto.createPublicKey(privateKey(secret)).export({ format: 'der', type: 'spki' }).subarray(-32);

/** crypto_box_seal_open(); null if it cannot be opened. */
function openSealed(sealed, secret) {
  const ephemeral = sealed.subarray(0, 32);
  const nonce = blake2b(24, Buffer.concat([ephemeral, publicKeyOf(secret)]));
  const shared = crypto.diffieHellman({ privateKey: privateKey(secret), publicKey: publicKey(ephemeral) });
  const key = hsalsa20(hsalsa20(shared, Buffer.alloc(16)), nonce.subarray(0, 16));
  const [tag, message] = [sealed.subarray(32, 48), sealed.subarray(48)];
  const stream = salsa20(key, nonce.subarray(16), 32 + message.length);
  if (!poly1305(stream.subarray(0, 32), message).equals(tag)) return null;
  return Buffer.from(message.map((byte, i) => byte ^ stream[32 + i]));
}

/** A stream of crypto_secretstream_xchacha20poly1305, up to its first message that rekeys. */
class SecretStream {
  constructor(key, header) {
    this.key = hchacha20(key, header.subarray(0, 16));
    this.nonce = Buffer.concat([Buffer.from([1, 0, 0, 0]), header.subarray(16)]);
  }

  /** The next message, which must have this tag; null if it cannot be opened. */
  open(sealed, associated, tag) {
    const stream = (counter, bytes) => chacha20(this.key, counter, this.nonce, bytes);
    const message = sealed.subarray(1, -16);
    const first = stream(1, Buffer.concat([sealed.subarray(0, 1), Buffer.alloc(63)]));
    const isTag = first[0] === tag;
    first[0] = sealed[0];
    const sizes = Buffer.alloc(16);
    sizes.writeBigUInt64LE(BigInt(associated.length));
    sizes.writeBigUInt64LE(BigInt(64 + message.length), 8);
    // libsodium pads by the message's size modulo 16, not up to a multiple of 16.
    const filled = [associated, Buffer.alloc(-associated.length & 15), first, message, Buffer.alloc(message.length & 15), sizes];
    const mac = poly1305(stream(0, Buffer.alloc(32)), Buffer.concat(filled));
    if (!isTag || !mac.equals(sealed.subarray(-16))) return null;
    const opened = stream(2, message);
    for (let i = 0; i < 8; i++) this.nonce[4 + i] ^= mac[i];
    this.nonce.writeUInt32LE(this.nonce.readUInt32LE() + 1);
    return opened;
  }
}

module.exports = { SECRETSTREAM_HEADER, SECRETSTREAM_OVERHEAD, SecretStream, blake2b, openSealed, publicKeyOf };
