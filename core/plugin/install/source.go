package install

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// Sources of packages: a folder, an archive on this machine, an archive at an address, or one in a
// registry of OCI artifacts. An archive is copied to a file that only this process has before its
// digest is compared, and unpacked from there: nothing that wasn't compared is looked at.

const (
	// fetchTimeout bounds how long an archive may take to arrive: 512 MiB at 1 MiB a second.
	fetchTimeout = 10 * time.Minute
	// maxRedirects bounds how often a server may send elsewhere: a registry does once or twice.
	maxRedirects = 5
)

// isAddress reports whether a source is an address, rather than a path of this machine.
func isAddress(source string) bool {
	_, err := parseAddress(source)
	return err == nil && len(source) <= 2048 && !strings.ContainsFunc(source, steers)
}

// remote reports whether a source is written as an address, valid or not.
func remote(source string) bool { return strings.Contains(source, "://") }

// parseAddress checks the address of an archive. Over http only this machine is reached, where
// nobody listens in.
func parseAddress(text string) (*url.URL, error) {
	refused := func(why, hint string) error {
		return sdk.Errorf(sdk.Invalid, "source_invalid", "%s can't be the source of a plugin: %s", shown(text), why).WithHint("%s", hint)
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, refused("it is no address", "write https://HOST/FILE.tar.gz or oci://REGISTRY/NAME:VERSION")
	case u.Scheme != "https" && u.Scheme != "http" && u.Scheme != "oci":
		return nil, refused("it is neither a path nor begins with https:// or oci://", "write a folder, a file FILE.tar.gz, https://HOST/FILE.tar.gz or oci://REGISTRY/NAME:VERSION")
	case u.User != nil:
		return nil, refusedUser(u)
	case u.Hostname() == "":
		return nil, refused("it names no host", "write https://HOST/FILE.tar.gz or oci://REGISTRY/NAME:VERSION")
	case u.Fragment != "":
		return nil, refused("it has a fragment", "leave out what follows #")
	case u.Scheme == "http" && !thisMachine(u.Hostname()):
		return nil, refused("http is only for this machine", "write https://")
	}
	if u.Scheme == "oci" {
		_, err = parseReference(text)
	}
	return u, err
}

// refusedUser never shows the password.
func refusedUser(u *url.URL) error {
	return sdk.Errorf(sdk.Invalid, "source_invalid", "the source at %s has a user or a password in it, which the lock would keep", core.Cut(u.Host)).
		WithHint("download the archive yourself, and add the file")
}

// thisMachine reports whether a host is this machine, whatever a resolver says.
func thisMachine(host string) bool {
	if host == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}

// fetched is an archive on this machine: an open file without a name.
type fetched struct {
	// from names the archive in messages.
	from string
	file *os.File
	// source is its address for the lock, and pinned the digest that this source must have, unless
	// the address has it.
	source, pinned string
}

// fetch gets an archive from where its source says, and compares its digest.
func (o AddOptions) fetch(ctx context.Context, source string) (*fetched, error) {
	if !remote(source) {
		return o.open(source)
	}
	u, err := parseAddress(source)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	if u.Scheme == "oci" {
		return o.pull(ctx, source, u)
	}
	if o.SHA256 == "" {
		return nil, sdk.Errorf(sdk.Invalid, "sha256_required", "%s can only be added with the digest that it must have", shown(source)).
			WithHint("add --sha256 DIGEST, as its publisher names it; plugin pack prints it")
	}
	return o.download(ctx, u)
}

// open copies an archive of this machine.
func (o AddOptions) open(file string) (*fetched, error) {
	f, err := os.OpenFile(file, os.O_RDONLY|nonBlocking, 0)
	if err != nil {
		return nil, sdk.Errorf(sdk.NotFound, "package_not_found", "can't read the archive: %w", err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, sdk.Errorf(sdk.Invalid, "package_unreadable", "%s is neither a folder nor a file", file)
	}
	kept, err := keep(f, file, o.SHA256)
	if full, absErr := filepath.Abs(file); err == nil && absErr == nil {
		_, kept.source, err = o.relative(full)
	}
	return kept, err
}

// download gets an archive from an address.
func (o AddOptions) download(ctx context.Context, u *url.URL) (*fetched, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, unreachable(u.Host, err)
	}
	resp, err := o.client(u.Scheme == "http").Do(req)
	if err != nil {
		return nil, unreachable(u.Host, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, sdk.Errorf(sdk.Unavailable, "archive_unreachable", "%s answers %s for %s", u.Host, resp.Status, shown(u.Path)).
			WithHint("check the address")
	}
	if resp.ContentLength > maxArchiveBytes {
		return nil, archiveTooLarge(u.String())
	}
	f, err := keep(resp.Body, u.String(), o.SHA256)
	if err != nil {
		return nil, err
	}
	f.source, f.pinned = u.String(), o.SHA256
	return f, nil
}

// client reaches addresses that an operator could have named, wherever a server redirects to and
// whichever token service it names: over https, and over http on this machine if plain.
func (o AddOptions) client(plain bool) *http.Client {
	next := o.Transport
	if next == nil {
		next = http.DefaultTransport
	}
	return &http.Client{
		Transport: safely{next, plain},
		CheckRedirect: func(_ *http.Request, via []*http.Request) error {
			if len(via) > maxRedirects {
				return fmt.Errorf("it redirects more than %d times", maxRedirects)
			}
			return nil
		},
	}
}

// safely refuses requests to what can't be the source of a package.
type safely struct {
	next  http.RoundTripper
	plain bool
}

func (s safely) RoundTrip(req *http.Request) (*http.Response, error) {
	u := req.URL
	if u.User != nil || u.Scheme != "https" && (u.Scheme != "http" || !s.plain || !thisMachine(u.Hostname())) {
		return nil, sdk.Errorf(sdk.Denied, "redirect_refused", "it leads to %s, and only https addresses are followed", core.Cut(u.Scheme+"://"+u.Host))
	}
	req = req.Clone(req.Context())
	req.Header.Set("Accept-Encoding", "identity") // else an archive might be unpacked on the way
	return s.next.RoundTrip(req)
}

// keep copies an archive to a file of this process alone, and compares its digest. want is "" if
// any will do.
func keep(content io.Reader, from, want string) (_ *fetched, err error) {
	file, err := os.CreateTemp("", "reflectory-archive-")
	if err != nil {
		return nil, copyFailed(from, err)
	}
	defer func() {
		if err != nil {
			_ = file.Close()
		}
		_ = os.Remove(file.Name()) // it stays open
	}()
	h := sha256.New()
	n, err := io.Copy(io.MultiWriter(file, h), io.LimitReader(content, maxArchiveBytes+1))
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		return nil, copyFailed(from, pathErr)
	}
	if err != nil {
		return nil, unreachable(from, err)
	}
	if n > maxArchiveBytes {
		return nil, archiveTooLarge(from)
	}
	got := hex.EncodeToString(h.Sum(nil))
	if want != "" && want != got {
		return nil, wrongDigest(from, want, got)
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return nil, copyFailed(from, err)
	}
	return &fetched{from: from, file: file}, nil
}

func wrongDigest(from, want, got string) *sdk.Error {
	return sdk.Errorf(sdk.Denied, "checksum_mismatch", "%s isn't the archive that was asked for: wanted SHA-256 %s, got %s", from, want, got).
		WithHint("ask its publisher for the right digest; don't use the archive otherwise").
		WithDetail("want", want).WithDetail("got", got)
}

func archiveTooLarge(from string) *sdk.Error {
	return sdk.Errorf(sdk.Exhausted, "package_too_large", "the archive %s has more than %d bytes", from, maxArchiveBytes)
}

// unreachable reports that an archive didn't arrive.
func unreachable(from string, err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	if e, ok := errors.AsType[*sdk.Error](err); ok {
		return sdk.Errorf(e.Code, sdk.ReasonOf(e), "can't get the plugin from %s: %s", from, e.Message)
	}
	if urlErr, ok := errors.AsType[*url.Error](err); ok {
		err = urlErr.Err
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("it takes longer than %s", fetchTimeout)
	}
	return sdk.Errorf(sdk.Unavailable, "archive_unreachable", "can't get the plugin from %s: %w", from, err).
		WithHint("check the address and the network, or download the archive elsewhere and add the file")
}

// isFolder reports whether a source is a folder of this machine. One that isn't there is, unless it
// has the name of an archive.
func isFolder(source string) bool {
	if remote(source) {
		return false
	}
	info, err := os.Stat(filepath.Clean(source))
	if err != nil {
		return !strings.HasSuffix(source, ".gz")
	}
	return info.IsDir()
}
