package core_test

import (
	"testing"

	"github.com/reflectory/reflectory/core"
)

func TestHidden_IsWhatNobodySees(t *testing.T) {
	for _, r := range []rune{
		0xE0001, 0xE0020, 0xE0041, 0xE007F, 0xE0100, 0xE01EF, 0xFE00, 0xFE0D, 0x200B, 0x2060, 0x2064, 0x206A, 0x00AD, 0xFEFF,
		0x180E, 0x180B, 0x3164, 0x115F, 0xFFA0, 0xFFF9, 0x1D173, 0x17B4, 0x034F,
	} {
		if !core.Hidden(r) {
			t.Errorf("%U isn't hidden", r)
		}
	}
	for _, r := range "aé ß\t\n日本語 ไทย नमस्ते می\u200cخواهم 👩\u200d🔬 ❤️ ☎︎ e\u0301 \u00a0\u2003 \u200e\u202e\u2066\u061c" {
		if core.Hidden(r) {
			t.Errorf("%U is hidden", r)
		}
	}
}
