//go:build cgo && lua54

// The globals of a script: an allow-list of Lua's own libraries, and the
// sandbox's versions of what can run for long. README.md has the same list.
#include <lualib.h>

#include "sandbox.h"

// Names with a '+' can go through megabytes of text in one call and make nothing
// that the allocator would charge for: they charge for their arguments. The one
// with '=' is called by the sandbox's own.
static const char *const base_kept[] = {
	"assert", "error", "getmetatable", "ipairs", "next", "pairs", "rawequal", "rawget", "rawlen", "rawset",
	"select", "+tonumber", "type", NULL};
static const char *const string_kept[] = {
	"byte", "char", "=format", "len", "lower", "+pack", "+packsize", "reverse", "sub", "+unpack", "upper", NULL};
static const char *const table_kept[] = {"pack", "unpack", NULL};
static const char *const coroutine_kept[] = {"isyieldable", "running", "status", "yield", NULL};
static const char *const math_kept[] = {
	"abs", "acos", "asin", "atan", "ceil", "cos", "deg", "exp", "floor", "fmod", "huge", "log", "max",
	"maxinteger", "min", "mininteger", "modf", "pi", "rad", "random", "sin", "sqrt", "tan", "tointeger",
	"type", "ult", NULL};
static const char *const utf8_kept[] = {"char", "charpattern", "+codepoint", "codes", "+len", "+offset", NULL};

static const luaL_Reg none[] = {{NULL, NULL}};

typedef struct {
	const char *name;
	lua_CFunction open;
	const char *const *kept;
	const luaL_Reg *own;
} library;

// charged calls upvalue 1, a C function without upvalues, and charges for the
// texts it is given.
static int charged(lua_State *L) {
	int64_t bytes = 0;
	for (int i = lua_gettop(L); i > 0; i--)
		if (lua_type(L, i) == LUA_TSTRING) bytes += (int64_t)lua_rawlen(L, i);
	le_charge(L, le_of(L), bytes / 16);
	return lua_tocfunction(L, lua_upvalueindex(1))(L);
}

// open_library leaves a new table on the stack, with the kept members of a
// library and the sandbox's own.
static void open_library(lua_State *L, const library *lib) {
	lua_pushcfunction(L, lib->open);
	lua_pushstring(L, lib->name);
	lua_call(L, 1, 1);
	lua_newtable(L);
	for (const char *const *name = lib->kept; *name != NULL; name++) {
		int counts = **name == '+', formats = **name == '=', marked = counts || formats;
		lua_getfield(L, -2, *name + marked);
		if (marked) lua_pushcclosure(L, counts ? charged : le_format, 1);
		lua_setfield(L, -2, *name + marked);
	}
	luaL_setfuncs(L, lib->own, 0);
	lua_remove(L, -2);
}

// name_library tells luaL_argerror what the functions of the table on top of the
// stack are called. Scripts can't reach that list.
static void name_library(lua_State *L, const char *name) {
	luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
	lua_pushvalue(L, -2);
	lua_setfield(L, -2, name);
	lua_pop(L, 1);
}

// hide_metatable makes the metatable on top of the stack unreachable from
// scripts, gives it a field and pops it.
static void hide_metatable(lua_State *L, const char *shown) {
	lua_pushstring(L, shown);
	lua_setfield(L, -2, "__metatable");
	lua_pop(L, 1);
}

static int null_tostring(lua_State *L) {
	lua_pushliteral(L, "null");
	return 1;
}

static void open_null(lua_State *L) {
	lua_pushlightuserdata(L, (void *)&le_null);
	lua_newtable(L);
	lua_pushcfunction(L, null_tostring);
	lua_setfield(L, -2, "__tostring");
	lua_pushvalue(L, -1);
	lua_setmetatable(L, -3);
	hide_metatable(L, "null");
	lua_setglobal(L, "null");
}

// new_array is array(t): it marks t, or a new table, as an array.
static int new_array(lua_State *L) {
	lua_settop(L, 1);
	if (lua_isnil(L, 1)) {
		lua_newtable(L);
		lua_replace(L, 1);
	}
	luaL_checktype(L, 1, LUA_TTABLE);
	if (luaL_getmetafield(L, 1, "__metatable") != LUA_TNIL) {
		lua_settop(L, 1);
		return 1;  // only arrays have a hidden metatable
	}
	lua_rawgetp(L, LUA_REGISTRYINDEX, &le_array);
	lua_setmetatable(L, 1);
	return 1;
}

static void open_array(lua_State *L) {
	lua_newtable(L);
	lua_pushvalue(L, -1);
	lua_rawsetp(L, LUA_REGISTRYINDEX, &le_array);
	hide_metatable(L, "array");
	lua_pushcfunction(L, new_array);
	lua_setglobal(L, "array");
}

// seed makes math.random's numbers the same in each evaluation.
static void seed_random(lua_State *L) {
	luaL_requiref(L, LUA_MATHLIBNAME, luaopen_math, 0);
	lua_getfield(L, -1, "randomseed");
	lua_pushinteger(L, 1);
	lua_call(L, 1, 0);
	lua_getfield(L, -1, "random");
	lua_getglobal(L, LUA_MATHLIBNAME);
	lua_insert(L, -2);
	lua_setfield(L, -2, "random");
	lua_pop(L, 2);
}

// le_open builds the environment. It runs as a protected call.
int le_open(lua_State *L) {
	static const library base = {LUA_GNAME, luaopen_base, base_kept, le_base_funcs};
	static const library libs[] = {
		{LUA_STRLIBNAME, luaopen_string, string_kept, le_string_funcs},
		{LUA_TABLIBNAME, luaopen_table, table_kept, le_table_funcs},
		{LUA_COLIBNAME, luaopen_coroutine, coroutine_kept, le_coroutine_funcs},
		{LUA_MATHLIBNAME, luaopen_math, math_kept, none},
		{LUA_UTF8LIBNAME, luaopen_utf8, utf8_kept, none},
		{NULL, NULL, NULL, NULL}};
	open_library(L, &base);
	lua_pushvalue(L, -1);
	lua_setfield(L, -2, "_G");
	lua_pushliteral(L, LUA_VERSION);
	lua_setfield(L, -2, "_VERSION");
	name_library(L, LUA_GNAME);
	lua_rawseti(L, LUA_REGISTRYINDEX, LUA_RIDX_GLOBALS);
	for (const library *lib = libs; lib->name != NULL; lib++) {
		open_library(L, lib);
		lua_setglobal(L, lib->name);
	}
	seed_random(L);
	for (const library *lib = libs; lib->name != NULL; lib++) {
		lua_getglobal(L, lib->name);
		name_library(L, lib->name);
		lua_pop(L, 1);
	}
	lua_pushliteral(L, "");  // methods of strings come from the kept functions
	lua_getmetatable(L, -1);
	lua_getglobal(L, LUA_STRLIBNAME);
	lua_setfield(L, -2, "__index");
	hide_metatable(L, "string");
	open_null(L);
	open_array(L);
	lua_settop(L, 0);
	return 0;
}
