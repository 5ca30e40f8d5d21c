/* SPDX-License-Identifier: BSD-3-Clause */
/* slowfs.c -- a directory seen through a slow and, on request, faulty mount
 *
 *	slowfs [key=value]... BACKING MOUNTPOINT
 *
 * Stays in the foreground; SIGTERM unmounts.  The keys are those of
 * slowfs-knobs.h, and
 *
 *	direct=1	every file is opened past the page cache (direct I/O):
 *			each read is a request; no shared mappings
 *	record=FILE	all that changes is written down in FILE, a new file
 *			elsewhere, for powercut.c; fsync is then written down
 *			rather than done
 *	keep=DIR	the inode of each file stays, by its number in the
 *			recording, in DIR, a directory beside BACKING
 *
 * The page cache never holds back a write: it is a request at once, of up to
 * 1 MiB; only what was written through a mapping waits for msync.  A program
 * that reads through the page cache gets requests of 128 KiB, the kernel's
 * read-ahead, one that reads past it (O_DIRECT) of up to 1 MiB.
 */

#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "tests/slowfs-record.h"
#include "tests/slowfs.h"

/* Each request has a thread while it waits: more of them at once than this
 * would wait for each other. */
#define MAX_THREADS 256

static struct fuse_session *session;
static const char *recording;		/* NULL: none */
static const char *kept;		/* likewise */

/* Ask the kernel for what we rely on: atomic O_TRUNC, requests of 1 MiB, many
 * of them at once. */
static void
op_init(void *data, struct fuse_conn_info *conn)
{
	(void)data;
	conn->want |= conn->capable & FUSE_CAP_ATOMIC_O_TRUNC;
	conn->want &= ~(unsigned int)FUSE_CAP_WRITEBACK_CACHE;
	conn->max_write = 1 << 20;
	conn->max_background = MAX_THREADS / 2;
	conn->congestion_threshold = MAX_THREADS / 2;
}

static const struct fuse_lowlevel_ops ops = {
	.init = op_init,
	.lookup = op_lookup,
	.forget = op_forget,
	.forget_multi = op_forget_multi,
	.getattr = op_getattr,
	.setattr = op_setattr,
	.readlink = op_readlink,
	.mknod = op_mknod,
	.mkdir = op_mkdir,
	.symlink = op_symlink,
	.link = op_link,
	.unlink = op_unlink,
	.rmdir = op_rmdir,
	.rename = op_rename,
	.open = op_open,
	.create = op_create,
	.read = op_read,
	.write_buf = op_write_buf,
	.release = op_release,
	.fsync = op_fsync,
	.fallocate = op_fallocate,
	.lseek = op_lseek,
	.opendir = op_opendir,
	.readdir = op_readdir,
	.releasedir = op_releasedir,
	.fsyncdir = op_fsyncdir,
	.statfs = op_statfs,
	.setxattr = op_setxattr,
	.removexattr = op_removexattr,
	.getxattr = op_getxattr,
	.listxattr = op_listxattr,
};

static bool
has_ended(void)
{
	return fuse_session_exited(session);
}

/* Before 3.12 libfuse makes as many threads as there are requests. */
static int
answer_requests(void)
{
#if FUSE_USE_VERSION >= 312
	struct fuse_loop_config *config = fuse_loop_cfg_create();
	int r;

	fuse_loop_cfg_set_max_threads(config, MAX_THREADS);
	fuse_loop_cfg_set_idle_threads(config, 16);
	r = fuse_session_loop_mt(session, config);
	fuse_loop_cfg_destroy(config);
	return r;
#else
	struct fuse_loop_config config = { .max_idle_threads = 16 };

	return fuse_session_loop_mt(session, &config);
#endif
}

static int
serve(const char *mountpoint)
{
	char *argv[] = { "slowfs", "-o", "fsname=slowfs,default_permissions" };
	struct fuse_args args = FUSE_ARGS_INIT(3, argv);
	int r = 1;

	session = fuse_session_new(&args, &ops, sizeof(ops), NULL);
	if (!session)
		goto free_args;
	if (fuse_set_signal_handlers(session) < 0)
		goto destroy;
	faults_end_when(has_ended);
	if (fuse_session_mount(session, mountpoint) < 0)
		goto unhandle;
	r = answer_requests();
	fuse_session_unmount(session);
	r = r < 0;			/* ended by a signal is a good end */
unhandle:
	fuse_remove_signal_handlers(session);
destroy:
	fuse_session_destroy(session);
free_args:
	fuse_opt_free_args(&args);
	return r;
}

static int
take_option(const char *text)
{
	if (!strcmp(text, "direct=1")) {
		direct_io = true;
		return 0;
	}
	if (!strncmp(text, "record=", 7)) {
		recording = text + 7;
		return 0;
	}
	if (!strncmp(text, "keep=", 5)) {
		kept = text + 5;
		return 0;
	}
	return faults_start(text);
}

/* So that what we do besides waiting is short: sleeps end when they should,
 * and buffers for large requests are kept. */
static void
be_quick(void)
{
	prctl(PR_SET_TIMERSLACK, 1UL);
	mallopt(M_MMAP_THRESHOLD, 16 << 20);
	mallopt(M_TRIM_THRESHOLD, INT_MAX);
}

int
main(int argc, char **argv)
{
	int fd, r;

	for (; argc > 3; argc--, argv++) {
		if (take_option(argv[1]) < 0) {
			fprintf(stderr, "slowfs: cannot read %s\n", argv[1]);
			return 2;
		}
	}
	if (argc != 3) {
		fprintf(stderr, "usage: slowfs [key=value]... "
			"BACKING MOUNTPOINT\n");
		return 2;
	}
	umask(0);
	be_quick();
	fd = open(argv[1], O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0) {
		perror(argv[1]);
		return 1;
	}
	nodes_start(fd);
	r = kept ? record_keep(kept) : 0;
	if (r == 0)
		r = recording ? record_start(recording, fd) : 0;
	if (r < 0) {
		fprintf(stderr, "slowfs: recording: %s\n", strerror(-r));
		return 1;
	}
	return serve(argv[2]);
}
