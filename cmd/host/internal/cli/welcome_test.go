package cli

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// What answers at the address of a program for models may be anything: only names of models are
// shown, few of them, and nothing that steers a terminal.
func TestLocalModels_OnlyNames(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		body   string
		want   []string
	}{
		"one":           {200, `{"models": [{"name": "llama3.2:latest", "size": 1}]}`, []string{"llama3.2:latest"}},
		"none":          {200, `{"models": []}`, nil},
		"many":          {200, `{"models": [{"name": "a"}, {"name": "b"}, {"name": "c"}, {"name": "d"}]}`, []string{"a", "b", "c"}},
		"a page":        {200, `<html>`, nil},
		"other JSON":    {200, `[1, 2]`, nil},
		"of other type": {200, `{"models": "all"}`, nil},
		"not found":     {404, `{"models": [{"name": "a"}]}`, nil},
		"steers":        {200, `{"models": [{"name": "a\u001b[2Jb"}]}`, []string{"a [2Jb"}},
		"endless":       {200, `{"models": [{"name": "` + strings.Repeat("x", 2<<20) + `"}]}`, nil},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/api/tags" {
				t.Errorf("%s: asked for %s", name, r.URL.Path)
			}
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, c.body)
		}))
		if got := localModels(t.Context(), server.URL); !slices.Equal(got, c.want) {
			t.Errorf("%s: %.100q, want %q", name, got, c.want)
		}
		server.Close()
		if got := localModels(t.Context(), server.URL); got != nil {
			t.Errorf("%s: without a server: %q", name, got)
		}
	}
}

// What the first screen says about a folder is true before there is a store, with one, and with
// settings that can't be read; and it makes no store.
func TestHere_SaysWhatThereIs(t *testing.T) {
	w := newPlainWorld(t)
	here := func() string {
		var text strings.Builder
		a := &App{Stdout: io.Discard, Stderr: io.Discard, Getenv: func(k string) string { return w.env[k] }}
		for _, row := range a.here(t.Context()) {
			text.WriteString(row[0] + ": " + row[1] + "\n")
		}
		if err := a.closeHost(); err != nil {
			t.Error(err)
		}
		return text.String()
	}
	for range 2 {
		wantIn(t, here(), "settings: no reflectory.yaml\n", "store: none yet")
	}
	w.line(exitPassed, "", "memory observe --content hello")
	wantIn(t, here(), "store: 1 memory", w.dir+"/data")
	w.file("reflectory.yaml", "namespace: team/x\n")
	wantIn(t, here(), "settings: "+w.dir+"/reflectory.yaml")
	w.file("reflectory.yaml", "namespace: [")
	wantIn(t, here(), "problem: ", "reflectory.yaml:1:")
}
