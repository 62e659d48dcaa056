// Unpacks a page's content: base64, gzip, and columns of LEB128 (cli/page/columns.h).

/** @param {string} text @returns {Uint8Array} */
function fromBase64(text) {
	const binary = atob(text), bytes = new Uint8Array(binary.length);
	for (let i = 0; i < binary.length; i++)
		bytes[i] = binary.charCodeAt(i);
	return bytes;
}

/** @param {string} text gzip in base64 @returns {Promise<Uint8Array>} */
export async function unpack(text) {
	if (!globalThis.DecompressionStream)
		throw new Error("this browser is too old to read the page's content (it has no DecompressionStream)");
	const stream = new Blob([/** @type {BlobPart} */ (fromBase64(text))]).stream().pipeThrough(new DecompressionStream("gzip"));
	return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Columns by name. */
export class Columns {
	/** @param {Uint8Array} bytes @param {number} offset of the first column @param {[string, number, number][]} table */
	constructor(bytes, offset, table) {
		this.bytes = bytes;
		/** @type {Map<string, { at: number, count: number }>} */
		this.places = new Map();
		for (const [name, count, size] of table) {
			this.places.set(name, { at: offset, count });
			offset += size;
		}
	}

	/** @param {string} name @returns {number} */
	count(name) {
		return this.places.get(name)?.count ?? 0;
	}

	/**
	 * Numbers may have up to 64 bits; those above 2^53 are rounded.
	 * @template {Int32Array | Uint8Array | Float64Array} T
	 * @param {string} name @param {T} into @param {boolean} isSigned @param {boolean} isDifference to the last one
	 * @returns {T}
	 */
	read(name, into, isSigned, isDifference) {
		const bytes = this.bytes;
		let at = this.places.get(name)?.at ?? 0, last = 0;
		for (let i = 0; i < into.length; i++) {
			let byte = bytes[at++], value = byte & 0x7f;
			// Small integers are much faster than other numbers, and most have one or two bytes.
			for (let shift = 7; byte > 0x7f && shift < 28; shift += 7) {
				byte = bytes[at++];
				value |= (byte & 0x7f) << shift;
			}
			for (let scale = 2 ** 28; byte > 0x7f; scale *= 128) {
				byte = bytes[at++];
				value += (byte & 0x7f) * scale;
			}
			if (isSigned)
				value = value < 2 ** 31 ? value >>> 1 ^ -(value & 1) : unzigzag(value);
			last = into[i] = isDifference ? last + value : value;
		}
		return into;
	}

	/** @param {string} name @returns {Int32Array} */
	numbers(name) {
		return this.read(name, new Int32Array(this.count(name)), false, false);
	}

	/** @param {string} name @returns {Int32Array} numbers that are stored as differences */
	differences(name) {
		return this.read(name, new Int32Array(this.count(name)), true, true);
	}

	/** @param {string} name @returns {Float64Array} */
	large(name) {
		return this.read(name, new Float64Array(this.count(name)), true, false);
	}

	/** @param {string} name @returns {Float64Array} */
	largeDifferences(name) {
		return this.read(name, new Float64Array(this.count(name)), true, true);
	}

	/** Full and short names of functions. @param {string} of @param {string[]} strings */
	names(of, strings) {
		const name = this.differences(`${of}Name`), short = this.large(`${of}Short`);
		return { name: Array.from(name, (number) => strings[number]), short: Array.from(name, (number, i) => strings[number + short[i]]) };
	}

	/** @param {string} name @returns {Uint8Array} */
	small(name) {
		return this.read(name, new Uint8Array(this.count(name)), false, false);
	}
}

/** 0, 1, 2, 3 … is 0, -1, 1, -2 … @param {number} value @returns {number} */
export function unzigzag(value) {
	return value % 2 ? -(value + 1) / 2 : value / 2;
}
