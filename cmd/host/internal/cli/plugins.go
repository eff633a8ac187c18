package cli

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/reflectory/reflectory/core/host/config"
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
		Places: []install.Place{place, shippedPlace()}, Dev: a.config.Dev(), Trust: trust,
		TempDir: process.TempDir(), Warn: a.warnUnlocked,
	})
}

func (a *App) warnUnlocked(p *install.Plugin) {
	a.term.Line("%s plugin %s runs UNLOCKED from %s (dev: true): nothing checks its files, and it is granted %s",
		a.term.Bad("WARNING:"), p.Name, p.Folder, orNothing(p.Package.Capabilities.List()))
}

// granted adds to installed plugins what the operator gives them: the values of
// environment variables that they were granted or that a config names as
// api_key_env, and the endpoints of settings.llm to the plugin behind llm.
func (a *App) granted(installed []plugin.Installed, uses []workflow.PluginUse) []plugin.Installed {
	for i := range installed {
		p := &installed[i]
		names := slices.Clone(p.Granted.Env)
		for _, use := range uses {
			if use.Plugin == p.Name {
				names = append(names, use.EnvNames...)
			}
		}
		slices.Sort(names)
		for _, name := range slices.Compact(names) {
			if value := a.Getenv(name); value != "" {
				p.Env = append(p.Env, name+"="+value)
			}
		}
		if p.Name == workflow.LLMPlugin {
			p.Granted.Network = append(slices.Clone(p.Granted.Network), a.config.Endpoints()...)
		}
	}
	return installed
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
			endpoint, ok := config.EndpointOf(base)
			if !ok || slices.Contains(a.config.Endpoints(), endpoint) {
				continue // what is no URL is refused by the plugin
			}
			return sdk.Errorf(sdk.Denied, "llm_endpoint_denied", "the workflow asks a model at %s, which this host doesn't allow", endpoint).
				WithHint("if you do, add to reflectory.yaml: settings: {llm: {endpoints: [%q]}}", endpoint).
				WithDetail("endpoint", endpoint).WithDetail("allowed", a.config.Endpoints())
		}
	}
	return nil
}
