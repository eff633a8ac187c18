package memory

import (
	"cmp"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core"
)

// What one memory says of another by its links: that it takes the other's place, or
// that the other is wrong. Recall leaves out the first and says the second. The
// index holds who supersedes what, since recall must know it of each candidate.

// superseders calls fn for each memory that supersedes one of ids, with the index
// of that one. The links to what was written together lie together, so it scans
// through them, and looks up where that would pass over many.
func superseders(r core.Reader, ids []string, fn func(i int, by string)) error {
	// A key ends an id with a slash, which orders ids otherwise than their own bytes.
	order := make([]int, len(ids))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(ids[a]+"/", ids[b]+"/") })
	for len(order) > 0 {
		passed := 0
		from := linkToKey(ids[order[0]], core.RelationSupersedes, "")
		end := core.PrefixEnd([]byte(linkToPrefix + ids[order[len(order)-1]] + "/"))
		err := r.Scan(from, end, func(key, _ []byte) (bool, error) {
			to, rest, _ := strings.Cut(string(key[len(linkToPrefix):]), "/")
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

// relatedBy are the recallable memories that a relation leads from to another, by
// id, at most [core.MaxRelated].
func relatedBy(r core.Reader, id, relation string) (list []string, err error) {
	start := linkToKey(id, relation, "")
	err = core.ScanPrefix(r, start, func(key, _ []byte) (bool, error) {
		from := string(key[len(start):])
		recallable, err := isRecallable(r, from)
		if recallable {
			list = append(list, from)
		}
		return len(list) < core.MaxRelated, err
	})
	return list, err
}

// isRecallable reports whether there is a memory that can be recalled.
func isRecallable(r core.Reader, id string) (bool, error) {
	m, err := read(r, id)
	if isGone(err) {
		return false, nil
	}
	return err == nil && m.State.Recallable(), err
}
