package cli

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/cmd/host/internal/term"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// Exit codes.
const (
	exitPassed    = 0
	exitFailure   = 1
	exitUsage     = 2
	exitNotValid  = 3
	exitDenied    = 4
	exitRaised    = 5
	exitCancelled = 130
)

// statusError ends a command whose result has been printed, with an exit code
// that says how it went.
type statusError struct{ code int }

func (e statusError) Error() string { return fmt.Sprintf("exit %d", e.code) }

// statusExit is the error of a run's status: nil if it passed.
func statusExit(s core.Status) error {
	switch s {
	case core.StatusPassed:
		return nil
	case core.StatusExhausted:
		return statusError{exitNotValid}
	case core.StatusRaised:
		return statusError{exitRaised}
	case core.StatusCancelled:
		return statusError{exitCancelled}
	}
	return statusError{exitFailure}
}

// exitNotValidUnless ends a command that has printed its result: with the error of
// the printing, or else with exit code 3, unless the result is valid.
func exitNotValidUnless(valid bool, printed error) error {
	if printed == nil && !valid {
		return statusError{exitNotValid}
	}
	return printed
}

// usageError is a command line that can't be understood.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// exit prints the result that waits for the command's end, reports its error, if there is
// one left to report, and returns the exit code.
func (a *App) exit(c *cobra.Command, err error) int {
	var status statusError
	if err == nil || errors.As(err, &status) {
		if err = a.out.flush(); err == nil {
			return status.code
		}
	}
	var known *sdk.Error
	if !a.understood && !errors.As(err, &known) {
		err = usageError{err} // the command library's own words
	}
	aboutFlags := a.report(c, err)
	var usage usageError
	switch {
	case errors.As(err, &usage), aboutFlags && sdk.CodeOf(err) == sdk.Invalid:
		return exitUsage
	case sdk.CodeOf(err) == sdk.Cancelled:
		return exitCancelled
	case sdk.CodeOf(err) == sdk.Denied:
		return exitDenied
	}
	return exitFailure
}

// report prints an error: as JSON on standard output, with the members of the result that
// there is all the same, or, also where that can't be written, as a line of cause and a
// line of hint. It reports whether all that is wrong is the values of flags.
func (a *App) report(c *cobra.Command, err error) (aboutFlags bool) {
	info := core.NewErrorInfo(err)
	message, aboutFlags := a.inFlags(c, info)
	var usage usageError
	if errors.As(err, &usage) {
		info.Code = "usage"
		if info.Hint == "" {
			info.Hint = usageHint(c)
		}
	}
	if a.out.json || a.asksJSON && !a.understood {
		shown := map[string]any{}
		_ = json.Unmarshal(a.out.result, &shown) // a result that is no object isn't shown
		shown["error"] = info
		if a.out.printJSON(shown) == nil && a.out.flush() == nil {
			return aboutFlags
		}
	}
	_ = term.Message(a.out.Stderr, "error: "+term.Lines(message)) // the exit code says it too
	if hint := a.out.hint(info); hint != "" {
		_ = term.Message(a.out.Stderr, "hint: "+term.Clean(hint))
	}
	return aboutFlags
}

// usageHint says how a command is used.
func usageHint(c *cobra.Command) string {
	if c.HasSubCommands() {
		return c.CommandPath() + " --help lists the commands; each has an example in its own --help"
	}
	return fmt.Sprintf("write %s; see %s --help", c.UseLine(), c.CommandPath())
}
