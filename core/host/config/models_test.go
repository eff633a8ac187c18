package config_test

import (
	"testing"

	"github.com/reflectory/reflectory/core/host/config"
)

func TestEndpointOf_IsAURLsHostAndPort(t *testing.T) {
	for base, want := range map[string]string{
		"https://api.OpenAI.com/v1": "api.openai.com:443", "http://127.0.0.1:11434": "127.0.0.1:11434",
		"http://[::1]/v1": "[::1]:80", "ftp://x": "", "nonsense": "", "http://%zz": "",
	} {
		if got, ok := config.EndpointOf(base); ok && got != want || ok != (want != "") {
			t.Errorf("%s: %q", base, got)
		}
	}
}
