// Histograms of labels: each value is in one range, and nothing is left out.
import assert from "node:assert/strict";
import test from "node:test";
import { histogramOf } from "../../../cli/page/web/histogram.js";

/** Bars as [text, weight, samples]. @param {[string, number][]} all values of `size`, and how many samples each has */
function barsOf(all) {
	const values = [{ key: "other", text: "7" }, ...all.map(([text]) => ({ key: "size", text }))], samples = [1000, ...all.map(([, count]) => count)];
	return histogramOf(values, { samples, weight: samples.map((count) => 10 * count) }, "size")?.map(({ text, weight, samples: count }) => [text, weight, count]) ?? null;
}

test("ranges are powers of two, without gaps", () => {
	assert.deepEqual(barsOf([["600", 6], ["300", 3], ["511", 1], ["64", 2]]), [["64 .. 127", 20, 2], ["128 .. 255", 0, 0], ["256 .. 511", 40, 4], ["512 .. 1023", 60, 6]]);
	assert.deepEqual(barsOf([["-7", 1], ["-4", 1], ["-1", 2], ["3", 1]]), [["-7 .. -4", 20, 2], ["-3 .. -2", 0, 0], ["-1", 20, 2], ["0", 0, 0], ["1", 0, 0], ["2 .. 3", 10, 1]]);
	assert.deepEqual(barsOf([["0", 1]]), [["0", 10, 1]]);
	assert.deepEqual(barsOf([["18446744073709551615", 1], ["9223372036854775807", 1]]), [["4611686018427387904 .. 9223372036854775807", 10, 1], ["9223372036854775808 .. 18446744073709551615", 10, 1]]);
});

test("ranges of rare values are added, and unknown values are last", () => {
	assert.deepEqual(barsOf([["<not captured>", 5], ["70", 1], ["64 .. 127", 2], ["[more values]", 1], ["-7 .. -4", 0]]), [["64 .. 127", 30, 3], ["<not captured>", 50, 5], ["[more values]", 10, 1]]);
});

test("texts, addresses and identities have no histogram", () => {
	for (const text of ["GREEN", "0x7f0010", "1.5", "7 x", ""])
		assert.equal(barsOf([["7", 1], [text, 1]]), null, text);
	assert.equal(barsOf([["<not captured>", 1]]), null);
	assert.equal(barsOf([]), null);
	for (const key of ["waker-tid", "lock-owner", "waker-sample"])
		assert.equal(histogramOf([{ key, text: "7" }], { weight: [1], samples: [1] }, key), null, key);
});
