// How the functions of reflectory.h and a plugin's own are called: ABI version 1.
#include "reflectory.h"

#define EXPORT(name) __attribute__((export_name(name)))
#define IMPORT(name) __attribute__((import_module("reflectory:host"), import_name(name)))

enum { op_describe = 1, op_prepare, op_evaluate, op_generate, op_correct };
enum { page = 65536, kept = 64, digest_size = 128 };

// ── Memory: what belongs to one call lies behind what stays ─────────────────

extern char __heap_base;
static char *free_at, *call_begin;
static bool calling;

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

// ── Errors ──────────────────────────────────────────────────────────────────

refusal refuse(const char *reason, const char *message, const char *hint) {
	return (refusal){"invalid", reason, message, hint, {NULL, 0}};
}

static void put_refusal(refusal r) {
	put("{\"error\":{\"code\":"), put_text(text_of(r.code));
	put(",\"reason\":"), put_text(text_of(r.reason));
	put(",\"message\":"), put_text(text_of(r.message));
	if (r.hint) put(",\"hint\":"), put_text(text_of(r.hint));
	if (json_is_there(r.details)) put(",\"details\":"), put_json(r.details);
	put("}}");
}

// What a plugin doesn't define itself.
__attribute__((weak)) refusal evaluate(const prepared *config, json request) {
	return (void)config, (void)request, refuse("kind_unsupported", "this plugin is no evaluator", NULL);
}
__attribute__((weak)) refusal generate(const prepared *config, json request) {
	return (void)config, (void)request, refuse("kind_unsupported", "this plugin is no generator", NULL);
}
__attribute__((weak)) refusal correct(const prepared *config, json request) {
	return (void)config, (void)request, refuse("kind_unsupported", "this plugin is no corrector", NULL);
}

// ── The host ────────────────────────────────────────────────────────────────

IMPORT("service") uint64_t import_service(const char *at, size_t size);
IMPORT("log") void import_log(int32_t level, const char *at, size_t size);

void host_log(int32_t level, text line) { import_log(level, line.at, line.size); }

refusal host_ask(const char *service, json request, json *response) {
	size_t begin = put_begin();
	put("{\"service\":"), put_text(text_of(service));
	put(",\"body\":"), put_json(request), put("}");
	json asked = put_end(begin);
	uint64_t at = import_service(asked.at, asked.size); // the host takes room for the reply by alloc
	json reply = json_at((const char *)(uintptr_t)(at >> 32), (size_t)(uint32_t)at);
	json error = json_get(reply, "error");
	*response = json_get(reply, "response");
	if (!json_is_there(error)) return (refusal){0};
	return (refusal){
		json_string(json_get(error, "code")), json_string(json_get(error, "reason")),
		json_string(json_get(error, "message")), json_string(json_get(error, "hint")),
		json_get(error, "details")};
}

refusal llm_complete(text prompt, text *reply) {
	size_t begin = put_begin();
	put("{\"prompt\":"), put_text(prompt), put("}");
	json response;
	refusal r = host_ask("llm.complete", put_end(begin), &response);
	*reply = json_text(json_get(response, "output"));
	return r;
}

refusal memory_recall(text query, int64_t limit, json *memories) {
	size_t begin = put_begin();
	put("{\"query\":"), put_text(query), put(",\"limit\":"), put_whole(limit), put("}");
	json response;
	refusal r = host_ask("memory.recall", put_end(begin), &response);
	*memories = json_get(response, "memories");
	return r;
}

refusal cache_get(text key, json *value) {
	size_t begin = put_begin();
	put("{\"op\":\"get\",\"key\":"), put_text(key), put("}");
	json response;
	refusal r = host_ask("cache", put_end(begin), &response);
	*value = json_get(response, "value");
	return r;
}

refusal cache_put(text key, json value) {
	size_t begin = put_begin();
	put("{\"op\":\"put\",\"key\":"), put_text(key), put(",\"value\":"), put_json(value), put("}");
	json response;
	return host_ask("cache", put_end(begin), &response);
}

// ── Calls ───────────────────────────────────────────────────────────────────

// slot is a config that was prepared: the least recently prepared ones go first.
static struct slot {
	char digest[digest_size];
	size_t size;
	prepared *made;
} slots[kept];
static size_t next_slot;

static struct slot *find(text digest) {
	if (digest.size == 0) return NULL; // as an unused slot has
	for (size_t i = 0; i < kept; i++)
		if (text_equal((text){slots[i].digest, slots[i].size}, digest)) return &slots[i];
	return NULL;
}

static void call_prepare(json request) {
	json config = json_get(request, "config");
	text digest = json_text(json_get(config, "digest"));
	json object = json_get(config, "json");
	if (digest.size > digest_size || !json_is_there(object)) {
		put_refusal(refuse("config_invalid", "the config is missing", NULL));
		return;
	}
	prepared *made = take(prepared_size);
	refusal r = prepare(object, made);
	if (r.reason) {
		put_refusal(r);
		return;
	}
	struct slot *s = find(digest); // two kinds may have the same config
	if (!s) {
		s = &slots[next_slot];
		next_slot = (next_slot + 1) % kept;
	}
	__builtin_memcpy(s->made, made, prepared_size);
	__builtin_memcpy(s->digest, digest.at, digest.size);
	s->size = digest.size;
	put("{}");
}

static void call_items(refusal (*answer)(const prepared *, json), json request) {
	struct slot *config = find(json_text(json_get(json_get(request, "config"), "digest")));
	if (!config) {
		put_refusal((refusal){"not_found", "config_unknown", "no config of this digest was prepared", NULL, {NULL, 0}});
		return;
	}
	json items = json_get(request, "items"), item = {NULL, 0};
	put("{\"results\":[");
	for (bool first = true; json_next(items, &item); first = false) {
		if (!first) put(",");
		size_t begin = put_begin();
		refusal r = answer(config->made, item);
		json response = put_end(begin);
		if (r.reason)
			put_refusal(r);
		else
			put("{\"response\":"), put_json(response), put("}");
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
	if (!calling) free_at = call_begin; // the last call is over
	return take(size);
}

EXPORT("reflectory_call") int64_t call(int32_t op, const char *at, size_t size) {
	begin();
	calling = true;
	put_none();
	json request = json_at(at, size);
	switch (op) {
	case op_describe: put("{\"manifest\":"), put(manifest), put("}"); break;
	case op_prepare: call_prepare(request); break;
	case op_evaluate: call_items(evaluate, request); break;
	case op_generate: call_items(generate, request); break;
	case op_correct: call_items(correct, request); break;
	default: put_refusal(refuse("kind_unsupported", "this plugin doesn't know this operation", NULL));
	}
	calling = false;
	json reply = put_all();
	return (int64_t)((uint64_t)(uintptr_t)reply.at << 32 | reply.size);
}
