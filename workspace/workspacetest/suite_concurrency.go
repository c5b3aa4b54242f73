package workspacetest

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/workspace"
)

var lockTests = []storageTest{
	{"is exclusive and says who holds it", func(s *subject) {
		lock, err := s.st.TryLock(s.ctx, "runs/1/run.lock", "host a, process 7")
		require.NoError(s.t, err)
		for range 3 {
			_, err = s.st.TryLock(s.ctx, "runs/1/run.lock", "host b, process 8")
			var held *workspace.HeldError
			require.ErrorAs(s.t, err, &held)
			require.ErrorIs(s.t, err, workspace.ErrHeld)
			assert.Equal(s.t, "runs/1/run.lock", held.Name)
			assert.Equal(s.t, "host a, process 7", held.Holder)
		}
		s.holds("runs/1/run.lock", "host a, process 7")
		require.NoError(s.t, lock.Unlock())
	}},
	{"is free after Unlock, and stays with the next holder after a second one", func(s *subject) {
		first, err := s.st.TryLock(s.ctx, "lock", "first holder with a long name")
		require.NoError(s.t, err)
		require.NoError(s.t, first.Unlock())
		s.holds("lock", "")
		second, err := s.st.TryLock(s.ctx, "lock", "second")
		require.NoError(s.t, err)
		require.NoError(s.t, first.Unlock())
		_, err = s.st.TryLock(s.ctx, "lock", "third")
		require.ErrorIs(s.t, err, workspace.ErrHeld)
		s.holds("lock", "second")
		require.NoError(s.t, second.Unlock())
		require.NoError(s.t, second.Unlock())
	}},
	{"takes a lock without a holder's text", func(s *subject) {
		lock, err := s.st.TryLock(s.ctx, "lock", "")
		require.NoError(s.t, err)
		_, err = s.st.TryLock(s.ctx, "lock", "other")
		require.ErrorIs(s.t, err, workspace.ErrHeld)
		require.NoError(s.t, lock.Unlock())
	}},
	{"keeps locks of different names apart", func(s *subject) {
		for i := range 5 {
			lock, err := s.st.TryLock(s.ctx, fmt.Sprintf("locks/%d", i), "me")
			require.NoError(s.t, err)
			defer func() { assert.NoError(s.t, lock.Unlock()) }()
		}
	}},
	{"does not lock in the place of a folder or below a file", func(s *subject) {
		s.write("folder/file")
		_, err := s.st.TryLock(s.ctx, "folder", "me")
		requirePlain(s.t, err)
		_, err = s.st.TryLock(s.ctx, "folder/file/below", "me")
		requirePlain(s.t, err)
	}},
	{"lets one in at a time", func(s *subject) {
		var inside, entered atomic.Int32
		together(8, func(worker int) {
			for range 25 {
				lock, err := s.st.TryLock(s.ctx, "lock", fmt.Sprint(worker))
				if errors.Is(err, workspace.ErrHeld) {
					continue
				}
				if !assert.NoError(s.t, err) {
					return
				}
				assert.Equal(s.t, int32(1), inside.Add(1))
				entered.Add(1)
				inside.Add(-1)
				assert.NoError(s.t, lock.Unlock())
			}
		})
		assert.Positive(s.t, entered.Load())
	}},
}

// together runs n workers and waits for them.
func together(n int, work func(worker int)) {
	var all sync.WaitGroup
	for worker := range n {
		all.Go(func() { work(worker) })
	}
	all.Wait()
}

var concurrencyTests = []storageTest{
	{"keeps every record of many appenders once and whole", func(s *subject) {
		const workers, records = 8, 20
		together(workers, func(worker int) {
			for i := range records {
				record := fmt.Sprintf("%d/%d:%s\n", worker, i, strings.Repeat("x", worker*50+i))
				if !assert.NoError(s.t, appendRetrying(s, "log/journal", []byte(record))) {
					return
				}
			}
		})
		requireRecords(s, "log/journal", workers, records)
	}},
	{"lets exactly one of many appenders at one offset through", func(s *subject) {
		var offset int64
		for range 20 {
			var won atomic.Int32
			together(4, func(worker int) {
				err := s.st.AppendAt(s.ctx, "log", offset, []byte{byte('a' + worker)})
				if err == nil {
					won.Add(1)
					return
				}
				assert.ErrorIs(s.t, err, workspace.ErrConflict)
			})
			require.Equal(s.t, int32(1), won.Load())
			offset++
		}
		data, err := s.st.ReadFile(s.ctx, "log")
		require.NoError(s.t, err)
		require.Len(s.t, data, 20)
	}},
	{"shows readers the old content or the new, never a mix", func(s *subject) {
		contents := [][]byte{bytes.Repeat([]byte("a"), 50_000), bytes.Repeat([]byte("b"), 70_000), []byte("c")}
		require.NoError(s.t, s.st.WriteFile(s.ctx, "f/file", contents[0], workspace.Lazy))
		var done atomic.Bool
		var readers sync.WaitGroup
		for range 3 {
			readers.Go(func() {
				for !done.Load() {
					data, err := s.st.ReadFile(s.ctx, "f/file")
					if !assert.NoError(s.t, err) || !assert.True(s.t, isOneOf(data, contents), "a mix of %d bytes", len(data)) {
						return
					}
					entries, err := s.st.ReadDir(s.ctx, "f")
					if !assert.NoError(s.t, err) || !assert.Len(s.t, entries, 1, "nothing else shows") {
						return
					}
				}
			})
		}
		together(2, func(worker int) {
			for i := range 50 {
				assert.NoError(s.t, s.st.WriteFile(s.ctx, "f/file", contents[(worker+i)%len(contents)], workspace.Lazy))
			}
		})
		done.Store(true)
		readers.Wait()
	}},
	{"lets exactly one of many files through that are renamed to one name", func(s *subject) {
		renameRacing(s, 60, "")
	}},
	{"lets exactly one of many folders through that are renamed to one name", func(s *subject) {
		renameRacing(s, 10, "/file")
	}},
	{"shows a folder whole on one side of a rename", func(s *subject) {
		s.write("a/x/1", "a/x/2", "a/x/3")
		var done atomic.Bool
		var readers sync.WaitGroup
		readers.Go(func() {
			for !done.Load() {
				for _, side := range []string{"a/x", "b/x"} {
					entries, err := s.st.ReadDir(s.ctx, side)
					if errors.Is(err, fs.ErrNotExist) {
						continue
					}
					if !assert.NoError(s.t, err) || !assert.Len(s.t, entries, 3) {
						return
					}
				}
			}
		})
		for range 100 {
			require.NoError(s.t, s.st.Rename(s.ctx, "a/x", "b/x"))
			require.NoError(s.t, s.st.Rename(s.ctx, "b/x", "a/x"))
		}
		done.Store(true)
		readers.Wait()
	}},
	{"makes and takes away folders while others need them", func(s *subject) {
		together(6, func(worker int) {
			for i := range 40 {
				name := fmt.Sprintf("shared/folder/%d", worker)
				var err error
				switch i % 3 {
				case 0:
					err = s.st.WriteFile(s.ctx, name, []byte("x"), workspace.Lazy)
				case 1:
					err = s.st.AppendAt(s.ctx, name, 0, []byte("x"))
				case 2:
					if err = s.st.WriteFile(s.ctx, fmt.Sprintf("own/%d", worker), []byte("x"), workspace.Lazy); err == nil {
						err = s.st.Rename(s.ctx, fmt.Sprintf("own/%d", worker), name)
					}
				}
				if !assert.NoError(s.t, err, "round %d", i) || !assert.NoError(s.t, s.st.Remove(s.ctx, name)) {
					return
				}
			}
		})
		s.lists(".")
	}},
}

// renameRacing renames several files, or folders with a file below, to one name at
// the same moment, in many rounds.
func renameRacing(s *subject, rounds int, below string) {
	s.t.Helper()
	const workers = 4
	for round := range rounds {
		target := fmt.Sprintf("to/%d", round)
		for worker := range workers {
			s.write(fmt.Sprintf("from/%d/%d", round, worker) + below)
		}
		var won atomic.Int32
		var winner atomic.Value
		start := make(chan struct{})
		var ready sync.WaitGroup
		ready.Add(workers)
		go func() {
			ready.Wait()
			close(start)
		}()
		together(workers, func(worker int) {
			ready.Done()
			<-start
			from := fmt.Sprintf("from/%d/%d", round, worker)
			err := s.st.Rename(s.ctx, from, target)
			if err == nil {
				won.Add(1)
				winner.Store(from)
				return
			}
			assert.ErrorIs(s.t, err, fs.ErrExist)
		})
		require.Equal(s.t, int32(1), won.Load(), "round %d", round)
		s.holds(target+below, winner.Load().(string)+below)
		s.lists(fmt.Sprintf("from/%d", round), remaining(winner.Load().(string), workers, below != "")...)
	}
}

// remaining is the listing of the racers without the winner.
func remaining(winner string, workers int, folders bool) []string {
	var names []string
	for worker := range workers {
		name := fmt.Sprint(worker)
		if strings.HasSuffix(winner, "/"+name) {
			continue
		}
		if folders {
			name += "/"
		}
		names = append(names, name)
	}
	return names
}

// appendRetrying appends where the file ends, as often as somebody else was first.
func appendRetrying(s *subject, name string, data []byte) error {
	for {
		var end int64
		info, err := s.st.Stat(s.ctx, name)
		switch {
		case err == nil:
			end = info.Size()
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
		if err = s.st.AppendAt(s.ctx, name, end, data); !errors.Is(err, workspace.ErrConflict) {
			return err
		}
	}
}

// requireRecords requires the records of each worker once, whole and in order.
func requireRecords(s *subject, name string, workers, records int) {
	s.t.Helper()
	data, err := s.st.ReadFile(s.ctx, name)
	require.NoError(s.t, err)
	next := make([]int, workers)
	for line := range strings.Lines(string(data)) {
		var worker, i int
		_, err := fmt.Sscanf(line, "%d/%d:", &worker, &i)
		require.NoError(s.t, err, line)
		require.Equal(s.t, fmt.Sprintf("%d/%d:%s\n", worker, i, strings.Repeat("x", worker*50+i)), line)
		require.Equal(s.t, next[worker], i, "records of worker %d", worker)
		next[worker]++
	}
	for worker, n := range next {
		require.Equal(s.t, records, n, "worker %d", worker)
	}
}

func isOneOf(data []byte, contents [][]byte) bool {
	for _, content := range contents {
		if bytes.Equal(data, content) {
			return true
		}
	}
	return false
}
