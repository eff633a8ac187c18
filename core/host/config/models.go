package config

import (
	"encoding/json"
	"net"
	"net/url"
	"strings"

	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/memory/embed"
	"github.com/reflectory/reflectory/core/memory/embed/openai"
	"github.com/reflectory/reflectory/sdk"
)

// NoModel is the setting for no model: then a summary is the title and the beginning of the
// content, and there are no reflections.
const NoModel = "none"

// knownEndpoints need no entry in settings.llm: the endpoints of OpenAI, of Anthropic, and of
// Ollama on this machine.
func knownEndpoints() []string {
	return []string{"api.openai.com:443", "api.anthropic.com:443", "localhost:11434", "127.0.0.1:11434", "[::1]:11434"}
}

// LocalEmbeddings reports whether vectors are made in this process, without a network.
func (c *Config) LocalEmbeddings() bool { return c.EmbeddingsModel.Value == localModel() }

// localModel is the model that needs no endpoint.
func localModel() string { return embed.Hashed{}.Model() }

// EmbeddingsOptions are the options for calling the configured embedding endpoint. They
// are meaningful unless [Config.LocalEmbeddings]. getenv reads the key when it is needed.
func (c *Config) EmbeddingsOptions(getenv func(string) string) openai.Options {
	return openai.Options{
		URL: c.EmbeddingsURL.Value, Model: c.EmbeddingsModel.Value, Dims: c.typed.dims,
		KeyEnv: c.EmbeddingsKeyEnv.Value, Getenv: getenv,
	}
}

// SummariesLLM is the model that summarizes promoted memories and old turns, in the form of a
// workflow's settings.llm; nil if there is none.
func (c *Config) SummariesLLM() json.RawMessage {
	return c.asked(c.SummariesModel, c.SummariesURL, c.SummariesProvider, c.SummariesKeyEnv)
}

// FurtherModels are the names of further models at the endpoint of [Config.LLM], which the gateway serves too.
func (c *Config) FurtherModels() []string { return list(c.LLMModels.Value) }

// LLM is the model that reflects on what was observed, as the settings.llm of a workflow
// names one; nil if none does.
func (c *Config) LLM() json.RawMessage {
	return c.asked(c.LLMModel, c.LLMURL, c.LLMProvider, c.LLMKeyEnv)
}

// asked names a model at an endpoint, with what it is known to refuse; nil is none.
func (c *Config) asked(model, url, provider, keyEnv Setting) json.RawMessage {
	if model.Value == NoModel {
		return nil
	}
	llm := map[string]any{"provider": provider.Value, "base_url": url.Value, "model": model.Value}
	if refuses := list(c.LLMRefuses.Value); len(refuses) > 0 && model.Value == c.LLMModel.Value && url.Value == c.LLMURL.Value {
		llm["dialect"] = map[string]any{"refuses": refuses}
	}
	if keyEnv.Value != "" {
		llm["api_key_env"] = keyEnv.Value
	}
	return jsontext.MustEncode(llm)
}

// endpointKey is an endpoint, and a variable whose value may be sent there.
type endpointKey struct{ endpoint, variable string }

// keys are the endpoints with the variables that may be sent there.
func (c *Config) keys() map[endpointKey]bool {
	all := map[endpointKey]bool{}
	for _, item := range list(c.LLMEndpoints.Value) {
		if host, variable, keyed := strings.Cut(item, "="); keyed {
			all[endpointKey{host, variable}] = true
		}
	}
	for _, own := range [][2]Setting{{c.LLMURL, c.LLMKeyEnv}, {c.SummariesURL, c.SummariesKeyEnv}} {
		if endpoint, ok := EndpointOf(own[0].Value); ok && own[1].Value != "" {
			all[endpointKey{endpoint, own[1].Value}] = true
		}
	}
	return all
}

// hostsOf are the endpoints of a list, without variables.
func hostsOf(items []string) []string {
	hosts := make([]string, len(items))
	for i, item := range items {
		hosts[i], _, _ = strings.Cut(item, "=")
	}
	return hosts
}

// CheckURL refuses what can't be the base URL of a model's endpoint: it is https, or http on this machine.
// The error is sdk.Invalid, reason "url_invalid".
func CheckURL(base string) error {
	if f := checkURL(base); f != nil {
		return sdk.Errorf(sdk.Invalid, "url_invalid", "base_url: %s", f.says).WithHint("%s", f.hint)
	}
	return nil
}

// EndpointOf is the host:port of a URL, with the default port of its scheme if it has
// none.
func EndpointOf(base string) (endpoint string, ok bool) {
	u, err := url.Parse(base)
	if err != nil || u.Hostname() == "" {
		return "", false
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return net.JoinHostPort(strings.ToLower(u.Hostname()), port), port != ""
}
