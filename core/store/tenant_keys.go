package store

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core"
)

// What a move takes with a tenant is decided here, key by key. A few kinds of records name their
// namespace, and are in lists of ids below; all others belong to a record of these kinds, which
// their keys name, or have a namespace in their keys. So the ids are collected first, and then each
// key of the store is asked whose it is. FORMAT.md has the same table, with what stays and why.

// tenantIDs are the ids of a store's records, by the prefix of their keys, and whether each is of
// the tenant.
type tenantIDs map[string]map[string]bool

// tenantRoots are the prefixes of the keys of the records that name a namespace. All others
// follow from them, so these keys are copied first and deleted last, in the reverse order: what
// may be found by way of another root comes after it.
func tenantRoots() []string {
	return []string{
		"memory/", "memory-purged/", "run/", "session/", "knowledge/", "knowledge-purged/", "dream-run/", "pending/", "snapshot/", "turn/",
		"idempotency/",
	}
}

// owner says whether a key belongs to a tenant, from what follows its prefix and from its value.
type owner func(rest string, value []byte) bool

// tenantKeys is what a tenant has in a store.
type tenantKeys struct {
	// roots and others are its keys, but for the heads of its streams and their marks, which are
	// heads and marks.
	roots, others, heads, marks [][]byte
	// expiring are keys among them that the program itself removes at any time.
	expiring map[string]bool
	// foreign are its keys that other tenants' records need too.
	foreign map[string]bool
	// dropped are keys that may hold something of it, and can be lost at any time.
	dropped [][]byte
	// shared describes what can't be moved, since it belongs to other tenants as well.
	shared []string
	// busy describes its runs and jobs that haven't ended.
	busy []string
}

// all are the keys to copy, in their order.
func (k *tenantKeys) all() [][]byte { return slices.Concat(k.roots, k.others, k.heads) }

// readTenantKeys collects what a tenant has in a store.
func readTenantKeys(ctx context.Context, r core.Reader, tenant string) (*tenantKeys, error) {
	c := &collecting{
		r: r, tenant: tenant, ids: tenantIDs{}, keys: &tenantKeys{expiring: map[string]bool{}, foreign: map[string]bool{}},
		payloads: map[string]bool{}, mixed: map[string]bool{},
	}
	for _, prefix := range tenantRoots() {
		c.ids[prefix] = map[string]bool{}
	}
	for _, step := range []func(context.Context) error{c.records, c.sessions, c.snapshots, c.outcomes, c.all, c.works} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	return c.keys, nil
}

// collecting is the collection of a tenant's keys.
type collecting struct {
	r      core.Reader
	tenant string
	ids    tenantIDs
	keys   *tenantKeys
	// payloads are the digests of the payloads of its snapshots, and mixed those of the outcomes
	// that other tenants have part in too.
	payloads, mixed map[string]bool
}

// mine is whether a namespace is the tenant's.
func (c *collecting) mine(namespace string) bool {
	return namespace != "" && core.Tenant(namespace) == c.tenant
}

// memory is whether a memory is the tenant's, or was before it was purged.
func (c *collecting) memory(id string) bool {
	return c.ids["memory/"][id] || c.ids["memory-purged/"][id]
}

// apart is whether a memory is of another tenant than something that has its text or its id.
func (c *collecting) apart(mine bool, memory string) bool {
	_, there := c.ids["memory/"][memory]
	_, was := c.ids["memory-purged/"][memory]
	return (there || was) && mine != c.memory(memory)
}

// each calls fn for the pairs with a prefix, with what follows it in the key.
func (c *collecting) each(ctx context.Context, prefix string, fn func(rest string, value []byte)) error {
	return core.ScanPrefix(c.r, []byte(prefix), func(key, value []byte) (bool, error) {
		fn(string(key[len(prefix):]), value)
		return true, ctx.Err()
	})
}

// records collects the ids of records that name their namespace.
func (c *collecting) records(ctx context.Context) error {
	for _, prefix := range []string{"memory/", "memory-purged/", "knowledge/", "knowledge-purged/", "dream-run/", "pending/", "run/"} {
		err := c.each(ctx, prefix, func(id string, value []byte) {
			var record struct {
				Namespace string `json:"namespace"`
			}
			_ = json.Unmarshal(value, &record) // a check reports a damaged record
			if prefix == runPrefix {
				record.Namespace = namespaceOf(value)
			}
			c.ids[prefix][id] = c.mine(record.Namespace)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// sessions collects the sessions of which every turn was in the tenant's namespaces.
func (c *collecting) sessions(ctx context.Context) error {
	here, elsewhere := c.ids[sessionPrefix], map[string]bool{}
	note := func(session, namespace string) {
		if namespace != "" {
			map[bool]map[string]bool{true: here, false: elsewhere}[c.mine(namespace)][session] = true
		}
	}
	type named struct {
		Namespace string  `json:"namespace"`
		Items     []named `json:"items"`
	}
	for _, prefix := range []string{sessionPrefix, "turn/"} {
		err := c.each(ctx, prefix, func(rest string, value []byte) {
			session, _, _ := strings.Cut(rest, "/")
			var record named
			_ = json.Unmarshal(value, &record)
			note(session, record.Namespace)
			for _, item := range record.Items {
				note(session, item.Namespace)
			}
		})
		if err != nil {
			return err
		}
	}
	for _, session := range slices.Sorted(maps.Keys(here)) {
		if elsewhere[session] {
			c.share("session " + session + " has turns of other tenants")
		}
	}
	return nil
}

// snapshots collects the snapshots and the payloads that they refer to.
func (c *collecting) snapshots(ctx context.Context) error {
	type block struct {
		MemoryID string `json:"memory_id"`
		Digest   string `json:"payload_digest"`
	}
	foreign := map[string]bool{}
	err := c.each(ctx, "snapshot/", func(id string, value []byte) {
		var record struct {
			Snapshot struct {
				Namespace string  `json:"namespace"`
				Used      []block `json:"blocks_used"`
			} `json:"snapshot"`
			Candidates []block `json:"candidates"`
		}
		_ = json.Unmarshal(value, &record)
		mine := c.mine(record.Snapshot.Namespace)
		c.ids["snapshot/"][id] = mine
		for _, b := range slices.Concat(record.Snapshot.Used, record.Candidates) {
			switch {
			case b.MemoryID != "":
				if c.apart(mine, b.MemoryID) {
					c.share("snapshot " + id + " has memory " + b.MemoryID + " of another tenant")
				}
			case mine:
				c.payloads[b.Digest] = true
			default:
				foreign[b.Digest] = true
			}
		}
	})
	for digest := range c.payloads {
		if foreign[digest] {
			c.keys.foreign["snapshot-payload/"+digest] = true
		}
	}
	return err
}

// outcomes collects the outcomes of calls with idempotency keys. One that several tenants have
// part in can't be moved and mustn't stay, since it may hold texts of both.
func (c *collecting) outcomes(ctx context.Context) error {
	return c.each(ctx, "idempotency/", func(digest string, value []byte) {
		var record struct {
			Namespaces []string `json:"namespaces"`
			Memories   []string `json:"memories"`
		}
		_ = json.Unmarshal(value, &record)
		mine, all := 0, len(record.Namespaces)+len(record.Memories)
		for _, namespace := range record.Namespaces {
			if c.mine(namespace) {
				mine++
			}
		}
		for _, memory := range record.Memories {
			if c.memory(memory) {
				mine++
			}
		}
		c.ids["idempotency/"][digest] = mine > 0 && mine == all
		c.mixed[digest] = mine > 0 && mine < all
	})
}

func (c *collecting) share(what string) {
	if !slices.Contains(c.keys.shared, what) {
		c.keys.shared = append(c.keys.shared, what)
	}
}

// first is the part of a key before a slash, or all of it.
func first(rest string) string {
	id, _, _ := strings.Cut(rest, "/")
	return id
}

// second is the part of a key between its first two slashes.
func second(rest string) string {
	_, rest, _ = strings.Cut(rest, "/")
	return first(rest)
}

// last is the part of a key after its last slash.
func last(rest string) string { return rest[strings.LastIndexByte(rest, '/')+1:] }

// afterTime is what follows a number of 8 bytes and a slash.
func afterTime(rest string) string { return rest[min(len("00000000/"), len(rest)):] }

// owners say whose the keys of each prefix are. A prefix that isn't here stays.
func (c *collecting) owners() map[string]owner {
	in := func(prefix string, id func(string) string) owner {
		return func(rest string, _ []byte) bool { return c.ids[prefix][id(rest)] }
	}
	ofMemory := func(rest string, _ []byte) bool { return c.memory(first(rest)) }
	ofSession, ofRun := in(sessionPrefix, first), in(runPrefix, first)
	inKey := func(rest string, _ []byte) bool {
		namespace, _, _ := strings.Cut(rest, "\x00")
		return c.mine(namespace)
	}
	inValue := func(_ string, value []byte) bool {
		var record struct {
			Namespace string `json:"namespace"`
			MemoryID  string `json:"memory_id"`
		}
		_ = json.Unmarshal(value, &record)
		return c.mine(record.Namespace) || c.memory(record.MemoryID)
	}
	owners := map[string]owner{
		"link-to/":           func(rest string, _ []byte) bool { return c.memory(last(rest)) },
		"observe-request/":   func(_ string, value []byte) bool { return c.memory(string(value)) },
		"pending-source/":    in("pending/", last),
		"dream-step/":        in("dream-run/", first),
		"run-time/":          in(runPrefix, afterTime),
		"run-memory/":        c.ofRunMemory,
		"run-prompt-memory/": in(runPrefix, last),
		"run-step-memory/":   in(runPrefix, second),
		"run-hour/":          func(_ string, value []byte) bool { return core.Tenant(namespaceOf(value)) == c.tenant },
		"snapshot-turn/":     func(_ string, value []byte) bool { return c.ids["snapshot/"][string(value)] },
		"snapshot-payload/":  func(digest string, _ []byte) bool { return c.payloads[digest] },
	}
	for _, kind := range []string{"namespace/", "run/", "session/"} { // the other streams stay
		owners["event/"+kind] = func(rest string, _ []byte) bool { return c.ofStream(kind + rest) }
	}
	for prefix := range c.ids {
		owners[prefix] = in(prefix, first)
	}
	for prefix, digest := range outcomeKeys() {
		owners[prefix] = in("idempotency/", digest)
	}
	for _, prefix := range []string{
		"memory-vector/", "memory-history/", "memory-session/", "memory-trial/", "link/", "promotion/", "dream-undo/", "dream-mark/", "gate-decision-memory/",
		"evidence-tool/", "evidence-tally/", "evidence-omega/", "snapshot-memory/", "turn-reflection-memory/",
	} {
		owners[prefix] = ofMemory
	}
	for _, prefix := range []string{"turn/", "session-window/", "session-window-summary/", "turn-reflection/", "snapshot-session/"} {
		owners[prefix] = ofSession
	}
	for _, prefix := range []string{"run-content/", "run-result/", "run-host/", "visit/", "attempt/", "run-prompt/", "run-prompt-text/", "run-step/"} {
		owners[prefix] = ofRun
	}
	for _, prefix := range []string{
		"memory-turn/", "memory-count/", "memory-sum/", "memory-time/", "memory-state/", "memory-kind/", "memory-agent/", "memory-tag/", "memory-title/",
		"pending-namespace/", "knowledge-namespace/", "dream-namespace/", "snapshot-time/", "reflection-count/", "reflection-state/", "governance/",
	} {
		owners[prefix] = inKey
	}
	for _, prefix := range []string{"gateway-session/", "gateway-place/", "gateway-message/"} {
		owners[prefix] = inKey
	}
	for _, prefix := range []string{"gateway-waiting/", "gateway-session-time/", "gateway-place-time/", "gateway-message-time/"} {
		owners[prefix] = func(rest string, value []byte) bool { return inKey(afterTime(rest), value) }
	}
	for _, prefix := range []string{"reflect-request/", "gate-decision/"} {
		owners[prefix] = inValue
	}
	return owners
}

// ofRunMemory is whether the texts of a memory in a run are the tenant's. Of a pruned run, the key
// is left to say that it was given the memory: it stays with the run's seal.
func (c *collecting) ofRunMemory(rest string, value []byte) bool {
	memory, run, _ := strings.Cut(rest, "/")
	run = first(run)
	mine := c.ids[runPrefix][run]
	if len(value) > 0 && c.apart(mine, memory) {
		c.share("run " + run + " has memory " + memory + " of another tenant")
	}
	return mine
}

// ofStream is whether an entry, a mark or a head is of one of the tenant's streams.
func (c *collecting) ofStream(rest string) bool {
	stream, _, _ := strings.Cut(rest, "\x00")
	kind, name, _ := strings.Cut(stream, "/")
	switch kind {
	case "namespace":
		return c.mine(name)
	case "run":
		return c.ids[runPrefix][name]
	case "session":
		return c.ids[sessionPrefix][name]
	}
	return false
}

// outcomeKeys are the prefixes of outcomes, and what their keys have as the digest.
func outcomeKeys() map[string]func(rest string) string {
	return map[string]func(string) string{"idempotency/": first, "idempotency-time/": afterTime, "idempotency-memory/": last}
}

// all asks of each key whose it is. Keys of links are looked at for their other ends.
func (c *collecting) all(ctx context.Context) error {
	owners, outcomes, roots := c.owners(), outcomeKeys(), tenantRoots()
	others := slices.DeleteFunc(slices.Sorted(maps.Keys(owners)), func(prefix string) bool { return slices.Contains(roots, prefix) })
	for i, prefix := range slices.Concat(roots, others) {
		to := &c.keys.others
		if i < len(roots) {
			to = &c.keys.roots
		}
		err := core.ScanPrefix(c.r, []byte(prefix), func(key, value []byte) (bool, error) {
			rest := string(key[len(prefix):])
			if prefix == "link/" {
				c.linked(rest)
			}
			digest, isOutcome := outcomes[prefix]
			expires := isOutcome || strings.HasPrefix(prefix, "gateway-")
			switch {
			case owners[prefix](rest, value):
				*to = append(*to, bytes.Clone(key))
				if expires {
					c.keys.expiring[string(key)] = true
				}
			case isOutcome && c.mixed[digest(rest)]:
				c.keys.dropped = append(c.keys.dropped, bytes.Clone(key))
			}
			return true, ctx.Err()
		})
		if err != nil {
			return err
		}
	}
	return cmp.Or(c.collect(ctx, "event-head/", &c.keys.heads), c.collect(ctx, "event-new/", &c.keys.marks))
}

// collect collects the keys of the tenant's streams.
func (c *collecting) collect(ctx context.Context, prefix string, to *[][]byte) error {
	return c.each(ctx, prefix, func(rest string, _ []byte) {
		if c.ofStream(rest) {
			*to = append(*to, []byte(prefix+rest))
		}
	})
}

// linked notes a link between memories of two tenants.
func (c *collecting) linked(rest string) {
	from, to := first(rest), strings.TrimPrefix(last(rest), "purged:")
	if c.apart(c.memory(from), to) {
		c.share("a link leads from memory " + from + " to memory " + to + " of another tenant")
	}
}

// works collects the tenant's runs and jobs that haven't ended, what is kept of its indices, and the
// replies of models, which don't say whose they are.
func (c *collecting) works(ctx context.Context) error {
	for _, prefix := range []string{runPrefix, jobPrefix} {
		err := c.each(ctx, prefix, func(id string, value []byte) {
			var record struct {
				Status string `json:"status"`
			}
			_ = json.Unmarshal(value, &record)
			if open := record.Status == "running" || record.Status == "queued"; open && core.Tenant(namespaceOf(value)) == c.tenant {
				c.keys.busy = append(c.keys.busy, strings.TrimSuffix(prefix, "/")+" "+id)
			}
		})
		if err != nil {
			return err
		}
	}
	for _, prefix := range []string{indexHead, "memory-index-words/", "memory-index-docs/"} {
		err := c.each(ctx, prefix, func(rest string, _ []byte) {
			if namespace, _, _ := strings.Cut(rest, "\x00"); c.mine(namespace) {
				c.keys.dropped = append(c.keys.dropped, []byte(prefix+rest))
			}
		})
		if err != nil {
			return err
		}
	}
	for _, prefix := range []string{"llm-reply/", "llm-reply-time/", "llm-reply-memory/"} {
		err := c.each(ctx, prefix, func(rest string, _ []byte) { c.keys.dropped = append(c.keys.dropped, []byte(prefix+rest)) })
		if err != nil {
			return err
		}
	}
	return nil
}
