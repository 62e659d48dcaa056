// Columns that several tables have.

import { formatCount, formatShare } from "./numbers.js";

/** @typedef {import("./app.js").App} App */
/** @typedef {{ self: number, total: number, samples: number }} Amounts */

/**
 * @template R @param {App} app @param {(row: R) => Amounts} of
 * @returns {import("./virtual_table.js").Column<R>[]}
 */
export function amountColumns(app, of) {
	const share = (/** @type {number} */ weight) => app.profile.weight ? weight / app.profile.weight : 0;
	return [
		{ name: "Total", title: "With callees, as a share of the selection", width: "6.5em", number: true, text: (row) => formatShare(of(row).total, app.profile.weight), share: (row) => share(of(row).total), sort: (row) => of(row).total },
		{ name: "", title: "With callees", width: "5.5em", number: true, text: (row) => app.weightText(of(row).total) },
		{ name: "Self", title: "Without callees, as a share of the selection", width: "6.5em", number: true, text: (row) => of(row).self ? formatShare(of(row).self, app.profile.weight) : "", share: (row) => share(of(row).self), sort: (row) => of(row).self },
		{ name: "", title: "Without callees", width: "5.5em", number: true, text: (row) => of(row).self ? app.weightText(of(row).self) : "" },
		{ name: "Samples", title: "With callees", width: "5.5em", number: true, text: (row) => formatCount(of(row).samples), sort: (row) => of(row).samples },
	];
}

/**
 * A function's name with its colour and its marks. @param {App} app @param {number} of @param {string} [color]
 */
export function nameCell(app, of, color = app.colors.of(of)) {
	const { functions } = app.capture, cell = document.createElement("span"), swatch = document.createElement("i"), text = document.createElement("span");
	cell.className = "function";
	swatch.className = "swatch";
	swatch.style.background = color;
	text.textContent = app.name(of);
	if (app.matches?.[of])
		text.className = "match";
	text.title = functions.name[of];
	cell.append(swatch, text);
	return cell;
}
