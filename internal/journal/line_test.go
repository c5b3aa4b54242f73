package journal

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func anyLine() *rapid.Generator[line] {
	return rapid.Custom(func(t *rapid.T) line {
		l := line{
			seq:  rapid.Int64Range(1, 1e17).Draw(t, "seq"),
			kind: Kind(rapid.StringN(1, 8, -1).Draw(t, "kind")),
			key:  rapid.String().Draw(t, "key"),
			time: time.UnixMilli(rapid.Int64Range(firstSecond*1000, lastSecond*1000).Draw(t, "time")).UTC(),
		}
		if rapid.Bool().Draw(t, "input") {
			l.input = hashInput(rapid.StringN(1, 20, -1).Draw(t, "text"))
		}
		switch rapid.IntRange(0, 2).Draw(t, "payload") {
		case 0:
			l.blob, l.size = blobName([]byte(l.key)), rapid.Int64Range(maxInline+1, 1e12).Draw(t, "size")
		case 1:
			l.data, _ = json.Marshal(rapid.MapOf(rapid.String(), rapid.String()).Draw(t, "data"))
		}
		return l
	})
}

func TestALineReadsBackAsItWasWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		e, reader := encoder{chain: newChain()}, newChain()
		for _, l := range rapid.SliceOfN(anyLine(), 1, 4).Draw(t, "lines") {
			text := e.appendLine(nil, &l)
			require.True(t, json.Valid(text), "%s", text)
			got, reason := reader.verify(bytes.TrimSuffix(text, []byte("\n")), l.seq)
			require.Empty(t, reason, "%s", text)
			require.Equal(t, l, got)
		}
	})
}

//nolint:paralleltest // it counts the allocations of the whole process
func TestAppendingALineDoesNotAllocate(t *testing.T) {
	e := encoder{chain: newChain()}
	l := line{seq: 1, time: time.Unix(0, 0), kind: KindResult, key: "a/b", data: []byte(`{"a":1}`)}
	buf := make([]byte, 0, 1<<10)
	assert.Zero(t, testing.AllocsPerRun(100, func() { buf = e.appendLine(buf[:0], &l) }))
}

// The body of the line is the fuzzer's, the seal is right: whatever gets through
// must be what the encoder makes of it.
func FuzzLineDecoderAcceptsOnlyWhatTheEncoderWrites(f *testing.F) {
	e := encoder{chain: newChain()}
	for _, l := range []line{
		{seq: 1, time: time.Unix(1700000000, 5e6), kind: KindResult, key: "fetch/visit/1", input: hashInput("x"), data: []byte(`{"a":[1,"\u00e9"]}`)},
		{seq: 1, time: time.Unix(0, 0), kind: "outcome", key: "a\"\n\x01ü", blob: blobName(nil), size: maxInline + 1},
		{seq: 1, time: time.Unix(0, 0), kind: KindOwner},
	} {
		f.Add(e.appendBody(nil, &l))
	}
	f.Add([]byte(`{"seq":01,"time":"2026-02-30T00:00:00.000Z","kind":"\u0041"`))
	f.Fuzz(func(t *testing.T, body []byte) {
		chain := newChain()
		unsealed := chain
		if _, reason := unsealed.verify(body, 1); reason == "" {
			t.Fatalf("accepted without a seal: %q", body)
		}
		sealer := encoder{chain: newChain()}
		text := bytes.TrimSuffix(sealer.seal(bytes.Clone(body), 0), []byte("\n"))
		l, reason := chain.verify(text, 1)
		if reason != "" {
			return
		}
		writer := encoder{chain: newChain()}
		written := writer.appendLine(nil, &l)
		if string(written) != string(text)+"\n" {
			t.Fatalf("accepted %q\nwould write %q", text, written)
		}
		if bytes.ContainsRune(text, '\n') || !json.Valid(text) {
			t.Fatalf("accepted a line that is not one line of JSON: %q", text)
		}
	})
}

func FuzzPayloadCheckAgreesWithEncodingJSON(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,-0.5e+10,true,false,null,"\u00e9\n\\"]}`, ` { "a" : [ ] , "b":{} } `, `01`, `1.`, `-`, `"\u12G4"`,
		"\"01234567\x1f\"", "\"0123456\x7f\xff\"", `[1,]`, `{"a":1,}`, ``, `"a`, `"0123456789\`, "\"\x00\"", `nul`, `{"a"}`, `[1 2]`, "1\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		valid, compact := scanJSON(text)
		if want := json.Valid(text); valid != want {
			t.Fatalf("%q: valid %v, encoding/json says %v", text, valid, want)
		}
		if !valid {
			return
		}
		var want bytes.Buffer
		if err := json.Compact(&want, text); err != nil {
			t.Fatal(err)
		}
		if got := appendCompact(nil, text); !bytes.Equal(got, want.Bytes()) {
			t.Fatalf("%q compacted to %q, want %q", text, got, want.Bytes())
		}
		if is := bytes.Equal(want.Bytes(), text); compact != is {
			t.Fatalf("%q: compact %v, want %v", text, compact, is)
		}
	})
}

func TestNestingIsLimitedLikeEncodingJSON(t *testing.T) {
	t.Parallel()
	for _, depth := range []int{maxDepth - 1, maxDepth, maxDepth + 1} {
		text := []byte(strings.Repeat("[", depth) + strings.Repeat("]", depth))
		valid, _ := scanJSON(text)
		assert.Equal(t, json.Valid(text), valid, depth)
	}
}
