// Package program compiles policies into decision programs and runs them. The
// rules become a chain of steps, each a condition with an output or with the
// place to go on at, so that a result knows which match gave it: the composition
// into one big expression, which cel-go's own compiler does, loses that.
//
// It holds cel-go for the policies of the host; no type of cel-go leaves it.
package program
