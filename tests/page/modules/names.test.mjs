// Short names.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { Functions, Kind } from "../../../cli/page/web/capture.js";
import { baseName, innerName, shortName } from "../../../cli/page/web/names.js";

// Full and short names, which the C program's unit test reads as well.
const table = new URL("../../names/short-names.tsv", import.meta.url);
const names = Object.fromEntries(readFileSync(table, "utf8").trimEnd().split("\n").map(line => line.split("\t")));
names[""] = "";

for (const [full, short] of Object.entries(names))
	test(full, () => assert.equal(shortName(full), short));

test("a name is never empty, nor takes long", () => {
	for (const part of ["<", "(", "{", "operator<", "::", " ", ">", "a<b>(c)::", "a.", "/0xa", "a.b("])
		assert.notEqual(shortName(part.repeat(20000)), "");
});

test("inner names", () => assert.deepEqual(["std::sort<…>", "main", "a::<b::c>::d", "a::", "::", "Foo::operator()", "Vec<a::b>::push", "java.util.HashMap.merge(…)", "Main.main(…)", "main.run", "libfoo.so+0x1f30 [fde]"].map(innerName), ["sort<…>", "main", "d", "a::", "::", "operator()", "push", "HashMap.merge(…)", "Main.main(…)", "main.run", "+0x1f30"]));

test("base names", () => {
	assert.equal(baseName("/usr/lib/libc.so.6"), "libc.so.6");
	assert.equal(baseName("[kernel.kallsyms]"), "[kernel]");
	assert.equal(baseName("folder/"), "folder/");
});

test("the kind of an interpreter's function is its language", () => {
	const functions = new Functions();
	functions.modules.push("[python]", "[ruby]", "/bin/ruby");
	assert.deepEqual([[0, Kind.python], [1, Kind.python], [2, Kind.plain], [2, Kind.jit]].map(([module, kind]) => functions.kindWord(functions.add("f", module, kind))), ["Python", "Ruby", "", "JIT"]);
});
