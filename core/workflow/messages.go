package workflow

import (
	"encoding/base64"
	"path"
	"strings"

	"github.com/reflectory/reflectory/core/document"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// encodedSuffix ends the names under which a source has the files of messages, as base64: a source's
// files are texts.
const encodedSuffix = ";base64"

// messages reads a conversation.
func (l *loader) messages(n *document.Node, names []string) part {
	all := list{}
	l.messageBytes = 0
	for _, item := range n.Items {
		m := l.block(item, "a message", blockMessage)
		m.Need("role")
		role := m.oneOf("role")
		o := object{{"role", constant(jsontext.MustEncode(role))}, {"content", l.content(m, role, names)}}
		if calls := m.Typed("tool_calls", document.List); calls != nil {
			o = append(o, field{"tool_calls", l.toolCalls(calls, names)})
		}
		for _, key := range []string{"tool_call_id", "name"} {
			if n := m.Typed(key, document.Text); n != nil {
				o = append(o, field{key, l.template(n, names, true)})
			}
		}
		for key, of := range map[string]string{"tool_calls": "assistant", "tool_call_id": "tool", "name": "tool"} {
			if n := m.Get(key); n != nil && role != "" && role != of {
				l.Add(n.At, "", "only a message of the role %s has %s", of, key)
			}
		}
		if role == "tool" {
			m.Need("tool_call_id")
		}
		m.Done()
		all = append(all, o)
	}
	if len(all) == 0 {
		l.Add(n.At, "", "messages is empty")
	}
	if l.messageBytes > MaxMessageFiles {
		l.Add(n.At, smallerHint, "the files of messages have %d bytes together (limit %d)", l.messageBytes, MaxMessageFiles)
	}
	return all
}

// content reads what a message says: a text, or parts.
func (l *loader) content(m *block, role string, names []string) part {
	n := m.Get("content")
	switch {
	case n == nil && m.Get("tool_calls") != nil:
		return constant(`""`)
	case n == nil:
		m.Need("content")
		return constant(`""`)
	case n.Kind == document.Text:
		return l.template(n, names, true)
	case n.Kind != document.List:
		l.Add(n.At, "", "content must be text or a list of parts, not %s", n.Kind)
		return constant(`""`)
	}
	parts := list{}
	for _, item := range n.Items {
		parts = append(parts, l.messagePart(item, role, names))
	}
	return parts
}

func (l *loader) messagePart(n *document.Node, role string, names []string) part {
	b := l.block(n, "a part", blockPart)
	defer b.Done()
	b.Need("type")
	kind := b.oneOf("type")
	o := object{{"type", constant(jsontext.MustEncode(kind))}}
	if kind == "text" {
		b.Need("text")
	} else if kind != "" && role != "user" && role != "" {
		l.Add(n.At, "", "only a message of the role user has images and files")
	}
	b.only("text", "file", "url", "base64")
	if b.Get("text") == nil && b.Get("file") == nil && b.Get("url") == nil && b.Get("base64") == nil && kind != "" && kind != "text" {
		b.Lacks("write file:, url: or base64:", "the part has no content")
	}
	for _, key := range []string{"text", "base64"} {
		if n := b.Typed(key, document.Text); n != nil {
			o = append(o, field{key, l.template(n, names, true)})
		}
	}
	// Nothing in the state decides which file is read, or what the endpoint gets by itself.
	for _, key := range []string{"url", "media_type", "name"} {
		if n := b.Typed(key, document.Text); n != nil {
			l.noTemplate(n, key)
			o = append(o, field{key, constant(n.JSON(nil))})
		}
	}
	if n := b.Typed("file", document.Text); n != nil {
		o = append(o, l.partFile(b, n)...)
	}
	return o
}

// partFile is the content of a file in the workflow's folder.
func (l *loader) partFile(b *block, n *document.Node) (o object) {
	clean, ok := inFolder(n.Text)
	if !ok {
		l.Add(n.At, "copy the file there", "%q is not in the workflow's folder", n.Text)
		return nil
	}
	encoded, ok := l.source.Files[clean+encodedSuffix]
	if !ok {
		l.Add(n.At, "", "there is no file %q in the workflow's folder", n.Text)
		return nil
	}
	l.messageBytes += decodedLen(encoded)
	o = object{{"base64", asJSON(encoded)}}
	if b.Get("name") == nil {
		o = append(o, field{"name", constant(jsontext.MustEncode(path.Base(clean)))})
	}
	if b.Get("media_type") == nil {
		if kind := mediaTypes[path.Ext(clean)]; kind != "" {
			return append(o, field{"media_type", constant(jsontext.MustEncode(kind))})
		}
		l.Add(n.At, "write media_type: TYPE/SUBTYPE", "the type of %q isn't known by its name", n.Text)
	}
	return o
}

// asJSON is a text of base64 as JSON. Nothing of it is escaped, unless a caller sent something else.
func asJSON(encoded string) constant {
	for i := range len(encoded) {
		if c := encoded[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return constant(jsontext.MustEncode(encoded))
		}
	}
	return append(append(append(make(constant, 0, len(encoded)+2), '"'), encoded...), '"')
}

// mediaTypes are the types of files by the ends of their names.
var mediaTypes = map[string]string{
	".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp", ".pdf": "application/pdf",
	".txt": "text/plain", ".md": "text/markdown", ".csv": "text/csv", ".json": "application/json", ".html": "text/html", ".xml": "text/xml",
}

// toolCalls reads the calls that an assistant asked for.
func (l *loader) toolCalls(n *document.Node, names []string) part {
	all := list{}
	for _, item := range n.Items {
		b := l.block(item, "a call", blockToolCall)
		o := object{}
		for _, key := range []string{"id", "name"} {
			b.Need(key)
			if n := b.Typed(key, document.Text); n != nil {
				o = append(o, field{key, l.template(n, names, true)})
			}
		}
		arguments := part(constant(`{}`))
		if n := b.Typed("arguments", document.Mapping); n != nil {
			arguments = l.part(n, names)
		}
		b.Done()
		all = append(all, append(o, field{"arguments", arguments}))
	}
	return all
}

// messageFiles fetches the files of a conversation.
func (f *fetcher) messageFiles(messages *document.Node) error {
	if messages == nil {
		return nil
	}
	for _, m := range messages.Items {
		content := m.Get("content")
		if content == nil {
			continue
		}
		for _, part := range content.Items {
			file := part.Get("file")
			if file == nil || file.Kind != document.Text {
				continue
			}
			if name, ok := inFolder(file.Text); ok {
				if err := f.encoded(name); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// encoded reads a file that may be no text, unless a caller sent it as it is kept.
func (f *fetcher) encoded(name string) error {
	if _, known := f.source.Files[name+encodedSuffix]; known {
		return nil
	}
	encoded, size := f.given[name+encodedSuffix], 0
	if encoded != "" {
		size = decodedLen(encoded)
	} else {
		data, err := f.attached(name)
		if err != nil || data == nil {
			return err
		}
		if size = len(data); size <= MaxMessageFiles {
			encoded = base64.StdEncoding.EncodeToString(data)
		}
	}
	if f.messageBytes += size; f.messageBytes > MaxMessageFiles {
		return sdk.Errorf(sdk.Exhausted, "file_too_large", "with %s the files of the workflow's messages have %d bytes together (limit %d)", name, f.messageBytes, MaxMessageFiles).
			WithHint(smallerHint).WithDetail("most", MaxMessageFiles)
	}
	if err := f.room(); err != nil {
		return err
	}
	f.source.Files[name+encodedSuffix] = encoded
	return nil
}

// attached reads a file of a message; a missing file is nil.
func (f *fetcher) attached(name string) ([]byte, error) {
	if text, known := f.source.Files[name]; known {
		return []byte(text), nil
	}
	data, err := f.first(name, MaxMessageFiles)
	if sdk.ReasonOf(err) == "file_too_large" {
		err = sdk.Errorf(sdk.Exhausted, "file_too_large", "%s has more than %d bytes", name, MaxMessageFiles).WithHint(smallerHint).WithDetail("most", MaxMessageFiles)
	}
	return data, err
}

// decodedLen is how many bytes a text in base64 stands for.
func decodedLen(encoded string) int {
	return base64.StdEncoding.DecodedLen(len(encoded)) - strings.Count(encoded[max(0, len(encoded)-2):], "=")
}

// smallerHint is what to do about a file that is too large for a message.
const smallerHint = "make the picture or the file smaller, or name an https address of it as url:, which the endpoint reads"
