/* SPDX-License-Identifier: Apache-2.0 */
/* Reads what this process itself publishes, whole and damaged. */
#include <sys/mman.h>

#include "record/proc/service.h"
#include "tests/support/own_memory.h"
#include "tests/support/test.h"

struct header {
	char signature[8];
	uint32_t version, size;
	uint64_t published;
	uint64_t message;
};

/* resource { attributes { service.name: "shop", a number }, a field of 4 bytes } */
static const uint8_t whole[] = "\x0a\x28"
			       "\x0a\x16\x0a\x0cservice.name\x12\x06\x0a\x04shop"
			       "\x0a\x09\x0a\x03pid\x12\x02\x18\x07"
			       "\x1d\1\2\3\4";

static struct header *publish(void)
{
	int fd = memfd_create("OTEL_CTX", 0);
	struct header *header;

	assert_true(fd >= 0 && !ftruncate(fd, 4096));
	header = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(header, MAP_FAILED);
	close(fd);
	*header = (struct header){
		.signature = "OTEL_CTX",
		.version = 2,
		.size = sizeof(whole) - 1,
		.published = 1,
		.message = (uintptr_t)whole,
	};
	return header;
}

static bool find(struct reel_proc_service *ret)
{
	return reel_proc_service((uint32_t)getpid(), UINT64_MAX, ret);
}

TEST(test_whole)
{
	struct header *header = publish();
	struct reel_proc_service service;

	needs_own_memory();
	assert_true(find(&service));
	assert_string_equal(service.name, "shop");
	assert_string_equal(service.environment, "");
	munmap(header, 4096);
	assert_false(find(&service));
}

TEST(test_headers)
{
	struct header *header = publish(), good = *header;
	struct reel_proc_service service;

	needs_own_memory();
	header->version = 1;
	assert_false(find(&service));
	*header = good;
	header->published = 0;
	assert_false(find(&service));
	*header = good;
	header->signature[7] = 'Y';
	assert_false(find(&service));
	*header = good;
	header->message = 16;
	assert_false(find(&service));
	*header = good;
	header->size = UINT32_MAX;
	assert_false(find(&service));
	*header = good;
	header->size = 0;
	assert_false(find(&service));
	*header = good;
	assert_true(find(&service));
	munmap(header, 4096);
}

/* Texts end, and a name that is cut off or changed is not used in part. */
TEST(test_damage)
{
	struct header *header = publish();
	struct reel_proc_service service;
	uint8_t message[sizeof(whole) - 1];
	size_t n = 0;

	needs_own_memory();
	header->message = (uintptr_t)message;
	for (size_t at = 0; at < sizeof(message); at++) {
		for (unsigned value = 0; value < 256; value += 3) {
			memcpy(message, whole, sizeof(message));
			message[at] = (uint8_t)value;
			n += find(&service);
			assert_true(strlen(service.name) <= sizeof(message) &&
				    !service.environment[0]);
		}
	}
	memcpy(message, whole, sizeof(message));
	for (header->size = 1; header->size < sizeof(message); header->size++)
		assert_false(find(&service));
	assert_true(n > 0 && find(&service));
	munmap(header, 4096);
}

RUN_TESTS()
