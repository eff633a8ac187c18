package wire

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/reflectory/reflectory/sdk"
)

// maxStart limits the start message: two certificates and a key are 2 KiB.
const maxStart = 64 << 10

// Start is the host's first message to a plugin's process: one line of JSON on its
// standard input, which stays open for as long as the host lives. It is sent this way
// because nobody else can read it, unlike the environment. A plugin may ignore the
// message, and any part of it that the plugin doesn't know.
type Start struct {
	// LogLevel is the lowest level that the host keeps: "trace", "debug", "info",
	// "warn" or "error". Default "info".
	LogLevel string `json:"log_level,omitempty"`
	// MessageBytes limits one message in each direction. 0 means [DefaultMessageBytes].
	MessageBytes int `json:"message_bytes,omitempty"`
	// Parallel is how many calls may run at a time. 0 means the manifest's value.
	Parallel int `json:"parallel,omitempty"`
	// TLS, if set, has the certificates to serve with.
	TLS *StartTLS `json:"tls,omitempty"`
}

// StartTLS holds the plugin's own certificate and key, made by the host for
// this one process, and the only client certificate to accept. All are PEM.
type StartTLS struct {
	Certificate     string `json:"certificate"`
	Key             string `json:"key"`
	HostCertificate string `json:"host_certificate"`
}

// Encode returns the line to write.
func (s *Start) Encode() ([]byte, error) {
	b, err := json.Marshal(s)
	if err != nil {
		return nil, sdk.Errorf(sdk.Internal, "encode", "encode the start message: %w", err)
	}
	return append(b, '\n'), nil
}

// ReadStart reads the start message, at most 64 KiB, and doesn't read what follows.
func ReadStart(r *bufio.Reader) (*Start, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if line = append(line, part...); len(line) > maxStart {
			return nil, startInvalid("it is over %d bytes long", maxStart)
		}
		if err == nil {
			break
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return nil, startInvalid("%w", err)
		}
	}
	s := new(Start)
	if err := json.Unmarshal(bytes.TrimSpace(line), s); err != nil {
		return nil, startInvalid("%w", err)
	}
	return s, nil
}

func startInvalid(format string, args ...any) *sdk.Error {
	return sdk.Errorf(sdk.Invalid, "start_invalid", "the host's start message on standard input: "+format, args...).
		WithHint("a host writes it; don't start plugins by hand")
}
