// Short names.
import assert from "node:assert/strict";
import test from "node:test";
import { baseName, innerName, shortName } from "../../../cli/page/web/names.js";

const names = {
	// C and kernels
	"main": "main", "do_syscall_64": "do_syscall_64", "msort_with_tmp.part.0": "msort_with_tmp.part.0", "memcpy@plt": "memcpy@plt",
	"cc1+0xb1f590 [fde]": "cc1+0xb1f590 [fde]", "[incomplete: stack bytes ran out]": "[incomplete: stack bytes ran out]", "JIT code of node": "JIT code of node",
	// C++
	"shop::Checkout::tax(double) const": "shop::Checkout::tax",
	"shop::walk(int, unsigned long)": "shop::walk",
	"std::vector<Order, std::allocator<Order> >::push_back(Order const&)": "std::vector<…>::push_back",
	"void std::sort<__gnu_cxx::__normal_iterator<int*, std::vector<int> > >(int*, int*)": "std::sort<…>",
	"std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >::append(char const*)": "std::string::append",
	"std::ostream& operator<< <std::char_traits<char> >(std::ostream&, char const*)": "operator<< <…>",
	"Foo::operator()(int) const": "Foo::operator()", "bool operator<(A const&, A const&)": "operator<", "A::operator->() const": "A::operator->",
	"A::operator bool() const": "A::operator bool", "operator new(unsigned long)": "operator new",
	"(anonymous namespace)::helper(int)": "helper",
	"run(int)::{lambda(int)#1}::operator()(int) const": "run{…}::{lambda}::operator()",
	"std::function<void (int)>::operator()(int) const": "std::function<…>::operator()",
	"hash_table<int_hash<int, 0>, false>::find_slot_with_hash(int const&, unsigned int, insert_option)": "hash_table<…>::find_slot_with_hash",
	"execute_one_pass(opt_pass*) [clone .cold]": "execute_one_pass",
	// Rust
	"core::ptr::drop_in_place::h0123456789abcdef": "core::ptr::drop_in_place",
	"<alloc::vec::Vec<T,A> as core::ops::drop::Drop>::drop": "<Vec<…>>::drop",
	"tokio::runtime::task::raw::poll::<impl Future>::{{closure}}": "tokio::runtime::task::raw::poll::<impl Future>::{closure}",
	// Go
	"main.(*Server).handle": "main.(*Server).handle", "runtime.mcall": "runtime.mcall",
	// hostile
	"<": "<", "((((": "((((", ">>>>": ">>>>", "<script>alert(1)</script>": "<script>alert<…>", "": "", "::": "::", "operator": "operator",
};

for (const [full, short] of Object.entries(names))
	test(full, () => assert.equal(shortName(full), short));

test("a name is never empty, nor takes long", () => {
	for (const part of ["<", "(", "{", "operator<", "::", " ", ">", "a<b>(c)::"])
		assert.notEqual(shortName(part.repeat(20000)), "");
});

test("inner names", () => assert.deepEqual(["std::sort<…>", "main", "a::<b::c>::d", "a::", "::", "Foo::operator()", "Vec<a::b>::push"].map(innerName), ["sort<…>", "main", "d", "a::", "::", "operator()", "push"]));

test("base names", () => {
	assert.equal(baseName("/usr/lib/libc.so.6"), "libc.so.6");
	assert.equal(baseName("[kernel.kallsyms]"), "[kernel]");
	assert.equal(baseName("folder/"), "folder/");
});
