package access_test

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// TestTokenOfModels: what a token may ask of models is stored with it, listed, and its caller's.
func TestTokenOfModels(t *testing.T) {
	g := newGate(t)
	q := request()
	q.Scopes = []core.Scope{core.ScopeModel}
	q.ModelGrant = core.ModelGrant{Models: []string{"coder", "a/b:7b", "coder"}, Budget: &core.Budget{CostUSD: 5, Per: core.PerDay}}
	issued := g.issue(q)
	want := core.ModelGrant{Models: []string{"a/b:7b", "coder"}, Budget: &core.Budget{CostUSD: 5, Per: core.PerDay}}
	for range 2 { // the second time from the cache
		c, err := g.Authenticate(g.ctx, string(issued.Secret))
		if err != nil || !reflect.DeepEqual(c.Grant, want) || c.Token != issued.ID {
			t.Errorf("the caller is %+v, %v", c, err)
		}
	}
	if got, err := g.Get(g.ctx, issued.ID); err != nil || !reflect.DeepEqual(got.ModelGrant, want) {
		t.Errorf("it is listed as %+v, %v", got, err)
	}
}

func TestTokenOfModels_WhatIsWrongWithIt(t *testing.T) {
	day := func(tokens int64, usd float64) *core.Budget {
		return &core.Budget{Tokens: tokens, CostUSD: usd, Per: core.PerDay}
	}
	models := []core.Scope{core.ScopeModel}
	for what, c := range map[string]struct {
		scopes []core.Scope
		grant  core.ModelGrant
		reason string
	}{
		"all models":              {models, core.ModelGrant{}, ""},
		"both budgets":            {models, core.ModelGrant{Budget: day(1, 0.01)}, ""},
		"per request":             {models, core.ModelGrant{Budget: &core.Budget{Tokens: 1, Per: core.PerRequest}}, ""},
		"with another scope":      {[]core.Scope{core.ScopeRun, core.ScopeModel}, core.ModelGrant{Models: []string{"m"}}, ""},
		"models without scope":    {[]core.Scope{core.ScopeRun}, core.ModelGrant{Models: []string{"m"}}, "models_invalid"},
		"budget without scope":    {[]core.Scope{core.ScopeRun}, core.ModelGrant{Budget: day(1, 0)}, "models_invalid"},
		"no name":                 {models, core.ModelGrant{Models: []string{""}}, "models_invalid"},
		"a long name":             {models, core.ModelGrant{Models: []string{strings.Repeat("m", 257)}}, "models_invalid"},
		"a space":                 {models, core.ModelGrant{Models: []string{"a b"}}, "models_invalid"},
		"a line":                  {models, core.ModelGrant{Models: []string{"a\nb"}}, "models_invalid"},
		"an invisible character":  {models, core.ModelGrant{Models: []string{"a\u200bb"}}, "models_invalid"},
		"no UTF-8":                {models, core.ModelGrant{Models: []string{"\xff"}}, "models_invalid"},
		"a list in a name":        {models, core.ModelGrant{Models: []string{"a,b"}}, "models_invalid"},
		"too many models":         {models, core.ModelGrant{Models: slices.Repeat([]string{"m"}, 65)}, "models_invalid"},
		"an empty budget":         {models, core.ModelGrant{Budget: &core.Budget{Per: core.PerDay}}, "budget_invalid"},
		"no span":                 {models, core.ModelGrant{Budget: &core.Budget{Tokens: 1}}, "budget_invalid"},
		"another span":            {models, core.ModelGrant{Budget: &core.Budget{Tokens: 1, Per: "month"}}, "budget_invalid"},
		"tokens below nothing":    {models, core.ModelGrant{Budget: day(-1, 0)}, "budget_invalid"},
		"dollars below nothing":   {models, core.ModelGrant{Budget: day(1, -1)}, "budget_invalid"},
		"no number":               {models, core.ModelGrant{Budget: day(0, math.NaN())}, "budget_invalid"},
		"infinite":                {models, core.ModelGrant{Budget: day(0, math.Inf(1))}, "budget_invalid"},
		"more than can be summed": {models, core.ModelGrant{Budget: day(core.MaxBudgetTokens+1, 0)}, "budget_invalid"},
	} {
		q := request()
		q.Scopes, q.ModelGrant = c.scopes, c.grant
		if err := q.Check(); sdk.ReasonOf(err) != c.reason && !(c.reason == "" && err == nil) {
			t.Errorf("%s: %v; want %q", what, err, c.reason)
		}
	}
}

// TestTokenOfModels_GivesNoMore: a token that makes tokens hands on its own models, and never a budget.
func TestTokenOfModels_GivesNoMore(t *testing.T) {
	g := newGate(t)
	budget := &core.Budget{Tokens: 10, Per: core.PerDay}
	for what, c := range map[string]struct {
		has, asks core.ModelGrant
		reason    string
	}{
		"everything":                 {core.ModelGrant{}, core.ModelGrant{}, ""},
		"less than everything":       {core.ModelGrant{}, core.ModelGrant{Models: []string{"a"}, Budget: budget}, ""},
		"its own":                    {core.ModelGrant{Models: []string{"a", "b"}}, core.ModelGrant{Models: []string{"a", "b"}}, ""},
		"one of its own":             {core.ModelGrant{Models: []string{"a", "b"}}, core.ModelGrant{Models: []string{"b"}, Budget: budget}, ""},
		"another":                    {core.ModelGrant{Models: []string{"a"}}, core.ModelGrant{Models: []string{"b"}}, "models_denied"},
		"another too":                {core.ModelGrant{Models: []string{"a"}}, core.ModelGrant{Models: []string{"a", "b"}}, "models_denied"},
		"all of some":                {core.ModelGrant{Models: []string{"a"}}, core.ModelGrant{}, "models_denied"},
		"a budget's twin":            {core.ModelGrant{Budget: budget}, core.ModelGrant{Budget: budget}, "models_denied"},
		"a budget's half":            {core.ModelGrant{Budget: budget}, core.ModelGrant{Budget: &core.Budget{Tokens: 5, Per: core.PerDay}}, "models_denied"},
		"a budget's model":           {core.ModelGrant{Models: []string{"a"}, Budget: budget}, core.ModelGrant{Models: []string{"a"}}, "models_denied"},
		"nothing of it, by a prefix": {core.ModelGrant{Models: []string{"ab"}}, core.ModelGrant{Models: []string{"a"}}, "models_denied"},
	} {
		q := request()
		q.Scopes, q.ModelGrant = []core.Scope{core.ScopeModel}, c.asks
		who := core.Caller{Subject: "lead", Scopes: core.Scopes(), Namespaces: []string{"**"}, Grant: c.has}
		if _, err := g.Issue(core.WithCaller(g.ctx, who), q); sdk.ReasonOf(err) != c.reason && !(c.reason == "" && err == nil) {
			t.Errorf("%s: %v; want %q", what, err, c.reason)
		}
		if q.Scopes, q.ModelGrant = []core.Scope{core.ScopeRun}, (core.ModelGrant{}); c.reason != "" {
			if _, err := g.Issue(core.WithCaller(g.ctx, who), q); err != nil {
				t.Errorf("%s, without models: %v", what, err)
			}
		}
	}
}
