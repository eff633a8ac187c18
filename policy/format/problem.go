package format

import (
	"github.com/reflectory/reflectory/core/document"
	"github.com/reflectory/reflectory/sdk"
)

// Pos is a position in a file.
type Pos = document.Pos

// Problem is one thing wrong with a file, or with an expression that isn't in a file.
type Problem = document.Problem

// Problems collects what is wrong with one file. Each problem shows its line.
type Problems struct{ *document.Problems }

func newProblems(file, text string) *Problems {
	return &Problems{&document.Problems{File: file, Lines: document.Lines(text)}}
}

// Err is the one error that lists every problem, or nil; see [Invalid].
func (p *Problems) Err() error { return Invalid(p.List()) }

// Invalid is the one error with the problems of one or several files; nil if there are
// none. It is sdk.Invalid with the reason "policy_invalid"; its detail "problems" is a
// []Problem.
func Invalid(list []Problem) error {
	err := document.Invalid("policy_invalid", list)
	if err == nil {
		return nil
	}
	return sdk.AsError(err).WithHint("fix the listed problems; none of these files is in use")
}
