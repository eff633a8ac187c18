package schema

import (
	"net/url"
	"strings"
	"unicode"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// wantedFormats say what a format asks for, with an example: the model that reads a finding
// corrects its output by it. The engine's own words speak of its code.
func wantedFormats() map[string]string {
	return map[string]string{
		"date":                  "a day of the calendar as YYYY-MM-DD, such as 2026-04-03",
		"time":                  "HH:MM:SS with Z or an offset, such as 14:30:00Z or 14:30:00+02:00",
		"date-time":             "YYYY-MM-DDTHH:MM:SS with Z or an offset, such as 2026-04-03T14:30:00Z",
		"duration":              "an ISO 8601 duration, such as P3D, PT1H30M or P2W",
		"period":                "two ISO 8601 date-times, or one and a duration, joined by /, such as 2026-04-03T14:30:00Z/PT1H",
		"email":                 "one address as name@domain, such as ann@example.org",
		"idn-email":             "one address as name@domain, such as jörg@example.org",
		"hostname":              "labels of letters, digits and inner hyphens, joined by dots, such as www.example.org",
		"idn-hostname":          "labels of letters, digits and inner hyphens, joined by dots, such as www.example.org or bücher.example.org",
		"ipv4":                  "four numbers from 0 to 255 without leading zeros, joined by dots, such as 192.0.2.1",
		"ipv6":                  "an IPv6 address without a zone, such as 2001:db8::1",
		"uri":                   "an absolute URI with its scheme, such as https://example.org/a",
		"iri":                   "an absolute IRI with its scheme, such as https://example.org/ä",
		"uri-reference":         "a URI, or a path relative to one, such as /a/b?c=d",
		"iri-reference":         "an IRI, or a path relative to one, such as /a/b?c=ä",
		"uri-template":          "a URI template with each variable in one pair of braces, such as https://example.org/{id}",
		"json-pointer":          "a JSON Pointer: each part begins with /, ~0 for ~ and ~1 for /, such as /a/0",
		"relative-json-pointer": "a number, then a JSON Pointer or #, such as 1/a or 0#",
		"uuid":                  "hexadecimal digits in groups of 8-4-4-4-12, such as f81d4fae-7dec-11d0-a765-00a0c91e6bf6",
		"regex":                 "a regular expression whose brackets, repeats and escapes are complete, such as ^[a-z]+$",
		"semver":                "MAJOR.MINOR.PATCH, such as 1.4.2",
	}
}

// formatMessage describes a text that doesn't have its format.
func formatMessage(k *kind.Format) string {
	message := Show(k.Got) + " is not a valid " + k.Want
	if wanted := wantedFormats()[k.Want]; wanted != "" {
		message += ": want " + wanted
	}
	return message
}

// registerFormats adds the formats that the engine doesn't know, and replaces those in which it
// accepts what the standards don't.
func registerFormats(c *jsonschema.Compiler) {
	for name, valid := range map[string]func(string) bool{
		"idn-email":     isEmail,
		"idn-hostname":  isHostname,
		"uri-reference": isReference,
		"iri-reference": isReference,
		"uri-template":  isTemplate,
	} {
		c.RegisterFormat(&jsonschema.Format{Name: name, Validate: func(v any) error {
			if text, ok := v.(string); ok && !valid(text) {
				return errFormat
			}
			return nil
		}})
	}
}

// errFormat is only a mark: [formatMessage] has the words.
var errFormat = jsonschema.LocalizableError("not of the format")

// isHostname allows letters of every script, and digits and inner hyphens.
func isHostname(text string) bool {
	labels := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(".。．｡", r) })
	if len(labels) == 0 || len(text) > 253 || strings.Contains(text, "..") || strings.HasPrefix(text, ".") {
		return false
	}
	for _, label := range labels {
		if len(label) > 63 || strings.HasPrefix(label, "-") || strings.HasSuffix(label, "-") {
			return false
		}
		for _, r := range label {
			if r != '-' && !unicode.In(r, unicode.L, unicode.N, unicode.M) && !strings.ContainsRune("\u00b7\u200c\u200d\u05f3\u05f4\u30fb\u0640\u30a0", r) {
				return false
			}
		}
	}
	return true
}

func isEmail(text string) bool {
	at := strings.LastIndexByte(text, '@')
	return at > 0 && at <= 64*4 && !strings.ContainsAny(text[:at], " \t\r\n,;<>()[]\\") && !strings.Contains(text[:at], "@") && isHostname(text[at+1:])
}

func isReference(text string) bool {
	_, err := url.Parse(text)
	return err == nil && !strings.ContainsAny(text, "\\ \t\r\n<>\"{}|^`")
}

// isTemplate checks the braces, and that what is between them is a name or a list of names.
func isTemplate(text string) bool {
	for {
		before, rest, open := strings.Cut(text, "{")
		if strings.Contains(before, "}") || strings.ContainsAny(before, " \t\r\n<>\"\\^`|") {
			return false
		}
		if !open {
			return true
		}
		inside, after, closed := strings.Cut(rest, "}")
		if !closed || inside == "" || strings.ContainsAny(inside, "{ ") {
			return false
		}
		text = after
	}
}
