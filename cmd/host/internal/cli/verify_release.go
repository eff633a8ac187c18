package cli

import (
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/cmd/host/internal/term"
	"github.com/reflectory/reflectory/core/plainfile"
	"github.com/reflectory/reflectory/sdk"
)

// releaseKey is the public key of releases, in base64 as between the lines of a PEM file, set by the
// linker for a release; "" is none.
var releaseKey string

// The files that make a folder a release, and their bounds: make dist lists about 15 files.
const (
	sumsFile     = "SHA256SUMS"
	maxSumsBytes = 64 << 10
	maxKeyBytes  = 4 << 10
)

var sumsLine = regexp.MustCompile(`^([0-9a-f]{64})  ([0-9A-Za-z][0-9A-Za-z._/-]{0,199})$`)

func verifyReleaseCommand(out *output) *cobra.Command {
	var key string
	c := &cobra.Command{
		Use: "verify-release DIR", Short: "Check the files of a release that was downloaded",
		Long: `Check the files of a release in a folder: that SHA256SUMS is signed by the key of releases
(SHA256SUMS.sig), and that each file has the SHA-256 in it. Files of the release that
weren't downloaded are only named. A file that the release doesn't have is an error.

Exit codes: 0 all is as it was released, 3 something isn't, 1 the check failed.`,
		Example: "  reflectory verify-release --help",
		RunE: func(_ *cobra.Command, args []string) error {
			v, err := verifyRelease(args[0], key)
			if err != nil {
				return err
			}
			if out.json {
				return exitNotValidUnless(v.OK, out.printJSON(v))
			}
			for _, f := range v.Files {
				fmt.Fprintf(out.Stdout, "%-8s%s\n", f.State, term.Clean(f.Name))
			}
			return exitNotValidUnless(v.OK, nil)
		},
	}
	c.Flags().StringVar(&key, "key", "", "PEM `file` of the public key (default: the key that this program was released with)")
	return c
}

// verifiedRelease is the result of checking a release.
type verifiedRelease struct {
	OK    bool           `json:"ok"`
	Files []releasedFile `json:"files"`
}

// releasedFile is a file of a release, or one that shouldn't be there.
type releasedFile struct {
	Name string `json:"name"`
	// State is ok, changed, unknown (the release has no such file) or missing (it isn't here).
	State string `json:"state"`
}

func verifyRelease(dir, keyFile string) (*verifiedRelease, error) {
	key, err := readReleaseKey(keyFile)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, sdk.Errorf(sdk.NotFound, "release_not_found", "can't open the folder of the release: %w", err)
	}
	defer func() { _ = root.Close() }() // it only reads
	list, err := plainfile.ReadIn(root, sumsFile, maxSumsBytes)
	if err != nil {
		return nil, err
	}
	signature, err := plainfile.ReadIn(root, sumsFile+".sig", maxKeyBytes)
	if err != nil {
		return nil, err
	}
	if !ed25519.Verify(key, list, signature) {
		return nil, sdk.Errorf(sdk.Denied, "signature_invalid", "%s in %s isn't signed by the key of releases, or was changed", sumsFile, dir).
			WithHint("download the release again, and don't use it otherwise")
	}
	sums := map[string]string{}
	v := &verifiedRelease{OK: true}
	for line := range strings.Lines(string(list)) {
		parts := sumsLine.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if parts == nil || !filepath.IsLocal(parts[2]) || sums[parts[2]] != "" {
			return nil, sdk.Errorf(sdk.Invalid, "release_invalid", "%s has the line %.100q", sumsFile, line)
		}
		sums[parts[2]] = parts[1]
		state, err := releasedState(root, parts[2], parts[1])
		if err != nil {
			return nil, err
		}
		v.add(parts[2], state)
	}
	err = fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || sums[name] != "" || name == sumsFile || name == sumsFile+".sig" {
			return err
		}
		v.add(name, "unknown")
		return nil
	})
	return v, err
}

func (v *verifiedRelease) add(name, state string) {
	v.OK = v.OK && (state == "ok" || state == "missing")
	v.Files = append(v.Files, releasedFile{name, state})
}

// releasedState compares a file with its digest. Anything but a plain file is a changed one.
func releasedState(root *os.Root, name, want string) (string, error) {
	info, err := root.Lstat(name)
	switch {
	case err != nil && os.IsNotExist(err):
		return "missing", nil
	case err != nil:
		return "", sdk.Errorf(sdk.Unavailable, "release_unreadable", "can't read %s: %w", name, err)
	case !info.Mode().IsRegular():
		return "changed", nil
	}
	file, err := root.Open(name)
	if err != nil {
		return "", sdk.Errorf(sdk.Unavailable, "release_unreadable", "can't read %s: %w", name, err)
	}
	defer file.Close()
	h := sha256.New()
	if _, err := io.Copy(h, file); err != nil {
		return "", sdk.Errorf(sdk.Unavailable, "release_unreadable", "can't read %s: %w", name, err)
	}
	if hex.EncodeToString(h.Sum(nil)) != want {
		return "changed", nil
	}
	return "ok", nil
}

// readReleaseKey reads the key from a file, or takes the program's own.
func readReleaseKey(file string) (ed25519.PublicKey, error) {
	text := []byte("-----BEGIN PUBLIC KEY-----\n" + releaseKey + "\n-----END PUBLIC KEY-----\n")
	switch {
	case file != "":
		var err error
		if text, err = plainfile.Read(file, maxKeyBytes); err != nil {
			return nil, err
		}
	case releaseKey == "":
		return nil, sdk.Errorf(sdk.Invalid, "key_missing", "this program wasn't released with a key").
			WithHint("name the public key of releases, from where you trust it, with --key")
	}
	if block, _ := pem.Decode(text); block != nil {
		if parsed, err := x509.ParsePKIXPublicKey(block.Bytes); err == nil {
			if key, ok := parsed.(ed25519.PublicKey); ok {
				return key, nil
			}
		}
	}
	return nil, sdk.Errorf(sdk.Invalid, "key_invalid", "%s holds no ed25519 public key in PEM", file)
}
