package program

import (
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/ext"
)

// Texts have the functions of cel-go's extension, at version 5, the first that counts
// their cost. Two things differ. replace and join may produce a text far longer than
// their arguments, and cel-go counts a call's cost only after the call, when the memory
// has been used: so they are limited here, before the call. format has no limit at all
// and is left out.

// maxText is the longest text that replace or join may produce, in bytes: the most that a
// recorded decision keeps.
const maxText = 1 << 20

// stringsVersion is the version of the extension.
const stringsVersion = 5

// textFunctions declare the functions of texts.
func textFunctions() []cel.EnvOption {
	text, list, whole := cel.StringType, cel.ListType(cel.StringType), cel.IntType
	return []cel.EnvOption{
		ext.Strings(ext.StringsVersion(stringsVersion)),
		cel.Function("format", cel.DisableDeclaration(true),
			cel.MemberOverload("string_format", []*cel.Type{text, cel.ListType(cel.DynType)}, text)),
		cel.Function("replace",
			cel.MemberOverload("string_replace_string_string", []*cel.Type{text, text, text}, text, cel.FunctionBinding(replace)),
			cel.MemberOverload("string_replace_string_string_int", []*cel.Type{text, text, text, whole}, text, cel.FunctionBinding(replace))),
		cel.Function("join",
			cel.MemberOverload("list_join", []*cel.Type{list}, text,
				cel.UnaryBinding(func(list ref.Val) ref.Val { return join(list, types.String("")) })),
			cel.MemberOverload("list_join_string", []*cel.Type{list, text}, text, cel.BinaryBinding(join))),
	}
}

// textSignatures describe the functions of texts.
func textSignatures() []Function {
	return []Function{
		{Name: "charAt", Signature: "TEXT.charAt(index int) string", Doc: "the character at an index, from 0"},
		{Name: "indexOf", Signature: "TEXT.indexOf(part string) int", Doc: "the index at which a part first occurs, or -1; a second argument is the index at which the search begins"},
		{Name: "join", Signature: "LIST.join(separator string) string", Doc: "the texts of a list joined into one, of up to 1 MiB; without an argument, with nothing between them"},
		{Name: "lastIndexOf", Signature: "TEXT.lastIndexOf(part string) int", Doc: "the index at which a part last occurs, or -1; a second argument is the index at which the search begins"},
		{Name: "lowerAscii", Signature: "TEXT.lowerAscii() string", Doc: "the text with A to Z in lower case"},
		{Name: "replace", Signature: "TEXT.replace(old string, new string) string", Doc: "the text, of up to 1 MiB, with each old part replaced; a third argument is the maximum number of replacements"},
		{Name: "reverse", Signature: "TEXT.reverse() string", Doc: "the characters in reverse order"},
		{Name: "split", Signature: "TEXT.split(separator string) list(string)", Doc: "the parts between separators; a second argument is their maximum number"},
		{Name: "strings.quote", Signature: "strings.quote(text string) string", Doc: "the text in quotes, with special characters escaped"},
		{Name: "substring", Signature: "TEXT.substring(start int, end int) string", Doc: "the characters from start up to end, or to the last"},
		{Name: "trim", Signature: "TEXT.trim() string", Doc: "the text without the white space around it"},
		{Name: "upperAscii", Signature: "TEXT.upperAscii() string", Doc: "the text with a to z in upper case"},
	}
}

// replace is TEXT.replace(old, new[, limit]), limited before it uses memory. A negative
// limit means no limit.
func replace(args ...ref.Val) ref.Val {
	var parts [3]string
	for i := range parts {
		part, ok := args[i].(types.String)
		if !ok {
			return types.MaybeNoSuchOverloadErr(args[i])
		}
		parts[i] = string(part)
	}
	limit := types.Int(-1)
	if len(args) > len(parts) {
		var ok bool
		if limit, ok = args[len(parts)].(types.Int); !ok {
			return types.MaybeNoSuchOverloadErr(args[len(parts)])
		}
	}
	text, old, by := parts[0], parts[1], parts[2]
	if limit < 0 || int64(limit) > int64(len(text))+1 {
		limit = types.Int(len(text) + 1) // there are no more places than that
	}
	// For an empty old part strings.Count returns one more than the number of characters.
	places := min(int64(limit), int64(strings.Count(text, old)))
	if grown := int64(len(text)) + places*int64(len(by)-len(old)); grown > maxText {
		return tooLong("replace", grown)
	}
	return types.String(strings.Replace(text, old, by, int(limit)))
}

// join is LIST.join(separator), limited before it uses memory.
func join(list, separator ref.Val) ref.Val {
	texts, isList := list.(traits.Lister)
	between, isText := separator.(types.String)
	if !isList || !isText {
		return types.MaybeNoSuchOverloadErr(list)
	}
	var parts []string
	size := int64(0)
	for i := texts.Iterator(); i.HasNext() == types.True; {
		next := i.Next()
		part, ok := next.(types.String)
		if !ok {
			return types.MaybeNoSuchOverloadErr(next)
		}
		if size += int64(len(part)) + int64(len(between)); size > maxText+int64(len(between)) {
			return tooLong("join", size)
		}
		parts = append(parts, string(part))
	}
	return types.String(strings.Join(parts, string(between)))
}

func tooLong(function string, size int64) ref.Val {
	return types.NewErr("%s would give %d bytes (limit %d)", function, size, maxText)
}
