package dream

import (
	"bufio"
	_ "embed"
	"encoding/json"
	"io"
	"strings"

	"github.com/reflectory/reflectory/sdk"
)

// LabelledPair is two texts of which a person said whether they say the same.
type LabelledPair struct {
	A    string `json:"a"`
	B    string `json:"b"`
	Same bool   `json:"same"`
	// By is how two that say the same can be found, [ByForm] or [ByVectors], and Class what
	// two others differ in; both are optional.
	By    string `json:"by,omitempty"`
	Class string `json:"class,omitempty"`
}

//go:embed pairs.jsonl
var ownPairs string

// maxLine is how long a line of labelled pairs may be, in bytes: two texts of a memory's
// content, each letter escaped.
const maxLine = 1 << 20

// LabelledPairs reads labelled pairs, a JSON object a line; nil are the project's own.
func LabelledPairs(from io.Reader) ([]LabelledPair, error) {
	if from == nil {
		from = strings.NewReader(ownPairs)
	}
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, maxLine)
	var pairs []LabelledPair
	for n := 1; lines.Scan(); n++ {
		if strings.TrimSpace(lines.Text()) == "" {
			continue
		}
		var p LabelledPair
		if err := json.Unmarshal(lines.Bytes(), &p); err != nil {
			return nil, sdk.Errorf(sdk.Invalid, "pairs_invalid", "line %d is no labelled pair: %v", n, err).
				WithHint(`a line is {"a": "…", "b": "…", "same": true}`)
		}
		if p.A == "" || p.B == "" {
			return nil, sdk.Errorf(sdk.Invalid, "pairs_invalid", "line %d has no text a or b", n).
				WithHint(`a line is {"a": "…", "b": "…", "same": true}`)
		}
		pairs = append(pairs, p)
	}
	if err := lines.Err(); err != nil {
		return nil, sdk.Errorf(sdk.Invalid, "pairs_invalid", "after %d labelled pairs no line can be read: %w", len(pairs), err).
			WithHint("a line has at most 1 MiB")
	}
	return pairs, nil
}
