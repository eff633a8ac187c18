package config

import (
	"maps"
	"slices"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/document"
	"github.com/reflectory/reflectory/core/plainfile"
	"github.com/reflectory/reflectory/sdk"
)

// The databases of tenants are in their own file, since hosts that share databases have
// to agree on them, and nothing else in reflectory.yaml.

// Database is a database with tenants of its own.
type Database struct {
	// URL is as in the setting store.
	URL string
	// Tenants are its tenants, sorted: see [core.Tenant].
	Tenants []string
}

// Databases are the databases of tenants in addition to Store, sorted by their first tenant.
func (c *Config) Databases() []Database { return slices.Clone(c.typed.databases) }

// OfDatabase are the settings of a host on one of the databases of tenants alone.
func (c *Config) OfDatabase(url string) *Config {
	own := *c
	own.Store.Value, own.Stores, own.typed.databases = url, Setting{Origin: OriginDefault}, nil
	return &own
}

// readStores reads the file that maps tenants to databases. What it has for * is the setting
// store, unless that is given elsewhere too.
func (l *loader) readStores(c *Config) []Database {
	path := c.Stores.Value
	if path == "" {
		return nil
	}
	text, err := plainfile.Read(path, int64(limits().Bytes))
	if err != nil {
		l.add("stores", c.Stores, sdk.AsError(err).Hint, "stores%s: %v", l.from(c.Stores), err)
		return nil
	}
	problems := &document.Problems{File: path}
	urls := readTenants(string(text), problems)
	l.others = append(l.others, problems.List()...)
	if url, given := urls[core.EveryNamespace]; given {
		delete(urls, core.EveryNamespace)
		switch {
		case c.Store.Value == "":
			c.Store = Setting{url, path}
		case c.Store.Value != url:
			l.add("stores", c.Stores, "leave out one of them", "stores%s: * is another database than store, which is set by %s", l.from(c.Stores), c.Store.Origin)
		}
	}
	if c.Store.Value == "" && problems.Len() == 0 {
		l.add("stores", c.Stores, `give the database of all other tenants: as store, or in the file as "*"`, "stores%s: tenants have databases, and the others have none", l.from(c.Stores))
	}
	return byURL(urls, c.Store.Value)
}

// readTenants reads the URLs of databases by tenants. No problem has a URL, which may have a
// password.
func readTenants(text string, problems *document.Problems) map[string]string {
	const example = `write entries such as team: "postgres://host/team"`
	urls := map[string]string{}
	m := problems.Mapping(document.Read(text, limits(), problems), "the file of stores")
	for _, e := range m.Node.Entries {
		if e.Key != core.EveryNamespace {
			if err := core.CheckTenant(e.Key); err != nil {
				problems.Add(e.At, sdk.AsError(err).Hint, "%v", err)
			}
		}
		if e.Value == nil || e.Value.Kind != document.Text {
			problems.Add(e.At, example, "the database of %s must be text", core.Cut(e.Key))
			continue
		}
		if f := checkStore(e.Value.Text); f != nil {
			problems.Add(e.Value.At, f.hint, "the database of %s: %s", core.Cut(e.Key), f.says)
		}
		urls[e.Key] = e.Value.Text
	}
	return urls
}

// byURL are the databases of tenants, without the database of all other tenants.
func byURL(urls map[string]string, main string) (list []Database) {
	for _, tenant := range slices.Sorted(maps.Keys(urls)) {
		url := urls[tenant]
		if url == main {
			continue
		}
		at := slices.IndexFunc(list, func(d Database) bool { return d.URL == url })
		if at < 0 {
			at, list = len(list), append(list, Database{URL: url})
		}
		list[at].Tenants = append(list[at].Tenants, tenant)
	}
	return list
}
