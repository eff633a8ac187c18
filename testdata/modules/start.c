// A guest that is bad before it is asked anything: "at start" names how, and a
// test writes another word there. It is built as a reactor, and as a WASI command.
#include <stddef.h>

#define WASI(name) __attribute__((import_module("wasi_snapshot_preview1"), import_name(name)))
#define EXPORT(name) __attribute__((export_name(name)))
typedef unsigned u32;
typedef unsigned long long u64;
struct piece { const char *text; u32 size; };

WASI("proc_exit") void proc_exit(u32 code);
WASI("fd_write") u32 fd_write(u32 fd, const struct piece *pieces, u32 count, u32 *written);
WASI("fd_prestat_get") u32 fd_prestat_get(u32 fd, void *stat);
WASI("path_open") u32 path_open(u32 dir, u32 look, const char *path, u32 size, u32 how, u64 rights, u64 inheriting, u32 flags, u32 *fd);
WASI("environ_sizes_get") u32 environ_sizes_get(u32 *count, u32 *bytes);
WASI("args_sizes_get") u32 args_sizes_get(u32 *count, u32 *bytes);
WASI("sock_accept") u32 sock_accept(u32 fd, u32 flags, u32 *connection);
WASI("sock_send") u32 sock_send(u32 fd, const struct piece *pieces, u32 count, u32 flags, u32 *written);

static const volatile char at_start[] = "at start: serve ";

static int is(const char *how) {
	u32 i = 0;
	while (how[i] && at_start[10 + i] == how[i]) i++;
	return !how[i];
}

static void say(u32 fd, const char *text) {
	struct piece piece = {text, 0};
	u32 written;
	while (text[piece.size]) piece.size++;
	fd_write(fd, &piece, 1, &written);
}

__attribute__((noinline)) static u32 recurse(u32 n) {
	static volatile u32 sink;
	sink = n;
	return n == 0 ? 1 : recurse(n - 1) + recurse(n - 1) + sink;
}

// pry traps if anything of the host is there.
static void pry(void) {
	char stat[8];
	u32 count, bytes, got;
	struct piece piece = {"x", 1};
	for (u32 fd = 0; fd < 64; fd++) {
		if (fd_prestat_get(fd, stat) == 0) __builtin_trap();
		if (path_open(fd, 0, "/etc/passwd", 11, 0, 2, 2, 0, &got) == 0) __builtin_trap();
		if (path_open(fd, 0, "../etc/passwd", 13, 0, 2, 2, 0, &got) == 0) __builtin_trap();
		if (sock_accept(fd, 0, &got) == 0) __builtin_trap();
		if (sock_send(fd, &piece, 1, 0, &got) == 0) __builtin_trap();
	}
	for (u32 fd = 3; fd < 64; fd++)
		if (fd_write(fd, &piece, 1, &got) == 0) __builtin_trap();
	if (environ_sizes_get(&count, &bytes) != 0 || count + bytes != 0) __builtin_trap();
	if (args_sizes_get(&count, &bytes) != 0 || count > 1) __builtin_trap();
}

static void start(void) {
	if (is("hang")) for (volatile u32 i = 0;; i++) {}
	if (is("fib")) recurse(200);
	if (is("trap")) __builtin_trap();
	if (is("exit")) { say(2, "no licence found\n"); proc_exit(3); }
	if (is("noise")) say(1, "hello, I am a plugin\n");
	if (is("flood")) for (;;) say(1, "hello, I am a plugin\n");
	if (is("bomb")) { while (__builtin_wasm_memory_grow(0, 16) != (size_t)-1) {} __builtin_trap(); }
	if (is("pry")) pry();
}

#define MANIFEST "{\"manifest\":{\"name\":\"guest\",\"version\":\"1.0.0\",\"contract\":1,\"kinds\":[\"evaluator\"]}}"

#ifdef COMMAND
EXPORT("_start") void command(void) {
	start();
	say(1, MANIFEST);
}
#else
EXPORT("_initialize") void initialize(void) { start(); }
EXPORT("reflectory_abi_version") u32 version(void) { return 1; }

static char room[4096];
EXPORT("reflectory_alloc") void *alloc(u32 size) { return size <= sizeof room ? room : 0; }

EXPORT("reflectory_call") u64 call(u32 op, const char *request, u32 size) {
	static const char manifest[] = MANIFEST;
	return (u64)(u32)(op == 1 ? manifest : "{}") << 32 | (op == 1 ? sizeof manifest - 1 : 2);
}
#endif
