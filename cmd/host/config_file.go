package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/goccy/go-yaml"

	"github.com/reflectory/reflectory/sdk"
)

// configFile is the configuration file: the nearest one upwards.
const configFile = "reflectory.yaml"

// maxConfigBytes bounds the configuration file.
const maxConfigBytes = 1 << 20

// fileConfig is reflectory.yaml. Paths in it are relative to its folder.
type fileConfig struct {
	DataDir   string      `yaml:"data_dir"`
	PluginDir string      `yaml:"plugin_dir"`
	TrustFile string      `yaml:"trust_file"`
	LogLevel  string      `yaml:"log_level"`
	PolicyDir string      `yaml:"policy_dir"`
	Namespace string      `yaml:"namespace"`
	Sandbox   string      `yaml:"sandbox"`
	Plugins   []devPlugin `yaml:"plugins"`
	Settings  struct {
		LLM struct {
			Endpoints []string `yaml:"endpoints"`
		} `yaml:"llm"`
	} `yaml:"settings"`
}

// devPlugin is a plugin that runs unlocked. Dev says that this is meant.
type devPlugin struct {
	Path string `yaml:"path"`
	Dev  bool   `yaml:"dev"`
}

// devPlugins are the folders of the plugins that run unlocked.
func (c fileConfig) devPlugins(below func(string) string) []string {
	var dirs []string
	for _, p := range c.Plugins {
		dirs = append(dirs, below(p.Path))
	}
	return dirs
}

// check refuses plugins that neither a lock nor dev: true lets run.
func (c fileConfig) check(path string) error {
	for _, p := range c.Plugins {
		if p.Path == "" || !p.Dev {
			return sdk.Errorf(sdk.Invalid, "config_invalid", "%s: plugins: an entry needs path, and dev: true", path).
				WithHint("write {path: ./my-plugin, dev: true} to run it unlocked, or lock it: reflectory plugin add ./my-plugin")
		}
	}
	return nil
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
		return c.check(path)
	}
	place, problem := path, err.Error()
	var at yaml.Error
	if errors.As(err, &at) {
		pos := at.GetToken().Position
		place, problem = fmt.Sprintf("%s:%d:%d", path, pos.Line, pos.Column), at.GetMessage()
	}
	return sdk.Errorf(sdk.Invalid, "config_invalid", "%s: %s", place, problem).
		WithHint("the keys are data_dir, plugin_dir, trust_file, policy_dir, namespace, log_level, sandbox, plugins: [{path, dev}] and settings: {llm: {endpoints}}")
}
