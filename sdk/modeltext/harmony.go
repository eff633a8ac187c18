package modeltext

import (
	"regexp"
	"strings"
)

// gpt-oss writes messages in channels, of which only "final" is the answer:
//
//	<|channel|>analysis<|message|>…<|end|><|start|>assistant<|channel|>final<|message|>…<|return|>
//
// Some endpoints pass that on as it is, or without its special tokens, which leaves
// "analysis…assistantfinal…".
const (
	channelToken = "<|channel|>"
	messageToken = "<|message|>"
	startToken   = "<|start|>"
)

// messageEnd ends a message of a channel.
var messageEnd = regexp.MustCompile(`<\|(?:end|return|call|start|channel)\|>`)

// bareChannels is a reply without the special tokens. A word that goes on in lower case, as in
// "analysis of", is prose.
var bareChannels = regexp.MustCompile(`^(?:analysis|commentary)\p{Lu}`)

const bareFinal = "assistantfinal"

// channelsIn lists all that isn't the final channel, or nothing if there are no channels.
func channelsIn(text string) []span {
	trimmed := strings.TrimSpace(strings.TrimPrefix(text, byteOrderMark))
	if strings.HasPrefix(trimmed, channelToken) || strings.HasPrefix(trimmed, startToken) ||
		strings.Contains(text, startToken+"assistant"+channelToken) {
		return outsideFinal(text)
	}
	if strings.HasPrefix(trimmed, "analysis") || strings.HasPrefix(trimmed, "commentary") {
		if i := strings.LastIndex(text, bareFinal); i >= 0 {
			return []span{{0, i + len(bareFinal)}}
		}
		if bareChannels.MatchString(trimmed) {
			return []span{{0, len(text)}}
		}
	}
	return nil
}

func outsideFinal(text string) (spans []span) {
	from := 0 // where the part began that isn't final
	for at := 0; ; {
		i := strings.Index(text[at:], channelToken)
		if i < 0 {
			break
		}
		at += i + len(channelToken)
		i = strings.Index(text[at:], messageToken)
		if i < 0 {
			break
		}
		name, _, _ := strings.Cut(text[at:at+i], "<")
		at += i + len(messageToken)
		end := len(text)
		if found := messageEnd.FindStringIndex(text[at:]); found != nil {
			end = at + found[0]
		}
		if strings.HasPrefix(strings.TrimSpace(name), "final") {
			spans = append(spans, span{from, at})
			from = end
		}
		at = end
	}
	if from < len(text) {
		spans = append(spans, span{from, len(text)})
	}
	return spans
}
