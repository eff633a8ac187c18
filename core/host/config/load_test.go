package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core/document"
	"github.com/reflectory/reflectory/core/host/config"
	"github.com/reflectory/reflectory/sdk"
)

// load reads the settings of a folder with a reflectory.yaml, "" for none.
func load(t *testing.T, file string, env, flags map[string]string) (*config.Config, string, error) {
	t.Helper()
	dir := t.TempDir()
	if file != "" {
		if err := os.WriteFile(filepath.Join(dir, config.FileName), []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, err := config.Load(config.Sources{Flags: flags, Getenv: func(name string) string { return env[name] }, Folder: dir})
	return c, dir, err
}

func TestLoad_TakesTheFirstSourceThatSetsAValue(t *testing.T) {
	const file = "data_dir: state\nlog_level: info\n"
	env := map[string]string{"REFLECTORY_LOG_LEVEL": "debug", "REFLECTORY_NAMESPACE": ""}
	c, dir, err := load(t, file, env, map[string]string{"sandbox": "off", "agent": ""})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, config.FileName)
	for name, s := range map[string]struct{ got, want config.Setting }{
		"a flag":                 {c.Sandbox, config.Setting{Value: "off", Origin: "flag --sandbox"}},
		"a variable":             {c.LogLevel, config.Setting{Value: "debug", Origin: "environment REFLECTORY_LOG_LEVEL"}},
		"the file":               {c.DataDir, config.Setting{Value: filepath.Join(dir, "state"), Origin: path}},
		"next to the file":       {c.Lock, config.Setting{Value: filepath.Join(dir, "reflectory.lock"), Origin: path}},
		"a default":              {c.Namespace, config.Setting{Value: "default", Origin: config.OriginDefault}},
		"a default of another's": {c.PluginDir, config.Setting{Value: filepath.Join(dir, "state", "plugins"), Origin: config.OriginDefault}},
	} {
		if s.got != s.want {
			t.Errorf("%s: %+v, want %+v", name, s.got, s.want)
		}
	}
	if c.File() != path {
		t.Errorf("the file is %q", c.File())
	}
}

// problems are the places and messages that an error of Load lists.
func problems(t *testing.T, err error) []string {
	t.Helper()
	e := sdk.AsError(err)
	if e == nil || e.Code != sdk.Invalid || e.Reason != "config_invalid" {
		t.Fatalf("error %v", err)
	}
	list, ok := e.Details["problems"].([]document.Problem)
	if !ok {
		t.Fatalf("details %v", e.Details)
	}
	var lines []string
	for _, p := range list {
		p.File = filepath.Base(p.File)
		if p.File == "." {
			p.File = ""
		}
		lines = append(lines, p.String())
	}
	return lines
}

func TestLoad_ReportsAllThatIsWrongAtOnce(t *testing.T) {
	const file = `data_dri: x
log_level: [a]
sandbox: prefered
keep: {decisions: 1 year, run: 1}
settings:
  llm: {endpoints: [here, 5]}
  embeddings: {dims: 1.5, api_key_env: sk-test-0123}
  recall: {depth_boost: 11}
plugins: [{path: a}]
`
	env := map[string]string{"REFLECTORY_DURABILITY": "ful", "REFLECTORY_SUMMARIES_URL": "https://models.test/v1", "REFLECTORY_SANDBOX": "off"}
	_, _, err := load(t, file, env, map[string]string{"lock-wait": "2h", "namespace": "a b"})
	want := []string{
		`reflectory.yaml:1:1: reflectory.yaml has no key "data_dri" (did you mean "data_dir"?)`,
		`reflectory.yaml:2:12: log_level must be text, not a list`,
		`reflectory.yaml:3:10: sandbox "prefered" is not one of require, prefer, off (did you mean "prefer"?)`,
		`reflectory.yaml:4:19: keep decisions "1 year" is not a time up to 36500 days (write it with a unit, such as 30d or 720h; 0 keeps all for ever)`,
		`reflectory.yaml:4:27: keep has no key "run" (did you mean "runs"?)`,
		`reflectory.yaml:6:21: llm endpoints: "here" is no host:port (write host:port, such as api.example.org:443)`,
		`reflectory.yaml:6:27: an item of endpoints must be text, not a number (write host:port, such as api.example.org:443)`,
		`reflectory.yaml:7:22: embeddings dims "1.5" is not a whole number from 0 to 16384 (leave it out to use the model's own)`,
		`reflectory.yaml:7:40: embeddings key env: the key's variable isn't a variable's name (it isn't shown, in case it is a key), or can't be read (name the variable that holds the key, such as OPENAI_API_KEY)`,
		`reflectory.yaml:8:25: recall depth boost "11" is not a number above 0 and up to 10 (write a factor such as 1.2; with 1, reflections rank like other memories)`,
		`reflectory.yaml:9:12: an entry needs path, and dev: true (write {path: ./my-plugin, dev: true} to run it unlocked, or add it, which locks it, and leave the entry out)`,
		`durability "ful" (environment REFLECTORY_DURABILITY) is not one of full, relaxed (did you mean "full"?)`,
		`lock wait "2h" (flag --lock-wait) is not a time from 0s to 1h0m0s (write it with a unit, such as 2s or 500ms; 0s doesn't wait)`,
		`namespace (flag --namespace): namespace "a b": white space, backslashes and control characters aren't allowed (write up to 8 words separated by /, such as team/project)`,
		`summaries have an endpoint (environment REFLECTORY_SUMMARIES_URL), but no model (name a model that the endpoint has: settings.summaries.model, or REFLECTORY_SUMMARIES_MODEL)`,
	}
	if diff := cmp.Diff(want, problems(t, err)); diff != "" {
		t.Error(diff)
	}
	if hint := sdk.AsError(err).Hint; !strings.Contains(hint, "settings: {llm: {endpoints, model, models, base_url, provider, api_key_env, dialect: {refuses}, ca}, embeddings: {model, base_url, api_key_env, dims}") {
		t.Errorf("hint %q", hint)
	}
	if !config.OutsideFile(err) {
		t.Error("nothing of it is outside the file")
	}
	if strings.Contains(err.Error(), "sk-test") {
		t.Errorf("what may be a key shows: %v", err)
	}
}

// A single problem has its own hint, not one in brackets.
func TestLoad_HintsAtASingleProblem(t *testing.T) {
	_, _, err := load(t, "namespace: team\nsandbx: off\n", nil, nil)
	e := sdk.AsError(err)
	if !strings.HasSuffix(e.Message, `reflectory.yaml:2:1: reflectory.yaml has no key "sandbx"`) || e.Hint != `did you mean "sandbox"?` {
		t.Errorf("%q, hint %q", e.Message, e.Hint)
	}
	if config.OutsideFile(err) || config.OutsideFile(nil) {
		t.Error("a problem of the file is taken for one outside of it")
	}
}

func TestLoad_RefusesSettingsThatContradict(t *testing.T) {
	for name, c := range map[string]struct{ file, says string }{
		"an endpoint without a model":    {"settings: {embeddings: {base_url: https://h.test/v1}}", `:1:35: embeddings have an endpoint, but no model`},
		"a model without an endpoint":    {"settings: {embeddings: {model: m}}", `:1:32: embeddings of m: the URL isn't an http or https URL`},
		"where no model may be asked":    {"settings: {summaries: {model: m, base_url: https://h.test/v1}}", `:1:44: summaries are asked for at h.test:443, where this host lets no model be asked`},
		"a summary without an endpoint":  {"settings: {summaries: {model: m}}", `:1:31: summaries of m: the URL`},
		"unencrypted":                    {"settings: {embeddings: {model: m, base_url: http://h.test/v1}}", `:1:45: embeddings url: memories would be sent to h.test unencrypted`},
		"a key in the endpoint":          {"settings: {embeddings: {model: m, base_url: 'https://sk-secret@h.test/v1'}}", `:1:45: embeddings url: the URL has a user`},
		"text where a number must be":    {"settings: {recall: {depth_boost: high}}", `:1:34: depth_boost must be a number, not text`},
		"an empty text":                  {"namespace: ''", ":1:12: namespace is empty"},
		"a number that is no time":       {"lock_wait: 5", `:1:12: lock wait "5" is not a time`},
		"a file that is a list":          {"[]", "reflectory.yaml must be a mapping, not a list"},
		"a file that isn't YAML":         {"a: [", ":1:"},
		"what a plugin may be done with": {"plugins: [{path: a, dev: true, lock: x}]", `an entry of plugins has no key "lock"`},
	} {
		_, _, err := load(t, c.file, nil, nil)
		if list := problems(t, err); len(list) != 1 || !strings.Contains(list[0], c.says) || strings.Contains(list[0], "secret") {
			t.Errorf("%s: %q, want %q", name, list, c.says)
		}
	}
}

// A broken file is reported even if flags and variables override all of it, and a broken
// variable is ignored if a flag overrides it.
func TestLoad_ChecksTheFileWhole(t *testing.T) {
	_, _, err := load(t, "sandbox: maybe", nil, map[string]string{"sandbox": "off"})
	if list := problems(t, err); len(list) != 1 || config.OutsideFile(err) {
		t.Errorf("%q", list)
	}
	if _, _, err := load(t, "", map[string]string{"REFLECTORY_SANDBOX": "maybe"}, map[string]string{"sandbox": "off"}); err != nil {
		t.Error(err)
	}
}

func TestLoad_RefusesFlagsThatNoSettingHas(t *testing.T) {
	_, _, err := load(t, "", nil, map[string]string{"sandbx": "off"})
	if diff := cmp.Diff([]string{`no setting has the flag --sandbx (did you mean "sandbox"?)`}, problems(t, err)); diff != "" {
		t.Error(diff)
	}
}

func TestLoad_LeavesOutWhatHasNoValue(t *testing.T) {
	for _, file := range []string{"", "# nothing\n", "sandbox:\nsettings:\n  llm:\nkeep: {runs: }\nplugins: []\n"} {
		c, _, err := load(t, file, nil, nil)
		if err != nil {
			t.Errorf("%q: %v", file, err)
			continue
		}
		for _, s := range c.List() {
			if !s.IsDefault() && s.Name != "lock" {
				t.Errorf("%q: %+v", file, s)
			}
		}
	}
}

func TestLoad_ReadsTheNearestFileUpwards(t *testing.T) {
	dir := t.TempDir()
	deep := filepath.Join(dir, "a", "b")
	if err := errors.Join(os.MkdirAll(deep, 0o700), os.WriteFile(filepath.Join(dir, config.FileName), []byte("plugins: [{path: p, dev: true, replace: true}, {path: /q, dev: true}]"), 0o600)); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(config.Sources{Folder: deep})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{filepath.Join(dir, "p"), "/q"}; !slices.Equal(c.Dev(), want) || c.DevPlugins.Value != strings.Join(want, ",") {
		t.Errorf("%q, %+v", c.Dev(), c.DevPlugins)
	}
	if replacing := c.DevReplacing(); !replacing[filepath.Join(dir, "p")] || replacing["/q"] {
		t.Errorf("replacing %v", replacing)
	}
	if err := errors.Join(os.Remove(filepath.Join(dir, config.FileName)), os.Mkdir(filepath.Join(dir, "a", config.FileName), 0o700)); err != nil {
		t.Fatal(err)
	}
	if _, err := config.Load(config.Sources{Folder: deep}); sdk.ReasonOf(err) != "file_unreadable" {
		t.Errorf("a folder in its place: %v", err)
	}
}

func TestConfig_HasValuesThatArentText(t *testing.T) {
	env := map[string]string{
		"REFLECTORY_LLM_ENDPOINTS": "llm.example.org:1,,h:2", "REFLECTORY_LOCK_WAIT": "500ms", "REFLECTORY_RECALL_DEPTH_BOOST": "1.5",
		"REFLECTORY_KEEP_DECISIONS": "90d", "REFLECTORY_KEEP_RUNS": "36h", "REFLECTORY_EMBEDDINGS_DIMS": "256",
		"REFLECTORY_EMBEDDINGS_MODEL": "m", "REFLECTORY_EMBEDDINGS_URL": "http://127.0.0.1:1/v1", "REFLECTORY_EMBEDDINGS_KEY_ENV": "KEY",
		"REFLECTORY_SUMMARIES_MODEL": "s", "REFLECTORY_SUMMARIES_URL": "https://h:2/v1", "REFLECTORY_SUMMARIES_KEY_ENV": "KEY",
	}
	c, _, err := load(t, "", env, nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"api.openai.com:443", "api.anthropic.com:443", "localhost:11434", "127.0.0.1:11434", "[::1]:11434", "llm.example.org:1", "h:2"}; !slices.Equal(c.Endpoints(), want) {
		t.Errorf("endpoints %q", c.Endpoints())
	}
	if c.LockTime() != 500*time.Millisecond || c.DepthBoost() != 1.5 || c.Keep() != (config.Keep{Decisions: 90 * 24 * time.Hour, Runs: 36 * time.Hour}) {
		t.Errorf("%s, %v, %+v", c.LockTime(), c.DepthBoost(), c.Keep())
	}
	o := c.EmbeddingsOptions(os.Getenv)
	if c.LocalEmbeddings() || o.Model != "m" || o.URL != "http://127.0.0.1:1/v1" || o.Dims != 256 || o.KeyEnv != "KEY" || o.Getenv == nil {
		t.Errorf("embeddings %+v", o)
	}
	if got := string(c.SummariesLLM()); got != `{"api_key_env":"KEY","base_url":"https://h:2/v1","model":"s","provider":"openai"}` {
		t.Errorf("summaries %s", got)
	}
	other := map[string]string{
		"REFLECTORY_SUMMARIES_MODEL": "s", "REFLECTORY_SUMMARIES_URL": "http://127.0.0.1:11434", "REFLECTORY_SUMMARIES_PROVIDER": "ollama",
		"REFLECTORY_LLM_MODEL": "r", "REFLECTORY_LLM_URL": "https://api.anthropic.com", "REFLECTORY_LLM_PROVIDER": "anthropic",
	}
	if c, _, err := load(t, "", other, nil); err != nil || string(c.SummariesLLM()) != `{"base_url":"http://127.0.0.1:11434","model":"s","provider":"ollama"}` ||
		string(c.LLM()) != `{"base_url":"https://api.anthropic.com","model":"r","provider":"anthropic"}` {
		t.Errorf("providers: %+v, %v", c, err)
	}
	if c, _, err := load(t, "", nil, nil); err != nil || !c.LocalEmbeddings() || c.SummariesLLM() != nil || c.DepthBoost() != 1 || c.LockTime() != 2*time.Second || c.Keep() != (config.Keep{}) {
		t.Errorf("by default: %+v, %v", c, err)
	}
}

func TestLoad_KeepsStateInTheUsersDataHome(t *testing.T) {
	for home, want := range map[string]string{"/data": "/data/reflectory", "relative": ".local/share/reflectory"} {
		c, _, err := load(t, "", map[string]string{"XDG_DATA_HOME": home}, nil)
		if err != nil || !strings.HasSuffix(filepath.ToSlash(c.DataDir.Value), want) {
			t.Errorf("%s: %+v, %v", home, c.DataDir, err)
		}
	}
}
