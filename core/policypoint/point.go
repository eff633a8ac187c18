package policypoint

import (
	"time"

	"github.com/reflectory/reflectory/core"
)

// Point is a point at which an expression or a policy decides. Each has its own
// variables.
type Point string

// The points at which the host's policies decide. Each point has its typed input and
// outcome below.
const (
	Retention Point = "retention" // which state a memory is in
	Gate      Point = "gate"      // whether a memory is kept, purged or promoted
	Reflect   Point = "reflect"   // whether a reflection may be written
	Loop      Point = "loop"      // whether an attempt passes, and whether a loop gives up
	Injection Point = "injection" // what a turn's prompt context holds
	Routing   Point = "routing"   // how sure a recommendation is
	Admission Point = "admission" // whether a plugin may run
	Access    Point = "access"    // whether somebody may do something
)

// Points lists the points, in the order in which they are documented.
func Points() []Point {
	return []Point{
		Retention, Gate, Reflect, Loop, Injection, Routing, Admission, Access,
	}
}

// Decision describes how a policy point was decided. Every outcome has one.
type Decision struct {
	Point     Point  `json:"point"`
	Namespace string `json:"namespace,omitempty"`
	// File is the policy's file, such as "gate/strict.yaml" or "default/gate.yaml", and
	// Digest is the digest of its text.
	File   string `json:"file"`
	Digest string `json:"digest"`
	// Rule is the id of the rule that decided, Path the path of the match in the file,
	// and Condition its condition; "" if it has none.
	Rule        string `json:"rule,omitempty"`
	Path        string `json:"path,omitempty"`
	Condition   string `json:"condition,omitempty"`
	Explanation string `json:"explanation,omitempty"`
	// Cost is in cel-go's units: the counted cost, or else the static upper bound.
	Cost    uint64        `json:"cost"`
	Latency time.Duration `json:"latency_ns"`
	// Failure is the reason why no policy could decide; the outcome is then the point's
	// safe outcome. nil if a policy decided.
	Failure *core.ErrorInfo `json:"failure,omitempty"`
	// Unread is the error with which the policies couldn't be read, such as a database that
	// can't be reached: then nobody refused anything. nil if they could. It isn't stored.
	Unread error `json:"-"`
}

// Asking is the reader of a transaction that asks policies. Its decisions are recorded after
// its end, and only the decisions of its last run.
type Asking interface {
	core.Reader
	// AfterEnd calls do once the transaction is over, whether it was committed or refused.
	AfterEnd(do func())
}

// Unrecorded is a reader for asking policies whose decisions have no consequences, and so
// aren't recorded.
type Unrecorded struct{ core.Reader }

// AfterEnd implements [Asking].
func (Unrecorded) AfterEnd(func()) {}
