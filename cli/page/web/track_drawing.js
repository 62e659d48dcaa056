// Draws a track: stacked areas, and a strip of states.

/** @typedef {import("./track_sums.js").TrackSums} TrackSums */

/** The highest column. @param {TrackSums} sums */
export function mostOfSums(sums) {
	let most = 0;
	for (let x = 0; x < sums.width; x++)
		most = Math.max(most, sums.areas.reduce((sum, area) => sum + area[x], 0));
	return most;
}

/** @param {CanvasRenderingContext2D} context @param {TrackSums} sums @param {string[]} colors @param {number} y @param {number} height @param {number} most what fills the height */
export function drawAreas(context, sums, colors, y, height, most) {
	const heights = new Float32Array(sums.width);
	// Each polygon has all areas below it; smaller ones are drawn over it.
	const tops = sums.areas.map((area) => {
		for (let x = 0; x < heights.length; x++)
			heights[x] = Math.min(heights[x] + area[x] / most, 1);
		return heights.slice();
	});
	for (let area = tops.length - 1; area >= 0; area--) {
		if (!sums.areas[area].some((value) => value > 0))
			continue;
		context.fillStyle = colors[area] || colors[1];
		fillBelow(context, tops[area], y + height, height);
	}
}

/** @param {CanvasRenderingContext2D} context @param {Float32Array} tops below 1 @param {number} bottom @param {number} height */
function fillBelow(context, tops, bottom, height) {
	context.beginPath();
	for (let x = 0; x < tops.length; x++) {
		if (tops[x] <= 0)
			continue;
		context.moveTo(x, bottom);
		for (; x < tops.length && tops[x] > 0; x++) {
			context.lineTo(x, bottom - tops[x] * height);
			context.lineTo(x + 1, bottom - tops[x] * height);
		}
		context.lineTo(x, bottom);
	}
	context.fill();
}

/** The longest state of each column. @param {CanvasRenderingContext2D} context @param {TrackSums} sums @param {string[]} colors @param {number} y @param {number} height */
export function drawStates(context, { areas, width }, colors, y, height) {
	for (let state = 1; state < areas.length; state++) {
		context.fillStyle = colors[state];
		for (let x = 0; x < width; x++) {
			if (areas[state][x] > 0 && areas.every((other, i) => i === state || other[x] <= areas[state][x]))
				context.fillRect(x, y, 1, height);
		}
	}
}
