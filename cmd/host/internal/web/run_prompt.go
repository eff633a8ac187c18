package web

import (
	"fmt"
	"strings"

	"github.com/reflectory/reflectory/core"
)

// promptName says whose prompt it is.
func promptName(p *core.Prompt) string {
	name := "Prompt to " + string(p.Role)
	if p.Step != "" {
		name += " (" + line(p.Step, 80) + ")"
	}
	return name
}

// promptText is a prompt as a text: each message below a line with its role.
func promptText(p *core.Prompt) string {
	var b strings.Builder
	switch {
	case p.Purged:
		b.WriteString("A memory that the run had received was purged, so the texts were removed.\n")
	case p.Withheld == core.PromptDigests:
		b.WriteString("The workflow records only digests.\n")
	case p.Withheld == core.PromptRecall:
		b.WriteString("A plugin of the workflow may recall memories by itself, so the texts weren't kept.\n")
	case p.Withheld != "":
		b.WriteString("The prompt may repeat turns of a session, so its texts weren't kept.\n")
	}
	for i, m := range p.Messages {
		if b.Len() > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "[%d] %s, %d bytes", i+1, m.Role, m.Bytes)
		if m.Digest != "" {
			b.WriteString(", " + m.Digest)
		}
		b.WriteString("\n")
		if m.Text != "" {
			b.WriteString(m.Text + "\n")
		}
		if m.Text != "" && len(m.Text) < m.Bytes {
			b.WriteString("… the rest wasn't kept\n")
		}
	}
	return b.String()
}
