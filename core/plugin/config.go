package plugin

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

const (
	// maxChecked is how many configs are remembered as right: far more than a workflow
	// has. They take 100 KiB.
	maxChecked = 1024
	// maxProblems is how many of a config's problems a message names.
	maxProblems = 20
)

// checkedConfigs remembers which configs match which schemas. It is safe for
// concurrent use.
type checkedConfigs struct {
	mu    sync.Mutex
	right map[[2]string]struct{} // by the digests of schema and config
}

func (c *checkedConfigs) has(key [2]string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.right[key]
	return ok
}

// add remembers a config, and forgets all others when there are too many: checking a
// config again is cheap.
func (c *checkedConfigs) add(key [2]string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.right == nil || len(c.right) >= maxChecked {
		c.right = map[[2]string]struct{}{}
	}
	c.right[key] = struct{}{}
}

// checkConfig lets the config evaluator check a config against its plugin's schema.
func (s *Supervisor) checkConfig(ctx context.Context, target core.Target) error {
	judge := s.options.ConfigEvaluator
	if target.Plugin == judge || !s.installed(judge) {
		return nil
	}
	manifest, err := s.Describe(ctx, target.Plugin)
	if err != nil || len(manifest.ConfigSchema) == 0 {
		return err
	}
	key := [2]string{core.Digest(manifest.ConfigSchema), target.Digest}
	if s.configs.has(key) {
		return nil
	}
	verdict, err := core.PluginEvaluator(s, core.Target{
		Plugin: judge, Config: jsontext.MustEncode(map[string]any{"schema": manifest.ConfigSchema, "scoring": "strict"}),
	}).Evaluate(ctx, &sdk.EvaluateRequest{Output: shortened(target.Config, s.messageBytes(judge)-largeCall)})
	switch {
	case sdk.CodeOf(err) == sdk.Invalid:
		return sdk.Errorf(sdk.Invalid, "config_schema_invalid", "the config_schema in the manifest of plugin %q: %w", target.Plugin, err).
			WithHint("this is a fault of the plugin; report it to its author")
	case err != nil:
		return sdk.Wrap("check the config of plugin "+target.Plugin, err)
	case !verdict.Verdict.Valid:
		return configInvalid(target.Plugin, verdict.Verdict.Errors)
	}
	s.configs.add(key)
	return nil
}

// Texts of over longText bytes are cut to shownText in a config that is too long for a message.
const (
	longText  = 64 << 10
	shownText = 64
)

// shortened is a config of up to most bytes: in a longer one, long texts are cut, such as the pictures of
// messages. A schema says more about the shape of a config than about the ends of its texts, and the plugin
// itself sees all of them.
func shortened(config json.RawMessage, most int) json.RawMessage {
	if len(config) <= most {
		return config
	}
	var out []byte
	rest := []byte(config)
	for {
		begin := bytes.IndexByte(rest, '"')
		if begin < 0 {
			return append(out, rest...)
		}
		end := begin + 1
		for end < len(rest) && rest[end] != '"' {
			if rest[end] == '\\' {
				end++
			}
			end++
		}
		if end = min(end+1, len(rest)); end-begin <= longText {
			out = append(out, rest[:end]...)
		} else {
			text := rest[begin+1 : begin+1+shownText]
			if escape := bytes.IndexByte(text, '\\'); escape >= 0 {
				text = text[:escape]
			}
			out = append(append(out, rest[:begin+1]...), bytes.ToValidUTF8(text, nil)...)
			out = append(out, '"')
		}
		rest = rest[end:]
	}
}

func (s *Supervisor) installed(name string) bool { return s.messageBytes(name) > 0 }

// messageBytes is the limit of a plugin's messages; 0 if it isn't installed.
func (s *Supervisor) messageBytes(name string) int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	ps := s.pools[name]
	if ps == nil {
		return 0
	}
	return ps.base.plugin.Limits.MessageBytes
}

// MayRecall reports whether a plugin is granted to recall memories by itself.
func (s *Supervisor) MayRecall(name string) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	ps := s.pools[name]
	return ps != nil && slices.Contains(ps.base.plugin.Granted.Host, ServiceRecall)
}

// configInvalid names everything that is wrong with a config.
func configInvalid(plugin string, findings []sdk.Finding) error {
	var problems []string
	for _, f := range findings {
		problem := f.Message
		if f.Path != "" {
			problem = f.Path + ": " + problem
		}
		problems = append(problems, problem)
	}
	text := strings.Join(problems[:min(len(problems), maxProblems)], "; ")
	if more := len(problems) - maxProblems; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return sdk.Errorf(sdk.Invalid, "config_invalid", "the config of plugin %q: %s", plugin, text).
		WithHint("each place is a JSON Pointer into config; the plugin's README and its --describe say what it takes").
		WithDetail("plugin", plugin).WithDetail("problems", problems)
}
