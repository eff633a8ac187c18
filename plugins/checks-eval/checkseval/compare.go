package checkseval

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/reflectory/reflectory/plugins/internal/schema"
	"github.com/reflectory/reflectory/sdk/jsonconfig"
)

// readEquals reads the JSON value that an output must be: texts to the character, numbers by their
// value, objects without regard to the order of their members.
func readEquals(o *jsonconfig.Object, key string, raw json.RawMessage) judge {
	want, err := schema.Decode(raw, maxText)
	if err != nil {
		o.Report("%s can't be used: %v", key, err)
	}
	return func(in *input) result {
		if at, wrong := difference(want, in.value, nil); wrong != "" {
			return failAt(in.pathTo(at), 0, "%s", wrong)
		}
		return passed()
	}
}

// difference is the first difference of two values, and where it is; "" if they are equal.
func difference(want, got any, at []string) ([]string, string) {
	switch want := want.(type) {
	case map[string]any:
		members, ok := got.(map[string]any)
		if !ok {
			break
		}
		for _, name := range slices.Sorted(maps.Keys(want)) {
			member, ok := members[name]
			if !ok {
				return at, fmt.Sprintf("%s is missing", schema.Show(name))
			}
			if at, wrong := difference(want[name], member, append(at, name)); wrong != "" {
				return at, wrong
			}
		}
		for _, name := range slices.Sorted(maps.Keys(members)) {
			if _, ok := want[name]; !ok {
				return at, fmt.Sprintf("%s is not in the wanted object", schema.Show(name))
			}
		}
		return nil, ""
	case []any:
		items, ok := got.([]any)
		if !ok {
			break
		}
		for i := range min(len(want), len(items)) {
			if at, wrong := difference(want[i], items[i], append(at, strconv.Itoa(i))); wrong != "" {
				return at, wrong
			}
		}
		if len(items) != len(want) {
			return at, fmt.Sprintf("has %d items, not %d", len(items), len(want))
		}
		return nil, ""
	case string:
		if text, ok := got.(string); ok {
			return at, textDifference(want, text)
		}
	case json.Number:
		if number, ok := got.(json.Number); ok && (number == want || rational(number).Cmp(rational(want)) == 0) {
			return nil, ""
		}
	default:
		if want == got {
			return nil, ""
		}
	}
	return at, fmt.Sprintf("is %s, not %s", described(got), described(want))
}

// described shows a value with its type where that can't be seen.
func described(v any) string {
	switch v.(type) {
	case string:
		return "the text " + schema.Show(v)
	case map[string]any, []any:
		return typeName(v)
	}
	return schema.Show(v)
}

// textDifference says where two texts begin to differ; "" if they are equal.
func textDifference(want, got string) string {
	if want == got {
		return ""
	}
	i := 0
	for i < len(want) && i < len(got) && want[i] == got[i] {
		i++
	}
	for i > 0 && (i < len(want) && !utf8.RuneStart(want[i]) || i < len(got) && !utf8.RuneStart(got[i])) {
		i--
	}
	switch {
	case i == len(got):
		return fmt.Sprintf("ends at %s, where %s should follow", place(got, i), excerpt(want, i))
	case i == len(want):
		return fmt.Sprintf("should end at %s, where %s follows", place(got, i), excerpt(got, i))
	}
	return fmt.Sprintf("differs from %s on: it has %s, not %s", place(got, i), excerpt(got, i), excerpt(want, i))
}

// rational is the exact value of a number, whose digits and exponent are bounded.
func rational(n json.Number) *big.Rat {
	r, ok := new(big.Rat).SetString(n.String())
	if !ok {
		return new(big.Rat)
	}
	return r
}

// readCloseTo reads a number, and how far an output may be from it. Both are exact: 3.15 is within .01 of
// 3.14.
func readCloseTo(o *jsonconfig.Object, key string, _ json.RawMessage) judge {
	c := o.Object(key)
	value, within := readNumber(c, "value"), readNumber(c, "within")
	if within.Sign() < 0 {
		c.Report("within is negative")
	}
	c.Done()
	return func(in *input) result { return in.closeTo(value, within) }
}

func readNumber(o *jsonconfig.Object, key string) *big.Rat {
	var n json.RawMessage
	switch ok := o.Take(key, "a number", &n); {
	case !ok:
		o.Report("%s is missing: give a number", key)
	case jsonconfig.TypeName(n) != "a number":
		o.Report("%s is %s, not a number", key, jsonconfig.TypeName(n))
	case schema.CheckNumber(string(n)) != nil:
		o.Report("%s has %v", key, schema.CheckNumber(string(n)))
	default:
		return rational(json.Number(n))
	}
	return new(big.Rat)
}

// isNumber reports whether a text is a number as JSON writes it, within bounds.
func isNumber(text string) bool {
	return text != "" && (text[0] == '-' || text[0] >= '0' && text[0] <= '9') && schema.CheckNumber(text) == nil && json.Valid([]byte(text))
}

func (in *input) closeTo(value, within *big.Rat) result {
	text, _ := scalarText(in.value)
	text = strings.TrimSpace(text)
	if !isNumber(text) {
		shown := typeName(in.value)
		if text != "" {
			shown = schema.Show(text)
		}
		return in.fail(0, "is %s, not a number", shown)
	}
	distance := new(big.Rat).Sub(rational(json.Number(text)), value)
	if distance.Abs(distance).Cmp(within) <= 0 {
		return passed()
	}
	score, _ := new(big.Rat).Quo(within, distance).Float64()
	return in.fail(score, "is %s, which is %s away from %s (limit %s)", decimal(rational(json.Number(text))), decimal(distance), decimal(value), decimal(within))
}

// decimal writes a number for a message.
func decimal(r *big.Rat) string {
	f, _ := r.Float64()
	return strconv.FormatFloat(f, 'g', 10, 64)
}
