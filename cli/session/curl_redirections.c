/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libdebuginfod lets libcurl follow redirections without a limit and has no option to set one: it
 * asked a server that redirects to itself a thousand times.  The Makefile exports this function
 * from the program, so that it is found before libdebuginfod's libcurl.
 */
#include <dlfcn.h>
#include <stddef.h>

/* From curl/curl.h, which may be missing: libdebuginfod depends on libcurl, not on its headers. */
#define CURLOPT_MAXREDIRS 68
#define REDIRECTIONS_MAX  5L
void *curl_easy_init(void);

/*
 * The caller's libcurl: several may be loaded (for GnuTLS and for OpenSSL). RTLD_NEXT does not find
 * libraries that dlopen() loaded with RTLD_LOCAL.
 */
static void *library_of(const void *caller)
{
	Dl_info info;

	return dladdr(caller, &info) && info.dli_fname
		       ? dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD)
		       : NULL;
}

__attribute__((visibility("default"))) void *curl_easy_init(void)
{
	void *library = library_of(__builtin_return_address(0));
	void *(*init)(void) = NULL;
	int (*set)(void *curl, int option, ...) = NULL;
	void *curl;

	if (library) {
		*(void **)&init = dlsym(library, "curl_easy_init");
		*(void **)&set = dlsym(library, "curl_easy_setopt");
		dlclose(library);
	}
	curl = init && init != curl_easy_init && set ? init() : NULL;
	if (curl)
		set(curl, CURLOPT_MAXREDIRS, REDIRECTIONS_MAX);
	return curl;
}
