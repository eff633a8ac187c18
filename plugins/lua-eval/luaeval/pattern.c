//go:build cgo && lua54

// A matcher for Lua patterns (reference manual, 6.4.1). Lua's own can't be
// interrupted and takes exponential time on hostile patterns; this one charges
// a step for every comparison, so that quotas and stops reach it.
#include <ctype.h>
#include <string.h>

#include "sandbox.h"

#define NESTING 200  // nested calls of the matcher, as in Lua

static int byte_at(const char *p) { return (unsigned char)*p; }

// set_end returns the byte after the ']' of the set whose '[' is at p.
static const char *set_end(le_match *m, const char *p) {
	p++;
	if (p < m->pat_end && *p == '^') p++;
	const char *first = p;  // a ']' here stands for itself
	for (; p < m->pat_end; p++) {
		if (*p == ']' && p > first) return p + 1;
		if (*p == '%') p++;
	}
	luaL_error(m->L, "malformed pattern (missing ']')");
	return NULL;
}

// item_end returns the byte after the single-character class at p.
static const char *item_end(le_match *m, const char *p) {
	if (*p == '[') return set_end(m, p);
	if (*p != '%') return p + 1;
	if (p + 1 >= m->pat_end) luaL_error(m->L, "malformed pattern (ends with '%%')");
	return p + 2;
}

// in_class tests a letter class such as %a; an upper-case letter negates it.
static int in_class(int c, int class) {
	int yes;
	switch (tolower(class)) {
	case 'a': yes = isalpha(c); break;
	case 'c': yes = iscntrl(c); break;
	case 'd': yes = isdigit(c); break;
	case 'g': yes = isgraph(c); break;
	case 'l': yes = islower(c); break;
	case 'p': yes = ispunct(c); break;
	case 's': yes = isspace(c); break;
	case 'u': yes = isupper(c); break;
	case 'w': yes = isalnum(c); break;
	case 'x': yes = isxdigit(c); break;
	case 'z': yes = c == 0; break;  // out of the manual since 5.2, but still there
	default: return class == c;
	}
	return isupper(class) ? !yes : yes != 0;
}

// in_set tests the set between '[' at p and the ']' before end.
static int in_set(le_match *m, int c, const char *p, const char *end) {
	const char *last = end - 1;
	int wanted = 1;
	p++;
	if (*p == '^') {
		wanted = 0;
		p++;
	}
	le_charge(m->L, m->s, last - p);
	for (; p < last; p++) {
		if (*p == '%') {
			p++;
			if (in_class(c, byte_at(p))) return wanted;
		} else if (p + 2 < last && p[1] == '-') {
			if (byte_at(p) <= c && c <= byte_at(p + 2)) return wanted;
			p += 2;
		} else if (byte_at(p) == c) {
			return wanted;
		}
	}
	return !wanted;
}

// accepts tests whether the item from p to end matches the character at t.
static int accepts(le_match *m, const char *t, const char *p, const char *end) {
	le_charge(m->L, m->s, 1);
	if (t >= m->src_end) return 0;
	switch (*p) {
	case '.': return 1;
	case '%': return in_class(byte_at(t), byte_at(p + 1));
	case '[': return in_set(m, byte_at(t), p, end);
	default: return *p == *t;
	}
}

// repeat_longest matches item* and then the rest, giving back one at a time.
static const char *repeat_longest(le_match *m, const char *t, const char *p, const char *end, ptrdiff_t least) {
	ptrdiff_t n = 0;
	while (accepts(m, t + n, p, end)) n++;
	for (; n >= least; n--) {
		const char *found = le_match_here(m, t + n, end + 1);
		if (found != NULL) return found;
	}
	return NULL;
}

static const char *repeat_shortest(le_match *m, const char *t, const char *p, const char *end) {
	for (;; t++) {
		const char *found = le_match_here(m, t, end + 1);
		if (found != NULL) return found;
		if (!accepts(m, t, p, end)) return NULL;
	}
}

// balanced matches %bxy, whose x is at p.
static const char *balanced(le_match *m, const char *t, const char *p) {
	if (p + 1 >= m->pat_end) luaL_error(m->L, "malformed pattern (missing arguments to '%%b')");
	if (t >= m->src_end || *t != p[0]) return NULL;
	int open = 1;
	while (++t < m->src_end) {
		le_charge(m->L, m->s, 1);
		if (*t == p[1]) {
			if (--open == 0) return t + 1;
		} else if (*t == p[0]) {
			open++;
		}
	}
	return NULL;
}

// frontier matches %f and the set whose '[' is at p, and returns the set's end.
static const char *frontier(le_match *m, const char *t, const char *p) {
	if (p >= m->pat_end || *p != '[') luaL_error(m->L, "missing '[' after '%%f' in pattern");
	const char *end = set_end(m, p);
	int before = t == m->src ? 0 : byte_at(t - 1);
	int after = t < m->src_end ? byte_at(t) : 0;
	return !in_set(m, before, p, end) && in_set(m, after, p, end) ? end : NULL;
}

// back_reference returns the text after a repetition of capture %1 to %9.
static const char *back_reference(le_match *m, const char *t, int digit) {
	int i = digit - '1';
	if (i < 0 || i >= m->level || m->capture[i].len == LE_OPEN)
		luaL_error(m->L, "invalid capture index %%%d", i + 1);
	if (m->capture[i].len == LE_POSITION) return NULL;
	size_t len = (size_t)m->capture[i].len;
	le_charge(m->L, m->s, 1 + (int64_t)(len / 16));
	if ((size_t)(m->src_end - t) < len || memcmp(m->capture[i].start, t, len) != 0) return NULL;
	return t + len;
}

static const char *open_capture(le_match *m, const char *t, const char *p, ptrdiff_t len) {
	if (m->level >= LE_CAPTURES) luaL_error(m->L, "too many captures");
	m->capture[m->level].start = t;
	m->capture[m->level].len = len;
	m->level++;
	const char *found = le_match_here(m, t, p);
	if (found == NULL) m->level--;
	return found;
}

static const char *close_capture(le_match *m, const char *t, const char *p) {
	int i = m->level - 1;
	while (i >= 0 && m->capture[i].len != LE_OPEN) i--;
	if (i < 0) luaL_error(m->L, "invalid pattern capture");
	m->capture[i].len = t - m->capture[i].start;
	const char *found = le_match_here(m, t, p);
	if (found == NULL) m->capture[i].len = LE_OPEN;
	return found;
}

// special matches what begins with '%' and is more than one character long, and
// moves *p behind it. It returns 0 where the item at *p is an ordinary one.
static int special(le_match *m, const char **t, const char **p) {
	if (**p != '%' || *p + 1 >= m->pat_end) return 0;
	int c = byte_at(*p + 1);
	if (c == 'b') {
		*t = balanced(m, *t, *p + 2);
		*p += 4;
	} else if (c == 'f') {
		const char *end = frontier(m, *t, *p + 2);
		if (end == NULL) *t = NULL;
		else *p = end;
	} else if (isdigit(c)) {
		*t = back_reference(m, *t, c);
		*p += 2;
	} else {
		return 0;
	}
	return 1;
}

// match_items follows the pattern until it ends, fails or has to branch.
static const char *match_items(le_match *m, const char *t, const char *p) {
	while (t != NULL && p < m->pat_end) {
		le_charge(m->L, m->s, 1);
		if (*p == '(') {
			int position = p + 1 < m->pat_end && p[1] == ')';
			return open_capture(m, t, p + 1 + position, position ? LE_POSITION : LE_OPEN);
		}
		if (*p == ')') return close_capture(m, t, p + 1);
		if (*p == '$' && p + 1 == m->pat_end) return t == m->src_end ? t : NULL;
		if (special(m, &t, &p)) continue;
		const char *end = item_end(m, p);
		switch (end < m->pat_end ? *end : '\0') {
		case '*': return repeat_longest(m, t, p, end, 0);
		case '+': return repeat_longest(m, t, p, end, 1);
		case '-': return repeat_shortest(m, t, p, end);
		case '?':
			if (accepts(m, t, p, end)) {
				const char *found = le_match_here(m, t + 1, end + 1);
				if (found != NULL) return found;
			}
			p = end + 1;
			break;
		default:
			t = accepts(m, t, p, end) ? t + 1 : NULL;
			p = end;
		}
	}
	return t;
}

const char *le_match_here(le_match *m, const char *t, const char *p) {
	if (m->depth >= NESTING) luaL_error(m->L, "pattern too complex");
	m->depth++;
	const char *found = match_items(m, t, p);
	m->depth--;
	return found;
}
