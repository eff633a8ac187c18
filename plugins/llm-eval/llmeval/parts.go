package llmeval

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/reflectory/reflectory/sdk/jsonconfig"
)

// A message may have parts: texts, images and other files, in the order in which the model is to see
// them. What isn't text comes as base64, or as an address that the endpoint itself reads: this plugin
// reaches nothing but the endpoint. Each protocol has its own form of them, and what it has no form for
// is refused before anything is sent.

// The types of parts.
const (
	partText  = "text"
	partImage = "image"
	partFile  = "file"
)

// Limits of the parts of a message. No endpoint takes as many images, and of the providers with a limit the
// lowest is 32 MB a request (Anthropic, as documented in November 2026), in which 20 MiB are 28 MB.
const (
	maxParts     = 256
	maxPartBytes = 20 << 20 // of an image or a file
	// maxTextBytes limits a file that is sent as text: a million tokens, more than most models take.
	maxTextBytes = 4 << 20
)

// part is a piece of a message.
type part struct {
	Type string
	Text string // of a text
	// MediaType and Data, which is base64 or a mark in its place, are the content of an image or a file, or
	// URL is where the endpoint reads it.
	MediaType, Data, URL string
	Name                 string // of a file
	size                 int    // of the content, in bytes
}

var mediaTypeForm = regexp.MustCompile(`^[a-z0-9]+/[a-z0-9.+-]{1,64}$`)

// decodeContent reads the content of a message: a text, or parts.
func decodeContent(f *jsonconfig.Object, m *message, attached *attachments) {
	var raw json.RawMessage
	if !f.Take("content", "JSON", &raw) {
		if !f.Has("content") {
			f.Report("content is missing")
		}
		return
	}
	if json.Unmarshal(raw, &m.Content) == nil {
		return
	}
	if jsonconfig.TypeName(raw) != "a list" {
		f.Report("content is %s, neither text nor a list of parts", jsonconfig.TypeName(raw))
		return
	}
	f.Each("content", func(item *jsonconfig.Object) { m.Parts = append(m.Parts, decodePart(item, attached)) })
	if len(m.Parts) > maxParts {
		f.Report("content has %d parts (limit %d)", len(m.Parts), maxParts)
	}
	for _, p := range m.Parts {
		if p.Type != partText && m.Role != roleUser {
			f.Report("content: only a message of the user has images and files, not one of the role %s", m.Role)
			break
		}
	}
	m.join()
}

func decodePart(f *jsonconfig.Object, attached *attachments) part {
	var p part
	f.Take("type", "text", &p.Type)
	switch p.Type {
	case partText:
		if !f.Take("text", "text", &p.Text) && !f.Has("text") {
			f.Report("text is missing")
		}
		f.Done()
		return p
	case partImage, partFile:
	default:
		f.Report("type %q is not text, image or file", cut(p.Type, excerptRunes))
	}
	f.Take("media_type", "text", &p.MediaType)
	f.Take("base64", "text", &p.Data)
	f.Take("url", "text", &p.URL)
	f.Take("name", "text", &p.Name)
	f.Done()
	if (p.Data == "") == (p.URL == "") {
		f.Report("a part is of base64 or of url, and of one of them only")
	}
	if p.URL != "" && !strings.HasPrefix(p.URL, "https://") {
		f.Report("url doesn't begin with https://")
	}
	if p.Data == "" {
		return p
	}
	if !mediaTypeForm.MatchString(p.MediaType) || p.Type == partImage && !strings.HasPrefix(p.MediaType, "image/") {
		f.Report("media_type %q is not the type of an %s, such as %s", cut(p.MediaType, excerptRunes), p.Type, map[string]string{partImage: "image/png", partFile: "application/pdf"}[p.Type])
	}
	encoded := attached.find(p.Data)
	if err := checkBase64(encoded); err != nil {
		f.Report("base64 can't be decoded: %v", err)
	}
	p.size = base64.StdEncoding.DecodedLen(len(encoded)) - bytes.Count(encoded[max(0, len(encoded)-2):], []byte("="))
	if p.size > maxPartBytes {
		f.Report("base64 has %d bytes (limit %d)", p.size, maxPartBytes)
		return p
	}
	if p.Type == partFile && (strings.HasPrefix(p.MediaType, "text/") || p.MediaType == "application/json") { // every model reads text
		if p.size > maxTextBytes {
			f.Report("base64 has %d bytes of text (limit %d)", p.size, maxTextBytes)
			return p
		}
		data, _ := base64.StdEncoding.AppendDecode(nil, encoded) // what is wrong with it was reported
		if !utf8.Valid(data) {
			f.Report("base64 isn't text in UTF-8, as media_type says")
		}
		return part{Type: partText, Text: strings.TrimPrefix(p.Name+":\n\n", ":\n\n") + string(data)}
	}
	return p
}

// join sets the content of a message with parts: their texts.
func (m *message) join() {
	var texts []string
	for _, p := range m.Parts {
		if p.Type == partText {
			texts = append(texts, p.Text)
		}
	}
	m.Content = strings.Join(texts, "\n\n")
}

// change changes each text of a message.
func (m *message) change(text func(string) string) {
	m.Content = text(m.Content)
	if m.Parts == nil {
		return
	}
	parts := make([]part, len(m.Parts))
	for i, p := range m.Parts {
		p.Text = text(p.Text)
		parts[i] = p
	}
	m.Parts = parts
}

// blocks are the parts of a message as a protocol has them, or its content if it has none.
func (m *message) blocks(text string, block func(*part) any) any {
	if m.Parts == nil {
		return m.Content
	}
	list := make([]any, len(m.Parts))
	for i := range m.Parts {
		p := &m.Parts[i]
		if list[i] = block(p); p.Type == partText {
			list[i] = map[string]string{"type": text, "text": p.Text}
		}
	}
	return list
}

// uri is an address of the part, or the part itself as one.
func (p *part) uri() string {
	if p.URL != "" {
		return p.URL
	}
	return "data:" + p.MediaType + ";base64," + p.Data
}

func (p *part) fileName() string {
	if p.Name == "" {
		return "file"
	}
	return p.Name
}

func chatBlock(p *part) any {
	if p.Type == partImage {
		return map[string]any{"type": "image_url", "image_url": map[string]string{"url": p.uri()}}
	}
	return map[string]any{"type": "file", "file": map[string]string{"filename": p.fileName(), "file_data": p.uri()}}
}

func responsesBlock(p *part) any {
	switch {
	case p.Type == partImage:
		return map[string]string{"type": "input_image", "image_url": p.uri()}
	case p.URL != "":
		return map[string]string{"type": "input_file", "file_url": p.URL}
	}
	return map[string]string{"type": "input_file", "filename": p.fileName(), "file_data": p.uri()}
}

func messagesBlock(p *part) any {
	kind := p.Type
	if kind == partFile {
		kind = "document"
	}
	if p.URL != "" {
		return map[string]any{"type": kind, "source": map[string]string{"type": "url", "url": p.URL}}
	}
	return map[string]any{"type": kind, "source": map[string]string{"type": "base64", "media_type": p.MediaType, "data": p.Data}}
}

// ollamaImages are the images of a message: Ollama has them next to the text.
func ollamaImages(m *message) (images []string) {
	for _, p := range m.Parts {
		if p.Type == partImage {
			images = append(images, p.Data)
		}
	}
	return images
}

// checkParts reports parts for which the endpoint's protocol has no form.
func checkParts(f *jsonconfig.Object, messages []message, p *protocol) {
	for _, m := range messages {
		for _, part := range m.Parts {
			switch {
			case p == nil || part.Type == partText:
			case part.Type == partFile && !p.takesFile(&part):
				f.Report("messages: this endpoint takes no file %s of the type %q%s", part.fileName(), part.MediaType, map[bool]string{true: " by url"}[part.URL != ""])
			case part.Type == partImage && part.URL != "" && p.noURLs:
				f.Report("messages: this endpoint takes an image as base64, not by url")
			}
		}
	}
}

// takesFile reports whether the protocol has a form for a file.
func (p *protocol) takesFile(file *part) bool {
	switch {
	case p.files == "":
		return false
	case file.URL != "":
		return !p.noURLs && !p.noFileURLs
	}
	return p.files == "any" || p.files == file.MediaType
}

// described is a part that isn't text, for a person.
func (p *part) described() string {
	if p.URL != "" {
		return fmt.Sprintf("[%s %s]", p.Type, p.URL)
	}
	return fmt.Sprintf("[%s %s %s, %d bytes]", p.Type, p.fileName(), p.MediaType, p.size)
}
