// The author's side of a Reflectory plugin in C: a WASM reactor, ABI version 1.
// A plugin defines the names under "What a plugin defines"; reflectory.c and json.c
// do the rest. There is no libc, and no memory to free: what a call takes from
// take() is gone after it.
#ifndef REFLECTORY_H
#define REFLECTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// ── JSON that was received ──────────────────────────────────────────────────

// json is one JSON value, as its text. The host sends valid JSON only.
typedef struct {
	const char *at;
	size_t size;
} json;

// text is UTF-8 of a length, without a zero at its end.
typedef struct {
	const char *at;
	size_t size;
} text;

text text_of(const char *s); // of what ends with a zero
bool text_equal(text a, text b);

json json_at(const char *at, size_t size); // the value that a text holds
bool json_is_there(json v);
bool json_is_text(json v);
json json_get(json object, const char *key);    // not there if there is no such key
bool json_next(json array, json *item);         // the first item, if item->at is NULL, else the next
bool json_whole(json v, int64_t *number);       // false if it is no whole number
text json_text(json v);                         // decoded; empty if it is no text
const char *json_string(json v);                // as json_text, with a zero at its end
size_t json_keys(json object);                  // how many keys it has

// ── JSON that is sent ───────────────────────────────────────────────────────

void put(const char *raw);        // JSON as it stands
void put_number(double number);   // with up to nine decimals
void put_whole(int64_t number);
void put_text(text t);            // quoted and escaped
void put_json(json v);

// What was put since put_begin is taken back by put_end, as a value to put or send later:
//	size_t begin = put_begin();
//	put("{\"n\":"), put_whole(1), put("}");
//	json object = put_end(begin);
size_t put_begin(void);
json put_end(size_t begin);
void put_none(void); // forgets all that was put, at the begin of a call
json put_all(void);  // all that was put

// ── Memory ──────────────────────────────────────────────────────────────────

void *take(size_t size); // zeroed; gone after the call

// ── Errors ──────────────────────────────────────────────────────────────────

// refusal is an error: the plugin could not judge, make or repair. A NULL reason is none.
typedef struct {
	const char *code, *reason, *message, *hint; // hint may be NULL
	json details;                               // an object; need not be there
} refusal;

refusal refuse(const char *reason, const char *message, const char *hint); // of the code "invalid"

// ── What the host does for a plugin, while a call runs ──────────────────────

// host_log writes a line to the host's log. It needs no grant.
enum { log_trace, log_debug, log_info, log_warn, log_error };
void host_log(int32_t level, text line);

// These need a grant, "denied" without it: in plugin.yaml, capabilities: {host: [NAME]},
// where NAME is llm.complete, memory.recall or cache.
refusal llm_complete(text prompt, text *reply);                      // asks the operator's model
refusal memory_recall(text query, int64_t limit, json *memories);    // a list, the best first
refusal cache_get(text key, json *value);                            // not there if there is none
refusal cache_put(text key, json value);

// host_ask asks for a service as its own JSON has it, with all that a request may say.
refusal host_ask(const char *service, json request, json *response);

// ── What a plugin defines ───────────────────────────────────────────────────

// prepared is what a plugin makes of a config. It has no pointers into a call's
// memory, since it outlives the call.
typedef struct prepared prepared;

extern const char manifest[];          // JSON
extern const size_t prepared_size;     // sizeof(prepared)
refusal prepare(json config, prepared *into);

// Each puts its response or refuses the request. A plugin defines what its kinds are asked.
refusal evaluate(const prepared *config, json request); // {"verdict": {…}}
refusal generate(const prepared *config, json request); // {"output": …}
refusal correct(const prepared *config, json request);  // {"output": …}

#endif
