package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/sdk"
)

// configFile is the configuration file: the nearest one upwards.
const configFile = "reflectory.yaml"

// maxConfigBytes bounds the configuration file.
const maxConfigBytes = 1 << 20

// Config is the configuration. Each value comes from a flag, else the
// environment, else reflectory.yaml, else its default.
type Config struct {
	// DataDir is the folder of all state.
	DataDir Setting `json:"data_dir"`
	// PluginDir is the folder of the plugins: <name>/<name> in it is one.
	PluginDir Setting `json:"plugin_dir"`
	// LogLevel is the least level of plugin logs that is shown.
	LogLevel Setting `json:"log_level"`
}

// Setting is a value and where it comes from: "flag --x", "environment X", a
// file's path, or "default".
type Setting struct {
	Value  string `json:"value"`
	Origin string `json:"origin"`
}

// fileConfig is reflectory.yaml. Paths in it are relative to its folder.
type fileConfig struct {
	DataDir   string `yaml:"data_dir"`
	PluginDir string `yaml:"plugin_dir"`
	LogLevel  string `yaml:"log_level"`
}

func loadConfig(f flags, getenv func(string) string) (Config, error) {
	path, file, err := findConfig()
	if err != nil {
		return Config{}, err
	}
	choose := func(flag, flagValue, env, fileValue, fallback string) Setting {
		switch {
		case flagValue != "":
			return Setting{flagValue, "flag --" + flag}
		case getenv(env) != "":
			return Setting{getenv(env), "environment " + env}
		case fileValue != "":
			return Setting{fileValue, path}
		}
		return Setting{fallback, "default"}
	}
	below := func(dir string) string {
		if dir == "" || filepath.IsAbs(dir) {
			return dir
		}
		return filepath.Join(filepath.Dir(path), dir)
	}
	c := Config{
		DataDir:   choose("data-dir", f.dataDir, "REFLECTORY_DATA_DIR", below(file.DataDir), defaultDataDir(getenv)),
		PluginDir: choose("plugin-dir", f.pluginDir, "REFLECTORY_PLUGIN_DIR", below(file.PluginDir), defaultPluginDir()),
		LogLevel:  choose("log-level", f.logLevel, "REFLECTORY_LOG_LEVEL", file.LogLevel, "warn"),
	}
	if !slices.Contains(levels, c.LogLevel.Value) {
		return Config{}, usageError{sdk.Errorf(sdk.Invalid, "config_invalid", "log level %q (%s) is not one of %s",
			c.LogLevel.Value, c.LogLevel.Origin, strings.Join(levels, ", "))}
	}
	return c, nil
}

// findConfig reads the nearest configuration file from the working folder
// upwards. Without one the path is "".
func findConfig() (path string, c fileConfig, err error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", c, sdk.Wrap("find "+configFile, err)
	}
	for {
		path = filepath.Join(dir, configFile)
		data, err := readBounded(path, maxConfigBytes)
		if err == nil {
			return path, c, decodeConfig(path, data, &c)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", c, err
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", c, nil
		}
		dir = parent
	}
}

func decodeConfig(path string, data []byte, c *fileConfig) error {
	err := yaml.NewDecoder(bytes.NewReader(data), yaml.Strict()).Decode(c)
	if err == nil || errors.Is(err, io.EOF) {
		return nil
	}
	place, problem := path, err.Error()
	var at yaml.Error
	if errors.As(err, &at) {
		pos := at.GetToken().Position
		place, problem = fmt.Sprintf("%s:%d:%d", path, pos.Line, pos.Column), at.GetMessage()
	}
	return sdk.Errorf(sdk.Invalid, "config_invalid", "%s: %s", place, problem).
		WithHint("the keys are data_dir, plugin_dir and log_level")
}

// defaultDataDir is reflectory in the user's data home.
func defaultDataDir(getenv func(string) string) string {
	if home := getenv("XDG_DATA_HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, "reflectory")
	}
	if home, err := os.UserHomeDir(); err == nil {
		return filepath.Join(home, ".local", "share", "reflectory")
	}
	return ".reflectory"
}

// defaultPluginDir is plugins beside the program.
func defaultPluginDir() string {
	program, err := os.Executable()
	if err != nil {
		return "plugins"
	}
	return filepath.Join(filepath.Dir(program), "plugins")
}

func (a *App) configCommand() *cobra.Command {
	c := &cobra.Command{Use: "config", Short: "Show the configuration", RunE: needsCommand}
	c.AddCommand(&cobra.Command{
		Use: "show", Short: "Print each setting, its value and where it comes from",
		Long: `Print each setting, its value and where it comes from. A flag beats the
environment, which beats the nearest reflectory.yaml upwards, which beats the default.`,
		Example: "  reflectory config show",
		RunE: func(*cobra.Command, []string) error {
			if a.flags.json {
				return printJSON(a.Stdout, a.config)
			}
			return a.table([]string{"SETTING", "VALUE", "ORIGIN"}, [][]string{
				{"data_dir", a.config.DataDir.Value, a.config.DataDir.Origin},
				{"plugin_dir", a.config.PluginDir.Value, a.config.PluginDir.Origin},
				{"log_level", a.config.LogLevel.Value, a.config.LogLevel.Origin},
			})
		},
	})
	return c
}

// needsCommand is what a command that only groups others does.
func needsCommand(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError{sdk.Errorf(sdk.Invalid, "usage", "%s has no command %q", c.CommandPath(), args[0]).
			WithHint("%s --help lists them", c.CommandPath())}
	}
	return c.Help()
}
