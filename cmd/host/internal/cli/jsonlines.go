package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"reflect"

	"github.com/reflectory/reflectory/cmd/host/internal/httpapi"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// maxLineBytes bounds a line of JSON Lines: content and metadata of 64 KiB each; escaped, they are
// up to six times as long.
const maxLineBytes = 1 << 20

// jsonLine is a line of JSON Lines.
type jsonLine struct {
	source string
	number int
	// text is valid until the next line is read.
	text []byte
}

// String names the line.
func (l jsonLine) String() string { return fmt.Sprintf("%s: line %d", l.source, l.number) }

// jsonLines yields the non-blank lines of a file, or of standard input for "-", and at
// most one error, last.
func (in inputs) jsonLines(path string) iter.Seq2[jsonLine, error] {
	return func(yield func(jsonLine, error) bool) {
		file, err := in.open(path)
		if err != nil {
			yield(jsonLine{}, err)
			return
		}
		defer func() { _ = file.Close() }() // only reads
		lines := bufio.NewScanner(file)
		lines.Buffer(make([]byte, 64<<10), maxLineBytes)
		line := jsonLine{source: sourceName(path)}
		for lines.Scan() {
			line.number++
			line.text = bytes.TrimSpace(lines.Bytes())
			if line.number == 1 {
				line.text = bytes.TrimPrefix(line.text, []byte("\ufeff")) // some editors put it at the start of a file
			}
			if len(line.text) > 0 && !yield(line, nil) {
				return
			}
		}
		line.number++
		switch err := lines.Err(); {
		case errors.Is(err, bufio.ErrTooLong):
			yield(line, line.invalid("it has more than %d bytes", maxLineBytes))
		case sdk.CodeOf(err) == sdk.Cancelled:
			yield(line, err)
		case err != nil:
			yield(line, sdk.Errorf(sdk.Invalid, "file_unreadable", "%s: %w", line.source, err))
		}
	}
}

// decode decodes one object and nothing else.
func (l jsonLine) decode(into any) error {
	if at := jsontext.InvalidText(l.text); at >= 0 {
		return l.invalid("it isn't UTF-8 text at byte %d", at+1)
	}
	if l.text[0] != '{' {
		return l.invalid("it isn't a JSON object")
	}
	if key := jsontext.RepeatedKey(l.text); key != "" {
		return l.invalid("the key %q is there twice", core.Cut(key))
	}
	d := json.NewDecoder(bytes.NewReader(httpapi.PlainIntegers(l.text, reflect.TypeOf(into))))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return l.invalid("%w", jsontext.Problem(err))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return l.invalid("it has more than one JSON object")
	}
	return nil
}

func (l jsonLine) invalid(format string, args ...any) error {
	return sdk.Wrap(l.String(), sdk.Errorf(sdk.Invalid, "line_invalid", format, args...).WithHint("write one JSON object per line; see --help"))
}
