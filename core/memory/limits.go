package memory

import (
	"cmp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory/internal/record"
	"github.com/reflectory/reflectory/sdk"
)

// checkRoom refuses a new memory for which its namespace, or one above it, has no room.
func checkRoom(t *record.Tx, g *core.Governance, m *core.Memory) error {
	list, count := g.Quotas, t.Sum
	if len(list) == 0 { // the governor only has limits of the namespace by itself
		list, count = limitsOf(g, m.Namespace), t.Count
	}
	for _, q := range list {
		c, err := count(q.Namespace)
		if err != nil {
			return err
		}
		got := c.Memories + 1
		if q.Limit == core.QuotaBytes {
			got = c.Bytes + record.Size(m)
		}
		if got > q.Most {
			return full(m.Namespace, q, got)
		}
	}
	return nil
}

// limitsOf are the limits of a namespace as quotas.
func limitsOf(g *core.Governance, namespace string) (list []core.Quota) {
	for limit, most := range map[string]int64{core.QuotaMemories: g.Limits.MaxMemories, core.QuotaBytes: g.Limits.MaxBytes} {
		if most > 0 {
			list = append(list, core.Quota{Namespace: namespace, Limit: limit, Most: most, Level: g.SetBy["limits."+limit]})
		}
	}
	return list
}

func full(namespace string, q core.Quota, got int64) error {
	what := "namespace " + q.Namespace
	if q.Namespace != namespace {
		what += ", with what is below it,"
	}
	return beyond(q.Level, namespace, q.Limit, q.Most, "namespace_full", "%s is full: its %s is %d, and this memory would make it %d", what, q.Limit, q.Most, got).
		WithDetail("got", got)
}

// beyond is the error for a request that a limit in a namespace's settings doesn't
// allow. It names the level that set the limit, if that is known.
func beyond(level, namespace, limit string, most int64, reason, format string, args ...any) *sdk.Error {
	e := sdk.Errorf(sdk.Denied, reason, format, args...).
		WithDetail("namespace", namespace).WithDetail("limit", limit).WithDetail("most", most)
	if level != "" {
		e.WithDetail("decided_by", level)
	}
	return e.WithHint("raise it").WithAction("governance set", "namespace", cmp.Or(level, namespace), "field", "limits."+limit+"=…")
}
