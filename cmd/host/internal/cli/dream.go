package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/cmd/host/internal/term"
	"github.com/reflectory/reflectory/core/dream"
	"github.com/reflectory/reflectory/core/host/operation"
)

func dreamCommand(a *App) *cobra.Command {
	return noun("dream", "Plan, run and undo the housekeeping of memories", `Plan, run and undo the housekeeping of memories. A pass makes relative dates absolute,
merges memories that say the same, decides contradictions, and archives stale memories.
Every pass is planned first; its plan can be inspected, and its changes can be undone.
dates and compare try parts of this on texts, and calibrate measures the embedding
model.`,
		dreamPlanCommand(a), dreamRunCommand(a), dreamApplyCommand(a), dreamUndoCommand(a), dreamListCommand(a), dreamShowCommand(a),
		dreamConflictsCommand(a), dreamDatesCommand(a), dreamCompareCommand(a), dreamCalibrateCommand(a),
	)
}

func dreamDatesCommand(a *App) *cobra.Command {
	in := &operation.DreamDates{}
	c := verb[dream.DatedText]{
		Use: "dates TEXT|-", Short: "Print a text with its relative dates made absolute",
		Long: `Print a text with "yesterday", "in two weeks" and the like replaced by calendar dates.
Anything that isn't certainly a date is kept: code, quoted text, names, habits ("every
day"), and longer phrases that contain a date ("over the last month"). With -, the text
is read from standard input.`,
		Example:   "  reflectory dream dates \"We met yesterday\"\n  reflectory dream dates --at 2026-04-15T12:00:00+02:00 \"It expires in two weeks\" --json",
		Operation: "dream_dates", In: in,
		Prepare: func(_ *cobra.Command, args []string) (err error) {
			in.Text, err = a.input.text(args[0])
			return err
		},
		Print: func(out *output, dated *dream.DatedText) error {
			return out.say("%s", term.Lines(strings.TrimSuffix(dated.Text, "\n")))
		},
	}.command(a)
	c.Flags().StringVar(&in.At, "at", "", "the `time` that relative dates count from, with its time zone (default: now)")
	c.Flags().BoolVar(&in.KeepPhrase, "keep-phrase", false, "keep each phrase, and add its date after it")
	c.Flags().BoolVar(&in.Ranges, "ranges", false, "replace last or next week, month or year by its first and last day")
	return c
}

// text is an argument, or standard input for "-".
func (in inputs) text(arg string) (string, error) {
	if arg != "-" {
		return arg, nil
	}
	text, err := in.read(arg, operation.MaxDreamText)
	return string(text), err
}
