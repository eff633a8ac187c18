// What the C files of the sandbox share. A le_state is one Lua state, the
// memory it lives in, and the quotas of its current run.
#ifndef LUAEVAL_SANDBOX_H
#define LUAEVAL_SANDBOX_H

#include <lauxlib.h>
#include <lua.h>
#include <stdatomic.h>

#include "eval.h"

#define LE_SMALL 1024                    // blocks up to here are always of the arena
#define LE_MEDIUM (32 << 10)             // … and up to here while it has room; larger ones are mappings of their own,
                                         // of which the last page is half empty: 6 % of the smallest
#define LE_CLASSES (LE_SMALL / 16 + 1 + 5 * 4)  // free lists: see class_of
#define LE_HOOK 128                      // instructions between two looks at the quotas: 0.3 µs apart, 4 % of the speed
#define LE_HOOK_NEAR 16                  // the same once LE_LOTS bytes are held, when one instruction can
#define LE_LOTS (2 << 20)                // take long: comparing texts of zero bytes takes 5 ms per MiB
#define LE_DEPTH 200                     // nesting of JSON, as deep as Lua nests C calls
#define LE_OUTPUT (8 << 20)              // bytes of JSON a script may return: the default message limit

struct le_block;

// The allocator's position. It is saved with the image.
typedef struct {
	char *next;                   // first byte of the arena never handed out since the image
	size_t live;                  // bytes that Lua holds
	void *free[LE_CLASSES];       // freed blocks, by size class
} le_heap;

struct le_state {
	lua_State *L;
	lua_State *current;           // the coroutine that runs, NULL before the first run
	// memory
	char *arena, *arena_end;      // reserved addresses
	char *reach;                  // end of the writable part of the arena
	le_heap heap, sealed;         // sealed is heap as it was when the image was taken
	char *image;                  // copy of the arena, NULL until le_new ends
	struct le_block *large;       // the large blocks, in a list
	size_t quota;
	size_t held;                  // bytes taken from the system
	int idle;                     // it waits for its next use
	int denied;                   // refused requests in this run
	int starved;                  // LE_MEMORY_SHARED or LE_MEMORY_ALL if the last of them was within the quota
	// quotas of the run
	int64_t steps, limit, check;  // steps so far, their limit, and when to look at the flags again
	atomic_int stop;              // set by le_stop
	int end;                      // LE_MEMORY, LE_STEPS or LE_STOPPED once the run must end; never taken back
	int line;                     // the line that ran then, or raised the error, or 0
	int closing;                  // coroutines being closed inside one another
	int raised;                   // the script called error or assert, and nothing caught it
	// result
	int status;
	char *out;
	size_t out_len, out_cap;
	char message[1024];
};

// arena.c
int le_arena_init(le_state *s);
void le_arena_free(le_state *s);
int le_arena_seal(le_state *s);
void le_arena_reset(le_state *s);
int le_out_grow(le_state *s, size_t n);
void le_out_free(le_state *s);
void *le_alloc(void *ud, void *ptr, size_t osize, size_t nsize);

// limits.c: steps, and the end that no script can catch
le_state *le_of(lua_State *L);
void le_hook(lua_State *L, lua_Debug *ar);
void le_pace(lua_State *L, le_state *s);
void le_check(lua_State *L, le_state *s);
_Noreturn void le_raise(lua_State *L, int end);
void le_note_line(lua_State *L, le_state *s);
int le_ended(lua_State *L, int status);

// le_charge counts n steps of work done outside the virtual machine.
static inline void le_charge(lua_State *L, le_state *s, int64_t n) {
	s->steps += n;
	if (s->steps >= s->check) le_check(L, s);
}

// pattern.c: Lua patterns, with every comparison charged
#define LE_CAPTURES 32        // as in Lua
#define LE_OPEN (-1)          // length of a capture that isn't closed yet
#define LE_POSITION (-2)      // length of a position capture

typedef struct {
	lua_State *L;
	le_state *s;
	const char *src, *src_end;
	const char *pat_end;
	int level;                // captures so far
	int depth;                // nested calls of the matcher
	struct {
		const char *start;
		ptrdiff_t len;
	} capture[LE_CAPTURES];
} le_match;

// le_match_here matches the pattern at p against the text that begins at t, and
// returns the end of the match, or NULL.
const char *le_match_here(le_match *m, const char *t, const char *p);

// protect.c, strings.c, tables.c: the sandbox's own library functions
extern const luaL_Reg le_base_funcs[], le_coroutine_funcs[], le_string_funcs[], le_table_funcs[];

// text.c
int le_tostring(lua_State *L);
int le_format(lua_State *L);

// environment.c
int le_open(lua_State *L);

// json_decode.c, json_encode.c
extern const char le_null;    // its address is the value null
extern const char le_array;   // its address is the registry key of the array metatable
void le_decode(lua_State *L, le_state *s, const char *name, const char *text, size_t len);
void le_encode(lua_State *L, le_state *s, int verdict);

#endif
