package config_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core/host/config"
)

// TestLimits_FromTheFile: every limit can be set within its bounds, and only there.
func TestLimits_FromTheFile(t *testing.T) {
	seen := map[string]bool{}
	for _, d := range config.Definitions() {
		if name, is := strings.CutPrefix(d.Key, "limits."); is {
			seen[name] = true
		}
	}
	if want := reflect.TypeFor[config.Limits]().NumField(); len(seen) != want {
		t.Errorf("%d limits have settings, want %d", len(seen), want)
	}
	for _, c := range []struct {
		limit, value string
		get          func(config.Limits) any
		want         any // nil is refused
	}{
		{"body", "2048", func(l config.Limits) any { return l.Body }, int64(2048)},
		{"body", "0", nil, nil}, {"body", "1e18", nil, nil}, {"body", "1500.5", nil, nil}, {"body", "much", nil, nil},
		{"import_body", "4096", func(l config.Limits) any { return l.ImportBody }, int64(4096)},
		{"headers", "8192", func(l config.Limits) any { return l.Headers }, int64(8192)},
		{"headers", "-1", nil, nil},
		{"json_depth", "16", func(l config.Limits) any { return l.JSONDepth }, int64(16)},
		{"json_depth", "257", nil, nil},
		{"header_time", "2s", func(l config.Limits) any { return l.HeaderTime }, 2 * time.Second},
		{"header_time", "0", nil, nil}, {"header_time", "5", nil, nil}, {"header_time", "25h", nil, nil},
		{"body_time", "1m", func(l config.Limits) any { return l.BodyTime }, time.Minute},
		{"idle_time", "10s", func(l config.Limits) any { return l.IdleTime }, 10 * time.Second},
		{"requests", "12.5", func(l config.Limits) any { return l.Requests }, 12.5},
		{"requests", "0", nil, nil}, {"requests", "NaN", nil, nil},
		{"writes", "7", func(l config.Limits) any { return l.Writes }, 7.0},
		{"failed_logins", "3", func(l config.Limits) any { return l.FailedLogins }, 3.0},
		{"at_once", "8", func(l config.Limits) any { return l.AtOnce }, int64(8)},
		{"at_once", "1", nil, nil},
		{"gateway", "300", func(l config.Limits) any { return l.Gateway }, int64(300)},
		{"gateway", "70000", nil, nil},
		{"connections", "100", func(l config.Limits) any { return l.Connections }, int64(100)},
		{"streams", "10", func(l config.Limits) any { return l.Streams }, int64(10)},
		{"subject_streams", "2", func(l config.Limits) any { return l.SubjectStreams }, int64(2)},
		{"bodies", "2", nil, nil},
		{"runs", "4", func(l config.Limits) any { return l.Runs }, int64(4)},
		{"runs", "0", nil, nil}, {"runs", "1001", nil, nil}, {"runs", "2.5", nil, nil},
		{"runs_per_user", "0", func(l config.Limits) any { return l.RunsPerUser }, int64(0)},
		{"runs_per_user", "-1", nil, nil},
		{"runs_per_namespace", "3", func(l config.Limits) any { return l.RunsPerNamespace }, int64(3)},
		{"calls_per_model", "{gpt-5: 4}", func(l config.Limits) any { return fmt.Sprint(l.CallsPerModel) }, "map[*:16 gpt-5:4]"},
		{"calls_per_model", "{'*': 0}", func(l config.Limits) any { return fmt.Sprint(l.CallsPerModel) }, "map[*:0]"},
		{"calls_per_model", "{a: 1.5}", nil, nil}, {"calls_per_model", "{'a,b': 1}", nil, nil}, {"calls_per_model", "4", nil, nil},
	} {
		cfg, _, err := load(t, "limits:\n  "+c.limit+": "+c.value+"\n", nil, nil)
		switch {
		case c.want == nil:
			if err == nil || !strings.Contains(err.Error(), strings.TrimPrefix(c.limit, "limits_")) && !strings.Contains(err.Error(), strings.ReplaceAll(c.limit, "_", " ")) {
				t.Errorf("%s: %s: %v", c.limit, c.value, err)
			}
		case err != nil:
			t.Errorf("%s: %s: %v", c.limit, c.value, err)
		default:
			if got := c.get(cfg.Limits()); got != c.want {
				t.Errorf("%s: %s is %v", c.limit, c.value, got)
			}
		}
	}
}
