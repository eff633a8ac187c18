package embed

// isStop is whether a word says little about the subject of a text: the most common
// English words, and common words of conversation. Few words of other languages look the
// same, and those still count a little.
func isStop(word string) bool {
	switch word {
	case "a", "about", "after", "again", "all", "also", "am", "an", "and", "any", "are", "as", "at",
		"be", "because", "been", "before", "being", "both", "but", "by", "can", "could", "d", "did", "didn",
		"do", "does", "doesn", "doing", "don", "down", "during", "each", "few", "for", "from", "further",
		"get", "go", "going", "good", "got", "great", "had", "has", "have", "having", "he", "her", "here",
		"hers", "hey", "hi", "him", "his", "how", "i", "if", "in", "into", "is", "isn", "it", "its", "just",
		"know", "like", "ll", "m", "many", "me", "more", "most", "much", "my", "no", "nor", "not", "now",
		"of", "off", "oh", "ok", "okay", "on", "once", "only", "or", "other", "our", "out", "over", "own",
		"re", "really", "s", "same", "she", "should", "so", "some", "such", "sure", "t", "than", "thank",
		"thanks", "that", "the", "their", "them", "then", "there", "these", "they", "think", "this", "those",
		"through", "to", "too", "under", "until", "up", "us", "ve", "very", "was", "wasn", "we", "well",
		"were", "what", "when", "where", "which", "while", "who", "whom", "why", "will", "with", "won",
		"would", "wow", "yeah", "yes", "you", "your", "yours":
		return true
	}
	return false
}
