package cli

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"sync"

	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/plugin/install"
	"github.com/reflectory/reflectory/core/plugin/logfile"
	"github.com/reflectory/reflectory/core/plugin/services"
	"github.com/reflectory/reflectory/core/workflow"
)

// configPlugin judges configs by their plugins' schemas.
const configPlugin = "reflectory/schema-eval"

// pluginHost is the installed plugins with what they need of the host.
type pluginHost struct {
	*plugin.Supervisor
	set      *install.Set
	drivers  *drivers
	services *services.Host
	logs     *logfile.Files
}

// Close stops the plugins, then what they used, and removes what they were
// started from.
func (h *pluginHost) Close() error {
	return errors.Join(h.Supervisor.Close(), h.drivers.Close(), h.services.Close(), h.logs.Close(), h.set.Close())
}

// hostPlugins runs the plugins of a set with the host's services. admit is asked with
// each scope.
func (a *App) hostPlugins(set *install.Set, installed []plugin.Installed, admit func(context.Context, plugin.Installed) error) (*pluginHost, error) {
	h := &pluginHost{set: set, logs: logfile.New(logfile.Options{Dir: a.pluginLogDir()})}
	log := a.keepLog(h.logs)
	h.services = services.New(services.Options{Log: log})
	var err error
	if h.drivers, err = a.openDrivers(installed, driverOptions{log: log, services: h.services}); err != nil {
		return nil, errors.Join(err, h.services.Close(), h.logs.Close(), set.Close())
	}
	h.Supervisor = plugin.NewSupervisor(plugin.Options{
		Installed: installed, Driver: set.Driver(h.drivers), Admit: admit, ConfigEvaluator: configPlugin,
	})
	return h, nil
}

func (a *App) pluginLogDir() string { return filepath.Join(a.config.DataDir.Value, "logs", "plugins") }

// keepLog keeps each line in its plugin's file, and shows it on the terminal. A
// file that can't be written is told of once: a run goes on without.
func (a *App) keepLog(files *logfile.Files) func(plugin.LogLine) {
	var failed sync.Once
	return func(l plugin.LogLine) {
		if err := files.Write(l); err != nil {
			failed.Do(func() { a.term.Line("warn: plugin logs aren't kept: %v", err) })
		}
		a.pluginLog(l)
	}
}

// leastLevel is the level from which plugins write logs at all: what is shown,
// and info, which is kept.
func (a *App) leastLevel() string {
	if level := a.config.LogLevel.Value; rank(level) < rank("info") {
		return level
	}
	return "info"
}

// modelUse is what the model behind llm.complete needs of the host.
func modelUse(llm json.RawMessage) workflow.PluginUse {
	use := workflow.PluginUse{Plugin: workflow.LLMPlugin}
	var settings struct {
		KeyEnv  string `json:"api_key_env"`
		BaseURL string `json:"base_url"`
	}
	if json.Unmarshal(llm, &settings) != nil {
		return use // the plugin says what is wrong
	}
	if settings.KeyEnv != "" {
		use.EnvNames = []string{settings.KeyEnv}
	}
	if settings.BaseURL != "" {
		use.URLs = []string{settings.BaseURL}
	}
	return use
}
