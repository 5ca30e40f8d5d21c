/* SPDX-License-Identifier: BSD-3-Clause */
/* diag.c -- a message to the user: cause, caret, hint and a stable code */

#include "shm/diag.h"

#include "shm/sys.h"
#include "shm/secret.h"

#include <errno.h>
#include <string.h>

#define SHOWN 88			/* columns of offending text */
#define BEFORE 48			/* of them kept before the caret */

static const char *const code_names[SPW_CODES] = {
	[SPW_NO_CODE] = "",
#define SPW_DIAG_NAME(name) [SPW_##name] = #name,
	SPW_DIAG_CODES(SPW_DIAG_NAME)
};

const char *
spw_diag_code_name(enum spw_code code)
{
	return code_names[code];
}

const char *
spw_diag_errno(int err)
{
	static const struct { int err; const char *text; } known[] = {
		{ EPERM, "Operation not permitted" },
		{ ENOENT, "No such file or directory" },
		{ EIO, "Input/output error" },
		{ E2BIG, "Argument list too long" },
		{ EAGAIN, "Resource temporarily unavailable" },
		{ ENOMEM, "Cannot allocate memory" },
		{ EACCES, "Permission denied" },
		{ EBUSY, "Device or resource busy" },
		{ EEXIST, "File exists" },
		{ ENODEV, "No such device" },
		{ ENOTDIR, "Not a directory" },
		{ EISDIR, "Is a directory" },
		{ EINVAL, "Invalid argument" },
		{ ENFILE, "Too many open files in system" },
		{ EMFILE, "Too many open files" },
		{ ETXTBSY, "Text file busy" },
		{ EFBIG, "File too large" },
		{ ENOSPC, "No space left on device" },
		{ EROFS, "Read-only file system" },
		{ ENAMETOOLONG, "File name too long" },
		{ ENOSYS, "Function not implemented" },
		{ ELOOP, "Too many levels of symbolic links" },
		{ ENOTSUP, "Operation not supported" },
		{ ENOTCONN, "Transport endpoint is not connected" },
		{ ESTALE, "Stale file handle" },
		{ EUCLEAN, "Structure needs cleaning" },
		{ EDQUOT, "Disk quota exceeded" },
		{ ETIMEDOUT, "Connection timed out" },
		{ ELIBACC, "Can not access a needed shared library" },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i].err == (err < 0 ? -err : err))
			return known[i].text;
	return "the system refused";
}

void
spw_diag_begin(struct spw_diag *d, enum spw_severity severity,
	       enum spw_code code)
{
	memset(d, 0, sizeof(*d));
	d->severity = severity;
	d->code = code;
}

/* Append to a field; what does not fit ends in dots. */
static void
append(char *field, size_t cap, const char *fmt, va_list ap)
{
	struct spw_text t = { .at = field, .len = strlen(field), .cap = cap };

	spw_text_vfmt(&t, fmt, ap);
	if (t.cut && t.len >= 3)
		memcpy(field + t.len - 3, "...", 3);
}

#define APPEND(field) \
	do { \
		va_list ap; \
		va_start(ap, fmt); \
		append(field, sizeof(field), fmt, ap); \
		va_end(ap); \
	} while (0)

void
spw_diag_subject(struct spw_diag *d, const char *fmt, ...)
{
	APPEND(d->subject);
}

void
spw_diag_cause(struct spw_diag *d, const char *fmt, ...)
{
	APPEND(d->cause);
}

void
spw_diag_hint(struct spw_diag *d, const char *fmt, ...)
{
	APPEND(d->hint);
}

/* One character of the text, safe to show; returns the bytes it took. */
static size_t
put_char(struct spw_text *t, const char *s, size_t n, unsigned *columns)
{
	size_t len = spw_text_char(s, n), before = t->len;

	if (*s == '\n' || *s == '\t' || *s == '\r') {
		spw_text_putc(t, ' ');
		len = 1;
	} else {
		spw_text_escaped(t, s, len ? len : 1);
	}
	/* a whole character is one column, an escaped byte is four */
	*columns += len ? t->len > before : t->len - before;
	return len ? len : 1;
}

static bool
continues_char(char c)
{
	return (c & 0xc0) == 0x80;
}

void
spw_diag_text(struct spw_diag *d, const char *s, size_t n, size_t at,
	      size_t len)
{
	size_t start = n > SHOWN && at > BEFORE ? at - BEFORE : 0;
	size_t mask_at = n, mask_len = 0, i;
	unsigned columns = 0, caret_end = 0;
	struct spw_text t;

	spw_text_init(&t, d->text, sizeof(d->text) - 3);
	while (start && start < n && continues_char(s[start]))
		start++;
	if (start) {
		spw_text_put(&t, "...");
		columns = 3;
	}
	d->caret = columns;
	if (!spw_secret_find(s, n, 0, &mask_at, &mask_len))
		mask_at = n;
	for (i = 0; i < n;) {
		if (i <= at)
			d->caret = columns;
		if (i == mask_at) {
			if (i + mask_len > start) {
				spw_text_put(&t, "***");
				columns += 3;
			}
			i += mask_len;
			if (!spw_secret_find(s, n, i, &mask_at, &mask_len))
				mask_at = n;
		} else if (i < start) {
			i++;
		} else {
			i += put_char(&t, s + i, n - i, &columns);
		}
		if (i <= at + len || !caret_end)
			caret_end = columns;
		if (columns >= SHOWN && i < n)
			break;
	}
	if (at >= i)
		d->caret = caret_end = columns;
	if (i < n) {
		t.cap = sizeof(d->text);
		spw_text_put(&t, "...");
	}
	d->width = caret_end > d->caret ? caret_end - d->caret : 1;
}

static void
put_heading(const struct spw_diag *d, bool color, struct spw_text *t)
{
	bool error = d->severity == SPW_ERROR;

	spw_text_put(t, "spillway: ");
	if (color)
		spw_text_put(t, error ? "\033[1;31m" : "\033[1;33m");
	spw_text_put(t, error ? "error: " : "warning: ");
	if (color)
		spw_text_put(t, "\033[0m");
	if (d->subject[0]) {
		spw_text_put(t, d->subject);
		spw_text_put(t, ": ");
	}
	spw_text_put(t, d->cause);
}

static void
put_code(const struct spw_diag *d, struct spw_text *t)
{
	if (d->code)
		spw_text_fmt(t, "  [%s]", spw_diag_code_name(d->code));
}

size_t
spw_diag_format(const struct spw_diag *d, bool color, char *ret_buf,
		size_t cap)
{
	struct spw_text t;

	spw_text_init(&t, ret_buf, cap);
	put_heading(d, color, &t);
	if (d->text[0]) {
		spw_text_fmt(&t, "\n    %s\n    ", d->text);
		for (unsigned i = 0; i < d->caret; i++)
			spw_text_putc(&t, ' ');
		for (unsigned i = 0; i < d->width; i++)
			spw_text_putc(&t, '^');
	}
	if (d->hint[0])
		spw_text_fmt(&t, "\n    hint: %s", d->hint);
	put_code(d, &t);
	spw_text_putc(&t, '\n');
	return t.len;
}

size_t
spw_diag_oneline(const struct spw_diag *d, const char *consequence,
		 char *ret_buf, size_t cap)
{
	struct spw_text t;

	spw_text_init(&t, ret_buf, cap);
	put_heading(d, false, &t);
	if (consequence)
		spw_text_fmt(&t, "; %s", consequence);
	put_code(d, &t);
	spw_text_putc(&t, '\n');
	return t.len;
}

static void
write_out(int fd, const char *buf, size_t n)
{
	while (n) {
		ssize_t r = spw_sys_write(fd, buf, n);

		if (r == -EINTR)
			continue;
		if (r <= 0)
			return;		/* nowhere left to complain to */
		buf += r;
		n -= r;
	}
}

void
spw_diag_print(const struct spw_diag *d, bool color, int fd)
{
	char buf[SPW_DIAG_MAX];

	if (d->severity != SPW_SILENT)
		write_out(fd, buf, spw_diag_format(d, color, buf,
						   sizeof(buf)));
}

void
spw_diags_print(const struct spw_diags *all, bool color, int fd)
{
	char buf[80];
	struct spw_text t;

	for (unsigned i = 0; i < all->n; i++)
		spw_diag_print(&all->at[i], color, fd);
	if (!all->dropped)
		return;
	spw_text_init(&t, buf, sizeof(buf));
	spw_text_fmt(&t, "spillway: warning: %u more like these\n",
		     all->dropped);
	write_out(fd, buf, t.len);
}

struct spw_diag *
spw_diags_add(struct spw_diags *all)
{
	const unsigned room = sizeof(all->at) / sizeof(all->at[0]);

	if (all->n < room)
		return &all->at[all->n++];
	all->dropped++;
	return &all->at[room - 1];
}
