package feedback

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"time"
)

// formatVersion is that of the first record of every file.
const formatVersion = 1

// The kinds of records. The first five make the file of a question; begun stands in
// that of a notification, before a channel is used; the last six make the list of open
// questions.
const (
	recordAsked     = "asked"
	recordReceipt   = "receipt"
	recordAnswered  = "answered"
	recordExpired   = "expired"
	recordWithdrawn = "withdrawn"
	recordBegun     = "begun"
	recordIndex     = "index"
	recordAsking    = "asking"
	recordTouched   = "touched"
	recordOpen      = "open"
	recordClosed    = "closed"
	recordGone      = "gone"
)

// record is one line.
type record struct {
	Kind   string    `json:"kind"`
	Format int       `json:"format,omitempty"` // of the first record of a file
	At     time.Time `json:"at,omitzero"`
	// Write is different for every append, so that its writer knows it again.
	Write    string    `json:"write,omitempty"`
	ID       string    `json:"id,omitempty"`  // in the list of open questions
	Run      string    `json:"run,omitempty"` // there too
	Question *Question `json:"question,omitempty"`
	Answer   *Answer   `json:"answer,omitempty"`
	Receipt  *Receipt  `json:"receipt,omitempty"`
	Channel  string    `json:"channel,omitempty"`
	Reason   string    `json:"reason,omitempty"`
}

const (
	crcStart  = `,"crc":"`
	crcEnd    = `"}`
	crcLength = len(crcStart) + 8 + len(crcEnd)
	// fence ends a torn line. No JSON contains the byte unescaped.
	fence = '\x18'
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// appendLine appends the record as a line with its checksum.
func appendLine(dst []byte, r *record) ([]byte, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return dst, err
	}
	body := text[:len(text)-1] // without the closing brace
	dst = append(dst, body...)
	dst = append(dst, crcStart...)
	dst = fmt.Appendf(dst, "%08x", crc32.Checksum(body, castagnoli))
	return append(dst, crcEnd+"\n"...), nil
}

// parsed is what a file holds.
type parsed struct {
	records []record
	whole   int64 // bytes up to and with the last newline
	torn    bool  // there is something behind
}

// parse reads the lines of a file. What stands behind the last newline may be an append
// in progress and is passed over.
func parse(file string, text []byte) (*parsed, error) {
	p := &parsed{}
	for n := 1; ; n++ {
		i := bytes.IndexByte(text, '\n')
		if i < 0 {
			p.torn = len(text) > 0
			return p, nil
		}
		line := text[:i]
		text, p.whole = text[i+1:], p.whole+int64(i+1)
		if i > 0 && line[i-1] == fence {
			continue
		}
		r, reason := parseLine(line)
		if reason != "" {
			return p, &DamageError{File: file, Line: n, Reason: reason}
		}
		if len(p.records) == 0 && r.Format != formatVersion {
			if r.Format > formatVersion {
				return p, &VersionError{File: file, Version: r.Format, Supported: formatVersion}
			}
			return p, &DamageError{File: file, Line: n, Reason: "the first record has no format"}
		}
		p.records = append(p.records, r)
	}
}

func parseLine(line []byte) (r record, reason string) {
	cut := len(line) - crcLength
	if cut < 1 || !bytes.HasPrefix(line[cut:], []byte(crcStart)) || !bytes.HasSuffix(line, []byte(crcEnd)) {
		return r, "the checksum is missing"
	}
	var want [4]byte
	sum := crc32.Checksum(line[:cut], castagnoli)
	digits := line[cut+len(crcStart) : len(line)-len(crcEnd)]
	if _, err := hex.Decode(want[:], digits); err != nil || sum != uint32(want[0])<<24|uint32(want[1])<<16|uint32(want[2])<<8|uint32(want[3]) {
		return r, "the checksum does not fit"
	}
	if err := json.Unmarshal(line, &r); err != nil {
		return r, "not a record: " + err.Error()
	}
	return r, ""
}

// newWrite marks an append.
func newWrite() string {
	var token [8]byte
	_, _ = rand.Read(token[:]) // never fails
	return hex.EncodeToString(token[:])
}
