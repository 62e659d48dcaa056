<?php
// SPDX-License-Identifier: Apache-2.0
// work: recursion, arrays, text and hashes, until it is killed.
function fib($n)
{
	return $n < 2 ? $n : fib($n - 1) + fib($n - 2);
}
for ($sum = 0;;) {
	$sum += fib(20);
	for ($i = 0, $texts = []; $i < 5000; $i++) {
		$sum = ($sum * 31 + $i) % 1000003;
		$texts[] = md5($sum);
	}
	sort($texts);
	$sum += strlen(preg_replace('/[a-f]+/', '-', implode(' ', $texts)));
}
