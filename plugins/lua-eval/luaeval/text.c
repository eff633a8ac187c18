//go:build cgo && lua54

// Texts of values, without the addresses by which Lua shows tables, functions and
// threads: they differ from one process to the next, and so would verdicts and
// the digests of prompts that hold them.
#include <string.h>

#include "sandbox.h"

// show leaves what tostring shows of a value: its type where Lua shows an address.
static void show(lua_State *L, int at) {
	int type = lua_type(L, at);
	int plain = type != LUA_TTABLE && type != LUA_TFUNCTION && type != LUA_TTHREAD && type != LUA_TUSERDATA && type != LUA_TLIGHTUSERDATA;
	if (!plain && luaL_getmetafield(L, at, "__tostring") != LUA_TNIL) {
		lua_pop(L, 1);
		plain = 1;
	}
	if (plain) {
		luaL_tolstring(L, at, NULL);
		return;
	}
	int name = luaL_getmetafield(L, at, "__name");
	if (name == LUA_TSTRING) return;
	if (name != LUA_TNIL) lua_pop(L, 1);
	lua_pushstring(L, lua_typename(L, type));
}

// le_tostring is tostring.
int le_tostring(lua_State *L) {
	luaL_checkany(L, 1);
	show(L, 1);
	return 1;
}

// le_format is string.format, whose own function is upvalue 1: it gets texts for
// %s, and no %p.
int le_format(lua_State *L) {
	size_t len;
	const char *at = luaL_checklstring(L, 1, &len), *end = at + len;
	le_charge(L, le_of(L), (int64_t)(len / 16));
	int top = lua_gettop(L), arg = 1;
	while (at < end) {
		if (*at++ != '%') continue;
		if (at < end && *at == '%') {
			at++;
			continue;
		}
		while (at < end && *at != '\0' && strchr("-+ #0123456789.", *at) != NULL) at++;
		arg++;
		if (at < end && *at == 'p') return luaL_error(L, "invalid conversion '%%p' to 'format': it would show an address");
		if (at < end && *at == 's' && arg <= top) {
			show(L, arg);
			lua_replace(L, arg);
		}
	}
	return lua_tocfunction(L, lua_upvalueindex(1))(L);
}
