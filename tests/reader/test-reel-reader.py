#!/usr/bin/env python3
"""Tests reel_reader.py with captures that reel_builder.py makes, section by section of SPEC.md.

Sections 1 to 3, 9, 10, and the program; test-reel-records.py tests the others.

    test-reel-reader.py [TEST...]
    test-reel-reader.py --write DIR     also leaves each capture in DIR, for other readers
"""

import json
import os
import random
import subprocess
import sys
import tempfile
import zlib

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [TESTS, os.path.join(TESTS, "reader")]

import reel_builder as b
from reel_cases import (
    MIB, SAMPLES, SIDE, X86, Case, capture_record, end_record, finish, main, names, sample_block,
    started)

READER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "reel_reader.py")


# ---- 1: conventions ----------------------------------------------------------------------------

class Conventions(Case):
    def exit_of(self, encoded):
        """Uses THREAD_EXIT, whose fields are two numbers."""
        return finish(started().side(b.record("THREAD_EXIT", 1, b.Encoded(encoded))))

    def test_uv_values(self):
        for value in (0, 1, 127, 128, 300, (1 << 32) - 1, 1 << 63, (1 << 64) - 1):
            self.assertEqual(self.good(self.exit_of(b.uv(value)))[0]["thread"], value)

    def test_uv_longer_form(self):
        self.assertEqual(self.good(self.exit_of(b"\x85\x80\x80\x80\x80\x80\x80\x80\x80\x00"))[0]
                         ["thread"], 5)

    def test_uv_tenth_byte_above_1(self):
        self.assertEqual(self.bad(self.exit_of(b"\xff" * 9 + b"\x02"), "corrupt"), [])

    def test_uv_eleven_bytes(self):
        self.assertEqual(self.bad(self.exit_of(b"\x80" * 10 + b"\x00"), "corrupt"), [])

    def test_uv_too_long_in_tag(self):
        self.bad(finish(started().side(raw=b"\x80" * 10 + b"\x00\x00", records=1)), "corrupt")

    def test_sv_wraps_modulo_2_64(self):
        top = (1 << 64) - 1
        samples = b.Samples()
        samples.layout(1, [])
        samples.sample(1, top, kernel=[top, 1, 1 << 63, 0])
        samples.sample(2, 3, pc=top, layout=1)
        samples.sample(3, top - 5, pc=2, layout=1)
        records = self.good(finish(started().samples(samples)))[1:]
        self.assertEqual([r["time"] for r in records], [top, 3, top - 5])
        self.assertEqual([r["pc"] for r in records], [0, top, 2])
        self.assertEqual(records[0]["kernel_chain"], [top, 1, 1 << 63, 0])

    def comm(self, value):
        return finish(started().side(b.record("THREAD_COMM", 1, 2, value),
                                     b.record("LOSS", 1, 0, 1, 1)))

    def test_text_is_utf8(self):
        self.assertEqual(self.good(self.comm("ä€😀\x01"))[0]["comm"], "ä€😀\x01")

    def test_text_that_is_not_utf8(self):
        self.assertEqual(self.good(self.comm(b"a\xff\xed\xa0\x80"))[0]["comm"],
                         "a\udcff\udced\udca0\udc80")

    def test_text_with_nul(self):
        self.assertEqual(names(self.bad(self.comm(b"a\0b"), "corrupt")), ["LOSS"])


# ---- 2: the file -------------------------------------------------------------------------------

class FileStructure(Case):
    def test_zstd_unpacks_it(self):
        reel = finish(started().side(b.record("LOSS", 1, 2, 3, 4), compress=b.zstd_frame))
        raw = subprocess.run(["zstd", "-dc"], input=reel.data, stdout=subprocess.PIPE,
                             check=True).stdout
        loss = b.record("LOSS", 1, 2, 3, 4)
        self.assertTrue(raw.startswith(capture_record() + loss + end_record()))
        self.good(reel)

    def test_sizes_of_headers(self):
        self.assertEqual((len(b.file_header()), len(b.block_header(1, 0, 0, 0, 0, 0)),
                          len(b.trailer())), (48, 80, 32))

    def test_no_index(self):
        self.good(started().side(end_record()).trailer())

    def test_fields_of_the_header(self):
        capture = self.read(finish(started(reserved=77, file_id=b"0123456789abcdef"))).capture
        self.assertEqual(capture.problems, 0)
        self.assertEqual(capture.header, (1, 0, 0, b"0123456789abcdef"))

    def test_every_cut(self):
        """Each whole block is read, each cut reported once."""
        samples = b.Samples()
        samples.sample(1, 2, regions=[b.Region(64, b"abc")])
        reel = finish(started().samples(samples))
        starts = [block["offset"] for block in reel.blocks]
        ends = starts[1:] + [len(reel.data) - 32]
        for size in range(len(reel.data)):
            whole = sum(end <= size for end in ends)
            result = self.read(reel.data[:size], keep=size % 23 == 0)
            self.assert_problems(result, "truncated")
            self.assertEqual(len({block for block, _ in result.records}), whole)

    def test_trailer_without_end_record(self):
        reel = started().index().trailer()
        self.bad(reel, ("truncated", len(reel.data)))

    def test_end_record_without_trailer(self):
        reel = started().side(end_record())
        self.bad(reel, ("truncated", len(reel.data)))

    def test_bytes_behind_the_trailer(self):
        reel = finish(started())
        end = len(reel.data)
        self.bad(reel.append(b"x" * 100), ("corrupt", end))

    def test_block_behind_the_trailer(self):
        reel = finish(started())
        end = len(reel.data)
        reel.side(b.record("LOSS", 1, 2, 3, 4))
        self.assertEqual(names(self.bad(reel, ("corrupt", end))), ["LOSS"])

    def test_blocks_between_trailers(self):
        """Each is reported, and read."""
        reel = started().side(end_record()).index().trailer()
        begin = [len(reel.data)]
        reel.side(b.record("LOSS", 1, 2, 3, 4))
        begin.append(len(reel.data))
        reel.side(b.record("LOSS", 2, 2, 3, 4)).trailer(index_offset=0)
        self.assertEqual(names(self.bad(reel, *(("corrupt", at) for at in begin))), ["LOSS"] * 2)

    def test_trailer_behind_damage(self):
        """It counts at the file's end, and at the end of a block."""
        reel = started().side(end_record())
        begin = len(reel.data)
        reel.append(b"damage").trailer().side(b.record("LOSS", 1, 2, 3, 4))
        records = self.bad(reel, ("corrupt", begin), ("truncated", len(reel.data)))
        self.assertEqual(names(records), ["LOSS"])

    def test_trailer_with_wrong_crc(self):
        reel = started().side(end_record()).index()
        end = len(reel.data)
        self.bad(reel.trailer(crc=5), ("corrupt", end), ("truncated", end + 32))

    def test_trailer_with_another_tag(self):
        reel = started().side(end_record()).index()
        reel.append(b.trailer(reel.index_offset, tag=b"abcd"))
        self.bad(reel, "corrupt", "truncated")


def bad_header_test(problem, **header):
    def test(self):
        result = self.read(finish(started(**header)))
        self.assert_problems(result, (problem, 0))
        self.assertEqual(result.records, [])
    return test


for name, problem, header in (
        ("magic", "not a capture", dict(magic=0x184D2A5F)),
        ("size", "not a capture", dict(size=41)),
        ("signature", "not a capture", dict(signature=b"\x89REEL\n\x1a\n")),
        ("crc", "corrupt", dict(crc=1)),
        ("crc_and_version", "corrupt", dict(crc=1, major=2)),
        ("major", "unsupported", dict(major=2)),
        ("minor", "unsupported", dict(major=0, minor=2)),
        ("minor_0", "unsupported", dict(major=0, minor=0)),
        ("feature", "unsupported", dict(features=1 << 31))):
    setattr(FileStructure, "test_header_" + name, bad_header_test(problem, **header))


class ShortFiles(Case):
    def test_empty(self):
        self.bad(b"", ("truncated", 0))

    def test_short_header(self):
        self.bad(b.file_header()[:47], ("truncated", 0))

    def test_short_and_other(self):
        self.bad(b"\x5e\x2a\x4d\x18(\0\0\0\x89PNG", ("not a capture", 0))

    def test_other(self):
        self.bad(b"#!/bin/sh\necho this is another file, and a longer one\n", ("not a capture", 0))

    def test_header_alone(self):
        self.bad(b.file_header(), ("truncated", 48))


# ---- 3: blocks ---------------------------------------------------------------------------------

class Blocks(Case):
    LOSS = b.record("LOSS", 1, 2, 3, 4)

    def with_block(self, *records, **header):
        """Between two good blocks; with one record, unless others are given."""
        header.setdefault("type", SIDE)
        return finish(started().block(content=records or [self.LOSS], **header))

    def only_this_is_bad(self, problem, *records, **header):
        reel = self.with_block(*records, **header)
        self.assertEqual(self.bad(reel, (problem, reel.blocks[1]["offset"])), [])

    def test_reserved_bytes_are_ignored(self):
        self.assertEqual(len(self.good(self.with_block(reserved=b"r" * 12))), 1)

    def test_compressed(self):
        self.assertEqual(len(self.good(self.with_block(*[self.LOSS] * 300,
                                                       compress=b.zstd_frame))), 300)

    def test_large_window(self):
        frame = b.zstd_frame(self.LOSS * 10, "--ultra", "-22", "--no-check")
        self.good(self.with_block(*[self.LOSS] * 10, payload=frame))

    def test_window_64_mib(self):
        self.good(self.with_block(payload=b.rle_frame(self.LOSS, 0, 0, window=16 << 3)))

    def test_window_above_64_mib(self):
        for window in (16 << 3 | 1, 17 << 3, 255):
            self.only_this_is_bad("corrupt", payload=b.rle_frame(self.LOSS, 0, 0, window=window))

    def test_dictionary(self):
        for dictionary in (b"\1", b"\0\1", b"\0\0\0\1"):
            self.only_this_is_bad("corrupt", payload=b.rle_frame(self.LOSS, 0, 0,
                                                                 dictionary=dictionary))

    def test_dictionary_0(self):
        """It is not a block."""
        self.good(self.with_block(payload=b.rle_frame(self.LOSS, 0, 0, dictionary=b"\0\0")))

    def test_no_records(self):
        self.assertEqual(self.good(finish(started().side())), [])

    def test_unknown_type(self):
        self.only_this_is_bad("unsupported", type=5)

    def test_unknown_type_0(self):
        self.only_this_is_bad("unsupported", type=0)

    def test_unknown_codec(self):
        self.only_this_is_bad("unsupported", codec=2, payload=b.skippable(b"?"))

    def test_unknown_flag(self):
        self.only_this_is_bad("unsupported", flags=8)

    def test_encrypted(self):
        self.only_this_is_bad("corrupt", flags=b.ENCRYPTED, payload=b.skippable(b"?"))

    def test_keys(self):
        for flags in 0, b.OPTIONAL:
            self.only_this_is_bad("corrupt", type=4, flags=flags)

    def test_optional_known(self):
        self.assertEqual(len(self.good(self.with_block(flags=b.OPTIONAL))), 1)

    def test_optional_unknown_type(self):
        self.assertEqual(self.good(self.with_block(flags=b.OPTIONAL, type=99)), [])

    def test_optional_unknown_codec(self):
        reel = self.with_block(flags=b.OPTIONAL, codec=9, payload=b.skippable(b"?"))
        self.assertEqual(self.good(reel), [])

    def test_optional_encrypted(self):
        self.only_this_is_bad("corrupt", flags=b.OPTIONAL | b.ENCRYPTED,
                              payload=b.skippable(b"?"))

    def test_optional_unknown_flag(self):
        self.assertEqual(self.good(self.with_block(flags=b.OPTIONAL | 0x80)), [])

    def test_payload_crc(self):
        self.only_this_is_bad("corrupt", payload_crc=1)

    def test_raw_size_smaller(self):
        self.only_this_is_bad("corrupt", raw_size=len(self.LOSS) - 1)

    def test_raw_size_larger(self):
        self.only_this_is_bad("corrupt", raw_size=len(self.LOSS) + 1)

    def test_frame_lies_about_its_content(self):
        """The frame's header declares less than its blocks contain."""
        good = b.frame(self.LOSS * 3)
        frame = good[:5] + len(self.LOSS).to_bytes(8, "little") + good[13:]
        self.only_this_is_bad("corrupt", payload=frame)

    def test_frame_lies_and_holds_much(self):
        frame = bytearray(b.rle_frame(self.LOSS, 0, 32 * MIB))
        frame[6:14] = len(self.LOSS).to_bytes(8, "little")
        self.only_this_is_bad("corrupt", payload=bytes(frame))

    def test_frame_without_content_size(self):
        frame = subprocess.run(["zstd", "-cq"], input=self.LOSS, stdout=subprocess.PIPE).stdout
        self.only_this_is_bad("corrupt", payload=frame)

    def test_two_frames(self):
        frame = b.frame(self.LOSS) + b.frame(self.LOSS)
        self.only_this_is_bad("corrupt", self.LOSS, self.LOSS, payload=frame)

    def test_frame_and_empty_frame(self):
        self.only_this_is_bad("corrupt", payload=b.frame(self.LOSS) + b.frame(b""))

    def test_frame_and_skippable_frame(self):
        self.only_this_is_bad("corrupt", payload=b.frame(self.LOSS) + b.skippable(b"x"))

    def test_frame_and_more(self):
        self.only_this_is_bad("corrupt", payload=b.frame(self.LOSS) + b"x")

    def test_half_a_frame(self):
        self.only_this_is_bad("corrupt", payload=b.frame(self.LOSS)[:-1])

    def test_no_frame(self):
        self.only_this_is_bad("corrupt", payload=b.skippable(self.LOSS))

    def test_empty_payload(self):
        self.only_this_is_bad("corrupt", payload=b"")

    def test_damaged_frame_with_right_crc(self):
        frame = bytearray(b.zstd_frame(self.LOSS * 100))
        frame[-1] ^= 0xFF  # in its checksum
        self.only_this_is_bad("corrupt", *[self.LOSS] * 100, payload=bytes(frame))

    def test_fewer_records_than_the_header_says(self):
        reel = self.with_block(self.LOSS, records=2)
        self.assertEqual(len(self.bad(reel, ("corrupt", reel.blocks[1]["offset"]))), 1)

    def test_more_records_than_the_header_says(self):
        reel = self.with_block(self.LOSS, self.LOSS, records=1)
        self.bad(reel, ("corrupt", reel.blocks[1]["offset"]))

    def test_times_of_the_header_may_be_wrong(self):
        self.good(self.with_block(time_first=1 << 60, time_last=5))

    def test_wrong_header_crc(self):
        """It is not recognized as a block."""
        reel = self.with_block(crc=1)
        begin, end = (block["offset"] for block in reel.blocks[1:3])
        self.assertEqual(self.bad(reel, ("corrupt", begin), ("corrupt", end)), [])

    def test_tag_of_another_file(self):
        reel = self.with_block(tag=b"othr")
        begin, end = (block["offset"] for block in reel.blocks[1:3])
        self.assertEqual(self.bad(reel, ("corrupt", begin), ("corrupt", end)), [])


class Index(Case):
    def reel(self):
        return started().side(b.record("LOSS", 1, 2, 3, 4)).side(end_record())

    def used(self, reel, use_index=True):
        result = self.read(reel, use_index)
        self.assertEqual(result.problems, [])
        self.assertEqual(self.inner(result), [{"record": "LOSS", "time": 1, "cpu": 2, "cause": 3,
                                               "count": 4}])
        return result.capture.used_index

    def test_good(self):
        reel = self.reel().index().trailer()
        self.assertTrue(self.used(reel))
        entry = self.read(reel).records[-2][1]
        block = reel.blocks[1]
        self.assertEqual(entry, dict({key: block.get(key, 0) for key in entry},
                                     record="INDEX_ENTRY"))

    def test_not_wanted(self):
        self.assertFalse(self.used(self.reel().index().trailer(), use_index=False))

    def test_none(self):
        self.assertFalse(self.used(self.reel().trailer()))

    def test_offset_wrong(self):
        self.assertFalse(self.used(self.reel().index().trailer(index_offset=49)))

    def test_offset_beyond_the_file(self):
        self.assertFalse(self.used(self.reel().index().trailer(index_offset=1 << 63)))

    def test_offset_of_another_block(self):
        self.assertFalse(self.used(self.reel().index().trailer(index_offset=48)))

    def test_entry_left_out(self):
        reel = self.reel()
        for entries in ([], reel.entries()[:-1], reel.entries()[1:], reel.entries()[::2]):
            reel = self.reel()
            self.assertFalse(self.used(reel.index(entries=entries).trailer()))

    def test_entries_in_another_order(self):
        reel = self.reel()
        self.assertFalse(self.used(reel.index(entries=reel.entries()[::-1]).trailer()))

    def changed(self, **changes):
        reel = self.reel()
        reel.blocks[1].update(changes)
        return reel.index().trailer()

    def test_wrong_sequence(self):
        self.assertFalse(self.used(self.changed(sequence=7)))

    def test_wrong_offset(self):
        self.assertFalse(self.used(self.changed(offset=50)))
        self.assertFalse(self.used(self.changed(offset=(1 << 64) - 1)))

    def test_the_header_outweighs_the_entry(self):
        self.used(self.changed(type=2, stored_size=1, raw_size=1 << 60, records=0))

    def test_damaged(self):
        """It is read like any block, and the file is scanned."""
        result = self.read(self.reel().index(payload_crc=1).trailer())
        self.assert_problems(result, "corrupt")
        self.assertFalse(result.capture.used_index)
        self.assertEqual(names(self.inner(result)), ["LOSS"])

    def test_block_header_damaged(self):
        reel = self.reel().index().trailer()
        data = bytearray(reel.data)
        data[reel.blocks[1]["offset"] + 30] ^= 1
        self.assertEqual(self.bad(data, "corrupt", "corrupt"), [])

    def test_block_behind_the_index(self):
        """Nothing is reported."""
        self.good(started().index().side(end_record()).trailer())

    def test_unknown_critical_record_in_it(self):
        reel = self.reel()
        reel.index(entries=reel.entries() + [b.record(100, critical=True)]).trailer()
        self.assertEqual(names(self.bad(reel, ("unsupported", reel.blocks[3]["offset"]))),
                         ["LOSS"])

    def test_unknown_record_in_it(self):
        reel = self.reel()
        self.good(reel.index(entries=reel.entries() + [b.record(100)]).trailer())


# ---- 9: limits of blocks -----------------------------------------------------------------------

class Limits(Case):
    def filled(self, size):
        """A block of an unknown record with that many raw bytes."""
        start = b.uv(200) + b.uv(size - 6)
        assert len(start) == 6
        return finish(started().side(b"?", raw=b"", raw_size=size,
                                     payload=b.rle_frame(start, 0, size - 6, stored=size // 60)))

    def test_raw_size(self):
        self.assertEqual(self.good(self.filled(64 * MIB))[0]["size"], 64 * MIB - 6)

    def test_raw_size_exceeded(self):
        self.assertEqual(self.bad(self.filled(64 * MIB + 1), "corrupt", "corrupt"), [])

    def too_dense(self, type, payload, raw_size, records):
        reel = started().block(type, (), payload=payload, raw_size=raw_size, records=records,
                               expanded_size=MIB)
        offset = reel.blocks[-1]["offset"]
        return self.bad(finish(reel), ("corrupt", offset))

    def test_raw_density(self):
        """64 raw bytes per stored one, 256 in a block of samples, and 4096 more."""
        for type, factor in (SIDE, 64), (SAMPLES, 256):
            for more in 0, 1:
                size = 100000
                start = b.uv(200) + b.uv(size - 5)
                payload = b.rle_frame(start, 0, size - 5)
                missing = (size - 4096 - len(payload) * factor) // factor + 1 - more
                payload = b.rle_frame(start, 0, size - 5, stored=missing)
                reel = finish(started().block(type, b"?", raw=b"", raw_size=size, payload=payload))
                limit = factor * len(payload) + 4096
                if size <= limit:
                    self.assertEqual(len(self.good(reel)), 1)
                else:
                    self.bad(reel, "corrupt")

    def test_record_density(self):
        """4 records per stored byte, and 256 more."""
        def block(records):
            raw = b.uv(200) + b.uv(0)
            return b.zstd_frame(raw * records), len(raw) * records

        payload, size = block(1000)
        self.assertGreater(1000, 4 * len(payload) + 256)
        self.assertEqual(self.too_dense(SIDE, payload, size, 1000), [])
        payload, size = block(300)
        self.assertEqual(len(self.good(finish(started().block(
            SIDE, (), payload=payload, raw_size=size, records=300)))), 300)

    def test_expanded_size_exceeded(self):
        """A header that exceeds it is invalid: its block is damage, and its number missing."""
        self.bad(sample_block(b.sample_record(), expanded=256 * MIB + 1), "corrupt", "corrupt")

    def test_expanded_size_exceeded_by_regions(self):
        """Rejected by the header's number before the region is allocated."""
        self.bad(sample_block(b.sample_record(regions=[b.region_bytes(0, 16 * MIB)]), expanded=1),
                 "corrupt")

    def test_stored_size_exceeded(self):
        reel = started()
        offset = len(reel.data)
        reel.side(stored_size=65 * MIB + 1)
        self.bad(reel, ("corrupt", offset), ("truncated", len(reel.data)))

    def test_limits_of_a_block_passed_over(self):
        self.bad(finish(started().block(77, [], flags=b.OPTIONAL, raw_size=(1 << 32) - 1)),
                 "corrupt", "corrupt")

    def test_passed_over_block_is_not_looked_at(self):
        self.good(finish(started().block(77, [], flags=b.OPTIONAL, payload=b"?", payload_crc=1,
                                         raw_size=1, records=5)))

    def test_expanded_size_of_a_side_block(self):
        self.good(finish(started().side(expanded_size=256 * MIB)))


# ---- 10: damage --------------------------------------------------------------------------------

class Damage(Case):
    def reel(self):
        reel = started()
        for i in range(4):
            reel.side(b.record("LOSS", i, 0, 1, 1))
        return finish(reel)

    def times(self, records):
        return [record["time"] for record in records]

    def test_inserted(self):
        """The index does not hide it."""
        reel = self.reel()
        at = reel.blocks[3]["offset"]
        data = reel.data[:at] + b"damage" * 9 + reel.data[at:]
        self.assertEqual(self.times(self.bad(data, ("corrupt", at))), [0, 1, 2, 3])

    def test_inserted_and_indexed(self):
        reel = started()
        at = len(reel.data)
        reel.append(b"damage")
        self.bad(finish(reel), ("corrupt", at))

    def test_block_cut_out(self):
        reel = self.reel()
        begin, end = (reel.blocks[i]["offset"] for i in (2, 4))
        result = self.read(reel.data[:begin] + reel.data[end:])
        self.assert_problems(result, ("corrupt", begin))
        self.assertIn("2 blocks", result.problems[0].message)
        self.assertEqual(self.times(self.inner(result)), [0, 3])

    def test_first_block_lost(self):
        reel = self.reel()
        self.assertEqual(self.times(self.bad(reel.data[:48] + reel.data[reel.blocks[1]["offset"]:],
                                             ("corrupt", 48))), [0, 1, 2, 3])

    def test_block_repeated(self):
        reel = self.reel()
        begin, end = (reel.blocks[i]["offset"] for i in (2, 3))
        data = reel.data[:end] + reel.data[begin:]
        self.assertEqual(self.times(self.bad(data, ("corrupt", end))), [0, 1, 1, 2, 3])

    def test_blocks_swapped(self):
        reel = self.reel()
        one, two, three = (reel.blocks[i]["offset"] for i in (2, 3, 4))
        data = reel.data[:one] + reel.data[two:three] + reel.data[one:two] + reel.data[three:]
        self.assertEqual(self.times(self.bad(data, "corrupt", "corrupt")), [0, 2, 1, 3])

    def test_cut_in_a_block_in_the_middle(self):
        """The rest of it is searched for the next header."""
        reel = self.reel()
        begin, end = (reel.blocks[i]["offset"] for i in (2, 3))
        data = reel.data[:begin + 50] + reel.data[end:]
        records = self.bad(data, ("corrupt", begin), ("corrupt", begin + 50))
        self.assertEqual(self.times(records), [0, 2, 3])

    def test_damage_before_the_trailer(self):
        """The trailer is found after it: the file is complete."""
        reel = started().side(end_record()).index()
        begin = len(reel.data)
        self.bad(reel.append(b"damage").trailer(), ("corrupt", begin))

    def test_header_within_the_damage(self):
        """A trailer with a wrong crc, and one of another file: neither counts."""
        reel = started()
        begin = len(reel.data)
        other = b.Reel(file_id=b"another file id.").side(b.record("LOSS", 7, 0, 1, 1))
        wrong = b.block_header(SIDE, 1, 0, 0, 0, 0, crc=3)
        finish(reel.append(b"xyz" + other.data[48:] + wrong))
        self.assertEqual(self.bad(reel, ("corrupt", begin)), [])

    def test_much_damage(self):
        """More than one search step, with a header across its edge."""
        for size in range(MIB - 20, MIB + 4, 3):
            reel = started()
            begin = len(reel.data)
            reel.append(b"\x5d" * size).side(b.record("LOSS", 7, 0, 1, 1))
            result = self.read(finish(reel), keep=False)
            self.assert_problems(result, ("corrupt", begin))
            self.assertEqual(self.times(self.inner(result)), [7])

    def test_capture_in_a_stack(self):
        other = finish(b.Reel(file_id=b"another file id.").side(capture_record())).data
        samples = b.Samples()
        samples.sample(1, 1, regions=[b.Region(0, other)])
        self.good(finish(started().samples(samples)))

    def test_two_captures(self):
        reel = self.reel()
        other = finish(b.Reel(file_id=b"another file id.").side(capture_record())).data
        self.assertEqual(self.times(self.bad(reel.data + other, ("corrupt", len(reel.data)))),
                         [0, 1, 2, 3])

    def test_the_same_capture_twice(self):
        """Its blocks are found again, but their sequence shows the copy."""
        reel = self.reel()
        result = self.read(reel.data * 2)
        self.assertEqual({p.problem for p in result.problems}, {"corrupt"})
        self.assertEqual(self.times(self.inner(result)), [0, 1, 2, 3] * 2)

    def test_each_byte_of_headers(self):
        """A flipped bit anywhere in a block is detected, and costs only this block."""
        reel = self.reel()
        begin, end = (reel.blocks[i]["offset"] for i in (2, 3))
        for at in range(begin, end):
            data = bytearray(reel.data)
            data[at] ^= 0x10
            result = self.read(data, keep=at % 16 == 0)
            self.assertEqual({p.problem for p in result.problems}, {"corrupt"})
            self.assertEqual(self.times(self.inner(result)), [0, 2, 3])

    def test_corrupt_block_keeps_records_before(self):
        loss = [b.record("LOSS", i, 0, 1, 1) for i in range(3)]
        reel = finish(started().side(*loss, b.record("SPACE_EXIT", 1), *loss))
        self.assertEqual(self.times(self.bad(reel, "corrupt")), [0, 1, 2])

    def test_random_damage(self):
        """The only result is problems."""
        samples = b.Samples()
        samples.layout(1, X86)
        for i in range(20):
            samples.sample(i + 1, i, pc=i, layout=1, values=[1, 2, i, None], kernel=[1, 2],
                           regions=[b.Region(100 - i, bytes(range(i, 60)), missing=[])])
        raw = b"".join(samples.records)
        chance = random.Random(1)
        for _ in range(60):
            data = bytearray(raw)
            for _ in range(chance.randrange(1, 4)):
                data[chance.randrange(len(data))] = chance.randrange(256)
            self.read(finish(started().block(SAMPLES, samples.records, raw=bytes(data),
                                             expanded_size=samples.expanded)))


# ---- the program -------------------------------------------------------------------------------

class Program(Case):
    def run_reader(self, data, *options):
        """(exit status, lines, problems)"""
        data = data.data if isinstance(data, b.Reel) else data
        with tempfile.NamedTemporaryFile(suffix=".reel") as file:
            file.write(data)
            file.flush()
            done = subprocess.run([sys.executable, READER, *options, file.name],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        done.stdout.decode("ascii")
        return (done.returncode, *([json.loads(line) for line in stream.splitlines()]
                                   for stream in (done.stdout, done.stderr)))

    def reel(self):
        samples = b.Samples()
        samples.layout(1, [(7, 8)])
        samples.sample(1, 2, layout=1, values=[None], regions=[b.Region(64, b"\0a")])
        return finish(started().samples(samples).side(b.record(100, b"a"),
                                                      b.record("THREAD_COMM", 1, 2, b"\xff")))

    def test_output(self):
        reel = self.reel()
        status, lines, problems = self.run_reader(reel)
        self.assertEqual((status, problems), (0, []))
        self.assertEqual(list(lines[0])[:3], ["block", "block_offset", "record"])
        self.assertEqual(lines[0]["recording"], b.FILE_ID.hex())
        self.assertEqual(lines[0]["command_line"], b"stackreel\0record\0".hex())
        self.assertEqual(lines[2], dict(
            block=1, block_offset=reel.blocks[1]["offset"], record="SAMPLE", id=1, time=2,
            thread=1, cpu=0, event=1, weight=1, where=1, flags=0, steps=0, pc=0, layout=1,
            registers=[[7, 8, None]], kernel_chain=None, frame_chain=None, kernel_frame=None, labels=None, runtime_frames=None,
            regions=[dict(kind=0, address=64, size=2, missing=[], crc=zlib.crc32(b"\0a"))]))
        self.assertEqual([line["record"] for line in lines[3:5]], ["unknown-100", "THREAD_COMM"])
        self.assertEqual(lines[4]["comm"], "\\xff")

    def test_bytes(self):
        _, lines, _ = self.run_reader(self.reel(), "--bytes")
        self.assertEqual(lines[2]["regions"][0]["bytes"], "0061")

    def test_no_index(self):
        self.assertEqual(self.run_reader(self.reel(), "--no-index"), self.run_reader(self.reel()))

    def test_summary(self):
        status, lines, problems = self.run_reader(self.reel(), "--summary")
        self.assertEqual((status, problems, len(lines)), (0, [], 6))
        self.assertEqual(lines[1]["records"], {"SAMPLE_LAYOUT": 1, "SAMPLE": 1})
        self.assertEqual(lines[-1]["blocks"], 5)
        self.assertEqual(lines[-1]["records"]["INDEX_ENTRY"], 4)

    def test_status_1(self):
        reel = started()
        status, lines, problems = self.run_reader(reel)
        self.assertEqual((status, len(lines)), (1, 1))
        self.assertEqual((list(problems[0]), problems[0]["problem"], problems[0]["offset"]),
                         (["problem", "offset", "message"], "truncated", len(reel.data)))

    def test_status_2(self):
        for data, problem in ((b"another file", "not a capture"), (b"", "truncated"),
                              (b.Reel(major=3), "unsupported"), (b.Reel(crc=3), "corrupt"),
                              (b.Reel(), "truncated")):
            status, lines, problems = self.run_reader(data)
            self.assertEqual((status, lines), (2, []))
            self.assertEqual([p["problem"] for p in problems], [problem])

    def test_no_such_file(self):
        done = subprocess.run([sys.executable, READER, "/nonexistent/file"], stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, 2)


if __name__ == "__main__":
    sys.exit(main(globals(), sys.argv[1:]))
