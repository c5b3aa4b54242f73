package validation

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// exactNumber holds a JSON number of any size for comparison. Nothing is rounded:
// integers beyond 2^53 are told apart, and two spellings of one number are equal.
// Reading takes one pass over the text, whatever the number is worth.
//
// The number is 0.digits times 10 to the exponent, where the digits neither begin
// nor end with 0. Zero has no digits.
type exactNumber struct {
	text     string
	negative bool
	digits   string
	exponent int64
}

// farExponent stands for every exponent with more digits than an int64 takes
// without care: all of them count as equal.
const (
	farExponent    = 1 << 62
	exponentDigits = 18
)

var errNoNumber = errors.New("not a number")

func parseNumber(text string) (*exactNumber, error) {
	n := &exactNumber{text: text}
	rest := text
	if strings.HasPrefix(rest, "-") {
		n.negative, rest = true, rest[1:]
	}
	whole, rest := cutDigits(rest)
	if whole == "" || len(whole) > 1 && whole[0] == '0' {
		return nil, errNoNumber
	}
	fraction := ""
	if strings.HasPrefix(rest, ".") {
		if fraction, rest = cutDigits(rest[1:]); fraction == "" {
			return nil, errNoNumber
		}
	}
	exponent, err := parseExponent(rest)
	if err != nil {
		return nil, err
	}
	n.normalise(whole, fraction, exponent)
	return n, nil
}

func (n *exactNumber) normalise(whole, fraction string, exponent int64) {
	digits := strings.TrimLeft(whole+fraction, "0")
	leading := len(whole) + len(fraction) - len(digits)
	n.digits = strings.TrimRight(digits, "0")
	if n.digits == "" {
		n.negative = false // -0 is 0
		return
	}
	n.exponent = exponent
	if exponent != farExponent && exponent != -farExponent {
		n.exponent += int64(len(whole) - leading)
	}
}

// cutDigits parts the decimal digits that a text begins with from the rest.
func cutDigits(text string) (digits, rest string) {
	end := 0
	for end < len(text) && text[end] >= '0' && text[end] <= '9' {
		end++
	}
	return text[:end], text[end:]
}

// parseExponent reads what follows the digits of a number, such as e-3 or nothing.
func parseExponent(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	if text[0] != 'e' && text[0] != 'E' {
		return 0, errNoNumber
	}
	rest, sign := text[1:], int64(1)
	switch {
	case strings.HasPrefix(rest, "-"):
		rest, sign = rest[1:], -1
	case strings.HasPrefix(rest, "+"):
		rest = rest[1:]
	}
	digits, rest := cutDigits(rest)
	if digits == "" || rest != "" {
		return 0, errNoNumber
	}
	digits = strings.TrimLeft(digits, "0")
	switch {
	case digits == "":
		return 0, nil
	case len(digits) > exponentDigits:
		return sign * farExponent, nil
	}
	value, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return 0, errNoNumber
	}
	return sign * value, nil
}

// compare is -1, 0 or 1 as n is below, equal to or above other.
func (n *exactNumber) compare(other *exactNumber) int {
	if order := cmp.Compare(n.sign(), other.sign()); order != 0 {
		return order
	}
	order := cmp.Compare(n.exponent, other.exponent)
	if order == 0 {
		order = strings.Compare(n.digits, other.digits)
	}
	return order * n.sign()
}

func (n *exactNumber) sign() int {
	switch {
	case n.digits == "":
		return 0
	case n.negative:
		return -1
	default:
		return 1
	}
}

// canonical is the same text for every spelling of a number.
func (n *exactNumber) canonical() string {
	switch n.sign() {
	case 0:
		return "0"
	case -1:
		return fmt.Sprintf("-.%se%d", n.digits, n.exponent)
	default:
		return fmt.Sprintf(".%se%d", n.digits, n.exponent)
	}
}

// String is the number as it was written.
func (n *exactNumber) String() string { return n.text }
