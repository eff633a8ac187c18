package llmeval_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/plugins/llm-eval/llmtest"
	"github.com/reflectory/reflectory/sdk"
)

var twoTools = []object{
	{"name": "add", "description": "Adds.", "parameters": object{"type": "object", "required": []string{"a"}, "properties": object{"a": object{"type": "integer"}}}},
	{"name": "now"},
}

// toolsAsked is the output of a reply that asks for calls.
type toolsAsked struct {
	Calls []struct {
		ID, Name, Problem string
		Arguments         json.RawMessage
	} `json:"tool_calls"`
	Text string
}

func callsOf(t *testing.T, res *sdk.GenerateResponse) toolsAsked {
	t.Helper()
	var a toolsAsked
	if err := json.Unmarshal(res.Output, &a); err != nil {
		t.Fatalf("%s: %v", res.Output, err)
	}
	return a
}

// A model's calls are read in every protocol, whole and streamed, and it reads their results.
func TestTools_InEachProtocol(t *testing.T) {
	inEach(t, func(t *testing.T, path string) {
		for _, streamed := range []bool{false, true} {
			reply := llmtest.Calls(llmtest.Call{ID: "c1", Name: "add", Arguments: `{"a": 12}`}, llmtest.Call{ID: "c2", Name: "now", Arguments: `{}`})
			reply.Text = "Let me add."
			server := llmtest.New(t, reply, llmtest.Text("12"))
			request := &sdk.GenerateRequest{}
			if streamed {
				request.Emit = func(string) {}
			}
			res, err := newGenerator(t, configIn(path, server.URL, object{"prompt": "p", "tools": twoTools, "tool_choice": "add", "parallel_tool_calls": false})).Generate(t.Context(), request)
			if err != nil {
				t.Fatal(err)
			}
			a := callsOf(t, res)
			if len(a.Calls) != 2 || a.Calls[0].Name != "add" || string(a.Calls[0].Arguments) != `{"a":12}` && string(a.Calls[0].Arguments) != `{"a": 12}` || a.Calls[1].ID == "" || a.Text != "Let me add." || a.Calls[0].Problem != "" || res.Metadata[sdk.MetadataToolCalls] != "2" {
				t.Errorf("streamed %t: %+v, %v", streamed, a, res.Metadata)
			}
			body := string(server.Requests()[0].Body)
			if !strings.Contains(body, `"Adds."`) || !strings.Contains(body, `"required":["a"]`) || path != llmtest.PathOllama && !strings.Contains(body, `"tool_choice":{`) {
				t.Errorf("sent %s", body)
			}
			generate(t, configIn(path, server.URL, object{"tools": twoTools, "messages": []object{
				{"role": "user", "content": "p"},
				{"role": "assistant", "content": a.Text, "tool_calls": []object{{"id": "c1", "name": "add", "arguments": object{"a": 12}}, {"id": "c2", "name": "now", "arguments": object{}}}},
				{"role": "tool", "content": "24", "tool_call_id": "c1", "name": "add"}, {"role": "tool", "content": "noon", "tool_call_id": "c2", "name": "now"},
			}}))
			body = string(server.Requests()[1].Body)
			for _, part := range []string{"24", "noon", "Let me add.", map[string]string{llmtest.PathOllama: `"tool_name":"add"`}[path], map[bool]string{true: `"c1"`}[path != llmtest.PathOllama]} {
				if !strings.Contains(body, part) {
					t.Errorf("%s isn't in %s", part, body)
				}
			}
		}
	})
}

// What a model writes in place of a call is never made: the model reads what is wrong with it.
func TestTools_WhatCanNotBeCalled(t *testing.T) {
	for name, test := range map[string]struct{ tool, arguments, says string }{
		"another tool":      {"subtract", `{"a": 1}`, "there is no tool \"subtract\"; the tools are add, now"},
		"no name":           {"", `{}`, "there is no tool"},
		"broken JSON":       {"add", `{"a": 1`, "aren't a JSON object"},
		"a list":            {"add", `[1]`, "aren't a JSON object"},
		"a text":            {"add", `"a"`, "aren't a JSON object"},
		"null":              {"add", `null`, "aren't a JSON object"},
		"a missing member":  {"add", `{}`, `missing property "a"`},
		"another type":      {"add", `{"a": "1"}`, "/a"},
		"prose around it":   {"add", "Sure: {\"a\": 1}", "aren't a JSON object"},
		"two objects":       {"add", `{"a": 1}{"a": 2}`, "aren't a JSON object"},
		"arguments of none": {"now", ``, ""},
	} {
		t.Run(name, func(t *testing.T) {
			server := llmtest.New(t, llmtest.Calls(llmtest.Call{ID: "c", Name: test.tool, Arguments: test.arguments}))
			a := callsOf(t, generate(t, configFor(server.URL, object{"prompt": "p", "tools": twoTools})))
			if len(a.Calls) != 1 || !strings.Contains(a.Calls[0].Problem, test.says) || (a.Calls[0].Problem == "") != (test.says == "") {
				t.Errorf("%+v", a)
			}
		})
	}
}

// Calls in a reply that is cut, refused or faulty are none, nor are those that nobody offered.
func TestTools_OnlyOfWholeReplies(t *testing.T) {
	reply := llmtest.Calls(llmtest.Call{ID: "c", Name: "now", Arguments: `{}`})
	for reason, test := range map[string]struct {
		reply llmtest.Reply
		tools any
	}{
		"llm_reply_cut":   {reply.FinishedBy("length"), twoTools},
		"llm_refused":     {reply.FinishedBy("content_filter"), twoTools},
		"llm_reply_empty": {reply, []object{}},
	} {
		server := llmtest.New(t, test.reply)
		if e := ask(t, configFor(server.URL, object{"prompt": "p", "tools": test.tools})); e.Reason != reason {
			t.Errorf("%s: %s", reason, e.Message)
		}
	}
}

func TestTools_WrongConfigs(t *testing.T) {
	for name, test := range map[string]struct {
		config object
		says   string
	}{
		"no name":          {object{"tools": []object{{}}}, "tools[0].name"},
		"a name":           {object{"tools": []object{{"name": "a b"}}}, "other characters"},
		"twice":            {object{"tools": []object{{"name": "a"}, {"name": "a"}}}, `"a" is there twice`},
		"a schema":         {object{"tools": []object{{"name": "a", "parameters": object{"type": "objekt"}}}}, "parameters"},
		"an unknown key":   {object{"tools": []object{{"name": "a", "strict": true}}}, "strict"},
		"a choice":         {object{"tools": []object{{"name": "a"}}, "tool_choice": "b"}, `tool_choice "b"`},
		"parallel calls":   {object{"parallel_tool_calls": "yes"}, "parallel_tool_calls"},
		"no list":          {object{"tools": "a"}, "tools"},
		"calls of a user":  {object{"prompt": nil, "messages": []object{{"role": "user", "content": "a", "tool_calls": []object{}}}}, "tool_calls"},
		"a result of none": {object{"prompt": nil, "messages": []object{{"role": "assistant", "content": "a", "tool_call_id": "c"}}}, "tool_call_id"},
	} {
		config := object{"prompt": "p"}
		for key, value := range test.config {
			if config[key] = value; value == nil {
				delete(config, key)
			}
		}
		if _, err := plugin(t).Generator(t.Context(), configFor("http://127.0.0.1:1", config)); err == nil || !strings.Contains(err.Error(), test.says) && !strings.Contains(err.Error(), strings.ReplaceAll(test.says, "[0]", "")) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
