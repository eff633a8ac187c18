package luaeval

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/reflectory/reflectory/sdk"
)

// Not every JSON value can become a Lua value: an integer has 64 bits, a number at most 512
// bytes, and values nest at most 200 deep. A model may write any of these. An output that a
// script can't be given is a bad output, so the evaluation doesn't fail. It also stays in the
// history, which later iterations see: there it is shown as near as Lua can.

// The limits of eval.h and json_decode.c.
const (
	maxDepth       = 200
	maxNumberBytes = 512
	// surelyInt64 is how many digits every integer of 64 bits can have.
	surelyInt64 = 18
)

// suspicious reports whether JSON may be beyond a limit. It reads each byte once.
func suspicious(data []byte) bool {
	depth, run, quoted := 0, 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case quoted:
			if c == '\\' {
				i++
			}
			quoted = c != '"'
		case c == '"':
			quoted, run = true, 0
		case c == '{' || c == '[':
			if depth++; depth >= maxDepth {
				return true
			}
			run = 0
		case c == '}' || c == ']':
			depth, run = depth-1, 0
		case c == ',' || c == ':':
			run = 0
		default:
			if run++; run > surelyInt64 && c >= '0' && c <= '9' || (c == 'e' || c == 'E') && data[max(i-1, 0)] <= '9' {
				return true
			}
		}
	}
	return false
}

// unfit finds a part of an output that Lua can't be given, and describes it; nil if there is
// none, or if the output isn't JSON.
func unfit(output []byte) *sdk.Finding {
	if !suspicious(output) {
		return nil
	}
	var found *sdk.Finding
	decoded, err := decodeExact(output)
	if err != nil {
		return nil
	}
	walk(decoded, "", 1, func(at string, what string, _ any) any {
		if found == nil {
			found = &sdk.Finding{Message: "a Lua script can't be given this output: " + what, Path: at, Code: reasonInput}
		}
		return nil
	})
	return found
}

// shown is a state whose reflection_* members Lua can be given.
func shown(state json.RawMessage) json.RawMessage {
	if !suspicious(state) {
		return state
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(state, &members) != nil {
		return state
	}
	for name, member := range members {
		if !strings.HasPrefix(name, "reflection_") || !suspicious(append([]byte("["), member...)) {
			continue
		}
		decoded, err := decodeExact(member)
		if err != nil {
			return state
		}
		// A level less than the limit, since the null that replaces a value has one too.
		near, err := json.Marshal(walk(decoded, "", 3, func(_, _ string, near any) any { return near }))
		if err != nil {
			return state
		}
		members[name] = near
	}
	changed, err := json.Marshal(members)
	if err != nil {
		return state
	}
	return changed
}

func decodeExact(data []byte) (value any, err error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	return value, d.Decode(&value)
}

// walk replaces each part of a value that is beyond a limit by what replace returns. It is
// given the part's JSON Pointer, what is wrong with it, and the nearest value within the
// limits.
func walk(value any, at string, depth int, replace func(at, what string, near any) any) any {
	if depth > maxDepth {
		return replace(at, fmt.Sprintf("it nests deeper than %d levels", maxDepth), nil)
	}
	switch v := value.(type) {
	case map[string]any:
		for name, member := range v {
			v[name] = walk(member, at+"/"+pointerName.Replace(name), depth+1, replace)
		}
	case []any:
		for i, element := range v {
			v[i] = walk(element, at+"/"+strconv.Itoa(i), depth+1, replace)
		}
	case json.Number:
		text := v.String()
		f, err := v.Float64()
		f = min(max(f, -math.MaxFloat64), math.MaxFloat64)
		near := json.RawMessage(strconv.FormatFloat(f, 'e', -1, 64)) // which is no integer for Lua
		_, wide := strconv.ParseInt(text, 10, 64)
		switch {
		case len(text) > maxNumberBytes:
			return replace(at, fmt.Sprintf("a number of %d bytes (limit %d)", len(text), maxNumberBytes), near)
		case err != nil:
			return replace(at, "the number "+text+" is outside the range of a double", near)
		case wide != nil && !strings.ContainsAny(text, ".eE"):
			return replace(at, "the integer "+text+" is outside the range of 64 bits", near)
		}
	}
	return value
}

// pointerName escapes a name in a JSON Pointer (RFC 6901).
var pointerName = strings.NewReplacer("~", "~0", "/", "~1")
