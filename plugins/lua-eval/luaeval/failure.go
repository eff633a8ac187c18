//go:build cgo && lua54

package luaeval

import (
	"strconv"
	"strings"

	"github.com/reflectory/reflectory/sdk"
)

// failure describes an outcome without a value. judging is whether the script was to judge.
func (s *script) failure(o outcome, judging bool) error {
	c := &s.config
	message := strings.ToValidUTF8(o.message, "\uFFFD")
	switch o.status {
	case statusSyntax:
		return sdk.Errorf(sdk.Invalid, "lua_syntax", "the script doesn't compile: %s", message).
			WithHint("the number after %q is the line", c.Chunk+":").
			WithDetail("line", s.line(message)).WithDetail(sdk.PermanentDetail, true)
	case statusMemory:
		return withLine(sdk.Errorf(sdk.Exhausted, "lua_memory", "script %s used up its memory of %d bytes", c.Chunk, c.MemoryBytes), o.line).
			WithHint("make the script hold less, or raise memory_bytes")
	case statusMemoryAll:
		return withLine(sdk.Errorf(sdk.Exhausted, "lua_memory", "script %s used up the memory that the plugin has for one script, before its own limit of %d bytes", c.Chunk, c.MemoryBytes), o.line).
			WithHint("make the script hold less, or raise limits.memory in the plugin.yaml of lua-eval")
	case statusMemoryShared:
		return withLine(sdk.Errorf(sdk.Unavailable, "lua_memory_shared", "script %s got no more memory: the scripts that run at the same time hold what the plugin has", c.Chunk), o.line).
			WithHint("try again, or make the script hold less; limits.memory in the plugin.yaml of lua-eval is for all scripts of an instance")
	case statusSteps:
		return withLine(sdk.Errorf(sdk.Exhausted, "lua_instructions", "script %s used up its %d instructions", c.Chunk, c.Instructions), o.line).
			WithHint("look for an endless loop, or raise instructions")
	case statusNaN:
		return sdk.Errorf(sdk.Invalid, "score_not_finite", "script %s returned %s", c.Chunk, message).
			WithHint("look for a division by zero; a score is a number between 0 and 1")
	case statusUnencodable:
		return sdk.Errorf(sdk.Invalid, reasonResult, "the script's result can't be written as JSON: %s", message).
			WithHint("return texts, finite numbers, booleans, null, and tables of either names or indices 1..n")
	case statusInput:
		return sdk.Errorf(sdk.Invalid, reasonInput, "the script can't be given its input: %s", message)
	}
	e := sdk.Errorf(sdk.Invalid, "lua_runtime", "the script failed: %s", message)
	if line := s.line(message); line > 0 {
		e.WithDetail("line", line)
	} else {
		e = withLine(e, o.line)
	}
	if o.status != statusRaised { // a mistake in the script, which will happen again
		e.WithDetail(sdk.PermanentDetail, true)
	}
	if judging {
		return e.WithHint("a script that can't judge should return false or {valid=false, errors={…}} rather than raise an error")
	}
	return e.WithHint("fix the script there; what may be missing is nil, so test it before its members are used")
}

// line reads the line number from Lua's "chunk:line: text", or returns 0 if there is
// none.
func (s *script) line(message string) int {
	rest, ok := strings.CutPrefix(message, s.config.Chunk+":")
	digits, _, found := strings.Cut(rest, ":")
	n, err := strconv.Atoi(digits)
	if !ok || !found || err != nil {
		return 0
	}
	return n
}

// withLine names the line in the message and as a detail.
func withLine(e *sdk.Error, line int) *sdk.Error {
	if line == 0 {
		return e
	}
	e.Message += " at line " + strconv.Itoa(line)
	return e.WithDetail("line", line)
}
