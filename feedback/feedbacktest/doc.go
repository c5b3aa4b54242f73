// Package feedbacktest is the test kit of package feedback: people that answer by rule,
// a notifier that remembers, and the suites that an implementation of a port must pass:
// [TestNotifier] and [TestSource].
package feedbacktest
