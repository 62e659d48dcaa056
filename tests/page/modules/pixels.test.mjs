// Boxes as pixels of a canvas.
import assert from "node:assert/strict";
import test from "node:test";
import { BoxPixels, pixelOf } from "../../../cli/page/web/box_pixels.js";

/** What a canvas of this size shows: rows of letters by colour; "." is paper. */
function picture(width, height, ratio, boxes) {
	let shown = "";
	const letters = new Map([["#ffffff", "."], ["#ff0000", "r"], ["#00ff00", "g"], ["#0000ff", "b"]].map(([color, letter]) => [pixelOf(color), letter]));
	const context = {
		canvas: { width, height }, getTransform: () => ({ a: ratio }), createImageData: () => ({ width, height, data: new Uint8ClampedArray(4 * width * height) }),
		putImageData({ data }) {
			shown = Array.from(new Uint32Array(data.buffer), (pixel) => letters.get(pixel)).join("").match(new RegExp(`.{${width}}`, "g")).join(" ");
		},
	};
	const pixels = new BoxPixels();
	pixels.begin(context, "#ffffff");
	for (const box of boxes)
		pixels.box(...box);
	pixels.finish(context);
	return shown;
}

test("a pixel is red, green, blue and opaque in memory", () => assert.deepEqual([...new Uint8Array(Uint32Array.of(pixelOf("#123456")).buffer)], [0x12, 0x34, 0x56, 0xff]));

test("wide boxes have a gap after them, narrow ones have not", () => {
	assert.equal(picture(8, 3, 1, [[0, 4, 0, 2, "#ff0000"], [4, 6, 0, 2, "#00ff00"], [6, 8, 0, 2, "#0000ff"]]), "rrr.ggbb rrr.ggbb ........");
});

test("rows do not share boxes, and are cut at the edges", () => {
	assert.equal(picture(4, 4, 1, [[0, 2, -1, 2, "#ff0000"], [2, 4, 2, 9, "#00ff00"]]), "rr.. .... ..gg ..gg");
});

test("a box without width is a pixel, also at the right edge", () => {
	assert.equal(picture(4, 1, 1, [[1, 1.2, 0, 1, "#ff0000"], [4, 4, 0, 1, "#0000ff"]]), ".r.b");
});

test("a line below a box", () => assert.equal(picture(5, 4, 1, [[0, 2, 0, 4, "#ff0000"], [2, 5, 0, 4, "#00ff00", "#0000ff"]]), "rrgg. rrgg. rrbb. rrbb."));

test("screens with more pixels", () => assert.equal(picture(8, 2, 2, [[0, 2, 0, 1, "#ff0000"], [2, 2.5, 0, 1, "#00ff00"]]), "rrr.g... rrr.g..."));
