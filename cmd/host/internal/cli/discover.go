package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/core/discover"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/jsontext"
)

func discoverCommand(a *App) *cobra.Command {
	in := &operation.Discover{}
	c := verb[discover.Answer]{
		Use: "discover INTENT", Short: "Find the tool, plugin or workflow that fits an intent",
		Long: `Find the tool, plugin or workflow that fits an intent, among those that you may use. A
clear match is recommended. If the match is less clear, the answer is a question to ask
first. If nothing fits well, the answer is to do nothing.`,
		Example:   `  reflectory discover "check a document against a JSON Schema"`,
		Operation: "discover", In: in, Args: []*string{&in.Intent},
		Print: showDiscovered,
	}.command(a)
	namespaceFlag(c, &in.Namespace)
	return c
}

func showDiscovered(out *output, answer *discover.Answer) error {
	out.term.Line("confidence %s", answer.Confidence)
	switch {
	case answer.ExecutionBlocked:
		out.term.Line("nothing fits well enough: say it in other words")
		return nil
	case answer.ClarificationRequired:
		out.term.Line("%s", answer.Question)
	default:
		r := answer.Recommended
		out.term.Line("use the %s %s: %s", r.Kind, oneLine(r.Name), oneLine(string(jsontext.MustEncode(r.Usage))))
	}
	rows := make([][]string, len(answer.Candidates))
	for i, r := range answer.Candidates {
		rows[i] = []string{string(r.Kind), cell(r.Name), fmt.Sprintf("%.2f", r.FinalScore), cell(strings.TrimSpace(r.Description))}
	}
	return out.table([]string{"KIND", "NAME", "SCORE", "DESCRIPTION"}, rows)
}
