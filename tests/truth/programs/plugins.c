/* SPDX-License-Identifier: Apache-2.0 */
/* plugins SECONDS LIBRARY...: loads each, calls its function `work`, unloads it, and repeats. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 2);

	for (int i = 0; argc > 2 && time(NULL) < end; i++) {
		void *library = dlopen(argv[2 + i % (argc - 2)], RTLD_NOW);
		void (*work)(void) = NULL;

		if (library)
			*(void **)&work = dlsym(library, "work");
		if (!work) {
			fprintf(stderr, "%s\n", dlerror());
			return 1;
		}
		work();
		dlclose(library);
	}
	return 0;
}
