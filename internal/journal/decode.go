package journal

import (
	"bytes"
	"encoding/json"
	"strconv"
	"time"
	"unicode/utf8"
)

// verify checks a line, which comes without its newline, as the successor of the
// records verified so far and moves the chain on. It returns why the line cannot
// be trusted, or "".
func (c *chain) verify(text []byte, seq int64) (line, string) {
	next, reason := c.unseal(text)
	if reason != "" {
		return line{}, reason
	}
	l, ok := parseLine(text)
	if !ok {
		return line{}, "it is not a record of this format"
	}
	if l.seq != seq {
		return line{}, "it has the number " + strconv.FormatInt(l.seq, 10)
	}
	if l.data != nil {
		if valid, compact := scanJSON(l.data); !valid || !compact {
			return line{}, "its data is not compact JSON"
		}
	}
	c.last = next
	return l, ""
}

// unseal checks the crc and the running hash and returns the latter.
func (c *chain) unseal(text []byte) (sum [hashLen]byte, reason string) {
	if len(text) < trailerLen || text[0] != '{' {
		return sum, "it is not a record"
	}
	body, seal := text[:len(text)-trailerLen], text[len(text)-trailerLen:]
	covered, tail := text[:len(body)+sealLen], seal[sealLen:]
	crc := crcText(covered)
	if string(tail[:len(crcLabel)]) != crcLabel || !bytes.Equal(tail[len(crcLabel):len(crcLabel)+crcLen], crc[:]) ||
		string(tail[len(crcLabel)+crcLen:]) != `"}` {
		return sum, "its checksum does not match"
	}
	sum = c.after(body)
	if string(seal[:len(hashLabel)]) != hashLabel || !bytes.Equal(seal[len(hashLabel):len(hashLabel)+hashLen], sum[:]) ||
		seal[sealLen-1] != '"' {
		return sum, "its running hash does not follow from the record before it"
	}
	return sum, ""
}

// parseLine splits a line into its members. It accepts exactly what the encoder
// writes, except that it takes data and trailer as they are. Data is a part of
// the text.
func parseLine(text []byte) (l line, ok bool) {
	if len(text) < trailerLen {
		return line{}, false
	}
	p := parser{rest: text[:len(text)-trailerLen], ok: true}
	p.expect(`{"seq":`)
	l.seq = p.number()
	p.expect(`,"time":"`)
	l.time = p.time()
	p.expect(`","kind":"`)
	l.kind = Kind(p.text())
	if p.found(`","key":"`) {
		l.key = p.text()
		p.ok = p.ok && l.key != ""
	}
	if p.found(`","input":"`) {
		l.input = p.hex(inputLen)
	}
	switch {
	case p.found(`","data":`):
		l.data, p.rest = p.rest, nil
		p.ok = p.ok && len(l.data) > 0 && len(l.data) <= maxInline
	case p.found(`","blob":"`):
		l.blob = p.hex(blobLen)
		p.expect(`","size":`)
		l.size = p.number()
		p.ok = p.ok && l.size > maxInline
	default:
		p.expect(`"`)
	}
	return l, p.ok && len(p.rest) == 0 && l.kind != ""
}

// parser takes a line apart from its front. Once something is not as written, ok
// is false and stays so.
type parser struct {
	rest []byte
	ok   bool
}

func (p *parser) found(label string) bool {
	if len(p.rest) < len(label) || string(p.rest[:len(label)]) != label {
		return false
	}
	p.rest = p.rest[len(label):]
	return true
}

func (p *parser) expect(label string) { p.ok = p.found(label) && p.ok }

// number reads a positive decimal number without leading zeros.
func (p *parser) number() (n int64) {
	i := 0
	for ; i < len(p.rest) && p.rest[i] >= '0' && p.rest[i] <= '9'; i++ {
		n = n*10 + int64(p.rest[i]-'0')
	}
	const safe = 18 // digits that fit whatever they are
	p.ok = p.ok && i > 0 && i <= safe && p.rest[0] != '0'
	p.rest = p.rest[i:]
	return n
}

func (p *parser) hex(n int) string {
	if len(p.rest) < n {
		p.ok = false
		return ""
	}
	for _, c := range p.rest[:n] {
		p.ok = p.ok && isHex(c)
	}
	text := string(p.rest[:n])
	p.rest = p.rest[n:]
	return text
}

func (p *parser) time() time.Time {
	if len(p.rest) < timeLen {
		p.ok = false
		return time.Time{}
	}
	text := p.rest[:timeLen]
	p.rest = p.rest[timeLen:]
	year, month, day := digits(text[0:4]), digits(text[5:7]), digits(text[8:10])
	hour, minute, second, ms := digits(text[11:13]), digits(text[14:16]), digits(text[17:19]), digits(text[20:23])
	t := time.Date(year, time.Month(month), day, hour, minute, second, ms*int(time.Millisecond), time.UTC)
	// Date accepts a 31st of April and makes it the 1st of May; what is not
	// written back the same was not written by us.
	p.ok = p.ok && year > 0 && month >= 1 && month <= 12 && t.Day() == day && day > 0 &&
		hour >= 0 && hour < 24 && minute >= 0 && minute < 60 && second >= 0 && second < 60 && ms >= 0 &&
		text[4] == '-' && text[7] == '-' && text[10] == 'T' && text[13] == ':' && text[16] == ':' && text[19] == '.' && text[23] == 'Z'
	return t
}

// digits reads a number of fixed length, -1 when it has another character.
func digits(text []byte) (n int) {
	for _, c := range text {
		if c < '0' || c > '9' {
			return -1
		}
		n = n*10 + int(c-'0')
	}
	return n
}

// text reads the inside of a JSON string and leaves the closing quote.
func (p *parser) text() string {
	end, escaped, ascii := 0, false, true
	for ; end < len(p.rest) && p.rest[end] != '"'; end++ {
		switch c := p.rest[end]; {
		case c == '\\':
			escaped = true
			end++
		case c < ' ':
			p.ok = false
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	if end >= len(p.rest) {
		p.ok = false
		return ""
	}
	raw := p.rest[:end]
	p.rest = p.rest[end:]
	if !ascii && !utf8.Valid(raw) {
		p.ok = false
	}
	if !escaped {
		return string(raw)
	}
	var text string
	quoted := append(append([]byte{'"'}, raw...), '"')
	if json.Unmarshal(quoted, &text) != nil || !bytes.Equal(appendText(nil, text), raw) {
		p.ok = false
	}
	return text
}
