// The interface between Go and the sandboxed Lua states.
#ifndef LUAEVAL_EVAL_H
#define LUAEVAL_EVAL_H

#include <stddef.h>
#include <stdint.h>

// What le_new and le_run end with. Everything but LE_OK and LE_NIL leaves a
// message in le_message.
enum {
	LE_OK,           // le_output holds JSON
	LE_NIL,          // the script returned no value
	LE_NAN,          // the score is not a number
	LE_UNENCODABLE,  // the returned value has no JSON form
	LE_INPUT,        // a global's JSON can't become a Lua value
	LE_SYNTAX,       // the script doesn't compile
	LE_RUNTIME,      // the script raised an error
	LE_MEMORY,       // the memory quota is used up
	LE_STEPS,        // the instruction quota is used up
	LE_STOPPED,      // le_stop was called
	LE_RAISED,       // the script called error or assert
	LE_MEMORY_SHARED,  // the scripts that run at the same time hold the plugin's memory
	LE_MEMORY_ALL,   // the quota is more than the plugin has for one script
};

typedef struct le_state le_state;

// le_share divides the memory of the process between its states: each may have
// floor bytes while it runs, all together shared bytes more, and those that wait
// for their next use waiting bytes. It is called once, before the first le_new.
void le_share(int64_t floor, int64_t shared, int64_t waiting);

// le_new makes a state with the script compiled. *status is LE_OK, LE_SYNTAX,
// LE_MEMORY or LE_RUNTIME (a defect of the sandbox). Whatever it is, a result
// that isn't NULL must be freed; NULL means that the system has no memory.
le_state *le_new(const char *code, size_t len, const char *chunk, int64_t memory, int64_t steps, int *status);
void le_free(le_state *s);

// A piece of JSON or text of the caller's; a NULL ptr is nil.
typedef struct {
	const char *ptr;
	size_t len;
} le_text;

// le_run sets the globals and runs the script once. With verdict, an infinite
// score is clamped. What it leaves (output, message) holds until le_reset,
// which must follow before the next run.
int le_run(le_state *s, int verdict, int64_t iteration,
	const char *state, size_t state_len, const char *output, size_t output_len,
	const char *errors, size_t errors_len, const char *feedback, size_t feedback_len);

// le_reset puts the state's memory back, byte for byte, to what it was before
// the first run, and frees everything else that the run allocated.
void le_reset(le_state *s);

// le_rest says that a state waits for its next use, and le_wake that it is used
// again. le_rest returns 0 if the waiting states hold enough: free the state then.
int le_rest(le_state *s);
void le_wake(le_state *s);

// le_stop makes a run end soon. It may be called from any thread while the
// state exists; le_reset takes it back.
void le_stop(le_state *s);

const char *le_output(le_state *s, size_t *len);
const char *le_message(le_state *s);
int le_line(le_state *s);        // the line that ran when the run failed, or 0
size_t le_memory(le_state *s);   // bytes held by the state and its image

#endif
