package cli

import (
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/document"
	"github.com/reflectory/reflectory/sdk"
)

// configFile is the configuration file: the nearest one upwards.
const configFile = "reflectory.yaml"

// configLimits bound the configuration file: nobody writes more by hand.
func configLimits() document.Limits {
	return document.Limits{Bytes: 64 << 10, Depth: 20, MayBeEmpty: true}
}

// fileConfig is reflectory.yaml. Paths in it are relative to its folder.
type fileConfig struct {
	dataDir, pluginDir, trustFile, policyDir string
	namespace, logLevel, sandbox, lockWait   string
	dev                                      []string // folders of the plugins that run unlocked
	llmEndpoints                             []string
	embeddings                               fileEmbeddings
	summaries                                fileModel
	depthBoost, durability                   string
	keep                                     fileKeep
}

// fileKeep is keep: how long what can be pruned is kept.
type fileKeep struct{ decisions, runs string }

// fileModel is a model at an endpoint: settings.summaries.
type fileModel struct{ model, url, keyEnv string }

// fileEmbeddings is settings.embeddings.
type fileEmbeddings struct {
	fileModel
	dims string
}

// devPlugins are the folders of the plugins that run unlocked.
func (c fileConfig) devPlugins(below func(string) string) []string {
	var dirs []string
	for _, dir := range c.dev {
		dirs = append(dirs, below(dir))
	}
	return dirs
}

// findConfig reads the nearest configuration file from a folder upwards, "" being the
// working one. Without one the path is "".
func findConfig(folder string) (path string, c fileConfig, err error) {
	dir, err := filepath.Abs(folder)
	if err != nil {
		return "", c, sdk.Wrap("find "+configFile, err)
	}
	for {
		path = filepath.Join(dir, configFile)
		data, err := core.ReadFile(path, int64(configLimits().Bytes))
		if err == nil {
			c, err = readConfig(path, data)
			return path, c, err
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

// configReader reads reflectory.yaml.
type configReader struct{ *document.Problems }

func (r configReader) mapping(n *document.Node, what string) *document.Reader {
	m := r.Mapping(n, what)
	m.NullIsAbsent = true
	return m
}

func readConfig(path string, data []byte) (c fileConfig, err error) {
	r := configReader{&document.Problems{File: path}}
	m := r.mapping(document.Read(string(data), configLimits(), r.Problems), configFile)
	c.dataDir, c.pluginDir, c.trustFile = m.Text("data_dir"), m.Text("plugin_dir"), m.Text("trust_file")
	c.policyDir, c.namespace = m.Text("policy_dir"), m.Text("namespace")
	c.logLevel, c.sandbox, c.durability, c.lockWait = m.Text("log_level"), m.Text("sandbox"), m.Text("durability"), m.Text("lock_wait")
	for _, n := range m.List("plugins") {
		c.dev = append(c.dev, r.plugin(n))
	}
	c.keep = r.keep(m.Get("keep"))
	settings := r.mapping(m.Get("settings"), "settings")
	c.llmEndpoints = r.endpoints(settings.Get("llm"))
	c.embeddings = r.embeddings(settings.Get("embeddings"))
	c.summaries = r.summaries(settings.Get("summaries"))
	c.depthBoost = r.recall(settings.Get("recall"))
	settings.Done()
	m.Done()
	if err := r.Err("config_invalid"); err != nil {
		return c, sdk.AsError(err).
			WithHint("the keys are data_dir, plugin_dir, trust_file, policy_dir, namespace, log_level, sandbox, durability, lock_wait, plugins: [{path, dev}], keep: {decisions, runs} and settings: {llm: {endpoints}, embeddings: {model, base_url, api_key_env, dims}, summaries: {model, base_url, api_key_env}, recall: {depth_boost}}")
	}
	return c, nil
}

// keep reads how long what can be pruned is kept: times, or the number 0.
func (r configReader) keep(n *document.Node) (k fileKeep) {
	m := r.mapping(n, "keep")
	span := func(key string) string {
		n := m.Get(key)
		if n == nil {
			return ""
		}
		if n.Kind != document.Text && n.Kind != document.Number {
			r.Add(n.At, "write a time such as 30d or 720h, or 0 for ever", "%s must be a time, not %s", key, n.Kind)
		}
		return n.Text
	}
	k.decisions, k.runs = span("decisions"), span("runs")
	m.Done()
	return k
}

// endpoints reads the endpoints of settings.llm.
func (r configReader) endpoints(n *document.Node) (list []string) {
	llm := r.mapping(n, "settings.llm")
	for _, n := range llm.List("endpoints") {
		if n.Kind != document.Text {
			r.Add(n.At, "write host:port, such as localhost:11434", "an endpoint must be text, not %s", n.Kind)
		}
		list = append(list, n.Text)
	}
	llm.Done()
	return list
}

// embeddings reads settings.embeddings.
func (r configReader) embeddings(n *document.Node) (e fileEmbeddings) {
	m := r.mapping(n, "settings.embeddings")
	e = fileEmbeddings{fileModel: model(m)}
	if dims := m.Typed("dims", document.Number); dims != nil {
		e.dims = dims.Text
	}
	m.Done()
	return e
}

// summaries reads settings.summaries.
func (r configReader) summaries(n *document.Node) fileModel {
	m := r.mapping(n, "settings.summaries")
	defer m.Done()
	return model(m)
}

// model reads the keys that a model at an endpoint has.
func model(m *document.Reader) fileModel {
	return fileModel{model: m.Text("model"), url: m.Text("base_url"), keyEnv: m.Text("api_key_env")}
}

// recall reads settings.recall.
func (r configReader) recall(n *document.Node) (depthBoost string) {
	m := r.mapping(n, "settings.recall")
	if boost := m.Typed("depth_boost", document.Number); boost != nil {
		depthBoost = boost.Text
	}
	m.Done()
	return depthBoost
}

// plugin reads the folder of a plugin that runs unlocked. dev: true says that
// this is meant.
func (r configReader) plugin(n *document.Node) string {
	m := r.mapping(n, "an entry of plugins")
	path, dev := m.Text("path"), m.Flag("dev")
	m.Done()
	if path == "" || !dev {
		m.Lacks("write {path: ./my-plugin, dev: true} to run it unlocked, or lock it: reflectory plugin add ./my-plugin",
			"an entry needs path, and dev: true")
	}
	return path
}
