// The work of a small evaluator: it reads a text as words and judges their
// lengths. The figures run it as WASM and as native code.
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
