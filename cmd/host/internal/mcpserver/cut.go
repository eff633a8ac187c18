package mcpserver

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"slices"
	"unicode/utf8"

	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// A result goes into an agent's context, and a long one would fill it with text that may
// not be needed. So a result has a limit, and shows where it was cut and how to get the
// rest. A list is cut between items, with a token for the next page, and a text between
// characters, with the offset of the next character. A result within the limit is the
// same as the operation's, byte for byte, if nothing in it is hidden (see [visible]).

const (
	// maxResult is the largest length of a result, in characters of JSON.
	maxResult = 25_000
	// markRoom is the room for the members that mark a cut.
	markRoom = 400
)

// The members that mark a cut.
const (
	truncated        = "truncated"
	nextToken        = "next_page_token"
	contentTruncated = "content_truncated"
	nextOffset       = "next_content_offset"
)

// pageToken is where the next page of a cut list begins.
type pageToken struct {
	// From counts the items before it, and Of is a digest of the arguments.
	From int    `json:"f"`
	Of   []byte `json:"o"`
	// Set are further members for the request.
	Set json.RawMessage `json:"s,omitempty"`
}

// page reads the token of a call's page, and puts the token's members into the request.
func (t *tool) page(args *arguments) (from int, err error) {
	if args.pageToken == "" {
		return 0, nil
	}
	var token pageToken
	text, err := base64.RawURLEncoding.Strict().DecodeString(args.pageToken)
	if err != nil || json.Unmarshal(text, &token) != nil || token.From < 1 || string(token.Of) != string(digest(args.asked)) {
		return 0, sdk.Errorf(sdk.Invalid, "invalid_page_token", "the page token is not from a call with these arguments").
			WithHint("give next_page_token as it was, with the same arguments; or begin again without one").WithDetail("field", tokenArg)
	}
	for _, m := range jsontext.Members(token.Set) {
		if slices.Contains(t.row.repeats, m.Key) {
			args.request = with(args.request, m)
		}
	}
	return token.From, nil
}

func digest(data []byte) []byte { sum := sha256.Sum256(data); return sum[:12] }

// with returns an object with a member added or replaced.
func with(object json.RawMessage, m jsontext.Member) json.RawMessage {
	members := slices.DeleteFunc(jsontext.Members(object), func(o jsontext.Member) bool { return o.Key == m.Key })
	return jsontext.JoinMembers(append(members, m))
}

// length is how many characters a text has.
func length(text []byte) int { return utf8.RuneCount(text) }

// cut is the part of a result from an item or a character on, [visible] and within the limit.
func (t *tool) cut(text json.RawMessage, args arguments, from int) (json.RawMessage, error) {
	text = visible(text)
	if length(text) <= maxResult && from == 0 && args.offset == 0 {
		return text, nil
	}
	members := jsontext.Members(text)
	at := slices.IndexFunc(members, func(m jsontext.Member) bool { return m.Key == cmp.Or(t.row.list, t.row.text) })
	switch {
	case at >= 0 && t.row.list != "":
		return t.cutList(members, at, args, from)
	case at >= 0 && t.row.text != "":
		return cutText(members, at, args.offset)
	}
	whole, _ := shorten(text, maxResult)
	return whole, nil
}

// cutList keeps the items that fit, at least one.
func (t *tool) cutList(members []jsontext.Member, at int, args arguments, from int) (json.RawMessage, error) {
	var items []json.RawMessage
	if err := json.Unmarshal(members[at].Value, &items); err != nil {
		return nil, err
	}
	items = items[min(from, len(items)):]
	var set []jsontext.Member
	for _, m := range members {
		if slices.Contains(t.row.repeats, m.Key) {
			set = append(set, m)
		}
	}
	members[at].Value = json.RawMessage("[]")
	frame, _ := shorten(jsontext.JoinMembers(members), maxResult/2)
	members = jsontext.Members(frame)
	room := maxResult - length(frame) - markRoom
	kept := 0
	for ; kept < len(items); kept++ {
		if room -= length(items[kept]) + 1; room < 0 {
			break
		}
	}
	if kept == 0 && len(items) > 0 {
		items[0], _ = shorten(items[0], maxResult-length(frame)-markRoom)
		kept = 1
	}
	rest := len(items) - kept
	members[at].Value = jsontext.MustEncode(orEmpty(items[:kept]))
	if rest > 0 {
		token := pageToken{From: from + kept, Of: digest(args.asked), Set: jsontext.JoinMembers(set)}
		members = append(members, jsontext.Member{Key: truncated, Value: json.RawMessage("true")},
			jsontext.Member{Key: nextToken, Value: jsontext.MustEncode(base64.RawURLEncoding.EncodeToString(jsontext.MustEncode(token)))})
	}
	return jsontext.JoinMembers(members), nil
}

func orEmpty(items []json.RawMessage) []json.RawMessage {
	if items == nil {
		return []json.RawMessage{}
	}
	return items
}

// cutText is as much of a text, from a character on, as fits.
func cutText(members []jsontext.Member, at, offset int) (json.RawMessage, error) {
	var text string
	if err := json.Unmarshal(members[at].Value, &text); err != nil {
		return nil, err
	}
	runes := []rune(text)
	runes = runes[min(offset, len(runes)):]
	members[at].Value = json.RawMessage(`""`)
	frame, _ := shorten(jsontext.JoinMembers(members), maxResult/2)
	members = jsontext.Members(frame)
	kept := fitting(runes, maxResult-length(frame)-markRoom)
	members[at].Value = jsontext.MustEncode(string(runes[:kept]))
	if kept < len(runes) {
		members = append(members, jsontext.Member{Key: contentTruncated, Value: json.RawMessage("true")},
			jsontext.Member{Key: nextOffset, Value: jsontext.MustEncode(offset + kept)})
	}
	return jsontext.JoinMembers(members), nil
}
