/* SPDX-License-Identifier: BSD-3-Clause */
/* unit-config-load.c -- where settings come from, and which one counts */

#include "shm/conf.h"
#include "shm/setting.h"
#include "tests/counted.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/unit-config-load.XXXXXX";
static char system_file[64], user_file[96], named_file[64];
static char home[64], named[96];

static struct spw_config cfg;
static struct spw_diags diags;
static char shown[SPW_DIAG_MAX];

static void
put_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	if (!f || fputs(text, f) < 0 || fclose(f) || chmod(path, 0644))
		abort();
}

static int
load(char **envp, const struct spw_config_flag *flags, size_t n)
{
	return spw_config_load(&(struct spw_config_source){
		.envp = envp, .flags = flags, .n_flags = n,
		.system_file = system_file,
	}, &cfg, &diags);
}

static const char *
message(void)
{
	spw_diag_format(&diags.at[diags.n - 1], false, shown, sizeof(shown));
	return shown;
}

static const char *
value(enum spw_option_id id)
{
	struct spw_text t;

	spw_text_init(&t, shown, sizeof(shown));
	spw_config_value(&cfg, id, &t);
	return shown;
}

static const char *
origin(enum spw_option_id id)
{
	struct spw_text t;

	spw_text_init(&t, shown, sizeof(shown));
	spw_config_origin(&cfg, id, &t);
	return shown;
}

static void
test_defaults(void)
{
	char cwd[4096];

	CHECK(!load(NULL, NULL, 0) && !diags.n);
	CHECK(getcwd(cwd, sizeof(cwd)) != NULL);
	SAME(value(SPW_OPTION_INCLUDE), cwd);
	SAME(value(SPW_OPTION_TIERS), "");
	SAME(value(SPW_OPTION_SHM_DIR), "/dev/shm");
	SAME(value(SPW_OPTION_DRAINER), "auto");
	SAME(value(SPW_OPTION_DRAIN_DELAY), "50ms");
	SAME(value(SPW_OPTION_DRAIN_TIMEOUT), "none");
	SAME(origin(SPW_OPTION_DRAINER), "built-in");
	CHECK(cfg.drain_delay == 50000000);
	CHECK(cfg.drain_timeout == SPW_DURATION_NONE);
	CHECK(!cfg.quiet && !cfg.strict && !cfg.disable && !cfg.verbose);
}

/* The words of a choice and the names that the code uses for them. */
static void
test_choices(void)
{
	static const struct { const char *name, *word; unsigned index; }
	cases[] = {
		{ "drainer", "auto", SPW_DRAINER_AUTO },
		{ "drainer", "agent", SPW_DRAINER_AGENT },
		{ "drainer", "thread", SPW_DRAINER_THREAD },
		{ "color", "auto", SPW_COLOR_AUTO },
		{ "color", "always", SPW_COLOR_ALWAYS },
		{ "color", "never", SPW_COLOR_NEVER },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct spw_config_flag f = { cases[i].name, cases[i].word };

		CHECK(!load(NULL, &f, 1));
		CHECK((f.name[0] == 'd' ? cfg.drainer : cfg.color)
		      == cases[i].index);
	}
}

/* Each setting, each source: what is shown reads back as the same. */
static void
test_accepted(void)
{
	static const struct { const char *name, *text, *shown; } cases[] = {
		{ "tiers", "ram@1G nvme:${X}", "ram@1G nvme:${X}" },
		{ "include", "/a:/b//c/", "/a:/b/c" },
		{ "include", ":/a::", "/a" },
		{ "include", "/a\\:b:/c\\\\d\\e", "/a\\:b:/c\\\\d\\\\e" },
		{ "exclude", "${HOME}/x", NULL },
		{ "receipt", "/r/$$x.json", "/r/$$x.json" },
		{ "job", "A.b_c-9", "A.b_c-9" },
		{ "shm-dir", "/tmp/", "/tmp" },
		{ "drainer", "thread", "thread" },
		{ "drain-delay", "0", "0s" }, { "drain-delay", "60s", "1min" },
		{ "drain-delay", "1500us", "1500us" },
		{ "drain-timeout", "none", "none" },
		{ "drain-timeout", "90m", "90min" },
		{ "weights", "archive", "archive" },
		{ "weights", "0.3,.40,0.3", "0.3,.40,0.3" },
		{ "seed", "/s/seed.json", "/s/seed.json" },
		{ "verbose", "0", "0" }, { "verbose", "2", "2" },
		{ "quiet", "on", "yes" }, { "strict", "TRUE", "yes" },
		{ "disable", "0", "no" }, { "color", "never", "never" },
		{ "tiledb-lib", "/l/libtiledb.so", "/l/libtiledb.so" },
	};
	char variable[200], line[200], *envp[] = { home, variable, NULL };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		enum spw_option_id id = spw_setting_find(cases[i].name,
						strlen(cases[i].name));
		struct spw_config_flag f = { cases[i].name, cases[i].text };
		struct spw_text t;
		char again[200];

		spw_text_init(&t, variable, sizeof(variable));
		spw_config_variable(id, &t);
		spw_text_fmt(&t, "=%s", cases[i].text);
		CHECK(!load(envp, NULL, 0) && !diags.n);
		strcpy(again, value(id));
		if (cases[i].shown)
			SAME(again, cases[i].shown);
		CHECK(cfg.origin[id].from == SPW_FROM_ENV);

		variable[0] = '\0';
		CHECK(!load(envp, &f, 1));
		SAME(value(id), again);
		CHECK(cfg.origin[id].from == SPW_FROM_FLAG);
		f.value = again;
		CHECK(!load(envp, &f, 1));
		SAME(value(id), again);

		snprintf(line, sizeof(line), "%s=%s\n", cases[i].name,
			 cases[i].text);
		put_file(system_file, line);
		CHECK(!load(envp, NULL, 0));
		SAME(value(id), again);
		CHECK(cfg.origin[id].from == SPW_FROM_SYSTEM
		      && cfg.origin[id].line == 1);
		unlink(system_file);
	}
}

static void
test_precedence(void)
{
	static const struct spw_config_flag flag[] = {
		{ "job", "flag" }, { "include", "/f1" }, { "include", "/f2" },
	};
	char *envp[] = { home, named, "SPILLWAY_JOB=env",
			 "SPILLWAY_INCLUDE=/e1:/e2", NULL };
	char *fewer[] = { home, named, NULL }, *least[] = { home, NULL };

	put_file(system_file, "job = system\ninclude = /s\nexclude = /x\n");
	put_file(user_file, "\njob = user\ninclude = /u1\ninclude = /u2\n");
	put_file(named_file, "\n\njob = named\n");
	CHECK(!load(envp, flag, 3));
	SAME(value(SPW_OPTION_JOB), "flag");
	SAME(origin(SPW_OPTION_JOB), "--job");
	SAME(value(SPW_OPTION_INCLUDE), "/f1:/f2");
	SAME(value(SPW_OPTION_EXCLUDE), "/x");
	CHECK(!load(envp, NULL, 0));
	SAME(value(SPW_OPTION_JOB), "env");
	SAME(origin(SPW_OPTION_JOB), "SPILLWAY_JOB");
	SAME(value(SPW_OPTION_INCLUDE), "/e1:/e2");
	CHECK(!load(fewer, NULL, 0));
	SAME(value(SPW_OPTION_JOB), "named");
	CHECK(cfg.origin[SPW_OPTION_JOB].from == SPW_FROM_CONFIG);
	CHECK(cfg.origin[SPW_OPTION_JOB].line == 3);
	SAME(value(SPW_OPTION_INCLUDE), "/u1:/u2");
	CHECK(!load(least, NULL, 0));
	SAME(value(SPW_OPTION_JOB), "user");
	CHECK(!load(NULL, NULL, 0));
	SAME(value(SPW_OPTION_JOB), "system");
	SAME(value(SPW_OPTION_INCLUDE), "/s");
	/* an empty value is the built-in one, and it counts */
	CHECK(!load((char *[]){ home, "SPILLWAY_JOB=", NULL }, NULL, 0));
	SAME(value(SPW_OPTION_JOB), "");
	CHECK(cfg.origin[SPW_OPTION_JOB].from == SPW_FROM_ENV);
	/* a privileged program listens to the system alone */
	CHECK(!spw_config_load(&(struct spw_config_source){ .envp = envp,
		.system_file = system_file, .secure = true }, &cfg, &diags));
	SAME(value(SPW_OPTION_JOB), "system");
	unlink(system_file);
	unlink(user_file);
}

static void
test_files(void)
{
	char *envp[] = { home, named, NULL }, *fewer[] = { home, NULL };
	char pipe_file[80];

	CHECK(!load(fewer, NULL, 0));	/* none is there */
	unlink(named_file);
	CHECK(load(envp, NULL, 0) == -EINVAL);
	CHECK(diags.at[0].code == SPW_E190);
	put_file(named_file, "job=x\n");
	chmod(named_file, 0664);
	CHECK(load(envp, NULL, 0) == -EINVAL);
	CHECK(diags.at[0].code == SPW_E192);
	chmod(named_file, 0602);
	CHECK(load(envp, NULL, 0) == -EINVAL);
	CHECK(diags.at[0].code == SPW_E192);
	unlink(named_file);
	snprintf(pipe_file, sizeof(pipe_file), "%s", named_file);
	if (mkfifo(pipe_file, 0600))
		abort();
	CHECK(load(envp, NULL, 0) == -EINVAL);
	CHECK(diags.at[0].code == SPW_E190);
	unlink(named_file);
	mkdir(named_file, 0700);
	CHECK(load(envp, NULL, 0) == -EINVAL);
	CHECK(strstr(message(), "Is a directory") != NULL);
	rmdir(named_file);
	CHECK(!load((char *[]){ "SPILLWAY_CONFIG=/dev/null", NULL }, NULL,
		    0));
	put_file(named_file, "config = /x\n");
	CHECK(load(envp, NULL, 0) == -EINVAL
	      && diags.at[0].code == SPW_E106);
	put_file(named_file, "job = a\n\njob = b\n");
	CHECK(load(envp, NULL, 0) == -EINVAL
	      && diags.at[0].code == SPW_E193);
	put_file(named_file, "job = a\nnonsense = 1\n");
	CHECK(!load(envp, NULL, 0) && diags.n == 1
	      && diags.at[0].code == SPW_W105);
	put_file(named_file, "job = a\nnonsense = 1\nstrict = yes\n");
	CHECK(load(envp, NULL, 0) == -EINVAL && diags.n == 1
	      && diags.at[0].severity == SPW_ERROR);
	unlink(named_file);
}

static void
test_owner(void)
{
	char *envp[] = { named, NULL };

	put_file(named_file, "job=x\n");
	if (chown(named_file, 12345, 12345)) {
		printf("not root, a foreign file was not tried\n");
		unlink(named_file);
		return;
	}
	CHECK(load(envp, NULL, 0) == -EINVAL);
	CHECK(diags.at[0].code == SPW_E192);
	CHECK(strstr(message(), "belongs to uid 12345, neither to you (uid 0)"
		     " nor to root") != NULL);
	unlink(named_file);
}

static void
test_variables(void)
{
	char *internal[] = { "SPILLWAY_HANDOVER=1", "SPILLWAY_FAILPOINT=1",
			     "SPILLWAY_RUN_PIPE=1", "SPILLWAY_CHECK_LONG=1",
			     "SPILLWAY=1", "SPILLWAYX_TIERS=1", "nothing",
			     NULL };
	char *many[16], text[15][32];

	CHECK(!load(internal, NULL, 0) && !diags.n);
	CHECK(!load((char *[]){ "SPILLWAY_TEIRS=x", NULL }, NULL, 0));
	SAME(message(), "spillway: warning: SPILLWAY_TEIRS is not a setting;"
	     " did you mean SPILLWAY_TIERS?  [W102]\n");
	CHECK(!load((char *[]){ "SPILLWAY_X\x1b=secret", NULL }, NULL, 0));
	SAME(message(), "spillway: warning: SPILLWAY_X\\x1b is not a setting"
	     "  [W102]\n");
	for (int i = 0; i < 15; i++) {
		snprintf(text[i], sizeof(text[i]), "SPILLWAY_ZZZZ%d=", i);
		many[i] = text[i];
	}
	many[15] = NULL;
	CHECK(!load(many, NULL, 0) && diags.n == 8 && diags.dropped == 7);
	CHECK(spw_config_is_disabled((char *[]){ "SPILLWAY_DISABLE=1", NULL })
	      && !spw_config_is_disabled((char *[]){ "SPILLWAY_DISABLE=x",
						     NULL })
	      && !spw_config_is_disabled(NULL));
}

static int
take(const char *a, const char *b, struct spw_config_flag *ret)
{
	static const char *const own[] = { "json", NULL };
	char *argv[] = { (char *)a, (char *)b, NULL };

	diags.n = 1;
	return spw_config_arg(argv, own, ret, &diags.at[0]);
}

static void
test_flags(void)
{
	static const struct spw_config_flag twice[] = {
		{ "verbose", NULL }, { "verbose", NULL },
		{ "verbose", NULL }, { "quiet", NULL },
		{ "include", "rel/x" },
	};
	struct spw_config_flag f;
	char path[4200];

	CHECK(take("--tiers", "ram", &f) == 2);
	SAME(f.value, "ram");
	CHECK(take("--tiers=", "ram", &f) == 1 && !f.value[0]);
	CHECK(take("--quiet", "x", &f) == 1 && !f.value);
	CHECK(take("--quiet=no", "x", &f) == 1);
	CHECK(take("-q", NULL, &f) == 1 && !strcmp(f.name, "quiet"));
	CHECK(take("-vv", NULL, &f) == 1 && !strcmp(f.value, "2"));
	CHECK(take("--", NULL, &f) == 0 && take("-", NULL, &f) == 0
	      && take("x", NULL, &f) == 0 && take(NULL, NULL, &f) == 0);
	CHECK(take("--job", NULL, &f) == -EINVAL);
	SAME(message(), "spillway: error: --job: a value is missing\n"
	     "    hint: write --job NAME  [E109]\n");
	CHECK(take("--jsno", NULL, &f) == -EINVAL);
	SAME(message(), "spillway: error: --jsno: unknown option\n"
	     "    hint: did you mean --json?  [E104]\n");
	CHECK(take("--incldue=/x", NULL, &f) == -EINVAL);
	SAME(message(), "spillway: error: --incldue: unknown option\n"
	     "    hint: did you mean --include?  [E104]\n");
	CHECK(take("-x", NULL, &f) == -EINVAL);
	SAME(message(), "spillway: error: -x: unknown option\n"
	     "    hint: --help lists the options  [E104]\n");
	CHECK(take("---", NULL, &f) == -EINVAL);
	CHECK(!load(NULL, twice, 5));
	CHECK(cfg.verbose == 2 && cfg.quiet);
	if (!getcwd(path, sizeof(path) - 10))
		abort();
	strcat(path, "/rel/x");
	SAME(spw_dirs_get(&cfg.include, 0), path);
	/* settings that do not exist, past spw_config_arg */
	f = (struct spw_config_flag){ "zzz", "1" };
	CHECK(load(NULL, &f, 1) == -EINVAL && diags.at[0].code == SPW_E104);
}

static void
test_refused(void)
{
	static const struct { const char *name, *text; enum spw_code code; }
	cases[] = {
		{ "include", "rel", SPW_E183 },
		{ "receipt", "~/x", SPW_E183 },
		{ "exclude", "/a:${NOPE}/x", SPW_E186 },
		{ "shm-dir", "${", SPW_E186 },
		{ "job", "a/b", SPW_E106 }, { "job", "..", SPW_E106 },
		{ "job", "a b", SPW_E106 },
		{ "job", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
		  "aaaaaaaaaaaaaa", SPW_E108 },
		{ "drainer", "agents", SPW_E106 },
		{ "drain-delay", "61s", SPW_E107 },
		{ "drain-delay", "none", SPW_E107 },
		{ "drain-delay", "50", SPW_E103 },
		{ "drain-timeout", "soon", SPW_E106 },
		{ "drain-timeout", "99999999999d", SPW_E107 },
		{ "weights", "fast", SPW_E114 },
		{ "weights", "0.5,0.5,0.5", SPW_E114 },
		{ "weights", "0.00000000000000000000000000000000000000000000"
		  "00000000000000000000,0.5,0.5", SPW_E108 },
		{ "seed", "seed.json", SPW_E183 },
		{ "verbose", "3", SPW_E107 }, { "verbose", "-1", SPW_E106 },
		{ "verbose", "99999999999999999999", SPW_E107 },
		{ "quiet", "maybe", SPW_E106 }, { "color", "red", SPW_E106 },
	};
	char variable[200], *envp[] = { variable, NULL };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct spw_text t;

		spw_text_init(&t, variable, sizeof(variable));
		spw_config_variable(spw_setting_find(cases[i].name,
				    strlen(cases[i].name)), &t);
		spw_text_fmt(&t, "=%s", cases[i].text);
		if (load(envp, NULL, 0) != -EINVAL || diags.n != 1
		    || diags.at[0].code != cases[i].code
		    || !diags.at[0].hint[0]) {
			printf("%s accepted or: %s", variable, message());
			failures++;
		}
	}
}

/* A secret in the wrong place is not repeated. */
static void
test_discretion(void)
{
	CHECK(load((char *[]){ "SPILLWAY_RECEIPT=s3://me:hunter2@b", NULL },
		   NULL, 0) == -EINVAL);
	SAME(message(), "spillway: error: SPILLWAY_RECEIPT: path"
	     " \"s3://***@b\" is not absolute\n    s3://***@b\n"
	     "    ^^^^^^^^^^\n    hint: begin it with / or ${HOME}/"
	     "  [E183]\n");
	CHECK(load((char *[]){ "SPILLWAY_JOB=password=hunter2", NULL }, NULL,
		   0) == -EINVAL);
	CHECK(!strstr(message(), "hunter2"));
}

static void
test_color(void)
{
	char *term[] = { "TERM=xterm", NULL };
	struct spw_config_flag f = { "color", "always" };

	CHECK(!load(NULL, &f, 1) && spw_config_color(&cfg, NULL, -1));
	CHECK(!load(NULL, NULL, 0) && !spw_config_color(&cfg, term, -1));
}

/* The seed's own path, that of the cache, that of the home, or none. */
static void
test_seed(void)
{
	char cache[] = "XDG_CACHE_HOME=/c", bad[] = "XDG_CACHE_HOME=c";
	char *both[] = { cache, home, NULL }, *only[] = { bad, home, NULL };
	char *none[] = { NULL }, path[SPW_CONFIG_PATH], want[96];

	CHECK(!load(none, NULL, 0));
	CHECK(!spw_config_seed(&cfg, none, path));
	CHECK(spw_config_seed(&cfg, both, path));
	CHECK(!strcmp(path, "/c/spillway/seed.json"));
	snprintf(want, sizeof(want), "%s/.cache/spillway/seed.json", dir);
	CHECK(spw_config_seed(&cfg, only, path) && !strcmp(path, want));
	CHECK(!load(none, &(struct spw_config_flag){ "seed", "/s" }, 1));
	CHECK(spw_config_seed(&cfg, both, path) && !strcmp(path, "/s"));
	CHECK(!load(none, &(struct spw_config_flag){ "seed", "/dev/null" },
		    1));
	CHECK(!spw_config_seed(&cfg, both, path));
}

static void
prepare(void)
{
	char path[64];

	if (!mkdtemp(dir))
		abort();
	snprintf(path, sizeof(path), "%s/.config", dir);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/.config/spillway", dir);
	mkdir(path, 0700);
	snprintf(system_file, sizeof(system_file), "%s/system", dir);
	snprintf(user_file, sizeof(user_file), "%s/spillway.conf", path);
	snprintf(named_file, sizeof(named_file), "%s/named", dir);
	snprintf(home, sizeof(home), "HOME=%s", dir);
	snprintf(named, sizeof(named), "SPILLWAY_CONFIG=%s", named_file);
}

int
main(void)
{
	char command[64];

	prepare();
	test_defaults();
	test_choices();
	test_accepted();
	test_precedence();
	test_files();
	test_owner();
	test_variables();
	test_flags();
	test_refused();
	test_discretion();
	test_color();
	test_seed();
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	CHECK(!system(command));
	return failures != 0;
}
