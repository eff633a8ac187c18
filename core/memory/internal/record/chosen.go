package record

import (
	"slices"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory/internal/bounds"
	"github.com/reflectory/reflectory/sdk"
)

// A caller that doesn't reach every namespace chooses ids within a namespace: the memory's id is the
// chosen one with a mark (see [core.ScopedName]), which begins with a part for the tenant, so that the
// memories of one tenant with a chosen id are next to each other. Such a caller finds the memory by
// the chosen id too, wherever it may look. A caller that reaches every namespace, and a Go program
// without callers, choose the id itself.

// tenantMark is how many characters of a mark are the tenant's.
const tenantMark = 4

func tenantPart(tenant string) string { return core.ScopeMark(tenant)[:tenantMark] }

// ScopedID is the id of a memory for which a caller chose an id.
func ScopedID(caller core.Caller, namespace, chosen string) string {
	if reachesAll(caller) {
		return chosen
	}
	return core.ScopedName(chosen, tenantPart(core.Tenant(namespace))+core.ScopeMark(namespace)[tenantMark:])
}

// reachesAll reports whether a caller reaches every namespace; a Go program without callers does.
func reachesAll(c core.Caller) bool {
	return c.Subject == "" && len(c.Namespaces) == 0 || c.Reaches(core.EveryNamespace)
}

// Own returns the memory with an id, which is what a caller that reaches it means: see [Chosen]. It is nil
// if there is none, or the caller doesn't reach it.
func Own(r core.Reader, caller core.Caller, id string) (*core.Memory, error) {
	if !bounds.ValidID(id) {
		return nil, nil
	}
	value, found, err := r.Get(MemoryKey(id))
	if err != nil || !found {
		return nil, err
	}
	m, err := Decode(id, value)
	if err != nil || !reachesAll(caller) && !caller.Reaches(m.Namespace) {
		return nil, err
	}
	return m, nil
}

// Chosen returns the ids of the memories, live or purged, that a caller may mean by an id: the id
// itself, or the ids of memories for which it was chosen. Memories that the caller doesn't reach
// aren't among them.
func Chosen(r core.Reader, caller core.Caller, id string) (ids []string, err error) {
	add := func(id string) error {
		namespace, err := Namespace(r, id)
		if sdk.CodeOf(err) == sdk.NotFound {
			namespace, _ = sdk.AsError(err).Details["namespace"].(string) // of one that was purged
			err = nil
		}
		if err == nil && namespace != "" && (reachesAll(caller) || caller.Reaches(namespace)) {
			ids = append(ids, id)
		}
		return err
	}
	if !bounds.ValidID(id) {
		return nil, nil
	}
	if err := add(id); err != nil || len(ids) > 0 {
		return ids, err
	}
	for _, prefix := range chosenPrefixes(caller, id) {
		for _, kind := range []string{MemoryPrefix, PurgedPrefix} {
			err := core.ScanPrefix(r, []byte(kind+prefix), func(key, _ []byte) (bool, error) {
				found := string(key[len(kind):])
				if len(found) != len(core.ScopedName(id, ""))+core.ScopeMarkBytes {
					return true, nil // another chosen id, which begins like this one
				}
				return true, add(found)
			})
			if err != nil {
				return nil, err
			}
		}
	}
	return ids, nil
}

// chosenPrefixes are the beginnings of the ids that memories of a chosen id have where a caller may look.
func chosenPrefixes(caller core.Caller, id string) (list []string) {
	if reachesAll(caller) {
		return []string{core.ScopedName(id, "")}
	}
	for _, pattern := range caller.Namespaces {
		part := ""
		if tenant, one := core.TenantOfPattern(pattern); one {
			part = tenantPart(tenant)
		}
		list = append(list, core.ScopedName(id, part))
	}
	slices.Sort(list)
	if len(list) > 0 && list[0] == core.ScopedName(id, "") { // which the others begin with
		return list[:1]
	}
	return slices.Compact(list)
}
