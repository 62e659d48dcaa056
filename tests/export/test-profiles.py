#!/usr/bin/env python3
"""stackreel export --format=pprof, perfetto and otlp: `go tool pprof' on the first, compared with folded; all messages as decoded by protoc,
compared with ndjson, readelf and c++filt.

    O=DIR   the object directory (build)
"""
# run.sh: thorough
# checks: cli/protobuf

import collections
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests"))
import counting

TOOL = os.path.join(ROOT, os.environ.get("O", "build"), "stackreel")
PROTO = os.path.join(ROOT, "cli/protobuf/proto")
ORDERS = os.path.join(ROOT, "testdata/aarch64/orders")
# Every CPU, with and without files, inlined functions, JIT code, several processes, incomplete stacks, two events.
CAPTURES = {
    "aarch64": (ORDERS + "/orders.reel", ["--no-host-files", "--symfs", ORDERS, "--debug-dir", ORDERS]),
    **{
        name: (os.path.join(ROOT, "testdata/golden", name + ".reel"), ["--no-host-files"])
        for name in ("i386-orders", "s390x-inline", "riscv64-exception", "x86_64-exec", "x86_64-jit", "x86_64-perf-dwarf", "x86_64-resolved", "records")
    },
    "missing": (ORDERS + "/orders.reel", ["--no-host-files"]),
}

count = counting.Count()
work = tempfile.mkdtemp()


def run(*arguments, text=True, **options):
    options.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.run(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, text=text, **options)


def said(*arguments):
    done = run(*arguments)
    if done.returncode:
        count.ok(" ".join(arguments), False, done.stderr)
    return done.stdout


def same(name, found, wanted):
    missing = [item for item in wanted.items() if found.get(item[0]) != item[1]]
    count.ok(name, found == wanted and wanted, "%d, not %d; %r" % (len(found), len(wanted), missing[:1]))


def folded(capture, options, *more):
    """Stacks, root first, and their counts."""
    stacks = collections.Counter()
    for line in said(TOOL, "folded", *more, *options, capture).splitlines():
        stack, _, amount = line.rpartition(" ")
        stacks[tuple(stack.split(";"))] += int(amount)
    return stacks


def sums(stacks):
    """Self and total by function."""
    flat, cum = collections.Counter(), collections.Counter()
    for stack, amount in stacks.items():
        flat[stack[-1]] += amount
        for name in set(stack):
            cum[name] += amount
    return flat, cum


def neighbours(stacks, function):
    """The sums of all edges to and from a function, with a caller or callee once per stack; pprof has none from a function to
    itself."""
    callers, callees = collections.Counter(), collections.Counter()
    for stack, amount in stacks.items():
        edges = {(a, b) for a, b in zip(stack, stack[1:]) if a != b}
        for caller, callee in edges:
            if callee == function:
                callers[caller] += amount
            if caller == function:
                callees[callee] += amount
    return callers, callees


# ---- messages as protoc prints them ----------------------------------------------------------------------


def unquote(text):
    return text[1:-1].encode("latin-1").decode("unicode_escape").encode("latin-1").decode("utf-8", "surrogateescape")


def parse(lines):
    """A message as a list of (field, value); values are messages, texts or words."""
    message = []
    for line in lines:
        line = line.strip()
        if line == "}":
            return message
        if line.endswith(" {"):
            message.append((line[:-2], parse(lines)))
        else:
            field, value = line.split(": ", 1)
            message.append((field, unquote(value) if value[0] == '"' else value))
    return message


def decode(file, message, data):
    done = run("protoc", "--proto_path", PROTO, "--decode", message, file, input=data, stdin=None, text=False)
    count.ok(file + " is decoded", done.returncode == 0, done.stderr)
    return parse(iter(done.stdout.decode().splitlines()))


def one(message, field, default=None):
    return next((value for name, value in message if name == field), default)


def all_of(message, field):
    return [value for name, value in message if name == field]


# ---- pprof ------------------------------------------------------------------------------------------------


def pprof(path, *options):
    return said("go", "tool", "pprof", "-symbolize=none", "-nodecount=0", "-nodefraction=0", "-edgefraction=0", *options, path)


def name_in_folded(name):
    """pprof marks inlined functions; folded has no semicolon in names."""
    return re.sub(r" \((partial-)?inline\)$", "", name).replace(";", ":")


def top(text):
    flat, cum = {}, {}
    for line in text[text.index("cum%\n") + 5 :].splitlines():
        own, _, _, total, _, name = line.split(None, 5)
        name = name_in_folded(name)
        flat[name] = flat.get(name, 0) + int(own.rstrip("ns"))
        cum[name] = cum.get(name, 0) + int(total.rstrip("ns"))
    return {k: v for k, v in flat.items() if v}, {k: v for k, v in cum.items() if v}


def traces(text):
    stacks = collections.Counter()
    for block in text.split("-----------+-------------------------------------------------------\n")[1:]:
        names, amount = [], 0
        for line in block.splitlines():
            found = re.match(r" *(\d+)(?:ns)?   (\S.*)", line)
            if found and not names:
                amount = int(found.group(1))
                names.append(name_in_folded(found.group(2)))
            elif names:
                names.append(name_in_folded(line.strip()))
        if amount:
            stacks[tuple(reversed(names))] += amount
    return stacks


def peek(text, function):
    """Callers and callees of `function', which is printed between them."""
    callers, callees, side = {}, {}, None
    for line in text.splitlines():
        if line.startswith("---"):
            side = callers
            pending = {}
            continue
        own = re.match(r" *\d+(?:ns)? +[\d.]+% +[\d.]+% .* \| (\S.*)", line)
        edge = re.match(r" *(\d+)(?:ns)? +[\d.]+% \|   (\S.*)", line)
        if own:
            if name_in_folded(own.group(1)) == function:
                for name, amount in pending.items():
                    callers[name] = callers.get(name, 0) + amount
                side = callees
            else:
                side = None
        elif edge and side is not None:
            into = callees if side is callees else pending
            name = name_in_folded(edge.group(2))
            into[name] = into.get(name, 0) + int(edge.group(1))
    return callers, callees


def check_with_go(name, path, kind, event, capture, options):
    stacks = folded(capture, options, "--event", event)
    flat, cum = sums(stacks)
    found_flat, found_cum = top(pprof(path, "-top", "-sample_index=" + kind))
    same(name + ": self", found_flat, flat)
    same(name + ": total", found_cum, cum)
    same(name + ": traces", traces(pprof(path, "-traces", "-sample_index=" + kind)), stacks)
    function = max(cum, key=lambda name: (len(neighbours(stacks, name)[0]), name))
    found = peek(pprof(path, "-peek", "^" + re.escape(function) + "$", "-sample_index=" + kind), function)
    wanted = neighbours(stacks, function)
    same(name + ": callers of " + function, found[0], wanted[0])
    count.ok(name + ": callees of " + function, found[1] == wanted[1], "%r, not %r" % (found[1], wanted[1]))


def samples_of(profile):
    """For each event (by place among values): stacks as ndjson's frames, with labels, and their values."""
    texts = all_of(profile, "string_table")
    functions = {one(f, "id"): f for f in all_of(profile, "function")}
    mappings = {one(m, "id"): m for m in all_of(profile, "mapping")}
    locations = {one(l, "id"): l for l in all_of(profile, "location")}

    def text(message, field):
        return texts[int(one(message, field, "0"))]

    def frames(number):
        location = locations[number]
        mapping = mappings.get(one(location, "mapping_id", "0"), [])
        for line in all_of(location, "line"):
            function = functions[one(line, "function_id")]
            yield text(function, "name"), text(mapping, "filename"), text(function, "filename"), int(one(line, "line", "0"))

    for sample in all_of(profile, "sample"):
        labels = {text(label, "key"): text(label, "str") if one(label, "str") else int(one(label, "num")) for label in all_of(sample, "label")}
        stack = tuple(frame for number in all_of(sample, "location_id") for frame in frames(number))
        yield stack, labels, [int(value) for value in all_of(sample, "value")]


def ndjson(capture, options):
    """Samples, and their stacks with the pseudo frames."""
    for line in said(TOOL, "export", "--format=ndjson", *options, capture).splitlines():
        sample = json.loads(line)
        stack = [(f["function"], f["module"] or "", f["file"] or "", f["line"] or 0) for f in sample["frames"]]
        if not sample["whole"]:
            stack.append(("[incomplete: %s]" % sample["stop"], "", "", 0))
        elif not stack:
            stack.append(("[no frames]", "", "", 0))
        yield sample, stack


def wanted_samples(capture, options):
    """For each event, stack and thread: the number of samples, their weight, and their times."""
    counts = collections.Counter()
    weights = collections.Counter()
    times = []
    for sample, stack in ndjson(capture, options):
        guessed = any(f["guessed"] for f in sample["frames"])
        key = (sample["event"], tuple(stack), sample["pid"], sample["tid"], sample["comm"], sample["stop"] if not sample["whole"] else None, guessed)
        counts[key] += 1
        weights[key] += sample["weight"]
        times.append(sample["wall_time"] or sample["time"])
    return counts, weights, times


def main_event(types, events):
    """The event whose samples are `samples'."""
    if "cpu" in types:
        return next(event for event in events if event.split(":")[0] in ("cpu-clock", "task-clock"))
    return types[1] if types[0] == "samples" else types[0]


def measured(kind, types, main):
    """The event of a type, and whether it has weights."""
    if kind == "samples":
        return main, False
    if kind == "cpu":
        return main, True
    if kind.endswith("-samples"):
        return kind[: -len("-samples")], False
    return kind, kind + "-samples" in types or (kind == main and "samples" in types)


def check_messages(name, data, capture, options):
    profile = decode("pprof.proto", "perftools.profiles.Profile", gzip.decompress(data))
    texts = all_of(profile, "string_table")
    types = [(texts[int(one(t, "type"))], texts[int(one(t, "unit"))]) for t in all_of(profile, "sample_type")]
    counts, weights, times = wanted_samples(capture, options)
    kinds = [kind for kind, _ in types]
    main = main_event(kinds, [key[0] for key in counts])
    check_types(name, types, main, weights)
    found, weighed = collections.Counter(), collections.Counter()
    for stack, labels, values in samples_of(profile):
        count.ok(name + ": values", len(values) == len(types)) if len(values) != len(types) else None
        at = next(i for i, value in enumerate(values) if value)
        key = (measured(kinds[at], kinds, main)[0], stack, labels.get("pid", 0), labels.get("tid", 0), labels.get("comm", ""), labels.get("stop"), labels.get("guessed") == "yes")
        found[key] += values[at]
        weighed[key] += values[at + 1] if sum(1 for value in values if value) > 1 else 0
    same(name + ": samples, frames, lines and labels", found, counts)
    if any(weighed.values()):
        same(name + ": weights", weighed, weights)
    count.ok(name + ": texts", texts[0] == "" and len(set(texts)) == len(texts), "%d of %d" % (len(set(texts)), len(texts)))
    count.ok(name + ": duration", int(one(profile, "duration_nanos", "0")) == max(times) - min(times))
    count.ok(name + ": period", int(one(profile, "period", "0")) > 0)
    check_program(name, profile, capture, options)
    return profile, main


def check_program(name, profile, capture, options):
    """pprof's "File", the first mapping, is the program that most samples are in, not the one with the most code."""
    programs = collections.Counter()
    for _, stack in ndjson(capture, options):
        modules = [module for _, module, _, _ in stack if module.startswith("/") and ".so" not in os.path.basename(module)]
        programs.update(modules[-1:])
    if programs:
        texts, mappings = all_of(profile, "string_table"), all_of(profile, "mapping")
        first = texts[int(one(mappings[0], "filename"))]
        count.ok(name + ": the program", programs[first] == max(programs.values()), "%s of %r" % (first, programs))


def check_types(name, types, main, weights):
    """Servers expect samples/count and, of a clock, cpu/nanoseconds as the first two."""
    if not any(weight for key, weight in weights.items() if key[0] == main):
        return
    weight = ("cpu", "nanoseconds") if main.split(":")[0] in ("cpu-clock", "task-clock") else (main, types[1][1])
    count.ok(name + ": first sample types", types[:2] == [("samples", "count"), weight], "%r" % types[:2])


def check_functions(profile):
    """Names as the linker knows them."""
    texts = all_of(profile, "string_table")
    names = {(texts[int(one(f, "system_name", "0"))], texts[int(one(f, "name"))]) for f in all_of(profile, "function")}
    mangled = sorted(pair for pair in names if pair[0] and pair[0] != pair[1])
    text = run("c++filt", input="".join(linkage + "\n" for linkage, _ in mangled), stdin=None).stdout.splitlines()
    count.ok("c++filt of system names", mangled and text == [name for _, name in mangled], "%r" % (mangled[:2],))


def check_mappings(profile):
    """The program's mapping is its executable segment."""
    texts = all_of(profile, "string_table")
    mapping = all_of(profile, "mapping")[0]
    program = ORDERS + texts[int(one(mapping, "filename"))]
    load = re.search(r"LOAD +0x(\w+) 0x(\w+) 0x\w+ 0x\w+ 0x(\w+) R E", said("readelf", "-lW", program))
    offset, address, size = (int(number, 16) for number in load.groups())
    start, limit, at = (int(one(mapping, field, "0")) for field in ("memory_start", "memory_limit", "file_offset"))
    count.ok("mapping of the program", start - at == address - offset and start <= address and limit >= address + size, "%x %x %x" % (start, limit, at))
    count.ok("its build-id", texts[int(one(mapping, "build_id"))] in said("readelf", "-nW", program))
    mappings = {one(m, "id"): m for m in all_of(profile, "mapping")}
    outside = [
        location
        for location in all_of(profile, "location")
        if one(location, "mapping_id")
        and not int(one(mappings[one(location, "mapping_id")], "memory_start", "0"))
        <= int(one(location, "address", "0"))
        < int(one(mappings[one(location, "mapping_id")], "memory_limit"))
    ]
    count.ok("addresses lie in their mappings", not outside, "%r" % outside[:1])


# ---- otlp -------------------------------------------------------------------------------------------------


def check_otlp(name, data, capture, options, main):
    """Each event's samples, and their weights; tables begin with the empty entry."""
    message = decode("otlp.proto", "opentelemetry.proto.profiles.v1development.ProfilesData", data)
    dictionary = one(message, "dictionary")
    texts = all_of(dictionary, "string_table")
    tables = {field: all_of(dictionary, field) for field in ("mapping_table", "location_table", "function_table", "link_table", "attribute_table", "stack_table")}
    count.ok(name + ": otlp: each table begins with none", texts[0] == "" and all(table[0] == [] for table in tables.values()))

    def text(item, field):
        return texts[int(one(item, field, "0"))]

    def attributes(item):
        found = {}
        for number in all_of(item, "attribute_indices"):
            attribute = tables["attribute_table"][int(number)]
            value = one(attribute, "value")
            found[text(attribute, "key_strindex")] = one(value, "string_value") if one(value, "int_value") is None else int(one(value, "int_value"))
        return found

    def frames(sample):
        for number in all_of(tables["stack_table"][int(one(sample, "stack_index"))], "location_indices"):
            location = tables["location_table"][int(number)]
            mapping = tables["mapping_table"][int(one(location, "mapping_index", "0"))]
            for line in all_of(location, "lines"):
                function = tables["function_table"][int(one(line, "function_index"))]
                yield text(function, "name_strindex"), text(mapping, "filename_strindex"), text(function, "filename_strindex"), int(one(line, "line", "0"))

    counts, weights, times = wanted_samples(capture, options)
    found = collections.defaultdict(collections.Counter)
    for profile in (p for r in all_of(message, "resource_profiles") for s in all_of(r, "scope_profiles") for p in all_of(s, "profiles")):
        kind = text(one(profile, "sample_type"), "type_strindex")
        count.ok(name + ": otlp: period and time of " + kind, int(one(profile, "period", "0")) > 0 and int(one(profile, "duration_nano", "0")) == max(times) - min(times))
        for sample in all_of(profile, "samples"):
            labels = attributes(sample)
            key = (tuple(frames(sample)), labels["process.pid"], labels["thread.id"], labels.get("thread.name", ""), labels.get("stackreel.stop"),
                   labels.get("stackreel.guessed") == "yes")
            found[kind][key] += int(one(sample, "values"))
    for kind, amounts in found.items():
        event, is_weight = measured(kind, found, main)
        wanted = weights if is_weight else counts
        same(name + ": otlp: " + kind, amounts, {key[1:]: value for key, value in wanted.items() if key[0] == event})
    count.ok(name + ": otlp: samples of each event", {measured(kind, found, main) for kind in found} >= {(key[0], False) for key in counts})


# ---- perfetto ---------------------------------------------------------------------------------------------


def check_perfetto(name, data, capture, options):
    """Every sample in its place: time, CPU, thread, event, stack."""
    message = decode("perfetto.proto", "perfetto.protos.Trace", data)
    tables = collections.defaultdict(dict)
    events, threads, found = {}, {}, []
    for packet in all_of(message, "packet"):
        sequence = one(packet, "trusted_packet_sequence_id")
        for item in all_of(one(packet, "process_tree", []), "threads"):
            threads[(one(item, "tgid"), one(item, "tid"))] = one(item, "name", "")
        defaults = one(one(packet, "trace_packet_defaults", []), "perf_sample_defaults")
        if defaults:
            events[sequence] = one(one(defaults, "timebase"), "name")
        for field, item in one(packet, "interned_data", []):
            key = (sequence, field, one(item, "iid"))
            count.ok(name + ": perfetto: %s is new" % (key,), False) if key in tables else None
            tables[key] = item
        sample = one(packet, "perf_sample")
        if not sample:
            continue

        def interned(field, number):
            return tables[(sequence, field, number)]

        stack = []
        for number in all_of(interned("callstacks", one(sample, "callstack_iid")), "frame_ids"):
            frame = interned("frames", number)
            mapping = interned("mappings", one(frame, "mapping_id"))
            path = one(interned("mapping_paths", one(mapping, "path_string_ids")), "str")
            source = one(interned("source_paths", one(frame, "source_path_iid")), "str") if one(frame, "source_path_iid") else ""
            function = one(interned("function_names", one(frame, "function_name_id")), "str")
            stack.insert(0, (function, "" if path == "[no file]" else path, source, int(one(frame, "line_number", "0"))))
        thread = (one(sample, "pid"), one(sample, "tid"))
        found.append((int(one(packet, "timestamp")), one(sample, "cpu"), *thread, threads[thread], events[sequence], stack, one(sample, "unwind_error") is None))
    wanted = [(s["wall_time"] or s["time"], str(s["cpu"]), str(s["pid"]), str(s["tid"]), s["comm"], s["event"], stack, s["whole"]) for s, stack in ndjson(capture, options)]
    differences = [pair for pair in zip(found, wanted) if pair[0] != pair[1]]
    count.ok(name + ": perfetto: samples", found == wanted and wanted, "%d, not %d; %r" % (len(found), len(wanted), differences[:1]))
    return {one(item, "str").encode("utf-8", "surrogateescape").hex() for (_, field, _), item in tables.items() if field == "build_ids"}


def exported(form, capture, options):
    return run(TOOL, "export", "-q", "--format=" + form, *options, capture, text=False).stdout


def check_capture(name, capture, options, has_go):
    path = os.path.join(work, name + ".pb.gz")
    said(TOOL, "export", "-q", "--format=pprof", *options, "-o", path, capture)
    with open(path, "rb") as file:
        data = file.read()
    count.ok(name + ": to standard output", exported("pprof", capture, options) == data)
    profile, main = check_messages(name, data, capture, options)
    check_otlp(name, exported("otlp", capture, options), capture, options, main)
    build_ids = check_perfetto(name, exported("perfetto", capture, options), capture, options)
    texts = all_of(profile, "string_table")
    found = {texts[int(one(m, "build_id", "0"))] for m in all_of(profile, "mapping")} - {""}
    count.ok(name + ": perfetto: build-ids", build_ids == found, "%r, not %r" % (build_ids, found))
    if name == "aarch64":
        check_functions(profile)
        check_mappings(profile)
    if not has_go:
        return
    for kind, event in counts_of(profile, main):
        check_with_go(name + " " + event, path, kind, event, capture, options)


def check_several():
    """With a capture named twice, everything is doubled, but locations are shared; a trace needs one clock."""
    capture, options = CAPTURES["i386-orders"]
    once, twice = (decode("pprof.proto", "perftools.profiles.Profile", gzip.decompress(exported("pprof", capture, [*options, *more]))) for more in ([], [capture]))
    values = [collections.Counter() for _ in range(2)]
    for found, profile in zip(values, (once, twice)):
        for stack, labels, amounts in samples_of(profile):
            found[stack, labels["tid"]] += sum(amounts)
    same("a capture twice", values[1], {key: 2 * value for key, value in values[0].items()})
    count.ok("a capture twice: locations", all_of(once, "location") == all_of(twice, "location"))
    done = run(TOOL, "export", "--format=perfetto", *options, "-o", os.path.join(work, "two"), capture, CAPTURES["x86_64-perf-dwarf"][0])
    count.ok("two captures, one without a start time", done.returncode == 1 and "no start time" in done.stderr, done.stderr)
    # Of the first capture, so few samples that the other one has more, and still more code.
    part, (more, _) = os.path.join(work, "part.reel"), CAPTURES["x86_64-jit"]
    said(TOOL, "cut", "-q", "--time=0..20ms", "-o", part, capture)
    merged = os.path.join(work, "merged.reel")
    said(TOOL, "merge", "-q", "-o", merged, part, more)
    profile = decode("pprof.proto", "perftools.profiles.Profile", gzip.decompress(exported("pprof", merged, options)))
    check_program("a small program with most samples", profile, merged, options)
    count.ok("nothing remains", not os.path.exists(os.path.join(work, "two")))


def counts_of(profile, main):
    """The types that count samples, with their events."""
    texts = all_of(profile, "string_table")
    names = [texts[int(one(t, "type"))] for t in all_of(profile, "sample_type")]
    measures = [(name, *measured(name, names, main)) for name in names]
    return [(name, event) for name, event, is_weight in measures if not is_weight and event != "unknown"]


def main():
    if "built without" in run(TOOL, "export", "--format=pprof", "-o", os.path.join(work, "a"), CAPTURES["aarch64"][0]).stderr:
        count.skip("this stackreel was built without protobuf-c")
        return
    if not shutil.which("protoc"):
        count.skip("protoc is not installed")
        return
    has_go = shutil.which("go") is not None
    if not has_go:
        count.skip("go is not installed: nothing is compared with go tool pprof")
    for name, (capture, options) in CAPTURES.items():
        check_capture(name, capture, options, has_go)
    check_several()


try:
    main()
finally:
    shutil.rmtree(work)
sys.exit(count.finish())
