package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	wire "github.com/reflectory/reflectory/cmd/host/internal/gateway"
	"github.com/reflectory/reflectory/cmd/host/internal/httpapi"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/host/gateway"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// The gateway is a surface of the server with paths, credentials and forms of its own: httpapi checks who
// asks, internal/gateway reads the shapes, and core/host/gateway decides what a request means.

// operatorsModels is a caller who may ask every model.
var operatorsModels = core.Caller{}

// gatewayName is what the log calls its requests.
const gatewayName = "gateway"

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
	a.serving.ServedModels = func() []string { return m.Settings().Names(operatorsModels) }
	return &httpapi.Foreign{
		Name: gatewayName, Paths: []string{wire.OpenAIPath + "/", wire.AnthropicPath + "/"}, Authenticator: httpapi.ModelTokens{Tokens: tokens},
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
	s := m.Settings().Find(name)
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
	if s.Workflow != nil {
		return &wire.Model{Answer: func(ctx context.Context, r *gateway.Request) (*wire.Answer, error) {
			return m.run(ctx, s, namespace, r)
		}}, nil
	}
	return &wire.Model{
		Name: s.Upstream, Endpoint: m.endpoint(&s.At),
		Serve: func(ctx context.Context, r *gateway.Request, up gateway.Upstream) (*gateway.Outcome, error) {
			return m.Ask(ctx, s, namespace, r, up)
		},
	}, nil
}

// run answers a request with a run of a workflow, whose input is the user's last message. Its nodes may do in the
// caller's namespaces what callers that run workflows may: the operator has chosen the workflow.
func (m *models) run(ctx context.Context, s *gateway.Served, namespace string, r *gateway.Request) (a *wire.Answer, err error) {
	input := ""
	for i := range r.Messages {
		if r.Messages[i].Role == gateway.User && len(r.Messages[i].Results) == 0 {
			input = r.Messages[i].Text
		}
	}
	caller := core.CallerOf(ctx)
	caller.Scopes = []core.Scope{core.ScopeRun, core.ScopeMemoryRead, core.ScopeMemoryWrite}
	in := &operation.RunStart{
		Workflow: s.Workflow.Text, SourceFiles: operation.SourceFiles{File: s.Workflow.File, Files: s.Workflow.Files, Folder: s.Workflow.Folder}, Namespace: namespace,
	}
	in.Input = jsontext.MustEncode(input)
	err = m.Run(ctx, s, func() (used sdk.Usage, err error) {
		out, err := operation.Do(core.WithCaller(ctx, caller), operation.Call{Host: m.host, Local: true}, "run_start", in)
		run, _ := out.(*operation.RunEnded)
		if run == nil || run.Run == nil {
			return used, err
		}
		a, err = answerOf(run.Run)
		return run.Usage.Usage, err
	})
	return a, err
}

// answerOf is a run as a model's answer: what it put out, as a text.
func answerOf(r *core.Run) (*wire.Answer, error) {
	a := &wire.Answer{ID: r.ID, At: r.UpdatedAt, Usage: r.Usage.Usage}
	a.Turn.Run, a.Verdict = r.ID, "passed"
	switch r.Status {
	case core.StatusPassed:
	case core.StatusExhausted:
		a.Verdict = fmt.Sprintf("failed; score=%.2f", r.Score)
	case core.StatusRaised:
		return nil, sdk.Errorf(sdk.Exhausted, "reply_rejected", "no output passed the check, the best with score %.2f", r.Score).WithHint("look at the run").WithAction("runs show", "run", r.ID)
	default:
		return nil, sdk.Errorf(sdk.Unavailable, "run_failed", "the workflow's run %s is %s", r.ID, r.Status).WithHint("look at the run").WithAction("runs show", "run", r.ID)
	}
	var result struct {
		Output json.RawMessage `json:"output"`
	}
	if err := json.Unmarshal(r.Result, &result); err != nil || len(result.Output) == 0 {
		result.Output = r.Result
	}
	if json.Unmarshal(result.Output, &a.Text) != nil {
		a.Text = string(result.Output)
	}
	return a, nil
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
func (m *models) Names(ctx context.Context) []string { return m.Settings().Names(core.CallerOf(ctx)) }

// Answered implements [wire.Models].
func (m *models) Answered(ctx context.Context, id string) (*wire.Model, error) {
	caller := core.CallerOf(ctx)
	for _, name := range m.Names(ctx) {
		s := m.Settings().Find(name)
		if s == nil || s.Workflow != nil {
			continue
		}
		namespace := s.Namespace
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
	names := s.Names(operatorsModels)
	shown := strings.Join(append(names[:min(len(names), 5)], s.Pass...), ", ")
	out.term.Line("models for clients at %s and %s: %s", url+wire.OpenAIPath, strings.TrimSuffix(url+wire.AnthropicPath, "/v1"), cell(shown))
}
