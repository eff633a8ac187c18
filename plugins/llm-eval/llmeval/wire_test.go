package llmeval

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/modeltext"
)

var testEndpoint = &endpoint{url: "http://llm.test/v1", model: "m", protocol: chatProtocol()}

// read reads a stream as an exchange does.
func read(body string) (*exchange, string, error) {
	var shown strings.Builder
	x := &exchange{client: &client{endpoint: testEndpoint}, question: &question{emit: func(piece string) { shown.WriteString(piece) }}}
	err := x.stream(strings.NewReader(body), false, func() {})
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
		if x, shown, err := read(body); err != nil || x.reply.Text != "a" || shown != "a" {
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
			if used.TokensIn < 0 || used.TokensIn > modeltext.MaxTokens || used.TokensOut < 0 || used.TokensOut > modeltext.MaxTokens {
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
		if r, err := modeltext.Read(modeltext.ChatCompletions, []byte(body)); err != nil {
			check(sdk.Usage{}, testEndpoint.unreadable(err, []byte(body), ""))
		} else {
			check(testEndpoint.cost(r.Usage), nil, r.Text, r.Thought, r.Model)
		}
		x, shown, err := read(body)
		check(x.lost, err, shown)
	})
}
