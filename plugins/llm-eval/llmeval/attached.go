package llmeval

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
)

// A picture may have 20 MiB, and an instance has 256 MiB for all that it does. Each step from the config
// to the request would copy it: the objects of the config, the message, its block, the request's JSON.
// So what is long in base64 is taken out of the config's JSON before anything reads it, and a mark takes its
// place; the request's body is written with the mark, and sent in pieces, with the config's own bytes
// in the place of the mark. The mark is random, so nothing that a prompt says is taken for one.

// attachedFrom is from how many characters of base64 on a part is attached: less is quickly copied.
const attachedFrom = 64 << 10

// attachments are what was taken out of a config.
type attachments struct {
	mark string // with the number of the attachment, in markDigits digits, after it
	data [][]byte
	used int // by parts
}

const markDigits = 4

// attach takes long base64 out of a config. Its bytes stay the config's.
func attach(config json.RawMessage) (json.RawMessage, *attachments) {
	key := []byte(`"base64"`)
	a := &attachments{}
	var short []byte
	rest := []byte(config)
	for {
		at := bytes.Index(rest, key)
		if at < 0 {
			break
		}
		at += len(key)
		value := bytes.TrimLeft(rest[at:], " \t\r\n")
		value = bytes.TrimLeft(bytes.TrimPrefix(value, []byte(":")), " \t\r\n")
		data, isText := bytes.CutPrefix(value, []byte(`"`))
		end := bytes.IndexByte(data, '"')
		if !isText || end < attachedFrom || !isBase64(data[:end]) || len(a.data) > maxParts {
			short, rest = append(short, rest[:at]...), rest[at:]
			continue
		}
		if a.mark == "" {
			a.mark = rand.Text()
		}
		short = append(short, rest[:len(rest)-len(data)]...)
		short = fmt.Appendf(short, "%s%0*d", a.mark, markDigits, len(a.data))
		a.data, rest = append(a.data, data[:end]), data[end:]
	}
	if len(a.data) == 0 {
		return config, a
	}
	return append(short, rest...), a
}

// isBase64 reports whether a text has nothing but characters of base64, so that JSON has it as it is.
func isBase64(text []byte) bool {
	for _, c := range text {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '+' && c != '/' && c != '=' {
			return false
		}
	}
	return true
}

// find returns what a text in base64 stands for: what it marks, or itself.
func (a *attachments) find(text string) []byte {
	if n, is := a.number([]byte(text)); is && len(text) == len(a.mark)+markDigits {
		a.used++
		return a.data[n]
	}
	return []byte(text)
}

// number is the number of the attachment whose mark a text begins with.
func (a *attachments) number(text []byte) (int, bool) {
	digits, is := bytes.CutPrefix(text, []byte(a.mark))
	if !is || len(a.data) == 0 || len(digits) < markDigits {
		return 0, false
	}
	n, err := strconv.Atoi(string(digits[:markDigits]))
	return n, err == nil && n >= 0 && n < len(a.data)
}

// attachTo makes a body with marks the body of a request.
func (a *attachments) attachTo(req *http.Request, body []byte) {
	var pieces [][]byte
	for a != nil && len(a.data) > 0 {
		at := bytes.Index(body, []byte(a.mark))
		if at < 0 {
			break
		}
		n, is := a.number(body[at:])
		if !is { // nothing else has the mark
			break
		}
		pieces = append(pieces, body[:at], a.data[n])
		body = body[at+len(a.mark)+markDigits:]
	}
	pieces = append(pieces, body)
	req.ContentLength = 0
	for _, piece := range pieces {
		req.ContentLength += int64(len(piece))
	}
	req.GetBody = func() (io.ReadCloser, error) {
		readers := make([]io.Reader, len(pieces))
		for i, piece := range pieces {
			readers[i] = bytes.NewReader(piece)
		}
		return io.NopCloser(io.MultiReader(readers...)), nil
	}
	req.Body, _ = req.GetBody()
}

// checkBase64 reports what is wrong with base64, without decoding it into memory.
func checkBase64(data []byte) error {
	_, err := io.Copy(io.Discard, base64.NewDecoder(base64.StdEncoding, bytes.NewReader(data)))
	return err
}
