end <- Sys.time() + 2
fib <- function(n) if (n < 2) n else fib(n - 1) + fib(n - 2)
while (Sys.time() < end) {
	sort(runif(20000))
	fib(12)
	m <- matrix(runif(10000), 100)
	m %*% m
	paste(1:500, collapse = ",")
	lapply(1:200, function(i) i * 2)
}
