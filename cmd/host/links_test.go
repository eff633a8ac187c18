package main

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	fenced  = regexp.MustCompile("(?s)```.*?```")
	link    = regexp.MustCompile(`\]\(([^)#\s]*)(?:#([^)\s]*))?\)`)
	inTree  = regexp.MustCompile("`((?:core|cmd|sdk|plugins|policy|examples|testdata|docs|deploy|\\.ci)/[\\w./*-]+)`")
	heading = regexp.MustCompile(`(?m)^#+ +(.*)$`)
	unslug  = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// keysLikePaths are keys of the store that look like paths of the tree.
var keysLikePaths = []string{"policy/active"}

// TestDocs_NameWhatExists follows the links between documents, to headings too, and looks for
// every file and folder that they name.
func TestDocs_NameWhatExists(t *testing.T) {
	root := filepath.Join("..", "..")
	anchors := map[string][]string{}
	for _, file := range documents(t, root) {
		anchors[file] = headings(readDocument(t, root, file))
	}
	for _, file := range documents(t, root) {
		text := readDocument(t, root, file)
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			to, at := m[1], m[2]
			if strings.Contains(to, "://") || strings.HasPrefix(to, "mailto:") {
				continue
			}
			target := file
			if to != "" {
				target = path.Join(path.Dir(file), to)
			}
			if _, err := os.Stat(filepath.Join(root, target)); err != nil {
				t.Errorf("%s: a link to %s, which isn't there", file, to)
			} else if at != "" && !slices.Contains(anchors[target], at) {
				t.Errorf("%s: %s has no heading #%s", file, target, at)
			}
		}
		for _, m := range inTree.FindAllStringSubmatch(text, -1) {
			found, err := filepath.Glob(filepath.Join(root, m[1]))
			if err == nil && found == nil && !slices.Contains(keysLikePaths, m[1]) {
				t.Errorf("%s names %s, which isn't there", file, m[1])
			}
		}
	}
}

// documents are the tree's Markdown files, relative to its root.
func documents(t *testing.T, root string) []string {
	t.Helper()
	var out []string
	for _, pattern := range []string{"*.md", "*/*.md", "cmd/host/*.md", "core/*/*.md", "plugins/*/*.md", "examples/*/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || found == nil {
			t.Fatalf("%s: %v (%v)", pattern, found, err)
		}
		for _, f := range found {
			out = append(out, filepath.ToSlash(strings.TrimPrefix(f, root+string(filepath.Separator))))
		}
	}
	return out
}

// readDocument gives a document without its blocks of code.
func readDocument(t *testing.T, root, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	return fenced.ReplaceAllString(string(text), "")
}

// headings are the anchors of a document's headings, as GitHub makes them.
func headings(text string) []string {
	var out []string
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		out = append(out, strings.ReplaceAll(unslug.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-"))
	}
	return out
}
