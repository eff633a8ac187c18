package template

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

func onText(f func(string) string) func(*render, any, []any) (any, error) {
	return func(_ *render, in any, _ []any) (any, error) {
		text, ok := in.(string)
		if !ok {
			return nil, failed("this filter needs text, not %s", typeName(in))
		}
		return f(text), nil
	}
}

func capitalize(s string) string {
	_, n := utf8.DecodeRuneInString(s)
	return strings.ToUpper(s[:n]) + strings.ToLower(s[n:])
}

func textArg(arg any, absent string) (string, error) {
	if arg == nil {
		return absent, nil
	}
	text, ok := arg.(string)
	if !ok {
		return "", failed("the filter's argument must be text, not %s", typeName(arg))
	}
	return text, nil
}

func titled(r *render, in any, args []any) (any, error) {
	if text, ok := in.(string); ok {
		if err := r.spend(len(text) / 8); err != nil { // each character is examined
			return nil, err
		}
	}
	return onText(title)(r, in, args)
}

// title capitalizes each word, and makes the rest of it lower case.
func title(s string) string {
	before := ' '
	return strings.Map(func(c rune) rune {
		begins := unicode.IsSpace(before) || strings.ContainsRune("-({[<", before)
		if before = c; begins {
			return unicode.ToUpper(c)
		}
		return unicode.ToLower(c)
	}, s)
}

// indent indents a text's lines, except the first line and empty ones.
func indent(r *render, in any, args []any) (any, error) {
	text, ok := in.(string)
	if !ok {
		return nil, failed("indent needs text, not %s", typeName(in))
	}
	by, ok := args[0].(string)
	if !ok {
		width, err := integerArg("indent's width", args[0], 4, 0, maxIndent)
		if err != nil {
			return nil, err
		}
		by = strings.Repeat(" ", width)
	}
	if len(text)+strings.Count(text, "\n")*len(by)+len(by) > MaxOutput {
		return nil, tooLong()
	}
	if err := r.spend(strings.Count(text, "\n")); err != nil {
		return nil, err
	}
	var out strings.Builder
	for i, line := range strings.Split(text, "\n") {
		if i > 0 {
			out.WriteByte('\n')
		}
		if (i > 0 || truthy(args[1])) && (line != "" || truthy(args[2])) {
			out.WriteString(by)
		}
		out.WriteString(line)
	}
	return out.String(), nil
}

func join(r *render, in any, args []any) (any, error) {
	list, err := aList(r, in)
	if err == nil && args[1] != nil {
		var members any
		members, err = mapped(r, in, []any{args[1], nil})
		list, _ = members.([]any)
	}
	if err != nil {
		return nil, err
	}
	separator, err := textArg(args[0], "")
	if err != nil {
		return nil, err
	}
	var out strings.Builder
	for i, e := range list {
		if i > 0 {
			out.WriteString(separator)
		}
		text, err := r.show(e)
		if err != nil {
			return nil, err
		}
		if out.WriteString(text); out.Len() > MaxOutput {
			return nil, tooLong()
		}
	}
	return out.String(), nil
}

func split(r *render, in any, args []any) (any, error) {
	text, ok := in.(string)
	if !ok {
		return nil, failed("split needs text, not %s", typeName(in))
	}
	if err := r.spend(len(text)); err != nil {
		return nil, err
	}
	if args[0] == nil {
		return asList(strings.Fields(text)), nil
	}
	separator, err := textArg(args[0], "")
	if err == nil && separator == "" {
		err = failed("split's separator is empty; | list gives the characters")
	}
	return asList(strings.Split(text, separator)), err
}

func asList(texts []string) []any {
	list := make([]any, len(texts))
	for i, text := range texts {
		list[i] = text
	}
	return list
}

func replace(r *render, in any, args []any) (any, error) {
	text, err := textArg(in, "")
	if err != nil {
		return nil, err
	}
	from, err := textArg(args[0], "")
	if err != nil {
		return nil, err
	}
	to, err := textArg(args[1], "")
	if err != nil {
		return nil, err
	}
	if len(text)+(len(to)-len(from))*strings.Count(text, from) > MaxOutput {
		return nil, tooLong()
	}
	return strings.ReplaceAll(text, from, to), nil
}

func truncate(_ *render, in any, args []any) (any, error) {
	text, err := textArg(in, "")
	n, ok := args[0].(int64)
	if err != nil || !ok || n < 0 {
		return nil, failed("truncate needs text and a length from 0")
	}
	if int64(utf8.RuneCountInString(text)) <= n {
		return text, nil
	}
	for i := range text {
		if n == 0 {
			return text[:i] + "…", nil
		}
		n--
	}
	return text, nil
}
