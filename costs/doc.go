// Package costs accounts for model calls: each call once, in tokens and, where
// the price is known, in US dollars.
//
// [Tally] holds the calls of one run in memory. [Ledger] projects it into the
// daily files of the workspace, costs/{scope}/{group}/{UTC day}.json. [Read]
// merges those files into a [Summary] by run, step, model, day or group.
//
// # What is counted
//
// The token buckets of a model's usage never overlap:
//
//	input_tokens        sent, neither read from a cache nor written to one
//	cache_read_tokens   sent and read from a cache
//	cache_write_tokens  sent and written to a cache
//	output_tokens       came back, reasoning included
//
// So everything sent is the sum of the first three. Two further fields repeat
// parts of these and must not be added to them: cache_tokens is the sum of the two
// cache buckets, reasoning_tokens is a part of output_tokens. The cost fields
// follow the same rule: total_cost_usd is input + cache read + cache write +
// output, cache_cost_usd and reasoning_cost_usd are parts of it.
//
// # Missing is not zero
//
// A field that no call reported is absent, and a reported zero is 0.
// calls_without_usage counts the calls whose provider did not report both
// directions, calls_without_price those whose cost could not be told in full,
// for want of a price or of usage. While such a count is above zero the totals
// beside it are lower bounds: print them as "at least".
//
// # Idempotence
//
// An entry is known by its journal key, so a tally that is rebuilt from the
// journal after a crash holds the same calls. Writing it sets the run's share in
// each day it touches, it never adds to what is there. No time of writing is
// recorded: created_at and updated_at are the times of the first and the last
// call, so the same calls give the same bytes, in whatever order they came.
package costs
