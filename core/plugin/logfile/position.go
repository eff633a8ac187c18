package logfile

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// Who follows a log asks again and again for what came after a place in it, perhaps over a
// network. A place has to outlive the renaming of files, and no number of a file means the
// same on every system, so that it names its file by the first line, which never changes.

// Position is a place in a plugin's log, behind a whole line. The zero value is before the first
// line that is kept.
type Position struct {
	// File names the file, and Offset is how many of its bytes are before the place.
	File   string
	Offset int64
}

// String is the place as a text that [ParsePosition] reads.
func (p Position) String() string {
	if p.File == "" {
		p.File = noFile
	}
	return p.File + "-" + strconv.FormatInt(p.Offset, 10)
}

// noFile is the file of the zero place.
const noFile = "0000000000000000"

var placeForm = core.Pattern(`^([0-9a-f]{16})-([0-9]{1,18})$`)

// ParsePosition reads a place.
func ParsePosition(text string) (Position, error) {
	parts := placeForm().FindStringSubmatch(text)
	if parts == nil {
		return Position{}, sdk.Errorf(sdk.Invalid, "after_invalid", "%q is no place in a log", core.Cut(text)).
			WithHint("give the next of an earlier answer").WithDetail("field", "after")
	}
	offset, _ := strconv.ParseInt(parts[2], 10, 64) // 18 digits fit
	if parts[1] == noFile {
		return Position{Offset: 0}, nil
	}
	return Position{parts[1], offset}, nil
}

// logFile is one of a log's files, open.
type logFile struct {
	*os.File
	id   string
	info os.FileInfo
}

// logFiles are a log's files, the oldest first.
type logFiles []*logFile

func (l logFiles) close() {
	for _, f := range l {
		_ = f.Close() // it was only read
	}
}

// openAll opens the files of a plugin's log that have a whole line. The newest is opened
// first: one that another process moves away meanwhile is met again under its next name, and
// none is missed.
func openAll(dir, name string) (files logFiles, err error) {
	path, err := pathOf(dir, name)
	if err != nil {
		return nil, err
	}
	for i := 0; i <= keptFiles; i++ {
		file, err := openFile(older(path, i))
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, io.EOF) {
			continue
		}
		if err != nil {
			files.close()
			return nil, unreadable(name, err)
		}
		if slices.ContainsFunc(files, func(f *logFile) bool { return os.SameFile(f.info, file.info) }) {
			_ = file.Close()
			continue
		}
		files = append(files, file)
	}
	slices.Reverse(files)
	return files, nil
}

// openFile opens a file; one without a whole line is io.EOF.
func openFile(path string) (_ *logFile, err error) {
	f := &logFile{}
	if f.File, err = os.Open(path); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = f.Close()
		}
	}()
	if f.info, err = f.Stat(); err != nil {
		return nil, err
	}
	first, err := bufio.NewReader(io.LimitReader(f, maxRead)).ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("the first line of %s: %w", path, err)
	}
	sum := sha256.Sum256([]byte(first))
	f.id = hex.EncodeToString(sum[:8])
	return f, nil
}

// read returns the whole lines of a file from an offset on.
func (f *logFile) read(from int64) ([]byte, error) {
	if _, err := f.Seek(from, io.SeekStart); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(f, maxRead))
	return text[:bytes.LastIndexByte(text, '\n')+1], err
}

// readEnd returns a file's whole lines, or the lines in its last maxRead bytes, and where
// they begin.
func (f *logFile) readEnd() (text []byte, from int64, err error) {
	info, err := f.Stat()
	if err != nil {
		return nil, 0, err
	}
	from = max(0, info.Size()-maxRead)
	text, err = f.read(from)
	return text, from, err
}
