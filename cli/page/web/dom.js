// Elements. Texts are set as text, never as HTML: names from a capture are hostile.

/**
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag @param {Record<string, any>} [properties] `class`, `on…` handlers, attributes (aria-…, role, data-…), other properties
 * @param {...(Node | string)} children @returns {HTMLElementTagNameMap[T]}
 */
export function el(tag, properties = {}, ...children) {
	const element = document.createElement(tag);
	for (const [name, value] of Object.entries(properties)) {
		if (name.startsWith("on"))
			element.addEventListener(name.slice(2), value);
		else if (name === "class")
			element.className = value;
		else if (/^(aria-|data-|role$|for$|tabindex$|list$)/.test(name))
			element.setAttribute(name, String(value));
		else
			/** @type {any} */ (element)[name] = value;
	}
	element.append(...children);
	return element;
}

/** The element of the page with this id, which exists. @param {string} id @returns {HTMLElement} */
export function byId(id) {
	return /** @type {HTMLElement} */ (document.getElementById(id));
}

/** Calls `run` once per frame at most, with the newest arguments. @template {any[]} A @param {(...args: A) => void} run @returns {(...args: A) => void} */
export function oncePerFrame(run) {
	/** @type {A | null} */
	let waiting = null;
	return (...args) => {
		if (!waiting)
			requestAnimationFrame(() => {
				const newest = /** @type {A} */ (waiting);
				waiting = null;
				run(...newest);
			});
		waiting = args;
	};
}

/** Calls `run` when there is nothing else to do. @param {() => void} run */
export function whenIdle(run) {
	// Safari has none.
	if (window.requestIdleCallback)
		window.requestIdleCallback(run);
	else
		setTimeout(run, 300);
}

/** Sizes a canvas for its place, in pixels of the screen; drawing is in pixels of CSS. @param {HTMLCanvasElement} canvas @param {number} width @param {number} height */
export function sizeCanvas(canvas, width, height) {
	const ratio = window.devicePixelRatio || 1, w = Math.max(1, Math.round(width * ratio)), h = Math.max(1, Math.round(height * ratio));
	if (canvas.width !== w || canvas.height !== h) {
		canvas.width = w;
		canvas.height = h;
		canvas.style.width = `${width}px`;
		canvas.style.height = `${height}px`;
	}
	const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d", { alpha: false }));
	context.setTransform(ratio, 0, 0, ratio, 0, 0);
	return context;
}
