package store

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"

	"github.com/reflectory/reflectory/core"
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
)

// TenantElsewhere is the reason for refusing a tenant that another database has.
const TenantElsewhere = "tenant_elsewhere"

// tenantRecord names the database that has a tenant.
type tenantRecord struct {
	Database string `json:"database"`
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
// database: sdk.Conflict, reason "tenant_has_data". If it refuses any tenant, no tenant is
// assigned.
func AssignTenants(ctx context.Context, main core.Store, database string, tenants []string) error {
	record := core.MustJSON(tenantRecord{database})
	err := main.View(ctx, func(r core.Reader) error { return haveNoRuns(r, tenants) })
	if err != nil {
		return sdk.Wrap("assign tenants to a database", err)
	}
	return sdk.Wrap("assign tenants to a database", main.Update(ctx, func(tx core.Tx) error {
		for _, tenant := range tenants {
			there, found, err := readTenant(tx, tenant)
			switch {
			case err != nil:
				return err
			case found && there.Database != database:
				return sdk.Errorf(sdk.Conflict, TenantElsewhere, "another database than the one of these settings has tenant %s", tenant).
					WithHint("give this host the map of tenants that the other hosts have").WithDetail("tenant", tenant)
			case found:
				continue
			}
			if err := hasNoNamespace(tx, tenant); err != nil {
				return err
			}
			if err := tx.Put([]byte(tenantPrefix+tenant), record); err != nil {
				return err
			}
		}
		return nil
	}))
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
		WithHint("leave it there: take the tenant out of the map").WithDetail("tenant", tenant)
}

// haveNoRuns refuses tenants that aren't assigned yet and have a run or a job in a store. Runs and
// jobs have no index by namespace, so all of them are read, which is too much for a transaction
// that writes. Once a tenant is assigned, such commits are refused anyway.
func haveNoRuns(r core.Reader, tenants []string) error {
	var open []string
	for _, tenant := range tenants {
		if _, found, err := readTenant(r, tenant); err != nil {
			return err
		} else if !found {
			open = append(open, tenant)
		}
	}
	if len(open) == 0 {
		return nil
	}
	for _, prefix := range []string{runPrefix, jobPrefix} {
		err := core.ScanPrefix(r, []byte(prefix), func(_, value []byte) (bool, error) {
			if namespace := namespaceOf(value); namespace != "" && slices.Contains(open, core.Tenant(namespace)) {
				return false, hasData(core.Tenant(namespace))
			}
			return true, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// namespaceOf is the namespace in the record of a run or a job; "" if it has none.
func namespaceOf(value []byte) string {
	var record struct {
		Namespace string `json:"namespace"`
	}
	_ = json.Unmarshal(value, &record) // a damaged record names no namespace; its reader reports the damage
	return record.Namespace
}

// AssignedTenants are the tenants that other databases have, according to the main database.
func AssignedTenants(r core.Reader) (tenants []string, err error) {
	return core.Suffixes(r, []byte(tenantPrefix), maxTenants)
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
	if json.Unmarshal(value, &record) != nil || record.Database == "" || core.CheckTenant(tenant) != nil {
		err = sdk.Errorf(sdk.Internal, damagedRecord, "the record of tenant %s doesn't say which database has it", core.Cut(tenant)).
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
	namespace := ""
	switch {
	case bytes.HasPrefix(key, []byte(namespaceHead)):
		namespace = string(key[len(namespaceHead):])
	case bytes.HasPrefix(key, []byte(runPrefix)), bytes.HasPrefix(key, []byte(jobPrefix)):
		namespace = namespaceOf(value)
	}
	if namespace != "" && namespace != core.EveryNamespace {
		if err := tx.look(core.Tenant(namespace)); err != nil {
			return err
		}
	}
	return tx.Tx.Put(key, value)
}

func (tx *tenantTx) look(tenant string) error {
	if tenant == tx.seen {
		return nil
	}
	if tx.here != nil {
		if err := tx.here(tenant); err != nil {
			return err
		}
	}
	_, found, err := readTenant(tx.Tx, tenant)
	if err == nil && found {
		err = ElsewhereError(tenant)
	}
	if err == nil {
		tx.seen = tenant
	}
	return err
}

// ElsewhereError is the error for a request that concerns a tenant in another database that this
// host doesn't know.
func ElsewhereError(tenant string) error {
	return sdk.Errorf(sdk.Conflict, TenantElsewhere, "tenant %s has a database of its own, which this host doesn't know", tenant).
		WithHint("give this host the map of tenants that the other hosts have").WithDetail("tenant", tenant)
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
