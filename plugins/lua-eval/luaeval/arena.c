//go:build cgo && lua54

// Memory of one Lua state. Small blocks come from one reserved range of
// addresses, the arena. Once the state is ready its used part is copied: the
// image. Copying the image back makes every pointer and every byte what it was,
// so a run can leave nothing behind for the next. Large blocks of a run come
// from malloc and are freed by the reset.
//
//	arena │ image (about 30 KiB) │ small blocks of the run │ out of reach │
//
// Only what is in use can be written: a limit on data (RLIMIT_DATA) counts all
// writable pages, touched or not, and would count each state's quota otherwise.
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "sandbox.h"

#define KEEP (256 << 10)        // bytes beyond the image that stay in reach between runs
#define GROW (256 << 10)        // bytes that come into reach at a time: a system call for each
#define PAGE ((uintptr_t)4095)  // of every system this builds on, or a divisor of its pages
#define SLACK (1 << 20)         // bytes beyond the quota for unwinding a run that ended
#define LARGE_AT_END 4096       // a run that ended gets no more blocks above this
#define DENIALS 8               // refusals after which the run ends: each one costs a full collection

typedef struct le_block {
	struct le_block *prev, *next;
} le_block;

int le_arena_init(le_state *s) {
	size_t size = s->quota + SLACK;
	void *p = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED) return 0;
	s->arena = s->reach = s->heap.next = p;
	s->arena_end = s->arena + size;
	return 1;
}

// reach makes n more bytes of the arena writable.
static int reach(le_state *s, size_t n) {
	if (n > (size_t)(s->arena_end - s->heap.next)) return 0;
	if (n <= (size_t)(s->reach - s->heap.next)) return 1;
	size_t left = (size_t)(s->arena_end - s->reach), more = (n + GROW - 1) / GROW * GROW;
	if (more > left) more = left;
	if (mprotect(s->reach, more, PROT_READ | PROT_WRITE) != 0) return 0;
	s->reach += more;
	return 1;
}

// withdraw gives the pages from KEEP bytes behind the image on back to the system.
static void withdraw(le_state *s) {
	char *from = (char *)(((uintptr_t)s->sealed.next + KEEP + PAGE) & ~PAGE);
	if (s->reach <= from) return;
	void *p = mmap(from, (size_t)(s->reach - from), PROT_NONE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
	if (p != MAP_FAILED) s->reach = from;
}

static void free_large(le_state *s) {
	for (le_block *b = s->large; b != NULL;) {
		le_block *next = b->next;
		free(b);
		b = next;
	}
	s->large = NULL;
}

void le_arena_free(le_state *s) {
	free_large(s);
	free(s->image);
	if (s->arena != NULL) munmap(s->arena, (size_t)(s->arena_end - s->arena));
}

int le_arena_seal(le_state *s) {
	size_t used = (size_t)(s->heap.next - s->arena);
	s->image = malloc(used);
	if (s->image == NULL) return 0;
	memcpy(s->image, s->arena, used);
	s->sealed = s->heap;
	return 1;
}

void le_arena_reset(le_state *s) {
	size_t used = (size_t)(s->sealed.next - s->arena);
	withdraw(s);
	free_large(s);
	memcpy(s->arena, s->image, used);
	s->heap = s->sealed;
	s->denied = 0;
}

static int in_arena(le_state *s, void *p) { return (char *)p >= s->arena && (char *)p < s->arena_end; }

static size_t class_of(size_t n) { return (n + 15) / 16; }

static void link_block(le_state *s, le_block *b) {
	if (b->prev != NULL) b->prev->next = b;
	else s->large = b;
	if (b->next != NULL) b->next->prev = b;
}

static void *take_large(le_state *s, size_t n) {
	le_block *b = malloc(sizeof *b + n);
	if (b == NULL) return NULL;
	b->prev = NULL;
	b->next = s->large;
	link_block(s, b);
	return b + 1;
}

// grow_large lets the system move a large block's pages instead of copying.
static void *grow_large(le_state *s, void *ptr, size_t n) {
	le_block *b = realloc((le_block *)ptr - 1, sizeof *b + n);
	if (b == NULL) return NULL;
	link_block(s, b);
	return b + 1;
}

// take serves n bytes: before the image all from the arena, since a copy of it
// must be the whole state.
static void *take(le_state *s, size_t n) {
	size_t rounded = class_of(n) * 16;
	if (n <= LE_SMALL) {
		void *p = s->heap.free[class_of(n)];
		if (p != NULL) {
			s->heap.free[class_of(n)] = *(void **)p;
			return p;
		}
	}
	if ((n <= LE_SMALL || s->image == NULL) && reach(s, rounded)) {
		void *p = s->heap.next;
		s->heap.next += rounded;
		return p;
	}
	return s->image == NULL ? NULL : take_large(s, n);
}

static void give(le_state *s, void *p, size_t n) {
	if (in_arena(s, p)) {
		if (n > LE_SMALL) return;  // of the image, where large blocks aren't reused
		*(void **)p = s->heap.free[class_of(n)];
		s->heap.free[class_of(n)] = p;
		return;
	}
	le_block *b = (le_block *)p - 1;
	if (b->prev != NULL) b->prev->next = b->next;
	else s->large = b->next;
	if (b->next != NULL) b->next->prev = b->prev;
	free(b);
}

// refuse holds the quotas. A run that must end still gets the little memory
// that its unwinding takes, so that no handler of the script sees a failure.
static int refuse(le_state *s, size_t more, size_t n) {
	int ending = s->end != LE_OK || atomic_load_explicit(&s->stop, memory_order_relaxed);
	if (s->heap.live + more <= s->quota + (ending ? SLACK : 0) && !(ending && n > LARGE_AT_END)) return 0;
	if (s->end == LE_OK && s->current != NULL) le_note_line(s->current, s);
	if (ending) return 1;
	if (++s->denied >= DENIALS) s->end = LE_MEMORY;
	return 1;
}

// le_alloc is Lua's allocator (lua_Alloc).
void *le_alloc(void *ud, void *ptr, size_t osize, size_t nsize) {
	le_state *s = ud;
	if (ptr == NULL) osize = 0;  // Lua passes the kind of object there
	if (nsize == 0) {
		if (ptr != NULL) give(s, ptr, osize);
		s->heap.live -= osize;
		return NULL;
	}
	if (nsize > osize) {
		if (refuse(s, nsize - osize, nsize)) return NULL;
		s->steps += (int64_t)((nsize - osize) / 16);  // the hook looks at it soon
	}
	if (ptr != NULL && nsize <= LE_SMALL && osize <= LE_SMALL && class_of(nsize) == class_of(osize)) {
		s->heap.live += nsize - osize;
		return ptr;
	}
	void *p;
	if (ptr != NULL && nsize > LE_SMALL && !in_arena(s, ptr)) {
		p = grow_large(s, ptr, nsize);
	} else if ((p = take(s, nsize)) != NULL && ptr != NULL) {
		memcpy(p, ptr, osize < nsize ? osize : nsize);
		give(s, ptr, osize);
	}
	if (p == NULL && nsize <= osize) p = ptr;  // Lua counts on shrinking; the block just stays larger
	if (p == NULL) return NULL;
	int few = s->heap.live < LE_LOTS;
	s->heap.live += nsize - osize;
	if (few && s->heap.live >= LE_LOTS && s->current != NULL) le_pace(s->current, s);
	return p;
}
