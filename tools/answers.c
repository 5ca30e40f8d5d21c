/* SPDX-License-Identifier: BSD-3-Clause */
/* answers.c -- whether the place of a tier, or a file, answers in time */
#include "tools/answers.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shm/sys.h"
#include "tiers/tier.h"

enum { PATIENCE_MS = 3000, FDS = 1024 };

struct question {
	void (*ask)(struct question *q);
	const char *place;
	const struct spw_tier_ops *ops;	/* whose shares are listed */
	bool writes;
	void *answer;			/* if that alone is not enough */
	size_t len;
};

/* What it tried to make there it removes when the place answers again, so it
 * goes on without us: with nothing of ours but the end of the pipe. */
_Noreturn static void
ask(struct question *q, int end)
{
	size_t n = 0;
	ssize_t r = 1;

	if (dup2(end, STDIN_FILENO) < 0)
		_exit(1);
	for (int fd = STDIN_FILENO + 1; fd < FDS; fd++)
		close(fd);
	q->ask(q);
	for (; n < q->len && r > 0; n += (size_t)r)
		r = write(STDIN_FILENO, (char *)q->answer + n, q->len - n);
	_exit(0);
}

/* All of it comes at once, or the end of the pipe. */
static int
read_answer(struct question *q, int end)
{
	struct pollfd over = { .fd = end, .events = POLLIN };
	size_t n = 0;
	ssize_t r = 1;
	int come;

	do
		come = poll(&over, 1, PATIENCE_MS);
	while (come < 0 && errno == EINTR);
	if (!come)
		return -ETIMEDOUT;
	for (; n < q->len && r > 0; n += (size_t)r)
		r = read(end, (char *)q->answer + n, q->len - n);
	return n < q->len ? -EIO : 0;
}

/* By a process of its own: who waits for such a place cannot always be killed,
 * and with a thread there we could not end. */
static int
ask_apart(struct question *q)
{
	int ends[2], r;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0) {
		q->ask(q);
		return 0;
	}
	pid = fork();
	if (pid == 0)
		ask(q, ends[1]);
	close(ends[1]);
	if (pid < 0)
		q->ask(q);
	r = pid < 0 ? 0 : read_answer(q, ends[0]);
	close(ends[0]);
	if (r == -ETIMEDOUT && !q->writes)
		kill(pid, SIGKILL);
	else if (r != -ETIMEDOUT && pid > 0)
		(void)waitpid(pid, NULL, 0);
	return r;
}

static void
make_file(struct question *q)
{
	struct statfs fs;

	(void)statfs(q->place, &fs);
	(void)spw_tierspec_try(q->place);
}

static int
pass_over(void *arg, const char *name)
{
	(void)arg;
	(void)name;
	return 0;
}

/* Who makes a file there, and waits, keeps others from looking. */
static void
list_shares(struct question *q)
{
	struct statfs fs;

	(void)statfs(q->place, &fs);
	(void)spw_tier_shares(q->ops, q->place, pass_over, NULL);
}

int
spw_answers_list(const struct spw_tier_ops *ops, const char *place)
{
	struct question q = { .ask = list_shares, .ops = ops, .place = place };

	return ask_apart(&q);
}

/* One that was left in the tiers at the end of its job has no mode; to look at
 * others costs nothing. */
static void
look_at(struct question *q)
{
	struct spw_looked *a = q->answer;
	int fd = -1;

	a->err = spw_sys_fstatat(AT_FDCWD, q->place, &a->st, 0);
	if (a->err == 0 && S_ISREG(a->st.st_mode) &&
	    !(a->st.st_mode & (S_IRWXU | S_IRWXG | S_IRWXO)))
		fd = spw_stub_open(q->place, &a->stub);
	if (fd >= 0)
		spw_sys_close(fd);
	a->is_kept = fd >= 0 && a->stub.state != SPW_STUB_HOME;
}

int
spw_answers_look(const char *path, struct spw_looked *ret)
{
	struct question q = { .ask = look_at, .place = path, .answer = ret,
			      .len = sizeof(*ret) };
	int r = ask_apart(&q);

	return r < 0 ? r : ret->err;
}

bool
spw_answers_not(const char *place)
{
	struct question q = { .ask = make_file, .place = place,
			      .writes = true };

	return ask_apart(&q) < 0;
}

int
spw_answers_check(const struct spw_config *cfg, struct spw_tierlist *tiers,
		  struct spw_diag *ret_diag)
{
	for (unsigned i = 0; i < tiers->n; i++)
		if (spw_tierspec_is_directory(tiers->tier[i].kind) &&
		    spw_answers_not(spw_tierspec_place(tiers,
						       &tiers->tier[i]))) {
			spw_tierspec_blame_deaf(tiers, i, SPW_ERROR, ret_diag);
			return -EINVAL;
		}
	return spw_config_check(cfg, tiers, ret_diag);
}
