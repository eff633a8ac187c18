package luaeval

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/reflectory/reflectory/sdk"
)

// findings decodes a verdict's errors: a list of strings and of tables with
// the keys of [sdk.Finding].
type findings []sdk.Finding

// UnmarshalJSON reads the list. Lua's {} looks like an empty object and is read as an
// empty list.
func (f *findings) UnmarshalJSON(data []byte) error {
	if string(data) == "{}" || string(data) == "null" {
		return nil
	}
	var items []json.RawMessage
	if data[0] != '[' || json.Unmarshal(data, &items) != nil {
		return errors.New("errors is not a list")
	}
	for i, item := range items {
		one, err := finding(item)
		if err != nil {
			return fmt.Errorf("errors[%d] %w", i+1, err)
		}
		*f = append(*f, one)
	}
	return nil
}

func finding(item json.RawMessage) (one sdk.Finding, err error) {
	switch item[0] {
	case '"':
		if err = json.Unmarshal(item, &one.Message); err == nil && one.Message == "" {
			err = errors.New("is an empty text")
		}
	case '{':
		if err = json.Unmarshal(item, &one); err != nil {
			err = errors.New(shapeError(err))
		} else if one.Message == "" {
			err = errors.New("has no message")
		}
	default:
		err = fmt.Errorf("is %s, not a string or a table with a message", bytes.TrimSpace(clip(item)))
	}
	return one, err
}

// clip limits how much a message quotes.
func clip(text []byte) []byte { return text[:min(len(text), 40)] }

// shapeError names the key that has the wrong type, in terms of the script.
func shapeError(err error) string {
	var te *json.UnmarshalTypeError
	if errors.As(err, &te) && te.Field != "" {
		article := "a"
		if te.Value == "object" || te.Value == "array" {
			article = "an"
		}
		return fmt.Sprintf("%s is %s %s", te.Field, article, te.Value)
	}
	return err.Error()
}
