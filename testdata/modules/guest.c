// A guest of ABI version 1 without a library, and everything that a hostile one
// does: "do" in its config names it by its first letters. See build.sh.
#include "check.h"

#define EXPORT(name) __attribute__((export_name(name)))
#define IMPORT(name) __attribute__((import_module("reflectory:host"), import_name(name)))
typedef unsigned u32;
typedef unsigned long long u64;

IMPORT("log") void host_log(u32 level, const char *text, u32 size);
IMPORT("emit") void host_emit(u32 item, const char *text, u32 size);
IMPORT("service") u64 host_service(const char *request, u32 size);

static char room[16384], out[16384];
static char mode[16];
static u32 calls;

static u32 length(const char *s) { u32 n = 0; while (s[n]) n++; return n; }

static u32 append(u32 at, const char *s) { while (*s) out[at++] = *s++; return at; }

static u32 append_number(u32 at, u32 n) {
	char digits[10];
	int i = 0;
	do digits[i++] = '0' + n % 10; while (n /= 10);
	while (i) out[at++] = digits[--i];
	return at;
}

static int is(const char *name) {
	u32 i = 0;
	while (name[i] && mode[i] == name[i]) i++;
	return name[i] == mode[i];
}

static u64 reply(const char *text, u32 size) { return (u64)(u32)text << 32 | size; }
static u64 say(const char *text) { return reply(text, length(text)); }

static u64 verdict(const char *score, u32 feedback) {
	u32 at = append(0, "{\"results\":[{\"response\":{\"verdict\":{\"valid\":true,\"score\":");
	at = append(at, score);
	at = append(at, ",\"feedback\":\"");
	at = append_number(at, feedback);
	at = append(at, "\"}}}]}");
	return reply(out, at);
}

__attribute__((noinline)) static u32 recurse(u32 n) {
	static volatile u32 sink;
	sink = n;
	return n == 0xffffffff ? sink : recurse(n + 1) + recurse(n + 2) + sink;
}

// A test renames this export to one that the host reserves.
EXPORT("reserved_export") void reserved(void) {}

EXPORT("reflectory_abi_version") u32 version(void) { return 1; }

EXPORT("reflectory_alloc") void *alloc(u32 size) {
	if (is("alloctrap")) __builtin_trap();
	if (is("allocnull")) return 0;
	if (is("allocfar")) return (void *)0xfffffff0u;
	if (is("allocenter")) host_service("{}", 2);
	return size <= sizeof room ? room : 0;
}

static u64 evaluate(const char *request, u32 size) {
	calls++;
	if (is("pointer")) return reply((const char *)0xffff0000u, 100);
	if (is("length")) return reply(out, 0x7fffffff);
	if (is("negative")) return reply(out, 0xffffffff);
	if (is("nothing")) return 0;
	if (is("loop")) for (volatile u32 i = 0;; i++) {}
	if (is("recurse")) return verdict("1", recurse(0));
	if (is("trap")) __builtin_trap();
	if (is("bomb")) { while (__builtin_wasm_memory_grow(0, 16) != (unsigned long)-1) {} __builtin_trap(); }
	if (is("grow")) { __builtin_wasm_memory_grow(0, 1); return verdict("1", __builtin_wasm_memory_size(0)); }
	if (is("count")) return verdict("1", calls);
	if (is("work")) { volatile u32 n = 0; while (n < 300000) n++; return verdict("1", n); }
	if (is("nan")) return verdict("NaN", 0);
	if (is("infinite")) return verdict("1e999", 0);
	if (is("negscore")) return verdict("-3", 0);
	if (is("seven")) return verdict("7", 0);
	if (is("truncated")) return say("{\"results\":[{\"response\":{\"verdict\"");
	if (is("utf8")) return say("{\"results\":[{\"response\":{\"verdict\":{\"feedback\":\"\xff\xfe\"}}}]}");
	if (is("none")) return say("{\"results\":[]}");
	if (is("blank")) return say("{\"results\":[{}]}");
	if (is("garbage")) return say("hello");
	if (is("badcode")) return say("{\"error\":{\"code\":\"nonsense\",\"reason\":\"Not A Reason\",\"message\":\"\"}}");
	if (is("itemerror")) return say("{\"results\":[{\"error\":{\"code\":\"unavailable\",\"reason\":\"upstream_down\",\"message\":\"down\",\"details\":{\"n\":1}}}]}");
	if (is("forget")) return say("{\"error\":{\"code\":\"not_found\",\"reason\":\"config_unknown\",\"message\":\"which config?\"}}");
	if (is("deep")) { for (u32 i = 0; i < sizeof out; i++) out[i] = i < sizeof out / 2 ? '[' : ']'; return reply(out, sizeof out); }
	if (is("flood")) for (u32 i = 0; i < 5000; i++) host_log(3, "too many words", 14);
	if (is("logfar")) host_log(3, (const char *)0xfffffff0u, 100);
	if (is("service")) { u64 r = host_service("{\"service\":\"cache\",\"body\":1}", 28); return verdict("1", (u32)r); }
	if (is("check")) return verdict("1", (u32)check_request(request, size));
	return verdict("0.5", size);
}

EXPORT("reflectory_call") u64 call(u32 op, const char *request, u32 size) {
	switch (op) {
	case 1:
		return say("{\"manifest\":{\"name\":\"guest\",\"version\":\"1.0.0\",\"contract\":1,\"kinds\":[\"evaluator\",\"generator\"]}}");
	case 2: {
		u32 at = find(request, size, "\"do\":\"");
		for (u32 i = 0; i < sizeof mode; i++) mode[i] = 0;
		for (u32 i = 0; at && i + 1 < sizeof mode && request[at + i] != '"'; i++) mode[i] = request[at + i];
		if (is("refuse")) return say("{\"error\":{\"code\":\"invalid\",\"reason\":\"config_invalid\",\"message\":\"do can't be refuse\"}}");
		return say("{}");
	}
	case 3:
		return evaluate(request, size);
	case 4:
		host_emit(0, "one ", 4);
		host_emit(0, "two", 3);
		return say("{\"results\":[{\"response\":{\"output\":\"one two\"}}]}");
	}
	return say("{\"error\":{\"code\":\"incompatible\",\"reason\":\"contract_mismatch\",\"message\":\"unknown operation\"}}");
}
