package core

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core/jsontext"
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

// ErrorInfo is an error as JSON shows it.
type ErrorInfo struct {
	// Code is the error's Reason, else its class.
	Code    string `json:"code"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
	// Try is the operation that follows Hint.
	Try     *sdk.Action    `json:"try,omitempty"`
	Details map[string]any `json:"details,omitempty"`
}

// NewErrorInfo describes err; nil gives nil.
func NewErrorInfo(err error) *ErrorInfo {
	if err == nil {
		return nil
	}
	e := sdk.AsError(err)
	return &ErrorInfo{Code: sdk.ReasonOf(err), Message: err.Error(), Hint: e.Hint, Try: e.Try, Details: e.Details}
}

// JoinErrors makes one error of several, so that all problems are reported at once: a line
// for each, with its hint in brackets. The joined error has the class of the first error. Its
// reason is their common reason, or "several_problems" if their reasons differ, and the
// detail "problems" lists them as []*ErrorInfo. nil errors are skipped, and errors with the
// same text, whatever their Op, are counted once. The problems of an error that was joined itself
// are listed as they are. It returns nil if there are no errors, and
// returns a single error unchanged.
func JoinErrors(errs ...error) error {
	if !slices.ContainsFunc(errs, func(err error) bool { return err != nil }) {
		return nil
	}
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
	if len(errs) == 1 {
		return errs[0]
	}
	var problems []*ErrorInfo
	for _, err := range errs {
		e := sdk.AsError(err)
		if parts, joined := e.Details["problems"].([]*ErrorInfo); joined && e.Op == "" && error(e) == err { //nolint:errorlint // not one that it wraps
			problems = append(problems, parts...)
			continue
		}
		problems = append(problems, NewErrorInfo(err))
	}
	reason, lines := problems[0].Code, make([]string, len(problems))
	for i := range problems {
		lines[i] = problems[i].Message
		if problems[i].Hint != "" {
			lines[i] += " (" + problems[i].Hint + ")"
		}
		if problems[i].Code != reason {
			reason = "several_problems"
		}
	}
	joined := sdk.Errorf(sdk.CodeOf(errs[0]), reason, "%s", strings.Join(lines, "\n")).WithDetail("problems", problems)
	joined.FromPlugin = slices.ContainsFunc(errs, func(err error) bool { return sdk.AsError(err).FromPlugin })
	return joined
}

// DecodeDetails reads an error's details, as [ErrorInfo] has them in JSON, in the types that
// the program looks for: the problems of [JoinErrors] are []*ErrorInfo. All other objects and
// lists stay as they came, so that they are printed with their members in the same order. It
// returns nil if there are no details.
func DecodeDetails(members map[string]json.RawMessage) (map[string]any, error) {
	if len(members) == 0 {
		return nil, nil
	}
	details := make(map[string]any, len(members))
	for name, text := range members {
		value, err := decodeDetail(name, text)
		if err != nil {
			return nil, err
		}
		details[name] = value
	}
	return details, nil
}

func decodeDetail(name string, text json.RawMessage) (any, error) {
	if problems := decodeProblems(text); name == "problems" && problems != nil {
		return problems, nil
	}
	if len(text) > 0 && (text[0] == '{' || text[0] == '[') {
		return text, nil
	}
	return jsontext.Decode(text)
}

// decodeProblems are the problems in an error that consists of several. It is nil for a list
// that other parts of the program made, whose members aren't the members of an ErrorInfo.
func decodeProblems(text json.RawMessage) []*ErrorInfo {
	var list []*struct {
		ErrorInfo
		Details map[string]json.RawMessage `json:"details"`
	}
	if json.Unmarshal(text, &list) != nil {
		return nil
	}
	problems := make([]*ErrorInfo, len(list))
	for i, p := range list {
		if p == nil {
			return nil
		}
		details, err := DecodeDetails(p.Details)
		if err != nil {
			return nil
		}
		problems[i] = &p.ErrorInfo
		problems[i].Details = details
	}
	if again, err := jsontext.Encode(problems); err != nil || string(again) != string(text) {
		return nil
	}
	return problems
}
