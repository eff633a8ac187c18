package jsontext_test

import (
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
