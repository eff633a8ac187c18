package checkseval

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/sdk/jsonconfig"
)

// Limits of a config.
const (
	maxChecks = 100
	maxTexts  = 1_000    // in one list
	maxText   = 64 << 10 // bytes of one text
)

// reader reads the value of a check's key and compiles the check. If something is wrong, it reports
// that, and what it returns isn't used.
type reader func(o *jsonconfig.Object, key string, raw json.RawMessage) judge

// readers are the checks by their keys.
func readers() map[string]reader {
	return map[string]reader{
		"max_chars":     readLength(characters, true),
		"min_chars":     readLength(characters, false),
		"max_words":     readLength(words, true),
		"min_words":     readLength(words, false),
		"matches":       readPattern(true),
		"not_matches":   readPattern(false),
		"contains_all":  readContains(containsAll),
		"contains_any":  readContains(containsAny),
		"contains_none": readContains(containsNone),
		"equals":        readEquals,
		"close_to":      readCloseTo,
		"similar":       readSimilar,
		"is":            readForm,
		"cel":           readExpression,
	}
}

// prepare reads a config and compiles its checks. All problems are reported at once.
func prepare(data json.RawMessage) (*evaluator, error) {
	e, count := &evaluator{}, map[string]int{}
	o := jsonconfig.Read(data)
	var items []map[string]json.RawMessage
	if json.Unmarshal(data, &struct{ All *[]map[string]json.RawMessage }{&items}) != nil {
		items = nil // what is wrong is reported below
	}
	if o.Has("all") && len(items) > maxChecks {
		o.Report("all has %d checks (limit %d)", len(items), maxChecks)
		items = nil
	}
	o.Each("all", func(item *jsonconfig.Object) {
		i := len(e.checks)
		e.checks = append(e.checks, check{})
		if i >= len(items) {
			return // already reported
		}
		c := &e.checks[i]
		if c.kind = readCheck(item, items[i], c); c.kind == "" {
			return
		}
		count[c.kind]++
		if c.name = c.kind; count[c.kind] > 1 {
			c.name = fmt.Sprintf("%s-%d", c.kind, count[c.kind])
		}
		c.rule = fmt.Sprintf("/all/%d/%s", i, c.kind)
	})
	if len(e.checks) == 0 && len(items) == 0 {
		o.Report("all is missing or empty: list at least one check, such as {\"max_chars\": 800}")
	}
	o.Done()
	return e, o.Err("checks-eval config", "correct the config; the README of checks-eval lists the checks")
}

// readCheck reads one item of the list, and returns its kind, or "" if it has none.
func readCheck(o *jsonconfig.Object, fields map[string]json.RawMessage, c *check) string {
	defer o.Done()
	all := readers()
	if o.Take("at", "text", &c.at) && c.at != "" && !strings.HasPrefix(c.at, "/") {
		o.Report("at %.64q is not a JSON Pointer: it begins with /, such as /items/0/name", c.at)
	}
	var there []string
	for _, key := range slices.Sorted(maps.Keys(all)) {
		o.Has(key)
		if _, ok := fields[key]; ok {
			there = append(there, key)
		}
	}
	switch {
	case len(there) == 1:
		c.judge = all[there[0]](o, there[0], fields[there[0]])
		return there[0]
	case len(there) > 1:
		o.Report("%s and %s are two checks: write each as an item of its own", there[0], there[1])
	case len(fields) == 0 || len(fields) == 1 && c.at != "":
		o.Report("max_chars or another check is missing: known are %s", strings.Join(slices.Sorted(maps.Keys(all)), ", "))
	}
	return ""
}

// configSchema is the JSON Schema of a config. It leaves the checks to prepare, which reports all that is wrong
// with them at once and what was meant; the host asks it only if the schema is met.
const configSchema = `{
  "$schema": "http://json-schema.org/draft-07/schema#",
  "type": "object",
  "required": ["all"],
  "additionalProperties": false,
  "properties": {
    "all": {"type": "array", "minItems": 1, "maxItems": 100, "description": "the checks", "items": {
      "type": "object",
      "properties": {
        "at": {"description": "the JSON Pointer to the value that is checked; the whole output by default"},
        "max_chars": {"description": "the most characters that the text may have"},
        "min_chars": {"description": "the fewest characters"},
        "max_words": {"description": "the most words"},
        "min_words": {"description": "the fewest words"},
        "matches": {"description": "a regular expression (RE2) that must match somewhere"},
        "not_matches": {"description": "a regular expression (RE2) that must match nowhere"},
        "contains_all": {"description": "a list of texts that must all be in it"},
        "contains_any": {"description": "a list of texts of which one must be in it"},
        "contains_none": {"description": "a list of texts that must not be in it"},
        "equals": {"description": "the JSON value that it must be"},
        "close_to": {"description": "a number (value), and how far from it the output may be (within)"},
        "similar": {"description": "a text (to), and how similar the output must be (by: levenshtein, rouge_l or token_f1; at_least: 0.8)"},
        "is": {"description": "the form of the text: json, yaml, url, email, date or regex"},
        "cel": {"description": "a CEL expression over output, expected and state"}
      }
    }}
  }
}`
