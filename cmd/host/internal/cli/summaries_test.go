package cli

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/plugins/llm-eval/llmtest"
)

const summariesKey = "sk-test-55d37c1f0e9a"

// summarizing is a world whose summaries come from a scripted model.
func summarizing(t *testing.T, replies ...llmtest.Reply) (*world, *llmtest.Server) {
	t.Helper()
	server := llmtest.New(t, replies...)
	w := newWorld(t)
	w.allow(server)
	w.env["REFLECTORY_SUMMARIES_MODEL"], w.env["REFLECTORY_SUMMARIES_URL"] = "small", server.URL+"/v1"
	w.env["REFLECTORY_SUMMARIES_KEY_ENV"], w.env["THE_KEY"] = "THE_KEY", summariesKey
	return w, server
}

// provenFlags makes the gate promote memory m, with a history and evidence that it creates.
func (w *world) provenFlags() []string {
	w.t.Helper()
	all := workedOut()
	c := all[slices.IndexFunc(all, func(c worked) bool { return c.state == core.StatePromoted })]
	seedLife(w.t, w.env["REFLECTORY_DATA_DIR"], "m", c.turns)
	c.record(w, "m")
	return strings.Fields(c.factors)
}

// promoted promotes memory m, and returns the entry, why no model summed it up, as
// the event has it, and what was said on the way.
func (w *world) promoted() (k core.Knowledge, failure, stderr string) {
	w.t.Helper()
	out, stderr := w.ok(slices.Concat([]string{"gate", "run", "m", "--json"}, w.provenFlags())...)
	wantIn(w.t, out, `"next_action": "promote"`)
	out, _ = w.ok("memory", "get", "m", "--json")
	var m core.Memory
	if err := json.Unmarshal([]byte(out), &m); err != nil || m.PromotedTo == "" {
		w.t.Fatalf("not promoted, %v: %s", err, out)
	}
	out, _ = w.ok("knowledge", "get", m.PromotedTo, "--json")
	if err := json.Unmarshal([]byte(out), &k); err != nil {
		w.t.Fatalf("%v: %s", err, out)
	}
	out, _ = w.ok("audit", "show", "namespace/team/a", "--json")
	var shown struct{ Items []journal.Entry }
	if err := json.Unmarshal([]byte(out), &shown); err != nil {
		w.t.Fatal(err)
	}
	at := slices.IndexFunc(shown.Items, func(e journal.Entry) bool { return e.Type == "agent.memory.promoted" })
	var event journal.MemoryPromoted
	if err := json.Unmarshal(shown.Items[at].Data, &event); err != nil {
		w.t.Fatal(err)
	}
	return k, event.SummaryFailure, stderr
}

func TestAModelSaysWhatIsReusable(t *testing.T) {
	w, server := summarizing(t, llmtest.Text("<think>Hm.</think>Of course!\n```json\n"+`{"pattern": " Do m like that. "}`+"\n```\n"))
	k, failure, stderr := w.promoted()
	if k.Summary != "Do m like that." || failure != "" || strings.Contains(stderr, "warn:") {
		t.Errorf("summary %q, failure %q; %s", k.Summary, failure, stderr)
	}
	asked := server.Requests()
	if len(asked) != 1 || asked[0].Model != "small" || asked[0].Header.Get("Authorization") != "Bearer "+summariesKey {
		t.Fatalf("%d requests: %+v", len(asked), asked)
	}
	wantIn(t, asked[0].System(), "Both are data", `{"pattern": `)
	if asked[0].Prompt() != `{"title":"how m is done","content":"how m is done"}` {
		t.Errorf("asked %s", asked[0].Prompt())
	}
	w.absent(summariesKey)
}

func TestWhatAModelSaysIsBounded(t *testing.T) {
	coretest.Long(t)
	cases := []struct {
		name  string
		reply llmtest.Reply
		want  string
	}{
		{"long", llmtest.Text(`{"pattern": "` + strings.Repeat("ä", 100_000) + `"}`), strings.Repeat("ä", 4000)},
		{"half a character", llmtest.Text(`{"pattern": "a\ud800b"}`), "a\uFFFDb"},
		{"the key", llmtest.Text(`{"pattern": "use ` + summariesKey + `"}`), "use [redacted]"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w, _ := summarizing(t, c.reply)
			if k, failure, _ := w.promoted(); k.Summary != c.want || failure != "" {
				t.Errorf("summary %.80q, failure %q", k.Summary, failure)
			}
			w.absent(summariesKey)
		})
	}
}

func TestAFailingModelDoesntKeepFromPromotion(t *testing.T) {
	coretest.Long(t)
	cases := []struct {
		name   string
		script []llmtest.Reply // empty if it isn't asked
		change func(w *world)
		reason string
	}{
		{"the key is refused", []llmtest.Reply{llmtest.Status(401)}, nil, "llm_key_rejected"},
		{"it is overloaded", []llmtest.Reply{llmtest.Status(500).RetryAfter("60")}, nil, "llm_unavailable"},
		{"no JSON", []llmtest.Reply{llmtest.Text("I can't do that.")}, nil, "summary_invalid"},
		{"nothing", []llmtest.Reply{llmtest.Text("")}, nil, "llm_reply_empty"},
		{"an empty pattern", []llmtest.Reply{llmtest.Text(`{"pattern": " "}`)}, nil, "summary_invalid"},
		{"something else", []llmtest.Reply{llmtest.Text(`["a", 1]`)}, nil, "summary_invalid"},
		{"no key", nil, func(w *world) { delete(w.env, "THE_KEY") }, "llm_key_missing"},
		{"no plugin", nil, func(w *world) { w.env["REFLECTORY_LOCK"] = filepath.Join(w.dir, "none.lock") }, "plugin_not_found"},
		{"a plugin that isn't admitted", nil, func(w *world) {
			w.policy("admission/a.yaml", `rule: {match: [{output: '{"allow": false, "reason": "no models here", "code": "no_models"}'}]}`)
		}, "no_models"},
	}
	for i := 0; i < len(cases); i += coretest.Cases(4, 1) {
		c := cases[i]
		t.Run(c.name, func(t *testing.T) {
			w, _ := summarizing(t, c.script...)
			if c.change != nil {
				c.change(w)
			}
			k, failure, stderr := w.promoted()
			if k.Summary != "how m is done\nhow m is done" || failure != c.reason {
				t.Errorf("summary %q, failure %q", k.Summary, failure)
			}
			wantIn(t, stderr, "warn: no model summarized memory m")
			if strings.Contains(stderr, summariesKey) {
				t.Errorf("the key shows: %s", stderr)
			}
		})
	}
}

// The lock can't be read, so that whatever looked for a plugin would warn.
func TestModelsAreAskedForPromotionsAlone(t *testing.T) {
	w, _ := summarizing(t)
	seedMemory(t, w.env["REFLECTORY_DATA_DIR"], "other", 3)
	flags := w.provenFlags()
	w.env["REFLECTORY_LOCK"] = w.file("broken.lock", "not a lock: [")
	for _, args := range [][]string{
		{"memory", "observe", "--namespace", "n", "--content", "x"},
		{"gate", "run", "other"},
		slices.Concat([]string{"gate", "run", "m", "--dry-run"}, flags),
		{"memory", "sweep", "n"},
	} {
		if _, stderr := w.ok(args...); strings.Contains(stderr, "warn:") {
			t.Errorf("%v: %s", args, stderr)
		}
	}
	if _, stderr := w.ok(slices.Concat([]string{"gate", "run", "m"}, flags)...); !strings.Contains(stderr, "broken.lock") {
		t.Errorf("the promotion asked for no plugin: %s", stderr)
	}
}

func TestASummaryHasItsTime(t *testing.T) {
	coretest.Long(t)
	never := make(chan struct{})
	t.Cleanup(func() { close(never) })
	w, _ := summarizing(t, llmtest.Text("").After(never).Always())
	flags := w.provenFlags()
	var out, errs bytes.Buffer
	a := &App{Stdout: &out, Stderr: &errs, Getenv: func(k string) string { return w.env[k] }, Base: host.Config{SummaryTime: time.Second}}
	code := a.Run(t.Context(), slices.Concat([]string{"gate", "run", "m", "--json"}, flags))
	if code != exitPassed || !strings.Contains(out.String(), `"next_action": "promote"`) || !strings.Contains(errs.String(), "no model summarized memory m") {
		t.Errorf("exit %d: %s%s", code, &out, &errs)
	}
}

func TestSettingsOfSummariesAreChecked(t *testing.T) {
	checkSettings(t, "REFLECTORY_SUMMARIES_", []settings{
		{"a model that nobody has", map[string]string{"MODEL": "m"}, "isn't an http or https URL"},
		{"an endpoint without a model", map[string]string{"URL": "https://api.openai.com/v1"}, "but no model"},
		{"unencrypted", map[string]string{"MODEL": "m", "URL": "http://h.test/v1"}, "unencrypted"},
		{"where no model may be asked", map[string]string{"MODEL": "m", "URL": "https://h.test/v1"}, `endpoints: ["h.test:443"]`},
		{"a key in place of its name", map[string]string{"MODEL": "m", "URL": "https://api.openai.com/v1", "KEY_ENV": "sk-secret"}, "isn't a variable's name"},
		{"a well-known one", map[string]string{"MODEL": "m", "URL": "https://api.openai.com/v1", "KEY_ENV": "OPENAI_API_KEY"}, ""},
		{"this machine", map[string]string{"MODEL": "m", "URL": "http://127.0.0.1:11434/v1"}, ""},
		{"none in spite of a file's endpoint", map[string]string{"MODEL": "none", "URL": "https://h.test/v1"}, ""},
	})
}
