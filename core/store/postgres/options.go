package postgres

import (
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/reflectory/reflectory/sdk"
)

// Options name the database that is the store, and the resources that may be used. A zero
// field means its default.
type Options struct {
	// URL is the database, such as postgres://user@host:5432/name?sslmode=verify-full, with
	// the parameters of libpq. It has no password: that comes from PGPASSWORD, or from the
	// file that PGPASSFILE names, or ~/.pgpass. search_path chooses the schema.
	URL string
	// Relaxed accepts a database that acknowledges commits before they are on its disk.
	Relaxed bool
	// Wait is how long calls wait for a database that can't be reached. Default 30 s;
	// negative doesn't wait.
	Wait time.Duration
	// CacheBytes bounds the cache of values that transactions read. Default 64 MiB.
	CacheBytes int
	// Connections is how many connections views may use at once. Default 16; up to 8 more
	// are used by transactions and by commits.
	Connections int
	// Fresh notes the ids that this host makes, so that the database isn't asked whether they
	// exist. Nil notes none.
	Fresh *FreshIDs
}

// DefaultWait is how long calls wait for a database that can't be reached.
const DefaultWait = 30 * time.Second

// Validate reports what is wrong with the options.
func (o *Options) Validate() error {
	if err := CheckURL(o.URL); err != nil {
		return err
	}
	if o.CacheBytes < 0 || o.Connections < 0 {
		return sdk.Errorf(sdk.Invalid, "store_options_invalid", "store options: a cache of %d bytes and %d connections", o.CacheBytes, o.Connections)
	}
	return nil
}

// CheckURL reports what is wrong with the URL of a database. The error has no part of it
// that may be secret.
func CheckURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql":
		return sdk.Errorf(sdk.Invalid, "store_url_invalid", "the store isn't given as the URL of a PostgreSQL database").
			WithHint("write it as postgres://user@host/database?sslmode=verify-full")
	case hasPassword(u):
		return sdk.Errorf(sdk.Invalid, "store_url_password", "the URL of the store has a password, which lists of processes and settings would show").
			WithHint("remove it there, and give it as PGPASSWORD or in a file of mode 0600 that PGPASSFILE names")
	}
	if _, err := pgconn.ParseConfig(text); err != nil {
		return sdk.Errorf(sdk.Invalid, "store_url_invalid", "the URL of the store isn't one that PostgreSQL's tools accept").
			WithHint("check its parameters, such as sslmode and sslrootcert, and that the files exist which they name")
	}
	return nil
}

func hasPassword(u *url.URL) bool {
	if u.User != nil {
		if _, has := u.User.Password(); has {
			return true
		}
	}
	return u.Query().Has("password") || u.Query().Has("sslpassword")
}

func (o Options) withDefaults() Options {
	switch {
	case o.Wait == 0:
		o.Wait = DefaultWait
	case o.Wait < 0:
		o.Wait = 0
	}
	if o.CacheBytes == 0 {
		o.CacheBytes = 64 << 20
	}
	if o.Connections == 0 {
		o.Connections = 16
	}
	if o.Fresh == nil {
		o.Fresh = &FreshIDs{}
	}
	return o
}

// Name is the database that a URL means, as host:port/name, for messages and the status.
func Name(text string) string {
	c, err := pgconn.ParseConfig(text)
	if err != nil {
		return "the database"
	}
	return name(c)
}

func name(c *pgconn.Config) string {
	host := net.JoinHostPort(c.Host, strconv.Itoa(int(c.Port)))
	if strings.HasPrefix(c.Host, "/") {
		host = c.Host
	}
	database := c.Database
	if database == "" {
		database = c.User
	}
	return host + "/" + database
}
