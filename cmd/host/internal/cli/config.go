package cli

import (
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory/embed"
	"github.com/reflectory/reflectory/core/memory/search"
	"github.com/reflectory/reflectory/core/plugin/install"
	"github.com/reflectory/reflectory/core/plugin/process/sandbox"
	"github.com/reflectory/reflectory/core/store/pebble"
	"github.com/reflectory/reflectory/sdk"
)

// Config is the configuration. Each value comes from a flag, else the
// environment, else reflectory.yaml, else its default.
type Config struct {
	// DataDir is the folder of all state.
	DataDir Setting `json:"data_dir"`
	// PluginDir is the folder that added plugins are copied to.
	PluginDir Setting `json:"plugin_dir"`
	// Lock pins the plugins. It lies beside reflectory.yaml; without one, in the
	// state folder.
	Lock Setting `json:"lock"`
	// TrustFile names the keys by which publishers sign.
	TrustFile Setting `json:"trust_file"`
	// DevPlugins are folders of plugins that run unlocked, with commas between them.
	DevPlugins Setting `json:"dev_plugins"`
	// LLMEndpoints are the endpoints, as host:port with commas between them, that
	// the plugin behind llm may reach: well-known ones, and the operator's.
	LLMEndpoints Setting `json:"llm_endpoints"`
	// EmbeddingsModel makes the vectors of memories: the local one, or one that the
	// endpoint at EmbeddingsURL has, with so many dimensions (0: the model's own) and
	// the key in the environment variable that EmbeddingsKeyEnv names, if any.
	EmbeddingsModel  Setting `json:"embeddings_model"`
	EmbeddingsURL    Setting `json:"embeddings_url"`
	EmbeddingsKeyEnv Setting `json:"embeddings_key_env"`
	EmbeddingsDims   Setting `json:"embeddings_dims"`
	// SummariesModel says what is reusable in what is promoted, at the endpoint
	// SummariesURL, with the key in the environment variable that SummariesKeyEnv
	// names, if any. With [noSummaries] none does.
	SummariesModel  Setting `json:"summaries_model"`
	SummariesURL    Setting `json:"summaries_url"`
	SummariesKeyEnv Setting `json:"summaries_key_env"`
	// RecallDepthBoost is the factor of reflections in recalls; 1 has none.
	RecallDepthBoost Setting `json:"recall_depth_boost"`
	// Durability says when a commit is acknowledged: full or relaxed.
	Durability Setting `json:"durability"`
	// KeepDecisions and KeepRuns are how long recorded decisions, and runs that can't go
	// on, are kept: what is older, store prune removes. 0 keeps all.
	KeepDecisions Setting `json:"keep_decisions"`
	KeepRuns      Setting `json:"keep_runs"`
	// PolicyDir is the folder of the policies. By default it need not be there.
	PolicyDir Setting `json:"policy_dir"`
	// Namespace is where runs are, unless they say otherwise: policies go by it.
	Namespace Setting `json:"namespace"`
	// Sandbox says whether plugins must be sandboxed: require, prefer or off.
	Sandbox Setting `json:"sandbox"`
	// LogLevel is the least level of plugin logs that is shown.
	LogLevel Setting `json:"log_level"`
	// Agent names who acts, for the events of what is changed.
	Agent Setting `json:"agent"`
	// LockWait is how long a command waits for a store that another program has open.
	LockWait Setting `json:"lock_wait"`

	dev  []string // of DevPlugins
	file string   // reflectory.yaml; "" where there is none
}

// Setting is a value and where it comes from: "flag --x", "environment X", a
// file's path, or "default".
type Setting struct {
	Value  string `json:"value"`
	Origin string `json:"origin"`
}

// list splits a value at its commas.
func (s Setting) list() []string {
	return slices.DeleteFunc(strings.Split(s.Value, ","), func(item string) bool { return item == "" })
}

// maxLockWait is longer than anybody waits.
const maxLockWait = time.Hour

// defaultNamespace is where runs are that don't say where.
const defaultNamespace = "default"

// sandboxModes are what sandbox may be.
func sandboxModes() (words []string) {
	for _, m := range sandbox.Modes() {
		words = append(words, string(m))
	}
	return words
}

// durabilities are what durability may be.
func durabilities() []string { return []string{string(pebble.Full), string(pebble.Relaxed)} }

// knownLLMs are the endpoints that need no entry in settings.llm: OpenAI's, and
// Ollama's on this machine.
func knownLLMs() []string {
	return []string{"api.openai.com:443", "localhost:11434", "127.0.0.1:11434", "[::1]:11434"}
}

// origins are where settings come from, beside flags.
type origins struct {
	file   string // reflectory.yaml
	getenv func(string) string
}

// choose takes the first value that is there: the flag's, the environment
// variable's, the file's, the fallback. flag and env are "" where there is none.
func (o origins) choose(flag, flagValue, env, fileValue, fallback string) Setting {
	switch {
	case flagValue != "":
		return Setting{flagValue, "flag --" + flag}
	case env != "" && o.getenv(env) != "":
		return Setting{o.getenv(env), "environment " + env}
	case fileValue != "":
		return Setting{fileValue, o.file}
	}
	return Setting{fallback, originDefault}
}

// originDefault is the origin of a value that nobody set.
const originDefault = "default"

// loadConfig chooses each setting, and checks them.
func loadConfig(f flags, getenv func(string) string, folder string) (Config, error) {
	path, file, err := findConfig(folder)
	if err != nil {
		return Config{}, err
	}
	choose := origins{path, getenv}.choose
	below := func(dir string) string { return belowFolder(filepath.Dir(path), dir) }
	dataDir := choose("data-dir", f.dataDir, "REFLECTORY_DATA_DIR", below(file.dataDir), defaultDataDir(getenv))
	c := Config{
		DataDir:          dataDir,
		PluginDir:        choose("plugin-dir", f.pluginDir, "REFLECTORY_PLUGIN_DIR", below(file.pluginDir), filepath.Join(dataDir.Value, "plugins")),
		Lock:             choose("lock", f.lock, "REFLECTORY_LOCK", lockBeside(path), filepath.Join(dataDir.Value, install.LockFile)),
		TrustFile:        choose("", "", "REFLECTORY_TRUST_FILE", below(file.trustFile), filepath.Join(dataDir.Value, "trust.yaml")),
		DevPlugins:       choose("", "", "", strings.Join(file.devPlugins(below), ","), ""),
		dev:              file.devPlugins(below),
		file:             path,
		LLMEndpoints:     choose("", "", "REFLECTORY_LLM_ENDPOINTS", strings.Join(file.llmEndpoints, ","), ""),
		EmbeddingsModel:  choose("", "", "REFLECTORY_EMBEDDINGS_MODEL", file.embeddings.model, embed.Hashed{}.Model()),
		EmbeddingsURL:    choose("", "", "REFLECTORY_EMBEDDINGS_URL", file.embeddings.url, ""),
		EmbeddingsKeyEnv: choose("", "", "REFLECTORY_EMBEDDINGS_KEY_ENV", file.embeddings.keyEnv, ""),
		EmbeddingsDims:   choose("", "", "REFLECTORY_EMBEDDINGS_DIMS", file.embeddings.dims, "0"),
		SummariesModel:   choose("", "", "REFLECTORY_SUMMARIES_MODEL", file.summaries.model, noSummaries),
		SummariesURL:     choose("", "", "REFLECTORY_SUMMARIES_URL", file.summaries.url, ""),
		SummariesKeyEnv:  choose("", "", "REFLECTORY_SUMMARIES_KEY_ENV", file.summaries.keyEnv, ""),
		RecallDepthBoost: choose("", "", "REFLECTORY_RECALL_DEPTH_BOOST", file.depthBoost, strconv.FormatFloat(search.DefaultDepthBoost, 'g', -1, 64)),
		Durability:       choose("durability", f.durability, "REFLECTORY_DURABILITY", file.durability, string(pebble.Full)),
		KeepDecisions:    choose("", "", "REFLECTORY_KEEP_DECISIONS", file.keep.decisions, "0"),
		KeepRuns:         choose("", "", "REFLECTORY_KEEP_RUNS", file.keep.runs, "0"),
		PolicyDir:        choose("policy-dir", f.policyDir, "REFLECTORY_POLICY_DIR", below(file.policyDir), filepath.Join(dataDir.Value, "policies")),
		Namespace:        choose("namespace", f.namespace, "REFLECTORY_NAMESPACE", file.namespace, defaultNamespace),
		Sandbox:          choose("sandbox", f.sandbox, "REFLECTORY_SANDBOX", file.sandbox, "prefer"),
		LogLevel:         choose("log-level", f.logLevel, "REFLECTORY_LOG_LEVEL", file.logLevel, "warn"),
		Agent:            choose("agent", f.agent, "REFLECTORY_AGENT", "", userName()),
		LockWait:         choose("lock-wait", f.lockWait, "REFLECTORY_LOCK_WAIT", file.lockWait, "2s"),
	}
	if err := c.check(); err != nil {
		return Config{}, err
	}
	c.LLMEndpoints.Value = strings.Join(append(knownLLMs(), c.LLMEndpoints.list()...), ",")
	return c, nil
}

// belowFolder is a path of a configuration file in a folder.
func belowFolder(folder, dir string) string {
	if dir == "" || filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join(folder, dir)
}

// check refuses values that are none.
func (c Config) check() error {
	for _, word := range []struct {
		name    string
		setting Setting
		words   []string
	}{{"log level", c.LogLevel, levels()}, {"sandbox", c.Sandbox, sandboxModes()}, {"durability", c.Durability, durabilities()}} {
		if !slices.Contains(word.words, word.setting.Value) {
			return usageError{sdk.Errorf(sdk.Invalid, "config_invalid", "%s %q (%s) is not one of %s",
				word.name, word.setting.Value, word.setting.Origin, strings.Join(word.words, ", "))}
		}
	}
	if err := core.CheckNamespace(c.Namespace.Value); err != nil {
		return usageError{sdk.Errorf(sdk.Invalid, "config_invalid", "namespace (%s): %w", c.Namespace.Origin, err).
			WithHint("write up to 8 words with / between them, such as team/project")}
	}
	if err := core.Operator(c.Agent.Value).Validate(); err != nil {
		return usageError{sdk.Errorf(sdk.Invalid, "config_invalid", "agent (%s): %w", c.Agent.Origin, err).
			WithHint("name who acts with --agent or REFLECTORY_AGENT, in up to %d bytes", core.MaxCallerName)}
	}
	if wait, err := time.ParseDuration(c.LockWait.Value); err != nil || wait < 0 || wait > maxLockWait {
		return usageError{sdk.Errorf(sdk.Invalid, "config_invalid", "lock wait %q (%s) is not a time from 0s to %s", c.LockWait.Value, c.LockWait.Origin, maxLockWait).
			WithHint("write it with a unit, such as 2s or 500ms; 0s doesn't wait")}
	}
	for _, kept := range []struct {
		name    string
		setting Setting
	}{{"keep: {decisions}", c.KeepDecisions}, {"keep: {runs}", c.KeepRuns}} {
		if _, err := keepTime(kept.setting.Value); err != nil {
			return usageError{sdk.Errorf(sdk.Invalid, "config_invalid", "%s %q (%s) is not a time up to %d days", kept.name, kept.setting.Value, kept.setting.Origin, maxKeepDays).
				WithHint("write it with a unit, such as 30d or 720h; 0 keeps all for ever")}
		}
	}
	if err := c.checkEmbeddings(); err != nil {
		return usageError{err}
	}
	if err := c.checkSummaries(); err != nil {
		return usageError{err}
	}
	if _, err := c.depthBoost(); err != nil {
		return usageError{err}
	}
	for _, endpoint := range c.LLMEndpoints.list() {
		if err := install.CheckEndpoint(endpoint); err != nil {
			return usageError{sdk.Errorf(sdk.Invalid, "config_invalid", "LLM endpoint (%s): %w", c.LLMEndpoints.Origin, err).
				WithHint("%s", sdk.AsError(err).Hint)}
		}
	}
	return nil
}

// userName is the name of who runs the program, as the system has it.
func userName() string {
	u, err := user.Current()
	if err != nil {
		return "unknown"
	}
	return u.Username
}

// lockBeside is the lock beside a configuration file; "" without one.
func lockBeside(config string) string {
	if config == "" {
		return ""
	}
	return filepath.Join(filepath.Dir(config), install.LockFile)
}

// defaultDataDir is reflectory in the user's data home.
func defaultDataDir(getenv func(string) string) string {
	if home := getenv("XDG_DATA_HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, "reflectory")
	}
	if home, err := os.UserHomeDir(); err == nil {
		return filepath.Join(home, ".local", "share", "reflectory")
	}
	return ".reflectory"
}

func (a *App) configCommand() *cobra.Command {
	c := &cobra.Command{Use: "config", Short: "Show the configuration", RunE: needsCommand}
	c.AddCommand(&cobra.Command{
		Use: "show", Short: "Print each setting, its value and where it comes from",
		Long: `Print each setting, its value and where it comes from. A flag beats the
environment, which beats the nearest reflectory.yaml upwards, which beats the default.`,
		Example: "  reflectory config show",
		RunE: func(*cobra.Command, []string) error {
			if a.flags.json {
				return a.printJSON(a.config)
			}
			return a.table([]string{"SETTING", "VALUE", "ORIGIN"}, a.config.rows())
		},
	})
	return c
}

// rows lists the settings for people.
func (c Config) rows() [][]string {
	row := func(name string, s Setting) []string { return []string{name, s.Value, s.Origin} }
	return [][]string{
		row("data_dir", c.DataDir), row("plugin_dir", c.PluginDir), row("lock", c.Lock), row("trust_file", c.TrustFile),
		row("dev_plugins", c.DevPlugins), row("llm_endpoints", c.LLMEndpoints),
		row("embeddings_model", c.EmbeddingsModel), row("embeddings_url", c.EmbeddingsURL),
		row("embeddings_key_env", c.EmbeddingsKeyEnv), row("embeddings_dims", c.EmbeddingsDims),
		row("summaries_model", c.SummariesModel), row("summaries_url", c.SummariesURL), row("summaries_key_env", c.SummariesKeyEnv),
		row("recall_depth_boost", c.RecallDepthBoost), row("durability", c.Durability),
		row("keep_decisions", c.KeepDecisions), row("keep_runs", c.KeepRuns),
		row("policy_dir", c.PolicyDir), row("namespace", c.Namespace), row("sandbox", c.Sandbox), row("log_level", c.LogLevel),
		row("agent", c.Agent), row("lock_wait", c.LockWait),
	}
}
