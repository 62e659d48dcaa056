"""DENSE, from SPEC.md annex A: a part of reel_reader.py, see there."""

from reel_decisions import GOLDEN, Decisions, Table, mixed
from reel_records import MASK, MAX_REGIONS, corrupt

LOOKED_AT = 256


def field_contexts(salt, x, y):
    return salt, mixed(x, salt), mixed(y, salt)


class Cpu:
    def __init__(self):
        self.thread = self.time = 0


class DenseHeads:
    """The state from which heads and places of regions are predicted."""

    NUMBERS = ("event", "weight", "where", "flags", "parts", "regions")

    def __init__(self, decisions, period):
        self.decisions = decisions
        self.period = period
        self.cpus = Table(Cpu)
        self.last = dict.fromkeys(("id", "thread", "cpu", "steps", *self.NUMBERS), 0)
        self.periods = self.lateness_size = 0

    def field(self, salt, x, y, foreseen=12):
        return self.decisions.number(foreseen, "field", field_contexts(salt, x, y))

    def difference(self, salt, x, y, foreseen=12):
        return self.decisions.difference(foreseen, "field", field_contexts(salt, x, y))

    def head(self):
        last = self.last
        number = self.field(2000, last["cpu"], last["thread"])
        cpu = self.cpus[number % 256]
        cpu.thread = thread = self.field(2001, cpu.thread, number)
        if self.decisions.bits(1, 0, "field", field_contexts(2002, thread, number)):
            head = dict(last, id=last["id"] + 1 & MASK)
        else:
            head = {"id": last["id"] + self.difference(2003, 0, 0) & MASK}
            for i, name in enumerate(self.NUMBERS):
                head[name] = self.field(2016 + i, last[name], thread)
            head["steps"] = self.field(2022, last["steps"], thread) if head["parts"] & 16 else 0
        if head["where"] > 255:
            raise corrupt("where is %d" % head["where"])
        if head["regions"] > MAX_REGIONS:
            raise corrupt("a sample with %d regions" % head["regions"])
        head.update(cpu=number, thread=thread)
        self.last = dict(head)
        head["time"] = self.time(cpu)
        return head

    def time(self, cpu):
        self.periods = self.field(2004, self.periods, 0) if self.period else 0
        lateness = self.difference(2005, self.periods, self.lateness_size, 5)
        self.lateness_size = (lateness << 1 ^ lateness >> 63).bit_length()
        foreseen = cpu.time + self.periods * self.period
        time = foreseen + lateness & MASK
        near = abs(lateness) < self.period >> 4
        cpu.time = foreseen + (lateness >> 2) & MASK if near else time
        return time

    def place(self, region, before, pc, pc_before):
        """The region's address and end; `before` is the previous one with its index."""
        address, size = before["address"], len(before["bytes"])
        salt = 2007 + 16 * region
        moved = self.decisions.difference(20, "address", (
            mixed(pc, salt), mixed(pc, mixed(pc_before, salt)), mixed(pc, mixed(address, salt))))
        moved = moved * 8 + self.decisions.bits(3, 0, "field", field_contexts(2008, region, 0))
        return address + moved & MASK, address + size + self.difference(2006, region, 0) & MASK


class Frame:
    def __init__(self, caller, outer, distance, group):
        self.caller = caller
        self.outer = outer
        self.distance = distance
        self.group = group
        self.inner = mixed(caller, distance)
        self.both = mixed(self.inner, outer)


class Guess:
    def __init__(self):
        self.values = [0, 0, 0]
        self.confidence = 0

    def learn(self, value):
        if self.values[0] == value:
            self.confidence = min(self.confidence + 1, 7)
            return
        if self.values[1] != value:
            self.values[2] = self.values[1]
        self.values[1] = self.values[0]
        self.values[0] = value
        self.confidence = int(self.confidence > 2)


def high_index(high):
    return (high * GOLDEN & MASK) >> 56


class DenseWords:
    """The state from which words are predicted."""

    PAIRS = ((1, 0), (2, 0), (3, 0), (2, 1), (3, 1), (3, 2))
    # For each candidate, the word's prediction that it came from.
    GUESS_OF = (None, 0, 1, 2, 2, 2, 3, 3)

    def __init__(self, decisions):
        self.decisions = decisions
        self.guesses = [Table(Guess) for _ in range(4)]
        self.recent = [0] * 32
        self.dictionary = {}
        self.highs = {}

    def word(self, place, frame, before, differs=False):
        found = [self.guesses[i][index >> 48] for i, index in enumerate((
            mixed(place.above, place.key), mixed(place.above, place.second), frame.both,
            frame.inner))]
        candidates = [before] + [place.stands_for(value) for value in (
            found[0].values[0], found[1].values[0], *found[2].values, *found[3].values[:2])]
        hit = self.candidate(place, frame, candidates, found, differs)
        word = place.cut(self.other(place, frame)) if hit is None else candidates[hit]
        if frame.group == 0 and hit != 0 and place.is_stack(word):
            if word in self.recent:
                self.recent.remove(word)
            self.recent = [word] + self.recent[:31]
        for guess in found:
            guess.learn(place.relative(word))
        return word

    def candidate(self, place, frame, candidates, found, differs):
        alike = sum((candidates[a] == candidates[b]) << bit
                    for bit, (a, b) in enumerate(self.PAIRS))
        trusted = 2 * (found[1].confidence > 1) + (found[2].confidence > 1)
        above = mixed(frame.inner, place.above)
        for i, word in enumerate(candidates):
            if word in candidates[:i] or (differs and i == 0):
                continue
            kind = word if word < 2 else 2 if place.is_stack(word) else 3
            confidence = found[self.GUESS_OF[i]].confidence if i else 0
            key = mixed(place.relative(word), i)
            contexts = [self.decisions.in_bucket(mixed(context, key) >> 46, key >> 55)
                        for context in (above, frame.both, place.key + 99 & MASK)]
            contexts.append(self.decisions.direct[
                i * 8192 + kind * 2048 + alike * 32 + confidence * 4 + trusted])
            if self.decisions.several(contexts, i * 12 + min(contexts[0].seen, 11)):
                return i
        return None

    def contexts(self, place, frame, salt, salt_above):
        return (mixed(frame.group, salt), mixed(frame.inner, salt),
                mixed(place.above, salt_above + frame.group))

    def other(self, place, frame):
        decisions = self.decisions
        kind = decisions.bits(3, 0, "class", self.contexts(place, frame, 900, 1900))
        if kind < 2:
            return kind
        if kind == 2:
            return self.recent[
                decisions.bits(5, 0, "recent", self.contexts(place, frame, 66, 1066))]
        if kind == 3:
            distance = decisions.difference(
                12, "distance", self.contexts(place, frame, 77, 1077))
            return (place.address + place.size * distance) & MASK
        if kind == 4:
            word = self.dictionary.get(
                decisions.bits(12, 0, "known", self.contexts(place, frame, 55, 1055)), 0)
        else:
            word = self.new(frame)
        self.dictionary[(word * GOLDEN & MASK) >> 52] = word
        return word

    def new(self, frame):
        decisions = self.decisions
        contexts = 80, mixed(frame.group, 80), mixed(high_index(frame.caller >> 24), 81)
        if decisions.one(decisions.direct[65536]):
            high = self.highs.get(decisions.bits(8, 0, "high", contexts), 0)
        else:
            high = decisions.bits(40, 1, "high", contexts)
            self.highs[high_index(high)] = high
        return high << 24 | decisions.bits(24, 0, "low", (
            mixed(high, 84), mixed(high, 85 + frame.group), mixed(frame.caller >> 12, 84)))

    # -- regions

    def region(self, region, pc, pc_before):
        """`region` has address, count, place(i), word(i) and put(i, word): words counted from the last one, 0."""
        left = self.decisions.number(12, "left", (
            mixed(pc, 603), mixed(region.address, 604), mixed(pc, mixed(pc_before, 603))))
        if left > region.count:
            raise corrupt("%d words that change" % left)
        at = region.count - left
        frame = self.frame_above(region, at)
        row, differs = 0, True
        while at < region.count:
            before = region.word(at)
            word = self.word(region.place(at), frame, before, differs)
            region.put(at, word)
            frame = self.next_frame(region, at, frame)
            row = row + 1 if word == before else 0
            differs = False
            at += 1
            if row < 8 or at == region.count:
                continue
            more = self.more(region.place(at), frame)
            if more > region.count - at:
                raise corrupt("%d words that stay" % more)
            for _ in range(more):
                frame = self.next_frame(region, at, frame)
                at += 1
            row, differs = 0, True

    def more(self, place, frame):
        return self.decisions.number(12, "more", (
            mixed(frame.inner, 700), mixed(place.address, 701),
            mixed(place.above, mixed(place.second, 700))))

    @staticmethod
    def is_code(region, i):
        word = region.word(i)
        return word >= 65536 and not region.place(i).is_stack(word)

    def frame_above(self, region, at):
        looked_at = range(at - 1, max(at - LOOKED_AT, 0) - 1, -1)
        code = [i for i in looked_at if self.is_code(region, i)][:2]
        caller, outer = ([region.word(i) for i in code] + [0, 0])[:2]
        return Frame(caller, outer, at - 1 - code[0] if code else len(looked_at), 0)

    def next_frame(self, region, i, frame):
        if self.is_code(region, i):
            return Frame(region.word(i), frame.caller, 0, 0)
        return Frame(frame.caller, frame.outer, frame.distance + 1, 0)


class Dense:
    """The state of one DENSE."""

    def __init__(self, decided, period):
        self.decisions = Decisions(decided)
        self.heads = DenseHeads(self.decisions, period)
        self.words = DenseWords(self.decisions)
