package llmeval_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/plugins/llm-eval/llmtest"
	"github.com/reflectory/reflectory/sdk"
)

// said is a reply with a message in the protocol's form, as JSON, and a finish reason.
func said(message, finish string) llmtest.Reply {
	return llmtest.Body(200, "application/json", fmt.Sprintf(
		`{"choices":[{"index":0,"message":%s,"finish_reason":%s}],"usage":{"prompt_tokens":10,"completion_tokens":5}}`, message, mustJSON(finish)))
}

// called is what a call makes of replies: the output if it is a text, its JSON, or the reason of the error.
func called(t *testing.T, parse bool, replies ...llmtest.Reply) string {
	t.Helper()
	return calledIn(t, llmtest.PathChat, parse, replies...)
}

// calledIn is called in the protocol of a path.
func calledIn(t *testing.T, path string, parse bool, replies ...llmtest.Reply) string {
	t.Helper()
	config := object{"prompt": "p"}
	if parse {
		config["parse"] = "json"
	}
	server := llmtest.New(t, replies...)
	res, err := newGenerator(t, configIn(path, server.URL, config)).Generate(t.Context(), &sdk.GenerateRequest{})
	if err != nil {
		return "error " + sdk.ReasonOf(err)
	}
	var text string
	if !parse && json.Unmarshal(res.Output, &text) == nil {
		return text
	}
	return string(res.Output)
}

func TestCall_ContentInParts(t *testing.T) {
	for name, test := range map[string]struct{ message, want string }{
		"text parts":                {`{"content":[{"type":"text","text":"Hel"},{"type":"text","text":"lo"}]}`, "Hello"},
		"output_text":               {`{"content":[{"type":"output_text","text":"Hello","annotations":[]}]}`, "Hello"},
		"bare texts":                {`{"content":["Hel","lo"]}`, "Hello"},
		"one part, no list":         {`{"content":{"type":"text","text":"Hello"}}`, "Hello"},
		"no type":                   {`{"content":[{"text":"Hello"}]}`, "Hello"},
		"a text with a value":       {`{"content":[{"type":"text","text":{"value":"Hello","annotations":[]}}]}`, "Hello"},
		"a null between":            {`{"content":[null,{"type":"text","text":"Hello"},null]}`, "Hello"},
		"a thinking part":           {`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"Draft"}]},{"type":"text","text":"Hello"}]}`, "Hello"},
		"a reasoning part":          {`{"content":[{"type":"reasoning","text":"Draft"},{"type":"text","text":"Hello"}]}`, "Hello"},
		"an image next to text":     {`{"content":[{"type":"image_url","image_url":{"url":"data:"}},{"type":"text","text":"Hello"}]}`, "Hello"},
		"an unknown part":           {`{"content":[{"type":"text","text":"Hello"},{"type":"citation","source":"x"}]}`, "Hello"},
		"a number next to text":     {`{"content":[1,"Hello"]}`, "Hello"},
		"no part":                   {`{"content":[]}`, "error llm_reply_empty"},
		"an image alone":            {`{"content":[{"type":"image_url","image_url":{"url":"data:"}}]}`, "error llm_reply_empty"},
		"thinking alone":            {`{"content":[{"type":"thinking","thinking":"Draft"}]}`, "error llm_reply_empty"},
		"null, with a reasoning":    {`{"content":null,"reasoning_content":"Draft"}`, "error llm_reply_empty"},
		"no content":                {`{"role":"assistant"}`, "error llm_reply_empty"},
		"a refusal part":            {`{"content":[{"type":"refusal","refusal":"No."}]}`, "error llm_refused"},
		"a refusal next to text":    {`{"content":[{"type":"text","text":"Hel"},{"type":"refusal","refusal":"No."}]}`, "error llm_refused"},
		"reasoning next to content": {`{"content":"Hello","reasoning":"Draft"}`, "Hello"},
		"reasoning as a list":       {`{"content":"Hello","reasoning_content":[{"text":"Draft"}],"reasoning_details":[{"type":"reasoning.text","text":"Draft"}]}`, "Hello"},
		"an empty text and a call":  {`{"content":"","tool_calls":[{"id":"1","function":{"name":"f","arguments":"{}"}}]}`, "error llm_reply_empty"},
		"a part with a wrong text":  {`{"content":[{"type":"text","text":null},{"type":"text"},{"type":"text","text":"Hello"}]}`, "Hello"},
		"a list in a list of parts": {`{"content":[[{"type":"text","text":"Hel"}],{"type":"text","text":"lo"}]}`, "Hello"},
	} {
		if got := called(t, false, said(test.message, "stop")); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func TestCall_FinishReasons(t *testing.T) {
	for reason, want := range coretest.Some(3, map[string]string{
		"stop": "Hel", "end_turn": "Hel", "tool_calls": "Hel", "tool_use": "Hel", "STOP": "Hel", "": "Hel", "eos": "Hel", "of_its_own": "Hel",
		"length": "error llm_reply_cut", "max_tokens": "error llm_reply_cut", "MAX_TOKENS": "error llm_reply_cut", "model_length": "error llm_reply_cut",
		"Length": "error llm_reply_cut", "max_output_tokens": "error llm_reply_cut", " length ": "error llm_reply_cut",
		"content_filter": "error llm_refused", "SAFETY": "error llm_refused", "refusal": "error llm_refused", "RECITATION": "error llm_refused",
		"safety": "error llm_refused", "PROHIBITED_CONTENT": "error llm_refused", "BLOCKLIST": "error llm_refused",
		"LANGUAGE": "error llm_refused", "ERROR_TOXIC": "error llm_refused", "IMAGE_PROHIBITED_CONTENT": "error llm_refused",
		"ERROR_LIMIT": "error llm_reply_cut", "pause_turn": "error llm_reply_cut",
		"insufficient_system_resource": "again", "OTHER": "again", "MALFORMED_FUNCTION_CALL": "again", "USER_CANCEL": "again",
		"UNEXPECTED_TOOL_CALL": "again", "malformed_model_output": "again",
		// No endpoint is known to send these.
		"output_limit_reached": "error llm_reply_cut", "hit-max-length": "error llm_reply_cut", "truncated": "error llm_reply_cut",
		"BLOCKED_BY_PROVIDER": "error llm_refused", "child_safety": "error llm_refused", "output filtered": "error llm_refused", "policy_violation": "error llm_refused",
		"internal_error": "again", "OUT_OF_RESOURCES": "again", "request-cancelled": "again", "client_canceled": "again", "engine failure": "again",
		"deadline_timeout": "again", "interrupted": "again",
		"done": "Hel", "natural_end": "Hel",
	}) {
		for _, parse := range []bool{false, true} {
			text, again, want := "Hel", "again", want
			if parse {
				text, again, want = `"Hel"`, `"again"`, strings.NewReplacer("Hel", `"Hel"`, "again", `"again"`).Replace(want)
			}
			replies := []llmtest.Reply{llmtest.Text(text).FinishedBy(cmp.Or(reason, llmtest.NoFinish))}
			if want == again {
				replies = append(replies, llmtest.Text(again))
			}
			for _, path := range llmtest.Paths() {
				t.Run(fmt.Sprintf("%s, parse %v, %s", reason, parse, path), func(t *testing.T) {
					t.Parallel() // a reply that is asked for again is, after a moment
					if got := calledIn(t, path, parse, replies...); got != want {
						t.Errorf("%q, want %q", got, want)
					}
				})
			}
		}
	}
}

func TestCall_UnknownFinishReasonIsNotedOnceAndNotCached(t *testing.T) {
	for reason, unknown := range map[string]bool{"of_its_own": true, "done": true, "FINISH_REASON_UNSPECIFIED": true, "stop": false, "": false, "STOP_SEQUENCE": false} {
		server := llmtest.New(t, llmtest.Text("a").FinishedBy(reason))
		res := generate(t, configFor(server.URL, object{"prompt": "p"}))
		if noted := strings.Count(res.Metadata["note"], "unknown finish reason"); (noted == 1) != unknown || noted > 1 || (res.Metadata[sdk.MetadataNotCached] == "unknown_finish") != unknown {
			t.Errorf("%q: metadata %v", reason, res.Metadata)
		}
	}
}

// An endpoint may report an error of its own inside of an answer with status 200.
func TestCall_ErrorInTheReply(t *testing.T) {
	const partial = `"message":{"role":"assistant","content":"Hel"}`
	for name, test := range map[string]struct{ body, want string }{
		"a status in the choice":    {`{"choices":[{"finish_reason":"error","error":{"code":502,"message":"died"},` + partial + `}]}`, "again"},
		"no status in the choice":   {`{"choices":[{"finish_reason":"error","error":{"message":"died"},` + partial + `}]}`, "again"},
		"a text in the choice":      {`{"choices":[{"finish_reason":"stop","error":"died",` + partial + `}]}`, "again"},
		"the finish reason alone":   {`{"choices":[{"finish_reason":"error",` + partial + `}]}`, "again"},
		"in capitals":               {`{"choices":[{"finish_reason":"ERROR",` + partial + `}]}`, "again"},
		"429 in the choice":         {`{"choices":[{"error":{"code":429,"message":"slow down"},` + partial + `}]}`, "again"},
		"next to choices":           {`{"error":{"code":503,"message":"died"},"choices":[{"finish_reason":"stop",` + partial + `}]}`, "again"},
		"at the top":                {`{"error":{"code":500,"message":"died"}}`, "again"},
		"a refused key in a choice": {`{"choices":[{"error":{"code":401,"message":"no"},` + partial + `}]}`, "error llm_key_rejected"},
		"a model that isn't there":  {`{"error":{"code":404,"message":"no model"}}`, "error llm_model_not_found"},
		"null":                      {`{"error":null,"choices":[{"error":null,"finish_reason":"stop",` + partial + `}]}`, "Hel"},
		"empty":                     {`{"error":"","choices":[{"error":{},"finish_reason":"stop",` + partial + `}]}`, "Hel"},
	} {
		replies := []llmtest.Reply{llmtest.Body(200, "application/json", test.body)}
		if test.want == "again" {
			replies = append(replies, llmtest.Text("again"))
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel() // a reply that is asked for again is, after a moment
			if got := called(t, false, replies...); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

func TestCall_Thoughts(t *testing.T) {
	for name, test := range map[string]struct{ reply, text, value string }{
		"think":                  {"<think>{\"a\": 0}</think>\n\n{\"a\": 1}", `{"a": 1}`, `{"a": 1}`},
		"thinking":               {"<thinking>x {\"a\": 0}</thinking>{\"a\": 1}", `{"a": 1}`, `{"a": 1}`},
		"reasoning, capitals":    {"<Reasoning>{\"a\": 0}</REASONING>{\"a\": 1}", `{"a": 1}`, `{"a": 1}`},
		"thought":                {"<thought>{\"a\": 0}</thought>Done: {\"a\": 1}", `Done: {"a": 1}`, `{"a": 1}`},
		"square":                 {"[THINK]{\"a\": 0}[/THINK]{\"a\": 1}", `{"a": 1}`, `{"a": 1}`},
		"square, lower case":     {"[think]{\"a\": 0}[/think]{\"a\": 1}", `{"a": 1}`, `{"a": 1}`},
		"a closing tag alone":    {"I could use {\"a\": 0}\n</think>\n\n{\"a\": 1}", `{"a": 1}`, `{"a": 1}`},
		"and text after it":      {"I could use {\"a\": 0}</think>It is {\"a\": 1}.", `It is {"a": 1}.`, `{"a": 1}`},
		"a closing [/THINK]":     {"hm {\"a\": 0}[/THINK]{\"a\": 1}", `{"a": 1}`, `{"a": 1}`},
		"without an end":         {"<think>maybe {\"a\": 0} but", "error llm_reply_empty", "error llm_reply_empty"},
		"after the answer":       {"{\"a\": 1}<think>maybe {\"a\": 0} but", `{"a": 1}`, `{"a": 1}`},
		"between":                {"Sure. <think>{\"a\": 0}</think> {\"a\": 1}", `{"a": 1}`, `{"a": 1}`},
		"nested":                 {"<think>a <think>{\"a\": 0}</think> c</think>It is {\"a\": 1}", `It is {"a": 1}`, `{"a": 1}`},
		"twice":                  {"<think>x</think><think>{\"a\": 0}</think>{\"a\": 1}", `{"a": 1}`, `{"a": 1}`},
		"of another name's end":  {"<think>{\"a\": 0}</thinking>{\"a\": 1}", `{"a": 1}`, `{"a": 1}`},
		"a tag in the answer":    {`<think>x</think>{"s": "the tag </think> [1, 2] closes it"}`, `{"s": "the tag </think> [1, 2] closes it"}`, `{"s": "the tag </think> [1, 2] closes it"}`},
		"and prose around":       {`<think>x</think>So: {"s": "</think> [1]"} ok`, `So: {"s": "</think> [1]"} ok`, `{"s": "</think> [1]"}`},
		"and a fence":            {"<think>x</think>```json\n{\"s\": \"</think> [1]\"}\n```", "```json\n{\"s\": \"</think> [1]\"}\n```", `{"s": "</think> [1]"}`},
		"no thought, but a tag":  {`{"s": "<think> [1]"}`, `{"s": "<think> [1]"}`, `{"s": "<think> [1]"}`},
		"an opening tag in it":   {`Here: {"s": "<think>", "t": "</think>"}`, `Here: {"s": "<think>", "t": "</think>"}`, `{"s": "<think>", "t": "</think>"}`},
		"a tag in the thought":   {"<think>write \"</think>\"? {\"a\": 0}</think>{\"a\": 1}", `{"a": 1}`, `{"a": 1}`},
		"channels":               {`<|channel|>analysis<|message|>{"a": 0}<|end|><|start|>assistant<|channel|>final<|message|>{"a": 1}<|return|>`, `{"a": 1}`, `{"a": 1}`},
		"channels, constrained":  {`<|start|>assistant<|channel|>commentary<|message|>{"a": 0}<|end|><|start|>assistant<|channel|>final <|constrain|>json<|message|>{"a": 1}`, `{"a": 1}`, `{"a": 1}`},
		"from within a channel":  {`{"a": 0}<|end|><|start|>assistant<|channel|>final<|message|>{"a": 1}`, `{"a": 1}`, `{"a": 1}`},
		"no final channel":       {`<|channel|>analysis<|message|>{"a": 0}<|end|>`, "error llm_reply_empty", "error llm_reply_empty"},
		"channels without marks": {`analysisWe need {"a": 0}.assistantfinal{"a": 1}`, `{"a": 1}`, `{"a": 1}`},
		"and no final one":       {`analysisWe need {"a": 0}.`, "error llm_reply_empty", "error llm_reply_empty"},
		"a word":                 {`analysis of it: {"a": 1}`, `analysis of it: {"a": 1}`, `{"a": 1}`},
		"between backticks":      {"Write `<think>`, then `</think>`: {\"a\": 1}", "Write `<think>`, then `</think>`: {\"a\": 1}", `{"a": 1}`},
		"in a code fence":        {"So:\n```html\n<think>\n```\nand {\"a\": 1}", "So:\n```html\n<think>\n```\nand {\"a\": 1}", `{"a": 1}`},
		"an editor's brackets":   {`He [think]s of {"a": 1}`, `He [think]s of {"a": 1}`, `{"a": 1}`},
		"a byte order mark":      {"\ufeff<think>{\"a\": 0}</think>\ufeff{\"a\": 1}", `{"a": 1}`, `{"a": 1}`},
	} {
		for parse, want := range map[bool]string{false: test.text, true: test.value} {
			for _, path := range llmtest.Paths() {
				if got := calledIn(t, path, parse, llmtest.Text(test.reply)); got != want {
					t.Errorf("%s, parse %v, %s: %q, want %q", name, parse, path, got, want)
				}
				if !parse {
					continue
				}
				if chunks, res, err := watchParsed(t, path, llmtest.Text(test.reply)); err == nil && string(res.Output) != want || err != nil && "error "+sdk.ReasonOf(err) != want {
					t.Errorf("%s, %s, streamed as %q: %+v, %v, want %q", name, path, chunks, res, err, want)
				}
			}
		}
	}
}

// watchParsed generates with parse: json and a watcher, so that the reply is streamed, four bytes at a time.
func watchParsed(t *testing.T, path string, reply llmtest.Reply) (chunks []string, res *sdk.GenerateResponse, err error) {
	t.Helper()
	server := llmtest.New(t, reply)
	g := newGenerator(t, configIn(path, server.URL, object{"prompt": "p", "parse": "json"}))
	res, err = g.Generate(t.Context(), &sdk.GenerateRequest{Emit: func(chunk string) { chunks = append(chunks, chunk) }})
	return chunks, res, err
}

func TestCall_ValueOfTheWantedShape(t *testing.T) {
	schema := object{"type": "object", "required": []string{"name"}}
	for name, test := range map[string]struct{ reply, want string }{
		"next to another object":   {`From {"id": 1} follows {"name": "a"}`, `{"name": "a"}`},
		"before another object":    {`{"name": "a"} as in {"id": 1}`, `{"name": "a"}`},
		"next to a list":           {`["x"] {"name": "a"}`, `{"name": "a"}`},
		"next to a list of others": {`[{"id": 1}] {"name": "a"}`, `{"name": "a"}`},
		"in the second fence":      {"```json\n{\"id\": 1}\n```\n```json\n{\"name\": \"a\"}\n```", `{"name": "a"}`},
		"outside the fence":        {"```json\n{\"id\": 1}\n```\n{\"name\": \"a\"}", `{"name": "a"}`},
		"in the fence":             {"{\"name\": \"b\"}\n```json\n{\"name\": \"a\"}\n```", `{"name": "a"}`},
		"next to a citation":       {`{"name": "a"} [1][2]`, `{"name": "a"}`},
		"twice":                    {`{"name": "a"} {"name": "b"}`, "error llm_reply_not_json"},
		"none fits":                {`{"id": 1}`, "error llm_reply_invalid"},
		"two that don't":           {`{"id": 1} {"id": 2}`, "error llm_reply_not_json"},
		"in a broken reply":        {`{"name": "a"} {"name": "b`, "error llm_reply_not_json"},
	} {
		server := llmtest.New(t, llmtest.Text(test.reply))
		res, err := newGenerator(t, configFor(server.URL, object{"prompt": "p", "response_schema": schema})).Generate(t.Context(), &sdk.GenerateRequest{})
		got := "error " + sdk.ReasonOf(err)
		if err == nil {
			got = string(res.Output)
		}
		if got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func TestCall_UsageForms(t *testing.T) {
	const plain = `{"choices":[{"message":{"content":"abcdefgh"},"finish_reason":"stop"}],"usage":%s}`
	for usage, want := range map[string]sdk.Usage{
		`{"prompt_tokens":7,"completion_tokens":3,"total_tokens":10}`: {TokensIn: 7, TokensOut: 3},
		`{"total_tokens":10}`:                  {TokensIn: 8, TokensOut: 2},
		`{"total_tokens":1}`:                   {TokensOut: 1},
		`{"input_tokens":7,"output_tokens":3}`: {TokensIn: 7, TokensOut: 3},
		`{"input_tokens":7,"output_tokens":3,"cache_read_input_tokens":100}`:                           {TokensIn: 107, TokensOut: 3},
		`{"prompt_tokens":7,"total_tokens":10}`:                                                        {TokensIn: 7, TokensOut: 3},
		`{"completion_tokens":3,"total_tokens":10}`:                                                    {TokensIn: 7, TokensOut: 3},
		`{"prompt_tokens":7,"completion_tokens":3,"completion_tokens_details":{"reasoning_tokens":2}}`: {TokensIn: 7, TokensOut: 3},
		`{}`:                  {TokensIn: 1, TokensOut: 2},
		`null`:                {TokensIn: 1, TokensOut: 2},
		`[]`:                  {TokensIn: 1, TokensOut: 2},
		`{"prompt_tokens":0}`: {TokensIn: 1, TokensOut: 2},
	} {
		server := llmtest.New(t, llmtest.Body(200, "application/json", fmt.Sprintf(plain, usage)))
		res := generate(t, configFor(server.URL, object{"prompt": "abcd"}))
		estimated := strings.Contains(res.Metadata["note"], "estimated")
		if res.Usage != want || estimated != (want == sdk.Usage{TokensIn: 1, TokensOut: 2} || strings.HasPrefix(usage, `{"total`)) {
			t.Errorf("%s: %+v, %v, want %+v", usage, res.Usage, res.Metadata, want)
		}
	}
}

func TestCall_PromptThatWasCutIsNoted(t *testing.T) {
	for name, test := range map[string]struct {
		chars int
		usage string
		cut   bool
	}{
		"2,050 of 100,000":      {100_000, `{"prompt_tokens":2050,"completion_tokens":1}`, true},
		"one less":              {12_000, `{"prompt_tokens":999,"completion_tokens":1}`, true},
		"enough":                {12_000, `{"prompt_tokens":1000,"completion_tokens":1}`, false},
		"a short prompt":        {8000, `{"prompt_tokens":10,"completion_tokens":1}`, false},
		"not counted":           {100_000, `null`, false},
		"the total alone":       {100_000, `{"total_tokens":2051}`, true},
		"input_tokens":          {100_000, `{"input_tokens":2050,"output_tokens":1}`, true},
		"characters, not bytes": {8000, `{"prompt_tokens":100,"completion_tokens":1}`, false},
	} {
		letter := "a"
		if strings.Contains(name, "bytes") {
			letter = "é"
		}
		prompt := strings.Repeat(letter, test.chars)
		reply := llmtest.Body(200, "application/json", `{"choices":[{"message":{"content":"{\"pass\":true}"},"finish_reason":"stop"}],"usage":`+test.usage+`}`)
		server := llmtest.New(t, reply.Always())
		res := generate(t, configFor(server.URL, object{"prompt": prompt}))
		if strings.Contains(res.Metadata["note"], "prompt_cut") != test.cut {
			t.Errorf("%s: %v", name, res.Metadata)
		}
		if (res.Metadata[sdk.MetadataNotCached] != "") != test.cut {
			t.Errorf("%s: %v", name, res.Metadata)
		}
		if name == "enough" || name == "a short prompt" || strings.Contains(name, "bytes") {
			continue // the judge's own words come on top
		}
		judged := evaluate(t, newJudge(t, configFor(server.URL, nil)), string(mustJSON(prompt)))
		if judged.Verdict.Valid == test.cut {
			t.Errorf("%s: %+v", name, judged.Verdict)
		}
	}
}
