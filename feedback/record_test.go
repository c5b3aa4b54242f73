package feedback

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/workspace"
)

func lines(tb testing.TB, records ...record) []byte {
	tb.Helper()
	var text []byte
	for i := range records {
		if i == 0 {
			records[i].Format = formatVersion
		}
		var err error
		text, err = appendLine(text, &records[i])
		require.NoError(tb, err)
	}
	return text
}

func sample() []record {
	at := time.Date(2026, time.March, 14, 12, 0, 0, 0, time.UTC)
	return []record{
		{Kind: recordAsked, At: at, Write: "01", Question: &Question{ID: "run-1/a", RunID: "run-1", Run: "iteration-1", Key: "a", Kind: KindText, Text: "What?", AskedAt: at}},
		{Kind: recordReceipt, At: at, Write: "02", Receipt: &Receipt{Status: Delivered, Channel: "slack", Reference: "17.4", At: at}},
		{Kind: recordAnswered, At: at, Write: "03", Answer: &Answer{Value: "That.", By: "ann", At: at, Source: "slack"}},
	}
}

// The format of the first release.
func TestTheFileOfAQuestionLooksLikeThis(t *testing.T) {
	t.Parallel()
	assert.Equal(t, `{"kind":"asked","format":1,"at":"2026-03-14T12:00:00Z","write":"01","question":{"id":"run-1/a","run_id":"run-1","run":"iteration-1","key":"a","kind":"text","text":"What?","asked_at":"2026-03-14T12:00:00Z"},"crc":"15cd7670"}
{"kind":"receipt","at":"2026-03-14T12:00:00Z","write":"02","receipt":{"status":"delivered","channel":"slack","reference":"17.4","at":"2026-03-14T12:00:00Z"},"crc":"bc311833"}
{"kind":"answered","at":"2026-03-14T12:00:00Z","write":"03","answer":{"value":"That.","by":"ann","at":"2026-03-14T12:00:00Z","source":"slack"},"crc":"a2444ab2"}
`, string(lines(t, sample()...)))
}

func TestATornTailIsPassedOverAndClosedByTheNextAppend(t *testing.T) {
	t.Parallel()
	whole := lines(t, sample()...)
	one := len(lines(t, sample()[:1]...))
	for cut := range whole {
		st := workspace.NewMem()
		require.NoError(t, st.WriteFile(t.Context(), "f", whole[:cut], workspace.Lazy))
		file := logFile{st: st, name: "f"}
		p, _, err := file.read(t.Context())
		require.NoError(t, err)
		if cut < one {
			assert.Nil(t, fold(p.records))
		}
		before := len(p.records)
		after, err := file.append(t.Context(), func([]record) (*record, error) { return &record{Kind: recordExpired}, nil })
		require.NoError(t, err)
		assert.Len(t, after, before+1)
		p, _, err = file.read(t.Context())
		require.NoError(t, err, "cut at %d", cut)
		assert.Len(t, p.records, before+1)
		assert.Equal(t, recordExpired, p.records[before].Kind)
		assert.False(t, p.torn)
	}
}

func TestADamagedLineIsNamed(t *testing.T) {
	t.Parallel()
	whole := lines(t, sample()...)
	for at := range whole {
		if whole[at] == '\n' {
			continue
		}
		harmed := bytes.Clone(whole)
		harmed[at] ^= 0x04
		if harmed[at] == '\n' {
			continue
		}
		_, err := parse("f", harmed)
		var damage *DamageError
		require.ErrorAs(t, err, &damage, "byte %d", at)
		assert.Equal(t, 1+bytes.Count(whole[:at], []byte("\n")), damage.Line)
	}
}

func TestANewerFormatIsRefused(t *testing.T) {
	t.Parallel()
	text, err := appendLine(nil, &record{Kind: recordAsked, Format: formatVersion + 1})
	require.NoError(t, err)
	_, err = parse("f", text)
	var version *VersionError
	require.ErrorAs(t, err, &version)
	assert.ErrorContains(t, err, "has format version 2, this library reads up to 1")
}

func FuzzParse(f *testing.F) {
	whole := lines(f, sample()...)
	f.Add(whole)
	f.Add(whole[:len(whole)-5])
	f.Add(append(bytes.Clone(whole[:40]), fence, '\n'))
	f.Add(lines(f, record{Kind: recordIndex}, record{Kind: recordTouched, ID: "run-1/a", Run: "iteration-1", Write: "1"},
		record{Kind: recordOpen, Question: sample()[0].Question, Write: "1"}, record{Kind: recordClosed, ID: "run-1/a", Write: "1"}))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := parse("f", text)
		if err != nil {
			return
		}
		fold(p.records)
		v := foldIndex(p.records)
		kept := v.records()
		again := foldIndex(kept)
		assert.Len(t, again.byID, len(v.byID), "what is written down again says the same")
		for id, at := range v.byID {
			require.NotNil(t, again.byID[id])
			assert.Equal(t, at.sure(), again.byID[id].sure())
			assert.Equal(t, at.closed, again.byID[id].closed)
		}
	})
}
