package plugin

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/sdk/apikey"
)

// minSecret is the length from which the value of a granted variable is cut out of a
// plugin's log. Passwords have 8 characters and more; shorter values, such as "on" or
// "prod", are everyday words.
const minSecret = 8

// minTail is how much of a secret is cut off the end of a text that ends inside it.
const minTail = 4

// redacted replaces a secret.
const redacted = "***"

// Redactor removes the values of a plugin's granted environment variables from what the plugin
// writes, so that a careless line doesn't put a key into a log. It can't find a value that the
// plugin has encoded. A nil Redactor changes nothing.
type Redactor struct {
	secrets  []string // the longest first
	replacer *strings.Replacer
}

// NewRedactor returns the redactor of NAME=value pairs, nil if there is nothing
// to hide.
func NewRedactor(env []string) *Redactor {
	var secrets []string
	for _, pair := range env {
		_, value, _ := strings.Cut(pair, "=")
		// Logs are lines, so the lines of a value are hidden one by one.
		for _, form := range append(strings.Split(value, "\n"), value) {
			for _, secret := range []string{form, jsonForm(form, true), jsonForm(form, false)} {
				if len(secret) >= minSecret && !apikey.Placeholder(secret) {
					secrets = append(secrets, secret)
				}
			}
		}
	}
	if len(secrets) == 0 {
		return nil
	}
	slices.SortFunc(secrets, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	secrets = slices.Compact(secrets)
	pairs := make([]string, 0, 2*len(secrets))
	for _, secret := range secrets {
		pairs = append(pairs, secret, redacted)
	}
	return &Redactor{secrets: secrets, replacer: strings.NewReplacer(pairs...)}
}

// jsonForm is how a text is written within a JSON string.
func jsonForm(text string, escapeHTML bool) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(escapeHTML)
	if enc.Encode(text) != nil {
		return ""
	}
	quoted := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	return string(quoted[1 : len(quoted)-1])
}

// Text returns a text without secrets, even if the text ends in the middle of one.
func (r *Redactor) Text(text string) string {
	if r == nil {
		return text
	}
	return r.cutEnd(r.replacer.Replace(text))
}

// cutEnd removes the beginning of a secret from the end of a text.
func (r *Redactor) cutEnd(text string) string {
	body, mark := text, ""
	if cut, ok := strings.CutSuffix(text, "…"); ok {
		body, mark = cut, "…"
	} else {
		return text
	}
	for _, secret := range r.secrets {
		for n := min(len(secret)-1, len(body)); n >= minTail; n-- {
			if strings.HasSuffix(body, secret[:n]) {
				return body[:len(body)-n] + redacted + mark
			}
		}
	}
	return text
}

// Line removes secrets from a line.
func (r *Redactor) Line(l *LogLine) {
	if r == nil {
		return
	}
	l.Message = r.Text(l.Message)
	if len(l.Fields) > 0 {
		l.Fields, _ = r.value(l.Fields).(map[string]any)
	}
}

// value removes secrets from a decoded JSON value.
func (r *Redactor) value(v any) any {
	switch v := v.(type) {
	case nil, bool:
		return v
	case string:
		return r.Text(v)
	case map[string]any:
		clean := make(map[string]any, len(v))
		for name, e := range v {
			clean[r.Text(name)] = r.value(e)
		}
		return clean
	case []any:
		for i, e := range v {
			v[i] = r.value(e)
		}
		return v
	}
	if number, err := json.Marshal(v); err != nil || r.Text(string(number)) != string(number) {
		return redacted
	}
	return v
}
