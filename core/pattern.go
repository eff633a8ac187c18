package core

import (
	"regexp"
	"sync"
)

// Compiling a regular expression takes longer than most calls of a command, and a program
// has dozens of them. Compiling all of them at the start would cost each command several
// milliseconds, and a command uses very few.

// Pattern is a regular expression that is compiled when it is first asked for. It is for
// package variables: an expression that can't be compiled panics at its first use.
func Pattern(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
