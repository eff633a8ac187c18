package feed

import (
	"cmp"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory/internal/record"
)

// A link may say that one memory supersedes another, or contradicts it. Recall leaves out
// a superseded memory, and reports a contradicted one. The index holds who supersedes
// what, because recall needs that for each candidate.

// superseders calls fn for each memory that supersedes one of ids, with the index of that
// id. The links to memories that were written together are next to each other, so it
// scans through them, and looks a link up if the scan would skip many. Those to a few memories were
// read ahead from a store that is far away.
func superseders(r core.Reader, ids []string, fn func(i int, by string)) error {
	if _, far := r.(core.ReaderWithPrefetch); far && len(ids) <= fewIDs {
		return supersedersOfEach(r, ids, fn)
	}
	// A key ends an id with a slash, so keys are ordered differently from the ids
	// themselves.
	order := make([]int, len(ids))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(ids[a]+"/", ids[b]+"/") })
	for len(order) > 0 {
		passed := 0
		from := record.LinkToKey(ids[order[0]], core.RelationSupersedes, "")
		end := core.PrefixEnd([]byte(record.LinkToPrefix + ids[order[len(order)-1]] + "/"))
		err := r.Scan(from, end, func(key, _ []byte) (bool, error) {
			to, rest, _ := strings.Cut(string(key[len(record.LinkToPrefix):]), "/")
			relation, by, _ := strings.Cut(rest, "/")
			for len(order) > 0 && (ids[order[0]]+"/" < to+"/" || ids[order[0]] == to && relation > core.RelationSupersedes) {
				order = order[1:]
			}
			if len(order) > 0 && ids[order[0]] == to && relation == core.RelationSupersedes {
				fn(order[0], by)
				passed = 0
				return true, nil
			}
			passed++
			return len(order) > 0 && passed <= maxPassed, nil
		})
		if err != nil || passed <= maxPassed {
			return err
		}
	}
	return nil
}

func supersedersOfEach(r core.Reader, ids []string, fn func(i int, by string)) error {
	for i, id := range ids {
		start := record.LinkToKey(id, core.RelationSupersedes, "")
		err := core.ScanPrefix(r, start, func(key, _ []byte) (bool, error) {
			fn(i, string(key[len(start):]))
			return true, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
