package logs_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/plugin/logs"
)

func TestALinesAttributesDoNotPassForTheHosts(t *testing.T) {
	var got []plugin.LogLine
	l := logs.New(logs.Options{
		Plugin: "acme/p", Now: func() time.Time { return time.Time{} },
		Tag:  func(l *plugin.LogLine) { l.RunID = "run-1" },
		Sink: func(l plugin.LogLine) { got = append(got, l) },
	})
	l.Line([]byte(`{"@message": "m", "@level": "warn", "run": "run-2", "run_id": "run-2", "plugin": "reflectory/lua-eval", "level": "error", "left": 3}`))
	want := []plugin.LogLine{{
		Level: "warn", Plugin: "acme/p", RunID: "run-1", Message: "m",
		Fields: map[string]any{"_run": "run-2", "_run_id": "run-2", "_plugin": "reflectory/lua-eval", "_level": "error", "left": 3.0},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
