package cli

import (
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/plugin/install"
	"github.com/reflectory/reflectory/core/plugin/process"
	"github.com/reflectory/reflectory/core/workflow"
	"github.com/reflectory/reflectory/sdk"
)

// place is the lock that plugins are added to.
func (a *App) place() (install.Place, error) {
	lock, err := filepath.Abs(a.config.Lock.Value)
	if err != nil {
		return install.Place{}, sdk.Wrap("find "+install.LockFile, err)
	}
	dir, err := filepath.Abs(a.config.PluginDir.Value)
	if err != nil {
		return install.Place{}, sdk.Wrap("find the plugin folder", err)
	}
	return install.Place{Label: "project", Lock: lock, Dir: dir}, nil
}

// shippedLabel is what plugins beside the program are called.
const shippedLabel = "shipped"

// shippedPlace is plugins beside the program.
func shippedPlace() install.Place {
	program, _ := os.Executable() // "" is the working folder
	if real, err := filepath.EvalSymlinks(program); err == nil {
		program = real // a link in a folder of PATH
	}
	dir := filepath.Join(filepath.Dir(program), "plugins")
	return install.Place{Label: shippedLabel, Lock: filepath.Join(dir, install.LockFile), Dir: dir, Repair: "make build"}
}

// openSet reads what is installed.
func (a *App) openSet() (*install.Set, error) {
	place, err := a.place()
	if err != nil {
		return nil, err
	}
	trust, err := install.ReadTrust(a.config.TrustFile.Value)
	if err != nil {
		return nil, err
	}
	return install.Open(install.Options{
		Places: []install.Place{place, shippedPlace()}, Dev: a.config.dev, Trust: trust,
		TempDir: process.TempDir(), Warn: a.warnUnlocked,
	})
}

func (a *App) warnUnlocked(p *install.Plugin) {
	a.term.Line("%s plugin %s runs UNLOCKED from %s (dev: true): nothing checks its files, and it is granted %s",
		a.term.Bad("WARNING:"), p.Name, p.Folder, orNothing(p.Package.Capabilities.List()))
}

// granted adds to installed plugins what the operator gives to all calls of them: the
// values of environment variables that they were granted, and the endpoints of
// settings.llm to the plugin behind llm.
func (a *App) granted(installed []plugin.Installed) []plugin.Installed {
	for i := range installed {
		p := &installed[i]
		p.Env = append(p.Env, a.pairs(p.Granted.Env)...)
		if p.Name == workflow.LLMPlugin {
			p.Granted.Network = append(slices.Clone(p.Granted.Network), a.config.LLMEndpoints.list()...)
		}
	}
	return installed
}

// environment is what configs name as api_key_env, by plugin: it is for the calls of
// their command alone.
func (a *App) environment(uses []workflow.PluginUse) map[string][]string {
	env := map[string][]string{}
	for _, use := range uses {
		env[use.Plugin] = append(env[use.Plugin], a.pairs(use.EnvNames)...)
	}
	return env
}

// pairs are the variables of some names that are set, as NAME=value.
func (a *App) pairs(names []string) []string {
	var pairs []string
	for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
		if value := a.Getenv(name); value != "" {
			pairs = append(pairs, name+"="+value)
		}
	}
	return pairs
}

// checkEnv refuses to begin without an environment variable that a config names.
func (a *App) checkEnv(uses []workflow.PluginUse) error {
	for _, use := range uses {
		for _, variable := range use.EnvNames {
			if a.Getenv(variable) == "" {
				return sdk.Errorf(sdk.Invalid, "env_missing", "the environment variable %s, which api_key_env names for %s, is not set", variable, use.Plugin).
					WithHint("set it: export %s=…", variable)
			}
		}
	}
	return nil
}

// checkEndpoints refuses a base_url that the operator doesn't let plugins reach:
// a workflow alone mustn't decide where prompts and keys are sent.
func (a *App) checkEndpoints(uses []workflow.PluginUse) error {
	for _, use := range uses {
		for _, base := range use.URLs {
			endpoint, ok := endpointOf(base)
			if !ok || slices.Contains(a.config.LLMEndpoints.list(), endpoint) {
				continue // what is no URL is refused by the plugin
			}
			return sdk.Errorf(sdk.Denied, "llm_endpoint_denied", "the workflow asks a model at %s, which this host doesn't allow", endpoint).
				WithHint("if you do, add to reflectory.yaml: settings: {llm: {endpoints: [%q]}}", endpoint).
				WithDetail("endpoint", endpoint).WithDetail("allowed", a.config.LLMEndpoints.list())
		}
	}
	return nil
}

// endpointOf is the host:port of a URL.
func endpointOf(base string) (string, bool) {
	u, err := url.Parse(base)
	if err != nil || u.Hostname() == "" {
		return "", false
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return net.JoinHostPort(strings.ToLower(u.Hostname()), port), port != ""
}
