package config_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core/dream"
	"github.com/reflectory/reflectory/core/host/config"
)

// What a running server takes from changed files is in force after a refresh, what it doesn't take is
// named, and what can't be used changes nothing.
func TestRefresh(t *testing.T) {
	const before = "namespace: team\nkeep: {runs: 30d}\n"
	for name, k := range map[string]struct {
		after   string // reflectory.yaml; "-" removes it
		env     map[string]string
		holds   func(*config.Config) bool
		restart []string
		failure string
	}{
		"endpoint":           {after: before + "settings: {llm: {endpoints: [\"llm.example.org:443\"]}}\n", holds: func(c *config.Config) bool { return slices.Contains(c.Endpoints(), "llm.example.org:443") }},
		"endpoint and key":   {after: before + "settings: {llm: {endpoints: [{host: \"llm.example.org:443\", key_env: EXAMPLE}]}}\n", holds: func(c *config.Config) bool { return c.MaySend("llm.example.org:443", "EXAMPLE") }},
		"kept longer":        {after: strings.Replace(before, "30d", "60d", 1), holds: func(c *config.Config) bool { return c.Keep().Runs == 60*24*time.Hour }},
		"kept for ever":      {after: "namespace: team\n", holds: func(c *config.Config) bool { return c.Keep().Runs == 0 }},
		"dream":              {after: before + "settings: {dream: {strategy: keep_newest, stale: all}}\n", holds: func(c *config.Config) bool { return c.Dream().Strategy == dream.KeepNewest }},
		"developed plugin":   {after: before + "plugins: [{path: here, dev: true}]\n", holds: func(c *config.Config) bool { return len(c.Dev()) == 1 }},
		"the same":           {after: before, holds: func(c *config.Config) bool { return c.Keep().Runs == 30*24*time.Hour }},
		"removed":            {after: "-", holds: func(c *config.Config) bool { return c.Keep().Runs == 0 }, restart: []string{"namespace"}},
		"namespace":          {after: "namespace: other\n", holds: func(c *config.Config) bool { return c.Keep().Runs == 0 && c.Namespace.Value == "team" }, restart: []string{"namespace"}},
		"level and limit":    {after: before + "log_level: info\nlimits: {requests: 200}\n", holds: func(c *config.Config) bool { return c.LogLevel.Value == "warn" }, restart: []string{"limits_requests", "log_level"}},
		"variable overrides": {after: before + "settings: {llm: {endpoints: [\"llm.example.org:443\"]}}\n", env: map[string]string{"REFLECTORY_LLM_ENDPOINTS": "a.example.org:443"}, holds: func(c *config.Config) bool { return !slices.Contains(c.Endpoints(), "llm.example.org:443") }},
		"not YAML":           {after: "namespace: [", holds: func(c *config.Config) bool { return c.Keep().Runs == 30*24*time.Hour }, failure: "reflectory.yaml:"},
		"unknown key":        {after: before + "kep: {}\n", holds: func(c *config.Config) bool { return c.Keep().Runs == 30*24*time.Hour }, failure: "has no key"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, config.FileName)
			write := func(text string) {
				t.Helper()
				err := os.WriteFile(path+".new", []byte(text), 0o600)
				if err == nil {
					err = os.Rename(path+".new", path)
				}
				if text == "-" {
					err = os.Remove(path)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			write(before)
			load := config.Sources{Folder: dir, Getenv: func(name string) string { return map[string]string{"REFLECTORY_DATA_DIR": dir}[name] + k.env[name] }}
			c, err := config.Load(load)
			if err != nil {
				t.Fatal(err)
			}
			if found, err := c.Refresh(); err != nil || found.Generation != 0 || found.Restart != nil {
				t.Fatalf("unchanged files: %+v, %v", found, err)
			}
			write(k.after)
			found, err := c.Refresh()
			if k.failure != "" {
				if err == nil || !strings.Contains(err.Error(), k.failure) || found.Generation != 0 {
					t.Errorf("%+v, %v", found, err)
				}
			} else if err != nil || found.Generation != 1 || !slices.Equal(found.Restart, k.restart) {
				t.Errorf("%+v, %v", found, err)
			}
			if !k.holds(c) {
				t.Errorf("in force: %+v", c)
			}
			if again, err := c.Refresh(); err != nil || again.Generation != found.Generation || again.Restart != nil {
				t.Errorf("the second time: %+v, %v", again, err)
			}
			if k.failure == "" { // a changed lock counts too
				if err := os.WriteFile(c.Lock.Value, []byte("x"), 0o600); err != nil {
					t.Fatal(err)
				}
				if again, err := c.Refresh(); err != nil || again.Generation != 2 {
					t.Errorf("after the lock: %+v, %v", again, err)
				}
			}
		})
	}
}
