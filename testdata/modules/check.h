// The work of a small evaluator: it finds the output in a request, reads it as
// words and judges their lengths. The figures run it as WASM and as native code.

// find returns where what follows a text in the request begins; 0 is nowhere.
static inline unsigned find(const char *request, unsigned size, const char *text) {
	unsigned n = 0;
	while (text[n]) n++;
	for (unsigned i = 0; i + n <= size; i++) {
		unsigned j = 0;
		while (j < n && request[i + j] == text[j]) j++;
		if (j == n) return i + n;
	}
	return 0;
}

static inline int check_text(const unsigned char *text, int size) {
	unsigned hash = 2166136261u;
	int words = 0, longest = 0, length = 0;
	for (int i = 0; i < size; i++) {
		unsigned char c = text[i];
		hash = (hash ^ c) * 16777619u;
		if (c == ' ' || c == '\n') {
			words += length > 0;
			length = 0;
			continue;
		}
		if (++length > longest) longest = length;
	}
	return (int)((hash & 0xffff) + (unsigned)words + (unsigned)longest);
}

static inline int check_request(const char *request, unsigned size) {
	unsigned at = find(request, size, "\"output\":\"");
	return check_text((const unsigned char *)request + at, (int)(size - at));
}
