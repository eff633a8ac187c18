//go:build cgo && lua54

// The life of a state: built once, then run and reset any number of times.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sandbox.h"

static const char chunk_key;  // its address is the registry key of the compiled script

typedef struct {
	const char *code, *chunk;
	size_t len;
} source;

typedef struct {
	le_state *s;
	int verdict;
	int64_t iteration;
	le_text state, output, errors, feedback;
} job;

// build opens the environment and compiles the script. It runs as a protected call.
static int build(lua_State *L) {
	source *src = lua_touserdata(L, 1);
	le_state *s = le_of(L);
	lua_settop(L, 0);
	le_open(L);
	lua_pushfstring(L, "=%s", src->chunk);
	int status = luaL_loadbufferx(L, src->code, src->len, lua_tostring(L, -1), "t");
	if (status == LUA_ERRSYNTAX) s->status = LE_SYNTAX;
	if (status != LUA_OK) return lua_error(L);
	lua_rawsetp(L, LUA_REGISTRYINDEX, &chunk_key);
	lua_settop(L, 0);
	// A full collection sets when the next begins. Most runs are over before ten
	// times the image is in use; those that aren't go on at the usual pace.
	lua_gc(L, LUA_GCINC, 1000, 0, 0);
	lua_gc(L, LUA_GCCOLLECT);
	lua_gc(L, LUA_GCINC, 200, 0, 0);
	return 0;
}

// set_message keeps the error on top of the stack without calling its metamethods.
static void set_message(le_state *s, lua_State *L) {
	if (lua_type(L, -1) == LUA_TSTRING) {
		size_t len;
		const char *text = lua_tolstring(L, -1, &len);
		if (len >= sizeof s->message) len = sizeof s->message - 1;
		memcpy(s->message, text, len);
		s->message[len] = '\0';
		return;
	}
	snprintf(s->message, sizeof s->message, "an error that is a %s value", luaL_typename(L, -1));
}

// locate is the message handler of a run: it notes where the error was raised,
// since not every error says so itself, and whether the script raised it on purpose.
static int locate(lua_State *L) {
	if (le_ended(L, LUA_OK)) return 1;
	le_note_line(L, le_of(L));
	lua_Debug raiser;
	if (lua_getstack(L, 1, &raiser) && lua_getinfo(L, "Sn", &raiser) && *raiser.what == 'C' && raiser.name != NULL)
		le_of(L)->raised = strcmp(raiser.name, "error") == 0 || strcmp(raiser.name, "assert") == 0;
	return 1;
}

static void set_global(lua_State *L, le_state *s, const char *name, le_text t) {
	if (t.ptr != NULL) le_decode(L, s, name, t.ptr, t.len);
}

// run_script is one evaluation, from JSON to JSON. It runs as a protected call.
static int run_script(lua_State *L) {
	job *j = lua_touserdata(L, 1);
	set_global(L, j->s, "state", j->state);
	set_global(L, j->s, "output", j->output);
	set_global(L, j->s, "errors", j->errors);
	lua_pushinteger(L, j->iteration);
	lua_setglobal(L, "iteration");
	if (j->feedback.ptr != NULL) {
		lua_pushlstring(L, j->feedback.ptr, j->feedback.len);
		lua_setglobal(L, "feedback");
	}
	lua_rawgetp(L, LUA_REGISTRYINDEX, &chunk_key);
	lua_call(L, 0, 1);
	if (lua_isnil(L, -1)) {
		j->s->status = LE_NIL;
		return 0;
	}
	le_encode(L, j->s, j->verdict);
	return 0;
}

// out_of_memory tells whose limit a state has met.
static int out_of_memory(le_state *s) { return s->starved ? s->starved : LE_MEMORY; }

// finish turns a protected call's status into ours.
static int finish(le_state *s, int status) {
	if (status == LUA_OK && s->end == LE_OK) return s->status;
	if (le_ended(s->L, status)) return s->end == LE_MEMORY ? out_of_memory(s) : s->end;
	set_message(s, s->L);
	if (s->status != LE_OK && s->status != LE_NIL) return s->status;
	return s->raised ? LE_RAISED : LE_RUNTIME;
}

le_state *le_new(const char *code, size_t len, const char *chunk, int64_t memory, int64_t steps, int *status) {
	le_state *s = calloc(1, sizeof *s);
	if (s == NULL) return NULL;
	s->quota = (size_t)memory;
	s->limit = s->check = INT64_MAX;
	*status = LE_MEMORY;
	if (!le_arena_init(s) || (s->L = lua_newstate(le_alloc, s)) == NULL) {
		*status = out_of_memory(s);
		return s;
	}
	source src = {code, chunk, len};
	lua_pushcfunction(s->L, build);
	lua_pushlightuserdata(s->L, &src);
	*status = finish(s, lua_pcall(s->L, 1, 0, 0));
	if (*status != LE_OK) return s;
	lua_sethook(s->L, le_hook, LUA_MASKCOUNT, LE_HOOK);
	s->limit = steps;
	s->steps = s->check = 0;
	if (!le_arena_seal(s)) *status = out_of_memory(s);
	return s;
}

// le_free needs no lua_close: a state holds nothing but its memory.
void le_free(le_state *s) {
	le_wake(s);
	le_out_free(s);
	le_arena_free(s);
	free(s);
}

int le_run(le_state *s, int verdict, int64_t iteration,
	const char *state, size_t state_len, const char *output, size_t output_len,
	const char *errors, size_t errors_len, const char *feedback, size_t feedback_len) {
	s->current = s->L;
	le_pace(s->L, s);
	job j = {s, verdict, iteration, {state, state_len}, {output, output_len}, {errors, errors_len}, {feedback, feedback_len}};
	lua_pushcfunction(s->L, locate);
	lua_pushcfunction(s->L, run_script);
	lua_pushlightuserdata(s->L, &j);
	return finish(s, lua_pcall(s->L, 1, 0, 1));
}

void le_reset(le_state *s) {
	le_arena_reset(s);
	if (s->out_cap > 1 << 16) le_out_free(s);
	s->out_len = 0;
	s->steps = s->check = 0;
	s->end = s->status = LE_OK;
	s->line = s->closing = s->raised = 0;
	s->message[0] = '\0';
	atomic_store(&s->stop, 0);
}

void le_stop(le_state *s) { atomic_store(&s->stop, 1); }

const char *le_output(le_state *s, size_t *len) {
	*len = s->out_len;
	return s->out;
}

const char *le_message(le_state *s) { return s->message; }
int le_line(le_state *s) { return s->line; }
size_t le_memory(le_state *s) { return s->sealed.live + (size_t)(s->sealed.next - s->arena); }
