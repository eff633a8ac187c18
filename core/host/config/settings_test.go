package config_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/host/config"
)

// Each setting fills a field of its own, and no field is left out.
func TestDefinitions_FillTheConfig(t *testing.T) {
	seen := map[string]bool{}
	once := func(what string) {
		if seen[what] {
			t.Errorf("%s twice", what)
		}
		seen[what] = true
	}
	for _, d := range config.Definitions() {
		once(d.Name)
		if d.Key != "" {
			once("the key " + d.Key)
		}
		if d.Flag != "" {
			once("the flag " + d.Flag)
		}
		if d.Variable != "" {
			once(d.Variable)
			if d.Variable != "REFLECTORY_"+strings.ToUpper(d.Name) && d.Variable != strings.ToUpper(d.Name) { // the latter are everybody's
				t.Errorf("%s is set by %s", d.Name, d.Variable)
			}
		}
		if d.Doc == "" || d.Key+d.Variable+d.Flag == "" {
			t.Errorf("%s isn't documented, or can't be set", d.Name)
		}
	}
	fields := 0
	for f := range reflect.TypeFor[config.Config]().Fields() {
		if f.Type == reflect.TypeFor[config.Setting]() {
			fields++
		}
	}
	c, _, err := load(t, "", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	shown, filled := c.List(), reflect.ValueOf(*c)
	if len(shown) != fields {
		t.Errorf("%d settings, %d fields", len(shown), fields)
	}
	for i := range filled.NumField() {
		if field := filled.Field(i); field.Type() == reflect.TypeFor[config.Setting]() && field.FieldByName("Origin").String() == "" {
			t.Errorf("nothing fills %s", filled.Type().Field(i).Name)
		}
	}
}

func TestConfig_IsAnObjectOfItsSettings(t *testing.T) {
	c, _, err := load(t, "", nil, map[string]string{"agent": "ada <a>"})
	if err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]struct{ Value, Origin, Variable string }
	if err := json.Unmarshal(out, &all); err != nil || len(all) != len(c.List()) {
		t.Fatalf("%v: %s", err, out)
	}
	if got := all["agent"]; got.Value != "ada <a>" || got.Origin != "flag --agent" || got.Variable != "REFLECTORY_AGENT" {
		t.Errorf("%+v", got)
	}
	if !strings.Contains(string(out), `"dev_plugins":{"value":"","origin":"default"}`) {
		t.Errorf("%s", out)
	}
}
