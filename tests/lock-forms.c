/* SPDX-License-Identifier: BSD-3-Clause */
/* lock-forms.c -- locks all its memory, before and after a file is opened */
#include <linux/capability.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "tests/forms.h"

enum { ROOM_KB = 256 << 10 };		/* more than this program has */

/* VmLck of /proc/self/status, in KiB. */
static long
locked(void)
{
	FILE *status = fopen("/proc/self/status", "r");
	char line[256];
	long kb = -1;

	NEED(status);
	while (kb < 0 && fgets(line, sizeof(line), status))
		(void)sscanf(line, "VmLck: %ld", &kb);
	fclose(status);
	return kb;
}

static void
tell(const char *what, int r)
{
	long kb = r < 0 ? 0 : locked();

	printf("%s: %s, %s locked\n", what, r < 0 ? strerror(errno) : "done",
	       !kb ? "nothing" : kb < ROOM_KB ? "the program" : "too much");
}

static void
write_some(const char *name)
{
	int fd = make(name, 0);

	put(fd, "some bytes\n");
	show(fd);
	close(fd);
}

static void
before(void)
{
	tell("all", mlockall(MCL_CURRENT | MCL_FUTURE));
	write_some("file");
	tell("with a file", 0);
}

static void
after(void)
{
	write_some("file");
	tell("now and later", mlockall(MCL_CURRENT | MCL_FUTURE));
	tell("now", mlockall(MCL_CURRENT));
	tell("when touched", mlockall(MCL_CURRENT | MCL_ONFAULT));
	tell("later", mlockall(MCL_FUTURE));
	tell("by number", (int)syscall(SYS_mlockall, MCL_CURRENT));
	tell("nothing asked", mlockall(0));
	tell("unknown", mlockall(64 | MCL_CURRENT));
	write_some("other");
	tell("unlocked", munlockall());
}

static void
limit_to(rlim_t bytes)
{
	struct rlimit limit;

	NEED(getrlimit(RLIMIT_MEMLOCK, &limit) == 0);
	limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
	NEED(setrlimit(RLIMIT_MEMLOCK, &limit) == 0);
}

/* Without the right to lock as much as one likes. */
static void
limited(void)
{
	struct __user_cap_header_struct who = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct caps[2];

	write_some("file");
	NEED(syscall(SYS_capget, &who, caps) == 0);
	limit_to((rlim_t)ROOM_KB << 10);
	caps[0].effective &= ~(1u << CAP_IPC_LOCK);
	NEED(syscall(SYS_capset, &who, caps) == 0);
	tell("enough", mlockall(MCL_CURRENT));
	NEED(munlockall() == 0);
	limit_to(64 << 10);
	tell("little", mlockall(MCL_CURRENT));
	limit_to(0);
	tell("none", mlockall(MCL_CURRENT));
}

int
main(int argc, char **argv)
{
	static const struct form forms[] = {
		{ "before", before }, { "after", after },
		{ "limited", limited }, { NULL, NULL },
	};

	return run_form(argc, argv, forms);
}
