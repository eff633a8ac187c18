package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/host/config"
	"github.com/reflectory/reflectory/sdk"
)

// loadStores loads settings with a file of stores.
func loadStores(t *testing.T, text string, flags map[string]string) (*config.Config, error) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "stores.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, config.FileName), []byte("stores: stores.yaml\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return config.Load(config.Sources{Folder: dir, Flags: flags})
}

func TestStores_MapTenantsToDatabases(t *testing.T) {
	c, err := loadStores(t, `
"*": postgres://main/all
team: postgres://one/own
users/ana: postgres://two/own
users/bob: postgres://one/own
staff: postgres://main/all
`, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(c.Store.Value, " ", filepath.Base(c.Store.Origin), " ", c.Databases())
	if want := "postgres://main/all stores.yaml [{postgres://one/own [team users/bob]} {postgres://two/own [users/ana]}]"; got != want {
		t.Errorf("%s\nnot %s", got, want)
	}
	own := c.OfDatabase("postgres://one/own")
	if own.Store.Value != "postgres://one/own" || !own.Shared() || own.Databases() != nil || own.Stores.Value != "" || c.Store.Value != "postgres://main/all" {
		t.Errorf("the settings of a tenant's database: %+v", own)
	}
	if c, err = loadStores(t, "team: postgres://one/own", map[string]string{"store": "postgres://main/all"}); err != nil || len(c.Databases()) != 1 || c.Store.Origin != "flag --store" {
		t.Errorf("with --store: %v", err)
	}
}

func TestStores_Refusals(t *testing.T) {
	main := map[string]string{"store": "postgres://main/all"}
	for text, want := range map[string]string{
		"team: postgres://one/own":                            "the others have none",
		"\"*\": postgres://other/all\nteam: postgres://one/x": "* is another database than store",
		"team/a: postgres://one/own":                          `"team/a" isn't a tenant`,
		"users: postgres://one/own":                           `"users" isn't a tenant`,
		"team: http://one/secret":                             "the database of team",
		"team: 7":                                             "the database of team must be text",
		"- team":                                              "must be a mapping",
	} {
		flags := main
		if strings.HasPrefix(want, "the others") {
			flags = nil
		}
		_, err := loadStores(t, text, flags)
		if sdk.ReasonOf(err) != "config_invalid" || !strings.Contains(err.Error(), want) || sdk.AsError(err).Hint == "" && want != "must be a mapping" {
			t.Errorf("%s: %v", text, err)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("the problem shows the URL: %v", err)
		}
	}
	if _, err := config.Load(config.Sources{Folder: t.TempDir(), Flags: map[string]string{"stores": "/none/stores.yaml", "store": "postgres://main/all"}}); sdk.ReasonOf(err) != "config_invalid" {
		t.Errorf("a file that isn't there: %v", err)
	}
}
