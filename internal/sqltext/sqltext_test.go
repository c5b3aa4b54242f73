package sqltext_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/internal/sqltext"
)

func TestASingleQueryIsFoundBetweenSpaceCommentsAndSemicolons(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"SELECT 1":                                          "SELECT 1",
		" \r\n select 1 ;; \n":                              "select 1",
		"-- what\nSELECT 1 -- why":                          "SELECT 1",
		"/* ; */ WITH a AS (SELECT 1) SELECT 1;":            "WITH a AS (SELECT 1) SELECT 1",
		"VALUES (1);/* open":                                "VALUES (1)",
		"SELECT ';' || 'it''s;' || \";\" || [;] FROM `a;b`": "SELECT ';' || 'it''s;' || \";\" || [;] FROM `a;b`",
		"SELECT 1 /* ; */ + 2 -- ;\n":                       "SELECT 1 /* ; */ + 2",
		"\ufeffSELECT 'ä'":                                  "SELECT 'ä'",
		"SELECT a-b, a/b":                                   "SELECT a-b, a/b",
	} {
		got, err := sqltext.Query(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, got)
	}
}

func TestWhatIsNoSingleQueryIsRefusedWithTheReason(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]error{
		"":                       sqltext.ErrEmpty,
		" ;; -- nothing":         sqltext.ErrEmpty,
		"SELECT 1; SELECT 2":     sqltext.ErrSeveral,
		"SELECT 1; DROP TABLE a": sqltext.ErrSeveral,
		"SELECT 1; /* */ ;x":     sqltext.ErrSeveral,
		"DELETE FROM a":          sqltext.ErrNotQuery,
		"ATTACH 'x' AS y":        sqltext.ErrNotQuery,
		"PRAGMA query_only = 0":  sqltext.ErrNotQuery,
		"VACUUM INTO 'x'":        sqltext.ErrNotQuery,
		"EXPLAIN SELECT 1":       sqltext.ErrNotQuery,
		"(SELECT 1)":             sqltext.ErrNotQuery,
		"SELECT 'open":           sqltext.ErrText,
		"SELECT [open":           sqltext.ErrText,
		"SELECT 1\x00":           sqltext.ErrText,
		"SELECT '\xff'":          sqltext.ErrText,
		"SELECT " + strings.Repeat("1", sqltext.MaxBytes): sqltext.ErrText,
	} {
		_, err := sqltext.Query(text)
		require.ErrorIs(t, err, want, text)
	}
}

func FuzzQuery(f *testing.F) {
	for _, seed := range []string{"SELECT 1", "SELECT ';'; x", "-- a\n/* b */ VALUES (1)", "SELECT [a]]"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		query, err := sqltext.Query(text)
		if err != nil {
			return
		}
		again, err := sqltext.Query(query)
		require.NoError(t, err)
		require.Equal(t, query, again, "what was found is found again, whole")
		require.Contains(t, text, query)
	})
}
