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
		// What is copied from an example of a request.
		{"openai", "/v1/chat/completions", "/v1/chat/completions"},
		{"openai", "/v1/chat/completions/", "/v1/chat/completions"},
		{"openai", "/v1/completions", "/v1/chat/completions"},
		{"openai", "/v1/responses", "/v1/chat/completions"},
		{"openai", "/v1/models", "/v1/chat/completions"},
		{"openai", "/v1/embeddings", "/v1/chat/completions"},
		{"openai", "/v1/Chat/Completions", "/v1/chat/completions"},
		{"openai", "/deep/chat/v2", "/deep/chat/v2/chat/completions"},
		{"ollama", "/v1/chat/completions", "/v1/chat/completions"},
		{"ollama", "/api/chat", "/v1/chat/completions"},
		{"ollama", "/api/generate/", "/v1/chat/completions"},
		{"ollama", "/api", "/v1/chat/completions"},
		{"ollama", "/gpu/api/chat", "/gpu/v1/chat/completions"},
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
