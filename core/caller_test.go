package core_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

func TestCaller_ComesWithTheContext(t *testing.T) {
	if c := core.CallerOf(t.Context()); c.Subject != "" || c.Label != "" || c.Has(core.ScopeRun) || c.Reaches("a") {
		t.Errorf("nobody is %+v", c)
	}
	ctx := core.WithCaller(t.Context(), core.Operator("ada"))
	if c := core.CallerOf(ctx); c.Subject != core.OperatorSubject || c.Label != "ada" {
		t.Errorf("the operator is %+v", c)
	}
	if c := core.CallerOf(core.WithLabel(ctx, "")); c.Label != "ada" {
		t.Errorf("no other name makes it %+v", c)
	}
	other := core.WithLabel(ctx, "bob")
	if c := core.CallerOf(other); c.Subject != core.OperatorSubject || c.Label != "bob" || !c.Has(core.ScopeOperate) {
		t.Errorf("by another name the operator is %+v", c)
	}
	if c := core.CallerOf(ctx); c.Label != "ada" {
		t.Errorf("the context of before has %+v now", c)
	}
	if c := core.CallerOf(core.WithLabel(t.Context(), "bob")); c.Subject != "" || c.Label != "bob" || len(c.Scopes) > 0 {
		t.Errorf("a name alone makes %+v", c)
	}
}

func TestCaller_OperatorMayDoEverything(t *testing.T) {
	c := core.Operator("")
	for _, s := range core.Scopes() {
		if !c.Has(s) {
			t.Errorf("not %s", s)
		}
	}
	for _, namespace := range []string{"a", "a/b", core.EveryNamespace} {
		if !c.Reaches(namespace) {
			t.Errorf("not %s", namespace)
		}
	}
	if err := c.Validate(); err != nil {
		t.Error(err)
	}
}

func TestCaller_Reaches(t *testing.T) {
	c := core.Caller{Namespaces: []string{"exact/one", "tree/**"}}
	for namespace, want := range map[string]bool{
		"exact/one": true, "exact": false, "exact/one/more": false, "exact/oneself": false,
		"tree": true, "tree/a": true, "tree/a/b": true, "trees": false, "tre": false,
		"*": false, "**": false, "": false,
	} {
		if c.Reaches(namespace) != want {
			t.Errorf("%q: %t", namespace, !want)
		}
	}
	if (core.Caller{Namespaces: []string{"a", "a/**"}}).Reaches(core.EveryNamespace) {
		t.Error("only ** reaches what holds everywhere")
	}
}

func TestCaller_Validate(t *testing.T) {
	many := slices.Repeat([]string{"a"}, core.MaxCallerNamespaces+1)
	name := strings.Repeat("x", core.MaxCallerName)
	for _, good := range []core.Caller{
		{}, {Label: name, Subject: name}, {Namespaces: []string{"**", "a/b", "a/**"}}, {Namespaces: many[1:]}, {Scopes: core.Scopes()},
	} {
		if err := good.Validate(); err != nil {
			t.Errorf("%+v: %v", good, err)
		}
	}
	cases := []struct {
		caller core.Caller
		reason string
	}{
		{core.Caller{Subject: name + "x"}, "subject_invalid"},
		{core.Caller{Subject: "a\nb"}, "subject_invalid"},
		{core.Caller{Subject: "\xff"}, "subject_invalid"},
		{core.Caller{Label: name + "x"}, "agent_id_invalid"},
		{core.Caller{Label: "a\x00"}, "agent_id_invalid"},
		{core.Caller{Scopes: []core.Scope{core.ScopeRun, "fly"}}, "scopes_invalid"},
		{core.Caller{Namespaces: many}, "namespaces_invalid"},
		{core.Caller{Namespaces: []string{"*"}}, "namespaces_invalid"},
		{core.Caller{Namespaces: []string{"a/*/b"}}, "namespaces_invalid"},
		{core.Caller{Namespaces: []string{"*/**"}}, "namespaces_invalid"},
		{core.Caller{Namespaces: []string{"/**"}}, "namespaces_invalid"},
		{core.Caller{Namespaces: []string{""}}, "namespaces_invalid"},
	}
	for _, c := range cases {
		err := c.caller.Validate()
		if sdk.CodeOf(err) != sdk.Invalid || sdk.ReasonOf(err) != c.reason {
			t.Errorf("%+v: %v, want %s", c.caller, err, c.reason)
		}
	}
	all := core.Caller{Subject: "\n", Label: "\n", Scopes: []core.Scope{"fly"}, Namespaces: []string{"*"}}.Validate()
	for _, word := range []string{"subject", "label", "fly", "no segment may be *"} {
		if all == nil || !strings.Contains(all.Error(), word) {
			t.Errorf("%v doesn't tell of %s", all, word)
		}
	}
}
