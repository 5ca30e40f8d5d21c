/* SPDX-License-Identifier: BSD-3-Clause */
/* slowfs.h -- what the parts of slowfs share: nodes, gates and operations */

#ifndef SPW_TESTS_SLOWFS_H
#define SPW_TESTS_SLOWFS_H

#include <fuse_lowlevel.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "tests/slowfs-faults.h"

/* One inode of the backing tree, found again by (device, inode). */
struct node {
	struct node *next;
	int fd;				/* O_PATH */
	dev_t dev;
	ino_t ino;
	uint64_t lookups;		/* how often the kernel holds it */
};

/* What an O_PATH descriptor stands for, as a name. */
struct procname {
	char s[40];
};

struct procname procname(int fd);

/* The mount's root is the directory fd stands for. */
void nodes_start(int fd);

int fd_of(fuse_ino_t ino);

/* Look name up and hold its node for the kernel: 0 or a negative errno. */
int nodes_find(fuse_ino_t parent, const char *name,
	       struct fuse_entry_param *ret_e);

/* The kernel holds a node less. */
void nodes_drop(fuse_ino_t ino, uint64_t count);

/* The path below the mount of a node, or of a name in it if that is not
 * NULL; empty for the root. */
void nodes_path(fuse_ino_t ino, const char *name, char *buf, size_t size);

/* Wait or fail as the knobs ask for such a request on this node, or on a name
 * in it: 0 or a negative errno. */
int gate(enum request_kind kind, fuse_ino_t ino, const char *name);

/* Reply with the result of a system call: errno if it is negative. */
void reply_result(fuse_req_t req, int r);

/* The file that sets the knobs while mounted; only found by its name. */
#define CONTROL_NAME ".slowfs-control"
#define CONTROL_XATTR "user.slowfs"

bool control_is(fuse_ino_t ino);
bool control_is_name(fuse_ino_t parent, const char *name);
void control_lookup(fuse_req_t req);
void control_getattr(fuse_req_t req);
void control_open(fuse_req_t req, struct fuse_file_info *fi);
void control_read(fuse_req_t req, size_t size, off_t off);
void control_write(fuse_req_t req, const char *buf, size_t size);

/* Do what a line for the control file says: 0 or a negative errno. */
int control_set(const char *text, size_t n);

/* Make durable what a descriptor stands for: 0 or a negative errno. */
int sync_node(int fd, bool data_only);

/* Every file is opened past the page cache. */
extern bool direct_io;

void op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name);
void op_forget(fuse_req_t req, fuse_ino_t ino, uint64_t count);
void op_forget_multi(fuse_req_t req, size_t n, struct fuse_forget_data *f);
void op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void op_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *st, int what,
		struct fuse_file_info *fi);
void op_statfs(fuse_req_t req, fuse_ino_t ino);

void op_readlink(fuse_req_t req, fuse_ino_t ino);
void op_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
	      dev_t rdev);
void op_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name,
	      mode_t mode);
void op_symlink(fuse_req_t req, const char *to, fuse_ino_t parent,
		const char *name);
void op_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent,
	     const char *name);
void op_unlink(fuse_req_t req, fuse_ino_t parent, const char *name);
void op_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name);
void op_rename(fuse_req_t req, fuse_ino_t from, const char *old, fuse_ino_t to,
	       const char *new, unsigned int flags);

void op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		struct fuse_file_info *fi);
void op_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void op_fsyncdir(fuse_req_t req, fuse_ino_t ino, int datasync,
		 struct fuse_file_info *fi);

void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void op_create(fuse_req_t req, fuse_ino_t parent, const char *name,
	       mode_t mode, struct fuse_file_info *fi);
void op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
	     struct fuse_file_info *fi);
void op_write_buf(fuse_req_t req, fuse_ino_t ino, struct fuse_bufvec *from,
		  off_t off, struct fuse_file_info *fi);
void op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void op_fsync(fuse_req_t req, fuse_ino_t ino, int datasync,
	      struct fuse_file_info *fi);
void op_fallocate(fuse_req_t req, fuse_ino_t ino, int mode, off_t off,
		  off_t len, struct fuse_file_info *fi);
void op_lseek(fuse_req_t req, fuse_ino_t ino, off_t off, int whence,
	      struct fuse_file_info *fi);

void op_setxattr(fuse_req_t req, fuse_ino_t ino, const char *name,
		 const char *value, size_t size, int flags);
void op_removexattr(fuse_req_t req, fuse_ino_t ino, const char *name);
void op_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name,
		 size_t size);
void op_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size);

#endif
