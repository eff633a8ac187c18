package store

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// Tenants can have their own databases. Each host's settings name the database of each such
// tenant, and two hosts can have different settings. So the database of all other tenants records
// which tenants have their own databases, and a commit to a namespace reads that record: a
// host with other settings is refused, and a tenant never has data in two databases.

const (
	// tenantPrefix begins the keys of the records. They are in the main database, which has all
	// tenants without their own database.
	tenantPrefix = "tenant/"
	// databaseKey is the key of a database's id, which never changes.
	databaseKey = "meta/database"
	// namespaceHead begins the keys that every commit to a namespace writes. runPrefix and
	// jobPrefix begin the keys of runs and jobs, whose records name their namespaces.
	namespaceHead = "event-head/namespace/"
	runPrefix     = "run/"
	jobPrefix     = "job/"
	// sessionHead begins the keys that every commit to a session writes, and sessionPrefix those
	// of sessions' records, which name their namespaces. reflectionState and indexHead begin keys
	// that are also written without an event.
	sessionHead     = "event-head/session/"
	sessionPrefix   = "session/"
	reflectionState = "reflection-state/"
	indexHead       = "memory-index/"
)

// TenantElsewhere is the reason for refusing a tenant that another database has.
const TenantElsewhere = "tenant_elsewhere"

// TenantMoving is the reason of a refusal because the tenant is being moved to another database.
const TenantMoving = "tenant_moving"

// tenantRecord says which database has a tenant. The one in the main database decides; those in
// the other databases of a move follow it.
type tenantRecord struct {
	Database string `json:"database"`
	// Epoch counts the moves that were begun, State says how far the newest one is, and Other is the
	// other database of that move: see [TenantMover].
	Epoch int         `json:"epoch,omitempty"`
	State tenantState `json:"state,omitempty"`
	Other string      `json:"other,omitempty"`
}

// refuse is why a database refuses to write to the tenant; nil if it is the one that has it.
func (t *tenantRecord) refuse(tenant, database string) error {
	switch {
	case t.State == tenantCopying, t.State == tenantAbandoned && t.Database == database:
		return MovingError(tenant)
	case t.Database != database || t.State == tenantAbandoned:
		return ElsewhereError(tenant)
	}
	return nil
}

// DatabaseID returns the id of a store's database. The first call creates the id.
func DatabaseID(ctx context.Context, s core.Store, newID func() string) (id string, err error) {
	fresh := newID()
	err = s.Update(ctx, func(tx core.Tx) error {
		value, found, err := tx.Get([]byte(databaseKey))
		if id = string(value); found || err != nil {
			return err
		}
		id = fresh
		return tx.Put([]byte(databaseKey), []byte(id))
	})
	return id, sdk.Wrap("identify the database", err)
}

// AssignTenants records in the main database that another database has tenants. It refuses a
// tenant that a third database has ([TenantElsewhere]), and a tenant that has records in the main
// database: sdk.Conflict, reason "tenant_has_data". If it refuses one, no tenant is assigned.
// moving are the tenants that are being moved there: they aren't there yet.
func AssignTenants(ctx context.Context, main core.Store, database string, tenants []string) (moving []string, err error) {
	err = main.View(ctx, func(r core.Reader) error { return haveNoRuns(r, tenants) })
	if err != nil {
		return nil, sdk.Wrap("assign tenants to a database", err)
	}
	err = main.Update(ctx, func(tx core.Tx) error {
		moving = nil
		for _, tenant := range tenants {
			there, inMain, err := placeOf(tx, tenant)
			switch {
			case err != nil:
				return err
			case there.State == tenantCopying && there.Other == database:
				moving = append(moving, tenant)
				continue
			case there.Database == database:
				continue
			case !inMain:
				return sdk.Errorf(sdk.Conflict, TenantElsewhere, "another database than the one of these settings has tenant %s", tenant).
					WithHint("give this host the map of tenants that the other hosts have").WithDetail("tenant", tenant)
			}
			if err := hasNoNamespace(tx, tenant); err != nil {
				return err
			}
			if there.Database != "" { // it was moved back: the other database has an older record
				there.Epoch++
			}
			if err := tx.Put([]byte(tenantPrefix+tenant), jsontext.MustEncode(tenantRecord{Database: database, Epoch: there.Epoch})); err != nil {
				return err
			}
		}
		return nil
	})
	return moving, sdk.Wrap("assign tenants to a database", err)
}

// placeOf is the record of a tenant in the main database, and whether the main one has the tenant
// and nobody moves it. A tenant without a record was never anywhere else.
func placeOf(main core.Reader, tenant string) (there tenantRecord, inMain bool, err error) {
	there, found, err := readTenant(main, tenant)
	if err != nil || !found {
		return there, !found, err
	}
	own, _, err := main.Get([]byte(databaseKey))
	return there, there.State == "" && there.Database == string(own), err
}

// hasNoNamespace refuses a tenant if a store has a namespace of that tenant.
func hasNoNamespace(r core.Reader, tenant string) error {
	_, found, err := r.Get([]byte(namespaceHead + tenant))
	if err == nil && !found {
		err = core.ScanPrefix(r, []byte(namespaceHead+tenant+"/"), func(_, _ []byte) (bool, error) {
			found = true
			return false, nil
		})
	}
	if err == nil && found {
		err = hasData(tenant)
	}
	return err
}

func hasData(tenant string) error {
	return sdk.Errorf(sdk.Conflict, "tenant_has_data", "tenant %s has records in the database of all other tenants, where it wouldn't find them any more", tenant).
		WithHint("move the tenant to the database, or take it out of the map").WithAction("tenant move", "tenant", tenant).WithDetail("tenant", tenant)
}

// haveNoRuns refuses tenants that aren't assigned yet and have a run or a job in a store. Runs and
// jobs have no index by namespace, so all of them are read, which is too much for a transaction
// that writes. Once a tenant is assigned, such commits are refused anyway.
func haveNoRuns(r core.Reader, tenants []string) error {
	var open []string
	for _, tenant := range tenants {
		if _, inMain, err := placeOf(r, tenant); err != nil {
			return err
		} else if inMain {
			open = append(open, tenant)
		}
	}
	if len(open) == 0 {
		return nil
	}
	for _, prefix := range []string{runPrefix, jobPrefix} {
		err := core.ScanPrefix(r, []byte(prefix), func(_, value []byte) (bool, error) {
			if tenant := core.Tenant(namespaceOf(value)); slices.Contains(open, tenant) {
				return false, hasData(tenant)
			}
			return true, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// namespaceOf is the namespace in the record of a run or a job. A record that names none is in the
// default one.
func namespaceOf(value []byte) string {
	var record struct {
		Namespace string `json:"namespace"`
	}
	_ = json.Unmarshal(value, &record) // a damaged record names none; what reads it reports that
	return cmp.Or(record.Namespace, core.DefaultNamespace)
}

// AssignedTenants are the tenants that other databases have, as a main database records it, and
// those that are being moved to the main one.
func AssignedTenants(main core.Reader) (elsewhere, moving []string, err error) {
	tenants, err := core.Suffixes(main, []byte(tenantPrefix), maxTenants)
	if err != nil {
		return nil, nil, err
	}
	own, _, err := main.Get([]byte(databaseKey))
	for _, tenant := range tenants {
		if err != nil {
			break
		}
		var there tenantRecord
		there, _, err = readTenant(main, tenant)
		switch {
		case there.State == tenantCopying && there.Other == string(own):
			moving = append(moving, tenant)
		case there.Database != string(own):
			elsewhere = append(elsewhere, tenant)
		}
	}
	return elsewhere, moving, err
}

// TenantPlace says which database has a tenant.
type TenantPlace struct {
	Tenant string `json:"tenant"`
	// DatabaseID is the id of the database, and Moves counts the moves that were begun.
	DatabaseID string `json:"database_id"`
	Moves      int    `json:"moves"`
	// State is the state of a move that isn't complete: copying, switched or abandoned; OtherID is
	// the other database of that move. Both are "" if there is none.
	State   string `json:"state,omitempty"`
	OtherID string `json:"other_id,omitempty"`
}

// TenantPlaces are the tenants that have, or had, databases of their own, by name, as a main
// database records it.
func TenantPlaces(main core.Reader) (list []TenantPlace, err error) {
	err = core.ScanPrefix(main, []byte(tenantPrefix), func(key, value []byte) (bool, error) {
		tenant := string(key[len(tenantPrefix):])
		rec, err := decodeTenant(tenant, value)
		list = append(list, TenantPlace{tenant, rec.Database, rec.Epoch, string(rec.State), rec.Other})
		return true, err
	})
	return list, err
}

// maxTenants is far above the number of tenants that have their own databases.
const maxTenants = 100_000

func readTenant(r core.Reader, tenant string) (record tenantRecord, found bool, err error) {
	value, found, err := r.Get([]byte(tenantPrefix + tenant))
	if err == nil && found {
		record, err = decodeTenant(tenant, value)
	}
	return record, found, err
}

func decodeTenant(tenant string, value []byte) (record tenantRecord, err error) {
	known := []tenantState{"", tenantCopying, tenantSwitched, tenantAbandoned}
	if json.Unmarshal(value, &record) != nil || record.Database == "" || core.CheckTenant(tenant) != nil ||
		!slices.Contains(known, record.State) || (record.State == "") != (record.Other == "") {
		err = sdk.Errorf(sdk.Internal, "record_corrupt", "the record of tenant %s doesn't say which database has it", core.Cut(tenant)).
			WithHint("nothing else says it: restore this key from a backup of the main database")
	}
	return record, err
}

// Here refuses a tenant that doesn't belong in a store; nil means that the store is for all
// tenants.
type Here func(tenant string) error

// UpdateHere is s.Update for a store that isn't for all tenants: a transaction that writes to a
// namespace, or writes a run or job of it, is refused if here refuses its tenant, or if the store
// records that another database has the tenant. The record is read in the transaction, so a
// tenant that is assigned meanwhile is refused too.
func UpdateHere(ctx context.Context, s core.Store, here Here, fn func(core.Tx) error) error {
	return s.Update(ctx, func(tx core.Tx) error { return fn(&tenantTx{Tx: tx, here: here}) })
}

// tenantTx is a transaction that checks the tenants of what it writes.
type tenantTx struct {
	core.Tx
	here Here
	// seen is the tenant that was checked last: most transactions write to only one.
	seen string
}

var _ core.ReaderWithPrefetch = (*tenantTx)(nil)

// Prefetch implements [core.ReaderWithPrefetch]. If the store is near, it does nothing.
func (tx *tenantTx) Prefetch(reads core.Reads) error {
	if far, ok := tx.Tx.(core.ReaderWithPrefetch); ok {
		return far.Prefetch(reads)
	}
	return nil
}

// Put implements [core.Tx].
func (tx *tenantTx) Put(key, value []byte) error {
	namespace, err := tx.written(key, value)
	if err == nil && namespace != "" && namespace != core.EveryNamespace {
		err = tx.checkTenant(core.Tenant(namespace))
	}
	if err != nil {
		return err
	}
	return tx.Tx.Put(key, value)
}

// Delete implements [core.Tx]. A pruning removes runs without a write to their namespaces.
func (tx *tenantTx) Delete(key []byte) error {
	if bytes.HasPrefix(key, []byte(runPrefix)) {
		value, found, err := tx.Get(key)
		if err == nil && found {
			err = tx.checkTenant(core.Tenant(namespaceOf(value)))
		}
		if err != nil {
			return err
		}
	}
	return tx.Tx.Delete(key)
}

// written is the namespace that a pair belongs to, if it is one of those by which a transaction
// shows where it writes; otherwise "".
func (tx *tenantTx) written(key, value []byte) (string, error) {
	if rest, is := bytes.CutPrefix(key, []byte(namespaceHead)); is {
		return cmp.Or(string(rest), core.DefaultNamespace), nil
	}
	for _, prefix := range []string{reflectionState, indexHead} {
		if rest, is := bytes.CutPrefix(key, []byte(prefix)); is {
			return string(rest), nil
		}
	}
	if bytes.HasPrefix(key, []byte(runPrefix)) || bytes.HasPrefix(key, []byte(jobPrefix)) {
		return namespaceOf(value), nil
	}
	session, is := bytes.CutPrefix(key, []byte(sessionHead))
	if !is {
		return "", nil
	}
	value, found, err := tx.Get(append([]byte(sessionPrefix), session...))
	if err != nil || !found {
		return "", err
	}
	var record struct {
		Namespace string `json:"namespace"`
	}
	_ = json.Unmarshal(value, &record) // as in namespaceOf
	return record.Namespace, nil       // "": it has had no recall yet
}

func (tx *tenantTx) checkTenant(tenant string) error {
	if tenant == tx.seen {
		return nil
	}
	if tx.here != nil {
		if err := tx.here(tenant); err != nil {
			return err
		}
	}
	there, found, err := readTenant(tx.Tx, tenant)
	if err == nil && found {
		var own []byte
		if own, _, err = tx.Get([]byte(databaseKey)); err == nil {
			err = there.refuse(tenant, string(own))
		}
	}
	if err == nil {
		tx.seen = tenant
	}
	return err
}

// ElsewhereError is the error for a request that concerns a tenant in another database that this
// host doesn't know.
func ElsewhereError(tenant string) error {
	return sdk.Errorf(sdk.Conflict, TenantElsewhere, "tenant %s is in another database, which this host doesn't know", tenant).
		WithHint("give this host the map of tenants that the other hosts have").WithDetail("tenant", tenant)
}

// MovingError refuses what concerns a tenant that is being moved to another database.
func MovingError(tenant string) error {
	return sdk.Errorf(sdk.Unavailable, TenantMoving, "tenant %s is being moved to another database", tenant).
		WithHint("wait until the move has ended; if its command was stopped, repeat it").WithDetail("tenant", tenant)
}

// HereStore is a store for some tenants: its Update is [UpdateHere].
func HereStore(s core.Store, here Here) core.Store {
	return &hereStore{fenceable{fenced{Store: s}}, here}
}

// hereStore also has the optional methods of its store.
type hereStore struct {
	fenceable
	here Here
}

// Update implements [core.Store].
func (s *hereStore) Update(ctx context.Context, fn func(core.Tx) error) error {
	return UpdateHere(ctx, s.Store, s.here, fn)
}

// TenantChecker checks the records of tenants' databases. They name the databases of tenants, and
// don't describe what is in this database, so an export leaves them out. A repair keeps a record
// that can't be read: commits to that tenant are refused until the record is restored.
type TenantChecker struct{}

var _ core.Rebuilder = TenantChecker{}

// Check implements [core.Checker].
func (TenantChecker) Check(_ context.Context, r core.Reader, report func(core.Problem)) error {
	return core.ScanPrefix(r, []byte(tenantPrefix), func(key, value []byte) (bool, error) {
		if _, err := decodeTenant(string(key[len(tenantPrefix):]), value); err != nil {
			report(core.Problem{Part: "tenants", Key: string(key), Message: err.Error()})
		}
		return true, nil
	})
}

// Derived implements [core.Rebuilder].
func (TenantChecker) Derived() []string { return []string{tenantPrefix} }

// Rebuild implements [core.Rebuilder]. It does nothing, since nothing else records where a tenant
// is.
func (TenantChecker) Rebuild(context.Context, core.Store) error { return nil }
