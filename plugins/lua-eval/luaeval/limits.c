//go:build cgo && lua54

// Steps, time, and the end of a run. Once le_state.end is set no Lua code of
// the run makes progress any more: the hook raises at every instruction, and
// the sandbox's own pcall, xpcall and coroutine functions pass the end on
// instead of reporting it.
#include "sandbox.h"

#define LOOK 65536  // steps outside the virtual machine between two looks at the stop flag: about 0.2 ms

le_state *le_of(lua_State *L) {
	void *ud;
	lua_getallocf(L, &ud);
	return ud;
}

// le_note_line remembers which line of the script runs.
void le_note_line(lua_State *L, le_state *s) {
	lua_Debug ar;
	s->line = 0;
	for (int level = 0; level < 8 && s->line == 0 && lua_getstack(L, level, &ar); level++)
		if (lua_getinfo(L, "l", &ar) && ar.currentline > 0) s->line = ar.currentline;
}

// le_raise ends the run. The error is a light userdata, since making it must
// not need memory.
void le_raise(lua_State *L, int end) {
	le_state *s = le_of(L);
	if (s->end == LE_OK) {
		s->end = end;
		le_note_line(L, s);
	}
	s->check = 0;
	lua_sethook(L, le_hook, LUA_MASKCOUNT, 1);
	lua_pushlightuserdata(L, s);
	lua_error(L);
	for (;;) {}  // not reached: lua_error doesn't return
}

// le_check looks at everything that can end a run.
void le_check(lua_State *L, le_state *s) {
	if (s->end != LE_OK) le_raise(L, s->end);
	if (atomic_load_explicit(&s->stop, memory_order_relaxed)) le_raise(L, LE_STOPPED);
	if (s->steps >= s->limit) le_raise(L, LE_STEPS);
	s->check = s->steps + LOOK < s->limit ? s->steps + LOOK : s->limit;
}

// le_pace sets how often the hook looks at a coroutine, by what the state holds.
// Like lua_sethook it may be called at any time, also by the allocator.
void le_pace(lua_State *L, le_state *s) {
	int wanted = s->heap.live < LE_LOTS ? LE_HOOK : LE_HOOK_NEAR;
	if (lua_gethookcount(L) != wanted && s->end == LE_OK) lua_sethook(L, le_hook, LUA_MASKCOUNT, wanted);
}

void le_hook(lua_State *L, lua_Debug *ar) {
	(void)ar;
	le_state *s = le_of(L);
	s->steps += lua_gethookcount(L);
	le_pace(L, s);
	if (s->end == LE_OK && s->steps < s->limit && !atomic_load_explicit(&s->stop, memory_order_relaxed)) return;
	le_check(L, s);
}

// le_ended reports whether a protected call's status means that the run is
// over, rather than that the script has an error to look at.
int le_ended(lua_State *L, int status) {
	le_state *s = le_of(L);
	if (status == LUA_ERRMEM && s->end == LE_OK)
		s->end = atomic_load_explicit(&s->stop, memory_order_relaxed) ? LE_STOPPED : LE_MEMORY;
	return s->end != LE_OK;
}
