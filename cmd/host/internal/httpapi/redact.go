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
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// An error's message is written for a user of the host's machine, and quotes what was
// wrong. Over a network the message must not contain paths of the host, which reveal how it
// is set up, or refused values: a value may be a secret in the wrong field, which proxies
// and logs would then keep. The caller loses nothing: it has the value, and the problem has
// its place. Callers over the socket, who may read the data folder, get complete messages.

// ellipsis replaces removed text.
const ellipsis = "…"

// redact removes from a problem everything that it mustn't contain.
func (ps *problems) redact(r *request, e *sdk.Error, p *client.Problem) {
	said := p.Detail + "\n" + p.Hint
	for _, f := range p.Errors {
		said += "\n" + f.Detail
	}
	for _, more := range []any{p.Details, p.Try} {
		if text, err := jsontext.Encode(more); err == nil {
			said += "\n" + string(text)
		}
	}
	clean := cleaner(said, ps.paths(e))
	if e.Code == sdk.Invalid { // separate from the paths, so that many values don't crowd them out
		done := ps.decoding(r)
		paths, values := clean, cleaner(said, r.values())
		done()
		clean = func(s string) string { return values(paths(s)) }
	}
	p.Detail, p.Hint, p.Try = clean(p.Detail), clean(p.Hint), cleanAction(p.Try, clean)
	for i := range p.Errors {
		p.Errors[i].Detail = clean(p.Errors[i].Detail)
	}
	for name, value := range p.Details {
		p.Details[name] = cleanValue(value, clean)
	}
}

// cleanAction is an action in which removed arguments are open, for the user to choose.
func cleanAction(try *sdk.Action, clean func(string) string) *sdk.Action {
	if try == nil {
		return nil
	}
	kept := &sdk.Action{Verb: try.Verb, Args: slices.Clone(try.Args)}
	for i, arg := range kept.Args {
		if text, is := arg.Value.(string); is && clean(text) != text {
			kept.Args[i].Value = nil
		}
	}
	return kept
}

// cleanValue is a detail without removed texts.
func cleanValue(value any, clean func(string) string) any {
	switch v := value.(type) {
	case string:
		return clean(v)
	case bool, int, int64, uint64, float64, nil:
		return v
	}
	text, err := jsontext.Encode(value)
	if err != nil {
		return nil
	}
	whole, err := jsontext.Decode(text)
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

// paths are the host's folders and files that an error may mention: the configured ones,
// and the ones in an error of the system.
func (ps *problems) paths(e *sdk.Error) []string {
	list := slices.Clone(ps.folders)
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
func hostFolders(h *host.Host) []string {
	s := h.Config.Settings
	list := []string{s.DataDir.Value, s.PluginDir.Value, s.Lock.Value, s.TrustFile.Value, s.PolicyDir.Value, s.BackupDir.Value, s.File(), os.TempDir()}
	list = append(list, s.Dev()...)
	if home, err := os.UserHomeDir(); err == nil {
		list = append(list, home)
	}
	if wd, err := os.Getwd(); err == nil {
		list = append(list, wd)
	}
	return slices.DeleteFunc(list, func(p string) bool { return len(filepath.Clean(p)) < 2 })
}

// The lengths of values that are looked for. Messages quote only the beginning of a longer
// value.
const (
	quoted  = 61 // as core.Cut cuts
	atLeast = 4  // bytes of a value that is looked for without quotes around it
)

// cleaner removes texts from messages: in quotes, or, from four bytes on, as whole words,
// with the rest of a path after them. It looks only for texts that occur in the messages,
// so that many long ones don't crowd out a short one.
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
	return func(s string) string { return any.ReplaceAllLiteralString(s, ellipsis) }
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

// forms are the forms in which a message may have a text: whole or its beginning, plain or
// quoted.
func forms(text string) []string {
	if text == "" || !utf8.ValidString(text) {
		return nil
	}
	if len(text) > quoted {
		text = strings.ToValidUTF8(text[:quoted], "")
	}
	list := []string{text}
	if escaped := strings.Trim(strings.TrimSpace(string(jsontext.MustEncode(text))), `"`); escaped != text {
		list = append(list, escaped)
	}
	return list
}

// values are the texts in a request's path, query and body.
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
	if tree, _ = jsontext.Decode(r.body); tree != nil {
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
