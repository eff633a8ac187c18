package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/host/config"
	"github.com/reflectory/reflectory/core/host/gateway"
	"github.com/reflectory/reflectory/core/store/mem"
	"github.com/reflectory/reflectory/core/workflow/action"
	"github.com/reflectory/reflectory/sdk"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(coretest.WithPlain(m)) }

// world is a gateway on a host whose store is in memory.
type world struct {
	*testing.T
	host  *host.Host
	gate  *gateway.Gateway
	clock *coretest.Clock

	mu   sync.Mutex
	warn []error
}

func newWorld(t *testing.T) *world { return newWorldOn(t, mem.Open(), gateway.Options{}) }

func newWorldOn(t *testing.T, store core.Store, o gateway.Options) *world {
	t.Helper()
	dir := t.TempDir()
	settings, err := config.Load(config.Sources{Folder: dir, Flags: map[string]string{"data-dir": dir + "/data"}})
	if err != nil {
		t.Fatal(err)
	}
	return newWorldWith(t, store, o, settings)
}

func newWorldWith(t *testing.T, store core.Store, o gateway.Options, settings *config.Config) (w *world) {
	t.Helper()
	var err error
	w = &world{T: t, clock: &coretest.Clock{}}
	if w.host, err = host.Open(t.Context(), host.Config{Settings: settings, Store: store, Sole: true, Clock: w.clock}); err != nil {
		t.Fatal(err)
	}
	o.Warn = func(err error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.warn = append(w.warn, err)
	}
	w.gate = gateway.New(w.host, o)
	w.gate.JudgeWith(judge)
	t.Cleanup(func() {
		if err := errors.Join(w.gate.Close(), w.host.Close()); err != nil {
			t.Error(err)
		}
		if err := errors.Join(w.warn...); err != nil {
			t.Error("warned:", err)
		}
	})
	return w
}

// caller is a caller of one namespace.
func caller(subject, namespace string) core.Caller {
	return core.Caller{Subject: subject, Scopes: []core.Scope{core.ScopeRun}, Namespaces: []string{namespace}, Label: subject}
}

// serve serves a request.
func (w *world) serve(c core.Caller, m gateway.Model, r *gateway.Request, up gateway.Upstream) *gateway.Outcome {
	w.Helper()
	out, err := w.gate.Serve(w.Context(), c, &m, r, up)
	if err != nil {
		w.Fatalf("serve: %v", err)
	}
	return out
}

// observe adds a memory as the operator.
func (w *world) observe(namespace, content string) string {
	w.Helper()
	m, err := w.host.Memories.Observe(core.WithCaller(w.Context(), core.Operator("ada")), &core.ObserveRequest{Namespace: namespace, Content: content})
	if err != nil {
		w.Fatal(err)
	}
	return m.ID
}

// upstream is a scripted model.
type upstream struct {
	mu sync.Mutex
	// asked are the attempts, and sent what went up in each, as text.
	asked []*gateway.Attempt
	reply func(a *gateway.Attempt) (*gateway.Reply, error)
}

func (u *upstream) Ask(_ context.Context, a *gateway.Attempt) (*gateway.Reply, error) {
	u.mu.Lock()
	u.asked = append(u.asked, a)
	u.mu.Unlock()
	return u.reply(a)
}

// says is an upstream that gives these texts, one after the other, the last one again and again.
func says(texts ...string) *upstream {
	u := &upstream{}
	u.reply = func(a *gateway.Attempt) (*gateway.Reply, error) {
		return text(texts[min(a.Number, len(texts))-1]), nil
	}
	return u
}

func text(s string) *gateway.Reply {
	return &gateway.Reply{Text: s, Finish: gateway.Complete, Usage: sdk.Usage{TokensIn: 10, TokensOut: 5}}
}

func calls(list ...gateway.Call) *gateway.Reply {
	return &gateway.Reply{Calls: list, Finish: gateway.Complete}
}

// message makes a message with its canonical form.
func message(m gateway.Message) gateway.Message {
	m.Canonical, _ = json.Marshal(struct {
		Role    gateway.Role
		Text    string
		Calls   []gateway.Call
		Results []gateway.Result
	}{m.Role, m.Text, m.Calls, m.Results})
	return m
}

func user(s string) gateway.Message { return message(gateway.Message{Role: gateway.User, Text: s}) }

func assistant(r *gateway.Reply) gateway.Message {
	return message(gateway.Message{Role: gateway.Assistant, Text: r.Text, Calls: r.Calls})
}

func results(list ...gateway.Result) gateway.Message {
	return message(gateway.Message{Role: gateway.User, Results: list})
}

// judge stands for the plugin that checks schemas, with type, required, properties and enum; an
// evaluator accepts what its config contains as word.
func judge(_ context.Context, _ host.Need, spec action.Spec, _ json.RawMessage) (any, error) {
	step := spec.(*action.EvaluateSpec)
	raw, err := step.Evaluator.Config.Render(action.Variables{})
	if err != nil {
		return nil, err
	}
	output, err := step.Data.Render(action.Variables{})
	if err != nil {
		return nil, err
	}
	var config struct {
		Schema map[string]any `json:"schema"`
		Word   string         `json:"word"`
	}
	var value any
	if err := errors.Join(json.Unmarshal(raw, &config), json.Unmarshal(output, &value)); err != nil {
		return nil, sdk.Errorf(sdk.Invalid, "schema_invalid", "%w", err)
	}
	if config.Word != "" {
		valid := strings.Contains(fmt.Sprint(value), config.Word)
		return verdict(valid, sdk.Finding{Message: "it lacks " + config.Word, Code: "word"}), nil
	}
	if config.Schema["type"] == "wrong" {
		return nil, sdk.Errorf(sdk.Invalid, "schema_invalid", "type wrong")
	}
	found := findings("", config.Schema, value)
	return verdict(len(found) == 0, found...), nil
}

func verdict(valid bool, found ...sdk.Finding) *action.EvaluateResult {
	if valid {
		return &action.EvaluateResult{Valid: true, Score: 1}
	}
	return &action.EvaluateResult{Score: max(0, 1-.2*float64(len(found))), Errors: found}
}

func findings(at string, schema map[string]any, value any) (list []sdk.Finding) {
	add := func(at, code string) {
		list = append(list, sdk.Finding{Path: at, Code: code, Message: code + " isn't met"})
	}
	kind := map[string]func(any) bool{
		"object": func(v any) bool { _, is := v.(map[string]any); return is }, "string": func(v any) bool { _, is := v.(string); return is },
		"number": func(v any) bool { _, is := v.(float64); return is }, "boolean": func(v any) bool { _, is := v.(bool); return is },
		"array": func(v any) bool { _, is := v.([]any); return is },
	}
	if name, is := schema["type"].(string); is && !kind[name](value) {
		add(at, "type")
		return list
	}
	if enum, is := schema["enum"].([]any); is && !slices.Contains(enum, value) {
		add(at, "enum")
	}
	members, _ := value.(map[string]any)
	required, _ := schema["required"].([]any)
	for _, name := range required {
		if _, has := members[name.(string)]; !has {
			add(at+"/"+name.(string), "required")
		}
	}
	properties, _ := schema["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if v, has := members[name]; has {
			list = append(list, findings(at+"/"+name, properties[name].(map[string]any), v)...)
		}
	}
	return list
}

// sound checks the store.
func (w *world) sound() {
	w.Helper()
	checkers, err := host.Checkers(w.host.Store)
	if err != nil {
		w.Fatal(err)
	}
	err = w.host.Store.View(w.Context(), func(r core.Reader) error {
		for _, c := range checkers {
			if err := c.Check(w.Context(), r, func(p core.Problem) { w.Errorf("store: %s: %s", p.Key, p.Message) }); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		w.Error(err)
	}
}
