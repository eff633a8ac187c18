// Package jsoncheck checks the JSON that a surface receives before it is decoded.
package jsoncheck

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/codec"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// Check refuses a text that decoding would silently change or that is costly to decode. It
// must be one JSON value of UTF-8, nested at most so deep, without a name that an object has
// twice (encoding/json would use the last one), and without half of a surrogate pair (it would
// become U+FFFD). The error is [sdk.Invalid], begins with what, such as "the body", and has the
// reason json_invalid, utf8_invalid, json_too_deep or json_name_repeated. Its details are the
// byte, counted from 1, and, unless the text isn't JSON, the pointer to the value.
func Check(data []byte, what string, depth int) error {
	if codec.Plain(data, depth) { // nearly always, and many times as fast as finding out what is wrong
		return nil
	}
	if !json.Valid(data) {
		return syntaxProblem(data, what)
	}
	c := state{what: what, data: data, depth: depth, names: false}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	for {
		token, err := d.Token()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return syntaxProblem(data, what)
		}
		end := int(d.InputOffset())
		if problem := c.token(token, end); problem != nil {
			return problem
		}
		c.at = end
	}
}

// syntaxProblem is the error for a text that isn't JSON.
func syntaxProblem(data []byte, what string) error {
	at := int64(1)
	if bytes.HasPrefix(data, []byte("\ufeff")) {
		return sdk.Errorf(sdk.Invalid, "json_invalid", "%s is not JSON: it begins with a byte order mark", what).
			WithHint("send UTF-8 without a byte order mark").WithDetail("byte", at)
	}
	var wrong *json.SyntaxError
	if errors.As(json.Unmarshal(data, new(json.RawMessage)), &wrong) {
		at = wrong.Offset
	}
	return sdk.Errorf(sdk.Invalid, "json_invalid", "%s is not JSON: there is something wrong at byte %d", what, at).WithDetail("byte", at)
}

// state is the state of a check between two tokens of a text.
type state struct {
	what  string
	data  []byte
	depth int
	open  []level
	names bool // whether a name comes next
	at    int  // where the last token ended
}

// level is an object or array that is open.
type level struct {
	seen  map[string]bool // the names of an object; nil for an array
	name  string          // the latest name
	items int             // how many elements of an array have begun
}

// token checks one token, which ends before a byte.
func (c *state) token(token json.Token, end int) error {
	delim, isDelim := token.(json.Delim)
	if isDelim && (delim == '}' || delim == ']') {
		c.open = c.open[:len(c.open)-1]
		c.names = c.inObject()
		return nil
	}
	text, isText := token.(string)
	isName := isText && c.names
	var top *level
	if len(c.open) > 0 {
		top = &c.open[len(c.open)-1]
		if isName {
			top.name = text
		} else if top.seen == nil {
			top.items++
		}
	}
	if isText {
		if bad := jsontext.InvalidText(c.data[c.at:end]); bad >= 0 {
			return c.problem("utf8_invalid", c.at+bad, "has text that isn't UTF-8")
		}
	}
	if isName {
		if top.seen[text] {
			return c.problem("json_name_repeated", end-1, "has a name twice in one object")
		}
		top.seen[text], c.names = true, false
		return nil
	}
	if isDelim {
		if len(c.open) == c.depth {
			return sdk.Errorf(sdk.Invalid, "json_too_deep", "%s is nested deeper than %d levels", c.what, c.depth).
				WithDetail("byte", end).WithDetail("pointer", "")
		}
		level := level{}
		if delim == '{' {
			level.seen = map[string]bool{}
		}
		c.open = append(c.open, level)
	}
	c.names = c.inObject()
	return nil
}

func (c *state) inObject() bool { return len(c.open) > 0 && c.open[len(c.open)-1].seen != nil }

// problem is what is wrong with the text, value or name at an offset. The place is named in
// the message, except the place of the whole text.
func (c *state) problem(reason string, offset int, why string) error {
	var pointer strings.Builder
	for _, level := range c.open {
		if level.seen == nil {
			pointer.WriteString("/" + strconv.Itoa(level.items-1))
		} else {
			pointer.WriteString("/" + jsontext.EscapePointer(core.Cut(strings.ToValidUTF8(level.name, "\ufffd"))))
		}
	}
	place := core.Cut(pointer.String())
	if place != "" {
		why += ", in " + place
	}
	return sdk.Errorf(sdk.Invalid, reason, "%s %s, at byte %d", c.what, why, offset+1).
		WithDetail("byte", offset+1).WithDetail("pointer", place)
}
