/* SPDX-License-Identifier: Apache-2.0 */
/* gmp SECONDS: products, quotients, powers and roots of large numbers. */
#include <gmp.h>
#include <stdlib.h>
#include <time.h>

int main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 2);
	gmp_randstate_t random;
	mpz_t a, b, m, r;

	gmp_randinit_default(random);
	mpz_inits(a, b, m, r, NULL);
	do {
		mpz_urandomb(a, random, 60000);
		mpz_urandomb(b, random, 3000);
		mpz_urandomb(m, random, 2048);
		mpz_setbit(m, 0);
		mpz_mul(r, a, a);
		mpz_tdiv_q(r, r, b);
		mpz_powm(r, a, b, m);
		mpz_sqrt(r, a);
		mpz_gcd(r, a, b);
	} while (time(NULL) < end);
	return mpz_sgn(r) < 0;
}
