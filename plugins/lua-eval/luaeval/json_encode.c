//go:build cgo && lua54

// Lua values to JSON: compact, keys sorted, every number as it is. Only raw
// fields count. What has no JSON form is an error that names its place.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sandbox.h"

const char le_null, le_array;

// A step on the way to the value at hand: a key, or an index where key is NULL.
typedef struct {
	const char *key;
	size_t len;
	lua_Integer index;
} step;

typedef struct {
	lua_State *L;
	le_state *s;
	int depth;
	step path[LE_DEPTH + 1];
} encoder;

typedef struct {
	const char *text;
	size_t len;
} key;

static void value(encoder *e);

// fail ends the encoding with "what at /path". The path is that of a JSON
// Pointer, cut to fit a message.
static _Noreturn void fail(encoder *e, int status, const char *what) {
	luaL_Buffer b;
	e->s->status = status;
	luaL_buffinit(e->L, &b);
	luaL_addstring(&b, what);
	if (e->depth > 0) luaL_addstring(&b, " at ");
	for (int i = 0; i < e->depth && i < 20; i++) {
		step *p = &e->path[i];
		luaL_addchar(&b, '/');
		if (p->key != NULL) {
			luaL_addlstring(&b, p->key, p->len < 40 ? p->len : 40);
			continue;
		}
		lua_pushinteger(e->L, p->index - 1);
		luaL_addvalue(&b);
	}
	luaL_pushresult(&b);
	lua_error(e->L);
	for (;;) {}  // not reached: lua_error doesn't return
}

static char *room(encoder *e, size_t n) {
	le_state *s = e->s;
	if (n > LE_OUTPUT - s->out_len) fail(e, LE_UNENCODABLE, "more than 8 MiB");
	if (s->out_len + n > s->out_cap && !le_out_grow(s, s->out_len + n)) le_raise(e->L, LE_MEMORY);
	return s->out + s->out_len;
}

static void add(encoder *e, const char *text, size_t n) {
	memcpy(room(e, n), text, n);
	e->s->out_len += n;
}

static void add_char(encoder *e, char c) { add(e, &c, 1); }

// utf8_len returns the length of the UTF-8 sequence at p, or 0 where there is none.
static size_t utf8_len(const unsigned char *p, const unsigned char *end) {
	static const unsigned least[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t n = *p < 0xC0 ? 0 : *p < 0xE0 ? 2 : *p < 0xF0 ? 3 : *p < 0xF8 ? 4 : 0;
	if (n == 0 || (size_t)(end - p) < n) return 0;
	unsigned c = *p & (0xFFu >> (n + 1));
	for (size_t i = 1; i < n; i++) {
		if ((p[i] & 0xC0) != 0x80) return 0;
		c = c << 6 | (p[i] & 0x3F);
	}
	return c < least[n] || c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF) ? 0 : n;
}

static void escape(encoder *e, unsigned char c) {
	static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";
	const char *at = c == '\0' ? NULL : strchr(from, c);
	char text[7] = {'\\', at ? to[at - from] : 'u'};
	if (at == NULL) snprintf(text + 2, 5, "%04x", c);
	add(e, text, at ? 2 : 6);
}

static void string(encoder *e, const char *text, size_t len) {
	const unsigned char *p = (const unsigned char *)text, *end = p + len, *from = p;
	le_charge(e->L, e->s, (int64_t)(len / 16));
	add_char(e, '"');
	while (p < end) {
		if (*p >= 0x80) {
			size_t n = utf8_len(p, end);
			if (n == 0) fail(e, LE_UNENCODABLE, "a string that isn't UTF-8");
			p += n;
		} else if (*p < 0x20 || *p == '"' || *p == '\\') {
			add(e, (const char *)from, (size_t)(p - from));
			escape(e, *p);
			from = ++p;
		} else {
			p++;
		}
	}
	add(e, (const char *)from, (size_t)(p - from));
	add_char(e, '"');
}

static void number(encoder *e) {
	char text[64];
	int n;
	if (lua_isinteger(e->L, -1)) {
		n = snprintf(text, sizeof text, "%lld", (long long)lua_tointeger(e->L, -1));
		add(e, text, (size_t)n);
		return;
	}
	double f = lua_tonumber(e->L, -1);
	if (isnan(f)) fail(e, LE_UNENCODABLE, "a number that is not a number (NaN)");
	if (isinf(f)) fail(e, LE_UNENCODABLE, "an infinite number");
	int digits = 15;
	do n = snprintf(text, sizeof text, "%.*g", digits, f);
	while (strtod(text, NULL) != f && ++digits <= 17);
	add(e, text, (size_t)n);
	if (strpbrk(text, ".e") == NULL) add(e, ".0", 2);  // it stays a float when it is read again
}

static int compare_keys(const void *x, const void *y) {
	const key *a = x, *b = y;
	int order = memcmp(a->text, b->text, a->len < b->len ? a->len : b->len);
	return order != 0 ? order : (a->len > b->len) - (a->len < b->len);
}

// shape looks at every key of the table on top. It returns the number of keys,
// and in *longest the largest index, or 0 where a key is a string.
static lua_Integer shape(encoder *e, lua_Integer *longest) {
	lua_State *L = e->L;
	lua_Integer count = 0, strings = 0, largest = 0;
	for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
		le_charge(L, e->s, 1);
		count++;
		if (lua_type(L, -2) == LUA_TSTRING) {
			strings++;
		} else if (lua_isinteger(L, -2) && lua_tointeger(L, -2) >= 1) {
			if (lua_tointeger(L, -2) > largest) largest = lua_tointeger(L, -2);
		} else {
			fail(e, LE_UNENCODABLE, "a table with a key that is neither a string nor an index from 1");
		}
	}
	if (strings > 0 && strings < count) fail(e, LE_UNENCODABLE, "a table with both string keys and indices");
	if (largest > count) fail(e, LE_UNENCODABLE, "an array with holes (use null for them)");
	*longest = largest;
	return count;
}

static void array(encoder *e, lua_Integer n) {
	add_char(e, '[');
	for (lua_Integer i = 1; i <= n; i++) {
		if (i > 1) add_char(e, ',');
		e->path[e->depth++] = (step){NULL, 0, i};
		lua_rawgeti(e->L, -1, i);
		value(e);
		lua_pop(e->L, 1);
		e->depth--;
	}
	add_char(e, ']');
}

// sorted_keys pushes a block with the n keys of the table below it.
static key *sorted_keys(encoder *e, lua_Integer n) {
	key *keys = lua_newuserdatauv(e->L, (size_t)n * sizeof(key), 0);
	lua_Integer i = 0;
	for (lua_pushnil(e->L); lua_next(e->L, -3); lua_pop(e->L, 1), i++)
		keys[i].text = lua_tolstring(e->L, -2, &keys[i].len);
	le_charge(e->L, e->s, n);
	qsort(keys, (size_t)n, sizeof(key), compare_keys);
	return keys;
}

static void object(encoder *e, lua_Integer n) {
	add_char(e, '{');
	const key *keys = sorted_keys(e, n);
	for (lua_Integer i = 0; i < n; i++) {
		if (i > 0) add_char(e, ',');
		string(e, keys[i].text, keys[i].len);
		add_char(e, ':');
		e->path[e->depth++] = (step){keys[i].text, keys[i].len, 0};
		lua_pushlstring(e->L, keys[i].text, keys[i].len);
		lua_rawget(e->L, -3);
		value(e);
		lua_pop(e->L, 1);
		e->depth--;
	}
	lua_pop(e->L, 1);
	add_char(e, '}');
}

// is_array tells whether the table on top came from a JSON array or array().
static int is_array(lua_State *L) {
	if (!lua_getmetatable(L, -1)) return 0;
	lua_rawgetp(L, LUA_REGISTRYINDEX, &le_array);
	int yes = lua_rawequal(L, -1, -2);
	lua_pop(L, 2);
	return yes;
}

static void table(encoder *e) {
	lua_Integer largest;
	if (e->depth >= LE_DEPTH) fail(e, LE_UNENCODABLE, "nesting deeper than 200 levels (a table inside itself?)");
	luaL_checkstack(e->L, 8, "nested tables");
	lua_Integer n = shape(e, &largest);
	if (is_array(e->L)) {
		if (n > 0 && largest == 0) fail(e, LE_UNENCODABLE, "an array with string keys");
		array(e, n);
	} else if (largest > 0) {
		array(e, n);
	} else {
		object(e, n);
	}
}

// value adds the value on top of the stack and leaves it there.
static void value(encoder *e) {
	char what[64];
	size_t len;
	const char *text;
	le_charge(e->L, e->s, 1);
	switch (lua_type(e->L, -1)) {
	case LUA_TBOOLEAN:
		if (lua_toboolean(e->L, -1)) add(e, "true", 4);
		else add(e, "false", 5);
		return;
	case LUA_TNUMBER: number(e); return;
	case LUA_TSTRING:
		text = lua_tolstring(e->L, -1, &len);
		string(e, text, len);
		return;
	case LUA_TTABLE: table(e); return;
	}
	if (lua_touserdata(e->L, -1) == &le_null) {
		add(e, "null", 4);
		return;
	}
	snprintf(what, sizeof what, "a %s", luaL_typename(e->L, -1));
	fail(e, LE_UNENCODABLE, what);
}

// clamp makes an infinite number on top of the stack 1 or 0, and fails for NaN.
static void clamp(encoder *e) {
	if (lua_type(e->L, -1) != LUA_TNUMBER) return;
	double f = lua_tonumber(e->L, -1);
	if (isnan(f)) fail(e, LE_NAN, "the score is not a number (NaN)");
	if (!isinf(f)) return;
	lua_pop(e->L, 1);
	lua_pushnumber(e->L, f > 0 ? 1 : 0);
}

// clamp_score does so with the number or the table's score on top of the stack:
// JSON knows no infinity, but a verdict's score may be one.
static void clamp_score(encoder *e) {
	clamp(e);
	if (!lua_istable(e->L, -1)) return;
	lua_pushliteral(e->L, "score");
	lua_pushvalue(e->L, -1);
	lua_rawget(e->L, -3);
	clamp(e);
	if (lua_type(e->L, -1) == LUA_TNUMBER) lua_rawset(e->L, -3);
	else lua_pop(e->L, 2);
}

// le_encode adds the value on top of the stack to the output.
void le_encode(lua_State *L, le_state *s, int verdict) {
	encoder e;
	e.L = L;
	e.s = s;
	e.depth = 0;
	if (verdict) clamp_score(&e);
	value(&e);
}
