// Names.
import assert from "node:assert/strict";
import test from "node:test";
import { Functions, Kind } from "../../../cli/page/web/capture.js";
import { baseName, innerName } from "../../../cli/page/web/names.js";

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
