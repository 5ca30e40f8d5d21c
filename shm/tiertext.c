/* SPDX-License-Identifier: BSD-3-Clause */
/* tiertext.c -- the list of tiers written out again, with nothing left open */
#include <errno.h>

#include "shm/text.h"
#include "shm/tierspec.h"

static void
put_escaped(struct spw_text *t, const char *s)
{
	static const char hex[] = "0123456789ABCDEF";

	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if (c > ' ' && c < 0x7f && c != '%' && c != '@' && c != '+' &&
		    c != '$') {
			spw_text_putc(t, (char)c);
			continue;
		}
		spw_text_putc(t, '%');
		spw_text_putc(t, hex[c >> 4]);
		spw_text_putc(t, hex[c & 15]);
	}
}

static void
put_tier(struct spw_text *t, const struct spw_tierlist *list,
	 const struct spw_tierspec *tier)
{
	if (t->len)
		spw_text_putc(t, ' ');
	spw_text_fmt(t, "%s:", spw_tierspec_kind_name(tier->kind));
	put_escaped(t, spw_tierspec_place(list, tier));
	if (tier->capacity)
		spw_text_fmt(t, "@%lB", tier->capacity);
	if (tier->codec != SPW_PIN_NONE) {
		spw_text_fmt(t, "+%s", spw_tierspec_codec_name(tier->codec));
		if (tier->level != SPW_LEVEL_DEFAULT)
			spw_text_fmt(t, "=%d", tier->level);
	}
	for (int i = 0; i < SPW_KEYS; i++) {
		const char *value = spw_tierspec_value(list, tier, i);

		if (!value)
			continue;
		spw_text_fmt(t, "+%s=", spw_tierspec_key_name(i));
		put_escaped(t, value);
	}
}

int
spw_tierspec_write(const struct spw_tierlist *list, char *buf, size_t cap)
{
	struct spw_text t;

	spw_text_init(&t, buf, cap);
	for (unsigned i = 0; i < list->n; i++)
		if (list->tier[i].kind != SPW_KIND_RAM)
			put_tier(&t, list, &list->tier[i]);
	return t.cut ? -ENAMETOOLONG : 0;
}

uint64_t
spw_tierspec_below(const struct spw_tierlist *list)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < list->n; i++)
		if (list->tier[i].kind != SPW_KIND_RAM)
			sum += list->tier[i].capacity;
	return sum;
}
