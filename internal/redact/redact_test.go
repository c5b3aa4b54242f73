package redact

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestTextLosesEverySecretAndNamesIt(t *testing.T) {
	t.Parallel()
	r := New(map[string]string{"TOKEN": "abcd1234", "LONG": "abcd1234-more"})
	assert.Equal(t, "use [secret:TOKEN], not [secret:LONG]", r.Text("use abcd1234, not abcd1234-more"))
}

func TestJSONStaysValidWhenASecretLooksLikeANumber(t *testing.T) {
	t.Parallel()
	r := New(map[string]string{"PORT": "8080"})
	assert.JSONEq(t, `{"total":8080,"port":"[secret:PORT]"}`, string(r.JSON([]byte(`{"total":8080,"port":"8080"}`))))
}

func TestShortValuesAndNoSecretsChangeNothing(t *testing.T) {
	t.Parallel()
	require.Nil(t, New(map[string]string{"A": "1", "B": ""}))
	var none *Redactor
	assert.Equal(t, "text", none.Text("text"))
	assert.Equal(t, []byte(`"x"`), none.JSON([]byte(`"x"`)))
}

func TestNoEncodingOfASecretInsideJSONSurvives(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.StringN(minLength, 20, -1).Filter(func(s string) bool { return len(s) >= minLength }).Draw(t, "secret")
		before := rapid.String().Draw(t, "before")
		data, err := json.Marshal(map[string]any{"n": 12345, "text": before + secret, "list": []string{secret}})
		require.NoError(t, err)
		var back map[string]any
		require.NoError(t, json.Unmarshal(New(map[string]string{"S": secret}).JSON(data), &back))
		assert.NotContains(t, back["list"].([]any)[0], secret)
	})
}
