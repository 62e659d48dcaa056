/* SPDX-License-Identifier: Apache-2.0 */
/* blas SECONDS: products of matrices and vectors, in single and double precision. */
#include <cblas.h>
#include <stdlib.h>
#include <time.h>

enum { N = 300 };
static double a[N * N], b[N * N], c[N * N];
static float x[N * N], y[N * N], z[N * N];

int main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 2);

	for (int i = 0; i < N * N; i++) {
		a[i] = b[i] = rand() % 100;
		x[i] = y[i] = (float)a[i];
	}
	do {
		cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, N, N, N, 1, a, N, b, N, 0, c,
			    N);
		cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, N, N, N, 1, x, N, y, N, 0, z,
			    N);
		for (int i = 0; i < 20; i++)
			cblas_dgemv(CblasRowMajor, CblasTrans, N, N, 1, a, N, b, 1, 0, c, 1);
		cblas_dtrsm(CblasRowMajor, CblasLeft, CblasUpper, CblasNoTrans, CblasUnit, N, N,
			    1e-9, a, N, c, N);
	} while (time(NULL) < end);
	return 0;
}
