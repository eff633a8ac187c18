package gateway_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/cmd/host/internal/gateway"
	core "github.com/reflectory/reflectory/core/host/gateway"
	"github.com/reflectory/reflectory/sdk"
)

func parsed(t *testing.T, shape, body string) *gateway.Parsed {
	t.Helper()
	r, err := gateway.Parse(shape, []byte(body), http.Header{})
	if err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	return r
}

// brief is a message without its canonical bytes, in one line.
func brief(m core.Message) string {
	text := fmt.Sprintf("%s %q", m.Role, m.Text)
	for _, c := range m.Calls {
		text += fmt.Sprintf(" call(%s %s %s", c.ID, c.Name, c.Arguments)
		if c.Unchecked {
			text += " unchecked"
		}
		text += ")"
	}
	for _, r := range m.Results {
		text += fmt.Sprintf(" result(%s %q", r.CallID, r.Text)
		if r.Failed {
			text += " failed"
		}
		text += ")"
	}
	return text
}

func TestRequest_IsRead(t *testing.T) {
	for name, c := range map[string]struct {
		shape, body string
		want        []string
	}{
		"chat": {"chat", `{"model":"m","messages":[{"role":"system","content":"S"},{"role":"developer","content":"D"},
			{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"data:"}},{"type":"text","text":"b"}]},
			{"role":"assistant","content":"<think>hm</think>ok","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"c2","type":"custom","custom":{"name":"g","input":"x"}}]},
			{"role":"tool","tool_call_id":"c1","content":"1"},{"role":"tool","tool_call_id":"c2","content":[{"type":"text","text":"2"}]},
			{"role":"developer","content":"now"},{"role":"user","content":"é\u00e9"}]}`, []string{
			`user "a\nb"`, `assistant "ok" call(c1 f {}) call(c2 g x unchecked)`, `user "" result(c1 "1") result(c2 "2")`, `developer "now"`, `user "éé"`,
		}},
		"a text": {"responses", `{"model":"m","input":"Hi"}`, []string{`user "Hi"`}},
		"items": {"responses", `{"model":"m","instructions":"S","input":[{"role":"developer","content":"D"},{"type":"message","role":"user","content":[{"type":"input_text","text":"a"}]},
			{"type":"reasoning","id":"rs","summary":[]},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"x"},{"type":"output_text","text":"y"}]},
			{"type":"function_call","call_id":"c1","name":"f","arguments":"{}"},{"type":"web_search_call","id":"ws","status":"completed"},{"type":"custom_tool_call","call_id":"c2","name":"g","input":"z"},
			{"type":"local_shell_call","call_id":"c3","action":{"type":"exec"}},
			{"type":"function_call_output","call_id":"c1","output":"1"},{"type":"custom_tool_call_output","call_id":"c2","output":[{"type":"input_text","text":"2"}],"status":"failed"}]}`, []string{
			`user "a"`, `assistant "xy" call(c1 f {}) call(c2 g z unchecked) call(c3 local_shell_call {"type":"exec"} unchecked)`, `user "" result(c1 "1") result(c2 "2" failed)`,
		}},
		"messages": {"messages", `{"model":"m","max_tokens":1,"system":"S","tools":[{"type":"bash_20250124","name":"bash"}],"messages":[{"role":"user","content":"a"},
			{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"x"},{"type":"tool_use","id":"c1","name":"f","input":{"a": 1.0}},{"type":"tool_use","id":"c2","name":"bash","input":{}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","is_error":true,"content":[{"type":"text","text":"no"}]},{"type":"tool_result","tool_use_id":"c2","content":"2"},{"type":"text","text":"go on"}]},
			{"role":"assistant","content":"{"}]}`, []string{
			`user "a"`, `assistant "x" call(c1 f {"a": 1.0}) call(c2 bash {} unchecked)`, `user "go on" result(c1 "no" failed) result(c2 "2")`, `assistant "{"`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, m := range parsed(t, c.shape, c.body).Messages {
				got = append(got, brief(m))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestRequest_ToolsAndSchema(t *testing.T) {
	schema := `{"type": "object", "x": 1.0}`
	for shape, members := range map[string]string{
		"chat":      `"messages":[{"role":"user","content":"x"}],"n":2,"tools":[{"type":"function","function":{"name":"f","parameters":%[1]s}},{"type":"custom","custom":{"name":"g"}}],"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":%[1]s}}`,
		"responses": `"input":"x","tools":[{"type":"web_search"},{"type":"function","name":"f","parameters":%[1]s}],"text":{"format":{"type":"json_schema","schema":%[1]s}}`,
		"messages":  `"messages":[{"role":"user","content":"x"}],"tools":[{"name":"f","input_schema":%[1]s},{"type":"web_search_20250305","name":"web_search"}],"output_config":{"format":{"type":"json_schema","schema":%[1]s}}`,
	} {
		r := parsed(t, shape, `{"model":"m","stream":true,`+fmt.Sprintf(members, schema)+`}`)
		if diff := cmp.Diff([]core.Tool{{Name: "f", Schema: []byte(schema)}}, r.Tools, cmp.Transformer("text", func(raw json.RawMessage) string { return string(raw) })); diff != "" || string(r.Schema) != schema || !r.Stream {
			t.Errorf("%s: %s, schema %s", shape, diff, r.Schema)
		}
		if want := map[string]int{"chat": 2}[shape]; want != 0 && r.Choices != want {
			t.Errorf("%s: %d choices", shape, r.Choices)
		}
	}
}

// TestRequest_SchemaOfAFormat: wherever a client gives one next to json_schema or json_object.
func TestRequest_SchemaOfAFormat(t *testing.T) {
	const schema = `{"type":"object"}`
	for _, c := range []struct{ format, want string }{
		{`{"type":"json_object","schema":` + schema + `}`, schema}, {`{"type":"json_schema","schema":` + schema + `}`, schema},
		{`{"type":"json_object","json_schema":{"schema":` + schema + `}}`, schema}, {`{"type":"json_schema","json_schema":{"name":"x","schema":` + schema + `},"schema":{"type":"array"}}`, schema},
		{`{"type":"json_object"}`, ""}, {`{"type":"json_schema"}`, ""}, {`{"type":"json_object","schema":null}`, ""}, {`{"type":"text","schema":` + schema + `}`, ""}, {`{"schema":` + schema + `}`, ""}, {`null`, ""}, {`"json_object"`, ""}, {`[]`, ""},
	} {
		for shape, body := range map[string]string{
			"chat": `"messages":[{"role":"user","content":"x"}],"response_format":%s`, "responses": `"input":"x","text":{"format":%s}`,
			"messages": `"messages":[{"role":"user","content":"x"}],"output_config":{"format":%s}`,
		} {
			if r := parsed(t, shape, `{"model":"m",`+fmt.Sprintf(body, c.format)+`}`); string(r.Schema) != c.want {
				t.Errorf("%s, %s: schema %q, want %q", shape, c.format, r.Schema, c.want)
			}
		}
	}
}

// TestRequest_EditsAddToItsBytes: nothing else changes, and what comes out is a request that the upstream takes.
func TestRequest_EditsAddToItsBytes(t *testing.T) {
	const context, findings, system = "<context>\n\"ctx\"", "bad: \"x\"", "anchor"
	for name, c := range map[string]struct{ shape, body, want string }{
		"chat, texts": {"chat",
			`{ "model" : "m","messages":[ {"role":"system","content":"S"} , {"role":"user","content":"a\"" , "n":1.50} ] }`,
			`{ "model" : "up","messages":[ {"role":"system","content":"S\n\nanchor"} , {"role":"user","content":"a\"\n\n<context>\n\"ctx\"" , "n":1.50},{"role":"user","content":"bad: \"x\""} ] }`},
		"chat, parts": {"chat",
			`{"messages":[{"role":"user","content":[{"type":"text","text":"a"} ]}],"model":"m"}`,
			`{"messages":[{"role":"system","content":"anchor"},{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"<context>\n\"ctx\""} ]},{"role":"user","content":"bad: \"x\""}],"model":"up"}`},
		"chat, results": {"chat",
			`{"model":"m","messages":[{"role":"tool","tool_call_id":"1","content":"x"},{"role":"tool","tool_call_id":"2","content":"y"}]}`,
			`{"model":"up","messages":[{"role":"system","content":"anchor"},{"role":"tool","tool_call_id":"1","content":"x"},{"role":"tool","tool_call_id":"2","content":"y"},{"role":"user","content":"<context>\n\"ctx\""},{"role":"user","content":"bad: \"x\""}]}`},
		"chat, no content": {"chat",
			`{"model":"m","messages":[{"role":"system","content":null},{"role":"user","content":[]}]}`,
			`{"model":"up","messages":[{"role":"system","content":null},{"role":"system","content":"anchor"},{"role":"user","content":[]},{"role":"user","content":"<context>\n\"ctx\""},{"role":"user","content":"bad: \"x\""}]}`},
		"chat, several systems": {"chat",
			`{"model":"m","messages":[{"role":"system","content":"S"},{"role":"developer","content":[{"type":"text","text":"D"}]},{"role":"user","content":""}]}`,
			`{"model":"up","messages":[{"role":"system","content":"S"},{"role":"developer","content":[{"type":"text","text":"D"},{"type":"text","text":"anchor"}]},{"role":"user","content":"\n\n<context>\n\"ctx\""},{"role":"user","content":"bad: \"x\""}]}`},
		"responses, a text": {"responses",
			`{"input":"a","model":"m","instructions":"S"}`, `{"input":"a\n\n<context>\n\"ctx\"\n\nbad: \"x\"","model":"up","instructions":"S\n\nanchor"}`},
		"responses, items": {"responses",
			`{"input":[{"role":"user","content":[{"type":"input_text","text":"a"}]}],"model":"m"}`,
			`{"instructions":"anchor","input":[{"role":"user","content":[{"type":"input_text","text":"a"},{"type":"input_text","text":"<context>\n\"ctx\""}]},{"role":"user","content":"bad: \"x\""}],"model":"up"}`},
		"responses, results": {"responses",
			`{"instructions":null,"model":"m","input":[{"type":"function_call_output","call_id":"1","output":"x"}]}`,
			`{"instructions":"anchor","model":"up","input":[{"type":"function_call_output","call_id":"1","output":"x"},{"role":"user","content":"<context>\n\"ctx\""},{"role":"user","content":"bad: \"x\""}]}`},
		"messages, texts": {"messages",
			`{"model":"m","system":"S","messages":[{"role":"user","content":"a"}]}`,
			`{"model":"up","system":"S\n\nanchor","messages":[{"role":"user","content":"a\n\n<context>\n\"ctx\""},{"role":"user","content":"bad: \"x\""}]}`},
		"messages, parts with a mark": {"messages",
			`{"model":"m","system":[{"type":"text","text":"S","cache_control":{"type":"ephemeral"}}],"messages":[{"role":"user","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}]}]}`,
			`{"model":"up","system":[{"type":"text","text":"S","cache_control":{"type":"ephemeral"}},{"type":"text","text":"anchor"}],"messages":[{"role":"user","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}},{"type":"text","text":"<context>\n\"ctx\""}]},{"role":"user","content":"bad: \"x\""}]}`},
		"messages, results": {"messages",
			`{"model":"m","system":[],"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"1"}]}]}`,
			`{"model":"up","system":[{"type":"text","text":"anchor"}],"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"1"},{"type":"text","text":"<context>\n\"ctx\""},{"type":"text","text":"bad: \"x\""}]}]}`},
		"messages, a reply that the client began": {"messages",
			`{"model":"m","messages":[{"role":"user","content":"a"},{"role":"assistant","content":"{"}]}`,
			`{"system":"anchor","model":"up","messages":[{"role":"user","content":"a\n\n<context>\n\"ctx\"\n\nbad: \"x\""},{"role":"assistant","content":"{"}]}`},
	} {
		t.Run(name, func(t *testing.T) {
			r := parsed(t, c.shape, c.body)
			got := r.Edited(&core.Edits{Model: "up", System: system, Context: map[int]string{0: context, 7: "no such message"}, Findings: findings})
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if same := r.Edited(&core.Edits{}); same != c.body {
				t.Errorf("without edits: %s", same)
			}
		})
	}
}

func TestRequest_Refused(t *testing.T) {
	deep := strings.Repeat("[", 300) + strings.Repeat("]", 300)
	for body, want := range map[string]string{
		``: "json_invalid", `{`: "json_invalid", `[]`: "request_invalid", `"x"`: "request_invalid", `{"model":1}`: "request_invalid",
		`{"model":"m"}`: "request_invalid", `{"model":"m","model":"n","messages":[]}`: "json_name_repeated",
		`{"model":"m","messages":[{"role":"user","role":"system","content":"x"}]}`:                      "json_name_repeated",
		`{"model":"m","messages":[{"role":"root","content":"x"}]}`:                                      "request_invalid",
		`{"model":"m","messages":["x"]}`:                                                                "request_invalid",
		`{"model":"m","messages":"x"}`:                                                                  "request_invalid",
		`{"model":"m","messages":[{"role":"user","content":` + deep + `}]}`:                             "json_too_deep",
		"{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"\xff\"}]}":                     "utf8_invalid",
		`{"model":"` + strings.Repeat("m", 600) + `","messages":[{"role":"user","content":"x"}]}`:       "request_invalid",
		`{"model":"m","messages":[` + strings.Repeat(`{"role":"user"},`, 100_000) + `{"role":"user"}]}`: "request_invalid",
		`{"model":"m","messages":[{"role":"user","content":[` + strings.Repeat(`1,`, 100_000) + `1]}]}`: "request_invalid",
	} {
		for _, shape := range []string{"chat", "messages"} {
			if _, err := gateway.Parse(shape, []byte(body), http.Header{}); sdk.ReasonOf(err) != want {
				t.Errorf("%s %.80q: %v, want %s", shape, body, err, want)
			}
		}
	}
	for body, want := range map[string]string{
		`{"model":"m","input":"x","background":true}`:         "background_refused",
		`{"model":"m","input":[{"role":"root"}]}`:             "request_invalid",
		`{"model":"m","input":[]}`:                            "request_invalid",
		`{"model":"m","messages":[{"role":"user"}]}`:          "request_invalid",
		`{"model":"m","input":{"role":"user","content":"x"}}`: "request_invalid",
	} {
		if _, err := gateway.Parse("responses", []byte(body), http.Header{}); sdk.ReasonOf(err) != want {
			t.Errorf("%s: %v, want %s", body, err, want)
		}
	}
}

// TestRequest_WhatChangesBetweenRequestsIsNotInItsDigest: clients write the same message in another way the next time.
func TestRequest_WhatChangesBetweenRequestsIsNotInItsDigest(t *testing.T) {
	frame := map[string]string{
		"chat": `{"model":"m","messages":[%s]}`, "messages": `{"model":"m","messages":[%s]}`, "responses": `{"model":"m","input":[%s]}`,
	}
	same := map[string][][]string{
		"chat": {
			{`{"role":"user","content":"a"}`, `{"content":[{"type":"text","text":"a"}], "role":"user"}`, `{"role":"user","content":"a","name":null}`},
			{`{"role":"assistant","content":"a"}`, `{"role":"assistant","content":"a","reasoning_content":"hm","refusal":null}`, `{"role":"assistant","content":"a","reasoning_details":[1]}`},
		},
		"messages": {
			{`{"role":"user","content":"a"}`, `{"role":"user","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}]}`},
			{`{"role":"assistant","content":[{"type":"text","text":"a"}]}`, `{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"a"}]}`},
			{`{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":[{"type":"text","text":"x"}]}]}`, `{"role":"user","content":[{"tool_use_id":"1","type":"tool_result","content":[{"text":"x","type":"text","cache_control":{"type":"ephemeral"}}],"cache_control":{"type":"ephemeral"}}]}`},
		},
		"responses": {
			{`{"role":"user","content":"a"}`, `{"type":"message","role":"user","content":[{"type":"input_text","text":"a"}]}`},
			{`{"role":"assistant","content":"a"}`, `{"type":"message","id":"msg_1","status":"completed","role":"assistant","content":[{"type":"output_text","text":"a","annotations":[]}]}`},
			{`{"type":"function_call","call_id":"1","name":"f","arguments":"{}"}`, `{"type":"function_call","id":"fc","status":"completed","call_id":"1","name":"f","arguments":"{}"}`},
		},
	}
	seen := map[string]string{}
	for shape, groups := range same {
		for _, group := range groups {
			var first []byte
			for _, text := range group {
				got := parsed(t, shape, fmt.Sprintf(frame[shape], text)).Messages[0].Canonical
				if first == nil {
					first = got
				}
				if !bytes.Equal(first, got) || len(got) == 0 {
					t.Errorf("%s: %s\n%s\n%s", shape, text, first, got)
				}
			}
			if other, taken := seen[shape+string(first)]; taken {
				t.Errorf("%s: %s and %s have the same digest", shape, other, group[0])
			}
			seen[shape+string(first)] = group[0]
		}
	}
	a := parsed(t, "messages", `{"model":"m","messages":[{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"f","input":{"status":"a","thinking":"b"}}]}]}`)
	b := parsed(t, "messages", `{"model":"m","messages":[{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"f","input":{"status":"b"}}]}]}`)
	if bytes.Equal(a.Messages[0].Canonical, b.Messages[0].Canonical) {
		t.Errorf("the arguments of calls aren't in the digest: %s", a.Messages[0].Canonical)
	}
}

func TestRequest_SessionThatTheClientNames(t *testing.T) {
	body := `{"model":"m","messages":[{"role":"user","content":"x"}],"input":"x"%s}`
	for name, c := range map[string]struct {
		more   string
		header []string
		want   string
	}{
		"none":             {"", nil, ""},
		"ours":             {`,"prompt_cache_key":"k"`, []string{"X-Session-Id", "b", "Reflectory-Session", "a"}, "a"},
		"Claude Code's":    {"", []string{"X-Claude-Code-Session-Id", "cc"}, "cc"},
		"session-id":       {"", []string{"session-id", "s"}, "s"},
		"session_id":       {"", []string{"session_id", "s"}, "s"},
		"x-session-id":     {"", []string{"x-session-id", "s"}, "s"},
		"metadata":         {`,"metadata":{"session_id":"s"}`, nil, "s"},
		"user_id":          {`,"metadata":{"user_id":"user_ab_account__session_11-22"}`, nil, "11-22"},
		"user_id, JSON":    {`,"metadata":{"user_id":"{\"device_id\":\"d\",\"session_id\":\"s\"}"}`, nil, "s"},
		"another user_id":  {`,"metadata":{"user_id":"jane"}`, nil, ""},
		"user_id, a list":  {`,"metadata":{"user_id":"[1]"}`, nil, ""},
		"conversation":     {`,"conversation":"conv"`, nil, "conv"},
		"conversation, id": {`,"conversation":{"id":"conv"}`, nil, "conv"},
		"cache key":        {`,"prompt_cache_key":"k"`, nil, "k"},
		"too long":         {"", []string{"X-Session-Id", strings.Repeat("s", 600)}, ""},
		"control":          {`,"prompt_cache_key":"a\u0000"`, nil, ""},
		"of a wrong type":  {`,"prompt_cache_key":7,"metadata":[],"conversation":true`, nil, ""},
	} {
		h := http.Header{}
		for i := 0; i < len(c.header); i += 2 {
			h.Set(c.header[i], c.header[i+1])
		}
		for _, shape := range []string{"chat", "responses", "messages"} {
			r, err := gateway.Parse(shape, []byte(fmt.Sprintf(body, c.more)), h)
			if err != nil || r.Session != c.want {
				t.Errorf("%s, %s: %q, %v, want %q", name, shape, r.Session, err, c.want)
			}
		}
	}
	r := parsed(t, "responses", `{"model":"m","previous_response_id":"resp_1","input":[{"type":"item_reference","id":"msg_1"},{"role":"user","content":"x"}]}`)
	if r.Previous != "resp_1" || len(r.Messages) != 1 || fmt.Sprint(r.Refers) != "[resp_1 msg_1]" {
		t.Errorf("previous %q, %d messages, refers to %v", r.Previous, len(r.Messages), r.Refers)
	}
	for body, want := range map[string]string{
		`"conversation":"conv_1","input":"x"`:                                             "[conv_1]",
		`"conversation":{"id":"conv_1"},"input":"x"`:                                      "[conv_1]",
		`"input":[{"id":"msg_1"}]`:                                                        "[msg_1]",
		`"input":[{"type":null,"id":"msg_1"}]`:                                            "[msg_1]",
		`"input":[{"type":"reasoning","id":"rs_1"}]`:                                      "[rs_1]",
		`"input":[{"role":"user","id":"x","content":"x"}]`:                                "[]",
		`"input":[{"type":"reasoning","id":"rs_1","encrypted_content":"x"}]`:              "[]",
		`"input":[{"type":"item_reference","id":"a"},{"type":"item_reference","id":"b"}]`: "[a b]",
	} {
		if r := parsed(t, "responses", `{"model":"m",`+body+`}`); fmt.Sprint(r.Refers) != want || r.Previous != "" && r.Previous != r.Refers[0] {
			t.Errorf("%s: previous %q, refers to %v, want %s", body, r.Previous, r.Refers, want)
		}
	}
}

// TestRequest_Threads: a message that the upstream keeps is named like a response.
func TestRequest_Threads(t *testing.T) {
	for thread, want := range map[string]string{`{"type":"create"}`: "[]", `{"type":"continue","previous_message_id":"msg_1"}`: "[msg_1]", `null`: "[]"} {
		r := parsed(t, "messages", `{"model":"m","max_tokens":1,"thread":`+thread+`,"messages":[{"role":"user","content":"x"}]}`)
		if fmt.Sprint(r.Refers) != want || (r.Previous == "msg_1") != (want == "[msg_1]") {
			t.Errorf("%s: previous %q, refers to %v", thread, r.Previous, r.Refers)
		}
	}
}

func FuzzChatRequest(f *testing.F)      { fuzz(f, "chat") }
func FuzzResponsesRequest(f *testing.F) { fuzz(f, "responses") }
func FuzzMessagesRequest(f *testing.F)  { fuzz(f, "messages") }

// fuzz checks that a request that is read keeps its bytes without edits, and is a request with the same messages and the
// added texts with them.
func fuzz(f *testing.F, shape string) {
	for _, seed := range []string{
		`{"model":"m","messages":[{"role":"user","content":"a"}],"input":"x","n":1e400,"x":-0.0}`,
		`{"model":"m","system":[{"type":"text","text":"s"}],"messages":[{"role":"system","content":"s"},{"role":"user","content":[{"type":"text","text":"a"}]},{"role":"tool","content":"1"}]}`,
		`{"model":"m","input":[{"role":"user","content":[]},{"type":"function_call_output","output":"x"}],"stream":true,"stream_options":{}}`,
		` {"messages" : [ { "role" : "user" , "content" : [ 1 , "\\\"" ] } ] , "model" : "\u006d" , "stream":true,"stream_options":null} `,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := gateway.Parse(shape, body, http.Header{})
		if err != nil {
			return
		}
		if got := r.Edited(&core.Edits{}); got != string(body) {
			t.Fatalf("without edits: %q", got)
		}
		context := map[int]string{}
		for i := range r.Messages {
			context[i] = "C"
		}
		edited := r.Edited(&core.Edits{Model: "up", System: "S", Context: context, Findings: "F"})
		again, err := gateway.Parse(shape, []byte(edited), http.Header{})
		if err != nil {
			t.Fatalf("%v in %s, from %s", err, edited, body)
		}
		if again.Model != "up" || len(again.Messages) < len(r.Messages) {
			t.Fatalf("%q with %d messages of %d in %s", again.Model, len(again.Messages), len(r.Messages), edited)
		}
	})
}
