package memoryfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/document"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/plainfile"
	"github.com/reflectory/reflectory/sdk"
)

// The bounds of a folder of Markdown.
const (
	maxFiles = 100_000
	maxDepth = 64
	maxFile  = 8 << 20
	// maxFrontMatter bounds the front matter of a file; it has to fit a memory's metadata.
	maxFrontMatter = maxSourceBytes / 2
)

// rules are the files whose list items are one memory each.
var rules = []string{"AGENTS.md", "CLAUDE.md"}

// ReadFolder reads the Markdown files of a folder and of the folders below, in the order of their paths,
// or one file. Each heading with its text is a memory, and so is each list item of an AGENTS.md or
// CLAUDE.md. Links and hidden folders aren't followed.
func (i *Import) ReadFolder(folder string) error {
	only := ""
	if info, err := os.Stat(folder); err == nil && !info.IsDir() {
		folder, only = filepath.Dir(folder), filepath.Base(folder)
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return invalid("the folder %s can't be opened: %w", folder, err)
	}
	defer func() { _ = root.Close() }() // only reads
	if only != "" {
		_, err := i.file(root, only)
		return err
	}
	files, size := 0, 0
	return fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		hidden := name != "." && strings.HasPrefix(entry.Name(), ".")
		switch {
		case err != nil:
			i.leave(name, name, "it can't be read: %s", errors.Unwrap(err))
			return nil
		case entry.IsDir() && hidden:
			i.leave(name, name, "it is a hidden folder")
			return fs.SkipDir
		case entry.IsDir() && strings.Count(name, "/") >= maxDepth:
			i.leave(name, name, "it is more than %d folders deep", maxDepth)
			return fs.SkipDir
		case entry.IsDir() || !slices.Contains([]string{".md", ".markdown"}, strings.ToLower(path.Ext(name))):
			return nil
		case !entry.Type().IsRegular():
			i.leave(name, name, "it isn't a regular file")
			return nil
		}
		if files++; files > maxFiles {
			return invalid("the folder has more than %d files", maxFiles).WithHint("import it in parts")
		}
		read, err := i.file(root, name)
		if size += read; err == nil && size > MaxBytes {
			return invalid("the folder's files have more than %d bytes", MaxBytes).WithHint("import it in parts")
		}
		return err
	})
}

// file takes the memories of a file, and returns its size.
func (i *Import) file(root *os.Root, name string) (int, error) {
	data, err := plainfile.ReadIn(root, name, maxFile)
	if err != nil {
		i.leave(name, name, "%s", sdk.AsError(err).Message)
		return 0, nil
	}
	if !utf8.Valid(data) {
		i.leave(name, name, "it isn't UTF-8 text")
		return len(data), nil
	}
	text := strings.ReplaceAll(strings.TrimPrefix(string(data), "\ufeff"), "\r\n", "\n")
	f := &markdownFile{Import: i, name: name, items: slices.Contains(rules, path.Base(name))}
	lines := strings.Split(text, "\n")
	return len(data), f.read(lines, f.frontMatter(lines))
}

// markdownFile is a file that is read.
type markdownFile struct {
	*Import
	name  string
	items bool // whether each list item is a memory

	record   record   // what every memory of the file has, from its front matter
	title    string   // of the file
	headings []string // above the current line, by their levels
	lines    []string // of the current memory
	first    int      // the number of its first line
	bare     bool     // whether the last heading has had no text yet
}

// frontMatter reads the front matter, and returns how many lines it has.
func (f *markdownFile) frontMatter(lines []string) int {
	f.title = strings.TrimSuffix(path.Base(f.name), path.Ext(f.name))
	if strings.TrimRight(lines[0], " \t") != "---" {
		return 0
	}
	end := slices.IndexFunc(lines[1:], func(line string) bool { return slices.Contains([]string{"---", "..."}, strings.TrimRight(line, " \t")) })
	if end < 0 {
		return 0
	}
	var found document.Problems
	node := document.Read(strings.Join(lines[1:end+1], "\n"), document.Limits{Bytes: maxFrontMatter, Depth: 20, MayBeEmpty: true}, &found)
	if problems := found.List(); len(problems) > 0 || node == nil || node.Kind != document.Mapping {
		why := "it isn't a mapping"
		if len(problems) > 0 {
			why = fmt.Sprintf("line %d: %s", problems[0].Line+1, problems[0].Message)
		}
		f.leave(f.name, "front matter", "%s", why)
		return end + 2
	}
	named, rest := split(jsontext.Members(node.JSON(nil)), "title", "tags", "date", "created", "created_at")
	f.record.metadata = rest
	if decode(named, "title", &f.title) != nil {
		f.record.metadata = append(f.record.metadata, jsontext.Member{Key: "title", Value: named["title"]})
	}
	var tags string
	if decode(named, "tags", &f.record.tags) != nil && decode(named, "tags", &tags) == nil {
		f.record.tags = strings.FieldsFunc(tags, func(r rune) bool { return r == ',' || r == ' ' })
	}
	f.record.times(named, "date", "created", "created_at")
	return end + 2
}

var (
	heading  = regexp.MustCompile(`^ {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$`)
	fence    = regexp.MustCompile("^ {0,3}(```+|~~~+)")
	listItem = regexp.MustCompile(`^ {0,3}(?:[-*+]|[0-9]{1,9}[.)])[ \t]+`)
)

// read takes the memories of a file's lines from start on.
func (f *markdownFile) read(lines []string, start int) error {
	code, inItem := "", false
	f.first = start + 1
	for n := start; n < len(lines); n++ {
		line, inCode := lines[n], code != ""
		if mark := fence.FindStringSubmatch(line); mark != nil && (code == "" || strings.HasPrefix(mark[1], code)) {
			if code == "" {
				code = mark[1]
			} else {
				code = ""
			}
		}
		if !inCode {
			if h := heading.FindStringSubmatch(line); h != nil {
				if err := f.flush(inItem); err != nil {
					return err
				}
				if len(h[1]) <= len(f.headings) {
					f.unused()
				}
				f.headings = append(f.headings[:min(len(f.headings), len(h[1])-1)], strings.TrimSpace(h[2]))
				f.first, inItem, f.bare = n+2, false, true
				continue
			}
			indented := strings.HasPrefix(line, "  ") || strings.HasPrefix(line, "\t")
			item := f.items && listItem.MatchString(line) && !(inItem && indented)
			after := inItem && n > 0 && strings.TrimSpace(lines[n-1]) == "" && line != "" && !indented
			if item || after {
				if err := f.flush(inItem); err != nil {
					return err
				}
				f.first, inItem = n+1, item
			}
		}
		f.lines = append(f.lines, line)
	}
	err := f.flush(inItem)
	f.unused()
	return err
}

// unused leaves out the last heading if it has neither text nor a heading below it, whose memory would
// have its name.
func (f *markdownFile) unused() {
	if f.bare {
		f.leave(fmt.Sprintf("%s:%d", f.name, f.first-1), f.headings[len(f.headings)-1], "the heading has no text")
	}
	f.bare = false
}

// flush takes the memory of the lines that were read.
func (f *markdownFile) flush(item bool) error {
	text := strings.TrimSpace(strings.Join(f.lines, "\n"))
	f.lines = f.lines[:0]
	if text == "" {
		return nil
	}
	f.bare = false
	if item {
		text = strings.TrimSpace(listItem.ReplaceAllString(text, ""))
	}
	rec := f.record
	rec.at, rec.text, rec.title = fmt.Sprintf("%s:%d", f.name, f.first), text, f.title
	headings := slices.DeleteFunc(slices.Clone(f.headings), func(h string) bool { return h == "" })
	if len(headings) > 0 {
		rec.title = headings[len(headings)-1]
	}
	rec.source = []jsontext.Member{member("id", f.name), member("line", f.first)}
	if len(headings) > 0 {
		rec.source = append(rec.source, member("headings", headings))
	}
	rec.key = append([]string{f.name}, headings...)
	if item && text == "" {
		f.leave(rec.at, core.Cut(text), "the list item is empty")
		return nil
	}
	return f.take(&rec)
}
