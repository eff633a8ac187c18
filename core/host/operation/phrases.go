package operation

import (
	_ "embed" // for phrases.txt
	"strings"
)

//go:embed phrases.txt
var phrasesText string

// phrases are what people and agents say when they mean an operation, by its name.
func phrases() map[string][]string {
	said := map[string][]string{}
	for line := range strings.Lines(phrasesText) {
		if name, phrase, is := strings.Cut(strings.TrimSpace(line), ": "); is && !strings.HasPrefix(line, "#") {
			said[name] = append(said[name], phrase)
		}
	}
	return said
}
