package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/core/host/config"
)

// surroundings are the variables that the program reads but that aren't settings.
func surroundings() [][2]string {
	return [][2]string{
		{tokenVariable, "The token that is sent to the server in REFLECTORY_SERVER or --server. No flag takes a token, since every user of a machine can see the arguments of programs"},
		{clientSecretVariable, "The client secret of a server at the issuer in oidc.issuer, for browser logins; unset if the client has none"},
		{"XDG_DATA_HOME, HOME", "The user's data home: $XDG_DATA_HOME, else $HOME/.local/share"},
		{"NO_COLOR", "Any value turns off colours, and progress that rewrites its line"},
		{"TERM", "The value dumb has the same effect"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT", "Where traces are sent by OpenTelemetry's protocol over HTTP, such as http://127.0.0.1:4318; without it, no traces are made. OpenTelemetry's other variables, such as OTEL_EXPORTER_OTLP_HEADERS, apply too"},
		{"TMPDIR", "Folder for temporary files, such as the copies of plugins that run"},
	}
}

// environmentTopic is the help on environment variables: a page, not a command.
func environmentTopic() *cobra.Command {
	c := &cobra.Command{Use: "environment", Short: "All environment variables"}
	c.SetHelpFunc(func(c *cobra.Command, args []string) { // no other command makes the page
		c.Long = environmentHelp()
		help(c, args)
	})
	return c
}

// environmentHelp lists every variable, from the table of settings.
func environmentHelp() string {
	var page strings.Builder
	paragraph := func(indent, text string) { page.WriteString(wrapped(text, indent, helpWidth)) }
	paragraph("", "A variable overrides its key in reflectory.yaml, and its flag overrides the variable. An empty variable counts as not set. reflectory config show prints each value and its origin.")
	for _, d := range config.Definitions() {
		if d.Variable == "" {
			continue
		}
		page.WriteString("\n" + d.Variable + "\n")
		paragraph("    ", settingHelp(d))
	}
	page.WriteString("\n")
	paragraph("", "API keys are in variables that the settings above, a workflow (settings.llm.api_key_env) or a plugin.yaml (capabilities: {env}) name. A plugin sees only the variables that it was granted.")
	for _, v := range surroundings() {
		page.WriteString("\n" + v[0] + "\n")
		paragraph("    ", v[1]+".")
	}
	return strings.TrimSuffix(page.String(), "\n")
}

// settingHelp describes a setting, where else it can be set, and its default.
func settingHelp(d config.Definition) string {
	text := strings.ToUpper(d.Doc[:1]) + d.Doc[1:] + "."
	flag := ""
	if d.Flag != "" {
		flag = dashed(d.Flag)
	}
	for _, fact := range [][2]string{{"One of", strings.Join(d.Words, ", ")}, {"Flag:", flag}, {"Key:", d.Key}, {"Default:", d.Default}} {
		if fact[1] != "" {
			text += " " + fact[0] + " " + fact[1] + "."
		}
	}
	return text
}

// wrapped wraps a text to lines of up to width characters, including the indent. A longer
// word gets its own line.
func wrapped(text, indent string, width int) string {
	var out strings.Builder
	line := indent
	for word := range strings.FieldsSeq(text) {
		if line != indent && len([]rune(line))+1+len([]rune(word)) > width {
			out.WriteString(line + "\n")
			line = indent
		}
		if line != indent {
			line += " "
		}
		line += word
	}
	return out.String() + line + "\n"
}
