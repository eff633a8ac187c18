package llmeval_test

import (
	"net/http"
	"testing"

	"github.com/reflectory/reflectory/plugins/llm-eval/llmeval"
)

func TestBothProvidersAreAskedUnderTheirBase(t *testing.T) {
	for _, test := range []struct{ provider, path, want string }{
		{"openai", "/v1", "/v1/chat/completions"},
		{"openai", "/v1/", "/v1/chat/completions"},
		{"openai", "/deep/v2", "/deep/v2/chat/completions"},
		{"ollama", "", "/v1/chat/completions"},
		{"ollama", "/", "/v1/chat/completions"},
		{"ollama", "/v1", "/v1/chat/completions"},
	} {
		var path string
		tr := &transport{script: []exchange{func(r *http.Request) (*http.Response, error) {
			path = r.URL.Path
			return answer(200, `{"choices":[{"message":{"content":"{\"pass\":true}"},"finish_reason":"stop"}]}`)(r)
		}}}
		p := llmeval.Plugin(llmeval.Options{Getenv: getenv, Transport: tr})
		config := object{"llm": object{"provider": test.provider, "base_url": "http://llm.test" + test.path, "model": "m"}}
		if v := evaluate(t, prepare(t, p.Evaluator, mustJSON(config)), `1`).Verdict; !v.Valid || path != test.want {
			t.Errorf("%s at %q is asked at %s, want %s", test.provider, test.path, path, test.want)
		}
	}
}
