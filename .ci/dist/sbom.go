package main

import (
	"bytes"
	"debug/buildinfo"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"unicode"
)

// program is a Go program of the release, and what it is built from.
type program struct {
	file file
	info *buildinfo.BuildInfo
}

// programsOf reads what the programs among files are built from. A program without that is
// refused, since the list of what is inside would be wrong.
func programsOf(files []file) ([]program, error) {
	var programs []program
	for _, f := range files {
		if !bytes.HasPrefix(f.data, []byte("\x7fELF")) {
			continue
		}
		info, err := buildinfo.Read(bytes.NewReader(f.data))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		programs = append(programs, program{f, info})
	}
	return programs, nil
}

// ownModules is how the paths of the release's own modules begin. They are the programs themselves.
const ownModules = "github.com/reflectory/reflectory/"

// modules are the modules of others in any of the programs, once each, by path and version.
func modules(programs []program) []*debug.Module {
	var all []*debug.Module
	for _, p := range programs {
		for _, m := range p.info.Deps {
			for m.Replace != nil {
				m = m.Replace
			}
			if !strings.HasPrefix(m.Path, ownModules) {
				all = append(all, m)
			}
		}
	}
	order := func(a, b *debug.Module) int { return strings.Compare(a.Path+"@"+a.Version, b.Path+"@"+b.Version) }
	slices.SortFunc(all, order)
	return slices.CompactFunc(all, func(a, b *debug.Module) bool { return order(a, b) == 0 })
}

// The parts of SPDX 2.3 that the list has.
type (
	spdx struct {
		Version       string         `json:"spdxVersion"`
		License       string         `json:"dataLicense"`
		ID            string         `json:"SPDXID"`
		Name          string         `json:"name"`
		Namespace     string         `json:"documentNamespace"`
		Created       created        `json:"creationInfo"`
		Packages      []spdxPackage  `json:"packages"`
		Relationships []relationship `json:"relationships"`
	}
	created struct {
		Created  string   `json:"created"`
		Creators []string `json:"creators"`
	}
	spdxPackage struct {
		ID        string      `json:"SPDXID"`
		Name      string      `json:"name"`
		Version   string      `json:"versionInfo"`
		Download  string      `json:"downloadLocation"`
		License   string      `json:"licenseDeclared"`
		Analyzed  bool        `json:"filesAnalyzed"`
		Checksums []checksum  `json:"checksums,omitempty"`
		Refs      []reference `json:"externalRefs,omitempty"`
	}
	checksum struct {
		Algorithm string `json:"algorithm"`
		Value     string `json:"checksumValue"`
	}
	reference struct {
		Category string `json:"referenceCategory"`
		Type     string `json:"referenceType"`
		Locator  string `json:"referenceLocator"`
	}
	relationship struct {
		From string `json:"spdxElementId"`
		Type string `json:"relationshipType"`
		To   string `json:"relatedSpdxElement"`
	}
)

var notInID = regexp.MustCompile(`[^A-Za-z0-9.-]+`)

func spdxID(text string) string { return "SPDXRef-" + notInID.ReplaceAllString(text, "-") }

// sbom lists the programs with their checksums, and what each is built from, as SPDX 2.3.
func (r *release) sbom(programs []program) []byte {
	name := "reflectory-" + r.version + "-linux-" + r.arch
	doc := spdx{
		Version: "SPDX-2.3", License: "CC0-1.0", ID: "SPDXRef-DOCUMENT", Name: name, Namespace: r.url + "/" + name + ".spdx.json",
		Created: created{r.time.Format("2006-01-02T15:04:05Z"), []string{"Tool: reflectory-dist"}},
	}
	add := func(p spdxPackage, purl string) string {
		p.ID = spdxID(p.Name + "-" + p.Version)
		if p.License == "" {
			p.License = "NOASSERTION"
		}
		p.Download = "NOASSERTION"
		if purl != "" {
			p.Refs = []reference{{"PACKAGE-MANAGER", "purl", purl}}
		}
		if !slices.ContainsFunc(doc.Packages, func(other spdxPackage) bool { return other.ID == p.ID }) {
			doc.Packages = append(doc.Packages, p)
		}
		return p.ID
	}
	for _, p := range programs {
		id := add(spdxPackage{Name: p.file.name, Version: r.version, License: "Apache-2.0", Checksums: []checksum{{"SHA256", digest(p.file.data)}}}, "")
		doc.Relationships = append(doc.Relationships, relationship{"SPDXRef-DOCUMENT", "DESCRIBES", id})
		inside := []string{add(spdxPackage{Name: "stdlib", Version: strings.TrimPrefix(p.info.GoVersion, "go"), License: "BSD-3-Clause"},
			"pkg:golang/stdlib@"+strings.TrimPrefix(p.info.GoVersion, "go"))}
		for _, m := range modules([]program{p}) {
			inside = append(inside, add(spdxPackage{Name: m.Path, Version: m.Version}, "pkg:golang/"+m.Path+"@"+m.Version))
		}
		if lua := luaVersion.FindSubmatch(p.file.data); lua != nil {
			inside = append(inside, add(spdxPackage{Name: "lua", Version: string(lua[1]), License: "MIT"}, "pkg:generic/lua@"+string(lua[1])))
		}
		for _, part := range inside {
			doc.Relationships = append(doc.Relationships, relationship{id, "CONTAINS", part})
		}
	}
	return jsonOf(doc)
}

// luaVersion is in every program that Lua is linked into.
var luaVersion = regexp.MustCompile(`\$LuaVersion: Lua (5\.[0-9.]+[0-9])`)

// notices are the licences of all modules in the programs, as their licences ask for. A module
// without one is refused.
func (r *release) notices(programs []program) ([]byte, error) {
	var b bytes.Buffer
	for _, m := range modules(programs) {
		dir := filepath.Join(r.modules, escaped(m.Path)+"@"+escaped(m.Version))
		entries, err := os.ReadDir(dir)
		if err != nil {
			return nil, err
		}
		found := false
		for _, entry := range entries {
			if !licence.MatchString(entry.Name()) || entry.IsDir() {
				continue
			}
			text, err := os.ReadFile(filepath.Join(dir, entry.Name()))
			if err != nil {
				return nil, err
			}
			found = true
			fmt.Fprintf(&b, "== %s %s: %s\n\n%s\n\n", m.Path, m.Version, entry.Name(), bytes.TrimSpace(text))
		}
		if !found {
			return nil, fmt.Errorf("%s holds no licence", dir)
		}
	}
	return b.Bytes(), nil
}

var licence = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|copyright)([-._].*)?$`)

// escaped is a path or version as the folder of modules has it: with ! before small letters
// instead of capital ones.
func escaped(text string) string {
	var b strings.Builder
	for _, c := range text {
		if unicode.IsUpper(c) {
			b.WriteByte('!')
		}
		b.WriteRune(unicode.ToLower(c))
	}
	return b.String()
}
