"""CODED_SAMPLES, from SPEC.md section 6: a part of reel_reader.py, see there."""

from reel_records import MASK, corrupt

GOLDEN = 0x9E3779B97F4A7C15
LOGISTIC = (22, 36, 60, 98, 162, 267, 439, 720, 1179, 1921, 3108, 4971, 7812, 11955, 17625, 24743,
            32768, 40793, 47911, 53581, 57724, 60565, 62428, 63615, 64357, 64816, 65097, 65269,
            65374, 65438, 65476, 65500, 65514)
LEAST = 64


def mixed(first, second):
    number = first * GOLDEN & MASK ^ second * 0xC2B2AE3D27D4EB4F & MASK
    number ^= number >> 29
    return number * 0xBF58476D1CE4E5B9 & MASK


def within(number, least, most):
    return max(least, min(most, number))


def probability_of(odds):
    step, part = odds + 2048 >> 7, odds + 2048 & 127
    value = LOGISTIC[step] * (128 - part) + LOGISTIC[step + 1] * part + 64 >> 7
    return within(value, LEAST, 65536 - LEAST)


def make_odds():
    table, odds = [], -2047
    for sixteenth in range(4096):
        while odds < 2047 and probability_of(odds) < 16 * sixteenth + 8:
            odds += 1
        table.append(odds)
    return table


ODDS = make_odds()


class Context:
    def __init__(self):
        self.probability = 32768
        self.seen = 0

    def odds(self):
        return ODDS[self.probability >> 4] if self.seen else 0

    def learn(self, bit):
        error = (65535 if bit else 0) - self.probability
        self.probability += error * (655360 // (10 * self.seen + 16)) >> 16
        self.seen = min(self.seen + 1, 40)


class Table(dict):
    """Of what is made when it is first asked for."""

    def __init__(self, make):
        super().__init__()
        self.make = make

    def __missing__(self, key):
        self[key] = self.make()
        return self[key]


class Decisions:
    def __init__(self, stream):
        self.stream = stream
        self.low, self.high = 0, 0xFFFFFFFF
        self.code = int.from_bytes(stream.take(4), "big")
        self.hashed = Table(Context)
        self.direct = Table(Context)
        self.mixes = Table(lambda: [40000, 40000])

    def decide(self, probability):
        middle = self.low + ((self.high - self.low) * probability >> 16)
        bit = self.code <= middle
        if bit:
            self.high = middle
        else:
            self.low = middle + 1
        while self.low >> 24 == self.high >> 24:
            self.low = self.low << 8 & 0xFFFFFFFF
            self.high = self.high << 8 & 0xFFFFFFFF | 255
            self.code = self.code << 8 & 0xFFFFFFFF | self.stream.u8()
        return bit

    def one(self, context):
        bit = self.decide(within(context.probability, LEAST, 65536 - LEAST))
        context.learn(bit)
        return bit

    def two(self, contexts, mix):
        weights = self.mixes[mix]
        odds = [context.odds() for context in contexts]
        total = weights[0] * odds[0] + weights[1] * odds[1] >> 16
        probability = probability_of(within(total, -2047, 2047))
        bit = self.decide(probability)
        error = (65535 if bit else 0) - probability
        for i in range(2):
            weights[i] = within(weights[i] + (odds[i] * error >> 13), -1 << 20, 1 << 20)
            contexts[i].learn(bit)
        return bit

    def bits(self, left, context):
        result = 0
        while left:
            line = (mixed(context, result * 64 + left) >> 49) * 16
            node = 1
            for _ in range(min(left, 4)):
                bit = self.one(self.hashed[line + node])
                node = node * 2 + bit
                result = result * 2 + bit
                left -= 1
        return result

    def number(self, context):
        size = self.bits(6, context)
        upper = min(size, 5)
        result = 1 << upper | self.bits(upper, mixed(context, size + 1))
        for _ in range(size - upper):
            result = result << 1 | self.decide(32768)
        return result - 1


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


class CodedWords:
    """The state that words are guessed from; `new` reads a word that nothing foretells."""

    def __init__(self, stream, new):
        self.decisions = Decisions(stream)
        self.new = new
        self.guesses = [Table(Guess) for _ in range(3)]
        self.recent = [0] * 32
        self.dictionary = {}

    def word(self, place, frame, group, before, differs=False):
        hashed = mixed(*frame)
        found = [self.guesses[i][index >> 49] for i, index in enumerate((
            mixed(place.above, place.key), mixed(place.above, place.second), hashed))]
        candidates = [before, place.stands_for(found[0].values[0]),
                      place.stands_for(found[1].values[0])]
        candidates += [place.stands_for(value) for value in found[2].values]
        hit = self.candidate(place, candidates, found, mixed(hashed, place.above), group, differs)
        if hit is None:
            word = place.cut(self.other(place, group, hashed))
        else:
            word = candidates[hit]
        if group == 0 and hit != 0 and place.is_stack(word):
            if word in self.recent:
                self.recent.remove(word)
            self.recent = [word] + self.recent[:31]
        for guess in found:
            guess.learn(place.relative(word))
        return word

    def candidate(self, place, candidates, found, context, group, differs):
        pairs = ((1, 0), (2, 0), (3, 0), (2, 1), (3, 1), (3, 2))
        common = sum((candidates[a] == candidates[b]) << 5 + bit
                     for bit, (a, b) in enumerate(pairs))
        common += 2 * (found[1].confidence > 1) + (found[2].confidence > 1)
        for i, word in enumerate(candidates):
            if word in candidates[:i] or (differs and i == 0):
                continue
            kind = word if word < 2 else 2 if place.is_stack(word) else 3
            confidence = found[min(i, 3) - 1].confidence if i else 0
            known = self.decisions.hashed[mixed(context, word ^ i << 56 ^ group) >> 45]
            direct = self.decisions.direct[
                i * 8192 + kind * 2048 + confidence * 4 + common]
            if self.decisions.two((known, direct), i * 12 + min(known.seen, 11)):
                return i
        return None

    def other(self, place, group, hashed):
        line = (mixed(hashed, 900) >> 49) * 16
        kind = 0
        while kind < 5 and not self.decisions.two(
                (self.decisions.hashed[line + kind],
                 self.decisions.direct[49152 + 8 * min(group, 2) + kind]), 72 + kind):
            kind += 1
        if kind < 2:
            return kind
        if kind == 2:
            return self.recent[self.decisions.bits(5, mixed(group, 66))]
        if kind == 3:
            number = self.decisions.number(mixed(hashed, 77))
            distance = number >> 1 ^ -(number & 1)
            return (place.address + place.size * distance) & MASK
        if kind == 4:
            word = self.dictionary.get(self.decisions.bits(12, mixed(group, 55)), 0)
        else:
            word = self.new(place, self.decisions.one(self.decisions.direct[49176]))
        self.dictionary[(word * GOLDEN & MASK) >> 52] = word
        return word

    def region(self, region, pc):
        """`region` has count, place(i), word(i) and put(i, word) of its words from the last, 0, on."""
        left = self.decisions.number(mixed(pc, 603))
        if left > region.count:
            raise corrupt("%d words that change" % left)
        at = region.count - left
        frame = self.frame_above(region, at)
        row, differs = 0, True
        while at < region.count:
            before = region.word(at)
            word = self.word(region.place(at), frame, 0, before, differs)
            region.put(at, word)
            frame = self.next_frame(region, at, frame)
            row = row + 1 if word == before else 0
            differs = False
            at += 1
            if row < 8 or at == region.count:
                continue
            more = self.decisions.number(mixed(frame[0], frame[1] + 700))
            if more > region.count - at:
                raise corrupt("%d words that stay" % more)
            for _ in range(more):
                frame = self.next_frame(region, at, frame)
                at += 1
            row, differs = 0, True

    @staticmethod
    def is_code(region, i):
        word = region.word(i)
        return word >= 65536 and not region.place(i).is_stack(word)

    def frame_above(self, region, at):
        for distance in range(min(at, 256)):
            if self.is_code(region, at - 1 - distance):
                return region.word(at - 1 - distance), distance
        return 0, min(at, 256)

    def next_frame(self, region, i, frame):
        if self.is_code(region, i):
            return region.word(i), 0
        return frame[0], frame[1] + 1
