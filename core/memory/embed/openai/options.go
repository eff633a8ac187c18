package openai

import (
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory/vector"
	"github.com/reflectory/reflectory/sdk"
)

// Bounds and defaults.
const (
	// DefaultTimeout is for one exchange, retries not included.
	DefaultTimeout = 30 * time.Second
	maxTimeout     = time.Hour
	// DefaultMaxText is how many bytes of a text are sent: models in use read about
	// 8,000 tokens, which are 16,000 bytes and more.
	DefaultMaxText = 16_000
	// maxKeyBytes limits the length of a key.
	maxKeyBytes   = 4096
	MaxModelBytes = 256
)

// Options say which endpoint and model to use.
type Options struct {
	// URL is the base of the protocol's paths, such as "https://api.openai.com/v1"
	// or "http://127.0.0.1:11434/v1". It is required.
	URL string
	// Model is the model's name at the endpoint. It is required.
	Model string
	// Dims asks for this number of dimensions, if the model supports a choice; 0 leaves
	// it to the model.
	Dims int
	// KeyEnv names the environment variable with the key; "" sends none.
	KeyEnv string
	// Getenv reads the environment. It is required with KeyEnv.
	Getenv func(name string) string
	// Timeout is for one exchange; 0 is [DefaultTimeout].
	Timeout time.Duration
	// MaxText is how many bytes of a text are sent at most, from its start; 0 is
	// [DefaultMaxText].
	MaxText int
	// Transport makes the exchanges; nil is the standard library's transport.
	Transport http.RoundTripper
}

// envName is the form of a variable's name.
var envName = core.Pattern(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`)

// Check reports everything that is wrong. It doesn't read the key.
func (o *Options) Check() error {
	var errs []error
	add := func(format string, args ...any) {
		errs = append(errs, sdk.Errorf(sdk.Invalid, "embedder_options_invalid", format, args...))
	}
	u, err := url.Parse(o.URL)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		add("the URL isn't an http or https URL such as http://127.0.0.1:11434/v1")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		add("the URL has a user, query or fragment: a key belongs in an environment variable")
	case u.Scheme == "http" && !loopback(u.Hostname()):
		add("memories would be sent to %s unencrypted: use https", u.Host)
	}
	if o.Model == "" || len(o.Model) > MaxModelBytes {
		add("the model's name has %d bytes, not 1 to %d", len(o.Model), MaxModelBytes)
	}
	if o.Dims < 0 || o.Dims > vector.MaxDims {
		add("the dimensions are %d, not 0 to %d", o.Dims, vector.MaxDims)
	}
	if o.KeyEnv != "" && (!envName().MatchString(o.KeyEnv) || o.Getenv == nil) {
		add("the key's variable isn't a variable's name (it isn't shown, in case it is a key), or can't be read")
	}
	if o.Timeout < 0 || o.Timeout > maxTimeout {
		add("the timeout is %s, not up to %s", o.Timeout, maxTimeout)
	}
	if o.MaxText < 0 {
		add("the limit of a text is %d bytes, not 0 or more", o.MaxText)
	}
	return core.JoinErrors(errs...)
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// key reads the key.
func (o *Options) key() (string, error) {
	if o.KeyEnv == "" {
		return "", nil
	}
	key := strings.TrimSpace(o.Getenv(o.KeyEnv))
	odd := strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' })
	if key == "" || len(key) > maxKeyBytes || odd {
		return "", sdk.Errorf(sdk.Invalid, "embedder_key_missing", "the environment variable %s isn't set, or holds no key", o.KeyEnv).
			WithHint("set it to the key of %s, or configure no variable if the endpoint needs no key", o.URL)
	}
	return key, nil
}
