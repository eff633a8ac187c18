package config

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/reflectory/reflectory/core/access"
	"github.com/reflectory/reflectory/core/dream"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/outbound"
)

// Config is the settings of a host, checked. Each value comes from a flag, else the
// environment, else reflectory.yaml, else its default. [Load] makes one; the [Definition]
// of each setting says what it means, with units and limits. A Config doesn't change once
// it is loaded, except by [Config.Refresh]; it may be copied, and used concurrently.
type Config struct {
	// Where data is kept.
	DataDir, PluginDir, Lock, TrustFile, PolicyDir, BackupDir Setting
	// Plugins, and what they may reach.
	DevPlugins, LLMEndpoints, Sandbox Setting
	// Which programs of this machine plugins may have run.
	CommandsAllow, CommandsRead, CommandsEnv Setting
	// How vectors of memories, and summaries of promoted memories and old turns, are made.
	EmbeddingsModel, EmbeddingsURL, EmbeddingsKeyEnv, EmbeddingsDims Setting
	SummariesModel, SummariesURL, SummariesProvider, SummariesKeyEnv Setting
	// What makes insights of what was observed.
	LLMModel, LLMModels, LLMURL, LLMProvider, LLMKeyEnv, LLMRefuses          Setting
	ReflectionGenerator, ReflectionConfig, ReflectionScript, ReflectionJudge Setting
	ReflectionMaxTokens, ReflectionMaxCostUSD, ReflectionDebounce            Setting
	// What passes of housekeeping do.
	DreamDates, DreamMerges, DreamConflicts, DreamArchival, DreamKeepPhrase, DreamRanges Setting
	DreamStrategy, DreamStale, DreamStaleAfter, DreamStaleBelow, DreamDecay, DreamJudge  Setting
	// What is found by other words.
	DiscoverPhrases Setting
	// How memories are ranked, stored and kept.
	RecallDepthBoost, Durability, KeepDecisions, KeepRuns, LockWait Setting
	// Which database is the store, "" for the one in the data folder, and the file with the
	// databases of tenants, "" for none.
	Store, Stores, StoreWait Setting
	// The server that is used instead of a store here, and the OpenID Connect issuer of a
	// server here.
	Server, ServerCA                                                          Setting
	OIDCIssuer, OIDCAudience, OIDCSubject, OIDCGrants, OIDCClient, OIDCScopes Setting
	// How others reach a server here.
	Listen, TLSCert, TLSKey, ACMEName, ACMEDirectory, TLSByProxy, Hosts Setting
	// What callers of a server here may send and hold open.
	LimitBody, LimitImportBody, LimitHeaders, LimitJSONDepth   Setting
	LimitHeaderTime, LimitBodyTime, LimitIdleTime              Setting
	LimitRequests, LimitWrites, LimitFailedLogins, LimitAtOnce Setting
	// What the gateway does with requests while they can't be recorded.
	GatewayUnrecorded                 Setting
	LimitGateway, LimitConnections    Setting
	LimitStreams, LimitSubjectStreams Setting
	// How many runs are worked on at once.
	LimitRuns, LimitRunsPerUser, LimitRunsPerNamespace, LimitCallsPerModel Setting
	// How other machines are reached.
	HTTPSProxy, HTTPProxy, NoProxy, CertFile, CertDir, LLMCA Setting
	// The namespace of runs, the agent, and which logs are shown.
	Namespace, Agent, LogLevel, Capture Setting
	// Folders whose files count, regardless of their owner.
	SafeDirs Setting

	file  string // reflectory.yaml; "" if there is none
	typed typed
	live  *live // what [Config.Refresh] changes; nil in a Config that wasn't loaded
}

// Setting is a value and where it comes from: "flag --x", "environment X", a file's
// path, or "default".
type Setting struct {
	Value  string `json:"value"`
	Origin string `json:"origin"`
}

// OriginDefault is the origin of a value that wasn't set.
const OriginDefault = "default"

// IsDefault reports whether the setting has its default value.
func (s Setting) IsDefault() bool { return s.Origin == OriginDefault }

// typed are the values that aren't text, parsed once.
type typed struct {
	reloadable
	grants     []access.Grant
	dims       int
	depthBoost float64
	lockWait   time.Duration
	storeWait  time.Duration
	databases  []Database
	reflection Reflection
	network    *outbound.Network
	trust      trust
}

// Reflection bounds reflections.
type Reflection struct {
	// MaxTokens and MaxCostUSD are after what use of a model a reflection asks nothing
	// further; 0 is no limit. Debounce is how long a due reflection waits for further
	// observations.
	MaxTokens  int64
	MaxCostUSD float64
	Debounce   time.Duration
}

// Keep is how long data that store prune removes is kept; 0 is for ever.
type Keep struct{ Decisions, Runs time.Duration }

// File is the reflectory.yaml that was read, or "".
func (c *Config) File() string { return c.file }

// Dev are the folders of the plugins that run unlocked, from DevPlugins.
func (c *Config) Dev() []string { return slices.Clone(c.now().dev) }

// DevReplacing are the folders of Dev whose entry has replace: true, so that they may take the place of
// a plugin that comes with the program.
func (c *Config) DevReplacing() map[string]bool { return maps.Clone(c.now().replacing) }

// Endpoints are where models may be called, each as host:port: the well-known ones and,
// from LLMEndpoints, the operator's.
func (c *Config) Endpoints() []string { return slices.Clone(c.now().endpoints) }

// MaySend reports whether callers of a server may have the value of a variable sent to an endpoint,
// given as host:port: LLMEndpoints names them together, or they are the endpoint and the variable of
// the settings' own models.
func (c *Config) MaySend(endpoint, keyEnv string) bool {
	return c.now().keys[endpointKey{endpoint, keyEnv}]
}

// Commands are the programs that plugins may have run, the folders that those read, and the variables
// that they get, from CommandsAllow, CommandsRead and CommandsEnv.
func (c *Config) Commands() Commands { return c.now().commands }

// Commands are what the operator grants to programs.
type Commands struct{ Allow, Read, Env []string }

// Grants are the parsed OIDCGrants: the rights of people whom the OpenID Connect issuer
// identifies.
func (c *Config) Grants() []access.Grant { return slices.Clone(c.typed.grants) }

// OIDCScopeList are the scopes that a browser's login asks the issuer for, from OIDCScopes.
func (c *Config) OIDCScopeList() []string { return list(c.OIDCScopes.Value) }

// Phrases are what people say when they mean something, by its name, from DiscoverPhrases.
func (c *Config) Phrases() map[string][]string {
	said := map[string][]string{}
	for _, item := range list(c.DiscoverPhrases.Value) {
		name, phrase, _ := strings.Cut(item, ": ")
		said[name] = append(said[name], strings.TrimSpace(phrase))
	}
	return said
}

// DepthBoost is the factor of reflections in recalls, from RecallDepthBoost.
func (c *Config) DepthBoost() float64 { return c.typed.depthBoost }

// Keep is how long decisions and runs are kept, from KeepDecisions and KeepRuns.
func (c *Config) Keep() Keep { return c.now().keep }

// Reflection bounds reflections, from ReflectionMaxTokens, ReflectionMaxCostUSD and
// ReflectionDebounce.
func (c *Config) Reflection() Reflection { return c.typed.reflection }

// Dream has the defaults of housekeeping passes, from the settings of dream; the zero value
// if none is set.
func (c *Config) Dream() dream.Options { return c.now().dream }

// Network is how other machines are reached, from HTTPSProxy, HTTPProxy, NoProxy, CertFile,
// CertDir and LLMCA.
func (c *Config) Network() *outbound.Network {
	if c.typed.network == nil { // a Config that wasn't loaded
		n, _ := outbound.New(outbound.Options{})
		return n
	}
	return c.typed.network
}

// LockTime is how long to wait for a store that another program has open, from LockWait.
func (c *Config) LockTime() time.Duration { return c.typed.lockWait }

// DatabaseTime is how long to wait for a database that can't be reached, from StoreWait.
func (c *Config) DatabaseTime() time.Duration { return c.typed.storeWait }

// Shared reports whether the store is a database, which other hosts may use too.
func (c *Config) Shared() bool { return c.Store.Value != "" }

// Listed is a setting as it is shown.
type Listed struct {
	Name string `json:"-"`
	Setting
	// Variable is the environment variable that sets it, or "".
	Variable string `json:"variable,omitempty"`
}

// List shows every setting, in the table's order.
func (c *Config) List() []Listed {
	var list []Listed
	for _, d := range definitions() {
		list = append(list, Listed{d.Name, *d.field(c), d.Variable})
	}
	return list
}

// MarshalJSON is an object with each setting under its name, in the table's order.
func (c *Config) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	for i, s := range c.List() {
		out.WriteByte("{,"[min(i, 1)])
		out.Write(jsontext.MustEncode(s.Name))
		out.WriteByte(':')
		out.Write(jsontext.MustEncode(s))
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}
