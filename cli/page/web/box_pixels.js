// Rows of boxes as pixels: without a GPU, this draws thousands of narrow boxes several times as fast as shapes.

const FOOT = 2; // px: the height of a line below a box
const GAP_FROM = 3; // pixels of the screen: wider boxes have a gap after them

/** "#rrggbb" as a pixel of a canvas, little-endian. @param {string} color */
export function pixelOf(color) {
	const value = parseInt(color.slice(1), 16);
	return (0xff000000 | (value & 0xff) << 16 | value & 0xff00 | value >> 16) >>> 0;
}

export class BoxPixels {
	constructor() {
		/** @type {ImageData | null} */
		this.image = null;
		this.data = this.line = this.foot = new Uint32Array(0);
		/** @type {Map<string, number>} */
		this.known = new Map();
		this.ratio = this.top = this.height = this.paper = 0;
	}

	/** @param {CanvasRenderingContext2D} context @param {string} paper */
	begin(context, paper) {
		const { width, height } = context.canvas;
		if (!this.image || this.image.width !== width || this.image.height !== height) {
			this.image = context.createImageData(width, height);
			this.data = new Uint32Array(this.image.data.buffer);
			this.line = new Uint32Array(width);
			this.foot = new Uint32Array(width);
		}
		this.ratio = context.getTransform().a;
		this.paper = this.pixel(paper);
		this.data.fill(this.paper);
		this.line.fill(this.paper);
		this.foot.fill(this.paper);
		this.top = NaN;
	}

	/** @param {string} color */
	pixel(color) {
		let pixel = this.known.get(color);
		if (pixel === undefined)
			this.known.set(color, pixel = pixelOf(color));
		return pixel;
	}

	/** A box within the canvas's width; those of a row are drawn one after the other, from the left. @param {number} left @param {number} right @param {number} top @param {number} height @param {string} color @param {string} [foot] of a line below it, if that is another colour */
	box(left, right, top, height, color, foot = color) {
		if (top !== this.top) {
			this.copyLine();
			this.top = top;
			this.height = height;
		}
		// One that is narrower than a pixel covers the gap before it, or its neighbour's last pixel.
		const from = Math.min(Math.round(left * this.ratio), this.line.length - 1), to = Math.max(Math.round(right * this.ratio), from + 1);
		const end = to - from >= GAP_FROM ? to - 1 : to;
		this.line.fill(this.pixel(color), from, end);
		this.foot.fill(this.pixel(foot), from, end);
	}

	/** The row's line is each of its lines. */
	copyLine() {
		const { data, line, foot, ratio } = this, height = data.length / Math.max(line.length, 1);
		const first = Math.max(0, Math.round(this.top * ratio)), end = Math.min(height, Math.round((this.top + this.height) * ratio));
		const footed = Math.round((this.top + this.height - FOOT) * ratio);
		for (let y = first; y < end; y++)
			data.set(y < footed ? line : foot, y * line.length);
		line.fill(this.paper);
		foot.fill(this.paper);
	}

	/** @param {CanvasRenderingContext2D} context */
	finish(context) {
		this.copyLine();
		if (this.image)
			context.putImageData(this.image, 0, 0);
	}
}
