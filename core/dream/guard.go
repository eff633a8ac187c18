package dream

import (
	"slices"

	"github.com/reflectory/reflectory/core/memory/text"
)

// difference is what the guard finds.
type difference struct {
	class string
	words [2]string
}

// guard returns what differs between two texts, or nil.
func guard(a, b []text.Token) *difference {
	same := slices.EqualFunc(a, b, func(x, y text.Token) bool { return x.Form == y.Form && x.Word == y.Word })
	if same {
		return nil
	}
	return &difference{class: Value}
}
