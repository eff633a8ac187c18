package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/config"
)

// The files that deploy hosts name settings that exist, and the pages that say whether one
// lives and is ready.
func TestDeploy_NamesWhatExists(t *testing.T) {
	variables := []string{"REFLECTORY_DATA_DIR"}
	for _, d := range config.Definitions() {
		variables = append(variables, d.Variable)
	}
	flags, err := os.ReadFile("internal/cli/reach.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"compose.yml", "kubernetes.yml", "Dockerfile"} {
		text, err := os.ReadFile("../../deploy/" + name)
		if err != nil {
			t.Fatal(err)
		}
		for _, variable := range regexp.MustCompile(`REFLECTORY_[A-Z_]+`).FindAllString(string(text), -1) {
			if !slices.Contains(variables, variable) {
				t.Errorf("%s: no setting has the variable %s", name, variable)
			}
		}
		command := regexp.MustCompile(`\[serve,[^\]]*\]`).FindString(string(text))
		for _, flag := range regexp.MustCompile(`--([a-z-]+)`).FindAllStringSubmatch(command, -1) {
			if !strings.Contains(string(flags), `"`+flag[1]+`"`) {
				t.Errorf("%s: serve has no --%s", name, flag[1])
			}
		}
		tokens := regexp.MustCompile(`--scope ([^ \n]+)`).FindAllStringSubmatch(string(text), -1)
		for _, scope := range tokens {
			if !slices.Contains(core.Scopes(), core.Scope(scope[1])) {
				t.Errorf("%s: a token can't have the scope %s", name, scope[1])
			}
		}
		if name != "Dockerfile" && (!strings.Contains(string(text), "token new ") || tokens == nil) {
			t.Errorf("%s makes no token, without which no host that others reach starts", name)
		}
		if name != "Dockerfile" && (!strings.Contains(string(text), "/readyz") || command == "") {
			t.Errorf("%s doesn't ask whether a host is ready", name)
		}
	}
}
