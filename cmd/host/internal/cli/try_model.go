package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// A trial on the visitor's own model tells the same story as with the script. It can't promise how
// the story ends: what the model answers is what is shown.

// tryModel is a model that a trial uses.
type tryModel struct {
	// endpoint is its OpenAI-compatible endpoint, name the model's name, and keyEnv the environment
	// variable with the key; "" is none.
	endpoint, name, keyEnv string
}

// listTime is how long an endpoint may take to list its models, which needs no model's work.
const listTime = 10 * time.Second

// find completes the model: an endpoint without a path is at /v1, as Ollama's and most others are,
// and a model without a name is the first that the endpoint lists.
func (m *tryModel) find(ctx context.Context, getenv func(string) string) error {
	at, err := url.Parse(m.endpoint)
	if err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "" {
		return usageError{sdk.Errorf(sdk.Invalid, "usage", "--model %q isn't the URL of an OpenAI-compatible endpoint", core.Cut(m.endpoint)).
			WithHint("for example: reflectory try --model http://127.0.0.1:11434/v1 --model-name llama3.2")}
	}
	if m.keyEnv != "" && getenv(m.keyEnv) == "" {
		return sdk.Errorf(sdk.Invalid, "secret_missing", "--key-env: the environment has no %s", core.Cut(m.keyEnv)).
			WithHint("export %s=… sets it", core.Cut(m.keyEnv))
	}
	if strings.Trim(at.Path, "/") == "" {
		at.Path = "/v1"
	}
	m.endpoint = strings.TrimSuffix(at.String(), "/")
	if m.name != "" {
		return nil
	}
	m.name, err = firstModel(ctx, m.endpoint, getenv(cmp.Or(m.keyEnv, "-")))
	if err != nil {
		return sdk.Errorf(sdk.Unavailable, "try_failed", "%s doesn't list its models: %w", m.endpoint, err).
			WithHint("check the URL, or name the model: reflectory try --model %s --model-name NAME", shellWord(m.endpoint))
	}
	return nil
}

// firstModel is the first model that an endpoint lists.
func firstModel(ctx context.Context, endpoint, key string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, endpoint+"/models", nil)
	if err != nil {
		return "", err
	}
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true}
	answer, err := transport.RoundTrip(r) // a redirect isn't followed: it would be sent the key
	if err != nil {
		return "", err
	}
	defer answer.Body.Close() //nolint:errcheck // only read
	if answer.StatusCode != http.StatusOK {
		return "", fmt.Errorf("it answers %s", answer.Status)
	}
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	const most = 4 << 20 // bytes; the longest list of a known service is under 1 MB
	if err := json.NewDecoder(io.LimitReader(answer.Body, most)).Decode(&list); err != nil {
		return "", fmt.Errorf("its answer isn't a list of models: %w", err)
	}
	if len(list.Data) == 0 || list.Data[0].ID == "" {
		return "", fmt.Errorf("its list is empty")
	}
	return list.Data[0].ID, nil
}

// settings are reflectory.yaml's, so that prompts may be sent to the endpoint.
func (m *tryModel) settings() string {
	at, _ := url.Parse(m.endpoint) // find has checked it
	port := cmp.Or(at.Port(), map[string]string{"http": "80", "https": "443"}[at.Scheme])
	return fmt.Sprintf("settings: {llm: {endpoints: [%q]}}\n", at.Hostname()+":"+port)
}

// workflow is the example's workflow with this model in place of the example's own.
func (m *tryModel) workflow(example string) (string, error) {
	llm := map[string]string{"provider": "openai", "base_url": m.endpoint, "model": m.name}
	if m.keyEnv != "" {
		llm["api_key_env"] = m.keyEnv
	}
	before, rest, found := strings.Cut(example, "\n  llm: ")
	_, after, ended := strings.Cut(rest, "\n")
	if !found || !ended {
		return "", sdk.Errorf(sdk.Internal, "try_failed", "the example names no model")
	}
	return before + "\n  llm: " + string(jsontext.MustEncode(llm)) + "\n" + after, nil // JSON is YAML
}
