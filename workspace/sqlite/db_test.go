package sqlite_test

import (
	"context"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/workspace"
	"github.com/treadle-dev/treadle/workspace/sqlite"
)

func TestAQueryReturnsValuesAsTheyAreStored(t *testing.T) {
	t.Parallel()
	w := setup(t,
		`CREATE TABLE v (a INTEGER, b REAL, c TEXT, d BLOB, e, f DATE, g DATETIME, h TIMESTAMP, i BOOLEAN)`,
		`INSERT INTO v VALUES (9223372036854775807, 0.5, 'ä"''', x'00ff', NULL, '2026-11-30', '2026-11-30 10:00:00', 1700000000, 1)`,
		`INSERT INTO v VALUES (-1, 9e999, '', x'', 'text', 'no date', NULL, '2026-11-30T10:00:00Z', 'yes')`)
	columns, rows, err := sqlite.NewReader(w, nil).Query(t.Context(), `SELECT a, b, c, d, e, f, g, h, i, a AS a FROM v ORDER BY b -- done`, 10)
	require.NoError(t, err)
	assert.Equal(t, strings.Split("a b c d e f g h i a", " "), columns)
	assert.Equal(t, [][]any{
		{int64(math.MaxInt64), 0.5, `ä"'`, []byte{0, 0xff}, nil, "2026-11-30", "2026-11-30 10:00:00", int64(1700000000), int64(1), int64(math.MaxInt64)},
		{int64(-1), math.Inf(1), "", []byte(nil), "text", "no date", nil, "2026-11-30T10:00:00Z", "yes", int64(-1)},
	}, rows)
}

func TestTheOrderOfRowsStaysWhereTimesArePassedThrough(t *testing.T) {
	t.Parallel()
	w := setup(t, `CREATE TABLE v (at DATE)`, `INSERT INTO v VALUES ('2026-01-01'), ('2026-03-01'), ('2026-02-01')`)
	for query, want := range map[string][][]any{
		`SELECT at FROM v ORDER BY at DESC;`:                       {{"2026-03-01"}, {"2026-02-01"}, {"2026-01-01"}},
		`SELECT at FROM v ORDER BY at DESC LIMIT 1 OFFSET 1`:       {{"2026-02-01"}},
		`WITH x AS (SELECT at FROM v) SELECT at FROM x ORDER BY 1`: {{"2026-01-01"}, {"2026-02-01"}, {"2026-03-01"}},
	} {
		_, rows, err := sqlite.NewReader(w, nil).Query(t.Context(), query, 0)
		require.NoError(t, err)
		assert.Equal(t, want, rows, query)
	}
}

func TestWhatIsNoSingleReadingStatementIsRefusedAndChangesNothing(t *testing.T) {
	t.Parallel()
	w := setup(t, `CREATE TABLE v (a)`, `INSERT INTO v VALUES (1)`)
	before, err := os.ReadFile(w.path(""))
	require.NoError(t, err)
	db, err := sqlite.Open(t.Context(), w, nil)
	require.NoError(t, err)
	outside := filepath.Join(t.TempDir(), "other.db")
	for _, query := range []string{
		`DELETE FROM v`, `INSERT INTO v VALUES (2)`, `CREATE TABLE w (a)`, `DROP TABLE v`,
		`SELECT 1; DELETE FROM v`, `SELECT 1;SELECT 2`,
		`WITH x AS (SELECT 1) INSERT INTO v SELECT * FROM x`, `WITH x AS (SELECT 1) DELETE FROM v RETURNING a`,
		`ATTACH '` + outside + `' AS o`, `VACUUM INTO '` + outside + `'`, `DETACH main`,
		`PRAGMA query_only = 0`, `PRAGMA journal_mode = WAL`, `SELECT * FROM pragma_journal_mode`, `SELECT * FROM pragma_database_list`,
		`BEGIN`, `SAVEPOINT a`, `EXPLAIN SELECT 1`, `ANALYZE`, `REINDEX`, ``, `-- nothing`,
	} {
		_, _, err := db.Query(t.Context(), query, 10)
		require.ErrorIs(t, err, sqlite.ErrRefused, query)
	}
	require.NoError(t, db.Close())
	assert.NoFileExists(t, outside)
	after, err := os.ReadFile(w.path(""))
	require.NoError(t, err)
	assert.Equal(t, before, after)
}

func TestAQueryThatCannotRunSaysWhy(t *testing.T) {
	t.Parallel()
	w := setup(t, `CREATE TABLE v (name TEXT)`)
	for query, want := range map[string]string{
		`SELECT * FROM missing`:                  "no such table: missing",
		`SELECT nam FROM v`:                      "no such column: nam",
		`SELECT name FROM v WHERE name = "done"`: "no such column",
		`SELECT FROM`:                            "syntax error",
		`SELECT ?1`:                              "missing named argument",
		`SELECT :name`:                           "missing named argument",
		`SELECT load_extension('x')`:             "not authorized",
		`SELECT nofunc(1)`:                       "no such function",
	} {
		_, _, err := sqlite.NewReader(w, nil).Query(t.Context(), query, 10)
		require.ErrorIs(t, err, sqlite.ErrQuery, query)
		assert.ErrorContains(t, err, want)
		assert.ErrorContains(t, err, "db/db.sqlite")
	}
}

func TestTablesCanBeDescribed(t *testing.T) {
	t.Parallel()
	w := setup(t, `CREATE TABLE v (a INTEGER PRIMARY KEY, b TEXT)`)
	_, rows, err := sqlite.NewReader(w, nil).Query(t.Context(), `SELECT name FROM pragma_table_info('v') ORDER BY cid`, 10)
	require.NoError(t, err)
	assert.Equal(t, [][]any{{"a"}, {"b"}}, rows)
}

func TestNoDatabaseIsNotAnEmptyOne(t *testing.T) {
	t.Parallel()
	w := setup(t)
	_, _, err := sqlite.NewReader(w, nil).Query(t.Context(), `SELECT 1`, 1)
	require.ErrorIs(t, err, sqlite.ErrMissing)
	require.ErrorIs(t, err, fs.ErrNotExist)
	assert.NoFileExists(t, w.path(""), "looking makes no database")

	require.NoError(t, w.WriteFile(t.Context(), sqlite.File, nil, workspace.Lazy))
	_, rows, err := sqlite.NewReader(w, nil).Query(t.Context(), `SELECT count(*) FROM sqlite_schema`, 1)
	require.NoError(t, err)
	assert.Equal(t, [][]any{{int64(0)}}, rows)
}

func TestADamagedDatabaseIsToldFromOneThatIsNone(t *testing.T) {
	t.Parallel()
	w := setup(t, `CREATE TABLE v (a)`, `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n LIMIT 5000) INSERT INTO v SELECT hex(randomblob(50)) FROM n`)
	whole, err := os.ReadFile(w.path(""))
	require.NoError(t, err)
	smashed := append([]byte{}, whole...)
	for i := 4096; i < len(smashed); i++ {
		smashed[i] = 0xa5
	}
	for name, content := range map[string][]byte{
		"text":      []byte("this is no database, but it is long enough to be read as the header of one, is it not? yes, it is."),
		"smashed":   smashed,
		"cut short": whole[:5000],
		"JSON":      []byte(`{"orders":[]}`),
	} {
		require.NoError(t, w.WriteFile(t.Context(), sqlite.File, content, workspace.Lazy))
		_, _, err := sqlite.NewReader(w, nil).Query(t.Context(), `SELECT max(a) FROM v`, 1)
		require.ErrorIs(t, err, sqlite.ErrCorrupt, name)
	}
}

func TestOnlyAPlainFileOfTheWorkspaceIsOpened(t *testing.T) {
	t.Parallel()
	elsewhere := setup(t, `CREATE TABLE secret (a)`)
	for name, arrange := range map[string]func(w workflow) error{
		"a link out of the workspace":    func(w workflow) error { return os.Symlink(elsewhere.path(""), w.path("")) },
		"a link inside the workspace":    func(w workflow) error { return os.Symlink("../other.sqlite", w.path("")) },
		"a folder":                       func(w workflow) error { return os.Mkdir(w.path(""), 0o755) },
		"a write-ahead log that is none": func(w workflow) error { return os.Symlink(elsewhere.path(""), w.path("-wal")) },
	} {
		w := setup(t)
		elsewhere.copyTo(t, w, "")
		require.NoError(t, os.Rename(w.path(""), filepath.Join(w.root, "other.sqlite")))
		if name == "a write-ahead log that is none" {
			elsewhere.copyTo(t, w, "")
		}
		require.NoError(t, arrange(w))
		_, _, err := sqlite.NewReader(w, nil).Query(t.Context(), `SELECT a FROM secret`, 1)
		require.ErrorIs(t, err, sqlite.ErrUnsafe, name)
		_, err = sqlite.OpenWriter(t.Context(), w, nil)
		require.ErrorIs(t, err, sqlite.ErrUnsafe, name)
	}
}

func TestAFolderThatIsALinkOutOfTheWorkspaceIsRefused(t *testing.T) {
	t.Parallel()
	elsewhere, w := setup(t, `CREATE TABLE secret (a)`), setup(t)
	require.NoError(t, os.Symlink(filepath.Join(elsewhere.root, "db"), filepath.Join(w.root, "db")))
	_, _, err := sqlite.NewReader(w, nil).Query(t.Context(), `SELECT a FROM secret`, 1)
	assert.ErrorIs(t, err, sqlite.ErrUnsafe)
}

func TestAStorageWithoutLocalFilesIsUnavailable(t *testing.T) {
	t.Parallel()
	_, _, err := sqlite.NewReader(workspace.NewMem(), nil).Query(t.Context(), `SELECT 1`, 1)
	require.ErrorIs(t, err, sqlite.ErrNoLocalFile)
	var fault interface{ Unavailable() bool }
	require.ErrorAs(t, err, &fault)
	assert.True(t, fault.Unavailable())
}

func TestRowsAreCutAtTheLimit(t *testing.T) {
	t.Parallel()
	w := setup(t, `CREATE TABLE v (a)`, `INSERT INTO v VALUES (1), (2), (3)`)
	for limit, want := range map[int]int{1: 1, 2: 2, 3: 2, 0: 2, -1: 2} {
		_, rows, err := sqlite.NewReader(w, &sqlite.Options{MaxRows: 2}).Query(t.Context(), `SELECT a FROM v`, limit)
		require.NoError(t, err)
		assert.Len(t, rows, want)
	}
}

func TestAQueryThatGivesTooMuchFails(t *testing.T) {
	t.Parallel()
	w := setup(t, `CREATE TABLE v (a)`)
	r := sqlite.NewReader(w, &sqlite.Options{MaxBytes: 100_000})
	for _, query := range []string{
		`SELECT zeroblob(200000)`,
		`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT hex(zeroblob(1000)) FROM n`,
	} {
		_, _, err := r.Query(t.Context(), query, 0)
		assert.ErrorIs(t, err, sqlite.ErrLimit, query)
	}
}

const endless = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT count(*) FROM n`

func TestAnEndlessQueryIsStopped(t *testing.T) {
	t.Parallel()
	w := setup(t, `CREATE TABLE v (a)`)
	_, _, err := sqlite.NewReader(w, &sqlite.Options{QueryTime: 50 * time.Millisecond}).Query(t.Context(), endless, 1)
	require.ErrorIs(t, err, sqlite.ErrLimit)
	assert.ErrorContains(t, err, "longer than 50ms")

	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	db, err := sqlite.Open(t.Context(), w, nil)
	require.NoError(t, err)
	_, _, err = db.Query(ctx, endless, 1)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	_, rows, err := db.Query(t.Context(), `SELECT 1`, 1)
	require.NoError(t, err, "the handle is as good as before")
	assert.Len(t, rows, 1)
	require.NoError(t, db.Close())
}

func TestNamesAndPathsOfAllKindsWork(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "100% ä?b#c&d=e f")
	require.NoError(t, os.Mkdir(root, 0o755))
	dir, err := workspace.NewDir(root)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, dir.Close()) })
	w := workflow{dir, root}
	w.update(t, `CREATE TABLE "ta""ble" ("colümn;" TEXT)`)
	assert.FileExists(t, w.path(""))
	columns, rows, err := sqlite.NewReader(w, nil).Query(t.Context(), `SELECT "colümn;" FROM "ta""ble"`, 1)
	require.NoError(t, err)
	assert.Equal(t, []string{"colümn;"}, columns)
	assert.Empty(t, rows)
	assert.NotNil(t, rows)
}

func FuzzQuery(f *testing.F) {
	for _, seed := range []string{`SELECT * FROM v`, `WITH x AS (SELECT 1) DELETE FROM v`, `SELECT 1; SELECT 2`, `SELECT * FROM pragma_table_list`, `SELECT at, 'a' FROM v -- `} {
		f.Add(seed)
	}
	root := f.TempDir()
	dir, err := workspace.NewDir(root)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { dir.Close() })
	writer, err := sqlite.OpenWriter(f.Context(), dir, nil)
	if err != nil {
		f.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		f.Fatal(err)
	}
	db, err := sqlite.Open(f.Context(), dir, &sqlite.Options{QueryTime: 100 * time.Millisecond, MaxBytes: 1 << 20})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { db.Close() })
	path := filepath.Join(root, "db", "db.sqlite")
	before, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, query string) {
		columns, rows, err := db.Query(t.Context(), query, 5)
		if err != nil {
			require.ErrorAs(t, err, new(*sqlite.Error), "%q", query)
		}
		for _, row := range rows {
			require.Len(t, row, len(columns))
		}
		after, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, before, after, "nothing writes")
	})
}
