package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/policy/format"
	"github.com/reflectory/reflectory/policy/program"
	"github.com/reflectory/reflectory/sdk"
)

// Bounds of a folder.
const (
	maxFiles       = 1000
	maxFolderBytes = 16 << 20
)

// file is a policy file or a suite of test cases as it was read.
type file struct {
	name string // within the folder: point/file.yaml
	text []byte
}

// isCases reports whether a file holds test cases: strict_test.yaml is next to
// strict.yaml.
func isCases(name string) bool {
	base := strings.TrimSuffix(strings.TrimSuffix(name, ".yaml"), ".yml")
	return strings.HasSuffix(base, "_test")
}

func isYAML(name string) bool { return path.Ext(name) == ".yaml" || path.Ext(name) == ".yml" }

// contents are the files of a folder, and the problems of the folder itself.
type contents struct {
	files    []file
	problems []format.Problem
	size     int
}

// readFolder reads the YAML files of the points' folders, sorted by name. A missing
// folder has none. Files that aren't YAML, or whose names begin with a dot, such as an
// editor's copies, are skipped; YAML that no point reads is a problem.
func readFolder(folder fs.FS, points *Points) (*contents, error) {
	c := &contents{}
	entries, err := fs.ReadDir(folder, ".")
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return nil, unreadable(err)
	}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), ".") {
			continue
		}
		if !entry.IsDir() {
			c.misplaced(entry, entry.Name(), points)
			continue
		}
		if err := points.known(entry.Name()); err != nil {
			c.refuse(entry.Name(), err)
		} else if err := c.readPoint(folder, entry.Name()); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// refuse notes a problem of a file or folder as a whole.
func (c *contents) refuse(name string, err error) {
	e := sdk.AsError(err)
	c.problems = append(c.problems, format.Problem{File: name, Message: e.Message, Hint: e.Hint})
}

// misplaced refuses files next to the points' folders that look like policies, and
// folders that look like a point's folder: they would be ignored, and their author
// wouldn't notice.
func (c *contents) misplaced(entry fs.DirEntry, name string, points *Points) {
	names := points.folderNames()
	switch {
	case isYAML(name):
		c.refuse(name, sdk.Errorf(sdk.Invalid, "policy_misplaced", "no point reads a file in the root of the policy folder").
			WithHint("put it into the folder of its point: %s", strings.Join(names, ", ")))
	case !entry.Type().IsRegular() && slices.Contains(names, name):
		c.refuse(name, sdk.Errorf(sdk.Invalid, "policy_file_kind", "it isn't a plain folder").
			WithHint("put the folder itself there; links aren't followed"))
	}
}

func (c *contents) readPoint(folder fs.FS, dir string) error {
	entries, err := fs.ReadDir(folder, dir)
	if err != nil {
		return unreadable(err)
	}
	for _, entry := range entries {
		name := path.Join(dir, entry.Name())
		if strings.HasPrefix(entry.Name(), ".") {
			continue
		}
		if entry.IsDir() {
			c.refuse(name, sdk.Errorf(sdk.Invalid, "policy_misplaced", "a point's folder holds no folders: no file in this one would decide").
				WithHint("put its files into %s itself; the namespace key of a policy says where it applies", dir))
			continue
		}
		if !isYAML(name) {
			if isYAML(strings.ToLower(name)) {
				c.refuse(name, sdk.Errorf(sdk.Invalid, "policy_misplaced", "only files whose names end in .yaml or .yml in small letters are read").
					WithHint("rename it"))
			}
			continue
		}
		if !entry.Type().IsRegular() {
			c.refuse(name, sdk.Errorf(sdk.Invalid, "policy_file_kind", "it isn't a plain file").
				WithHint("put the file itself there; links and folders aren't followed"))
			continue
		}
		text, err := readFile(folder, name)
		if err != nil {
			return err
		}
		if err := c.add(file{name, text}); err != nil {
			return err
		}
	}
	return nil
}

// add notes a file, unless the folder has too much.
func (c *contents) add(f file) error {
	if c.size += len(f.text); c.size > maxFolderBytes || len(c.files) == maxFiles {
		return sdk.Errorf(sdk.Exhausted, "policy_folder_large", "the policy folder has more than %d files or %d bytes", maxFiles, maxFolderBytes).
			WithHint("keep only policies and their cases there")
	}
	c.files = append(c.files, f)
	return nil
}

// readFile reads a file, up to the size that the format refuses.
func readFile(folder fs.FS, name string) ([]byte, error) {
	f, err := folder.Open(name)
	if err != nil {
		return nil, unreadable(err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, format.MaxFileBytes+1))
	if err != nil {
		return nil, unreadable(err)
	}
	return text, nil
}

func unreadable(err error) error {
	return sdk.Errorf(sdk.NotFound, "policy_folder_unreadable", "the policy folder can't be read: %w", err).
		WithHint("check the path and its permissions")
}

func unknownPoint(name policypoint.Point, names []string) error {
	return sdk.Errorf(sdk.Invalid, "policy_point_unknown", "there is no policy point %q", name).
		WithHint("%s", sdk.DidYouMean(string(name), names, "the points are "+strings.Join(names, ", ")))
}

// folderDigest covers the names and texts of all files.
func folderDigest(files []file) string {
	h := sha256.New()
	for _, f := range files {
		fmt.Fprintf(h, "%d %s %d ", len(f.name), f.name, len(f.text))
		h.Write(f.text)
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// Load reads a policy folder: <point>/*.yaml. All problems of all its files are
// one error: sdk.Invalid, reason "policy_invalid". Files that end in _test.yaml
// are cases, which decide nothing.
func (p *Points) Load(folder fs.FS) (*Set, error) {
	c, err := readFolder(folder, p)
	if err != nil {
		return nil, err
	}
	return p.compile(c)
}

// Files are the texts of a policy folder's files by their names, point/file.yaml, for
// [Points.LoadFiles]. It ignores problems of the folder itself, which [Points.Load]
// reports.
func (p *Points) Files(folder fs.FS) (map[string]string, error) {
	c, err := readFolder(folder, p)
	if err != nil {
		return nil, err
	}
	files := map[string]string{}
	for _, f := range c.files {
		files[f.name] = string(f.text)
	}
	return files, nil
}

// LoadFiles is [Points.Load] for files that were sent, by their names, point/file.yaml.
func (p *Points) LoadFiles(files map[string]string) (*Set, error) {
	c := &contents{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		dir, base := path.Split(name)
		if err := p.known(strings.TrimSuffix(dir, "/")); err != nil {
			c.refuse(name, err)
			continue
		}
		if !isYAML(base) || strings.HasPrefix(base, ".") {
			c.refuse(name, sdk.Errorf(sdk.Invalid, "policy_misplaced", "its name isn't that of a policy").
				WithHint("name it POINT/NAME.yaml"))
			continue
		}
		if err := c.add(file{name, []byte(files[name])}); err != nil {
			return nil, err
		}
	}
	return p.compile(c)
}

func (p *Points) compile(c *contents) (*Set, error) {
	set := p.Defaults()
	set.digest = folderDigest(c.files)
	set.texts = p.textsOf(c)
	problems := slices.Concat(c.problems, p.checkTexts(set.texts))
	for _, f := range c.files {
		if isCases(f.name) || p.folder(path.Dir(f.name)) != nil {
			continue
		}
		parsed, found := format.Parse(f.name, f.text)
		d, err := p.find(policypoint.Point(path.Dir(f.name)))
		if err != nil {
			return nil, err
		}
		compiled := program.Compile(d.env, parsed, found)
		if compiled != nil {
			set.add(&Policy{point: d, program: compiled}, found)
		}
		problems = append(problems, found.List()...)
	}
	if err := format.Invalid(problems); err != nil {
		return nil, err
	}
	slices.SortFunc(set.files, func(a, b *Policy) int { return strings.Compare(a.File(), b.File()) })
	return set, nil
}

// add puts a policy into the set, or notes that another one has the same point and
// namespace.
func (s *Set) add(policy *Policy, found *format.Problems) {
	at := s.scopes[policy.Point()]
	if at == nil {
		at = &scopes{}
		s.scopes[policy.Point()] = at
	}
	where := &at.live
	if policy.Shadow() {
		where = &at.shadow
	}
	if there := where.add(policy); there != nil {
		source := policy.program.Policy()
		found.Add(source.NamespaceAt, "give one of them another namespace, or merge them",
			"the policy applies to %q, and so does %s", source.Namespace, there.File())
		return
	}
	s.files = append(s.files, policy)
}

// Suites reads the files of test cases of a folder, by name.
func (p *Points) Suites(folder fs.FS) (map[string][]byte, error) {
	c, err := readFolder(folder, p)
	if err != nil {
		return nil, err
	}
	suites := map[string][]byte{}
	for _, f := range c.files {
		if isCases(f.name) && p.folder(path.Dir(f.name)) == nil {
			suites[f.name] = f.text
		}
	}
	return suites, nil
}

// SuiteName is the file of the test cases of a policy.
func SuiteName(file string) string {
	ext := path.Ext(file)
	return strings.TrimSuffix(file, ext) + "_test" + ext
}
