// Package check refuses invalid answers from plugins, with the errors that say so.
// Every runtime uses it, so the same mistake gives the same error in every runtime.
//
// It is internal to Reflectory: its API may change in any release.
package check

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/reflectory/reflectory/sdk"
)

// Limits for a plugin's answers. The message limit applies to the bytes; these limit
// the work of a program that reads the answer.
const (
	// MaxDepth is how deep JSON may nest: far deeper than real outputs, and safe for
	// every recursive reader.
	MaxDepth = 256
	// MaxFindings is how many findings and children a verdict may have, its children's
	// included.
	MaxFindings = 10_000
	// MaxChildren is how deep the verdicts of composites may nest: far deeper than
	// anyone writes by hand.
	MaxChildren = 16
	// MaxMetadata is how many entries metadata may have.
	MaxMetadata = 1_000
	// MaxTokens and MaxCostUSD limit the usage that one call may report. They are far
	// above any model's usage, and keep the sums of every run finite.
	MaxTokens  = 1 << 40
	MaxCostUSD = 1e6
)

// EvaluateResponse refuses a response that the host can't use, and clamps its score as
// [sdk.Verdict.Check] does. A NaN is refused with the reason of that method, everything
// else with "response_invalid".
func EvaluateResponse(r *sdk.EvaluateResponse) error {
	if err := extras(r.Usage, r.Metadata); err != nil {
		return err
	}
	findings := 0
	return verdict(&r.Verdict, 0, &findings)
}

// verdict checks one verdict and its children, and counts their findings.
func verdict(v *sdk.Verdict, depth int, findings *int) error {
	if *findings += len(v.Errors) + len(v.Children); *findings > MaxFindings {
		return ResponseInvalid("the verdict has more than %d findings and children", MaxFindings)
	}
	for n, f := range v.Errors {
		if f.Message == "" {
			return ResponseInvalid("finding %d of the verdict has no message", n+1)
		}
	}
	if len(v.Output) > 0 {
		if err := JSON(v.Output); err != nil {
			return ResponseInvalid("the verdict's output %w", err)
		}
	}
	if len(v.Children) > 0 && depth == MaxChildren {
		return ResponseInvalid("the verdict has children nested deeper than %d", MaxChildren)
	}
	for name, child := range v.Children {
		if err := verdict(&child, depth+1, findings); err != nil {
			return err
		}
		v.Children[name] = child
	}
	return v.Check()
}

// GenerateResponse refuses a response that the host can't use.
func GenerateResponse(r *sdk.GenerateResponse) error {
	if err := JSON(r.Output); err != nil {
		return ResponseInvalid("the output %w", err)
	}
	return extras(r.Usage, r.Metadata)
}

// CorrectResponse refuses a response that the host can't use.
func CorrectResponse(r *sdk.CorrectResponse) error {
	if err := JSON(r.Output); err != nil {
		return ResponseInvalid("the output %w", err)
	}
	return extras(r.Usage, r.Metadata)
}

func extras(u sdk.Usage, metadata map[string]string) error {
	if min(u.TokensIn, u.TokensOut) < 0 || max(u.TokensIn, u.TokensOut) > MaxTokens {
		return ResponseInvalid("usage has %d tokens in and %d out", u.TokensIn, u.TokensOut)
	}
	if math.IsNaN(u.CostUSD) || u.CostUSD < 0 || u.CostUSD > MaxCostUSD {
		return ResponseInvalid("usage has a cost of %v", u.CostUSD)
	}
	if len(metadata) > MaxMetadata {
		return ResponseInvalid("metadata has %d entries, over the cap of %d", len(metadata), MaxMetadata)
	}
	return nil
}

// ResponseInvalid is the error of an answer that the host can't use: sdk.Invalid,
// reason "response_invalid".
func ResponseInvalid(format string, args ...any) *sdk.Error {
	return sdk.Errorf(sdk.Invalid, "response_invalid", "the plugin's response is invalid: "+format, args...).
		WithHint("this is a fault of the plugin; report it to its author")
}

// maxCame limits how much is shown of an answer that isn't a verdict, in bytes.
const maxCame = 200

// NoVerdict is the error for an answer without the field valid. This is a failure of the plugin,
// not a "no". Came is the answer, or "nothing".
func NoVerdict(came string) *sdk.Error {
	return ResponseInvalid("a verdict says whether it is valid; this came instead: %s", oneLine(strings.ToValidUTF8(came[:min(len(came), maxCame)], "\uFFFD"))).
		WithHint(`answer {"valid": true}, or {"valid": false, "errors": [{"message": "what is wrong"}]}`)
}

// JSON is the reason why b isn't one JSON value in UTF-8 that nests at most [MaxDepth] deep and
// whose numbers a float64 holds. The text completes a sentence about b. It returns nil if b is such
// a value.
func JSON(b []byte) error {
	switch {
	case len(b) == 0:
		return sdk.Errorf(sdk.Invalid, "json_invalid", "is empty, not JSON")
	case !utf8.Valid(b):
		return sdk.Errorf(sdk.Invalid, "json_invalid", "is not UTF-8")
	case tooDeep(b):
		return sdk.Errorf(sdk.Invalid, "json_too_deep", "nests more than %d deep", MaxDepth)
	case !json.Valid(b):
		return sdk.Errorf(sdk.Invalid, "json_invalid", "is not JSON")
	}
	if n := outOfRange(b); n != "" {
		return sdk.Errorf(sdk.Invalid, "json_invalid", "has the number %s, which is out of range", n)
	}
	return nil
}

// maxPlain is the longest number, in bytes, that is in range if it has no exponent: the largest
// float64 has 309 digits.
const maxPlain = 300

// outOfRange returns the beginning of a number in b, which is JSON, that no float64 holds; "" if
// there is none. JSON allows such numbers, but nothing that is made of the state could be read
// after one is in it: no template, condition or script.
func outOfRange(b []byte) string {
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case c == '"':
			for i++; b[i] != '"'; i++ {
				if b[i] == '\\' {
					i++
				}
			}
		case c == '-' || c >= '0' && c <= '9':
			number := b[i:]
			if end := bytes.IndexAny(number, ",]} \t\r\n"); end >= 0 {
				number = number[:end]
			}
			if len(number) > maxPlain || bytes.ContainsAny(number, "eE") {
				if _, err := strconv.ParseFloat(string(number), 64); err != nil {
					return string(number[:min(len(number), 20)])
				}
			}
			i += len(number) - 1
		}
	}
	return ""
}

// tooDeep counts brackets outside strings; later code checks that b is JSON.
func tooDeep(b []byte) bool {
	depth, inString := 0, false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			if depth++; depth > MaxDepth {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}
