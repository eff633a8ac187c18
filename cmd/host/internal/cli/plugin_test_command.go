package cli

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/plugin/install"
	"github.com/reflectory/reflectory/core/plugin/process"
	"github.com/reflectory/reflectory/sdk/sdktest"
)

func pluginTestCommand(a *App) *cobra.Command {
	return &cobra.Command{
		Use: "test DIR", Short: "Check a plugin against the contract",
		Long: `Check a plugin, in any language and with either runtime, against the contract. DIR
is a package: the folder with its plugin.yaml. It needn't be installed: it is run
from there, and granted everything that it asks for. Its fixtures, DIR/tests/*.json,
each hold a config, a request and the expected answer.

Exit codes: 0 every case passed, 3 some failed, 1 the check failed.`,
		Example: "  reflectory plugin test words\n  reflectory plugin test words --json",
		RunE: func(c *cobra.Command, args []string) error {
			return testPlugin(c.Context(), a, args[0])
		},
	}
}

// testPlugin runs the conformance kit on a package.
func testPlugin(ctx context.Context, a *App, dir string) (err error) {
	set, err := install.Open(install.Options{Dev: []string{dir}, TempDir: process.TempDir()})
	if err != nil {
		return err
	}
	defer closing(&err, set)
	if err := set.Plugins()[0].Problem; err != nil {
		return err
	}
	fixtures, err := sdktest.Load(os.DirFS(dir))
	if err != nil {
		return err
	}
	installed := host.Granted(a.config, set.Installed(), a.Getenv)
	drivers, err := host.OpenDrivers(a.config, installed, host.DriverOptions{VerdictBytes: noVerdicts, Log: a.pluginLog})
	if err != nil {
		return err
	}
	defer closing(&err, drivers)
	if _, err := drivers.Compile(ctx, set.Plugins()[0]); err != nil {
		return err
	}
	s := newSubject(installed[0].Name, func() *plugin.Supervisor {
		return plugin.NewSupervisor(plugin.Options{Installed: installed, Driver: set.Driver(drivers)})
	})
	defer closing(&err, s)
	results := sdktest.Check(ctx, s, fixtures, sdktest.Options{Report: func(r sdktest.Result) { a.out.term.Status("%s: %s", r.Case, r.Status) }})
	a.out.term.Status("")
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return printConformance(a.out, installed[0].Name, results)
}

// conformance is what plugin test prints as JSON.
type conformance struct {
	Plugin  string           `json:"plugin"`
	Passed  int              `json:"passed"`
	Failed  int              `json:"failed"`
	Skipped int              `json:"skipped"`
	Results []sdktest.Result `json:"results"`
}

// printConformance prints the table, and ends with exit 3 if a case failed.
func printConformance(out *output, name string, results []sdktest.Result) error {
	report := conformance{Plugin: name, Results: results}
	rows := make([][]string, len(results))
	for i, r := range results {
		says := r.Rule
		switch r.Status {
		case sdktest.Passed:
			report.Passed++
		case sdktest.Failed:
			report.Failed++
			says = cell(r.Detail)
		default:
			report.Skipped++
			says = cell(r.Detail)
		}
		rows[i] = []string{r.Case, string(r.Status), says}
	}
	passed := report.Failed == 0
	if out.json {
		return exitNotValidUnless(passed, out.printJSON(report))
	}
	if err := out.prose([]string{"CASE", "RESULT", "RULE, OR WHAT WAS FOUND"}, rows); err != nil {
		return err
	}
	fmt.Fprintf(out.Stdout, "\n%s: %d passed, %d failed, %d skipped\n", name, report.Passed, report.Failed, report.Skipped)
	return exitNotValidUnless(passed, nil)
}

// noVerdicts turns off the cache of verdicts, so that a module is asked each time: a cached
// verdict wouldn't test the module.
const noVerdicts = -1
