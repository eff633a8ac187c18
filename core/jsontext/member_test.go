package jsontext_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core/jsontext"
)

func TestMembersKeepTheirOrder(t *testing.T) {
	for object, want := range map[string][]jsontext.Member{
		`{"b":1,"a":{"c":[2]}}`: {{Key: "b", Value: []byte("1")}, {Key: "a", Value: []byte(`{"c":[2]}`)}},
		`{}`:                    nil,
		`[1]`:                   nil,
		``:                      nil,
		`{"a":1`:                nil,
		`{"a":`:                 nil,
		`{"a":1} {"b":2}`:       nil,
		`{"a":1} x`:             nil,
	} {
		got := jsontext.Members([]byte(object))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", object, diff)
		}
	}
	list := []jsontext.Member{{Key: "<b>", Value: []byte("1")}, {Key: "a"}}
	if got := string(jsontext.JoinMembers(list)); got != `{"<b>":1,"a":null}` {
		t.Errorf("joined: %s", got)
	}
}

// FuzzMembers compares the members with what encoding/json's reader finds, token by token.
func FuzzMembers(f *testing.F) {
	for _, text := range []string{
		`{"b":1,"a":{"c":[2]}}`, "{}", " \n{\t} ", `{"a":1`, `{"a":1} {}`, `[1]`, `"a"`, `{"a" : [ { } , "]}" ] , "b":-1.5e+3 }`, `{"a":tru}`,
		`{"a":"x\"}","\u00e9\\":"é","é":"\\"}`, "{\"\xff\":1,\"\\ud800\":2}", `{"a":null,"a":true,"":false}`, `{"a":1,}`, `{"a" 1}`, `{,}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		before := bytes.Clone(text)
		got := jsontext.Members(text)
		if diff := cmp.Diff(readMembers(text), got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
		for _, m := range got {
			clear(m.Value)
		}
		if !bytes.Equal(text, before) {
			t.Errorf("the members of %q aren't a copy", before)
		}
		for _, m := range got {
			if want, got := `{`+string(jsontext.MustEncode(m.Key))+`:1}`, string(jsontext.JoinMembers([]jsontext.Member{{Key: m.Key, Value: []byte("1")}})); got != want {
				t.Errorf("joined: %s, want %s", got, want)
			}
		}
	})
}

// readMembers reads the members of an object; none of any other text.
func readMembers(object []byte) (list []jsontext.Member) {
	d := json.NewDecoder(bytes.NewReader(object))
	if start, err := d.Token(); err != nil || start != json.Delim('{') {
		return nil
	}
	for d.More() {
		var m jsontext.Member
		key, err := d.Token()
		if err != nil || d.Decode(&m.Value) != nil {
			return nil
		}
		m.Key, _ = key.(string)
		list = append(list, m)
	}
	if _, err := d.Token(); err != nil {
		return nil
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil
	}
	return list
}
