package workspace_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/workspace"
)

var benchRecord = bytes.Repeat([]byte("r"), 250)

// The claim: about 100 ns an append, however large the file is.
func BenchmarkMemAppendAt(b *testing.B) {
	st := workspace.NewMem()
	var offset int64
	b.ReportAllocs()
	for b.Loop() {
		if err := st.AppendAt(b.Context(), "runs/iteration-1/journal.jsonl", offset, benchRecord); err != nil {
			b.Fatal(err)
		}
		offset += int64(len(benchRecord))
	}
}

func BenchmarkMemWriteFileAmong50000(b *testing.B) {
	st := workspace.NewMem()
	for i := range 50_000 {
		name := fmt.Sprintf("runs/iteration-1/logs/step-%d/log.json", i)
		require.NoError(b, st.WriteFile(b.Context(), name, benchRecord, workspace.Lazy))
	}
	for b.Loop() {
		require.NoError(b, st.WriteFile(b.Context(), "runs/iteration-1/logs/step-77/log.json", benchRecord, workspace.Lazy))
		_, err := st.ReadDir(b.Context(), "runs/iteration-1/logs/step-77")
		require.NoError(b, err)
	}
}

// BenchmarkDirAppendAt does in turn what AppendAt does and the bare write and sync
// below it, so that both meet the same disk; it reports both and their ratio. The
// claim: at most 1.1.
func BenchmarkDirAppendAt(b *testing.B) {
	path := b.TempDir()
	st := openDir(b, path)
	require.NoError(b, os.MkdirAll(filepath.Join(path, "bare"), 0o755))
	f, err := os.Create(filepath.Join(path, "bare", "journal.jsonl"))
	require.NoError(b, err)
	defer f.Close()
	var offset int64
	bare, ours := newStopwatch(), newStopwatch()
	writeBare := func() {
		if _, err := f.WriteAt(benchRecord, offset); err != nil {
			b.Fatal(err)
		}
		if err := bareSync(f); err != nil {
			b.Fatal(err)
		}
	}
	appendOurs := func() {
		if err := st.AppendAt(b.Context(), "runs/iteration-1/journal.jsonl", offset, benchRecord); err != nil {
			b.Fatal(err)
		}
	}
	for i := 0; b.Loop(); i++ {
		if i%2 == 0 { // neither always meets the disk second
			bare.measure(writeBare)
			ours.measure(appendOurs)
		} else {
			ours.measure(appendOurs)
			bare.measure(writeBare)
		}
		offset += int64(len(benchRecord))
	}
	b.ReportMetric(bare.median(), "bare-ns/op")
	b.ReportMetric(ours.median(), "append-ns/op")
	b.ReportMetric(ours.median()/bare.median(), "ratio")
}

func BenchmarkDirWriteFile(b *testing.B) {
	for _, sync := range []workspace.Sync{workspace.Lazy, workspace.Durable} {
		b.Run(map[workspace.Sync]string{workspace.Lazy: "lazy", workspace.Durable: "durable"}[sync], func(b *testing.B) {
			st := openDir(b, b.TempDir())
			for b.Loop() {
				require.NoError(b, st.WriteFile(b.Context(), "runs/iteration-1/logs/a/log.json", benchRecord, sync))
			}
		})
	}
}
