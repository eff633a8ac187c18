package sdk_test

import (
	"testing"

	"github.com/reflectory/reflectory/sdk"
)

func TestHidden_IsWhatNobodySees(t *testing.T) {
	for _, r := range []rune{
		0xE0001, 0xE0020, 0xE0041, 0xE007F, 0xE0100, 0xE01EF, 0xFE00, 0xFE0D, 0x200B, 0x2060, 0x2064, 0x206A, 0x00AD, 0xFEFF,
		0x180E, 0x180B, 0x3164, 0x115F, 0xFFA0, 0xFFF9, 0x1D173, 0x17B4, 0x034F,
	} {
		if !sdk.Hidden(r) {
			t.Errorf("%U isn't hidden", r)
		}
	}
	for _, r := range "aé ß\t\n日本語 ไทย नमस्ते می\u200cخواهم 👩\u200d🔬 ❤️ ☎︎ e\u0301 \u00a0\u2003 \u200e\u202e\u2066\u061c" {
		if sdk.Hidden(r) {
			t.Errorf("%U is hidden", r)
		}
	}
}

func TestVisible_ShowsAllButEmoji(t *testing.T) {
	const (
		england  = "🏴\U000E0067\U000E0062\U000E0065\U000E006E\U000E0067\U000E007F"
		scotland = "🏴\U000E0067\U000E0062\U000E0073\U000E0063\U000E0074\U000E007F"
		wales    = "🏴\U000E0067\U000E0062\U000E0077\U000E006C\U000E0073\U000E007F"
	)
	for text, want := range map[string]string{
		"Hi\U000E0049\U000E0067":              "Hi[U+E0049][U+E0067]",
		"a\u200bb\u2060c\ufeff":               "a[U+200B]b[U+2060]c[U+FEFF]",
		"so\u00adft a\ufe01 a\U000E0101":      "so[U+00AD]ft a[U+FE01] a[U+E0101]",
		"\u3164\u115f\u17b4":                  "[U+3164][U+115F][U+17B4]",
		england + scotland + wales:            england + scotland + wales,
		england + "\u200b":                    england + "[U+200B]",
		"a\u200b " + wales:                    "a[U+200B] " + wales,
		england + "\U000E0041\U000E007F":      england + "[U+E0041][U+E007F]",
		"🏴\U000E0067\U000E0062\U000E007F":     "🏴[U+E0067][U+E0062][U+E007F]",
		"🏴\U000E0061\U000E0062":               "🏴[U+E0061][U+E0062]",
		"😀" + england[len("🏴"):]:              "😀[U+E0067][U+E0062][U+E0065][U+E006E][U+E0067][U+E007F]",
		"👩\u200d🔬 ❤\ufe0f 🏴\u200d☠\ufe0f 1️⃣": "👩\u200d🔬 ❤\ufe0f 🏴\u200d☠\ufe0f 1️⃣",
		"🇩🇪 👍🏽 می\u200cخواهم \u200e":          "🇩🇪 👍🏽 می\u200cخواهم \u200e",
		"\xff\u200b\xfe":                      "\xff[U+200B]\xfe",
		"":                                    "",
	} {
		if got := sdk.Visible(text); got != want {
			t.Errorf("%+q: %+q, not %+q", text, got, want)
		}
	}
}
