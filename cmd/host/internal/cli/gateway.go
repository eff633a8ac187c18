package cli

import (
	"context"
	"strings"

	wire "github.com/reflectory/reflectory/cmd/host/internal/gateway"
	"github.com/reflectory/reflectory/cmd/host/internal/httpapi"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/host/gateway"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/sdk"
)

// The gateway is a surface of the server with paths, credentials and forms of its own: httpapi checks who
// asks, internal/gateway reads the shapes, and core/host/gateway decides what a request means.

// models are the models of a server, as the wire finds them for the context's caller.
type models struct {
	*gateway.Models
	host   *host.Host
	getenv func(string) string
}

var _ wire.Models = (*models)(nil)

// gatewaySurface makes the gateway of a server, which close closes before the host.
func gatewaySurface(a *App, h *host.Host, tokens httpapi.Tokens) (surface *httpapi.Foreign, served *gateway.Settings, closing func() error, err error) {
	if served, err = gateway.Read(a.config); err != nil {
		return nil, nil, nil, err
	}
	g := gateway.New(h, gateway.Options{
		WhenUnrecorded: gateway.WhenUnrecorded(a.config.GatewayUnrecorded.Value),
		Warn: func(err error) {
			a.notice(host.Notice{Level: "warn", Message: err.Error(), Hint: sdk.AsError(err).Hint})
		},
	})
	m := &models{g.Models(served), h, a.Getenv}
	return &httpapi.Foreign{
		Name: "gateway", Paths: []string{wire.OpenAIPath + "/", wire.AnthropicPath + "/"}, Authenticator: httpapi.ModelTokens{Tokens: tokens},
		Handler: wire.New(wire.Config{Models: m, Transport: a.config.Network().Transport(), Failed: func(_ context.Context, err error) {
			a.notice(host.Notice{Level: "warn", Message: "the gateway failed: " + err.Error(), Hint: sdk.AsError(err).Hint})
		}}),
		May:    func(ctx context.Context, _ core.Caller) error { return m.allow(ctx, "", new(string)) },
		Refuse: wire.Refuse,
	}, served, g.Close, nil
}

// allow refuses a caller that may not ask a model in a namespace, "" for the caller's own.
func (m *models) allow(ctx context.Context, model string, namespace *string) error {
	ask, in := operation.ModelAsk(), &operation.ModelRequest{Model: model, Namespace: *namespace}
	err := ask.Allow(ctx, operation.Call{Host: m.host}, in)
	*namespace = in.Namespace
	return err
}

// Find implements [wire.Models].
func (m *models) Find(ctx context.Context, name string) (*wire.Model, error) {
	s := m.Settings.Find(name)
	if s == nil {
		err := sdk.Errorf(sdk.NotFound, "model_not_found", "the gateway serves no model %s", core.Cut(name))
		if names := m.Names(ctx); len(names) > 0 {
			return nil, err.WithHint("there are %s", strings.Join(names, ", "))
		}
		return nil, err.WithHint("it serves none: the operator names them in %s, or one as settings.llm in reflectory.yaml", gateway.FileName)
	}
	namespace := s.Namespace
	if err := m.allow(ctx, name, &namespace); err != nil {
		return nil, err
	}
	return &wire.Model{
		Name: s.Upstream, Endpoint: m.endpoint(&s.At),
		Serve: func(ctx context.Context, r *gateway.Request, up gateway.Upstream) (*gateway.Outcome, error) {
			return m.Ask(ctx, s, namespace, r, up)
		},
	}, nil
}

// endpoint is where a model is asked. The variable with its key is read at each request.
func (m *models) endpoint(at *gateway.Source) wire.Endpoint {
	families := map[string][]wire.Family{"openai": {wire.OpenAI}, "anthropic": {wire.Anthropic}, "ollama": {wire.OpenAI, wire.Anthropic}}
	e := wire.Endpoint{Families: families[at.Provider], Base: at.BaseURL, ClientKey: at.Client}
	if at.KeyEnv != "" {
		e.Key = func() (string, error) {
			if key := m.getenv(at.KeyEnv); key != "" {
				return key, nil
			}
			return "", sdk.Errorf(sdk.Unavailable, "secret_missing", "the server has no key for this model: the variable %s isn't set", at.KeyEnv).
				WithHint("the operator sets it in the server's environment")
		}
	}
	return e
}

// Names implements [wire.Models].
func (m *models) Names(ctx context.Context) []string { return m.Settings.Names(core.CallerOf(ctx)) }

// Answered implements [wire.Models].
func (m *models) Answered(ctx context.Context, id string) (*wire.Model, error) {
	caller := core.CallerOf(ctx)
	for _, name := range m.Names(ctx) {
		namespace := m.Settings.Find(name).Namespace
		if m.allow(ctx, name, &namespace) != nil {
			continue
		}
		if model, err := m.Models.Answered(ctx, caller, namespace, id); err != nil {
			return nil, err
		} else if model != "" {
			return m.Find(ctx, model)
		}
	}
	return nil, sdk.Errorf(sdk.NotFound, "response_not_found", "there is no response %s of yours", core.Cut(id))
}

// serveGateway adds the gateway to an API's configuration.
func (r *reach) serveGateway(a *App, h *host.Host, c *httpapi.Config, tokens httpapi.Tokens) (err error) {
	c.Foreign, r.gateway, r.closeGateway, err = gatewaySurface(a, h, tokens)
	return err
}

// endGateway ends the gateway, if it was made.
func (r *reach) endGateway() error {
	if r.closeGateway == nil {
		return nil
	}
	return r.closeGateway()
}

// gatewayLine says where the gateway is, if it serves a model.
func (out *output) gatewayLine(url string, s *gateway.Settings) {
	if out.json || len(s.Models)+len(s.Pass) == 0 {
		return
	}
	names := s.Names(core.Caller{})
	shown := strings.Join(append(names[:min(len(names), 5)], s.Pass...), ", ")
	out.term.Line("models for clients at %s and %s: %s", url+wire.OpenAIPath, strings.TrimSuffix(url+wire.AnthropicPath, "/v1"), cell(shown))
}
