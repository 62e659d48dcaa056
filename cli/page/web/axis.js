// An axis above tracks, charts and flame graphs.

import { FONT } from "./colors.js";
import { formatAmount, formatMoment, formatTick, tickStep } from "./numbers.js";

/** @typedef {{ apart: number, step: (least: number) => number, text: (at: number, step: number) => string }} Labels `apart`: pixels between ticks at least */

export const AXIS = 24;

/** @type {Labels} Of moments, in ns. */
export const timeLabels = { apart: 90, step: tickStep, text: formatMoment };

/** Of amounts and their shares of the whole. @param {number} whole @param {boolean} isTime @returns {Labels} */
export function amountLabels(whole, isTime) {
	return {
		apart: 150, step: isTime ? tickStep : (least) => Math.max(1, tickStep(least, false)),
		text: (at, step) => `${formatAmount(at, step, isTime)} · ${at ? formatTick(100 * at / whole, 10 * step / whole) : "0"} %`,
	};
}

/** @param {CanvasRenderingContext2D} context @param {number} from @param {number} to @param {number} width @param {typeof import("./colors.js").themes.light} theme @param {Labels} labels */
export function drawAxis(context, from, to, width, theme, labels) {
	const step = labels.step((to - from) / Math.max(1, width / labels.apart));
	context.fillStyle = theme.band;
	context.fillRect(0, 0, width, AXIS - 1);
	context.fillStyle = theme.line;
	context.fillRect(0, AXIS - 1, width, 1);
	context.font = FONT;
	context.textBaseline = "middle";
	for (let at = Math.ceil(from / step) * step; at <= to; at += step) {
		const x = (at - from) / (to - from) * width;
		context.fillStyle = theme.line;
		context.fillRect(x, 0, 1, AXIS);
		context.fillStyle = theme.muted;
		const label = labels.text(at, step);
		if (x + 5 + context.measureText(label).width <= width)
			context.fillText(label, x + 5, AXIS / 2);
	}
}
