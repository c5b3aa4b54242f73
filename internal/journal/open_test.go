package journal_test

import (
	"bytes"
	"context"
	"fmt"
	"hash/crc32"
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/internal/journal"
	"github.com/treadle-dev/treadle/workspace"
	"github.com/treadle-dev/treadle/workspace/workspacetest"
)

func holding(t require.TestingT, content []byte) *workspace.Mem {
	st := workspace.NewMem()
	require.NoError(t, st.AppendAt(context.Background(), file, 0, content))
	return st
}

// written is the text of a journal with header, owner and four records.
func written(t require.TestingT) []byte {
	st := workspace.NewMem()
	j := open(t, st, journal.Options{})
	for i := 1; i <= 4; i++ {
		_, err := j.Under("s").Do(context.Background(), fmt.Sprintf("turn/%d", i), "prompt", returns(fmt.Sprintf(`{"turn":%d}`, i)))
		require.NoError(t, err)
	}
	return text(t, st, file)
}

func TestAJournalCutAtAnyByteResumes(t *testing.T) {
	t.Parallel()
	whole := written(t)
	for size := range len(whole) + 1 {
		st := holding(t, whole[:size])
		complete := bytes.Count(whole[:size], []byte("\n"))
		missesNewline := size < len(whole) && whole[size] == '\n'
		if missesNewline {
			complete++
		}
		j := open(t, st, journal.Options{})
		for i := 1; i <= 4; i++ {
			_, ok, err := j.Recorded(fmt.Sprintf("s/turn/%d", i))
			require.NoError(t, err)
			require.Equal(t, complete >= i+2, ok, "cut at %d, record %d", size, i)
		}
		require.NoError(t, j.Append(outcome, "k", nil))
		require.NoError(t, j.Close())
		require.Len(t, records(t, st), max(complete, 1)+2)
		kept := bytes.LastIndexByte(whole[:size], '\n') + 1
		if missesNewline {
			kept = size
		}
		require.Equal(t, whole[:kept], text(t, st, file)[:kept])
	}
}

func TestAFlippedByteIsNamed(t *testing.T) {
	t.Parallel()
	whole := written(t)
	for at := range whole {
		for _, flip := range []byte{0x01, 0x80, 0xff, whole[at] ^ '\n'} {
			if flip == 0 {
				continue
			}
			damaged := bytes.Clone(whole)
			damaged[at] ^= flip
			st := holding(t, damaged)
			_, err := journal.Open(context.Background(), st, file, journal.Options{})
			var damage *journal.DamageError
			require.ErrorAs(t, err, &damage, "byte %d", at)
			line := 1 + bytes.Count(whole[:at], []byte("\n"))
			require.Equal(t, line, damage.Line, "byte %d", at)
			require.EqualValues(t, line, damage.Seq)
			require.Equal(t, damaged, text(t, st, file), "damage is left for people to look at")
		}
	}
}

func TestDamageIsNamed(t *testing.T) {
	t.Parallel()
	lines := bytes.SplitAfter(written(t), []byte("\n"))[:6]
	other := func() [][]byte {
		st := workspace.NewMem()
		j := open(t, st, journal.Options{Holder: "another run"})
		require.NoError(t, j.Append(outcome, "a", []byte(`1`)))
		require.NoError(t, j.Append(outcome, "b", []byte(`2`)))
		return bytes.SplitAfter(text(t, st, file), []byte("\n"))
	}()
	for name, test := range map[string]struct {
		lines  [][]byte
		seq    int64
		reason string
	}{
		"a line is missing":             {[][]byte{lines[0], lines[1], lines[3]}, 3, "running hash"},
		"the header is missing":         {lines[1:], 1, "running hash"},
		"two lines are swapped":         {[][]byte{lines[0], lines[1], lines[3], lines[2]}, 3, "running hash"},
		"a line is doubled":             {[][]byte{lines[0], lines[1], lines[2], lines[2]}, 4, "running hash"},
		"a line of another journal":     {[][]byte{lines[0], lines[1], other[2]}, 3, "running hash"},
		"an empty line":                 {[][]byte{lines[0], []byte("\n"), lines[1]}, 2, "not a record"},
		"an empty last line":            {[][]byte{lines[0], lines[1], []byte("\n")}, 3, "not a record"},
		"foreign text as last line":     {[][]byte{lines[0], lines[1], []byte("hello\n")}, 3, "not a record"},
		"half a last line, but ended":   {[][]byte{lines[0], lines[1], lines[2][:90], []byte("\n")}, 3, "checksum"},
		"half a line in the middle":     {[][]byte{lines[0], lines[1], lines[2][:150], lines[3]}, 3, "checksum"},
		"a hole of zeros in the middle": {[][]byte{lines[0], make([]byte, len(lines[1])), lines[2]}, 2, "not a record"},
		"something behind the last line": {
			[][]byte{lines[0], lines[1], bytes.TrimSuffix(lines[2], []byte("\n")), []byte("x")}, 3, "newline",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := holding(t, bytes.Join(test.lines, nil))
			_, err := journal.Open(context.Background(), st, file, journal.Options{})
			var damage *journal.DamageError
			require.ErrorAs(t, err, &damage)
			require.ErrorIs(t, err, journal.ErrDamaged)
			assert.Equal(t, file, damage.File)
			assert.Equal(t, test.seq, damage.Seq)
			assert.Contains(t, damage.Reason, test.reason)
			assert.Contains(t, err.Error(), "restore")

			var read int64
			for r, err := range journal.Read(context.Background(), st, file, journal.Options{}) {
				if err != nil {
					require.ErrorAs(t, err, &damage)
					assert.Equal(t, test.seq, damage.Seq)
					break
				}
				read = r.Seq
			}
			assert.Equal(t, test.seq-1, read, "the records before it are read")
		})
	}
}

func TestADamagedBlobNamesItsRecord(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for name, damage := range map[string]func(st workspace.Storage, blob string) error{
		"missing": func(st workspace.Storage, blob string) error { return st.Remove(ctx, blob) },
		"shorter": func(st workspace.Storage, blob string) error { return st.Truncate(ctx, blob, 5) },
		"changed": func(st workspace.Storage, blob string) error {
			return st.WriteFile(ctx, blob, payloadOf(50000), workspace.Lazy)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := workspace.NewMem()
			j := open(t, st, journal.Options{})
			data := bytes.ReplaceAll(payloadOf(50000), []byte("x"), []byte("y"))
			_, err := j.Under("s").Do(ctx, "k", "", returns(string(data)))
			require.NoError(t, err)
			entries, err := st.ReadDir(ctx, folder)
			require.NoError(t, err)
			require.NoError(t, damage(st, folder+"/"+entries[0].Name()))

			check := func(err error) {
				var damage *journal.DamageError
				require.ErrorAs(t, err, &damage)
				assert.EqualValues(t, 3, damage.Seq)
				assert.Contains(t, damage.Error(), entries[0].Name())
			}
			_, err = j.Under("s").Do(ctx, "k", "", never(t))
			check(err)
			require.NoError(t, j.Close())
			_, err = journal.Open(ctx, st, file, journal.Options{Replay: func(*journal.Record) error { return nil }})
			check(err)
			for _, err = range journal.Read(ctx, st, file, journal.Options{}) {
				if err != nil {
					break
				}
			}
			check(err)
		})
	}
}

func TestANewerFormatIsRefused(t *testing.T) {
	t.Parallel()
	// Only what every version keeps: hash and crc at the end, format and version
	// in the data.
	body := `{"kind":"journal","since":"2031","data":{"format":"treadle-journal","version":7}`
	text := body + `,"hash":"` + hashOf(strings.Repeat("0", 16)+body) + `"`
	text += fmt.Sprintf(`,"crc":"%08x"}`, crc32.Checksum([]byte(text), crc32.MakeTable(crc32.Castagnoli)))
	st := holding(t, []byte(text+"\n{\"anything\":1}\n"))
	_, err := journal.Open(context.Background(), st, file, journal.Options{})
	var version *journal.VersionError
	require.ErrorAs(t, err, &version)
	require.ErrorIs(t, err, journal.ErrVersion)
	assert.Equal(t, 7, version.Version)
	assert.Contains(t, err.Error(), "newer")
}

func TestReadLooksOnWithoutTakingOver(t *testing.T) {
	t.Parallel()
	ctx, st := context.Background(), workspace.NewMem()
	for _, err := range journal.Read(ctx, st, file, journal.Options{}) {
		require.ErrorIs(t, err, fs.ErrNotExist)
	}
	j := open(t, st, journal.Options{})
	require.NoError(t, j.Append(outcome, "a", []byte(`1`)))
	assert.Len(t, records(t, st), 3)
	for range journal.Read(ctx, st, file, journal.Options{}) {
		break
	}
	require.NoError(t, j.Append(outcome, "b", []byte(`2`)), "the owner goes on")

	whole := text(t, st, file)
	torn := holding(t, whole[:len(whole)-10])
	assert.Len(t, records(t, torn), 3, "a torn tail is passed over")
	assert.Equal(t, whole[:len(whole)-10], text(t, torn, file))
}

func TestOpenCutsNothingThatAnOldOwnerIsStillWriting(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	whole := written(t)
	half := len(whole) - 50
	mem := holding(t, whole[:half])
	// The new owner has read half a record; then the old owner's append ends.
	var late bool
	faulty := workspacetest.NewFaulty(mem, workspacetest.Fault{At: 1, When: workspacetest.Before, Hook: func(workspacetest.Operation) {
		late = true
		require.NoError(t, mem.AppendAt(ctx, file, int64(half), whole[half:]))
	}})
	j := open(t, faulty.Storage(), journal.Options{})
	require.True(t, late)
	_, ok, err := j.Recorded("s/turn/4")
	require.NoError(t, err)
	assert.True(t, ok)
	assert.Len(t, records(t, mem), 7)
}

func TestOpenReadsAgainWhenSomebodyWroteInBetween(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	mem := workspace.NewMem()
	old := open(t, mem, journal.Options{})
	faulty := workspacetest.NewFaulty(mem, workspacetest.Fault{At: 1, When: workspacetest.Before, Hook: func(workspacetest.Operation) {
		require.NoError(t, old.Append(outcome, "late", []byte(`1`)))
	}})
	j := open(t, faulty.Storage(), journal.Options{Holder: "the second"})
	_, ok, err := j.Recorded("late")
	require.NoError(t, err)
	assert.True(t, ok)

	err = old.Append(outcome, "too late", nil)
	require.ErrorIs(t, err, journal.ErrStale)
	assert.Contains(t, err.Error(), "the second")
	require.ErrorIs(t, old.Note("n", "k", nil), journal.ErrStale)
	require.ErrorIs(t, old.Err(), journal.ErrStale)
	require.ErrorIs(t, old.Close(), journal.ErrStale)
	_, err = old.Under("").Do(ctx, "k", "", never(t))
	require.ErrorIs(t, err, journal.ErrStale)
	require.NoError(t, j.Append(outcome, "k", nil))
}

// contested is a storage where somebody else always writes first.
type contested struct{ workspace.Storage }

func (c contested) AppendAt(context.Context, string, int64, []byte) error {
	return workspace.ErrConflict
}

func TestOpenGivesUpWhenSomebodyAlwaysWritesFirst(t *testing.T) {
	t.Parallel()
	_, err := journal.Open(context.Background(), contested{workspace.NewMem()}, file, journal.Options{})
	require.ErrorIs(t, err, workspace.ErrConflict)
}
