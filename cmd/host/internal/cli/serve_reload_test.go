//go:build cgo && lua54

package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A running server takes a changed lock before the next run: a plugin that was added, and one that was
// taken away; and the endpoints of models that reflectory.yaml allows. It needn't be restarted.
func TestServe_TakesAChangedLockAndSettings(t *testing.T) {
	w := newPlainWorld(t).unconfined()
	all := installPlugins(t, filepath.Join(w.dir, "plugins"))
	full, err := os.ReadFile(all)
	if err != nil {
		t.Fatal(err)
	}
	entries := strings.SplitAfter(string(full), "\n")
	if err := os.Remove(all); err != nil {
		t.Fatal(err)
	}
	w.env["REFLECTORY_LOCK"], w.env["REFLECTORY_PLUGIN_DIR"] = all, filepath.Join(w.dir, "plugins")
	tally := w.file("tally.yaml", fmt.Sprintf(strings.ReplaceAll(tallyWorkflow, "works: 1000000", "works: 0"), "", 1))
	w.serve()
	if code, _, stderr := w.run(t.Context(), "run", tally); code == exitPassed || !strings.Contains(stderr, "test/tally") {
		t.Fatalf("without the plugin: exit %d, %s", code, stderr)
	}
	write := func(text string) {
		t.Helper()
		if err := os.Rename(w.file("lock.new", text), all); err != nil {
			t.Fatal(err)
		}
	}
	write(strings.Join(entries, ""))
	w.ok("run", tally)
	write("not a lock")
	if code, _, stderr := w.run(t.Context(), "run", tally); code == exitPassed {
		t.Errorf("a command whose own lock is broken: exit %d, %s", code, stderr)
	}
	write(strings.Join(entries, ""))
	w.ok("run", tally)

	model := w.file("model.yaml", "settings: {llm: {provider: openai, base_url: \"http://127.0.0.1:9/v1\", model: m}}\nnodes: [{name: a, action: llm.call, with: {prompt: Hello}}]\n")
	_, _, stderr := w.run(t.Context(), "run", model)
	wantIn(t, stderr, "doesn't allow", "settings: {llm: {endpoints: [\"127.0.0.1:9\"]}}")
	w.file("reflectory.yaml", "settings: {llm: {endpoints: [\"127.0.0.1:9\"]}}\n")
	if _, _, stderr = w.run(t.Context(), "run", model); strings.Contains(stderr, "doesn't allow") {
		t.Errorf("what the hint says changes nothing: %s", stderr)
	}
}

// The settings of serve may be in reflectory.yaml and in the environment. A wrong one is reported with
// where it is, and flags override both.
func TestServe_SettingsOfTheFile(t *testing.T) {
	w := newPlainWorld(t)
	serve := func(text string) { w.file("reflectory.yaml", "serve: "+text+"\n") }
	for name, c := range map[string]struct {
		file, env, line string
		code            int
		want            []string
	}{
		"address without a port":    {file: "{listen: localhost}", code: exitFailure, want: []string{"the settings of serve in ", "reflectory.yaml", `"localhost"`}},
		"address beyond":            {file: "{listen: \"0.0.0.0:7842\"}", code: exitFailure, want: []string{"reflectory.yaml", "in the clear"}},
		"no such certificate":       {file: "{tls_cert: cert.pem, tls_key: key.pem}", code: exitFailure, want: []string{"reflectory.yaml", w.dir + "/cert.pem"}},
		"a key alone":               {file: "{tls_key: key.pem}", code: exitFailure, want: []string{"reflectory.yaml", "tls_cert is missing"}},
		"not a network":             {file: "{tls_by_proxy: [proxy]}", code: exitFailure, want: []string{"reflectory.yaml", `"proxy"`}},
		"ACME and files":            {file: "{acme: host.example.org, tls_cert: a, tls_key: b}", code: exitFailure, want: []string{"reflectory.yaml", "acme asks for a certificate"}},
		"unknown key":               {file: "{port: 80}", code: exitFailure, want: []string{`serve has no key "port"`}},
		"a text for a list":         {file: "{hosts: a.example.org}", code: exitFailure, want: []string{"hosts must be a list"}},
		"not a mapping":             {file: "8080", code: exitFailure, want: []string{"serve"}},
		"variable before the file":  {file: "{listen: \"127.0.0.1:0\"}", env: "REFLECTORY_SERVE_LISTEN=nowhere", code: exitFailure, want: []string{"environment REFLECTORY_SERVE_LISTEN", `"nowhere"`}},
		"flag before the variable":  {file: "{listen: \"127.0.0.1:0\"}", env: "REFLECTORY_SERVE_LISTEN=127.0.0.1:0", line: " --listen nowhere", code: exitUsage, want: []string{`"nowhere"`}},
		"shown by config show":      {file: "{listen: \"127.0.0.1:9\", hosts: [a.example.org, b.example.org]}", line: "config show", want: []string{"127.0.0.1:9", "a.example.org,b.example.org", "REFLECTORY_SERVE_HOSTS"}},
		"default, by config show":   {file: "{}", line: "config show", want: []string{"127.0.0.1:7842"}},
		"relative to the file":      {file: "{tls_cert: tls/cert.pem, tls_key: tls/key.pem}", line: "config show", want: []string{w.dir + "/tls/cert.pem"}},
		"a certificate of the file": {file: "{listen: \"0.0.0.0:0\", tls_cert: cert.pem}", code: exitFailure, want: []string{"reflectory.yaml", "tls_key is missing"}},
	} {
		serve(c.file)
		variable, value, _ := strings.Cut(c.env, "=")
		w.env[variable] = value
		line := c.line
		if !strings.HasPrefix(line, "config") {
			line = "serve" + line
		}
		stdout, stderr := w.line(c.code, "", line)
		delete(w.env, variable)
		t.Log(name)
		wantIn(t, stdout+stderr, c.want...)
	}
	serve("{hosts: [memory.example.org]}")
	if s := w.serve(); !strings.HasPrefix(s.URL, "http://memory.example.org:") {
		t.Errorf("it is at %s", s.URL)
	}
}
