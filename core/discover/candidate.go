package discover

import (
	"math"
	"strings"

	"github.com/reflectory/reflectory/core"
)

// Kind is the kind of a candidate.
type Kind string

// The kinds of candidates.
const (
	Tool     Kind = "tool"     // an operation
	Plugin   Kind = "plugin"   // one that is installed
	Workflow Kind = "workflow" // one that was run
)

// MaxRuns is how many of a candidate's last runs count.
const MaxRuns = 50

// Candidate is something that an intent may be about.
type Candidate struct {
	Kind        Kind
	Name        string
	Description string
	// Examples are what people say when they mean it.
	Examples []string
	// Usage is how to use it.
	Usage Usage
	// Runs counts its last runs that ended, at most [MaxRuns], and Successes the ones among
	// them that passed.
	Runs, Successes int
}

// Usage is a call in which texts in angle brackets stand for what the caller fills in.
type Usage struct {
	// Operation is what to call, such as run_start.
	Operation string `json:"operation"`
	// Arguments are its fields.
	Arguments map[string]any `json:"arguments"`
	// Call is the same in the words of the surface that answers: a command, a request or a tool. It is
	// absent where the surface has none for it.
	Call string `json:"call,omitempty"`
}

// text is what an intent is compared with. A name counts as a whole and by its parts.
func (c *Candidate) text() string {
	parts := strings.FieldsFunc(c.Name, func(r rune) bool { return strings.ContainsRune("_-/.", r) })
	return strings.Join(append([]string{c.Name, strings.Join(parts, " "), c.Description}, c.Examples...), "\n")
}

// failureRate is how often it fails at least, with a confidence of 95 %: the lower end of Wilson's
// interval, 0 before the first run. What was seldom tried isn't held against it.
func (c *Candidate) failureRate() float64 {
	if c.Runs == 0 {
		return 0
	}
	const z = 1.959964 // of 95 %, on both sides
	n, p := float64(c.Runs), float64(c.Runs-c.Successes)/float64(c.Runs)
	square := float64(z * z)
	low := (p + square/(2*n) - z*math.Sqrt(float64(p*(1-p))/n+square/(4*n*n))) / (1 + square/n)
	return core.Rounded(max(0, low))
}
