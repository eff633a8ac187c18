// JSON: reading what was received, and writing what is sent.
#include "reflectory.h"

// ── Reading ─────────────────────────────────────────────────────────────────

text text_of(const char *s) {
	text t = {s, 0};
	while (s[t.size]) t.size++;
	return t;
}

bool text_equal(text a, text b) {
	if (a.size != b.size) return false;
	for (size_t i = 0; i < a.size; i++)
		if (a.at[i] != b.at[i]) return false;
	return true;
}

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

json json_at(const char *at, size_t size) { return value_at(at, at + size); }

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
		if (text_equal(json_text(k), text_of(key))) found = v; // the last counts
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

const char *json_string(json v) {
	text t = json_text(v);
	char *copy = take(t.size + 1);
	__builtin_memcpy(copy, t.at, t.size);
	return copy;
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

// made is what was put.
static struct {
	char *at;
	size_t size, room;
} made;

static void put_bytes(const char *from, size_t size) {
	if (size > made.room - made.size) {
		size_t room = 2 * (made.room + size);
		char *at = take(room);
		__builtin_memcpy(at, made.at, made.size);
		made.at = at;
		made.room = room;
	}
	__builtin_memcpy(made.at + made.size, from, size);
	made.size += size;
}

size_t put_begin(void) { return made.size; }

json put_end(size_t begin) {
	json v = {NULL, made.size - begin};
	char *copy = take(v.size);
	__builtin_memcpy(copy, made.at + begin, v.size);
	v.at = copy;
	made.size = begin;
	return v;
}

void put_none(void) {
	made.at = take(1024);
	made.room = 1024;
	made.size = 0;
}

json put_all(void) { return (json){made.at, made.size}; }

void put(const char *raw) { put_bytes(raw, text_of(raw).size); }
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
