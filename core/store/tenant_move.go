package store

import (
	"bytes"
	"cmp"
	"context"
	"slices"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/run"
	"github.com/reflectory/reflectory/sdk"
)

// A tenant is moved in these states. The record in the main database decides; the records in the
// two databases of the move are written after it, and refuse the tenant's commits there.
//
//	copying    nobody writes to the tenant; its keys are copied to Other
//	switched   Database has it, and may be written to; its keys are deleted in Other
//	abandoned  Database has it, as before; the copy is deleted in Other; nobody writes to it
//	(none)     Database has it, and nothing is left to do
//
// Each transaction of a move reads the record in the database that it writes to, and is refused if
// that isn't the one of its own step. So a program that was stopped half-way and goes on after
// another one finished the move changes nothing any more. For the same reason a record is only
// ever followed by one of a later state or epoch, and none is deleted.
type tenantState string

const (
	tenantCopying   tenantState = "copying"
	tenantSwitched  tenantState = "switched"
	tenantAbandoned tenantState = "abandoned"
)

// before reports whether a record may be followed by another one.
func (t tenantRecord) before(next tenantRecord) bool {
	stage := func(s tenantState) int {
		return slices.Index([]tenantState{tenantCopying, tenantSwitched, tenantAbandoned, ""}, s)
	}
	return t.Epoch < next.Epoch || t.Epoch == next.Epoch && stage(t.State) < stage(next.State)
}

// moveKeys is how many keys a transaction of a move writes: fewer than it may lock.
const moveKeys = 500

// TenantDatabase is a database that may have a tenant.
type TenantDatabase struct {
	// Writer writes to its store, and isn't bound to the tenants that the store is for.
	Writer *journal.Writer
	// Parts check the copy of the tenant that is made there.
	Parts []core.Checker
	// RemoveJobs removes the jobs of a tenant, which have all ended.
	RemoveJobs func(ctx context.Context, tenant string) error
}

// TenantMover moves a tenant between databases. Several processes may do it at once.
type TenantMover struct {
	Tenant string
	// Main is the id of the main database, and Databases are all that this process has, by their
	// ids: see [DatabaseID].
	Main      string
	Databases map[string]TenantDatabase
	// Progress, if set, is called now and then with how far the move is.
	Progress Progress
	// BatchKeys is how many keys a transaction writes at most; 0 is 500.
	BatchKeys int

	moved TenantMove
}

// TenantMove is what a move did.
type TenantMove struct {
	Tenant string `json:"tenant"`
	// Moved is whether the tenant was moved, and GivenUp whether an earlier move was given up. If
	// neither is set, the tenant was there before.
	Moved   bool `json:"moved"`
	GivenUp bool `json:"given_up"`
	// Records counts the keys that were copied, as far as this call compared them with the copies.
	Records int `json:"records"`
	// RetainedIn names what may keep the tenant's data that was deleted, such as a log or a backup,
	// and Held who reads it still; both as after a purge.
	RetainedIn []string `json:"retained_in,omitempty"`
	Held       string   `json:"held,omitempty"`
}

// To moves the tenant to a database. If an earlier move of it to that database wasn't completed, To
// continues that one, and if one away from that database wasn't, To gives it up. Its errors are
//   - sdk.Conflict: "tenant_busy" if the tenant has runs or jobs that haven't ended, "tenant_shared"
//     if it has records that other tenants have part in, "tenant_taken" if the database already has
//     records of these ids, "tenant_copy_wrong" if the copy isn't equal or a check finds problems,
//     and "tenant_move_changed" if another process has continued the move;
//   - sdk.NotFound, "tenant_database_missing", if a database isn't in Databases.
func (m *TenantMover) To(ctx context.Context, database string) (*TenantMove, error) {
	m.moved = TenantMove{Tenant: m.Tenant}
	m.BatchKeys = cmp.Or(m.BatchKeys, moveKeys)
	for {
		rec, err := m.record(ctx)
		if err != nil {
			return nil, err
		}
		for _, id := range []string{database, rec.Database, rec.Other} {
			if _, has := m.Databases[id]; !has && id != "" {
				return nil, m.missing(rec)
			}
		}
		switch {
		case rec.State == tenantSwitched, rec.State == tenantAbandoned:
			err = m.finish(ctx, rec)
		case rec.State == tenantCopying && rec.Other == database:
			err = m.carry(ctx, rec)
		case rec.State == tenantCopying && rec.Database == database:
			err = m.follow(ctx, rec, tenantRecord{rec.Database, rec.Epoch, tenantAbandoned, rec.Other})
		case rec.State == tenantCopying:
			err = sdk.Errorf(sdk.Conflict, TenantMoving, "tenant %s is being moved to a third database", m.Tenant).
				WithHint("first complete that move, or give it up, by a map that names one of its databases").WithDetail("tenant", m.Tenant)
		case rec.Database == database:
			return &m.moved, m.advance(ctx, database, rec) // its own record may be older
		default:
			err = m.begin(ctx, rec, database)
		}
		if err != nil {
			return nil, sdk.Wrap("move tenant "+m.Tenant, err)
		}
	}
}

// missing refuses a move, one of whose databases this process doesn't have.
func (m *TenantMover) missing(rec tenantRecord) error {
	return sdk.Errorf(sdk.NotFound, "tenant_database_missing", "this process doesn't have a database that the move of tenant %s needs", m.Tenant).
		WithHint("name it besides the map: it is where the tenant is, or where an earlier move began to take it").
		WithDetail("tenant", m.Tenant).WithDetail("databases", slices.DeleteFunc([]string{rec.Database, rec.Other}, func(id string) bool { return id == "" }))
}

// record is the tenant's record in the main database.
func (m *TenantMover) record(ctx context.Context) (rec tenantRecord, err error) {
	err = m.store(m.Main).View(ctx, func(r core.Reader) error {
		var found bool
		if rec, found, err = readTenant(r, m.Tenant); err == nil && !found {
			rec.Database = m.Main
		}
		return err
	})
	return rec, err
}

func (m *TenantMover) store(database string) core.Store { return m.Databases[database].Writer.Store }

// follow replaces the tenant's record in the main database.
func (m *TenantMover) follow(ctx context.Context, rec, next tenantRecord) error {
	return m.store(m.Main).Update(ctx, func(tx core.Tx) error {
		there, found, err := readTenant(tx, m.Tenant)
		if !found {
			there.Database = m.Main
		}
		switch {
		case err != nil:
			return err
		case there == next:
			return nil // another process did it
		case there != rec:
			return m.changed()
		}
		return tx.Put([]byte(tenantPrefix+m.Tenant), jsontext.MustEncode(next))
	})
}

func (m *TenantMover) changed() error {
	return sdk.Errorf(sdk.Conflict, "tenant_move_changed", "another process has continued the move of tenant %s", m.Tenant).
		WithHint("wait for it, or repeat the command").WithDetail("tenant", m.Tenant)
}

// advance brings the tenant's record in a database up to that of the main one.
func (m *TenantMover) advance(ctx context.Context, database string, rec tenantRecord) error {
	return m.store(database).Update(ctx, func(tx core.Tx) error {
		there, found, err := readTenant(tx, m.Tenant)
		switch {
		case err != nil || found && there == rec:
			return err
		case !found && rec.Epoch == 0: // it was never moved
			return nil
		case found && there == tenantRecord{Database: rec.Database, Epoch: rec.Epoch}:
			return nil // the move is over here, and the main database doesn't say so yet
		case found && !there.before(rec):
			return m.changed()
		}
		return tx.Put([]byte(tenantPrefix+m.Tenant), jsontext.MustEncode(rec))
	})
}

// step runs fn in a transaction of a database that is refused once another step is taken.
func (m *TenantMover) step(ctx context.Context, database string, rec tenantRecord, fn func(*journal.Tx) error) error {
	return m.Databases[database].Writer.Update(ctx, func(tx *journal.Tx) error {
		there, _, err := readTenant(tx, m.Tenant)
		if err == nil && there != rec {
			err = m.changed()
		}
		if err != nil {
			return err
		}
		return fn(tx)
	})
}

// keys are the tenant's keys in a database.
func (m *TenantMover) keys(ctx context.Context, database string) (keys *tenantKeys, err error) {
	err = m.store(database).View(ctx, func(r core.Reader) error {
		keys, err = readTenantKeys(ctx, r, m.Tenant)
		return err
	})
	return keys, err
}

// begin refuses what can't be moved, and then decides on the move.
func (m *TenantMover) begin(ctx context.Context, rec tenantRecord, to string) error {
	from, err := m.keys(ctx, rec.Database)
	if err == nil {
		err = m.movable(from)
	}
	if err != nil {
		return err
	}
	there, err := m.keys(ctx, to)
	if err != nil {
		return err
	}
	taken := there.all()
	err = m.each(ctx, rec.Database, slices.Concat(from.roots, from.heads), func(pairs []record) error {
		return m.store(to).View(ctx, func(r core.Reader) error {
			taken, err = present(r, pairs, taken)
			return err
		})
	})
	if err == nil && len(taken) > 0 {
		err = m.taken(taken)
	}
	if err != nil {
		return err
	}
	return m.follow(ctx, rec, tenantRecord{rec.Database, rec.Epoch + 1, tenantCopying, to})
}

// present adds the keys of pairs that a database has.
func present(r core.Reader, pairs []record, taken [][]byte) ([][]byte, error) {
	err := prefetch(r, pairs)
	for _, p := range pairs {
		var found bool
		if err == nil {
			_, found, err = r.Get(p.key)
		}
		if found {
			taken = append(taken, p.key)
		}
	}
	return taken, err
}

func prefetch(r core.Reader, pairs []record) error {
	return core.Prefetch(r, func() core.Reads {
		var reads core.Reads
		for _, p := range pairs {
			reads.Keys = append(reads.Keys, p.key)
		}
		return reads
	})
}

// movable refuses a tenant that is at work, or shares records with others.
func (m *TenantMover) movable(keys *tenantKeys) error {
	switch {
	case len(keys.busy) > 0:
		return sdk.Errorf(sdk.Conflict, "tenant_busy", "tenant %s has %d runs and jobs that haven't ended: %s", m.Tenant, len(keys.busy), shorten(keys.busy)).
			WithHint("wait for them or cancel them; a run whose server was killed ends once it is resumed").WithDetail("busy", keys.busy)
	case len(keys.shared) > 0:
		return sdk.Errorf(sdk.Conflict, "tenant_shared", "tenant %s shares %d records with other tenants: %s", m.Tenant, len(keys.shared), shorten(keys.shared)).
			WithHint("nothing may be over two databases: purge these memories, or prune these runs").WithDetail("shared", keys.shared)
	}
	return nil
}

func (m *TenantMover) taken(keys [][]byte) error {
	names := make([]string, len(keys))
	for i, key := range keys {
		names[i] = run.DescribeKey(key)
	}
	return sdk.Errorf(sdk.Conflict, "tenant_taken", "the other database already has %d of these records: %s", len(names), shorten(names)).
		WithHint("records keep their ids: move the tenant to a database that has none of them").WithDetail("taken", names)
}

// carry copies the tenant, checks the copy, and decides that the tenant is there.
func (m *TenantMover) carry(ctx context.Context, rec tenantRecord) error {
	for _, database := range []string{rec.Database, rec.Other} {
		if err := m.advance(ctx, database, rec); err != nil {
			return err
		}
	}
	from, err := m.keys(ctx, rec.Database)
	if err != nil {
		return err
	}
	if err := m.movable(from); err != nil { // something began before the tenant was closed
		given := tenantRecord{rec.Database, rec.Epoch, tenantAbandoned, rec.Other}
		if failed := core.JoinErrors(m.follow(ctx, rec, given), m.finish(ctx, given)); failed != nil {
			return failed
		}
		return err
	}
	copied, total := 0, int64(len(from.all()))
	for i, keys := range [][][]byte{from.roots, from.others, from.heads} {
		if err == nil {
			err = m.each(ctx, rec.Database, keys, func(pairs []record) error {
				copied += len(pairs)
				m.Progress.report(Work{Doing: Moving, Records: int64(copied), Total: total})
				return m.copy(ctx, rec, pairs, i == 0)
			})
		}
	}
	if err == nil {
		err = m.check(ctx, rec)
	}
	if err != nil {
		return err
	}
	return m.follow(ctx, rec, tenantRecord{rec.Other, rec.Epoch, tenantSwitched, rec.Database})
}

// each calls fn for pairs of a database, as many as a transaction can have. A key that is gone is
// left out.
func (m *TenantMover) each(ctx context.Context, database string, keys [][]byte, fn func([]record) error) error {
	for len(keys) > 0 {
		var pairs []record
		n := min(len(keys), m.BatchKeys)
		err := m.store(database).View(ctx, func(r core.Reader) error {
			pairs = nil
			ahead := make([]record, n)
			for i := range ahead {
				ahead[i].key = keys[i]
			}
			size := 0
			for i := 0; i < n && size < batchBytes; i++ {
				if i%50 == 0 { // a prefetch of all could be far too much
					if err := prefetch(r, ahead[i:min(n, i+50)]); err != nil {
						return err
					}
				}
				value, found, err := r.Get(keys[i])
				if err != nil {
					return err
				}
				if size += len(keys[i]) + len(value); found {
					pairs = append(pairs, record{keys[i], value})
				}
				ahead = ahead[:i+1]
			}
			n = len(ahead)
			return ctx.Err()
		})
		if err == nil && len(pairs) > 0 {
			err = fn(pairs)
		}
		if err != nil {
			return err
		}
		keys = keys[n:]
	}
	return nil
}

// copy writes pairs to the copy, unless they are there. Nothing of another tenant is overwritten: a
// root is read in the transaction that writes it, and once the roots are there, nobody else makes
// a key that belongs to one.
func (m *TenantMover) copy(ctx context.Context, rec tenantRecord, pairs []record, roots bool) error {
	absent, err := m.absent(ctx, rec.Other, pairs)
	if err != nil || len(absent) == 0 {
		return err
	}
	return m.step(ctx, rec.Other, rec, func(tx *journal.Tx) error {
		for _, p := range absent {
			if roots {
				there, found, err := tx.Get(p.key)
				if err == nil && found && !bytes.Equal(there, p.value) {
					err = m.taken([][]byte{p.key})
				}
				if err != nil {
					return err
				}
			}
			if err := put(tx, p); err != nil {
				return err
			}
		}
		return nil
	})
}

// put writes a pair, and marks the head of a stream for the root.
func put(tx *journal.Tx, p record) error {
	if stream, is := bytes.CutPrefix(p.key, []byte("event-head/")); is {
		return journal.AdoptHead(tx, string(stream), p.value)
	}
	return tx.Put(p.key, p.value)
}

// absent are the pairs that a database doesn't have. It refuses pairs of which it has another value.
func (m *TenantMover) absent(ctx context.Context, database string, pairs []record) (absent []record, err error) {
	err = m.store(database).View(ctx, func(r core.Reader) error {
		absent = nil
		if err := prefetch(r, pairs); err != nil {
			return err
		}
		for _, p := range pairs {
			there, found, err := r.Get(p.key)
			switch {
			case err != nil:
				return err
			case !found:
				absent = append(absent, p)
			case !bytes.Equal(there, p.value):
				return m.taken([][]byte{p.key})
			}
		}
		return nil
	})
	return absent, err
}

// check proves that all agrees in the database of the copy, and that the copy is equal.
func (m *TenantMover) check(ctx context.Context, rec tenantRecord) error {
	var found []string
	there := m.Databases[rec.Other]
	_, err := Check(ctx, m.Progress.while(Checking, there.Writer.Store, 0), there.Parts, func(p core.Problem) {
		if len(found) < maxListed {
			found = append(found, p.Key+": "+p.Message)
		}
	})
	if err == nil && len(found) > 0 {
		err = m.wrong(found)
	}
	if err != nil {
		return err
	}
	from, err := m.keys(ctx, rec.Database)
	if err != nil {
		return err
	}
	to, err := m.keys(ctx, rec.Other)
	if err != nil {
		return err
	}
	if key := differs(from, to); key != nil {
		return m.wrong([]string{run.DescribeKey(key)})
	}
	return m.each(ctx, rec.Database, from.all(), func(pairs []record) error {
		m.moved.Records += len(pairs)
		return m.store(rec.Other).View(ctx, func(r core.Reader) error { return m.same(r, pairs, from.expiring) })
	})
}

// differs returns a key that only one of two databases has, apart from expiring ones.
func differs(a, b *tenantKeys) []byte {
	lasting := func(k, other *tenantKeys) [][]byte {
		list := slices.DeleteFunc(k.all(), func(key []byte) bool { return k.expiring[string(key)] || other.expiring[string(key)] })
		slices.SortFunc(list, bytes.Compare)
		return list
	}
	here, there := lasting(a, b), lasting(b, a)
	for i := range max(len(here), len(there)) {
		switch {
		case i >= len(here):
			return there[i]
		case i >= len(there) || !bytes.Equal(here[i], there[i]):
			return here[i]
		}
	}
	return nil
}

func (m *TenantMover) same(r core.Reader, pairs []record, expiring map[string]bool) error {
	err := prefetch(r, pairs)
	for _, p := range pairs {
		var there []byte
		if err == nil {
			there, _, err = r.Get(p.key)
		}
		if err == nil && !bytes.Equal(there, p.value) && !expiring[string(p.key)] {
			err = m.wrong([]string{run.DescribeKey(p.key)})
		}
	}
	return err
}

func (m *TenantMover) wrong(found []string) error {
	return sdk.Errorf(sdk.Conflict, "tenant_copy_wrong", "the copy of tenant %s can't be used, because of %s", m.Tenant, shorten(found)).
		WithHint("check both databases; give the move up by a map that leaves the tenant where it is").WithDetail("problems", found)
}
