package journal_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/internal/journal"
	"github.com/treadle-dev/treadle/workspace"
)

func payloadOf(size int) []byte {
	const frame = `{"status":"completed","text":""}`
	return []byte(frame[:len(frame)-2] + string(bytes.Repeat([]byte("x"), max(0, size-len(frame)))) + `"}`)
}

func benchDir(b *testing.B) workspace.Storage {
	b.Helper()
	dir, err := workspace.NewDir(b.TempDir())
	require.NoError(b, err)
	b.Cleanup(func() { _ = dir.Close() })
	return dir
}

func BenchmarkAppendOnMem(b *testing.B) {
	j, err := journal.Open(context.Background(), workspace.NewMem(), "j.jsonl", journal.Options{Closing: "outcome"})
	require.NoError(b, err)
	data := payloadOf(200)
	b.ReportAllocs()
	for b.Loop() {
		if err := j.Append("outcome", "fetch/visit/1", data); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDoOnMem(b *testing.B) {
	j, err := journal.Open(context.Background(), workspace.NewMem(), "j.jsonl", journal.Options{})
	require.NoError(b, err)
	data := payloadOf(200)
	scope := j.Under("fetch/visit/1/attempt/1")
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		i++
		_, err := scope.Do(context.Background(), fmt.Sprintf("turn/%d", i), "input", func(context.Context) ([]byte, error) { return data, nil })
		if err != nil {
			b.Fatal(err)
		}
	}
}

// The throughput of writers that append side by side, and of the bare append that
// one of them costs.
func BenchmarkAppendOnDir(b *testing.B) {
	data := payloadOf(200)
	b.Run("bare", func(b *testing.B) {
		st, offset := benchDir(b), int64(0)
		text := bytes.Repeat([]byte("x"), 350)
		for b.Loop() {
			require.NoError(b, st.AppendAt(context.Background(), "j.jsonl", offset, text))
			offset += int64(len(text))
		}
	})
	for _, writers := range []int{1, 8} {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) {
			j, err := journal.Open(context.Background(), benchDir(b), "j.jsonl", journal.Options{Closing: "outcome"})
			require.NoError(b, err)
			work := make(chan struct{})
			done := make(chan error)
			for range writers {
				go func() {
					var err error
					for range work {
						if e := j.Append("outcome", "fetch/visit/1", data); e != nil {
							err = e
						}
					}
					done <- err
				}()
			}
			for b.Loop() {
				work <- struct{}{}
			}
			close(work)
			for range writers {
				require.NoError(b, <-done)
			}
		})
	}
}

func BenchmarkOpen10000(b *testing.B) {
	st := workspace.NewMem()
	ctx := context.Background()
	j, err := journal.Open(ctx, st, "j.jsonl", journal.Options{})
	require.NoError(b, err)
	for i := range 5000 {
		key := fmt.Sprintf("step-%d/visit/1", i)
		require.NoError(b, j.Note("result", key+"/turn/1", payloadOf(100)))
		require.NoError(b, j.Note("outcome", key, payloadOf(100)))
	}
	require.NoError(b, j.Close())
	text, err := st.ReadFile(ctx, "j.jsonl")
	require.NoError(b, err)
	b.ReportMetric(float64(len(text))/10000, "bytes/record")
	b.ReportAllocs()
	folded := 0
	for b.Loop() {
		copied := workspace.NewMem()
		require.NoError(b, copied.AppendAt(ctx, "j.jsonl", 0, text))
		_, err := journal.Open(ctx, copied, "j.jsonl", journal.Options{Closing: "outcome", Replay: func(*journal.Record) error {
			folded++
			return nil
		}})
		require.NoError(b, err)
	}
}
