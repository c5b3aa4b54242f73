package openai

// objectScan follows JSON text while it arrives, and knows when its first object,
// or list, is complete. It looks at each byte once.
type objectScan struct {
	depth    int
	inString bool
	escaped  bool
	complete bool
}

func (s *objectScan) add(piece string) {
	for i := 0; i < len(piece) && !s.complete; i++ {
		switch c := piece[i]; {
		case s.escaped:
			s.escaped = false
		case s.inString:
			s.escaped = c == '\\'
			s.inString = c != '"'
		case c == '"':
			s.inString = true
		case c == '{', c == '[':
			s.depth++
		case c == '}', c == ']':
			s.depth--
			s.complete = s.depth <= 0
		}
	}
}
