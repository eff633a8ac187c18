package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/plugins/llm-eval/llmtest"
)

// TestServer_IsAsked by a client elsewhere, over TLS with a token: it prints what a command on
// the server's machine prints.
func TestServer_IsAsked(t *testing.T) {
	w := newPlainWorld(t)
	w.ok("memory", "observe", "--id", "note-one", "--namespace", "team/a", "--content", "The harbour closes. \u202e<b>")
	cert, key, _ := w.certificate()
	s := w.serve("--tls-cert", cert, "--tls-key", key, "--host", "localhost")
	operator, err := os.ReadFile(s.Token)
	if err != nil {
		t.Fatal(err)
	}
	there := &world{t: t, dir: t.TempDir(), env: map[string]string{
		"REFLECTORY_SERVER": s.URL, "REFLECTORY_TOKEN": string(operator), "REFLECTORY_SERVER_CA": cert,
	}}
	there.env["REFLECTORY_DATA_DIR"] = filepath.Join(there.dir, "data")
	for _, line := range []string{
		"memory list --namespace team/a", "memory get note-one", "memory get note-one --json", "memory explain note-one", "memory namespaces",
		"memory recall harbour --namespace team/a", "governance explain team/a", "audit show", "plugin list --json", "store export -",
	} {
		words := strings.Fields(line)
		code, out, errs := w.run(t.Context(), words...)
		gotCode, got, gotErrs := there.run(t.Context(), words...)
		if gotCode != code || each.ReplaceAllString(got, "EACH") != each.ReplaceAllString(out, "EACH") {
			t.Errorf("%s: exit %d\n%s%s\nthere: exit %d\n%s%s", line, code, out, errs, gotCode, got, gotErrs)
		}
	}
	for line, exit := range map[string]int{
		"memory get absent-one": exitFailure, "memory list --namespace team/a --limit 9999": exitUsage,
		"memory reflect --title T --content C --source note-one --source absent-two": exitFailure, "governance set team/a nothing=1": exitFailure,
	} {
		code, message, _ := w.refusal(exit, line)
		if gotCode, got, _ := there.refusal(exit, line); gotCode != code || !strings.HasPrefix(got, message[:8]) {
			t.Errorf("%s: %s: %s\nthere: %s: %s", line, code, message, gotCode, got)
		}
		if want, got := w.hinted(exit, line), there.hinted(exit, line); got != want {
			t.Errorf("%s: hint %s\nthere: %s", line, want, got)
		}
	}
	there.ok("memory", "observe", "--id", "note-two", "--namespace", "team/a", "--content", "From elsewhere.")
	w.ok("memory", "get", "note-two")
	there.ok("governance", "set", "team/a", "max_reflection_depth=2")
	out, _ := there.ok("status")
	wantIn(t, out, s.URL)
	if out, _ := there.ok("open"); !strings.HasPrefix(out, s.URL+"/login?link=") {
		t.Errorf("open: %s", out)
	}
	if _, err := os.Lstat(there.env["REFLECTORY_DATA_DIR"]); !os.IsNotExist(err) {
		t.Errorf("a data folder is made where the client is: %v", err)
	}
	there.ok("audit", "verify") // a job, which is waited for
	for line, says := range map[string]string{
		"store restore x --json": "local_only", "plugin remove x/y --json": "local_only",
		"serve --server " + s.URL + " --json": "local_only",
	} {
		code, _, _ := there.refusal(exitFailure, strings.TrimSuffix(line, " --json"))
		if code != says {
			t.Errorf("%s: %s", line, code)
		}
	}
}

// hinted is the hint of a refusal, with its command, as people and as programs are told.
func (w *world) hinted(exit int, line string) string {
	w.t.Helper()
	_, _, errs := w.run(w.t.Context(), strings.Fields(line)...)
	_, told, _ := strings.Cut(errs, "hint: ")
	e, _ := w.parsed(exit, line)["error"].(map[string]any)
	return told + string(jsontext.MustEncode([]any{e["hint"], e["try"]}))
}

// TestServer_RefusalsSayWhatIsWrong: no token, a wrong one, one without the scope, a
// certificate that nobody signs for, a server that isn't there, and http over a network.
func TestServer_RefusalsSayWhatIsWrong(t *testing.T) {
	w := newPlainWorld(t)
	cert, key, _ := w.certificate()
	s := w.serve("--tls-cert", cert, "--tls-key", key)
	limited, _ := w.ok("token", "new", "ci", "--scope", "memory:read", "--namespace", "team/**")
	for name, c := range map[string]struct {
		server, token, ca, code string
		exit                    int
	}{
		"no token":         {s.URL, "", cert, "unauthenticated", exitFailure},
		"a wrong token":    {s.URL, "rfl_x", cert, "unauthenticated", exitFailure},
		"without scope":    {s.URL, limited, cert, "scope_denied", exitDenied},
		"untrusted":        {s.URL, limited, "", "server_untrusted", exitFailure},
		"no certificates":  {s.URL, limited, key, "server_ca_invalid", exitFailure},
		"nobody":           {"http://127.0.0.1:1", limited, "", "server_lost", exitFailure},
		"no TLS":           {strings.Replace(s.URL, "https", "http", 1), limited, "", "answer_invalid", exitFailure},
		"over a network":   {"http://host.example.org", limited, "", "usage", exitUsage},
		"with a password":  {"https://a:hunter2@host.example.org", limited, "", "usage", exitUsage},
		"no URL":           {"host.example.org", limited, "", "usage", exitUsage},
		"another protocol": {"ftp://host.example.org", limited, "", "usage", exitUsage},
	} {
		there := &world{t: t, dir: w.dir, env: map[string]string{
			"REFLECTORY_SERVER": c.server, "REFLECTORY_TOKEN": c.token, "REFLECTORY_SERVER_CA": c.ca, "REFLECTORY_DATA_DIR": filepath.Join(w.dir, "none"),
		}}
		_, out, errs := there.run(t.Context(), "token", "list", "--json")
		code, message, _ := there.refusal(c.exit, "token list")
		if code != c.code || strings.Contains(out+errs, "hunter2") || strings.Contains(out+errs, "rfl_") || !strings.Contains(out, `"hint"`) {
			t.Errorf("%s: %s %s: %s%s", name, code, message, out, errs)
		}
	}
}

// TestServer_AFailedJobIsTheError that the command has without a server: with its code, message,
// hint and details, here, over the server's socket and from elsewhere, where it was a job.
func TestServer_AFailedJobIsTheError(t *testing.T) {
	w := newWorld(t)
	model := llmtest.New(t, llmtest.Status(401).Always())
	w.allow(model)
	line := "evaluate --evaluator " + w.file("judge.yaml", "type: llm\nllm: {provider: openai, base_url: "+model.URL+"/v1, model: small}\n") + " " + w.file("out.json", "{}")
	refusal := func(w *world) string {
		t.Helper()
		_, _, errs := w.run(t.Context(), strings.Fields(line)...)
		return errs + string(jsontext.MustEncode(w.parsed(exitFailure, line)))
	}
	want := refusal(w)
	wantIn(t, want, "llm_key_rejected", "hint")
	s := w.serve()
	operator, err := os.ReadFile(s.Token)
	if err != nil {
		t.Fatal(err)
	}
	there := &world{t: t, dir: w.dir, env: map[string]string{
		"REFLECTORY_SERVER": s.URL, "REFLECTORY_TOKEN": string(operator), "REFLECTORY_DATA_DIR": filepath.Join(w.dir, "none"),
	}}
	for name, from := range map[string]*world{"the socket": w, "elsewhere": there} {
		if got := refusal(from); got != want {
			t.Errorf("from %s:\n%s\nwant\n%s", name, got, want)
		}
	}
	jobs := decoded[operation.JobPage](w, 0, "jobs", "list")
	if len(jobs.Items) != 2 || jobs.Items[0].Failure != nil || jobs.Items[0].Attempts != 1 {
		t.Fatalf("%+v", jobs.Items)
	}
	shown, _ := w.ok("jobs", "show", jobs.Items[0].ID)
	wantIn(t, shown, "failed (llm_key_rejected)", "hint ")
}
