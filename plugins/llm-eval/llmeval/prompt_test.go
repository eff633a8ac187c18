package llmeval_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/plugins/llm-eval/llmtest"
	"github.com/reflectory/reflectory/sdk"
)

// TestPrompts_OfFailedCallsAreInTheirErrors, without the key, whatever went wrong: an operator looks
// at what was asked when a call failed.
func TestPrompts_OfFailedCallsAreInTheirErrors(t *testing.T) {
	said := func(text string) llmtest.Reply { return llmtest.Text(text) }
	for name, c := range map[string]struct {
		reply  llmtest.Reply
		more   object
		reason string
	}{
		"cut":               {said("Hel").FinishedBy("length"), nil, "llm_reply_cut"},
		"refused":           {said("No.").FinishedBy("content_filter"), nil, "llm_refused"},
		"empty":             {said(""), nil, "llm_reply_empty"},
		"not JSON":          {said("Hello"), object{"parse": "json"}, "llm_reply_not_json"},
		"off the schema":    {said(`{"a": 1}`), object{"response_schema": object{"required": []string{"b"}}}, "llm_reply_invalid"},
		"a refused key":     {llmtest.Body(http.StatusUnauthorized, "application/json", `{"error": "no"}`), nil, "llm_key_rejected"},
		"no model":          {llmtest.Body(http.StatusNotFound, "application/json", `{"error": "no"}`), nil, "llm_model_not_found"},
		"no quota":          {llmtest.Body(http.StatusPaymentRequired, "application/json", `{"error": "no"}`), nil, "llm_quota"},
		"malformed":         {llmtest.Body(http.StatusOK, "application/json", `[]`), nil, "llm_reply_malformed"},
		"no choices":        {llmtest.Body(http.StatusOK, "application/json", `{"choices": []}`), nil, "llm_reply_malformed"},
		"a request refused": {llmtest.Body(http.StatusBadRequest, "application/json", `{"error": "bad"}`), nil, "llm_request_refused"},
	} {
		server := llmtest.New(t, c.reply)
		more := object{"system": "Be brief.", "prompt": "The key is " + testKey + ", the state <b>."}
		for key, value := range c.more {
			more[key] = value
		}
		_, err := newGenerator(t, configFor(server.URL, more)).Generate(t.Context(), &sdk.GenerateRequest{})
		if sdk.ReasonOf(err) != c.reason {
			t.Errorf("%s: %v", name, err)
		}
		asked(t, name, err)
	}
	_, err := newGenerator(t, configFor("http://127.0.0.1:1", object{"system": "Be brief.", "prompt": "The key is " + testKey + ", the state <b>."})).Generate(t.Context(), &sdk.GenerateRequest{})
	asked(t, "nothing listens", err)
	judge := newJudge(t, configFor("http://127.0.0.1:1", object{"system": "Be brief.", "prompt": "The key is " + testKey + ", the state <b>."}))
	_, err = judge.Evaluate(t.Context(), &sdk.EvaluateRequest{Output: json.RawMessage(`1`)})
	asked(t, "a judge", err)
}

func asked(t *testing.T, name string, err error) {
	t.Helper()
	var messages []sdk.PromptMessage
	if json.Unmarshal([]byte(sdk.PromptOf(err)), &messages) != nil || len(messages) != 2 ||
		!strings.HasPrefix(messages[0].Content, "Be brief.") || !strings.Contains(messages[1].Content, ", the state <b>.") {
		t.Errorf("%s: the prompt is %s", name, sdk.PromptOf(err))
	}
	if details, _ := json.Marshal(sdk.AsError(err).Details); strings.Contains(string(details), testKey) {
		t.Errorf("%s: the key is in %s", name, details)
	}
}
