package postgres

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/reflectory/reflectory/sdk"
)

// Server is what a database reports about itself.
type Server struct {
	// Name is host:port/database.
	Name string `json:"name"`
	// Version is PostgreSQL's, such as 15.18.
	Version string `json:"version"`
	// Standby names the synchronous standbys, as synchronous_standby_names does; "" if
	// there is none, so that a failover loses acknowledged commits.
	Standby string `json:"standby,omitempty"`

	linux bool // is what it runs on
}

// serverSQL asks for what decides whether a database can be the store. A setting that
// another database doesn't have is NULL.
const serverSQL = `
select current_setting('server_version_num')::bigint, version(), current_setting('server_version'),
  current_setting('fsync', true), current_setting('synchronous_commit', true),
  current_setting('default_transaction_isolation'), pg_is_in_recovery() or current_setting('transaction_read_only') = 'on',
  current_setting('synchronous_standby_names', true), current_setting('server_encoding'),
  to_regclass('kv') is not null and to_regclass('kv_commit') is not null`

// minVersion is PostgreSQL 15.
const minVersion = 150000

// tablesSQL creates the tables, one host at a time.
const tablesSQL = `
select pg_advisory_xact_lock(7246390241);
create table if not exists kv (
  k bytea primary key,
  v bytea not null,
  ver bigint not null
) with (autovacuum_vacuum_scale_factor = 0.02, toast.autovacuum_vacuum_scale_factor = 0.02);
alter table kv alter v set storage external;
create table if not exists kv_commit (
  id bigint primary key,
  refused boolean not null default false,
  at timestamptz not null default now()
);
create index if not exists kv_commit_at on kv_commit using brin (at);`

// prepare waits for the database, refuses one that can't keep what it acknowledges, and
// creates the tables.
func (s *Store) prepare(ctx context.Context) (Server, error) {
	wait := outage{pool: s.pool, wait: s.options.Wait}
	for {
		server, err := s.tryPrepare(ctx)
		if err == nil {
			return server, nil
		}
		switch reason := sdk.ReasonOf(err); {
		case reason == "store_database_unfit" || reason == "store_read_only":
			return Server{}, err
		case stateOf(err) == stateReadOnly:
			return Server{}, translate(s.pool.name, err)
		}
		if err := wait.next(ctx, err); err != nil {
			return Server{}, err
		}
	}
}

// Look asks a database what it is, and whether it can be the store. It changes nothing, and
// doesn't wait for one that is away.
func Look(ctx context.Context, o Options) (Server, error) {
	if err := o.Validate(); err != nil {
		return Server{}, err
	}
	config, err := pgconn.ParseConfig(o.URL)
	if err != nil {
		return Server{}, CheckURL(o.URL)
	}
	s := &Store{options: o, pool: newPool(config), reads: make(slots, 1)}
	defer s.pool.close()
	c, err := s.pool.get(ctx, s.reads)
	if err != nil {
		return Server{}, translate(s.pool.name, err)
	}
	defer c.put()
	all, err := c.send(ctx, statement{sql: serverSQL})
	if err != nil {
		return Server{}, translate(s.pool.name, err)
	}
	return s.pool.server(all[0][0]), s.judge(all[0][0])
}

// server is the row of serverSQL.
func (p *pool) server(r row) Server {
	version, _, _ := strings.Cut(string(r[2]), " ")
	return Server{Name: p.name, Version: version, Standby: string(r[7]), linux: strings.Contains(string(r[1]), "linux")}
}

func (s *Store) tryPrepare(ctx context.Context) (Server, error) {
	c, err := s.pool.get(ctx, s.reads)
	if err != nil {
		return Server{}, err
	}
	defer c.put()
	all, err := c.send(ctx, statement{sql: serverSQL})
	if err != nil {
		return Server{}, err
	}
	r := all[0][0]
	if err := s.judge(r); err != nil {
		return Server{}, err
	}
	if !isTrue(r[9]) {
		if _, err := c.Exec(ctx, tablesSQL).ReadAll(); err != nil {
			return Server{}, err
		}
	}
	return s.pool.server(r), nil
}

// judge refuses a database that can't be the store.
func (s *Store) judge(r row) error {
	version, fsync, commit, isolation := string(r[1]), string(r[3]), string(r[4]), string(r[5])
	unfit := func(hint, format string, args ...any) error {
		return sdk.Errorf(sdk.Incompatible, "store_database_unfit", "the database %s can't be the store: "+format, append([]any{s.pool.name}, args...)...).WithHint("%s", hint)
	}
	switch {
	case !strings.HasPrefix(version, "PostgreSQL ") || fsync == "" || commit == "":
		return unfit("use PostgreSQL itself", "it is %.60s, and its locks and transactions haven't been shown to do", version)
	case toNumber(r[0]) < minVersion:
		return unfit("use PostgreSQL 15 or later", "it is PostgreSQL %s", r[2])
	case fsync != "on":
		return unfit("set fsync to on", "fsync is off, so a crash may damage it")
	case commit == "off" && !s.options.Relaxed:
		return unfit("set synchronous_commit to on, or the durability to relaxed", "synchronous_commit is off, so a crash loses the newest commits")
	case isolation != "read committed":
		return unfit("set default_transaction_isolation to read committed for the user of the store", "its default isolation is %s", isolation)
	case string(r[8]) != "UTF8" && string(r[8]) != "SQL_ASCII":
		return unfit("create the database in UTF-8", "its encoding is %s", r[8])
	case isTrue(r[6]):
		return sdk.Errorf(sdk.Unavailable, "store_read_only", "the database %s is read-only: it may be a standby", s.pool.name).
			WithHint("name the primary, or all servers with target_session_attrs=read-write")
	}
	return nil
}
