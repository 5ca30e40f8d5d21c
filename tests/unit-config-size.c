/* SPDX-License-Identifier: BSD-3-Clause */
/* unit-config-size.c -- numbers, sizes, durations and booleans as written */

#include "shm/size.h"
#include "shm/text.h"
#include "tests/counted.h"

#include <errno.h>

#define K UINT64_C(1024)

static void
test_bytes(void)
{
	static const struct { const char *text; int r; uint64_t bytes; }
	cases[] = {
		{ "0", 0, 0 }, { "1B", 0, 1 }, { "1K", 0, K },
		{ "1k", 0, K }, { "1Ki", 0, K }, { "1KiB", 0, K },
		{ "1KB", 0, 1000 }, { "1kB", 0, 1000 },
		{ "16M", 0, 16 * K * K }, { "16MB", 0, 16000000 },
		{ "16G", 0, 16 * K * K * K }, { "16g", 0, 16 * K * K * K },
		{ "16GiB", 0, 16 * K * K * K }, { "16GB", 0, 16000000000 },
		{ "2T", 0, 2 * K * K * K * K }, { "2TB", 0, 2000000000000 },
		{ "1P", 0, K * K * K * K * K }, { "1E", 0, K << 50 },
		{ "15E", 0, UINT64_C(15) << 60 },
		{ "1.5G", 0, 3 * K * K * K / 2 }, { "0.5K", 0, 512 },
		{ "1.1G", 0, 1181116006 }, { "0.1B", 0, 0 },
		{ "1.999999999999999999999999K", 0, 2047 },
		{ "0.1E", 0, 115292150460684697 },
		{ "007K", 0, 7 * K }, { "0.0", -EDOM, 0 },
		{ "16", -EDOM, 0 }, { "1.5", -EDOM, 0 },
		{ "16E", -ERANGE, 0 }, { "15.999999E", 0,
		  18446742920788047009u },
		{ "99999999999999999999", -ERANGE, 0 },
		{ "18446744073709551616B", -ERANGE, 0 },
		{ "18446744073709551615B", 0, UINT64_MAX },
		{ "", -EINVAL, 0 }, { "G", -EINVAL, 0 }, { "-1G", -EINVAL, 0 },
		{ "+1G", -EINVAL, 0 }, { "1 G", -EINVAL, 0 },
		{ "1Q", -EINVAL, 0 }, { "1gb", -EINVAL, 0 },
		{ "1Gib", -EINVAL, 0 }, { "1GiBx", -EINVAL, 0 },
		{ "1.G", -EINVAL, 0 }, { ".5G", -EINVAL, 0 },
		{ "1..5G", -EINVAL, 0 }, { "1,5G", -EINVAL, 0 },
		{ "0x10K", -EINVAL, 0 }, { "1e3K", -EINVAL, 0 },
		{ "1b", -EINVAL, 0 }, { "200Q", -EINVAL, 0 },
		{ " 1G", -EINVAL, 0 }, { "1G ", -EINVAL, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t bytes = 77;
		int r = spw_size_bytes(cases[i].text, strlen(cases[i].text),
				       &bytes);

		if (r != cases[i].r || bytes != (r ? 77 : cases[i].bytes)) {
			printf("size %s: %d, %llu\n", cases[i].text, r,
			       (unsigned long long)bytes);
			failures++;
		}
	}
}

static void
test_durations(void)
{
	static const struct { const char *text; int r; uint64_t ns; }
	cases[] = {
		{ "0", 0, 0 }, { "0s", 0, 0 }, { "1ns", 0, 1 },
		{ "3us", 0, 3000 }, { "50ms", 0, 50000000 },
		{ "1.5s", 0, 1500000000 }, { "2m", 0, 120000000000 },
		{ "2min", 0, 120000000000 }, { "1h", 0, 3600000000000 },
		{ "1d", 0, 86400000000000 }, { "0.25d", 0, 21600000000000 },
		{ "none", 0, SPW_DURATION_NONE },
		{ "NONE", 0, SPW_DURATION_NONE },
		{ "50", -EDOM, 0 }, { "9999999999d", -ERANGE, 0 },
		{ "", -EINVAL, 0 }, { "ms", -EINVAL, 0 },
		{ "5x", -EINVAL, 0 }, { "5S", -EINVAL, 0 },
		{ "-5s", -EINVAL, 0 }, { "5 s", -EINVAL, 0 },
		{ "1m30s", -EINVAL, 0 }, { "infinite", -EINVAL, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t ns = 77;
		int r = spw_size_duration(cases[i].text,
					  strlen(cases[i].text), &ns);

		if (r != cases[i].r || ns != (r ? 77 : cases[i].ns)) {
			printf("duration %s: %d, %llu\n", cases[i].text, r,
			       (unsigned long long)ns);
			failures++;
		}
	}
}

static void
test_words(void)
{
	static const char *const yes[] = { "yes", "YES", "true", "on", "1" };
	static const char *const no[] = { "no", "No", "false", "off", "0" };
	static const char *const neither[] = { "", "y", "2", "yes ", "enable" };
	unsigned percent = 7;
	uint64_t n = 7;
	bool b;

	for (int i = 0; i < 5; i++) {
		b = false;
		CHECK(!spw_size_boolean(yes[i], strlen(yes[i]), &b) && b);
		CHECK(!spw_size_boolean(no[i], strlen(no[i]), &b) && !b);
		CHECK(spw_size_boolean(neither[i], strlen(neither[i]), &b)
		      == -EINVAL);
	}
	CHECK(!spw_size_percent("80%", 3, &percent) && percent == 80);
	CHECK(!spw_size_percent("100%", 4, &percent) && percent == 100);
	CHECK(spw_size_percent("101%", 4, &percent) == -ERANGE);
	CHECK(spw_size_percent("0%", 2, &percent) == -ERANGE);
	CHECK(spw_size_percent("%", 1, &percent) == -EINVAL);
	CHECK(spw_size_percent("80", 2, &percent) == -EINVAL);
	CHECK(percent == 100);
	CHECK(!spw_size_number("18446744073709551615", 20, &n)
	      && n == UINT64_MAX);
	CHECK(spw_size_number("18446744073709551616", 20, &n) == -ERANGE);
	CHECK(spw_size_number("1x", 2, &n) == -EINVAL);
	CHECK(spw_size_number("", 0, &n) == -EINVAL);
}

/* What is shown can be read again, and says the same. */
static void
test_shown(void)
{
	static const uint64_t ns[] = {
		0, 1, 1000, 1001, 50000000, 1500000000, 60000000000,
		90000000000, 3600000000000, 86400000000000, UINT64_MAX - 1,
		UINT64_MAX,
	};
	static const struct { uint64_t bytes; const char *text; } sizes[] = {
		{ 0, "0 B" }, { 512, "512 B" }, { 1023, "1023 B" },
		{ 1024, "1.0 KiB" }, { 1536, "1.5 KiB" },
		{ 64 * K * K, "64 MiB" }, { 8 * K * K * K, "8.0 GiB" },
		{ 10 * K * K * K - 1, "9.9 GiB" },
		{ UINT64_MAX, "15 EiB" },
	};
	char buf[32];
	struct spw_text t;
	uint64_t back;

	for (size_t i = 0; i < sizeof(ns) / sizeof(ns[0]); i++) {
		spw_text_init(&t, buf, sizeof(buf));
		spw_text_duration(&t, ns[i]);
		CHECK(!spw_size_duration(buf, t.len, &back));
		CHECK(back == ns[i]);
	}
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		spw_text_init(&t, buf, sizeof(buf));
		spw_text_size(&t, sizes[i].bytes);
		SAME(buf, sizes[i].text);
	}
}

int
main(void)
{
	test_bytes();
	test_durations();
	test_words();
	test_shown();
	return failures != 0;
}
