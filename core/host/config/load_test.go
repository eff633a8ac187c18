package config_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/reflectory/reflectory/core/host/config"
)

// load reads the settings of a folder with a reflectory.yaml, "" for none.
func load(t *testing.T, file string, env, flags map[string]string) (*config.Config, string, error) {
	t.Helper()
	dir := t.TempDir()
	if file != "" {
		if err := os.WriteFile(filepath.Join(dir, config.FileName), []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, err := config.Load(config.Sources{Flags: flags, Getenv: func(name string) string { return env[name] }, Folder: dir})
	return c, dir, err
}

func TestLoad_TakesTheFirstSourceThatSetsAValue(t *testing.T) {
	const file = "data_dir: state\nlog_level: info\n"
	env := map[string]string{"REFLECTORY_LOG_LEVEL": "debug", "REFLECTORY_NAMESPACE": ""}
	c, dir, err := load(t, file, env, map[string]string{"sandbox": "off", "agent": ""})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, config.FileName)
	for name, s := range map[string]struct{ got, want config.Setting }{
		"a flag":                 {c.Sandbox, config.Setting{Value: "off", Origin: "flag --sandbox"}},
		"a variable":             {c.LogLevel, config.Setting{Value: "debug", Origin: "environment REFLECTORY_LOG_LEVEL"}},
		"the file":               {c.DataDir, config.Setting{Value: filepath.Join(dir, "state"), Origin: path}},
		"next to the file":       {c.Lock, config.Setting{Value: filepath.Join(dir, "reflectory.lock"), Origin: path}},
		"a default":              {c.Namespace, config.Setting{Value: "default", Origin: config.OriginDefault}},
		"a default of another's": {c.PluginDir, config.Setting{Value: filepath.Join(dir, "state", "plugins"), Origin: config.OriginDefault}},
	} {
		if s.got != s.want {
			t.Errorf("%s: %+v, want %+v", name, s.got, s.want)
		}
	}
	if c.File() != path {
		t.Errorf("the file is %q", c.File())
	}
}
