package mcpserver

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core/jsontext"
)

// A result goes into an agent's context, where most members of a memory or a turn cost more than
// their content. So a result has what a model needs to go on, unless a call asks for full detail.

// The details of a result.
const (
	briefDetail = "brief"
	fullDetail  = "full"
)

// brief keeps the members of a result that a list names, in their order; a dot leads into an object, or
// into each object of a list, and [last] means the last one of a list. Members that are false, null or empty are left out. A name with "=true" is
// a member that is added. None keeps all.
func brief(value json.RawMessage, keep []string) json.RawMessage {
	if len(keep) == 0 {
		return value
	}
	switch jsontext.Kind(value) {
	case "a list":
		var items []json.RawMessage
		if json.Unmarshal(value, &items) != nil {
			return value
		}
		for i := range items {
			items[i] = brief(items[i], keep)
		}
		return jsontext.MustEncode(orEmpty(items))
	case "an object":
	default:
		return value
	}
	var kept []jsontext.Member
	for _, name := range keep {
		if added, is := strings.CutSuffix(name, "=true"); is {
			kept = append(kept, jsontext.Member{Key: added, Value: json.RawMessage("true")})
		}
	}
	for _, m := range jsontext.Members(value) {
		var inside []string
		for _, name := range keep {
			if deeper, is := strings.CutPrefix(name, m.Key+"."); is {
				inside = append(inside, deeper)
			} else if deeper, is := strings.CutPrefix(name, m.Key+"[last]."); is {
				inside, m.Value = append(inside, deeper), lastOnly(m.Value)
			}
		}
		switch {
		case len(inside) > 0:
			m.Value = brief(m.Value, inside)
		case !slices.Contains(keep, m.Key) || slices.Contains([]string{"false", "null", `""`, "[]", "{}"}, string(m.Value)):
			continue
		}
		kept = append(kept, m)
	}
	return jsontext.JoinMembers(kept)
}

// lastOnly is a list of the last item of a list.
func lastOnly(value json.RawMessage) json.RawMessage {
	var items []json.RawMessage
	if json.Unmarshal(value, &items) != nil || len(items) == 0 {
		return value
	}
	return jsontext.MustEncode(items[len(items)-1:])
}
