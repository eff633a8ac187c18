package memory

import (
	"context"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

const (
	// MinPrefix is how much of an id [Memories.Find] needs (spec 3.1).
	MinPrefix = 8
	// maxNamed is how many memories an ambiguous prefix names.
	maxNamed = 10
)

// Find returns the memory whose id is, or alone starts with, prefix. A prefix
// that fits several is sdk.Conflict, reason "memory_ambiguous", and names them.
func (m *Memories) Find(ctx context.Context, prefix string) (memory *core.Memory, err error) {
	err = m.options.Store.View(ctx, func(r core.Reader) error {
		id, err := findID(r, prefix)
		if err != nil {
			return err
		}
		memory, err = read(r, id)
		return err
	})
	return memory, err
}

func findID(r core.Reader, prefix string) (string, error) {
	_, err := read(r, prefix)
	switch {
	case sdk.ReasonOf(err) != "memory_not_found" || !validID(prefix):
		return prefix, err
	case len(prefix) < MinPrefix:
		return "", sdk.Errorf(sdk.Invalid, "memory_prefix_short", "%q is too short to name a memory: give %d characters or more", prefix, MinPrefix).
			WithHint("list them with: reflectory memory list --namespace NAMESPACE")
	}
	var ids []string
	start := memoryKey(prefix)
	err = r.Scan(start, prefixEnd(start), func(key, _ []byte) (bool, error) {
		ids = append(ids, string(key[len(memoryPrefix):]))
		return len(ids) <= maxNamed, nil
	})
	switch {
	case err != nil:
		return "", err
	case len(ids) == 0:
		return "", notFound(prefix)
	case len(ids) > 1:
		return "", ambiguous(prefix, ids)
	}
	return ids[0], nil
}

func ambiguous(prefix string, ids []string) error {
	more := ""
	if len(ids) > maxNamed {
		ids, more = ids[:maxNamed], ", …"
	}
	return sdk.Errorf(sdk.Conflict, "memory_ambiguous", "%q fits several memories: %s%s", prefix, strings.Join(ids, ", "), more).
		WithHint("give more of the id").WithDetail("memory_ids", ids)
}
