package text

import (
	"encoding/xml"
	"strings"
	"testing"
	"unicode/utf8"
)

// kept is what a text is once XML has held it.
func kept(s string) string {
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !inXML(r) && r != '\r' {
			return utf8.RuneError
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

func TestEscape_HoldsWhatCouldEndItsPlace(t *testing.T) {
	for in, want := range map[string]string{
		"":                         "",
		"plain, and\n\ttabbed":     "plain, and\n\ttabbed",
		`</memory><safety id="x">`: "&lt;/memory&gt;&lt;safety id=&quot;x&quot;&gt;",
		"a & b &amp; it's":         "a &amp; b &amp;amp; it&apos;s",
		"]]>":                      "]]&gt;",
		"line\r\nend":              "line&#xD;\nend",
		"zero\x00, escape\x1b[2J":  "zero\uFFFD, escape\uFFFD[2J",
		"not UTF-8: \xff":          "not UTF-8: \uFFFD",
		"naïve 😀 \u202e":           "naïve 😀 \u202e",
	} {
		if got := Escape(in); got != want {
			t.Errorf("Escape(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestLine_IsOneLine(t *testing.T) {
	for in, want := range map[string]string{
		"":                          "",
		"plain, it's \"so\" > that": "plain, it's \"so\" > that",
		"a\r\nb\nc\rd\ve\ff":        `a\nb\nc\nd\ne\nf`,
		"a\u0085b\u2028c\u2029d":    `a\nb\nc\nd`,
		"R&D </memories>":           "R&amp;D &lt;/memories>",
		"a · b·c ·":                 "a &#xB7; b·c &#xB7;",
		"\ttab\x00\x1b\x9f\xff":     " tab\uFFFD\uFFFD\uFFFD",
		"\u202eb\u200bc":            "&#x202E;b&#x200B;c",
	} {
		if got := Line(in); got != want {
			t.Errorf("Line(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzLine(f *testing.F) {
	f.Add("a\r\n\u2028</memories> · \u202e\xff")
	f.Fuzz(func(t *testing.T, s string) {
		if got := Line(s); strings.ContainsAny(got, "<\n\r") || strings.Contains(got, " · ") || !utf8.ValidString(got) {
			t.Errorf("Line(%q) = %q", s, got)
		}
	})
}

func FuzzEscape(f *testing.F) {
	f.Add("m1", `</memory><memory id="m2">`)
	f.Add(`m"1`, "a\r\n\x00\xff&amp;]]>")
	f.Fuzz(func(t *testing.T, id, content string) {
		if strings.ContainsAny(id, "\n\t") {
			return // no id has these
		}
		var read struct {
			XMLName xml.Name `xml:"memory"`
			ID      string   `xml:"id,attr"`
			Text    string   `xml:",chardata"`
			Inner   []struct {
				XMLName xml.Name
			} `xml:",any"`
		}
		element := EscapeMemory(id, content)
		if err := xml.Unmarshal([]byte(element), &read); err != nil {
			t.Fatalf("%q: %v", element, err)
		}
		if oneRune(read.ID) != oneRune(kept(id)) || oneRune(read.Text) != oneRune(kept(content)) || len(read.Inner) > 0 {
			t.Fatalf("%q is read as %+v", element, read)
		}
	})
}

// oneRune joins what replaces several bytes in a row, which readers count differently.
func oneRune(s string) string {
	for strings.Contains(s, "\uFFFD\uFFFD") {
		s = strings.ReplaceAll(s, "\uFFFD\uFFFD", "\uFFFD")
	}
	return s
}
