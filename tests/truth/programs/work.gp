t = getwalltime();
while (getwalltime() - t < 2000, factor(nextprime(random(10^14)) * nextprime(random(10^14))); matdet(matrix(30, 30, i, j, random(100))); ellap(ellinit([1, 1]), nextprime(random(10^9))))
