package store

import (
	"reflect"
	"testing"

	"github.com/reflectory/reflectory/core/codec"
	"github.com/reflectory/reflectory/core/jsontext"
)

func TestExportLine_IsReadAlikeEitherWay(t *testing.T) {
	for _, text := range []string{
		`{"key":"a","value":null}`, `{"key":"a","value": {"b" : [1.50, "\u0041é", 1e3] } }`, `{"key_base64":"AAE=","base64":"/w=="}`,
		`{"key":"a","text":""}`, `{"key":null,"base64":null}`, `{"key":"a","base64":""}`,
	} {
		var fast, slow exportLine
		if err := codec.DecodeExact([]byte(text), &fast); err != nil {
			t.Fatal(text, err)
		}
		if err := jsontext.DecodeStrict([]byte(text), &slow); err != nil || !reflect.DeepEqual(fast, slow) {
			t.Errorf("%s: %+v and %+v, %v", text, fast, slow, err)
		}
	}
}
