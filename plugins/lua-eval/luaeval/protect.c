//go:build cgo && lua54

// Functions of the base and coroutine libraries that a script could use to
// outlive its quotas, in versions that can't.
#include "sandbox.h"

#define CLOSING 8   // coroutines being closed inside one another: Lua 5.4.4 doesn't count their C stack
#define SWITCH 100  // steps charged for a coroutine switch: a new one may end before its hook ever runs
#define CAUGHT 200  // steps charged for a caught error: raising and unwinding takes 0.5 µs and more

// finish_pcall returns what pcall and xpcall return; ctx is how many values lie
// below them on the stack.
static int finish_pcall(lua_State *L, int status, lua_KContext ctx) {
	if (status == LUA_OK || status == LUA_YIELD) return lua_gettop(L) - (int)ctx;
	if (le_ended(L, status)) le_raise(L, LE_MEMORY);
	le_charge(L, le_of(L), CAUGHT);
	lua_pushboolean(L, 0);
	lua_insert(L, -2);
	return 2;
}

static int protected_call(lua_State *L) {
	luaL_checkany(L, 1);
	lua_pushboolean(L, 1);
	lua_insert(L, 1);
	return finish_pcall(L, lua_pcallk(L, lua_gettop(L) - 2, LUA_MULTRET, 0, 0, finish_pcall), 0);
}

// handle calls an xpcall's handler (upvalue 1), except for the error that ends
// the run: hooks don't run while that one is raised.
static int handle(lua_State *L) {
	if (le_ended(L, LUA_OK)) return 1;
	lua_pushvalue(L, lua_upvalueindex(1));
	lua_insert(L, 1);
	lua_call(L, lua_gettop(L) - 1, 1);
	return 1;
}

static int handled_call(lua_State *L) {
	luaL_checktype(L, 2, LUA_TFUNCTION);
	lua_pushvalue(L, 2);
	lua_pushcclosure(L, handle, 1);
	lua_replace(L, 2);
	lua_pushboolean(L, 1);
	lua_pushvalue(L, 1);
	lua_rotate(L, 3, 2);  // function, handler, true, function, arguments
	int status = lua_pcallk(L, lua_gettop(L) - 4, LUA_MULTRET, 2, 2, finish_pcall);
	return finish_pcall(L, status, 2);
}

// set_metatable refuses __gc: finalizers run with hooks off.
static int set_metatable(lua_State *L) {
	luaL_checktype(L, 1, LUA_TTABLE);
	luaL_argexpected(L, lua_isnil(L, 2) || lua_istable(L, 2), 2, "nil or table");
	if (luaL_getmetafield(L, 1, "__metatable") != LUA_TNIL)
		return luaL_error(L, "cannot change a protected metatable");
	if (lua_istable(L, 2)) {
		lua_pushliteral(L, "__gc");
		if (lua_rawget(L, 2) != LUA_TNIL) return luaL_error(L, "a metatable with __gc is not allowed");
		lua_pop(L, 1);
	}
	lua_settop(L, 2);
	lua_setmetatable(L, 1);
	return 1;
}

static lua_State *coroutine_at(lua_State *L, int index) {
	lua_State *co = lua_tothread(L, index);
	luaL_argexpected(L, co != NULL, index, "coroutine");
	return co;
}

static void switch_to(le_state *s, lua_State *L) {
	s->current = L;
	le_pace(L, s);
}

// resume moves n arguments to co and runs it. It returns the number of results,
// now on L, or -1 with the error on L.
static int resume(lua_State *L, lua_State *co, int n) {
	int results = 0;
	le_state *s = le_of(L);
	le_charge(L, s, SWITCH);
	if (!lua_checkstack(co, n)) {
		lua_pushliteral(L, "too many arguments to resume");
		return -1;
	}
	lua_xmove(L, co, n);
	switch_to(s, co);
	int status = lua_resume(co, L, n, &results);
	switch_to(s, L);
	if (le_ended(L, status)) le_raise(L, LE_MEMORY);
	if (status != LUA_OK && status != LUA_YIELD) {
		lua_xmove(co, L, 1);
		return -1;
	}
	if (!lua_checkstack(L, results + 1)) {
		lua_pop(co, results);
		lua_pushliteral(L, "too many results to resume");
		return -1;
	}
	lua_xmove(co, L, results);
	return results;
}

static int co_resume(lua_State *L) {
	lua_State *co = coroutine_at(L, 1);
	int n = resume(L, co, lua_gettop(L) - 1);
	lua_pushboolean(L, n >= 0);
	if (n < 0) n = 1;
	lua_insert(L, -(n + 1));
	return n + 1;
}

static int co_create(lua_State *L) {
	luaL_checktype(L, 1, LUA_TFUNCTION);
	le_charge(L, le_of(L), SWITCH);
	lua_State *co = lua_newthread(L);  // it inherits the hook
	lua_pushvalue(L, 1);
	lua_xmove(L, co, 1);
	return 1;
}

// close_thread runs the pending to-be-closed variables of a coroutine.
static int close_thread(lua_State *L, lua_State *co) {
	le_state *s = le_of(L);
	le_charge(L, s, SWITCH);
	if (s->closing >= CLOSING) return luaL_error(L, "more than %d coroutines are being closed inside one another", CLOSING);
	s->closing++;
	switch_to(s, co);
	int status = lua_resetthread(co);
	switch_to(s, L);
	s->closing--;
	if (le_ended(L, status)) le_raise(L, LE_MEMORY);
	return status;
}

// call_wrapped is the function that wrap returns. Like Lua's own it closes a
// coroutine that failed, and says in a text error where it was called.
static int call_wrapped(lua_State *L) {
	lua_State *co = lua_tothread(L, lua_upvalueindex(1));
	int n = resume(L, co, lua_gettop(L));
	if (n >= 0) return n;
	int status = lua_status(co);
	if (status != LUA_OK && status != LUA_YIELD) {
		status = close_thread(L, co);
		if (status != LUA_OK) lua_xmove(co, L, 1);
	}
	if (lua_type(L, -1) == LUA_TSTRING) {
		luaL_where(L, 1);
		lua_insert(L, -2);
		lua_concat(L, 2);
	}
	return lua_error(L);
}

static int co_wrap(lua_State *L) {
	co_create(L);
	lua_pushcclosure(L, call_wrapped, 1);
	return 1;
}

static int co_close(lua_State *L) {
	lua_State *co = coroutine_at(L, 1);
	lua_Debug ar;
	int status = lua_status(co);
	int suspended = status == LUA_YIELD || (status == LUA_OK && lua_getstack(co, 0, &ar) == 0);
	if (co == L || (!suspended && status == LUA_OK))
		return luaL_error(L, "cannot close a %s coroutine", co == L ? "running" : "normal");
	status = close_thread(L, co);
	lua_pushboolean(L, status == LUA_OK);
	if (status == LUA_OK) return 1;
	lua_xmove(co, L, 1);
	return 2;
}

const luaL_Reg le_base_funcs[] = {
	{"pcall", protected_call}, {"xpcall", handled_call}, {"setmetatable", set_metatable}, {"tostring", le_tostring}, {NULL, NULL}};
const luaL_Reg le_coroutine_funcs[] = {
	{"close", co_close}, {"create", co_create}, {"resume", co_resume}, {"wrap", co_wrap}, {NULL, NULL}};
