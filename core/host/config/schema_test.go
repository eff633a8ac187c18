package config_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/document"
	"github.com/reflectory/reflectory/core/host/config"
	"github.com/reflectory/reflectory/plugins/schema-eval/schemaeval"
	"github.com/reflectory/reflectory/sdk"
)

// judge reports whether the schema accepts a file; a file that isn't YAML isn't judged.
func judge(t testing.TB, e sdk.Evaluator, file string) (valid, judged bool) {
	t.Helper()
	found := &document.Problems{}
	n := document.Read(file, document.Limits{Bytes: 64 << 10, Depth: 20, MayBeEmpty: true}, found)
	if n == nil || found.Len() > 0 {
		return false, false
	}
	r, err := e.Evaluate(t.Context(), &sdk.EvaluateRequest{Output: json.RawMessage(n.JSON(nil))})
	if err != nil {
		t.Fatal(err)
	}
	return r.Verdict.Valid, true
}

func schemaJudge(t testing.TB) sdk.Evaluator {
	t.Helper()
	p := schemaeval.Plugin()
	e, err := p.Evaluator(t.Context(), json.RawMessage(`{"schema": `+string(config.Schema())+`}`))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// accepted are files that Load takes.
var accepted = []string{
	"", "{}", "settings:\n  llm:\nsandbox:\nplugins:\n",
	"data_dir: d\nplugin_dir: /p\ntrust_file: t\npolicy_dir: p\nbackup_dir: b\nnamespace: team/mail\nlog_level: off\ncapture: turns\n",
	"sandbox: require\ndurability: relaxed\nlock_wait: 10s\n", "lock_wait: 0", "lock_wait: 1m30.5s", "lock_wait: '+.5s'", "lock_wait: 300µs",
	"keep: {decisions: 90d, runs: 720h}", "keep: {decisions: 0, runs: '0'}", "keep: {runs: 0.0, decisions: 36500d}",
	"plugins: [{path: a, dev: true}]", "plugins: []",
	"commands: {allow: [go, /opt/tools/lint], read: [/usr/local/go, '/srv/my code'], env: [GOFLAGS, _x]}", "commands: {allow: []}", "commands:",
	"settings: {llm: {endpoints: ['llm.example.org:443', '[::1]:1', '10.0.0.1:80']}}",
	"settings: {llm: {endpoints: [{host: 'llm.example.org:443', key_env: EXAMPLE_KEY}, '10.0.0.1:80']}}",
	"settings: {embeddings: {model: m, base_url: 'http://127.0.0.1:11434/v1', api_key_env: OLLAMA_KEY, dims: 256}}",
	"settings: {embeddings: {dims: 2.56e2}}", "settings: {embeddings: {model: hashed-ngrams-1, base_url: 'HTTPS://h.test'}}",
	"settings: {summaries: {model: m, base_url: 'https://api.openai.com/v1', api_key_env: OPENAI_API_KEY}}",
	"settings: {summaries: {model: m, base_url: 'http://127.0.0.1:11434', provider: ollama}, llm: {model: m, base_url: 'https://api.anthropic.com', provider: anthropic}}",
	"settings: {dream: {dates: false, merges: true, conflicts: false, archival: false, keep_phrase: true, ranges: true}}",
	"settings: {dream: {strategy: manual, stale: redundant, stale_after: 14d, stale_below: 0.1, decay: 'step:720h', judge: acme/judge}}", "settings: {dream: {stale_after: 36h, decay: linear}}",
	"settings: {discover: {phrases: ['memory_recall: look into the notebook', 'acme/mailer: send letters']}}", "settings: {discover: {phrases: []}}",
	"settings: {recall: {depth_boost: 1.5}}", "settings: {recall: {depth_boost: 1e1}}", "namespace: Ünï/日本",
	"settings: {llm: {model: m, base_url: 'http://127.0.0.1:11434/v1', dialect: {refuses: [seed, json_schema]}}}", "settings: {llm: {models: [a, 'b/c:7b']}}", "settings: {llm: {dialect: {refuses: []}}}",
	"settings: {llm: {model: m, base_url: 'https://h.test/v1', api_key_env: K, ca: ca.pem, endpoints: [{host: 'h.test:443', key_env: K}]}}",
	"settings: {reflection: {generator: acme/g, config: '{}', judge: acme/j, max_tokens: 5, max_cost_usd: 0.5, debounce: 10s}}",
	"settings: {reflection: {script: r.lua}}", "store: 'postgres://h.test/d'\nstore_wait: 5s\n", "server: 'https://h.test:8443'\nserver_ca: ca.pem\n",
	"oidc: {issuer: 'https://id.test', audience: a, subject: email, grants: ['groups=a memory:read in team/**'], client: c, scopes: [email]}",
	"limits: {body: 2048, import_body: 4096, headers: 8192, json_depth: 16, header_time: 2s, body_time: 1m, idle_time: 10s}",
	"serve: {listen: '0.0.0.0:443', tls_cert: c.pem, tls_key: k.pem, hosts: [h.test]}", "serve: {acme: h.test, acme_directory: 'https://ca.test/d', tls_by_proxy: [10.0.0.0/8]}",
	"limits: {requests: 12.5, writes: 7, failed_logins: 3, at_once: 8, gateway: 300, connections: 100, streams: 10, subject_streams: 2, runs: 4, runs_per_user: 0, runs_per_namespace: 3, calls_per_model: {'*': 8, gpt-5: 0}}",
	"gateway: {when_unrecorded: pass}",
}

// refused are files that neither Load nor the schema accepts.
var refused = []string{
	"[]", "text", "data_dri: x", "data_dir: 5", "data_dir: ''", "namespace: ''", "namespace: a//b", "namespace: a/../b", "namespace: 'a b'",
	"namespace: a/b/c/d/e/f/g/h/i", "namespace: '*'", "log_level: loud", "capture: all", "capture: true", "log_level: [info]", "sandbox: no", "sandbox: true", "durability: sometimes",
	"lock_wait: 5", "lock_wait: soon", "lock_wait: 2", "lock_wait: 30d", "lock_wait: []", "keep: 5", "keep: {runs: x}", "keep: {decisions: -1}", "keep: {run: 1d}",
	"keep: {runs: true}", "plugins: {path: a}", "plugins: [a]", "plugins: [{path: a}]", "plugins: [{path: a, dev: false}]", "plugins: [{path: '', dev: true}]",
	"commands: {allow: [./lint]}", "commands: {allow: ['']}", "commands: {allow: go}", "commands: {allow: [5]}", "commands: {allow: [bin/go]}", "commands: {read: [go]}",
	"commands: {read: [/]}", "commands: {read: [/usr/]}", "commands: {read: ['']}", "commands: {env: [A=b]}", "commands: {env: ['']}", "commands: {env: [REFLECTORY_TOKEN]}", "commands: {deny: [sh]}",
	"plugins: [{path: a, dev: true, more: 1}]", "settings: []", "settings: {lm: {}}", "settings: {llm: {endpoints: host:1}}", "settings: {llm: {endpoints: [host]}}",
	"settings: {llm: {endpoints: ['*.example.org:443']}}", "settings: {llm: {endpoints: ['h:0']}}", "settings: {llm: {endpoints: [5]}}",
	"settings: {llm: {endpoints: [{host: 'llm.example.org:443'}]}}", "settings: {llm: {endpoints: [{key_env: K}]}}", "settings: {llm: {endpoints: [{host: 'h:1', key_env: a-b}]}}",
	"settings: {discover: {phrases: [notes]}}", "settings: {discover: {phrases: ['a: b, c']}}", "settings: {discover: {phrases: ['a: ']}}", "settings: {discover: {phrases: a}}", "settings: {discover: {phrase: []}}",
	"settings: {llm: {endpoints: [{host: h, key_env: K}]}}", "settings: {llm: {endpoints: [{host: 'h:1', key_env: K, more: 1}]}}", "settings: {llm: {endpoints: [{host: 'h:1', key_env: 5}]}}",
	"settings: {embeddings: {model: ''}}", "settings: {embeddings: {dims: 1.5}}", "settings: {embeddings: {dims: -1}}", "settings: {embeddings: {dims: 16385}}",
	"settings: {embeddings: {dims: '256'}}", "settings: {embeddings: {base_url: h.test}}", "settings: {embeddings: {base_url: 'ftp://h.test'}}",
	"settings: {embeddings: {base_url: 'https://key@h.test'}}", "settings: {embeddings: {api_key_env: sk-secret}}", "settings: {summaries: {dims: 1}}",
	"settings: {dream: {dates: 'false'}}", "settings: {dream: {dates: no}}", "settings: {dream: {ranges: 1}}", "settings: {dream: {strategy: best}}", "settings: {dream: {stale: none}}", "settings: {dream: {stale_after: 7}}",
	"settings: {dream: {stale_below: 0}}", "settings: {dream: {stale_below: 1.5}}", "settings: {dream: {decay: step}}", "settings: {dream: {decay: half-life}}", "settings: {dream: {date: true}}",
	"settings: {recall: {depth_boost: 0}}", "settings: {recall: {depth_boost: 11}}", "settings: {recall: {depth_boost: '1'}}", "settings: {recall: 1}",
	"plugin_dir: 5", "trust_file: []", "policy_dir: 5", "backup_dir: {}", "settings: {summaries: {model: ''}}", "settings: {summaries: {base_url: h}}",
	"settings: {summaries: {api_key_env: a-b}}", "settings: {llm: {model: 5}}", "settings: {llm: {provider: antropic}}", "settings: {summaries: {provider: 5}}", "settings: {llm: {base_url: h}}", "settings: {llm: {api_key_env: a-b}}",
	"settings: {llm: {ca: []}}", "settings: {llm: {models: a}}", "settings: {llm: {models: [5]}}", "settings: {llm: {dialect: {refuses: [model]}}}", "settings: {llm: {dialect: {refuses: seed}}}", "settings: {llm: {dialect: {sends: []}}}", "settings: {reflection: {generator: 5}}", "settings: {reflection: {config: 5}}",
	"settings: {reflection: {script: []}}", "settings: {reflection: {judge: 5}}", "settings: {reflection: {max_tokens: 1.5}}",
	"settings: {reflection: {max_cost_usd: -1}}", "settings: {reflection: {debounce: soon}}", "settings: {dream: {merges: 1}}",
	"settings: {dream: {conflicts: 'no'}}", "settings: {dream: {archival: 5}}", "settings: {dream: {keep_phrase: []}}", "settings: {dream: {judge: 5}}",
	"store: 'mysql://h/d'", "store_wait: 5", "server: h.test", "server_ca: 5", "oidc: {issuer: id.test}", "oidc: {audience: 5}", "oidc: {subject: []}",
	"oidc: {grants: [a]}", "oidc: {client: 5}", "oidc: {scopes: email}", "limits: {body: 0}", "limits: {import_body: much}", "limits: {headers: -1}",
	"serve: {listen: 80}", "serve: {tls_cert: []}", "serve: {tls_key: 5}", "serve: {acme: [h]}", "serve: {acme_directory: 5}", "serve: {tls_by_proxy: 10.0.0.0/8}", "serve: {hosts: h.test}", "serve: 80",
	"limits: {json_depth: 257}", "limits: {header_time: 5}", "limits: {body_time: 5}", "limits: {idle_time: soon}", "limits: {requests: 0}",
	"limits: {writes: x}", "limits: {failed_logins: -1}", "limits: {at_once: 1}", "limits: {gateway: 1}", "gateway: {when_unrecorded: drop}", "limits: {connections: x}", "limits: {streams: x}",
	"limits: {subject_streams: x}", "limits: {runs: 0}", "limits: {runs_per_user: -1}", "limits: {runs_per_namespace: 2.5}", "limits: {calls_per_model: 16}", "limits: {calls_per_model: {gpt-5: x}}", "limits: {calls_per_model: {gpt-5: -1}}", "limits: {calls_per_model: {gpt-5: 10001}}", "limits: {calls_per_model: {'a b': 1}}",
}

func TestSchema_TakesWhatLoadTakes(t *testing.T) {
	e := schemaJudge(t)
	for _, file := range accepted {
		if _, _, err := load(t, file, nil, nil); err != nil {
			t.Errorf("Load refuses %q: %v", file, err)
		}
		if valid, judged := judge(t, e, file); !valid || !judged {
			t.Errorf("the schema refuses %q", file)
		}
	}
	for _, file := range refused {
		if _, _, err := load(t, file, nil, nil); err == nil {
			t.Errorf("Load takes %q", file)
		}
		if valid, judged := judge(t, e, file); valid || !judged {
			t.Errorf("the schema takes %q", file)
		}
	}
}

// TestSettings_HaveTheirFiles: a setting that no file here sets is one that the two tests above and
// below never try.
func TestSettings_HaveTheirFiles(t *testing.T) {
	set := func(files []string) map[string]bool {
		keys := map[string]bool{}
		var walk func(prefix string, value any)
		walk = func(prefix string, value any) {
			keys[prefix] = true
			members, _ := value.(map[string]any)
			for name, member := range members {
				walk(strings.TrimPrefix(prefix+"."+name, "."), member)
			}
		}
		for _, file := range files {
			var value any
			if n := document.Read(file, document.Limits{Bytes: 64 << 10, Depth: 20, MayBeEmpty: true}, &document.Problems{}); n != nil {
				if err := json.Unmarshal(n.JSON(nil), &value); err != nil {
					t.Fatal(err)
				}
			}
			walk("", value)
		}
		return keys
	}
	var without []string
	right, wrong := set(accepted), set(refused)
	for _, d := range config.Definitions() {
		if d.Key == "stores" { // names a file, which stores_test.go has
			continue
		}
		if d.Key != "" && (!right[d.Key] || !wrong[d.Key]) {
			without = append(without, d.Key)
		}
	}
	if len(without) > 0 {
		t.Errorf("in schema_test.go, add a file to accepted that sets %s, and one to refused that gets it wrong", strings.Join(without, ", "))
	}
}

// Editors show what a key is for, so each has a description.
func TestSchema_DescribesEachKey(t *testing.T) {
	type schema struct {
		Description          string
		Properties           map[string]json.RawMessage
		AdditionalProperties *bool
	}
	var walk func(key string, raw json.RawMessage) int
	walk = func(key string, raw json.RawMessage) (keys int) {
		var s schema
		if err := json.Unmarshal(raw, &s); err != nil {
			t.Fatal(err)
		}
		if s.Description == "" || s.Properties != nil && (s.AdditionalProperties == nil || *s.AdditionalProperties) {
			t.Errorf("%s has no description, or is open", key)
		}
		for name, child := range s.Properties {
			keys += walk(strings.TrimPrefix(key+"."+name, "."), child)
		}
		if s.Properties == nil {
			keys = 1
		}
		return keys
	}
	want := 0
	for _, d := range config.Definitions() {
		if d.Key != "" {
			want++
		}
	}
	if got := walk("", config.Schema()); got != want {
		t.Errorf("%d keys, want %d", got, want)
	}
}

func FuzzSchema_TakesWhatLoadTakes(f *testing.F) {
	for _, file := range append(accepted, refused...) {
		f.Add(file)
	}
	e := schemaJudge(f)
	f.Fuzz(func(t *testing.T, file string) {
		_, _, err := load(t, file, nil, nil)
		if valid, judged := judge(t, e, file); err == nil && judged && !valid {
			t.Errorf("Load takes %q, the schema doesn't", file)
		}
		if err != nil && sdk.ReasonOf(err) != "config_invalid" && sdk.ReasonOf(err) != "file_too_large" {
			t.Errorf("%q: %v", file, err)
		}
	})
}
