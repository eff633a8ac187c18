package job

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/table"
)

// The sets of ready jobs say when each queue was last served, and nothing about tenants: the
// same jobs are grouped by tenant here, in memory. What a claim chooses is looked up in the
// store's set within the claim's transaction, so what is here needn't be exact. It can always
// be read again.

const (
	// turnsAge is how long the groups are used before the sets are read again: so that a job whose
	// note was lost, since its transaction took longer than two such reads, isn't missed for longer.
	turnsAge = 10 * time.Second
	// maxNotes is how many notes a claim looks up one by one. Reading the sets is then cheaper.
	maxNotes = 100
	// maxStrangers is how many unknown jobs are looked up at once in a store that hosts share,
	// where each costs a round trip. Until the next look the others count as one tenant's.
	maxStrangers = 500
	// maxServed is how many tenants and users are remembered as served.
	maxServed = 100_000
)

// turns determine whose job is next: the first is the tenant that was served longest ago, and
// among a tenant's jobs the first of the queue that was served longest ago. Workflow jobs
// and other jobs have separate workers, so they have separate turns.
type turns struct {
	// exclusive is whether all changes are made by this process.
	exclusive bool

	mu sync.Mutex
	// ready are the items of a set, by tenant and by queue, or by user for workflow jobs. Each
	// list is in order.
	ready map[ordered]map[string]map[string][]string
	// owners is whose the ready jobs are, by id. It never changes for a job. A started job stays
	// here until the sets are read again.
	owners map[string]owner
	// namespaces are the namespaces of the workflow jobs in owners.
	namespaces map[string]string
	// notes are spots to which this process moved a job. The transaction may not be committed
	// yet, so a note is kept until the spot is in its set, or until the sets have been read
	// twice: the value is whether they were read once.
	notes map[spot]bool
	// readAt is when the sets were read; zero if they have to be read again.
	readAt time.Time
	// served is when a tenant or a user was last served, counted in starts.
	served map[turn]uint64
	starts uint64
}

// owner is whose a job is.
type owner struct{ tenant, queue string }

// turn is one that is served: a tenant, or with a queue a user of the tenant.
type turn struct {
	workflows bool
	owner
}

// crowd reports whether a tenant has half or more of the workers for jobs of a type, and whether
// another tenant had some lately. A tenant that has half comes after the others, and gets none if
// there are others. Nil means no tenant has.
type crowd func(t Type, tenant string) (half, others bool)

func newTurns(exclusive bool) *turns {
	return &turns{exclusive: exclusive, owners: map[string]owner{}, namespaces: map[string]string{}, notes: map[spot]bool{}, served: map[turn]uint64{}}
}

// note notes that a job was moved to a spot.
func (t *turns) note(at spot) {
	if t == nil || at.item == "" {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.notes) > 10*maxNotes { // nobody claims here
		clear(t.notes)
		t.readAt = time.Time{}
	}
	t.notes[at] = false
}

// forget makes the next claim read the sets again.
func (t *turns) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.readAt = time.Time{}
}

// started notes that a job was started.
func (t *turns) started(s shard, j *Job) {
	t.mu.Lock()
	defer t.mu.Unlock()
	o := ownerOf(j)
	t.starts++
	t.served[turn{!j.Type.Queued(), owner{tenant: o.tenant}}] = t.starts
	if !j.Type.Queued() {
		t.served[turn{true, o}] = t.starts
	}
	if len(t.served) > maxServed {
		for who, at := range t.served { // the oldest: they stay the first in turn
			if at+maxServed/2 < t.starts {
				delete(t.served, who)
			}
		}
	}
	set := s.ready(j.Type)
	for _, item := range t.ready[set][o.tenant][o.queue] {
		if _, id := parts(item); id == j.ID {
			t.remove(spot{set, item})
			break
		}
	}
}

// ownerOf is whose a job is.
func ownerOf(j *Job) owner {
	return owner{core.Tenant(j.Namespace), cmp.Or(queueOf(j), j.UserID)}
}

// next is the spot of the job of a shard that is next; the zero spot if there is none.
func (t *turns) next(r core.Reader, s shard, types []Type, now standing) (spot, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fresh := false
	if s == "" && (!t.exclusive || t.readAt.IsZero() || time.Since(t.readAt) > turnsAge || len(t.notes) > maxNotes) {
		if err := t.readSets(r); err != nil {
			return spot{}, err
		}
		fresh = true
	} else if err := t.settle(r, s); err != nil {
		return spot{}, err
	}
	for {
		at, held := t.choose(s, types, now)
		if at.item == "" {
			if fresh || held || s != "" { // other hosts' jobs are found once turnsAge is over
				return spot{}, nil
			}
			some, err := someReady(r, s, types)
			if err == nil && some {
				fresh, err = true, t.readSets(r)
			}
			if err != nil || !some {
				return spot{}, err
			}
			continue
		}
		if found, err := at.set.has(r, at.item); err != nil || found {
			return at, err
		}
		t.remove(at)
		if !fresh {
			t.notes[at] = false // it may be there once a transaction is committed
		}
	}
}

// someReady reports whether a set of a shard has a job.
func someReady(r core.Reader, s shard, types []Type) (bool, error) {
	for _, typ := range types {
		if first, err := s.ready(typ).first(r); err != nil || first != "" {
			return true, err
		}
	}
	return false, nil
}

// settle adds the jobs of the notes about a shard.
func (t *turns) settle(r core.Reader, s shard) error {
	for _, typ := range Types() {
		set := s.ready(typ)
		for at := range t.notes {
			if at.set != set {
				continue
			}
			found, err := set.has(r, at.item)
			if err == nil && found {
				err = t.add(r, at)
				delete(t.notes, at)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// readSets reads the sets of a store whose jobs aren't divided.
func (t *turns) readSets(r core.Reader) error {
	var spots []spot
	for _, typ := range Types() {
		set := shard("").ready(typ)
		if err := set.each(r, func(item string) bool { spots = append(spots, spot{set, item}); return true }); err != nil {
			return err
		}
	}
	return t.fill(r, spots)
}

// fill replaces all that is ready. The lock is held.
func (t *turns) fill(r core.Reader, spots []spot) error {
	known := t.owners
	t.ready, t.owners = map[ordered]map[string]map[string][]string{}, make(map[string]owner, len(spots))
	strangers, namespaces := 0, t.namespaces
	t.namespaces = make(map[string]string, len(namespaces))
	for _, at := range spots {
		delete(t.notes, at)
		_, id := parts(at.item)
		o, found := known[id]
		if found {
			t.owners[id] = o
			if namespace, is := namespaces[id]; is {
				t.namespaces[id] = namespace
			}
		} else if strangers++; strangers > maxStrangers && !t.exclusive {
			t.insert(at, owner{queue: id})
			continue
		}
		if err := t.add(r, at); err != nil {
			t.readAt = time.Time{}
			return err
		}
	}
	for at, read := range t.notes {
		if t.notes[at] = true; read {
			delete(t.notes, at)
		}
	}
	t.readAt = time.Now()
	return nil
}

// lockedFill is fill for a caller without the lock.
func (t *turns) lockedFill(r core.Reader, spots []spot) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.fill(r, spots)
}

// add adds a spot. A job that can't be read counts as a user's of no tenant: the claim that
// chooses it sets it aside.
func (t *turns) add(r core.Reader, at spot) error {
	_, id := parts(at.item)
	o, known := t.owners[id]
	if !known {
		rec, err := find(r, id)
		switch {
		case table.Corrupt(err) || err == nil && rec == nil:
			o = owner{queue: id}
		case err != nil:
			return err
		default:
			o = ownerOf(&rec.Job)
			t.owners[id] = o
			if !rec.Type.Queued() {
				t.namespaces[id] = rec.Namespace
			}
		}
	}
	t.insert(at, o)
	return nil
}

func (t *turns) insert(at spot, o owner) {
	tenants := t.ready[at.set]
	if tenants == nil {
		tenants = map[string]map[string][]string{}
		t.ready[at.set] = tenants
	}
	if tenants[o.tenant] == nil {
		tenants[o.tenant] = map[string][]string{}
	}
	items := tenants[o.tenant][o.queue]
	if place, found := slices.BinarySearch(items, at.item); !found {
		tenants[o.tenant][o.queue] = slices.Insert(items, place, at.item)
	}
}

// remove removes a spot, and groups that become empty. A job may have become known after its
// spot was added as a stranger's, so both groups are looked at.
func (t *turns) remove(at spot) {
	_, id := parts(at.item)
	for _, o := range []owner{t.owners[id], {queue: id}} {
		queues := t.ready[at.set][o.tenant]
		items := slices.DeleteFunc(queues[o.queue], func(item string) bool { return item == at.item })
		if len(items) > 0 {
			queues[o.queue] = items
			continue
		}
		if delete(queues, o.queue); len(queues) == 0 {
			delete(t.ready[at.set], o.tenant)
		}
	}
}

// rank is the place of a tenant in turn: the least is the first.
type rank struct {
	// kind is 0 for a tenant with other jobs than workflow jobs, 1 for workflow jobs, and 2 for
	// no job at all.
	kind    int
	crowded bool
	served  uint64
	first   string
}

func (a rank) compare(b rank) int {
	if c := cmp.Compare(a.kind, b.kind); c != 0 {
		return c
	}
	if a.crowded != b.crowded {
		if a.crowded {
			return 1
		}
		return -1
	}
	return cmp.Or(cmp.Compare(a.served, b.served), strings.Compare(a.first, b.first))
}

// firstTenant is the tenant that is next in a shard, and its rank. held is whether a tenant has
// ready jobs and gets no worker now.
func (t *turns) firstTenant(s shard, types []Type, now standing) (first string, best rank, held bool) {
	best.kind = 2
	for _, typ := range types {
		workflows := !typ.Queued()
		for tenant := range t.ready[s.ready(typ)] {
			at := rank{served: t.served[turn{workflows, owner{tenant: tenant}}], first: tenant}
			if now.crowded != nil {
				half, others := now.crowded(typ, tenant)
				if half && others {
					held = true
					continue
				}
				at.crowded = half
			}
			if workflows {
				at.kind = 1
				if t.allFull(s, tenant, now) {
					held = true
					continue
				}
			}
			if at.compare(best) < 0 {
				first, best = tenant, at
			}
		}
	}
	return first, best, held
}

// allFull reports whether none of a tenant's workflows may start now.
func (t *turns) allFull(s shard, tenant string, now standing) bool {
	if now.full == nil {
		return false
	}
	for user, items := range t.ready[s.ready(Workflow)][tenant] {
		if t.firstFree(user, items, now) != "" {
			return false
		}
	}
	return true
}

// firstFree is a user's first workflow that may start now; "" if there is none.
func (t *turns) firstFree(user string, items []string, now standing) string {
	if now.full == nil {
		return items[0]
	}
	if now.full(user, "") {
		return ""
	}
	for _, item := range items {
		if _, id := parts(item); !now.full(user, t.namespaces[id]) {
			return item
		}
	}
	return ""
}

// choose is the spot of the job that is next, as far as is known here. held is as of firstTenant.
func (t *turns) choose(s shard, types []Type, now standing) (best spot, held bool) {
	tenant, at, held := t.firstTenant(s, types, now)
	var served uint64
	for _, typ := range types {
		if typ.Queued() != (at.kind == 0) {
			continue
		}
		set := s.ready(typ)
		for queue, items := range t.ready[set][tenant] {
			var last uint64
			first := items[0]
			if !typ.Queued() { // the order of the other sets is when the queue was served
				last = t.served[turn{true, owner{tenant, queue}}]
				if first = t.firstFree(queue, items, now); first == "" {
					continue
				}
			}
			if best.item == "" || last < served || last == served && first < best.item {
				best, served = spot{set, first}, last
			}
		}
	}
	return best, held
}

// sort sorts shards by the tenant that is next in each. Shards of one tenant stay in order.
func (t *turns) sort(list []shard, types []Type, now standing) []shard {
	t.mu.Lock()
	defer t.mu.Unlock()
	ranks := map[shard]rank{}
	for _, s := range list {
		_, ranks[s], _ = t.firstTenant(s, types, now)
	}
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b shard) int { return ranks[a].compare(ranks[b]) })
	return list
}
