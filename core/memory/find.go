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
// that fits several is sdk.Conflict, reason "id_ambiguous", and names them.
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
		return "", prefixShort(prefix, "memory")
	}
	if id, err := onlyID(r, memoryPrefix, prefix); err != nil || id != "" {
		return id, err
	}
	return "", notFound(prefix)
}

func prefixShort(prefix, noun string) error {
	return sdk.Errorf(sdk.Invalid, "id_prefix_short", "%q is too short to name one: give %d characters or more", prefix, MinPrefix).
		WithHint("list them with: reflectory %s list --namespace NAMESPACE", noun)
}

// onlyID returns the id of that kind which starts with prefix; "" where none
// does.
func onlyID(r core.Reader, kind, prefix string) (string, error) {
	var ids []string
	start := []byte(kind + prefix)
	err := core.ScanPrefix(r, start, func(key, _ []byte) (bool, error) {
		ids = append(ids, string(key[len(kind):]))
		return len(ids) <= maxNamed, nil
	})
	switch {
	case err != nil || len(ids) == 0:
		return "", err
	case len(ids) > 1 && ids[0] != prefix:
		return "", ambiguous(prefix, ids)
	}
	return ids[0], nil
}

func ambiguous(prefix string, ids []string) error {
	more := ""
	if len(ids) > maxNamed {
		ids, more = ids[:maxNamed], ", …"
	}
	return sdk.Errorf(sdk.Conflict, "id_ambiguous", "%q fits several: %s%s", prefix, strings.Join(ids, ", "), more).
		WithHint("give more of the id").WithDetail("ids", ids)
}
