"""COLUMNS, from SPEC.md section 6: a part of reel_reader.py, see there."""

from reel_records import (
    MASK, MAX_REGIONS, Cursor, corrupt, decode_chain, overlay, packed_bits)

STREAMS = 16
(HEAD, TIME, REGIONS, REGISTERS, GAPS, TOKENS, NEAR, FAR, KNOWN_LOW, KNOWN_HIGH, HIGH, LOW,
 _, _, RAW, CHAINS) = range(STREAMS)

GOLDEN = 0x9E3779B97F4A7C15
RELATIVE = 1 << 63


def table_index(first, second):
    mixed = first * GOLDEN & MASK ^ second * 0xC2B2AE3D27D4EB4F & MASK
    mixed ^= mixed >> 29
    return (mixed * 0xBF58476D1CE4E5B9 & MASK) >> 48


class Place:
    """The place of a word of `size` bytes; the stack is a region's (address, size)."""

    def __init__(self, size, stack, address, key, above, second):
        self.size = size
        self.stack = stack
        self.address = address
        self.key = key
        self.above = above
        self.second = second

    def is_stack(self, word):
        address, size = self.stack
        return (word - address) & MASK <= size and (word - self.address) % self.size == 0

    def relative(self, word):
        return (word - self.address) & MASK | RELATIVE if self.is_stack(word) else word

    def stands_for(self, value):
        if value & RELATIVE:
            value &= RELATIVE - 1
            value = self.address + value - (RELATIVE if value >> 62 else 0)
        return self.cut(value)

    def cut(self, word):
        return word & (1 << 8 * self.size) - 1


class WordDecoder:
    """The state from which words are predicted."""

    def __init__(self, streams):
        self.streams = streams
        self.by_place = {}
        self.by_words = {}
        self.recent = [0] * 16
        self.dictionary = {}
        self.highs = {}

    def word(self, place):
        token = self.streams[TOKENS].u8()
        at_place = table_index(place.above, place.key)
        at_words = table_index(place.above, place.second)
        if token == 0:
            word = place.stands_for(self.by_place.get(at_place, 0))
        elif token == 1:
            word = place.stands_for(self.by_words.get(at_words, 0))
        else:
            word = place.cut(self.written(token, place))
        self.by_place[at_place] = self.by_words[at_words] = place.relative(word)
        return word

    def written(self, token, place):
        streams = self.streams
        if token == 2:
            return 0
        if token == 3:
            distance = int.from_bytes(streams[NEAR].take(1), "little", signed=True)
            return (place.address + place.size * distance) & MASK
        if token == 4:
            return (place.address + place.size * streams[FAR].sv()) & MASK
        return self.remembered(token, place)

    def remembered(self, token, place):
        streams = self.streams
        if token == 5:
            low, high = streams[KNOWN_LOW].u8(), streams[KNOWN_HIGH].u8()
            if high > 15:
                raise corrupt("word %d of the dictionary" % (high << 8 | low))
            word = self.dictionary.get(high << 8 | low, 0)
        elif token in (6, 7):
            word = self.new(place, token == 6)
        elif token < 24:
            word = self.recent.pop(token - 8)
        else:
            raise corrupt("token %d" % token)
        self.recent = [word] + self.recent[:15]
        self.dictionary[(word * GOLDEN & MASK) >> 52] = word
        return word

    def new(self, place, has_high):
        streams = self.streams
        if has_high:
            word = self.highs.get(streams[HIGH].u8(), 0) << 24
            return word | sum(streams[LOW + i].u8() << 8 * i for i in range(3))
        word = int.from_bytes(streams[RAW].take(place.size), "little")
        self.highs[((word >> 24) * GOLDEN & MASK) >> 56] = word >> 24
        return word


class RegionWords:
    """Writes a region's words over its previous bytes."""

    def __init__(self, decoder, region, words, data):
        self.decoder = decoder
        self.stack = region["address"], region["size"]
        self.size = words & 127
        self.order = "big" if words & 128 else "little"
        self.data = data
        self.start = min(-region["address"] % self.size, len(data))
        self.end = self.start + (len(data) - self.start) // self.size * self.size

    def relative_at(self, offset):
        if offset >= self.end:
            return 0
        word = int.from_bytes(self.data[offset:offset + self.size], self.order)
        return self.place(offset).relative(word)

    def place(self, offset, above=0, second=0):
        address = (self.stack[0] + offset) & MASK
        return Place(self.size, self.stack, address, address, above, second)

    def read(self):
        raw = self.decoder.streams[RAW]
        self.data[self.end:] = raw.take(len(self.data) - self.end)
        self.words()
        self.data[:self.start] = raw.take(self.start)

    def words(self):
        gaps = self.decoder.streams[GAPS]
        left = (self.end - self.start) // self.size
        first = True
        while left:
            same = gaps.uv()
            if same > left or not (same or first):
                raise corrupt("a gap of %d words" % same)
            first = False
            left -= same
            if not left:
                break
            changed = gaps.uv()
            if not 0 < changed <= left:
                raise corrupt("%d words that changed" % changed)
            for _ in range(changed):
                left -= 1
                self.word(self.start + left * self.size)

    def word(self, offset):
        place = self.place(offset, self.relative_at(offset + self.size),
                           self.relative_at(offset + 2 * self.size))
        word = self.decoder.word(place)
        self.data[offset:offset + self.size] = word.to_bytes(self.size, self.order)


class Samples:
    """Iterates over the samples of a COLUMNS; `block` is the block's SampleDecoder."""

    def __init__(self, block, cursor):
        self.block = block
        self.count = cursor.uv()
        self.streams = [Cursor(cursor.bytes()) for _ in range(STREAMS)]
        self.decoder = WordDecoder(self.streams)

    def __iter__(self):
        self.block.forget()
        for _ in range(self.count):
            yield self.sample()
        self.block.forget()
        if any(stream.pos != stream.end for stream in self.streams):
            raise corrupt("extra bytes in a stream")
        if self.block.labels:
            raise corrupt("labels of samples that do not exist")
        if self.block.frames:
            raise corrupt("frames of samples that do not exist")

    def sample(self):
        head = self.head()
        record = {name: head[name] for name in (
            "id", "time", "thread", "cpu", "event", "weight", "where", "flags", "steps")}
        if head["flags"] & 32 and not head["parts"] & 16:       # in early files of 0.1
            record["flags"], record["steps"] = head["flags"] & 255, head["flags"] >> 8
        # A malformed sample outweighs an unknown layout.
        parts = self.block.parts_known(head["parts"])
        thread = self.block.thread(record["thread"])
        self.regions(thread, head["regions"], record, parts)
        self.chains(thread, record, parts)
        record["labels"] = self.block.next_labels()
        record["runtime_frames"] = self.block.next_frames()
        return record

    def head(self):
        stream, block = self.streams[HEAD], self.block
        head = {"id": (block.id + stream.sv()) & MASK}
        for field in ("thread", "cpu", "event", "weight"):
            head[field] = stream.uv()
        head["where"] = stream.u8()
        for field in ("flags", "parts", "regions"):
            head[field] = stream.uv()
        head["steps"] = stream.uv() if head["parts"] & 16 else 0
        head["time"] = (block.time + self.streams[TIME].sv()) & MASK
        if head["regions"] > MAX_REGIONS:
            raise corrupt("a sample with %d regions" % head["regions"])
        block.id, block.time = head["id"], head["time"]
        return head

    def regions(self, thread, count, record, parts):
        nothing = {"address": 0, "bytes": b""}
        old = (thread.regions + [nothing] * count)[:count]
        placed = [self.placed(before) for before in old]
        record["pc"], record["layout"], record["registers"] = 0, None, []
        if parts & 1:
            stack = (placed[0][0]["address"], placed[0][0]["size"]) if placed else (0, 0)
            self.registers(thread, stack, record)
        for (region, words), before in zip(placed, old):
            data = bytearray(region["size"])
            overlay(data, region["address"], before)
            RegionWords(self.decoder, region, words, data).read()
            if any(data.count(0, at, at + size) != size for at, size in region["missing"]):
                raise corrupt("a missing range that is not 0")
            region["bytes"] = bytes(data)
        record["regions"] = thread.regions = [region for region, _ in placed]

    def placed(self, old):
        stream = self.streams[REGIONS]
        kind, words = stream.u8(), stream.u8()
        address = (old["address"] + stream.sv()) & MASK
        end = old["address"] + len(old["bytes"]) + stream.sv()
        size = (end - address) & MASK
        if words & 127 not in (4, 8):
            raise corrupt("a region with words %d" % words)
        self.block.check_region(address, size)
        missing = self.block.missing(stream, size)
        return {"kind": kind, "address": address, "size": size, "missing": missing}, words

    def registers(self, thread, stack, record):
        stream = self.streams[REGISTERS]
        number = stream.uv()
        layout = self.block.layouts.get(number)
        if layout is None:
            raise corrupt("registers in layout %d, which is undefined" % number)
        known = packed_bits(stream, len(layout))
        self.changed_registers(thread, stack, number, known)
        record["pc"], record["layout"] = thread.pc, number
        record["registers"] = [[dwarf, size, thread.values[i] if known[i] else None]
                               for i, (dwarf, size) in enumerate(layout)]

    def changed_registers(self, thread, stack, number, known):
        layout, stream = self.block.layouts[number], self.streams[REGISTERS]
        changed = packed_bits(stream, len(layout) + 1)
        if any(changed[i] > known[i] for i in range(len(layout))):
            raise corrupt("an unknown register is marked as changed")
        values = thread.values if thread.layout == number else [0] * len(layout)
        before, pc = thread.pc, thread.pc
        if changed[len(layout)]:
            pc = self.decoder.word(Place(8, (0, 0), 0, MASK, before, 0))
        thread.layout, thread.values, thread.pc = number, [], pc
        for i, (_, size) in enumerate(layout):
            value = self.expected(values[i], before, pc, size)
            if changed[i]:
                value = self.decoder.word(Place(size, stack, stack[0], i, pc, values[i]))
            thread.values.append(value if known[i] else 0)

    @staticmethod
    def expected(value, before, pc, size):
        return pc if value and value == before and pc < 1 << 8 * size else value

    def chains(self, thread, record, parts):
        stream = self.streams[CHAINS]
        for kind, name in enumerate(("kernel_chain", "frame_chain")):
            record[name] = None
            if parts & 2 << kind:
                record[name] = decode_chain(stream)
        record["kernel_frame"] = (
            self.block.kernel_frame(stream, thread, record["kernel_chain"]) if parts & 8 else None)
