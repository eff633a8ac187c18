package apikey_test

import (
	"testing"

	"github.com/reflectory/reflectory/sdk/apikey"
)

func TestPlaceholder(t *testing.T) {
	for _, value := range []string{
		"", "EMPTY", "none", "None", "ollama", "test", "dummy", "sk-no-key-required", "null", "nokey", "no-key-needed", "not_needed", "N/A", "x", "xxx",
		"sk-xxxxxxxxxxxxxxxxxxxxxxxx", "your-api-key-here", "YOUR_API_KEY_HERE", "<your api key>", "change-me", "lm-studio", "sk-dummy-key-for-local-vllm",
		"placeholder", "00000000-0000-0000-0000-000000000000", "fake-key", "****************", "not-required-not-used", "insert-your-openai-api-key",
		"undefined", "sk-not-needed-for-lmstudio", "no_api_key_is_needed_here",
	} {
		if !apikey.Placeholder(value) || apikey.Secret(value) {
			t.Errorf("%q isn't known as a placeholder", value)
		}
	}
	for _, value := range []string{
		"sk-proj-4fGh7kQ2mN8vB1cX", "gsk_1aB2c3D4e5F6g7H8", "AIzaSyD-9tSrke72PouQMnMX", "0123456789abcdef0123", "hf_TQzKbVnXwYpLmRsD", "sk-test+0123/456789=abcdef",
		"correct-horse-battery-staple", "xai-aVeryRealKey0001", "sk-ant-api03-Zk9qWfR", "d41d8cd98f00b204e9800998ecf8427e", "sk-secret-1234567890", "my-secret-api-key", `!@#$%^&*()_+{}|:`, `sk-a<b>"c\d-e-f-g-h-i`, "sk-test-1234567890abcdef",
	} {
		if apikey.Placeholder(value) || !apikey.Secret(value) {
			t.Errorf("%q isn't known as a secret", value)
		}
	}
	for _, short := range []string{"local-one", "s3cr3t", "token-abc123", "a1b2c3d4e5f6g7h"} {
		if apikey.Secret(short) {
			t.Errorf("%q is hidden, though it has fewer than %d bytes", short, apikey.MinSecret)
		}
	}
}
