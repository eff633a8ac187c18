package sdktest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"sync"

	"github.com/reflectory/reflectory/sdk"
)

// checkManifest asks the plugin to describe itself. The other cases need the answer.
func (s *suite) checkManifest(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	m, err := s.subject.Describe(ctx)
	if err != nil {
		return err
	}
	s.manifest = m
	if err := m.Validate(); err != nil {
		return err
	}
	if m.Contract != sdk.ContractVersion {
		return fmt.Errorf("contract is %d, and this kit checks version %d", m.Contract, sdk.ContractVersion)
	}
	if len(m.ConfigSchema) > 0 && !bytes.HasPrefix(bytes.TrimSpace(m.ConfigSchema), []byte("{")) {
		return errors.New("config_schema is not a JSON object")
	}
	return nil
}

// kindOf is the kind of plugin that a fixture tests.
func (s *suite) kindOf(f Fixture) (sdk.Kind, error) {
	switch {
	case s.manifest == nil:
		return "", skipped("the plugin did not describe itself")
	case f.Kind != "":
		return f.Kind, nil
	case len(s.manifest.Kinds) == 1:
		return s.manifest.Kinds[0], nil
	}
	return "", fmt.Errorf("the plugin is %v: name the kind that is asked", s.manifest.Kinds)
}

// checkConfigs prepares every config that no fixture expects to be refused, and keeps
// the questions for later cases. A plugin without fixtures is tried with an empty
// config.
func (s *suite) checkConfigs(ctx context.Context) error {
	if s.manifest == nil {
		return skipped("the plugin did not describe itself")
	}
	for _, f := range s.fixtures {
		if f.Want.Error != "" {
			continue
		}
		kind, err := s.kindOf(f)
		if err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
		p, err := s.prepare(ctx, kind, f.Config)
		if err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
		if f.Request != nil {
			steady := !f.Varies && len(s.manifest.Capabilities) == 0
			s.samples = append(s.samples, sample{f.Name, kind, p, f.Config, *f.Request, sdk.Call{}, steady})
		}
	}
	if len(s.fixtures) > 0 {
		return nil
	}
	for _, kind := range s.manifest.Kinds {
		config := json.RawMessage("{}")
		p, err := s.prepare(ctx, kind, config)
		if err != nil {
			return fmt.Errorf("there are no fixtures, and the plugin takes no empty config (%w): add tests/NAME.json with a config and a request", err)
		}
		s.samples = append(s.samples, sample{"no fixture", kind, p, config, Request{Output: json.RawMessage(`"text"`)}, sdk.Call{}, len(s.manifest.Capabilities) == 0})
	}
	return nil
}

func (s *suite) prepare(ctx context.Context, kind sdk.Kind, config json.RawMessage) (Prepared, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	return s.subject.Prepare(ctx, kind, config)
}

// checkRefusals makes invalid configs from a valid one, in each way that the plugin's
// own schema clearly refuses.
func (s *suite) checkRefusals(ctx context.Context) error {
	if s.manifest == nil || len(s.manifest.ConfigSchema) == 0 {
		return skipped("the plugin has no config_schema")
	}
	if len(s.samples) == 0 {
		return skipped("no config is known that the plugin takes")
	}
	q := s.samples[0]
	tried := 0
	for _, bad := range spoiled(s.manifest.ConfigSchema, q.config) {
		tried++
		_, err := s.prepare(ctx, q.kind, bad.config)
		if err == nil {
			return fmt.Errorf("it accepted %s, although %s", cut(string(bad.config)), bad.why)
		}
		if err := checkRefusal(err); err != nil {
			return fmt.Errorf("%s: %w", cut(string(bad.config)), err)
		}
	}
	if tried == 0 {
		return skipped("config_schema has no required, type or additionalProperties to try")
	}
	return nil
}

var reasonForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`) })

// checkRefusal checks a refusal against the contract: its class, a stable reason and a
// message.
func checkRefusal(err error) error {
	e := sdk.AsError(err)
	switch {
	case e.Code != sdk.Invalid:
		return fmt.Errorf("refused as %q instead of invalid: %w", e.Code, err)
	case !reasonForm().MatchString(e.Reason):
		return fmt.Errorf("its reason %q is not a snake_case name of at most 64 bytes: %w", e.Reason, err)
	case e.Message == "":
		return errors.New("refused without a message")
	}
	return nil
}

// badConfig is a config that a schema refuses.
type badConfig struct {
	config json.RawMessage
	why    string
}

// spoiled makes invalid configs from a valid one, for those keywords of the schema's
// root that need no validator: required, type of a property, additionalProperties.
func spoiled(schema, good json.RawMessage) []badConfig {
	var root struct {
		Required   []string `json:"required"`
		Properties map[string]struct {
			Type json.RawMessage `json:"type"`
		} `json:"properties"`
		AdditionalProperties *bool `json:"additionalProperties"`
	}
	var config map[string]json.RawMessage
	if json.Unmarshal(schema, &root) != nil || json.Unmarshal(good, &config) != nil {
		return nil
	}
	var list []badConfig
	spoil := func(why string, change func(map[string]json.RawMessage)) {
		c := maps.Clone(config)
		change(c)
		b, err := json.Marshal(c)
		if err == nil {
			list = append(list, badConfig{b, why})
		}
	}
	for _, key := range root.Required {
		if _, ok := config[key]; ok {
			spoil(key+" is required", func(c map[string]json.RawMessage) { delete(c, key) })
		}
	}
	for _, key := range slices.Sorted(maps.Keys(root.Properties)) {
		if wrong := otherType(root.Properties[key].Type); wrong != "" {
			spoil(key+" has another type", func(c map[string]json.RawMessage) { c[key] = json.RawMessage(wrong) })
		}
	}
	if root.AdditionalProperties != nil && !*root.AdditionalProperties {
		spoil("additionalProperties is false", func(c map[string]json.RawMessage) { c["sdktest_unknown"] = json.RawMessage("1") })
	}
	return list
}

// otherType is a value that doesn't have a schema's type, or "" if the type isn't
// clear.
func otherType(types json.RawMessage) string {
	var one string
	if json.Unmarshal(types, &one) != nil {
		return ""
	}
	switch one {
	case "string", "object", "boolean", "null":
		return "7"
	case "number", "integer", "array":
		return `"seven"`
	}
	return ""
}
