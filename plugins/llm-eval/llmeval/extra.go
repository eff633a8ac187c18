package llmeval

import (
	"crypto/x509"
	"encoding/json"
	"net/textproto"
	"regexp"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/sdk/jsonconfig"
)

// Limits of what a config adds to requests.
const (
	maxExtraBody    = 64 << 10
	maxExtraHeaders = 32
	maxHeaderValue  = 4 << 10
)

// headerName is the form of a header's name.
var headerName = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$")

// decodeExtraBody reads the fields that are added to each request, such as those that only
// one endpoint knows. They override the plugin's own.
func decodeExtraBody(llm *jsonconfig.Object) map[string]json.RawMessage {
	var raw json.RawMessage
	if !llm.Take("extra_body", "an object", &raw) {
		return nil
	}
	var extra map[string]json.RawMessage
	if json.Unmarshal(raw, &extra) != nil {
		llm.Report("extra_body is %s, not an object", jsonconfig.TypeName(raw))
		return nil
	}
	if len(raw) > maxExtraBody {
		llm.Report("extra_body has %d bytes (limit %d)", len(raw), maxExtraBody)
	}
	for _, key := range []string{"model", "messages", "input", "stream", "stream_options"} {
		if extra[key] != nil {
			llm.Report("extra_body.%s can't be set there: the plugin sets it", key)
		}
	}
	return extra
}

// decodeExtraHeaders reads the headers that are added to each request.
func decodeExtraHeaders(llm *jsonconfig.Object) map[string]string {
	var extra map[string]string
	if !llm.Take("extra_headers", "an object of texts", &extra) {
		return nil
	}
	if len(extra) > maxExtraHeaders {
		llm.Report("extra_headers has %d headers (limit %d)", len(extra), maxExtraHeaders)
	}
	secret := []string{"Authorization", "Proxy-Authorization", "Cookie"}
	own := []string{"Host", "Connection", "Content-Length", "Content-Type", "Transfer-Encoding", "Upgrade", "Te", "Trailer", "Keep-Alive", "Proxy-Connection", "Accept-Encoding"}
	for name, value := range extra {
		canonical := textproto.CanonicalMIMEHeaderKey(name)
		switch {
		case !headerName.MatchString(name):
			llm.Report("extra_headers has a name that no header can have")
		case slices.Contains(secret, canonical):
			llm.Report("extra_headers.%s can't be set there: a key belongs in the variable that api_key_env names", canonical)
		case slices.Contains(own, canonical):
			llm.Report("extra_headers.%s can't be set there: it belongs to the connection", canonical)
		case len(value) > maxHeaderValue || strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r > '~' }):
			llm.Report("extra_headers.%s is longer than %d bytes, or has characters that a header can't have", canonical, maxHeaderValue)
		}
	}
	return extra
}

// decodeCA reads the authorities that may sign for the endpoint, in addition to the
// system's, as PEM. The host puts the file's text there that a workflow names.
func decodeCA(llm *jsonconfig.Object) string {
	var text string
	if llm.Take("ca", "text", &text) && !x509.NewCertPool().AppendCertsFromPEM([]byte(text)) {
		llm.Report("ca has no certificate in PEM")
	}
	return text
}

// body writes a request with the extra fields. Those of options, which Ollama's protocol has, are
// added to the plugin's.
func (e *endpoint) body(request any) ([]byte, error) {
	body, err := json.Marshal(request)
	if err != nil || len(e.extraBody) == 0 {
		return body, err
	}
	all := map[string]json.RawMessage{}
	if err := json.Unmarshal(body, &all); err != nil {
		return nil, err
	}
	for key, value := range e.extraBody {
		if options := map[string]json.RawMessage{}; key == "options" && all[key] != nil && json.Unmarshal(all[key], &options) == nil && json.Unmarshal(value, &options) == nil {
			if value, err = json.Marshal(options); err != nil {
				return nil, err
			}
		}
		all[key] = value
	}
	return json.Marshal(all)
}
