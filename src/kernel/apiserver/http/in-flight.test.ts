import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { defaultLimits } from "../verbs/limits.ts";
import { InFlight } from "./in-flight.ts";

const by = (user: string, resource = "pods") => ({ user, resource });
const refused = expect.objectContaining({ code: 429, details: { retryAfterSeconds: 1 } });

describe("limits of what is under way", () => {
  test("count each kind of request by itself, and a place is given back once", () => {
    const inFlight = new InFlight({ ...defaultLimits, maxMutatingRequests: 1, maxReadingRequests: 2 });
    const leave = inFlight.enter("mutating", by("a"));
    expect(() => inFlight.enter("mutating", by("b"))).toThrow(refused);
    inFlight.enter("reading", by("a"));
    expect(inFlight.counts).toEqual({ mutating: 1, reading: 1, watch: 0, stream: 0 });
    leave();
    leave();
    expect(inFlight.counts.mutating).toBe(0);
    inFlight.enter("mutating", by("b"));
  });

  test("are looked at without taking a place", () => {
    const inFlight = new InFlight({ ...defaultLimits, maxMutatingRequests: 1, maxReadingRequests: 0 });
    inFlight.check("mutating");
    inFlight.check("mutating");
    inFlight.enter("mutating", by("a"));
    expect(() => inFlight.check("mutating")).toThrow(refused);
    expect(() => inFlight.check("reading")).toThrow(refused);
  });

  test("watches are limited in all and for each user", () => {
    const inFlight = new InFlight({ ...defaultLimits, maxWatches: 3, maxWatchesPerUser: 2 });
    const first = inFlight.enter("watch", by("a"));
    inFlight.enter("watch", by("a"));
    expect(() => inFlight.enter("watch", by("a"))).toThrow(/watches/);
    inFlight.enter("watch", by("b"));
    expect(() => inFlight.enter("watch", by("c"))).toThrow(refused);
    first();
    inFlight.enter("watch", by("a"));
  });

  test("streams into Pods are limited in all and for each user, apart from watches", () => {
    const inFlight = new InFlight({ ...defaultLimits, maxWatches: 0, maxPodStreams: 3, maxPodStreamsPerUser: 2 });
    const first = inFlight.enter("stream", by("a"));
    inFlight.enter("stream", by("a"));
    expect(() => inFlight.enter("stream", by("a"))).toThrow(/streams into Pods/);
    inFlight.enter("stream", by("b"));
    expect(() => inFlight.enter("stream", by("c"))).toThrow(refused);
    first();
    inFlight.enter("stream", by("a"));
  });

  test("a watch that is refused counts nowhere", () => {
    const inFlight = new InFlight({ ...defaultLimits, maxWatches: 1 });
    inFlight.enter("watch", by("a", "pods"));
    expect(() => inFlight.enter("watch", by("b", "jobs"))).toThrow(refused);
    expect(Object.fromEntries(inFlight.watchesByResource)).toEqual({ pods: 1 });
  });

  test("whatever comes and goes, the counts are those of what is there", () => {
    const slots = fc.constantFrom("mutating", "reading", "watch", "stream");
    const step = fc.record({
      slot: slots,
      user: fc.constantFrom("a", "b"),
      resource: fc.constantFrom("pods", "jobs"),
      leave: fc.nat(5),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const limits = {
          ...defaultLimits,
          maxMutatingRequests: 3,
          maxReadingRequests: 4,
          maxWatches: 5,
          maxWatchesPerUser: 3,
          maxPodStreams: 4,
          maxPodStreamsPerUser: 3,
        };
        const inFlight = new InFlight(limits);
        const present: { slot: string; resource: string; leave: () => void }[] = [];
        for (const { slot, user, resource, leave } of steps) {
          try {
            present.push({ slot, resource, leave: inFlight.enter(slot, by(user, resource)) });
          } catch (thrown) {
            expect(thrown).toEqual(refused);
          }
          for (const gone of leave === 0 ? present.splice(0, 1) : []) {
            gone.leave();
            gone.leave();
          }
          const countOf = (wanted: string) => present.filter((one) => one.slot === wanted).length;
          expect(inFlight.counts).toEqual({
            mutating: countOf("mutating"),
            reading: countOf("reading"),
            watch: countOf("watch"),
            stream: countOf("stream"),
          });
          const watches = present.filter((one) => one.slot === "watch");
          for (const kind of ["pods", "jobs"])
            expect(inFlight.watchesByResource.get(kind) ?? 0).toBe(
              watches.filter((one) => one.resource === kind).length,
            );
          expect(inFlight.counts.mutating).toBeLessThanOrEqual(3);
          expect(inFlight.counts.watch).toBeLessThanOrEqual(5);
          expect(inFlight.counts.stream).toBeLessThanOrEqual(4);
        }
        for (const { leave } of present) leave();
        expect(inFlight.counts).toEqual({ mutating: 0, reading: 0, watch: 0, stream: 0 });
        expect(inFlight.watchesByResource.size).toBe(0);
      }),
      { numRuns: 60 },
    );
  });
});
