package llmeval_test

import (
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/plugins/llm-eval/llmeval"
	"github.com/reflectory/reflectory/plugins/llm-eval/llmtest"
)

func TestProvidersAreAskedUnderTheirBase(t *testing.T) {
	openAI, ollama, anthropic := object{"provider": "openai"}, object{"provider": "ollama"}, object{"provider": "anthropic"}
	answers := object{"provider": "openai", "api": "responses"}
	for _, test := range []struct {
		llm        object
		path, want string
	}{
		{openAI, "/v1", "/v1/chat/completions"},
		{openAI, "/v1/", "/v1/chat/completions"},
		{openAI, "/deep/v2", "/deep/v2/chat/completions"},
		{object{"provider": "openai", "api": "chat"}, "/v1", "/v1/chat/completions"},
		{answers, "/v1", "/v1/responses"},
		{answers, "/v1/responses", "/v1/responses"},
		{ollama, "", "/api/chat"},
		{ollama, "/", "/api/chat"},
		{ollama, "/v1", "/v1/chat/completions"},
		{ollama, "/v1/", "/v1/chat/completions"},
		{ollama, "/gpu/v1", "/gpu/v1/chat/completions"},
		{anthropic, "", "/v1/messages"},
		{anthropic, "/", "/v1/messages"},
		{anthropic, "/v1", "/v1/messages"},
		{anthropic, "/v1/messages", "/v1/messages"},
		{anthropic, "/anthropic", "/anthropic/v1/messages"},
		// What is copied from an example of a request.
		{openAI, "/v1/chat/completions", "/v1/chat/completions"},
		{openAI, "/v1/chat/completions/", "/v1/chat/completions"},
		{openAI, "/v1/completions", "/v1/chat/completions"},
		{openAI, "/v1/responses", "/v1/chat/completions"},
		{openAI, "/v1/models", "/v1/chat/completions"},
		{openAI, "/v1/embeddings", "/v1/chat/completions"},
		{openAI, "/v1/Chat/Completions", "/v1/chat/completions"},
		{openAI, "/deep/chat/v2", "/deep/chat/v2/chat/completions"},
		{ollama, "/v1/chat/completions", "/v1/chat/completions"},
		{ollama, "/api/chat", "/api/chat"},
		{ollama, "/api/generate/", "/api/chat"},
		{ollama, "/api", "/api/chat"},
		{ollama, "/gpu/api/chat", "/gpu/api/chat"},
	} {
		var path string
		tr := &transport{script: []exchange{func(r *http.Request) (*http.Response, error) {
			path = r.URL.Path
			under := r.URL.Path
			for _, known := range llmtest.Paths() {
				if strings.HasSuffix(under, strings.TrimPrefix(known, "/v1")) {
					under = known
				}
			}
			_, body := llmtest.Text(`{"pass":true}`).Written(under, "m", false)
			return answer(200, body)(r)
		}}}
		p := llmeval.Plugin(llmeval.Options{Getenv: getenv, Transport: tr})
		llm := object{"base_url": "http://llm.test" + test.path, "model": "m"}
		maps.Copy(llm, test.llm)
		config := object{"llm": llm}
		if v := evaluate(t, prepare(t, p.Evaluator, mustJSON(config)), `1`).Verdict; !v.Valid || path != test.want {
			t.Errorf("%v at %q is asked at %s, want %s", test.llm, test.path, path, test.want)
		}
	}
}
