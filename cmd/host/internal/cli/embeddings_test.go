package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// embeddingServer answers with vectors of the model that it is asked for, whose first
// number distinguishes texts about the harbour from all others. It counts the texts, and
// refuses other keys than one; "" is none.
func embeddingServer(t *testing.T, key string) (server *httptest.Server, texts *atomic.Int64) {
	texts = new(atomic.Int64)
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked struct{ Input []string }
		want := ""
		if key != "" {
			want = "Bearer " + key
		}
		if json.NewDecoder(r.Body).Decode(&asked) != nil || r.Header.Get("Authorization") != want {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		texts.Add(int64(len(asked.Input)))
		var data []string
		for i, text := range asked.Input {
			harbour := 0
			if strings.Contains(text, "harbour") || strings.Contains(text, "ships") {
				harbour = 1
			}
			data = append(data, fmt.Sprintf(`{"index": %d, "embedding": [%d, %d]}`, i, harbour, 1-harbour))
		}
		fmt.Fprintf(w, `{"data": [%s]}`, strings.Join(data, ","))
	}))
	t.Cleanup(server.Close)
	return server, texts
}

func TestMemoriesMoveToAnEndpointsModel(t *testing.T) {
	server, texts := embeddingServer(t, "sk-test-1234")
	w := newWorld(t)
	w.ok("memory", "observe", "--namespace", "n", "--id", "port-1", "--content", "The harbour closes at noon.")
	w.ok("memory", "observe", "--namespace", "n", "--id", "bill-1", "--content", "Invoices are due in May.")

	w.env["REFLECTORY_EMBEDDINGS_MODEL"], w.env["REFLECTORY_EMBEDDINGS_URL"] = "small", server.URL+"/v1"
	w.env["REFLECTORY_EMBEDDINGS_KEY_ENV"], w.env["THE_KEY"] = "THE_KEY", "sk-test-1234"
	if out, _ := w.ok("memory", "reembed", "n", "--json", "--agent", "ada"); !strings.Contains(out, `"model": "small"`) || !strings.Contains(out, `"changed": 2`) {
		t.Error(out)
	}
	if out, _ := w.ok("audit", "show", "namespace/n", "--json"); !strings.Contains(out, `"agent_id": "ada"`) {
		t.Errorf("who moved them isn't told: %s", out)
	}
	if out, _ := w.ok("memory", "reembed", "n", "--json"); !strings.Contains(out, `"changed": 0`) || texts.Load() != 2 {
		t.Errorf("%d texts were sent in all: %s", texts.Load(), out)
	}
	out, _ := w.ok("memory", "recall", "--namespace", "n", "--limit", "1", "where do ships go?", "--json")
	if !strings.Contains(out, `"id": "port-1"`) || !strings.Contains(out, `"similarity": 1`) {
		t.Errorf("it isn't found by meaning: %s", out)
	}

	// Without its key nothing is embedded, and what needs no vectors still works.
	delete(w.env, "THE_KEY")
	if out, errs := w.ok("memory", "observe", "--namespace", "n", "--content", "x"); out == "" || !strings.Contains(errs, "reembed n") {
		t.Errorf("not stored, or its vector isn't missed: %s%s", out, errs)
	}
	w.file("more.jsonl", `{"content": "y"}`+"\n"+`{"content": "z"}`)
	if _, errs := w.ok("memory", "observe", "--namespace", "n", "--file", filepath.Join(w.dir, "more.jsonl")); !strings.Contains(errs, "for 2 of them") {
		t.Error(errs)
	}
	code, _, errs := w.run(t.Context(), "memory", "reembed", "n")
	if code != exitFailure || !strings.Contains(errs, "THE_KEY") {
		t.Errorf("exit %d: %s", code, errs)
	}
	if out, errs := w.ok("memory", "recall", "--namespace", "n", "harbour"); !strings.Contains(out, "port-1") || !strings.Contains(errs, "warn: ") {
		t.Errorf("not found by words, or not said: %s%s", out, errs)
	}
	w.ok("memory", "get", "port-1")
	if out, _ := w.ok("config", "show"); strings.Contains(out, "sk-test-1234") || !strings.Contains(out, "embeddings_model") {
		t.Error(out)
	}
}

func TestSettingsOfEmbeddingsAreChecked(t *testing.T) {
	checkSettings(t, "REFLECTORY_EMBEDDINGS_", []settings{
		{"a model that nobody has", map[string]string{"MODEL": "m"}, "isn't an http or https URL"},
		{"an endpoint without a model", map[string]string{"URL": "https://h.test/v1"}, "but no model"},
		{"unencrypted", map[string]string{"MODEL": "m", "URL": "http://h.test/v1"}, "unencrypted"},
		{"a key in place of its name", map[string]string{"MODEL": "m", "URL": "https://h.test/v1", "KEY_ENV": "sk-secret"}, "isn't a variable's name"},
		{"dimensions", map[string]string{"MODEL": "m", "URL": "https://h.test/v1", "DIMS": "many"}, `"many"`},
		{"this machine", map[string]string{"MODEL": "m", "URL": "http://127.0.0.1:1/v1", "DIMS": "256"}, ""},
		{"the local one in spite of a file's endpoint", map[string]string{"MODEL": "hashed-ngrams-1", "URL": "https://h.test/v1"}, ""},
	})
}

// settings are variables of the environment, and what is said about them: "" if they are
// right.
type settings struct {
	name string
	env  map[string]string
	says string
}

// checkSettings makes the host read settings, whose variables begin with prefix.
func checkSettings(t *testing.T, prefix string, tests []settings) {
	t.Helper()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			for name, value := range tt.env {
				w.env[prefix+name] = value
			}
			code, out, errs := w.run(t.Context(), "config", "show")
			if refused := code == exitUsage; refused != (tt.says != "") || !strings.Contains(errs, tt.says) || strings.Contains(out+errs, "sk-secret") {
				t.Errorf("exit %d: %s", code, errs)
			}
		})
	}
}
