package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/md5"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// file is a file, folder or link of an archive. Its owner is root, unless uid says otherwise.
type file struct {
	name string // with slashes, sorted; a folder ends with one
	mode int64
	data []byte
	link string // where a symbolic link leads
	uid  int
}

func byName(a, b file) int { return strings.Compare(a.name, b.name) }

// readTree reads the files below a folder. Programs can be executed by everybody, and all else
// can be read, whatever the umask was.
func readTree(dir string) ([]file, error) {
	var files []file
	err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			return fmt.Errorf("%s is no plain file", name)
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		mode := int64(0o644)
		if info.Mode()&0o100 != 0 {
			mode = 0o755
		}
		files = append(files, file{name: filepath.ToSlash(relative), mode: mode, data: data})
		return nil
	})
	return files, err
}

// tar archives files, with the folders that they are in, sorted by name. root begins all names.
func (r *release) tar(root string, files []file) []byte {
	all := slices.Clone(files)
	if strings.HasSuffix(root, "/") {
		all = append(all, file{mode: 0o755})
	}
	for _, f := range files {
		for dir := path.Dir(strings.TrimSuffix(f.name, "/")); dir != "." && dir != "/"; dir = path.Dir(dir) {
			if name := dir + "/"; !slices.ContainsFunc(all, func(f file) bool { return f.name == name }) {
				all = append(all, file{name: name, mode: 0o755})
			}
		}
	}
	slices.SortFunc(all, byName)
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range all {
		h := &tar.Header{
			Name: root + f.name, Mode: f.mode, Size: int64(len(f.data)), ModTime: r.time, Uid: f.uid, Gid: f.uid,
			Typeflag: tar.TypeReg, Format: tar.FormatUSTAR, Linkname: f.link,
		}
		switch {
		case strings.HasSuffix(h.Name, "/"):
			h.Typeflag = tar.TypeDir
		case f.link != "":
			h.Typeflag = tar.TypeSymlink
		}
		must(w.WriteHeader(h))
		_, err := w.Write(f.data)
		must(err)
	}
	must(w.Close())
	return b.Bytes()
}

// gzipped compresses data. The header holds neither a name nor a time.
func gzipped(data []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(data)
	must(err)
	must(w.Close())
	return b.Bytes()
}

// mcpb is a bundle for programs that start MCP servers: a zip file with a manifest and the program.
func (r *release) mcpb(files []file) []byte {
	const root = "server/"
	manifest := map[string]any{
		"manifest_version": "0.3", "name": "reflectory", "display_name": "Reflectory", "version": r.version,
		"description": "Governed memory and reflection loops for agents", "license": "Apache-2.0",
		"author":        map[string]string{"name": "The Reflectory authors"},
		"compatibility": map[string]any{"platforms": []string{"linux"}},
		"server": map[string]any{
			"type": "binary", "entry_point": root + "reflectory",
			"mcp_config": map[string]any{"command": "${__dirname}/" + root + "reflectory", "args": []string{"mcp"}},
		},
	}
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	add := func(name string, mode int64, data []byte) {
		h := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: r.time}
		h.SetMode(fs.FileMode(mode))
		out, err := w.CreateHeader(h)
		must(err)
		_, err = out.Write(data)
		must(err)
	}
	add("manifest.json", 0o644, jsonOf(manifest))
	for _, f := range files {
		if !strings.Contains(f.name, "/") || strings.HasPrefix(f.name, "plugins/") {
			add(root+f.name, f.mode, f.data)
		}
	}
	must(w.Close())
	return b.Bytes()
}

// must is for what only fails by a mistake in this program: it writes to memory.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// installed are the files as a package puts them into a system.
func installed(files []file) []file {
	var all []file
	for _, f := range files {
		switch {
		case f.name == "reflectory" || strings.HasPrefix(f.name, "plugins/"):
			f.name = "usr/lib/reflectory/" + f.name
		case f.name == "reflectory.service":
			f.name = "usr/lib/systemd/system/" + f.name
		case f.name == "reflectory.sysusers":
			f.name = "usr/lib/sysusers.d/reflectory.conf"
		case f.name == "reflectory.yaml":
			f.name = "etc/reflectory/" + f.name
		case f.name == "completions/reflectory.bash":
			f.name = "usr/share/bash-completion/completions/reflectory"
		case f.name == "completions/_reflectory":
			f.name = "usr/share/zsh/vendor-completions/_reflectory"
		case f.name == "completions/reflectory.fish":
			f.name = "usr/share/fish/vendor_completions.d/reflectory.fish"
		case strings.HasPrefix(f.name, "man/"):
			f.name = "usr/share/man/man1/" + path.Base(f.name)
		case f.name == "LICENSE":
			f.name = "usr/share/doc/reflectory/copyright"
		default:
			f.name = "usr/share/doc/reflectory/" + f.name
		}
		all = append(all, f)
	}
	return append(all, file{name: "usr/bin/reflectory", mode: 0o777, link: "../lib/reflectory/reflectory"})
}

// deb is a package for Debian and its kin: an ar archive of a version, of what dpkg reads, and of
// the files.
func (r *release) deb(files []file) []byte {
	files = installed(files)
	size := 0
	var sums strings.Builder
	slices.SortFunc(files, byName)
	for _, f := range files {
		if size += len(f.data); f.link == "" {
			fmt.Fprintf(&sums, "%x  %s\n", md5.Sum(f.data), f.name)
		}
	}
	control := fmt.Sprintf(`Package: reflectory
Version: %s
Architecture: %s
Maintainer: The Reflectory authors <reflectory@localhost>
Section: utils
Priority: optional
Homepage: https://github.com/reflectory/reflectory
Installed-Size: %d
Recommends: ca-certificates
Description: reflection loops for agents that check and improve their own work
 Generates an output, evaluates it and corrects it, with plugins that the host
 doesn't trust, and remembers what a run learned.
`, strings.ReplaceAll(r.version, "-", "~"), r.arch, (size+1023)/1024)
	postinst := "#!/bin/sh\nset -e\nif command -v systemd-sysusers >/dev/null; then systemd-sysusers reflectory.conf; fi\n" +
		"if [ -d /run/systemd/system ]; then systemctl daemon-reload; fi\n"
	meta := []file{
		{name: "control", mode: 0o644, data: []byte(control)},
		{name: "conffiles", mode: 0o644, data: []byte("/etc/reflectory/reflectory.yaml\n")},
		{name: "md5sums", mode: 0o644, data: []byte(sums.String())},
		{name: "postinst", mode: 0o755, data: []byte(postinst)},
	}
	var b bytes.Buffer
	b.WriteString("!<arch>\n")
	for _, member := range []struct {
		name string
		data []byte
	}{
		{"debian-binary", []byte("2.0\n")}, {"control.tar.gz", gzipped(r.tar("./", meta))}, {"data.tar.gz", gzipped(r.tar("./", files))},
	} {
		fmt.Fprintf(&b, "%-16s%-12d%-6d%-6d%-8o%-10d`\n", member.name, r.time.Unix(), 0, 0, 0o100644, len(member.data))
		b.Write(member.data)
		if len(member.data)%2 == 1 {
			b.WriteByte('\n')
		}
	}
	return b.Bytes()
}
