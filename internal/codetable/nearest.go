package codetable

import "strings"

// Longest word that is compared, in bytes: names are shorter.
const longestWord = 64

// Nearest is the known word that a misspelled one most likely means: the same but for
// case, "-" and "_", else one that is at most two letters away, or one for a short word.
// Empty is none.
func Nearest(word string, known []string) string {
	if word == "" || len(word) > longestWord {
		return ""
	}
	best, least := "", 3
	if len(word) < 5 {
		least = 2
	}
	plain := plainWord(word)
	for _, other := range known {
		if other == word || len(other)-len(word) >= least || len(word)-len(other) >= least && plainWord(other) != plain {
			continue
		}
		if plainWord(other) == plain {
			return other
		}
		if d := distance(plain, plainWord(other), least); d < least {
			best, least = other, d
		}
	}
	return best
}

// DidYouMean is a hint with the nearest of some words; empty where there is none.
func DidYouMean(word string, known []string) string {
	if near := Nearest(word, known); near != "" {
		return `did you mean "` + near + `"?`
	}
	return ""
}

func plainWord(word string) string {
	return strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToLower(word))
}

// distance counts the letters that are added, left out, changed, or exchanged with their
// neighbour, and gives up at most.
func distance(a, b string, most int) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		near := i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
			near = min(near, row[j])
		}
		if near >= most {
			return most
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
