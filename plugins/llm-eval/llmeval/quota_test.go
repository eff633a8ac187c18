package llmeval_test

import (
	"testing"

	"github.com/reflectory/reflectory/plugins/llm-eval/llmtest"
	"github.com/reflectory/reflectory/sdk"
)

// Money that is used up doesn't come back within a call, so nothing is tried again.
func TestQuota_IsNotTriedAgain(t *testing.T) {
	for name, reply := range map[string]llmtest.Reply{
		"OpenAI":       llmtest.Body(429, "application/json", `{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`),
		"by its type":  llmtest.Body(429, "application/json", `{"error":{"message":"no","type":"insufficient_quota","code":null}}`),
		"without code": llmtest.Body(429, "application/json", `{"error":{"message":"You exceeded your current quota, please check your plan and billing details."}}`),
		"LiteLLM":      llmtest.Body(429, "application/json", `{"error":{"message":"litellm.RateLimitError: OpenAIException - Error code: 429 - {'error': {'code': 'insufficient_quota'}}","type":"throttling_error","code":"429"}}`),
		"402":          llmtest.Body(402, "application/json", `{"error":{"message":"Insufficient Balance","type":"unknown_error","code":"invalid_request_error"}}`),
		"402, nothing": llmtest.Body(402, "text/plain", ``),
		"402 in a 200": llmtest.Body(200, "application/json", `{"error":{"message":"Insufficient credits. Add more","code":402}}`),
		"Anthropic":    llmtest.Body(400, "application/json", `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the API."}}`),
		"a gateway":    llmtest.Body(403, "application/json", `{"error":{"message":"no","type":"new_api_error","code":"insufficient_user_quota"}}`),
		"hard limit":   llmtest.Body(429, "application/json", `{"error":{"message":"Billing hard limit has been reached","code":"billing_hard_limit_reached"}}`),
		"suspended":    llmtest.Body(429, "application/json", `{"error":{"message":"Your account is suspended","type":"exceeded_current_quota_error"}}`),
		"a budget":     llmtest.Body(400, "application/json", `{"error":{"message":"ExceededBudget: over","type":"budget_exceeded","code":"400"}}`),
		"at 503":       llmtest.Body(503, "application/json", `{"error":{"code":"insufficient_quota","message":"x"}}`),
	} {
		t.Run(name, func(t *testing.T) {
			server := llmtest.New(t, reply)
			e := ask(t, configFor(server.URL, object{"prompt": "p"}))
			if e.Code != sdk.Exhausted || e.Reason != "llm_quota" || !sdk.Permanent(e) || sdk.Transient(e) || e.Hint == "" {
				t.Errorf("error %s %s: %s (%s)", e.Code, e.Reason, e.Message, e.Hint)
			}
			if n := len(server.Requests()); n != 1 {
				t.Errorf("%d requests", n)
			}
		})
	}
}

// A rate limit, by whatever words, is waited for.
func TestQuota_ARateLimitIsNone(t *testing.T) {
	for _, body := range []string{
		`{"error":{"message":"Rate limit reached for requests","type":"requests","code":"rate_limit_exceeded"}}`,
		`[{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details.","status":"RESOURCE_EXHAUSTED","details":[{"retryDelay":"0s"}]}}]`,
		`{"error":{"message":"Too many tokens per minute","code":"tpm_exceeded"}}`,
	} {
		server := llmtest.New(t, llmtest.Body(429, "application/json", body).Header("retry-after-ms", "1"), llmtest.Text("ok"))
		if got := string(generate(t, configFor(server.URL, object{"prompt": "p"})).Output); got != `"ok"` {
			t.Error(got)
		}
	}
}
