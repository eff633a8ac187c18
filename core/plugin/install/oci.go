package install

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry"
	orasremote "oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"github.com/reflectory/reflectory/sdk"
)

// maxManifestBytes bounds the manifest of an artifact, whose one layer takes 300 bytes.
const maxManifestBytes = 256 << 10

// parseReference checks the address of an artifact: oci://REGISTRY/NAME:VERSION, or with
// @sha256:DIGEST.
func parseReference(source string) (registry.Reference, error) {
	_, text, _ := strings.Cut(source, "://")
	ref, err := registry.ParseReference(text)
	if err == nil && ref.Reference == "" {
		err = errors.New("it names no version")
	}
	if err != nil {
		return ref, sdk.Errorf(sdk.Invalid, "source_invalid", "%s can't be the source of a plugin: %w", shown(source), err).
			WithHint("write oci://REGISTRY/NAME:VERSION")
	}
	return ref, nil
}

// pull gets an artifact from a registry without a login: its manifest, by version or digest, and the
// archive in it. What the registry sends counts only if it has the digests. A registry on this
// machine is reached over http.
func (o AddOptions) pull(ctx context.Context, source string, u *url.URL) (*fetched, error) {
	ref, err := parseReference(source)
	if err != nil {
		return nil, err
	}
	plain := thisMachine(u.Hostname())
	repo := &orasremote.Repository{
		Reference: ref, PlainHTTP: plain, Client: &auth.Client{Client: o.client(plain)},
		ManifestMediaTypes: []string{ocispec.MediaTypeImageManifest},
	}
	desc, body, err := repo.FetchReference(ctx, ref.Reference)
	if err != nil {
		return nil, refusedByRegistry(ref, err)
	}
	defer body.Close()
	if desc.Size > maxManifestBytes {
		return nil, notAnArtifact(source, errors.New("its manifest is too large"))
	}
	text, err := content.ReadAll(body, desc)
	if err != nil {
		return nil, notWhatItNamed(ref, err)
	}
	layer, err := archiveOf(source, text)
	if err != nil {
		return nil, err
	}
	blob, err := repo.Blobs().Fetch(ctx, *layer)
	if err != nil {
		return nil, refusedByRegistry(ref, err)
	}
	defer blob.Close()
	f, err := keep(blob, source, layer.Digest.Encoded())
	if err != nil {
		return nil, err
	}
	if o.SHA256 != "" && o.SHA256 != layer.Digest.Encoded() {
		_ = f.file.Close()
		return nil, wrongDigest(source, o.SHA256, layer.Digest.Encoded())
	}
	name, _, _ := strings.Cut(source, "@")
	f.source = name + "@" + desc.Digest.String()
	return f, nil
}

// archiveOf returns the one layer of an artifact.
func archiveOf(source string, manifest []byte) (*ocispec.Descriptor, error) {
	var m ocispec.Manifest
	if err := json.Unmarshal(manifest, &m); err != nil {
		return nil, notAnArtifact(source, err)
	}
	switch {
	case len(m.Layers) != 1:
		return nil, notAnArtifact(source, errors.New("a plugin is an artifact with one layer, the archive for all platforms"))
	case m.Layers[0].Digest.Validate() != nil || m.Layers[0].Digest.Algorithm() != "sha256":
		return nil, notAnArtifact(source, errors.New("its layer has no SHA-256"))
	case m.Layers[0].Size > maxArchiveBytes:
		return nil, archiveTooLarge(source)
	}
	return &m.Layers[0], nil
}

func notAnArtifact(source string, err error) error {
	return sdk.Errorf(sdk.Invalid, "archive_invalid", "%s is no artifact with a plugin: %w", source, err).
		WithHint("push an archive of plugin pack: oras push REGISTRY/NAME:VERSION FILE.tar.gz")
}

// notWhatItNamed reports a registry that sends other bytes than it named.
func notWhatItNamed(ref registry.Reference, err error) error {
	if e, ok := errors.AsType[*sdk.Error](err); ok {
		return e
	}
	return sdk.Errorf(sdk.Denied, "checksum_mismatch", "the registry %s sends something else than it names: %w", ref.Registry, err).
		WithHint("don't use the package; ask its publisher")
}

// refusedByRegistry reports why a registry gives nothing.
func refusedByRegistry(ref registry.Reference, err error) error {
	answer, answered := errors.AsType[*errcode.ErrorResponse](err)
	switch {
	case errors.Is(err, errdef.ErrNotFound):
		return sdk.Errorf(sdk.NotFound, "archive_not_found", "the registry %s has no %s", ref.Registry, ref.Repository+":"+ref.Reference).
			WithHint("check the name and the version")
	case errors.Is(err, auth.ErrBasicCredentialNotFound), answered && (answer.StatusCode == http.StatusUnauthorized || answer.StatusCode == http.StatusForbidden):
		return sdk.Errorf(sdk.Denied, "registry_denied", "the registry %s gives %s to nobody without a login", ref.Registry, ref.Repository).
			WithHint("this program never logs in: download the archive with a client of the registry, and add the file")
	}
	return unreachable(ref.Registry, err)
}
