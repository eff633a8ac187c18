// A generator that asks the host for what its state says, and gives the answer.
#include "reflectory.h"

const char manifest[] = "{\"name\":\"asks\",\"version\":\"0.1.0\",\"contract\":1,\"kinds\":[\"generator\"]}";

struct prepared {
	int none;
};
const size_t prepared_size = sizeof(prepared);

refusal prepare(json config, prepared *into) { return (void)config, (void)into, (refusal){0}; }

static refusal ask(text what, text with, json *answer) {
	text reply;
	refusal r = {0};
	if (text_equal(what, text_of("complete"))) {
		r = llm_complete(with, &reply);
		size_t begin = put_begin();
		put_text(reply);
		*answer = put_end(begin);
		return r;
	}
	if (text_equal(what, text_of("recall"))) return memory_recall(with, 2, answer);
	if (text_equal(what, text_of("get"))) return cache_get(with, answer);
	if (text_equal(what, text_of("put"))) return cache_put(with, json_at("[1]", 3));
	host_log(log_warn, with);
	return r;
}

refusal generate(const prepared *config, json request) {
	(void)config;
	json state = json_get(request, "state"), answer = {NULL, 0};
	put("{\"output\":");
	refusal r = ask(json_text(json_get(state, "ask")), json_text(json_get(state, "with")), &answer);
	if (json_is_there(answer))
		put_json(answer);
	else
		put("null");
	put("}");
	return r;
}
