package modeltext_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/reflectory/reflectory/sdk/modeltext"
)

// All of these together would take a quarter of an hour in a reader that isn't linear.
func TestSplit_HostileTextInLinearTime(t *testing.T) {
	size := 32 << 10
	if testing.Short() {
		size = 8 << 10
	}
	for _, piece := range []string{
		"</think>", "<think>", "<think></think>", "</think>[", `</think>["`, `["</think>", `, `{"a":"</think>",`, `[["</think>"],`, "</think>1",
		"`</think>`", "`<think>`", `"</think>"`, "```\n</think>\n", "\n```x\n</think>", "[THINK]", "[/THINK]{", "<|channel|>", "<|message|>",
		"<|channel|>final<|message|>", "<|channel|>analysis<|message|>x<|end|>", "<|start|>assistant", "assistantfinal", "<think", "</", "[", "<think>[1]</think>{",
		`</think>{"a":[`, "\ufeff", "   </think>   ",
	} {
		for _, around := range []string{"%s", "<think>%s", "%s</think>{}", "<|channel|>%s", `{"pass": true} %s`, "analysis%s"} {
			text := fmt.Sprintf(around, strings.Repeat(piece, size/len(piece)))
			answer, thought := modeltext.Split(text)
			if len(answer)+len(thought) > len(text) {
				t.Errorf("%q in %q: %d bytes became %d and %d", piece, around, len(text), len(answer), len(thought))
			}
			_, _, _ = modeltext.Value(text, func(json.RawMessage) bool { return true })
			_, _, _ = modeltext.Own(text, []string{"pass"}, text)
		}
	}
}

func TestOwn_HostileSourcesInLinearTime(t *testing.T) {
	const size = 256 << 10
	for _, piece := range []string{"{", "[", `{"a":`, `{"a":[`, `{"pass": true,`, `{"pass": true} `, `\`, `\\`, `\"`, `{\"a\":`, "&lt;", "<think>", `{"a":{}}`} {
		source := strings.Repeat(piece, size/len(piece))
		_, _, _ = modeltext.Own(`so {"pass": true, "score": 1}`, []string{"pass"}, source)
	}
}

// A body of 8 MiB is read within a few times its size, whatever is in it.
func TestRead_HostileBodies(t *testing.T) {
	const size = 1 << 20
	many := func(piece string) string { return strings.TrimSuffix(strings.Repeat(piece, size/len(piece)), ",") }
	nested := strings.Repeat(`{"type":"thinking","thinking":[`, 300) + strings.Repeat(`]}`, 300)
	for name, message := range map[string]string{
		"many parts":       `{"content":[` + many(`{"type":"text","text":"a"},`) + `]}`,
		"many numbers":     `{"content":[` + many(`1,`) + `]}`,
		"many unknown":     `{"content":[` + many(`{"type":"x"},`) + `]}`,
		"nested parts":     `{"content":[` + nested + `,"` + strings.Repeat("a", size) + `"]}`,
		"many tool calls":  `{"content":"a","tool_calls":[` + many(`{"index":0,"function":{"arguments":"a"}},`) + `]}`,
		"a negative index": `{"content":"a","tool_calls":[{"index":-1},{"index":1e300},{"index":127}]}`,
		"many tags":        `{"content":"` + strings.Repeat("<think>", size/7) + `"}`,
		"a long text":      `{"content":"` + strings.Repeat("é", size/2) + `"}`,
	} {
		r, err := modeltext.Read(modeltext.ChatCompletions, []byte(`{"choices":[{"message":`+message+`,"finish_reason":"stop"}]}`))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(r.Parts) > 64 || len(r.ToolCalls) > 128 || len(r.Text)+len(r.Thought) > size {
			t.Errorf("%s: %d parts, %d calls, %d bytes", name, len(r.Parts), len(r.ToolCalls), len(r.Text)+len(r.Thought))
		}
	}
}

// event is a piece of a stream with a text.
func event(text string) []byte {
	quoted, _ := json.Marshal(text)
	return []byte(`{"choices":[{"index":0,"delta":{"content":` + string(quoted) + `}}]}`)
}

// A stream says the same as the whole reply, wherever its pieces end.
func TestStream_PiecesEndAnywhere(t *testing.T) {
	for _, text := range []string{
		"<think>x</think>{\"a\": 1}", "hm\n</think>\n\nHello", "[THINK]x[/THINK]Hello", "<|channel|>analysis<|message|>x<|end|><|start|>assistant<|channel|>final<|message|>Hello<|return|>",
		"analysisWe do.assistantfinalHello", "Hello `<think>`", "<think>é", "{\"s\": \"</think>\"}", "\ufeff<thought>x</thought>é",
	} {
		body, _ := json.Marshal(text)
		whole, err := modeltext.Read(modeltext.ChatCompletions, []byte(`{"choices":[{"message":{"content":`+string(body)+`}}]}`))
		if err != nil {
			t.Fatal(err)
		}
		runes := []rune(text)
		for n := 1; n <= len(runes); n++ {
			var s modeltext.Stream
			var shown strings.Builder
			for from := 0; from < len(runes); from += n {
				piece, err := s.Add(event(string(runes[from:min(from+n, len(runes))])))
				if err != nil {
					t.Fatal(err)
				}
				shown.WriteString(piece)
			}
			if r := s.Reply(); r.Text != whole.Text || r.Thought != whole.Thought || shown.String() != text {
				t.Errorf("%q in pieces of %d: %q, %q, shown %q", text, n, r.Text, r.Thought, shown.String())
			}
		}
	}
}

func TestStream_Pieces(t *testing.T) {
	for name, test := range map[string]struct {
		events             string
		text, thought, end string
		finish             modeltext.Finish
		calls              int
		finished, counted  bool
	}{
		"parts in deltas":        {`{"choices":[{"delta":{"content":[{"type":"thinking","thinking":"x"},{"type":"text","text":"a"}]}}]} {"choices":[{"delta":{"content":[{"type":"text","text":"b"}]},"finish_reason":"stop"}]}`, "ab", "x", "stop", modeltext.Whole, 0, true, false},
		"reasoning in deltas":    {`{"choices":[{"delta":{"reasoning":"x"}}]} {"choices":[{"delta":{"reasoning":"y","content":"a"}}]}`, "a", "xy", "", modeltext.Whole, 0, false, false},
		"both names":             {`{"choices":[{"delta":{"reasoning":"x","reasoning_content":"x"}}]} {"choices":[{"delta":{"content":"a"}}]}`, "a", "x", "", modeltext.Whole, 0, false, false},
		"a whole message at end": {`{"choices":[{"delta":{"content":"a"}}]} {"choices":[{"message":{"content":"a"},"finish_reason":"stop"}]}`, "a", "", "stop", modeltext.Whole, 0, true, false},
		"a message alone":        {`{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}]}`, "a", "", "stop", modeltext.Whole, 0, true, false},
		"another choice":         {`{"choices":[{"index":0,"delta":{"content":"a"}}]} {"choices":[{"index":1,"delta":{"content":"b"},"finish_reason":"length"}]}`, "a", "", "", modeltext.Whole, 0, false, false},
		"two finish reasons":     {`{"choices":[{"delta":{"content":"a"},"finish_reason":"length"}]} {"choices":[{"delta":{},"finish_reason":"stop"}]}`, "a", "", "length", modeltext.Cut, 0, true, false},
		"a refusal":              {`{"choices":[{"delta":{"refusal":"No"}}]} {"choices":[{"delta":{"refusal":"."},"finish_reason":"stop"}]}`, "", "", "stop", modeltext.Refused, 0, true, false},
		"an error":               {`{"choices":[{"delta":{"content":"a"}}]} {"choices":[{"delta":{},"finish_reason":"error"}]}`, "a", "", "error", modeltext.Failed, 0, true, false},
		"tool calls":             {`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"1","function":{"name":"f","arguments":"{\"a\""}}]}}]} {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":":1}"}},{"index":1,"id":"2","function":{"name":"g"}}]},"finish_reason":"tool_calls"}]}`, "", "", "tool_calls", modeltext.Whole, 2, true, false},
		"usage in the last":      {`{"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]} {"choices":[],"usage":{"total_tokens":5}}`, "a", "", "stop", modeltext.Whole, 0, true, true},
	} {
		var s modeltext.Stream
		d := json.NewDecoder(strings.NewReader(test.events))
		for d.More() {
			var raw json.RawMessage
			if err := d.Decode(&raw); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Add(raw); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if r := s.Reply(); r.Text != test.text || r.Thought != test.thought || r.FinishReason != test.end || r.Finish != test.finish || len(r.ToolCalls) != test.calls || s.Finished() != test.finished || s.Counted() != test.counted {
			t.Errorf("%s: %+v, finished %v, counted %v", name, r, s.Finished(), s.Counted())
		} else if test.calls == 2 && (r.ToolCalls[0] != modeltext.ToolCall{ID: "1", Name: "f", Arguments: `{"a":1}`} || r.ToolCalls[1].Name != "g") {
			t.Errorf("%s: %+v", name, r.ToolCalls)
		}
	}
}

// FuzzReply checks what holds for any reply: it is valid UTF-8, within its limits, and never
// both cut or refused and whole; a thought's text is no part of the answer.
func FuzzReply(f *testing.F) {
	for _, seed := range []string{
		`{"choices":[{"message":{"content":"<think>{\"pass\":true}</think>{\"pass\":false}"},"finish_reason":"length"}]}`,
		`{"choices":[{"delta":{"content":[{"type":"thinking","thinking":[{"text":"x"}]},"y",{"type":"refusal","refusal":"no"}]}}],"usage":{"total_tokens":9}}`,
		`{"error":{"message":"x"},"choices":[{"message":{"content":"<|channel|>analysis<|message|>x<|start|>assistant<|channel|>final<|message|>y"},"finish_reason":"error"}]}`,
		`{"choices":[{"message":{"content":"analysisWe.assistantfinal[/THINK]<think","tool_calls":[{"index":9}]},"finish_reason":"SAFETY"}]}`, "{\"choices\":[{\"message\":{\"content\":\"\xff\\ud800\"}}]}",
	} {
		f.Add([]byte(seed), "text")
	}
	f.Fuzz(func(t *testing.T, body []byte, source string) {
		r, err := modeltext.Read(modeltext.ChatCompletions, body)
		if err != nil {
			return
		}
		for _, text := range []string{r.Text, r.Thought, r.Refusal, r.FinishReason, r.Model} {
			if !utf8.ValidString(text) {
				t.Errorf("%q", text)
			}
		}
		if r.Usage.In < 0 || r.Usage.Out < 0 || r.Usage.In > modeltext.MaxTokens || r.Usage.Out > modeltext.MaxTokens || len(r.Parts) > 64 {
			t.Errorf("%+v", r.Usage)
		}
		if lower := strings.ToLower(r.FinishReason); (lower == "length" || lower == "content_filter" || lower == "error" || r.Refusal != "" || r.Error != nil) && r.Finish == modeltext.Whole {
			t.Errorf("%q is whole", r.FinishReason)
		}
		if r.Thought == "" && strings.Contains(strings.ToLower(r.Text), "</think>{") && !strings.ContainsAny(r.Text, "`\"") {
			t.Errorf("no thought in %q", r.Text)
		}
		answer, _ := modeltext.Split(r.Text)
		value, _, err := r.Value(nil)
		if err == nil && (!json.Valid(value) || len(answer) > len(r.Text)) {
			t.Errorf("%q", value)
		}
		own, _, err := r.Own([]string{"pass"}, source, r.Text)
		if err == nil && !json.Valid(own) {
			t.Errorf("%q", own)
		}
		r.CheckUsage(len(source))
		r.Replace(func(s string) string { return s })
	})
}
