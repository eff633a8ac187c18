package gateway

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/document"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/host/config"
	"github.com/reflectory/reflectory/core/loop"
	"github.com/reflectory/reflectory/core/plainfile"
	"github.com/reflectory/reflectory/core/workflow"
	"github.com/reflectory/reflectory/sdk"
)

// FileName is the file with the models of the gateway, next to reflectory.yaml.
const FileName = "gateway.yaml"

// Settings are the models that a gateway serves.
type Settings struct {
	// File is the file that was read; "" if there is none, and the model of settings.llm is served.
	File string
	// Models are sorted by name.
	Models []Served
	// Pass are patterns of names that go to the upstream of settings.llm as they are, unchecked.
	Pass []string

	passing Source
	files   map[string]os.FileInfo // how the files looked that say this; nil for one that wasn't there
}

// Served is a model with its upstream and its limits. Its Namespace is "" for the caller's own.
type Served struct {
	Model
	At Source
	// Workflow is what answers instead of an upstream; nil for a model with one.
	Workflow *core.Source
	// Budget is what all requests together may use in a day; nil is no limit. A budget of a request is in
	// Model.
	Budget *core.Budget
	// RequestsPerMinute and Parallel limit the requests of all callers; 0 is no limit.
	RequestsPerMinute, Parallel int64
}

// Source is where a model is asked, and what it costs.
type Source struct {
	// Provider is what the endpoint speaks, and BaseURL where it is.
	Provider, BaseURL string
	// KeyEnv is the variable of the host's environment with the endpoint's key; "" for none.
	KeyEnv string
	// Client is whether the client's own credentials are sent, instead of a key.
	Client bool
	// PriceIn and PriceOut are US dollars for a million tokens of prompts and of answers; 0 isn't known.
	PriceIn, PriceOut float64
}

// Cost is what a use of the model costs, in US dollars.
func (u *Source) Cost(used sdk.Usage) float64 {
	if used.CostUSD > 0 {
		return used.CostUSD
	}
	return (float64(used.TokensIn)*u.PriceIn + float64(used.TokensOut)*u.PriceOut) / 1e6
}

// Priced reports whether it is known what the model costs.
func (u *Source) Priced() bool { return u.PriceIn > 0 || u.PriceOut > 0 }

// limitsOf the file: nobody writes more by hand.
func limitsOf() document.Limits {
	return document.Limits{Bytes: 256 << 10, Depth: 40, MayBeEmpty: true}
}

// The limits of what a file says. The highest values only exclude mistakes in writing.
const (
	maxServed     = 200
	maxPerMinute  = 1_000_000
	maxParallel   = 10_000
	maxRecall     = 100_000
	maxIterations = 10
	maxPrice      = 1_000_000
)

// Read reads the models that the settings of a host name: from [FileName], else from settings.llm. All
// problems of the file are one error, sdk.Invalid, reason "gateway_invalid". If somebody else may change
// the file, the error is sdk.Denied, "path_untrusted".
func Read(c *config.Config) (*Settings, error) {
	s, err := load(c)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// load is Read. With an error, the settings are only the files that they were read from.
func load(c *config.Config) (*Settings, error) {
	folder := "."
	if c.File() != "" {
		folder = filepath.Dir(c.File())
	}
	s := &Settings{passing: ofLLM(c), files: map[string]os.FileInfo{}}
	file, err := filepath.Abs(filepath.Join(folder, FileName))
	if err != nil {
		return s, sdk.Wrap("find "+FileName, err)
	}
	s.files[file] = stamp(file)
	text, err := plainfile.Read(file, int64(limitsOf().Bytes))
	if errors.Is(err, fs.ErrNotExist) {
		s.Models = fromLLM(c)
		return s, nil
	}
	if err := core.JoinErrors(c.Trusted(FileName, file), err); err != nil {
		return s, err
	}
	s.File = file
	return s, s.read(c, string(text))
}

// stamp is how a file looks; nil for one that isn't there.
func stamp(file string) os.FileInfo {
	info, err := os.Stat(file)
	if err != nil {
		return nil
	}
	return info
}

// changed reports whether one of the files that say what is served isn't as it was.
func (s *Settings) changed() bool {
	for file, before := range s.files {
		now := stamp(file)
		if (now == nil) != (before == nil) || now != nil && !(os.SameFile(now, before) && now.ModTime().Equal(before.ModTime()) && now.Size() == before.Size()) {
			return true
		}
	}
	return false
}

// fromLLM are the models of settings.llm, with the checks that need no configuration.
func fromLLM(c *config.Config) (list []Served) {
	if c.LLMModel.Value == config.NoModel {
		return nil
	}
	for _, name := range slices.Compact(slices.Sorted(slices.Values(append(c.FurtherModels(), c.LLMModel.Value)))) {
		list = append(list, Served{Model: Model{Name: name, Record: RecordContent, Check: Check{Tools: true, ResponseFormat: true}}, At: ofLLM(c)})
	}
	return list
}

// bases are the providers with the endpoints that they have without a base_url.
func bases() map[string]string {
	return map[string]string{"openai": "https://api.openai.com/v1", "anthropic": "https://api.anthropic.com/v1", "ollama": "http://127.0.0.1:11434/v1"}
}

// ofLLM is the upstream of settings.llm.
func ofLLM(c *config.Config) Source {
	u := Source{Provider: c.LLMProvider.Value, BaseURL: c.LLMURL.Value, KeyEnv: c.LLMKeyEnv.Value}
	if u.BaseURL == "" {
		u.BaseURL = bases()[u.Provider]
	}
	return u
}

// reader reads the file.
type reader struct {
	*document.Problems
	config *config.Config
	source core.Source // with the files that evaluators name
	files  map[string]os.FileInfo
}

func (s *Settings) read(c *config.Config, text string) error {
	r := reader{Problems: &document.Problems{File: s.File}, config: c, files: s.files}
	root := document.Read(text, limitsOf(), r.Problems)
	source, err := workflow.Read(s.File)
	if err != nil {
		return err
	}
	r.source = source
	r.watch(&source)
	m := r.mapping(root, FileName)
	models := m.Typed("models", document.Mapping)
	for _, n := range m.List("pass") {
		if n.Kind != document.Text || n.Text == "" {
			r.Add(n.At, `write a name, or its beginning with *, such as "llama3*"`, "an item of pass must be text, not %s", n.Kind)
		} else if _, err := path.Match(n.Text, ""); err != nil || len(n.Text) > core.MaxModelName {
			r.Add(n.At, `write a name, or its beginning with *, such as "llama3*"`, "pass: %q is no pattern", core.Cut(n.Text))
		} else {
			s.Pass = append(s.Pass, n.Text)
		}
	}
	m.Done()
	if models != nil {
		if len(models.Entries) > maxServed {
			r.Add(models.At, "", "models has %d entries (limit %d)", len(models.Entries), maxServed)
		}
		for _, e := range models.Entries[:min(len(models.Entries), maxServed)] {
			if err := core.CheckModelName(e.Key); err != nil {
				r.Add(e.At, "write the name that clients send as model", "%v", err)
			}
			s.Models = append(s.Models, r.model(e))
		}
	}
	slices.SortFunc(s.Models, func(a, b Served) int { return strings.Compare(a.Name, b.Name) })
	return r.Err("gateway_invalid")
}

func (r *reader) mapping(n *document.Node, what string) *document.Reader {
	m := r.Mapping(n, what)
	m.NullIsAbsent = true
	return m
}

// model reads one model.
func (r *reader) model(e document.Entry) Served {
	s := Served{Model: Model{Name: e.Key, Record: RecordContent}}
	what := "the model " + core.Cut(e.Key)
	m := r.mapping(e.Value, what)
	if n := m.Get("workflow"); n != nil {
		r.workflow(m, &s)
		return s
	}
	s.At, s.Upstream = r.upstream(m, what)
	if s.Upstream == "" {
		s.Upstream = e.Key
	}
	r.namespace(m, &s)
	if n := m.Get("recall"); n != nil {
		recall := r.mapping(n, "recall")
		s.Recall.MaxTokens = int(r.whole(recall, "max_tokens", maxRecall))
		if recall.Get("max_tokens") == nil {
			recall.Lacks("write recall: {max_tokens: 800}", "recall needs max_tokens")
		}
		recall.Done()
	}
	s.Check = r.check(m)
	if s.Learn = s.Recall.MaxTokens > 0; m.Get("learn") != nil {
		if s.Learn = m.Flag("learn"); s.Learn && s.Recall.MaxTokens == 0 {
			r.Add(m.Get("learn").At, "write recall: {max_tokens: 800} too, or leave learn out", "learn is about what was recalled, and recall is off")
		}
	}
	if word := r.word(m, "record", string(RecordContent), string(RecordDigests)); word != "" {
		s.Record = Record(word)
	}
	r.budget(m, &s)
	r.limits(m, &s)
	m.Done()
	return s
}

func (r *reader) namespace(m *document.Reader, s *Served) {
	if s.Namespace = m.Text("namespace"); s.Namespace != "" {
		if err := core.CheckNamespace(s.Namespace); err != nil {
			r.Add(m.Get("namespace").At, "write up to 8 words separated by /, such as team/project", "%v", err)
		}
	}
}

func (r *reader) limits(m *document.Reader, s *Served) {
	n := m.Get("limits")
	if n == nil {
		return
	}
	limits := r.mapping(n, "limits")
	s.RequestsPerMinute, s.Parallel = r.whole(limits, "requests_per_minute", maxPerMinute), r.whole(limits, "parallel", maxParallel)
	limits.Done()
}

// workflow reads a model that a workflow is. It has no upstream of its own, and its loops have their own checks.
func (r *reader) workflow(m *document.Reader, s *Served) {
	at, name := m.Get("workflow").At, m.Text("workflow")
	r.namespace(m, s)
	r.limits(m, s)
	r.budget(m, s)
	if s.BudgetTokens > 0 {
		r.Add(m.Get("budget").At, "write the limits of one run into the workflow", "the budget of a workflow is per day")
	}
	m.Done()
	if name == "" {
		return
	}
	if !filepath.IsLocal(name) {
		r.Add(at, "put the workflow next to "+FileName, "workflow: %s isn't in the folder of %s", core.Cut(name), FileName)
		return
	}
	file := filepath.Join(filepath.Dir(r.File), name)
	r.files[file] = stamp(file)
	source, err := workflow.Read(file)
	if err == nil {
		r.watch(&source)
		_, err = workflow.Load(source, host.LoadOptions())
	}
	if err := core.JoinErrors(r.config.Trusted(FileName, file), err); err != nil {
		r.Add(at, sdk.AsError(err).Hint, "workflow: %v", err)
	}
	source.Folder = filepath.Dir(file)
	s.Workflow = &source
}

// watch notes how the files look that a file names.
func (r *reader) watch(source *core.Source) {
	for name := range source.Files {
		file := filepath.Join(filepath.Dir(source.File), filepath.FromSlash(name))
		r.files[file] = stamp(file)
	}
}

// upstream reads where a model is asked, and the name that it has there. A key is inherited from
// settings.llm together with its endpoint or not at all, so that it is never sent elsewhere.
func (r *reader) upstream(m *document.Reader, what string) (u Source, name string) {
	u = ofLLM(r.config)
	n := m.Get("upstream")
	if n == nil {
		return u, ""
	}
	up := r.mapping(n, "upstream of "+what)
	defer up.Done()
	name = up.Text("model")
	if name != "" && core.CheckModelName(name) != nil {
		r.Add(up.Get("model").At, "", "model of the upstream: %v", core.CheckModelName(name))
	}
	base := up.Text("base_url")
	if provider := r.word(up, "provider", "openai", "ollama", "anthropic"); provider != "" && (provider != u.Provider || base != "") {
		u = Source{Provider: provider, BaseURL: bases()[provider]}
	}
	if base != "" {
		u = Source{Provider: u.Provider, BaseURL: base}
		r.endpoint(up.Get("base_url").At, base)
	}
	if key := up.Text("api_key_env"); key != "" {
		if !isVariable(key) {
			r.Add(up.Get("api_key_env").At, "name the variable that holds the key, such as OPENAI_API_KEY, not the key itself", "api_key_env isn't the name of a variable")
		}
		u.KeyEnv = key
	}
	if r.word(up, "credentials", "client") != "" {
		if up.Get("api_key_env") != nil {
			r.Add(up.Get("credentials").At, "leave out one of them", "credentials and api_key_env can't both be sent")
		}
		u.Client, u.KeyEnv = true, ""
	}
	if n := up.Get("price"); n != nil {
		price := r.mapping(n, "price")
		u.PriceIn, u.PriceOut = r.number(price, "in", maxPrice), r.number(price, "out", maxPrice)
		price.Done()
	}
	return u, name
}

// endpoint refuses a URL where this host lets no model be asked.
func (r *reader) endpoint(at document.Pos, base string) {
	if err := config.CheckURL(base); err != nil {
		r.Add(at, sdk.AsError(err).Hint, "%v", err)
		return
	}
	if endpoint, ok := config.EndpointOf(base); !ok || !slices.Contains(r.config.Endpoints(), endpoint) {
		r.Add(at, "if it may, add to reflectory.yaml: settings: {llm: {endpoints: ["+strconv.Quote(endpoint)+"]}}", "base_url is at %s, where this host lets no model be asked", endpoint)
	}
}

// isVariable reports whether a text is the name of a variable of the environment.
func isVariable(name string) bool {
	return core.Pattern(variableForm)().MatchString(name)
}

const variableForm = `^[A-Za-z_][A-Za-z0-9_]{0,127}$`

// check reads what replies have to pass.
func (r *reader) check(m *document.Reader) Check {
	c := Check{Tools: true, ResponseFormat: true}
	n := m.Get("check")
	if n == nil {
		return c
	}
	k := r.mapping(n, "check")
	for key, into := range map[string]*bool{"tools": &c.Tools, "response_format": &c.ResponseFormat, "live": &c.Live} {
		if k.Get(key) != nil {
			*into = k.Flag(key)
		}
	}
	c.MaxIterations = int(r.whole(k, "max_iterations", maxIterations))
	c.OnFailure = loop.OnFailure(r.word(k, "on_failure", string(loop.ReturnBest), string(loop.Raise)))
	if n := k.Get("evaluator"); n != nil {
		c.Folder = filepath.Dir(r.File)
		single, err := workflow.LoadEvaluator(core.Source{File: r.source.File, Text: string(n.JSON(nil)), Files: r.source.Files}, host.LoadOptions())
		if err != nil {
			problems, _ := sdk.AsError(err).Details["problems"].([]document.Problem)
			for _, p := range problems {
				r.Add(n.At, p.Hint, "evaluator: %s", p.Message)
			}
		}
		c.Evaluator = single
	}
	k.Done()
	return c
}

// budget reads what the requests of a model may use.
func (r *reader) budget(m *document.Reader, s *Served) {
	n := m.Get("budget")
	if n == nil {
		return
	}
	k := r.mapping(n, "budget")
	b := &core.Budget{Tokens: r.whole(k, "tokens", core.MaxBudgetTokens), CostUSD: r.number(k, "cost_usd", core.MaxBudgetUSD), Per: core.PerDay}
	if word := r.word(k, "per", string(core.PerDay), string(core.PerRequest)); word != "" {
		b.Per = core.BudgetSpan(word)
	}
	k.Done()
	switch {
	case b.Tokens == 0 && b.CostUSD == 0:
		k.Lacks("write budget: {tokens: 200000, per: day}", "budget needs tokens, cost_usd or both")
	case b.CostUSD > 0 && !s.At.Priced():
		r.Add(n.At, "write upstream: {price: {in: 0.25, out: 2}}, in US dollars for a million tokens", "a budget in dollars needs the price of the model")
	case b.Per == core.PerRequest:
		s.BudgetTokens, s.BudgetUSD = b.Tokens, b.CostUSD
	default:
		s.Budget = b
	}
}

// word reads one of a few words; "" if it is missing.
func (r *reader) word(m *document.Reader, key string, words ...string) string {
	word := m.Text(key)
	if n := m.Get(key); n != nil && n.Kind == document.Text && !slices.Contains(words, word) {
		r.Add(n.At, r.DidYouMean(word, words), "%s is not one of %s", key, strings.Join(words, ", "))
		return ""
	}
	return word
}

// number reads a number above 0; 0 if it is missing.
func (r *reader) number(m *document.Reader, key string, most float64) float64 {
	n := m.Typed(key, document.Number)
	if n == nil {
		return 0
	}
	x, err := strconv.ParseFloat(n.Text, 64)
	if err != nil || !(x > 0 && x <= most) {
		r.Add(n.At, "", "%s is not a number above 0 and up to %v", key, most)
		return 0
	}
	return x
}

// whole reads a whole number from 1; 0 if it is missing.
func (r *reader) whole(m *document.Reader, key string, most int64) int64 {
	n := m.Typed(key, document.Number)
	if n == nil {
		return 0
	}
	x, err := strconv.ParseFloat(n.Text, 64)
	if err != nil || x != math.Trunc(x) || x < 1 || x > float64(most) {
		r.Add(n.At, "", "%s is not a whole number from 1 to %d", key, most)
		return 0
	}
	return int64(x)
}

// Find is the model of a name; nil if it isn't served. A name that one of the patterns of Pass matches is
// served unchecked.
func (s *Settings) Find(name string) *Served {
	if at := slices.IndexFunc(s.Models, func(m Served) bool { return m.Name == name }); at >= 0 {
		return &s.Models[at]
	}
	for _, pattern := range s.Pass {
		if ok, err := path.Match(pattern, name); ok && err == nil && core.CheckModelName(name) == nil {
			return &Served{Model: Model{Name: name, Upstream: name, Record: RecordContent}, At: s.passing}
		}
	}
	return nil
}
