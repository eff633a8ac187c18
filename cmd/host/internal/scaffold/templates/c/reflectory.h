// The author's side of a Reflectory plugin in C: a WASM reactor, ABI version 1.
// A plugin defines the names under "What a plugin defines"; reflectory.c does
// the rest. There is no libc, and no memory to free: what a call takes from
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

bool json_is_there(json v);
bool json_is_text(json v);
json json_get(json object, const char *key);    // not there if there is no such key
bool json_next(json array, json *item);         // the first item, if item->at is NULL, else the next
bool json_whole(json v, int64_t *number);       // false if it is no whole number
text json_text(json v);                         // decoded; empty if it is no text
size_t json_keys(json object);                  // how many keys it has

// ── JSON that is sent ───────────────────────────────────────────────────────

void put(const char *raw);        // JSON as it stands
void put_number(double number);   // with up to nine decimals
void put_whole(int64_t number);
void put_text(text t);            // quoted and escaped
void put_json(json v);

// ── Memory ──────────────────────────────────────────────────────────────────

void *take(size_t size); // zeroed; gone after the call

// ── What a plugin defines ───────────────────────────────────────────────────

// refusal is an error: the plugin could not judge. A NULL reason is none.
typedef struct {
	const char *code, *reason, *message, *hint;
} refusal;

// prepared is what a plugin makes of a config. It has no pointers into a call's
// memory, since it outlives the call.
typedef struct prepared prepared;

extern const char manifest[];          // JSON
extern const size_t prepared_size;     // sizeof(prepared)
refusal prepare(json config, prepared *into);
// evaluate puts a response, {"verdict": {…}}, or refuses the request.
refusal evaluate(const prepared *config, json request);

#endif
