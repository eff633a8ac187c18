package postgres

import (
	"context"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core"
)

// Tenants take turns in a group of commits, so that a thousand waiting updates of one tenant don't
// delay another tenant's: see [core.Tenant]. A transaction that changes a namespace appends to the
// namespace's stream, so the key of the stream's head names the namespace. A transaction that
// changes no namespace, such as an update of a run, counts as its caller's.

const (
	// namespaceHead begins the keys of the heads of namespaces' streams.
	namespaceHead = "event-head/namespace/"
	// callerTenant begins the names of tenants that are callers. No namespace begins with it.
	callerTenant = "/"
)

// tenantOf is the tenant of what a transaction writes; the first in order if there are
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

// line has the waiting members of each tenant, in the order in which they came. The zero value is
// empty.
type line struct {
	of map[string][]*member
	// order lists the tenants that have waiting members; the tenant whose turn it is comes first.
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

// first returns the member whose turn it is; nil if none waits.
func (l *line) first() *member {
	if len(l.order) == 0 {
		return nil
	}
	return l.of[l.order[0]][0]
}

// pop removes the first member. The next turn is another tenant's, if one waits.
func (l *line) pop() {
	tenant := l.order[0]
	l.order = l.order[1:]
	if l.of[tenant] = l.of[tenant][1:]; len(l.of[tenant]) == 0 {
		delete(l.of, tenant)
		return
	}
	l.order = append(l.order, tenant)
}

// remove removes a member, and reports whether it was there.
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
