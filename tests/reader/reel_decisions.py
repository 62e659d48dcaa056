"""Decisions and numbers of DENSE, from SPEC.md annex A: a part of reel_reader.py, see
there."""

from reel_records import MASK

GOLDEN = 0x9E3779B97F4A7C15
LOGISTIC = (22, 36, 60, 98, 162, 267, 439, 720, 1179, 1921, 3108, 4971, 7812, 11955, 17625, 24743,
            32768, 40793, 47911, 53581, 57724, 60565, 62428, 63615, 64357, 64816, 65097, 65269,
            65374, 65438, 65476, 65500, 65514)
LEAST = 24
SEEN_MOST = 127
WEIGHT_MOST = 1 << 20
# By the number of contexts.
WEIGHTS = {3: 26666, 4: 20000}


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


PROBABILITIES = [probability_of(odds) for odds in range(-2048, 2048)]


def make_odds():
    table, odds = [], -2047
    for sixteenth in range(4096):
        while odds < 2047 and PROBABILITIES[odds + 2048] < 16 * sixteenth + 8:
            odds += 1
        table.append(odds)
    return table


ODDS = make_odds()
RATES = [655360 // (10 * seen + 16) for seen in range(SEEN_MOST + 1)]


class Context:
    __slots__ = ("probability", "seen", "check")

    def __init__(self):
        self.renew(None)

    def renew(self, check):
        self.probability = 32768
        self.seen = 0
        self.check = check

    def odds(self):
        return ODDS[self.probability >> 4] if self.seen else 0

    def learn(self, bit):
        error = (65535 if bit else 0) - self.probability
        self.probability += error * RATES[self.seen] >> 16
        self.seen = min(self.seen + 1, SEEN_MOST)


class Table(dict):
    """A dictionary whose entries are made on first use."""

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
        self.lines = Table(lambda: [Context() for _ in range(16)])
        self.buckets = Table(lambda: [Context() for _ in range(4)])
        self.direct = Table(Context)
        self.mixes = {}

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

    def in_bucket(self, number, check):
        bucket = self.buckets[number]
        for context in bucket:
            if context.seen and context.check == check:
                return context
        context = min(bucket, key=lambda context: context.seen)
        context.renew(check)
        return context

    def one(self, context):
        bit = self.decide(within(context.probability, LEAST, 65536 - LEAST))
        context.learn(bit)
        return bit

    def several(self, contexts, mix):
        """`mix` is any name of the mix: different numbers of contexts have different names."""
        weights = self.mixes.setdefault(mix, [WEIGHTS[len(contexts)]] * len(contexts))
        odds = [context.odds() for context in contexts]
        total = sum(weight * x for weight, x in zip(weights, odds)) >> 16
        probability = PROBABILITIES[within(total, -2047, 2047) + 2048]
        bit = self.decide(probability)
        error = (65535 if bit else 0) - probability
        for i, x in enumerate(odds):
            weights[i] = within(weights[i] + (x * error >> 14), -WEIGHT_MOST, WEIGHT_MOST)
        for context in contexts:
            context.learn(bit)
        return bit

    # -- numbers of a kind, in three contexts

    def bits(self, count, part, kind, contexts):
        result, left = 0, count
        while left:
            group = (result * 64 + left) * 64 + part
            lines = [self.lines[mixed(context, group * 4 + i) >> 48]
                     for i, context in enumerate(contexts)]
            node = 1
            for _ in range(min(left, 4)):
                bit = self.several([line[node] for line in lines],
                                   (kind, min(count - left, 15)))
                node = node * 2 + bit
                result = result * 2 + bit
                left -= 1
        return result

    def number(self, foreseen, kind, contexts):
        size = self.bits(7, 0, kind, contexts)
        if size >= 64:
            return MASK
        upper = min(size, foreseen)
        result = 1 << upper | self.bits(upper, size + 1, kind, contexts)
        for _ in range(size - upper):
            result = result << 1 | self.decide(32768)
        return result - 1

    def difference(self, foreseen, kind, contexts):
        number = self.number(foreseen, kind, contexts)
        return number >> 1 ^ -(number & 1)
