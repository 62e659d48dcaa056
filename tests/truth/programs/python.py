# SPDX-License-Identifier: Apache-2.0
#
# python.py SECONDS: Python code and its C extensions (json, re, zlib, sqlite3, hashlib) in turn, until that much CPU time is used.
import hashlib
import json
import random
import re
import sys
import time
import zlib

try:
    import sqlite3
except ImportError:
    sqlite3 = None


def tree(depth, chance):
    """A nested document of the given depth."""
    if depth == 0:
        return chance.choice(["alpha", "beta", 3.25, None, True])
    return {f"key{i}": tree(depth - 1 - chance.randrange(depth), chance) for i in range(3)} | {"deeper": tree(depth - 1, chance)}


def count(document):
    if isinstance(document, dict):
        return 1 + sum(map(count, document.values()))
    return 1


def documents(chance):
    document = tree(9, chance)
    text = json.dumps(document, indent=1)
    again = json.loads(text)
    assert again == document
    return text, count(again)


def table(words):
    if sqlite3 is None:
        return len(words)
    database = sqlite3.connect(":memory:")
    database.create_function("backwards", 1, lambda text: text[::-1])
    database.execute("create table word (text, length)")
    database.executemany("insert into word values (?, ?)", ((w, len(w)) for w in words))
    rows = database.execute("select length, count(*), max(backwards(text)) from word group by length order by 3").fetchall()
    database.close()
    return len(rows)


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 3
    chance = random.Random(7)
    digest = hashlib.sha256()
    while time.process_time() < seconds:
        text, nodes = documents(chance)
        words = re.findall(r'"([a-z]+[0-9]*)"\s*:\s*(?:\{|[^{}]*?(?:,|\}))', text)
        packed = zlib.compress(text.encode(), 6)
        assert zlib.decompress(packed) == text.encode()
        digest.update(packed)
        words = sorted((re.sub("[aeiou]", lambda m: m[0].upper(), w) for w in words), key=lambda w: (w[::-1], len(w)))
        digest.update(f"{nodes} {len(words)} {table(words)}".encode())
    print(digest.hexdigest()[:16])


main()
