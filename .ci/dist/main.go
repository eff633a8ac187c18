// Command dist packs what make dist built into a release. The same files, version and time make
// the same bytes, whatever the folder, its order, its owners and its dates.
//
//	go run ./.ci/dist -stage DIR -out DIR -version V -time SECONDS [-arch "amd64 arm64"] [-key KEY.pem -public BASE64]
//
// The stage has a folder for each architecture with what its archive holds: the program, plugins/ and texts.
package main

import (
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// release is what all parts of a release have in common.
type release struct {
	version, out string
	// arch is the architecture that is packed, and digests are the archives' SHA-256 by architecture.
	arch    string
	digests map[string]string
	// deploy is the folder of the templates.
	deploy string
	// url is where the release's files are downloaded from.
	url string
	// time is the commit's, which every file in an archive gets.
	time time.Time
	// key signs the list of checksums. nil signs nothing.
	key ed25519.PrivateKey
	// modules is the folder with the sources of modules, for their licences.
	modules string
	// certificates are the authorities' certificates, for the image.
	certificates []byte
	// written are the names of the files that the list of checksums has.
	written []string
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "dist:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	r := &release{digests: map[string]string{}}
	flags := flag.NewFlagSet("dist", flag.ContinueOnError)
	stage := flags.String("stage", "", "the folder with a folder for each architecture")
	archs := flags.String("arch", "amd64", "the architectures, as Go names them, with spaces between them")
	seconds := flags.Int64("time", 0, "the time of the commit, in seconds since 1970")
	keyFile := flags.String("key", "", "an ed25519 private key in PEM, which signs SHA256SUMS")
	public := flags.String("public", "", "the public key that the program checks releases with, in base64")
	certificates := flags.String("certificates", "", "a file with the certificates of authorities, for the image")
	flags.StringVar(&r.out, "out", "", "the folder for the release")
	flags.StringVar(&r.version, "version", "", "the version, such as 0.1.0")
	flags.StringVar(&r.deploy, "deploy", "deploy", "the folder of the templates")
	flags.StringVar(&r.url, "url", "", "where the files of the release are downloaded from")
	flags.StringVar(&r.modules, "modules", "", "the folder with the sources of modules, for their licences")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *stage == "" || r.out == "" || r.version == "" || *seconds <= 0 || flags.NArg() > 0 {
		return errors.New("name -stage, -out, -version and -time")
	}
	r.time = time.Unix(*seconds, 0).UTC()
	var err error
	if *keyFile != "" {
		if r.key, err = readKey(*keyFile, *public); err != nil {
			return err
		}
	}
	if *certificates != "" {
		if r.certificates, err = os.ReadFile(*certificates); err != nil {
			return err
		}
	}
	for _, r.arch = range strings.Fields(*archs) {
		files, err := readTree(filepath.Join(*stage, r.arch))
		if err != nil {
			return err
		}
		if err := r.pack(files); err != nil {
			return err
		}
	}
	if err := r.installers(); err != nil {
		return err
	}
	return r.sums()
}

// pack writes what the release has for an architecture.
func (r *release) pack(files []file) error {
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	programs, err := programsOf(files)
	if err != nil {
		return err
	}
	sbom := r.sbom(programs)
	notices, err := r.notices(programs)
	if err != nil {
		return err
	}
	files = append(files, file{name: "sbom.spdx.json", mode: 0o644, data: sbom}, file{name: "NOTICES", mode: 0o644, data: notices})
	slices.SortFunc(files, byName)
	bare := slices.DeleteFunc(slices.Clone(files), func(f file) bool { return strings.HasPrefix(f.name, "plugins/") })

	name := fmt.Sprintf("reflectory-%s-linux-%s", r.version, r.arch)
	for _, a := range []struct {
		name  string
		files []file
	}{{name, files}, {name + "-without-plugins", bare}} {
		data := gzipped(r.tar(a.name+"/", a.files))
		if a.name == name {
			r.digests[r.arch] = digest(data)
		}
		if err := r.write(a.name+".tar.gz", data); err != nil {
			return err
		}
	}
	if err := r.write(fmt.Sprintf("reflectory_%s_%s.deb", r.version, r.arch), r.deb(files)); err != nil {
		return err
	}
	if err := r.write(name+".oci.tar", r.image(files)); err != nil {
		return err
	}
	if err := r.write(name+".mcpb", r.mcpb(files)); err != nil {
		return err
	}
	return r.write(name+".spdx.json", sbom)
}

// write writes a file of the release, which the list of checksums has.
func (r *release) write(name string, data []byte) error {
	file := filepath.Join(r.out, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	mode := os.FileMode(0o644)
	if strings.HasPrefix(string(data), "#!") {
		mode = 0o755
	}
	r.written = append(r.written, name)
	return os.WriteFile(file, data, mode)
}

// installers fills in the templates of what downloads an archive: each knows the archives' checksums, "" of
// an architecture that the release isn't for.
func (r *release) installers() error {
	fill := strings.NewReplacer("@VERSION@", r.version, "@URL@", r.url, "@AMD64@", r.digests["amd64"], "@ARM64@", r.digests["arm64"])
	for _, name := range []string{"install.sh", "reflectory.py", "npm/package.json", "npm/reflectory.js", "server.json"} {
		text, err := os.ReadFile(filepath.Join(r.deploy, "release", filepath.FromSlash(name)))
		if err != nil {
			return err
		}
		if err := r.write(name, []byte(fill.Replace(string(text)))); err != nil {
			return err
		}
	}
	return nil
}

// sums writes the list of checksums, as sha256sum -c reads it, and signs it.
func (r *release) sums() error {
	var list strings.Builder
	slices.Sort(r.written)
	for _, name := range r.written {
		data, err := os.ReadFile(filepath.Join(r.out, filepath.FromSlash(name)))
		if err != nil {
			return err
		}
		fmt.Fprintf(&list, "%s  %s\n", digest(data), name)
	}
	if err := r.write("SHA256SUMS", []byte(list.String())); err != nil || r.key == nil {
		return err
	}
	return r.write("SHA256SUMS.sig", ed25519.Sign(r.key, []byte(list.String())))
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// readKey reads the key of releases, whose public part is in the program. It never shows what the file
// contains in an error.
func readKey(file, public string) (ed25519.PrivateKey, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if block, _ := pem.Decode(text); block != nil {
		if parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes); err == nil {
			if key, ok := parsed.(ed25519.PrivateKey); ok {
				der, err := x509.MarshalPKIXPublicKey(key.Public())
				if err == nil && base64.StdEncoding.EncodeToString(der) != public {
					err = fmt.Errorf("the program checks releases with another key than %[1]s: openssl pkey -in %[1]s -pubout -out deploy/release/key.pem", file)
				}
				return key, err
			}
		}
	}
	return nil, fmt.Errorf("%s holds no ed25519 private key in PEM; make one: openssl genpkey -algorithm ed25519 -out KEY.pem", file)
}
