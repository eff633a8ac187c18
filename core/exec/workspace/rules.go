package workspace

import (
	"os"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"
	"golang.org/x/text/unicode/norm"

	"github.com/reflectory/reflectory/sdk"
)

// Limits of patterns and paths.
const (
	// maxPatterns and maxPattern are many times what a workflow needs. maxAlternatives are the
	// braces in a pattern: the time to match doubles with each.
	maxPatterns     = 200
	maxPattern      = 500
	maxAlternatives = 6
	// maxPath and maxComponent are shorter than what Linux has (4,096 and 255).
	maxPath      = 1024
	maxComponent = 250
)

// rules say which files an attempt may write.
type rules struct {
	may, protect []pattern
	report       string
}

type pattern struct {
	glob, folded string
	excludes     bool
}

// newRules checks the settings of a workspace.
func newRules(w *sdk.ExecWorkspace, report string) (*rules, error) {
	var r rules
	may := w.MayChange
	if w.Put.File != "" {
		may = []string{escape(w.Put.File)} // that file and no other
	}
	for _, list := range []struct {
		key   string
		globs []string
		to    *[]pattern
	}{{"may_change", may, &r.may}, {"protect", w.Protect, &r.protect}} {
		if len(list.globs) > maxPatterns {
			return nil, invalid("workspace.%s has %d patterns (limit %d)", list.key, len(list.globs), maxPatterns)
		}
		for _, glob := range list.globs {
			p, problem := newPattern(glob, list.key == "may_change")
			if problem != "" {
				return nil, invalid("workspace.%s: the pattern %q %s", list.key, glob, problem)
			}
			*list.to = append(*list.to, p)
		}
	}
	if (w.Put.Files != nil || w.Put.Diff != "") && len(r.may) == 0 {
		return nil, invalid("workspace.may_change is missing: put: files and put: diff need the patterns of the files that an attempt may change")
	}
	if report != "" {
		clean, problem := cleanPath(report)
		if problem != "" {
			return nil, invalid("the path of the report %q %s", report, problem)
		}
		r.report = clean
	}
	return &r, nil
}

func invalid(format string, args ...any) error {
	return sdk.Errorf(sdk.Invalid, "workspace_invalid", format, args...).
		WithHint(`patterns are paths from the workspace's folder: "src/**/*.go", "!**/*_test.go"`)
}

// newPattern reads a pattern. "!" in may_change excludes.
func newPattern(glob string, negates bool) (pattern, string) {
	p := pattern{glob: glob}
	if rest, is := strings.CutPrefix(glob, "!"); is && negates {
		p.glob, p.excludes = rest, true
	}
	p.glob = strings.TrimPrefix(p.glob, "./")
	switch {
	case p.glob == "":
		return p, "is empty"
	case len(glob) > maxPattern:
		return p, "is too long"
	case strings.HasPrefix(p.glob, "/") || strings.HasSuffix(p.glob, "/"):
		return p, `begins or ends with "/": write "folder/**" for what is in a folder`
	case strings.Count(p.glob, "{") > maxAlternatives:
		return p, "has too many braces"
	case !doublestar.ValidatePattern(p.glob):
		return p, "isn't well formed"
	}
	p.folded = fold(p.glob)
	return p, ""
}

// escape makes a pattern that matches one path.
func escape(name string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "]", `\]`, "{", `\{`, "}", `\}`, "!", `\!`).Replace(name)
}

// refuse is why an attempt may not write a path, and "" if it may. What is closed is
// closed in any spelling, and with everything in it; what is open is open as it's written.
func (r *rules) refuse(name string) string {
	if r.report != "" && (within(fold(name), fold(r.report)) || within(fold(r.report), fold(name))) {
		return "is the path of the program's report"
	}
	for _, p := range r.protect {
		if p.closes(name) {
			return "protect names it (" + p.glob + ")"
		}
	}
	open := false
	for _, p := range r.may {
		switch {
		case p.excludes && p.closes(name):
			open = false
		case !p.excludes && doublestar.MatchUnvalidated(p.glob, name):
			open = true
		}
	}
	if !open {
		return "may_change doesn't name it"
	}
	return ""
}

// closes is whether a pattern matches a path, or a folder that it is in.
func (p pattern) closes(name string) bool {
	for folded := fold(name); folded != "."; folded = path.Dir(folded) {
		if doublestar.MatchUnvalidated(p.folded, folded) {
			return true
		}
	}
	return false
}

// within is whether a path is a folder's, or the folder itself.
func within(name, folder string) bool { return name == folder || strings.HasPrefix(name, folder+"/") }

// fold is a path without what some file systems and tools don't distinguish: case, and the
// ways to write a character.
func fold(name string) string { return strings.ToLower(norm.NFKC.String(name)) }

// cleanPath is the path that a text names, or why it can't be one.
func cleanPath(name string) (clean, problem string) {
	clean = strings.TrimPrefix(name, "./")
	switch {
	case clean == "":
		return "", "is empty"
	case len(clean) > maxPath:
		return "", "is too long"
	case !utf8.ValidString(clean) || strings.ContainsFunc(clean, hidden):
		return "", "has characters that can't be seen"
	case strings.HasPrefix(clean, "/"):
		return "", "is absolute"
	case strings.Contains(clean, `\`):
		return "", "has a backslash"
	}
	for part := range strings.SplitSeq(clean, "/") {
		switch folded := fold(part); {
		case part == "..":
			return "", `has ".."`
		case part == "" || part == ".":
			return "", "has an empty part"
		case len(part) > maxComponent:
			return "", "is too long"
		case folded == ".git" || strings.HasPrefix(folded, "git~") || strings.TrimRight(folded, ". ") == ".git" || strings.HasPrefix(folded, ".git:"):
			return "", "is inside git's own folder"
		case strings.ContainsAny(folded, "/") || folded == "..":
			return "", "has characters that look like others"
		}
	}
	return clean, ""
}

// hidden is a character that isn't seen, or changes how others are.
func hidden(c rune) bool {
	return unicode.IsControl(c) || unicode.In(c, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}

// place is what is at a path of the workspace: the file, or nil if there is none, and why an
// attempt can't write there. No link is followed.
func place(root *os.Root, name string) (file os.FileInfo, problem string) {
	parts := strings.Split(name, "/")
	for i := range parts {
		at := path.Join(parts[:i+1]...)
		info, err := root.Lstat(at)
		if err != nil {
			if twin := twinOf(root, at); twin != "" {
				return nil, "differs only in case or form from " + twin
			}
			return nil, ""
		}
		last := i == len(parts)-1
		if problem := unsafe(info, last); problem != "" {
			if !last {
				problem = at + " " + problem
			}
			return nil, problem
		}
		file = info
	}
	return file, ""
}

// twinOf is a file next to a missing one whose name differs only in its form.
func twinOf(root *os.Root, name string) string {
	dir, err := root.Open(path.Dir(name))
	if err != nil {
		return ""
	}
	defer func() { _ = dir.Close() }() // only reads
	names, _ := dir.Readdirnames(-1)
	for _, other := range names {
		if fold(other) == fold(path.Base(name)) {
			return path.Join(path.Dir(name), other)
		}
	}
	return ""
}
