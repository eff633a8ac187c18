package core_test

import (
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

func TestJoinErrorsListsThemAll(t *testing.T) {
	missing := sdk.Errorf(sdk.NotFound, "plugin_not_found", "no a").WithHint("build it").WithAction("plugin add", "path", nil)
	alike := sdk.Errorf(sdk.NotFound, "plugin_not_found", "no b")
	other := sdk.Errorf(sdk.Invalid, "config_invalid", "bad c")
	cases := []struct {
		name   string
		errs   []error
		reason string
		text   string
	}{
		{"of one reason", []error{nil, missing, alike}, "plugin_not_found", "no a (build it)\nno b"},
		{"of several reasons", []error{missing, other, alike}, "several_problems", "no a (build it)\nbad c\nno b"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			err := core.JoinErrors(c.errs...)
			if sdk.CodeOf(err) != sdk.NotFound || sdk.ReasonOf(err) != c.reason || err.Error() != c.text {
				t.Errorf("got %s %s %q", sdk.CodeOf(err), sdk.ReasonOf(err), err)
			}
			problems, _ := sdk.AsError(err).Details["problems"].([]*core.ErrorInfo)
			if len(problems) < 2 || problems[0].Code != "plugin_not_found" || problems[0].Hint != "build it" || problems[0].Try != missing.Try {
				t.Errorf("problems %+v", problems)
			}
		})
	}
	if err := core.JoinErrors(nil, nil); err != nil {
		t.Errorf("of none came %v", err)
	}
	if err := core.JoinErrors(nil, other); err != error(other) {
		t.Errorf("of one came %v", err)
	}
}

func TestJoinErrorsHasARefusalOnce(t *testing.T) {
	refused := sdk.Errorf(sdk.Denied, "plugin_denied", "plugin a/b may not run here").WithHint("ask for it")
	err := core.JoinErrors(sdk.Wrap("node n: generator", refused), nil, sdk.Wrap("node n: evaluator", refused))
	if got := sdk.AsError(err); got.Error() != "node n: generator: plugin a/b may not run here" || got.Hint != "ask for it" {
		t.Errorf("got %q, hint %q", got.Error(), got.Hint)
	}
	other := sdk.Errorf(sdk.Invalid, "config_invalid", "x is missing")
	if err := core.JoinErrors(sdk.Wrap("a", other), sdk.Wrap("b", other)); sdk.AsError(err).Details["problems"] == nil {
		t.Errorf("two places with the same mistake: %v", err)
	}
}
