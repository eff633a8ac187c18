package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/config"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/plugin/install"
	"github.com/reflectory/reflectory/core/plugin/logfile"
	"github.com/reflectory/reflectory/core/plugin/process"
	"github.com/reflectory/reflectory/core/plugin/services"
	"github.com/reflectory/reflectory/core/workflow"
	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/apikey"
)

// Plugins are hosted once for everything that a process does: runs in any namespace, with
// any model and any key, share their instances. What is specific to one run travels with its
// calls as a plugin.Scope, which Plugins.Scope makes.

const (
	// configPlugin checks configs against their plugins' schemas.
	configPlugin = "reflectory/schema-eval"
	// ProjectLabel names the place of the plugins that were added: the lock.
	ProjectLabel = "project"
	// ShippedLabel names the place of the plugins next to the program.
	ShippedLabel = "shipped"
)

// Plugins are the plugins of a host: which are installed, which of them hosts of a store should
// have, and what a call of them may use.
type Plugins struct {
	config     *Config
	closers    *closers
	journal    *journal.Writer
	policies   *Policies
	membership *Membership
	ready      func(context.Context) error // [Host.Ready]
	recall     *memory.Recaller            // for calls of a run
	// callable are the plugins of new calls; nil until they have been made callable. mu makes one
	// opening at a time, of the files' version in generation.
	callable   atomic.Pointer[CallablePlugins]
	mu         sync.Mutex
	opened     bool
	failure    error
	generation uint64
	retired    sync.WaitGroup // the closing of earlier callable plugins
	// lockEpoch is the epoch of the newest pushed lock of plugins that this host has seen.
	lockEpoch atomic.Uint64
	namedKeys sync.Map // the variables that warnOfKeys has named
}

// CallablePlugins are the installed plugins, ready to be called, with what they need from the
// host.
type CallablePlugins struct {
	*plugin.Supervisor
	// Set is the installed plugins.
	Set *install.Set

	drivers  *Drivers
	services *services.Host
	logs     *logfile.Files

	users  sync.WaitGroup // the runs and other calls that began with these
	closed sync.Once
	err    error // of closing
}

// Close stops the plugins, then what they used, and removes the files that they were
// started from. It is idempotent.
func (p *CallablePlugins) Close() error {
	p.closed.Do(func() {
		p.err = errors.Join(p.Supervisor.Close(), p.drivers.Close(), p.services.Close(), p.logs.Close(), p.Set.Close())
	})
	return p.err
}

// open reads which plugins are installed and makes them callable. It starts none.
func (p *Plugins) open() (*CallablePlugins, error) {
	set, err := OpenSet(p.config.Settings, p.config.Notices)
	if err != nil {
		return nil, err
	}
	callable, err := NewCallablePlugins(PluginOptions{
		Settings: p.config.Settings, Set: set, Installed: Granted(p.config.Settings, set.Installed(), p.config.Getenv),
		Admit: p.policies.admit(set, p.ready), Before: p.membership.beforeCall, Getenv: p.config.Getenv, Log: p.config.PluginLogs, Notices: p.config.Notices,
		Observe: p.config.Observe,
	})
	if err != nil {
		return nil, errors.Join(err, set.Close())
	}
	p.closers.add(callable.Close)
	return callable, nil
}

// PluginOptions are the parts and settings of [CallablePlugins].
type PluginOptions struct {
	Settings *config.Config
	// Set is the installed plugins, and Installed are those that are made callable. The
	// set is closed with the plugins.
	Set       *install.Set
	Installed []plugin.Installed
	// Admit is asked with each call's scope: see [plugin.Options].
	Admit func(context.Context, plugin.Installed) error
	// Before is called before each call: see [plugin.Options].
	Before func(context.Context) error
	// Getenv reads the variables that programs are granted. Nil is none.
	Getenv func(string) string
	// Log receives what plugins write, in addition to their log files, and Notices receives what
	// the operator should know.
	Log     func(plugin.LogLine)
	Notices func(Notice)
	// Observe is called with calls and instances.
	Observe Observe
}

// NewCallablePlugins makes plugins callable. It starts none.
func NewCallablePlugins(o PluginOptions) (*CallablePlugins, error) {
	p := &CallablePlugins{Set: o.Set, logs: logfile.New(logfile.Options{Dir: PluginLogDir(o.Settings)})}
	log := keepLog(p.logs, o.Log, o.Notices)
	p.services = services.New(services.Options{Log: log, Exec: programs(o.Settings, o.Getenv)})
	var err error
	if p.drivers, err = OpenDrivers(o.Settings, o.Installed, DriverOptions{Log: log, Services: p.services, Warn: func(err error) { warn(o.Notices, err) }}); err != nil {
		return nil, errors.Join(err, p.services.Close(), p.logs.Close())
	}
	p.Supervisor = plugin.NewSupervisor(plugin.Options{
		Installed: o.Installed, Driver: o.Set.Driver(p.drivers), Admit: o.Admit, Before: o.Before, Place: newModelPlaces(o.Settings.Limits().CallsPerModel).take, ConfigEvaluator: configPlugin,
		Observer: o.Observe.Work, Instances: o.Observe.Instance, Log: log,
	})
	return p, nil
}

// OpenSet reads which plugins are installed: the plugins of the lock, those next to the
// program, and the folders of plugins in development, each of which causes a notice.
func OpenSet(c *config.Config, notices func(Notice)) (*install.Set, error) {
	place, err := ProjectPlace(c)
	if err != nil {
		return nil, err
	}
	trust, err := install.ReadTrust(c.TrustFile.Value)
	if err != nil {
		return nil, err
	}
	return install.Open(install.Options{
		Places: []install.Place{place, ShippedPlace()}, Dev: c.Dev(), Replace: c.DevReplacing(), Trust: trust, TempDir: process.TempDir(),
		Warn: func(p *install.Plugin) { notices(unlocked(p)) },
	})
}

// unlocked is the notice about a plugin that nothing pins.
func unlocked(p *install.Plugin) Notice {
	granted := "nothing"
	if list := p.Package.Capabilities.List(); len(list) > 0 {
		granted = strings.Join(list, ", ")
	}
	message := "plugin " + p.Name + " runs UNLOCKED from " + p.Folder + " (dev: true): nothing checks its files, and it is granted " + granted
	if p.Replaces != "" {
		message += "; it takes the place of the one that comes with the program"
	}
	return Notice{Level: "warn", Message: message}
}

// ProjectPlace is the lock that plugins are added to.
func ProjectPlace(c *config.Config) (install.Place, error) {
	lock, err := filepath.Abs(c.Lock.Value)
	if err != nil {
		return install.Place{}, sdk.Wrap("find "+install.LockFile, err)
	}
	dir, err := filepath.Abs(c.PluginDir.Value)
	if err != nil {
		return install.Place{}, sdk.Wrap("find the plugin folder", err)
	}
	return install.Place{Label: ProjectLabel, Lock: lock, Dir: dir}, nil
}

// ShippedPlace is the plugins next to the program.
func ShippedPlace() install.Place {
	program, err := os.Executable()
	if err != nil { // without /proc, such as in a bare chroot
		program, _ = exec.LookPath(os.Args[0]) // "" is the working folder
	}
	if real, err := filepath.EvalSymlinks(program); err == nil {
		program = real // a link in a folder of PATH
	}
	dir := filepath.Join(filepath.Dir(program), "plugins")
	return install.Place{Label: ShippedLabel, Lock: filepath.Join(dir, install.LockFile), Dir: dir, Repair: "install the release again, or make build in the source tree", Shipped: true}
}

// PluginLogDir is the folder of plugins' log files.
func PluginLogDir(c *config.Config) string { return filepath.Join(c.DataDir.Value, "logs", "plugins") }

// Granted adds to installed plugins what the operator grants to them for every call: the values
// of the granted environment variables, and, for the plugin that calls models, the allowed
// endpoints of models.
func Granted(c *config.Config, installed []plugin.Installed, getenv func(string) string) []plugin.Installed {
	for i := range installed {
		p := &installed[i]
		p.Env = append(p.Env, environment(p.Granted.Env, getenv)...)
		if p.Name == workflow.LLMPlugin {
			p.Granted.Network = append(slices.Clone(p.Granted.Network), c.Endpoints()...)
		}
	}
	return installed
}

// environment lists the variables with these names that are set, as NAME=value.
func environment(names []string, getenv func(string) string) (pairs []string) {
	names = slices.Sorted(slices.Values(names))
	for _, name := range slices.Compact(names) {
		if value := getenv(name); value != "" {
			pairs = append(pairs, name+"="+value)
		}
	}
	return pairs
}

// keepLog writes each line to its plugin's file, and passes it on. A file that can't be
// written causes one notice: calls continue without it.
func keepLog(files *logfile.Files, next func(plugin.LogLine), notices func(Notice)) func(plugin.LogLine) {
	var failed sync.Once
	return func(l plugin.LogLine) {
		if err := files.Write(l); err != nil {
			failed.Do(func() { notices(Notice{Level: "warn", Message: "plugin logs can't be written: " + err.Error()}) })
		}
		next(l)
	}
}

// Need is what a call of plugins needs from the host.
type Need struct {
	// Uses are the plugins with the variables and endpoints that their configs name.
	Uses []workflow.PluginUse
	// LLM is the model that plugins may be allowed to call: a workflow's settings.llm. nil means
	// none.
	LLM json.RawMessage
	// Namespace is the namespace of the call: policies depend on it.
	Namespace string
	// RunID is the run of the call; "" if there is none. The run's memories may be
	// recalled.
	RunID string
	// Folder is the workflow's folder on this machine, which programs may work on a copy of; "" is
	// none.
	Folder string
}

// Scope travels with every call of plugins that is made for one purpose, such as a run.
// Before anything starts, it refuses an endpoint that the operator doesn't allow, a variable
// that isn't set, and a plugin that differs from the caller's ([WithPins]) or from the one that
// all hosts of the store should have.
func (p *Plugins) Scope(ctx context.Context, need Need) (*plugin.Scope, error) {
	uses := append(slices.Clip(need.Uses), modelUse(need.LLM))
	if err := p.checkPins(ctx, need.Uses); err != nil {
		return nil, err
	}
	if err := p.checkLock(ctx, need.Uses); err != nil {
		return nil, err
	}
	if err := p.checkVersions(need.Uses); err != nil {
		return nil, err
	}
	if err := p.checkKeys(ctx, uses); err != nil {
		return nil, err
	}
	if err := p.checkEnv(need.Uses); err != nil {
		return nil, err
	}
	if err := p.checkEndpoints(uses); err != nil {
		return nil, err
	}
	s := &plugin.Scope{Namespace: need.Namespace, RunID: need.RunID, Folder: need.Folder, Env: map[string][]string{}}
	for _, use := range uses {
		pairs := environment(use.EnvNames, p.config.Getenv)
		p.warnOfKeys(pairs)
		s.Env[use.Plugin] = append(s.Env[use.Plugin], pairs...)
	}
	if len(need.LLM) > 0 {
		s.LLM = core.Target{Plugin: workflow.LLMPlugin, Config: jsontext.MustEncode(map[string]json.RawMessage{"llm": need.LLM})}
	}
	if need.RunID != "" {
		s.Recall = p.recall
	}
	return s, nil
}

// scoped makes the plugins callable with a [Plugins.Scope], which the context has. They stay callable
// until release is called; it must be called unless there is an error.
func (p *Plugins) scoped(ctx context.Context, need Need) (plugins *CallablePlugins, scoped context.Context, release func(), err error) {
	p.refresh()
	if plugins, release, err = p.hold(); err != nil {
		return nil, nil, nil, err
	}
	scope, err := p.Scope(ctx, need)
	if err != nil {
		release()
		return nil, nil, nil, err
	}
	return plugins, plugin.WithScope(ctx, scope), release, nil
}

// modelUse is what the model behind llm.complete needs from the host.
func modelUse(llm json.RawMessage) workflow.PluginUse {
	use := workflow.PluginUse{Plugin: workflow.LLMPlugin}
	var settings struct {
		KeyEnv  string `json:"api_key_env"`
		BaseURL string `json:"base_url"`
	}
	if json.Unmarshal(llm, &settings) != nil {
		return use // the plugin reports what is wrong
	}
	if settings.KeyEnv != "" {
		use.EnvNames, use.Keys = []string{settings.KeyEnv}, []workflow.KeyUse{{URL: settings.BaseURL, EnvName: settings.KeyEnv}}
	}
	if settings.BaseURL != "" {
		use.URLs = []string{settings.BaseURL}
	}
	return use
}

// ownVariables is the prefix of the program's own variables, some of which hold secrets such as
// the token for a server on another machine.
const ownVariables = "REFLECTORY_"

// checkEnv refuses an environment variable that a config names if it isn't set, or if it is one of
// the program's own variables, which a workflow could otherwise send to a model. Only the
// environment of the program that does the work counts: the caller's is never sent to a server.
func (p *Plugins) checkEnv(uses []workflow.PluginUse) error {
	for _, use := range uses {
		for _, variable := range use.EnvNames {
			if strings.HasPrefix(strings.ToUpper(variable), ownVariables) {
				return sdk.Errorf(sdk.Denied, "secret_denied", "api_key_env names %s for %s, which is a variable of this program and no key of a model", variable, use.Plugin).
					WithHint("keep the model's key in a variable of its own").WithDetail("variable", variable)
			}
			if p.config.Getenv(variable) == "" {
				return p.secretMissing(variable, use.Plugin)
			}
		}
	}
	return nil
}

// warnOfKeys names each variable, once, whose value stands where a key would be but isn't
// treated as a secret: it isn't cut out of replies and errors, which may have the same word.
func (p *Plugins) warnOfKeys(pairs []string) {
	for _, pair := range pairs {
		variable, value, _ := strings.Cut(pair, "=")
		if value = strings.TrimSpace(value); apikey.Secret(value) {
			continue
		}
		if _, known := p.namedKeys.LoadOrStore(variable, true); known {
			continue
		}
		why := fmt.Sprintf("has fewer than %d characters", apikey.MinSecret)
		if apikey.Placeholder(value) {
			why = "is a placeholder"
		}
		p.config.warnf("the key in %s %s: it is sent, but it isn't cut out of replies, errors and logs", variable, why)
	}
}

// checkKeys refuses a variable that the operator doesn't let be sent to the endpoint that the
// config names: else a caller of a server would choose which of the server's variables is sent
// where. It is refused before it is looked up, so that the answer doesn't say whether it is set. The
// operator, whose environment it is, may name any.
func (p *Plugins) checkKeys(ctx context.Context, uses []workflow.PluginUse) error {
	if who := core.CallerOf(ctx).Subject; who == "" || who == core.OperatorSubject { // "" is the program itself
		return nil
	}
	for _, use := range uses {
		for _, key := range use.Keys {
			endpoint, _ := config.EndpointOf(key.URL)
			if p.config.Settings.MaySend(endpoint, key.EnvName) {
				continue
			}
			return sdk.Errorf(sdk.Denied, "secret_denied", "the workflow sends the variable %s to %s, which this host doesn't allow", core.Cut(key.EnvName), core.Cut(endpoint)).
				WithHint("to allow it, add to reflectory.yaml: settings: {llm: {endpoints: [{host: %q, key_env: %s}]}}", core.Cut(endpoint), core.Cut(key.EnvName)).
				WithDetail("variable", core.Cut(key.EnvName)).WithDetail("endpoint", core.Cut(endpoint))
		}
	}
	return nil
}

// secretMissing is the error for a missing variable, with the place where it must be set.
func (p *Plugins) secretMissing(variable, plugin string) error {
	if p.config.Server != nil {
		return sdk.Errorf(sdk.Invalid, "secret_missing", "the environment variable %s, which api_key_env names for %s, is not set in the server's environment", variable, plugin).
			WithHint("set %s where the server is started, and start it again: a caller's own variables aren't sent to it", variable).WithDetail("variable", variable)
	}
	return sdk.Errorf(sdk.Invalid, "secret_missing", "the environment variable %s, which api_key_env names for %s, is not set", variable, plugin).
		WithHint("set it: export %s=…", variable).WithDetail("variable", variable)
}

// andRestart ends a hint that has settings changed that a server reads only when it is started.
func andRestart(c *Config) string {
	if c.Server == nil {
		return ""
	}
	return ", and restart the server"
}

// checkEndpoints refuses a base_url that the operator doesn't allow plugins to reach: a
// workflow alone mustn't decide where prompts and keys are sent.
func (p *Plugins) checkEndpoints(uses []workflow.PluginUse) error {
	allowed := p.config.Settings.Endpoints()
	for _, use := range uses {
		for _, base := range use.URLs {
			endpoint, ok := config.EndpointOf(base)
			if !ok || slices.Contains(allowed, endpoint) {
				p.config.Settings.Network().Speaks(base)
				continue // the plugin refuses an invalid URL
			}
			return sdk.Errorf(sdk.Denied, "llm_endpoint_denied", "the workflow asks a model at %s, which this host doesn't allow", endpoint).
				WithHint("to allow it, add to reflectory.yaml: settings: {llm: {endpoints: [%q]}}", endpoint).
				WithDetail("endpoint", endpoint).WithDetail("allowed", allowed)
		}
	}
	return nil
}
