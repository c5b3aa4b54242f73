package costs

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
)

// USD is an amount of money in units of 10⁻¹² US dollar, up to about 9.2 million
// dollars. It is an integer so that sums are exact and do not depend on their
// order: one token at 0.000001 dollar per million tokens is one unit. In JSON it is
// a decimal number of dollars.
type USD int64

const (
	usdDigits = 12
	unitsPerD = 1_000_000_000_000
	maxUSD    = USD(math.MaxInt64)
)

// Dollars returns an amount of whole and partial dollars, rounded to the unit.
// What is not a number is 0, and what is out of range the nearest that is in it.
func Dollars(d float64) USD {
	units := math.RoundToEven(d * unitsPerD)
	switch {
	case math.IsNaN(units):
		return 0
	case units >= math.MaxInt64:
		return maxUSD
	case units <= -math.MaxInt64:
		return -maxUSD
	}
	return USD(units)
}

// Float64 returns the amount in dollars, as near as a float comes.
func (u USD) Float64() float64 { return float64(u) / unitsPerD }

// String returns the exact amount in dollars as a decimal without a currency
// sign, such as "0.0125".
func (u USD) String() string {
	sign, n := "", uint64(u)
	if u < 0 {
		sign, n = "-", -n
	}
	whole := strconv.FormatUint(n/unitsPerD, 10)
	fraction := strings.TrimRight(fmt.Sprintf("%0*d", usdDigits, n%unitsPerD), "0")
	if fraction == "" {
		return sign + whole
	}
	return sign + whole + "." + fraction
}

// MarshalJSON writes a number of dollars.
func (u USD) MarshalJSON() ([]byte, error) { return []byte(u.String()), nil }

// UnmarshalJSON reads a number of dollars and rounds it to the unit. Null
// changes nothing.
func (u *USD) UnmarshalJSON(data []byte) error {
	text := string(data)
	if text == "null" {
		return nil
	}
	if exact, ok := parseDecimal(text); ok {
		*u = exact
		return nil
	}
	dollars, err := strconv.ParseFloat(text, 64)
	if err != nil || math.Abs(dollars) >= float64(math.MaxInt64)/unitsPerD {
		return fmt.Errorf("%.40s is no amount in dollars", text)
	}
	*u = Dollars(dollars)
	return nil
}

// parseDecimal reads a plain decimal without going through a float; it leaves
// numbers with an exponent, or with more digits than a unit has, to the float.
func parseDecimal(text string) (USD, bool) {
	text, negative := strings.CutPrefix(text, "-")
	whole, fraction, _ := strings.Cut(text, ".")
	if len(fraction) > usdDigits {
		return 0, false
	}
	units, err := strconv.ParseInt(whole+fraction+strings.Repeat("0", usdDigits-len(fraction)), 10, 64)
	if err != nil || units < 0 {
		return 0, false
	}
	if negative {
		units = -units
	}
	return USD(units), true
}

// costOf is what n tokens cost at a rate per million tokens, rounded half up. Both are
// not negative. It stops at the greatest amount rather than wrap.
func costOf(n int64, rate USD) USD {
	const million = 1_000_000
	hi, lo := bits.Mul64(uint64(n), uint64(rate))
	lo, carry := bits.Add64(lo, million/2, 0)
	hi += carry
	if hi >= million {
		return maxUSD
	}
	units, _ := bits.Div64(hi, lo, million)
	if units > math.MaxInt64 {
		return maxUSD
	}
	return USD(units)
}

// addSaturated adds two counts that are not negative; it stops at the greatest
// rather than wrap.
func addSaturated(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
