/* SPDX-License-Identifier: BSD-3-Clause */
/* powercut-work.c -- what a rank does to its files, known beforehand */

#include "tests/powercut-work.h"

#include <stdio.h>
#include <string.h>

static uint64_t
draw(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

void
work_begin(struct work *w, uint64_t seed, unsigned rank)
{
	*w = (struct work){ .rank = rank, .rng = seed * 1000003 + rank };
	(void)draw(&w->rng);
}

uint8_t
work_byte(unsigned rank, unsigned file, unsigned step, uint64_t off)
{
	uint64_t h = (uint64_t)step * 2654435761u + file * 40503u +
		     rank * 97u;

	return (uint8_t)((h ^ h >> 17) % 251 + off * 7 + off / 512 * 13) % 255
	       + 1;
}

void
work_name(const struct work *w, int slot, char ret_name[32])
{
	if (slot == WORK_SHARED)
		snprintf(ret_name, 32, "shared");
	else
		snprintf(ret_name, 32, "rank%u-%d%s", w->rank, slot,
			 w->moved[slot] ? "-moved" : "");
}

uint64_t
work_part(unsigned rank)
{
	return (uint64_t)rank * WORK_SIZE;
}

/* Mostly small, at odd places; some are appended. */
static void
draw_write(struct work *w, struct work_step *s)
{
	uint64_t *size = &w->size[s->slot];
	uint64_t r = draw(&w->rng);

	s->len = 1 + draw(&w->rng) % (r % 8 ? 6000 : 60000);
	s->off = r / 8 % 3 ? draw(&w->rng) % WORK_SIZE : *size;
	if (s->off >= WORK_SIZE)
		s->off = draw(&w->rng) % 4096;
	if (s->len > WORK_SIZE - s->off)
		s->len = WORK_SIZE - s->off;
	if (*size < s->off + s->len)
		*size = s->off + s->len;
}

static void
draw_cut(struct work *w, struct work_step *s)
{
	s->len = draw(&w->rng) % (w->size[s->slot] + 5000);
	if (s->len > WORK_SIZE)
		s->len = WORK_SIZE;
	w->size[s->slot] = s->len;
}

/* Within the file: of one that ends before, nothing is left out. */
static void
draw_punch(struct work *w, struct work_step *s)
{
	s->off = draw(&w->rng) % WORK_SIZE;
	s->len = 1 + draw(&w->rng) % 20000;
	if (s->len > WORK_SIZE - s->off)
		s->len = WORK_SIZE - s->off;
}

static void
replace(struct work *w, struct work_step *s)
{
	s->onto = (int)((unsigned)(s->slot + 1) % WORK_NAMES);
	s->lost = w->file[s->onto];
	w->file[s->onto] = w->file[s->slot];
	w->size[s->onto] = w->size[s->slot];
	w->file[s->slot] = 0;
}

static void
create(struct work *w, struct work_step *s)
{
	s->kind = WORK_CREATE;
	s->file = w->file[s->slot] = ++w->files;
	w->size[s->slot] = 0;
}

static enum work_kind
draw_kind(struct work *w, bool shared)
{
	static const enum work_kind names[] = {
		WORK_CUT, WORK_CUT, WORK_RENAME, WORK_REPLACE, WORK_REMOVE,
	};
	uint64_t r = draw(&w->rng) % 80;

	if (r < 10)
		return shared ? WORK_WRITE : names[r / 2];
	if (r < 22)
		return WORK_FSYNC;
	if (r < 28)
		return WORK_FDATASYNC;
	if (r == 28 && !shared)
		return WORK_HOME;
	if (r < 32)
		return WORK_PUNCH;
	return r < 36 ? WORK_REST : WORK_WRITE;
}

struct work_step
work_next(struct work *w)
{
	struct work_step s = { .number = ++w->number };

	s.slot = (int)(draw(&w->rng) % (WORK_NAMES + 1));
	if (s.slot != WORK_SHARED && !w->file[s.slot]) {
		create(w, &s);
		return s;
	}
	s.file = w->file[s.slot];
	s.kind = draw_kind(w, s.slot == WORK_SHARED);
	if (s.kind == WORK_WRITE)
		draw_write(w, &s);
	else if (s.kind == WORK_CUT)
		draw_cut(w, &s);
	else if (s.kind == WORK_PUNCH)
		draw_punch(w, &s);
	else if (s.kind == WORK_RENAME)
		w->moved[s.slot] = !w->moved[s.slot];
	else if (s.kind == WORK_REPLACE)
		replace(w, &s);
	else if (s.kind == WORK_REMOVE)
		s.lost = w->file[s.slot];
	if (s.kind == WORK_REMOVE)
		w->file[s.slot] = 0;
	return s;
}
