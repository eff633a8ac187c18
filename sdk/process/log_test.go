package process

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestLogLinesHaveTheKeysThatTheHostReads(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(newLogHandler(&out, "trace"))
	log.Log(t.Context(), levelTrace, "deep")
	log.Error("broken", "time", "noon", "msg", 7, "level", "high", "n", 3)
	var lines []map[string]any
	for dec := json.NewDecoder(&out); dec.More(); {
		var line map[string]any
		if err := dec.Decode(&line); err != nil {
			t.Fatal(err)
		}
		if _, err := time.Parse("2006-01-02T15:04:05.000000Z07:00", line["@timestamp"].(string)); err != nil {
			t.Error(err)
		}
		delete(line, "@timestamp")
		lines = append(lines, line)
	}
	want := []map[string]any{
		{"@level": "trace", "@message": "deep"},
		{"@level": "error", "@message": "broken", "time": "noon", "msg": 7.0, "level": "high", "n": 3.0},
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Error(diff)
	}
}

func TestLogLevelIsTheHosts(t *testing.T) {
	for level, want := range map[string]slog.Level{
		"trace": levelTrace, "debug": slog.LevelDebug, "info": slog.LevelInfo, "": slog.LevelInfo,
		"warn": slog.LevelWarn, "error": slog.LevelError,
	} {
		h := newLogHandler(new(bytes.Buffer), level)
		if !h.Enabled(t.Context(), want) || h.Enabled(t.Context(), want-1) {
			t.Errorf("level %q doesn't begin at %v", level, want)
		}
	}
}
