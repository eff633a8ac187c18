package llmeval

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/sdk"
)

var testEndpoint = &endpoint{url: "http://llm.test/v1", model: "m"}

// What endpoints write otherwise than the protocol says is read if it can only mean one
// thing.
func TestReply_OddTypesAreAccepted(t *testing.T) {
	const reply = `{"model":"m","choices":[{"finish_reason":"stop","message":{"content":"a"}}],"usage":{"prompt_tokens":3,"completion_tokens":4}}`
	for name, test := range map[string]struct {
		old, new string
		content  text
		usage    usage
	}{
		"content is null":           {`"a"`, `null`, "", usage{3, 4}},
		"content is a number":       {`"a"`, `5`, "5", usage{3, 4}},
		"content is an object":      {`"a"`, `{"b":1}`, `{"b":1}`, usage{3, 4}},
		"finish reason is null":     {`"stop"`, `null`, "a", usage{3, 4}},
		"no usage":                  {`"usage"`, `"used"`, "a", usage{}},
		"usage is a list":           {`{"prompt_tokens":3,"completion_tokens":4}`, `[]`, "a", usage{}},
		"tokens are a fraction":     {`3`, `3.9`, "a", usage{3, 4}},
		"tokens are text":           {`3`, `"3"`, "a", usage{3, 4}},
		"tokens are no number":      {`3`, `["3"]`, "a", usage{0, 4}},
		"tokens are negative":       {`3`, `-3`, "a", usage{0, 4}},
		"tokens are more than ever": {`3`, `1e999`, "a", usage{maxCount, 4}},
		"error is null":             {`{"model"`, `{"error":null,"model"`, "a", usage{3, 4}},
		"a second choice":           {`}]`, `},5]`, "a", usage{3, 4}},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := testEndpoint.decode([]byte(strings.Replace(reply, test.old, test.new, 1)), "")
			if err != nil || r.Error != nil || r.Choices[0] == nil {
				t.Fatalf("%+v, %v", r, err)
			}
			if r.Choices[0].Message.Content != test.content || r.Usage != test.usage {
				t.Errorf("%+v, usage %+v", r.Choices[0], r.Usage)
			}
		})
	}
	if _, err := testEndpoint.decode([]byte(`{"choices":[{"message":["a"]}]}`), ""); sdk.ReasonOf(err) != "llm_reply_malformed" || !strings.Contains(err.Error(), "choices.message") {
		t.Errorf("a message that is a list: %v", err)
	}
}

// read reads a stream as an exchange does.
func read(body string) (*exchange, string, error) {
	var shown strings.Builder
	x := &exchange{client: &client{endpoint: testEndpoint}, question: &question{emit: func(piece string) { shown.WriteString(piece) }}}
	err := x.stream(strings.NewReader(body))
	return x, shown.String(), err
}

func TestStream_EventsThatAreNoPieces(t *testing.T) {
	const piece = `data: {"choices":[{"delta":{"content":"a"}}]}` + "\n\n"
	for name, body := range map[string]string{
		"comments":             ": wait\n\n" + piece + ": wait\n\ndata: [DONE]\n\n",
		"events without data":  "event: ping\n\nid: 1\n\ndata:\n\n" + piece + "data: [DONE]\n\n",
		"after the end":        piece + "data: [DONE]\n\ndata: {\"error\":\"late\"}\n\n",
		"no line after [DONE]": piece + "data: [DONE]",
		"no line after usage":  piece + `data: {"choices":{},"usage":{"completion_tokens":1}}`,
		"carriage returns":     strings.ReplaceAll(piece, "\n", "\r\n") + "data:[DONE]\r\n\r\n",
		"no error":             `data: {"error":null,"usage":[]}` + "\n\n" + piece + "data: [DONE]\n\n",
	} {
		if x, shown, err := read(body); err != nil || x.reply.text != "a" || shown != "a" {
			t.Errorf("%s: %+v, %q, %v", name, x.reply, shown, err)
		}
	}
	_, _, err := read("event: error\ndata: {\"message\":\"no\",\"code\":400}\n\n")
	if f := (*fault)(nil); !errors.As(err, &f) || !cmp.Equal([]any{f.status, f.text}, []any{400, "no"}) {
		t.Errorf("an error: %v", err)
	}
}

// FuzzReply checks that any reply, whole or streamed, is read within its limits, or has
// an error that says whether to try again.
func FuzzReply(f *testing.F) {
	f.Add(`{"choices":[{"message":{"content":"a"},"delta":{"refusal":5}}],"usage":{"prompt_tokens":-1}}`)
	f.Add("data: {\"choices\":[{\"delta\":{\"content\":\"\xff\"}}]}\n\n:\rdata: [DONE]")
	f.Add("event: error\ndata: {\"error\":{\"code\":1e300}}\n\n")
	f.Fuzz(func(t *testing.T, body string) {
		check := func(used sdk.Usage, err error, texts ...string) {
			if used.TokensIn < 0 || used.TokensIn > maxCount || used.TokensOut < 0 || used.TokensOut > maxCount {
				t.Errorf("usage %+v", used)
			}
			for _, text := range texts {
				if !utf8.ValidString(text) {
					t.Errorf("%q", text)
				}
			}
			var temporary *fault
			var final *sdk.Error
			if err != nil && !errors.As(err, &temporary) && !errors.As(err, &final) {
				t.Error(err)
			}
		}
		r, err := testEndpoint.decode([]byte(body), "")
		if err == nil && r.Choices[0] != nil {
			check(testEndpoint.cost(r.Usage), nil, string(r.Choices[0].Message.Content), string(r.Model))
		}
		check(sdk.Usage{}, err)
		x, shown, err := read(body)
		check(x.lost, err, shown)
		if err == nil && x.reply.text != shown {
			t.Errorf("%q is shown as %q", x.reply.text, shown)
		}
	})
}
