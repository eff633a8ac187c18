package llmeval

import (
	"cmp"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/apikey"
	"github.com/reflectory/reflectory/sdk/jsonconfig"
	"github.com/reflectory/reflectory/sdk/modeltext"
)

// The providers of llm.provider.
const (
	providerOpenAI    = "openai"    // any OpenAI-compatible endpoint
	providerOllama    = "ollama"    // Ollama, by its own protocol unless the base ends in /v1
	providerAnthropic = "anthropic" // Anthropic, or what speaks its messages
)

// Limits of llm.timeout, the time that one HTTP exchange may take. The default leaves
// room for a retry within the 120 s of a judge.
const (
	defaultTimeout = 60 * time.Second
	maxTimeout     = time.Hour
)

// settingsHint shows what to write if the endpoint is missing.
const settingsHint = `write in the workflow: settings: {llm: {provider: ollama, base_url: "http://127.0.0.1:11434", model: "llama3.2"}}`

// endpoint is the address of a model, with its prices.
type endpoint struct {
	// url is the base of the protocol's paths, such as "http://h/v1".
	url      string
	protocol *protocol
	model    string
	// others are the models that are asked, in this order, if the model isn't served.
	others []string
	// effort is llm.reasoning_effort, or "".
	effort string
	// maxContext limits the context that Ollama is asked for, in tokens.
	maxContext int64
	// dialect is what the config says about the model.
	dialect dialect
	keyEnv  string
	// sent is the key as it is sent, or "" for none. key is the same if it is a secret, which
	// is cut out of what the endpoint sends, and "" if it only stands where a key would be.
	sent    string
	key     secret
	timeout time.Duration
	// ca are authorities that may sign for it, as PEM; "" is none.
	ca string
	// extraBody and extraHeaders are added to each request.
	extraBody    map[string]json.RawMessage
	extraHeaders map[string]string
	// inPrice and outPrice are US dollars per million tokens.
	inPrice, outPrice float64
}

// cost adds the price to a usage.
func (e *endpoint) cost(used modeltext.Usage) sdk.Usage {
	u := sdk.Usage{TokensIn: used.In, TokensOut: used.Out}
	u.CostUSD = (float64(u.TokensIn)*e.inPrice + float64(u.TokensOut)*e.outPrice) / 1e6
	return u
}

// envName matches the names of variables that workflow files accept.
var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`)

// decodeEndpoint reads the keys llm and model of a config.
func decodeEndpoint(config *jsonconfig.Object) *endpoint {
	e := &endpoint{timeout: defaultTimeout}
	llm := config.Object("llm")
	e.model, e.others = decodeModels(config, llm)
	e.url, e.protocol = decodeURL(llm)
	e.effort, e.maxContext, e.dialect = decodeEffort(llm), decodeMaxContext(llm, e.protocol), decodeDialect(llm, e.protocol)
	e.keyEnv = decodeKeyEnv(llm)
	e.timeout = decodeTimeout(llm)
	e.ca, e.extraBody, e.extraHeaders = decodeCA(llm), decodeExtraBody(llm), decodeExtraHeaders(llm)
	price := llm.Object("price")
	e.inPrice, e.outPrice = decodePrice(price, "in"), decodePrice(price, "out")
	price.Done()
	llm.Done()
	return e
}

// maxModels limits llm.models: each takes its time before the next is asked.
const maxModels = 8

// decodeModels reads the model and those that are asked in its place. model next to llm overrides
// all, and llm.models overrides llm.model.
func decodeModels(config, llm *jsonconfig.Object) (model string, others []string) {
	var one, own string
	var several []string
	llm.Take("model", "text", &one)
	llm.Take("models", "a list of texts", &several)
	config.Take("model", "text", &own)
	switch {
	case len(several) > maxModels:
		llm.Report("models has %d models (limit %d)", len(several), maxModels)
	case slices.Contains(several, ""):
		llm.Report("models has an empty name")
	}
	if own != "" || len(several) == 0 {
		several = []string{cmp.Or(own, one)}
	}
	if several[0] == "" {
		llm.Report("model is missing")
	}
	return several[0], several[1:]
}

// decodeEffort reads how much the model should think: one of the levels that endpoints know.
func decodeEffort(llm *jsonconfig.Object) (effort string) {
	levels := []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}
	if llm.Take("reasoning_effort", "text", &effort) && !slices.Contains(levels, effort) {
		llm.Report("reasoning_effort %q is not one of %s", effort, strings.Join(levels, ", "))
	}
	return effort
}

// defaultMaxContext is llm.max_context if it isn't set. A context of this length takes about 4 GB
// of memory for a model of 8 billion parameters.
const defaultMaxContext = 32_768

func decodeMaxContext(llm *jsonconfig.Object, p *protocol) int64 {
	tokens := int64(defaultMaxContext)
	if !llm.Take("max_context", "a whole number", &tokens) {
		return tokens
	}
	switch {
	case p.replies != modeltext.OllamaChat:
		llm.Report("max_context is only for Ollama's own protocol: provider ollama, with a base_url that doesn't end in /v1")
	case tokens < 512 || tokens > 10_000_000:
		llm.Report("max_context is not from 512 to 10000000 tokens")
	}
	return tokens
}

// decodeURL reads the base of the protocol's paths, and which protocol it is.
func decodeURL(llm *jsonconfig.Object) (base string, p *protocol) {
	var provider, api string
	llm.Take("provider", "text", &provider)
	if providers := []string{providerOpenAI, providerOllama, providerAnthropic}; !slices.Contains(providers, provider) {
		llm.Report("provider %q is not one of %s", provider, strings.Join(providers, ", "))
	}
	switch {
	case !llm.Take("api", "text", &api):
	case api != apiChat && api != apiResponses:
		llm.Report("api %q is not one of %s, %s", api, apiChat, apiResponses)
	case provider != providerOpenAI:
		llm.Report("api is only for provider openai")
	}
	base = decodeBase(llm, provider)
	p = protocolOf(provider, api, base)
	if provider == providerAnthropic && base != "" && !strings.HasSuffix(base, "/v1") {
		base += "/v1"
	}
	return base, p
}

func decodeBase(llm *jsonconfig.Object, provider string) string {
	var base string
	if !llm.Take("base_url", "text", &base) || base == "" {
		llm.Report("base_url is missing")
		return ""
	}
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		llm.Report("base_url is not an http or https URL")
		return ""
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		llm.Report("base_url has a user, query or fragment: a key belongs in the variable that api_key_env names")
		return ""
	}
	return withoutCall(provider, strings.TrimRight(u.String(), "/"))
}

// withoutCall cuts off the path of a call, which is part of the URLs in examples of
// requests.
func withoutCall(provider, base string) string {
	calls := []string{"/chat/completions", "/completions", "/responses", "/models", "/embeddings"}
	switch provider {
	case providerOllama:
		calls = append(calls, "/api/chat", "/api/generate", "/api/tags", "/api")
	case providerAnthropic:
		calls = append(calls, "/messages")
	}
	for _, call := range calls {
		if at := len(base) - len(call); at > 0 && strings.EqualFold(base[at:], call) {
			return strings.TrimRight(base[:at], "/")
		}
	}
	return base
}

func decodeKeyEnv(llm *jsonconfig.Object) string {
	var name string
	if llm.Take("api_key_env", "text", &name) && !envName.MatchString(name) {
		llm.Report("api_key_env is not a variable's name (it isn't shown, in case it is a key)")
		return ""
	}
	return name
}

func decodeTimeout(llm *jsonconfig.Object) time.Duration {
	var text string
	if !llm.Take("timeout", `a duration such as "60s"`, &text) {
		return defaultTimeout
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 || d > maxTimeout {
		llm.Report(`timeout %q is not a duration from "1ms" to "1h"`, text)
		return defaultTimeout
	}
	return d
}

func decodePrice(price *jsonconfig.Object, key string) float64 {
	var usd float64
	if price.Take(key, "a number", &usd) && usd < 0 {
		price.Report("%s is negative: it is US dollars per million tokens", key)
	}
	return usd
}

// unlock reads the key from its variable.
func (e *endpoint) unlock(getenv func(string) string) error {
	if e.keyEnv == "" {
		return nil
	}
	e.sent = strings.TrimSpace(getenv(e.keyEnv))
	switch {
	case e.sent == "":
		return e.keyMissing("is not set")
	case !usable(e.sent):
		return e.keyMissing("holds no key: it has spaces, quotes or other characters that no key has")
	case apikey.Secret(e.sent):
		e.key = secret(e.sent)
	}
	return nil
}

func (e *endpoint) keyMissing(why string) error {
	name := e.variable()
	return sdk.Errorf(sdk.Invalid, "llm_key_missing", "%s %s", name, why).
		WithHint("set %s to the key of %s, or leave api_key_env out if it takes none", name, e.url).
		WithDetail(sdk.PermanentDetail, true)
}

// variable names the key's variable in messages. Some keys look like a name (gsk_1aB…),
// so a name that isn't in capitals isn't shown.
func (e *endpoint) variable() string {
	if e.keyEnv != strings.ToUpper(e.keyEnv) {
		return "the variable that llm.api_key_env names (not shown, since it isn't in capitals and might be a key)"
	}
	return "the environment variable " + e.keyEnv
}
