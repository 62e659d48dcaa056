// A time axis above tracks and charts.

import { FONT } from "./colors.js";
import { formatMoment, tickStep } from "./numbers.js";

export const AXIS = 24;

/** @param {CanvasRenderingContext2D} context @param {number} from @param {number} to ns @param {number} width @param {typeof import("./colors.js").themes.light} theme */
export function drawAxis(context, from, to, width, theme) {
	const step = tickStep((to - from) / Math.max(1, width / 90));
	context.fillStyle = theme.band;
	context.fillRect(0, 0, width, AXIS - 1);
	context.fillStyle = theme.line;
	context.fillRect(0, AXIS - 1, width, 1);
	context.font = FONT;
	context.textBaseline = "middle";
	for (let time = Math.ceil(from / step) * step; time <= to; time += step) {
		const x = (time - from) / (to - from) * width;
		context.fillStyle = theme.line;
		context.fillRect(x, 0, 1, AXIS);
		context.fillStyle = theme.muted;
		const label = formatMoment(time, step);
		if (x + 5 + context.measureText(label).width <= width)
			context.fillText(label, x + 5, AXIS / 2);
	}
}
