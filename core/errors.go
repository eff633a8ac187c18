package core

import (
	"slices"
	"strings"

	"github.com/reflectory/reflectory/sdk"
)

// maxShown bounds how much of an untrusted word a message shows, in bytes: names are
// shorter.
const maxShown = 64

// Cut shortens an untrusted word for a message.
func Cut(text string) string {
	if len(text) <= maxShown {
		return text
	}
	return strings.ToValidUTF8(text[:maxShown-3], "") + "..."
}

// JoinErrors makes one error of several, so that all problems are reported at once: a
// line for each, with its hint in brackets. It has the class of the first one. Its reason
// is theirs if they share one, else "several_problems", and the detail "problems" lists
// them as []*ErrorInfo. nil errors are skipped, and errors with the same text, whatever
// was being done, are counted once. It returns nil if there are none, and a single error
// as it is.
func JoinErrors(errs ...error) error {
	refused := map[string]bool{}
	errs = slices.DeleteFunc(slices.Clone(errs), func(err error) bool {
		if sdk.CodeOf(err) != sdk.Denied {
			return err == nil
		}
		text := sdk.AsError(err).Message
		repeated := refused[text]
		refused[text] = true
		return repeated
	})
	if len(errs) == 0 {
		return nil
	}
	if len(errs) == 1 {
		return errs[0]
	}
	reason := sdk.ReasonOf(errs[0])
	lines, problems := make([]string, len(errs)), make([]*ErrorInfo, len(errs))
	for i, err := range errs {
		problems[i] = NewErrorInfo(err)
		lines[i] = problems[i].Message
		if problems[i].Hint != "" {
			lines[i] += " (" + problems[i].Hint + ")"
		}
		if problems[i].Code != reason {
			reason = "several_problems"
		}
	}
	return sdk.Errorf(sdk.CodeOf(errs[0]), reason, "%s", strings.Join(lines, "\n")).WithDetail("problems", problems)
}
