package main

import (
	"encoding/json"
	"time"
)

// imageUser is who the image runs as, whom no system has: nonroot of distroless images.
const imageUser = 65532

// The parts of an OCI image (image-spec 1.1).
type (
	descriptor struct {
		MediaType   string            `json:"mediaType"`
		Digest      string            `json:"digest"`
		Size        int               `json:"size"`
		Platform    *platform         `json:"platform,omitempty"`
		Annotations map[string]string `json:"annotations,omitempty"`
	}
	platform struct {
		Architecture string `json:"architecture"`
		OS           string `json:"os"`
	}
	manifest struct {
		SchemaVersion int          `json:"schemaVersion"`
		MediaType     string       `json:"mediaType"`
		Config        *descriptor  `json:"config,omitempty"`
		Layers        []descriptor `json:"layers,omitempty"`
		Manifests     []descriptor `json:"manifests,omitempty"`
	}
	imageConfig struct {
		platform
		Created time.Time `json:"created"`
		Config  settings  `json:"config"`
		RootFS  rootFS    `json:"rootfs"`
	}
	settings struct {
		User         string              `json:"User"`
		Env          []string            `json:"Env"`
		Entrypoint   []string            `json:"Entrypoint"`
		Volumes      map[string]struct{} `json:"Volumes"`
		WorkingDir   string              `json:"WorkingDir"`
		ExposedPorts map[string]struct{} `json:"ExposedPorts"`
		Labels       map[string]string   `json:"Labels"`
		Healthcheck  healthcheck         `json:"Healthcheck"`
	}
	// healthcheck is Docker's, which OCI leaves out; times are in nanoseconds.
	healthcheck struct {
		Test     []string      `json:"Test"`
		Interval time.Duration `json:"Interval"`
		Timeout  time.Duration `json:"Timeout"`
	}
	rootFS struct {
		Type    string   `json:"type"`
		DiffIDs []string `json:"diff_ids"`
	}
)

// image is an archive of an OCI image layout with one layer and no base: the programs are static.
func (r *release) image(files []file) []byte {
	root := installed(files)
	root = append(root,
		file{name: "etc/passwd", mode: 0o644, data: []byte("root:x:0:0:root:/root:/sbin/nologin\nreflectory:x:65532:65532::/var/lib/reflectory:/sbin/nologin\n")},
		file{name: "etc/group", mode: 0o644, data: []byte("root:x:0:\nreflectory:x:65532:\n")},
		file{name: "tmp/", mode: 0o1777}, file{name: "var/lib/reflectory/", mode: 0o700, uid: imageUser})
	if r.certificates != nil {
		root = append(root, file{name: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, data: r.certificates})
	}
	plain := r.tar("", root)
	var blobs []file
	add := func(mediaType string, data []byte) descriptor {
		sum := digest(data)
		blobs = append(blobs, file{name: "blobs/sha256/" + sum, mode: 0o644, data: data})
		return descriptor{MediaType: mediaType, Digest: "sha256:" + sum, Size: len(data)}
	}
	layer := add("application/vnd.oci.image.layer.v1.tar+gzip", gzipped(plain))
	config := add("application/vnd.oci.image.config.v1+json", jsonOf(imageConfig{
		platform: platform{Architecture: r.arch, OS: "linux"}, Created: r.time,
		Config: settings{
			User: "65532:65532", WorkingDir: "/var/lib/reflectory",
			Env:          []string{"PATH=/usr/bin", "REFLECTORY_DATA_DIR=/var/lib/reflectory"},
			Entrypoint:   []string{"/usr/bin/reflectory"},
			Volumes:      map[string]struct{}{"/var/lib/reflectory": {}},
			ExposedPorts: map[string]struct{}{"7842/tcp": {}},
			Labels:       map[string]string{"org.opencontainers.image.version": r.version, "org.opencontainers.image.licenses": "Apache-2.0"},
			Healthcheck:  healthcheck{[]string{"CMD", "/usr/bin/reflectory", "status", "--json"}, 30 * time.Second, 10 * time.Second},
		},
		RootFS: rootFS{Type: "layers", DiffIDs: []string{"sha256:" + digest(plain)}},
	}))
	const manifestType = "application/vnd.oci.image.manifest.v1+json"
	image := add(manifestType, jsonOf(manifest{SchemaVersion: 2, MediaType: manifestType, Config: &config, Layers: []descriptor{layer}}))
	image.Platform = &platform{Architecture: r.arch, OS: "linux"}
	image.Annotations = map[string]string{"org.opencontainers.image.ref.name": r.version}
	index := manifest{SchemaVersion: 2, MediaType: "application/vnd.oci.image.index.v1+json", Manifests: []descriptor{image}}
	return r.tar("", append(blobs,
		file{name: "index.json", mode: 0o644, data: jsonOf(index)},
		file{name: "oci-layout", mode: 0o644, data: []byte(`{"imageLayoutVersion":"1.0.0"}`)}))
}

func jsonOf(v any) []byte {
	text, err := json.MarshalIndent(v, "", "  ")
	must(err)
	return append(text, '\n')
}
