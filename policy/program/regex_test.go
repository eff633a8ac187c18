package program

import (
	"errors"
	"regexp/syntax"
	"strings"
	"testing"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/interpreter"
)

func TestRegex_MatchingStopsWhenItIsInterrupted(t *testing.T) {
	p, err := compilePattern("(a?){20}b")
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	v := p.match(strings.Repeat("a", 100_000), func() bool { asked++; return asked > 1_000 })
	if e, isErr := v.(*types.Err); !isErr || !errors.Is(e, interpreter.InterruptError{}) || asked != 1_001 {
		t.Errorf("%v after %d characters, want the interruption after 1,001", v, asked)
	}
	if v := p.match(strings.Repeat("a", 10_000)+"b", func() bool { return false }); v != types.True {
		t.Errorf("without an interruption: %v", v)
	}
}

// The size that is charged is never less than a half of the program's.
func TestRegex_SizeIsThePrograms(t *testing.T) {
	for _, text := range []string{
		"", "a", "abc", "[a-z]", ".", "a*", "a+?", "(a)", "(?:a|b|c)", "a{3}", "a{3,}", "a{0,7}", "(a?){100}", "((a{3}){3}b?){4}", `\bx\B$`, `[^@ ]{1,64}@[a-z.]{1,255}`, "(?i)straße|k", `\pL+`,
	} {
		parsed, err := syntax.Parse(text, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		size := regexSize(parsed)
		program, err := syntax.Compile(parsed.Simplify())
		if err != nil {
			t.Fatal(err)
		}
		if actual := len(program.Inst); 2*size+4 < actual || size > 2*actual {
			t.Errorf("%q: %d, the program has %d", text, size, actual)
		}
	}
}
