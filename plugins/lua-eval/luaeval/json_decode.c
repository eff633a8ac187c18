//go:build cgo && lua54

// JSON to Lua values. Strict RFC 8259, but for two leniencies that Go's decoder
// shares: a lone surrogate becomes U+FFFD, and bytes that aren't UTF-8 pass.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sandbox.h"

#define NUMBER 512  // longest number, in bytes

typedef struct {
	lua_State *L;
	le_state *s;
	const char *name;              // the global, for messages
	const char *text, *p, *end;
} decoder;

static void value(decoder *d, int depth);

static _Noreturn void fail(decoder *d, const char *what) {
	d->s->status = LE_INPUT;
	luaL_error(d->L, "%s at byte %I of the JSON in '%s'", what, (LUAI_UACINT)(d->p - d->text + 1), d->name);
	for (;;) {}  // not reached: luaL_error doesn't return
}

static void skip_space(decoder *d) {
	while (d->p < d->end && (*d->p == ' ' || *d->p == '\n' || *d->p == '\t' || *d->p == '\r')) d->p++;
}

static int next_is(decoder *d, char c) {
	skip_space(d);
	if (d->p >= d->end || *d->p != c) return 0;
	d->p++;
	return 1;
}

static unsigned hex4(decoder *d) {
	unsigned n = 0;
	if (d->end - d->p < 4) fail(d, "unfinished \\u escape");
	for (int i = 0; i < 4; i++, d->p++) {
		char c = *d->p;
		n <<= 4;
		if (c >= '0' && c <= '9') n |= (unsigned)(c - '0');
		else if (c >= 'a' && c <= 'f') n |= (unsigned)(c - 'a' + 10);
		else if (c >= 'A' && c <= 'F') n |= (unsigned)(c - 'A' + 10);
		else fail(d, "bad \\u escape");
	}
	return n;
}

// unicode reads the rest of a \u escape, and its second half if it has one.
static unsigned unicode(decoder *d) {
	unsigned c = hex4(d);
	if (c < 0xD800 || c > 0xDFFF) return c;
	if (c < 0xDC00 && d->end - d->p >= 6 && d->p[0] == '\\' && d->p[1] == 'u') {
		const char *back = d->p;
		d->p += 2;
		unsigned low = hex4(d);
		if (low >= 0xDC00 && low <= 0xDFFF) return 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
		d->p = back;
	}
	return 0xFFFD;
}

static void add_utf8(luaL_Buffer *b, unsigned c) {
	if (c < 0x80) {
		luaL_addchar(b, (char)c);
		return;
	}
	if (c < 0x800) {
		luaL_addchar(b, (char)(0xC0 | c >> 6));
	} else {
		if (c < 0x10000) {
			luaL_addchar(b, (char)(0xE0 | c >> 12));
		} else {
			luaL_addchar(b, (char)(0xF0 | c >> 18));
			luaL_addchar(b, (char)(0x80 | (c >> 12 & 0x3F)));
		}
		luaL_addchar(b, (char)(0x80 | (c >> 6 & 0x3F)));
	}
	luaL_addchar(b, (char)(0x80 | (c & 0x3F)));
}

static void escape(decoder *d, luaL_Buffer *b) {
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	if (d->p >= d->end) fail(d, "unfinished string");
	char c = *d->p++;
	if (c == 'u') {
		add_utf8(b, unicode(d));
		return;
	}
	const char *at = c == '\0' ? NULL : strchr(from, c);
	if (at == NULL) fail(d, "bad escape");
	luaL_addchar(b, to[at - from]);
}

// plain skips the part of a string that needs no work.
static void plain(decoder *d) {
	while (d->p < d->end && *d->p != '"' && *d->p != '\\') {
		if ((unsigned char)*d->p < 0x20) fail(d, "control character in a string");
		d->p++;
	}
	if (d->p >= d->end) fail(d, "unfinished string");
}

// string reads a string after its opening quote.
static void string(decoder *d) {
	const char *from = d->p;
	plain(d);
	if (*d->p == '"') {
		lua_pushlstring(d->L, from, (size_t)(d->p++ - from));
		return;
	}
	luaL_Buffer b;
	luaL_buffinit(d->L, &b);
	luaL_addlstring(&b, from, (size_t)(d->p - from));
	while (*d->p++ == '\\') {
		escape(d, &b);
		from = d->p;
		plain(d);
		luaL_addlstring(&b, from, (size_t)(d->p - from));
	}
	luaL_pushresult(&b);
}

static void digits(decoder *d) {
	if (d->p >= d->end || *d->p < '0' || *d->p > '9') fail(d, "bad number");
	while (d->p < d->end && *d->p >= '0' && *d->p <= '9') d->p++;
}

// scan_number moves behind a number, and returns whether it is an integer.
static int scan_number(decoder *d) {
	int integer = 1;
	if (*d->p == '-') d->p++;
	if (d->p < d->end && *d->p == '0') d->p++;
	else digits(d);
	if (d->p < d->end && *d->p == '.') {
		d->p++;
		digits(d);
		integer = 0;
	}
	if (d->p < d->end && (*d->p == 'e' || *d->p == 'E')) {
		d->p++;
		if (d->p < d->end && (*d->p == '+' || *d->p == '-')) d->p++;
		digits(d);
		integer = 0;
	}
	return integer;
}

static void number(decoder *d) {
	char text[NUMBER + 1];
	const char *from = d->p;
	int integer = scan_number(d);
	size_t len = (size_t)(d->p - from);
	if (len > NUMBER) fail(d, "number of more than 512 bytes");
	memcpy(text, from, len);
	text[len] = '\0';
	errno = 0;
	if (integer) {
		long long i = strtoll(text, NULL, 10);
		if (errno == ERANGE) fail(d, "integer outside the range of 64 bits");
		lua_pushinteger(d->L, i);
		return;
	}
	double f = strtod(text, NULL);
	if (f - f != 0) fail(d, "number outside the range of a double");
	lua_pushnumber(d->L, f);
}

static void object(decoder *d, int depth) {
	lua_newtable(d->L);
	if (next_is(d, '}')) return;
	do {
		if (!next_is(d, '"')) fail(d, "no key");
		string(d);
		if (!next_is(d, ':')) fail(d, "no ':' after a key");
		value(d, depth + 1);
		if (lua_touserdata(d->L, -1) == &le_null) {  // null inside an object reads as nil
			lua_pop(d->L, 1);
			lua_pushnil(d->L);
		}
		lua_rawset(d->L, -3);
	} while (next_is(d, ','));
	if (!next_is(d, '}')) fail(d, "no ',' or '}'");
}

static void array(decoder *d, int depth) {
	lua_newtable(d->L);
	lua_rawgetp(d->L, LUA_REGISTRYINDEX, &le_array);
	lua_setmetatable(d->L, -2);
	if (next_is(d, ']')) return;
	lua_Integer n = 0;
	do {
		value(d, depth + 1);
		lua_rawseti(d->L, -2, ++n);
	} while (next_is(d, ','));
	if (!next_is(d, ']')) fail(d, "no ',' or ']'");
}

static int word(decoder *d, const char *text, size_t len) {
	if ((size_t)(d->end - d->p) < len || memcmp(d->p, text, len) != 0) return 0;
	d->p += len;
	return 1;
}

static void value(decoder *d, int depth) {
	if (depth > LE_DEPTH) fail(d, "nesting deeper than 200 levels");
	le_charge(d->L, d->s, 1);
	luaL_checkstack(d->L, 8, "nested JSON");
	if (next_is(d, '{')) object(d, depth);
	else if (next_is(d, '[')) array(d, depth);
	else if (next_is(d, '"')) string(d);
	else if (word(d, "true", 4)) lua_pushboolean(d->L, 1);
	else if (word(d, "false", 5)) lua_pushboolean(d->L, 0);
	else if (word(d, "null", 4)) lua_pushlightuserdata(d->L, (void *)&le_null);
	else if (d->p < d->end && (*d->p == '-' || (*d->p >= '0' && *d->p <= '9'))) number(d);
	else fail(d, "no JSON value");
}

// le_decode sets a global. JSON null at the top is nil.
void le_decode(lua_State *L, le_state *s, const char *name, const char *text, size_t len) {
	decoder d = {L, s, name, text, text, text + len};
	value(&d, 1);
	skip_space(&d);
	if (d.p < d.end) fail(&d, "more text");
	if (lua_touserdata(L, -1) == &le_null) {
		lua_pop(L, 1);
		lua_pushnil(L);
	}
	lua_setglobal(L, name);
}
