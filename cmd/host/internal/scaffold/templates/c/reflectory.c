#include "reflectory.h"

#define EXPORT(name) __attribute__((export_name(name)))

enum { op_describe = 1, op_prepare, op_evaluate };
enum { page = 65536, kept = 64, digest_size = 128 };

// ── Memory: what belongs to one call lies behind what stays ─────────────────

extern char __heap_base;
static char *free_at, *call_begin;

void *take(size_t size) {
	if (!free_at) free_at = &__heap_base;
	char *at = (char *)(((uintptr_t)free_at + 15) & ~(uintptr_t)15);
	size_t have = __builtin_wasm_memory_size(0) * (size_t)page;
	if (size > have || (size_t)(uintptr_t)at > have - size) {
		size_t pages = size / page + 2;
		if (__builtin_wasm_memory_grow(0, pages) == (size_t)-1) __builtin_trap();
	}
	free_at = at + size;
	__builtin_memset(at, 0, size);
	return at;
}

static bool equal(const char *a, const char *b, size_t size) {
	for (size_t i = 0; i < size; i++)
		if (a[i] != b[i]) return false;
	return true;
}

static size_t length(const char *s) {
	size_t n = 0;
	while (s[n]) n++;
	return n;
}

// ── Reading ─────────────────────────────────────────────────────────────────

static const char *skip_space(const char *p, const char *end) {
	while (p < end && (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r')) p++;
	return p;
}

// skip_text returns what follows a text that begins at p.
static const char *skip_text(const char *p, const char *end) {
	for (p++; p < end && *p != '"'; p++)
		if (*p == '\\') p++;
	return p < end ? p + 1 : end;
}

// skip_value returns what follows a value that begins at p. It counts brackets,
// so depth costs nothing.
static const char *skip_value(const char *p, const char *end) {
	size_t depth = 0;
	while (p < end) {
		if (*p == '"') {
			p = skip_text(p, end);
		} else if (*p == '{' || *p == '[') {
			depth++;
			p++;
			continue;
		} else if (*p == '}' || *p == ']') {
			if (depth == 0) return p;
			depth--;
			p++;
		} else if (depth == 0) {
			while (p < end && *p != ',' && *p != '}' && *p != ']' && *p != ' ' && *p != '\n' && *p != '\r' && *p != '\t') p++;
			return p;
		} else {
			p++;
			continue;
		}
		if (depth == 0) return p;
	}
	return end;
}

static json value_at(const char *p, const char *end) {
	p = skip_space(p, end);
	return (json){p, (size_t)(skip_value(p, end) - p)};
}

bool json_is_there(json v) { return v.at && v.size > 0; }
bool json_is_text(json v) { return json_is_there(v) && v.at[0] == '"'; }

// member reads a key and its value at p, and returns what follows; NULL at the end.
static const char *member(const char *p, const char *end, json *key, json *value) {
	p = skip_space(p, end);
	if (p < end && *p == ',') p = skip_space(p + 1, end);
	if (p >= end || *p != '"') return NULL;
	*key = value_at(p, end);
	p = skip_space(key->at + key->size, end);
	if (p < end && *p == ':') p++;
	*value = value_at(p, end);
	return value->at + value->size;
}

json json_get(json object, const char *key) {
	json found = {NULL, 0}, k, v;
	if (!json_is_there(object) || object.at[0] != '{') return found;
	const char *end = object.at + object.size, *p = object.at + 1;
	while ((p = member(p, end, &k, &v))) {
		text name = json_text(k);
		if (name.size == length(key) && equal(name.at, key, name.size)) found = v; // the last counts
	}
	return found;
}

size_t json_keys(json object) {
	json k, v;
	size_t n = 0;
	if (!json_is_there(object) || object.at[0] != '{') return 0;
	const char *end = object.at + object.size, *p = object.at + 1;
	while ((p = member(p, end, &k, &v))) n++;
	return n;
}

bool json_next(json array, json *item) {
	if (!json_is_there(array) || array.at[0] != '[') return false;
	const char *end = array.at + array.size;
	const char *p = skip_space(item->at ? item->at + item->size : array.at + 1, end);
	if (p < end && *p == ',') p++;
	*item = value_at(p, end);
	return item->size > 0;
}

bool json_whole(json v, int64_t *number) {
	size_t i = json_is_there(v) && v.at[0] == '-';
	if (v.size == i || v.size - i > 18) return false;
	int64_t n = 0;
	for (size_t j = i; j < v.size; j++) {
		if (v.at[j] < '0' || v.at[j] > '9') return false;
		n = n * 10 + (v.at[j] - '0');
	}
	*number = i ? -n : n;
	return true;
}

static uint32_t hex4(const char *p) {
	uint32_t n = 0;
	for (int i = 0; i < 4; i++) {
		char c = p[i];
		n = n << 4 | (uint32_t)(c <= '9' ? c - '0' : (c | 32) - 'a' + 10);
	}
	return n;
}

static char *put_utf8(char *to, uint32_t c) {
	if (c >= 0xd800 && c < 0xe000) c = 0xfffd; // half of a pair has no UTF-8
	if (c < 0x80) {
		*to++ = (char)c;
		return to;
	}
	int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
	*to++ = (char)(0xf0u << (3 - more) | c >> (6 * more));
	while (more-- > 0) *to++ = (char)(0x80 | (c >> (6 * more) & 0x3f));
	return to;
}

// unescape reads one escape at p, behind its backslash, and returns what follows.
static const char *unescape(const char *p, const char *end, char **to) {
	if (*p == 'u' && end - p >= 5) {
		uint32_t c = hex4(p + 1);
		p += 5;
		if (c >= 0xd800 && c < 0xdc00 && end - p >= 6 && p[0] == '\\' && p[1] == 'u') {
			uint32_t low = hex4(p + 2);
			if (low >= 0xdc00 && low < 0xe000) {
				c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
				p += 6;
			}
		}
		*to = put_utf8(*to, c);
		return p;
	}
	static const char from[] = "bfnrt", into[] = "\b\f\n\r\t";
	char c = *p;
	for (int i = 0; i < 5; i++)
		if (*p == from[i]) c = into[i];
	*(*to)++ = c;
	return p + 1;
}

text json_text(json v) {
	if (!json_is_text(v) || v.size < 2) return (text){"", 0};
	const char *p = v.at + 1, *end = v.at + v.size - 1;
	const char *escape = p;
	while (escape < end && *escape != '\\') escape++;
	if (escape == end) return (text){p, (size_t)(end - p)}; // as it stands
	char *begin = take(v.size), *to = begin;
	while (p < end) {
		if (*p == '\\' && p + 1 < end)
			p = unescape(p + 1, end, &to);
		else
			*to++ = *p++;
	}
	return (text){begin, (size_t)(to - begin)};
}

// ── Writing ─────────────────────────────────────────────────────────────────

static struct {
	char *at;
	size_t size, room;
} reply;

static void put_bytes(const char *from, size_t size) {
	if (size > reply.room - reply.size) {
		size_t room = 2 * (reply.room + size);
		char *at = take(room);
		__builtin_memcpy(at, reply.at, reply.size);
		reply.at = at;
		reply.room = room;
	}
	__builtin_memcpy(reply.at + reply.size, from, size);
	reply.size += size;
}

void put(const char *raw) { put_bytes(raw, length(raw)); }
void put_json(json v) { put_bytes(v.at, v.size); }

void put_whole(int64_t number) {
	char digits[20];
	size_t i = sizeof digits;
	uint64_t n = number < 0 ? -(uint64_t)number : (uint64_t)number;
	do digits[--i] = (char)('0' + n % 10);
	while (n /= 10);
	if (number < 0) put("-");
	put_bytes(digits + i, sizeof digits - i);
}

void put_number(double number) {
	if (number != number || number > 9e15 || number < -9e15) {
		put("null"); // JSON has none of these
		return;
	}
	if (number < 0) put("-"), number = -number;
	int64_t whole = (int64_t)number;
	int64_t part = (int64_t)((number - (double)whole) * 1e9 + 0.5);
	if (part >= 1000000000) whole++, part -= 1000000000;
	put_whole(whole);
	char digits[10] = ".";
	for (int i = 9; i > 0; i--, part /= 10) digits[i] = (char)('0' + part % 10);
	put_bytes(digits, 10);
}

void put_text(text t) {
	static const char hex[] = "0123456789abcdef";
	put("\"");
	for (size_t i = 0; i < t.size; i++) {
		unsigned char c = (unsigned char)t.at[i];
		char escape[6] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]};
		if (c < 0x20)
			put_bytes(escape, 6);
		else if (c == '"' || c == '\\')
			put("\\"), put_bytes((char *)&c, 1);
		else
			put_bytes((char *)&c, 1);
	}
	put("\"");
}

static void put_refusal(refusal r) {
	put("{\"error\":{\"code\":\"");
	put(r.code ? r.code : "invalid");
	put("\",\"reason\":\"");
	put(r.reason);
	put("\",\"message\":");
	put_text((text){r.message, length(r.message)});
	if (r.hint) put(",\"hint\":"), put_text((text){r.hint, length(r.hint)});
	put("}}");
}

// ── Calls ───────────────────────────────────────────────────────────────────

// slot is a config that was prepared: the least recently prepared ones go first.
static struct slot {
	char digest[digest_size];
	size_t size;
	prepared *made;
} slots[kept];
static size_t next_slot;

static prepared *find(text digest) {
	if (digest.size == 0) return NULL; // as an unused slot has
	for (size_t i = 0; i < kept; i++)
		if (slots[i].made && slots[i].size == digest.size && equal(slots[i].digest, digest.at, digest.size)) return slots[i].made;
	return NULL;
}

static void call_prepare(json request) {
	json config = json_get(request, "config");
	text digest = json_text(json_get(config, "digest"));
	json object = json_get(config, "json");
	if (digest.size > digest_size || !json_is_there(object)) {
		put_refusal((refusal){"invalid", "config_invalid", "the config is missing", NULL});
		return;
	}
	prepared *made = take(prepared_size);
	refusal r = prepare(object, made);
	if (r.reason) {
		put_refusal(r);
		return;
	}
	struct slot *s = &slots[next_slot];
	__builtin_memcpy(s->made, made, prepared_size);
	__builtin_memcpy(s->digest, digest.at, digest.size);
	s->size = digest.size;
	next_slot = (next_slot + 1) % kept;
	put("{}");
}

static void call_evaluate(json request) {
	prepared *config = find(json_text(json_get(json_get(request, "config"), "digest")));
	if (!config) {
		put_refusal((refusal){"not_found", "config_unknown", "no config of this digest was prepared", NULL});
		return;
	}
	json items = json_get(request, "items"), item = {NULL, 0};
	put("{\"results\":[");
	for (bool first = true; json_next(items, &item); first = false) {
		if (!first) put(",");
		size_t before = reply.size;
		put("{\"response\":");
		refusal r = evaluate(config, item);
		if (r.reason) {
			reply.size = before;
			put_refusal(r);
		} else {
			put("}");
		}
	}
	put("]}");
}

// begin keeps what stays out of the calls' memory.
static void begin(void) {
	if (call_begin) return;
	for (size_t i = 0; i < kept; i++) slots[i].made = take(prepared_size);
	call_begin = take(16);
}

EXPORT("reflectory_abi_version") int32_t version(void) { return 1; }

EXPORT("reflectory_alloc") void *alloc(size_t size) {
	begin();
	free_at = call_begin; // the last call is over
	return take(size);
}

EXPORT("reflectory_call") int64_t call(int32_t op, const char *at, size_t size) {
	begin();
	json request = value_at(at, at + size);
	reply.at = take(1024);
	reply.room = 1024;
	reply.size = 0;
	switch (op) {
	case op_describe: put("{\"manifest\":"), put(manifest), put("}"); break;
	case op_prepare: call_prepare(request); break;
	case op_evaluate: call_evaluate(request); break;
	default: put_refusal((refusal){"invalid", "kind_unsupported", "this plugin is an evaluator", NULL});
	}
	return (int64_t)((uint64_t)(uintptr_t)reply.at << 32 | reply.size);
}
