// Package journal is the durable record of one run: what was decided, received
// and produced, in the order in which it became certain.
//
// [Open] takes a journal over, [Journal.Append] records, [Scope.Do] runs work
// once and afterwards returns what was recorded, and [Read] looks on without
// taking over. An error of the journal itself is final: every later call returns
// it, so that nothing is ever recorded behind a gap.
//
// # Format
//
// A journal is a file of JSON lines. Line n is record n; it has these members,
// in this order, without space between tokens:
//
//	seq    position in the file, from 1
//	time   RFC 3339, UTC, with milliseconds
//	kind   what the record is: journal, owner, result, begin, note, or a kind of the caller's
//	key    what it is about, such as fetch/visit/1/attempt/1/turn/3; absent when empty
//	input  the first 16 bytes of the SHA-256 of the input, in hex; absent when there was no input
//	data   the payload, compacted JSON; absent when there is none
//	blob   in place of data, when the payload is over 32 KB: its SHA-256, in hex
//	size   with blob: the length of the payload in bytes
//	hash   the running hash: the first 8 bytes, in hex, of the SHA-256 over the
//	       hash of the record before (16 zeros for the first) and the bytes of this
//	       line in front of the comma before hash
//	crc    CRC-32C, in hex, of the bytes of this line in front of the comma before crc
//
// The last two have a fixed length, so that a file is verified without parsing
// JSON. The crc finds a damaged line, the running hash a line that is missing,
// moved, or from another journal. A large payload lies in the file {blob}.json in
// the folder [Options.Blobs]; it is durable before the record that names it.
//
// The first record is the header: kind journal, data {"format":"treadle-journal",
// "version":1}. A reader refuses a higher version with a [*VersionError]. Every
// later version keeps the two last members of the header line, and format and
// version in its data, so that this works for all of them. Every process that
// takes the journal over appends a record of kind owner.
//
// # Torn and damaged
//
// An append that is cut short leaves a prefix of what it would have written: some
// whole lines, then at most one line without its newline. Whole lines are kept,
// even when their writer did not live to hear of it. A last line without a
// newline is torn: [Open] cuts it off and [Read] passes over it, except that a
// line which lacks nothing but the newline is kept by Open, which writes it.
// Nothing else comes from a torn append. A line with a newline that does not
// verify, also the last one, and a whole line with something other than a newline
// after it, are damage: what they held may have been acknowledged, so cutting
// them off would lose it silently. Both are reported as a [*DamageError].
//
// # Owners
//
// Opening does not lock. The storage refuses an append anywhere but at the end of
// the file, so a new owner's first record makes every append of an old owner
// conflict, and the old owner stops with [ErrStale]. A torn tail is first closed
// with one byte that only succeeds where the tail was read, so that an append
// which is still in progress is never cut. Two processes that open a torn
// journal at the same moment are kept apart by the run's lock, not by this
// package, since cutting a file cannot be made conditional.
package journal
