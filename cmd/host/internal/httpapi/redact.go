package httpapi

import (
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/reflectory/reflectory/cmd/host/internal/client"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// The words of an error are made for who sits at the host's machine, and quote what was
// wrong. Over a network they leave out what a body mustn't say: a path of the host, which
// tells how it is set up, and a value that was refused, which may be a secret that was put
// into the wrong field, and which proxies and logs would then keep. Nothing is lost by it:
// the caller has the value, and the problem its place. The socket's callers, who may read
// the data folder, get the words whole.

// left is what there is instead of what is left out.
const left = "…"

// redact leaves out of a problem what it mustn't say.
func (a *API) redact(r *request, e *sdk.Error, p *client.Problem) {
	said := p.Detail + "\n" + p.Hint
	for _, f := range p.Errors {
		said += "\n" + f.Detail
	}
	if text, err := core.EncodeJSON(p.Details); err == nil {
		said += "\n" + string(text)
	}
	clean := cleaner(said, a.paths(e))
	if e.Code == sdk.Invalid { // apart from the paths: many values mustn't crowd them out
		paths, values := clean, cleaner(said, r.values())
		clean = func(s string) string { return values(paths(s)) }
	}
	p.Detail, p.Hint = clean(p.Detail), clean(p.Hint)
	for i := range p.Errors {
		p.Errors[i].Detail = clean(p.Errors[i].Detail)
	}
	for name, value := range p.Details {
		p.Details[name] = cleanValue(value, clean)
	}
}

// cleanValue is a detail without what is left out.
func cleanValue(value any, clean func(string) string) any {
	switch v := value.(type) {
	case string:
		return clean(v)
	case bool, int, int64, uint64, float64, nil:
		return v
	}
	text, err := core.EncodeJSON(value)
	if err != nil {
		return nil
	}
	whole, err := core.DecodeJSON(text)
	if err != nil {
		return nil
	}
	return cleanTree(whole, clean)
}

func cleanTree(value any, clean func(string) string) any {
	switch v := value.(type) {
	case string:
		return clean(v)
	case []any:
		for i := range v {
			v[i] = cleanTree(v[i], clean)
		}
	case map[string]any:
		for name := range v {
			v[name] = cleanTree(v[name], clean)
		}
	}
	return value
}

// paths are the host's folders and files that an error may speak of: the configured ones,
// and those that an error of the system has.
func (a *API) paths(e *sdk.Error) []string {
	list := slices.Clone(a.folders)
	var path *fs.PathError
	if errors.As(e, &path) {
		list = append(list, path.Path)
	}
	var link *os.LinkError
	if errors.As(e, &link) {
		list = append(list, link.Old, link.New)
	}
	return list
}

// hostFolders are the folders of this machine that messages may name.
func (a *API) hostFolders() []string {
	s := a.config.Host.Settings()
	list := []string{s.DataDir.Value, s.PluginDir.Value, s.Lock.Value, s.TrustFile.Value, s.PolicyDir.Value, s.File(), os.TempDir()}
	list = append(list, s.Dev()...)
	if home, err := os.UserHomeDir(); err == nil {
		list = append(list, home)
	}
	if wd, err := os.Getwd(); err == nil {
		list = append(list, wd)
	}
	return slices.DeleteFunc(list, func(p string) bool { return len(filepath.Clean(p)) < 2 })
}

// The longest value that is looked for: a message quotes the beginning of a longer one.
const (
	quoted  = 61 // as core.Cut cuts
	atLeast = 4  // bytes of a value that is looked for without quotes around it
)

// cleaner leaves texts out of messages: where they are in quotes, or, from four bytes on,
// where they are words, with the rest of a path behind them. Only texts that the messages
// have are looked for, so that many long ones don't crowd out a short one.
func cleaner(said string, texts []string) func(string) string {
	var patterns []string
	for _, text := range texts {
		for _, form := range forms(text) {
			if !strings.Contains(said, form) {
				continue
			}
			q := regexp.QuoteMeta(form)
			if filepath.IsAbs(form) {
				patterns = append(patterns, q+`[^\s"':,;)]*`)
				continue
			}
			patterns = append(patterns, `"`+q+`[^"]*"`)
			if len(form) >= atLeast {
				patterns = append(patterns, wordEdge(form[:1])+q+wordEdge(form[len(form)-1:]))
			}
		}
	}
	if len(patterns) == 0 {
		return func(s string) string { return s }
	}
	slices.SortFunc(patterns, func(x, y string) int { return len(y) - len(x) })
	if len(patterns) > maxValues {
		patterns = patterns[:maxValues]
	}
	any := regexp.MustCompile(strings.Join(patterns, "|"))
	return func(s string) string { return any.ReplaceAllLiteralString(s, left) }
}

// wordEdge keeps a text from being found within a word.
func wordEdge(edge string) string {
	if len(edge) == 1 && (edge == "_" || edge >= "0" && edge <= "9" || edge >= "A" && edge <= "Z" || edge >= "a" && edge <= "z") {
		return `\b`
	}
	return ""
}

// maxValues is how many values are looked for.
const maxValues = 400

// forms are how a message may have a text: whole or its beginning, as it is or quoted.
func forms(text string) []string {
	if text == "" || !utf8.ValidString(text) {
		return nil
	}
	if len(text) > quoted {
		text = strings.ToValidUTF8(text[:quoted], "")
	}
	list := []string{text}
	if escaped := strings.Trim(strings.TrimSpace(string(core.MustJSON(text))), `"`); escaped != text {
		list = append(list, escaped)
	}
	return list
}

// values are the texts that a request has: of its path, its query and its body.
func (r *request) values() []string {
	var list []string
	query, _ := url.ParseQuery(r.http.URL.RawQuery)
	for _, values := range query {
		list = append(list, values...)
	}
	for _, name := range r.taken {
		list = append(list, r.http.PathValue(name))
	}
	var tree any
	if tree, _ = core.DecodeJSON(r.body); tree != nil {
		list = texts(tree, list)
	}
	for _, text := range list { // such as a name with its value
		if parts := strings.FieldsFunc(text, func(c rune) bool { return strings.ContainsRune("=,; ", c) }); 1 < len(parts) && len(parts) <= maxParts {
			list = append(list, parts...)
		}
	}
	return list
}

// maxParts is how many parts of a value are looked for: a longer one is prose.
const maxParts = 8

// texts adds the texts of a JSON value to a list.
func texts(value any, list []string) []string {
	switch v := value.(type) {
	case string:
		list = append(list, v)
	case []any:
		for _, item := range v {
			list = texts(item, list)
		}
	case map[string]any:
		for _, item := range v {
			list = texts(item, list)
		}
	}
	return list
}
