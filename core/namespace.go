package core

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/reflectory/reflectory/sdk"
)

// The limits of a namespace's name.
const (
	MaxNamespaceRunes    = 512
	maxNamespaceSegments = 8
)

// EveryNamespace is the level above all namespaces. It isn't a namespace itself.
const EveryNamespace = "*"

// CheckNamespace reports everything that is wrong with a namespace's name, in one error:
// sdk.Invalid, reason "namespace_invalid". Settings belong to the exact bytes of a name,
// so two names that look the same must be the same. Therefore a name is in Unicode's
// form NFC, and has no invisible characters.
func CheckNamespace(namespace string) error {
	if isPlainNamespace(namespace) {
		return nil
	}
	problems := namespaceProblems(namespace)
	if len(problems) == 0 {
		return nil
	}
	return sdk.Errorf(sdk.Invalid, "namespace_invalid", "namespace %s: %s", shown(namespace), strings.Join(problems, "; ")).
		WithHint("a namespace is 1 to %d names separated by /, such as team/project", maxNamespaceSegments).
		WithDetail("field", "namespace")
}

// isPlainNamespace reports whether a name has only letters and digits of ASCII, dashes, underscores and single
// slashes between them, within the limits. Nearly all have, and each request checks some: such a name has no
// problem, which is found out in one pass.
func isPlainNamespace(namespace string) bool {
	segments, last := 1, byte('/')
	for i := range len(namespace) {
		c := namespace[i]
		switch {
		case c == '/' && last != '/':
			segments++
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_':
		default:
			return false
		}
		last = c
	}
	return last != '/' && segments <= maxNamespaceSegments && len(namespace) <= MaxNamespaceRunes
}

func namespaceProblems(namespace string) []string {
	if namespace == "" {
		return []string{"it is empty"}
	}
	var problems []string
	if !utf8.ValidString(namespace) {
		problems = append(problems, "it isn't UTF-8")
	}
	if n := utf8.RuneCountInString(namespace); n > MaxNamespaceRunes {
		problems = append(problems, fmt.Sprintf("it has %d characters (limit %d)", n, MaxNamespaceRunes))
	}
	if n := strings.Count(namespace, "/") + 1; n > maxNamespaceSegments {
		problems = append(problems, fmt.Sprintf("it has %d segments (limit %d)", n, maxNamespaceSegments))
	}
	if strings.ContainsFunc(namespace, func(r rune) bool { return r == '\\' || unicode.IsSpace(r) || unicode.IsControl(r) }) {
		problems = append(problems, "white space, backslashes and control characters aren't allowed")
	}
	if i := strings.IndexFunc(namespace, Invisible); i >= 0 {
		r, _ := utf8.DecodeRuneInString(namespace[i:])
		problems = append(problems, fmt.Sprintf("it has an invisible character, %U", r))
	}
	if !norm.NFC.IsNormalString(namespace) {
		problems = append(problems, "it isn't in the Unicode form NFC")
	}
	return append(problems, segmentProblems(namespace)...)
}

// Invisible reports whether a character is invisible but isn't a space: characters of
// Unicode category Cf, such as zero-width and bidirectional ones, and the fillers and
// selectors that Unicode allows a program to ignore.
func Invisible(r rune) bool {
	return unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// segmentProblems lists what is wrong with the segments, each problem once.
func segmentProblems(namespace string) []string {
	var problems []string
	if strings.HasPrefix(namespace, "/") || strings.HasSuffix(namespace, "/") {
		problems = append(problems, "it begins or ends with /")
	}
	inner := strings.Trim(namespace, "/")
	if inner == "" || strings.Contains(inner, "//") {
		problems = append(problems, "a segment is empty")
	}
	for _, reserved := range []string{".", "..", EveryNamespace, "**"} {
		if strings.Contains("/"+namespace+"/", "/"+reserved+"/") {
			problems = append(problems, "no segment may be "+reserved)
		}
	}
	return problems
}

// shown is an untrusted name for messages: quoted, and shortened.
func shown(name string) string {
	const most = 80
	runes := []rune(name[:min(len(name), 4*most)])
	if len(runes) <= most && len(name) <= 4*most {
		return strconv.Quote(name)
	}
	return strconv.Quote(string(runes[:min(len(runes), most)])) + "…"
}

// NamespaceChain lists the levels that a namespace's settings may come from, the
// most general first: "*", "a", "a/b" and "a/b/c" for "a/b/c".
func NamespaceChain(namespace string) []string {
	levels := []string{EveryNamespace}
	if namespace == EveryNamespace {
		return levels
	}
	for i := range len(namespace) {
		if namespace[i] == '/' {
			levels = append(levels, namespace[:i])
		}
	}
	return append(levels, namespace)
}

// CheckNamespacePattern reports what is wrong with a pattern of namespaces: a/b, a/** or
// **. Its errors are [CheckNamespace]'s.
func CheckNamespacePattern(pattern string) error {
	if pattern == "**" {
		return nil
	}
	return CheckNamespace(strings.TrimSuffix(pattern, "/**"))
}

// PatternRoot is the highest namespace that a pattern matches; "" for **.
func PatternRoot(pattern string) string {
	return strings.TrimSuffix(strings.TrimSuffix(pattern, "**"), "/")
}

// NamespaceMatches reports whether a pattern matches a namespace: a/b matches only
// itself, a/** matches a and everything below it, ** matches everything.
func NamespaceMatches(namespace, pattern string) bool {
	if pattern == "**" {
		return true
	}
	if top, tree := strings.CutSuffix(pattern, "/**"); tree {
		return namespace == top || strings.HasPrefix(namespace, top+"/")
	}
	return namespace == pattern
}

// NormalTags returns tags in the Unicode form NFC, in which they are stored and looked for: a tag
// is found whichever way its letters were typed.
func NormalTags(tags []string) []string {
	if !slices.ContainsFunc(tags, func(tag string) bool { return !norm.NFC.IsNormalString(tag) }) {
		return tags
	}
	normal := make([]string, len(tags))
	for i, tag := range tags {
		normal[i] = norm.NFC.String(tag)
	}
	return normal
}
