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

// statusError ends a command whose result has been printed, with the exit code for that
// result.
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
// printing, or with exit code 3 if the result isn't valid.
func exitNotValidUnless(valid bool, printed error) error {
	if printed == nil && !valid {
		return statusError{exitNotValid}
	}
	return printed
}

// usageError is an invalid command line.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// exit prints the result that was kept for the command's end, reports the command's
// error, unless it was reported, and returns the exit code.
func (a *App) exit(c *cobra.Command, err error) int {
	var status statusError
	if err == nil || errors.As(err, &status) {
		if err = a.out.flush(); err == nil {
			return status.code
		}
	}
	var known *sdk.Error
	if !a.understood && !errors.As(err, &known) {
		err = usageError{err} // an error of the command library
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

// report prints an error as JSON on standard output, together with the members of a
// result that exists despite the error. Otherwise, or if the JSON can't be written, it
// prints a line with the cause and a line with the hint. It reports whether all
// problems are about the values of flags.
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
		_ = json.Unmarshal(a.out.result, &shown) // a result that isn't an object isn't shown
		shown["error"] = info
		if a.out.printJSON(shown) == nil && a.out.flush() == nil {
			return aboutFlags
		}
	}
	_ = term.Message(a.out.Stderr, "error: "+term.Lines(message)) // the exit code shows it too
	if hint := a.out.hint(info); hint != "" {
		_ = term.Message(a.out.Stderr, "hint: "+term.Clean(hint))
	}
	return aboutFlags
}

// usageHint shows how a command is used.
func usageHint(c *cobra.Command) string {
	if c.HasSubCommands() {
		return c.CommandPath() + " --help lists the commands; each has an example in its own --help"
	}
	return fmt.Sprintf("write %s; see %s --help", c.UseLine(), c.CommandPath())
}
