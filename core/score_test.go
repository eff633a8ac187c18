package core_test

import (
	"testing"

	"github.com/reflectory/reflectory/core"
)

func TestRounded_NumbersThatReadAlikeAreTheSame(t *testing.T) {
	tenth := 0.1
	if sum := tenth + 0.2; sum == 0.3 || core.Rounded(sum) != 0.3 || core.Rounded(-sum) != -0.3 {
		t.Errorf("%v, rounded %v", sum, core.Rounded(sum))
	}
	if core.Rounded(0.3+1e-8) == 0.3 {
		t.Error("a difference of 1e-8 is lost")
	}
}
