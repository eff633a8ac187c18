package memory

import (
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory/internal/record"
	"github.com/reflectory/reflectory/sdk"
)

// checkRoom refuses a new memory for which its namespace has no room.
func checkRoom(t *record.Tx, g *core.Governance, m *core.Memory) error {
	limits := g.Limits
	if limits.MaxMemories == 0 && limits.MaxBytes == 0 {
		return nil
	}
	c, err := t.Count(m.Namespace)
	if err != nil {
		return err
	}
	if limits.MaxMemories > 0 && c.Memories >= limits.MaxMemories {
		return full(g, m.Namespace, "max_memories", limits.MaxMemories, c.Memories+1)
	}
	if limits.MaxBytes > 0 && c.Bytes+record.Size(m) > limits.MaxBytes {
		return full(g, m.Namespace, "max_bytes", limits.MaxBytes, c.Bytes+record.Size(m))
	}
	return nil
}

func full(g *core.Governance, namespace, limit string, most, got int64) error {
	return beyond(g, namespace, limit, most, "namespace_full", "namespace %s is full: its %s is %d, and this memory would make it %d", namespace, limit, most, got).
		WithDetail("got", got)
}

// beyond is the error for a request that a limit in a namespace's settings doesn't
// allow. It names the level that set the limit, if that is known.
func beyond(g *core.Governance, namespace, limit string, most int64, reason, format string, args ...any) *sdk.Error {
	field := "limits." + limit
	e := sdk.Errorf(sdk.Denied, reason, format, args...).
		WithDetail("namespace", namespace).WithDetail("limit", limit).WithDetail("most", most)
	level := g.SetBy[field]
	if level == "" {
		level = namespace
	} else {
		e.WithDetail("decided_by", level)
	}
	return e.WithHint("raise it").WithAction("governance set", "namespace", level, "field", field+"=…")
}
