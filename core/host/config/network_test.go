package config_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/host/config"
)

// The settings of the network show what is in force, and no password.
func TestNetwork_IsShownWithoutPasswords(t *testing.T) {
	for name, c := range map[string]struct {
		env    map[string]string
		name   string
		value  string
		origin string
	}{
		"a proxy":             {map[string]string{"HTTPS_PROXY": "http://proxy.test:3128"}, "https_proxy", "http://proxy.test:3128", "environment HTTPS_PROXY"},
		"with a password":     {map[string]string{"HTTPS_PROXY": "http://me:s3cret@proxy.test:3128"}, "https_proxy", "http://proxy.test:3128 (with a user)", "environment HTTPS_PROXY"},
		"in small letters":    {map[string]string{"https_proxy": "me:s3cret@proxy.test:3128"}, "https_proxy", "http://proxy.test:3128 (with a user)", "environment https_proxy"},
		"in both":             {map[string]string{"HTTP_PROXY": "http://a.test", "http_proxy": "socks5://me:s3cret@b.test"}, "http_proxy", "socks5://b.test (with a user)", "environment http_proxy"},
		"exceptions":          {map[string]string{"NO_PROXY": ".corp,10.0.0.0/8"}, "no_proxy", ".corp,10.0.0.0/8", "environment NO_PROXY"},
		"exceptions, small":   {map[string]string{"no_proxy": "*"}, "no_proxy", "*", "environment no_proxy"},
		"a file":              {map[string]string{"SSL_CERT_FILE": "/etc/corp.pem"}, "ssl_cert_file", "/etc/corp.pem", "environment SSL_CERT_FILE"},
		"folders":             {map[string]string{"SSL_CERT_DIR": "/a:/b"}, "ssl_cert_dir", "/a:/b", "environment SSL_CERT_DIR"},
		"a model's authority": {map[string]string{"REFLECTORY_LLM_CA": "/corp.pem"}, "llm_ca", "/corp.pem", "environment REFLECTORY_LLM_CA"},
		"nothing":             {map[string]string{"HTTPS_PROXY": ""}, "https_proxy", "", "default"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := config.Load(config.Sources{Folder: t.TempDir(), Getenv: func(name string) string { return c.env[name] }})
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range got.List() {
				if s.Name == c.name && (s.Value != c.value || s.Origin != c.origin) {
					t.Errorf("%s is shown as %q from %q, want %q from %q", s.Name, s.Value, s.Origin, c.value, c.origin)
				}
			}
			if text, err := json.Marshal(got); err != nil || strings.Contains(string(text), "s3cret") {
				t.Errorf("%s, %v", text, err)
			}
			if proxied := got.Network().Through("https", "api.example.org", 443) != nil; proxied != (c.name == "https_proxy" && c.value != "") {
				t.Errorf("a proxy is in force: %t", proxied)
			}
		})
	}
}

func TestNetwork_RefusesWhatIsNoProxy(t *testing.T) {
	for _, variable := range []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"} {
		for _, value := range []string{"ftp://me:s3cret@proxy.test", "http://me:s3cret@", "http://me:s3cret@proxy.test:0", "socks4://s3cret"} {
			_, err := config.Load(config.Sources{Folder: t.TempDir(), Getenv: func(name string) string { return map[string]string{variable: value}[name] }})
			if err == nil || strings.Contains(err.Error(), "s3cret") || !strings.Contains(err.Error(), variable) || !config.OutsideFile(err) {
				t.Errorf("%s=%s: %v", variable, value, err)
			}
		}
	}
}
