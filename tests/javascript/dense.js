'use strict';
// DENSE: SPEC.md, annex A.

const { u64, fromZigzag, malformed } = require('./bytes.js');
const { SampleRecord, Place, NO_STACK, MAX_CHAIN, GOLDEN, mix, hash, slot } = require('./samples.js');

const MAX_SAMPLES = 131072n;
const MAX_ADDRESSES = 33554432;
const DEFINITE = 65536;
const REPEATED = ['event', 'weight', 'where', 'flags', 'parts', 'regionCount'];
const LOGISTIC = [22, 36, 60, 98, 162, 267, 439, 720, 1179, 1921, 3108, 4971, 7812, 11955, 17625, 24743, 32768, 40793, 47911, 53581,
  57724, 60565, 62428, 63615, 64357, 64816, 65097, 65269, 65374, 65438, 65476, 65500, 65514];

const clamp = (number, least, most) => Math.min(Math.max(number, least), most);
const top = (number, bits) => Number(number >> BigInt(64 - bits));

/** S(x) and O(p) of A.2, as tables. */
const squash = Array.from({ length: 4096 }, (_, i) => {
  const [j, r] = [i >> 7, i & 127];
  return clamp((LOGISTIC[j] * (128 - r) + LOGISTIC[j + 1] * r + 64) >> 7, 24, 65512);
});
const stretch = [];
for (let i = 0, x = -2047; i < 4096; i++) {
  while (x < 2047 && squash[x + 2048] < i * 16 + 8) x++;
  stretch.push(x);
}

const newContext = () => ({ p: 32768, seen: 0, check: 0 });

/** A table most of whose entries are never used. */
class Table {
  constructor(make) {
    this.make = make;
    this.entries = new Map();
  }

  at(index) {
    let entry = this.entries.get(index);
    if (entry === undefined) this.entries.set(index, (entry = this.make()));
    return entry;
  }
}

/** Decisions and the numbers made from them: A.1 to A.3. */
class Decisions {
  constructor(stream) {
    this.stream = stream;
    this.low = 0;
    this.high = 0xffffffff;
    this.code = stream.take(4).readUInt32BE();
    this.lines = new Table(() => Array.from({ length: 16 }, newContext));
    this.mixes = new Table(() => [26666, 26666, 26666]);
  }

  decide(p) {
    const middle = this.low + Math.floor(((this.high - this.low) * p) / DEFINITE);
    const bit = this.code <= middle;
    if (bit) this.high = middle;
    else this.low = middle + 1;
    while (this.low >>> 24 === this.high >>> 24) {
      this.low = (this.low << 8) >>> 0;
      this.high = ((this.high << 8) | 255) >>> 0;
      this.code = ((this.code << 8) | this.stream.u8()) >>> 0;
    }
    return bit ? 1 : 0;
  }

  update(context, bit) {
    const rate = Math.floor(655360 / (10 * context.seen + 16));
    context.p += Math.floor((((bit ? 65535 : 0) - context.p) * rate) / 65536);
    context.seen = Math.min(context.seen + 1, 127);
  }

  one(context) {
    const bit = this.decide(clamp(context.p, 24, 65512));
    this.update(context, bit);
    return bit;
  }

  mixed(contexts, weights) {
    const odds = contexts.map(({ p, seen }) => (seen ? stretch[p >> 4] : 0));
    const sum = odds.reduce((total, odd, i) => total + odd * weights[i], 0);
    const foreseen = squash[clamp(Math.floor(sum / 65536), -2047, 2047) + 2048];
    const bit = this.decide(foreseen);
    const error = (bit ? 65535 : 0) - foreseen;
    contexts.forEach((context, i) => {
      weights[i] = clamp(weights[i] + ((odds[i] * error) >> 14), -(1 << 20), 1 << 20);
      this.update(context, bit);
    });
    return bit;
  }

  /** `count` bits, the highest first; a product is exact for 40 bits, unlike a shift. */
  bits(kind, c, count, part) {
    let value = 0;
    let node = 1;
    let lines;
    for (let done = 0; done < count; done++) {
      if (done % 4 === 0) {
        const group = (value * 64 + count - done) * 64 + part;
        lines = c.map((number, i) => this.lines.at(top(mix(number, BigInt(4 * group + i)), 16)));
        node = 1;
      }
      const bit = this.mixed(lines.map((line) => line[node]), this.mixes.at(`${kind} ${Math.min(done, 15)}`));
      node = 2 * node + bit;
      value = 2 * value + bit;
    }
    return value;
  }

  number(kind, c, foreseen) {
    const size = this.bits(kind, c, 7, 0);
    if (size >= 64) return u64(-1n);
    const learnt = Math.min(size, foreseen);
    let value = BigInt(2 ** learnt + this.bits(kind, c, learnt, size + 1));
    for (let i = learnt; i < size; i++) value = 2n * value + BigInt(this.decide(32768));
    return value - 1n;
  }

  difference(kind, c, foreseen) {
    return fromZigzag(this.number(kind, c, foreseen));
  }
}

/** Contexts found by a check of nine bits, four in a bucket (A.2). */
function find(bucket, check) {
  let context = bucket.find((each) => each.seen !== 0 && each.check === check);
  if (!context) {
    context = bucket.reduce((least, each) => (each.seen < least.seen ? each : least));
    Object.assign(context, newContext(), { check });
  }
  return context;
}

const field = (salt, x, y) => [BigInt(salt), mix(x, BigInt(salt)), mix(y, BigInt(salt))];
const newPrediction = () => ({ value: 0n, confidence: 0 });
const newCaller = () => ({ values: [0n, 0n, 0n], confidence: 0 });
const lowered = (confidence) => (confidence > 2 ? 1 : 0);

class Dense extends SampleRecord {
  constructor(payload, block) {
    super(payload, block);
    if (this.count > MAX_SAMPLES) throw malformed(`${this.count} samples`);
    this.period = this.streams[1].uv();
    this.decisions = new Decisions(this.streams[5]);
    for (const name of ['thread', 'cpu', 'steps', ...REPEATED, 'periods', 'late']) this.last[name] = 0n;
    this.cpus = new Table(() => ({ thread: 0n, time: 0n }));
    this.addresses = 0;
    this.direct = new Table(newContext);
    this.buckets = new Table(() => Array.from({ length: 4 }, newContext));
    this.candidateMixes = new Table(() => [20000, 20000, 20000, 20000]);
    this.byPlace = new Table(newPrediction);
    this.byWords = new Table(newPrediction);
    this.byCallers = new Table(newCaller);
    this.byCaller = new Table(newCaller);
    this.recent = Array(32).fill(0n);
    this.dictionary = new BigUint64Array(4096);
    this.highs = new BigUint64Array(256);
  }

  // A.4

  head() {
    const { last, decisions } = this;
    const fieldNumber = (salt, x, y) => decisions.number('FIELD', field(salt, x, y), 12);
    const cpu = fieldNumber(2000, last.cpu, last.thread);
    const onCpu = this.cpus.at(cpu % 256n);
    const thread = fieldNumber(2001, onCpu.thread, cpu);
    onCpu.thread = thread;
    const same = decisions.bits('FIELD', field(2002, thread, cpu), 1, 0);
    const step = same ? 1n : decisions.difference('FIELD', field(2003, 0n, 0n), 12);
    const head = { id: u64(last.id + step), thread, cpu };
    REPEATED.forEach((name, i) => {
      head[name] = same ? last[name] : fieldNumber(2016 + i, last[name], thread);
    });
    head.steps = same ? last.steps : head.parts & 16n ? fieldNumber(2022, last.steps, thread) : 0n;
    if (head.where > 255n) throw malformed(`where is ${head.where}`);
    Object.assign(head, this.time(onCpu));
    this.last = head;
    return head;
  }

  time(onCpu) {
    const { last, decisions, period } = this;
    const periods = period ? decisions.number('FIELD', field(2004, last.periods, 0n), 12) : 0n;
    const foreseen = u64(onCpu.time + periods * period);
    const zigzag = decisions.number('FIELD', field(2005, periods, last.late), 5);
    const late = BigInt.asIntN(64, fromZigzag(zigzag));
    const time = u64(foreseen + late);
    const near = period >> 4n;
    onCpu.time = -near < late && late < near ? u64(foreseen + (late >> 2n)) : time;
    return { time, periods, late: zigzag === 0n ? 0n : BigInt(zigzag.toString(2).length) };
  }

  // A.5

  place(index, old, now, before) {
    const salt = BigInt(2007 + 16 * index);
    const c = [mix(now.pc, salt), mix(now.pc, mix(before.pc, salt)), mix(now.pc, mix(old.address, salt))];
    const words = this.decisions.difference('ADDRESS', c, 20);
    const bytes = BigInt(this.decisions.bits('FIELD', field(2008, BigInt(index), 0n), 3, 0));
    const end = old.end + this.decisions.difference('FIELD', field(2006, BigInt(index), 0n), 12);
    return { address: u64(old.address + 8n * words + bytes), end: u64(end) };
  }

  // A.6

  pc(now, before) {
    this.layout(now);
    const frame = { caller: before.pc, outer: 0n, distance: 999 };
    now.pc = this.word({ place: this.pcPlace(before), before: before.pc, group: 1, frame });
  }

  registers(now, before) {
    for (let i = 0; i < now.layout.length; i++) {
      const { place, kept } = this.register(i, now, before);
      const frame = { caller: now.pc, outer: before.pc, distance: 1000 + i };
      now.values.push(now.known[i] ? this.word({ place, before: kept, group: 2 + i, frame }) : 0n);
    }
  }

  /** `subject`: the word's place, its previous value, its group, and its frame; `differs`: it is known to have changed. */
  word(subject, differs = false) {
    const { place, frame } = subject;
    const f = mix(frame.caller, BigInt(frame.distance));
    const far = mix(f, frame.outer);
    const { above, key, second } = place;
    const predictions = [this.byPlace.at(hash(above, key)), this.byWords.at(hash(above, second))];
    const callers = [this.byCallers.at(top(far, 16)), this.byCaller.at(top(f, 16))];
    const candidates = this.candidates(subject.before, place, predictions, callers);
    const trusted = 2 * (predictions[1].confidence > 1) + (callers[0].confidence > 1);
    const found = this.choose(candidates, differs, { place, f, far, trusted });
    const word = place.cut(found < 0 ? this.other(subject, f) : candidates[found].word);
    if (subject.group === 0 && found !== 0 && place.isOfStack(word)) this.moveToFront(word);
    this.learn(place.relative(word), predictions, callers);
    return word;
  }

  candidates(before, place, [atPlace, atWords], [atCallers, atCaller]) {
    const list = [[before, 0]];
    for (const { value, confidence } of [atPlace, atWords]) list.push([place.standsFor(value), confidence]);
    for (const value of atCallers.values) list.push([place.standsFor(value), atCallers.confidence]);
    for (const value of atCaller.values.slice(0, 2)) list.push([place.standsFor(value), atCaller.confidence]);
    return list.map(([word, confidence]) => ({ word, confidence }));
  }

  /** The number of the candidate that equals the word, or -1. */
  choose(candidates, differs, { place, f, far, trusted }) {
    const words = candidates.map(({ word }) => word);
    const pairs = [[1, 0], [2, 0], [3, 0], [2, 1], [3, 1], [3, 2]];
    const alike = pairs.reduce((bits, [x, y], bit) => bits | ((words[x] === words[y]) << bit), 0);
    const fromAbove = mix(f, place.above);
    for (let i = differs ? 1 : 0; i < words.length; i++) {
      const word = words[i];
      if (words.indexOf(word) < i) continue;
      const q = mix(place.relative(word), BigInt(i));
      const kind = word < 2n ? Number(word) : place.isOfStack(word) ? 2 : 3;
      const contexts = [fromAbove, far, u64(place.key + 99n)].map((from) => find(this.buckets.at(top(mix(from, q), 18)), top(q, 9)));
      contexts.push(this.direct.at(i * 8192 + kind * 2048 + alike * 32 + candidates[i].confidence * 4 + trusted));
      const weights = this.candidateMixes.at(12 * i + Math.min(contexts[0].seen, 11));
      if (this.decisions.mixed(contexts, weights)) return i;
    }
    return -1;
  }

  other({ place, group, frame }, f) {
    const { decisions } = this;
    const of = (salt) => [mix(BigInt(group), BigInt(salt)), mix(f, BigInt(salt)), mix(place.above, BigInt(salt + 1000 + group))];
    const kind = decisions.bits('CLASS', of(900), 3, 0);
    switch (kind) {
      case 0: return 0n;
      case 1: return 1n;
      case 2: return this.recent[decisions.bits('RECENT', of(66), 5, 0)];
      case 3: return u64(place.a + BigInt(place.b) * decisions.difference('DISTANCE', of(77), 12));
    }
    const word = kind === 4 ? this.dictionary[decisions.bits('KNOWN', of(55), 12, 0)] : this.newWord(BigInt(group), frame.caller);
    this.dictionary[slot(word, 12)] = word;
    return word;
  }

  newWord(group, caller) {
    const { decisions } = this;
    const c = [80n, mix(group, 80n), mix(BigInt(slot(caller >> 24n, 8)), 81n)];
    let high;
    if (decisions.one(this.direct.at(65536))) high = this.highs[decisions.bits('HIGH', c, 8, 0)];
    else {
      high = BigInt(decisions.bits('HIGH', c, 40, 1));
      this.highs[slot(high, 8)] = high;
    }
    const low = decisions.bits('LOW', [mix(high, 84n), mix(high, 85n + group), mix(caller >> 12n, 84n)], 24, 0);
    return (high << 24n) | BigInt(low);
  }

  moveToFront(word) {
    const at = this.recent.indexOf(word);
    this.recent.splice(at < 0 ? this.recent.length - 1 : at, 1);
    this.recent.unshift(word);
  }

  learn(value, predictions, callers) {
    for (const entry of predictions) {
      if (entry.value === value) entry.confidence = Math.min(entry.confidence + 1, 7);
      else Object.assign(entry, { value, confidence: lowered(entry.confidence) });
    }
    for (const entry of callers) {
      const [first, second, third] = entry.values;
      if (first === value) entry.confidence = Math.min(entry.confidence + 1, 7);
      else Object.assign(entry, { values: [value, first, second === value ? third : second], confidence: lowered(entry.confidence) });
    }
  }

  words(region, now, before) {
    const { pc } = now;
    const c = [mix(pc, 603n), mix(region.address, 604n), mix(pc, mix(before.pc, 603n))];
    const changing = this.decisions.number('LEFT', c, 12);
    if (changing > BigInt(region.words)) throw malformed(`${changing} of ${region.words} words change`);
    const frame = frameAbove(region, Number(changing));
    let same = 0;
    let differs = true;
    for (let i = Number(changing) - 1; i >= 0; ) {
      const old = region.word(i);
      const word = this.word({ place: region.placeOf(i), before: old, group: 0, frame }, differs);
      region.setWord(i, word);
      same = word === old ? same + 1 : 0;
      step(frame, word, region.placeOf(i));
      i--;
      differs = false;
      if (same === 8 && i >= 0) {
        const stay = this.staying(region.placeOf(i), frame, i + 1);
        for (const end = i - stay; i > end; i--) step(frame, region.word(i), region.placeOf(i));
        same = 0;
        differs = true;
      }
    }
  }

  staying({ a, above, second }, { caller, distance }, left) {
    const c = [mix(mix(caller, BigInt(distance)), 700n), mix(a, 701n), mix(above, mix(second, 700n))];
    const stay = this.decisions.number('MORE', c, 12);
    if (stay > BigInt(left)) throw malformed(`${stay} of ${left} words stay`);
    return Number(stay);
  }

  // A.7

  chain(kind, now, { pc, chains }) {
    const before = chains[kind];
    const old = (i) => before[i] ?? 0n;
    const salt = BigInt(2040 + kind);
    const goneOf = [mix(old(0), salt), mix(old(0), mix(old(1), salt)), mix(now.pc, mix(pc, salt))];
    const gone = this.decisions.number('GONE', goneOf, 12);
    if (gone > BigInt(before.length)) throw malformed(`${gone} of ${before.length} addresses are gone`);
    let left = Number(gone);
    let caller = old(left);
    let outer = old(left + 1);
    let differs = left > 0;
    const rootFirst = before.slice(left).reverse();
    const group = 2044 + kind;
    while (this.goesOn(kind, caller, outer, left)) {
      const place = new Place(0n, 8, u64(-BigInt(group)), caller, outer, NO_STACK);
      const frame = { caller, outer, distance: group };
      const address = this.word({ place, before: left > 0 ? old(left - 1) : 0n, group, frame }, differs);
      rootFirst.push(address);
      if (rootFirst.length > MAX_CHAIN) throw malformed('a chain of too many addresses');
      [outer, caller, left, differs] = [caller, address, Math.max(left - 1, 0), false];
    }
    this.addresses += rootFirst.length;
    if (this.addresses > MAX_ADDRESSES) throw malformed('too many addresses of chains');
    return rootFirst.reverse();
  }

  goesOn(kind, caller, outer, left) {
    const salt = BigInt(2042 + kind);
    return this.decisions.bits('CALLS', [mix(caller, salt), mix(caller, mix(outer, salt)), mix(left > 0 ? 1n : 0n, salt)], 1, 0);
  }
}

const isCode = (word, place) => word >= 65536n && !place.isOfStack(word);

/** The two nearest addresses of code above word `i`. */
function frameAbove(region, i) {
  const frame = { caller: 0n, outer: 0n, distance: 0 };
  const end = Math.min(region.words, i + 256);
  let found = 0;
  for (let at = i; at < end && found < 2; at++) {
    const word = region.word(at);
    if (isCode(word, region.placeOf(at))) {
      if (found++ === 0) frame.caller = word;
      else frame.outer = word;
    } else if (found === 0) frame.distance++;
  }
  return frame;
}

function step(frame, word, place) {
  if (isCode(word, place)) Object.assign(frame, { outer: frame.caller, caller: word, distance: 0 });
  else frame.distance++;
}

module.exports = { Dense };
