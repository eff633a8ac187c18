package turn

import (
	"slices"

	"github.com/reflectory/reflectory/core"
)

// Offered is what a turn offered to the author of its reply.
type Offered struct {
	// Query is the beginning of the turn's first query.
	Query string
	// MemoryIDs are the memories in its prompt, if that was recorded, otherwise all that it recalled,
	// and Namespaces the namespaces that they are in.
	MemoryIDs, Namespaces []string
}

// Offered reads what a turn offered; nil if the turn is unknown.
func (s *Turns) Offered(r core.Reader, by core.TurnRef) (*Offered, error) {
	stored, err := readTurnRecord(r, by.Session, by.Turn)
	if err != nil || stored == nil {
		return nil, err
	}
	var injected *Injected
	if s.Injection != nil {
		if injected, err = s.Injection.Injected(r, by); err != nil {
			return nil, err
		}
	}
	o := &Offered{Query: stored.Query, Namespaces: stored.namespaces()}
	for _, item := range stored.Items {
		if injected == nil || slices.Contains(injected.MemoryIDs, item.ID) {
			o.MemoryIDs = append(o.MemoryIDs, item.ID)
		}
	}
	return o, nil
}
