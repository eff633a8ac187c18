package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// An operation's request becomes an HTTP request the way a server reads it: the members
// that the path names are put into the path, and the others into the query or the body.

// NewRequest is a call of an operation over HTTP. base is the server's address, such as
// "http://127.0.0.1:7842"; body is what the call sends in addition to its request.
func NewRequest(ctx context.Context, base string, o *operation.Operation, in any, body io.Reader) (*http.Request, error) {
	text, err := jsontext.Encode(in)
	if err != nil {
		return nil, cmp.Or(core.JoinErrors(notJSON(in)...), err)
	}
	path := o.Path
	var rest []jsontext.Member
	query := url.Values{}
	inQuery := o.Body || o.Method == http.MethodGet || o.Method == http.MethodDelete
	for _, m := range jsontext.Members(text) {
		place := "{" + m.Key + "}"
		switch {
		case strings.Contains(path, place):
			var value string
			if err := json.Unmarshal(m.Value, &value); err != nil {
				return nil, err
			}
			if value == "" {
				return nil, sdk.Errorf(sdk.Invalid, m.Key+"_missing", "%s is empty", m.Key).WithDetail("field", m.Key)
			}
			path = strings.Replace(path, place, url.PathEscape(value), 1)
		case inQuery:
			if err := addQuery(query, m); err != nil {
				return nil, err
			}
		default:
			rest = append(rest, m)
		}
	}
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	mediaType, brings := "", body
	switch {
	case o.Body:
		mediaType = LinesType
		if body = http.NoBody; brings != nil {
			body = struct{ io.Reader }{brings} // of unknown length: otherwise an empty file would be sent as no body
		}
	case !inQuery:
		mediaType, body = "application/json", bytes.NewReader(jsontext.JoinMembers(rest))
	default:
		body = nil
	}
	r, err := http.NewRequestWithContext(ctx, o.Method, base+path, body)
	if err != nil {
		return nil, err
	}
	if mediaType != "" {
		r.Header.Set("Content-Type", mediaType)
	}
	if o.Body && brings != nil {
		r.ContentLength = -1
	}
	return r, nil
}

// notJSON are the errors for request fields that should be JSON but aren't, in the
// operations' words. Such a request can't be sent.
func notJSON(in any) (refusals []error) {
	v := reflect.Indirect(reflect.ValueOf(in))
	if v.Kind() != reflect.Struct {
		return nil
	}
	for _, field := range reflect.VisibleFields(v.Type()) {
		if field.Type != reflect.TypeFor[json.RawMessage]() {
			continue
		}
		value, err := v.FieldByIndexErr(field.Index)
		if err != nil || value.Len() == 0 {
			continue
		}
		raw := value.Bytes()
		if _, err := jsontext.Decode(raw); err != nil {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			refusals = append(refusals, sdk.AsError(sdk.Wrap(name, err)).WithDetail("field", name))
		}
	}
	return refusals
}

// addQuery adds a member to a query: each item of a list separately, a text without its
// quotes, and anything else unchanged.
func addQuery(query url.Values, m jsontext.Member) error {
	values := []json.RawMessage{m.Value}
	if m.Value[0] == '[' {
		if err := json.Unmarshal(m.Value, &values); err != nil {
			return err
		}
	}
	for _, value := range values {
		text := string(value)
		if value[0] == '"' {
			if err := json.Unmarshal(value, &text); err != nil {
				return err
			}
		}
		query.Add(m.Key, text)
	}
	return nil
}
