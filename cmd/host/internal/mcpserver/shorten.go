package mcpserver

import (
	"encoding/json"
	"slices"

	"github.com/reflectory/reflectory/core/jsontext"
)

// A long result that can't be continued from some place is shortened everywhere: an
// object's short members stay unchanged, and its long members share the room that is left.
// So one long text doesn't displace the few words that describe it.

// leastRoom is the least number of characters for a member; members without that much room
// are left out.
const leastRoom = 24

// shorten fits a JSON value into a number of characters, and reports whether anything is
// missing. An object that lacks part of a text has content_truncated; an object that lacks
// anything else has truncated.
func shorten(value json.RawMessage, room int) (short json.RawMessage, missing bool) {
	if length(value) <= room {
		return value, false
	}
	switch value[0] {
	case '{':
		return shortenObject(jsontext.Members(value), room), true
	case '[':
		return shortenArray(value, room), true
	case '"':
		var text string
		if json.Unmarshal(value, &text) != nil {
			return json.RawMessage(`""`), true
		}
		runes := []rune(text)
		return jsontext.MustEncode(string(runes[:fitting(runes, room-2)])), true
	}
	return json.RawMessage("null"), true // a number as long as a page
}

// shortenObject shares the room among the members.
func shortenObject(members []jsontext.Member, room int) json.RawMessage {
	const marks = len(`,"content_truncated":true,"truncated":true`)
	room -= 2 + marks
	sizes := make([]int, len(members))
	for i, m := range members {
		sizes[i] = length(m.Value)
		room -= length(jsontext.MustEncode(m.Key)) + 2
	}
	texts, others := false, false
	for len(members) > 0 && room < len(members)*leastRoom { // too many, whatever they are
		last := len(members) - 1
		room += length(jsontext.MustEncode(members[last].Key)) + 2
		members, sizes, others = members[:last], sizes[:last], true
	}
	share := fairShare(sizes, room)
	for i := range members {
		isText := members[i].Value[0] == '"'
		short, missing := shorten(members[i].Value, share)
		members[i].Value = short
		texts, others = texts || missing && isText, others || missing && !isText
	}
	if texts {
		members = append(members, jsontext.Member{Key: contentTruncated, Value: json.RawMessage("true")})
	}
	if others {
		members = append(members, jsontext.Member{Key: truncated, Value: json.RawMessage("true")})
	}
	return jsontext.JoinMembers(members)
}

// shortenArray keeps the first items that fit, at least the first one, made shorter.
func shortenArray(value json.RawMessage, room int) json.RawMessage {
	var items []json.RawMessage
	if json.Unmarshal(value, &items) != nil {
		return json.RawMessage("[]")
	}
	room -= 2
	kept := 0
	for ; kept < len(items); kept++ {
		size := length(items[kept]) + 1
		if size > room {
			break
		}
		room -= size
	}
	if kept == 0 && len(items) > 0 && room > leastRoom {
		items[0], _ = shorten(items[0], room)
		kept = 1
	}
	return jsontext.MustEncode(orEmpty(items[:kept]))
}

// fairShare is the largest share with which several members together fit the room: the
// large members share what the small ones don't need.
func fairShare(sizes []int, room int) int {
	sorted := slices.Sorted(slices.Values(sizes))
	for i, size := range sorted {
		if share := room / (len(sorted) - i); size > share {
			return share
		}
		room -= size
	}
	return 1 << 60
}

// fitting is how many characters fit into a room once they are encoded as JSON.
func fitting(runes []rune, room int) int {
	for i, r := range runes {
		switch {
		case r == '"', r == '\\', r == '\n', r == '\r', r == '\t', r == '\b', r == '\f':
			room -= 2
		case r < ' ', r == '\u2028', r == '\u2029':
			room -= 6
		default:
			room--
		}
		if room < 0 {
			return i
		}
	}
	return len(runes)
}
