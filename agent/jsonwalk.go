package agent

// jsonWalk goes through valid JSON without decoding it. Of other text it may say
// anything, but it ends.
type jsonWalk struct {
	text []byte
	at   int
}

// peek passes over space and returns the byte that follows, 0 at the end.
func (w *jsonWalk) peek() byte {
	for w.at < len(w.text) {
		switch c := w.text[w.at]; c {
		case ' ', '\n', '\t', '\r':
			w.at++
		default:
			return c
		}
	}
	return 0
}

func (w *jsonWalk) take(c byte) bool {
	if w.peek() != c {
		return false
	}
	w.at++
	return true
}

// next goes to the first or next element of an object or array, or behind its
// end, and reports whether there is an element.
func (w *jsonWalk) next(end byte) bool {
	opening := end - 2 // '{' and '}', '[' and ']' are two apart
	if !w.take(opening) && !w.take(',') {
		w.take(end)
		return false
	}
	return !w.take(end)
}

// quoted returns the inside of the string that comes next, and whether it stands
// for itself: it is there and has no escapes.
func (w *jsonWalk) quoted() (inside []byte, plain bool) {
	if !w.take('"') {
		return nil, false
	}
	plain = true
	from := w.at
	for ; w.at < len(w.text); w.at++ {
		switch w.text[w.at] {
		case '\\':
			w.at++
			plain = false
		case '"':
			w.at++
			return w.text[from : w.at-1], plain
		}
	}
	return nil, false
}

// word returns the number, true, false or null that comes next.
func (w *jsonWalk) word() []byte {
	w.peek()
	from := w.at
	for w.at < len(w.text) {
		switch w.text[w.at] {
		case ' ', '\n', '\t', '\r', ',', ':', '"', '[', ']', '{', '}':
			return w.text[from:w.at]
		}
		w.at++
	}
	return w.text[from:]
}

// skip passes over the value that comes next, with all that is in it.
func (w *jsonWalk) skip() {
	for depth := 0; ; {
		switch w.peek() {
		case '{', '[':
			depth++
			w.at++
		case '}', ']':
			depth--
			w.at++
		case ',', ':':
			w.at++
		case '"':
			w.quoted()
		case 0:
			return
		default:
			w.word()
		}
		if depth <= 0 {
			return
		}
	}
}
