package operation

import (
	"cmp"
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/sdk"
)

// A process has a host for each database of its tenants: see [host.Databases.All]. One of these
// hosts does the whole of a call, so nothing below this file knows that there are several. The
// choice depends on the namespaces that the request concerns. A request that names something by an
// id doesn't have its namespace, so the id is looked up in each database that the caller can reach.
// For most callers, whose namespaces have one tenant, that is one database.
//
// A request that concerns tenants of several databases is refused, except a list, which shows one
// database after the other.

// spread returns the calls that do a request: a single call or, for a list, a call in each of
// several databases. If the main database is one of them, its call is first.
func (c *Call) spread(ctx context.Context, o *Operation, in any) ([]*Call, error) {
	if !mayBeApart(c, o, in) {
		return []*Call{c}, nil
	}
	all := c.Host.Databases.All()
	reached := c.Host.Databases.Reached(c.caller.Namespaces)
	switch len(reached) {
	case 0: // the call is refused there
		return []*Call{c.on(all[0])}, nil
	case 1:
		return []*Call{c.on(reached[0])}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, Deadline)
	defer cancel()
	found, err := c.databases(ctx, o, in, reached)
	switch {
	case err != nil:
		return nil, err
	case len(found) == 0:
		return []*Call{c.on(all[0])}, nil
	case len(found) > 1 && !o.listed:
		return nil, apart(found, c.caller.Namespaces)
	}
	calls := make([]*Call, len(found))
	for i, h := range found {
		calls[i] = c.on(h)
	}
	return calls, nil
}

// mayBeApart reports whether a request may be about another database than the call's.
func mayBeApart(c *Call, o *Operation, in any) bool {
	return !c.chosen && c.Host.Databases.Several() && !o.NoStore && !o.main && !isOfAll(in)
}

// on returns the same call for one database.
func (c *Call) on(h *host.Host) *Call {
	own := *c
	own.Host, own.chosen = h, true
	return &own
}

// apart refuses a call that concerns several databases.
func apart(of []*host.Host, patterns []string) error {
	names := make([]string, len(of))
	for i, h := range of {
		names[i] = h.Databases.NameFor(patterns)
	}
	return sdk.Errorf(sdk.Invalid, host.TenantsApart, "this concerns tenants of several databases: %s", strings.Join(names, ", ")).
		WithHint("name a namespace or ids of one tenant; what is about a whole store is done by a host on that database alone").WithDetail("databases", names)
}

// isOfAll reports whether a request is about the settings of all namespaces (*), which each
// database has a copy of.
func isOfAll(in any) bool {
	switch in := in.(type) {
	case *GovernanceGet:
		return in.Namespace == core.EveryNamespace
	case *GovernanceExplain:
		return in.Namespace == core.EveryNamespace
	case *GovernanceSet:
		return in.Namespace == core.EveryNamespace
	case *GovernanceUnset:
		return in.Namespace == core.EveryNamespace
	}
	return false
}

// databases returns the databases that a request concerns, among the databases that the caller
// reaches: the ones with its namespaces, or else the ones with its ids. None means that the ids
// weren't found.
func (c *Call) databases(ctx context.Context, o *Operation, in any, reached []*host.Host) ([]*host.Host, error) {
	var wide []*host.Host // if the request concerns several tenants
	var failed error      // of a database that may have it; another database may have it too
	concerned, missing := map[*host.Host]bool{}, 0
	for _, h := range reached {
		at, err := o.where(ctx, c.on(h), again(o, in))
		if sdk.CodeOf(err) == sdk.NotFound {
			missing++
			continue
		}
		if err != nil {
			failed = cmp.Or(failed, err)
			continue
		}
		if slices.ContainsFunc(at.namespaces, severalTenants) {
			if slices.Contains(c.Host.Databases.Reached(at.namespaces), h) {
				wide = append(wide, h)
			}
			continue
		}
		for _, own := range c.Host.Databases.Reached(at.namespaces) {
			concerned[own] = true
		}
	}
	switch {
	case len(concerned) > 0:
		return slices.DeleteFunc(reached, func(h *host.Host) bool { return !concerned[h] }), nil
	case failed != nil:
		return nil, failed
	case len(wide) > 0: // for a pattern, or for something without a namespace that was found by its id
		return wide, nil
	}
	for _, h := range reached {
		has, err := c.on(h).began(ctx, o, in)
		if has {
			return []*host.Host{h}, nil
		}
		failed = cmp.Or(failed, err)
	}
	if failed != nil {
		return nil, failed
	}
	if missing == len(reached) || isByID(in) {
		return nil, nil
	}
	return reached, nil // it names nothing
}

// severalTenants reports whether a pattern matches namespaces of several tenants.
func severalTenants(pattern string) bool {
	_, one := core.TenantOfPattern(pattern)
	return !one
}

// again returns a copy of a request, in which short ids can be completed.
func again(o *Operation, in any) any {
	out := reflect.New(o.in)
	text, err := json.Marshal(in)
	if err == nil {
		err = json.Unmarshal(text, out.Interface())
	}
	if err != nil { // from a Go program, whose values JSON may not be able to express; it uses no short ids
		out.Elem().Set(reflect.ValueOf(in).Elem())
	}
	return out.Interface()
}

// isByID reports whether a request names a session or a job by its id.
func isByID(in any) bool {
	switch in.(type) {
	case *SessionGet, *SessionReset, *SessionResume, *ReflectionStatus, *ReflectionCancel:
		return true
	}
	return false
}

// began reports whether this database has the thing that a request names by an id, or the outcome
// of an earlier call with the same idempotency key.
func (c *Call) began(ctx context.Context, o *Operation, in any) (bool, error) {
	session, id := "", ""
	switch in := in.(type) {
	case *SessionGet:
		session = in.Session
	case *SessionReset:
		session = in.Session
	case *SessionResume:
		session = in.Session
	case *ReflectionStatus:
		id = in.JobID
	case *ReflectionCancel:
		id = in.JobID
	}
	if session != "" {
		if found, err := c.shownSession(ctx, &session); found != nil || err != nil && sdk.CodeOf(err) != sdk.NotFound {
			return true, err
		}
	}
	if id != "" {
		if _, err := c.Host.Jobs.Get(ctx, id); err == nil {
			return true, nil
		}
	}
	if keyed, _ := c.keyed(o); !keyed {
		return false, nil
	}
	first, err := c.Host.Keys.Find(ctx, c.keyRequest(o, in))
	return first != nil || err != nil, nil // an error about the key is this database's answer
}

// pager is a list request with pages, and pages a list's result.
type pager interface{ paging() *Paging }

type pages interface {
	size() int
	next() *string
	// add adds the items of another result of the same type.
	add(any)
}

func (p *Paging) paging() *Paging { return p }

func (p *Page[T]) size() int     { return len(p.Items) }
func (p *Page[T]) next() *string { return &p.NextPageToken }
func (p *Page[T]) add(other any) {
	p.Items = append(p.Items, other.(interface{ page() *Page[T] }).page().Items...)
}
func (p *Page[T]) page() *Page[T] { return p }

// list lists one database after the other. A page has items of one database; its token begins
// with the number of the database that comes next. A list without pages returns everything in one
// result.
func (o *Operation) list(ctx context.Context, calls []*Call, in any) (any, error) {
	request, paged := in.(pager)
	if !paged {
		return o.listWhole(ctx, calls, in)
	}
	at, token := 0, ""
	if given := request.paging().PageToken; given != "" {
		number, rest, _ := strings.Cut(given, ".")
		var err error
		if at, err = strconv.Atoi(number); err != nil || at < 0 || at >= len(calls) {
			return nil, badToken()
		}
		token = rest
	}
	for {
		one := again(o, in)
		one.(pager).paging().PageToken = token
		out, err := o.Do(ctx, *calls[at], one)
		if err != nil {
			return nil, err
		}
		page := out.(pages)
		next := page.next()
		last := at == len(calls)-1
		switch {
		case *next != "":
			*next = strconv.Itoa(at) + "." + *next
			return out, nil
		case last:
			return out, nil
		case page.size() > 0:
			*next = strconv.Itoa(at+1) + "."
			return out, nil
		}
		at, token = at+1, ""
	}
}

// listWhole is list for a list without pages.
func (o *Operation) listWhole(ctx context.Context, calls []*Call, in any) (any, error) {
	var all pages
	for _, c := range calls {
		out, err := o.Do(ctx, *c, again(o, in))
		if err != nil {
			return nil, err
		}
		if all == nil {
			all = out.(pages)
		} else {
			all.add(out)
		}
	}
	return all, nil
}
