// Package program compiles policies into decision programs and runs them. The rules
// become a chain of steps, each with a condition and either an output or the step to
// continue at, so that a result knows which match produced it. cel-go's own compiler
// makes one big expression of them, which loses that.
//
// It is the one package of the host that uses cel-go, and exports none of its types.
//
// It is internal to Reflectory: its API may change in any release.
package program
