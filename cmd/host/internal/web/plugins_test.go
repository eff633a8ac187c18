package web

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/host/operation/operationtest"
	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/plugin/install"
)

// install pins a plugin that nobody runs, with the host services that it asks for.
func (s *site) install(name, version, services string) {
	s.T.Helper()
	folder := "plugins/" + name
	s.File(folder+"/"+install.PackageFile, fmt.Sprintf("name: %s\nversion: %s\nkinds: [evaluator]\ndescription: %q\nentry: [sh, run.sh]\ncapabilities: {fs: [system], host: %s, network: [\"example.org:443\"]}\nlimits: {memory: 64MiB}\n", name, version, hostile[0], services))
	s.File(folder+"/run.sh", "exit 0\n")
	place := install.Place{Lock: filepath.Join(s.Folder, install.LockFile), Dir: filepath.Join(s.Folder, "plugins")}
	_, err := install.Add(s.T.Context(), filepath.Join(s.Folder, filepath.FromSlash(folder)), install.AddOptions{
		Place: place, InPlace: true, Approve: func(install.Request) error { return nil },
	})
	s.Must(err)
}

// TestPlugins_ShowWhatTheyMay: the list and one plugin's page have its kinds, its digest, what
// it was granted, its limits and the files that the lock pins, and say why one is refused.
func TestPlugins_ShowWhatTheyMay(t *testing.T) {
	s := newSite(t)
	s.install("acme/house-style", "1.2.0", "[log, cache]")
	s.walk("/plugins", "/plugins/acme/house-style")
	for target, wants := range map[string][]string{
		"/plugins":                  {"acme/house-style", "1.2.0", "evaluator", "ready", "locked", "host: cache", "network: example.org:443"},
		"/plugins/acme/house-style": {hostile[0], "sha256:", "granted", "example.org:443", "Limits", "64.0 MiB", "2 files pinned", "run.sh", "It has logged nothing", "No plugin was called"},
	} {
		text := textOf(s.tree(s.get(target), http.StatusOK))
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("%s lacks %q:\n%.3000s", target, want, text)
			}
		}
	}
	s.File("plugins/acme/house-style/"+install.PackageFile, "name: acme/house-style\nversion: 6.6.6\n")
	text := textOf(s.tree(s.get("/plugins/acme/house-style"), http.StatusOK))
	if !strings.Contains(text, "refused") || strings.Contains(text, "6.6.6") {
		t.Errorf("a changed file: %.2000s", text)
	}
	if a := s.get("/plugins/acme/none"); a.StatusCode != http.StatusNotFound {
		t.Errorf("%d", a.StatusCode)
	}
}

// TestPlugins_ShowTheirHealth: what a breaker does is said, with the reason.
func TestPlugins_ShowTheirHealth(t *testing.T) {
	s := newSite(t)
	pages := New(Config{Host: s.Host, Authority: s.Host.Access, Now: s.Config.Clock.Now})
	for breaker, want := range map[plugin.BreakerState][2]string{
		plugin.BreakerClosed: {"ready", "by themselves"}, plugin.BreakerHalfOpen: {"on trial", "the first good call closes the circuit"}, plugin.BreakerOpen: {"circuit open", "none is started until"},
	} {
		summary := host.PluginSummary{Name: "acme/a", Health: &host.PluginHealth{Instances: 2, Exits: 7, Breaker: breaker, LastCause: hostile[1]}}
		if breaker == plugin.BreakerOpen {
			summary.Health.RetryAt = new(time.Unix(1_800_000_000, 0))
		}
		w := httptest.NewRecorder()
		pages.show(w, http.StatusOK, "plugin.html", view{content: content{Title: "acme/a", Data: &pluginData{Inspection: &host.Inspection{PluginSummary: summary}, State: pluginState(&summary)}}})
		if body := w.Body.String(); !strings.Contains(body, want[0]) || !strings.Contains(body, want[1]) || strings.Contains(body, hostile[1]) {
			t.Errorf("%s: %.3000s", breaker, body)
		}
	}
}

// TestAudit_ShowsTheJournal: streams, entries with their chain and what they are about, a
// filter, older pages, and a check of all of it.
func TestAudit_ShowsTheJournal(t *testing.T) {
	s := newSite(t)
	var last string
	for range 30 {
		last = s.Memory()
	}
	stream := "/audit/entries?stream=namespace/" + operationtest.Here
	s.walk("/audit", stream, stream+"&from=1", stream+"&type=agent.memory.observed")
	a := s.get(stream)
	if text := textOf(s.tree(a, http.StatusOK)); !strings.Contains(text, "chained") || !strings.Contains(text, "Older entries") || strings.Contains(text, "broken") || !strings.Contains(a.body, "/memory/"+last) {
		t.Errorf("%.3000s", text)
	}
	verify := s.post("/audit/verify", nil)
	at := verify.Header.Get("Location")
	if verify.StatusCode != http.StatusSeeOther || !strings.HasPrefix(at, "/audit?job=") {
		t.Fatalf("%d %s %.300s", verify.StatusCode, at, verify.body)
	}
	if text := textOf(s.tree(s.get(at), http.StatusOK)); !strings.Contains(text, "The check is a job") {
		t.Errorf("%.2000s", text)
	}
	s.work()
	if text := textOf(s.tree(s.get(at), http.StatusOK)); !strings.Contains(text, "The journal is as it was written") {
		t.Errorf("%.2000s", text)
	}
	if a := s.get("/audit/entries?stream=namespace/none"); a.StatusCode != http.StatusNotFound {
		t.Errorf("%d", a.StatusCode)
	}
}
