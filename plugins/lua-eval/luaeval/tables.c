//go:build cgo && lua54

// table.concat, insert, move, remove and sort: all count a step per element, so
// that neither a huge table nor a lying __len keeps one of them running.
#include "sandbox.h"

// check_table wants a table or something that behaves like one.
static void check_table(lua_State *L, int arg) {
	if (lua_istable(L, arg)) return;
	if (luaL_getmetafield(L, arg, "__index") == LUA_TNIL) luaL_checktype(L, arg, LUA_TTABLE);
	lua_pop(L, 1);
}

static int tab_concat(lua_State *L) {
	size_t sep_len;
	check_table(L, 1);
	const char *sep = luaL_optlstring(L, 2, "", &sep_len);
	lua_Integer i = luaL_optinteger(L, 3, 1);
	lua_Integer last = lua_isnoneornil(L, 4) ? luaL_len(L, 1) : luaL_checkinteger(L, 4);
	le_state *s = le_of(L);
	luaL_Buffer b;
	luaL_buffinit(L, &b);
	for (; i <= last; i++) {
		le_charge(L, s, 1);
		lua_geti(L, 1, i);
		if (!lua_isstring(L, -1))
			return luaL_error(L, "invalid value (%s) at index %I in table for 'concat'", luaL_typename(L, -1), (LUAI_UACINT)i);
		luaL_addvalue(&b);
		if (i == last) break;  // i++ could overflow
		luaL_addlstring(&b, sep, sep_len);
	}
	luaL_pushresult(&b);
	return 1;
}

static int tab_insert(lua_State *L) {
	check_table(L, 1);
	lua_Integer end = luaL_len(L, 1) + 1, at = end;
	int n = lua_gettop(L);
	if (n != 2 && n != 3) return luaL_error(L, "wrong number of arguments to 'insert'");
	if (n == 3) {
		at = luaL_checkinteger(L, 2);
		luaL_argcheck(L, (lua_Unsigned)at - 1u < (lua_Unsigned)end, 2, "position out of bounds");
	}
	for (lua_Integer i = end; i > at; i--) {
		le_charge(L, le_of(L), 1);
		lua_geti(L, 1, i - 1);
		lua_seti(L, 1, i);
	}
	lua_pushvalue(L, n);
	lua_seti(L, 1, at);
	return 0;
}

static int tab_remove(lua_State *L) {
	check_table(L, 1);
	lua_Integer len = luaL_len(L, 1), at = luaL_optinteger(L, 2, len);
	if (at != len) luaL_argcheck(L, (lua_Unsigned)at - 1u <= (lua_Unsigned)len, 2, "position out of bounds");
	lua_geti(L, 1, at);
	for (; at < len; at++) {
		le_charge(L, le_of(L), 1);
		lua_geti(L, 1, at + 1);
		lua_seti(L, 1, at);
	}
	lua_pushnil(L);
	lua_seti(L, 1, at);
	return 1;
}

static int tab_move(lua_State *L) {
	lua_Integer from = luaL_checkinteger(L, 2), last = luaL_checkinteger(L, 3), to = luaL_checkinteger(L, 4);
	int target = lua_isnoneornil(L, 5) ? 1 : 5;
	check_table(L, 1);
	check_table(L, target);
	if (last >= from) {
		luaL_argcheck(L, from > 0 || last < LUA_MAXINTEGER + from, 3, "too many elements to move");
		lua_Integer n = last - from + 1;
		luaL_argcheck(L, to <= LUA_MAXINTEGER - n + 1, 4, "destination wrap around");
		int backwards = to > from && to <= last && (target == 1 || lua_compare(L, 1, target, LUA_OPEQ));
		for (lua_Integer k = 0; k < n; k++) {
			lua_Integer i = backwards ? n - 1 - k : k;
			le_charge(L, le_of(L), 1);
			lua_geti(L, 1, from + i);
			lua_seti(L, target, to + i);
		}
	}
	lua_pushvalue(L, target);
	return 1;
}

// before compares the values at two stack indices (negative ones) by the
// order function at 2, or by <.
static int before(lua_State *L, int a, int b) {
	if (lua_isnil(L, 2)) return lua_compare(L, a, b, LUA_OPLT);
	lua_pushvalue(L, 2);
	lua_pushvalue(L, a - 1);
	lua_pushvalue(L, b - 2);
	lua_call(L, 2, 1);
	int yes = lua_toboolean(L, -1);
	lua_pop(L, 1);
	return yes;
}

// sift puts the value on top of the stack at its place in the heap below root
// (both ends included), and pops it.
static void sift(lua_State *L, lua_Integer root, lua_Integer last) {
	for (lua_Integer child; root <= last / 2; root = child) {
		le_charge(L, le_of(L), 4);
		child = 2 * root;
		lua_geti(L, 1, child);
		if (child < last) {
			lua_geti(L, 1, child + 1);
			if (before(L, -2, -1)) {
				child++;
				lua_remove(L, -2);
			} else {
				lua_pop(L, 1);
			}
		}
		if (!before(L, -2, -1)) {
			lua_pop(L, 1);
			break;
		}
		lua_seti(L, 1, root);
	}
	lua_seti(L, 1, root);
}

// tab_sort is a heapsort: n log n whatever the order function answers, and never
// an index outside the table.
static int tab_sort(lua_State *L) {
	check_table(L, 1);
	lua_Integer n = luaL_len(L, 1);
	luaL_argcheck(L, n < INT32_MAX, 1, "array too big");
	if (!lua_isnoneornil(L, 2)) luaL_checktype(L, 2, LUA_TFUNCTION);
	lua_settop(L, 2);
	for (lua_Integer root = n / 2; root >= 1; root--) {
		le_charge(L, le_of(L), 1);
		lua_geti(L, 1, root);
		sift(L, root, n);
	}
	for (lua_Integer last = n; last > 1; last--) {
		le_charge(L, le_of(L), 1);
		lua_geti(L, 1, last);
		lua_geti(L, 1, 1);
		lua_seti(L, 1, last);
		sift(L, 1, last - 1);
	}
	return 0;
}

const luaL_Reg le_table_funcs[] = {
	{"concat", tab_concat}, {"insert", tab_insert}, {"move", tab_move}, {"remove", tab_remove}, {"sort", tab_sort},
	{NULL, NULL}};
