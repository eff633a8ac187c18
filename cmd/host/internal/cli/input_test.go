package cli

import "testing"

func TestAValueIsJSONIfItParsesElseText(t *testing.T) {
	for given, want := range map[string]string{
		"7": "7", " {\"a\": 1}\n": `{"a": 1}`, "\"hi\"\n": `"hi"`, "hi\n": `"hi\n"`, "": `""`,
	} {
		if got := jsonOrText([]byte(given)); string(got) != want {
			t.Errorf("%q: got %s, want %s", given, got, want)
		}
	}
}
