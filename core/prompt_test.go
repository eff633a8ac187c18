package core_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// TestReadPrompt_IsBoundedWhateverAPluginReports.
func TestReadPrompt_IsBoundedWhateverAPluginReports(t *testing.T) {
	claim := "sha256:" + strings.Repeat("a", 64)
	for name, c := range map[string]struct {
		reported string
		messages int
	}{
		"nothing":               {"", 0},
		"no JSON":               {"x", 0},
		"an object":             {`{"role": "user"}`, 0},
		"a number in it":        {`[1]`, 0},
		"cut off":               {`[{"role": "user", "content": "a"`, 0},
		"null":                  {`null`, 0},
		"an empty list":         {`[]`, 0},
		"one":                   {sdk.EncodePrompt([]sdk.PromptMessage{{Role: "user", Content: "a"}}), 1},
		"more than fits":        {`[{"content": "` + strings.Repeat("x", 9*sdk.MaxPromptBytes) + `"}]`, 0},
		"long":                  {`[{"content": "` + strings.Repeat("x", 200_000) + `"}, {"content": "more"}]`, 2},
		"long and multi-byte":   {`[{"content": "x` + strings.Repeat("ü", 100_000) + `"}]`, 1},
		"many":                  {"[" + strings.Repeat(`{"role": "user"},`, 100_000) + "{}]", 64},
		"not UTF-8":             {"[{\"role\": \"us\xff\", \"content\": \"a\xff\xfe\"}]", 1},
		"half a surrogate":      {`[{"content": "\ud800"}]`, 1},
		"escape codes and HTML": {`[{"role": "<script>", "content": "\u001b[31m<script>alert(1)</script>\u0000"}]`, 1},
		"a long role":           {`[{"role": "` + strings.Repeat("ü", 10_000) + `"}]`, 1},
		"fewer bytes than text": {`[{"content": "abc", "bytes": 1, "digest": "` + claim + `"}]`, 1},
		"negative bytes":        {`[{"content": "abc", "bytes": -5, "digest": "` + claim + `"}]`, 1},
		"a digest that is none": {`[{"content": "abc", "bytes": 50, "digest": "<b>"}]`, 1},
	} {
		t.Run(name, func(t *testing.T) {
			got := core.ReadPrompt(map[string]string{sdk.MetadataPrompt: c.reported})
			if len(got) != c.messages {
				t.Fatalf("%d messages, not %d", len(got), c.messages)
			}
			total := 0
			for _, m := range got {
				total += len(m.Text)
				if !utf8.ValidString(m.Text+m.Role) || len(m.Role) > 64 || m.Bytes < len(m.Text) || !strings.HasPrefix(m.Digest, "sha256:") || len(m.Digest) != 71 {
					t.Errorf("a message with %d bytes of %d, role %q, digest %q", len(m.Text), m.Bytes, m.Role, m.Digest)
				}
				if m.Bytes == len(m.Text) && m.Digest != core.Digest([]byte(m.Text)) {
					t.Errorf("the digest of %.80q is %s", m.Text, m.Digest)
				}
			}
			if total > 65_536 {
				t.Errorf("%d bytes are kept", total)
			}
		})
	}
}

// TestEncodePrompt_KeepsTheWholeSizeAndDigest of what is cut, twice over.
func TestEncodePrompt_KeepsTheWholeSizeAndDigest(t *testing.T) {
	long := strings.Repeat("ü", sdk.MaxPromptBytes)
	for i, content := range []string{"short", long, "x" + long} {
		text := sdk.EncodePrompt([]sdk.PromptMessage{{Role: "system", Content: content}, {Role: "user", Content: "and this"}})
		got := core.ReadPrompt(map[string]string{sdk.MetadataPrompt: text})
		if len(got) != 2 || got[0].Bytes != len(content) || got[0].Digest != core.Digest([]byte(content)) || !strings.HasPrefix(content, got[0].Text) {
			t.Errorf("%d: %s", i, fmt.Sprint(got)[:100])
		}
		if got[1].Bytes != 8 || got[1].Digest != core.Digest([]byte("and this")) {
			t.Errorf("%d: the second is %+v", i, got[1])
		}
	}
}
