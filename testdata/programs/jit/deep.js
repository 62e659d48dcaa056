// Has known chains: main, deep eleven times, fib up to twelve times.
function fib(n) {
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

function deep(n, end) {
	if (n)
		return deep(n - 1, end);
	let sum = 0;
	while (Date.now() < end)
		sum += fib(12);
	return sum;
}

(function main() {
	deep(10, Date.now() + 1000 * Number(process.argv[2]));
})();
