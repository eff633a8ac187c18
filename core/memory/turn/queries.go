package turn

import (
	"slices"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory/internal/record"
)

const (
	// chunk is how many entries of a stream are read at a time to find its last queries, and mostEntries
	// how many at most, in about half a second: a namespace in which so much was written since its last
	// recalls is asked little.
	chunk       = 1000
	mostEntries = 64 * chunk
)

// Queries are the queries of the last turns that recalled in a namespace, or from it, the newest first,
// each once: at most so many, and fewer where older entries of its stream were pruned.
func Queries(r core.Reader, namespace string, most int) (queries []string, err error) {
	stream := journal.NamespaceStream(namespace)
	head, err := journal.ReadHead(r, stream)
	if err != nil {
		return nil, err
	}
	seen, known := map[core.TurnRef]bool{}, map[string]bool{}
	for end := head.Seq; end > 0 && head.Seq-end < mostEntries; end -= min(end, chunk) {
		turns, err := turnsUntil(r, stream, end)
		if journal.IsBroken(err) {
			return queries, nil // a check reports it
		}
		if err != nil {
			return nil, err
		}
		for _, by := range slices.Backward(turns) {
			if seen[by] {
				continue
			}
			seen[by] = true
			stored, err := readTurnRecord(r, by.Session, by.Turn)
			if err != nil && !record.IsDamage(err) {
				return nil, err
			}
			if stored == nil || stored.Query == "" || known[stored.Query] {
				continue
			}
			known[stored.Query] = true
			if queries = append(queries, stored.Query); len(queries) == most {
				return queries, nil
			}
		}
	}
	return queries, nil
}

// turnsUntil are the turns that the entries of a chunk are about, which ends with an entry.
func turnsUntil(r core.Reader, stream string, end uint64) (turns []core.TurnRef, err error) {
	err = journal.ReadFrom(r, stream, end-min(end, chunk)+1, func(e journal.Entry) (bool, error) {
		if e.Seq > end {
			return false, nil
		}
		if recalled, is := journal.As[journal.MemoryRecalled](&e); is {
			turns = append(turns, core.TurnRef{Session: recalled.SessionID, Turn: recalled.TurnID})
		}
		return e.Seq < end, nil
	})
	return turns, err
}
