package template

import (
	"strings"
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

func join(r *render, in any, args []any) (any, error) {
	list, err := aList(r, in)
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
	separator, err := textArg(args[0], " ")
	if err != nil {
		return nil, err
	}
	if err := r.spend(len(text)); err != nil {
		return nil, err
	}
	var list []any
	for _, part := range strings.Split(text, separator) {
		list = append(list, part)
	}
	return list, nil
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
