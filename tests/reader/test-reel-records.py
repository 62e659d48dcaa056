#!/usr/bin/env python3
"""Tests reel_reader.py with captures that reel_builder.py makes, section by section of SPEC.md.

Sections 4 to 6, which reel_records.py reads; test-reel-reader.py tests the others.

    test-reel-records.py [TEST...]
    test-reel-records.py --write DIR    also leaves each capture in DIR, for other readers
"""

import os
import sys

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [TESTS, os.path.join(TESTS, "reader")]

import reel_builder as b
from reel_cases import (
    CAPTURE_FIELDS, MIB, SAMPLES, X86, Case, capture_record, end_record, finish, main, names,
    sample_block, started)


# ---- 4: records --------------------------------------------------------------------------------

class Records(Case):
    def side(self, *records):
        return finish(started().side(*records))

    def test_unknown(self):
        reel = self.side(b.record(100, 1, 2), b.record(31), b.record("LOSS", 1, 2, 3, 4))
        self.assertEqual(self.good(reel)[:2], [{"record": "unknown-100", "size": 2},
                                               {"record": "unknown-31", "size": 0}])

    def test_id_0(self):
        for critical in (False, True):
            reel = self.side(b.record(0, 1, critical=critical), b.record("LOSS", 1, 2, 3, 4))
            self.assertEqual(self.bad(reel, "corrupt"), [])

    def test_unknown_critical(self):
        """Ends the block, but earlier records are read."""
        loss = b.record("LOSS", 1, 2, 3, 4)
        reel = self.side(loss, b.record(100, 1, critical=True), loss)
        self.assertEqual(len(self.bad(reel, "unsupported")), 1)

    def test_unknown_in_a_sample_block(self):
        sample = b.sample_record()
        reel = sample_block(b.record(45), sample, b.record(31, 5), sample)
        self.assertEqual(names(self.good(reel)),
                         ["unknown-45", "SAMPLE", "unknown-31", "SAMPLE"])

    def test_critical_does_not_matter_if_known(self):
        reel = self.side(b.record("LOSS", 1, 2, 3, 4, critical=True),
                         b.record("THREAD_EXEC", 1, 2, 3, critical=False))
        self.assertEqual(len(self.good(reel)), 2)

    def test_later_fields_are_ignored(self):
        reel = self.side(b.record("LOSS", 1, 2, 3, 4, 5, b"more"))
        self.assertEqual(self.good(reel)[0]["count"], 4)

    def test_later_fields_of_samples(self):
        sample = b.sample_record(more=b"later")
        self.assertEqual(len(self.good(sample_block(sample, sample))), 2)

    def test_retired(self):
        """First forms of samples: their contents are no longer known."""
        for number in (33, 34, 36):
            self.assertEqual(self.bad(sample_block(b.record(number, critical=True)), "unsupported"),
                             [])

    def test_ends_within_a_field(self):
        reel = self.side(b.record("LOSS", 1, 2, 3, b.Encoded(b"\x80")))
        self.assertEqual(self.bad(reel, "corrupt"), [])

    def test_ends_before_a_field(self):
        self.assertEqual(self.bad(self.side(b.record("LOSS", 1, 2, 3)), "corrupt"), [])

    def test_text_longer_than_its_record(self):
        reel = self.side(b.record("THREAD_COMM", 1, 2, b.Encoded(b"\x05abcd")),
                         b.record("LOSS", 1, 2, 3, 4))
        self.assertEqual(self.bad(reel, "corrupt"), [])

    def test_longer_than_its_block(self):
        self.bad(finish(started().side(b.record("LOSS", 1, 2, 3, 4)[:-1])), "corrupt")

    def test_half_a_tag(self):
        self.bad(finish(started().side(b"\x80")), "corrupt")

    def test_side_record_in_sample_block(self):
        self.bad(sample_block(b.record("LOSS", 1, 2, 3, 4)), "corrupt")

    def test_sample_record_in_side_block(self):
        self.bad(self.side(b.layout_record(1, [])), "corrupt")

    def test_index_entry_in_side_block(self):
        self.bad(self.side(b.record("INDEX_ENTRY", *[0] * 9)), "corrupt")

    def test_side_record_in_index_block(self):
        reel = started().side(end_record())
        self.bad(reel.index(entries=[b.record("LOSS", 1, 2, 3, 4)]).trailer(), "corrupt")


# ---- 5: side records ---------------------------------------------------------------------------

GOOD = [
    ("EVENT", dict(id=1, perf_type=4294967295, perf_config=0, frequency=99, period=0,
                   weight_unit=1, name="sched:sched_switch", value_names="prev_comm,,next_pid", waits=3)),
    ("MODULE", dict(id=7, kind=1, device_major=8, device_minor=1, inode=1234, inode_generation=5,
                    build_id=b"", path="/bin/x (deleted)", file_size=8080, file_time=1 << 60,
                    file_digest=b"0123456789abcdef")),
    ("IMAGE", dict(module=7, offset=2, total_size=6, bytes=b"\x7fELF", number=1, base=1)),
    ("SPACE", dict(time=1, id=2, parent=0, origin=1, pid=100, namespace_pid=1, machine=183,
                   word_bits=64, byte_order=1, code_mask=0xFF << 48, data_mask=0x7F << 56,
                   vdso=0x7FFF0000)),
    ("SPACE_EXIT", dict(time=1, space=2)),
    ("THREAD", dict(time=1, id=3, space=2, origin=3, tid=101, namespace_tid=0, parent=0, comm="")),
    ("THREAD_COMM", dict(time=1, thread=3, comm="worker")),
    ("THREAD_EXEC", dict(time=1, thread=3, space=4)),
    ("THREAD_EXIT", dict(time=1, thread=3)),
    ("MAP", dict(time=1, space=2, address=(1 << 64) - 4096, size=4096, offset=8192, protection=5,
                 flags=2 | 1 << 20, module=7)),
    ("UNMAP", dict(time=1, space=2, address=4096, size=4096, how=2)),
    ("KERNEL_SYMBOL", dict(address=0xFFFFFFFF81000000, size=0, module=9, name="do_syscall_64",
                           since=12, origin=2)),
    ("LOSS", dict(time=1, cpu=4294967295, cause=9, count=3)),
    ("JIT_SYMBOL", dict(time=1, space=1, address=0x7000, size=16, source=1, name="py::f:x.py")),
    ("JIT_UNWIND", dict(time=1, space=1, address=0x7000, size=16, frame_address=0x7010,
                        eh_frame=bytes(4), section=1)),
    ("JIT_LINE", dict(time=1, space=1, function=0x7000, address=0x7004, line=3, file="x.py")),
    ("CODE", dict(time=9, space=2, module=0, address=(1 << 64) - 2, bytes=b"\xc3\xc3", since=7)),
    ("CODE_END", dict(time=1, space=2, address=4096, size=256)),
    ("TRACE_STEPS", dict(id=1 << 20, stop=15, steps=b"\x01\x01\x18\x00")),
    ("ORIGIN", dict(id=2, first_sample=1000, file=bytes(range(16)), start_time=5, start_wall_time=1 << 60, clock=1,
                    cpus_online=8, part=1, recording=bytes(range(16, 32)), hostname="web1", kernel_release="6.1.0",
                    kernel_version="#1 SMP", kernel_build_id=b"1234", tool_version="stackreel-record 0.1.0",
                    command_line=b"a\0")),
    ("CGROUP", dict(id=3, path="/system.slice/nginx.service", container_name="web", pod_name="shop-0", namespace="default")),
    ("SPACE_CGROUP", dict(time=1, space=2, cgroup=0)),
    ("FUNCTION", dict(id=9, runtime=1, line=7, name="Server.handle.<locals>.f", file="/srv/app.py", lines=b"\2\2\4\1")),
    ("MARK", dict(time=1, kind=1, text="SIGUSR2 from process 12")),
    ("MARK", dict(time=1, kind=9, text="")),
]

# Values that this version does not have: the record, then the wrong fields.
OUT_OF_RANGE = [
    ("MODULE", dict(id=0)),
    ("IMAGE", dict(total_size=16 * MIB + 1)), ("IMAGE", dict(offset=3)),
    ("IMAGE", dict(offset=(1 << 64) - 1)),
    ("TRACE_STEPS", dict(id=0)), ("TRACE_STEPS", dict(id=(1 << 20) + 1)),
    ("TRACE_STEPS", dict(steps=b"\x01")),
    ("TRACE_STEPS", dict(steps=b"\x01\x00\x01\x01")), ("TRACE_STEPS", dict(steps=b"\x01\x81\x80\x04")),
    ("ORIGIN", dict(id=0)), ("ORIGIN", dict(file=bytes(15))), ("ORIGIN", dict(recording=bytes(1))), ("ORIGIN", dict(hostname=b"\0")),
    ("CGROUP", dict(id=0)), ("CGROUP", dict(path=b"/a\0")),
    ("FUNCTION", dict(id=0)), ("FUNCTION", dict(id=1 << 62)), ("FUNCTION", dict(runtime=0)),
    ("FUNCTION", dict(lines=b"\2")), ("FUNCTION", dict(lines=b"\2\x80")), ("FUNCTION", dict(file=b"a\0")),
    ("MARK", dict(kind=0)), ("CODE_END", dict(size=0)), ("CODE_END", dict(address=2, size=(1 << 64) - 1)), ("MARK", dict(text=b"a\0")),
    ("SPACE", dict(id=0)), ("SPACE", dict(word_bits=16)),
    ("SPACE", dict(byte_order=3)),
    ("THREAD", dict(id=0)),
    ("THREAD", dict(comm=b"a\0")),
    ("MAP", dict(size=0)), ("MAP", dict(size=4097)), ("KERNEL_SYMBOL", dict(name=b"\0")),
    ("UNMAP", dict(size=0)), ("UNMAP", dict(address=(1 << 64) - 1)),
    ("JIT_SYMBOL", dict(source=1, size=0)),
    ("CODE", dict(bytes=b"")), ("CODE", dict(bytes=b"123")),
]

# They end the block.
TOO_LONG = [
    ("MODULE", dict(build_id=bytes(65))), ("MODULE", dict(path="x" * 65537)),
    ("THREAD", dict(comm="x" * 65537)),
]

IN_RANGE = [
    ("EVENT", dict(weight_unit=0)),
    ("MODULE", dict(build_id=bytes(range(64)))), ("MODULE", dict(path="x" * 65536)),
    ("MODULE", dict(kind=6)), ("IMAGE", dict(total_size=16 * MIB, offset=16 * MIB - 4)),
    ("SPACE", dict(word_bits=0, byte_order=0, machine=0)), ("THREAD", dict(origin=1)),
    ("MAP", dict(protection=0, module=0)), ("MAP", dict(protection=1 << 40)), ("UNMAP", dict(how=0)),
    # Numbers of a later version (section 10).
    ("EVENT", dict(weight_unit=2)), ("MODULE", dict(kind=0)), ("MODULE", dict(kind=7)), ("SPACE", dict(origin=4)),
    ("THREAD", dict(origin=2)), ("THREAD", dict(origin=4)), ("UNMAP", dict(how=3)), ("LOSS", dict(cause=0)), ("LOSS", dict(cause=15)),
    ("JIT_SYMBOL", dict(size=1, source=4)), ("JIT_UNWIND", dict(size=1, section=2)), ("TRACE_STEPS", dict(stop=16)),
]


class SideRecords(Case):
    def test_capture(self):
        record = self.read(finish(started())).records[0][1]
        self.assertEqual(list(record.values()), ["CAPTURE"] + CAPTURE_FIELDS)
        self.assertEqual((record["rings"], record["page_size"]), (4, 4096))

    def test_end(self):
        record = self.read(finish(started())).records[1][1]
        self.assertEqual(record, dict(record="END", time=9000, reason=0, samples=1, exit_status=0,
                                      blocks=0, side_records=0))

    def counted(self, blocks, side_records, samples):
        """CAPTURE and an unknown record; an optional block, of which only the block counts; a sample; END."""
        one = b.Samples()
        one.sample(1, 2)
        reel = started(b.record(31, b.Encoded(b"?"))).samples(one)
        reel.side(b.record("LOSS", 1, 2, 3, 4), flags=b.OPTIONAL)
        reel.side(b.record("END", 9000, 0, samples, 0, blocks, side_records))
        return reel.index().trailer()

    def test_end_counts(self):
        self.good(self.counted(4, 3, 1))

    def test_end_counts_others(self):
        """In one line, except for samples."""
        for counts, problems in (((3, 3, 1), 1), ((5, 3, 1), 1), ((4, 2, 1), 1), ((4, 4, 1), 1),
                                 ((4, 0, 1), 1), ((5, 4, 1), 1), ((4, 3, 0), 1), ((4, 3, 2), 1),
                                 ((1, 1, 0), 2)):
            self.bad(self.counted(*counts), *["corrupt"] * problems)

    def test_end_counts_nothing(self):
        """The older form: then its samples are not compared either."""
        self.good(self.counted(0, 7, 7))

    def test_last_end_counts(self):
        reel = started().side(b.record("END", 9000, 0, 9, 0, 9, 9))
        self.good(reel.side(b.record("END", 9000, 0, 0, 0, 3, 3)).trailer())
        reel = started().side(b.record("END", 9000, 0, 0, 0, 3, 3))
        self.bad(reel.side(b.record("END", 9000, 0, 9, 0, 9, 9)).trailer(), "corrupt", "corrupt")

    def test_values_out_of_range_count(self):
        reel = started().side(b.record("SPACE_EXIT", 1, 2), b.record("UNMAP", 1, 1, 1, 0, 0))
        self.bad(reel.side(b.record("END", 9000, 0, 0, 0, 3, 4)).trailer(), "corrupt")

    def test_all_reasons(self):
        for reason in range(8):
            self.good(started().side(b.record("END", 1, reason, 0, 0)).trailer())

    def test_capture_is_not_first(self):
        loss = b.record("LOSS", 1, 2, 3, 4)
        self.bad(finish(b.Reel().side(loss, capture_record())), ("corrupt", 48))

    def test_first_record_is_unknown(self):
        self.bad(finish(b.Reel().side(b.record(100), capture_record())), ("corrupt", 48))

    def test_samples_before_capture(self):
        """It is the first record of side blocks."""
        reel = b.Reel().block(SAMPLES, [b.sample_record()]).side().side(capture_record())
        self.good(finish(reel))

    def test_capture_is_not_first_and_damage_behind(self):
        reel = b.Reel().side(b.record("LOSS", 1, 2, 3, 4)).side(sequence=7)
        self.bad(reel.side(end_record(), sequence=8).trailer(),
                 ("corrupt", 48), ("corrupt", reel.blocks[1]["offset"]))

    def test_capture_is_not_first_and_truncated(self):
        reel = b.Reel().side(b.record("LOSS", 1, 2, 3, 4))
        self.bad(reel, ("corrupt", 48), ("truncated", len(reel.data)))

    def test_damaged_samples_before_no_capture(self):
        reel = b.Reel().block(SAMPLES, [b.sample_record()], payload_crc=0)
        self.bad(finish(reel), ("corrupt", 48), ("corrupt", reel.blocks[1]["offset"]))

    def test_block_missing_before_no_capture(self):
        reel = b.Reel().side(b.record("LOSS", 1, 2, 3, 4), sequence=1)
        self.bad(reel.side(end_record(), sequence=2).trailer(), ("corrupt", 48))

    def test_unsupported_block_before_no_capture(self):
        reel = b.Reel().block(99, [])
        self.bad(finish(reel), ("unsupported", 48))

    def test_record_passed_over_before_no_capture(self):
        self.bad(finish(b.Reel().side(b.record("LOSS", 1, 2, 0, 4))), ("corrupt", 48))

    def test_no_capture_record(self):
        self.bad(finish(b.Reel()), ("corrupt", 48))

    def test_later_capture_record(self):
        self.good(finish(started().side(capture_record(hostname="other"))))

    def test_capture_lost(self):
        """Then it cannot be proved not to be the first."""
        self.bad(finish(b.Reel().side(capture_record(), payload_crc=0)), ("corrupt", 48))

    def test_capture_without_recording(self):
        self.good(finish(b.Reel().side(capture_record(recording=b""))))

    def test_capture_with_large_fields(self):
        """Only the block limits them."""
        self.good(finish(b.Reel().side(capture_record(command_line=b"x" * 100000))))

    def test_kernel_build_id_too_long(self):
        self.bad(finish(b.Reel().side(capture_record(kernel_build_id=bytes(65)))),
                 ("corrupt", 48))

    def test_image_that_changes_its_size(self):
        """The first one counts, and nothing is reported."""
        image = dict(GOOD)["IMAGE"]
        self.good(finish(started().side(*[
            b.record("MODULE", *dict(GOOD)["MODULE"].values()),
            b.record("IMAGE", *image.values()),
            b.record("IMAGE", *dict(image, total_size=99).values())])))

    def test_field_that_was_added_later(self):
        """A payload may end before it."""
        symbol = dict(GOOD)["KERNEL_SYMBOL"]
        for later in 1, 2:
            old = b.record("KERNEL_SYMBOL", *list(symbol.values())[:-later])
            self.assertEqual(self.good(finish(started().side(old))),
                             [dict(symbol, record="KERNEL_SYMBOL", since=0 if later == 2 else symbol["since"], origin=0)])
        module = dict(GOOD)["MODULE"]
        old = b.record("MODULE", *list(module.values())[:-3])
        self.assertEqual(self.good(finish(started().side(old))),
                         [dict(module, record="MODULE", file_size=0, file_time=0,
                               file_digest=b"")])

        event = dict(GOOD)["EVENT"]
        old = b.record("EVENT", *list(event.values())[:-2])
        self.assertEqual(self.good(finish(started().side(old))), [dict(event, record="EVENT", value_names="", waits=0)])

        image = dict(GOOD)["IMAGE"]
        old = b.record("IMAGE", *list(image.values())[:-2])
        self.assertEqual(self.good(finish(started().side(old))),
                         [dict(image, record="IMAGE", number=0, base=0)])

    def test_capture_out_of_range(self):
        for change in (dict(word_bits=0), dict(word_bits=16), dict(byte_order=0),
                       dict(byte_order=3), dict(recording=b"short")):
            self.bad(finish(b.Reel().side(capture_record(**change))), ("corrupt", 48))

    def test_record_behind_end(self):
        """Nothing is reported."""
        reel = started().side(end_record(), b.record("LOSS", 1, 2, 3, 4)).index().trailer()
        self.assertEqual(len(self.good(reel)), 1)

    def test_unknown_reference(self):
        reel = started().side(b.record("THREAD_EXEC", 1, 77, 78))
        self.good(finish(reel))

    def test_defined_twice(self):
        """A dump shows both."""
        module = b.record("MODULE", *dict(GOOD)["MODULE"].values())
        self.assertEqual(len(self.good(finish(started().side(module, module)))), 2)


def side_record_test(name, fields):
    def test(self):
        reel = finish(started().side(b.record(name, *fields.values())))
        record = self.good(reel)
        self.assertEqual(record, [dict(fields, record=name)])
        self.assertEqual(list(record[0]), ["record"] + list(fields))
    return test


def out_of_range_test(name, fields):
    def test(self):
        """It is skipped and reported, the others stay."""
        other = b.record("THREAD_EXIT", 1, 2)
        reel = finish(started().side(other, b.record(name, *fields.values()), other))
        self.assertEqual(names(self.bad(reel, ("corrupt", reel.blocks[1]["offset"]))),
                         ["THREAD_EXIT"] * 2)
    return test


def too_long_test(name, fields):
    def test(self):
        other = b.record("THREAD_EXIT", 1, 2)
        reel = finish(started().side(other, b.record(name, *fields.values()), other))
        self.assertEqual(names(self.bad(reel, ("corrupt", reel.blocks[1]["offset"]))),
                         ["THREAD_EXIT"])
    return test


def cut_record_test(name, fields):
    def test(self):
        """Cut after each byte, except before a field that was added later."""
        payload = b"".join(map(b.field, fields.values()))
        added = {"EVENT": 2, "IMAGE": 2, "KERNEL_SYMBOL": 2, "MODULE": 3, "CGROUP": 3, "CODE": 1, "JIT_UNWIND": 1}.get(name, 0)
        ends = [sum(len(b.field(value)) for value in list(fields.values())[:len(fields) - i])
                for i in range(1, added + 1)]
        for size in range(len(payload)):
            if size in ends:
                continue
            result = self.read(finish(started().side(b.record(name, b.Encoded(payload[:size])))),
                               keep=size == len(payload) - 2)
            self.assert_problems(result, "corrupt")
            self.assertEqual(self.inner(result), [])
    return test


for name, fields in GOOD:
    setattr(SideRecords, "test_good_" + name, side_record_test(name, fields))
    setattr(SideRecords, "test_cut_" + name, cut_record_test(name, fields))
for kind, make, changed in (("in_range", side_record_test, IN_RANGE),
                            ("out_of_range", out_of_range_test, OUT_OF_RANGE),
                            ("too_long", too_long_test, TOO_LONG)):
    for name, changes in changed:
        title = "test_%s_%s_%s" % (kind, name, "_".join(
            "%s_%s" % (key, value if isinstance(value, int) else "%d_long" % len(value))
            for key, value in changes.items()))
        setattr(SideRecords, title, make(name, dict(dict(GOOD)[name], **changes)))


# ---- 6: samples --------------------------------------------------------------------------------

class SampleRecords(Case):
    def records(self, samples, **header):
        return [r for r in self.good(finish(started().samples(samples, **header)))
                if r["record"] == "SAMPLE"]

    def test_plain(self):
        samples = b.Samples()
        samples.sample(5, 100, thread=3, pc=0, cpu=2, event=4, weight=6, where=4, flags=7)
        self.assertEqual(self.records(samples), [
            dict(record="SAMPLE", id=5, time=100, thread=3, cpu=2, event=4, weight=6, where=4,
                 flags=7, steps=0, pc=0, layout=None, registers=[], regions=[], kernel_chain=None,
                 frame_chain=None, kernel_frame=None, labels=None,
                 runtime_frames=None)])

    def test_order_of_keys(self):
        samples = b.Samples()
        samples.sample(1, 1, regions=[b.Region(0, b"")])
        record = self.records(samples)[0]
        self.assertEqual(" ".join(record), "record id time thread cpu event weight where flags steps pc "
                         "layout registers regions kernel_chain frame_chain kernel_frame labels "
                         "runtime_frames")
        self.assertEqual(" ".join(record["regions"][0]), "kind address size missing bytes")

    def test_layout(self):
        samples = b.Samples()
        samples.layout(300, X86)
        self.assertEqual(self.good(finish(started().samples(samples))),
                         [dict(record="SAMPLE_LAYOUT", id=300,
                               registers=[list(register) for register in X86])])

    def test_differences_by_thread(self):
        samples = b.Samples()
        samples.layout(1, [])
        for id, time, thread, pc in ((10, 50, 1, 1000), (11, 40, 2, 900), (13, 60, 1, 990),
                                     (14, 61, 0, 5), (15, 62, 0, 4)):
            samples.sample(id, time, thread=thread, pc=pc, layout=1)
        self.assertEqual([(r["id"], r["time"], r["pc"]) for r in self.records(samples)],
                         [(10, 50, 1000), (11, 40, 900), (13, 60, 990), (14, 61, 5), (15, 62, 4)])

    def test_blocks_share_no_state(self):
        reel = started()
        for i in range(2):
            samples = b.Samples()
            samples.layout(1, X86)
            samples.sample(i + 1, 50 + i, pc=77, layout=1, values=[1, 2, 3, i],
                           regions=[b.Region(4096, b"stack")])
            reel.samples(samples)
        records = [r for r in self.good(finish(reel)) if r["record"] == "SAMPLE"]
        self.assertEqual([r["time"] for r in records], [50, 51])
        self.assertEqual([r["regions"][0]["bytes"] for r in records], [b"stack"] * 2)

    def registers(self, steps):
        """steps: (thread, layout or None, values)."""
        samples = b.Samples()
        samples.layout(1, X86)
        samples.layout(2, X86[:3])
        for i, (thread, layout, values) in enumerate(steps):
            samples.sample(i + 1, i, thread=thread, layout=layout, values=values)
        for record, (_, layout, values) in zip(self.records(samples), steps):
            self.assertEqual(record["layout"], layout)
            self.assertEqual([value for _, _, value in record["registers"]], list(values))
            self.assertEqual([(d, s) for d, s, _ in record["registers"]],
                             X86[:len(values)] if layout else [])
        return samples

    def test_registers(self):
        self.registers([(1, 1, [1 << 63, 2, None, 0xFFFFFFFF]), (1, 1, [1 << 63, 3, 0, 5])])

    def test_registers_unknown_counts_as_0(self):
        self.registers([(1, 1, [5, 6, 7, 8]), (1, 1, [None, 6, 7, 8]), (1, 1, [0, 6, 7, 8])])

    def test_registers_over_a_sample_without(self):
        samples = self.registers([(1, 1, [5, 6, 7, 8]), (1, None, []), (1, 1, [5, 6, 7, 8])])
        self.assertEqual(len(samples.streams["tokens"]), 4)  # nothing changed the second time

    def test_registers_of_another_layout(self):
        self.registers([(1, 1, [5, 6, 7, 8]), (1, 2, [5, 0, 7]), (1, 1, [0, 6, 0, 8])])

    def test_registers_of_another_thread(self):
        self.registers([(1, 1, [5, 6, 7, 8]), (2, 1, [0, 6, 7, 8]), (1, 1, [5, 6, 7, 9])])

    def regions(self, *steps):
        """Each step is a sample's regions; all must be restored."""
        samples = b.Samples()
        for i, regions in enumerate(steps):
            samples.sample(i + 1, i, regions=regions)
        for record, regions in zip(self.records(samples), steps):
            self.assertEqual(record["regions"], [
                dict(kind=r.kind, address=r.address, size=len(r.data),
                     missing=[list(m) for m in r.missing], bytes=bytes(r.data)) for r in regions])
        return samples

    def test_region(self):
        self.regions([b.Region((1 << 64) - 8, b"\0\1\0\0\2\3\0\0", kind=1)])

    def test_region_empty(self):
        self.regions([b.Region(4096, b"")])

    def test_region_moves(self):
        """Up, down, larger, smaller, away and back."""
        stack = bytes(range(1, 101))
        self.regions(*[[b.Region(address, stack[begin:end])] for address, begin, end in (
            (1000, 0, 100), (1020, 20, 100), (990, 0, 100), (1000, 10, 50), (5000, 0, 100),
            (5010, 10, 90), (4990, 0, 100), (1000, 0, 100))])

    def test_region_keeps_old_bytes(self):
        """Without written words, at another address: only the overlap."""
        samples = b.Samples()
        samples.sample(1, 1, regions=[b.Region(1000, b"abcdefghABCDEFGH")])
        samples.sample(2, 2, regions=[b.Region(1008, bytes(16), stays=[1, 1])])
        samples.sample(3, 3, regions=[b.Region(1000, b"......XY", stays=[0]),
                                      b.Region(1000, bytes(8), stays=[1])])
        samples.sample(4, 4, regions=[b.Region(992, bytes(24), stays=[1, 1, 1])])
        self.assertEqual([r["regions"][0]["bytes"] for r in self.records(samples)],
                         [b"abcdefghABCDEFGH", b"ABCDEFGH" + bytes(8), b"......XY",
                          bytes(8) + b"......XY" + bytes(8)])

    def test_bytes_that_are_no_words(self):
        """They are dropped."""
        self.regions([b.Region(1001, b"abcdefg12345678xyz")], [b.Region(1001, b"ABCDEFG")],
                     [b.Region(1003, b"ab")], [b.Region(1001, b"abcdefg12345678xyz")])

    def test_region_of_the_same_index(self):
        one, two = b.Region(1000, b"one"), b.Region(1000, b"two", kind=1)
        self.regions([one, two], [two, one], [one, two])

    def test_region_is_forgotten(self):
        one, two = b.Region(1000, b"one"), b.Region(2000, b"two")
        self.regions([one, two], [one], [one, two], [], [one, two])
        samples = b.Samples()
        samples.sample(1, 1, regions=[b.Region(1000, b"stays...")])
        samples.sample(2, 2)
        samples.sample(3, 3, regions=[b.Region(1000, bytes(8), stays=[1])])
        self.assertEqual(self.records(samples)[2]["regions"][0]["bytes"], bytes(8))

    def test_region_of_another_thread(self):
        samples = b.Samples()
        samples.sample(1, 1, thread=1, regions=[b.Region(1000, b"one.....")])
        samples.sample(2, 2, thread=2, regions=[b.Region(1000, bytes(8), stays=[1])])
        self.assertEqual(self.records(samples)[1]["regions"][0]["bytes"], bytes(8))

    def test_missing(self):
        self.regions([b.Region(0, b"ab\0\0ef\0h\0", missing=[(2, 2), (6, 1), (8, 1)])])

    def test_missing_all(self):
        self.regions([b.Region(0, bytes(9), missing=[(0, 9)])])

    def test_missing_adjacent(self):
        self.regions([b.Region(0, bytes(9), missing=[(0, 4), (4, 5)])])

    def test_missing_over_old_bytes(self):
        """The writer must overwrite them."""
        self.regions([b.Region(0, b"abcdef")], [b.Region(0, b"a\0\0def", missing=[(1, 2)])],
                     [b.Region(0, b"abcdef")])

    def test_chains(self):
        samples = b.Samples()
        samples.sample(1, 1, kernel=[], frames=[])
        samples.sample(2, 2, kernel=[0xFFFFFFFF81000000, 0xFFFFFFFF80000000])
        samples.sample(3, 3, frames=[1 << 63, 0, 0x401000])
        self.assertEqual([(r["kernel_chain"], r["frame_chain"]) for r in self.records(samples)], [
            (None, None), ([0xFFFFFFFF81000000, 0xFFFFFFFF80000000], None),
            (None, [1 << 63, 0, 0x401000])])

    def test_labels(self):
        samples = b.Samples()
        samples.sample(1, 1)
        samples.sample(2, 2)
        samples.sample(3, 3, labels={1: (3, 1 << 63), 2: (1, 4711), 900: b"caf\xc3\xa9"})
        samples.sample(4, 4, labels={2: (2, -5)})
        samples.sample(5, 5)
        self.assertEqual([r["labels"] for r in self.records(samples)],
                         [None, None, [[1, 1 << 63], [2, 4711], [900, "caf\u00e9"]],
                          [[2, (1 << 64) - 5]], None])

    def test_frames(self):
        samples = b.Samples()
        for i in range(1, 7):
            samples.sample(i, i)
        samples.frames = [
            (1, 1, 0, 0, [(7, 20, 0x7FFC0000), (8, 4), (9, 6, None), (10, 2, -0x200)]),
            (0, 1, 1, 2, [(11, 0, -0x300), (12, 0)]),
            (1, 2, 0, 2, []),
        ]
        outer = [[8, 4, 0, 0], [7, 20, 1, 0x7FFC0000]]
        nine = [9, 6, 1, 0]
        self.assertEqual([r["runtime_frames"] for r in self.records(samples)], [
            None, dict(runtime=1, cut=0, frames=[[10, 2, 1, 0x7FFBFE00], nine] + outer),
            dict(runtime=1, cut=1, frames=[[12, 0, 0, 0], [11, 0, 1, 0x7FFBFD00], nine] + outer), None,
            dict(runtime=2, cut=0, frames=[[11, 0, 1, 0x7FFBFD00], nine] + outer), None])

    def test_kernel_frames(self):
        samples = b.Samples()
        first = dict(pc=0xFFFFFFFF81000000, sp=0xFFFFC90000123F00, fp=0, return_address=1 << 63)
        samples.sample(1, 1, kernel=[first["pc"], first["return_address"], 5], frame=first)
        samples.sample(2, 2, thread=2, frame=dict(first, sp=8))
        samples.sample(3, 3, kernel=[7])
        second = dict(pc=3, sp=0xFFFFC90000123EF8, fp=0xFFFFC90000123F40, return_address=9)
        samples.sample(4, 4, kernel=[7], frames=[1], frame=second)
        self.assertEqual([r["kernel_frame"] for r in self.records(samples)],
                         [first, dict(first, sp=8), None, second])

    def test_everything(self):
        samples = b.Samples()
        samples.layout(1, X86)
        for i in range(50):
            samples.sample(i + 1, i * i, thread=i % 3, pc=i * 7, layout=1, values=[i, None, 2, i],
                           kernel=[i, 5], frames=list(range(i)),
                           regions=[b.Region(4000 - i, bytes(range(i, i + 90)))] * (i % 4))
        for record in self.records(samples, compress=b.zstd_frame):
            i = record["id"] - 1
            self.assertEqual(record["registers"], [[0, 8, i], [7, 8, None], [16, 8, 2], [49, 4, i]])
            self.assertEqual([r["bytes"] for r in record["regions"]],
                             [bytes(range(i, i + 90))] * (i % 4))
            self.assertEqual(record["frame_chain"], list(range(i)) or None)

    def test_expanded_size_may_be_too_large(self):
        samples = b.Samples()
        samples.sample(1, 1, regions=[b.Region(0, b"ab")])
        self.records(samples, expanded_size=256 * MIB)

    def test_expanded_size_too_small(self):
        """The previous samples are used."""
        samples = b.Samples()
        samples.sample(1, 1, regions=[b.Region(0, b"ab")])
        samples.sample(2, 1, regions=[b.Region(0, b"ab")])
        reel = finish(started().samples(samples, expanded_size=3))
        self.assertEqual(len(self.bad(reel, "corrupt")), 1)

    def test_ids_do_not_ascend(self):
        """A reader does not check it."""
        samples = b.Samples()
        for id in (5, 5, 4):
            samples.sample(id, 1)
        self.assertEqual([r["id"] for r in self.records(samples)], [5, 5, 4])

    def test_records_know_nothing_of_each_other(self):
        """Each begins without previous samples, but shares the block's layouts."""
        record = dict(parts=1, registers=b"\1\1\3", tokens=b"\7\0", raw=bytes(range(1, 9)),
                      regions=[b.region_bytes(8, 16)], gaps=b"\1")
        reel = sample_block(b.layout_record(1, [(7, 8)]), *[b.sample_record(**record)] * 3)
        records = self.good(reel)[1:]
        self.assertEqual(len(records), 3)
        self.assertTrue(all(r == records[0] for r in records))

    def test_unknown_where(self):
        samples = b.Samples()
        samples.layout(1, [])
        samples.sample(4, 1, pc=50, layout=1, where=5, regions=[b.Region(0, b"abcdefgh")])
        samples.sample(5, 1, pc=51, layout=1, regions=[b.Region(0, bytes(8), stays=[1])])
        records = self.good(finish(started().samples(samples)))[1:]
        self.assertEqual([(r["id"], r["where"], r["pc"]) for r in records], [(4, 5, 50), (5, 1, 51)])

    def test_unknown_region_kind(self):
        samples = b.Samples()
        samples.sample(1, 1, regions=[b.Region(0, b"ab", kind=4)])
        samples.sample(2, 1)
        records = self.good(finish(started().samples(samples)))
        self.assertEqual([[region["kind"] for region in r["regions"]] for r in records], [[4], []])

    def test_unknown_part(self):
        """The rest of the block is not supported."""
        reel = sample_block(b.sample_record(), b.sample_record(parts=32), b.sample_record())
        self.assertEqual(len(self.bad(reel, "unsupported")), 1)

    def test_steps(self):
        """In a place of their own, or above the flags, where early files have them."""
        reel = sample_block(b.sample_record(flags=34, parts=16, steps=7), b.sample_record(flags=34 + (8 << 8)),
                            b.sample_record(flags=8 << 8))
        self.assertEqual([(r["flags"], r["steps"]) for r in self.good(reel)], [(34, 7), (34, 8), (8 << 8, 0)])

    def test_unknown_flags(self):
        self.assertEqual(self.good(sample_block(b.sample_record(flags=0xF8)))[0]["flags"], 0xF8)

    def test_cut_everywhere(self):
        samples = b.Samples()
        samples.layout(1, X86)
        samples.sample(1, 300, pc=1000, layout=1, values=[1, None, 3, 4], kernel=[5, 6],
                       frames=[7], regions=[b.Region(64, b"a\0c", missing=[(1, 1)])])
        for whole in samples.records:
            payload = whole[2:]
            for size in range(len(payload)):
                cut = whole[:1] + bytes([size]) + payload[:size]
                records = [cut] if whole is samples.layout_records[0] else samples.records[:1] + [cut]
                result = self.read(sample_block(*records), keep=size % 8 == 0)
                self.assert_problems(result, "corrupt")
                self.assertEqual(len(self.inner(result)), len(records) - 1)

    def test_streams_cut_everywhere(self):
        """Each has exactly the bytes that its samples need: a byte less or more is malformed."""
        samples = b.Samples()
        samples.layout(1, X86)
        samples.sample(1, 300, pc=1000, layout=1, values=[1, None, 3, 4], kernel=[5, 6],
                       frames=[7], regions=[b.Region(61, b"abc12345678d", missing=[])])
        cut = [(name, data[:size]) for name, data in samples.streams.items()
               for size in range(len(data))]
        longer = [(name, data + b"\0") for name, data in samples.streams.items()]
        for name, data in cut + longer:
            streams = dict(samples.streams, **{name: data})
            self.bad(sample_block(*samples.layout_records, b.streams_record(1, streams)), "corrupt")


LAYOUT = b.layout_record(1, [(7, 8), (16, 4)])


def with_registers(data, **streams):
    return [LAYOUT, b.sample_record(parts=1, registers=data, **streams)]


def with_region(size, address=0, gaps=None, **fields):
    """One with unchanged words, which are 0."""
    words = size % (1 << 64) // 8
    return [b.sample_record(regions=[b.region_bytes(address, address + size, **fields)],
                            gaps=(b.uv(words) if words else b"") if gaps is None else gaps,
                            raw=bytes(size % 8))]


def many_missing(count):
    return with_region(8 * count, missing=[(1, 1)] * count)


def with_words(gaps, tokens=b"", **streams):
    """A region of two words."""
    return [b.sample_record(regions=[b.region_bytes(0, 16)], gaps=gaps, tokens=tokens, **streams)]


def of_threads(count):
    head = b"".join(b.sv(1) + b.uv(i) + b"\0\1\1\1\0\0\0" for i in range(count))
    return [b.streams_record(count, dict(head=head, time=bytes(count)))]


GOOD_BLOCKS = {
    "16_regions": [b.sample_record(regions=[b.region_bytes(0, 1)] * 16, raw=bytes(16))],
    "region_16_mib": with_region(16 * MIB),
    "8192_missing": many_missing(8192),
    "256_registers": [b.layout_record(1, [(i, 8) for i in range(256)])],
    "0_registers": [b.layout_record(1, []), b.sample_record(parts=1, registers=b"\x01\x00")],
    "register_65535": [b.layout_record(1, [(65535, 8)])],
    "65536_threads": of_threads(65536),
    "region_ends_at_2_64": with_region(16, address=-16),
    "region_empty_at_the_end": with_region(0, address=-1),
    "256_layouts": [b.layout_record(i, []) for i in range(256)],
    "chain_65536": [b.sample_record(parts=2, chains=b.chain_bytes([1] * 65536))],
    "chains_65536": [b.sample_record(parts=6, chains=b.chain_bytes([2] * 65536) * 2)],
    "registers": with_registers(b"\x01\x03\x07", tokens=b"\2\7\7", raw=bytes(12)),
    "no_samples": [b.streams_record(0, {})],
    "words_stay": with_words(b"\2"),
    "words_change": with_words(b"\0\2", b"\2\0"),
    "words_stay_and_change": with_words(b"\1\1", b"\x17"),
    "words_change_and_stay": with_words(b"\0\1\1", b"\3", near=b"\xff"),
    "word_far": with_words(b"\1\1", b"\4", far=b.sv(-1 << 63)),
    "word_known": with_words(b"\1\1", b"\5", known_low=b"\xff", known_high=b"\x0f"),
    "word_high": with_words(b"\1\1", b"\6", high=b"\1", low_0=b"\1", low_1=b"\2", low_2=b"\3"),
}

# The block is corrupt at its last record.
BAD_BLOCKS = {
    "17_regions": [b.sample_record(regions=[b.region_bytes(0, 1)] * 17, raw=bytes(17))],
    "many_regions": [b.sample_record(region_count=1 << 60)],
    "region_16_mib_1": with_region(16 * MIB + 1),
    "region_huge": with_region((1 << 64) - 1),
    "region_ends_behind_2_64": with_region(17, address=-16),
    "region_ends_before_it_begins": with_region(-1),
    "words_of_2_bytes": with_region(8, words=2),
    "words_of_16_bytes": with_region(16, words=16),
    "65537_threads": of_threads(65537),
    "257_registers": [b.layout_record(1, [(i, 8) for i in range(257)])],
    "many_registers": [b.layout_record(1, [], count=1 << 60)],
    "257_layouts": [b.layout_record(i, []) for i in range(257)],
    "register_of_2_bytes": [b.layout_record(1, [(0, 2)])],
    "register_of_16_bytes": [b.layout_record(1, [(0, 16)])],
    "register_65536": [b.layout_record(1, [(65536, 8)])],
    "layout_defined_twice": [LAYOUT, b.layout_record(1, [(1, 8)])],
    "8193_missing": many_missing(8193),
    "many_missing": with_region(9, missing_count=1 << 60),
    "missing_of_size_0": with_region(9, missing=[(2, 0)]),
    "missing_behind_the_end": with_region(9, missing=[(2, 8)]),
    "missing_gap_behind_the_end": with_region(9, missing=[(10, 1)]),
    "missing_wraps": with_region(9, missing=[(2, 2), ((1 << 64) - 3, 2)]),
    "missing_size_wraps": with_region(9, missing=[(2, (1 << 64) - 1)]),
    "missing_is_not_0": [b.sample_record(regions=[b.region_bytes(0, 5, missing=[(2, 3)])],
                                         raw=b"..\0\0x")],
    "missing_word_is_not_0": [b.sample_record(regions=[b.region_bytes(0, 8, missing=[(2, 3)])],
                                              gaps=b"\0\1", tokens=b"\7", raw=b"..\0\0x...")],
    "no_gaps": with_words(b""),
    "gap_behind_the_end": with_words(b"\3"),
    "no_word_changes": with_words(b"\1\0\1"),
    "no_word_stays": with_words(b"\0\1\0\1", b"\2\2"),
    "too_many_words_change": with_words(b"\1\2", b"\2\2"),
    "no_token": with_words(b"\1\1"),
    "token_24": with_words(b"\1\1", b"\x18"),
    "word_4096_of_the_dictionary": with_words(b"\1\1", b"\5", known_low=b"\0", known_high=b"\x10"),
    "no_sample_but_a_byte": [b.streams_record(0, dict(raw=b"x"))],
    "more_samples": [b.streams_record(1 << 60, dict(head=b"\2\1\0\1\1\1\0\0\0", time=b"\2"))],
    "layout_not_defined": [LAYOUT, b.sample_record(parts=1, registers=b"\x02")],
    "no_layout": [b.sample_record(parts=1, registers=b"\x01")],
    "register_changed_but_not_known": with_registers(b"\x01\x01\x03", tokens=b"\2\2"),
    "padding_of_known": with_registers(b"\x01\x04\x00"),
    "padding_of_changed": with_registers(b"\x01\x03\x08"),
    "kernel_chain_65537": [b.sample_record(parts=2, chains=b.chain_bytes([1] * 65537))],
    "frame_chain_65537": [b.sample_record(parts=4, chains=b.chain_bytes([1] * 65537))],
    "frames_no_runtime": [b.frames_record([(0, 0, 0, 0, [(1, 1)])]), b.sample_record()],
    "frames_none": [b.frames_record([(0, 1, 0, 0, [])]), b.sample_record()],
    "frames_outer": [b.frames_record([(0, 1, 0, 1, [(1, 1)])]), b.sample_record()],
    "frames_kind": [b.record("FRAMES", b.Encoded(b"\0\2\0\1\7\0")), b.sample_record()],
    "frames_cut": [b.record("FRAMES", b.Encoded(b"\0\2\0\1\6\0")), b.sample_record()],
    "frames_513": [b.frames_record([(0, 1, 0, 0, [(1, 1)] * 513)]), b.sample_record()],
    "frames_513_in_two": [b.frames_record([(0, 1, 0, 0, [(1, 1)] * 512), (0, 1, 0, 1, [(1, 1)])])] +
                         [b.sample_record()] * 2,
    "frames_all": [b.frames_record([(0, 1, 0, 0, [(1, 1)] * 512)] + [(0, 1, 0, 1, [])] * 65536), b.sample_record()],
    "frames_beyond": [b.frames_record([(1, 1, 0, 0, [(1, 1)])]), b.sample_record()],
    "frames_twice": [b.frames_record([(0, 1, 0, 0, [(1, 1)])])] * 2 + [b.sample_record()],
    "labels_none": [b.labels_record([(0, {})]), b.sample_record()],
    "labels_key_0": [b.labels_record([(0, {0: b""})]), b.sample_record()],
    "labels_key_large": [b.labels_record([(0, {65536: b""})]), b.sample_record()],
    "labels_order": [b.labels_record([(0, {2: b"", 1: b""})]), b.sample_record()],
    "labels_33": [b.labels_record([(0, {i: b"" for i in range(1, 34)})]), b.sample_record()],
    "labels_text": [b.labels_record([(0, {1: b"x" * 1025})]), b.sample_record()],
    "labels_nul": [b.labels_record([(0, {1: b"a\0"})]), b.sample_record()],
    "labels_cut": [b.record("LABELS", b.Encoded(b"\0\1\4\7abc")), b.sample_record()],
    "labels_beyond": [b.labels_record([(1, {1: b""})]), b.sample_record()],
    "labels_twice": [b.labels_record([(0, {1: b""})])] * 2 + [b.sample_record()],
    "kernel_frame_cut": [b.sample_record(parts=8, chains=b.sv(1) * 3)],
    "chain_huge": [b.sample_record(parts=2, chains=b.uv(1 << 60))],
}


def good_block_test(records):
    def test(self):
        self.good(sample_block(*records, expanded=32 * MIB))
    return test


def bad_block_test(records):
    def test(self):
        reel = sample_block(*records, b.sample_record(weight=7), expanded=32 * MIB)
        found = self.bad(reel, ("corrupt", reel.blocks[1]["offset"]))
        self.assertNotIn(7, [record.get("weight") for record in found])
    return test


for group, make in ((GOOD_BLOCKS, good_block_test), (BAD_BLOCKS, bad_block_test)):
    for name, records in group.items():
        setattr(SampleRecords, "test_block_" + name, make(records))


if __name__ == "__main__":
    sys.exit(main(globals(), sys.argv[1:]))
