package plugin_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/sdk"
)

// judged is a supervisor of plugin "p", which has a schema, and perhaps of the
// plugin "judge", which finds what judge says. It counts the judgements.
func judged(t *testing.T, withJudge bool, judge func(schema, config string) sdk.EvaluateResult) (s *plugin.Supervisor, prepared, judgements *int) {
	t.Helper()
	prepared, judgements = new(int), new(int)
	d := &driver{manifest: sdk.Manifest{Version: "1", Contract: 1, ConfigSchema: json.RawMessage(`{"type": "object"}`)}}
	d.callFn = func(_ context.Context, i *instance) error {
		if i.kinds[len(i.kinds)-1] == sdk.KindCorrector { // which only Prepare is called for here
			*prepared++
		}
		return nil
	}
	d.evaluateFn = func(_ context.Context, _ *instance, c plugin.Config, reqs []*sdk.EvaluateRequest) []sdk.EvaluateResult {
		*judgements++
		return []sdk.EvaluateResult{judge(string(c.JSON), string(reqs[0].Output))}
	}
	installed := []plugin.Installed{{Name: "p"}}
	if withJudge {
		installed = append(installed, plugin.Installed{Name: "judge"})
	}
	s = plugin.NewSupervisor(plugin.Options{Installed: installed, Driver: named{d}, ConfigEvaluator: "judge"})
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, prepared, judgements
}

// named is a driver whose instances bear the names of their plugins.
type named struct{ *driver }

func (d named) Start(ctx context.Context, p plugin.Installed) (plugin.Instance, error) {
	i, err := d.driver.Start(ctx, p)
	if err == nil {
		i.(*instance).manifest.Name = p.Name
	}
	return i, err
}

func verdict(findings ...sdk.Finding) sdk.EvaluateResult {
	return sdk.EvaluateResult{Response: &sdk.EvaluateResponse{Verdict: sdk.Verdict{Valid: len(findings) == 0, Errors: findings}}}
}

func TestAConfigIsJudgedOnceByItsPluginsSchema(t *testing.T) {
	s, prepared, judgements := judged(t, true, func(schema, config string) sdk.EvaluateResult {
		if schema != `{"schema":{"type":"object"},"scoring":"strict"}` || config != `{"max":1}` && config != `{}` {
			return verdict(sdk.Finding{Message: "asked for " + schema + " and " + config})
		}
		return verdict()
	})
	for _, config := range []string{`{"max":1}`, ``, `{"max":1}`, `{}`} {
		if err := s.Prepare(t.Context(), sdk.KindCorrector, core.Target{Plugin: "p", Config: json.RawMessage(config)}); err != nil {
			t.Fatal(err)
		}
	}
	if *judgements != 2 || *prepared != 4 {
		t.Errorf("%d judgements, %d times prepared", *judgements, *prepared)
	}
	if err := s.Prepare(t.Context(), sdk.KindCorrector, core.Target{Plugin: "judge"}); err != nil || *judgements != 2 {
		t.Errorf("the judge's own config was judged: %v", err)
	}
}

// TestConfig_OfAnySizeIsJudged: in one that is longer than the judge's messages, long texts are cut, and the
// plugin has it whole.
func TestConfig_OfAnySizeIsJudged(t *testing.T) {
	long := strings.Repeat("A", 9<<20)
	for name, tt := range map[string]struct{ config, judged string }{
		"a long one":                     {`{"a": "` + long + `", "b\"c": [1, "x\\"]}`, `{"a": "` + long[:64] + `", "b\"c": [1, "x\\"]}`},
		"an escape":                      {`{"a": "A\n` + long + `"}`, `{"a": "A"}`},
		"a character that would be half": {`{"a": "` + long[:63] + "ü" + long + `"}`, `{"a": "` + long[:63] + `"}`},
		"one that fits":                  {`{"a": "` + long[:6<<20] + `"}`, `{"a": "` + long[:6<<20] + `"}`},
		"many short texts":               {`["` + strings.Repeat(long[:64<<10]+`","`, 140) + `"]`, `["` + strings.Repeat(long[:64]+`","`, 140) + `"]`},
	} {
		t.Run(name, func(t *testing.T) {
			var got string
			s, prepared, _ := judged(t, true, func(_, config string) sdk.EvaluateResult { got = config; return verdict() })
			if err := s.Prepare(t.Context(), sdk.KindCorrector, core.Target{Plugin: "p", Config: json.RawMessage(tt.config)}); err != nil || *prepared != 1 {
				t.Fatal(err)
			}
			if got != tt.judged {
				t.Errorf("%.200q was judged (%d bytes), want %.200q", got, len(got), tt.judged)
			}
		})
	}
}

func TestAConfigThatDoesNotMatchIsNotPrepared(t *testing.T) {
	var findings []sdk.Finding
	for i := range 22 {
		findings = append(findings, sdk.Finding{Message: fmt.Sprint("wrong ", i), Path: "/a"})
	}
	findings[0] = sdk.Finding{Message: "max is missing"}
	s, prepared, _ := judged(t, true, func(string, string) sdk.EvaluateResult { return verdict(findings...) })
	err := s.Prepare(t.Context(), sdk.KindCorrector, core.Target{Plugin: "p"})
	wantReason(t, err, sdk.Invalid, "config_invalid")
	e := sdk.AsError(err)
	if !strings.HasPrefix(e.Message, `the config of plugin "p": max is missing; /a: wrong 1; `) ||
		!strings.HasSuffix(e.Message, "wrong 19; and 2 more") || e.Hint == "" || len(e.Details["problems"].([]string)) != 22 {
		t.Errorf("%q, %q", e.Message, e.Hint)
	}
	if *prepared != 0 {
		t.Error("the plugin was given the config")
	}
}

func TestASchemaThatCannotBeAppliedIsThePluginsFault(t *testing.T) {
	tests := map[string]struct {
		err    error
		code   sdk.Code
		reason string
	}{
		"an invalid schema": {sdk.Errorf(sdk.Invalid, "schema_invalid", "/type: no such type"), sdk.Invalid, "config_schema_invalid"},
		"a broken judge":    {sdk.Errorf(sdk.Internal, "plugin_panic", "it panicked"), sdk.Internal, "plugin_panic"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s, prepared, _ := judged(t, true, func(string, string) sdk.EvaluateResult { return sdk.EvaluateResult{Err: tt.err} })
			err := s.Prepare(t.Context(), sdk.KindCorrector, core.Target{Plugin: "p"})
			wantReason(t, err, tt.code, tt.reason)
			if !strings.Contains(err.Error(), "config") || !strings.Contains(err.Error(), "p") || *prepared != 0 {
				t.Errorf("%v; prepared %d times", err, *prepared)
			}
		})
	}
}

func TestWithoutAJudgeThePluginChecksItsConfigItself(t *testing.T) {
	s, prepared, judgements := judged(t, false, nil)
	if err := s.Prepare(t.Context(), sdk.KindCorrector, core.Target{Plugin: "p"}); err != nil || *prepared != 1 || *judgements != 0 {
		t.Errorf("%v, prepared %d times, %d judgements", err, *prepared, *judgements)
	}
	if _, err := s.Describe(t.Context(), "p"); err != nil || !slices.Equal(names(s), []string{"p"}) {
		t.Error(err, names(s))
	}
}

func names(s *plugin.Supervisor) (names []string) {
	for _, st := range s.Status() {
		names = append(names, st.Plugin)
	}
	return names
}
