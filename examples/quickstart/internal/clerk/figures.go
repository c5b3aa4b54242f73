package clerk

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

var twoDecimals = regexp.MustCompile(`[.,](\d{2})\D*$`)

// decimalMark tells how a file writes decimals, from all of its amounts: one that
// ends in a mark and two digits shows it. Amounts of a file agree.
func decimalMark(amounts []string) string {
	for _, a := range amounts {
		if m := twoDecimals.FindString(a); m != "" {
			return m[:1]
		}
	}
	return "."
}

// parseCents reads an amount, with or without a currency, in any of the ways in
// which people write a minus.
func parseCents(text, mark string) (cents, error) {
	n, err := parseScaled(text, mark, 2)
	return cents(n), err
}

func parseQuantity(text, mark string) (thousandths, error) {
	n, err := parseScaled(text, mark, 3)
	return thousandths(n), err
}

// parseScaled returns the number times ten to the power of decimals. Everything
// that is neither a digit nor the decimal mark only groups digits or names a unit.
func parseScaled(text, mark string, decimals int) (int64, error) {
	var whole, frac strings.Builder
	part := &whole
	for i, r := range text {
		switch {
		case r >= '0' && r <= '9':
			part.WriteRune(r)
		case strings.HasPrefix(text[i:], mark) && digitFollows(text[i+len(mark):]):
			part = &frac
		}
	}
	if whole.Len() == 0 || frac.Len() > decimals {
		return 0, fmt.Errorf("%q is no amount that can be read", text)
	}
	digits := whole.String() + frac.String() + strings.Repeat("0", decimals-frac.Len())
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is no amount that can be read", text)
	}
	if strings.ContainsAny(text, "-−") || strings.HasPrefix(strings.TrimSpace(text), "(") {
		n = -n
	}
	return n, nil
}

func digitFollows(s string) bool { return s != "" && s[0] >= '0' && s[0] <= '9' }

var (
	currencyCode   = regexp.MustCompile(`\b(EUR|USD|GBP|CHF|SEK|NOK|DKK|PLN)\b`)
	currencySymbol = map[string]string{"€": "EUR", "$": "USD", "£": "GBP"}
)

// currencyIn finds a currency in texts, the first that names one.
func currencyIn(texts ...string) string {
	for _, t := range texts {
		if code := currencyCode.FindString(strings.ToUpper(t)); code != "" {
			return code
		}
		for symbol, code := range currencySymbol {
			if strings.Contains(t, symbol) {
				return code
			}
		}
	}
	return ""
}

// share is part/whole of an amount, rounded to the nearest hundredth, halves away
// from zero.
func share(of cents, part, whole int64) cents {
	product := int64(of) * part
	if product < 0 {
		return cents((product - whole/2) / whole)
	}
	return cents((product + whole/2) / whole)
}
