package checkseval

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/sdk"
)

// judged evaluates one output, given as JSON, by one check.
func judged(t *testing.T, check, output, state string) sdk.Verdict {
	t.Helper()
	e, err := prepare(json.RawMessage(`{"all":[` + check + `]}`))
	if err != nil {
		t.Fatalf("%s: %v", check, err)
	}
	r, err := e.Evaluate(t.Context(), &sdk.EvaluateRequest{Output: json.RawMessage(output), State: json.RawMessage(state)})
	if err != nil {
		t.Fatalf("%s of %.80s: %v", check, output, err)
	}
	if r.Verdict.Valid != (len(r.Verdict.Errors) == 0) || r.Verdict.Score < 0 || r.Verdict.Score > 1 {
		t.Errorf("%s of %.80s: %+v", check, output, r.Verdict)
	}
	return r.Verdict
}

// TestChecks_JudgeAndSayWhere has for each kind what passes, and what fails with its score, its path and the
// words of its finding.
func TestChecks_JudgeAndSayWhere(t *testing.T) {
	tests := []struct {
		check, output string
		score         float64
		path, says    string // "" passes
	}{
		{`{"max_chars": 3}`, `"abc"`, 1, "", ""},
		{`{"max_chars": 3}`, `"äöü"`, 1, "", ""},
		{`{"max_chars": 3}`, `"ab\ncdef"`, .4286, "", `has 7 characters (limit 3); what is too much begins at line 2, column 1: "cdef"`},
		{`{"max_chars": 0}`, `""`, 1, "", ""},
		{`{"max_chars": 0}`, `"a"`, 0, "", "begins at line 1, column 1"},
		{`{"max_chars": 2}`, `12345`, .4, "", `line 1, column 3: "345"`},
		{`{"max_chars": 4}`, `{"long name": ["ab", {"x": "cde"}]}`, .8, "/long name/1/x", `line 1, column 3: "e"`},
		{`{"min_chars": 4}`, `"a😀"`, .5, "", "has 2 characters (at least 4 are wanted)"},
		{`{"min_chars": 4}`, `"abcd"`, 1, "", ""},
		{`{"max_words": 2}`, `" one\ttwo  three "`, .6667, "", `line 1, column 11: "three "`},
		{`{"max_words": 3}`, `"one\u00a0two three"`, 1, "", ""},
		{`{"min_words": 2}`, `"one"`, .5, "", "has 1 words"},
		{`{"min_words": 1}`, `"   "`, 0, "", "has 0 words"},

		{`{"matches": "^a.c$"}`, `"abc"`, 1, "", ""},
		{`{"matches": "^a.c$"}`, `"xabc"`, 0, "", `nothing in it matches the pattern "^a.c$"`},
		{`{"matches": "b"}`, `["a", {"k": "b"}]`, 1, "", ""},
		{`{"matches": "^-?1$"}`, `1`, 1, "", ""},
		{`{"not_matches": "(?i)as an ai"}`, `"Dear,\n\nwell: As an AI model"`, 0, "", `at line 3, column 7: "As an AI"`},
		{`{"not_matches": "(?i)as an ai"}`, `"fine"`, 1, "", ""},
		{`{"not_matches": "(?i)as an ai"}`, `{"a/b": ["x", "\u0061s \u0061n AI"]}`, 0, "/a~1b/1", "line 1, column 1"},
		{`{"not_matches": "secret"}`, `{"secret": 1}`, 0, "/secret", "line 1, column 1"},
		{`{"not_matches": "^$"}`, `"x"`, 1, "", ""},

		{`{"contains_all": ["a", "b", "é"]}`, `"b a"`, .6667, "", `"é" is missing`},
		{`{"contains_all": ["a", "b"]}`, `["a", "b"]`, 1, "", ""},
		{`{"contains_any": ["x", "y"]}`, `"y"`, 1, "", ""},
		{`{"contains_any": ["x", "y"]}`, `"z"`, 0, "", `none of these 2 texts is in it: "x", "y"`},
		{`{"contains_none": ["x", "y"]}`, `"a\nby"`, .5, "", `"y" must not be in it, and is at line 2, column 2`},
		{`{"contains_none": ["x"]}`, `"a"`, 1, "", ""},

		{`{"equals": 1}`, `1.0`, 1, "", ""},
		{`{"equals": 100}`, `1e2`, 1, "", ""},
		{`{"equals": "1"}`, `1`, 0, "", `is 1, not the text "1"`},
		{`{"equals": 12345678901234567890}`, `12345678901234567891`, 0, "", "is 12345678901234567891, not 12345678901234567890"},
		{`{"equals": null}`, `null`, 1, "", ""},
		{`{"equals": null}`, `false`, 0, "", "is false, not null"},
		{`{"equals": {"a": [1, {"b": 2}]}}`, `{"a": [1, {"b": 3}]}`, 0, "/a/1/b", "is 3, not 2"},
		{`{"equals": {"a": 1, "b": 2}}`, `{"b": 2, "a": 1}`, 1, "", ""},
		{`{"equals": {"a": 1}}`, `{}`, 0, "", `"a" is missing`},
		{`{"equals": {}}`, `{"a": 1}`, 0, "", `"a" is not in the wanted object`},
		{`{"equals": [1, 2]}`, `[1]`, 0, "", "has 1 items, not 2"},
		{`{"equals": "one\ntwo"}`, `"one\ntwa"`, 0, "", `differs from line 2, column 3 on: it has "a", not "o"`},
		{`{"equals": "abc"}`, `"ab"`, 0, "", `ends at line 1, column 3, where "c" should follow`},
		{`{"equals": "ab"}`, `"abc"`, 0, "", `should end at line 1, column 3, where "c" follows`},
		{`{"equals": "é"}`, `"è"`, 0, "", "differs from line 1, column 1"},

		{`{"close_to": {"value": 3.14, "within": 0.01}}`, `3.15`, 1, "", ""},
		{`{"close_to": {"value": 3.14, "within": 0.01}}`, `" 3.13 "`, 1, "", ""},
		{`{"close_to": {"value": 3.14, "within": 0.01}}`, `3.16`, .5, "", "is 3.16, which is 0.02 away from 3.14 (limit 0.01)"},
		{`{"close_to": {"value": 0, "within": 0}}`, `-0.0`, 1, "", ""},
		{`{"close_to": {"value": 0, "within": 0}}`, `1e-300`, 0, "", "away from 0"},
		{`{"close_to": {"value": 1, "within": 1}}`, `"about 1"`, 0, "", `is "about 1", not a number`},
		{`{"close_to": {"value": 1, "within": 1}}`, `"NaN"`, 0, "", "not a number"},
		{`{"close_to": {"value": 1, "within": 1}}`, `"0x1"`, 0, "", "not a number"},
		{`{"close_to": {"value": 1, "within": 1}}`, `[1]`, 0, "", "is a list, not a number"},
		{`{"close_to": {"value": 1, "within": 1}, "at": "/n"}`, `{"n": 1.5}`, 1, "", ""},

		{`{"is": "json"}`, `"{\"a\": [1]}"`, 1, "", ""},
		{`{"is": "json"}`, `"{\"a\":\n [1,]}"`, 0, "", "at line 2, column 5"},
		{`{"is": "json"}`, `"[1"`, 0, "", "at line 1, column 3"},
		{`{"is": "json"}`, `"{} x"`, 0, "", "at line 1, column 4"},
		{`{"is": "json"}`, `""`, 0, "", "line 1, column 1"},
		{`{"is": "json"}`, `{"a": 1}`, 1, "", ""},
		{`{"is": "yaml"}`, `"a: [1, 2]\n---\n- b\n"`, 1, "", ""},
		{`{"is": "yaml"}`, `"Dear Ann"`, 0, "", "line 1, column 1: neither a mapping nor a list"},
		{`{"is": "yaml"}`, `"a: 1\nb: 2\na: 3\n"`, 0, "", `line 3, column 1: the key "a" is there twice`},
		{`{"is": "yaml"}`, `"a: [1\n"`, 0, "", "line 1"},
		{`{"is": "yaml"}`, `""`, 0, "", "empty"},
		{`{"is": "yaml"}`, `"a: &x [1]\nb: *x\nc: *y"`, 0, "", "unknown anchor 'y'"},
		{`{"is": "url"}`, `"https://example.org/a?b=c#d"`, 1, "", ""},
		{`{"is": "url"}`, `"http://[::1]:8080/"`, 1, "", ""},
		{`{"is": "url"}`, `"example.org"`, 0, "", "want a scheme and a host"},
		{`{"is": "url"}`, `"https://"`, 0, "", "want a scheme and a host"},
		{`{"is": "url"}`, `"mailto:ann@example.org"`, 0, "", "want a scheme and a host"},
		{`{"is": "url"}`, `"http://a.org/b c"`, 0, "", "line 1, column 15"},
		{`{"is": "url"}`, `"http://a.org:99999999/"`, 0, "", "port"},
		{`{"is": "url"}`, `"see https://a.org"`, 0, "", "line 1, column 4"},
		{`{"is": "email"}`, `"ann@example.org"`, 1, "", ""},
		{`{"is": "email"}`, `"Ann <ann@example.org>"`, 0, "", "want one address"},
		{`{"is": "email"}`, `"ann@"`, 0, "", "want one address"},
		{`{"is": "email"}`, `"ann@example.org "`, 0, "", "want one address"},
		{`{"is": "date"}`, `"2028-02-29"`, 1, "", ""},
		{`{"is": "date"}`, `"2027-02-29"`, 0, "", "want a day"},
		{`{"is": "date"}`, `"29.2.2028"`, 0, "", "want a day"},
		{`{"is": "date"}`, `20280229`, 0, "", "is a number, not a text with date"},
		{`{"is": "regex"}`, `"^[a-z]+$"`, 1, "", ""},
		{`{"is": "regex"}`, `"(a"`, 0, "", "missing closing )"},
		{`{"is": "regex"}`, `"(?=a)"`, 0, "", "invalid or unsupported Perl syntax"},
		{`{"is": "regex"}`, `"((a{100}){10}){10}"`, 0, "", "is not regex"},

		{`{"max_chars": 3, "at": "/a"}`, `{"b": "x"}`, 0, "/a", `there is nothing to check: "a" is missing`},
		{`{"max_chars": 3, "at": "/a/1"}`, `{"a": ["x"]}`, 0, "/a/1", `a list of 1 has no item "1"`},
		{`{"max_chars": 3, "at": "/a/01"}`, `{"a": ["x", "y"]}`, 0, "/a/01", `no item "01"`},
		{`{"max_chars": 3, "at": "/a"}`, `"{\"a\": 1}"`, 0, "/a", `a text has no "a"`},
		{`{"max_chars": 3, "at": "/a~1b/~0"}`, `{"a/b": {"~": "xyz"}}`, 1, "", ""},
		{`{"max_chars": 3, "at": ""}`, `"xyz"`, 1, "", ""},
	}
	for _, tt := range tests {
		v := judged(t, tt.check, tt.output, "")
		if math.Abs(v.Score-tt.score) > 1e-4 || v.Valid != (tt.says == "") {
			t.Errorf("%s of %s: valid %t, score %v, want %v; %+v", tt.check, tt.output, v.Valid, v.Score, tt.score, v.Errors)
			continue
		}
		if tt.says != "" && (!strings.Contains(v.Errors[0].Message, tt.says) || v.Errors[0].Path != tt.path) {
			t.Errorf("%s of %s: %q at %q; want %q at %q", tt.check, tt.output, v.Errors[0].Message, v.Errors[0].Path, tt.says, tt.path)
		}
	}
}

func TestExpression_IsAConditionOrAnObject(t *testing.T) {
	const state = `{"expected": {"total": 3}, "input": "x"}`
	tests := []struct {
		source, output string
		score          float64
		says           string
	}{
		{`output.total == 3`, `{"total": 3}`, 1, ""},
		{`output.total == 3.0`, `{"total": 3}`, 1, ""},
		{`output.total == expected.total`, `{"total": 3}`, 1, ""},
		{`state.input == output`, `"x"`, 1, ""},
		{`output.total > 3`, `{"total": 3}`, 0, `"output.total > 3" is false`},
		{`output.total > 3`, `{}`, 0, "no such key: total"},
		{`output > 3`, `"a"`, 0, "no such overload"},
		{`output.items.all(i, i.price > 0.5)`, `{"items": [{"price": 1}, {"price": 0.5}]}`, 0, "is false"},
		{`output.matches("^a+$") && matches(output, "a")`, `"aaa"`, 1, ""},
		{`output.lowerAscii().split(" ").size() == 2`, `"A b"`, 1, ""},
		{`{"valid": output == "x", "score": 0.25, "message": "it is not x"}`, `"y"`, .25, "it is not x"},
		{`{"valid": true, "score": 0.5}`, `"y"`, .5, ""},
		{`{"valid": false, "score": 7}`, `"y"`, .999, "is false"},
		{`{"valid": true, "score": 0.0/0.0}`, `"y"`, 0, "not a number"},
		{`{"score": 1}`, `"y"`, 0, "whose field valid is true or false"},
		{`output`, `"y"`, 0, "neither true or false, a score nor an object"},
		{`output == 18446744073709551616.0`, `18446744073709551616`, 1, ""},
		{`expected == null`, `1`, 0, "is false"},
	}
	for _, tt := range tests {
		check, _ := json.Marshal(map[string]string{"cel": tt.source})
		v := judged(t, string(check), tt.output, state)
		if v.Score != tt.score || v.Valid != (tt.says == "") || tt.says != "" && !strings.Contains(v.Errors[0].Message, tt.says) {
			t.Errorf("%s of %s: %+v, want score %v, %q", tt.source, tt.output, v, tt.score, tt.says)
		}
	}
	if v := judged(t, `{"cel": "expected == null && output == 1"}`, `1`, ``); !v.Valid {
		t.Errorf("without a state: %+v", v)
	}
}

// TestSimilarity_FollowsThePublishedDefinitions: the figures are computed by hand from the definitions;
// the values of rouge_l are also in the examples of Lin (2004), section 3.1.
func TestSimilarity_FollowsThePublishedDefinitions(t *testing.T) {
	tests := []struct {
		by, want, got string
		score         float64
	}{
		{"levenshtein", "kitten", "sitting", 1 - 3.0/7},
		{"levenshtein", "saturday", "sunday", 1 - 3.0/8},
		{"levenshtein", "", "", 1},
		{"levenshtein", "", "abc", 0},
		{"levenshtein", "äöü", "aöü", 1 - 1.0/3},
		{"levenshtein", "flaw", "lawn", 1 - 2.0/4},
		{"levenshtein", "intention", "execution", 1 - 5.0/9},
		{"rouge_l", "police killed the gunman", "police kill the gunman", .75},
		{"rouge_l", "police killed the gunman", "the gunman kill police", .5},
		{"rouge_l", "police killed the gunman", "the gunman police killed", .5},
		{"rouge_l", "Police, KILLED the-gunman!", "police killed the gunman", 1},
		{"rouge_l", "a b a c", "a b c c", .75},
		{"rouge_l", "x y z", "x", .5},
		{"rouge_l", "...", "word", 0},
		{"rouge_l", "Grüße an alle", "grüße AN alle", 1},
		{"token_f1", "The cat sat on the mat.", "a cat on mat", 2 * 3.0 / (4 + 3)},
		{"token_f1", "Barack Obama", "obama, barack", 1},
		{"token_f1", "the", "an", 1},
		{"token_f1", "x", "", 0},
		{"token_f1", "a a b b", "b b b", 2 * 2.0 / (2 + 3)},
		{"token_f1", "don't", "dont", 1},
	}
	for _, tt := range tests {
		compare := similarities()[tt.by]
		got, ok := compare(tt.want, tt.got, func(int) bool { return true })
		if !ok || math.Abs(got-tt.score) > 1e-12 {
			t.Errorf("%s of %q and %q: %v, want %v", tt.by, tt.want, tt.got, got, tt.score)
		}
	}
	v := judged(t, `{"similar": {"to": "kitten"}}`, `"sitting"`, "")
	if v.Valid || v.Score != .5714 || !strings.Contains(v.Errors[0].Message, `similar by 0.571 (levenshtein), and at least 0.8 is wanted`) ||
		!strings.Contains(v.Errors[0].Message, `differs from line 1, column 1`) {
		t.Errorf("%+v", v)
	}
	if v := judged(t, `{"similar": {"to": "kitten", "at_least": 0.5}}`, `"sitting"`, ""); !v.Valid || v.Score != .5714 {
		t.Errorf("%+v", v)
	}
	if v := judged(t, `{"similar": {"to": "kitten"}}`, `["kitten"]`, ""); v.Valid || v.Errors[0].Message != "is a list, not a text to compare" {
		t.Errorf("%+v", v)
	}
}

// TestVerdict_HasAChildForEachCheck, with findings that name it.
func TestVerdict_HasAChildForEachCheck(t *testing.T) {
	v := judged(t, `{"max_chars": 2}, {"matches": "a"}, {"max_chars": 8}, {"is": "email", "at": "/x"}`, `"abcd"`, "")
	if len(v.Children) != 4 || v.Children["max_chars"].Score != .5 || !v.Children["max_chars-2"].Valid || v.Children["is"].Valid || v.Score != .625 {
		t.Errorf("%+v", v)
	}
	first, last := v.Errors[0], v.Errors[1]
	if len(v.Errors) != 2 || first.Code != "max_chars" || first.Source != "max_chars" || first.SchemaPath != "/all/0/max_chars" ||
		last.Code != "is" || last.SchemaPath != "/all/3/is" || last.Path != "/x" {
		t.Errorf("%+v", v.Errors)
	}
}

func TestConfig_ReportsAllProblemsAtOnce(t *testing.T) {
	tests := []struct{ config, says string }{
		{``, "all is missing or empty"},
		{`{}`, "all is missing or empty"},
		{`{"all": []}`, "all is missing or empty"},
		{`{"all": {"max_chars": 1}}`, "all is an object, not a list"},
		{`{"all": [3]}`, "all[0] is a number, not an object"},
		{`{"all": [{}]}`, "all[0].max_chars or another check is missing"},
		{`{"all": [{"max_char": 3}]}`, "unknown key all[0].max_char: did you mean max_chars?"},
		{`{"all": [{"max_chars": 3, "matches": "a"}]}`, "all[0].matches and max_chars are two checks"},
		{`{"all": [{"max_chars": "3"}]}`, "all[0].max_chars is text, not a whole number"},
		{`{"all": [{"max_chars": -3}]}`, "all[0].max_chars must be a whole number from 0"},
		{`{"all": [{"matches": ""}]}`, "all[0].matches must be a regular expression"},
		{`{"all": [{"matches": "(a"}]}`, "all[0].matches: error parsing regexp: missing closing )"},
		{`{"all": [{"not_matches": "(?!a)"}]}`, "all[0].not_matches: error parsing regexp"},
		{`{"all": [{"matches": "(abcdefghij){600}"}]}`, "makes a program of"},
		{`{"all": [{"contains_all": "a"}]}`, "contains_all is text, not a list of texts"},
		{`{"all": [{"contains_any": ["a", ""]}]}`, "contains_any[1] is empty"},
		{`{"all": [{"contains_none": [1]}]}`, "contains_none is a list, not a list of texts"},
		{`{"all": [{"close_to": 3}]}`, "all[0].close_to is a number, not an object"},
		{`{"all": [{"close_to": {"value": "3", "within": -1, "of": 2}}]}`, "all[0].close_to.value is text, not a number; all[0].close_to.within is negative; unknown key all[0].close_to.of"},
		{`{"all": [{"close_to": {"value": 1e999, "within": 1}}]}`, "all[0].close_to.value has a number with an exponent beyond"},
		{`{"all": [{"similar": {"by": "cosine", "at_least": 3}}]}`, `all[0].similar.to is missing`},
		{`{"all": [{"similar": {"to": "x", "by": "levenstein"}}]}`, `did you mean "levenshtein"?`},
		{`{"all": [{"is": "xml"}]}`, `all[0].is "xml" is not one of json, yaml, url, email, date, regex`},
		{`{"all": [{"is": 3}]}`, "all[0].is is a number, not text"},
		{`{"all": [{"cel": ""}]}`, "all[0].cel: must be a CEL expression"},
		{`{"all": [{"cel": "output +"}]}`, "all[0].cel: line 1, column"},
		{`{"all": [{"cel": "outptu == 1"}]}`, "undeclared reference to 'outptu'"},
		{`{"all": [{"cel": "'x'"}]}`, "gives string, neither a condition, a score nor an object"},
		{`{"all": [{"cel": "'a'.replace('a', 'b') == 'b'"}]}`, "undeclared reference to 'replace'"},
		{`{"all": [{"at": "x", "is": "json"}]}`, `all[0].at "x" is not a JSON Pointer`},
		{`{"all": [{"max_chars": 1}], "any": []}`, "unknown key any"},
		{`{"all": [{"is": "xml"}, {"max_chars": 1}, {"max_chars": -1}, {"matches": "("}]}`, `all[0].is "xml" is not one of json, yaml, url, email, date, regex; all[2].max_chars must be a whole number from 0; all[3].matches: error parsing`},
		{`{"all": [` + strings.Repeat(`{"max_chars": 1},`, 100) + `{"max_chars": 1}]}`, "all has 101 checks (limit 100)"},
	}
	for _, tt := range tests {
		_, err := prepare(json.RawMessage(tt.config))
		if sdk.ReasonOf(err) != "config_invalid" || !strings.Contains(err.Error(), tt.says) || sdk.AsError(err).Hint == "" {
			t.Errorf("%.100s: %v, want %q", tt.config, err, tt.says)
		}
	}
}

// TestHealth_PreparesAndRuns something real, again and again.
func TestHealth_PreparesAndRuns(t *testing.T) {
	p := Plugin()
	for range 3 {
		if err := p.Health(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}
