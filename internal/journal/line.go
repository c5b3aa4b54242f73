package journal

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"strconv"
	"time"
	"unicode/utf8"
)

const (
	hashLen   = 16 // of the running hash, in hex
	crcLen    = 8  // in hex
	inputLen  = 32 // of an input's hash, in hex
	blobLen   = 64 // of a blob's name, in hex
	timeLen   = len("2006-01-02T15:04:05.000Z")
	hashLabel = `,"hash":"`
	crcLabel  = `,"crc":"`

	// After the body of a line come the hash and the crc, each with its label and
	// closing quote, and the brace.
	sealLen    = len(hashLabel) + hashLen + 1
	trailerLen = sealLen + len(crcLabel) + crcLen + len(`"}`)
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// line is a record as it stands in the file. Data is what lies in the line;
// where blob is set the payload lies beside it.
type line struct {
	seq   int64
	time  time.Time
	kind  Kind
	key   string
	input string
	data  []byte
	blob  string
	size  int64
	owned bool // nobody else holds data
}

// chain is the running hash up to some record of a journal.
type chain struct {
	last    [hashLen]byte // hex
	scratch []byte
}

func newChain() chain {
	var c chain
	for i := range c.last {
		c.last[i] = '0'
	}
	return c
}

// after is the hash of a record with this body that follows the last one.
func (c *chain) after(body []byte) (sum [hashLen]byte) {
	c.scratch = append(append(c.scratch[:0], c.last[:]...), body...)
	full := sha256.Sum256(c.scratch)
	hex.Encode(sum[:], full[:hashLen/2])
	return sum
}

// encoder writes the lines of one journal, one after the other.
type encoder struct {
	chain chain
	clock clock
}

// appendLine appends a line with its newline and moves the chain on. The data must
// be compact JSON.
func (e *encoder) appendLine(dst []byte, l *line) []byte {
	start := len(dst)
	return e.seal(e.appendBody(dst, l), start)
}

func (e *encoder) appendBody(dst []byte, l *line) []byte {
	dst = append(dst, `{"seq":`...)
	dst = strconv.AppendInt(dst, l.seq, 10)
	dst = append(dst, `,"time":"`...)
	dst = e.clock.append(dst, l.time)
	dst = append(dst, `","kind":"`...)
	dst = appendText(dst, string(l.kind))
	if l.key != "" {
		dst = append(dst, `","key":"`...)
		dst = appendText(dst, l.key)
	}
	if l.input != "" {
		dst = append(dst, `","input":"`...)
		dst = append(dst, l.input...)
	}
	switch {
	case l.blob != "":
		dst = append(dst, `","blob":"`...)
		dst = append(dst, l.blob...)
		dst = append(dst, `","size":`...)
		dst = strconv.AppendInt(dst, l.size, 10)
	case len(l.data) > 0:
		dst = append(dst, `","data":`...)
		dst = append(dst, l.data...)
	default:
		dst = append(dst, '"')
	}
	return dst
}

// seal adds the hash and the crc to the body that starts at start.
func (e *encoder) seal(dst []byte, start int) []byte {
	e.chain.last = e.chain.after(dst[start:])
	dst = append(dst, hashLabel...)
	dst = append(dst, e.chain.last[:]...)
	dst = append(dst, '"')
	crc := crcText(dst[start:])
	dst = append(dst, crcLabel...)
	dst = append(dst, crc[:]...)
	return append(dst, '"', '}', '\n')
}

func crcText(covered []byte) (text [crcLen]byte) {
	const digits = "0123456789abcdef"
	sum := crc32.Checksum(covered, castagnoli)
	for i := crcLen - 1; i >= 0; i-- {
		text[i] = digits[sum&15]
		sum >>= 4
	}
	return text
}

// appendText appends the inside of a JSON string. The text is valid UTF-8.
func appendText(dst []byte, text string) []byte {
	plain := 0
	for i := range len(text) {
		c := text[i]
		if !isEscaped(c) {
			continue
		}
		dst = append(dst, text[plain:i]...)
		plain = i + 1
		if c == '"' || c == '\\' {
			dst = append(dst, '\\', c)
			continue
		}
		const digits = "0123456789abcdef"
		dst = append(dst, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
	}
	return append(dst, text[plain:]...)
}

func isEscaped(c byte) bool { return c < ' ' || c == '"' || c == '\\' }

// clock writes times. Records come in bursts, so it keeps the text of the second.
type clock struct {
	known  bool
	second int64
	text   [timeLen - len("000Z")]byte // up to and with the point
}

const (
	firstSecond = -62135596800 // 0001-01-01
	lastSecond  = 253402300799 // 9999-12-31T23:59:59
)

func (c *clock) append(dst []byte, t time.Time) []byte {
	if second := t.Unix(); !c.known || second != c.second {
		t.UTC().AppendFormat(c.text[:0], "2006-01-02T15:04:05.")
		c.known, c.second = true, second
	}
	ms := t.Nanosecond() / int(time.Millisecond)
	dst = append(dst, c.text[:]...)
	return append(dst, byte('0'+ms/100), byte('0'+ms/10%10), byte('0'+ms%10), 'Z')
}

// checkLabels refuses what a line cannot carry.
func checkLabels(kind Kind, key string) error {
	switch {
	case kind == "":
		return fmt.Errorf("%w: record under key %q has no kind", ErrInvalid, key)
	case !utf8.ValidString(string(kind)) || !utf8.ValidString(key):
		return fmt.Errorf("%w: kind %q or key %q is not UTF-8", ErrInvalid, kind, key)
	}
	return nil
}

// hashInput is how an input stands in a record: empty when there is none.
func hashInput(input string) string {
	if input == "" {
		return ""
	}
	var room [128]byte // most inputs need no allocation
	sum := sha256.Sum256(append(room[:0], input...))
	var text [inputLen]byte
	hex.Encode(text[:], sum[:inputLen/2])
	return string(text[:])
}
