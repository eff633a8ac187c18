package postgres

import (
	"context"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core"
)

// Tenants take turns in groups, so that a thousand updates of one that wait don't hold up
// another's: see [core.Tenant]. What changes a namespace appends to its stream, so the key of a
// stream's head names it. What changes none, such as a run that continues, is its caller's.

const (
	// namespaceHead begins the keys of the heads of namespaces' streams.
	namespaceHead = "event-head/namespace/"
	// callerTenant begins the names of tenants that are callers. No namespace begins so.
	callerTenant = "/"
)

// tenantOf is the tenant of what a transaction writes, the first in order where there are
// several. ctx has the caller.
func tenantOf(ctx context.Context, writes map[string]write) string {
	least, found := "", false
	for key := range writes {
		namespace, ok := strings.CutPrefix(key, namespaceHead)
		if !ok {
			continue
		}
		if tenant := core.Tenant(namespace); !found || tenant < least {
			least, found = tenant, true
		}
	}
	if !found {
		return callerTenant + core.CallerOf(ctx).Subject
	}
	return least
}

// line is who waits: of each tenant in the order in which they came. The zero value is empty.
type line struct {
	of map[string][]*member
	// order has the tenants of whom somebody waits, the one whose turn it is first.
	order []string
}

func (l *line) add(m *member) {
	if l.of == nil {
		l.of = map[string][]*member{}
	}
	tenant := tenantOf(m.ctx, m.tx.writes)
	if len(l.of[tenant]) == 0 {
		l.order = append(l.order, tenant)
	}
	l.of[tenant] = append(l.of[tenant], m)
}

// first is whose turn it is; nil if nobody waits.
func (l *line) first() *member {
	if len(l.order) == 0 {
		return nil
	}
	return l.of[l.order[0]][0]
}

// pop takes the first out. The next turn is another tenant's, if one waits.
func (l *line) pop() {
	tenant := l.order[0]
	l.order = l.order[1:]
	if l.of[tenant] = l.of[tenant][1:]; len(l.of[tenant]) == 0 {
		delete(l.of, tenant)
		return
	}
	l.order = append(l.order, tenant)
}

// remove takes a member out, and reports whether it was there.
func (l *line) remove(m *member) bool {
	for tenant, list := range l.of {
		at := slices.Index(list, m)
		if at < 0 {
			continue
		}
		if l.of[tenant] = slices.Delete(list, at, at+1); len(l.of[tenant]) == 0 {
			delete(l.of, tenant)
			l.order = slices.DeleteFunc(l.order, func(other string) bool { return other == tenant })
		}
		return true
	}
	return false
}
