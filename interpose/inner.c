/* SPDX-License-Identifier: BSD-3-Clause */
/* inner.c -- calls in which libc handles descriptors by itself */
#include "interpose/leave.h"
#include "interpose/real.h"

SPW_WRAP void
backtrace_symbols_fd(void *const *frames, int n, int fd)
{
	struct spw_visit v;
	bool ours;

	if (n > 0 && spw_fdtab_has(fd))
		pthread_testcancel();
	ours = spw_fdtab_has(fd) && spw_visit_begin(fd, true, &v);
	REAL(backtrace_symbols_fd)(frames, n, fd);
	if (ours)
		spw_visit_end(&v);
}
SPW_ALIAS(__backtrace_symbols_fd, backtrace_symbols_fd);

/* The terminal becomes 0, 1 and 2, and its own number is closed. */
SPW_WRAP int
login_tty(int fd)
{
	int r = REAL(login_tty)(fd);

	if (r == 0)
		spw_fdtab_closing_range(0, 2);
	return r;
}

/* libc's own forks without telling us. */
SPW_WRAP int
forkpty(int *ret_master, char *name, const struct termios *term,
	const struct winsize *size)
{
	int master, slave, pid;

	if (openpty(&master, &slave, name, term, size) < 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		close(master);
		if (login_tty(slave) < 0)
			_exit(1);
		return 0;
	}
	close(slave);
	if (pid < 0)
		close(master);
	else
		*ret_master = master;
	return pid;
}
