package workspace

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
)

// maxCompared are the lines that are compared to find where the parts of a file's diff belong:
// about 0.1 s.
const maxCompared = 10_000_000

// The kinds of files in git's modes.
const (
	modeKind      = 0o170000
	modeFile      = 0o100000
	modeLink      = 0o120000
	modeSubmodule = 0o160000
)

// nowhere is the name of no file in a diff.
const nowhere = "/dev/null"

// readDiff reads a unified diff, or git's, with text around it or not. The second result is
// why it can't be read.
func readDiff(text string, root *os.Root) ([]*edit, string) {
	if !strings.HasSuffix(text, "\n") {
		text += "\n" // or the last line would be one without an end
	}
	files, _, err := gitdiff.Parse(strings.NewReader(text))
	switch {
	case err != nil:
		return nil, "the diff can't be read: " + strings.TrimPrefix(err.Error(), "gitdiff: ")
	case len(files) == 0:
		return nil, `there is no diff in it: a file's part begins with "--- " and "+++ " lines, or with "diff --git"`
	}
	if line := lineOutside(text); line > 0 {
		return nil, fmt.Sprintf("the diff can't be read: line %d is beyond the number of lines that its @@ line says", line)
	}
	prefixed := !strings.HasPrefix(text, "diff --git ") && !strings.Contains(text, "\ndiff --git ")
	edits := make([]*edit, len(files))
	for i, f := range files {
		if prefixed {
			f.OldName, f.NewName = withoutPrefix(f.OldName, root), withoutPrefix(f.NewName, root)
		}
		edits[i] = editOf(f, root)
	}
	return edits, ""
}

// withoutPrefix removes the a/ or b/ that git puts before a path. In the header of a plain diff
// it is left to the reader.
func withoutPrefix(name string, root *os.Root) string {
	rest, is := strings.CutPrefix(name, "b/")
	if !is {
		rest, is = strings.CutPrefix(name, "a/")
	}
	if !is {
		return name
	}
	if clean, problem := cleanPath(name); problem == "" {
		if file, problem := place(root, clean); file != nil && problem == "" {
			return name
		}
	}
	return rest
}

// lineOutside is the number of a line that looks like a part of a change, but is beyond the lines that
// the @@ line before it counts; 0 if there is none. It would be ignored without a word.
func lineOutside(text string) int {
	number, old, added := 0, 0, 0
	ended := false // whether the line before ended a change
	for line := range strings.Lines(text) {
		number++
		if old > 0 || added > 0 {
			switch line[0] {
			case '-':
				old--
			case '+':
				added--
			case '\\':
			default:
				old, added = old-1, added-1
			}
			ended = old <= 0 && added <= 0
			continue
		}
		if ended && line[0] == '\\' {
			continue
		}
		next := strings.HasPrefix(line, "--- ") || strings.HasPrefix(line, "-- ") || strings.HasPrefix(line, "+++ ")
		if ended && !next && strings.ContainsRune("+- ", rune(line[0])) {
			return number
		}
		ended = false
		old, added = counts(line)
	}
	return 0
}

// counts reads the numbers of lines of an @@ line; other lines have none.
func counts(line string) (old, added int) {
	var oldAt, newAt int
	head, _, is := strings.Cut(strings.TrimPrefix(line, "@@ -"), " @@")
	if !is || !strings.HasPrefix(line, "@@ -") {
		return 0, 0
	}
	before, after, _ := strings.Cut(head, " +")
	old, added = 1, 1
	_, _ = fmt.Sscanf(before, "%d,%d", &oldAt, &old) // without a count it is 1
	_, _ = fmt.Sscanf(after, "%d,%d", &newAt, &added)
	return old, added
}

// editOf is what a diff does to one file.
func editOf(f *gitdiff.File, root *os.Root) *edit {
	f.IsNew = f.IsNew || f.OldName == nowhere
	f.IsDelete = f.IsDelete || f.NewName == nowhere
	e := &edit{name: f.NewName, from: f.OldName, isNew: f.IsNew || f.IsCopy || f.IsRename, removes: f.IsDelete || f.IsRename}
	switch {
	case f.IsDelete:
		e.name = f.OldName
	case f.IsNew:
		e.from = ""
	case f.OldName == f.NewName && makesFile(f, root):
		e.from, e.isNew = "", true
	}
	e.runs = f.IsNew && f.NewMode&0o111 != 0
	e.problem = modeProblem(f, root)
	if f.IsBinary || f.BinaryFragment != nil {
		e.problem = "is a binary change, which isn't applied"
	}
	e.change = func(old []byte) ([]byte, error) { return apply(f, old) }
	return e
}

// makesFile is whether a diff adds lines to a file that isn't there. Some tools write a new file
// like that.
func makesFile(f *gitdiff.File, root *os.Root) bool {
	for _, part := range f.TextFragments {
		if part.OldLines > 0 {
			return false
		}
	}
	clean, problem := cleanPath(f.NewName)
	if problem != "" || len(f.TextFragments) == 0 {
		return false
	}
	file, problem := place(root, clean)
	return file == nil && problem == ""
}

// modeProblem is what is wrong with the modes in a diff: only plain files are written, and the
// mode of a file that is there stays.
func modeProblem(f *gitdiff.File, root *os.Root) string {
	for _, mode := range []os.FileMode{f.OldMode, f.NewMode} {
		switch uint32(mode) & modeKind {
		case 0, modeFile:
		case modeLink:
			return "is a link"
		case modeSubmodule:
			return "is a submodule"
		default:
			return fmt.Sprintf("has the mode %o, which isn't a file's", uint32(mode))
		}
		if mode&0o7000 != 0 {
			return fmt.Sprintf("has the mode %o, which changes a user", uint32(mode))
		}
	}
	if f.IsNew || f.NewMode == 0 {
		return ""
	}
	clean, problem := cleanPath(f.OldName)
	if problem != "" {
		return problem
	}
	info, err := root.Lstat(clean)
	if err == nil && (info.Mode()&0o111 != 0) == (f.NewMode&0o111 != 0) {
		return ""
	}
	return "its mode may not be changed"
}

// apply makes the new text of a file. The parts of a diff may be meant for other lines than
// they say, as git and patch allow: models can't count.
func apply(f *gitdiff.File, old []byte) ([]byte, error) {
	if len(f.TextFragments) > 0 && len(old) > 0 {
		locate(f.TextFragments, bytes.SplitAfter(old, []byte("\n")))
	}
	var text bytes.Buffer
	if err := gitdiff.Apply(&text, bytes.NewReader(old), f); err != nil {
		return nil, mismatch(err)
	}
	if f.IsDelete && text.Len() > 0 {
		return nil, errors.New("the diff removes the file, but not all that is in it")
	}
	return text.Bytes(), nil
}

func mismatch(err error) error {
	var at *gitdiff.ApplyError
	if errors.As(err, &at) && at.Fragment > 0 {
		return fmt.Errorf("the diff doesn't apply: part %d, at line %d of the file: %w", at.Fragment, at.Line, at.Unwrap())
	}
	return fmt.Errorf("the diff doesn't apply: %w", err)
}

// locate moves each part of a diff to the nearest place where its old lines are.
func locate(parts []*gitdiff.TextFragment, lines [][]byte) {
	compared, next := 0, int64(0)
	for _, part := range parts {
		if part.OldLines == 0 || part.OldLines > int64(len(lines)) {
			continue
		}
		wanted := min(max(0, part.OldPosition-1), int64(len(lines)))
		matches := func(at int64) bool {
			if at < next || at+part.OldLines > int64(len(lines)) {
				return false
			}
			for _, line := range part.Lines {
				if !line.Old() {
					continue
				}
				if compared++; compared > maxCompared || string(lines[at]) != line.Line {
					return false
				}
				at++
			}
			return true
		}
		for distance := int64(0); distance <= int64(len(lines)) && compared <= maxCompared; distance++ {
			at := wanted + distance
			if !matches(at) {
				at = wanted - distance
			}
			if matches(at) {
				part.OldPosition, next = at+1, at+part.OldLines
				break
			}
		}
	}
}
