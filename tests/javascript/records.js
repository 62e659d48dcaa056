'use strict';
// Records of side, index and key blocks: SPEC.md, section 5.

const { Cursor, malformed } = require('./bytes.js');

// Limits; a record that exceeds one is malformed.
const MOST = { text: 65536, short: 64, sealed: 1024, shorttext: 4096, marktext: 256, lines: 65536 };
const MAX_IMAGE = 16n << 20n;
const ADDRESSES = 1n << 64n;

// A field is `name:type`, with `uv` as the default type. Types that are lists of numbers (`0-3`, `32|64`) are `uv` for which
// other values are out of range. A `?` after a field: it was added later, and is 0 (empty) in records that end before it.
const TABLE = [
  [1, 'CAPTURE', 'side', `start_time start_wall_time clock machine word_bits:32|64 byte_order:1|2 page_size cpus_possible
    cpus_online max_stack ring_size rings part recording:id_or_none hostname:text kernel_release:text kernel_version:text
    kernel_build_id:short tool_version:text command_line:bytes`],
  [2, 'EVENT', 'side', 'id perf_type perf_config frequency period weight_unit name:text value_names:text? waits?'],
  [3, 'MODULE', 'side', `id:not0 kind device_major device_minor inode inode_generation build_id:short path:text
    file_size? file_time? file_digest:short?`],
  [4, 'IMAGE', 'side', 'module offset total_size bytes:bytes number?'],
  [5, 'SPACE', 'side', `time id:not0 parent origin pid namespace_pid machine word_bits:0|32|64 byte_order:0-2 code_mask
    data_mask vdso`],
  [6, 'SPACE_EXIT', 'side', 'time space'],
  [7, 'THREAD', 'side', 'time id:not0 space origin tid namespace_tid parent comm:text'],
  [8, 'THREAD_COMM', 'side', 'time thread comm:text'],
  [9, 'THREAD_EXEC', 'side', 'time thread space'],
  [10, 'THREAD_EXIT', 'side', 'time thread'],
  [11, 'MAP', 'side', 'time space address size offset protection flags module'],
  [12, 'UNMAP', 'side', 'time space address size how'],
  [13, 'KERNEL_SYMBOL', 'side', 'address size module name:text since? origin?'],
  [14, 'LOSS', 'side', 'time cpu cause count'],
  [15, 'END', 'side', 'time reason samples exit_status blocks? side_records?'],
  [16, 'CODE', 'side', 'time space module address bytes:bytes'],
  [17, 'JIT_SYMBOL', 'side', 'time space address size source name:text'],
  [18, 'JIT_UNWIND', 'side', 'time space address size frame_address eh_frame:bytes'],
  [19, 'JIT_LINE', 'side', 'time space function address line file:text'],
  [20, 'TRACE_STEPS', 'side', 'id stop steps:bytes'],
  [21, 'ORIGIN', 'side', `id:not0 first_sample file:id start_time start_wall_time clock cpus_online part recording:id_or_none
    hostname:text kernel_release:text kernel_version:text kernel_build_id:short tool_version:text command_line:bytes`],
  [22, 'CGROUP', 'side', 'id:not0 path:text container_name:text? pod_name:text? namespace:text?'],
  [23, 'SPACE_CGROUP', 'side', 'time space cgroup'],
  [24, 'FUNCTION', 'side', 'id:not0 runtime:not0 line name:shorttext file:shorttext lines:lines'],
  [25, 'MARK', 'side', 'time kind:not0 text:marktext'],
  [48, 'INDEX_ENTRY', 'index', 'offset type sequence stored_size raw_size expanded_size time_first time_last records'],
  [49, 'DIGEST', 'index', 'sha256:sha256'],
  [56, 'KEY', 'keys', 'algorithm key:short sealed:sealed'],
];

const spans = (fields) => fields.size > 0n && fields.address + fields.size <= ADDRESSES;

// Checks that involve several fields.
const CHECKS = {
  IMAGE: (f) => f.total_size <= MAX_IMAGE && f.offset + BigInt(f.bytes.length) <= f.total_size,
  MAP: spans,
  UNMAP: spans,
  CODE: (f) => f.bytes.length > 0 && f.address + BigInt(f.bytes.length) <= ADDRESSES,
  JIT_SYMBOL: spans,
  JIT_UNWIND: spans,
  FUNCTION: (f) => f.id < 1n << 62n && linesAreValid(f.lines),
  TRACE_STEPS: (f) => f.id >= 1n && f.id <= 1n << 20n && stepsAreValid(f.steps),
};

const RECORDS = new Map(
  TABLE.map(([id, name, block, fields]) => [id, { name, block, fields: fields.split(/\s+/).map(parseField) }]),
);

function parseField(text) {
  const [, name, type = 'uv', added] = /^(\w+)(?::([\w|-]+))?(\?)?$/.exec(text);
  const numbers = /^\d/.test(type) ? listed(type) : null;
  return { name, type, added: Boolean(added), listed: numbers, isNumber: numbers !== null || type === 'uv' || type === 'not0' };
}

function listed(type) {
  const [first, last] = type.split('-').map(Number);
  if (last === undefined) return new Set(type.split('|').map(BigInt));
  return new Set(Array.from({ length: last - first + 1 }, (_, i) => BigInt(first + i)));
}

/** Pairs of kind and number of frames; only the last one may apply to all following frames. */
function stepsAreValid(bytes) {
  const cursor = new Cursor(bytes);
  let pairs = 0;
  try {
    for (; cursor.left > 0; pairs++) {
      cursor.uv();
      const count = cursor.uv();
      if (count === 0n && cursor.left > 0) return false;
    }
  } catch {
    return false;
  }
  return pairs <= 65536;
}

/** Pairs of a position and a line. */
function linesAreValid(bytes) {
  const cursor = new Cursor(bytes);
  try {
    while (cursor.left > 0) {
      cursor.uv();
      cursor.sv();
    }
  } catch {
    return false;
  }
  return true;
}

function readField(cursor, { name, type, isNumber }) {
  if (isNumber) return cursor.uv();
  const bytes = cursor.sized();
  if (bytes.length > MOST[type]) throw malformed(`${name} of ${bytes.length} bytes`);
  return bytes;
}

function inRange(value, { type, listed }) {
  if (listed) return listed.has(value);
  if (type === 'not0') return value !== 0n;
  if (type === 'id') return value.length === 16;
  if (type === 'sha256') return value.length === 32;
  if (type === 'id_or_none') return value.length === 0 || value.length === 16;
  if (type === 'text' || type === 'shorttext' || type === 'marktext') return !value.includes(0);
  return true;
}

/** The fields of a record, and the name of a field that is out of range, if any. */
function readRecord(record, payload) {
  const cursor = new Cursor(payload);
  const fields = {};
  let wrong = null;
  for (const field of record.fields) {
    const missing = field.added && cursor.left === 0;
    const empty = field.isNumber ? 0n : Buffer.alloc(0);
    const value = missing ? empty : readField(cursor, field);
    fields[field.name] = value;
    if (!inRange(value, field)) wrong = field.name;
  }
  const check = CHECKS[record.name];
  if (check && !check(fields)) wrong ??= 'what the fields say together';
  for (const field of record.fields) if (field.type === 'text') fields[field.name] = fields[field.name].toString('utf8');
  return { fields, wrong };
}

module.exports = { RECORDS, readRecord };
