/* SPDX-License-Identifier: BSD-3-Clause */
/* answers.c -- whether the place of a tier answers, before it is used */
#include "tools/answers.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tiers/tier.h"

enum { PATIENCE_MS = 3000, FDS = 1024 };

/* What it tried to make there it removes when the place answers again, so it
 * goes on without us: with nothing of ours but the end of the pipe. */
_Noreturn static void
ask(const char *place, bool writes, int end)
{
	struct statfs fs;

	if (dup2(end, STDIN_FILENO) < 0)
		_exit(1);
	for (int fd = STDIN_FILENO + 1; fd < FDS; fd++)
		close(fd);
	(void)statfs(place, &fs);
	if (writes)
		(void)spw_tierspec_try(place);
	_exit(0);
}

/* By a process of its own: who waits for such a place cannot always be killed,
 * and with a thread there we could not end. */
int
spw_answers(const char *place, bool writes)
{
	struct pollfd over = { .events = POLLIN };
	int ends[2], r;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return 0;		/* it will be seen */
	pid = fork();
	if (pid == 0)
		ask(place, writes, ends[1]);
	close(ends[1]);
	over.fd = ends[0];
	do
		r = pid < 0 ? 1 : poll(&over, 1, PATIENCE_MS);
	while (r < 0 && errno == EINTR);
	close(ends[0]);
	if (r == 0 && !writes)
		kill(pid, SIGKILL);
	else if (r && pid > 0)
		(void)waitpid(pid, NULL, 0);
	return r ? 0 : -ETIMEDOUT;
}

int
spw_answers_check(const struct spw_config *cfg, struct spw_tierlist *tiers,
		  struct spw_diag *ret_diag)
{
	for (unsigned i = 0; i < tiers->n; i++) {
		const struct spw_tierspec *spec = &tiers->tier[i];
		const char *kind = spw_tierspec_kind_name(spec->kind);
		const char *place = spw_tierspec_place(tiers, spec);

		if (!spw_tier_by_kind(kind) || spw_answers(place, true) == 0)
			continue;
		spw_diag_begin(ret_diag, SPW_ERROR, SPW_E111);
		spw_diag_subject(ret_diag, "tier %s: %e", kind, place);
		spw_diag_cause(ret_diag, "does not answer: its file system "
			       "stalls");
		return -EINVAL;
	}
	return spw_config_check(cfg, tiers, ret_diag);
}
