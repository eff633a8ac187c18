package program

import (
	"fmt"
	"io"
	"math"
	"regexp"
	"regexp/syntax"
	"unicode/utf8"

	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
)

// Matching takes, at worst, one step for each instruction of the pattern's program and each
// character of the text, and repeats make a program far larger than its pattern: (a?){1000} has
// 2,000 instructions. cel-go counts the characters of the pattern, after the match, which nothing
// can stop. So here the program's size counts, a match that could cost more than a policy may is
// refused before it begins, and others see the end of their context after each 100 characters.

const (
	// maxRegex is the largest program of a pattern, in instructions: 100 characters take it
	// some milliseconds. A pattern for e-mail addresses or dates has 50 to 500.
	maxRegex = 5_000
	// maxPattern is the longest pattern, in bytes.
	maxPattern = 10_000
	// shortMatch is the cost up to which a match isn't interrupted, about 0.5 ms.
	shortMatch = 1_000
)

// pattern is a compiled regular expression.
type pattern struct {
	re   *regexp.Regexp
	size int // of its program
}

// compilePattern compiles a pattern, whose program must not be too large.
func compilePattern(text string) (*pattern, error) {
	if len(text) > maxPattern {
		return nil, fmt.Errorf("the regular expression has %d bytes (limit %d)", len(text), maxPattern)
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, err
	}
	size := regexSize(parsed)
	if size > maxRegex {
		return nil, fmt.Errorf("the regular expression makes a program of %d instructions (limit %d)", size, maxRegex)
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, err
	}
	return &pattern{re, size}, nil
}

// regexSize is the size of a pattern's program, as far as it can matter.
func regexSize(re *syntax.Regexp) int {
	size := 0
	for _, sub := range re.Sub {
		size += regexSize(sub)
	}
	switch re.Op {
	case syntax.OpLiteral:
		size = len(re.Rune)
	case syntax.OpCapture:
		size += 2
	case syntax.OpAlternate:
		size += len(re.Sub) - 1
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest:
		size++
	case syntax.OpRepeat:
		size = size*max(1, re.Min, re.Max) + max(1, re.Max-re.Min)
	}
	return min(max(1, size), math.MaxInt32)
}

// matchCost is the highest cost of a match, on cel-go's scale.
func matchCost(length, size int) uint64 {
	text := math.Ceil((1 + float64(length)) * common.StringTraversalCostFactor)
	return uint64(text * math.Ceil(float64(size)*common.RegexStringLengthCostFactor))
}

func isMatch(overload string) bool {
	return overload == overloads.Matches || overload == overloads.MatchesString
}

// estimateMatch is the static cost of a match. The program of a pattern that isn't constant has
// maxRegex instructions at most.
func (e estimator) estimateMatch(target *checker.AstNode, args []checker.AstNode) *checker.CallEstimate {
	if target != nil {
		args = append([]checker.AstNode{*target}, args...)
	}
	if len(args) != 2 {
		return nil
	}
	size := checker.SizeEstimate{Min: 1, Max: maxRegex}
	if text, constant := literalText(args[1].Expr()); constant {
		if p, err := compilePattern(text); err == nil {
			size = checker.SizeEstimate{Min: 1, Max: uint64(p.size)}
		}
	}
	length := e.size(args[0]).Add(checker.SizeEstimate{Min: 1, Max: 1})
	cost := length.MultiplyByCostFactor(common.StringTraversalCostFactor).Multiply(size.MultiplyByCostFactor(common.RegexStringLengthCostFactor))
	return &checker.CallEstimate{CostEstimate: cost}
}

func literalText(e ast.Expr) (string, bool) {
	if e == nil || e.Kind() != ast.LiteralKind {
		return "", false
	}
	text, ok := e.AsLiteral().(types.String)
	return string(text), ok
}

// actualMatch is the cost that a match is charged for, after it.
func actualMatch(args []ref.Val) uint64 {
	text, isText := args[0].(types.String)
	expression, isPattern := args[1].(types.String)
	if !isText || !isPattern || len(expression) > maxPattern {
		return 1
	}
	parsed, err := syntax.Parse(string(expression), syntax.Perl)
	if err != nil {
		return 1
	}
	return 1 + matchCost(len(text), regexSize(parsed))
}

// matchNode is a call of matches.
type matchNode struct {
	interpreter.InterpretableCall
	constant *pattern // nil: the pattern is an argument like another
}

// steppedMatches replaces the calls of matches in a program's plan.
func steppedMatches(node interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
	call, ok := node.(interpreter.InterpretableCall)
	if !ok || !isMatch(call.OverloadID()) && call.Function() != overloads.Matches || len(call.Args()) != 2 {
		return node, nil
	}
	n := &matchNode{InterpretableCall: call}
	if constant, ok := call.Args()[1].(interpreter.InterpretableConst); ok {
		if text, ok := constant.Value().(types.String); ok {
			var err error
			if n.constant, err = compilePattern(string(text)); err != nil {
				return nil, err
			}
		}
	}
	return n, nil
}

// Function hides the name from cel-go, which would put its own matching of constant patterns in
// place of this one.
func (n *matchNode) Function() string { return "" }

// Eval implements interpreter.Interpretable.
func (n *matchNode) Eval(vars interpreter.Activation) ref.Val {
	frame, err := interpreter.NewExecutionFrame(vars)
	if err != nil {
		return types.WrapErr(err)
	}
	defer frame.Close()
	return n.Exec(frame)
}

// Exec implements interpreter.InterpretableV2.
func (n *matchNode) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	text, expression := n.Args()[0].Exec(frame), n.Args()[1].Exec(frame)
	for _, v := range []ref.Val{text, expression} {
		if _, ok := v.(types.String); !ok {
			return types.MaybeNoSuchOverloadErr(v)
		}
	}
	p, err := n.constant, error(nil)
	if p == nil {
		if p, err = compilePattern(string(expression.(types.String))); err != nil {
			return types.WrapErr(err)
		}
	}
	return p.match(string(text.(types.String)), frame.CheckInterrupt)
}

// match matches a text, unless that could cost too much. interrupted is asked for each character.
func (p *pattern) match(text string, interrupted func() bool) ref.Val {
	cost := matchCost(len(text), p.size)
	switch {
	case cost > CostLimit:
		return types.WrapErr(ErrTooDear)
	case cost <= shortMatch:
		return types.Bool(p.re.MatchString(text))
	}
	r := &interruptibleReader{text: text, interrupted: interrupted}
	matched := p.re.MatchReader(r)
	if r.stopped {
		return types.WrapErr(interpreter.InterruptError{})
	}
	return types.Bool(matched)
}

// interruptibleReader reads the characters of a text until it is interrupted.
type interruptibleReader struct {
	text        string
	interrupted func() bool
	stopped     bool
}

// ReadRune implements io.RuneReader.
func (r *interruptibleReader) ReadRune() (rune, int, error) {
	if r.text == "" || r.stopped {
		return 0, 0, io.EOF
	}
	if r.interrupted() {
		r.stopped = true
		return 0, 0, io.EOF
	}
	c, size := utf8.DecodeRuneInString(r.text)
	r.text = r.text[size:]
	return c, size, nil
}
