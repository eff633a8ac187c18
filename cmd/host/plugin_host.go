package main

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"sync"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/plugin/logfile"
	"github.com/reflectory/reflectory/core/plugin/process"
	"github.com/reflectory/reflectory/core/plugin/services"
	"github.com/reflectory/reflectory/core/workflow"
)

// The shipped plugins that serve the host itself.
const (
	modelPlugin  = "llm-eval"    // completes what plugins ask of the host's model
	configPlugin = "schema-eval" // judges configs by their plugins' schemas
)

// pluginHost is the installed plugins with what they need of the host.
type pluginHost struct {
	*plugin.Supervisor
	services *services.Host
	logs     *logfile.Files
}

// Close stops the plugins and then what they used.
func (h *pluginHost) Close() error {
	return errors.Join(h.Supervisor.Close(), h.services.Close(), h.logs.Close())
}

// hostPlugins runs plugins with the host's services. Where llm, a workflow's
// settings.llm, is set, plugins that were granted llm.complete reach that model.
func (a *App) hostPlugins(installed []plugin.Installed, llm json.RawMessage) *pluginHost {
	h := &pluginHost{logs: logfile.New(logfile.Options{Dir: a.pluginLogDir()})}
	log := a.keepLog(h.logs)
	options := services.Options{Log: log}
	if len(llm) > 0 {
		options.LLM = core.Target{Plugin: modelPlugin, Config: core.MustJSON(map[string]json.RawMessage{"llm": llm})}
	}
	h.services = services.New(options)
	h.Supervisor = plugin.NewSupervisor(plugin.Options{
		Installed: installed, Dir: a.config.PluginDir.Value, ConfigEvaluator: configPlugin,
		Driver: process.New(process.Options{Log: log, LogLevel: a.leastLevel(), Services: h.services, Network: network}),
	})
	h.services.Connect(h.Supervisor)
	return h
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
	if level := a.config.LogLevel.Value; slices.Index(levels, level) < slices.Index(levels, "info") {
		return level
	}
	return "info"
}

// modelUse is what the model behind llm.complete needs of the host.
func modelUse(llm json.RawMessage) workflow.PluginUse {
	use := workflow.PluginUse{Plugin: modelPlugin}
	var settings struct {
		KeyEnv string `json:"api_key_env"`
	}
	if json.Unmarshal(llm, &settings) == nil && settings.KeyEnv != "" {
		use.EnvNames = []string{settings.KeyEnv}
	}
	return use
}
