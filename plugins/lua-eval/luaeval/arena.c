//go:build cgo && lua54

// Memory of one Lua state. Small blocks come from one reserved range of
// addresses, the arena. Once the state is ready its used part is copied: the
// image. Copying the image back makes every pointer and every byte what it was,
// so a run can leave nothing behind for the next. Large blocks of a run are
// mappings of their own, which the reset gives back to the system.
//
//	arena │ image (about 30 KiB) │ small blocks of the run │ out of reach │
//
// Only what is in use can be written: a limit on data (RLIMIT_DATA) counts all
// writable pages, touched or not, and would count each state's quota otherwise.
// For the same reason nothing here comes from malloc, which keeps what is freed:
// one script after another would leave the process a little closer to its limit.
//
// All states share the memory of the process. Each running state may have `floor`
// bytes whatever the others hold, and only what it takes beyond that comes from
// the part that all share. So a script that takes all it can get ends neither the
// process nor the scripts next to it.
#define _GNU_SOURCE
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
	size_t bytes;  // with this header
	size_t unused; // what follows is aligned to 16 bytes
} le_block;

// The shares of the process's memory, set before the first state; by default there
// is no limit. claimed is what all running states hold beyond their floors, idle is
// what the states hold that wait for their next use.
static int64_t floor_bytes = INT64_MAX, shared_bytes = INT64_MAX, idle_bytes = INT64_MAX;
static _Atomic int64_t claimed, idle;

void le_share(int64_t floor, int64_t shared, int64_t waiting) {
	floor_bytes = floor;
	shared_bytes = shared;
	idle_bytes = waiting;
}

static int64_t beyond(size_t held) { return (int64_t)held > floor_bytes ? (int64_t)held - floor_bytes : 0; }

// claim counts n more bytes of the state, unless the other states leave no room for
// them. A run that must end gets the little that its unwinding takes.
static int claim(le_state *s, size_t n) {
	int64_t more = beyond(s->held + n) - beyond(s->held);
	if (more > 0 && atomic_fetch_add(&claimed, more) + more > shared_bytes && s->end == LE_OK) {
		atomic_fetch_sub(&claimed, more);
		s->starved = beyond(s->held + n) > shared_bytes ? LE_MEMORY_ALL : LE_MEMORY_SHARED;
		return 0;
	}
	s->held += n;
	return 1;
}

static void unclaim(le_state *s, size_t n) {
	int64_t less = beyond(s->held) - beyond(s->held - n);
	if (less > 0) atomic_fetch_sub(&claimed, less);
	s->held -= n;
}

// rest records that a state waits for its next use. It returns 0, and the state must
// be freed, if the waiting states hold enough.
int le_rest(le_state *s) {
	int64_t held = (int64_t)s->held;
	if (atomic_fetch_add(&idle, held) + held > idle_bytes) {
		atomic_fetch_sub(&idle, held);
		return 0;
	}
	atomic_fetch_sub(&claimed, beyond(s->held));
	s->idle = 1;
	return 1;
}

void le_wake(le_state *s) {
	if (!s->idle) return;
	s->idle = 0;
	atomic_fetch_sub(&idle, (int64_t)s->held);
	atomic_fetch_add(&claimed, beyond(s->held));
}

static size_t pages(size_t n) { return (n + PAGE) & ~(size_t)PAGE; }

// map takes n bytes of whole pages from the system, and unmap gives them back.
static void *map(le_state *s, size_t n) {
	n = pages(n);
	if (!claim(s, n)) return NULL;
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p != MAP_FAILED) return p;
	unclaim(s, n);
	s->starved = LE_MEMORY_SHARED;
	return NULL;
}

static void unmap(le_state *s, void *p, size_t n) {
	if (p == NULL || munmap(p, pages(n)) != 0) return;
	unclaim(s, pages(n));
}

// remap lets the system move a mapping's pages instead of copying them.
static void *remap(le_state *s, void *old, size_t from, size_t to) {
	from = pages(from);
	to = pages(to);
	if (from == to) return old;
	if (to > from && !claim(s, to - from)) return NULL;
#ifdef MREMAP_MAYMOVE
	void *p = mremap(old, from, to, MREMAP_MAYMOVE);
#else
	void *p = mmap(NULL, to, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p != MAP_FAILED) {
		memcpy(p, old, from < to ? from : to);
		munmap(old, from);
	}
#endif
	if (to < from && p != MAP_FAILED) unclaim(s, from - to);
	if (p != MAP_FAILED) return p;
	if (to > from) unclaim(s, to - from);
	s->starved = LE_MEMORY_SHARED;
	return NULL;
}

// le_out_grow makes the buffer of the output at least n bytes large.
int le_out_grow(le_state *s, size_t n) {
	size_t cap = s->out_cap * 2 > n ? s->out_cap * 2 : n;
	char *p = s->out == NULL ? map(s, cap) : remap(s, s->out, s->out_cap, cap);
	if (p == NULL) return 0;
	s->out = p;
	s->out_cap = pages(cap);
	return 1;
}

void le_out_free(le_state *s) {
	unmap(s, s->out, s->out_cap);
	s->out = NULL;
	s->out_cap = 0;
}

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
	if (!claim(s, more)) return 0;
	if (mprotect(s->reach, more, PROT_READ | PROT_WRITE) != 0) {
		unclaim(s, more);
		s->starved = LE_MEMORY_SHARED;
		return 0;
	}
	s->reach += more;
	return 1;
}

// withdraw gives the pages from KEEP bytes behind the image on back to the system.
static void withdraw(le_state *s) {
	char *from = (char *)(((uintptr_t)s->sealed.next + KEEP + PAGE) & ~PAGE);
	if (s->reach <= from) return;
	void *p = mmap(from, (size_t)(s->reach - from), PROT_NONE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
	if (p == MAP_FAILED) return;
	unclaim(s, (size_t)(s->reach - from));
	s->reach = from;
}

static void free_large(le_state *s) {
	for (le_block *b = s->large; b != NULL;) {
		le_block *next = b->next;
		unmap(s, b, b->bytes);
		b = next;
	}
	s->large = NULL;
}

void le_arena_free(le_state *s) {
	free_large(s);
	unmap(s, s->image, (size_t)(s->sealed.next - s->arena));
	if (s->arena == NULL) return;
	unclaim(s, (size_t)(s->reach - s->arena));
	munmap(s->arena, (size_t)(s->arena_end - s->arena));
}

int le_arena_seal(le_state *s) {
	size_t used = (size_t)(s->heap.next - s->arena);
	s->image = map(s, used);
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
	s->denied = s->starved = 0;
}

static int in_arena(le_state *s, void *p) { return (char *)p >= s->arena && (char *)p < s->arena_end; }

// class_of returns a block's free list: one for every 16 bytes of a small block, and
// four for every doubling of a medium one.
static size_t class_of(size_t n) {
	if (n <= LE_SMALL) return (n + 15) / 16;
	size_t top = (size_t)(63 - __builtin_clzll(n - 1));
	return LE_SMALL / 16 + 1 + (top - 10) * 4 + ((n - 1) >> (top - 2) & 3);
}

// rounded returns the bytes that each block of n's class has.
static size_t rounded(size_t n) {
	if (n <= LE_SMALL) return (n + 15) / 16 * 16;
	size_t step = (size_t)(61 - __builtin_clzll(n - 1));
	return (((n - 1) >> step) + 1) << step;
}

static void link_block(le_state *s, le_block *b) {
	if (b->prev != NULL) b->prev->next = b;
	else s->large = b;
	if (b->next != NULL) b->next->prev = b;
}

static void *take_large(le_state *s, size_t n) {
	le_block *b = map(s, sizeof *b + n);
	if (b == NULL) return NULL;
	b->bytes = sizeof *b + n;
	b->prev = NULL;
	b->next = s->large;
	link_block(s, b);
	return b + 1;
}

static void *resize_large(le_state *s, void *ptr, size_t n) {
	le_block *b = (le_block *)ptr - 1;
	b = remap(s, b, b->bytes, sizeof *b + n);
	if (b == NULL) return NULL;
	b->bytes = sizeof *b + n;
	link_block(s, b);
	return b + 1;
}

// take serves n bytes: before the image all from the arena, since a copy of it
// must be the whole state.
static void *take(le_state *s, size_t n) {
	if (n <= LE_MEDIUM) {
		void *p = s->heap.free[class_of(n)];
		if (p != NULL) {
			s->heap.free[class_of(n)] = *(void **)p;
			return p;
		}
	}
	size_t whole = n <= LE_MEDIUM ? rounded(n) : (n + 15) / 16 * 16;
	if ((n <= LE_MEDIUM || s->image == NULL) && reach(s, whole)) {
		void *p = s->heap.next;
		s->heap.next += whole;
		return p;
	}
	return n <= LE_SMALL || s->image == NULL ? NULL : take_large(s, n);
}

static void give(le_state *s, void *p, size_t n) {
	if (in_arena(s, p)) {
		if (n > LE_MEDIUM) return;  // of the image, where large blocks aren't reused
		*(void **)p = s->heap.free[class_of(n)];
		s->heap.free[class_of(n)] = p;
		return;
	}
	le_block *b = (le_block *)p - 1;
	if (b->prev != NULL) b->prev->next = b->next;
	else s->large = b->next;
	if (b->next != NULL) b->next->prev = b->prev;
	unmap(s, b, b->bytes);
}

// denied counts a request that the quota or the system refused.
static void denied(le_state *s) {
	if (s->end != LE_OK || atomic_load_explicit(&s->stop, memory_order_relaxed)) return;
	if (s->current != NULL) le_note_line(s->current, s);
	if (++s->denied >= DENIALS) s->end = LE_MEMORY;
}

// refuse holds the quotas. A run that must end still gets the little memory
// that its unwinding takes, so that no handler of the script sees a failure.
static int refuse(le_state *s, size_t more, size_t n) {
	int ending = s->end != LE_OK || atomic_load_explicit(&s->stop, memory_order_relaxed);
	if (s->heap.live + more <= s->quota + (ending ? SLACK : 0) && !(ending && n > LARGE_AT_END)) return 0;
	s->starved = 0;
	denied(s);
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
	int inside = ptr != NULL && in_arena(s, ptr);
	if (inside && nsize <= LE_MEDIUM && osize <= LE_MEDIUM && class_of(nsize) == class_of(osize)) {
		s->heap.live += nsize - osize;
		return ptr;
	}
	void *p;
	if (ptr != NULL && nsize > LE_SMALL && !inside) {
		p = resize_large(s, ptr, nsize);
	} else if ((p = take(s, nsize)) != NULL && ptr != NULL) {
		memcpy(p, ptr, osize < nsize ? osize : nsize);
		give(s, ptr, osize);
	}
	if (p == NULL && nsize <= osize) p = ptr;  // Lua counts on shrinking; the block just stays larger
	if (p == NULL) {
		denied(s);
		return NULL;
	}
	int few = s->heap.live < LE_LOTS;
	s->heap.live += nsize - osize;
	if (few && s->heap.live >= LE_LOTS && s->current != NULL) le_pace(s->current, s);
	return p;
}
