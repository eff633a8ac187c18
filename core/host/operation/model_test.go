package operation_test

import (
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/store/mem"
	"github.com/reflectory/reflectory/sdk"
)

// TestModelAsk_WhoMay: only a caller with the scope, for its models, where it reaches.
func TestModelAsk_WhoMay(t *testing.T) {
	h := toolsHost(t, mem.Open())
	model := []core.Scope{core.ScopeModel}
	var others []core.Scope
	for _, s := range core.Scopes() {
		if s != core.ScopeModel {
			others = append(others, s)
		}
	}
	some := core.ModelGrant{Models: []string{"coder"}}
	for what, c := range map[string]struct {
		who              core.Caller
		model, namespace string
		reason, where    string
	}{
		"with the scope":     {core.Caller{Scopes: model, Namespaces: []string{"team/**"}, Home: "team/a"}, "coder", "", "", "team/a"},
		"in a namespace":     {core.Caller{Scopes: model, Namespaces: []string{"team/**"}}, "coder", "team/b", "", "team/b"},
		"for its model":      {core.Caller{Scopes: model, Namespaces: []string{"team/**"}, Grant: some}, "coder", "team", "", "team"},
		"for the list":       {core.Caller{Scopes: model, Namespaces: []string{"team/**"}, Grant: some}, "", "team", "", "team"},
		"the operator":       {core.Operator(""), "coder", "team", "", "team"},
		"for another":        {core.Caller{Scopes: model, Namespaces: []string{"team/**"}, Grant: some}, "other", "team", "model_denied", ""},
		"by another case":    {core.Caller{Scopes: model, Namespaces: []string{"team/**"}, Grant: some}, "Coder", "team", "model_denied", ""},
		"by a prefix":        {core.Caller{Scopes: model, Namespaces: []string{"team/**"}, Grant: some}, "code", "team", "model_denied", ""},
		"elsewhere":          {core.Caller{Scopes: model, Namespaces: []string{"team/**"}}, "coder", "lab", "namespace_denied", ""},
		"above":              {core.Caller{Scopes: model, Namespaces: []string{"team/a"}}, "coder", "team", "namespace_denied", ""},
		"with all others":    {core.Caller{Scopes: others, Namespaces: []string{"**"}}, "coder", "team", "scope_denied", ""},
		"without a token":    {core.Anybody(), "coder", "team", "scope_denied", ""},
		"nobody":             {core.Caller{}, "coder", "team", "scope_denied", ""},
		"no scope, by model": {core.Caller{Scopes: others, Namespaces: []string{"**"}, Grant: some}, "other", "team", "scope_denied", ""},
	} {
		in, ask := &operation.ModelRequest{Model: c.model, Namespace: c.namespace}, operation.ModelAsk()
		err := ask.Allow(core.WithCaller(t.Context(), c.who), operation.Call{Host: h}, in)
		if sdk.ReasonOf(err) != c.reason && !(c.reason == "" && err == nil) {
			t.Errorf("%s: %v; want %q", what, err, c.reason)
		}
		if c.where != "" && in.Namespace != c.where {
			t.Errorf("%s: in %s; want %s", what, in.Namespace, c.where)
		}
	}
}

// TestModelAsk_ATokenForModelsDoesNothingElse in the whole table.
func TestModelAsk_ATokenForModelsDoesNothingElse(t *testing.T) {
	c := core.Caller{Scopes: []core.Scope{core.ScopeModel}}
	for _, o := range operation.Table() {
		if o.May(c) {
			t.Errorf("it may do %s", o.Name)
		}
	}
	if scrape := operation.Scrape(); scrape.May(c) {
		t.Error("it may read the metrics")
	}
}
