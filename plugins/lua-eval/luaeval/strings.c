//go:build cgo && lua54

// string.find, match, gmatch, gsub and rep.
#define _GNU_SOURCE  // memmem
#include <string.h>

#include "sandbox.h"

static void start(le_match *m, lua_State *L, const char *src, size_t len, const char *pat, size_t pat_len) {
	m->L = L;
	m->s = le_of(L);
	m->src = src;
	m->src_end = src + len;
	m->pat_end = pat + pat_len;
	m->level = m->depth = 0;
}

// push_capture pushes capture i; i 0 of a match without captures is all of it.
static void push_capture(le_match *m, int i, const char *from, const char *to) {
	if (i >= m->level) {
		if (i > 0) luaL_error(m->L, "invalid capture index %%%d", i + 1);
		lua_pushlstring(m->L, from, (size_t)(to - from));
	} else if (m->capture[i].len == LE_POSITION) {
		lua_pushinteger(m->L, m->capture[i].start - m->src + 1);
	} else if (m->capture[i].len == LE_OPEN) {
		luaL_error(m->L, "unfinished capture");
	} else {
		lua_pushlstring(m->L, m->capture[i].start, (size_t)m->capture[i].len);
	}
}

// push_captures pushes them all; whole says to push the match where there are none.
static int push_captures(le_match *m, const char *from, const char *to, int whole) {
	int n = m->level == 0 && whole ? 1 : m->level;
	luaL_checkstack(m->L, n, "too many captures");
	for (int i = 0; i < n; i++) push_capture(m, i, from, to);
	return n;
}

// search finds the first match at or after *from and moves *from to it.
static const char *search(le_match *m, const char **from, const char *pat) {
	int anchored = pat < m->pat_end && *pat == '^';
	for (;; ++*from) {
		m->level = 0;
		const char *end = le_match_here(m, *from, pat + anchored);
		if (end != NULL || anchored || *from >= m->src_end) return end;
	}
}

// offset reads an optional start position as an offset from 0.
static size_t offset(lua_State *L, int arg, size_t len) {
	lua_Integer i = luaL_optinteger(L, arg, 1);
	if (i > 0) return (size_t)i - 1;
	if (i == 0 || i < -(lua_Integer)len) return 0;
	return len + (size_t)i;
}

// is_plain tells whether find may look for the pattern as it is.
static int is_plain(lua_State *L, const char *pat, size_t len) {
	if (lua_toboolean(L, 4)) return 1;
	for (const char *end = pat + len; pat <= end; pat += strlen(pat) + 1)  // piece by piece, between zero bytes
		if (strpbrk(pat, "^$*+?.([%-") != NULL) return 0;
	return 1;
}

static int find_or_match(lua_State *L, int find) {
	size_t len, pat_len;
	const char *src = luaL_checklstring(L, 1, &len), *pat = luaL_checklstring(L, 2, &pat_len);
	size_t from = offset(L, 3, len);
	const char *at = src + from, *end = NULL;
	le_match m;
	start(&m, L, src, len, pat, pat_len);
	if (from > len) {
		end = NULL;
	} else if (find && is_plain(L, pat, pat_len)) {
		le_charge(L, m.s, (int64_t)((len - from) / 16));
		at = memmem(at, len - from, pat, pat_len);
		end = at == NULL ? NULL : at + pat_len;
	} else {
		end = search(&m, &at, pat);
	}
	if (end == NULL) {
		luaL_pushfail(L);
		return 1;
	}
	if (!find) return push_captures(&m, at, end, 1);
	lua_pushinteger(L, at - src + 1);
	lua_pushinteger(L, end - src);
	return 2 + push_captures(&m, at, end, 0);
}

static int str_find(lua_State *L) { return find_or_match(L, 1); }
static int str_match(lua_State *L) { return find_or_match(L, 0); }

// gmatch_next has the upvalues text, pattern, offset and the offset at which
// the last match ended (-1 at first), where no empty match may follow.
static int gmatch_next(lua_State *L) {
	size_t len, pat_len;
	const char *src = lua_tolstring(L, lua_upvalueindex(1), &len);
	const char *pat = lua_tolstring(L, lua_upvalueindex(2), &pat_len);
	size_t from = (size_t)lua_tointeger(L, lua_upvalueindex(3));
	lua_Integer last = lua_tointeger(L, lua_upvalueindex(4));
	le_match m;
	start(&m, L, src, len, pat, pat_len);
	for (; from <= len; from++) {
		m.level = 0;
		const char *end = le_match_here(&m, src + from, pat);
		if (end == NULL || end - src == last) continue;
		lua_pushinteger(L, end - src);
		lua_copy(L, -1, lua_upvalueindex(3));
		lua_replace(L, lua_upvalueindex(4));
		return push_captures(&m, src + from, end, 1);
	}
	lua_pushinteger(L, (lua_Integer)len + 1);
	lua_replace(L, lua_upvalueindex(3));
	return 0;
}

static int str_gmatch(lua_State *L) {
	size_t len;
	luaL_checklstring(L, 1, &len);
	luaL_checkstring(L, 2);
	size_t from = offset(L, 3, len);
	lua_settop(L, 2);
	lua_pushinteger(L, (lua_Integer)(from > len ? len + 1 : from));
	lua_pushinteger(L, -1);
	lua_pushcclosure(L, gmatch_next, 4);
	return 1;
}

// add_template adds gsub's replacement text (argument 3), with %0 to %9 filled in.
static void add_template(le_match *m, luaL_Buffer *b, const char *from, const char *to) {
	size_t len;
	const char *text = lua_tolstring(m->L, 3, &len), *text_end = text + len;
	le_charge(m->L, m->s, (int64_t)(len / 16));
	while (text < text_end) {
		const char *percent = memchr(text, '%', (size_t)(text_end - text));
		if (percent == NULL) percent = text_end;
		luaL_addlstring(b, text, (size_t)(percent - text));
		if (percent == text_end) return;
		char c = percent + 1 < text_end ? percent[1] : '\0';
		if (c == '%') {
			luaL_addchar(b, '%');
		} else if (c == '0') {
			luaL_addlstring(b, from, (size_t)(to - from));
		} else if (c >= '1' && c <= '9') {
			int i = c - '1';
			if (i >= m->level && i > 0) luaL_error(m->L, "invalid capture index %%%d in replacement string", i + 1);
			push_capture(m, i, from, to);
			luaL_tolstring(m->L, -1, NULL);
			lua_remove(m->L, -2);
			luaL_addvalue(b);
		} else {
			luaL_error(m->L, "invalid use of '%%' in replacement string");
		}
		text = percent + 2;
	}
}

// add_replacement adds what gsub puts in place of one match.
static int add_replacement(le_match *m, luaL_Buffer *b, const char *from, const char *to, int type) {
	lua_State *L = m->L;
	if (type == LUA_TFUNCTION) {
		lua_pushvalue(L, 3);
		lua_call(L, push_captures(m, from, to, 1), 1);
	} else if (type == LUA_TTABLE) {
		push_capture(m, 0, from, to);
		lua_gettable(L, 3);
	} else {
		add_template(m, b, from, to);
		return 1;
	}
	if (!lua_toboolean(L, -1)) {
		lua_pop(L, 1);
		luaL_addlstring(b, from, (size_t)(to - from));
		return 0;
	}
	if (!lua_isstring(L, -1)) return luaL_error(L, "invalid replacement value (a %s)", luaL_typename(L, -1));
	luaL_addvalue(b);
	return 1;
}

static int str_gsub(lua_State *L) {
	size_t len, pat_len;
	const char *src = luaL_checklstring(L, 1, &len), *pat = luaL_checklstring(L, 2, &pat_len);
	int type = lua_type(L, 3), anchored = pat_len > 0 && *pat == '^';
	lua_Integer limit = luaL_optinteger(L, 4, (lua_Integer)len + 1), n = 0;
	luaL_argexpected(L, type == LUA_TNUMBER || type == LUA_TSTRING || type == LUA_TFUNCTION || type == LUA_TTABLE,
		3, "string/function/table");
	const char *at = src, *last = NULL;
	le_match m;
	luaL_Buffer b;
	start(&m, L, src, len, pat, pat_len);
	luaL_buffinit(L, &b);
	while (n < limit) {
		m.level = 0;
		const char *end = le_match_here(&m, at, pat + anchored);
		if (end != NULL && end != last) {
			n++;
			add_replacement(&m, &b, at, end, type);
			at = last = end;
		} else if (at < m.src_end) {
			luaL_addchar(&b, *at++);
		} else {
			break;
		}
		if (anchored) break;
	}
	luaL_addlstring(&b, at, (size_t)(m.src_end - at));
	luaL_pushresult(&b);
	lua_pushinteger(L, n);
	return 2;
}

// str_rep fails before it builds anything too large; Lua's own also loops for
// ever on an empty string.
static int str_rep(lua_State *L) {
	size_t len, sep_len;
	const char *text = luaL_checklstring(L, 1, &len);
	lua_Integer n = luaL_checkinteger(L, 2);
	const char *sep = luaL_optlstring(L, 3, "", &sep_len);
	if (n <= 0 || len + sep_len == 0) {
		lua_pushliteral(L, "");
		return 1;
	}
	le_state *s = le_of(L);
	if ((uint64_t)n > s->quota / (len + sep_len) + 1) le_raise(L, LE_MEMORY);
	le_charge(L, s, (n + (int64_t)((len + sep_len) * (size_t)n)) / 16);
	luaL_Buffer b;
	luaL_buffinitsize(L, &b, (size_t)n * len + (size_t)(n - 1) * sep_len);
	for (;;) {
		luaL_addlstring(&b, text, len);
		if (--n == 0) break;
		luaL_addlstring(&b, sep, sep_len);
	}
	luaL_pushresult(&b);
	return 1;
}

const luaL_Reg le_string_funcs[] = {
	{"find", str_find}, {"gmatch", str_gmatch}, {"gsub", str_gsub}, {"match", str_match}, {"rep", str_rep}, {NULL, NULL}};
