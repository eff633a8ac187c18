package logs_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

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

// TestWriter_LinesAreBounded writes lines as they come, in pieces, without an end, and far
// longer than a line may be.
func TestWriter_LinesAreBounded(t *testing.T) {
	long := strings.Repeat("x", plugin.MaxLogLine)
	for name, c := range map[string]struct {
		written []string
		want    []string
	}{
		"pieces":               {[]string{"a", "b\nc", "\n"}, []string{"ab", "c"}},
		"no end":               {[]string{"a\nb"}, []string{"a", "b"}},
		"ends of other system": {[]string{"a\r\n", "b\r\n"}, []string{"a", "b"}},
		"nothing in a line":    {[]string{"\n\na\n"}, []string{"a"}},
		"as long as it may be": {[]string{long, "\nb\n"}, []string{long, "b"}},
		"longer":               {[]string{long, "y", long, "\nb\n"}, []string{long + "…", "b"}},
		"longer, without end":  {[]string{long + "y", long}, []string{long + "…"}},
		"twice":                {[]string{long + "y\n" + long + "z\n"}, []string{long + "…", long + "…"}},
	} {
		var got []string
		l := logs.New(logs.Options{Now: func() time.Time { return time.Time{} }, Sink: func(l plugin.LogLine) { got = append(got, l.Message) }})
		w := logs.NewWriter(l)
		for _, text := range c.written {
			if n, err := w.Write([]byte(text)); n != len(text) || err != nil {
				t.Fatal(n, err)
			}
		}
		w.Flush()
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %.500s", name, diff)
		}
	}
}

// TestLog_EndIsBounded: what an error shows of a plugin's output is its end, and where a crash
// began even if much follows.
func TestLog_EndIsBounded(t *testing.T) {
	l := logs.New(logs.Options{Now: func() time.Time { return time.Time{} }, Sink: func(plugin.LogLine) {}})
	if tail, headline := l.End(); tail != "" || headline != "" {
		t.Errorf("of nothing: %q, %q", tail, headline)
	}
	l.Line([]byte("first"))
	l.Line([]byte("  last \n"))
	if tail, headline := l.End(); tail != "first\n  last \n" || headline != "last" {
		t.Errorf("%q, %q", tail, headline)
	}
	l.Line([]byte("panic: " + strings.Repeat("é", 10_000)))
	for range 1000 {
		l.Line([]byte(strings.Repeat("goroutine ", 50)))
	}
	tail, headline := l.End()
	if len(tail) > 4<<10 || strings.Count(tail, "\n") >= 20 || !strings.HasPrefix(headline, "panic: é") || len(headline) > 600 || !utf8.ValidString(headline) {
		t.Errorf("%d bytes, %q", len(tail), headline)
	}
}

// TestLog_HeadlineIsTheCrash: much follows the line that says why a program ended.
func TestLog_HeadlineIsTheCrash(t *testing.T) {
	for _, first := range []string{
		"panic: runtime error: index out of range [3] with length 3",
		"fatal error: all goroutines are asleep - deadlock!",
		"runtime: failed to create new OS thread (have 5 already; errno=11)",
		"runtime/cgo: pthread_create failed: Resource temporarily unavailable",
		"SIGABRT: abort",
		"SIGSEGV: segmentation violation",
	} {
		l := logs.New(logs.Options{Now: func() time.Time { return time.Time{} }, Sink: func(plugin.LogLine) {}})
		for _, line := range []string{"loaded", first, "PC=0x7f m=0 sigcode=18446744073709551610", "", "rax    0x0", "gs     0x0"} {
			l.Line([]byte(line))
		}
		if _, headline := l.End(); headline != first {
			t.Errorf("%q, want %q", headline, first)
		}
	}
}

func TestLog_AWordOfSignalsIsNoCrash(t *testing.T) {
	for _, line := range []string{"SIGHUP: reloading", "SIGTERM: stopping", "runtime/cgo: loaded"} {
		l := logs.New(logs.Options{Now: func() time.Time { return time.Time{} }, Sink: func(plugin.LogLine) {}})
		l.Line([]byte(line))
		l.Line([]byte("out of cheese"))
		if _, headline := l.End(); headline != "out of cheese" {
			t.Errorf("%q counts as a crash: %q", line, headline)
		}
	}
}
