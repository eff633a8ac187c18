package llmeval

import (
	"context"
	_ "embed"
	"encoding/json"
	"net/http"
	"os"
	"sync"

	"github.com/reflectory/reflectory/sdk"
)

// Version is the plugin's version.
const Version = "0.1.0"

// parallel is how many calls one instance takes at a time. A call mostly waits. A local
// Ollama queues 8 calls without refusing any, and the smallest paid tiers allow 8.
const parallel = 8

//go:embed config.schema.json
var configSchema []byte

// Options connect the plugin to its surroundings. A running plugin uses the zero value.
type Options struct {
	// Getenv looks up the variable that llm.api_key_env names. Default os.Getenv.
	Getenv func(name string) string
	// Transport makes the HTTP exchanges. Default: one like
	// [http.DefaultTransport] that keeps as many idle connections to an endpoint
	// as the plugin makes calls at a time.
	Transport http.RoundTripper
}

// Plugin returns llm-eval: a judge, a generator and a corrector. What it prepares is
// safe for concurrent use, and shares connections and what was learned about endpoints.
func Plugin(opts Options) sdk.Plugin {
	m := newMaker(opts)
	return sdk.Plugin{
		Manifest: sdk.Manifest{
			Name:         "llm-eval",
			Version:      Version,
			Description:  "Asks a language model to judge, generate or correct (OpenAI-compatible endpoints and Ollama).",
			ConfigSchema: json.RawMessage(configSchema),
			Parallel:     parallel,
		},
		Evaluator: func(_ context.Context, config json.RawMessage) (sdk.Evaluator, error) { return m.judge(config) },
		Generator: func(_ context.Context, config json.RawMessage) (sdk.Generator, error) { return m.caller(config) },
		Corrector: func(_ context.Context, config json.RawMessage) (sdk.Corrector, error) { return m.caller(config) },
	}
}

// maker prepares judges and callers that share a transport.
type maker struct {
	getenv   func(string) string
	http     func() *http.Client
	dialects *dialects
}

func newMaker(opts Options) *maker {
	if opts.Getenv == nil {
		opts.Getenv = os.Getenv
	}
	return &maker{
		getenv: opts.Getenv,
		// The host's network is available only once the plugin is served.
		http:     sync.OnceValue(func() *http.Client { return newHTTP(opts.Transport) }),
		dialects: newDialects(),
	}
}

func newHTTP(transport http.RoundTripper) *http.Client {
	if transport == nil {
		own := http.DefaultTransport.(*http.Transport).Clone()
		own.MaxIdleConnsPerHost = parallel
		transport = own
	}
	return &http.Client{
		Transport: transport,
		// A redirect is reported, never followed: it would take the key to an address
		// of the endpoint's choice.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func (m *maker) judge(config json.RawMessage) (*judge, error) {
	c, err := decodeJudge(config, m.getenv)
	if err != nil {
		return nil, err
	}
	return &judge{config: c, client: m.client(c.endpoint)}, nil
}

func (m *maker) caller(config json.RawMessage) (*caller, error) {
	c, err := decodeCall(config, m.getenv)
	if err != nil {
		return nil, err
	}
	return &caller{config: c, client: m.client(c.endpoint)}, nil
}

func (m *maker) client(e *endpoint) *client {
	return &client{endpoint: e, http: m.http(), dialects: m.dialects}
}
