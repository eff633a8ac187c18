package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/cmd/host/internal/gateway/gatewaytest"
	"github.com/reflectory/reflectory/core/coretest"
)

const saveSchema = `{"type":"object","required":["name","age"],"properties":{"name":{"type":"string"},"age":{"type":"integer","minimum":0},"kind":{"enum":["a","b"]},"tags":{"type":"array","items":{"type":"string"}}},"additionalProperties":false}`

const savedRight = `{"name":"Ann","age":3}`

// replyFaults are what models get wrong: the value, or with the first one the tool's name.
var replyFaults = []string{
	"unknown tool", ``, `{`, `{"name":"Ann","age":3`, `null`, `[]`, `"text"`, `3`, "```json\n{\"name\":\"Ann\",\"age\":3}\n```", `Sure! {"name":"Ann","age":3}`,
	`{"name":"Ann","age":3} Done.`, `{'name':'Ann','age':3}`, `{"name":"Ann","age":3,}`, `{name:"Ann",age:3}`, `{}`, `{"name":"Ann"}`, `{"age":3}`,
	`{"name":3,"age":3}`, `{"name":"Ann","age":"3"}`, `{"name":null,"age":3}`, `{"name":["Ann"],"age":3}`, `{"name":"Ann","age":null}`, `{"name":"Ann","age":3.5}`,
	`{"name":"Ann","age":-1}`, `{"name":"Ann","age":3,"kind":"c"}`, `{"name":"Ann","age":3,"kind":null}`, `{"name":"Ann","age":3,"tags":"x"}`, `{"name":"Ann","age":3,"tags":[1]}`,
	`{"name":"Ann","age":3,"more":true}`, `{"Name":"Ann","age":3}`,
}

// replyWay is one way to ask for a value: as a tool's arguments or as a text in a format, whole or as a stream.
type replyWay struct {
	path, up, body, cut string
	tool, stream        bool
}

func replyWays() (list []replyWay) {
	const tools = `"tools":[{"type":"function","function":{"name":"save","parameters":` + saveSchema + `}}],"stream_options":{"include_usage":true}`
	for _, stream := range []bool{false, true} {
		for _, w := range []replyWay{
			{chatPath, "/chat/completions", `"messages":[{"role":"user","content":%q}],` + tools, "length", true, stream},
			{chatPath, "/chat/completions", `"messages":[{"role":"user","content":%q}],"stream_options":{"include_usage":true},"response_format":{"type":"json_schema","json_schema":{"name":"x","schema":` + saveSchema + `}}`, "length", false, stream},
			{"/openai/v1/responses", "/responses", `"input":%q,"tools":[{"type":"function","name":"save","parameters":` + saveSchema + `}]`, "max_output_tokens", true, stream},
			{"/openai/v1/responses", "/responses", `"input":%q,"text":{"format":{"type":"json_schema","name":"x","schema":` + saveSchema + `}}`, "max_output_tokens", false, stream},
			{"/anthropic/v1/messages", "/messages", `"max_tokens":99,"messages":[{"role":"user","content":%q}],"tools":[{"name":"save","input_schema":` + saveSchema + `}]`, "max_tokens", true, stream},
			{"/anthropic/v1/messages", "/messages", `"max_tokens":99,"messages":[{"role":"user","content":%q}],"output_config":{"format":{"type":"json_schema","schema":` + saveSchema + `}}`, "max_tokens", false, stream},
		} {
			w.body = fmt.Sprintf(`{"model":"base","stream":%v,%s}`, stream, w.body)
			list = append(list, w)
		}
	}
	return list
}

// reply is a reply with a value, or the fault of the first kind.
func (w *replyWay) reply(value string) gatewaytest.Reply {
	switch {
	case !w.tool && value == "unknown tool":
		return gatewaytest.Reply{Text: "I can't do that."}
	case !w.tool:
		return gatewaytest.Reply{Text: value}
	case value == "unknown tool":
		return gatewaytest.Reply{Calls: []gatewaytest.Call{{ID: "c", Name: "svae", Arguments: savedRight}}}
	}
	return gatewaytest.Reply{Calls: []gatewaytest.Call{{ID: "c", Name: "save", Arguments: value}}}
}

// value is the value in an answer, as a client of the shape reads it.
func (w *replyWay) value(t *testing.T, answer string) string {
	t.Helper()
	type call struct{ Arguments string }
	type part struct {
		Type, Text, Arguments string
		Content               []part
		Input                 json.RawMessage
		PartialJSON           string                    `json:"partial_json"`
		ToolCalls             []struct{ Function call } `json:"tool_calls"`
	}
	type body struct {
		Choices []struct {
			Message, Delta struct {
				Content   string
				ToolCalls []struct{ Function call } `json:"tool_calls"`
			}
		}
		Output   []part
		Content  []part
		Delta    json.RawMessage
		Response *struct{ Output []part }
	}
	list := []string{answer}
	if w.stream {
		list = nil
		for _, line := range strings.Split(answer, "\n") {
			if data, is := strings.CutPrefix(line, "data: "); is && data != "[DONE]" {
				list = append(list, data)
			}
		}
	}
	value := ""
	for _, text := range list {
		var b body
		if err := json.Unmarshal([]byte(text), &b); err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		for _, c := range b.Choices {
			value += c.Message.Content + c.Delta.Content
			for _, call := range append(c.Message.ToolCalls, c.Delta.ToolCalls...) {
				value += call.Function.Arguments
			}
		}
		if b.Response != nil {
			b.Output = append(b.Output, b.Response.Output...)
		}
		for _, item := range append(b.Output, b.Content...) {
			value += item.Arguments + string(item.Input)
			for _, p := range item.Content {
				value += p.Text
			}
			if item.Type == "text" {
				value += item.Text
			}
		}
		var delta part
		if json.Unmarshal(b.Delta, &delta) == nil {
			value += delta.PartialJSON + delta.Text
		}
	}
	return value
}

// faultWorld is a server without any configuration but its upstream.
type faultWorld struct {
	*serving
	up     *gatewaytest.Upstream
	tokens []string
	asked  int
}

// ask sends a request in a way, and returns the answer and how often the upstream was asked.
func (w *faultWorld) ask(way *replyWay, script ...gatewaytest.Reply) (answer string, attempts int) {
	w.t.Helper()
	w.up.Set(script...)
	w.asked++
	before := len(w.up.Requests())
	status, answer := w.askModel(way.path, w.tokens[w.asked%len(w.tokens)], fmt.Sprintf(way.body, fmt.Sprint("request ", w.asked)))
	if status != http.StatusOK {
		w.t.Fatalf("%d %s", status, answer)
	}
	return answer, len(w.up.Requests()) - before
}

// direct is the upstream's own answer.
func (w *faultWorld) direct(way *replyWay, script ...gatewaytest.Reply) string {
	w.t.Helper()
	w.up.Set(script...)
	r, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, w.up.URL+way.up, strings.NewReader(fmt.Sprintf(way.body, "request")))
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("Anthropic-Version", "2023-06-01")
	a, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = a.Body.Close() }()
	text, err := io.ReadAll(a.Body)
	if err != nil || a.StatusCode != http.StatusOK {
		w.t.Fatal(a.StatusCode, err, string(text))
	}
	return string(text)
}

// TestGateway_FixesFaults: with no configuration but an upstream, each of 30 faults in each of twelve ways to ask is fixed
// by the second attempt; what no attempt fixes, and what was cut, comes as the upstream sent it, and so does a right reply, byte
// for byte.
func TestGateway_FixesFaults(t *testing.T) {
	coretest.Long(t)
	plain, up := modelWorld(t, "")
	plain.env["REFLECTORY_LOCK"] = installPlugins(t, filepath.Join(plain.dir, "plugins"))
	plain.file("reflectory.yaml", fmt.Sprintf("settings: {llm: {model: base, provider: ollama, base_url: %q, endpoints: [%q]}}\n", up.URL, strings.TrimSuffix(strings.TrimPrefix(up.URL, "http://"), "/v1")))
	w := &faultWorld{up: up}
	for n := range 10 { // a subject may send 100 requests a second
		w.tokens = append(w.tokens, plain.parsed(exitPassed, fmt.Sprintf("token new agent-%d --namespace team --scope model", n))["token"].(string))
	}
	w.serving = plain.serve()
	fixed := 0
	for i, way := range replyWays() {
		right := way.reply(savedRight)
		for n, fault := range replyFaults {
			bad := way.reply(fault)
			if answer, attempts := w.ask(&way, bad, right); attempts != 2 || way.value(t, answer) != savedRight {
				t.Errorf("%s, stream %v, %q: %s after %d attempts", way.up, way.stream, fault, answer, attempts)
			} else {
				fixed++
			}
			if n%len(replyWays()) != i {
				continue
			}
			if answer, attempts := w.ask(&way, bad); attempts != 3 || answer != w.direct(&way, bad) {
				t.Errorf("%s, stream %v, %q: %s after %d attempts", way.up, way.stream, fault, answer, attempts)
			}
		}
		cut := way.reply(`{"name":"An`)
		cut.Finish = way.cut
		if answer, attempts := w.ask(&way, cut); attempts != 1 || answer != w.direct(&way, cut) {
			t.Errorf("%s, stream %v, cut: %s after %d attempts", way.up, way.stream, answer, attempts)
		}
		for _, value := range []string{savedRight, `{"name" : "Zo\u00eb \ud83d\ude00 ü", "age":0,"tags":[]}`, `{"age":3e0,"name":"</context>","kind":"b","tags":["x","y"]}`} {
			if answer, attempts := w.ask(&way, way.reply(value)); attempts != 1 || answer != w.direct(&way, way.reply(value)) {
				t.Errorf("%s, stream %v, right: %s after %d attempts", way.up, way.stream, answer, attempts)
			}
		}
	}
	if want := len(replyFaults) * len(replyWays()); fixed != want || want < 300 {
		t.Errorf("%d of %d are fixed", fixed, want)
	}
}
