package sdk_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/sdk"
)

// TestWithPrompt_IsBounded: all details of an error have 64 KiB together.
func TestWithPrompt_IsBounded(t *testing.T) {
	for name, c := range map[string]struct {
		messages []sdk.PromptMessage
		kept     int
		whole    bool
	}{
		"nothing":            {nil, 0, true},
		"a text":             {[]sdk.PromptMessage{{Role: "user", Content: "Hello"}}, 1, true},
		"24 KiB":             {[]sdk.PromptMessage{{Role: "user", Content: strings.Repeat("x", 24<<10)}}, 1, true},
		"a long text":        {[]sdk.PromptMessage{{Role: "user", Content: strings.Repeat("x", 1<<20)}}, 1, false},
		"escapes":            {[]sdk.PromptMessage{{Role: "user", Content: strings.Repeat("\x01", 1<<20)}}, 1, false},
		"quotes":             {[]sdk.PromptMessage{{Role: "user", Content: strings.Repeat(`"`, 30<<10)}}, 1, false},
		"long, then short":   {[]sdk.PromptMessage{{Content: strings.Repeat("é", 1<<20)}, {Content: "b"}}, 2, false},
		"many messages":      {make([]sdk.PromptMessage, 100_000), 64, true},
		"many long messages": {slicesOf(sdk.PromptMessage{Role: "user", Content: strings.Repeat("x", 10_000)}, 64), 64, false},
		"not UTF-8":          {[]sdk.PromptMessage{{Content: "a\xff"}}, 1, true},
	} {
		cause := sdk.Errorf(sdk.Invalid, "llm_reply_cut", "cut").WithDetail(sdk.RawDetail, "half")
		err := sdk.WithPrompt(cause, c.messages)
		text := sdk.PromptOf(err)
		var list []sdk.PromptMessage
		if json.Unmarshal([]byte(text), &list) != nil || len(list) != c.kept || len(text) > 32<<10 {
			t.Errorf("%s: %d messages in %d bytes", name, len(list), len(text))
		}
		for i, m := range list {
			if c.whole && m.Digest != "" || !c.whole && m.Digest != "" && m.Bytes != len(c.messages[i].Content) {
				t.Errorf("%s: %d bytes, digest %q", name, m.Bytes, m.Digest)
			}
		}
		if !errors.Is(err, cause) || sdk.AsError(err).Details[sdk.RawDetail] != "half" || cause.Details[sdk.PromptDetail] != nil {
			t.Errorf("%s: %v", name, sdk.AsError(err).Details)
		}
		details, _ := json.Marshal(sdk.AsError(err).Details)
		across := &sdk.Error{Code: sdk.Invalid}
		if json.Unmarshal(details, &across.Details) != nil || len(list) > 0 && sdk.PromptOf(across) == "" {
			t.Errorf("%s: across a boundary: %v", name, across.Details)
		}
	}
	if sdk.WithPrompt(nil, nil) != nil || sdk.PromptOf(nil) != "" || sdk.PromptOf(errors.New("x")) != "" {
		t.Error("no error has a prompt")
	}
}

func slicesOf(m sdk.PromptMessage, n int) []sdk.PromptMessage {
	list := make([]sdk.PromptMessage, n)
	for i := range list {
		list[i] = m
	}
	return list
}
