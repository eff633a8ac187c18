package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/sdk"
)

// Limits of an attempt.
const (
	// maxEdits are the files that an attempt may change.
	maxEdits = 10_000
	// maxEdited is the size of a file that a diff changes, and of all that an attempt writes.
	maxEdited = 64 << 20
	// maxRefused are the refusals that are listed.
	maxRefused = 100
)

// edit is what an attempt does to one path.
type edit struct {
	name string
	// from is the file whose text is changed: the same, or the one that is renamed or copied;
	// "" if the text replaces what is there.
	from string
	// removes is whether the file goes away.
	removes bool
	// isNew is whether there must be no file yet.
	isNew bool
	// runs is whether a new file is executable.
	runs bool
	// change makes the new text from the old one. The error is a message for the attempt.
	change func(old []byte) ([]byte, error)
	// problem is what is wrong with the edit by itself.
	problem string

	text []byte
	mode fs.FileMode
}

// attempt is everything that is put into a workspace.
type attempt struct {
	root    *os.Root
	rules   *rules
	edits   []*edit
	refused []sdk.ExecRefusal
	size    int
}

// put writes an attempt into the copy, or returns why it may not be.
func put(root *os.Root, w *sdk.ExecWorkspace, r *rules, owner *Owner) ([]sdk.ExecRefusal, error) {
	a := &attempt{root: root, rules: r}
	if err := a.read(&w.Put); err != nil {
		return nil, err
	}
	a.check()
	if len(a.refused) > 0 {
		return a.listed(), nil
	}
	if err := a.write(owner); err != nil {
		return nil, unavailable(err)
	}
	return nil, nil
}

// read makes edits of an attempt.
func (a *attempt) read(p *sdk.ExecPut) error {
	forms := 0
	for _, set := range []bool{p.File != "", p.Files != nil, p.Diff != ""} {
		if set {
			forms++
		}
	}
	if forms > 1 {
		return invalid("put has %d of file, files and diff (limit 1)", forms)
	}
	switch {
	case p.File != "":
		a.edits = []*edit{replace(p.File, p.Text)}
	case p.Files != nil:
		for _, name := range slices.Sorted(maps.Keys(p.Files)) {
			a.edits = append(a.edits, replace(name, p.Files[name]))
		}
	case p.Diff != "":
		var problem string
		if a.edits, problem = readDiff(p.Diff, a.root); problem != "" {
			a.refuse("", problem)
		}
	}
	if len(a.edits) > maxEdits {
		a.refuse("", fmt.Sprintf("the attempt changes %d files (limit %d)", len(a.edits), maxEdits))
		a.edits = nil
	}
	return nil
}

func replace(name, text string) *edit {
	return &edit{name: name, change: func([]byte) ([]byte, error) { return []byte(text), nil }}
}

func (a *attempt) refuse(name, problem string) {
	a.refused = append(a.refused, sdk.ExecRefusal{Path: name, Message: problem})
}

// check finds everything that is wrong with the attempt.
func (a *attempt) check() {
	seen := map[string]string{}
	for _, e := range a.edits {
		if problem := a.checkEdit(e); problem != "" {
			a.refuse(e.name, problem)
			continue
		}
		for _, name := range e.touches() {
			if other, is := seen[fold(name)]; is {
				a.refuse(name, "is changed twice, also as "+other)
			}
			seen[fold(name)] = name
		}
	}
	for _, e := range a.edits {
		for dir := path.Dir(fold(e.name)); dir != "." && dir != "/"; dir = path.Dir(dir) {
			if other, is := seen[dir]; is {
				a.refuse(e.name, other+" can't be a file and a folder")
			}
		}
	}
}

// touches are the paths that an edit changes.
func (e *edit) touches() []string {
	if e.from != "" && e.from != e.name && e.removes {
		return []string{e.name, e.from}
	}
	return []string{e.name}
}

// checkEdit checks an edit and makes its text.
func (a *attempt) checkEdit(e *edit) string {
	if e.problem != "" {
		return e.problem
	}
	name, problem := cleanPath(e.name)
	if problem == "" {
		problem = a.rules.refuse(name)
	}
	if problem != "" {
		return problem
	}
	e.name = name
	file, problem := place(a.root, name)
	switch {
	case problem != "":
		return problem
	case e.isNew && file != nil:
		return "is there already"
	}
	e.mode = 0o644
	if e.runs {
		e.mode = 0o755
	}
	if file != nil {
		e.mode = file.Mode().Perm()
	}
	var old []byte
	if e.from != "" {
		if old, problem = a.source(e, file); problem != "" {
			return problem
		}
	}
	text, err := e.change(old)
	if err != nil {
		return err.Error()
	}
	if a.size += len(text); a.size > maxEdited {
		return fmt.Sprintf("with it the attempt has more than %d bytes", maxEdited)
	}
	e.text = text
	return ""
}

// source is the text that an edit changes. The file that a rename takes away must be open
// too.
func (a *attempt) source(e *edit, file os.FileInfo) ([]byte, string) {
	if e.from != e.name {
		from, problem := cleanPath(e.from)
		if problem == "" && e.removes {
			problem = a.rules.refuse(from)
		}
		if problem == "" {
			e.from = from
			file, problem = place(a.root, from)
		}
		if problem != "" {
			return nil, fmt.Sprintf("comes from %s, which can't be: %s", e.from, problem)
		}
	}
	switch {
	case file == nil:
		return nil, "there is no file " + e.from
	case file.Size() > maxEdited:
		return nil, fmt.Sprintf("%s is too large for a diff (limit %d bytes)", e.from, maxEdited)
	}
	if e.from != e.name {
		e.mode = file.Mode().Perm()
	}
	text, err := a.root.ReadFile(e.from)
	if err != nil {
		return nil, "can't be read: " + err.Error()
	}
	return text, ""
}

// write does the edits: what goes away first, since another file may take its name.
func (a *attempt) write(owner *Owner) error {
	for _, e := range a.edits {
		if !e.removes {
			continue
		}
		if err := a.root.Remove(e.from); err != nil {
			return err
		}
	}
	for _, e := range a.edits {
		if e.removes && e.from == e.name {
			continue
		}
		if err := a.folders(path.Dir(e.name), owner); err != nil {
			return err
		}
		if err := a.file(e, owner); err != nil {
			return err
		}
	}
	return nil
}

// folders makes the folders of a new file.
func (a *attempt) folders(dir string, owner *Owner) error {
	at := ""
	for part := range strings.SplitSeq(dir, "/") {
		at = path.Join(at, part)
		err := a.root.Mkdir(at, 0o755)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err == nil && owner != nil {
			err = a.root.Lchown(at, owner.UID, owner.GID)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// file writes a file under its name as a new one, so that nothing that was there is followed
// or shared.
func (a *attempt) file(e *edit, owner *Owner) error {
	if err := a.root.Remove(e.name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	file, err := a.root.OpenFile(e.name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(e.text)
	if err == nil {
		err = file.Chmod(e.mode)
	}
	if err == nil && owner != nil {
		err = file.Chown(owner.UID, owner.GID)
	}
	return errors.Join(err, file.Close())
}

// listed are the refusals in the order of their paths, up to a number of them.
func (a *attempt) listed() []sdk.ExecRefusal {
	slices.SortStableFunc(a.refused, func(x, y sdk.ExecRefusal) int { return strings.Compare(x.Path, y.Path) })
	if n := len(a.refused) - maxRefused; n > 0 {
		a.refused = append(a.refused[:maxRefused:maxRefused], sdk.ExecRefusal{Message: fmt.Sprintf("and %d more", n)})
	}
	return a.refused
}
