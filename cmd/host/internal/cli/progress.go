package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/cmd/host/internal/term"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/config"
	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/sdk"
)

// runEvents shows a run while it runs; nil with --json.
func runEvents(out *output) func(core.Event) {
	if out.json {
		return nil
	}
	return func(e core.Event) { showEvent(out, e) }
}

// doing is what a role does, for the status.
var doing = map[sdk.Role]string{sdk.RoleGenerate: "generating", sdk.RoleCorrect: "correcting", sdk.RoleEvaluate: "evaluating"}

func showEvent(out *output, e core.Event) {
	switch e := e.(type) {
	case core.NodeStarted:
		out.term.Line("%s %s", e.Node, out.term.Faint("("+e.Action+")"))
		out.term.Wait("  %s …", e.Action)
	case core.NodeEnded:
		out.term.Clear()
		if e.Skipped {
			out.term.Line("  skipped: its when condition is false")
		}
	case core.IterationStarted:
		out.term.Status("  %d/%d  %s …", e.Iteration, e.Max, doing[e.Role])
	case core.OutputChunk:
		out.term.Stream(e.Text)
	case core.AttemptJudged:
		out.term.Line("%s", attemptLine(out, e))
	case core.CallRetried:
		out.term.Note("  %d     %s failed, next try in %s: %s", e.Iteration, e.Role, term.Duration(e.Wait), term.Clean(e.Err.Error()))
	case core.CorrectorFailed:
		out.term.Note("  %d     the corrector failed, the generator runs again: %s", e.Iteration, term.Clean(e.Err.Error()))
	case core.FeedbackFailed:
		out.term.Line("warn: the memories couldn't learn from the run: %s", term.Clean(e.Err.Error()))
	case core.PluginChanged:
		out.term.Line("warn: the attempts so far were made with %s %s, and the next ones are made with %s", term.Clean(e.Plugin), term.Clean(e.Was), term.Clean(e.Now))
	case core.LoopEnded:
		out.term.Line("%s", loopLine(out, e.Result))
	}
}

func attemptLine(out *output, e core.AttemptJudged) string {
	at := e.Attempt
	word, colour := wordFor(at), out.term.Bad
	if at.Accepted {
		colour = out.term.Good
	}
	switch {
	case len(at.Errors) > 0 && at.Accepted: // perhaps from one of several evaluators: the attempt passed anyway
		word += ": " + firstError(at.Errors)
	case len(at.Errors) > 0:
		word = firstError(at.Errors)
	}
	return fmt.Sprintf("  %d/%d  %s %.2f  %s  %s", at.Iteration, e.Max, colour(term.Bar(at.Score)), at.Score,
		word, out.term.Faint(term.Duration(e.Took)))
}

// wordFor is the result of a judged attempt in words: valid or not by the
// evaluator, and accepted or refused by the loop's own rule, if the two differ.
func wordFor(at *core.Attempt) string {
	switch {
	case at.Valid && at.Accepted:
		return "valid"
	case at.Accepted:
		return "accepted"
	case at.Valid:
		return "valid, not accepted"
	}
	return "not valid"
}

func loopLine(out *output, r *core.LoopResult) string {
	colour := out.term.Bad
	if r.Status == core.StatusPassed {
		colour = out.term.Good
	}
	line := fmt.Sprintf("  %s", colour(string(r.Status)))
	if r.Status != core.StatusPassed {
		line += fmt.Sprintf(" (%s)", r.StopReason)
	}
	if r.Iteration == 0 {
		line += ": no attempt was made"
	} else {
		line += fmt.Sprintf(": iteration %d of %d, score %.2f", r.Iteration, len(r.History), r.Score)
	}
	if tokens := r.Usage.Tokens(); tokens > 0 {
		line += fmt.Sprintf(", %d tokens", tokens)
	}
	if r.Usage.CostUSD > 0 {
		line += fmt.Sprintf(", $%.4f", r.Usage.CostUSD)
	}
	return line
}

// firstError is the first finding on one line, and how many more there are.
func firstError(findings []sdk.Finding) string {
	text := strings.TrimSpace(term.Clean(errorText(&findings[0])))
	if more := len(findings) - 1; more > 0 {
		text += fmt.Sprintf(" (+%d more)", more)
	}
	return text
}

// errorText is a finding with its path and its source.
func errorText(f *sdk.Finding) string {
	text := f.Message
	if f.Path != "" {
		text = f.Path + ": " + text
	}
	if f.Source != "" {
		text = "[" + f.Source + "] " + text
	}
	return text
}

// rank is the position of a level in the list of levels.
func rank(level string) int { return slices.Index(config.LogLevels(), level) }

// shows reports whether logs of a level are shown.
func (a *App) shows(level string) bool {
	return rank(level) >= rank(a.config.LogLevel.Value)
}

// pluginLog shows a plugin's log line, if its level is at least the configured one.
func (a *App) pluginLog(l plugin.LogLine) {
	if !a.shows(l.Level) {
		return
	}
	a.out.term.Note("%s: plugin %s: %s", l.Level, l.Plugin, term.Cut(logText(l), 300))
	if l.Dropped > 0 {
		a.out.term.Note("warn: plugin %s: %d log lines were dropped before this one", l.Plugin, l.Dropped)
	}
}
