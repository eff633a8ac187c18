package llmeval

import (
	"context"
	"crypto/tls"
	"crypto/x509"
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
			Description:  "Asks a language model to judge, generate or correct (OpenAI-compatible endpoints, Anthropic and Ollama).",
			ConfigSchema: json.RawMessage(configSchema),
			Parallel:     parallel,
		},
		Evaluator: func(_ context.Context, config json.RawMessage) (sdk.Evaluator, error) { return m.judge(config) },
		Generator: func(_ context.Context, config json.RawMessage) (sdk.Generator, error) { return m.caller(config) },
		Corrector: func(_ context.Context, config json.RawMessage) (sdk.Corrector, error) { return m.caller(config) },
		Health: func(context.Context) error {
			_, err := m.judge(json.RawMessage(healthConfig)) // no model is called: that costs money
			return sdk.Wrap("prepare", err)
		},
	}
}

const healthConfig = `{"llm": {"provider": "openai", "base_url": "http://127.0.0.1:1/v1", "model": "health"}, "prompt": "{{output}}"}`

// maker prepares judges and callers that share a transport.
type maker struct {
	getenv   func(string) string
	opts     Options
	dialects *dialects

	mu sync.Mutex
	// clients are by the authorities that they trust in addition to the system's.
	clients map[string]*http.Client
}

// maxClients limits how many clients are kept; a host has one or two authorities of its
// own.
const maxClients = 32

func newMaker(opts Options) *maker {
	if opts.Getenv == nil {
		opts.Getenv = os.Getenv
	}
	return &maker{
		getenv: opts.Getenv, opts: opts, dialects: newDialects(), clients: map[string]*http.Client{},
	}
}

// http is the client that trusts these authorities too. It is made when it is needed: the
// host's network is available only once the plugin is served.
func (m *maker) http(ca string) *http.Client {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.clients[ca]
	if c == nil {
		if len(m.clients) >= maxClients {
			clear(m.clients)
		}
		c = newHTTP(m.opts.Transport, ca)
		m.clients[ca] = c
	}
	return c
}

func newHTTP(transport http.RoundTripper, ca string) *http.Client {
	if transport == nil {
		own := http.DefaultTransport.(*http.Transport).Clone()
		own.MaxIdleConnsPerHost = parallel
		transport = own
	}
	if own, ok := transport.(*http.Transport); ok && ca != "" {
		own = own.Clone()
		roots, _ := x509.SystemCertPool()
		if roots == nil {
			roots = x509.NewCertPool()
		}
		roots.AppendCertsFromPEM([]byte(ca))
		own.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots}
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
	return &client{endpoint: e, http: m.http(e.ca), dialects: m.dialects}
}
