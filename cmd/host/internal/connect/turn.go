package connect

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/plainfile"
)

// A hook is a process of its own, which knows nothing of the one before. What the next one needs of a
// conversation is in a small folder: which turn is open, and which tools were called in it. The tools
// are lines, since several hooks may append at once. None of it is needed once the turn has ended.

const (
	// SessionsFolder is in the data folder.
	SessionsFolder = "hooks"
	turnFile       = "turn.json"
	toolsFile      = "tools.jsonl"
	// maxTools bounds the calls that the feedback of a turn names, the newest; a call has two outcomes at
	// most for each of the memories that were used, and a turn has 1,000.
	maxTools = 100
	// maxTurnFile bounds what is read of the folder's files.
	maxTurnFile = 1 << 20
	// repeats is for how long the same prompt counts as the same call: two hooks of one prompt come within
	// seconds, and a user who writes the same again gets context again once the turn has ended.
	repeats = 10 * time.Minute
	// forgotten is after which time a conversation's folder is removed.
	forgotten = 7 * 24 * time.Hour
)

// Turn is a turn that waits for its end.
type Turn struct {
	// Session and Turn are what the host calls them.
	Session string `json:"session"`
	Turn    int64  `json:"turn"`
	// Prompt is what the user wrote, if turns are captured.
	Prompt string `json:"prompt,omitempty"`
	// Reply is the newest reply, of a client that reports it before the end of the turn.
	Reply string `json:"reply,omitempty"`
}

// Call is a call of a tool.
type Call struct {
	Tool   string `json:"tool"`
	ID     string `json:"id,omitempty"`
	Failed bool   `json:"failed,omitempty"`
}

// Conversation is what hooks keep of a client's conversation.
type Conversation struct{ folder string }

// ConversationOf is a conversation by the client's id. Two clients that run the same hooks have the same.
func ConversationOf(dataDir, session string) Conversation {
	return Conversation{filepath.Join(dataDir, SessionsFolder, digest(session))}
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}

// SessionName is the host's name of a client's conversation.
func SessionName(session string) string {
	if name := "agent:" + session; core.ValidID(name) {
		return name
	}
	return "agent:" + digest(session)
}

// Claim reports whether this hook is the first that is called for something, such as a prompt. The claim
// ends with the turn.
func (c Conversation) Claim(what string, now time.Time) (bool, error) {
	if err := os.MkdirAll(c.folder, 0o700); err != nil {
		return false, err
	}
	path := filepath.Join(c.folder, "claim-"+digest(what))
	for range 2 {
		file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err == nil {
			return true, file.Close()
		}
		if !errors.Is(err, fs.ErrExist) {
			return false, err
		}
		if info, err := os.Stat(path); err == nil && now.Sub(info.ModTime()) < repeats {
			return false, nil
		}
		_ = os.Remove(path) // it is old, or gone by now
	}
	return false, nil
}

// Begin notes the open turn, in place of the one before, whose tools no longer count.
func (c Conversation) Begin(t Turn) error {
	if err := os.MkdirAll(c.folder, 0o700); err != nil {
		return err
	}
	_ = os.Remove(filepath.Join(c.folder, toolsFile)) // none, or of a turn without an end
	return c.put(&t)
}

// put writes the open turn. It isn't synced: after a crash, there is no conversation.
func (c Conversation) put(t *Turn) error {
	return replaceFile(filepath.Join(c.folder, turnFile), jsontext.MustEncode(t), 0o600, func(*os.File) error { return nil })
}

// Said notes a reply in the open turn.
func (c Conversation) Said(reply string) error {
	t, err := c.Open()
	if err != nil || t == nil {
		return err
	}
	t.Reply = reply
	return c.put(t)
}

// Open returns the open turn; nil if there is none.
func (c Conversation) Open() (*Turn, error) {
	data, err := plainfile.Read(filepath.Join(c.folder, turnFile), maxTurnFile)
	if err != nil {
		return nil, unlessMissing(err)
	}
	t := new(Turn)
	return t, json.Unmarshal(data, t)
}

func unlessMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Called notes a call of a tool in the open turn.
func (c Conversation) Called(call Call) error {
	if _, err := os.Stat(filepath.Join(c.folder, turnFile)); err != nil {
		return unlessMissing(err)
	}
	file, err := os.OpenFile(filepath.Join(c.folder, toolsFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(append(jsontext.MustEncode(call), '\n'))
	return errors.Join(err, file.Close())
}

// Calls are the calls of the open turn, the oldest first.
func (c Conversation) Calls() (calls []Call, err error) {
	file, err := os.Open(filepath.Join(c.folder, toolsFile))
	if err != nil {
		return nil, unlessMissing(err)
	}
	defer func() { _ = file.Close() }() // only reads
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var call Call
		if json.Unmarshal(bytes.TrimSpace(lines.Bytes()), &call) == nil && call.Tool != "" { // half a line is from a full disk
			calls = append(calls, call)
		}
		if len(calls) > 2*maxTools {
			calls = append(calls[:0], calls[maxTools:]...)
		}
	}
	return calls[max(0, len(calls)-maxTools):], lines.Err()
}

// End forgets the open turn, so that the same prompt is a new one.
func (c Conversation) End() error { return os.RemoveAll(c.folder) }

// ForgetOld removes what is left of conversations whose end wasn't reported.
func ForgetOld(dataDir string, now time.Time) {
	folder := filepath.Join(dataDir, SessionsFolder)
	entries, _ := os.ReadDir(folder) // it is housekeeping: the next one tries again
	for _, e := range entries {
		if info, err := e.Info(); err == nil && e.IsDir() && now.Sub(info.ModTime()) > forgotten {
			_ = os.RemoveAll(filepath.Join(folder, e.Name()))
		}
	}
}
