package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/cmd/host/internal/term"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/host/config"
	"github.com/reflectory/reflectory/core/host/operation"
)

// The program without arguments is what newcomers see first. It says what the program is, what to
// type and, on a terminal, what this folder has; the list of all commands is a word further.

// inOneSentence is what the program is.
const inOneSentence = "Reflectory runs agents that check their own work, and remembers what they got wrong so that the next run does better."

// firstCommand is a command that newcomers type first.
type firstCommand struct {
	Command string `json:"command"`
	Does    string `json:"does"`
}

// firstCommands are in the order in which a newcomer types them.
func firstCommands() []firstCommand {
	return []firstCommand{
		{"reflectory try", "see it work, offline, within seconds"},
		{"reflectory init hello", "make a project that works offline"},
		{"reflectory run WORKFLOW", "generate, evaluate, correct until it passes"},
		{"reflectory workflow check FILE", "find its mistakes without running it"},
		{"reflectory runs list", "look at what was run"},
		{"reflectory memory list", "look at what was remembered"},
	}
}

// welcome prints the first screen.
func (a *App) welcome(c *cobra.Command) error {
	if a.out.json {
		return a.out.printJSON(map[string]any{"about": inOneSentence, "first": firstCommands(), "help": "reflectory help"})
	}
	p := newPage(c.OutOrStdout())
	p.paragraphs(inOneSentence)
	p.title("Begin with")
	for _, first := range firstCommands() {
		p.entry(first.Command, first.Does, 30)
	}
	if term.IsTerminal(p.w) {
		p.title("Here")
		for _, row := range a.here(c.Context()) {
			p.entry(row[0], row[1], 8)
		}
	}
	p.title("More")
	p.entry("reflectory help", "all commands, by purpose", 30)
	p.entry("reflectory COMMAND --help", "a command's page, with examples", 30)
	return nil
}

// here is what this folder and its store have, in rows of a name and a text.
func (a *App) here(ctx context.Context) [][2]string {
	if err := a.load(); err != nil {
		return [][2]string{{"problem", core.NewErrorInfo(err).Message}}
	}
	rows := [][2]string{
		{"settings", cmp.Or(a.config.File(), "no "+config.FileName)},
		{"store", a.storeHere(core.WithCaller(ctx, core.Operator(a.config.Agent.Value)))},
	}
	if models := localModels(ctx, ollamaURL); len(models) > 0 {
		rows = append(rows, [2]string{"models", strings.Join(models, ", ") + ", at " + ollamaURL})
	}
	return rows
}

// storeHere says what the store holds, or why that isn't known. A store that isn't there isn't made.
func (a *App) storeHere(ctx context.Context) string {
	s := host.UnopenedStatus(a.config, version, func(host.Notice) {})
	if !a.remote() && !a.config.Shared() && !s.Store.Exists {
		return storeLine(s.Store)
	}
	stats, err := do[operation.Stats](ctx, a, "stats", &operation.StatsGet{Scope: operation.StatsMemory})
	if err != nil {
		return core.NewErrorInfo(err).Message
	}
	runs, err := do[operation.Page[operation.RunSummary]](ctx, a, "run_list", &operation.RunList{Paging: operation.Paging{Limit: 1}})
	if err != nil {
		return core.NewErrorInfo(err).Message
	}
	line := plural(int(stats.Memory.Memories), "memory", "memories")
	if len(runs.Items) > 0 {
		line += fmt.Sprintf("; the newest run is %s, %s", term.Clean(runs.Items[0].RunID), runs.Items[0].Status)
	}
	if a.server != nil {
		line += "; a server has it open"
	}
	return line + " (" + a.config.DataDir.Value + ")"
}

// ollamaURL is where Ollama, which runs models on this machine, listens by default.
const ollamaURL = "http://127.0.0.1:11434"

// localModels are the names of the models that a program on this machine offers; none if it doesn't
// answer within 300 ms, which is long for a program on this machine and short for a person.
func localModels(ctx context.Context, url string) (names []string) {
	ctx, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/api/tags", nil)
	if err != nil {
		return nil
	}
	transport := &http.Transport{DisableKeepAlives: true} // without the proxy of the environment
	answer, err := transport.RoundTrip(r)
	if err != nil {
		return nil
	}
	defer answer.Body.Close() //nolint:errcheck // only read
	var tags struct {
		Models []struct {
			Name string `json:"name"`
		} `json:"models"`
	}
	const most = 1 << 20 // bytes; the list of a model is under 1 kB
	if answer.StatusCode != http.StatusOK || json.NewDecoder(io.LimitReader(answer.Body, most)).Decode(&tags) != nil {
		return nil
	}
	for _, m := range tags.Models[:min(len(tags.Models), 3)] {
		names = append(names, term.Clean(m.Name))
	}
	return names
}
