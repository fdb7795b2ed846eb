import fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "#test/support/property-runs.ts";
import { decodeRun, encodeRun } from "./state.ts";

const often = { numRuns: runs(100) };

// A fraction of a second may be written with any number of digits, or not at all, by whoever wrote the status.
const time = fc
  .tuple(fc.integer({ min: 0, max: 4_000_000_000 }), fc.constantFrom("Z", ".5Z", ".250Z", "+02:00"))
  .map(([second, zone]) => new Date(second * 1000).toISOString().slice(0, 19) + zone);
const word = fc.stringMatching(/^[A-Za-z]{1,8}$/);
const seconds = fc.integer({ min: 0, max: 10_000_000 }).map((ms) => ms / 1000);
const unknown = fc.dictionary(
  word.map((name) => `x-${name}`),
  fc.jsonValue(),
  { maxKeys: 2 },
);
const closing = fc.constantFrom("Cancel" as const, "Deadline" as const);
const optional = { requiredKeys: [] };

const entry = fc
  .tuple(
    fc.record(
      {
        phase: fc.constantFrom(
          "Pending",
          "Waiting",
          "Starting",
          "Running",
          "Succeeded",
          "Failed",
          "Skipped",
          "Canceled",
        ),
        complete: fc.boolean(),
        attempt: fc.nat(20),
        reason: word,
        message: fc.string(),
        startTime: time,
        finishTime: time,
        notBefore: time,
        readyTime: time,
        attemptTime: time,
        cancelTime: time,
        suspendedSeconds: seconds,
        earlierAttempts: fc.nat(9),
        outputs: fc.dictionary(word, fc.jsonValue()),
        refused: fc.boolean(),
        reference: fc.record({ kind: word, name: word }),
        templateHash: word,
      },
      optional,
    ),
    unknown,
  )
  .map(([known, more]) => ({ ...known, ...more }));

const status = fc
  .tuple(
    fc.record(
      {
        phase: fc.constantFrom("Pending", "Running", "Suspended", "Cancelling", "Succeeded", "Failed", "Canceled"),
        runNumber: fc.integer({ min: 1, max: 9 }),
        reason: word,
        message: fc.string(),
        startTime: time,
        completionTime: time,
        suspendedSince: time,
        suspendedSeconds: seconds,
        forced: fc.boolean(),
        suspendRequested: fc.boolean(),
        closing,
        finally: fc.record({ startTime: time, suspendedSeconds: seconds, closing }, { requiredKeys: ["startTime"] }),
        statuses: fc.dictionary(word, entry),
        conditions: fc.array(fc.record({ type: word, status: fc.constantFrom("True", "False") })),
        observedGeneration: fc.nat(),
        progress: word,
      },
      optional,
    ),
    unknown,
  )
  .map(([known, more]) => ({ ...known, ...more }));

test("(28) (29) writing what was read changes nothing, unknown fields included", () => {
  fc.assert(
    fc.property(status, (before) => {
      const run = decodeRun(before);
      expect(encodeRun(run, before)).toEqual(before);
      expect(encodeRun(run, before, run)).toEqual(before);
    }),
    often,
  );
});

test("reading what was written gives the run again, also into a status that described another run", () => {
  fc.assert(
    fc.property(status, status, (one, other) => {
      const run = decodeRun(one);
      expect(decodeRun(encodeRun(run, other))).toEqual(run);
    }),
    often,
  );
});
