/* SPDX-License-Identifier: BSD-3-Clause */
/* unit-config-messages.c -- caret, cutting, escapes, masks, guesses */

#include "shm/diag.h"
#include "shm/expand.h"
#include "shm/ini.h"
#include "shm/paths.h"
#include "shm/secret.h"
#include "shm/suggest.h"
#include "tests/counted.h"

#include <errno.h>

static char shown[SPW_DIAG_MAX];

static const char *
show_text(const char *text, size_t at, size_t len)
{
	struct spw_diag d;

	spw_diag_begin(&d, SPW_ERROR, SPW_E101);
	spw_diag_cause(&d, "x");
	spw_diag_text(&d, text, strlen(text), at, len);
	CHECK(spw_diag_format(&d, false, shown, sizeof(shown))
	      == strlen(shown));
	return shown;
}

static void
test_caret(void)
{
	char longer[400];

	SAME(show_text("ram@8G nvme:/mnt@200Q", 17, 4),
	     "spillway: error: x\n"
	     "    ram@8G nvme:/mnt@200Q\n"
	     "                     ^^^^  [E101]\n");
	/* at the end, where something is missing */
	SAME(show_text("abc", 3, 1),
	     "spillway: error: x\n    abc\n       ^  [E101]\n");
	SAME(show_text("a\tb\nc\x1b[0m", 4, 1),
	     "spillway: error: x\n    a b c\\x1b[0m\n        ^  [E101]\n");
	/* two bytes are one column, a broken byte is four */
	SAME(show_text("\xc3\xa4\xff" "b", 3, 1),
	     "spillway: error: x\n    \xc3\xa4\\xffb\n"
	     "         ^  [E101]\n");
	memset(longer, 'a', sizeof(longer));
	memcpy(longer + 300, "BAD", 3);
	longer[399] = '\0';
	SAME(show_text(longer, 300, 3),
	     "spillway: error: x\n"
	     "    ...aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	     "BADaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...\n"
	     "                                                       "
	     "^^^  [E101]\n");
	/* masked, and the caret still at its place */
	SAME(show_text("redis://me:pw@host ram@8Q", 23, 2),
	     "spillway: error: x\n"
	     "    redis://***@host ram@8Q\n"
	     "                         ^^  [E101]\n");
}

static void
test_forms(void)
{
	struct spw_diags all = { 0 };
	struct spw_diag *d = spw_diags_add(&all);

	spw_diag_begin(d, SPW_WARNING, SPW_W102);
	spw_diag_subject(d, "here");
	spw_diag_cause(d, "%q and %u and %o", "a\"\n", 5u, 0755u);
	spw_diag_hint(d, "do %z", UINT64_C(1) << 30);
	spw_diag_format(d, true, shown, sizeof(shown));
	SAME(shown, "spillway: \033[1;33mwarning: \033[0mhere: \"a\"\\x0a\""
	     " and 5 and 0755\n    hint: do 1.0 GiB  [W102]\n");
	spw_diag_oneline(d, "gone", shown, sizeof(shown));
	SAME(shown, "spillway: warning: here: \"a\"\\x0a\" and 5 and 0755;"
	     " gone  [W102]\n");
	for (int i = 0; i < 9; i++)
		d = spw_diags_add(&all);
	CHECK(all.n == 8 && all.dropped == 2 && d == &all.at[7]);
	for (int i = 0; i < 200; i++)
		spw_diag_cause(d, "0123456789");
	CHECK(!strcmp(d->cause + sizeof(d->cause) - 4, "..."));
	SAME(spw_diag_code_name(SPW_E190), "E190");
	SAME(spw_diag_errno(-EACCES), "Permission denied");
}

static void
test_suggest(void)
{
	static const char *const names[] = { "tiers", "include", "nvme",
		"drain-delay", "drain-timeout", "s3", "bb" };
#define NEAR(w) spw_suggest(w, strlen(w), names, 7)

	SAME(NEAR("teirs"), "tiers");
	SAME(NEAR("TIERS"), "tiers");
	SAME(NEAR("drain_dely"), "drain-delay");
	SAME(NEAR("nvm"), "nvme");
	SAME(NEAR("s4"), "s3");
	SAME(NEAR("includes"), "include");
	CHECK(!NEAR("xyzzy"));
	CHECK(!NEAR(""));
	CHECK(!NEAR("q"));
	CHECK(!NEAR("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"));
}

static void
test_secrets(void)
{
	static const struct { const char *text; int at, len; } cases[] = {
		{ "redis://me:pw@host", 8, 5 },
		{ "redis://:pw@host:6379/0@16G", 8, 15 },
		{ "redis://me:p@w@10.0.0.1", 8, 6 },
		{ "redis://token@host", 8, 5 },
		{ "redis://me:1234@10.0.0.1:6379", 8, 7 },
		{ "redis://me%40host", 8, 9 },
		{ "redis:me:pw@host", 6, 5 },
		{ "ram@8G s3://b/p+secret=abc+def ram", 23, 7 },
		{ "s3://b+SecretKey=a/b", 17, 3 },
		{ "s3://b+access_key=AK s3://c", 18, 2 },
		{ "azure://c?sv=1&sig=xyz", 19, 3 },
		{ "s3://b+endpoint=https://a:b@h", 5, 22 },
		{ "s3://b+auth-token=${X}", 18, 4 },
		{ "ram@8G", -1, 0 }, { "nvme:/mnt/nvme@200Q", -1, 0 },
		{ "redis://cache01:6379/0@16G", -1, 0 },
		{ "redis://host:${PORT}@16G", -1, 0 },
		{ "s3://lab/run@2T+endpoint=https://h:9000", -1, 0 },
		{ "s3://lab@auto", -1, 0 }, { "s3://lab@${CAP}", -1, 0 },
		{ "s3://b+region=eu", -1, 0 }, { "nvme:/a:b@20G", -1, 0 },
		{ "nvme:scratch@20G", -1, 0 }, { "", -1, 0 },
		{ "nvme:/secret/key/token@8G", -1, 0 }, { "+password=", -1, 0 },
		{ "redis://@host", -1, 0 }, { "x:@", -1, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *s = cases[i].text;
		size_t at = 0, len = 0;
		bool found = spw_secret_find(s, strlen(s), 0, &at, &len);

		if (found != (cases[i].at >= 0) || (found
		    && ((int)at != cases[i].at || (int)len != cases[i].len))) {
			printf("secret in %s: %d at %zu, %zu\n", s, found, at,
			       len);
			failures++;
		}
	}
}

static void
test_expand(void)
{
	char *env[] = { "HOME=/h", "EMPTY=", "A_1=x y@%41", "HOMER=no",
			NULL };
	static const struct { const char *in; int r; const char *out; }
	cases[] = {
		{ "${HOME}/a", 0, "/h/a" }, { "$HOME/a", 0, "/h/a" },
		{ "$HOMER", 0, "no" }, { "$A_1.", 0, "x y@%41." },
		{ "%41%20%2b%2B%25", 0, "A ++%" }, { "$$HOME", 0, "$HOME" },
		{ "a$", 0, "a$" }, { "$1", 0, "$1" }, { "", 0, "" },
		{ "${NONE}", -ENOENT, "" }, { "$EMPTY", -ENOENT, "" },
		{ "${HOME", -EINVAL, "" }, { "${}", -EINVAL, "" },
		{ "${HOME:-x}", -EINVAL, "" }, { "${1}", -EINVAL, "" },
		{ "%", -EILSEQ, "" }, { "%4", -EILSEQ, "" },
		{ "%4g", -EILSEQ, "" }, { "%00", -EILSEQ, "" },
		{ "0123456789012345678901234567890123456789", -E2BIG, "" },
	};
	struct spw_expand_fault f;
	struct spw_text t;
	char buf[32];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int r;

		spw_text_init(&t, buf, sizeof(buf));
		r = spw_expand(cases[i].in, strlen(cases[i].in), env,
			       SPW_EXPAND_PERCENT, &t, &f);
		CHECK(r == cases[i].r);
		if (!r)
			SAME(buf, cases[i].out);
	}
	spw_text_init(&t, buf, sizeof(buf));
	CHECK(spw_expand("a$HOME%4", 8, env, SPW_EXPAND_PERCENT, &t, &f)
	      == -EILSEQ);
	CHECK(f.at == 6 && f.len == 2);
	spw_text_init(&t, buf, sizeof(buf));
	CHECK(!spw_expand("100%", 4, NULL, SPW_EXPAND_PATH, &t, &f));
	CHECK(spw_expand("$HOME", 5, NULL, SPW_EXPAND_PATH, &t, &f)
	      == -ENOENT);
	spw_text_init(&t, buf, sizeof(buf));
	CHECK(!spw_expand("a\\:b\\\\c\\d\\", 10, NULL, SPW_EXPAND_LIST, &t,
			  &f));
	SAME(buf, "a:b\\c\\d\\");
}

static void
test_ini(void)
{
	static const char good[] = "\xef\xbb\xbf# comment \\\n"
		"[spillway]\n; another\n\n  a=1\r\nb = x y  # tail\n"
		"c = \"x # \\\"y\\\\ \"  # tail\nd =\ne = one \\\n  two\\\n"
		"three\nf=a#b";
	static const struct { const char *text; int line, at; } bad[] = {
		{ "a=1\nb\n", 2, 1 }, { "\n= 3", 2, 0 },
		{ "[other]", 1, 0 }, { "a = \"x", 1, 4 },
		{ "a = \"x\" y", 1, 8 }, { "a = \x01", 1, 4 },
		{ "a b = c", 1, 1 }, { "a = 1 \\\n2\n!", 3, 0 },
	};
	static char large[SPW_INI_FILE + 2000];
	struct spw_ini ini;
	char seen[200] = "";

	spw_ini_init_mem(&ini, good, sizeof(good) - 1);
	while (spw_ini_next(&ini) > 0)
		snprintf(seen + strlen(seen), sizeof(seen) - strlen(seen),
			 "%u %s=[%s]\n", ini.line, ini.key, ini.value);
	SAME(seen, "5 a=[1]\n6 b=[x y]\n7 c=[x # \"y\\ ]\n8 d=[]\n"
	     "9 e=[one    two three]\n12 f=[a#b]\n");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		int r;

		spw_ini_init_mem(&ini, bad[i].text, strlen(bad[i].text));
		while ((r = spw_ini_next(&ini)) > 0)
			;
		CHECK(r == -EINVAL && ini.cause);
		CHECK((int)ini.line == bad[i].line);
		CHECK((int)ini.fault_at == bad[i].at);
	}
	memset(large, '\n', sizeof(large));
	spw_ini_init_mem(&ini, large, sizeof(large));
	CHECK(spw_ini_next(&ini) == -EFBIG);
	memset(large, 'a', sizeof(large));
	spw_ini_init_mem(&ini, large, sizeof(large));
	CHECK(spw_ini_next(&ini) == -EINVAL);
}

static void
test_paths(void)
{
	static const char *const cases[][2] = {
		{ "/", "/" }, { "//", "/" }, { "/a/", "/a" },
		{ "//a//b/./c/.", "/a/b/c" }, { "/a/../b", "/a/../b" },
		{ "/...", "/..." }, { "/.a", "/.a" },
	};
	static struct spw_dirs dirs;
	char buf[64];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		strcpy(buf, cases[i][0]);
		spw_path_normalise(buf);
		SAME(buf, cases[i][1]);
	}
	CHECK(spw_path_is_below("/a/b", "/a") && spw_path_is_below("/a", "/a")
	      && spw_path_is_below("/a", "/") && !spw_path_is_below("/ab", "/a")
	      && !spw_path_is_below("/a", "/a/b"));
	for (int i = 0; i < SPW_DIRS_MAX; i++)
		CHECK(!spw_dirs_add(&dirs, "/x"));
	CHECK(spw_dirs_add(&dirs, "/x") == -E2BIG);
	SAME(spw_dirs_get(&dirs, SPW_DIRS_MAX - 1), "/x");
}

int
main(void)
{
	test_caret();
	test_forms();
	test_suggest();
	test_secrets();
	test_expand();
	test_ini();
	test_paths();
	return failures != 0;
}
