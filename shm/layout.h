/* SPDX-License-Identifier: BSD-3-Clause */
/* layout.h -- what lies in the segment: structs, states, lock order; no code */

/*
 * The segment is one shared file that every process of a job maps. It may be
 * the only copy of what the program wrote, so every change is published by
 * one store and whoever finds a dead owner can finish or undo its work.
 *
 * Tables (pools: a free bitmap, an owner word per item, a count of items
 * whose memory is reserved)
 *
 *	lanes	one per thread that does cached I/O. Its beacon, a robust
 *		mutex, is locked for the life of the thread: the kernel tells
 *		everybody when the thread is gone. A lane number is what lock
 *		words and owner words hold.
 *	procs	one per process: pid and start time, and its fd map (fd ->
 *		open description), so that the references of a killed process
 *		can be given back.
 *	files	managed inodes, found by (dev, ino) through fbuckets.
 *	ofds	open file descriptions: position, flags, error seen.
 *	blocks	descriptors of 4 KiB blocks, found by (file, number) through
 *		buckets; each in use has one slot.
 *	slots	the 4 KiB buffers themselves; a block written in many pieces
 *		has one more, its mask (mask.h).
 *	chunks	256 blocks of a file in a row, found by (file, number)
 *		through cbuckets: a bit for each block that is below.
 *
 * Beside them lies a ring of the drainer's last decisions, where there are
 * tiers to decide between.
 *
 * Of what is as large as the memory that a job may use, little has memory from
 * the beginning: a short program must not pay for it. The buckets and their
 * locks have it part by part, from the first block there on; seg.indexed says
 * which, and who finds a bit unset has found that there is no such block. So
 * it is with the fbuckets and files (seg.findexed). The bitmaps grow with their
 * pools, the cbuckets come with the first chunk.
 *
 * Why blocks of 4 KiB: a kernel write is atomic per page against kill -9, and
 * so must ours be. A whole block, or the first piece of one, is written into a
 * fresh slot outside all locks and put in place by one store; only pieces for
 * a block that has a slot take the detour over a scratch slot. Why a lane per
 * thread and not per process: a robust mutex dies with its thread, which may
 * be long before the process.
 *
 * A cached write, per batch of up to SPW_BATCH blocks
 *
 *	prepare	no lock: user memory is copied to spare slots, whole blocks
 *		and pieces alike. A bad pointer faults here and leaves nothing
 *		behind.
 *	publish	lane.inside names the file. Per block: lock; write the
 *		after-image of the block's state into lane.redo and publish it
 *		there; apply it; withdraw it; unlock. User memory is not
 *		touched, nothing blocks, signal handlers are deferred.
 *		Applying raises file.size to the end of the piece.
 *	finish	times and flags; lane.inside = 0.
 *
 * What is published by which store
 *
 *	a block's state	lane.redo.block. Before it the block is as it was,
 *			after it whoever adopts the lane applies the
 *			after-image, the piece in the scratch slot included:
 *			old or new, never mixed.
 *	a block's place	bucket head or predecessor's next (bucket lock).
 *	dirtiness	the dirty ranges in the state. The bit in the dirty
 *			map says where to look: it is set before the ranges,
 *			so it may be there for nothing but is never missing.
 *	file size	file.size, after the ranges it covers; part of what
 *			lane.redo publishes, so that no bytes lie beyond it.
 *	home reached	moving ranges cleared by the drainer after its write
 *			returned; for a successor they count as dirty.
 *	a cut		file.cut, before the kernel's truncate. If its maker
 *			dies, the drainer finishes it before the gate opens.
 *	gone below	the block's bit in its chunk, see below.
 *
 * Who may finish whose work: anyone who finds a lock word whose lane's beacon
 * has lost its owner takes the beacon (so one at a time), applies lane.redo,
 * completes lane.removing, releases the locks in lane.held, gives back what
 * the lane owns, and frees it (spw_lane_adopt). Each step can be repeated, so
 * the adopter may die as well.
 *
 * A file's gate closes it for publishing: the closer takes the gate lock,
 * then waits until no lane is inside that file. Truncation, settling before
 * a kernel operation, and leaving the cache happen behind a closed gate.
 *
 * Below: a block whose bit is set lies in a tier that the drainer knows, whole
 * up to the end of the file, and is not home. In memory there is a clean copy
 * of it or nothing.
 *
 *	set	by the drainer alone, under the block's lock, when the tier
 *		has the bytes and nobody wrote meanwhile; file.spills is raised
 *		first, so that a reader who found no block and no bit knows
 *		whether it may trust that.
 *	cleared	by the drainer when the bytes are home; by a writer under the
 *		block's lock, after its change is applied: what is dirty in
 *		memory is then all of the block, and counts more than a bit
 *		that its writer died too early to clear. By a cut.
 *	needed	by who reads the block or writes a piece of it: asks the
 *		drainer through its lane (want), which brings a copy up.
 *
 * The drainer alone links and unlinks chunks, those of a file only while
 * nobody is inside it; seg.chunk_version is odd meanwhile. A successor who
 * finds it odd links all chunks anew.
 *
 * LOCK ORDER (enum spw_lock_class): ofd, append, gate, fbucket, block,
 * bucket. A thread holds one lock of a class at most.
 * The drainer never waits for a gate: its holder may be waiting for it. Nor for
 * anybody who is inside a file, nor long for any other lock: who has it may be
 * stopped (lock.h). It leaves what is behind it for later and goes on. A block
 * that was written, and whose lock is not to be had, counts as moving until it
 * is; an estate that is not settled to its end is one still.
 */
#ifndef SPW_SHM_LAYOUT_H
#define SPW_SHM_LAYOUT_H

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#define SPW_MAGIC	0x3179617770737053ull	/* "Spspway1", little endian */
#define SPW_VERSION	9u

#define SPW_BLOCK_SHIFT	12
#define SPW_BLOCK_SIZE	(1u << SPW_BLOCK_SHIFT)
#define SPW_BATCH	16			/* blocks published at once */
#define SPW_RANGES	4			/* pieces kept per block */
#define SPW_JOB_MAX	64
#define SPW_FILE_PATH	760			/* fills a file record to 1 KiB */
#define SPW_MAP_FDS	256			/* fds in a map chunk */
#define SPW_MAP_CHUNKS	256			/* chunks a process may have */
#define SPW_SPARES	64			/* slots a lane keeps at hand */
#define SPW_PROC_PINS	8			/* files a process keeps mapped */
#define SPW_CHUNK_BLOCKS 256			/* blocks a chunk stands for */
#define SPW_SEG_TIERS	4096			/* text of the tiers, with NUL */
#define SPW_SEG_SEED	1024			/* path of the seed, with NUL */
#define SPW_SEG_LEVELS	16			/* tiers below memory */
#define SPW_SEG_LOSSES	32			/* that are told one by one */
#define SPW_SEG_OUTCASTS 32768			/* hashes of files, as bits */
#define SPW_LOSS_WHERE	224
#define SPW_SEG_CAUTION	216			/* fills a level to 256 bytes */

#define SPW_NONE	UINT32_MAX		/* no index */
#define SPW_CTIME_MOVES	INT64_MIN		/* no time at all */

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
	      "lock words put the owner, a futex, into the low half");

struct spw_lock {			/* owner lane + 1 | version << 32 */
	_Atomic uint64_t word;
	_Atomic uint32_t waiters;
	uint32_t pad;
};
static_assert(sizeof(struct spw_lock) == 16, "stored in the segment");

struct spw_range {			/* [from, to) within a block */
	uint16_t from, to;
};

struct spw_ranges {
	struct spw_range r[SPW_RANGES];	/* ascending, disjoint, not touching */
};

enum spw_safe {				/* against loss of power, of what is dirty */
	SPW_UNSAFE, SPW_SAFE,
	SPW_SAVING,			/* being copied to a durable tier */
};

struct spw_block_state {		/* changed as a whole, by lane.redo */
	uint32_t slot;
	uint32_t moving_slot;		/* under I/O; SPW_NONE: none */
	uint32_t mask;			/* slot, see mask.h; SPW_NONE: none */
	uint8_t ndirty, npresent, nmoving;
	uint8_t safe;			/* enum spw_safe */
	struct spw_ranges dirty;
	struct spw_ranges present;	/* bytes the slot holds, dirty ones
					 * among them */
	struct spw_ranges moving;	/* being written by the drainer */
};
static_assert(sizeof(struct spw_block_state) == 64, "stored in the segment");

struct spw_block {
	struct spw_lock lock;		/* its version: readers compare */
	uint32_t file, file_gen;	/* key; file is SPW_NONE when free */
	uint64_t number;
	_Atomic uint32_t next;		/* chain of its bucket: index + 1 */
	struct spw_block_state state;
	_Atomic uint8_t used;		/* see used.h */
	uint8_t turn;			/* of the drainer: see evict.c */
	uint8_t pad[2];
	_Atomic uint32_t tick;		/* of its last use that counted */
	uint8_t spare[20];
};
static_assert(sizeof(struct spw_block) == 128, "stored in the segment");

struct spw_chunk {			/* which blocks are below */
	uint32_t file, file_gen;	/* key */
	uint64_t number;		/* of its first block, / 256 */
	_Atomic uint32_t next;		/* chain of its cbucket: index + 1 */
	uint32_t pad[3];
	_Atomic uint64_t below[SPW_CHUNK_BLOCKS / 64];
	/* Which object has each of them: the end of its sequence number, so
	 * that a successor who does not find it takes no older one for it. A
	 * job does not live long enough to come to the same end again. Set
	 * before the bit. */
	_Atomic uint32_t seq[SPW_CHUNK_BLOCKS];
};
static_assert(sizeof(struct spw_chunk) == 1088, "stored in the segment");

struct spw_want {			/* blocks a thread waits for */
	uint32_t file, file_gen;
	uint64_t first;
	uint32_t count;
	_Atomic uint32_t asked;		/* raised by the thread, last */
	_Atomic uint32_t done;		/* futex: as far as it was served */
	_Atomic int32_t err;		/* negative errno */
};

struct spw_redo {
	_Atomic uint32_t block;		/* index + 1 while it counts */
	uint32_t old_slot;		/* to be given back; SPW_NONE: none */
	uint32_t old_mask;		/* likewise */
	uint32_t scratch;		/* slot that holds a piece, or none */
	uint16_t from, to;		/* the piece: to be copied to after.slot */
	uint64_t end;			/* the file reaches there at least */
	struct spw_block_state after;
};

struct spw_counters {			/* per lane; only the owner adds */
	uint64_t writes, bytes_written;
	uint64_t reads, bytes_read;
	uint64_t dirtied;		/* blocks that went from clean to dirty */
	uint64_t waits;			/* times a writer waited for room */
	uint64_t through;		/* pieces that went through to home */
};

enum spw_lane_state { SPW_LANE_FREE, SPW_LANE_USED };

enum spw_lock_class {
	SPW_LOCK_GATE, SPW_LOCK_APPEND, SPW_LOCK_FBUCKET, SPW_LOCK_BLOCK,
	SPW_LOCK_BUCKET, SPW_LOCK_OFD,
	SPW_LOCK_CLASSES
};

struct spw_lane {
	_Alignas(64) pthread_mutex_t beacon;		/* robust, shared; held for life */
	_Atomic uint32_t state;		/* enum spw_lane_state */
	_Atomic uint32_t proc;
	_Atomic uint32_t inside;	/* file + 1 while publishing */
	_Atomic uint32_t grab;		/* pool word under way, see pool.c */
	_Atomic uint32_t removing;	/* block + 1 on its way out */
	uint32_t nslots, nblocks;	/* spares at hand; owner words rule */
	_Atomic uint32_t holds;		/* ofd + 1 that a call is about */
	_Atomic uint64_t held[SPW_LOCK_CLASSES]; /* lock's offset; see lock.c */
	uint32_t slots[SPW_SPARES];
	uint32_t blocks[SPW_SPARES];
	struct spw_redo redo;
	struct spw_want want;
	struct spw_counters count;
};
static_assert(sizeof(struct spw_lane) <= 1024, "stored in the segment");

struct spw_proc {
	_Atomic uint32_t pid;		/* 0: free; see proc.c */
	_Atomic uint32_t stands_by;	/* ready to be the drainer: a run, or
					 * an agent that was just started */
	_Atomic uint64_t start;		/* /proc/PID/stat, in ticks; 0: not set */
	uint64_t pidns;			/* inode of its pid namespace */
	_Atomic int64_t orphaned;	/* ms; an embryo's parent is gone since */
	_Atomic uint32_t leaving;	/* needs a drainer no more: last.c */
	uint32_t pad;
	_Atomic uint32_t pins[SPW_PROC_PINS];/* files mapped: index + 1 */
	uint32_t chunks[SPW_MAP_CHUNKS];/* fd map chunks, SPW_NONE: none */
};

enum spw_file_flag {
	SPW_FILE_DIRTIED = 1,		/* was written: the drainer frees it */
	SPW_FILE_UNSETTLED = 2,		/* may have bytes that are not home */
	SPW_FILE_UNLINKED = 4,		/* no name left when last looked */
	SPW_FILE_TIMES = 8,		/* wtime counts, not the kernel's mtime */
	SPW_FILE_PINNED = 16,		/* its blocks are not evicted */
	SPW_FILE_JUDGED = 32,		/* the drainer looks for dirty blocks */
	SPW_FILE_VISITED = 64,		/* another job asked us to leave it */
	SPW_FILE_APPENDED = 128,	/* somebody appends: see spw_gate_appends */
	SPW_FILE_COPIED = 256,		/* tiers may have copies of its bytes */
	SPW_FILE_TOUCHED = 512,		/* the kernel changed home for somebody;
					 * the drainer has not synced it since */
	SPW_FILE_STAGED = 1024,		/* stays until seg.staged_until */
	SPW_FILE_NOTED = 2048,		/* home may say which objects count no
					 * more */
	SPW_FILE_SEEN = 4096,		/* somebody looked at its times since
					 * it was written; see stamp.h */
	SPW_FILE_CHANGED = 8192,	/* others changed home: what is clean
					 * here is old for who opens it next */
};

/* Why a file is served by the kernel. Names are in shm/files.c. */
enum spw_bypass {
	SPW_BYPASS_NONE, SPW_BYPASS_MMAP, SPW_BYPASS_DIRECT, SPW_BYPASS_SYNC,
	SPW_BYPASS_STDIO, SPW_BYPASS_FREOPEN, SPW_BYPASS_EXEC,
	SPW_BYPASS_IO_URING, SPW_BYPASS_AIO, SPW_BYPASS_NO_ROOM,
	SPW_BYPASS_NO_REOPEN, SPW_BYPASS_RLIMIT,
	SPW_BYPASS_SCM_RIGHTS, SPW_BYPASS_TMPFILE, SPW_BYPASS_PATH_TOO_LONG,
	SPW_BYPASS_CLONE, SPW_BYPASS_LEASE, SPW_BYPASS_SENDFILE,
	SPW_BYPASS_OUTSIDE, SPW_BYPASS_OTHER_JOB, SPW_BYPASS_NO_DRAINER,
	SPW_BYPASS_COUNT
};

enum spw_keep {				/* where fixed.keep is set */
	SPW_KEEP_UNKNOWN,		/* not looked at yet */
	SPW_KEEP_YES,			/* nothing of it is home */
	SPW_KEEP_STUB,			/* home is a stub, or becomes one */
	/* Why it goes home. Words for it are in tools/keeping.c. */
	SPW_KEEP_PARTLY, SPW_KEEP_NO_TIER, SPW_KEEP_NO_ATTR,
	SPW_KEEP_FOREIGN, SPW_KEEP_NO_ROOM, SPW_KEEP_NEEDED,
	SPW_KEEP_COUNT
};

struct spw_file {
	/* What every read and write looks at: one line of the processor's
	 * cache. */
	struct spw_lock gate;
	_Atomic uint64_t size;
	_Atomic int64_t wtime;		/* last write, ns since the epoch */
	uint32_t gen;			/* bumped when the record is reused */
	_Atomic uint32_t flags;		/* enum spw_file_flag */
	_Atomic uint32_t bypass;	/* enum spw_bypass */
	_Atomic uint32_t nblocks;	/* blocks in the index */
	_Atomic uint32_t nchunks;	/* chunks linked for it */
	_Atomic uint32_t spills;	/* raised before bits are set */
	_Atomic uint32_t err_seq;	/* bumped with each new error */
	_Atomic uint32_t opens;		/* descriptions open on it */

	struct spw_lock append;
	uint64_t dev, ino;
	int64_t btime;			/* ns; 0 when the file system has none */
	_Atomic uint32_t next;		/* chain of its fbucket: index + 1 */
	_Atomic int32_t err;		/* last write-back errno, positive */
	_Atomic int64_t home_ctime;	/* ctime that our drain caused, or
					 * SPW_CTIME_MOVES while it does */
	_Atomic int64_t home_mtime;	/* mtime last seen or set at home */
	_Atomic int64_t set_mtime;	/* wtime as utimens or home had it, */
	_Atomic int64_t set_before;	/* and as they had it before */
	_Atomic int64_t set_ctime;	/* last change that was not a write */
	_Atomic int64_t err_wtime;	/* wtime at the last failure */
	_Atomic uint64_t cut;		/* truncation under way: size + 1 */
	_Atomic uint32_t hold;		/* drainer keeps off; lane + 1 */
	_Atomic uint32_t inflight;	/* blocks the drainer is writing */
	_Atomic uint32_t asked;		/* settle tickets handed out */
	_Atomic uint32_t done;		/* futex: tickets served */
	_Atomic uint32_t handled;	/* drainer epoch that has it open */
	_Atomic uint32_t fails;		/* bumped with each failure, old or new */
	_Atomic int32_t full;		/* ENOSPC or EDQUOT while home is */
	_Atomic uint32_t err_seen;	/* someone was told of err_seq */
	uint32_t holder_pid;		/* a thread that has it open, */
	int32_t holder_fd;		/* under this descriptor */
	_Atomic uint32_t path_len;	/* a name, at the start of path; */
	_Atomic uint32_t alt_len;	/* another, at its end; see names.h */
	_Atomic uint32_t sync_asked;	/* fsync tickets handed out */
	_Atomic uint32_t sync_done;	/* tickets served; see seg.synced */
	_Atomic uint64_t low;		/* size + 1 it was cut to since the
					 * last object; 0: it was not */
	_Atomic int32_t sync_err;	/* negative errno; ask home then */
	_Atomic uint32_t keep;		/* enum spw_keep */
	uint8_t pad[24];
	char path[SPW_FILE_PATH];
};
static_assert(sizeof(struct spw_file) == 1024, "stored in the segment");

enum spw_ofd_flag {
	SPW_OFD_READ = 1, SPW_OFD_WRITE = 2, SPW_OFD_APPEND = 4,
	SPW_OFD_KERNEL = 8,		/* the kernel's position counts */
	SPW_OFD_STDOUT = 16,		/* both do: see interpose/fdtab.h */
};

struct spw_ofd {
	struct spw_lock lock;		/* position, where it is shared */
	uint32_t file, file_gen;
	_Atomic uint32_t refs;		/* fds in all processes */
	_Atomic uint32_t flags;		/* enum spw_ofd_flag */
	_Atomic uint64_t pos;
	_Atomic uint32_t err_seen;	/* file.err_seq already reported */
	uint32_t pad[5];
};
static_assert(sizeof(struct spw_ofd) == 64, "stored in the segment");

enum spw_pool_id {
	SPW_POOL_LANES, SPW_POOL_PROCS,	/* these two: no bitmap, see claim */
	SPW_POOL_FILES, SPW_POOL_OFDS, SPW_POOL_MAPS, SPW_POOL_BLOCKS,
	SPW_POOL_SLOTS, SPW_POOL_CHUNKS, SPW_POOL_COUNT
};

struct spw_table {			/* where a pool lies; set once */
	uint64_t items_off;
	uint64_t bits_off;		/* free bitmap, one bit an item */
	uint64_t owners_off;		/* uint32_t per item */
	uint32_t item_size, count;	/* count is a multiple of 64 */
};
static_assert(sizeof(struct spw_table) == 32, "stored in the segment");

struct spw_pool {			/* how far it is in use */
	_Atomic uint32_t ready;		/* items whose memory is reserved */
	_Atomic uint32_t hint;		/* lowest word that may have a bit */
};

enum spw_why {				/* of a decision, together */
	SPW_WHY_CHOSEN = 1,		/* by the planner */
	SPW_WHY_PINNED = 2,		/* the packing, by the user */
	SPW_WHY_FULL = 4,		/* a tier before it had no room */
	SPW_WHY_SHUNNED = 8,		/* a tier before it had failed */
	SPW_WHY_SYNC = 16,		/* a copy for fsync */
	SPW_WHY_THROUGH = 32,		/* no tier: it goes home */
	SPW_WHY_FAILED = 64,		/* it did not arrive: see err */
	SPW_WHY_ALL = 127
};

#define SPW_DECISION_PATH 128
#define SPW_DECISION_HOME UINT8_MAX

/* Where a run of bytes went, how it was packed, and why: a ring that the
 * drainer writes and anybody reads; see decisions.h. Times are in seconds. */
struct spw_decision {
	_Atomic uint64_t stamp;		/* 2 * number + 2; odd: not whole */
	uint64_t dev, ino;
	uint64_t offset, length;	/* in the file */
	uint64_t object;		/* its sequence number; 0: none */
	uint64_t traits;		/* planner/analyze.h; 0: not known */
	int64_t when;			/* ns since the epoch */
	uint64_t stored, expect_stored;	/* bytes */
	double pack, expect_pack;
	double write, expect_write;
	int32_t err;			/* negative errno */
	uint16_t why;			/* enum spw_why */
	uint8_t tier;			/* in seg.fixed.tiers, from 0 */
	uint8_t codec;
	int8_t level;
	uint8_t filter, width;
	uint8_t pad;
	char path[SPW_DECISION_PATH];	/* the end of it, with NUL */
};
static_assert(sizeof(struct spw_decision) == 256, "stored in the segment");

enum spw_drainer_state {		/* seg.wake, a futex */
	SPW_DRAINER_NONE, SPW_DRAINER_ASLEEP, SPW_DRAINER_DELAYED,
	SPW_DRAINER_AWAKE
};

struct spw_seg_fixed {			/* set once, under the checksum */
	uint64_t magic;
	uint32_t version, layout;	/* layout: hash of struct sizes */
	uint64_t size;
	uint64_t created;		/* ns since the epoch */
	uint32_t uid, block_size;
	char boot_id[40];
	char job[SPW_JOB_MAX + 8];
	uint32_t nbuckets, nfbuckets;	/* powers of two */
	uint64_t buckets_off;		/* uint32_t heads: index + 1 */
	uint64_t bucket_locks_off;	/* one spw_lock per 16 buckets */
	uint64_t fbuckets_off;
	uint64_t fbucket_locks_off;
	uint64_t dirty_off;		/* bitmap over blocks */
	uint64_t asks_off;		/* bitmap over files: settle me */
	uint64_t syncs_off;		/* bitmap over files: fsync me */
	uint64_t cbuckets_off;		/* uint32_t heads: index + 1 */
	uint64_t decisions_off;
	uint32_t ncbuckets;		/* a power of two */
	uint32_t ndecisions;		/* likewise, or 0 */
	uint32_t delay_ms;		/* how long dirty bytes may rest */
	uint32_t workers;		/* that pack; SPW_NONE: as many as
					 * make sense */
	int64_t ends;			/* of the batch job, ns since the
					 * epoch; 0: not known */
	uint32_t margin_ms;		/* home so long before that */
	uint32_t keep;			/* files stay in tiers at the end */
	char tiers[SPW_SEG_TIERS];	/* below memory, expanded; or empty */
	char seed[SPW_SEG_SEED];	/* of the planner, a path; or empty */
	struct spw_table tables[SPW_POOL_COUNT];
};

enum spw_level_state {
	SPW_LEVEL_UNKNOWN,		/* no drainer has looked yet */
	SPW_LEVEL_OPEN,
	SPW_LEVEL_DEAF,			/* open, and does not answer */
	SPW_LEVEL_FAILED
};

struct spw_seg_level {			/* a tier as its drainer last saw it */
	_Atomic uint32_t state;		/* enum spw_level_state; set last */
	_Atomic uint32_t durable;	/* a reboot does not empty it */
	_Atomic int32_t err;		/* why it failed, positive */
	_Atomic uint32_t objects;
	_Atomic uint64_t capacity, used, live;	/* bytes, see tiers/tier.h */
	char caution[SPW_SEG_CAUTION];	/* what to know of it, or empty */
};
static_assert(sizeof(struct spw_seg_level) == 256, "stored in the segment");

struct spw_loss {			/* below, and not to be read there */
	uint32_t file, file_gen;
	uint64_t from, to;		/* bytes of the file */
	_Atomic int32_t err;		/* positive errno, set last; 0: free */
	uint32_t pad;
	char where[SPW_LOSS_WHERE];	/* in the tier, for the user */
};
static_assert(sizeof(struct spw_loss) == 256, "stored in the segment");

struct spw_seg {
	struct spw_seg_fixed fixed;
	uint32_t crc;			/* CRC32C of fixed */
	_Atomic uint32_t tick;		/* by the bytes moved, see used.h */
	_Atomic uint64_t indexed;	/* parts of the buckets with memory */
	_Atomic uint64_t findexed;	/* the same of the fbuckets */
	_Atomic int64_t latest;		/* stamp of a file: see stamp.h */
	_Atomic uint32_t removing;	/* somebody may be: see proc.c */
	_Alignas(64) struct spw_pool pools[SPW_POOL_COUNT];

	_Alignas(64) _Atomic uint32_t wake;	/* enum spw_drainer_state */
	_Atomic uint32_t drainer_epoch;	/* odd while one serves */
	_Atomic uint32_t drainer_pid;
	_Atomic uint32_t drainer_host;	/* enum spw_drainer_host */
	_Atomic uint32_t asks;		/* bumped with every ask */
	_Atomic uint32_t room;		/* futex: bumped when slots come free */
	_Atomic uint32_t want_room;	/* writers waiting for it */
	_Atomic uint32_t sweep;		/* bumped when a lane was adopted */
	_Atomic uint32_t attached;	/* attach count, for a run's handshake */
	_Atomic uint32_t closing;	/* the run is over: drain at once */
	_Atomic uint32_t settled;	/* bumped before files count as home */
	_Atomic uint32_t closed;	/* no file is managed any more */
	_Atomic uint64_t claims;	/* entry + 1 in the table of claims, and
					 * above it the generation there */
	_Atomic uint32_t parted;	/* bumped before changed files are the
					 * kernel's alone again */
	_Atomic uint32_t wants;		/* bumped with every want */
	_Atomic uint32_t chunk_version;	/* odd while chunks are relinked */
	_Atomic uint32_t durable;	/* a tier below survives a reboot */
	_Atomic uint64_t sequence;	/* of the youngest object */
	_Atomic uint64_t decisions;	/* so far; the last are in the ring */
	_Atomic uint64_t weights;	/* of the planner, see weights.h */
	_Atomic int64_t hurry_until;	/* ms: until then nothing rests */
	_Atomic uint32_t save_asked;	/* tickets: put all that is not home */
	_Atomic uint32_t save_done;	/* into durable tiers; served so far */
	_Atomic int32_t save_err;	/* 0, or why not all is there */
	_Atomic uint32_t synced;	/* futex: bumped when fsyncs are served;
					 * who waits does so for his file's
					 * bit of 32 */
	_Atomic int64_t staged_until;	/* ms: files brought up for later stay
					 * so long, and the segment for them */

	_Alignas(64) _Atomic uint64_t requests_home, bytes_home;
	_Atomic uint64_t requests_down, bytes_down;	/* to tiers, raw */
	_Atomic uint64_t stored_down;	/* the same as stored */
	_Atomic uint64_t requests_up, bytes_up;	/* back for readers */
	_Atomic uint64_t syncs_down;	/* fsyncs that a tier answered */
	_Atomic uint64_t files_managed;
	_Atomic uint64_t bypasses[SPW_BYPASS_COUNT];
	struct spw_counters gone;	/* counters of lanes that ended */

	/* In the order of fixed.tiers, memory left out; for those who look. */
	struct spw_seg_level levels[SPW_SEG_LEVELS];
	struct spw_loss losses[SPW_SEG_LOSSES];	/* the drainer's to write */
	/* Files that somebody opened while there was no record for them: a bit
	 * for all with the same hash, and for good. */
	_Atomic uint64_t outcasts[SPW_SEG_OUTCASTS / 64];
};

enum spw_drainer_host {
	SPW_HOST_NONE, SPW_HOST_RUN, SPW_HOST_AGENT, SPW_HOST_THREAD,
	SPW_HOST_DRAIN, SPW_HOST_RECOVER
};

/* Bytes of the segment file that processes lock (open-file-description
 * locks, which the kernel holds until the last I/O of a dead owner is over). */
#define SPW_LOCK_BYTE_DRAINER	0
#define SPW_LOCK_BYTE_GROW	1	/* see begin_growth in seg.c */
#define SPW_LOCK_BYTE_JOIN	2	/* removing it, see proc.c */

/* Owner words of pool items. */
#define SPW_FREE	0u
#define SPW_OWNER(lane)	((lane) + 1u)	/* a spare, or being set up, there */
#define SPW_IN_USE	0x80000000u	/* published; slots: | block */

#endif
