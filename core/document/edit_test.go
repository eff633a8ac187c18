package document_test

import (
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/document"
	"github.com/reflectory/reflectory/sdk"
)

func TestSet_KeepsAllElse(t *testing.T) {
	path := []string{"settings", "llm", "dialect"}
	const value = "{refuses: [seed]}"
	for name, test := range map[string]struct{ text, want string }{
		"an empty file":    {"", "settings: {llm: {dialect: V}}\n"},
		"comments alone":   {"# mine\n", "# mine\nsettings: {llm: {dialect: V}}\n"},
		"no newline":       {"name: a", "name: a\nsettings: {llm: {dialect: V}}"},
		"other keys":       {"name: a # x\n\n# the end\n", "name: a # x\nsettings: {llm: {dialect: V}}\n\n# the end\n"},
		"settings":         {"settings:\n  # ours\n  embeddings: {dims: 5}\n\nname: a\n", "settings:\n  # ours\n  embeddings: {dims: 5}\n  llm: {dialect: V}\n\nname: a\n"},
		"a block":          {"settings:\n  llm:\n    # the gateway\n    model: m   # fast\n    stop:\n    - a\n    # more\nname: a\n", "settings:\n  llm:\n    # the gateway\n    model: m   # fast\n    stop:\n    - a\n    dialect: V\n    # more\nname: a\n"},
		"a block text":     {"settings:\n  llm:\n    model: |\n      a\n\n      b\nname: a\n", "settings:\n  llm:\n    model: |\n      a\n\n      b\n    dialect: V\nname: a\n"},
		"braces":           {"settings: {llm: {model: m}} # é\n", "settings: {llm: {dialect: V, model: m}} # é\n"},
		"empty braces":     {"settings: {llm: {}}\n", "settings: {llm: {dialect: V}}\n"},
		"long braces":      {"settings:\n  llm: {model: m,\n    base_url: h} # x\n", "settings:\n  llm: {dialect: V, model: m,\n    base_url: h} # x\n"},
		"nothing":          {"settings:\nname: a\n", "settings: {llm: {dialect: V}}\nname: a\n"},
		"null":             {"settings: null # x\n", "settings: {llm: {dialect: V}} # x\n"},
		"a value":          {"settings:\n  llm:\n    dialect: {refuses: [stop, '}']} # learned\n    model: m\n", "settings:\n  llm:\n    dialect: V # learned\n    model: m\n"},
		"a value below":    {"settings:\n  llm:\n    dialect:\n      refuses:\n        - stop # s\n        - seed\n    model: m # y\n", "settings:\n  llm:\n    dialect: V\n    model: m # y\n"},
		"a plain value":    {"settings: {llm: {dialect: 5, model: m}}", "settings: {llm: {dialect: V, model: m}}"},
		"a quoted key":     {"settings:\n  \"llm\" :\n    'dialect' : 1.50\n", "settings:\n  \"llm\" :\n    'dialect' : V\n"},
		"other letters":    {"name: ünïcödé\nsettings: {name: 日本, llm: {model: é, dialect: {a: \"}\\\"}\"}, b: c}}\n", "name: ünïcödé\nsettings: {name: 日本, llm: {model: é, dialect: V, b: c}}\n"},
		"a mark":           {"\ufeffsettings: {llm: {model: m}}\n", "\ufeffsettings: {llm: {dialect: V, model: m}}\n"},
		"carriage return":  {"settings:\r\n  llm:\r\n    model: m\r\n", "settings:\r\n  llm:\r\n    model: m\n    dialect: V\r\n"},
		"JSON":             {"{\"settings\": {\"llm\": {\"model\": \"m\"}}}\n", "{\"settings\": {\"llm\": {dialect: V, \"model\": \"m\"}}}\n"},
		"a comment within": {"settings:\n  llm:\n    dialect: # old\n      {refuses: [ # }\n        stop]}\n", "settings:\n  llm:\n    dialect: # old\n      V\n"},
		"less indented":    {"settings: {llm: {a: [\n1\n]}}\nname: [\n1]\n", "settings: {llm: {dialect: V, a: [\n1\n]}}\nname: [\n1]\n"},
		"the end marked":   {"settings:\n  llm:\n    model: m\n...\n", "settings:\n  llm:\n    model: m\n    dialect: V\n...\n"},
		"the root marked":  {"---\nname: a\n...\n", "---\nname: a\nsettings: {llm: {dialect: V}}\n...\n"},
	} {
		limits := document.Limits{Bytes: 1 << 16, Depth: 20, MayBeEmpty: true}
		got, err := document.Set(test.text, limits, path, value)
		if want := strings.ReplaceAll(test.want, "V", value); err != nil || got != want {
			t.Errorf("%s: %v\n%s\nwant\n%s", name, err, got, want)
			continue
		}
		if again, err := document.Set(got, limits, path, value); err != nil || again != got {
			t.Errorf("%s: the second time %v\n%s", name, err, again)
		}
	}
}

func TestSet_RefusesWhatItCannotKeep(t *testing.T) {
	for name, text := range map[string]string{
		"a text":        "settings: {llm: \"none\"}\n",
		"a list":        "settings: [llm]\n",
		"a block text":  "settings:\n  llm:\n    dialect: |\n      a\n",
		"a list's item": "- settings: {}\n",
		"a wrong file":  "settings: {llm\n",
		"an anchor":     "settings: &a {llm: {}}\n",
		"two of them":   "settings: {}\nsettings: {}\n",
		"two documents": "settings: {}\n---\nsettings: {}\n",
		"a number":      "5\n",
	} {
		got, err := document.Set(text, document.Limits{Bytes: 1 << 16, Depth: 20}, []string{"settings", "llm", "dialect"}, "{}")
		if err == nil || got != "" || sdk.AsError(err).Hint == "" && !strings.HasPrefix(sdk.ReasonOf(err), "yaml_") {
			t.Errorf("%s: %v, %q", name, err, got)
		}
	}
}
