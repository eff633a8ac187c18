package plugin_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/sdk/apikey"
)

func TestSecretsAreCutOut(t *testing.T) {
	r := plugin.NewRedactor([]string{"KEY=sk-a<b>\"c\\d", "LONG=sk-a<b>\"c\\d-and-more", "PIN=12345678", "SHORT=on", "EMPTY=", "PEM=first line\nsecond line"})
	escaped, err := json.Marshal(`sk-a<b>"c\d`)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		`key sk-a<b>"c\d.`:                "key ***.",
		`twice sk-a<b>"c\dsk-a<b>"c\d`:    "twice ******",
		`the longer sk-a<b>"c\d-and-more`: "the longer ***",
		"in JSON " + string(escaped):      `in JSON "***"`,
		`in JSON "sk-a<b>\"c\\d"`:         `in JSON "***"`,
		"the second line of it":           "the *** of it",
		"on and off":                      "on and off",
		`cut within sk-a<b…`:              "cut within ***…",
		`not cut sk-a<b`:                  "not cut sk-a<b",
		"":                                "",
	} {
		if got := r.Text(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

// Values that are words of everyday lines stay, such as those that stand where a key would be.
func TestRedactor_KeepsWhatIsNoSecret(t *testing.T) {
	for _, value := range []string{"EMPTY", "none", "ollama", "test", "dummy", "sk-no-key-required", "your-api-key-here", "prod", "staging", "true", "8080", "xxxxxxxxxxxxxxxx"} {
		line := "stage " + value + " is reached"
		if got := plugin.NewRedactor([]string{"K=" + value}).Text(line); got != line {
			t.Errorf("%q became %q", line, got)
		}
	}
}

func TestSecretsAreCutOutOfFields(t *testing.T) {
	r := plugin.NewRedactor([]string{"PIN=12345678"})
	line := plugin.LogLine{Message: "pin 12345678", Fields: map[string]any{
		"12345678": nil, "n": 12345678.0, "m": 12.0, "ok": true, "list": []any{"12345678", map[string]any{"deep": "x12345678y"}},
	}}
	r.Line(&line)
	want := plugin.LogLine{Message: "pin ***", Fields: map[string]any{
		"***": nil, "n": "***", "m": 12.0, "ok": true, "list": []any{"***", map[string]any{"deep": "x***y"}},
	}}
	if diff := cmp.Diff(want, line); diff != "" {
		t.Error(diff)
	}
}

func TestARedactorOfNothingChangesNothing(t *testing.T) {
	r := plugin.NewRedactor([]string{"A=", "B=on"})
	line := plugin.LogLine{Message: "on", Fields: map[string]any{"a": 1}}
	if r.Line(&line); r != nil || r.Text("on…") != "on…" || line.Message != "on" {
		t.Errorf("%v, %+v", r, line)
	}
}

func FuzzRedactorHidesTheSecret(f *testing.F) {
	f.Add("a secret", "a ", " b")
	f.Add("\"\\\n789abc", "", "…")
	f.Fuzz(func(t *testing.T, secret, before, after string) {
		if len(secret) < 8 || apikey.Placeholder(secret) || strings.ContainsAny(secret, "*\n") || strings.Contains(before+"***"+after, secret) {
			return // it would be there without the plugin's doing
		}
		got := plugin.NewRedactor([]string{"KEY=" + secret}).Text(before + secret + after)
		if strings.Contains(got, secret) && !strings.Contains("***"+after, secret) && !strings.Contains(before+"***", secret) {
			t.Errorf("%q still holds %q", got, secret)
		}
	})
}
