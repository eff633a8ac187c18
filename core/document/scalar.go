package document

import (
	"math"
	"strconv"
	"strings"

	"github.com/reflectory/reflectory/core"
)

// Texts without quotes are resolved by the core schema of YAML 1.2, instead of the
// library's types: those are from YAML 1.1, where yes is a boolean, 01234 is octal and
// 1:30 is 90.
//
//	null     null Null NULL ~ and nothing
//	boolean  true True TRUE false False FALSE
//	integer  12 +12 -12 0o17 0x1F
//	number   1.5 .5 5. 1e3 1E-8
//
// A text that other YAML readers would read as another value is refused, and so is a
// number that JSON doesn't have. Everything else is text: yes, 1_000, 0b11, 2001-01-01.
var (
	decimal = core.Pattern(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`)
	based   = core.Pattern(`^0(o[0-7]+|x[0-9a-fA-F]+)$`)
	special = core.Pattern(`^([-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$`)
	zeros   = core.Pattern(`^[-+]?0[0-9]+$`)
)

// resolve returns the kind of a text without quotes, and its JSON if it is a boolean or
// number; refused says why it can't be used, not even as text.
func resolve(text string) (kind Kind, json, refused string) {
	switch text {
	case "", "~", "null", "Null", "NULL":
		return Null, "null", ""
	case "true", "True", "TRUE", "false", "False", "FALSE":
		return Bool, strings.ToLower(text), ""
	}
	if strings.IndexByte("+-.0123456789", text[0]) < 0 {
		return Text, "", "" // most texts: no pattern needs to look at them
	}
	switch {
	case special().MatchString(text):
		return "", "", "JSON has no such number"
	case zeros().MatchString(text):
		return "", "", "a number that begins with 0 is ambiguous, octal for some readers and decimal for others"
	case based().MatchString(text):
		return integer(text)
	case decimal().MatchString(text):
		if f, _ := strconv.ParseFloat(text, 64); math.IsInf(f, 0) {
			return "", "", "the number is out of range"
		}
		return Number, digits(text), ""
	}
	return Text, "", ""
}

// integer reads an octal or hexadecimal number.
func integer(text string) (Kind, string, string) {
	n, err := strconv.ParseUint(text, 0, 64)
	if err != nil {
		return "", "", "the number is out of range"
	}
	return Number, strconv.FormatUint(n, 10), ""
}

// digits writes a decimal number in JSON, with the same digits.
func digits(text string) string {
	text = strings.TrimPrefix(text, "+")
	sign := ""
	if text[0] == '-' {
		sign, text = "-", text[1:]
	}
	whole, rest := text, ""
	if i := strings.IndexAny(text, ".eE"); i >= 0 {
		whole, rest = text[:i], text[i:]
	}
	if whole = strings.TrimLeft(whole, "0"); whole == "" {
		whole = "0"
	}
	if strings.HasPrefix(rest, ".") && (len(rest) == 1 || rest[1] == 'e' || rest[1] == 'E') {
		rest = ".0" + rest[1:]
	}
	return sign + whole + rest
}
