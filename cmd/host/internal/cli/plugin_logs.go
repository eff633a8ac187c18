package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/cmd/host/internal/term"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/sdk"
)

func pluginLogsCommand(a *App) *cobra.Command {
	in := &operation.PluginLogs{}
	var follow bool
	c := &cobra.Command{
		Use: "logs NAME", Short: "Show what a plugin has logged",
		Long: `Show what a plugin has logged in all runs, the newest line last. Lines of level info and
above, or of --log-level and above if that is lower, are kept in
<data-dir>/logs/plugins, about 16 MiB for each plugin. The values of environment
variables that the plugin was granted are replaced by ***.`,
		Example: `  reflectory plugin logs reflectory/schema-eval
  reflectory plugin logs reflectory/schema-eval --lines 500 --json`,
		RunE: func(c *cobra.Command, args []string) error {
			if follow && a.out.json {
				return usageError{sdk.Errorf(sdk.Invalid, "usage", "--follow has no end, and --json prints one value").
					WithHint("leave one of them out")}
			}
			in.Name = args[0]
			return pluginLogs(c.Context(), a, in, follow)
		},
	}
	c.Flags().IntVar(&in.Lines, "lines", 0, fmt.Sprintf("how many lines at most (default %d)", operation.DefaultLogLines))
	c.Flags().StringVar(&in.After, "after", "", "show the first lines after this `place`: next in an earlier answer with --json")
	c.Flags().BoolVarP(&follow, "follow", "f", false, "continue with lines as they are written, until interrupted")
	return c
}

func pluginLogs(ctx context.Context, a *App, in *operation.PluginLogs, follow bool) error {
	asked := ctx
	if follow {
		asked = context.WithoutCancel(ctx) // an interrupt ends only the waiting for new lines
	}
	tail, err := do[operation.PluginLog](asked, a, "plugin_logs", in)
	if err != nil {
		return err
	}
	if len(tail.Lines) == 0 {
		a.out.term.Line("plugin %s has logged nothing: a log begins with the first line that it writes in a run", term.Clean(tail.Plugin))
	}
	if a.out.json {
		return a.out.printJSON(tail)
	}
	for _, l := range tail.Lines {
		if err := printLogLine(a.out, l); err != nil {
			return err
		}
	}
	if !follow {
		return nil
	}
	return a.followLog(ctx, in.Name, tail.Next)
}

// followPause is how long to wait before a log is looked at again.
const followPause = 200 * time.Millisecond

// followLog prints the lines that come after a place, until ctx ends.
func (a *App) followLog(ctx context.Context, name, place string) error {
	tick := time.NewTicker(followPause)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		for full := true; full; {
			more, err := do[operation.PluginLog](ctx, a, "plugin_logs", &operation.PluginLogs{Name: name, After: place, Lines: followLines})
			if ctx.Err() != nil {
				return nil
			}
			if err != nil {
				return err
			}
			for _, l := range more.Lines {
				if err := printLogLine(a.out, l); err != nil {
					return err
				}
			}
			place, full = more.Next, len(more.Lines) == followLines
		}
	}
}

// followLines is how many lines are requested at a time.
const followLines = 1000

// printLogLine prints a line as "time level run message name=value …".
func printLogLine(out *output, l plugin.LogLine) error {
	at := term.Time(l.Time)
	if l.Dropped > 0 {
		if _, err := fmt.Fprintf(out.Stdout, "%s  warn   %s dropped here: the plugin wrote too many\n", at, plural(l.Dropped, "line was", "lines were")); err != nil {
			return err
		}
	}
	run := ""
	if l.RunID != "" {
		run = "run " + l.RunID[:min(len(l.RunID), shortRunID)] + "  "
	}
	_, err := fmt.Fprintf(out.Stdout, "%s  %-5s  %s%s\n", at, term.Clean(l.Level), term.Clean(run), term.Clean(logText(l)))
	return err
}

// shortRunID is how much of a run's id is shown: enough to find the run.
const shortRunID = 13

// logText is a line's message and its fields. An ambiguous name or value is quoted.
func logText(l plugin.LogLine) string {
	var text strings.Builder
	text.WriteString(l.Message)
	for _, name := range slices.Sorted(maps.Keys(l.Fields)) {
		fmt.Fprintf(&text, " %s=%s", quoted(name), quoted(fmt.Sprint(l.Fields[name])))
	}
	return text.String()
}

// quoted is a text, in quotes if it has a space, a quote or an equals sign.
func quoted(text string) string {
	if strings.ContainsAny(text, " \"=\n\t") {
		return strconv.Quote(text)
	}
	return text
}
