package config

import (
	"encoding/json"
	"fmt"
	"math"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/access"
	"github.com/reflectory/reflectory/core/memory/embed/openai"
	"github.com/reflectory/reflectory/core/memory/vector"
	"github.com/reflectory/reflectory/core/plugin/install"
	"github.com/reflectory/reflectory/core/store/postgres"
	"github.com/reflectory/reflectory/sdk"
)

const (
	// maxLockWait is longer than anybody would wait.
	maxLockWait = time.Hour
	// maxKeepDays is the longest time to keep something: a hundred years.
	maxKeepDays = 36500
	// maxDepthBoost is the largest factor of reflections in recalls.
	maxDepthBoost = 10
	// maxPluginName bounds the name of a plugin: it is longer than any.
	maxPluginName = 256
	// maxTokens and maxCost are more than any reflection needs.
	maxTokens, maxCost = 1_000_000_000, 1_000_000
	// maxPath is Linux's limit of a path, in bytes.
	maxPath = 4096
	// maxDebounce is a tenth of the longest time that a job waits.
	maxDebounce = 2 * time.Hour
)

const (
	// timeForm is Go's form of durations, as a pattern.
	timeForm = `^[+-]?(0|(([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$`
	// keepForm is the same form, or a number of days.
	keepForm = `^([0-9]+d|[+-]?(0|(([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+))$`
)

// keepDoc describes how the time to keep something is written.
var keepDoc = fmt.Sprintf("such as 90d or 720h, up to %d days; store prune removes what is older, and 0 keeps all", maxKeepDays)

// fault is a problem of a value.
type fault struct {
	says string // continues after the setting's name
	hint string
	// hidden keeps the value out of the message: it may be a key, or the message already
	// has it.
	hidden bool
}

// text is the fault as a message about a setting; origin is " (…)", or "" if the position
// in the file is put before it.
func (f *fault) text(d Definition, value, origin string) string {
	name := strings.ReplaceAll(d.Name, "_", " ")
	if f.hidden {
		return name + origin + ": " + f.says
	}
	return fmt.Sprintf("%s %q%s %s", name, core.Cut(value), origin, f.says)
}

// fault checks a value, or each item of a list.
func (d Definition) fault(value string) *fault {
	if d.check == nil || value == "" {
		return nil
	}
	if d.kind != texts && d.kind != endpoints && d.kind != counts {
		return d.check(value)
	}
	for _, item := range list(value) {
		if f := d.check(item); f != nil {
			return f
		}
	}
	return nil
}

// hint describes how a value of this kind is written.
func (d Definition) hint() string {
	if d.check == nil {
		return ""
	}
	if f := d.check("?"); f != nil {
		return f.hint
	}
	return ""
}

// of makes a fault from an error whose message already has the value, or must not have
// it.
func of(err error, hint string) *fault {
	if err == nil {
		return nil
	}
	return &fault{says: err.Error(), hint: hint, hidden: true}
}

func oneOf(words []string) func(string) *fault {
	return func(value string) *fault {
		if slices.Contains(words, value) {
			return nil
		}
		return &fault{says: "is not one of " + strings.Join(words, ", "), hint: sdk.DidYouMean(value, words, "")}
	}
}

func checkAgent(value string) *fault {
	if err := core.Operator(value).Validate(); err != nil {
		return &fault{says: sdk.AsError(err).Message, hidden: true, hint: fmt.Sprintf("set the agent's name with --agent or REFLECTORY_AGENT, in up to %d bytes", core.MaxCallerName)}
	}
	return nil
}

func checkNamespace(value string) *fault {
	return of(core.CheckNamespace(value), "write up to 8 words separated by /, such as team/project")
}

func checkEndpoint(value string) *fault {
	host, key, keyed := strings.Cut(value, "=")
	if keyed {
		if f := checkKeyEnv(key); f != nil {
			return f
		}
	}
	err := install.CheckEndpoint(host)
	if err == nil {
		return nil
	}
	return of(err, sdk.AsError(err).Hint)
}

// readWait reads how long to wait for a store.
func readWait(value string) (time.Duration, *fault) {
	wait, err := time.ParseDuration(value)
	if err != nil || wait < 0 || wait > maxLockWait {
		hint := "write it with a unit, such as 2s or 500ms; 0s doesn't wait"
		if seconds, err := strconv.ParseUint(value, 10, 16); err == nil {
			hint = fmt.Sprintf("write it with a unit: %ds, or %dms", seconds, seconds)
		}
		return 0, &fault{says: "is not a time from 0s to " + maxLockWait.String(), hint: hint}
	}
	return wait, nil
}

func checkWait(value string) *fault {
	_, f := readWait(value)
	return f
}

// checkStore checks the URL of a database. Its fault never has the value, which may have a
// password.
func checkStore(value string) *fault {
	err := postgres.CheckURL(value)
	if err == nil {
		return nil
	}
	return of(err, sdk.AsError(err).Hint)
}

// readKeep reads how long something is kept: such as 30d, or as Go writes durations; 0 is
// for ever.
func readKeep(value string) (time.Duration, *fault) {
	wrong := &fault{
		says: fmt.Sprintf("is not a time up to %d days", maxKeepDays),
		hint: "write it with a unit, such as 30d or 720h; 0 keeps all for ever",
	}
	if days, is := strings.CutSuffix(value, "d"); is {
		n, err := strconv.ParseUint(days, 10, 16)
		if err != nil || n > maxKeepDays {
			return 0, wrong
		}
		return time.Duration(n) * 24 * time.Hour, nil
	}
	kept, err := time.ParseDuration(value)
	if err != nil || kept < 0 || kept > maxKeepDays*24*time.Hour {
		return 0, wrong
	}
	return kept, nil
}

func checkKeep(value string) *fault {
	_, f := readKeep(value)
	return f
}

// readBoost reads the factor of reflections in recalls.
func readBoost(value string) (float64, *fault) {
	boost, err := strconv.ParseFloat(value, 64)
	if err != nil || !(boost > 0 && boost <= maxDepthBoost) {
		return 0, &fault{
			says: fmt.Sprintf("is not a number above 0 and up to %d", maxDepthBoost),
			hint: "write a factor such as 1.2; with 1, reflections rank like other memories",
		}
	}
	return boost, nil
}

func checkBoost(value string) *fault {
	_, f := readBoost(value)
	return f
}

// readDims reads the dimensions of vectors.
func readDims(value string) (int, *fault) {
	dims, err := strconv.ParseFloat(value, 64)
	if err != nil || dims != math.Trunc(dims) || dims < 0 || dims > vector.MaxDims {
		return 0, &fault{says: fmt.Sprintf("is not a whole number from 0 to %d", vector.MaxDims), hint: "leave it out to use the model's own"}
	}
	return int(dims), nil
}

func checkDims(value string) *fault {
	_, f := readDims(value)
	return f
}

func checkPlugin(value string) *fault {
	if len(value) > maxPluginName || strings.ContainsFunc(value, unicode.IsSpace) {
		return &fault{says: "is not the name of a plugin", hint: "write the name as plugins are listed, such as team/insights"}
	}
	return nil
}

// checkProgram checks a program that may be run. A relative path would depend on the folder in which
// the host was started.
func checkProgram(value string) *fault {
	if value == "" || len(value) > maxPath || strings.ContainsFunc(value, unicode.IsControl) || strings.Contains(value, ",") ||
		strings.Contains(value, "/") && !isCleanPath(value) {
		return &fault{says: "is neither the name of a program nor a clean absolute path", hint: "write a name, such as go, or a path, such as /opt/tools/bin/lint"}
	}
	return nil
}

// checkFolder checks a folder that programs can read.
func checkFolder(value string) *fault {
	if len(value) > maxPath || strings.ContainsFunc(value, unicode.IsControl) || strings.Contains(value, ",") || !isCleanPath(value) {
		return &fault{says: "isn't a clean absolute path below /", hint: "write a folder, such as /usr/local/go; the whole file system can't be granted"}
	}
	return nil
}

func isCleanPath(path string) bool {
	return filepath.IsAbs(path) && filepath.Clean(path) == path && path != "/"
}

// phraseForm is a name and what is said when it is meant.
const phraseForm = `^[^,:\s]{1,200}: +[^,\s][^,]{0,499}$`

var phrase = core.Pattern(phraseForm)

func checkPhrase(value string) *fault {
	if !phrase().MatchString(value) {
		return &fault{says: "isn't NAME: PHRASE", hint: "write the name of an operation, a plugin or a workflow, a colon, and up to 500 characters without a comma, such as memory_recall: look into the notebook"}
	}
	return nil
}

func checkVariable(value string) *fault {
	if !variableForm().MatchString(value) || strings.HasPrefix(strings.ToUpper(value), "REFLECTORY_") {
		return &fault{says: "isn't the name of a variable that programs may get", hint: "name a variable, such as GOFLAGS; this program keeps its own, which begin with REFLECTORY_"}
	}
	return nil
}

var variableForm = core.Pattern(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`)

func checkObject(value string) *fault {
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(value), &object); err != nil || object == nil {
		return &fault{says: "isn't a JSON object", hint: `write the plugin's config as text, such as '{"language": "en"}'`, hidden: true}
	}
	return nil
}

// readTokens reads how many tokens a reflection may use.
func readTokens(value string) (int64, *fault) {
	n, err := strconv.ParseFloat(value, 64)
	if err != nil || n != math.Trunc(n) || n < 0 || n > maxTokens {
		return 0, &fault{says: fmt.Sprintf("is not a whole number from 0 to %d", int64(maxTokens)), hint: "write how many tokens, such as 20000; 0 is no limit"}
	}
	return int64(n), nil
}

func checkTokens(value string) *fault {
	_, f := readTokens(value)
	return f
}

// readCost reads how many US dollars a reflection may use.
func readCost(value string) (float64, *fault) {
	n, err := strconv.ParseFloat(value, 64)
	if err != nil || !(n >= 0 && n <= maxCost) {
		return 0, &fault{says: fmt.Sprintf("is not a number from 0 to %d", maxCost), hint: "write US dollars, such as 0.05; 0 is no limit"}
	}
	return n, nil
}

func checkCost(value string) *fault {
	_, f := readCost(value)
	return f
}

// readDebounce reads how long a reflection waits for further observations.
func readDebounce(value string) (time.Duration, *fault) {
	wait, err := time.ParseDuration(value)
	if err != nil || wait < 0 || wait > maxDebounce {
		return 0, &fault{says: "is not a time from 0s to " + maxDebounce.String(), hint: "write it with a unit, such as 30s; 0s doesn't wait"}
	}
	return wait, nil
}

func checkDebounce(value string) *fault {
	_, f := readDebounce(value)
	return f
}

// The model, URL and key of an endpoint are checked with the embedder's own rules.
// Summaries send contents too, so the same rules apply to them.
func checkModel(value string) *fault {
	return endpointFault(func(o *openai.Options) { o.Model = value }, "write the model's name at the endpoint, such as nomic-embed-text")
}

func checkURL(value string) *fault {
	return endpointFault(func(o *openai.Options) { o.URL = value }, "write the base of the endpoint's paths, such as http://127.0.0.1:11434/v1")
}

func checkKeyEnv(value string) *fault {
	return endpointFault(func(o *openai.Options) { o.KeyEnv = value }, "name the variable that holds the key, such as OPENAI_API_KEY")
}

// checkServer refuses a server to which a token would be sent unencrypted.
func checkServer(value string) *fault {
	const hint = "write it like https://host.example.org:7842"
	if !strings.ContainsAny(value, "@/") {
		return &fault{says: "is no URL", hint: "write it as http://" + value + " if it is on this machine, and with https:// otherwise"}
	}
	u, err := url.Parse(value)
	switch {
	case err != nil || u.Host == "" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "":
		return &fault{says: "isn't a server's URL", hint: hint, hidden: true} // it may have a password
	case u.Scheme == "https", u.Scheme == "http" && isLoopback(u.Hostname()):
		return nil
	case u.Scheme == "http":
		return &fault{says: "would have the token cross a network in the clear", hint: "use https; http is for a server on this machine"}
	}
	return &fault{says: "is neither https nor http", hint: hint}
}

// checkIssuer refuses an issuer that somebody on the network could impersonate.
func checkIssuer(value string) *fault {
	const hint = "write it as the issuer writes itself, like https://login.example.org/realms/main"
	u, err := url.Parse(value)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return &fault{says: "isn't an issuer's URL", hint: hint, hidden: true}
	}
	if u.Scheme != "https" && (u.Scheme != "http" || !isLoopback(u.Hostname())) {
		return &fault{says: "is neither https nor on this machine", hint: hint}
	}
	return nil
}

func checkGrant(value string) *fault {
	_, err := access.ParseGrant(value)
	if err == nil {
		return nil
	}
	return of(err, sdk.AsError(err).Hint)
}

// checkIdentities refuses an issuer whose users could do nothing.
func (l *loader) checkIdentities(c *Config) {
	if c.OIDCIssuer.Value == "" || c.OIDCGrants.Value != "" || l.wrong["oidc_issuer"] || l.wrong["oidc_grants"] {
		return
	}
	l.add("oidc_issuer", c.OIDCIssuer, `grant something to somebody: oidc: {grants: ["groups=staff memory:read in team/**"]}`,
		"the oidc issuer%s names users who may do nothing: there are no oidc grants", l.from(c.OIDCIssuer))
}

// isLoopback reports whether a host's name always means this machine, whatever a resolver
// says.
func isLoopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && address.Unmap().IsLoopback()
}

// endpointFault checks one of the options, with valid values for the others.
func endpointFault(set func(*openai.Options), hint string) *fault {
	o := openai.Options{URL: "https://example.org/v1", Model: "m", Getenv: func(string) string { return "" }}
	set(&o)
	return of(o.Check(), hint)
}

// checkEmbeddings refuses settings of embeddings that don't match each other. A missing
// key is only noticed when there is something to embed.
func (l *loader) checkEmbeddings(c *Config) {
	const hint = `write settings: {embeddings: {model, base_url, api_key_env, dims}}, such as {model: nomic-embed-text, base_url: "http://127.0.0.1:11434/v1"}; %s is made here and needs no endpoint`
	l.checkPair("embeddings", c.EmbeddingsModel, c.EmbeddingsURL, c.LocalEmbeddings(), fmt.Sprintf(hint, localModel()))
}

// checkSummaries refuses settings of summaries that don't fit together.
func (l *loader) checkSummaries(c *Config) {
	l.checkAsked("summaries", "summaries", c.SummariesModel, c.SummariesURL, c.LLMEndpoints)
}

// checkReflection refuses settings of reflections that don't fit together: a model that
// can't be asked, and more than one that makes insights.
func (l *loader) checkReflection(c *Config) {
	l.checkAsked("llm", "reflections", c.LLMModel, c.LLMURL, c.LLMEndpoints)
	if generator, script := c.ReflectionGenerator, c.ReflectionScript; generator.Value != "" && script.Value != "" {
		l.add("reflection_script", script, "keep one of them",
			"reflection_script%s and reflection_generator%s can't both make insights", l.from(script), l.from(generator))
	}
}

// checkAsked refuses settings of a model that don't fit together. It is asked at an endpoint
// where models may be asked. Whether the key and the plugin exist is checked when the model
// is asked.
func (l *loader) checkAsked(what, asks string, model, url, endpoints Setting) {
	const hint = `write settings: {%s: {model, base_url, api_key_env}}, such as {model: llama3.2, base_url: "http://127.0.0.1:11434/v1"}; the model %s switches them off`
	off := model.Value == NoModel
	l.checkPair(what, model, url, off, fmt.Sprintf(hint, what, NoModel))
	endpoint, ok := EndpointOf(url.Value)
	if off || !ok || l.wrong[what+"_url"] || l.wrong["llm_endpoints"] || slices.Contains(append(knownEndpoints(), hostsOf(list(endpoints.Value))...), endpoint) {
		return
	}
	l.add(what+"_url", url, fmt.Sprintf("if it may, add to reflectory.yaml: settings: {llm: {endpoints: [%q]}}", endpoint),
		"%s are asked for at %s%s, where this host lets no model be asked", asks, endpoint, l.from(url))
}

// checkPair refuses a model without an endpoint, unless it needs none, and an endpoint
// without a model.
func (l *loader) checkPair(what string, model, url Setting, needsNone bool, hint string) {
	if l.wrong[what+"_model"] || l.wrong[what+"_url"] {
		return
	}
	switch {
	case needsNone && url.Value != "" && model.IsDefault():
		l.add(what+"_url", url, fmt.Sprintf("name a model that the endpoint has: settings.%s.model, or REFLECTORY_%s_MODEL", what, strings.ToUpper(what)),
			"%s have an endpoint%s, but no model", what, l.from(url))
	case !needsNone && url.Value == "":
		l.add(what+"_model", model, hint, "%s of %s%s: the URL isn't an http or https URL such as http://127.0.0.1:11434/v1", what, core.Cut(model.Value), l.from(model))
	}
}

// from names a setting's flag or variable. For a file it is "", since the position is put
// before the message.
func (l *loader) from(s Setting) string {
	if s.Origin == l.fileProblems.File {
		return ""
	}
	return " (" + s.Origin + ")"
}
