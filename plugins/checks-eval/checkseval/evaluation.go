package checkseval

import (
	"context"
	"encoding/json"

	"github.com/reflectory/reflectory/plugins/internal/schema"
)

// maxSteps is what all checks of one output may take together: 2 to 4 s if all of it is spent on
// patterns. What would take more isn't begun.
const maxSteps = 100_000_000

// What a step is, which takes 20 to 40 ns: an instruction of a pattern's program for a byte of the text,
// 16 bytes of a search, or 8 cells of a comparison of two texts. To come to a text within a value takes 16.
const (
	visitSteps      = 16
	searchedPerStep = 16
	cellsPerStep    = 8
)

// evaluation is the evaluation of one output by all checks. It isn't safe for concurrent use.
type evaluation struct {
	ctx context.Context
	// output is the whole output, and state the workflow's state.
	output  any
	state   json.RawMessage
	decoded map[string]any // the state, once an expression needed it
	left    int            // steps
}

// spend reports whether that many steps are left, and takes them.
func (e *evaluation) spend(steps int) bool {
	if steps > e.left {
		return false
	}
	e.left -= steps
	return true
}

// decodedState is the state for expressions. A state that is too large is empty.
func (e *evaluation) decodedState() map[string]any {
	if e.decoded == nil {
		e.decoded = map[string]any{}
		if v, err := schema.Decode(e.state, schema.MaxOutputBytes); err == nil {
			if state, ok := v.(map[string]any); ok {
				e.decoded = state
			}
		}
	}
	return e.decoded
}

// tooLarge is the result of a check that would take too long.
func (in *input) tooLarge(what string) result {
	return in.fail(0, "is too large to be checked: %s", what)
}
