package journal

import (
	"bytes"
	"encoding/json"
)

const (
	formatName    = "treadle-journal"
	formatVersion = 1
)

// header is the data of the first record.
type header struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
}

// verifier goes through a journal from its start.
type verifier struct {
	file  string
	seq   int64 // of the last verified record
	chain chain
}

func newVerifier(file string) verifier { return verifier{file: file, chain: newChain()} }

// next verifies the next line, which comes without its newline.
func (v *verifier) next(text []byte) (line, error) {
	if v.seq == 0 {
		if err := v.header(text); err != nil {
			return line{}, err
		}
	}
	l, reason := v.chain.verify(text, v.seq+1)
	if reason != "" {
		return line{}, v.damage(reason)
	}
	v.seq++
	return l, nil
}

// header looks at the version before anything that a later version may write
// differently.
func (v *verifier) header(text []byte) error {
	if _, reason := v.chain.unseal(text); reason != "" {
		return v.damage(reason)
	}
	var first struct {
		Kind Kind   `json:"kind"`
		Data header `json:"data"`
	}
	if err := json.Unmarshal(text, &first); err != nil ||
		first.Kind != KindHeader || first.Data.Format != formatName || first.Data.Version < 1 {
		return v.damage("it is not the header of a journal")
	}
	if first.Data.Version > formatVersion {
		return &VersionError{File: v.file, Version: first.Data.Version, Supported: formatVersion}
	}
	return nil
}

// tail judges what stands behind the last newline: a whole record that lacks
// only its newline, or a torn one, or neither, which is damage.
func (v *verifier) tail(text []byte) (whole bool, err error) {
	for at := 0; ; {
		i := bytes.Index(text[at:], []byte(crcLabel))
		if i < 0 {
			return false, nil
		}
		at += i + len(crcLabel)
		end := at + crcLen + len(`"}`)
		if end > len(text) {
			return false, nil
		}
		if _, reason := v.chain.unseal(text[:end]); reason != "" {
			continue
		}
		if end < len(text) {
			return false, v.damage("it does not end with a newline, but with something that is not ours")
		}
		return true, nil
	}
}

// damage names the record that should follow the last verified one. There is one
// record to a line.
func (v *verifier) damage(reason string) error {
	return &DamageError{File: v.file, Line: int(v.seq) + 1, Seq: v.seq + 1, Reason: reason}
}
