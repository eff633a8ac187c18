package check

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"github.com/reflectory/reflectory/sdk"
)

// MaxDetails limits an error's details as JSON, in bytes: details are a few facts, not
// a payload.
const MaxDetails = 64 << 10

// reasonForm is the form of a reason. Programs compare reasons and people see them, so
// no other form is accepted.
var reasonForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`) })

// Error brings a plugin's error into the contract's form, whatever was sent. An unknown
// code counts as a defect of the other side, a bad reason or usage is dropped, and each
// text becomes one line. It returns e.
func Error(e *sdk.Error) *sdk.Error {
	if !slices.Contains(sdk.Codes(), e.Code) {
		e.Code = sdk.Internal
	}
	if !reasonForm().MatchString(e.Reason) {
		e.Reason = ""
	}
	if extras(sdk.UsageOf(e), nil) != nil {
		delete(e.Details, sdk.UsageDetail)
	}
	if e.Message == "" {
		e.Message = "the plugin failed without saying why"
	}
	e.Op, e.Message, e.Hint = oneLine(e.Op), oneLine(e.Message), oneLine(e.Hint)
	return e
}

// PluginError does the same as [Error] for an error that a plugin sent to its host. It
// also marks the error as a plugin's, and the hint as the plugin's words, because people
// follow hints.
func PluginError(e *sdk.Error) *sdk.Error {
	e.FromPlugin = true
	e = Error(e)
	if e.Hint != "" {
		e.Hint = "the plugin says: " + e.Hint
	}
	return e
}

// oneLine escapes line ends and other control characters in Go's notation, so that a
// text can't look like several lines, some of which seem to come from the host.
func oneLine(text string) string {
	if !strings.ContainsFunc(text, breaks) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if !breaks(r) {
			b.WriteRune(r)
			continue
		}
		quoted := strconv.QuoteRuneToASCII(r)
		b.WriteString(quoted[1 : len(quoted)-1])
	}
	return b.String()
}

// breaks reports whether a character ends a line or controls a terminal.
func breaks(r rune) bool {
	return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || unicode.Is(unicode.Bidi_Control, r)
}

// ContractMismatch is the error of two sides whose contract versions differ. The
// parameter what is "contract" or "protocol".
func ContractMismatch(plugin, what string, host, theirs int) *sdk.Error {
	hint := fmt.Sprintf("rebuild plugin %s with this host's sdk", plugin)
	if theirs > host {
		hint = fmt.Sprintf("upgrade the host, or rebuild plugin %s with an older sdk", plugin)
	}
	return sdk.Errorf(sdk.Incompatible, "contract_mismatch",
		"plugin %s speaks %s version %d and the host version %d", plugin, what, theirs, host).
		WithHint("%s", hint).
		WithDetail("plugin_version", theirs).WithDetail("host_version", host)
}

// TooLarge is the error of a message over its limit: sdk.Exhausted, reason
// "message_too_large". The parameter what names the message.
func TooLarge(what string, size, limit int) *sdk.Error {
	return sdk.Errorf(sdk.Exhausted, "message_too_large",
		"%s is %d bytes, over the cap of %d bytes", what, size, limit).
		WithHint("send less in one call: of the state, or of a loop's history (history_limit)").
		WithDetail("size", size).WithDetail("limit", limit)
}
