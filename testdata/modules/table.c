// A guest that could change a table (table.s), which a host can't put back. It
// says how many calls it has had, as far as it knows. See build.sh.
#define EXPORT(name) __attribute__((export_name(name)))
typedef unsigned u32;
typedef unsigned long long u64;

void touch(void);
static char room[4096], out[] = "{\"results\":[{\"response\":{\"verdict\":{\"valid\":true,\"score\":1,\"feedback\":\"0\"}}}]}";

EXPORT("reflectory_abi_version") u32 version(void) { return 1; }
EXPORT("reflectory_alloc") void *alloc(u32 size) { return size <= sizeof room ? room : 0; }

static u64 say(const char *text) {
	u32 n = 0;
	while (text[n]) n++;
	return (u64)(u32)text << 32 | n;
}

EXPORT("reflectory_call") u64 call(u32 op, const char *request, u32 size) {
	if (op == 1) return say("{\"manifest\":{\"name\":\"guest\",\"version\":\"1.0.0\",\"contract\":1,\"kinds\":[\"evaluator\"]}}");
	if (op == 2) return say("{}");
	if (size == 0) touch(); // it never is
	out[71]++;
	return say(out);
}
