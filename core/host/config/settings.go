package config

import (
	"path/filepath"
	"strconv"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/access"
	"github.com/reflectory/reflectory/core/memory/embed/openai"
	"github.com/reflectory/reflectory/core/memory/search"
	"github.com/reflectory/reflectory/core/memory/vector"
	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/plugin/install"
	"github.com/reflectory/reflectory/core/plugin/process/sandbox"
	"github.com/reflectory/reflectory/core/store/pebble"
	"github.com/reflectory/reflectory/core/store/postgres"
)

// Definition is everything that is known about one setting. To add a setting, add a
// definition, and the field of [Config] that it fills.
type Definition struct {
	// Name is the name of the setting, as config show lists it.
	Name string
	// Key is its key in reflectory.yaml, such as "settings.embeddings.model"; "" if a
	// file can't set it.
	Key string
	// Variable is the environment variable that sets it; "" for none.
	Variable string
	// Flag is the flag that sets it, without dashes; "" for none.
	Flag string
	// Default is the value if nobody sets it, or a description if it is computed.
	Default string
	// Words are the allowed values; nil if it isn't one of a few words.
	Words []string
	// Doc describes the setting, with unit and limits.
	Doc string

	// Others are further variables that set it. They come before Variable: they are the spelling
	// that most programs prefer.
	Others []string

	shown    func(string) string // what of the value may be shown; nil is all of it
	field    func(*Config) *Setting
	computed func(c *Config, getenv func(string) string) string // the default; c has the settings listed before
	kind     kind
	folder   bool                // a path, which in the file is relative to the file's folder, and which others mayn't write
	foreign  bool                // of a path: others may write it all the same
	contents bool                // of a folder: others mayn't write what is in it either
	several  bool                // several paths, separated as in PATH
	check    func(string) *fault // checks a value that isn't ""; nil accepts any
	schema   schema              // more rules for the JSON Schema
}

// DefaultNamespace is the namespace of runs that name none.
const DefaultNamespace = core.DefaultNamespace

// LogLevels are the levels of logs, the most detailed first; "off" shows none.
func LogLevels() []string { return append(plugin.LogLevels(), "off") }

// Definitions are all settings, in display order.
func Definitions() []Definition { return definitions() }

// table is all settings. It is made once for each call, and passed on.
type table []Definition

func definitions() table {
	var all table
	for _, part := range [][]Definition{places(), plugins(), models(), reflections(), dreams(), stored(), servers(), serving(), issuers(), limitSettings(), network(), runs()} {
		all = append(all, part...)
	}
	for i := range all {
		if d := &all[i]; d.Words != nil {
			d.check, d.schema = oneOf(d.Words), schema{"enum": d.Words}
		}
	}
	return all
}

// places are the settings for where data is kept.
func places() []Definition {
	return []Definition{
		{
			Name: "data_dir", Key: "data_dir", Variable: "REFLECTORY_DATA_DIR", Flag: "data-dir",
			Default: "reflectory in the user's data home", computed: func(_ *Config, getenv func(string) string) string { return defaultDataDir(getenv) },
			Doc:   "folder of all data",
			field: func(c *Config) *Setting { return &c.DataDir }, folder: true,
		}, {
			Name: "plugin_dir", Key: "plugin_dir", Variable: "REFLECTORY_PLUGIN_DIR", Flag: "plugin-dir",
			Default: "plugins in the data folder", computed: inDataDir("plugins"),
			Doc:   "folder that added plugins are copied to",
			field: func(c *Config) *Setting { return &c.PluginDir }, folder: true,
		}, {
			Name: "lock", Variable: "REFLECTORY_LOCK", Flag: "lock",
			Default: "reflectory.lock next to reflectory.yaml, else in the data folder", computed: inDataDir(install.LockFile),
			Doc:   "file that pins the plugins",
			field: func(c *Config) *Setting { return &c.Lock }, folder: true,
		}, {
			Name: "trust_file", Key: "trust_file", Variable: "REFLECTORY_TRUST_FILE",
			Default: "trust.yaml in the data folder", computed: inDataDir("trust.yaml"),
			Doc:   "file with the public keys of publishers that sign plugins",
			field: func(c *Config) *Setting { return &c.TrustFile }, folder: true,
		}, {
			Name: "policy_dir", Key: "policy_dir", Variable: "REFLECTORY_POLICY_DIR", Flag: "policy-dir",
			Default: "policies in the data folder, if it is there", computed: inDataDir("policies"),
			Doc:   "folder of the policies; if it is set, it must exist",
			field: func(c *Config) *Setting { return &c.PolicyDir }, folder: true, contents: true,
		}, {
			Name: "backup_dir", Key: "backup_dir", Variable: "REFLECTORY_BACKUP_DIR",
			Doc:   "folder below which callers over the network may have backups and pruned data written; without it they can't choose a folder",
			field: func(c *Config) *Setting { return &c.BackupDir }, folder: true,
		}, {
			Name: "safe_dirs", Variable: safeDirsVariable,
			Doc:   "folders whose configuration, lock, policies, plugins and data count even if other users may change them, separated by " + string(filepath.ListSeparator) + "; the caller of the program vouches for them",
			field: func(c *Config) *Setting { return &c.SafeDirs },
		},
	}
}

// inDataDir is a default in the data folder.
func inDataDir(name string) func(*Config, func(string) string) string {
	return func(c *Config, _ func(string) string) string { return filepath.Join(c.DataDir.Value, name) }
}

// plugins are the settings for which plugins run, and what they may reach.
func plugins() []Definition {
	return []Definition{
		{
			Name: "dev_plugins", Key: "plugins",
			Doc:   "folders of plugins that you are working on, which run without being pinned in a lock",
			field: func(c *Config) *Setting { return &c.DevPlugins }, kind: folders, folder: true, contents: true,
		}, {
			Name: "llm_endpoints", Key: "settings.llm.endpoints", Variable: "REFLECTORY_LLM_ENDPOINTS",
			Doc:   "where prompts may go, as host:port, in addition to OpenAI and to Ollama on this machine; as {host, key_env}, also the variable of this program's environment whose value callers of a server may have sent there; in the variable, host:port or host:port=KEY_ENV, separated by commas",
			field: func(c *Config) *Setting { return &c.LLMEndpoints }, kind: endpoints, check: checkEndpoint,
			schema: schema{"pattern": `^(\[[0-9a-f:.]+\]|[a-z0-9._:-]+):[1-9][0-9]{0,4}$`},
		}, {
			Name: "sandbox", Key: "sandbox", Variable: "REFLECTORY_SANDBOX", Flag: "sandbox",
			Default: string(sandbox.Prefer), Words: sandboxModes(),
			Doc:   "whether plugins must be sandboxed; prefer uses as much of the sandbox as the system supports",
			field: func(c *Config) *Setting { return &c.Sandbox },
		}, {
			Name: "commands_allow", Key: "commands.allow",
			Doc:   "programs of this machine that plugins with host:exec may have run, each in a sandbox of its own: names such as go, or absolute paths",
			field: func(c *Config) *Setting { return &c.CommandsAllow }, kind: texts, check: checkProgram, schema: schema{"pattern": `^(/[^,]*[^/,]|[^/,]+)$`, "maxLength": maxPath},
		}, {
			Name: "commands_read", Key: "commands.read",
			Doc:   "folders, as absolute paths, that those programs can read in addition to the system's, and that they may work on a copy of",
			field: func(c *Config) *Setting { return &c.CommandsRead }, kind: texts, check: checkFolder, schema: schema{"pattern": `^/[^,]*[^/,]$`, "maxLength": maxPath},
		}, {
			Name: "commands_env", Key: "commands.env",
			Doc:   "variables of this program's environment that those programs may get, by name",
			field: func(c *Config) *Setting { return &c.CommandsEnv }, kind: texts, check: checkVariable, schema: schema{"pattern": `^[A-Za-z_][A-Za-z0-9_]{0,127}$`, "not": schema{"pattern": `^[Rr][Ee][Ff][Ll][Ee][Cc][Tt][Oo][Rr][Yy]_`}},
		},
	}
}

// sandboxModes are the allowed values of sandbox.
func sandboxModes() (words []string) {
	for _, m := range sandbox.Modes() {
		words = append(words, string(m))
	}
	return words
}

// models are the settings for models that make vectors and summaries.
func models() []Definition {
	return []Definition{
		{
			Name: "embeddings_model", Key: "settings.embeddings.model", Variable: "REFLECTORY_EMBEDDINGS_MODEL",
			Default: localModel(),
			Doc:     "model that makes the vectors of memories; the default model runs in this process and needs no endpoint",
			field:   func(c *Config) *Setting { return &c.EmbeddingsModel }, check: checkModel, schema: modelSchema(),
		}, {
			Name: "embeddings_url", Key: "settings.embeddings.base_url", Variable: "REFLECTORY_EMBEDDINGS_URL",
			Doc:   "endpoint of that model, which is sent titles, contents and queries: https, or http on this machine",
			field: func(c *Config) *Setting { return &c.EmbeddingsURL }, check: checkURL, schema: urlSchema(),
		}, {
			Name: "embeddings_key_env", Key: "settings.embeddings.api_key_env", Variable: "REFLECTORY_EMBEDDINGS_KEY_ENV",
			Doc:   "name of the environment variable with the key of that endpoint, if it takes one",
			field: func(c *Config) *Setting { return &c.EmbeddingsKeyEnv }, check: checkKeyEnv, schema: keyEnvSchema(),
		}, {
			Name: "embeddings_dims", Key: "settings.embeddings.dims", Variable: "REFLECTORY_EMBEDDINGS_DIMS",
			Default: "0",
			Doc:     "dimensions of the vectors, 0 to " + strconv.Itoa(vector.MaxDims) + "; 0 means the model's own number",
			field:   func(c *Config) *Setting { return &c.EmbeddingsDims }, kind: number, check: checkDims,
			schema: schema{"multipleOf": 1, "minimum": 0, "maximum": vector.MaxDims},
		}, {
			Name: "summaries_model", Key: "settings.summaries.model", Variable: "REFLECTORY_SUMMARIES_MODEL",
			Default: NoModel,
			Doc:     "model that summarizes what is promoted, and the oldest turns of sessions; none means that no model is asked",
			field:   func(c *Config) *Setting { return &c.SummariesModel }, check: checkModel, schema: modelSchema(),
		}, {
			Name: "summaries_url", Key: "settings.summaries.base_url", Variable: "REFLECTORY_SUMMARIES_URL",
			Doc:   "endpoint of that model, which llm_endpoints must allow: https, or http on this machine",
			field: func(c *Config) *Setting { return &c.SummariesURL }, check: checkURL, schema: urlSchema(),
		}, {
			Name: "summaries_provider", Key: "settings.summaries.provider", Variable: "REFLECTORY_SUMMARIES_PROVIDER",
			Default: "openai", Words: providers(),
			Doc:   "what the endpoint of that model speaks: openai is what most do, and Ollama's own unless its base_url ends in /v1",
			field: func(c *Config) *Setting { return &c.SummariesProvider },
		}, {
			Name: "summaries_key_env", Key: "settings.summaries.api_key_env", Variable: "REFLECTORY_SUMMARIES_KEY_ENV",
			Doc:   "name of the environment variable with the key of that endpoint, if it takes one",
			field: func(c *Config) *Setting { return &c.SummariesKeyEnv }, check: checkKeyEnv, schema: keyEnvSchema(),
		},
	}
}

// providers are what llm-eval speaks.
func providers() []string { return []string{"openai", "ollama", "anthropic"} }

// refusable are the fields that llm-eval can leave out of a request.
func refusable() []string {
	return []string{"response_format", "json_schema", "system", "temperature", "top_p", "seed", "stop", "reasoning_effort", "max_tokens", "max_completion_tokens", "stream", "whole_replies"}
}

// reflections are what makes insights of what was observed.
func reflections() []Definition {
	return []Definition{
		{
			Name: "llm_model", Key: "settings.llm.model", Variable: "REFLECTORY_LLM_MODEL",
			Default: NoModel,
			Doc:     "model that reflects on what was observed, unless reflection_generator or reflection_script does; none means that no model is asked",
			field:   func(c *Config) *Setting { return &c.LLMModel }, check: checkModel, schema: modelSchema(),
		}, {
			Name: "llm_models", Key: "settings.llm.models", Variable: "REFLECTORY_LLM_MODELS",
			Doc:   "further models of that endpoint, which only the gateway serves; in the variable separated by commas",
			field: func(c *Config) *Setting { return &c.LLMModels }, kind: texts, check: checkModel, schema: modelSchema(),
		}, {
			Name: "llm_url", Key: "settings.llm.base_url", Variable: "REFLECTORY_LLM_URL",
			Doc:   "endpoint of that model, which is sent memories and which llm_endpoints must allow: https, or http on this machine",
			field: func(c *Config) *Setting { return &c.LLMURL }, check: checkURL, schema: urlSchema(),
		}, {
			Name: "llm_provider", Key: "settings.llm.provider", Variable: "REFLECTORY_LLM_PROVIDER",
			Default: "openai", Words: providers(),
			Doc:   "what the endpoint of that model speaks: openai is what most do, and Ollama's own unless its base_url ends in /v1",
			field: func(c *Config) *Setting { return &c.LLMProvider },
		}, {
			Name: "llm_key_env", Key: "settings.llm.api_key_env", Variable: "REFLECTORY_LLM_KEY_ENV",
			Doc:   "name of the environment variable with the key of that endpoint, if it takes one",
			field: func(c *Config) *Setting { return &c.LLMKeyEnv }, check: checkKeyEnv, schema: keyEnvSchema(),
		}, {
			Name: "llm_refuses", Key: "settings.llm.dialect.refuses", Variable: "REFLECTORY_LLM_REFUSES", Words: refusable(),
			Doc:   "what that model refuses or ignores, so that it isn't sent, as the doctor of models finds out; in the variable separated by commas",
			field: func(c *Config) *Setting { return &c.LLMRefuses }, kind: texts,
		}, {
			Name: "reflection_generator", Key: "settings.reflection.generator", Variable: "REFLECTORY_REFLECTION_GENERATOR",
			Doc:   "generator plugin that reflects on what was observed instead of a model",
			field: func(c *Config) *Setting { return &c.ReflectionGenerator }, check: checkPlugin, schema: schema{"maxLength": maxPluginName},
		}, {
			Name: "reflection_config", Key: "settings.reflection.config", Variable: "REFLECTORY_REFLECTION_CONFIG",
			Doc:   "config of that plugin, as the text of a JSON object",
			field: func(c *Config) *Setting { return &c.ReflectionConfig }, check: checkObject,
		}, {
			Name: "reflection_script", Key: "settings.reflection.script", Variable: "REFLECTORY_REFLECTION_SCRIPT",
			Doc:   "Lua file that reflects on what was observed instead of a model",
			field: func(c *Config) *Setting { return &c.ReflectionScript }, folder: true,
		}, {
			Name: "reflection_judge", Key: "settings.reflection.judge", Variable: "REFLECTORY_REFLECTION_JUDGE",
			Doc:   "evaluator plugin that says whether an insight is already known; without one, insights with the same normal form count as the same",
			field: func(c *Config) *Setting { return &c.ReflectionJudge }, check: checkPlugin, schema: schema{"maxLength": maxPluginName},
		}, {
			Name: "reflection_max_tokens", Key: "settings.reflection.max_tokens", Variable: "REFLECTORY_REFLECTION_MAX_TOKENS",
			Default: "0",
			Doc:     "tokens after which a reflection asks no further question; 0 is no limit",
			field:   func(c *Config) *Setting { return &c.ReflectionMaxTokens }, kind: number, check: checkTokens,
			schema: schema{"multipleOf": 1, "minimum": 0, "maximum": maxTokens},
		}, {
			Name: "reflection_max_cost_usd", Key: "settings.reflection.max_cost_usd", Variable: "REFLECTORY_REFLECTION_MAX_COST_USD",
			Default: "0",
			Doc:     "US dollars after which a reflection asks no further question; 0 is no limit",
			field:   func(c *Config) *Setting { return &c.ReflectionMaxCostUSD }, kind: number, check: checkCost,
			schema: schema{"minimum": 0, "maximum": maxCost},
		}, {
			Name: "reflection_debounce", Key: "settings.reflection.debounce", Variable: "REFLECTORY_REFLECTION_DEBOUNCE",
			Default: "0s", Doc: "how long a reflection that is due waits for further observations, 0s to " + maxDebounce.String(),
			field: func(c *Config) *Setting { return &c.ReflectionDebounce }, kind: span, check: checkDebounce, schema: schema{"pattern": timeForm},
		},
	}
}

// The schemas of the model, URL and key of an endpoint.
func modelSchema() schema  { return schema{"maxLength": openai.MaxModelBytes} }
func urlSchema() schema    { return schema{"pattern": `^[Hh][Tt][Tt][Pp][Ss]?://[^/?#@]+(/[^?#]*)?$`} }
func keyEnvSchema() schema { return schema{"pattern": `^[A-Za-z_][A-Za-z0-9_]{0,127}$`} }

// stored are the settings for how memories are ranked, and how stored data is written and
// kept.
func stored() []Definition {
	return []Definition{
		{
			Name: "discover_phrases", Key: "settings.discover.phrases",
			Doc:   "what people here say when they mean an operation, a plugin or a workflow, so that discover finds it: each NAME: PHRASE, without commas",
			field: func(c *Config) *Setting { return &c.DiscoverPhrases }, kind: texts, check: checkPhrase, schema: schema{"pattern": phraseForm},
		}, {
			Name: "recall_depth_boost", Key: "settings.recall.depth_boost", Variable: "REFLECTORY_RECALL_DEPTH_BOOST",
			Default: strconv.FormatFloat(search.DefaultDepthBoost, 'g', -1, 64),
			Doc:     "factor for the scores of reflections in recalls, above 0 and up to " + strconv.Itoa(maxDepthBoost) + "; with 1 they rank like other memories",
			field:   func(c *Config) *Setting { return &c.RecallDepthBoost }, kind: number, check: checkBoost,
			schema: schema{"exclusiveMinimum": 0, "maximum": maxDepthBoost},
		}, {
			Name: "store", Key: "store", Variable: "REFLECTORY_STORE", Flag: "store",
			Default: "in the data folder", computed: func(*Config, func(string) string) string { return "" },
			Doc:   "PostgreSQL database to use as the store instead of the data folder's, as postgres://user@host/database; its password comes from PGPASSWORD or the file that PGPASSFILE names",
			field: func(c *Config) *Setting { return &c.Store }, check: checkStore, schema: schema{"pattern": `^postgres(ql)?://`},
		}, {
			Name: "stores", Key: "stores", Variable: "REFLECTORY_STORES", Flag: "stores",
			Doc:   "YAML file that maps tenants to PostgreSQL databases, such as {team: \"postgres://host/team\"}; all other tenants use store, or * in the file",
			field: func(c *Config) *Setting { return &c.Stores }, folder: true,
		}, {
			Name: "store_wait", Key: "store_wait", Variable: "REFLECTORY_STORE_WAIT", Flag: "store-wait",
			Default: postgres.DefaultWait.String(), Doc: "how long to wait for a database that can't be reached, 0s to " + maxLockWait.String(),
			field: func(c *Config) *Setting { return &c.StoreWait }, kind: span, check: checkWait, schema: schema{"pattern": timeForm},
		}, {
			Name: "durability", Key: "durability", Variable: "REFLECTORY_DURABILITY", Flag: "durability",
			Default: string(pebble.Full), Words: []string{string(pebble.Full), string(pebble.Relaxed)},
			Doc:   "when a change counts as stored: full is once it is on disk, relaxed is earlier, so that a crash may lose the newest changes",
			field: func(c *Config) *Setting { return &c.Durability },
		}, {
			Name: "keep_decisions", Key: "keep.decisions", Variable: "REFLECTORY_KEEP_DECISIONS",
			Default: "0", Doc: "how long recorded decisions stay in the store, " + keepDoc,
			field: func(c *Config) *Setting { return &c.KeepDecisions }, kind: span, check: checkKeep, schema: schema{"pattern": keepForm},
		}, {
			Name: "keep_runs", Key: "keep.runs", Variable: "REFLECTORY_KEEP_RUNS",
			Default: "0", Doc: "how long runs that can't be resumed stay in the store, " + keepDoc,
			field: func(c *Config) *Setting { return &c.KeepRuns }, kind: span, check: checkKeep, schema: schema{"pattern": keepForm},
		}, {
			Name: "lock_wait", Key: "lock_wait", Variable: "REFLECTORY_LOCK_WAIT", Flag: "lock-wait",
			Default: "2s", Doc: "how long to wait for a store that another program has open, 0s to " + maxLockWait.String(),
			field: func(c *Config) *Setting { return &c.LockWait }, kind: span, check: checkWait, schema: schema{"pattern": timeForm},
		},
	}
}

// servers are where commands are sent.
func servers() []Definition {
	return []Definition{
		{
			Name: "server", Key: "server", Variable: "REFLECTORY_SERVER", Flag: "server",
			Doc:   "URL of the server that commands use, with the token in REFLECTORY_TOKEN, instead of the store here: https, or http on this machine",
			field: func(c *Config) *Setting { return &c.Server }, check: checkServer, schema: schema{"pattern": `^[Hh][Tt][Tt][Pp][Ss]?://[^/?#@]+/?$`},
		}, {
			Name: "server_ca", Key: "server_ca", Variable: "REFLECTORY_SERVER_CA",
			Doc:   "PEM file with the CA certificates for that server; without it, the system's CA certificates are used",
			field: func(c *Config) *Setting { return &c.ServerCA }, folder: true,
		},
	}
}

// issuers are the settings of a server's OpenID Connect issuer.
func issuers() []Definition {
	return []Definition{
		{
			Name: "oidc_issuer", Key: "oidc.issuer", Variable: "REFLECTORY_OIDC_ISSUER", Flag: "oidc-issuer",
			Doc:   "URL of the OpenID Connect issuer whose tokens a server accepts, in addition to its own: https, or http on this machine",
			field: func(c *Config) *Setting { return &c.OIDCIssuer }, check: checkIssuer, schema: urlSchema(),
		}, {
			Name: "oidc_audience", Key: "oidc.audience", Variable: "REFLECTORY_OIDC_AUDIENCE", Flag: "oidc-audience",
			Default: "the server's URL", computed: func(*Config, func(string) string) string { return "" },
			Doc:   "audience of such tokens; a token for another audience is refused",
			field: func(c *Config) *Setting { return &c.OIDCAudience },
		}, {
			Name: "oidc_subject", Key: "oidc.subject", Variable: "REFLECTORY_OIDC_SUBJECT",
			Default: access.DefaultSubjectClaim,
			Doc:     "claim that names the caller; the caller's subject begins with " + access.SubjectPrefix,
			field:   func(c *Config) *Setting { return &c.OIDCSubject },
		}, {
			Name: "oidc_grants", Key: "oidc.grants", Variable: "REFLECTORY_OIDC_GRANTS", Flag: "oidc-grant",
			Doc:   `what a caller may do whose claim has a certain value, such as "groups=staff memory:read run in team/**"; the first grant that matches applies, and * matches any value; in the variable, separated by commas`,
			field: func(c *Config) *Setting { return &c.OIDCGrants }, kind: texts, check: checkGrant,
			schema: schema{"pattern": `^\s*[^=\s]+=\S+(\s+[a-z:]+)+\s+in(\s+\S+)+\s*$`},
		}, {
			Name: "oidc_client", Key: "oidc.client", Variable: "REFLECTORY_OIDC_CLIENT", Flag: "oidc-client",
			Doc:   "client id of a server at the issuer, for browser logins; the redirect URI is the server's URL with /login/callback",
			field: func(c *Config) *Setting { return &c.OIDCClient },
		}, {
			Name: "oidc_scopes", Key: "oidc.scopes", Variable: "REFLECTORY_OIDC_SCOPES",
			Default: "profile,email",
			Doc:     "scopes that a browser login asks for in addition to openid, so that the token has the claims that the grants need; in the variable, separated by commas",
			field:   func(c *Config) *Setting { return &c.OIDCScopes }, kind: texts,
		},
	}
}

// runs are the settings for the namespace of runs, the agent, and which logs are shown.
func runs() []Definition {
	return []Definition{
		{
			Name: "namespace", Key: "namespace", Variable: "REFLECTORY_NAMESPACE", Flag: "namespace",
			Default: DefaultNamespace, Doc: "namespace of runs and memories, such as team/project; policies depend on it",
			field: func(c *Config) *Setting { return &c.Namespace }, check: checkNamespace, schema: namespaceSchema(),
		}, {
			Name: "log_level", Key: "log_level", Variable: "REFLECTORY_LOG_LEVEL", Flag: "log-level",
			Default: "warn", Words: LogLevels(),
			Doc:   "lowest level of logs shown: the logs of plugins and, at info, the journal's events",
			field: func(c *Config) *Setting { return &c.LogLevel },
		}, {
			Name: "capture", Key: "capture", Variable: "REFLECTORY_CAPTURE",
			Default: "off", Words: []string{"off", "turns"},
			Doc:   "what the hooks of coding agents store besides what a user asks to remember: turns is each turn's prompt and final reply, up to 2,000 characters",
			field: func(c *Config) *Setting { return &c.Capture },
		}, {
			Name: "agent", Variable: "REFLECTORY_AGENT", Flag: "agent",
			Default: "the user's name", computed: func(*Config, func(string) string) string { return userName() },
			Doc:   "name of the agent, which events record",
			field: func(c *Config) *Setting { return &c.Agent }, check: checkAgent,
		},
	}
}
